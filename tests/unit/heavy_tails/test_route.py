"""The rules on the way from a spike to a wide bulk, on planted data for which the answer is known."""

import numpy as np
import pytest
import xarray as xr
from planted.records import planted, table, verdicts

from experiments.heavy_tails.route import rules as route
from experiments.heavy_tails.route import widening

NOISE = route.NOISE
JITTER = np.array([-0.001, 0, 0.001])  # of three draws


def along(steps, **curves):
    """A table over three draws and the steps; every draw has the curve, shifted a little."""
    table = {name: (("seed", "step"), (1 + JITTER[:, None]) * np.array(curve, float)) for name, curve in curves.items()}
    return xr.Dataset(table, {"seed": [0, 1, 2], "step": list(steps)})


def passing(gaps=(1.01, 7, 4, 2, 1.5), distances=(0.003, 0.003, 0.02, 0.04, 0.06)):
    """A run from noise over a spike to a wider bulk, at steps 0, 1, 5, 10 and 50."""
    hill = NOISE - 5 * (np.array(distances) - 0.003)
    table = along([0, 1, 5, 10, 50], spike_ratio=gaps, d_mp=distances, hill_excl=hill)
    return table.assign(single_spike=table.spike_ratio > 1.05)


def crossing(step, distance):
    """Flags of a widened bulk from a step on."""
    table = along([0, 25, 50, 75, 100], d_mp=[distance] * 5, hill_excl=[NOISE] * 5)
    return table.assign(ht_onset=(table.step >= step) & (table.seed >= 0))


test_the_stages_of_the_route_are_told_apart = verdicts(
    route.ht_19,
    lambda on=50, distance=0.02, **adam: (passing(**adam), passing(), crossing(on, distance), passing()),
    rrrrrr=[{}],
    crcrcr=[{"gaps": (1.01, 1.02, 4, 2, 1.5)}],
    rcrrrr=[{"distances": (0.003, 0.003, 0.04, 0.02, 0.06)}],
    rrcrrr=[{"gaps": (1.01, 7, 2, 4, 1.5)}],  # a swing
    rrrcrr=[{"on": 25}, {"on": 1000}],  # too early, never
    rrrurr=[{"on": 1000, "distance": 0.046}],  # by a hair
    rrrrcr=[{"gaps": (1.01, 7, 4, 2, 9)}],
)


def outliers(*counts):
    """Outliers of batches of 50, of 200 and of the full batch at the first of two rates, one at the other."""
    axes = {"batch": [50, 200, 2000], "rate": [0.1, 1.0], "seed": [0, 1, 2], "step": [1, 10]}
    found = table(axes, outliers=1)
    found.outliers[:, 0] = np.reshape(counts, (3, 1, 1))
    return found


test_spikes_of_small_batches = verdicts(
    route.ht_20, outliers, rc=[(3, 3, 1)], pc=[(3, 1, 1)], cc=[(1, 1, 1), (3, 3, 3)]
)


def ended(wide, single=True, similar=0.4):
    """Three draws after 1 and 10 steps: wide at the end or not, one spike at the start or not."""
    hill, away = (NOISE - 0.5, 0.13) if wide else (NOISE - 0.1, 0.02)
    table = along([1, 10], hill_excl=[NOISE, hill], d_mp=[0.003, away], similarity=[similar] * 2, spike_ratio=[2, 2])
    return table.assign(single_spike=(("seed", "step"), [[single] * 2] * 3))


def labelled(true, false, others_single=False):
    """The run of Adam at 1, beside others without a wide bulk."""
    true, other = true.rename(step="end"), ended(False, single=others_single).rename(step="end")
    labels = false.expand_dims(labels=["permuted", "Gaussian"])
    others = other.expand_dims(rate=[3000.0]), true, other.expand_dims(rate=[0.2, 0.5, 10.0])
    others = others[0], [others[1]], others[2]
    return other, *others, labels.expand_dims(rate=[1.0, 10.0]), labels, *near_the_threshold()


def near_the_threshold(shift=0.01):
    """Runs next to the threshold with 2000 and 8000 points, and a long one; permuted labels have other exponents."""
    hill = xr.DataArray([2.3, 2.3 + shift], {"labels": ["true", "permuted"]}, ["labels"])
    hill = hill + xr.DataArray(JITTER, {"seed": [0, 1, 2]}, ["seed"])
    one = xr.Dataset({"hill_excl": hill}).expand_dims(step=[10, 6000])
    return [one.expand_dims(rate=[1500.0]), one.expand_dims(rate=[2000.0])], one


def test_labels_next_to_the_threshold_are_paired():
    near, long = near_the_threshold(0.02)
    found = route.near_threshold(*near)
    assert list(found) == ["2000 points, GD 1500", "8000 points, GD 2000"]
    for one in (*found.values(), route.shuffled_minus_true(long, 6000)):
        assert one.low == pytest.approx(0.02) and one.high == pytest.approx(0.02)


test_whether_labels_matter = verdicts(
    route.ht_29,
    labelled,
    rr=[(ended(True), ended(False))],
    rc=[(ended(True), ended(True))],
    cr=[(ended(True), ended(False), True)],  # other runs begin with one spike as well and are not wide
    uc=[(ended(True, single=False), ended(True)), (ended(True, similar=0.1), ended(True))],
    cu=[(ended(False), ended(False))],
)


def ten_steps(loss):
    """Heavy from the second step on, where the loss is given."""
    losses = along(range(10), loss=[1, 2, *[loss] * 8]).loss.rename(step="time")
    ten = along(range(11), hill_excl=[NOISE] * 11).assign(loss=losses)
    late = along([100], loss=[0.01]).expand_dims(rate=[1.0])
    return ten.assign(ht=(ten.step >= 2) & (ten.seed >= 0)), (late, late)


test_early_or_late = verdicts(route.ht_30, ten_steps, reproduced=[5.0], contradicted=[0.02])


def spreading(paid):
    """Steps 1 to 10 in which the others gain 100 and the largest eigenvalue loses a share of that."""
    steps = np.linspace(0, 1, 10)
    return along(range(1, 11), largest=1000 - 100 * paid * steps, rest=5000 + 100 * steps, hill_excl=[NOISE] * 10)


def falling(share):
    """Exponents at rate 1 that fall in ten steps by 0.5 as they are, and by a share of it with something cut out."""
    fall = xr.DataArray([1, share, share], {"cut": ["nothing", "update", "gradient"]}, ["cut"])
    table = along([0, 10], hill_excl=[0.0, -0.5]) * fall + NOISE
    null = table.hill_excl.sel(step=10, drop=True).expand_dims(form=["permuted"])
    return table.assign(end_hill_excl=null).expand_dims(rate=[1.0])


@pytest.mark.parametrize(
    ("paid", "ratio", "verdict"), [(0.9, 0.1, "reproduced"), (0.05, 1.0, "contradicted"), (0.9, 1.0, "partly")]
)
def test_whether_the_spike_feeds_the_bulk(paid, ratio, verdict, monkeypatch):
    monkeypatch.setattr("experiments.heavy_tails.route.rules.share_paid", lambda table: paid * (1 + JITTER))
    one = spreading(paid)
    outcome = route.ht_31((one, one), one, one, falling(ratio))
    assert outcome.verdict == verdict
    budgets = {f"budget, {name}" for name in ("GD 2000", "Adam 0.2", "Adam 1")}
    assert set(outcome.parts) == budgets | {"no large spike, Adam 1"}


def test_parts_of_a_fall_add_up():
    """Of a fall of 1 the null has 0.4; with white inputs it is 0.7 and 0.3, so that 0.2 are the inputs'."""
    values = {("whole", 1.0): 1.0, ("whole", 0.0): 0.7, ("permuted", 1.0): 0.4, ("permuted", 0.0): 0.3}
    grid = [
        [[NOISE - values[form, power] * (1 + j) for j in JITTER] for power in (1.0, 0.0)]
        for form in ("whole", "permuted")
    ]
    axes = {"form": ["whole", "permuted"], "power": [1.0, 0.0], "seed": [0, 1, 2]}
    found = widening.shares(xr.Dataset({"hill_excl": (tuple(axes), grid)}, axes), NOISE)
    assert [round(one.estimate, 6) for one in found.values()] == [0.4, 0.2, 0.4]


@pytest.mark.parametrize("paid", [0.05, 0.8])
def test_the_budget_of_the_trace(paid):
    np.testing.assert_allclose(route.share_paid(spreading(paid)), paid, rtol=1e-6)


def collapse(factor=12.0, step=5, after=0.3, spread=8.0):
    """Draws of a collapse of the largest eigenvalue by a factor, with overlaps before and after."""
    name = "heavy_tails/route/spike_movement_ten"
    wobble = 1 + 0.02 * np.linspace(-1, 1, 10)
    top = np.full((10, 11), 1000.0)
    top[:, step + 1 :] = (1000 / factor / wobble)[:, None]
    of_draws = {"s": step, "slope": -300.0 * wobble, "second": 110 * wobble}
    spreads = 1.3 * np.stack([wobble, spread * wobble**2], -1)
    runs = planted(name, top=top, maximum=np.outer(wobble, [0.9, after]), spread=spreads, spectra=1e5, **of_draws)
    return (runs,), planted("heavy_tails/first_update/first_spike", threshold=2800.0)


test_the_collapse_of_the_spike = verdicts(
    route.ht_57,
    collapse,
    rrrr=[{}],
    rcrr=[{"factor": 4}],
    ccrr=[{"step": 7}],
    rrcr=[{"after": 0.95}],
    rrrc=[{"spread": 1.1}],
)
