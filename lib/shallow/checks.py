"""Checks of arguments: each takes them by name, returns nothing, and refuses the first that is not as it must be.

The message of the ValueError has the argument's name, what is allowed, and what was given.  Checks stand before an
argument is converted, since what follows may not notice: `np.asarray` drops a mask, a unit and an imaginary part, and
takes dates for numbers.  All that take numbers refuse what :func:`numbers` refuses.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Collection, Iterator
from fractions import Fraction
from types import EllipsisType
from typing import Any

import numpy as np

Shape = tuple[int | str | EllipsisType | None, ...]
_KINDS = "biuf"  # of NumPy's number types
_NAMED = {"(-inf, inf)": "finite", "(0, inf)": "positive and finite", "[0, inf)": "finite and not negative"}


def numbers(**arrays: Any) -> None:
    """Real numbers: arrays, tensors, numbers, lists and tuples of them, truth values; None is an argument left out.

    Refused is what an array cannot hold, or only a part of it: complex numbers, masked arrays, whether or not anything
    in them is masked, and all other subclasses of arrays, quantities with a unit, sparse arrays, tensors that require a
    gradient, dates and time differences, structured arrays, words and objects; and NumPy's unsigned integers and those
    of fewer than 64 bits, since sums and products with them wrap around: only whole arrays of them are taken, images
    for example, which functions convert.

    Cost: a microsecond for an array, 0.2 for each entry of a list.
    """
    for name, values in arrays.items():
        if _is_narrow(values):
            raise ValueError(f"{name} must be a number that does not wrap around, got {type(values).__name__} {values}")
        if refused := _refusal(values):
            raise ValueError(f"{name} must hold real numbers, none of them masked, got {refused}")


def wide(**arrays: Any) -> None:
    """Arrays that are computed with as they are: not of integers of fewer than 64 bits or without a sign."""
    for name, values in arrays.items():
        dtype = np.asarray(values).dtype
        if dtype.kind == "u" or (dtype.kind == "i" and dtype.itemsize < 8):
            raise ValueError(f"{name} must hold numbers that do not wrap around, got {dtype}")


def within(interval: str, /, **values: Any) -> None:
    """Numbers or arrays of numbers in an interval, written as usual: ``within("(0, 1]", share=share)``."""
    numbers(**values)
    for name, value in values.items():
        if not _all(_lie_in(interval, value)):
            raise ValueError(
                f"{name} must be {_NAMED.get(interval, f'in {interval}')}, got {given(value, _lie_in(interval, value))}"
            )


def finite(**values: Any) -> None:
    """Numbers or arrays without NaN and infinity."""
    within("(-inf, inf)", **values)


def positive(**values: Any) -> None:
    """Numbers or arrays of positive finite numbers."""
    within("(0, inf)", **values)


def not_negative(**values: Any) -> None:
    """Numbers or arrays of finite numbers from 0 on."""
    within("[0, inf)", **values)


def integers(least: int, most: int | None = None, /, **values: Any) -> None:
    """Integers, Python's or NumPy's of 64 bits with a sign, of at least `least` and at most `most`."""
    for name, value in values.items():
        if _is_narrow(value):
            raise ValueError(f"{name} must be an integer of Python's or of 64 bits, got {type(value).__name__} {value}")
        if not isinstance(value, int | np.integer) or value < least or (most is not None and value > most):
            raise ValueError(f"{name} must be an integer of at least {least}{_upto(most)}, got {value!r}")


def generators(*others: type, **rngs: Any) -> None:
    """NumPy's generators, or sequences of them; `others` are further types that are allowed, None is one left out.

    The legacy RandomState has methods of the same names, which draw other numbers.
    """
    for name, given in rngs.items():
        for one in given if isinstance(given, list | tuple) else [given]:
            if one is not None and not isinstance(one, (np.random.Generator, *others)):
                raise ValueError(f"{name} must be a numpy.random.Generator, got {type(one).__name__}")


def words(**names: Any) -> None:
    """Strings and integers, or sequences of them: 1.0 and 1 would name two things."""
    for name, given in names.items():
        for one in given if isinstance(given, list | tuple) else [given]:
            if not isinstance(one, str | int | np.integer):
                raise ValueError(f"{name} must be strings and integers, got {one!r}")


def one_of(allowed: Collection[Any], /, **values: Any) -> None:
    """Values from a collection, such as the keys of a dictionary, or number types."""
    for name, value in values.items():
        if value not in tuple(allowed):
            raise ValueError(f"{name} must be one of {_listed(allowed)}, got {value!r}")


def labels(allowed: Collection[int] = (-1, 0, 1), /, **arrays: Any) -> None:
    """Arrays of labels, and no truth values: False would be the label 0, which a hinge takes for no gradient."""
    numbers(**arrays)
    for name, values in arrays.items():
        if np.asarray(values).dtype == bool or not _are_in(allowed, values).all():
            raise ValueError(
                f"{name} must hold labels {_listed(allowed)}, "
                f"got {np.asarray(values).dtype} of {given(values, _are_in(allowed, values))}"
            )


def shape(wanted: Shape, /, **arrays: Any) -> None:
    """Arrays of numbers of one shape, which may hold NaN: see :func:`array`."""
    numbers(**arrays)
    for name, values, text, fits in _compared(wanted, arrays):
        if not fits:
            raise ValueError(f"{name} must have shape {text}, got shape {np.shape(values)}")


def array(wanted: Shape, /, **arrays: Any) -> None:
    """Arrays of finite numbers of one shape: ``array(("n", "d"), x=x)``, then ``array((len(x),), y=y)``.

    A size is a number; a name for any positive number, the same for all arguments of a call; or None, for any number.
    The first may be ``...``, for any number of axes.
    """
    numbers(**arrays)
    for name, values, text, fits in _compared(wanted, arrays):
        if not (fits and np.isfinite(np.asarray(values)).all()):
            raise ValueError(f"{name} must be finite of shape {text}, got {given(values)}")


def orthonormal(**matrices: Any) -> None:
    """Matrices of finite numbers whose columns are orthonormal, but for the rounding of single precision."""
    for name, matrix in matrices.items():
        matrix = np.asarray(matrix, dtype=float)
        error = np.abs(matrix.T @ matrix - np.eye(matrix.shape[1])).max()
        if error > 1e-5:
            raise ValueError(f"{name} must have orthonormal columns, got scalar products that are {error:.1g} off")


def no_module(function: Callable) -> Callable:
    """Decorates a function of networks that are arrays: a module of PyTorch is refused, with what takes it."""

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for one in (*args[:1], *kwargs.values()):
            if callable(getattr(one, "named_parameters", None)):
                name = next(iter(inspect.signature(function).parameters))
                raise ValueError(
                    f"{name} must be arrays, got a module of PyTorch, {type(one).__name__}: "
                    "shallow.kernels.of_torch(module, x) gives its tangent kernel, shallow.mlp.of_module its arrays"
                )
        return function(*args, **kwargs)

    return checked


def given(array: Any, fine: np.ndarray | None = None) -> str:
    """What a message says of an array: its shape, and the first entry that is not fine, by default not finite.

    Of a number, the number.
    """
    array = np.asarray(array)
    if array.ndim == 0:
        return str(array)
    fine = np.isfinite(array) if fine is None else np.broadcast_to(fine, array.shape)
    if fine.all():
        return f"shape {array.shape}"
    place = tuple(map(int, np.argwhere(~fine)[0]))
    return f"shape {array.shape} with {array[place]} at index {place[0] if len(place) == 1 else place}"


def _upto(most: int | None) -> str:
    return "" if most is None else f" and at most {most}"


def _listed(allowed: Collection[Any]) -> str:
    return ", ".join(getattr(one, "__name__", None) or str(one) for one in allowed)


@functools.cache
def _bounds(interval: str) -> tuple[float, float, Callable, Callable]:
    low, high = map(float, interval[1:-1].split(","))
    above = operator.ge if interval[0] == "[" else operator.gt
    below = operator.le if interval[-1] == "]" else operator.lt
    return low, high, above, below


def _lie_in(interval: str, values: Any) -> Any:
    low, high, above, below = _bounds(interval)
    if type(values) in (float, int):  # without NumPy, ten times as fast: trainers are called often
        return above(values, low) and below(values, high)
    values = np.asarray(values)
    return above(values, low) & below(values, high)


def _all(fine: Any) -> bool:
    return fine if isinstance(fine, bool) else bool(fine.all())


def _are_in(allowed: Collection[int], values: Any) -> np.ndarray:
    return functools.reduce(operator.or_, (np.asarray(values) == one for one in allowed))


def _compared(wanted: Shape, arrays: dict[str, Any]) -> Iterator[tuple[str, Any, str, bool]]:
    """Name, array, the shape that it must have as text, and whether it has."""
    sizes: dict[str, int] = {}
    for name, values in arrays.items():
        parts = ["..." if one is ... else ":" if one is None else str(sizes.get(one, one)) for one in wanted]
        found, last = np.shape(values), wanted[wanted[:1] == (...,) :]
        fits = len(found) >= len(last) and (len(found) == len(last) or len(last) < len(wanted))
        for one, size in zip(last, found[len(found) - len(last) :]):
            known = sizes.setdefault(one, size) if isinstance(one, str) else one
            fits = fits and (known is None or known == size) and (size > 0 or not isinstance(one, str))
        yield name, values, f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})", fits


def _is_narrow(value: Any) -> bool:
    return isinstance(value, np.integer) and (value.dtype.kind == "u" or value.dtype.itemsize < 8)


def _refusal(values: Any) -> str | None:
    """What is there instead of real numbers, or beside them; None if it is as it should be."""
    if values is None or isinstance(values, float | int | Fraction | range):
        return None
    if isinstance(values, list | tuple | set | frozenset):
        return next(filter(None, map(_refusal, values)), None)
    if isinstance(values, np.ma.MaskedArray):
        return "a masked array"
    kind = type(values)
    if hasattr(kind, "units") or (isinstance(values, np.ndarray) and kind not in (np.ndarray, np.memmap)):
        return f"a {kind.__name__}"  # which is more than its numbers
    try:
        dtype = np.asarray(values).dtype
    except (TypeError, ValueError, RuntimeError) as error:  # a tensor says what to do
        return f"a {kind.__name__} ({error})"
    if dtype.kind in _KINDS:
        return None
    if dtype.names:
        return f"a structured array of {', '.join(dtype.names)}"
    return f"type {dtype}" if isinstance(values, np.ndarray | np.generic | str) else f"{kind.__name__} of type {dtype}"
