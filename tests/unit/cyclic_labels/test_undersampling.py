"""Designs with poor clusters: exact laws, and the gradient penalty's formulas."""

import itertools

import numpy as np
import pytest
from planted.records import table

from experiments.cyclic_labels import loss_curves
from experiments.cyclic_labels.bumps import cells as bumps
from experiments.cyclic_labels.bumps import undersampling
from experiments.cyclic_labels.penalty import cells as regularisation


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
    axes = {"seed": [0, 1], "epoch": epochs}
    clusters = table(axes | {"cluster": range(6)}, cluster_loss=test[..., None])
    planted = table(axes, test_loss=test, train_loss=falling).merge(clusters)
    assert bumps.slow(planted).diverging.values.tolist() == [True, True]
    assert bumps.slow(bumps.calm(planted)).diverging.values.tolist() == [True, False]


def test_designed_runs_agree_with_their_curves():
    found = undersampling.designed(13, design="two_rightmost", step=0.001)
    run = loss_curves.run(13, design="two_rightmost").expand_dims(seed=[13])
    direct = bumps.slow(run).isel(seed=0)
    assert all(found[name] == direct[name] for name in ("rise", "low", "peak", "recovers", "cluster"))
    assert found["count"].values.tolist() == [12, 12, 12, 11, 1, 2]
    assert (found.right == (found.cluster_error < 0.5)).all()  # in a cluster of one label the middle says which
    assert found.calm and found.diverging_by.sel(definition="threshold 0.2") == (direct.rise > 0.2)


def test_an_early_look_at_a_long_step_has_the_training_times_of_a_short_one():
    found = undersampling.early(0, design="poor(2,1)")
    run = loss_curves.run(0, design="poor(2,1)", step=0.01, epochs=2000, every=10)
    curve = bumps.smooth(run.test_loss.values[None])[0]
    level = dict(zip(10 * run.epoch.values, curve))
    assert found.low >= 500 and float(found.rise) == level[int(found.peak)] - level[int(found.low)]
