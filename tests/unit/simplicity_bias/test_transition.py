"""The rules on Figures 1 and 3 and on the threshold, on planted data; thresholds; and the trainer of these runs."""

import numpy as np
import pytest
import xarray as xr
from planted.records import table, verdicts

from experiments.simplicity_bias.transition import batch_noise, cells, noise
from experiments.simplicity_bias.transition import rules as transition
from shallow.data import teachers
from shallow.data.teachers import NOISE
from shallow.nets import TwoLayer, small
from shallow.stats import stream
from shallow.train import minibatch
from shallow.train.run import Diverged

SIZES = (100, 500, 1000, 2000, 10_000)
JITTER = np.array([0.99, 1, 1.01])  # of three draws


def runs(train=(0, 0, 0.2, 0.6, 0.95), above=(3, 4, 3, 1.5, 1.05), *, n=SIZES, draws=3):
    """Ends of runs: training loss over that of least squares, and test loss over its test loss, a little jittered."""
    axes, jitter = {"n": list(n), "seed": list(range(draws))}, JITTER[:draws]
    train, test = np.maximum(np.outer(train, jitter), 1e-9), 1.01 * np.outer(above, jitter)
    return table(axes, train=train * NOISE, excess=test * NOISE - NOISE, ols=NOISE, ols_excess=NOISE / 100)


def recorded(final):
    """Runs at a constant rate that have these ends."""
    return final.assign({name: final[name].expand_dims(step=[0]) for name in ("train", "excess")})


def of_teachers(final):
    """Runs of Figure 3 with these ends."""
    return (recorded(final.rename(seed="teacher").expand_dims(seed=[0])),)


@pytest.mark.parametrize(
    ("final", "verdict"),
    [
        (runs(), "reproduced"),
        (runs(train=(0, 0, 0, 0, 0), above=(3, 4, 4, 4, 4)), "partly"),  # interpolates at every n
        (runs(train=(0.9,) * 5, above=(1.05,) * 5), "partly"),  # least squares at every n
        (runs(train=(0.5,) * 5, above=(1.3,) * 5), "contradicted"),
        (runs(train=(0, 0, 0.8, 0.3, 0.95)), "partly"),  # falls in between
        (runs(above=(1.5, 4, 3, 1.5, 1.05)), "undecided"),  # by a hair
        (runs(draws=1), "undecided"),
    ],
)
def test_the_shape_of_figure_1(final, verdict):
    run = recorded(final)
    assert transition.sb_34(run, (run,)).parts == {transition.WIDE: verdict, transition.NARROW: verdict}
    assert transition.sb_35(run).verdict == verdict


def overfitting(level, power):
    """Networks that interpolate, with an excess risk at a level above the noise, like a power of n."""
    n = np.array([50, 100, 200, 400])
    found = recorded(runs(train=(0,) * 4, above=(1,) * 4, n=n))
    found["excess"][:] = level * NOISE * np.outer((n / 50.0) ** power, JITTER)
    return found, found, found.excess.to_dataset(name="solved_excess")


test_tempered_overfitting = verdicts(
    transition.sb_28,
    overfitting,
    rrr=[(2, 0)],
    ccc=[(2, -1), (2, 1)],
    ppp=[(2, 0.7), (50, 0)],  # far above the noise
)


def crossing_at(place, *, draws=3):
    """Runs whose training loss passes a tenth of the noise near a place, and half of least squares at four times it."""
    n = np.array([place / 4, place / 2, place * 0.9, place * 1.12, place * 3.6, place * 4.5])
    return runs(train=(0, 0, 0.01, 0.19, 0.45, 0.56), above=(2,) * 6, n=n, draws=draws)


def in_dimensions(five, ten, three, **options):
    """Runs in dimensions 5, 10 and 3 that have their thresholds at these places; `options` of those in ten."""
    return recorded(crossing_at(five)), (recorded(crossing_at(ten, **options)),), recorded(crossing_at(three))


test_the_exponent_between_five_and_ten = verdicts(
    transition.sb_36,
    lambda power, **options: in_dimensions(1000, 1000 * 2**power, 100, **options),
    rr=[3],
    cc=[1, 5],
    pp=[2.3],
    undecided=[{"power": 3, "draws": 1}],  # by one draw
)
test_far_above_the_dimension = verdicts(
    transition.sb_37,
    in_dimensions,
    reproduced=[(1000, 8000, 100)],
    contradicted=[(500, 1000, 300)],  # in proportion to d
    partly=[(1000, 8000, 15)],  # not far above d
)


def placed(**places):
    """Runs over n and one more axis, of which each has its thresholds in proportion to its place."""
    ((axis, values),) = places.items()
    n = np.unique([1000, 2000, 5000, *np.geomspace(100, 50_000, 60).round()])
    train = NOISE * (n / (n + 3 * np.array(list(values.values()))[:, None])) ** 2
    found = xr.Dataset({"train": ((axis, "n"), train)}, {axis: list(values), "n": n})
    return found.assign(ols=xr.full_like(found.train.isel({axis: 0}, drop=True), NOISE))


def of_settings(**places):
    """The recorded runs of SB-40 at one constant rate, each with its thresholds in proportion to a place."""
    steps = placed(step={500_000: 2000, 1_000_000: 1000, 2_000_000: 1000, 8_000_000: 500})
    narrow = xr.concat([steps, placed(step=dict.fromkeys(steps.step.values, 1100)), steps], "seed", data_vars=["train"])
    narrow = narrow.assign_coords(seed=[0, 1, 2])
    at_time = {"seed": [0], "time": [2e4]}
    scales = placed(scale={0.01: 3000}).expand_dims(seed=[0], step=[2_000_000])
    rates, batches = (one.expand_dims(at_time) for one in (placed(rate={0.05: 1000}), placed(batch={8: 1000})))
    full_batch = placed(which={0: 1200}).isel(which=0).expand_dims(at_time)
    return narrow, scales, rates, batches, full_batch


def noisy(power, base=1e-4, more=False):
    """Runs of other rates and batches whose thresholds lie at 200 (1 + noise / base)^power, three draws around them.

    Or, of some of them, three draws more at two sizes.
    """
    n = np.array([340, 500]) if more else np.unique([340, 500, *np.geomspace(40, 40_000, 90).round()])

    def runs(rates, batches):
        rate, batch = np.array(rates)[:, None], np.array(batches)[None]
        noise = np.where(batch >= batch_noise.FULL, 0, rate / batch)
        place = 200 * (1 + noise / base) ** power
        train = NOISE * (n / (n + 3 * place[..., None, None] * JITTER[:, None])) ** 2
        axes = ("rate", "batch", "seed", "n")
        found = xr.Dataset(
            {"settled_train": (axes, train)}, {"rate": rates, "batch": batches, "n": n, "seed": range(3)}
        )
        return found.assign(ols=xr.full_like(found.settled_train, NOISE))

    if more:
        return runs([0.01], [8, 32, batch_noise.FULL]), runs([0.04], [batch_noise.FULL])
    return runs([0.04, 0.01], [8, 32, 128]), runs([0.04, 0.01], [batch_noise.FULL]), runs([0.0025], [8])


def test_the_dependence_on_settings_is_answered():
    outcome = transition.sb_40(*of_settings(), noisy(0.5), noisy(0.5, more=True))
    assert outcome.verdict == "answered"
    expected = {"steps": 2, "initial deviation": 3, "rate": 1, "batch": 1.2, "draw": 1.1}
    assert {name: outcome.numbers[name].low for name in expected} == pytest.approx(expected, rel=0.02)
    assert all(outcome.numbers[name].high == outcome.numbers[name].low for name in expected)


@pytest.mark.parametrize("power", [0.0, 0.5, -0.25])
def test_the_noise_of_batches(power):
    every = noise.joined(noisy(power))
    place = cells.thresholds(noise.ends(every)).half
    for i, ratio in noise.moved(place).items():
        assert ratio.estimate == pytest.approx((1 + float(every.noise[i]) / 1e-4) ** power, rel=0.02)
        assert ratio.exceeds(1) is (power > 0 if power and every.noise[i] > 0 else None)
    same = noise.equally_noisy(every)
    assert sorted(map(len, same)) == [2, 3]
    assert [noise.apart(place, one).estimate for one in same] == pytest.approx([1, 1], rel=0.02)
    assert np.sign(round(noise.power(place).estimate, 3)) == np.sign(power)
    assert noise.name(every, 0) == "rate 0.01, full batch"
    left = noise.left(every, noise.joined(noisy(power, more=True)))
    assert dict(left.sizes) == {"setting": 4, "n": 2, "seed": 6}
    assert [noise.fitted(left)[i].exceeds(0) for i in (1, 2, 3)] == [None, *2 * [power > 0 if power else None]]


def test_a_threshold_that_is_only_bounded_decides_nothing():
    every = noise.joined([run.sel(n=slice(400, None)) for run in noisy(0.5)])
    place = cells.thresholds(noise.ends(every)).interpolation
    assert noise.moved(place)[1].exceeds(1) is None and noise.power(place).exceeds(0) is None


def test_a_factor_of_a_threshold_that_is_only_bounded_is_a_bound():
    exactly = tuple(cells.Bounds(value, value) for value in (300.0, 900.0))
    below, beyond = (cells.Bounds(0.0, 100.0), exactly[1]), (exactly[0], cells.Bounds(1800.0, np.inf))
    assert str(transition.factor((exactly, []), (exactly, []))) == "1.0"
    assert str(transition.factor((below, []), (exactly, []))) == "at least 3.0"
    assert str(transition.factor((exactly, []), (beyond, []))) == "at least 2.0"
    assert str(transition.factor((below, []), (below, []))) == "at least 1.0"
    assert f"{cells.Bounds(0.0, 100.0):.0f}" == "at most 100" and str(cells.Bounds(1, 2)) == "1.0 to 2.0"


def at_both_steps(*sizes_that_move, draws=slice(None)):
    """Train losses at half of the steps and at the end; at some sizes some draws move."""
    axes = {"step": [4_000_000, 8_000_000], "n": [100, 500, 750, 1000, 2000], "seed": range(3)}
    found = table(axes, train=0.5 * NOISE)
    found.train[1] += 0.001 * NOISE
    found.train[1, np.isin(axes["n"], sizes_that_move), draws] += 0.1 * NOISE
    return found


test_convergence_at_half_of_the_steps = verdicts(
    transition.sb_41, at_both_steps, reproduced=[()], partly=[750], contradicted=[(500, 750, 1000)]
)


def test_one_draw_that_moves_decides_nothing():
    assert transition.sb_41(at_both_steps(100, draws=0).sel(n=[100])).verdict == "undecided"


test_figure_3 = verdicts(
    transition.sb_45,
    lambda **changed: (of_teachers(runs(**changed)),),
    rrr=[{}],
    crr=[{"above": (1.2, 4, 3, 1.5, 1.05)}],
    rcr=[{"above": (3, 4, 3, 1.5, 1.4)}],
    rrc=[{"train": (0, 0, 0.7, 0.5, 0.95)}],
)


def reaching(lost, close):
    """Runs that stop to interpolate at one size and have both losses close to the noise from another on."""
    n = np.unique([lost / 2, lost * 0.9, lost * 1.12, close * 0.9, close * 1.12, close * 2])
    train = np.select([n < lost, n < close], [0.01, 0.5], 1.0)
    return runs(train=train, above=np.where(n < close, 3, 1), n=n)


@pytest.mark.parametrize(("close", "verdict"), [(4000, "contradicted"), (16_000, "reproduced"), (6400, "partly")])
def test_a_slower_transition(close, verdict):
    linear, relu = reaching(800, 4000), reaching(800, close)
    grid = sorted({*linear.n.values, *relu.n.values})
    both = [one.reindex(n=grid, method="ffill") for one in (linear, relu)]
    found = transition.sb_46(recorded(both[0]), of_teachers(both[1]))
    assert found.parts["lost at the same n"] == "reproduced"
    assert found.parts["close to the noise much later"] == verdict


test_variants = verdicts(
    transition.sb_62,
    lambda **changed: ((recorded(runs(**changed)).expand_dims(kind=["Adam"]),),),
    reproduced=[{}],
    contradicted=[
        {"train": (0, 0, 0, 0, 0), "above": (3, 4, 4, 4, 4)},  # interpolates at every n
        {"train": (0.5,) * 5, "above": (1.3,) * 5},
        {"train": (0, 0, 0.8, 0.3, 0.95)},
    ],
)


def test_divergence_names_the_step_and_the_initial_network_is_left_alone():
    sample, network = teachers.gaussian(stream("test"), teachers.first_axis(2), 20), small(stream("test"), 6, 2, 0.1)
    before, options = network.W.copy(), dict(steps=200, batch=4)
    with pytest.raises(Diverged, match="epoch 200"):
        minibatch.train(*sample, network, rate=100.0, rng=stream("b"), **options)
    run = minibatch.train(*sample, network, rate=0.1, rng=stream("b"), **options)
    assert np.array_equal(network.W, before) and np.abs(run.network.W - before).max() > 0
    with pytest.raises(ValueError, match="^network must"):
        minibatch.train(*sample, TwoLayer(before, network.b + 1, network.v), rate=0.1, rng=stream("b"), **options)


def test_a_line_in_log_n_is_crossed_where_it_should_be():
    n = np.array([10, 30, 100, 1000])
    found = [cells.crossing(n, np.log(n / place)) for place in (50, 200)]
    assert [one.low for one in found] == [one.high for one in found] == pytest.approx([50, 200])
    assert cells.crossing([1, 2], [-1, 0]) == cells.Bounds(2, np.inf)
    assert cells.crossing([5, 6], [1, 2]) == cells.Bounds(0, 5)


def test_both_thresholds_of_every_seed():
    """Training losses that grow like ln n, with a factor for the seed."""
    n, factor = np.array([50, 100, 200, 400, 800]), np.array([1.0, 2.0])
    train = 0.1 * factor[:, None] * np.log(n / 50) / np.log(16)
    found = cells.thresholds(table({"seed": [0, 1], "n": n}, train=train, ols=0.1), noise=0.1)
    np.testing.assert_allclose(cells.known(found.interpolation), 50 * 16 ** (0.1 / factor))
    np.testing.assert_allclose(cells.known(found.half), 50 * 16 ** (0.5 / factor))
    few = cells.thresholds(table({"seed": [0, 1], "n": n[1:]}, train=train[:, 1:], ols=0.1), noise=0.1)
    assert np.isnan(cells.known(few.interpolation)).all() and np.isfinite(cells.known(few.half)).all()
