"""The rules on the loss before training, on planted data."""

import numpy as np
import pytest
import xarray as xr
from planted.records import cases, decided, over_seeds, table

from experiments.localization.starting_loss import cells as starting_loss
from experiments.localization.starting_loss import rules, starting_draws

SIGNS = np.array([-1.0, 1.0, 0.0, 0.5, -0.5])  # five draws around a value
NAMES = ["unit", "raw", "mismatched"]


def sides(**planted):
    """Both sides of the equations; a planted pair for some."""
    pairs = {"_18": (2.0, 2.0), "_20": (2.8, 2.8), "_27": (2.1, 2.1)} | planted
    whole, total = zip(*pairs.values())
    return table({"of": [f"({name[1:]})" for name in pairs]}, whole=whole, sum=total)


def around(values, scatter, *dims, **labels):
    """A table with draws along a last axis "seed", their means the values."""
    return over_seeds(values, *dims, around=SIGNS, scatter=scatter, **labels)


def pixels(mean=0.0, low=(1.0, 1e-4, 2.0)):
    """Means of pixels, and variances at both ends of the gain."""
    variance = np.column_stack([low, np.ones(3)])
    ends = table({"normalisation": NAMES, "end": [0.01, 100.0]}, variance=variance)
    return ends.assign(mean=around(np.full((2, 4), mean), 1e-3, "xi", "gain"))


@cases(
    {
        "reproduced contradicted reproduced": [{}],
        "reproduced reproduced reproduced": [{"low": (1.0, 1.0, 2.0)}],
        "contradicted contradicted contradicted": [{"mean": 0.5}],  # values in (0, 1)
        "undecided contradicted undecided": [{"mean": 0.03}],
    }
)
def test_zero_mean_and_limit(change, outcome):
    assert decided(rules.lo_51(pixels(**change))) == outcome


@cases({"reproduced": [(2.0, 2.0)], "contradicted": [(2.0, 4.0)]})
def test_prefactor_of_the_classes(change, outcome):
    assert rules.lo_52(sides(_18=change)).verdict == outcome


def losses(shape=lambda s: 1 - 0.02 * s, single=None, scatter=1e-5, **by_name):
    """Curves against the gain: a function of s from 0 to 1, another for one neuron or for a normalisation."""
    s, axes = np.linspace(0, 1, 7), {"neurons": [1, 40, 100], "normalisation": NAMES}
    curves = [[(K == 1 and single or by_name.get(name, shape))(s) for name in NAMES] for K in axes["neurons"]]
    curves = np.array(curves)[..., None] + scatter * np.outer(s, SIGNS)
    axes = {"activation": ["erf", "relu"], "scale": ["2/(n+K)", "1/n", "0.01/n"]} | axes
    return table(axes | {"gain": list(starting_draws.GAINS), "seed": range(5)}, loss=curves).loss


def rising(s):
    return 1 + 0.5 * s


def flat(s):
    return 1 + 0.002 * s


@pytest.mark.parametrize(
    ("change", "parts", "programs"),
    [
        ({}, "reproduced reproduced reproduced", True),
        ({"shape": rising}, "contradicted contradicted contradicted", False),
        ({"single": rising}, "partly partly partly", True),
        ({"raw": rising}, "reproduced contradicted reproduced", False),
        ({"shape": lambda s: 1 - 0.1 * s + 0.3 * (s == 0.5)}, "contradicted contradicted contradicted", True),
        ({"shape": lambda s: 1 - 1e-6 * s}, "undecided undecided undecided", False),
    ],
)
def test_whether_relu_falls(change, parts, programs):
    found = rules.lo_53(losses(**change))
    assert decided(found) == parts
    lower = [one.below(0) for name, one in found.numbers.items() if name.startswith("change in %")]
    assert (len(lower), all(lower)) == (6, programs)


@pytest.mark.parametrize(
    ("change", "parts", "programs"),
    [
        ({"shape": flat}, "reproduced reproduced reproduced", True),
        ({"shape": rising}, "contradicted contradicted contradicted", False),
        ({"shape": flat, "single": rising}, "partly partly partly", True),
        ({"shape": flat, "raw": rising}, "reproduced contradicted reproduced", False),
        ({"shape": lambda s: 1 + 0.01005 * s, "scatter": 1e-3}, "undecided undecided undecided", False),
    ],
)
def test_whether_erf_stays_fixed(change, parts, programs):
    found = rules.lo_54(losses(**change))
    assert decided(found) == parts
    assert found.numbers["largest range, the note's programs"].below(0.01) is programs


def folds(fold=1.0, even=1.0, twice=2.0, scatter=1e-3):
    """4 L by the steps, as factors of (20)."""
    factors = {"(20)": 1.0, "(22)": fold, "(24)": even, "(22), conditional": twice, "(24), conditional": twice}
    values = 2.5 * np.array(list(factors.values()))[:, None, None] * (1 + 0.1 * np.arange(5))
    values[1:] += scatter * SIGNS
    return table({"of": list(factors), "gain": [0.01, 3.0], "seed": range(5)}, value=values)


@cases(
    {
        "reproduced reproduced reproduced": [({}, {})],
        "reproduced contradicted contradicted": [({"fold": 1.3, "even": 1.3}, {})],  # X and -X differ in law
        "reproduced reproduced contradicted": [({"even": 0.5}, {})],
        "reproduced contradicted reproduced": [({"twice": 1.0}, {})],
        "contradicted reproduced reproduced": [({}, {"_20": (2.8, 1.4)})],
        "reproduced undecided undecided": [({"scatter": 0.2}, {})],
    }
)
def test_steps_to_24(change, outcome):
    assert decided(rules.lo_55(folds(**change[0]), sides(**change[1]))) == outcome


@cases({"answered": [(1.0, 0.01)], "contradicted": [(0.78, 0.01)], "undecided": [(1.05, 0.01), (1.0, 0.2)]})
def test_the_blank(change, outcome):
    ratio, scatter = change
    draws = {"ratio": around([1.0, ratio], scatter, "of"), "twin": around([0.78, 0.78], 0.01, "network")}
    assert rules.lo_56(xr.Dataset(draws)).verdict == outcome


def on_spheres(whole=-0.02, gone=0.0, raw=-0.4, scatter=1e-4):
    """Losses against the gain as drawn and with one norm."""
    s = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    curves = 1 + np.array([whole * s, gone * s, raw * (s > 0)])
    axes = {"of": ["unit", "unit, one norm", "raw, one norm"], "gain": list(starting_draws.SPHERE_GAINS)}
    return table(axes | {"seed": range(5)}, loss=curves[..., None] + scatter * np.outer(s > 0, SIGNS)).loss


@cases(
    {
        "reproduced reproduced": [({}, (1, 0.005), {})],
        "reproduced contradicted": [
            ({"gone": -0.02}, (1, 0.005), {}),  # the norms are not the cause
            ({"raw": 0.0}, (1, 0.005), {}),
            ({"whole": 0.02}, (1, 0.005), {}),
        ],
        "reproduced undecided": [({"scatter": 0.02}, (1, 0.005), {})],
        "contradicted reproduced": [({}, (1.2, 0.005), {}), ({}, (1, 0.005), {"_27": (2.1, 2.4)})],
        "undecided reproduced": [({}, (1, 0.1), {})],
    }
)
def test_relu_and_the_cause(change, outcome):
    spheres, (ratio, scatter), equation = change
    averages = around([1.0, ratio], scatter, "of")
    assert decided(rules.lo_57(sides(**equation), averages, on_spheres(**spheres))) == outcome


@pytest.mark.parametrize("activation", starting_loss.ACTIVATIONS)
def test_a_known_mean_square_leaves_the_value_and_lowers_the_error(activation):
    squares = (np.random.default_rng(0).normal(size=(2, 4000, 40)) ** 2).sum(axis=2)

    def averaged(**known):
        return starting_loss.averaged(activation, *squares, neurons=3, variance=0.04, **known)

    plain, known = averaged(), averaged(mean_square=40)
    assert known.error < plain.error / 3
    assert known.loss == pytest.approx(plain.loss, abs=4 * plain.error)
    with pytest.raises(ValueError, match="mean_square"):
        averaged(mean_square=-1.0)


def test_random_networks_are_given_both_signs():
    found = starting_draws.random_networks("erf", (0.01, 3.0), 1, 0.05, seeds=range(2), draws=3, per_class=5)
    assert found.shape == (2, 2)
    assert (found > 0.5).all()  # an odd output cannot do better than 1/2
