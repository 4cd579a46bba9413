"""How results are shown: whatever they hold, in a few lines."""

import ast
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
from shallow import nets
from shallow.book import canonical_code
from shallow.representation import short
from shallow.train import univariate

LINES = 10
#: Arguments of compiled code, what a trainer hands to itself, and a pair of functions.
NO_RESULTS = {"shallow.train.fresh_samples.Recipe", "shallow.train.schedules.Task", "shallow.losses.Loss"}


def with_arrays() -> dict[str, type]:
    """Public dataclasses and named tuples with arrays as fields, but for those of the chapters' cells."""
    found = {}
    for module in pkgutil.walk_packages(shallow.__path__, "shallow."):
        if module.name.startswith(("shallow.experiments", "shallow.__main__")):
            continue
        for one in vars(importlib.import_module(module.name)).values():
            own = inspect.isclass(one) and one.__module__ == module.name and not one.__name__.startswith("_")
            if own and (dataclasses.is_dataclass(one) or hasattr(one, "_fields")):
                kinds = map(str, inspect.get_annotations(one).values())
                found |= {f"{module.name}.{one.__name__}": one} if any("np.ndarray" in kind for kind in kinds) else {}
    return found


def test_every_result_with_arrays_is_shown_short():
    found = with_arrays()
    assert len(found) > 45 and set(found) > NO_RESULTS
    assert {name for name, one in found.items() if one.__repr__ is not short} == NO_RESULTS


@pytest.mark.parametrize("name", CASES)
def test_results_and_arguments_are_shown_in_a_few_lines(name):
    case = CASES[name]
    for one in (case(), *case.arguments.values()):
        if type(one).__repr__ is short:
            assert "array(" not in repr(one) and len(repr(one).splitlines()) <= LINES


def test_a_long_run_is_shown_in_a_few_lines():
    x = np.linspace(-0.5, 0.5, 300)
    network = nets.default(np.random.default_rng(0), 500)
    options = {"step": 0.01, "epochs": 100, "records": 10, "keep_parameters": True, "keep_gradients": True}
    run = univariate.train(x, np.where(x > 0, 1.0, -1.0), network, **options)
    shown = repr(run)
    assert len(shown.splitlines()) <= LINES and max(map(len, shown.splitlines())) <= 100
    for part in ("loss=float64[11]", "gradients=int8[100,300]", "network=TwoLayer(W=float64[500,1]", "zero_epoch="):
        assert part in shown


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
        (np.array(True), "True"),
        (None, "None"),
        ("many", "'many'"),
        ([1, 2, 3], "[1, 2, 3]"),
        (list(range(100)), "[0, 1, 2, 3, 4, 5, ...]"),
        ([np.ones(3), np.ones(4)], "2 x float64[3]"),
        ([Pair(np.ones(2))] * 5, "5 x Pair(first=float64[2], second=0)"),
        ([{"W": np.ones(2)}], "1 x {'W': float64[2]}"),
        ({k: np.ones(k) for k in range(5)}, "{0: float64[0], 1: float64[1], 2: float64[2], ...}"),
        ({"a": 1}, "{'a': 1}"),
    ],
)
def test_what_is_shown_of_a_field(value, shown):
    assert " ".join(repr(Pair(value)).split()) == f"Pair(first={shown}, second=0)"


def test_a_network_of_many_layers_is_cut():
    shown = repr(Pair(torch.nn.Sequential(*[torch.nn.Linear(2, 2)] * 20)))
    assert shown.startswith("Pair(first=Sequential(") and len(shown) < 100


def test_how_a_result_is_shown_is_no_part_of_its_code():
    class Nothing:
        def place(self, module, name):
            return None

        def is_check(self, place):
            return False

    parts = ("", "    __repr__ = short", "    def __repr__(self): return 'a'", "    def again(self): return 'a'")
    sources = [f"class Run:\n    loss: float\n{part}" for part in parts]
    texts = [canonical_code.clean(ast.parse(one).body, "module", Nothing()).text for one in sources]
    assert texts[0] == texts[1] == texts[2] != texts[3]
