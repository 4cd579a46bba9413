"""Cells and measures of the chapter on cyclic labels, against direct computation and on planted data."""

import itertools

import numpy as np
import pytest
from planted.records import table
from scipy.stats import spearmanr

from experiments.cyclic_labels import loss_curves
from experiments.cyclic_labels.bumps import cells as bumps
from experiments.cyclic_labels.bumps import embedding, mechanism, undersampling
from experiments.cyclic_labels.kernel import kernel_regime
from experiments.cyclic_labels.variance import heatmaps, loss_reduction
from shallow import nets
from shallow.book import sweep
from shallow.data import cyclic
from shallow.train import univariate


def test_instability_counts_jumps_after_the_start():
    epochs, n = np.arange(0, 3001, 500), 10
    quiet = np.array([10, 5, 4, 3, 3, 2, 2.0])
    assert loss_reduction.instability(epochs, quiet, n) == 0
    assert loss_reduction.instability(epochs, quiet + 8 * (epochs == 2000), n) == pytest.approx(1 / 4)
    assert loss_reduction.instability(epochs, quiet + 8 * (epochs == 500), n) == 0
    assert loss_reduction.instability(epochs, np.where(epochs > 2000, 0, quiet + 8 * (epochs == 2000)), n) == 0.5
    assert loss_reduction.instability(epochs, 0 * quiet, n) == 0


def test_the_mean_is_the_sum_at_another_step():
    """The forms that coincide at n = 50."""
    same = [loss_reduction.reduced(50, 1, form, width=16, epochs=200) for form in ("sum", "mean, 50 x step")]
    assert same[0].identical(same[1]) and 0 < float(same[0].alive) <= 1


def test_rank_trend_is_spearman():
    rows = np.random.default_rng(0).integers(0, 5, (6, 12)).astype(float)
    assert np.allclose(heatmaps.rank_trend(rows), [spearmanr(r, np.arange(12)).statistic for r in rows])
    assert heatmaps.rank_trend(np.ones(5)) == 0


def test_anatomy_shares_and_kinks():
    short = sweep.grid(mechanism.anatomy, {"seed": [0, 3]}, design="poor(5,1)", width=64, epochs=1500)
    assert short.share.sum("cluster").isin([0, 1]).all() or np.allclose(short.share.sum("cluster"), 1)
    assert np.allclose(short.energy_grid.sum("cluster"), 1)
    sample = cyclic.sample(50, base=7, seed=0, design="poor(5,1)")
    network = nets.default(sample.rng, 64)
    place = -network.b / network.W[:, 0]
    near = np.abs(place[:, None] - cyclic.boundaries()) < 1 / 24
    first = short.isel(seed=0, epoch=0)
    assert np.array_equal(first.kinks, near.sum(axis=0))
    assert np.allclose(first.kink_weight, np.abs(network.v * network.W[:, 0]) @ near)
    assert np.allclose(first.cluster_loss.mean("cluster"), first.test_loss, atol=5e-3)


def test_pulls_are_the_velocity_of_the_margin():
    sample = cyclic.sample(50, base=7, seed=1, design="poor(5,1)")
    network = nets.default(sample.rng, 64)
    g = np.where(1 - sample.y * network.forward(sample.x) > 0, -sample.y, 0.0)
    parameters = np.stack([network.W[:, 0], network.b, network.v])[None]
    own, other = mechanism._pulls(parameters, g[None], sample.x, (5,))[:, 0]
    z = cyclic.grid(1000)
    z = z[cyclic.clusters(z) == 5][4::8]
    step = 1e-8
    after = univariate.train(sample.x, sample.y, network, step=step, epochs=1).network
    velocity = (after.forward(z) - network.forward(z)).mean() / step  # label +1 in the last cluster
    assert own > 0 and own + other == pytest.approx(velocity, rel=1e-4)


def planted_anatomy(crossing):
    """Two runs: cluster 5 rises from epoch 1000 to 3000 and recovers; its share passes one half at `crossing`."""
    epoch, fine, coarse = (np.arange(0, 6001, k) for k in (100, 20, 500))
    loss = np.full((2, len(epoch), 6), 0.1)
    loss[:, :, 5] += np.interp(epoch, [0, 1000, 3000, 5000], [1, 0, 2, 0])
    loss[:, :, 4] += np.interp(epoch, [0, 3000], [0.6, 0])
    share = np.zeros((2, len(fine), 6))
    share[:, fine >= crossing, 5] = 0.8
    seed, cluster = {"seed": [4, 7]}, {"cluster": range(6)}
    mean = {"test_loss": loss.mean(axis=-1), "train_loss": np.linspace(5, 0.1, len(epoch))}
    found = table(seed | {"epoch": epoch}, **mean).merge(table(seed | {"epoch": epoch} | cluster, cluster_loss=loss))
    found = found.merge(table(seed | {"fine": fine} | cluster, share=share))
    return found.merge(table(seed | {"coarse": coarse}, own_pull=3.0, other_pull=-1.0))


@pytest.mark.parametrize(("crossing", "passed"), [(2000, True), (4500, False)])
def test_events_of_planted_runs(crossing, passed):
    found = mechanism.events(planted_anatomy(crossing), (5,))
    assert list(found.seed) == [4, 7] and found.parts.all()
    assert (found.passed == passed).all() and not found.passed_at_low.any()
    assert abs(found.peak - 3000).max() <= 500 and np.allclose(found.pull_peak, 0.75)
    moments = mechanism.at_events(planted_anatomy(crossing), found, "train_loss")
    assert list(moments.moment.values) == ["start", "low", "peak", "T/2", "T"]
    assert (moments.sel(moment="start") == 5).all() and np.allclose(moments.sel(moment="T"), 0.1)


def test_a_dissected_run_is_its_anatomy():
    found = mechanism.dissected(13, design="two_rightmost")
    whole = mechanism.anatomy(13, design="two_rightmost")
    direct = mechanism.events(whole.expand_dims(seed=[13]), (4, 5)).isel(seed=0)
    assert all(float(found[name]) == float(direct[name]) for name in direct.data_vars)
    at_peak = whole.kink_weight.sel(epoch=int(found.peak))
    assert np.allclose(found.kink_weight.sel(moment="peak"), at_peak)
    assert np.array_equal(found.own_pull, whole.own_pull) and 0 < found.share.max() < 1
    level = bumps.smooth(whole.cluster_loss.values[None])[0][::5]
    assert np.allclose(found.poor_loss, level[:, 4:].mean(axis=1)) and np.allclose(found.neighbour_loss, level[:, 3])
    slope = whole.border_slope.sel(epoch=found.coarse).values
    assert np.allclose(found.border_slope, (slope[:, 4] - slope[:, 3]) / 2)  # labels +, -, + of clusters 3, 4, 5


def test_outcome_and_recovery_of_planted_runs():
    found = bumps.recovery(planted_anatomy(2000))
    assert np.all((found > 3500) & (found <= 5500))
    single = planted_anatomy(2000).isel(seed=0, drop=True)
    single = single.assign(error=single.test_loss)
    assert bumps.as_scalars(single).diverging and float(bumps.as_scalars(single).recovery) == found[0]


def test_smallest_count_law_against_enumeration():
    n, clusters = 6, 3
    exact = np.zeros(n // clusters + 1)
    for assignment in itertools.product(range(clusters), repeat=n):
        exact[np.bincount(assignment, minlength=clusters).min()] += clusters**-n
    assert np.allclose(undersampling.smallest_count_law(n, clusters), exact, atol=1e-12)


def test_count_test_would_see_another_law(monkeypatch):
    even = np.tile([9, 9, 8, 8, 8, 8], (300, 1))
    monkeypatch.setattr(undersampling, "counts", lambda *args, **kwargs: even)
    assert undersampling.count_test(50, 3, draws=300)["p"] < 1e-6


@pytest.mark.parametrize(
    ("design", "poor"),
    [("iid", []), ("strat", []), ("equi", []), ("poor(5,3)", [5]), ("poor(2,1)", [2]), ("two_rightmost", [4, 5])],
)
def test_poor_clusters(design, poor):
    assert undersampling.poor_clusters(design).tolist() == poor


def test_designed_runs_agree_with_their_curves():
    found = undersampling.designed(13, design="two_rightmost", step=0.001)
    run = loss_curves.run(13, design="two_rightmost").expand_dims(seed=[13])
    direct = bumps.slow(run).isel(seed=0)
    assert all(found[name] == direct[name] for name in ("rise", "low", "peak", "recovers", "cluster"))
    assert found["count"].values.tolist() == [12, 12, 12, 11, 1, 2]
    assert (found.right == (found.cluster_error < 0.5)).all()  # in a cluster of one label the middle says which
    assert found.calm and found.diverging_by.sel(definition="threshold 0.2") == (direct.rise > 0.2)


def test_dose_trends():
    few = [1, 2, 3, 5, 8]
    flags = np.arange(50) < np.array([[45], [30], [20], [10], [2]])
    trend = undersampling.dose_trend(flags, few, name="t")
    assert trend.estimate == pytest.approx(spearmanr(np.repeat(few, 50), flags.ravel()).statistic)
    assert trend.low < trend.estimate < trend.high < -0.5
    mixed = np.random.default_rng(1).permuted(flags, axis=0)
    assert undersampling.dose_trend(mixed, few, name="t").contains(0)
    assert np.isnan(undersampling.dose_trend(0 * flags, few, name="t").estimate)
    rng = np.random.default_rng(0)
    n = np.repeat([20, 50, 100], 60)
    smallest, rise = n / 10 + rng.normal(size=180), -n + rng.normal(size=180)
    assert undersampling.given_size(smallest, rise, n, name="t").contains(0)  # only n links the two
    assert undersampling.correlation(smallest, rise, name="t").high < -0.8
    assert undersampling.given_size(smallest, rise - 5 * smallest, n, name="t").high < -0.8


def test_hard_margin_against_the_quadratic_program():
    rng = np.random.default_rng(0)
    features, y = rng.normal(size=(15, 40)), rng.choice([-1.0, 1.0], 15)
    v = embedding.hard_margin(features, y)
    margins = y * (features @ v)
    support = margins < 1 + 1e-9
    assert margins.min() == pytest.approx(1, abs=1e-9) and support.any()
    weights = np.linalg.lstsq((y[:, None] * features)[support].T, v, rcond=None)[0]
    assert (weights > 0).all() and np.allclose(weights @ (y[:, None] * features)[support], v)  # the KKT conditions
    with pytest.raises(ValueError, match="cannot separate"):
        embedding.hard_margin(np.array([[1.0], [1.0]]), np.array([1.0, -1.0]))


def test_gradient_shares_are_those_of_the_outer_product():
    rng = np.random.default_rng(2)
    x, network = rng.uniform(-0.5, 0.5, (40, 3)), nets.default(rng, 20, 3)
    shift = 1e-6 * np.eye(3)
    slopes = np.stack([(network.forward(x + s) - network.forward(x - s)) / 2e-6 for s in shift], axis=1)
    trace = (slopes**2).mean(axis=0)
    assert np.allclose(embedding.gradient_shares(network, x), trace / trace.sum(), rtol=1e-6)


def test_a_run_that_hardly_moves_keeps_its_kernel_and_one_that_diverges_has_none():
    still = kernel_regime.regime(0, step=1e-9, width=64, n=20, epochs=2)
    assert all(float(still[name]) == pytest.approx(1, abs=1e-6) for name in ("alignment", "beyond", "subspace"))
    assert 0 < still.moved < 1e-7 and np.isnan(still.diverged_epoch)
    assert still.null_beyond < 0.999 and still.null_subspace < 0.999  # what another network has
    with np.errstate(all="ignore"):
        gone = kernel_regime.regime(0, step=1e200, width=64, n=20, epochs=50)
    assert gone.diverged_epoch > 0 and all(np.isnan(gone[name]) for name in ("alignment", "moved"))
    assert gone.null_beyond == still.null_beyond
    assert gone.step_eigenvalue == pytest.approx(1e209 * float(still.step_eigenvalue))
