"""How results are shown: whatever they hold, in a few lines."""

import dataclasses
import importlib
import inspect
import pkgutil
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from unit.test_bad_input import CASES

import shallow
from shallow.display import short

#: Arguments of compiled code.
NO_RESULTS = {"shallow.train.fresh_samples.Recipe"}


def with_arrays() -> dict[str, type]:
    """Public dataclasses and named tuples with arrays as fields."""
    found = {}
    for module in pkgutil.walk_packages(shallow.__path__, "shallow."):
        own = vars(importlib.import_module(module.name)).values() if module.name != "shallow.__main__" else ()
        for one in own:
            public = inspect.isclass(one) and one.__module__ == module.name and not one.__name__.startswith("_")
            if public and (dataclasses.is_dataclass(one) or hasattr(one, "_fields")):
                kinds = map(str, inspect.get_annotations(one).values())
                found |= {f"{module.name}.{one.__name__}": one} if any("np.ndarray" in kind for kind in kinds) else {}
    return found


def test_every_result_with_arrays_is_shown_short():
    found = with_arrays()
    assert len(found) > 20
    assert {name for name, one in found.items() if one.__repr__ is not short} == NO_RESULTS


@pytest.mark.parametrize("name", CASES)
def test_results_and_arguments_are_shown_in_a_few_lines(name):
    case = CASES[name]
    for one in (case(), *case.arguments.values()):
        if type(one).__repr__ is short:
            assert "array(" not in repr(one) and len(repr(one).splitlines()) <= 10


class Pair(NamedTuple):
    first: Any
    second: Any = 0

    __repr__ = short


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (np.zeros((3, 0), np.uint8), "uint8[3,0]"),
        (torch.zeros(2, 3), "float32[2,3]"),
        (np.float32(0.5), "0.5"),
        ("many", "'many'"),
        (list(range(100)), "[0, 1, 2, 3, 4, 5, ...]"),
        ([np.ones(3), np.ones(4)], "2 x float64[3]"),
        ([Pair(np.ones(2))] * 5, "5 x Pair(first=float64[2], second=0)"),
        ({k: np.ones(k) for k in range(5)}, "{0: float64[0], 1: float64[1], 2: float64[2], ...}"),
        ({"a": 1}, "{'a': 1}"),
    ],
)
def test_what_is_shown_of_a_field(value, shown):
    assert " ".join(repr(Pair(value)).split()) == f"Pair(first={shown}, second=0)"


def test_a_network_of_many_layers_is_cut():
    shown = repr(Pair(torch.nn.Sequential(*[torch.nn.Linear(2, 2)] * 20)))
    assert shown.startswith("Pair(first=Sequential(") and len(shown) < 100
