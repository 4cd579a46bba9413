"""Recorded runs: a dataset and its manifest under ``records/``, computed by this library and never edited by hand.

A record is identified by its specification (cell, axes, parameters), not by the code; its manifest says which code,
machine and library versions made it.  A record whose code has changed since is *stale*: still there, and marked so; or
*confirmed*, when cells recomputed by the new code agreed with it.  :mod:`shallow.recording` makes and confirms them.
"""

from __future__ import annotations

import hashlib
import importlib
import itertools
import json
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import xarray as xr

from shallow import fingerprint, paths, stats, sweep
from shallow.experiments import Recipe

CHAPTERS = ("cyclic_labels", "heavy_tails", "simplicity_bias", "hidden_structure", "localization")


class RecordError(RuntimeError):
    """A record is missing, altered, or not what its recipe asks for; the message names the command that makes it."""


def recipes() -> dict[str, Recipe]:
    """All recorded runs of the book, by name ("chapter/run")."""
    found = {}
    for chapter in CHAPTERS:
        module = importlib.import_module(f"shallow.experiments.{chapter}.recorded")
        found |= {f"{chapter}/{name}": recipe for name, recipe in module.RECORDS.items()}
    return found


def recipe(name: str) -> Recipe:
    """The recipe of that name; KeyError lists the known names."""
    known = recipes()
    if name not in known:
        raise KeyError(f"no recorded run {name!r}; known are {', '.join(known)}")
    return known[name]


def specification(recipe: Recipe) -> dict:
    """What identifies a record: cell, axes and parameters, as plain JSON."""
    cell = f"{recipe.cell.__module__}.{recipe.cell.__qualname__}"
    axes = {axis: list(values) for axis, values in recipe.axes.items()}
    plain = {"cell": cell, "axes": axes, "fixed": dict(recipe.fixed)}
    return json.loads(json.dumps(plain, default=np.ndarray.tolist))


def files(name: str) -> tuple[Path, Path]:
    """Data file and manifest of a record."""
    return paths.RECORDS / f"{name}.nc", paths.RECORDS / f"{name}.json"


def points(recipe: Recipe) -> list[dict[str, object]]:
    """All points of a recipe's grid."""
    return [dict(zip(recipe.axes, point, strict=True)) for point in itertools.product(*recipe.axes.values())]


def manifest(name: str) -> dict:
    """The manifest of a record; RecordError if there is none."""
    file = files(name)[1]
    if not file.exists():
        raise RecordError(f"record {name!r} is missing; make it by: python -m shallow record {name}")
    return json.loads(file.read_text())


def load(name: str) -> xr.Dataset:
    """The stored dataset of a recorded run, in memory.

    Raises:
        KeyError: unknown name.
        RecordError: missing, altered since it was written, or made for another specification.
    """
    wanted, stored = recipe(name), manifest(name)
    data_file = files(name)[0]
    remake = f"make it anew by: python -m shallow record {name}"
    if not data_file.exists() or hashlib.sha256(data_file.read_bytes()).hexdigest() != stored["sha256"]:
        raise RecordError(f"{data_file} of record {name!r} is missing or does not match its checksum; {remake}")
    if stored["specification"] != specification(wanted):
        raise RecordError(f"record {name!r} was made for another specification; {remake}")
    return xr.load_dataset(data_file, engine="h5netcdf")


def is_stale(name: str) -> bool:
    """Whether the library code behind a record has changed since it was made and, if it was, confirmed."""
    stored = manifest(name)
    known = {stored["fingerprint"], stored.get("confirmed", stored)["fingerprint"]}
    return fingerprint.of(recipe(name).cell) not in known


def state(name: str) -> str:
    """Either "fresh", "confirmed" or "stale", or one sentence that says what is wrong with the record."""
    try:
        load(name)
    except RecordError as problem:
        return str(problem)
    if is_stale(name):
        return "stale"
    return "fresh" if manifest(name)["fingerprint"] == fingerprint.of(recipe(name).cell) else "confirmed"


def expected_seconds(name: str, chosen: Sequence[Mapping[str, object]]) -> np.ndarray:
    """Expected computing time of a cell at each of the points, shape (len(chosen),), from the last computation.

    The time is taken as a product of one factor for each axis, which holds for loops over widths, sizes and epochs; a
    value that the record does not have counts as the mean.

    Raises:
        RecordError: without a record there is nothing to go by.
    """
    made = manifest(name)
    mean = made["seconds"] / made["cells"] or 1e-9
    factors = {
        axis: dict(zip(map(str, made["specification"]["axes"][axis]), np.divide(seconds, mean), strict=True))
        for axis, seconds in made["seconds_by"].items()
    }
    return np.array(
        [
            mean * np.prod([factors.get(axis, {}).get(str(value), 1.0) for axis, value in point.items()])
            for point in chosen
        ]
    )


def verify(name: str, cells: int = 1) -> list[dict]:
    """Recompute some cells of a record, compare them by the recipe's rule, and return the points that were tried.

    The points are drawn from the cheapest quarter of the grid, and from the rest when that is used up, by a stream
    named after the record's checksum and the code's fingerprint: quick, and different ones whenever record or code
    changes.  Where the recipe says how a cell is shortened, only that part of it is recomputed.

    Raises:
        RecordError: when a cell disagrees with the record, or the record cannot be loaded.
    """
    if cells < 1:
        raise ValueError(f"cells must be positive, got {cells}")
    wanted, stored = recipe(name), load(name)
    candidates = points(wanted)
    seconds = expected_seconds(name, candidates)
    both = manifest(name)["sha256"], fingerprint.of(wanted.cell)
    drawn = stats.stream("verify", *both).permutation(len(candidates))
    cheap_first = drawn[np.argsort(seconds[drawn] > np.quantile(seconds, 0.25), kind="stable")]
    tried = [candidates[i] for i in cheap_first[:cells]]
    made_here = manifest(name)["processor"].rpartition(",")[0] == processor()
    rule = wanted.agreement.on(same_processor=made_here)
    for point in tried:
        with sweep.one_compute_thread():  # as in the sweep that made the record
            fresh = wanted.cell(**point, **{**wanted.fixed, **wanted.shortened})
        there = stored.sel(dict(fresh.indexes)) if wanted.shortened else stored
        if wrong := rule.disagreements(fresh, there, point):
            raise RecordError(f"record {name!r} differs from its own code at {point} in {', '.join(map(repr, wrong))}")
    return tried


def processor() -> str:
    """Name, family and model of the processor, as far as the system tells: one name may stand for several designs."""
    with suppress(OSError, KeyError):
        first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
        said = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}
        return f"{said['model name']} {said['cpu family']}-{said['model']}"
    return platform.processor() or platform.machine()
