"""Bad arguments: how one is spoilt, and what a function may make of it.

A case is a function, arguments that are fine, and the faults that are none there.  Faults are made by the kind of the
argument: arrays and sequences of numbers, numbers, whole numbers, names, generators.  Functions, booleans and
objects of the library are left alone: an object has refused its own bad arguments when it was made.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import re
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from shallow.train.run import Diverged

NUMBERS = {"nan": np.nan, "inf": np.inf, "0": 0, "-1": -1, "1e300": 1e300, "words": "many", "None": None}
#: No huge ones: a huge whole number is no bad input but a long run, or more memory than there is.
WHOLE_NUMBERS = {how: bad for how, bad in NUMBERS.items() if how != "1e300"} | {"1/2": 0.5}
NAMES = {"unknown": "unknown", "None": None}
ARRAYS = ("nan", "inf", "words", "whole", "narrow", "unsigned", "empty", "scalar", "stacked", "longer")
#: What is no array of numbers: refused by name wherever an array is an argument.
NO_NUMBERS = ("complex", "masked", "dates", "durations", "structured", "objects", "record", "gradient")
TYPES = ("whole", "narrow", "unsigned")
ERRORS = (ValueError, TypeError, Diverged)


class Case(NamedTuple):
    """A public function with fine arguments.

    Attributes:
        fine: argument -> faults that are none for it, and have a meaning.
    """

    function: Callable
    arguments: dict[str, Any]
    fine: dict[str, tuple[str, ...]]

    @property
    def name(self) -> str:
        return name_of(self.function)

    def __call__(self, **spoilt: Any) -> Any:
        """The result for copies of the arguments, some of them replaced; iterators are exhausted."""
        found = self.function(**copy.deepcopy(self.arguments) | spoilt)
        return list(found) if isinstance(found, types.GeneratorType) else found


def case(function: Callable, fine: str = "", /, **arguments: Any) -> Case:
    """A case; `fine` reads ``argument=fault,fault argument=fault``."""
    pairs = (part.split("=") for part in fine.split())
    return Case(function, arguments, {name: tuple(faults.split(",")) for name, faults in pairs})


def name_of(function: Callable) -> str:
    """`geometry.clusters.find`, `data.nlgp.Process.density`: as in the reference pages, without the package."""
    function = inspect.unwrap(function)
    return f"{function.__module__.removeprefix('shallow.')}.{function.__qualname__}"


def is_array(value: Any) -> bool:
    """Whether it is spoilt as an array: numbers in an array, a list or a tuple."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fiub" and value.size > 0
    return isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(one, int | float) for one in value)


def faults(case: Case) -> Iterator[tuple[str, str, Any]]:
    """Argument, fault and bad value; not those that are declared to be fine, nor the default of an argument."""
    signature = inspect.signature(case.function).parameters
    for name, value in case.arguments.items():
        default = signature[name].default if name in signature else inspect.Parameter.empty
        fine = case.fine.get(name, ())
        for how, bad in made_of(value).items():
            usual = bad is default or (np.isscalar(bad) and np.isscalar(default) and bad == default)
            if how not in fine and "*" not in fine and not usual:
                yield name, how, bad


def made_of(value: Any) -> dict[str, Any]:
    """Fault -> bad value in the place of a fine one; none for what is left alone."""
    if is_array(value):
        labels = ("booleans",) if set(np.ravel(value)) == {-1, 1} else ()
        return {how: spoil(value, how) for how in (*ARRAYS, *NO_NUMBERS, *labels)}
    if isinstance(value, bool | np.bool_):
        return {}
    if isinstance(value, int | np.integer):
        return WHOLE_NUMBERS | {"int32": np.int32(value), "uint64": np.uint64(abs(value)), "float": float(value)}
    if isinstance(value, list) and value and isinstance(value[0], np.random.Generator):
        return {"legacy": [np.random.RandomState(seed) for seed in range(len(value))]}
    if isinstance(value, np.random.Generator):
        return {"legacy": np.random.RandomState(0)}
    if isinstance(value, float):
        return NUMBERS
    return NAMES if isinstance(value, str) else {}


#: Fault -> what it makes of an array and of its entries as floats.
OF_ARRAYS = {
    "words": lambda plain, floats: np.full(plain.shape, "many"),
    "complex": lambda plain, floats: floats + 1j,
    "whole": lambda plain, floats: plain.astype(np.int64) if plain.dtype.kind != "f" else np.round(floats).astype(int),
    "narrow": lambda plain, floats: np.clip(np.round(floats), -100, 100).astype(np.int8),
    "unsigned": lambda plain, floats: np.clip(np.round(np.abs(floats)), 0, 200).astype(np.uint8),
    "empty": lambda plain, floats: plain[:0],
    "scalar": lambda plain, floats: plain.flat[0],
    "stacked": lambda plain, floats: np.stack([plain] * 2),
    "longer": lambda plain, floats: np.concatenate([plain, plain[:1]]),
    "masked": lambda plain, floats: np.ma.masked_array(plain, np.arange(plain.size).reshape(plain.shape) == 0),
    "dates": lambda plain, floats: np.round(floats).astype(np.int64).astype("datetime64[D]"),
    "durations": lambda plain, floats: np.round(floats).astype(np.int64).astype("timedelta64[s]"),
    "structured": lambda plain, floats: floats.astype([("value", float)]),
    "objects": lambda plain, floats: floats.astype(object),
    "record": lambda plain, floats: floats.view(np.recarray),
    "gradient": lambda plain, floats: torch.tensor(floats, requires_grad=True),
    "booleans": lambda plain, floats: floats > 0,
}


def spoil(array: Any, how: str, where: int = 0) -> Any:
    """A copy with one fault; those in `TYPES` are of another type of integers, and no faults."""
    plain, floats = np.asarray(array), np.array(array, dtype=float)
    if how not in ("nan", "inf"):
        return OF_ARRAYS[how](plain, floats)
    floats.flat[where % floats.size] = float(how)
    return floats


def numbers(found: Any) -> list[np.ndarray]:
    """All arrays and numbers of a result, whatever holds them."""
    if isinstance(found, torch.nn.Module):
        found = list(found.parameters())
    if isinstance(found, torch.Tensor):
        found = found.detach().cpu().numpy()
    if isinstance(found, np.ndarray | np.generic | int | float | complex):
        return [np.asarray(found)]
    if dataclasses.is_dataclass(found):
        found = [getattr(found, field.name) for field in dataclasses.fields(found)]
    elif isinstance(found, dict):
        found = list(found.values())
    elif not isinstance(found, tuple | list) and type(found).__module__.startswith(("shallow", "numpy.polynomial")):
        found = [value for name, value in vars(found).items() if not name.startswith("_")]
    return [array for one in found for array in numbers(one)] if isinstance(found, tuple | list) else []


def no_numbers(found: Any) -> int:
    return sum(int((~np.isfinite(array)).sum()) for array in numbers(found) if array.dtype.kind in "fc")


def complaint(case: Case, name: str, how: str, bad: Any, plain: Any) -> str | None:
    """What is wrong with the outcome of one bad argument; None if it is refused or shows.

    It is refused by an error that names the argument, and NaN or infinity where it holds them; words, None
    and wrong shapes also by one that does not.  NaN, infinity and numbers out of range show in a result that is
    no number, arrays of integers have the result that they have as floats, and for a wrong shape see :func:`belongs`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = case(**{name: bad})
        except ERRORS as error:
            unnamed = how in ("words", "None", *ARRAYS[4:])
            if unnamed or isinstance(error, Diverged):
                return None
            if not re.search(rf"\b{name.removesuffix('s')}s?\b", str(error)):
                return f"the error does not name it: {error}"
            says = how not in ("nan", "inf") or re.search(rf"\b({how}|float64)\b", str(error))
            return None if says else f"the error does not say what was given: {error}"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        if how in ("nan", "inf", "0", "-1", "1e300", "1/2"):
            return None if no_numbers(found) > no_numbers(plain) else f"{numbers(found)}"
        if how == "float":
            return None if alike(found, plain) else f"other than for an integer: {numbers(found)}"
        if how in TYPES:
            as_floats = np.asarray(bad, dtype=np.asarray(case.arguments[name]).dtype)
            return None if alike(found, case(**{name: as_floats})) else f"other than as floats: {numbers(found)}"
        if how in ARRAYS:
            return None if belongs(case, how, found, plain) else f"{numbers(found)}"
    return f"{bad!r} is accepted"


def alike(first: Any, second: Any) -> bool:
    """Whether two results hold the same numbers, but for rounding."""
    first, second = numbers(first), numbers(second)
    return len(first) == len(second) and all(
        a.shape == b.shape and np.allclose(a.astype(complex), b.astype(complex), rtol=1e-6, atol=1e-9, equal_nan=True)
        for a, b in zip(first, second, strict=True)
        if a.dtype.kind in "fiubc"
    )


def belongs(case: Case, how: str, found: Any, plain: Any) -> bool:
    """Whether a result for another shape follows from that for the fine argument, so that the shape means something.

    A stack of two: the stack of two equal results.  One entry: the first entry.  None: none, or visibly no number.  One
    more row, a copy of the first: one more entry, a copy of the first; with a single array, which may have any length,
    any result.
    """
    new, old = numbers(found), numbers(plain)
    if how == "empty":
        return (bool(old) and not any(array.size for array in new)) or no_numbers(found) > no_numbers(plain)
    if how == "stacked":
        expected = [np.stack([b] * 2) for b in old]
    elif how == "scalar":
        expected = [b.flat[0] if b.size else b for b in old]
    elif sum(map(is_array, case.arguments.values())) == 1:
        return True
    else:
        axes = [-1 if a.shape[:1] == b.shape[:1] else 0 for a, b in zip(new, old)]
        expected = [np.append(b, b.take([0], axis), axis) if b.ndim else b for b, axis in zip(old, axes)]
    return bool(old) and alike(new, expected)
