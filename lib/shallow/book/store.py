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

_DIGEST = hashlib.sha256().digest_size


class Store:
    """A folder of finished cells, keyed by their points on the grid.

    A file holds the SHA-256 of its payload and then the payload, arrays and JSON: to read a cell runs no code.  It is
    written under another name and renamed, so that it is complete or absent whenever the process dies.  Processes that
    work at the same cells share them by claims, which end with the process.

    Attributes:
        folder: where the files are; made when it is needed.
        code: fingerprint that a process must have to compute these cells, see :func:`.sweep.loaded_code`; with
            None any process may.
        seconds: the computing time of every cell that was put or got, by key.
    """

    def __init__(self, folder: Path, code: str | None = None) -> None:
        self.folder = Path(folder)
        self.code = code
        self.seconds: dict[str, float] = {}
        self._claims: dict[str, FileLock] = {}

    def get(self, point: Mapping[str, object]) -> xr.Dataset | None:
        """The finished cell at that point, or None; a damaged file is named in a warning and counts as absent."""
        file = self._file(point)
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            return None
        try:
            self.seconds[key(point)], dataset = _unpacked(content)
        except ValueError as problem:
            described = ", ".join(f"{name}={value}" for name, value in point.items())
            message = f"{file} {problem}; the cell at {described} is computed again"
            warnings.warn(message, RuntimeWarning, stacklevel=1)
            return None
        return dataset

    def put(self, point: Mapping[str, object], dataset: xr.Dataset, seconds: float) -> None:
        """Write a finished cell atomically.

        Raises:
            OSError: for example when the disk is full; it names the file, and nothing is left behind.
            ValueError: for variables that hold Python objects.
        """
        content = _packed(dataset, seconds)
        written = False
        while not written:
            self.folder.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # another process has finished, and cleared the folder
                replace_files({self._file(point): content})
                written = True
        self.seconds[key(point)] = seconds

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


def _packed(dataset: xr.Dataset, seconds: float) -> bytes:
    """Checksum and payload of a file: numpy's archive of the variables, whose first array is their description."""
    for name, variable in dataset.variables.items():
        if variable.dtype.hasobject:
            raise ValueError(f"dataset must hold numbers, flags or text; {name!r} holds objects")
    described = [
        {"name": name, "dims": variable.dims, "attrs": variable.attrs, "coordinate": name in dataset.coords}
        for name, variable in dataset.variables.items()
    ]
    header = {"seconds": seconds, "attrs": dataset.attrs, "variables": described}
    text = json.dumps(header, default=lambda value: np.asarray(value).tolist())
    content, arrays = io.BytesIO(), [variable.values for variable in dataset.variables.values()]
    np.savez(content, np.frombuffer(text.encode(), np.uint8), *arrays, allow_pickle=False)
    return hashlib.sha256(content.getvalue()).digest() + content.getvalue()


def _unpacked(content: bytes) -> tuple[float, xr.Dataset]:
    """Seconds and dataset of a file; a ValueError says what is wrong with it."""
    digest, payload = content[:_DIGEST], content[_DIGEST:]
    if hashlib.sha256(payload).digest() != digest:
        raise ValueError("does not match its checksum")
    try:
        with np.load(io.BytesIO(payload), allow_pickle=False) as arrays:
            header = json.loads(arrays["arr_0"].tobytes())
            data, coordinates = {}, {}
            for i, described in enumerate(header["variables"], 1):
                kind = coordinates if described["coordinate"] else data
                kind[described["name"]] = tuple(described["dims"]), arrays[f"arr_{i}"], described["attrs"]
        return header["seconds"], xr.Dataset(data, coordinates, header["attrs"])
    except Exception as error:  # libraries raise what they like on bytes that are none of theirs
        raise ValueError(f"holds no cell ({type(error).__name__}: {error})") from None


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
