"""Projections on the kernel's modes: definitions on constructed curves, planted effects, nulls, bad input."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from experiments.cyclic_labels.kernel import drawing, kernel_spectra, modes
from shallow import nets
from shallow.data import cyclic
from shallow.kernels import empirical
from shallow.train import univariate


def test_track_is_what_it_says():
    """Every quantity against its definition, computed slowly from the run itself."""
    found = modes.track(3, width=64, n=20, step=0.003, epochs=2000)
    sample = cyclic.sample(20, base=7, seed=3)
    network = nets.default(sample.rng, 64)
    vectors = empirical.eigenbasis(empirical.ntk(network, sample.x))[1]
    run = univariate.train(sample.x, sample.y, network, step=0.003, epochs=2000, records=20, keep_gradients=True)
    beta = run.projections(vectors)
    assert np.allclose(found.beta, beta[::20, :8], atol=1e-5)
    assert found.power.values[7] == pytest.approx((beta[140:160, :8] ** 2).mean(axis=0), abs=1e-5)
    assert found.residual.values[5] == pytest.approx((run.outputs[5] - sample.y) @ vectors[:, :8])
    energy = (beta**2).sum(axis=0)
    assert found.captured.values == pytest.approx(np.cumsum(energy)[:15] / (run.gradients.astype(float) ** 2).sum())
    assert float(found.participation) == pytest.approx(energy.sum() ** 2 / (energy**2).sum())
    assert found.early_std.values == pytest.approx(beta[:200, :8].std(axis=0), abs=1e-5)
    assert found.labels.sum() <= 1 and float(found.label_participation) >= 1


def test_a_diverged_run_is_not_a_number():
    found = modes.summary(0, width=128, n=20, step=1e200, epochs=800)
    assert np.isfinite(found.diverged_epoch) and np.isnan(found.captured).all() and np.isnan(found.decay).all()


def test_sign_changes_ignore_zeros():
    values = np.array([[1, 0, -1], [0, 0, -2], [1, 3, 0], [-1, -3, 2], [0, 0, 0], [1, 1, -1]], dtype=float)
    assert modes.sign_changes(values).tolist() == [2, 2, 2]


def test_settled_is_the_first_epoch_of_lasting_quiet():
    rms = np.array([[3, 0, 0, 9], [0, 0, 3, 9], [3, 0, 0, 9], [0, 0, 0, 9]], dtype=float)
    expected = [60, 0, 40, np.nan]
    assert modes.settled(rms, np.ones(4)) == pytest.approx(expected, nan_ok=True)


def test_moving_rms_is_a_window():
    values = np.random.default_rng(0).normal(size=(50, 3))
    found = modes.moving_rms(values, 20)
    assert found.shape == (31, 3)
    assert found[4] == pytest.approx(np.sqrt((values[4:24] ** 2).mean(axis=0)))


def test_order_of_decay_ranks_never_last():
    decay = np.array([[1, 2, 3, np.nan], [4, 3, 2, 1], [np.nan, 3, 2, 1], [5, 5, 5, 5]])
    assert modes.order_of_decay(decay) == pytest.approx([1, -1, -1, 0])


def strata(effect: float, rng: np.random.Generator) -> list:
    """Two strata of 30 runs of which 10 or 20 have a window; their own change in look 2 is larger by `effect`."""
    found = []
    for windows in (10, 20):
        changes = rng.normal(size=(windows, 30, 6))
        changes[np.arange(windows), np.arange(windows), 2] += effect
        found.append((changes, np.arange(windows), np.arange(windows, 30)))
    return found


def test_contrast_finds_a_planted_effect_and_only_that():
    planted = strata(1.5, np.random.default_rng(0))
    found = modes.contrast(planted, name="planted", pooled=True, permutations=1000)
    assert np.flatnonzero(found.p < 0.05).tolist() == [2] and found.low[2] < 1.5 < found.high[2]
    apart = modes.contrast(planted, name="planted", permutations=1000)
    assert np.flatnonzero(apart.p < 0.05).tolist() == [2, 8]


def test_contrast_of_settings_finds_effects_that_cancel_when_pooled():
    up, down = strata(1.5, np.random.default_rng(2))[1], strata(-1.5, np.random.default_rng(3))[1]
    pooled, apart = (modes.contrast([up, down], name="signs", pooled=p, permutations=1000) for p in (True, False))
    assert not (pooled.p < 0.05).any() and np.flatnonzero(apart.p < 0.05).tolist() == [2, 8]


def test_contrast_keeps_its_level_where_nothing_is():
    rng = np.random.default_rng(1)
    found = [modes.contrast(strata(0, rng), name="null", pooled=True, permutations=400) for _ in range(60)]
    assert np.mean([(each.p < 0.05).any() for each in found]) < 0.15


def test_phases_are_the_windows_they_say():
    beta = np.zeros((200, 2))
    beta[40:60, 0], beta[60:101, 1] = 3, 4  # epochs 800 to 1180 before a low at 1200, and to a peak at 2000
    assert modes.phases(beta, 1200, 2000) == pytest.approx(np.array([[3, 0], [0, 4]]))


def test_windows_hold_each_run_in_the_windows_of_each_bump():
    found = modes.windows(0, design="two_rightmost", width=64, runs=3)
    own = modes.own_sizes(found)
    assert own.sizes == {"run": int(found.recovers.sum()), "phase": 2, "mode": 8} and len(own)
    assert np.isfinite(found["size"]).all(["run", "phase", "mode"]).values.tolist() == found.recovers.values.tolist()
    run = int(own.run[0])
    beta = modes.track(run, design="two_rightmost", width=64).beta.values
    expected = modes.phases(beta, int(found.low[run]), int(found.peak[run]))
    assert own.sel(run=run).values == pytest.approx(expected, rel=1e-5)
    changes, owners, others = modes.stratum(found, 5)
    assert changes.shape == (len(own), 3, 5) and owners.tolist() == own.run.values.tolist()
    assert not set(others) & set(owners)


def test_ends_are_those_of_the_run():
    found, run = modes.ends(2, design="iid", width=64), modes.track(2, width=64)
    assert found.final.values == pytest.approx(np.sqrt((run.beta[-20:] ** 2).mean("epoch").values))
    assert found.start.values == pytest.approx(np.abs(run.beta[0].values)) and (np.abs(found.agreement) <= 1).all()


def test_the_first_five_eigenvalues_are_filled():
    _, ax = plt.subplots()
    drawing.spectrum(ax, 64, n=20)
    values = kernel_spectra.spectrum(0, width=64, n=20).eigenvalues.values
    assert ax.lines[1].get_ydata() == pytest.approx(values[:5])
    plt.close("all")


def test_dominance_is_read_off_the_spectrum():
    values = kernel_spectra.spectrum(1, width=64, n=20).eigenvalues.values
    found = kernel_spectra.dominance(1, width=64, n=20)
    assert found.share.values == pytest.approx(values[:8] / values.sum())
    assert values[: int(found.enough)].sum() >= 0.95 * values.sum()
