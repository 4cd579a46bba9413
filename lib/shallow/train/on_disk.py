"""Compiled closures that stay on disk, as compiled functions of a module do (numba).

numba files the machine code of a closure under what it encloses, and takes an enclosed compiled function for another
one in every process.  The loops of a trainer, which enclose activations and losses, would be compiled in each.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import secrets
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import IndexDataCacheFile


def kept(*made_of: object) -> Callable[[Callable], Callable]:
    """Decorator of a compiled closure: numba keeps it on disk, under `made_of` and the text of this package.

    Args:
        made_of: the arguments of the function around, which tell its closures from one another.  All else that they
            enclose has to come from their own module or from :mod:`shallow.train`.

    A later process reads the code in a tenth of a second, in place of compiling it, in two to twelve seconds.
    """

    def keep(function: Callable) -> Callable:
        if hasattr(function, "enable_caching"):  # NUMBA_DISABLE_JIT leaves Python's own
            function.enable_caching()
            cache = function._cache
            cache._index_key = lambda signature, target: (signature, target.magic_tuple(), _text(), made_of)
            cache._cache_file = _FileForEach(cache._cache_file)
        return function

    return keep


def _count_from_anywhere() -> None:
    """Number the functions of this process as no other process does.

    numba names machine code by the function and its number in the process that compiled it.  Where two closures of one
    function have one name, a process that reads both from the disk runs the first in the place of the second.
    """
    FunctionIdentity._unique_ids = itertools.count(secrets.randbits(62))


_count_from_anywhere()
os.register_at_fork(after_in_child=_count_from_anywhere)


class _FileForEach:
    """A cache of numba in which no two keys share a file.

    numba's own has one index for all that a function may be, and gives a new entry the next free number: of two
    processes that do so at once, one writes its machine code under the number of the other.
    """

    def __init__(self, shared: IndexDataCacheFile) -> None:
        self._of_all = shared._cache_path, shared._index_name.removesuffix(".nbi"), shared._source_stamp

    def _of(self, key: tuple) -> IndexDataCacheFile:
        path, base, stamp = self._of_all
        return IndexDataCacheFile(path, f"{base}-{hashlib.sha256(repr(key).encode()).hexdigest()[:32]}", stamp)

    def load(self, key: tuple) -> object:
        return self._of(key).load(key)

    def save(self, key: tuple, data: object) -> None:
        self._of(key).save(key, data)


@functools.cache
def _text() -> str:
    """SHA-256 of the modules of this package, and of the libraries with which they compute what closures enclose."""
    digest = hashlib.sha256(f"{np.__version__} {scipy.__version__}".encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()
