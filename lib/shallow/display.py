"""How results are shown: arrays by number type and shape, everything else as usual, in a few lines."""

from __future__ import annotations

import dataclasses
import reprlib
import textwrap
from typing import Any

_WIDTH = 100
_few = reprlib.Repr()
_few.maxstring = _few.maxother = 60


def short(self: Any) -> str:
    """The `__repr__` of dataclasses and named tuples that hold arrays: ``Run(steps=int64[11], W=float64[11,50,3])``.

    Lists of arrays or results are shown by their length and their first entry, dictionaries by their first three
    entries.  A class takes it over by ``__repr__ = short``, which is no part of the code behind a recorded run.
    """
    names = getattr(self, "_fields", None) or [field.name for field in dataclasses.fields(self)]
    fields = ", ".join(f"{name}={_shown(getattr(self, name))}" for name in names)
    whole = f"{type(self).__qualname__}({fields})"
    return textwrap.fill(whole, _WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def _shown(value: Any) -> str:
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        dtype = str(value.dtype).removeprefix("torch.")
        return repr(value.item()) if value.shape == () else f"{dtype}[{','.join(map(str, value.shape))}]"
    if type(value).__repr__ is short:
        return repr(value)
    if isinstance(value, list | tuple) and any(map(_is_large, value)):
        return f"{len(value)} x {_shown(value[0])}"
    if isinstance(value, dict) and any(map(_is_large, value.values())):
        parts = [f"{key!r}: {_shown(one)}" for key, one in value.items()]
        return f"{{{', '.join(parts if len(parts) < 4 else [*parts[:3], '...'])}}}"
    return " ".join(_few.repr(value).split())


def _is_large(value: Any) -> bool:
    """Whether it holds arrays."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return hasattr(value, "shape") or type(value).__repr__ is short or any(map(_is_large, inside))
