"""The rules on the gradient penalty and weight decay, on planted data for which the answer is known."""

import numpy as np
import pytest
from planted.records import by, often, planted, scatter, table, verdicts

from experiments.cyclic_labels.penalty import cells
from experiments.cyclic_labels.penalty import rules as penalty
from shallow import stats

PAGE, RNG = "cyclic_labels/penalty", stats.stream("planted runs")
PENALTY = by(agop={0.0: 0, 0.001: 1})


def after_zero(falls):
    """Runs of which a share, by strength, falls by 0.1 after zero."""
    share = by(agop=dict(zip([0.0, 0.001, 0.01, 0.1], falls, strict=True)))
    return planted(f"{PAGE}/penalty_after_zero", fall=0.1 * often(share, 50), zero_epoch=1.0)


@pytest.mark.parametrize(
    ("falls", "often"),
    [((0, 0, 0, 0), False), ((0, 0.5, 0, 0), True), ((0, 0.1, 0, 0), None), ((0.5, 0, 0, 0), False)],
)
def test_a_fall_after_zero_is_seen(falls, often):
    """Without penalty it does not count."""
    switched = planted(f"{PAGE}/penalty_switched_on", fall=0.0)
    outcome = penalty.cl_07(after_zero(falls), switched)
    assert outcome.verdict == "answered" and outcome.numbers["most"].exceeds(0.1) is often


EXACT = dict.fromkeys(("trace", "eigenvalue", "slope", "running", "gradient", "step"), 1e-15)
test_each_formula_of_the_penalty_stands_alone = verdicts(
    penalty.cl_08,
    lambda **deviations: EXACT | {"difference": 1e-10, "bias": 0.0} | deviations,
    rrr=[{}],
    crr=[{"eigenvalue": 0.1}],
    rcr=[{"difference": 1e-3}],
    rrc=[{"bias": 1e-15}],
)


def ends(*, bumps=0.0, loss=0.0, slopes=1.0):
    """Runs in which the penalty changes the fraction of bumps, the final test loss (in s.d.) and the squared slopes."""
    name = f"{PAGE}/penalty"
    noise = scatter(name, "trace", 1.0).isel(agop=0, drop=True)
    ended = {"test_loss": 0.3 + 0.1 * (noise + loss * PENALTY), "trace": np.exp(noise) * slopes**PENALTY}
    return planted(name, {"agop": [0.0, 0.001]}, diverging=often(0.4 + bumps * PENALTY, 200), **ended)


def curves(smooth):
    """Runs of which a tenth shows an odd curve, and a share of 20 points with penalty a smooth one."""
    share = smooth * PENALTY * by(n={20: 1, 50: 0}) * by(step={0.001: 1, 0.01: 0})
    return planted(f"{PAGE}/odd_curves", recovers=often(0.1, 200), smooth=often(share, 200))


test_one_smooth_curve_is_enough_and_jagged_ones_are_not = verdicts(
    penalty.cl_09, curves, reproduced=[0.05], contradicted=[0.0]
)


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


def decayed(*left):
    """Runs of which a share, by weight decay, has a bump."""
    share = by(decay=dict(zip([0.0, 1e-4, 1e-3, 1e-2], left, strict=True)))
    return planted(f"{PAGE}/weight_decay", diverging=often(share, 200))


test_weight_decay_prevents_what_it_halves = verdicts(
    penalty.cl_11,
    decayed,
    reproduced=[(0.6, 0.6, 0.5, 0.0)],  # the strongest decay is a control and does not count
    contradicted=[(0.6, 0.6, 0.1, 0.0), (0.6, 0.1, 0.9, 0.0)],
    undecided=[(0.6, 0.6, 0.3, 0.0)],
)


def slope_shares(change):
    """The poor clusters' share goes from 0.2 at the peak by `change` to T, each; the last ten runs are NaN."""
    axes = {"agop": [0.0, 0.001], "design": ["poor(5,1)", "two_rightmost"], "seed": range(30)}
    share = np.full((2, 2, 30, 2, 6), 0.1) + 1e-3 * RNG.normal(size=(2, 2, 30, 2, 6))
    share[:, 0, :, 1, 5] += change
    share[:, 1, :, 1, 4:] += change
    share[..., 20:, :, :] = np.nan
    return table(axes | {"moment": ["peak", "T"], "cluster": range(6)}, energy_grid=share, energy_points=share)


@pytest.mark.parametrize(("change", "rises"), [(0.1, 8), (-0.1, 0)])
def test_where_the_squared_slope_goes(change, rises):
    outcome = penalty.cl_52(slope_shares(change))
    assert outcome.verdict == "answered"
    assert (outcome.numbers["rises"], outcome.numbers["cases"]) == (rises, 8)


def with_noise(gain):
    """Runs of ten seeds with a bump at epoch 1000 in poor(5,4), after which the true direction gains `gain` there."""
    axes = {"inputs": [2, 5], "design": ["poor(5,4)", "strat"], "seed": range(10), "epoch": np.arange(0, 5001, 100)}
    epoch = axes["epoch"]
    test = np.zeros((2, 2, 10, len(epoch))) + 0.5
    test[:, 0, :, (epoch >= 1000) & (epoch < 3000)] += 0.2
    share = np.full(test.shape, 0.6) + 1e-3 * RNG.normal(size=test.shape)
    share[:, 0, :, epoch > 3000] += gain
    found = table(axes, test_loss=test, train_loss=0.0, true_share=share)
    return found.merge(table(axes | {"cluster": range(6)}, cluster_loss=test[..., None]))


@pytest.mark.parametrize("gain", [0.2, -0.2, 0.0])
def test_gain_of_the_true_direction(gain):
    found = penalty.cl_53(with_noise(gain)).numbers
    assert [found[f"gain, d = {inputs}"].above(0) for inputs in (2, 5)] == [gain > 0, gain > 0]


def test_a_wrong_factor_of_the_penalty_is_seen(monkeypatch):
    true = cells.penalty_gradient
    monkeypatch.setattr(cells, "penalty_gradient", lambda *args: {name: 0.5 * g for name, g in true(*args).items()})
    assert float(cells.penalty_identities(0, width=64, agop=0.1, n=20).gradient) > 1e-6
