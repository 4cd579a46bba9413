"""Altering a record as a careful forger would, and an object that does something where it is unpickled."""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import h5netcdf
import numpy as np

#: The records that the fixture `recorded` makes.
NAME, OTHER = "planted/quick", "planted/pairs"


class Crafted:
    """Unpickling it leaves a folder behind in the working directory."""

    def __reduce__(self):
        return os.mkdir, ("trace",)


def alter(folder: Path, name: str, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Change the values of a record."""
    with h5netcdf.File(folder / f"{name}.nc", "a") as file:
        file["value"][...] = change(np.asarray(file["value"][...]))
    sign(folder, name)


def sign(folder: Path, name: str) -> None:
    """Bring the checksum of a record into line with its data."""
    rewrite(folder, name, sha256=hashlib.sha256((folder / f"{name}.nc").read_bytes()).hexdigest())


def rewrite(folder: Path, name: str, **fields) -> None:
    """Change fields of a manifest; `...` removes one."""
    file = folder / f"{name}.json"
    kept = json.loads(file.read_text(encoding="utf-8")) | fields
    file.write_text(json.dumps({key: value for key, value in kept.items() if value is not ...}), encoding="utf-8")
