"""Making recorded runs: every finished cell is kept at once, and a complete grid becomes a data file and a manifest."""

from __future__ import annotations

import hashlib
import inspect
import json
import platform
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np
import xarray as xr

from shallow.book import fingerprint, paths, records, sweep
from shallow.book.recipes import Recipe
from shallow.book.store import Store, key

LEAST = 4096  # bytes from which on an array is compressed: HDF5 pays for it with an index of 2 kB
BITS = 17  # of 23 in the significand of a number in such an array: 4e-6 of it, where recomputed cells agree to 1e-5


def store(name: str, device: str | None = None) -> Store:
    """The finished cells of a recording under way: of this cell and parameters, by the present code, on that device.

    The axes do not count, so that cells are kept when an axis grows.
    """
    wanted = records.recipe(name)
    code, fixed = fingerprint.of(wanted.cell), records.specification(wanted)["fixed"]
    parts = json.dumps([code, fixed, device], sort_keys=True)
    return Store(paths.RECORDS / ".cells" / name / hashlib.sha256(parts.encode()).hexdigest()[:12], code)


def _with(recipe: Recipe, seeds: int | None) -> Recipe:
    """The same recipe with only the first so many values of its axis of replicates; ValueError if it has fewer."""
    axis = recipe.replicates
    if seeds is None:
        return recipe
    if not 1 <= seeds <= len(recipe.axes.get(axis, ())):
        raise ValueError(f"seeds must be in 1..{len(recipe.axes.get(axis, ()))} (values of {axis!r}), got {seeds}")
    return replace(recipe, axes={**recipe.axes, axis: list(recipe.axes[axis])[:seeds]})


def outlook(name: str, jobs: int, seeds: int | None = None, device: str | None = None) -> str:
    """In words, what :func:`make` would do: its cells, those that are kept, the expected computing time of the rest."""
    wanted, cells = _with(records.recipe(name), seeds), store(name, device)
    points, cost = records.points(wanted), "unknown, never recorded"
    left = [point for point in points if not cells.holds(point)]
    with suppress(records.RecordError):
        seconds = float(records.expected_seconds(name, left).sum())
        with_jobs = f"{records.duration(seconds / jobs)} with {jobs} at a time"
        cost = f"{records.duration(seconds)} of computing, {with_jobs}"
    beside = "; another process is at work on them too, and they are shared" if cells.others() else ""
    return f"{len(points)} cells, {len(points) - len(left)} of them kept; expected cost {cost}{beside}"


def make(
    name: str,
    *,
    jobs: int | None = None,
    device: str | None = None,
    seeds: int | None = None,
) -> Path | None:
    """Compute the recorded run `name` and store data and manifest, each replaced atomically; returns the data file.

    Every finished cell is kept at once, so that the same call after an interruption goes on where it stopped.
    Processes that make the same record at the same time share the cells.

    Args:
        name: one of :func:`shallow.book.records.recipes`.
        jobs: cells at a time.
        device: passed to the cell, for cells that have such a parameter.
        seeds: compute only that many replicates.  Their cells are kept for a later call; unless they are all, there is
            no record yet, and None is returned.

    Raises:
        KeyError: unknown name.
        ValueError: a device for a cell that has none, or too many seeds.
        OSError: when a file cannot be written, for example on a full disk; the finished cells are kept.
        sweep.SweepError: when cells raised; the others are kept.
    """
    wanted, cells = records.recipe(name), store(name, device)
    part = _with(wanted, seeds)
    if device is not None and "device" not in inspect.signature(wanted.cell).parameters:
        raise ValueError(f"device must not be given: {wanted.cell.__name__} of record {name!r} has no such parameter")
    fixed = {**part.fixed} if device is None else {**part.fixed, "device": device}
    with cells.at_work():
        dataset = sweep.grid(part.cell, part.axes, jobs=jobs, store=cells, **fixed)
        if records.specification(part) != records.specification(wanted):
            return None
        _write(name, wanted, dataset, cells, device or "cpu")
    cells.clear()
    return records.files(name)[0]


def _write(name: str, wanted: Recipe, dataset: xr.Dataset, cells: Store, device: str) -> None:
    """Data and manifest of a complete record, under a lock that keeps the two files of one process together."""
    content = _packed(dataset, wanted.exact)
    manifest = {
        "name": name,
        "fingerprint": cells.code,
        "device": device,
        "about": wanted.about,
        "specification": records.specification(wanted),
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
        "date": datetime.now(UTC).date().isoformat(),
        "processor": " and ".join(sorted({cells.processors[key(point)] for point in records.points(wanted)})),
        "python": platform.python_version(),
        "versions": {package: version(package) for package in ("numpy", "numba", "scipy", "torch", "xarray")},
        "cells": len(records.points(wanted)),
        "seconds": round(sum(cells.seconds.values()), 1),
        "seconds_by": _seconds_by(wanted, cells),
    }
    data_file = records.files(name)[0]
    data_file.parent.mkdir(parents=True, exist_ok=True)
    with cells.lock():
        for left_behind in data_file.parent.glob(f"{data_file.stem}.*part"):  # by a process that was killed
            left_behind.unlink()
        records.write(name, manifest, content)


def _packed(dataset: xr.Dataset, exact: Collection[str] = ()) -> bytes:
    """A data file: floats in single precision, large arrays compressed, and rounded unless they are `exact`."""
    large = {name: array for name, array in dataset.data_vars.items() if array.nbytes > LEAST}
    fractions = [name for name, array in large.items() if array.dtype.kind == "f" and name not in exact]
    dataset = dataset.assign({name: dataset[name].copy(data=_rounded(dataset[name].values)) for name in fractions})
    encoding = {name: {"dtype": "float32"} for name, array in dataset.data_vars.items() if array.dtype == float}
    for name, array in large.items():
        deflated = {"zlib": True, "complevel": 9, "shuffle": True, "chunksizes": array.shape}
        encoding[name] = encoding.get(name, {}) | deflated
    # In memory, since HDF5 ends the process when the disk is full.
    return bytes(dataset.to_netcdf(engine="h5netcdf", encoding=encoding))


def _rounded(values: np.ndarray) -> np.ndarray:
    """Numbers of single precision with `BITS` bits of their significand, to nearest; the others are zero."""
    plain = values.astype("float32")
    bits, left = plain.view("uint32"), 23 - BITS
    half = (1 << left - 1) - 1 + (bits >> left & 1)
    return np.where(np.isfinite(plain), (bits + half >> left << left).view("float32"), plain)


def _seconds_by(wanted: Recipe, cells: Store) -> dict[str, list[float]]:
    """Mean computing time of a cell by the values of each axis: what :func:`.records.expected_seconds` multiplies."""
    shape = tuple(map(len, wanted.axes.values()))
    spent = np.array([cells.seconds[key(point)] for point in records.points(wanted)]).reshape(shape)
    axes = range(len(shape))
    means = {axis: spent.mean(tuple(i for i in axes if i != k)) for k, axis in enumerate(wanted.axes)}
    return {axis: [float(f"{value:.3g}") for value in values] for axis, values in means.items()}
