"""Recorded runs: a dataset and its manifest under ``records/``, computed by this library and never edited by hand."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import json
import os
import platform
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np
import xarray as xr

from shallow import paths, stats, sweep
from shallow.experiments import Recipe

CHAPTERS = ("cyclic_labels",)
#: Records are stored in single precision; a recomputed cell must agree to this relative tolerance.
TOLERANCE = 1e-5


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


def _specification(recipe: Recipe) -> dict:
    """What identifies a record: cell, axes and parameters, as plain JSON."""
    cell = f"{recipe.cell.__module__}.{recipe.cell.__qualname__}"
    reduce = recipe.reduce and f"{recipe.reduce.__module__}.{recipe.reduce.__qualname__}"
    plain = {"cell": cell, "axes": dict(recipe.axes), "fixed": dict(recipe.fixed), "reduce": reduce}
    return json.loads(json.dumps(plain, default=np.ndarray.tolist))


def fingerprint(function: Callable) -> str:
    """Hash of the code of every library module that the function's module imports, directly or not.

    The syntax trees are hashed without docstrings, so that comments, documentation and layout do not count.
    """
    pending, seen = [function.__module__], {}
    while pending:
        name = pending.pop()
        spec = importlib.util.find_spec(name) if name not in seen and _is_module(name) else None
        if spec is None or spec.origin is None:
            continue
        tree = ast.parse(Path(spec.origin).read_bytes())
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                pending += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                pending += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            body = getattr(node, "body", None)
            if isinstance(body, list) and body and _is_docstring(body[0]):
                node.body = body[1:]
        seen[name] = ast.dump(tree)
    return hashlib.sha256("\0".join(seen[name] for name in sorted(seen)).encode()).hexdigest()[:16]


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_module(name: str) -> bool:
    if name.split(".")[0] != "shallow":
        return False
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # the last part is a function, not a module
        return False


def _files(name: str) -> tuple[Path, Path]:
    return paths.RECORDS / f"{name}.nc", paths.RECORDS / f"{name}.json"


def make(name: str, *, jobs: int | None = None, progress: bool | None = None) -> Path:
    """Compute the recorded run `name` and store data and manifest, each replaced atomically; returns the data file."""
    wanted = recipe(name)
    data_file, manifest_file = _files(name)
    data_file.parent.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    dataset = sweep.grid(wanted.cell, wanted.axes, jobs=jobs, progress=progress, **wanted.fixed)
    seconds = time.perf_counter() - began
    dataset = wanted.reduce(dataset) if wanted.reduce else dataset
    encoding = {
        key: {"zlib": True, "complevel": 9, "shuffle": True} | ({"dtype": "float32"} if array.dtype == float else {})
        for key, array in dataset.data_vars.items()
    }
    temporary = data_file.with_suffix(".part")
    dataset.to_netcdf(temporary, engine="h5netcdf", encoding=encoding)
    os.replace(temporary, data_file)
    manifest = {
        "name": name,
        "about": wanted.about,
        "specification": _specification(wanted),
        "fingerprint": fingerprint(wanted.cell),
        "sha256": hashlib.sha256(data_file.read_bytes()).hexdigest(),
        "bytes": data_file.stat().st_size,
        "seconds": round(seconds, 1),
        "date": datetime.now(UTC).date().isoformat(),
        "versions": {p: version(p) for p in ("numpy", "numba", "scipy", "torch", "xarray")},
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }
    temporary = manifest_file.with_suffix(".part")
    temporary.write_text(json.dumps(manifest, indent=1) + "\n")
    os.replace(temporary, manifest_file)
    return data_file


def manifest(name: str) -> dict:
    """The manifest of a record; RecordError if there is none."""
    file = _files(name)[1]
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
    data_file = _files(name)[0]
    remake = f"make it anew by: python -m shallow record {name}"
    if not data_file.exists() or hashlib.sha256(data_file.read_bytes()).hexdigest() != stored["sha256"]:
        raise RecordError(f"record {name!r} is missing or does not match its checksum; {remake}")
    if stored["specification"] != _specification(wanted):
        raise RecordError(f"record {name!r} was made for another specification; {remake}")
    return xr.load_dataset(data_file, engine="h5netcdf")


def is_stale(name: str) -> bool:
    """Whether the library code behind a record has changed since it was made."""
    return manifest(name)["fingerprint"] != fingerprint(recipe(name).cell)


def verify(name: str, cells: int = 1) -> list[dict]:
    """Recompute some cells of a record and compare them; returns the points that were tried.

    The points are drawn by a stream named after the record's checksum, so that different cells are tried as records
    change.  Records that were reduced after the grid are compared by their checksum and specification only.

    Raises:
        RecordError: when a stored number differs from the recomputed one by more than single precision.
    """
    wanted, stored = recipe(name), load(name)
    if wanted.reduce:
        return []
    rng = stats.stream("verify", manifest(name)["sha256"])
    tried = []
    for _ in range(cells):
        point = {axis: values[rng.integers(len(values))] for axis, values in wanted.axes.items()}
        fresh, kept = wanted.cell(**point, **wanted.fixed), stored.sel(point)
        for key, array in fresh.data_vars.items():
            finite = np.abs(array.values[np.isfinite(array.values)]) if array.dtype.kind == "f" else np.empty(0)
            scale = finite.max(initial=0.0)
            if not np.allclose(kept[key], array, rtol=TOLERANCE, atol=TOLERANCE * scale, equal_nan=True):
                raise RecordError(f"record {name!r} differs from its own code at {point} in {key!r}")
        tried.append(point)
    return tried
