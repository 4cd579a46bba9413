"""Finished cells of a sweep on disk, each in a file of its own, so that no interruption loses one."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import numpy as np
import xarray as xr
from filelock import FileLock, Timeout

_DIGEST, _SECONDS, _PROCESSOR = hashlib.sha256().digest_size, "computing_seconds", "computing_processor"


class Store:
    """A folder of finished cells, keyed by their points on the grid.

    A file holds the SHA-256 of what follows, the cell as netCDF: to read it runs no code.  It is written under another
    name and renamed, so that it is complete or absent whenever the process dies.  Processes that work at the same cells
    share them by claims, which end with the process.

    Attributes:
        folder: where the files are; made when it is needed.
        code: fingerprint that a process must have to compute these cells, see :mod:`shallow.book.fingerprint`; with
            None any process may.
        seconds: the computing time of every cell that was put, noted or got, by key.
        processors: the processors that computed them.
    """

    def __init__(self, folder: Path, code: str | None = None) -> None:
        self.folder = Path(folder)
        self.code = code
        self.seconds: dict[str, float] = {}
        self.processors: dict[str, str] = {}
        self._claims: dict[str, FileLock] = {}

    def get(self, point: Mapping[str, object]) -> xr.Dataset | None:
        """The finished cell at that point, or None; a damaged file is named in a warning and counts as absent."""
        file = self._file(point)
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            return None
        try:
            if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
                raise ValueError("its checksum is another one")
            dataset = xr.load_dataset(io.BytesIO(content[_DIGEST:]), engine="h5netcdf")
            self.note(point, float(dataset.attrs.pop(_SECONDS)), str(dataset.attrs.pop(_PROCESSOR, "unknown")))
        except Exception as error:  # libraries raise what they like on bytes that are none of theirs
            described = ", ".join(f"{name}={value}" for name, value in point.items())
            problem = f"{file} holds no cell ({error}); the cell at {described} is computed again"
            warnings.warn(problem, RuntimeWarning, stacklevel=1)
            return None
        return dataset

    def put(self, point: Mapping[str, object], dataset: xr.Dataset, seconds: float, processor: str = "unknown") -> None:
        """Write a finished cell atomically.

        Raises:
            OSError: for example when the disk is full; it names the file, and nothing is left behind.
        """
        marked = dataset.assign_attrs({_SECONDS: seconds, _PROCESSOR: processor})
        content = bytes(marked.to_netcdf(engine="h5netcdf"))
        while True:
            self.folder.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # another process has finished, and cleared the folder
                replace_files({self._file(point): hashlib.sha256(content).digest() + content})
                break
        self.note(point, seconds, processor)

    def note(self, point: Mapping[str, object], seconds: float, processor: str) -> None:
        """What a cell has cost, and where, that another process has put."""
        self.seconds[key(point)], self.processors[key(point)] = seconds, processor

    def holds(self, point: Mapping[str, object]) -> bool:
        """Whether there is a file for that point, unread."""
        return self._file(point).exists()

    def claim(self, point: Mapping[str, object]) -> bool:
        """Keep other processes from computing a cell, until its release or the death of this process.

        Returns False when it has another claimant.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self._file(point).with_suffix(".lock"), thread_local=False)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            return False
        self._claims[key(point)] = lock
        return True

    def release(self, *points: Mapping[str, object]) -> None:
        """Give up the claims on cells; without arguments on all."""
        for claimed in map(key, points) if points else list(self._claims):
            self._claims.pop(claimed).release()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Within the block no :meth:`clear` of another process removes the cells."""
        with self.lock():
            self.folder.mkdir(parents=True, exist_ok=True)
            mine = FileLock(self.folder / f"{uuid4().hex}.user", thread_local=False)
            mine.acquire()
        try:
            yield
        finally:
            mine.release()

    def others(self) -> bool:
        """Whether a process is within :meth:`at_work`."""
        return any(map(_is_locked, self.folder.glob("*.user")))

    def clear(self) -> None:
        """Remove the folder with all its cells, unless a process is at work with them, which will do so later."""
        if self.folder.exists():
            with self.lock():
                if not self.others():
                    shutil.rmtree(self.folder, ignore_errors=True)

    def lock(self) -> FileLock:
        """A lock of all processes that have stores beside this one."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(self.folder.parent / "lock")

    def _file(self, point: Mapping[str, object]) -> Path:
        return self.folder / f"{key(point)}.cell"


def key(point: Mapping[str, object]) -> str:
    """Twenty hexadecimal digits that identify a point, whatever the order of its names and the type of its numbers."""
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in point.items()}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:20]


def replace_files(contents: Mapping[Path, bytes]) -> None:
    """Replace files, each atomically, and none before all are written.

    Raises:
        OSError: for example when the disk is full; it names the file, and nothing is left behind.
    """
    parts = {file: file.with_name(f"{file.name}.{os.getpid()}.part") for file in contents}
    try:
        for file, content in contents.items():
            parts[file].write_bytes(content)
        for file, part in parts.items():
            os.replace(part, file)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(file)) from error
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


def _is_locked(file: Path) -> bool:
    lock = FileLock(file)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return True
    except FileNotFoundError:  # its owner has finished, and cleared the folder
        return False
    lock.release()
    return False
