"""Bad input, systematically: every public function and method of the library, every argument, every fault.

The functions are those of the page "The library"; each has a row in the tables of `bad_input`, or a reason here why it
has none.  How an argument is spoilt, and what may come of it, is in `bad_input/spoil.py`.
"""

import importlib
import inspect
import pkgutil

import jupytext
import numpy as np
import pytest
import references
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_strategies
from unit.bad_input import cases_geometry, cases_kernels, cases_networks, cases_receptive, cases_spectra, cases_train
from unit.bad_input.spoil import ERRORS, case, complaint, faults, is_array, name_of, spoil

import shallow
from shallow import checks

TABLES = (cases_networks, cases_train, cases_kernels, cases_spectra, cases_geometry, cases_receptive)
ALL = [case for table in TABLES for case in table.CASES]
CASES = {case.name: case for case in ALL}
WITH_MEANINGS = [name for name, case in CASES.items() if case.fine]
WITH_ARRAYS = [name for name, case in CASES.items() if any(map(is_array, case.arguments.values()))]

#: Packages and modules without rows.
MODULES = {
    "canonical_code": "test_fingerprint.py",
    "checks": "test_checks.py",
    "experiments": "cells of recipes: their arguments are the grids of this repository; what they call checks them",
    "claims": "the folder claims",
    "figures": "test_figures.py",
    "fingerprint": "test_fingerprint.py",
    "provenance": "test_provenance.py",
    "recording": "test_recording.py",
    "records": "test_records.py",
    "representation": "test_representation.py",
    "sliders": "test_sliders.py",
    "store": "test_store.py",
    "sweep": "test_sweep.py",
    "verification": "test_verification.py",
    "train.fresh_samples": "makes the compiled core of train.online, which checks",
    "train.fused": "makes the compiled core of train.minibatch, which checks",
    "train.vector_math": "makes functions for compiled loops, in which nothing can be checked",
    "train.schedules": "the checked arguments of train.ensemble",
    "train.oracle": "the slow form of a trainer, for the tests alone",
}
#: Functions and methods without rows.
FUNCTIONS = {
    "data.images.load": "reads files, test_images.py",
    "stats.stream": "takes any names",
    "deep.Residual.forward": "a layer, called in every step",
    "train.first_layer.GD.start": "called in every step",
    "train.first_layer.GD.direction": "called in every step",
    "train.first_layer.Adam.start": "called in every step",
    "train.first_layer.Adam.direction": "called in every step",
    "geometry.circles.turn": "called for every circle of a walk, whose sample has been checked",
    "geometry.circles.angle": "likewise",
    "geometry.circles.weights": "likewise",
    "geometry.circles.at_start": "likewise",
    "kernels.machines.checked_targets": "a check itself",
    "kernels.machines.fit_quietly": "calls scikit-learn, which checks",
}


def enumeration():
    """What the reference page calls public: its own function."""
    page = references.code_cells(jupytext.read(references.BOOK / "library.md"))
    found = {}
    exec(next(cell.source for cell in page if "def public(" in cell.source), found)
    return found["public"]


def exempt(name: str, table: dict[str, str]) -> bool:
    """Whether a dotted name or one that it begins with is in a table."""
    parts = name.split(".")
    return any(".".join(parts[: i + 1]) in table for i in range(len(parts)))


def makes_itself(one: type) -> bool:
    """Whether a class is made by code of its own; others only hold results, or are exceptions."""
    own = vars(one).keys() & {"__init__", "__post_init__"}
    generated = hasattr(one, "__dataclass_fields__") and "__post_init__" not in own
    return bool(own) and not generated and not issubclass(one, Exception)


def public_functions() -> set[str]:
    """Names of functions and methods with arguments, and of classes that make themselves, but for compiled functions.

    In a compiled loop nothing is checked: its callers do.
    """
    public, found = enumeration(), set()
    for module in pkgutil.walk_packages(shallow.__path__, "shallow."):
        short = module.name.removeprefix("shallow.")
        if short == "__main__" or exempt(short, MODULES):
            continue
        for one in public(importlib.import_module(module.name)):
            if not inspect.isclass(one):
                compiled = hasattr(one, "py_func")
                found |= {name_of(one)} if not compiled and inspect.signature(one).parameters else set()
                continue
            if getattr(one, "_is_protocol", False):
                continue
            found |= {name_of(one)} if makes_itself(one) else set()
            for method in vars(one).values():
                function = getattr(method, "__func__", method)
                named = inspect.isfunction(function) and not function.__name__.startswith("_")
                if named and len(inspect.signature(function).parameters) > 1:
                    found.add(name_of(function))
    return found


def test_every_public_function_has_a_row_or_a_reason():
    known, rows = public_functions(), set(CASES)
    assert len(rows) == len(ALL)
    assert len(known) > 250
    assert sorted(known - rows - set(FUNCTIONS)) == []
    assert sorted(set(FUNCTIONS) - known) == [] == sorted(set(FUNCTIONS) & rows)
    assert sorted(rows - known) == ["data.single_index.Teacher.__call__"]
    unit = references.ROOT / "tests" / "unit"
    assert [file for file in MODULES.values() if file.startswith("test_") and not (unit / file).exists()] == []


@pytest.mark.parametrize("name", CASES)
def test_bad_arguments_are_refused_or_show(name):
    case = CASES[name]
    plain = case()
    wrong = [(argument, how, complaint(case, argument, how, bad, plain)) for argument, how, bad in faults(case)]
    assert [f"{argument}, {how}: {said}" for argument, how, said in wrong if said] == []


@pytest.mark.parametrize("name", WITH_MEANINGS)
def test_what_is_declared_fine_is_accepted(name):
    case = CASES[name]
    everything = {(argument, how): bad for argument, how, bad in faults(case._replace(fine={}))}
    for argument, how in ((argument, how) for argument, hows in case.fine.items() for how in hows):
        tried = [key for key in everything if key == (argument, how) or (how == "*" and key[0] == argument)]
        assert tried, f"{argument}={how} is no fault"
        for key in tried:
            case(**{argument: everything[key]})


@pytest.mark.parametrize("name", WITH_ARRAYS)
@given(data=st.data())
@settings(max_examples=8, deadline=None, derandomize=True)
def test_a_spoilt_number_anywhere_is_refused_or_shows(name, data):
    case = CASES[name]
    arrays = [argument for argument, value in case.arguments.items() if is_array(value)]
    which, how = data.draw(st.sampled_from(arrays)), data.draw(st.sampled_from(["nan", "inf"]))
    if how not in case.fine.get(which, ()):
        bad = spoil(case.arguments[which], how, data.draw(st.integers(0, 10_000)))
        assert complaint(case, which, how, bad, case()) is None


@pytest.mark.parametrize("name", WITH_ARRAYS)
@given(data=st.data())
@settings(max_examples=8, deadline=None, derandomize=True)
def test_an_arbitrary_array_meets_no_other_exception(name, data):
    case = CASES[name]
    which = data.draw(st.sampled_from([argument for argument, value in case.arguments.items() if is_array(value)]))
    shape = numpy_strategies.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9)
    kind = data.draw(st.sampled_from([np.float64, np.float32, np.int64, np.bool_]))
    elements = {"f": st.sampled_from([0.0, 1.0, -1.5, 200.0, np.nan, -np.inf]), "i": st.integers(-3, 9)}
    bad = data.draw(numpy_strategies.arrays(kind, shape, elements=elements.get(np.dtype(kind).kind)))
    with np.errstate(all="ignore"):
        try:
            case(**{which: bad})
        except ERRORS:
            return


# The rules themselves, on functions with one fault each.


def mean(values, weight=0.5):
    checks.numbers(values=values)
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise ValueError(f"values must be a finite vector, got {checks.given(values)}")
    if not 0 < weight < 1:
        raise ValueError(f"weight must lie in (0, 1), got {weight}")
    return weight * values.mean()


def forgives_nan(values, weight=0.5):
    return mean(np.nan_to_num(np.asarray(values, dtype=float)), weight)


def forgets_the_mask(values, weight=0.5):
    return mean(np.asarray(values), weight)


def says_a_shape(values, weight=0.5):
    try:
        return mean(values, weight)
    except ValueError as error:
        raise ValueError(str(error).partition(" with ")[0]) from None


def names_nothing(values, weight=0.5):
    try:
        return mean(values, weight)
    except ValueError:
        raise ValueError("impossible input") from None


def breaks(values, weight=0.5):
    return mean([values[i] for i in range(3)], weight)


def flattens(values, weight=0.5):
    return mean(np.ravel(np.asarray(values, dtype=float)), weight)


def takes_any_weight(values, weight=0.5):
    return mean(values) / 0.5 * (weight if isinstance(weight, float | int) and np.isfinite(weight) else 1.0)


def overflows(values, weight=0.5):
    whole = np.asarray(values).dtype.kind == "i"
    return mean(np.asarray(values, np.int8) if whole else values, weight)


@pytest.mark.parametrize(
    ("function", "seen"),
    [
        (mean, set()),
        (forgives_nan, {("values", "nan"), ("values", "inf")}),
        (forgets_the_mask, {("values", "masked")}),
        (says_a_shape, {("values", "nan"), ("values", "inf")}),
        (names_nothing, {(name, how) for name in ("values", "weight") for how in ("nan", "inf")} | {("weight", "-1")}),
        (breaks, {("values", "empty"), ("values", "scalar")}),
        (flattens, {("values", "scalar"), ("values", "stacked")}),
        (takes_any_weight, {("weight", how) for how in ("nan", "inf", "0", "-1", "1e300", "words", "None")}),
        (overflows, {("values", "whole")}),
    ],
)
def test_each_fault_is_seen(function, seen):
    planted = case(function, values=np.array([1.0, 2.0, 300.0]), weight=0.25)
    found = {(name, how) for name, how, bad in faults(planted) if complaint(planted, name, how, bad, planted())}
    assert found >= seen and (seen or not found), found
