"""The rules on the loss before training, on planted data."""

import numpy as np
import pytest
import xarray as xr
from planted.records import letters, over_seeds, table, verdicts

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
    return over_seeds(values, *dims, around=SIGNS, scatter=scatter, **labels)


def pixels(mean=0.0, low=(1.0, 1e-4, 2.0)):
    variance = np.column_stack([low, np.ones(3)])
    ends = table({"normalisation": NAMES, "end": [0.01, 100.0]}, variance=variance)
    return ends.assign(mean=around(np.full((2, 4), mean), 1e-3, "xi", "gain"))


test_zero_mean_and_limit = verdicts(
    rules.lo_51,
    pixels,
    rr=[{}, {"low": (1.0, 1.0, 2.0)}],
    rc=[{"low": (1e-4, 1.0, 2.0)}],  # data that shrink to a point
    cr=[{"mean": 0.5}],  # values in (0, 1)
    ur=[{"mean": 0.03}],
)
test_prefactor_of_the_classes = verdicts(
    rules.lo_52, lambda *pair: sides(_18=pair), reproduced=[(2.0, 2.0)], contradicted=[(2.0, 4.0)]
)


def losses(slope=-0.02, single=None, dent=0.0, scatter=1e-5, **by_name):
    """Curves along s from 0 to 1, the place of the gain, straight but for a dent; with slopes of some of their own."""
    s, axes = np.linspace(0, 1, 7), {"neurons": [1, 40, 100], "normalisation": NAMES}
    slopes = [[single if single and K == 1 else by_name.get(name, slope) for name in NAMES] for K in axes["neurons"]]
    curves = 1 + np.multiply.outer(slopes, s)[..., None] + dent * (s == 0.5)[:, None] + scatter * np.outer(s, SIGNS)
    axes = {"activation": ["erf", "relu"], "scale": ["2/(n+K)", "1/n", "0.01/n"]} | axes
    return table(axes | {"gain": list(starting_draws.GAINS), "seed": range(5)}, loss=curves).loss


@pytest.mark.parametrize(
    ("change", "parts", "falling"),
    [
        ({}, "rrrrrr", 9),
        ({"slope": 0.5}, "cccccc", 0),
        ({"single": 0.5}, "rrrrrr", 6),  # a single neuron is none of the note's networks
        ({"raw": 0.5}, "rrccrr", 9),
        ({"slope": -0.1, "dent": 0.3}, "rrrrrr", 0),
        ({"slope": -1e-6}, "uuuuuu", 0),
    ],
)
def test_whether_relu_falls(change, parts, falling):
    found = rules.lo_53(losses(**change))
    assert letters(found) == parts
    assert found.numbers["falling, unit, 1"] == falling


@pytest.mark.parametrize(
    ("change", "parts", "programs"),
    [
        ({"slope": 0.002}, "rrrrrr", True),
        ({"slope": 0.5}, "cccccc", False),
        ({"slope": 0.002, "single": 0.5}, "rrrrrr", True),
        ({"slope": 0.002, "raw": 0.5}, "rrccrr", False),
        ({"slope": 0.01005, "scatter": 1e-3}, "uuuuuu", False),
    ],
)
def test_whether_erf_stays_fixed(change, parts, programs):
    found = rules.lo_54(losses(**change))
    assert letters(found) == parts
    assert found.numbers["largest range, the note's programs"].below(0.01) is programs


def folds(fold=1.0, even=1.0, twice=2.0, scatter=1e-3):
    """4 L by the steps, as factors of (20)."""
    factors = {"(20)": 1.0, "(22)": fold, "(24)": even, "(22), conditional": twice, "(24), conditional": twice}
    values = 2.5 * np.array(list(factors.values()))[:, None, None] * (1 + 0.1 * np.arange(5))
    values[1:] += scatter * SIGNS
    return table({"of": list(factors), "gain": [0.01, 3.0], "seed": range(5)}, value=values)


test_steps_to_24 = verdicts(
    rules.lo_55,
    lambda one, other: (folds(**one), sides(**other)),
    rrr=[({}, {})],
    rcc=[({"fold": 1.3, "even": 1.3}, {})],  # X and -X differ in law
    rrc=[({"even": 0.5}, {})],
    rcr=[({"twice": 1.0}, {})],
    crr=[({}, {"_20": (2.8, 1.4)})],
    ruu=[({"scatter": 0.2}, {})],
)


def blank(ratio=1.0, scatter=0.01):
    ratios = {"ratio": around([1.0, ratio], scatter, "of"), "twin": around([0.78, 0.78], 0.01, "network")}
    return xr.Dataset(ratios)


test_the_blank = verdicts(
    rules.lo_56, blank, answered=[{}], contradicted=[{"ratio": 0.78}], undecided=[{"ratio": 1.05}, {"scatter": 0.2}]
)


def on_spheres(whole=-0.02, gone=0.0, raw=-0.4, scatter=1e-4):
    s = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    curves = 1 + np.array([whole * s, gone * s, raw * (s > 0)])
    axes = {"of": ["unit", "unit, one norm", "raw, one norm"], "gain": list(starting_draws.SPHERE_GAINS)}
    return table(axes | {"seed": range(5)}, loss=curves[..., None] + scatter * np.outer(s > 0, SIGNS)).loss


def relu(ratio=1.0, spread=0.005, sums=(2.1, 2.1), **spheres):
    """Both sides of (27), networks over their average, and what the norms change."""
    return sides(_27=sums), around([1.0, ratio], spread, "of"), on_spheres(**spheres)


test_relu_and_the_cause = verdicts(
    rules.lo_57,
    relu,
    rr=[{}],
    rc=[{"gone": -0.02}, {"raw": 0.0}, {"whole": 0.02}],  # the norms are not the cause
    ru=[{"scatter": 0.02}],
    cr=[{"ratio": 1.2}, {"sums": (2.1, 2.4)}],
    ur=[{"spread": 0.1}],
)


@pytest.mark.parametrize("activation", starting_loss.ACTIVATIONS)
def test_a_known_mean_square_leaves_the_value_and_lowers_the_error(activation):
    squares = (np.random.default_rng(0).normal(size=(20, 2, 200, 40)) ** 2).sum(axis=3)
    u, K = 0.04 * squares, 3
    plain = 2 + 2 / np.pi / K * np.arcsin(u / (1 + u)).mean(axis=2).sum(axis=1)
    if activation == "relu":
        roots, means = np.sqrt(2 / np.pi * u[:, 0]).mean(axis=1), u.mean(axis=2).sum(axis=1)
        plain = 1 - roots + (1 / K + (1 - 1 / K) / np.pi) / 2 * means
    known = [starting_loss.averaged(activation, *one, neurons=K, variance=0.04, mean_square=40) for one in squares]
    assert np.std(known) < np.std(plain / 4) / 3
    assert np.mean(known) == pytest.approx(plain.mean() / 4, abs=4 * np.std(plain / 4) / 20**0.5)


def test_random_networks_are_given_both_signs():
    found = starting_draws.random_networks("erf", (0.01, 3.0), 1, 0.05, seeds=range(2), draws=3, per_class=5)
    assert found.shape == (2, 2)
    assert (found > 0.5).all()  # an odd output cannot do better than 1/2
