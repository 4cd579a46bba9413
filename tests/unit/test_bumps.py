"""The definitions of bumps and spikes, on curves whose answer is known by construction."""

import numpy as np
import pytest
import xarray as xr

from experiments.cyclic_labels import bumps

EPOCHS = np.arange(0, 20_001, 100)
FALLING = 40.0 * np.exp(-EPOCHS / 4000)


def dataset(test, train=FALLING, cluster=None, epochs=EPOCHS):
    """Curves (runs, records) as :func:`loss_curves.run` stacks them; the test loss lies in `cluster`, or in all alike."""
    test = np.atleast_2d(test)
    share = np.ones(6) if cluster is None else 6.0 * (np.arange(6) == cluster)
    data = {
        "test_loss": (("seed", "epoch"), test),
        "train_loss": (("seed", "epoch"), np.broadcast_to(train, test.shape)),
        "cluster_loss": (("seed", "epoch", "cluster"), test[..., None] * share),
    }
    return xr.Dataset(data, {"seed": np.arange(len(test)), "epoch": epochs})


def planted(height=0.3, centre=8000, width=2000, floor=0.2):
    """A falling loss with a smooth bump on top."""
    return floor + 0.8 * np.exp(-EPOCHS / 800) + height * np.exp(-(((EPOCHS - centre) / width) ** 2))


def test_planted_bump_is_found_where_it_is():
    found = bumps.slow(dataset(planted(), cluster=4)).isel(seed=0)
    assert found.bump and found.diverging and found.recovers
    assert abs(int(found.peak) - 8000) <= 500  # half a window: a running median is flat about a maximum
    assert 3000 <= int(found.low) <= 5500
    assert 0.25 < float(found.rise) <= 0.3
    assert int(found.cluster) == 4


def test_no_bump_in_a_falling_loss():
    found = bumps.slow(dataset([planted(0.0), planted(0.04)]))
    assert not found.bump.any() and not found.diverging.any() and not found.recovers.any()
    assert bumps.choose(found) is None


def test_threshold_is_strict_and_on_the_rise_above_the_running_minimum():
    step_up = np.where(EPOCHS < 10_000, 0.25, 0.25 + bumps.RISE)
    assert not bumps.slow(dataset(step_up)).bump.item()
    assert bumps.slow(dataset(step_up + 0.001 * (EPOCHS >= 10_000))).bump.item()


def test_a_high_start_is_no_low():
    """The rise is counted from the minimum so far, not from the smallest value of the whole curve."""
    falling_late = np.where(EPOCHS < 15_000, 0.5, 0.1)
    assert float(bumps.slow(dataset(falling_late)).rise.item()) == 0.0


def test_epochs_before_500_do_not_count():
    early = np.where(EPOCHS < 500, 0.0, 0.5)
    smoothed_away = np.where(EPOCHS < 200, 0.0, 0.5)
    assert float(bumps.slow(dataset(smoothed_away)).rise.item()) == 0.0
    assert bumps.spikes(dataset(early)).spike.item() is False


def test_short_spike_is_a_spike_and_no_slow_bump():
    curve = planted(0.0)
    curve[80:85] += 1.0  # five records of a window of eleven
    assert not bumps.slow(dataset(curve)).bump.item()
    found = bumps.spikes(dataset(curve)).isel(seed=0)
    assert found.spike and abs(float(found.rise) - 1.0) < 0.01 and 8000 <= int(found.peak) <= 8400
    longer = planted(0.0)
    longer[80:86] += 1.0  # six: the median follows
    assert bumps.slow(dataset(longer)).bump.item()


def test_spike_says_whether_the_training_loss_jumps():
    curve, train = planted(0.0), FALLING.copy()
    curve[80] += 1.0
    alone = bumps.spikes(dataset(curve, train)).train_jump.item()
    train[80] += 30.0
    together = bumps.spikes(dataset(curve, train)).train_jump.item()
    assert alone == 0.0 and abs(together - 30.0) < 1.0


def test_slow_rise_is_a_spike_only_above_its_own_threshold():
    assert not bumps.spikes(dataset(planted(0.15))).spike.item()
    assert bumps.spikes(dataset(planted(0.3))).spike.item()


def test_bump_with_rising_training_loss_does_not_diverge():
    found = bumps.slow(dataset(planted(), train=FALLING[::-1]))
    assert found.bump.item() and not found.diverging.item() and not found.recovers.item()


def test_bump_with_constant_training_loss_diverges():
    assert bumps.slow(dataset(planted(), train=np.zeros_like(FALLING))).diverging.item()


def test_bump_that_stays_up_does_not_recover():
    up = np.maximum.accumulate(planted()[40:])
    curve = np.concatenate([planted()[:40], up])
    found = bumps.slow(dataset(curve))
    assert found.diverging.item() and not found.recovers.item()


def test_diverged_run_has_no_bump_and_disturbs_no_other():
    broken = np.full_like(FALLING, np.nan)
    half = np.where(EPOCHS > 10_000, np.inf, planted())
    found = bumps.slow(dataset([planted(), broken, half]))
    assert found.bump.values.tolist() == [True, False, False]
    assert found.recovers.values.tolist() == [True, False, False]
    alone = bumps.slow(dataset(planted()))
    assert float(found.rise[0]) == float(alone.rise[0])
    assert not bumps.spikes(dataset(broken)).spike.item()


def test_attribution_goes_to_the_cluster_that_rises_most():
    """A loss that is high in one cluster and rises in another belongs to the other."""
    runs = dataset(planted())
    runs.cluster_loss[:] = 0.1
    runs.cluster_loss[0, :, 1] = 2.0
    runs.cluster_loss[0, :, 3] = 6 * planted()
    assert bumps.slow(runs).cluster.item() == 3


def test_denser_records_change_nothing():
    dense = np.arange(0, 20_001, 20)
    fine = [np.interp(dense, EPOCHS, curve) for curve in (planted(), FALLING)]
    sparse, found = bumps.slow(dataset(planted())), bumps.slow(dataset(*fine, epochs=dense))
    xr.testing.assert_equal(sparse, found)


def test_choose_takes_the_lowest_seed_that_recovers():
    flat, bump = planted(0.0), planted()
    assert bumps.choose(bumps.slow(dataset([flat, bump, flat, bump]))) == 1


@pytest.mark.parametrize("epochs", [np.arange(0, 20_001, 500), np.arange(0, 401, 100)])
def test_refuses_records_that_are_too_sparse_or_too_few(epochs):
    curve = np.interp(epochs, EPOCHS, planted())
    with pytest.raises(ValueError, match="every 100 epochs"):
        bumps.slow(dataset(curve, np.interp(epochs, EPOCHS, FALLING), epochs=epochs))
