"""Ensembles: measures from Gram matrices against the functions themselves, and resampling."""

import numpy as np
import pytest

from experiments.cyclic_labels.variance import amplitudes, ensembles, heatmaps, initialisation
from shallow.book import sweep

SMALL = dict(width=16, step=0.01, models=4, epochs=40, every=20)


@pytest.fixture
def f():
    """Functions of four models at three epochs on a grid of 50 points."""
    rng = np.random.default_rng(3)
    return rng.normal(1.0, 2.0, (3, 4, 50)) * rng.uniform(0.5, 3.0, (3, 4, 1))


def gram(f):
    return f @ f.swapaxes(-1, -2) / f.shape[-1]


def test_measures_from_the_gram_matrix_are_those_of_the_functions(f):
    assert np.array_equal(heatmaps.unpack(heatmaps.pack(gram(f))), gram(f))
    assert np.allclose(ensembles.variance(gram(f)), f.var(axis=1).mean(axis=-1))
    assert np.allclose(ensembles.relative_variance(gram(f)), f.var(axis=1).mean(-1) / (f**2).mean((1, 2)))
    assert np.allclose(ensembles.amplitudes(gram(f)), np.sqrt((f**2).mean(axis=-1)))
    assert ensembles.relative_variance(np.zeros((4, 4))) == 0
    a = np.sqrt((f**2).mean(axis=-1, keepdims=True))
    rescaled = f / a * a.mean(axis=1, keepdims=True)
    spread, removed = amplitudes.measure(gram(f), np.full((1, 3, 4), 1 / 4))
    assert np.allclose(spread, (a.std(axis=1) / a.mean(axis=1))[:, 0])
    assert np.allclose(removed, 1 - rescaled.var(axis=1).mean(axis=-1) / f.var(axis=1).mean(axis=-1))


def test_robust_variance_by_loops(f):
    distances = [(f[0, s] - np.median(f[0], axis=0)) ** 2 for s in range(4)]
    assert np.isclose(ensembles.robust_variance(f[0]), np.mean(np.median(distances, axis=0)))
    outlier = f[0].copy()
    outlier[0] *= 1e6
    assert ensembles.robust_variance(outlier) < 1e3 < ensembles.variance(gram(outlier))


def test_ensemble_reduces_the_functions_it_trains():
    trained, full = (make(30, **SMALL) for make in (ensembles.functions, ensembles.ensemble))
    f = trained.f.values
    assert np.allclose(full.gram, gram(f)) and np.allclose(full.sign_gram, gram(np.sign(f)))
    assert np.array_equal(full.train_loss, trained.train_loss)


def test_a_fixed_sample_leaves_only_the_initialisation_to_vary():
    same = ensembles.functions(30, data_seeds=(0, 0, 0, 0), start_seeds=(0, 1, 2, 0), **SMALL).f.values
    assert np.array_equal(same[:, 0], same[:, 3]) and not np.allclose(same[:, 0], same[:, 1])


def test_resampling_models_is_resampling_functions(f):
    rows = np.array([2, 2, 0, 1])
    weight = np.bincount(rows, minlength=4)[None, None] / 4
    variance, square = heatmaps.weighted(gram(f[:1]), weight)
    drawn = f[0, rows]
    assert np.isclose(variance[0, 0], drawn.var(axis=0).mean()) and np.isclose(square[0, 0], (drawn**2).mean())


def test_bootstrap_shrinks_the_variance_by_one_model_in_all(f):
    weight = heatmaps.weights(3, 4, name="test", resamples=20_000)
    assert np.allclose(weight.sum(axis=-1), 1)
    mean = heatmaps.weighted(gram(f), weight)[0].mean(axis=0)
    assert np.allclose(mean, ensembles.variance(gram(f)) * 3 / 4, rtol=0.02)


def test_partial_correlation_removes_what_is_given():
    rng = np.random.default_rng(0)
    given = rng.standard_normal(4000)
    a, b = given + rng.standard_normal(4000), given + rng.standard_normal(4000)
    r = np.corrcoef([a, b, given])
    assert r[0, 1] > 0.4 and abs(heatmaps._partial(r, 0, 1, [2])) < 0.05
    assert np.isclose(heatmaps._partial(r, 0, 1, []), r[0, 1])


def test_summary_and_models_of_a_sweep_agree_with_the_cells():
    full = sweep.grid(ensembles.ensemble, {"n": [10, 30]}, jobs=1, **SMALL)
    rows, column = heatmaps.summary(full), heatmaps.heatmap(30, **SMALL)
    for key in set(column) - {"robust_band"}:
        assert np.allclose(rows[key].sel(n=30), column[key], equal_nan=True), key
    low, high = column.robust_band.values
    assert 0 <= low < high
    kept = heatmaps.models(30, **SMALL)
    assert np.allclose(heatmaps.unpack(kept.gram.values), full.gram.sel(n=30))


def test_splits_of_one_network_have_no_preferred_half():
    sizes = {"network": list(initialisation.NETWORKS), "n": [10, 30]}
    options = dict(models=6, epochs=40, every=20)
    found = sweep.grid(initialisation.compared, sizes, jobs=1, **options).sel(network="plain")
    null = initialisation.split_null(found, name="test", splits=4000)
    for draws in null.values():
        assert abs(draws.mean()) < 4 * draws.std() / np.sqrt(len(draws))
