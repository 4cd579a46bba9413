"""Checks of arguments: each names the first argument that is refused, says what was given, and returns nothing.

They stand before an argument is converted, since what follows may not notice: `np.asarray` drops the mask of a masked
array, and takes dates for numbers.
"""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np

_KINDS = "biufc"  # of NumPy's number types


def numbers(**arrays: Any) -> None:
    """ValueError that names the first argument that holds anything but numbers, or masked ones.

    Arrays, tensors and numbers are fine, lists and tuples of them, truth values too; None is an argument left out.
    Refused are masked arrays, whether or not anything in them is masked, dates and time differences, structured arrays,
    words and objects.

    Cost: a microsecond for an array, 0.2 for each entry of a list.
    """
    for name, values in arrays.items():
        if not _are_numbers(values):
            raise ValueError(f"{name} must hold numbers, none of them masked, got {_kind(values)}")


def unmasked(**arrays: Any) -> None:
    """ValueError that names the first argument that is a masked array; for arrays that may hold other than numbers."""
    for name, values in arrays.items():
        if isinstance(values, np.ma.MaskedArray):
            raise ValueError(f"{name} must be an array that is not masked, got a masked array")


def labels(**arrays: Any) -> None:
    """ValueError that names the first argument that holds truth values in the place of labels -1 and 1.

    False would be the label 0, which a hinge takes for a point without a gradient.
    """
    for name, values in arrays.items():
        if np.asarray(values).dtype == bool:
            raise ValueError(f"{name} must hold labels -1 and 1, got truth values; 2 * {name} - 1 makes labels of them")


def finite(**arrays: Any) -> None:
    """ValueError that names the first argument with an entry that is NaN or infinite, and says where that is."""
    for name, values in arrays.items():
        if not np.isfinite(values).all():
            raise ValueError(f"{name} must be finite, got {given(values)}")


def positive(**values: float) -> None:
    """ValueError that names the first number that is not positive and finite."""
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be positive and finite, got {value}")


def integers(least: int, /, **values: int) -> None:
    """ValueError that names the first number that is no integer, or below `least`."""
    for name, value in values.items():
        if not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")


def given(array: Any, fine: np.ndarray | None = None) -> str:
    """What a message says of an array: its shape, and the first entry that is not fine, by default not finite."""
    array = np.asarray(array)
    fine = np.isfinite(array) if fine is None else np.broadcast_to(fine, array.shape)
    if fine.all():
        return f"shape {array.shape}"
    place = tuple(map(int, np.argwhere(~fine)[0]))
    where = f" at index {place[0] if len(place) == 1 else place}" if place else ""
    return f"shape {array.shape} with {array[place]}{where}"


def _are_numbers(values: Any) -> bool:
    if isinstance(values, np.ndarray):
        return values.dtype.kind in _KINDS and not isinstance(values, np.ma.MaskedArray)
    if isinstance(values, list | tuple | set | frozenset):
        return all(isinstance(part, float | int) or _are_numbers(part) for part in values)
    if hasattr(values, "dtype"):  # the type of a tensor has no kind
        return getattr(values.dtype, "kind", "f") in _KINDS
    return values is None or isinstance(values, Number | range) or np.asarray(values).dtype.kind in _KINDS


def _kind(values: Any) -> str:
    """What is no number."""
    if isinstance(values, list | tuple | set | frozenset):
        return _kind(next(part for part in values if not _are_numbers(part)))
    if isinstance(values, np.ma.MaskedArray):
        return "a masked array"
    dtype = np.asarray(values).dtype
    return f"a structured array of {', '.join(dtype.names)}" if dtype.names else f"type {dtype}"
