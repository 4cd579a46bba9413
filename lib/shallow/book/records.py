"""Recorded runs: a dataset and its manifest under ``records/``, computed by this library and never edited by hand.

A record is identified by its name and its specification (cell, axes, parameters), not by the code; its manifest says
which code, machine and library versions made it, and which cells have been redone since.  A record whose code has
changed since is *stale*: still there, and marked so; or *confirmed*, when cells that the present code redid agreed with
it.  :mod:`shallow.book.recording` makes records, :mod:`shallow.book.verification` compares and confirms them.
"""

from __future__ import annotations

import hashlib
import importlib
import itertools
import json
import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import xarray as xr

from shallow.book import fingerprint, paths
from shallow.book.recipes import Recipe

EXPERIMENTS = "experiments"  # the package whose packages are the chapters
#: Former names of cells, as manifests may have them, and their present names.
RENAMED: dict[str, str] = {}

_TEXT, _DIGEST = (lambda value: isinstance(value, str)), (lambda value: isinstance(value, str) and len(value) >= 16)
#: What a manifest must hold.
_FIELDS = {
    "fingerprint": _DIGEST,
    "sha256": lambda value: _DIGEST(value) and len(value) == 64,
    "date": _TEXT,
    "processor": _TEXT,
    "device": _TEXT,
    "cells": lambda value: type(value) is int and value > 0,
    "bytes": lambda value: type(value) is int and value > 0,
    "seconds": lambda value: _is_seconds(value),
    "seconds_by": lambda value: isinstance(value, dict) and all(map(_are_seconds, value.values())),
    "specification": lambda value: isinstance(value, dict) and value.keys() == {"cell", "axes", "fixed"},
    "redone": lambda value: isinstance(value, list) and all(map(_is_note, value)),
}
_NOTE = {"fingerprint", "date", "processor", "rule", "whole", "cells", "seconds"}


class RecordError(RuntimeError):
    """A record is missing, altered, or not what its recipe asks for; the message names file and command."""


def chapters() -> tuple[str, ...]:
    """The packages of experiments that have recorded runs, in the order of the book."""
    return importlib.import_module(EXPERIMENTS).CHAPTERS


def recipes() -> dict[str, Recipe]:
    """All recorded runs of the book, by name ("chapter/run")."""
    found = {}
    for chapter in chapters():
        module = importlib.import_module(f"{EXPERIMENTS}.{chapter}.recorded")
        found |= {f"{chapter}/{name}": recipe for name, recipe in module.RECORDS.items()}
    return found


def recipe(name: str) -> Recipe:
    """The recipe of that name; KeyError lists the known names."""
    known = recipes()
    if name not in known:
        raise KeyError(f"no recorded run {name!r}; known are {', '.join(known)}")
    return known[name]


def specification(recipe: Recipe) -> dict:
    """What a record must agree with: cell, axes and parameters, as plain JSON.

    The cell is named without its module, which may be moved; where its own name must change, :data:`RENAMED` keeps the
    old one.
    """
    axes = {axis: list(values) for axis, values in recipe.axes.items()}
    plain = {"cell": recipe.cell.__qualname__, "axes": axes, "fixed": dict(recipe.fixed)}
    return json.loads(json.dumps(plain, default=np.ndarray.tolist))


def files(name: str) -> tuple[Path, Path]:
    """Data file and manifest of a record."""
    return paths.RECORDS / f"{name}.nc", paths.RECORDS / f"{name}.json"


def points(recipe: Recipe) -> list[dict[str, object]]:
    """All points of a recipe's grid; the last axis changes fastest."""
    return [dict(zip(recipe.axes, point, strict=True)) for point in itertools.product(*recipe.axes.values())]


def _damaged(file: Path, name: str, what: str) -> RecordError:
    mend = "remove that folder and make it" if file.is_dir() else "make it"
    return RecordError(f"{file} of record {name!r} {what}; {mend} anew by: python -m shallow record {name}")


def manifest(name: str) -> dict:
    """The manifest of a record.

    Raises:
        RecordError: there is none, or it cannot be read, or lacks what a manifest holds; the message names the file and
            the command that makes the record anew.
    """
    file = files(name)[1]
    if not os.path.lexists(file):
        raise RecordError(f"record {name!r} is missing; make it by: python -m shallow record {name}")
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(file, name, f"cannot be read ({error})") from None
    if not isinstance(found, dict):
        raise _damaged(file, name, f"must hold an object, got {type(found).__name__}")
    found.setdefault("redone", [])
    for key, holds in _FIELDS.items():
        if key not in found or not holds(found[key]):
            raise _damaged(file, name, f"has no valid {key!r}")
    specified, by_axis = found["specification"]["axes"], found["seconds_by"]
    if not isinstance(specified, dict) or {k: len(v) for k, v in by_axis.items()} != _lengths(specified):
        raise _damaged(file, name, "has axes and times that do not belong together")
    return found


def _lengths(axes: Mapping[str, Sequence]) -> dict[str, int]:
    return {axis: len(values) if isinstance(values, list) else -1 for axis, values in axes.items()}


def _is_seconds(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value < float("inf")


def _are_seconds(values: object) -> bool:
    return isinstance(values, list) and all(map(_is_seconds, values))


def _is_note(note: object) -> bool:
    """Whether that says which cells were redone: when, where, by which code, how they were compared, in what time."""
    if not isinstance(note, dict) or note.keys() != _NOTE or not _are_seconds(note["seconds"]):
        return False
    cells = note["cells"]
    return isinstance(cells, list) and len(cells) == len(note["seconds"]) and all(type(i) is int for i in cells)


def checked(name: str) -> dict:
    """The manifest of a record whose data are those that it describes, and whose recipe still asks for them.

    Raises:
        KeyError: unknown name.
        RecordError: missing, altered since it was written, or made for another specification.
    """
    wanted, stored = recipe(name), manifest(name)
    data_file, specified = files(name)[0], dict(stored["specification"])
    try:
        content = data_file.read_bytes()
    except OSError as error:
        raise _damaged(data_file, name, f"cannot be read ({error.strerror})") from None
    if hashlib.sha256(content).hexdigest() != stored["sha256"]:
        raise _damaged(data_file, name, "does not match its checksum")
    specified["cell"] = RENAMED.get(specified["cell"], specified["cell"])
    if specified != specification(wanted):
        raise RecordError(f"record {name!r} was made for another specification; make it anew by: "
                          f"python -m shallow record {name}")  # fmt: skip
    return stored


def load(name: str) -> xr.Dataset:
    """The stored dataset of a recorded run, in memory.

    Raises:
        KeyError: unknown name.
        RecordError: as :func:`checked`; or the file holds no dataset, or one of another grid.
    """
    checked(name)
    file, axes = files(name)[0], specification(recipe(name))["axes"]
    try:
        found = xr.load_dataset(file, engine="h5netcdf")
        grid = {axis: found[axis].values.tolist() for axis in axes}
    except Exception as error:  # libraries raise what they like on a file that is none of theirs
        raise _damaged(file, name, f"holds no dataset of the grid ({type(error).__name__}: {error})") from None
    if grid != axes or not all(set(axes) <= set(array.dims) for array in found.data_vars.values()):
        raise _damaged(file, name, "holds a dataset of another grid")
    return found


def is_stale(name: str) -> bool:
    """Whether the code behind a record has changed since it was made and, if it was, confirmed."""
    return _state(name, manifest(name)) == "stale"


def _state(name: str, stored: Mapping) -> str:
    present = fingerprint.of(recipe(name).cell)
    if stored["fingerprint"] == present:
        return "fresh"
    confirmed = any(note["fingerprint"] == present and note["cells"] for note in stored["redone"])
    return "confirmed" if confirmed else "stale"


def state(name: str) -> str:
    """Either "fresh", "confirmed" or "stale", or one sentence that says what is wrong with the record."""
    try:
        return _state(name, checked(name))
    except RecordError as problem:
        return str(problem)


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


def processor() -> str:
    """Name, family and model of the processor, as far as the system tells: one name may stand for several designs."""
    with suppress(OSError, KeyError):
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\n\n")[0]
        said = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}
        return f"{said['model name']} {said['cpu family']}-{said['model']}"
    return platform.processor() or platform.machine()
