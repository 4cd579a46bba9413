"""What training ends at, and the restart: rules on planted data; networks that interpolate, limits taken apart."""

import numpy as np
import pytest
import xarray as xr
from planted.records import cases, decided, verdicts

from experiments.simplicity_bias import two_fits
from experiments.simplicity_bias.limits import anatomy, driven, interpolation
from experiments.simplicity_bias.limits import rules as limits
from experiments.simplicity_bias.transition import cells as transition
from shallow import gaussian_loss, nets, stats
from shallow.data import teachers

SEEDS = [0, 1, 2]
JITTER = np.array([0.98, 1.0, 1.02])  # of three draws
STEPS = xr.DataArray([-1, 0, 1], {"seed": SEEDS}, "seed")
NOISE, SETTINGS = limits.NOISE, ["Figure 1", "(8)", "margin", "(8), margin"]


def by_n(values):
    """Three draws around a value for each sample size."""
    return xr.DataArray(
        np.outer(list(values.values()), JITTER), {"n": list(values), "seed": SEEDS}, ("n", "seed"), name="values"
    )


@pytest.mark.parametrize(
    ("holds", "fails", "verdict"),
    [
        ([True, True], [False, False], "reproduced"),
        ([False, False], [True, True], "contradicted"),
        ([True, False], [False, True], "partly"),
        ([False, False], [None, None], "partly"),  # surely not as claimed
        ([None, None], [False, False], "undecided"),
        ([True, None], [False, False], "partly"),
    ],
)
def test_verdicts_from_two_limits(holds, fails, verdict):
    assert limits.graded(holds, fails) == verdict


def test_the_typical_value_is_a_geometric_mean():
    found = limits.typical([1.0, 4.0])
    assert found.estimate == pytest.approx(2) and found.low < 1 and found.high > 4


def stopping(ratio):
    """Excess risks of networks that stop, over those that interpolate."""
    driven = by_n({1000: 0.2, 2000: 0.3})
    small = ratio * driven * JITTER
    stopped, decayed = small.expand_dims(step=[0]).to_dataset(name="excess"), small.to_dataset(name="decayed_excess")
    few, many = driven.expand_dims(stage=[0]), by_n({1000: 0.2, 2000: 0.3, 5000: 0.3}).expand_dims(step=[0])
    wide = (ratio * many.sel(step=0, seed=[0])).expand_dims(step=[500_000, 1_000_000, 8_000_000]).copy()
    wide[2] *= 4  # what more steps cost
    few, many = few.to_dataset(name="excess"), many.to_dataset(name="solved_excess")
    return decayed, few, many, stopped, decayed, wide.to_dataset(name="excess")


test_stopping_against_interpolating = verdicts(limits.sb_01, stopping, rr=[0.2], pp=[0.7], cc=[1.3], uu=[0.5])


def test_the_cost_of_interpolation_by_budget():
    found = limits.sb_01(*stopping(0.1)).numbers
    assert [found[f"cost by budget, n = 5000, {i}"] for i in (1, 2)] == pytest.approx([10, 2.5])
    assert found["cost, n = 2000"] == pytest.approx(2.5)


def over_widths(middle, last, off=0.0):
    """Training losses of three widths over the noise, and distances from the two fits of two widths."""
    train = by_n({100: 0.95, 1000: middle, 3000: last}).rename(n="width").mean("seed") + 0.005 * STEPS
    fits = xr.full_like(by_n({8: 1.0, 1024: 1.0}), 1 + off).rename(n="width")
    return fits, (NOISE * train).expand_dims(step=[0]).to_dataset(name="train")


test_wider_networks = verdicts(
    limits.sb_22, over_widths, rrr=[(0.9, 0.895)], rrc=[(0.9, 0.8)], rcc=[(0.5, 0.1)], crr=[(0.9, 0.895, 1e-3)]
)


def solved(missing, train):
    """Output layers of a rank that lacks so much of full rank."""
    ones = by_n(dict.fromkeys((500, 1000, 2000, 5000), 1.0)) * 0 + 1
    return xr.Dataset({"rank": ones * ones.n - missing, "condition": 1e6, "train": train * ones, "excess": 0.2 * ones})


test_whether_all_labels_can_be_fitted = verdicts(
    limits.sb_23, solved, reproduced=[(0, 1e-28)], contradicted=[(1, 1e-28), (0, 1e-3)]
)


@cases({"reproduced": [(0.5, 0.4)], "partly": [(0.5, 0.02)], "contradicted": [(0.01, 0.01)]})
def test_small_rates(change, outcome):
    decayed, slow = change
    figure_1 = figure(decayed=by_n({2000: decayed, 5000: 0.9 * decayed, 10_000: 0.95 * decayed}))
    coords = {"n": [2000, 5000], "seed": [0], "time": [2e4, 8e4]}
    flow = xr.DataArray(np.full((2, 1, 2), 0.5 * NOISE), coords, tuple(coords)).to_dataset(name="train")
    rates, steps = flow.expand_dims(rate=[0.05, 0.003, 0.001]), flow.time.values / 0.02
    figure_1["train"] = flow.train.rename(time="step").assign_coords(step=steps)
    continued = (NOISE * by_n({2000: slow})).expand_dims(slow=[0]).to_dataset(name="slow_loss")
    found = limits.sb_24(figure_1, continued, rates, rates, flow.sel(time=[2e4]))
    assert found.verdict == outcome
    assert found.numbers["n = 2000, time 80,000, rate 0.01"] == pytest.approx(0.5)


def figure(decayed):
    """Runs of Figure 1 of which only the train loss over the noise after the decay is known."""
    return (NOISE * decayed).expand_dims(restart=[0]).to_dataset(name="decayed_train")


def waiting(fall, end=0.9, after=1e-8):
    """Two runs that reach the two fits at time 10 and have a distance much later; train losses that fall by a multiple
    of the noise from step 1000 to the decayed end; runs to four times the steps."""
    distance = [[1, 1e-7, 1e-7, after], [1, 1e-7, 1e-8, after]]
    waits = xr.Dataset({"distance": (("seed", "time"), distance)}, {"time": [1, 10, 50, 150]})
    ones = by_n({5000: 1.0, 10_000: 1.0, 30_000: 1.0})
    ours = figure(decayed=end * ones).assign(train=(NOISE * (end + fall) * ones).expand_dims(step=[1000]))
    late = by_n({5000: 0.9}).sel(seed=[0]).expand_dims(step=[8_000_000, 32_000_000]).to_dataset(name="train")
    return waits, ours, late


test_waiting_for_interpolation = verdicts(
    limits.sb_26, waiting, rrr=[0.005], rrc=[0.1], rcc=[(0.8, 0.05)], crr=[(0.005, 0.9, 1e-3)]
)


def test_the_cost_of_waiting_is_taken_at_the_moment_that_the_other_draws_choose():
    path = xr.DataArray([[4.0, 1.0, 3.0], [4.0, 2.0, 3.0], [4.0, 2.0, 0.1]], dims=("seed", "step"))
    path = path.assign_coords(seed=SEEDS, step=[1, 2, 3])
    end = xr.DataArray([8.0, 8.0, 8.0], {"seed": SEEDS}, "seed")
    np.testing.assert_allclose(limits.waiting(path, end), [8 / 3.0, 8 / 2.0, 8 / 2.0])


def minima(theirs, above, under):
    """Excess risks at the end over the least along the path: of Theorem 2, above the threshold and under it."""
    path = np.stack([[5, 5, 5], [1, 1, 1], theirs * JITTER], axis=1)
    theorem = xr.Dataset({"excess": (("seed", "time"), path)})
    decayed = by_n({100: under, 200: under, 350: under, 500: under, 2000: above, 10_000: above, 30_000: above})
    path = xr.ones_like(decayed) * xr.DataArray([5, 1, 2], {"step": [1000, 2000, 3000]}, "step")
    return theorem, xr.Dataset({"excess": path, "decayed_excess": decayed})


test_early_stopping = verdicts(limits.sb_29, minima, rrr=[(1.0, 1.2, 30)], rcr=[(1.0, 20, 30)], ccc=[(9.0, 20, 1.2)])


def components(*last):
    """Training and test loss at the end over the noise, and the share of the mass outside."""
    train, test, outside = (by_n({1500: 0.5, 30_000: 1.0}) * 0 + value + 0.002 * STEPS for value in last)
    runs = figure(decayed=train).assign(ols=NOISE, ols_excess=0.0)
    return runs.assign(decayed_excess=NOISE * (test - 1), decayed_outside=outside)


test_small_components = verdicts(
    limits.sb_32, components, rrr=[(0.96, 1.02, 0.02)], rrc=[(0.96, 1.02, 0.7)], ccc=[(0.6, 1.8, 0.7)]
)


def grouped(kept, growth):
    first = by_n({2000: 20, 5000: 18, 10_000: 15})
    return xr.Dataset({"kept": 0 * first + kept * JITTER, "first": first, "last": growth * first * JITTER})


@cases({"reproduced reproduced": [(0.96, 1.2)], "partly partly": [(0.5, 3)], "contradicted contradicted": [(0.2, 9)]})
def test_whether_clusters_are_preserved(change, outcome, monkeypatch):
    monkeypatch.setattr(limits, "kept_clusters", lambda runs: runs)
    others = grouped(1.0, 1.0).rename(first="number_then", last="number")
    axes = {"setting": SETTINGS, "time": [2000]}
    others = others.expand_dims(axes | {"tolerance": [0.05], "moment": ["learnt"]})
    assert decided(limits.sb_13(grouped(*change), others)) == outcome


def taken_apart(undone, shrinks):
    """Runs in which the unaligned carry a share of the gain, and whose gap the start (8) shrinks by a factor; and one
    with the full batch."""
    gap = by_n({2000: 0.01, 5000: 0.008})
    gaps = xr.concat([gap, gap / shrinks, gap, gap / shrinks], "setting").assign_coords(setting=SETTINGS)
    moment = xr.DataArray([1.0, 0.1], {"moment": ["aligned", "learnt"]}, "moment")
    wobble = 1 + 0.01 * xr.DataArray([[0, 1, -1], [1, -1, 0]], {"n": [2000, 5000], "seed": SEEDS}, ("n", "seed"))
    none, least = xr.zeros_like(gaps), xr.full_like(gaps, 0.09)
    losses = {"train": least - gaps, "excess": gaps * xr.where(gaps.setting == "(8)", wobble, 1 / wobble)}
    losses |= {"ols_train": least, "ols_excess": none, "halves_train": least, "outside": none}
    losses |= {"without": least - gaps + undone * gaps * moment, "without_random": least - gaps + 0.1 * gaps * moment}
    losses |= {"unaligned": none + xr.DataArray([0.4, 0.02], moment.coords)}
    calmer = xr.Dataset({"train": 0.09 - by_n({2000: 1e-3}), "halves_train": 0.09})
    return xr.Dataset(losses).expand_dims(time=[632.0]), calmer.expand_dims(setting=["(8), full batch"], time=[632.0])


test_the_gap_to_least_squares = verdicts(limits.sb_38, taken_apart, rr=[(0.95, 4)], pp=[(0.5, 1.5)], cc=[(0.1, 1)])


def test_what_a_neuron_undoes():
    found = limits.sb_38(*taken_apart(0.5, 1.5)).numbers
    each = [found[f"per neuron, Figure 1, {moment}"].estimate for moment in ("aligned", "learnt")]
    assert each == pytest.approx([1, 2])  # (0.5 - 0.1) over 0.4 of the neurons, a tenth of it over 0.02


def restarts(left, late=0.0):
    """Losses of all sizes along a restart that leaves a share of them, and change by a share over the last quarter."""
    sizes = [n for group in limits.GROUPS.values() for n in group]
    levels = [1, left + (1 - left) * 0.1, left, left * (1 - late)]
    curve = xr.DataArray(levels, {"restart": [0, 5e5, 1.5e6, 2e6]}, "restart")
    wobble = 1 + 0.02 * STEPS * (curve.restart > 0)
    return (0.8 * NOISE * curve * wobble * by_n(dict.fromkeys(sizes, 1.0))).to_dataset(name="decayed_train")


test_the_restart = verdicts(limits.sb_42, restarts, rrrr=[0.97], rccc=[0.6], cccc=[(0.97, 0.3), 0.001])


def test_the_restart_is_judged_by_groups_of_sizes():
    paths = restarts(0.97)
    near = limits.sb_42(xr.where(paths.n > 1500, paths, restarts(0.6)))
    assert near.verdict == "partly"
    assert near.parts["stays near, n = 1000 to 1500"] == "contradicted"
    assert near.parts["stays near, n = 5000 to 10,000"] == "reproduced"


def at_the_end(gradient, full, slow, sharp):
    """Gradient and sharpness at the end over the restart, and what both continuations lose over the noise."""
    ones = by_n({1000: 1.0, 2000: 1.0})
    start = xr.full_like(ones, 0.5 * NOISE)
    pairs = {"gradient": (ones, gradient * ones * JITTER), "loss": (start, start), "sharpness": (ones, sharp * ones)}
    runs = {name: xr.concat(pair, "moment").assign_coords(moment=["restart", "end"]) for name, pair in pairs.items()}
    runs["full_loss"] = (start - full * NOISE * ones).expand_dims(full=[50_000])
    runs["slow_loss"] = (start - slow * NOISE * ones).expand_dims(slow=[8_000_000])
    return xr.Dataset(runs | {"full_rate": 0.006 * ones})


test_the_end_as_a_stationary_point = verdicts(
    limits.sb_43,
    at_the_end,
    rrrr=[(0.002, 0.001, 0.002, 150)],
    rrrp=[(0.002, 0.001, 0.05, 150)],
    cccc=[(0.5, 0.3, 0.4, 300)],
)


def falls(early):
    """Losses along a restart of which a share is left after a quarter."""
    curve = xr.DataArray([1, early, 0.01, 0], {"restart": [0, 5e5, 1.5e6, 2e6]}, "restart")
    wobble = 1 + 0.02 * STEPS * (curve.restart == 5e5)
    paths = 0.5 + 0.1 * curve * wobble * xr.DataArray([1, 1, 1], {"n": [2000, 5000, 10_000]}, "n")
    return paths.to_dataset(name="decayed_train")


test_when_the_loss_falls = verdicts(limits.sb_44, falls, reproduced=[0.1], partly=[0.45], contradicted=[0.9])


def test_gauss_newton_steps_interpolate_with_fewer_neurons_than_points():
    _, sample, _ = transition.drawn(0, 40)
    start = nets.small(stats.stream("driven"), 20, 5, 0.5)
    network, taken = driven.interpolate(start, sample, enough=NOISE / 100, most=200)
    assert transition.train_loss(network, sample) <= NOISE / 100 and 0 < taken < 200
    assert driven.interpolate(network, sample, enough=NOISE / 100, most=5) == (network, 0)


def test_capacity_is_the_solution_of_least_norm():
    """The same network by numpy's singular value decomposition; and none where neurons are fewer than points."""
    found = interpolation.capacity(3, n=30, width=100)
    rng = stats.stream("capacity", 3, 30, 100, 5)
    teacher = teachers.first_axis(5)
    x, y = teachers.gaussian(rng, teacher, 30)
    W = rng.standard_normal((100, 5))
    W /= np.linalg.norm(W, axis=1)[:, None]
    a = np.linalg.lstsq(np.maximum(x @ W.T, 0), y)[0]
    risk = gaussian_loss.excess_risk(nets.TwoLayer(W, np.zeros(100), a), teacher)
    assert int(found["rank"]) == 30 and float(found.train) < 1e-20
    assert float(found.excess) == pytest.approx(risk, rel=1e-6)
    without = interpolation.capacity(3, n=30, width=20)
    assert int(without["rank"]) == 20 and np.isnan(without.train) and np.isnan(without.excess)


def test_removing_neurons_and_refitting_the_main_components():
    sample = teachers.gaussian(np.random.default_rng(0), teachers.first_axis(3), 200)
    network = nets.small(np.random.default_rng(1), 50, 3, 0.3)
    nobody, all_of_them = np.zeros(50, bool), np.ones(50, bool)
    plus, minus = two_fits.fits(*sample)
    alone = anatomy.without_neurons(network, sample, all_of_them)
    fitted = np.where(sample.x[:, 0] > 0, sample.x @ plus, sample.x @ minus)
    assert np.abs(alone - (sample.y - fitted)).max() < 1e-12
    refitted = anatomy.without_neurons(network, sample, nobody)
    assert np.mean(refitted**2) < transition.train_loss(network, sample)
    assert anatomy.top_share(network, sample, nobody) == 0.0


def gain_share(x):
    """Share of the best 5 % of samples in the gain by a neuron along the second axis, labels without noise."""
    neuron = nets.TwoLayer([[0.0, 1.0]], np.zeros(1), np.array([5.0]))
    sample = teachers.Sample(x, x[:, 0] + neuron.forward(x))
    main = teachers.first_axis(2)
    network = nets.TwoLayer(np.vstack([main.W, neuron.W]), np.zeros(3), np.append(main.v, neuron.v))
    return anatomy.top_share(network, sample, np.array([False, False, True]))


def test_two_samples_that_gain_everything_have_the_whole_share():
    """A kink that only two points can see, against one that all of them see."""
    x = np.column_stack([np.tile([1.0, -1.0], 100), np.zeros(200)])
    x[0], x[2] = (1.0, 1.0), (1.0, -1.0)
    assert gain_share(x) > 0.95
    assert gain_share(np.random.default_rng(0).standard_normal((200, 2))) < 0.5
