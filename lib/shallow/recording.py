"""Making recorded runs: every finished cell is kept at once, and a complete grid becomes a data file and a manifest."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import platform
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np
import xarray as xr
from filelock import FileLock
from joblib import cpu_count

from shallow import fingerprint, paths, records, sweep
from shallow.experiments import Recipe
from shallow.store import Store, key


def store(name: str, device: str | None = None) -> Store:
    """The finished cells of a recording under way: of this cell and parameters, by the present code, on that device.

    The axes do not count, so that cells are kept when an axis grows.
    """
    wanted = records.recipe(name)
    fixed = records.specification(wanted)["fixed"]
    parts = json.dumps([fingerprint.of(wanted.cell), fixed, device], sort_keys=True)
    return Store(paths.RECORDS / ".cells" / name / hashlib.sha256(parts.encode()).hexdigest()[:12])


def first_replicates(recipe: Recipe, count: int) -> Recipe:
    """The same recipe with only the first `count` values of its axis of replicates; ValueError if it has fewer."""
    axis = recipe.replicates
    if axis not in recipe.axes:
        raise ValueError(f"seeds cannot be chosen: the axes are {', '.join(recipe.axes)}, and none is of replicates")
    if not 1 <= count <= len(recipe.axes[axis]):
        raise ValueError(f"seeds must be in 1..{len(recipe.axes[axis])} (values of {axis!r}), got {count}")
    axes = {name: list(values)[:count] if name == axis else values for name, values in recipe.axes.items()}
    return replace(recipe, axes=axes)


@dataclass(frozen=True)
class Plan:
    """What a recording has to do: its cells, how many are kept already, and the expected computing time of the rest."""

    cells: int
    kept: int
    seconds: float | None

    def describe(self, jobs: int) -> str:
        """One line for people."""
        cost = "unknown, never recorded"
        if self.seconds is not None:
            cost = f"{_duration(self.seconds)} of computing, {_duration(self.seconds / jobs)} with {jobs} at a time"
        return f"{self.cells} cells, {self.kept} of them kept; expected cost {cost}"


def _duration(seconds: float) -> str:
    """A rounded time in the unit that suits it."""
    size, unit = next(
        (size, unit) for size, unit in ((3600, "h"), (60, "min"), (1, "s")) if seconds >= size or size == 1
    )
    return f"{seconds / size:.1f} {unit}"


def plan(name: str, seeds: int | None = None, device: str | None = None) -> Plan:
    """What :func:`make` would do, without computing anything; the time is that of the last recording."""
    wanted = records.recipe(name) if seeds is None else first_replicates(records.recipe(name), seeds)
    cells, all_points = store(name, device), records.points(wanted)
    left = [point for point in all_points if not cells.holds(point)]
    seconds = None
    with suppress(records.RecordError):
        seconds = float(records.expected_seconds(name, left).sum())
    return Plan(len(all_points), len(all_points) - len(left), seconds)


def make(
    name: str,
    *,
    jobs: int | None = None,
    progress: bool | None = None,
    device: str | None = None,
    seeds: int | None = None,
) -> Path | None:
    """Compute the recorded run `name` and store data and manifest, each replaced atomically; returns the data file.

    Every finished cell is kept at once, so that the same call after an interruption goes on where it stopped.

    Args:
        name: one of :func:`shallow.records.recipes`.
        jobs: cells at a time.
        progress: show a progress line; by default only on a terminal.
        device: passed to the cell, for cells that have such a parameter.
        seeds: compute only that many replicates.  Their cells are kept for a later call; unless they are all, there is
            no record yet, and None is returned.

    Raises:
        KeyError: unknown name.
        ValueError: a device for a cell that has none, or too many seeds.
        sweep.SweepError: when cells raised; the others are kept.
    """
    wanted, cells = records.recipe(name), store(name, device)
    part = wanted if seeds is None else first_replicates(wanted, seeds)
    if device is not None and "device" not in inspect.signature(wanted.cell).parameters:
        raise ValueError(f"device must not be given: {wanted.cell.__name__} of record {name!r} has no such parameter")
    made = {"fingerprint": fingerprint.of(wanted.cell), "device": device or "cpu"}
    fixed = {**part.fixed} if device is None else {**part.fixed, "device": device}
    dataset = sweep.grid(part.cell, part.axes, jobs=jobs, progress=progress, store=cells, **fixed)
    if records.specification(part) != records.specification(wanted):
        return None
    return _write(name, wanted, dataset, cells, made)


def confirm(name: str, cells: int = 1) -> list[dict]:
    """:func:`shallow.records.verify`, and a note in the manifest of a stale record that the present code agrees.

    The data and the fingerprint of the code that made them stay.  The note holds the fingerprint of the present code,
    the number of cells that were compared, the date and the processor; it replaces an earlier one.

    Raises:
        RecordError: when a cell disagrees with the record, which then remains stale, or the record cannot be loaded.
    """
    tried = records.verify(name, cells)
    if records.is_stale(name):
        note = {
            "fingerprint": fingerprint.of(records.recipe(name).cell),
            "cells": len(tried),
            "date": datetime.now(UTC).date().isoformat(),
            "processor": records.processor(),
        }
        _store_manifest(name, records.manifest(name) | {"confirmed": note})
    return tried


def _store_manifest(name: str, manifest: dict) -> None:
    """Replace the manifest of a record atomically."""
    file = records.files(name)[1]
    temporary = file.with_suffix(f".{os.getpid()}.part")
    try:
        temporary.write_text(json.dumps(manifest, indent=1) + "\n")
        os.replace(temporary, file)
    finally:
        temporary.unlink(missing_ok=True)


def _write(name: str, wanted: Recipe, dataset: xr.Dataset, cells: Store, made: dict[str, str]) -> Path:
    """Data and manifest of a complete record, under a lock that keeps the two files of one process together."""
    data_file, _ = records.files(name)
    data_file.parent.mkdir(parents=True, exist_ok=True)
    cells.folder.parent.mkdir(parents=True, exist_ok=True)
    encoding = {
        key: {"zlib": True, "complevel": 9, "shuffle": True} | ({"dtype": "float32"} if array.dtype == float else {})
        for key, array in dataset.data_vars.items()
    }
    with FileLock(cells.folder.parent / "lock"):
        temporary = data_file.with_suffix(f".{os.getpid()}.part")
        try:
            dataset.to_netcdf(temporary, engine="h5netcdf", encoding=encoding)
            content = temporary.read_bytes()
            manifest = {"name": name} | made | _manifest(wanted, content, cells)
            os.replace(temporary, data_file)
            _store_manifest(name, manifest)
        finally:
            temporary.unlink(missing_ok=True)
        cells.clear()
    return data_file


def _manifest(wanted: Recipe, content: bytes, cells: Store) -> dict:
    """What a manifest says besides the name, the code and the device."""
    return {
        "about": wanted.about,
        "specification": records.specification(wanted),
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
        "date": datetime.now(UTC).date().isoformat(),
        "processor": f"{records.processor()}, {cpu_count()} cores",
        "python": platform.python_version(),
        "versions": {package: version(package) for package in ("numpy", "numba", "scipy", "torch", "xarray")},
        "cells": len(records.points(wanted)),
        "seconds": round(sum(cells.seconds.values()), 1),
        "seconds_by": _seconds_by(wanted, cells),
    }


def _seconds_by(wanted: Recipe, cells: Store) -> dict[str, list[float]]:
    """Mean computing time of a cell by the values of each axis: what :func:`expected_seconds` multiplies."""
    shape = tuple(map(len, wanted.axes.values()))
    spent = np.array([cells.seconds[key(point)] for point in records.points(wanted)]).reshape(shape)
    axes = range(len(shape))
    means = {axis: spent.mean(tuple(i for i in axes if i != k)) for k, axis in enumerate(wanted.axes)}
    return {axis: [float(f"{value:.3g}") for value in values] for axis, values in means.items()}
