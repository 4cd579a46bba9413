"""The rules on the gradient penalty and weight decay, on planted data for which the answer is known."""

import numpy as np
import pytest
import xarray as xr

from experiments.cyclic_labels.rules import penalty
from shallow import stats
from shallow.stats import Interval

SEEDS = 200
RNG = stats.stream("planted runs")


def runs(axes, **shares):
    """Flags over `axes` and 200 seeds, true in a share of the runs of each point: variable -> share or function."""
    shape = [len(values) for values in axes.values()]
    found = {}
    for name, share in shares.items():
        points = np.array([share(*p) if callable(share) else share for p in np.ndindex(*shape)]).reshape(*shape, 1)
        flags = np.arange(SEEDS) < np.round(SEEDS * points)
        found[name] = ((*axes, "seed"), flags.astype(float))
    return xr.Dataset(found, axes | {"seed": np.arange(SEEDS)})


def after_zero(falls, reached=1.0):
    """Runs of which a share, by strength, falls by 0.1 after zero."""
    found = runs(
        {"step": [0.001, 0.01], "agop": [0.0, 0.001, 0.01, 0.1]}, fall=lambda s, a: falls[a], zero_epoch=reached
    )
    return found.assign(fall=0.1 * found.fall, zero_epoch=found.zero_epoch.where(found.zero_epoch > 0))


@pytest.mark.parametrize(
    ("falls", "answer"),
    [
        ([0, 0, 0, 0], "No:"),
        ([0, 0.5, 0, 0], "Yes:"),
        ([0, 0.1, 0, 0], "These runs do not settle"),
        ([0.5, 0, 0, 0], "No:"),  # without penalty it does not count
    ],
)
def test_a_fall_after_zero_is_seen(falls, answer):
    switched = runs({"agop": [0.001, 0.01, 0.1]}, fall=0.0)
    outcome = penalty.cl_07(after_zero(falls), switched)
    assert outcome.verdict == "answered" and outcome.answer.startswith(answer)


@pytest.mark.parametrize(
    ("deviations", "parts"),
    [
        ({}, "reproduced reproduced reproduced"),
        ({"eigenvalue": 0.1}, "contradicted reproduced reproduced"),
        ({"difference": 1e-3}, "reproduced contradicted reproduced"),
        ({"bias": 1e-15}, "reproduced reproduced contradicted"),
    ],
)
def test_each_formula_of_the_penalty_stands_alone(deviations, parts):
    exact = dict.fromkeys(("trace", "eigenvalue", "slope", "running", "gradient", "step"), 1e-15)
    outcome = penalty.cl_08(exact | {"difference": 1e-10, "bias": 0.0} | deviations)
    assert " ".join(outcome.parts.values()) == parts
    assert outcome.answer.startswith("No" if deviations else "Yes")


AXES = {"agop": [0.0, 0.001], "design": ["iid", "two_rightmost"], "step": [0.001, 0.01]}


def ends(*, bumps=0.0, loss=0.0, slopes=1.0):
    """Runs in which the penalty changes the fraction of bumps, the final test loss (in s.d.) and the squared slopes."""
    found = runs(AXES, diverging=lambda agop, *_: 0.4 + bumps * agop)
    noise = RNG.normal(size=(2, 1, 2, 2, SEEDS))
    penalised = found.agop > 0
    same = (("design", "step", "seed"), noise[0, 0])
    return found.assign(
        test_loss=0.3 + 0.1 * (xr.Variable(*same) + loss * penalised),
        trace=np.exp(xr.Variable(*same)) * xr.where(penalised, slopes, 1.0),
    ).transpose(*AXES, "seed")


def curves(smooth, *, jagged=0.1):
    """Runs of which a share shows an odd curve, and a share of 20 points with penalty a smooth one."""
    axes = {"agop": [0.0, 0.001], "n": [20, 50], "step": [0.001, 0.01]}
    return runs(axes, recovers=jagged, smooth=lambda agop, n, step: smooth if agop and not n and not step else 0.0)


@pytest.mark.parametrize(("share", "verdict"), [(0.05, "reproduced"), (0.0, "contradicted")])
def test_one_smooth_curve_is_enough_and_jagged_ones_are_not(share, verdict):
    assert penalty.cl_09(curves(share)).verdict == verdict


@pytest.mark.parametrize(
    ("change", "verdict", "parts"),
    [
        ({}, "reproduced", {"performance": "reproduced", "dynamics": "reproduced", "function": "reproduced"}),
        ({"slopes": 0.3}, "partly", {"function": "contradicted"}),
        ({"bumps": -0.4}, "partly", {"dynamics": "contradicted"}),
        ({"loss": 2.0}, "contradicted", {"performance": "contradicted"}),
        ({"bumps": -0.2}, "partly", {"dynamics": "undecided"}),
    ],
)
def test_little_effect_is_judged_in_three_senses(change, verdict, parts):
    outcome = penalty.cl_10(ends(**change))
    assert outcome.verdict == verdict and parts.items() <= dict(outcome.parts).items()


@pytest.mark.parametrize(
    ("interval", "inside"),
    [((0, -0.1, 0.1), True), ((0, -0.3, 0.1), None), ((0.4, 0.3, 0.5), False), ((-0.4, -0.5, -0.3), False)],
)
def test_a_quantity_lies_within_bounds_by_its_interval(interval, inside):
    assert penalty.within(Interval(*interval), -0.2, 0.2) is inside


def decayed(*left):
    """Runs of which a share, by weight decay, has a bump."""
    axes = {"design": ["poor(5,1)", "iid"], "step": [0.001, 0.01], "decay": [0.0, 1e-4, 1e-3, 1e-2]}
    return runs(axes, diverging=lambda design, step, decay: left[decay])


@pytest.mark.parametrize(
    ("left", "verdict"),
    [
        ((0.6, 0.6, 0.5, 0.0), "reproduced"),  # the strongest decay is a control and does not count
        ((0.6, 0.6, 0.1, 0.0), "contradicted"),
        ((0.6, 0.6, 0.3, 0.0), "undecided"),
        ((0.6, 0.1, 0.9, 0.0), "contradicted"),
    ],
)
def test_weight_decay_prevents_what_it_halves(left, verdict):
    assert penalty.cl_11(decayed(*left)).verdict == verdict


def slope_shares(change):
    """The poor clusters' share goes from 0.2 at the peak by `change` to T, each; the last ten runs are NaN."""
    axes = {"agop": [0.0, 0.001], "design": ["poor(5,1)", "two_rightmost"], "seed": range(30)}
    share = np.full((2, 2, 30, 2, 6), 0.1) + 1e-3 * RNG.normal(size=(2, 2, 30, 2, 6))
    share[:, 0, :, 1, 5] += change
    share[:, 1, :, 1, 4:] += change
    share[..., 20:, :, :] = np.nan
    coords = axes | {"moment": ["peak", "T"], "cluster": range(6)}
    return xr.Dataset({f"energy_{place}": (tuple(coords), share) for place in ("grid", "points")}, coords)


@pytest.mark.parametrize(("change", "answer"), [(0.1, "Yes:"), (-0.1, "No:")])
def test_where_the_squared_slope_goes(change, answer):
    outcome = penalty.cl_52(slope_shares(change))
    assert outcome.verdict == "answered" and outcome.answer.startswith(answer)


def with_noise(gain):
    """Runs of ten seeds with a bump at epoch 1000 in poor(5,4), after which the true direction gains `gain` there."""
    axes = {"inputs": [2, 5], "design": ["poor(5,4)", "strat"], "seed": range(10), "epoch": np.arange(0, 5001, 100)}
    epoch = axes["epoch"]
    test = np.zeros((2, 2, 10, len(epoch))) + 0.5
    test[:, 0, :, (epoch >= 1000) & (epoch < 3000)] += 0.2
    share = np.full(test.shape, 0.6) + 1e-3 * RNG.normal(size=test.shape)
    share[:, 0, :, epoch > 3000] += gain
    dims = tuple(axes)
    clusters = np.repeat(test[..., None], 6, axis=-1)
    data = {"test_loss": (dims, test), "train_loss": (dims, 0 * test), "true_share": (dims, share)}
    return xr.Dataset(data | {"cluster_loss": ((*dims, "cluster"), clusters)}, axes)


@pytest.mark.parametrize(("gain", "answer"), [(0.2, "In part:"), (-0.2, "No:"), (0.0, "No:")])
def test_gain_of_the_true_direction(gain, answer):
    assert penalty.cl_53(with_noise(gain)).answer.startswith(answer)
