"""Recorded runs: a dataset and its manifest under ``records/``, computed by this library and never edited by hand.

A record is identified by its name and its specification (cell, axes, parameters), not by the code; its manifest says
which code, machine and library versions made it, and which cells have been redone since.  A record whose code has
changed since is *stale*: still there, and marked so; or *confirmed*, when cells that the present code redid agreed with
it.  :mod:`shallow.book.recording` makes records, :mod:`shallow.book.verification` compares and confirms them.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import itertools
import json
import math
import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import numpy as np
import xarray as xr

from shallow.book import fingerprint, paths
from shallow.book.recipes import Recipe
from shallow.book.store import replace_files

#: Former names of cells, as manifests may have them, and their present names.
RENAMED: dict[str, str] = {}

#: The present names of what :func:`load` has loaded; in notebooks, by the present cell (:mod:`shallow.book.figures`).
loaded: list[str] = []

#: What every manifest has.
KEYS = {"fingerprint", "specification", "sha256", "bytes", "cells", "seconds", "seconds_by"}
KEYS |= {"date", "processor", "device"}


class RecordError(RuntimeError):
    """A record is missing, altered, or not what its recipe asks for; the message names file and command."""


def _chapters() -> tuple[str, ...]:
    try:
        return importlib.import_module("experiments").CHAPTERS
    except ModuleNotFoundError as error:
        if error.name != "experiments":
            raise
        needed = "recorded runs and claims need a clone of the book, and in it: pip install --editable '.[book]'"
        raise ImportError(needed) from None


@functools.cache
def recipes(*chapters: str) -> dict[str, Recipe]:
    """The recorded runs of some chapters, or of all, in the order of the book, by name.

    A name is the folder of the module that declares the run and the run's own: "<chapter>/<page>/<run>".
    """
    modules = [importlib.import_module(f"experiments.{one}.recorded").MODULES for one in chapters or _chapters()]
    return {
        "/".join([*module.__name__.split(".")[1:-1], name]): recipe
        for module in itertools.chain(*modules)
        for name, recipe in module.RECORDS.items()
    }


@functools.cache
def former_names() -> dict[str, str]:
    """The present names of records that were renamed, by the former ones."""
    file = paths.ROOT / "records" / "former_names.json"
    return json.loads(file.read_text(encoding="utf-8"))


def recipe(name: str) -> Recipe:
    """The recipe of that name, for which no other chapter is imported; KeyError lists the known names."""
    known = recipes(*(chapter for chapter in _chapters() if name.startswith(f"{chapter}/")))
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


def write(name: str, manifest: Mapping, data: bytes | None = None) -> None:
    """Replace the manifest of a record, with its data if there are new ones, atomically; OSError names the file."""
    data_file, manifest_file = files(name)
    text = (json.dumps(manifest, indent=1) + "\n").encode()
    replace_files({manifest_file: text} if data is None else {data_file: data, manifest_file: text})


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
        found.setdefault("redone", [])
        if missing := KEYS - found.keys():
            raise ValueError(f"it lacks {', '.join(sorted(missing))}")
    except (OSError, AttributeError, ValueError) as error:
        raise _damaged(file, name, f"holds no manifest ({type(error).__name__}: {error})") from None
    return found


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
        raise _damaged(files(name)[1], name, "was made for another specification")
    return stored


def load(name: str) -> xr.Dataset:
    """The stored dataset of a recorded run, by its present name or a former one, in memory.

    Raises:
        KeyError: unknown name.
        RecordError: as :func:`checked`; or the file holds no dataset, or one of another grid.
    """
    name = former_names().get(name, name)
    checked(name)
    file, axes = files(name)[0], specification(recipe(name))["axes"]
    try:
        found = xr.load_dataset(file, engine="netcdf4")  # eight times as fast as h5netcdf, which writes to memory
        grid = {axis: found[axis].values.tolist() for axis in axes}
    except Exception as error:  # libraries raise what they like on a file that is none of theirs
        raise _damaged(file, name, f"holds no dataset of the grid ({type(error).__name__}: {error})") from None
    if grid != axes or not all(set(axes) <= set(array.dims) for array in found.data_vars.values()):
        raise _damaged(file, name, "holds a dataset of another grid")
    if name not in loaded:
        loaded.append(name)
    return found


def _state(name: str, stored: Mapping) -> str:
    present = fingerprint.of(recipe(name).cell)
    if stored["fingerprint"] == present:
        return "fresh"
    confirmed = any(note["fingerprint"] == present and note["cells"] for note in stored["redone"])
    return "confirmed" if confirmed else "stale"


def is_stale(name: str) -> bool:
    """Whether the code behind a record has changed since it was made and, if it was, confirmed."""
    return _state(name, manifest(name)) == "stale"


def state(name: str) -> str:
    """Either "fresh", "confirmed" or "stale", or one sentence that says what is wrong with the record."""
    try:
        return _state(name, checked(name))
    except RecordError as problem:
        return str(problem)


def expected_seconds(name: str, chosen: Sequence[Mapping[str, object]] | None = None) -> np.ndarray:
    """Expected computing time of a cell at each of the points (all of the grid by default), from the last computation.

    The time is taken as a product of one factor for each axis, which holds for loops over widths, sizes and epochs; a
    value that the record does not have counts as the mean.

    Raises:
        RecordError: without a record there is nothing to go by.
    """
    made, chosen = manifest(name), points(recipe(name)) if chosen is None else chosen
    mean, axes = max(made["seconds"] / made["cells"], 1e-9), made["specification"]["axes"]
    factors = {
        (axis, str(value)): seconds / mean
        for axis, times in made["seconds_by"].items()
        for value, seconds in zip(axes[axis], times, strict=True)
    }
    return np.array(
        [mean * math.prod([factors.get((axis, str(x)), 1.0) for axis, x in point.items()]) for point in chosen]
    )


def processor() -> str:
    """Name, family and model of the processor, as far as the system tells: one name may stand for several designs.

    With the kernels of another, where the environment variable OPENBLAS_CORETYPE has OpenBLAS take these.
    """
    kernels = os.environ.get("OPENBLAS_CORETYPE")
    return f"{_processor()} as {kernels}" if kernels else _processor()


def _processor() -> str:
    with suppress(OSError, KeyError):
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\n\n")[0]
        said = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}
        return f"{said['model name']} {said['cpu family']}-{said['model']}"
    return platform.processor() or platform.machine()


def duration(seconds: float) -> str:
    """Hours, minutes and seconds, h:mm:ss."""
    return str(timedelta(seconds=round(seconds)))
