"""Designs with poor clusters: exact laws, the rule on planted data, and the gradient penalty's formulas."""

import itertools

import numpy as np
import pytest
import xarray as xr

from experiments.cyclic_labels import bumps, regularisation, undersampling
from shallow import stats


def test_smallest_count_law_against_enumeration():
    n, clusters = 6, 3
    exact = np.zeros(n // clusters + 1)
    for assignment in itertools.product(range(clusters), repeat=n):
        exact[np.bincount(assignment, minlength=clusters).min()] += clusters**-n
    assert np.allclose(undersampling.smallest_count_law(n, clusters), exact, atol=1e-12)


def test_count_test_accepts_the_sampler_and_would_see_another_law(monkeypatch):
    result = undersampling.count_test(50, 3, draws=300)
    assert result["means"] and result["p"] > 0.001
    even = np.tile([9, 9, 8, 8, 8, 8], (300, 1))
    monkeypatch.setattr(undersampling, "counts", lambda *args, **kwargs: even)
    assert undersampling.count_test(50, 3, draws=300)["p"] < 1e-6


@pytest.mark.parametrize(
    ("design", "poor"),
    [("iid", []), ("strat", []), ("equi", []), ("poor(5,3)", [5]), ("poor(2,1)", [2]), ("two_rightmost", [4, 5])],
)
def test_poor_clusters(design, poor):
    assert undersampling.poor_clusters(design).tolist() == poor


def _found(rng, rates, clusters):
    """Planted bumps: each design with its own rate, attributed to its own cluster."""
    return {
        d: xr.Dataset({
            "diverging": ("seed", rng.random(50) < rates.get(d, 0.15)),
            "cluster": ("seed", np.full(50, clusters.get(d, 0))),
        })
        for d in undersampling.DESIGNS
    }  # fmt: skip


def test_rule_sees_a_planted_cause_and_not_its_absence():
    rng = stats.stream("test", "undersampling")
    rates, clusters = {"poor(5,1)": 0.7}, {"poor(5,1)": 5, "poor(5,3)": 5, "poor(2,1)": 2, "two_rightmost": 4}
    planted = _found(rng, rates, clusters)
    assert undersampling.evidence(planted, name="t").supports
    assert not undersampling.evidence(_found(rng, rates, {}), name="t").supports  # bumps elsewhere
    assert undersampling.evidence(_found(rng, {}, clusters), name="t").opposes  # no more bumps than elsewhere
    for _ in range(5):
        assert not undersampling.evidence(undersampling.shuffled(planted, rng), name="t").supports


def test_penalty_identities_hold_and_a_wrong_factor_is_seen(monkeypatch):
    found = regularisation.penalty_identities(0, width=64, agop=0.1, n=20)
    assert max(float(found[name]) for name in ("trace", "eigenvalue", "slope", "running", "gradient", "step")) < 1e-12
    assert float(found.bias) == 0
    true = regularisation.penalty_gradient
    monkeypatch.setattr(
        regularisation, "penalty_gradient", lambda *args: {name: 0.5 * g for name, g in true(*args).items()}
    )
    assert float(regularisation.penalty_identities(0, width=64, agop=0.1, n=20).gradient) > 1e-6


def test_calm_runs_keep_a_slow_bump_and_lose_dense_jumps():
    epochs = np.arange(0, 20_001, 100)
    falling, slow = np.exp(-epochs / 4000), 0.3 * np.exp(-(((epochs - 8000) / 2000) ** 2))
    jumps = 0.5 * ((epochs % 500 < 300) & (epochs > 6000) & (epochs < 9000))
    test = np.stack([falling * 0.1 + slow, falling * 0.1 + jumps])
    losses = {"test_loss": (("seed", "epoch"), test), "train_loss": (("seed", "epoch"), np.stack([falling] * 2))}
    losses["cluster_loss"] = (("seed", "epoch", "cluster"), np.repeat(test[..., None], 6, axis=-1))
    planted = xr.Dataset(losses, {"seed": [0, 1], "epoch": epochs})
    assert bumps.slow(planted).diverging.values.tolist() == [True, True]
    assert bumps.slow(undersampling.calm(planted)).diverging.values.tolist() == [True, False]
