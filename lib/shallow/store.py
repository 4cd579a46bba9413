"""Finished cells of a sweep on disk, each in a file of its own, so that no interruption loses one."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pickle
import shutil
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import xarray as xr

_DIGEST = hashlib.sha256().digest_size


class Store:
    """A folder of finished cells, keyed by their points on the grid.

    A file holds the SHA-256 of its payload and then the payload.  It is written under another name and renamed, so that
    it is complete or absent whenever the process dies, and two processes that write the same cell leave one of the two.

    Attributes:
        folder: where the files are; made at the first :meth:`put`.
        seconds: the computing time of every cell that was put or got, by key.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.seconds: dict[str, float] = {}

    def get(self, point: Mapping[str, object]) -> xr.Dataset | None:
        """The finished cell at that point, or None; a damaged file is named in a warning and counts as absent."""
        file = self._file(point)
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            return None
        digest, payload = content[:_DIGEST], content[_DIGEST:]
        if hashlib.sha256(payload).digest() != digest:
            described = ", ".join(f"{name}={value}" for name, value in point.items())
            message = f"{file} does not match its checksum; the cell at {described} is computed again"
            warnings.warn(message, RuntimeWarning, stacklevel=2)
            return None
        self.seconds[key(point)], dataset = pickle.loads(payload)
        return dataset

    def put(self, point: Mapping[str, object], dataset: xr.Dataset, seconds: float) -> None:
        """Write a finished cell atomically; on failure (OSError, for example a full disk) nothing is left behind."""
        payload = pickle.dumps((seconds, dataset))
        written = False
        while not written:
            self.folder.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):  # another process has finished, and cleared the folder
                self._write(hashlib.sha256(payload).digest() + payload, self._file(point))
                written = True
        self.seconds[key(point)] = seconds

    def _write(self, content: bytes, target: Path) -> None:
        handle, temporary = tempfile.mkstemp(dir=self.folder, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(temporary, target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def holds(self, point: Mapping[str, object]) -> bool:
        """Whether there is a file for that point, unread."""
        return self._file(point).exists()

    def clear(self) -> None:
        """Remove the folder with all its cells."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _file(self, point: Mapping[str, object]) -> Path:
        return self.folder / f"{key(point)}.cell"


def key(point: Mapping[str, object]) -> str:
    """Twenty hexadecimal digits that identify a point, whatever the order of its names and the type of its numbers."""
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in point.items()}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:20]
