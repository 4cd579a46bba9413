"""The definitions of bumps and spikes, on curves whose answer is known by construction."""

import numpy as np
import pytest
import xarray as xr
from planted.records import table

from experiments.cyclic_labels.bumps import cells as bumps
from experiments.cyclic_labels.bumps import lever, population, rules
from shallow.data import cyclic

EPOCHS = np.arange(0, 20_001, 100)
FALLING = 40.0 * np.exp(-EPOCHS / 4000)


def dataset(test, train=FALLING, cluster=None, epochs=EPOCHS):
    """Curves (runs, records) as runs are stacked; the test loss lies in `cluster`, or in all alike."""
    test = np.atleast_2d(test)
    share = np.ones(6) if cluster is None else 6.0 * (np.arange(6) == cluster)
    axes = {"seed": range(len(test)), "epoch": epochs}
    losses = table(axes, test_loss=test, train_loss=train)
    return losses.merge(table(axes | {"cluster": range(6)}, cluster_loss=test[..., None] * share))


def planted(height=0.3, centre=8000, width=2000, floor=0.2):
    """A falling loss with a smooth bump on top."""
    return floor + 0.8 * np.exp(-EPOCHS / 800) + height * np.exp(-(((EPOCHS - centre) / width) ** 2))


def lifted(start, stop, height=1.0):
    """A falling loss that is higher at some records."""
    curve = planted(0.0)
    curve[start:stop] += height
    return curve


def test_planted_bump_is_found_where_it_is():
    found = bumps.slow(dataset(planted(), cluster=4)).isel(seed=0)
    assert found.bump and found.diverging and found.recovers
    assert abs(int(found.peak) - 8000) <= 500  # half a window: a running median is flat about a maximum
    assert 3000 <= int(found.low) <= 5500 and 0.25 < float(found.rise) <= 0.3 and int(found.cluster) == 4
    dense = np.arange(0, 20_001, 20)
    fine = [np.interp(dense, EPOCHS, curve) for curve in (planted(), FALLING)]
    again = bumps.slow(dataset(*fine, epochs=dense)).isel(seed=0)
    xr.testing.assert_equal(found.drop_vars("cluster"), again.drop_vars("cluster"))  # denser records change nothing


STEP_UP = np.where(EPOCHS < 10_000, 0.25, 0.25 + bumps.RISE)
STAYS_UP = np.concatenate([planted()[:40], np.maximum.accumulate(planted()[40:])])


@pytest.mark.parametrize(
    ("test", "train", "flags"),
    [
        (planted(), FALLING, (True, True, True)),
        (planted(), FALLING[::-1], (True, False, False)),  # the training loss rises with it
        (planted(), 0 * FALLING, (True, True, True)),
        (STAYS_UP, FALLING, (True, True, False)),
        (planted(0.0), FALLING, (False, False, False)),
        (planted(0.04), FALLING, (False, False, False)),
        (STEP_UP, FALLING, (False, False, False)),  # the threshold is strict
        (STEP_UP + 0.001 * (EPOCHS >= 10_000), FALLING, (True, True, False)),
        (np.where(EPOCHS < 15_000, 0.5, 0.1), FALLING, (False, False, False)),  # a high start is no low
        (np.where(EPOCHS < 200, 0.0, 0.5), FALLING, (False, False, False)),  # nor is what is over at 500
        (lifted(80, 85), FALLING, (False, False, False)),  # five records of a window of eleven
        (lifted(80, 86), FALLING, (True, True, True)),  # six: the median follows
    ],
)
def test_what_is_a_bump(test, train, flags):
    found = bumps.slow(dataset(test, train)).isel(seed=0)
    assert (bool(found.bump), bool(found.diverging), bool(found.recovers)) == flags


@pytest.mark.parametrize(
    ("test", "is_spike"),
    [
        (lifted(80, 85), True),
        (planted(0.15), False),
        (planted(0.3), True),
        (np.where(EPOCHS < 500, 0.0, 0.5), False),
        (np.full_like(FALLING, np.nan), False),
    ],
)
def test_what_is_a_spike(test, is_spike):
    assert bumps.spikes(dataset(test)).spike.item() == is_spike


def test_spike_says_where_it_is_and_whether_the_training_loss_jumps():
    train = FALLING.copy()
    train[80] += 30.0
    alone, together = (bumps.spikes(dataset(lifted(80, 81), losses)).isel(seed=0) for losses in (FALLING, train))
    assert abs(float(alone.rise) - 1.0) < 0.01 and int(alone.peak) == 8000
    assert alone.train_jump == 0.0 and abs(float(together.train_jump) - 30.0) < 1.0


def test_diverged_run_has_no_bump_and_disturbs_no_other():
    half = np.where(EPOCHS > 10_000, np.inf, planted())
    found = bumps.slow(dataset([planted(), np.full_like(FALLING, np.nan), half]))
    assert found.bump.values.tolist() == found.recovers.values.tolist() == [True, False, False]
    assert float(found.rise[0]) == float(bumps.slow(dataset(planted())).rise[0])


def test_attribution_goes_to_the_cluster_that_rises_most():
    """A loss that is high in one cluster and rises in another belongs to the other."""
    runs = dataset(planted())
    runs.cluster_loss[:] = 0.1
    runs.cluster_loss[0, :, 1] = 2.0
    runs.cluster_loss[0, :, 3] = 6 * planted()
    assert bumps.slow(runs).cluster.item() == 3


def test_sets_are_told_apart_by_where_the_lone_point_is():
    counts = [[0, 1, 5, 5, 5, 4], [1, 1, 5, 5, 4, 4], [4, 1, 5, 5, 1, 4], [4, 2, 5, 5, 2, 2], [4, 4, 5, 1, 2, 4]]
    runs = xr.Dataset({"count": (("seed", "place"), counts), "diverging": ("seed", [1, 1, 1, 0, 0])})
    shares = rules.by_place(runs.assign(smallest=runs["count"].min("place")))
    assert {name: share.estimate for name, share in shares.items()} == {"empty": 1, "end": 1, "inside": 0.5, "no": 0}


def test_the_run_to_draw_is_the_first_or_the_clearest_that_recovers():
    curves = [planted(0.0), planted(0.2), planted(0.4), STAYS_UP + 5 * (EPOCHS > 9000), planted(0.3)]
    found, nothing = bumps.slow(dataset(curves)), bumps.slow(dataset([planted(0.0), planted(0.0)]))
    assert found.rise.values.argmax() == 3  # but it does not recover
    assert (bumps.choose(found), bumps.choose_clearest(found)) == (1, 2)
    assert bumps.choose(nothing) is None and bumps.choose_clearest(nothing) is None


JUMPS = 0.15 * ((EPOCHS % 500 < 300) & (EPOCHS > 6000) & (EPOCHS < 9000))


def test_calm_runs_keep_a_slow_bump_and_lose_dense_jumps():
    runs = dataset([planted(), planted(0.0) + 3 * JUMPS])
    assert bumps.slow(runs).diverging.values.tolist() == [True, True]
    assert bumps.slow(bumps.calm(runs)).diverging.values.tolist() == [True, False]


@pytest.mark.parametrize(
    ("test", "train", "smooth"),
    [
        (planted(0.18), FALLING, True),
        (planted(0.18, width=400), FALLING, False),  # as short as a crowd of jumps
        (planted(0.3), FALLING, False),  # it rises by more than a spike
        (planted(0.0) + JUMPS, FALLING, False),  # a crowd of jumps, which the running median follows
        (planted(0.18), FALLING + 30 * (EPOCHS == 12_000), False),  # the training loss jumps
        (planted(0.0), FALLING, False),
    ],
)
def test_a_smooth_odd_curve_has_a_bump_and_no_jump(test, train, smooth):
    runs = dataset(np.stack([planted(0.0), test]), train).assign(count=("cluster", [8, 8, 8, 8, 8, 10]))
    assert bumps.is_smooth(runs.isel(seed=1)) == smooth


@pytest.mark.parametrize("epochs", [np.arange(0, 20_001, 500), np.arange(0, 401, 100)])
def test_refuses_records_that_are_too_sparse_or_too_few(epochs):
    curve = np.interp(epochs, EPOCHS, planted())
    with pytest.raises(ValueError, match="every 100 epochs"):
        bumps.slow(dataset(curve, np.interp(epochs, EPOCHS, FALLING), epochs=epochs))


def test_a_lone_point_that_is_moved_to_where_it_was_changes_nothing_and_errors_are_read_at_the_bump():
    drawn = cyclic.sample(50, base=7, seed=0, design="poor(5,1)").x.max()
    stayed, moved = (lever.moved(0, at) for at in (6 * drawn - 2, 0.05))
    curves = bumps.cut(0, 10, design="poor(5,1)")
    found = bumps.slow(curves).isel(seed=0)
    assert float(stayed.rise) == pytest.approx(float(found.rise), abs=1e-6) and stayed.peak == found.peak
    assert abs(float(moved.rise - stayed.rise)) > 0.01
    read = population.in_error(0, 10, design="poor(5,1)")
    loss = bumps.smooth(curves.test_loss.values)[0, [np.searchsorted(curves.epoch, found[m]) for m in ("low", "peak")]]
    assert read.test_loss[:2].values == pytest.approx(loss, rel=1e-6)
    assert read.cluster_error.mean("place").values == pytest.approx(read.error.values, abs=0.02)
