"""Bad input, systematically: every public function and method of the library, every argument, every fault.

Each function has a row in the tables of `bad_input`, or a reason here why it has none; so have the functions that make
the data of one chapter.  How an argument is spoilt, and what may come of it, is in `bad_input/spoil.py`.
"""

import dataclasses
import importlib
import inspect
import pkgutil
import re
import types
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_strategies
from unit.bad_input import cases_kernels, cases_measures, cases_networks, cases_train, given
from unit.bad_input.spoil import ERRORS, alike, complaint, faults, is_array, name_of, numbers, spoil

import shallow
from experiments.hidden_structure import hidden_index, shells
from shallow import alignment, clusters, committee, gaussian_loss, mlp, nets, stats
from shallow import receptive_fields as fields
from shallow.data import cyclic, images, nlgp, single_index
from shallow.display import short
from shallow.kernels import empirical
from shallow.spectra import esd, marchenko_pastur, tail_laws, tails, tops
from shallow.train import ensemble, first_layer, flow, online, plain, univariate
from shallow.train import whole_committee as whole

TABLES = (cases_networks, cases_train, cases_kernels, cases_measures)
ALL = [case for table in TABLES for case in table.CASES]
CASES = {case.name: case for case in ALL}
WITH_ARRAYS = [name for name, case in CASES.items() if any(map(is_array, case.arguments.values()))]

#: Packages and modules without rows.
MODULES = {
    "book": "what turns experiments into pages: has tests of its own",
    "checks": "test_checks.py",
    "display": "shows whatever it is given",
    "scaling": "part of other functions, whose rows show it",
    "extras": "imports other libraries, test_import.py",
    "train.fresh_samples": "makes the compiled core of train.online, which checks",
    "train.fused": "makes the compiled core of train.minibatch, which checks",
    "train.vector_math": "makes functions for compiled loops, in which nothing can be checked",
    "train.functions": "likewise",
    "train.on_disk": "decorates compiled functions, test_on_disk.py",
}
#: Modules of experiments that have rows as well.
DATA = ["experiments.hidden_structure.hidden_index", "experiments.hidden_structure.shells"]
#: Functions and methods without rows.
FUNCTIONS = {
    "data.images.load": "reads files, test_images.py",
    "stats.stream": "takes any names",
    "train.run.for_each": "a check of trainers, whose rows show it",
    "train.run.check_generators": "likewise",
    "deep.Residual.forward": "a layer, called in every step",
    "train.first_layer.GD.start": "called in every step",
    "train.first_layer.GD.direction": "called in every step",
    "train.first_layer.Adam.start": "called in every step",
    "train.first_layer.Adam.direction": "called in every step",
    "kernels.machines.checked": "a check itself",
    "spectra.weights.opened": "reads files, test_weights.py",
    "spectra.weights.as_array": "takes any array or tensor",
    "spectra.layers.report": "what is wrong with a layer is a note, test_spectra_layers.py",
    "spectra.layers.each": "likewise",
    "spectra.layers.measure": "likewise",
    "spectra.layers.Report.to_csv": "writes a file, test_spectra_layers.py",
    "spectra.layers.Report.to_json": "likewise",
    "kernels.machines.fit_quietly": "calls scikit-learn, which checks",
}


def public(holder: types.ModuleType | type) -> list:
    """The functions, methods and classes of a module or class that are not private."""
    own = [getattr(holder, name) for name in vars(holder) if not name.startswith("_")]
    return [one for one in own if inspect.isfunction(one) or inspect.ismethod(one) or inspect.isclass(one)]


def makes_itself(one: type) -> bool:
    """Whether a class is made by code of its own; others only hold results, or are exceptions."""
    made = "__post_init__" if hasattr(one, "__dataclass_fields__") else "__init__"
    return made in vars(one) and not issubclass(one, Exception)


def public_functions() -> set[str]:
    """Names of functions and methods with arguments, and of classes that make themselves, but for compiled functions.

    In a compiled loop nothing is checked: its callers do.
    """
    found = []
    for module in [*(module.name for module in pkgutil.walk_packages(shallow.__path__, "shallow.")), *DATA]:
        if module.removeprefix("shallow.").startswith(("__main__", *MODULES)):
            continue
        for one in public(importlib.import_module(module)):
            if one.__module__ != module or getattr(one, "_is_protocol", False):
                continue
            checks = makes_itself(one) if inspect.isclass(one) else inspect.signature(one).parameters
            found += [one] if checks else []
            methods = [getattr(method, "__func__", method) for method in public(one)]
            found += [method for method in methods if len(inspect.signature(method).parameters) > 1]
    return set(map(name_of, found))


def test_every_public_function_has_a_row_or_a_reason():
    known, rows = public_functions(), set(CASES)
    assert len(rows) == len(ALL)
    assert len(known) > 150
    assert sorted(known - rows - set(FUNCTIONS)) == []
    assert sorted(set(FUNCTIONS) - known) == [] == sorted(set(FUNCTIONS) & rows)
    assert sorted(rows - known) == ["data.single_index.Teacher.__call__"]


@pytest.mark.parametrize("name", CASES)
def test_bad_arguments_are_refused_or_show(name):
    case = CASES[name]
    plain = case()
    wrong = [(argument, how, complaint(case, argument, how, bad, plain)) for argument, how, bad in faults(case)]
    assert [f"{argument}, {how}: {said}" for argument, how, said in wrong if said] == []


@pytest.mark.parametrize("name", WITH_ARRAYS)
@pytest.mark.parametrize("how", ["narrow", "unsigned"])
def test_arrays_of_short_integers_do_not_wrap_around(name, how):
    case = CASES[name]
    short = {argument: spoil(value, how) for argument, value in case.arguments.items() if is_array(value)}
    plain = {argument: one.astype(np.asarray(case.arguments[argument]).dtype) for argument, one in short.items()}
    found = []
    for arguments in (plain, short):
        try:
            found.append(case(**arguments))
        except ERRORS as error:
            found.append(error)
    assert isinstance(found[1], ERRORS) or alike(*found)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.fine])
def test_what_is_declared_fine_is_accepted(name):
    case = CASES[name]
    everything = {(argument, how): bad for argument, how, bad in faults(case._replace(fine={}))}
    for argument, how in ((argument, how) for argument, hows in case.fine.items() for how in hows):
        tried = [key for key in everything if key == (argument, how) or (how == "*" and key[0] == argument)]
        assert tried, f"{argument}={how} is no fault"
        for key in tried:
            case(**{argument: everything[key]})


@pytest.mark.parametrize("name", WITH_ARRAYS)
@drawn(data=st.data())
@settings(max_examples=8, deadline=None, derandomize=True)
def test_a_spoilt_number_anywhere_is_refused_or_shows(name, data):
    case = CASES[name]
    arrays = [argument for argument, value in case.arguments.items() if is_array(value)]
    which, how = data.draw(st.sampled_from(arrays)), data.draw(st.sampled_from(["nan", "inf"]))
    if how not in case.fine.get(which, ()):
        bad = spoil(case.arguments[which], how, data.draw(st.integers(0, 10_000)))
        assert complaint(case, which, how, bad, case()) is None


@pytest.mark.parametrize("name", WITH_ARRAYS)
@drawn(data=st.data())
@settings(max_examples=8, deadline=None, derandomize=True)
def test_an_arbitrary_array_meets_no_other_exception(name, data):
    case = CASES[name]
    which = data.draw(st.sampled_from([argument for argument, value in case.arguments.items() if is_array(value)]))
    shape = numpy_strategies.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9)
    kind = data.draw(st.sampled_from([np.float64, np.float32, np.int64, np.bool_]))
    elements = {"f": st.sampled_from([0.0, 1.0, -1.5, 1e-170, 1e170, np.nan, -np.inf]), "i": st.integers(-3, 9)}
    bad = data.draw(numpy_strategies.arrays(kind, shape, elements=elements.get(np.dtype(kind).kind)))
    with np.errstate(all="ignore"):
        try:
            case(**{which: bad})
        except ERRORS:
            return


def degree(plain, scaled):
    """The power of a factor of two in a result; None if there is none of -1, 0 and 1."""
    fits = [k for k in (-1, 0, 1) if plain.shape == scaled.shape and np.allclose(scaled, plain * 2.0**k, 1e-6, 0, True)]
    return fits[0] if fits and plain.dtype.kind == "f" and plain.any() else None


#: Where a result is homogeneous near the argument alone: the coefficients end at their bound C.
NOT_AT_ANY_SCALE = {("kernels.machines.epsilon_insensitive", "kernel")}


@pytest.mark.parametrize("name", [name for name in WITH_ARRAYS if not name.startswith("train.")])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_homogeneous_is_right_at_any_scale_or_refused_by_name(name):
    """At 1e170 and 1e-170 times an array its squares leave the range of numbers."""
    case = CASES[name]
    for argument, value in case.arguments.items():
        if not is_array(value) or np.asarray(value).dtype.kind != "f" or (name, argument) in NOT_AT_ANY_SCALE:
            continue
        plain = numbers(case())
        try:
            degrees = list(map(degree, plain, numbers(case(**{argument: np.multiply(value, 2.0)}))))
        except ERRORS:
            continue  # of a unit vector, or labels
        for factor in (2.0**565, 2.0**-565) if {*degrees} - {None} else ():
            try:
                found = numbers(case(**{argument: np.multiply(value, factor)}))
            except ERRORS as error:
                assert re.search(rf"\b{argument}\b", str(error)), (argument, factor)
                continue
            for k, one, other in zip(degrees, plain, found, strict=True):
                assert k is None or np.allclose(other, one * factor**k, 1e-6, 0, True), (argument, factor)


@pytest.mark.parametrize("name", CASES)
def test_results_have_plain_strides_and_are_shown_in_a_few_lines(name):
    case = CASES[name]
    assert all(min(array.strides, default=0) >= 0 for array in numbers(case()))  # PyTorch takes no others
    for one in (case(), *case.arguments.values()):
        if type(one).__repr__ is short or hasattr(one, "_fields") or dataclasses.is_dataclass(one):
            assert "array(" not in repr(one) and len(repr(one).splitlines()) <= 10


STACKED = partial(ensemble.train, **cases_train.STACK, loss="bce-logit", optimiser="adam", rate=0.1, epochs=2, batch=4)
ONLINE = partial(online.train, **cases_train.COMMITTEES, **cases_train.SHORT)
WHOLE = partial(whole.train, **cases_train.WHOLE, steps=[1, 2], batch=4)
PLAIN = partial(plain.train, given.X, network=given.NETWORK, step=0.1, steps=1)

#: What no single fault reaches: arguments that do not fit together, or have no meaning.
REFUSED = [
    ("periods", lambda: cyclic.sample(5, design="two_rightmost", periods=1)),
    ("design", lambda: cyclic.sample(5, design="poor(6,1)")),
    ("design", lambda: cyclic.sample(5, design="poor(2,6)")),
    ("direction", lambda: hidden_index.gaussian(given.RNG, 5, direction=np.ones(3))),
    ("shape", lambda: nlgp.Process((4, 4, 4), 1, 1.0)),
    ("xi", lambda: nlgp.Process((40, 12), 4, 1.0)),
    ("gain", lambda: nlgp.Process(40, 2, 0, "raw")),
    ("dtype", lambda: given.RING.sample(given.RNG, 3, np.float16)),
    ("out", lambda: given.RING.sample(given.RNG, 3, np.float32, out=np.empty((3, 10)))),
    ("z", lambda: given.RING.observed(np.arange(3))),
    ("gain", lambda: nlgp.Process(8, 1, 1.0, tails="heavy").density(0.0)),
    ("second", lambda: nlgp.minibatch(given.RNG, given.RING, nlgp.Process(9, 1, 1.0), 2)),
    ("row", lambda: nlgp.eigenvalues(np.arange(4.0))),
    ("counts", lambda: shells.sample(given.RNG, np.array([0, 0]))),
    ("dimension", lambda: shells.compared(0, 1)),
    ("radii", lambda: shells.profile(given.RNG, [0.5, 4.0])),
    ("directions", lambda: single_index.Teacher(np.ones((2, 3)))),
    ("seed", lambda: single_index.split(given.TEACHER, 2, seed=1.0)),
    ("first", lambda: empirical.subspace_alignment(np.ones((3, 2)), np.eye(3)[:, :2])),
    ("directions", lambda: single_index.Teacher([[1.0, 0], [0.6, 0.8]])),
    ("dtype", lambda: single_index.split(given.TEACHER, 2, seed=0, dtype=np.float16)),
    ("indices", lambda: single_index.random_teacher(given.RNG, 3, indices=4)),
    ("count", lambda: images.subset(given.IMAGES, np.arange(6), 7, given.RNG)),
    ("others", lambda: images.standardise(given.IMAGES, given.IMAGES.repeat(3, axis=3))),
    ("train", lambda: images.standardise(0 * given.IMAGES)),
    ("path", lambda: images.load("digits", "digits.npz")),
    ("b", lambda: nets.TwoLayer([1.0, 2.0], [1.0], [1.0, 2.0])),
    ("widths", lambda: mlp.default([given.RNG], (3, 1))),
    ("widths", lambda: mlp.default([given.RNG], (3, 0, 1))),
    ("rngs", lambda: mlp.default([], (3, 4, 1))),
    ("networks", lambda: mlp.stacked([mlp.default([given.RNG], (3, m, 1)).network(0) for m in (4, 5)])),
    ("rngs", lambda: committee.start([], 4, 10)),
    ("trials", lambda: stats.wilson(4, 3)),
    ("successes", lambda: stats.wilson([0.5, 0.5])),
    ("values", lambda: stats.student([1.0])),
    ("flags", lambda: stats.share([0, 1, 2])),
    ("second", lambda: stats.newcombe([True], [0.5])),
    ("first", lambda: stats.welch([1.0], [1.0, 2.0])),
    ("ratios", lambda: stats.geometric([1.0, 0.0])),
    ("values", lambda: stats.bootstrap([1.0], name="a")),
    ("a and b", lambda: stats.spearman([1.0, 2.0], [1.0, 2.0])),
    ("network", lambda: univariate.train(given.LINE, given.SIGNS, given.NETWORK, step=0.1, epochs=1)),
    ("network", lambda: univariate.evaluate(given.NETWORK, given.LINE)),
    ("network", lambda: flow.train(given.X, given.Y, nets.default(given.RNG, 4, 3), step=0.1, steps=10)),
    ("rule", lambda: first_layer.Trainer(given.X, given.Y, given.SINGLE, "adam")),
    ("dtype", lambda: first_layer.Trainer(given.X, given.Y, given.SINGLE, first_layer.GD(), dtype=torch.float16)),
    ("rates", lambda: next(first_layer.students(given.X, given.Y, given.SINGLE, [first_layer.GD()], [1.0, 0.0]))),
    ("teacher", lambda: alignment.population(nets.default(given.RNG, 4, 3), given.X)),
    ("network", lambda: clusters.find(given.BIASED)),
    ("mass", lambda: clusters.purity(given.CLASSES, given.CLASSES, np.zeros(8))),
    ("network", lambda: gaussian_loss.excess_risk(given.BIASED, given.BIASED)),
    ("teacher", lambda: gaussian_loss.excess_risk(given.NETWORK, given.PLANE)),
    ("W", lambda: fields.peak_sign(np.ones((3, 1)))),
    ("shape", lambda: fields.noise_level((4, 4, 4))),
    ("values", lambda: esd.stable_rank(np.zeros(3))),
    ("values", lambda: marchenko_pastur.fit([0.0, 0.0, 1.0], 4, 3)),
    ("values", lambda: tails.hill(np.ones(10))),
    ("values", lambda: tails.scan(np.array([0.0, 0.0, 1.0]))),
    ("values", lambda: tail_laws.PowerLaw.fit(given.VALUES, 1e9)),
    ("x", lambda: tail_laws.PowerLaw(2.0, 2.5).log_density([1.0, 3.0])),
    ("first and second", lambda: tail_laws.vuong(*cases_measures.LAWS[:1], tail_laws.Exponential(2.0, 1.0), [3.0])),
    ("networks", lambda: STACKED(y=given.CLASSES, networks=mlp.Stack(given.STACK.parameters * np.inf, (3, 4, 1)))),
    ("x", lambda: STACKED(y=given.CLASSES, x=np.stack([given.X] * 3))),
    ("y", lambda: STACKED(y=given.SIGNS)),
    ("validation x", lambda: STACKED(y=given.CLASSES, validation=(given.X[:, :1], given.CLASSES))),
    ("validation y", lambda: STACKED(y=given.CLASSES, validation=(given.X, given.CLASSES + 1))),
    ("validation", lambda: STACKED(y=given.CLASSES, patience=3)),
    ("batch", lambda: STACKED(y=given.CLASSES, batch=9)),
    ("records", lambda: STACKED(y=given.CLASSES, records=[0, 3])),
    ("W", lambda: ONLINE(networks=committee.Committee(np.full((1, 4, 10), np.nan), np.zeros((1, 4))))),
    ("processes", lambda: ONLINE(processes=[given.RING] * 3)),
    ("processes", lambda: ONLINE(processes=(nlgp.Process(9, 2, 3), nlgp.Process(9, 1, 3)))),
    ("processes", lambda: ONLINE(processes=(given.RING, nlgp.Process((2, 5), 1, 3)))),
    ("batch", lambda: ONLINE(batch=5)),
    *(("bounds", partial(ONLINE, bounds=ends)) for ends in ((1, -1), (0.5, 1), (np.zeros(3), 1), (np.nan, 1))),
    ("rates", lambda: WHOLE(cases_train.MACHINE, rates=whole.Rates(-1.0, 1.0))),
    ("batch", lambda: WHOLE(cases_train.MACHINE, batch=5)),
    ("steps", lambda: WHOLE(cases_train.MACHINE, steps=[3, 2])),
    ("bounds", lambda: WHOLE(cases_train.MACHINE, bounds=(1.0, 0.0))),
    ("processes", lambda: WHOLE(cases_train.MACHINE, processes=[given.RING])),
    ("labels", lambda: WHOLE(cases_train.MACHINE, labels=(1.0,))),
    ("a", lambda: WHOLE(dataclasses.replace(cases_train.MACHINE, a=np.zeros(3)))),
    ("activation", lambda: WHOLE(dataclasses.replace(cases_train.MACHINE, activation="tanh"))),
    ("y", lambda: PLAIN(2 * given.SIGNS, loss="hinge")),
    ("y", lambda: PLAIN(0 * given.SIGNS, loss="bce")),
    ("student", lambda: first_layer.SoftplusTrainer(given.X, given.Y, given.SINGLE, first_layer.GD())),
    ("device", lambda: first_layer.Trainer(given.X, given.Y, given.SINGLE, first_layer.GD(), device="gpu")),
    ("device", lambda: first_layer.Trainer(given.X, given.Y, given.SINGLE, first_layer.GD(), device="cuda:99")),
    ("values", lambda: tops.rise(np.arange(30.0))),
    ("alpha", lambda: tail_laws.PowerLaw(1.0, 1.0)),
    ("values over xmin", lambda: tail_laws.PowerLaw.fit([1e-300, 1e300], 1e-300)),
    ("the upper edge by variance", lambda: marchenko_pastur.MarchenkoPastur(3, 2, 1e307)),
    ("the upper edge by variance", lambda: marchenko_pastur.MarchenkoPastur(3, 2, 1e-302)),
    ("h", lambda: marchenko_pastur.MarchenkoPastur(10**400, 2)),
    ("k", lambda: marchenko_pastur.MarchenkoPastur(2, 1, 0.5).moment(2000)),
    ("values", lambda: marchenko_pastur.fit([8.1e307, 8.1e307], 3, 2)),
    ("draws", lambda: stats.Interval.of_correlation(0.5, [0.4], 5)),
    ("draws", lambda: stats.Interval.of_correlation(0.5, [0.4, 1.1], 5)),
    ("pairs", lambda: stats.Interval.of_correlation(0.5, [0.4, 0.5], 1)),
    ("successes", lambda: stats.wilson([3, 4], 7)),
    ("trials", lambda: stats.wilson(3, 10**20)),
    ("trials", lambda: stats.wilson([])),
    ("statistic", lambda: stats.bootstrap(np.ones((4, 3)), name="a")),
    ("first", lambda: stats.paired(np.ones((4, 3)), np.ones((4, 3)), name="a")),
]


@pytest.mark.parametrize(("name", "call"), REFUSED)
def test_what_has_no_meaning_is_refused_by_name(name, call):
    with pytest.raises(ValueError, match=rf"^{name}\b.* (must|needs)\b"):
        call()
