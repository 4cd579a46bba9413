"""The rules on Figures 1 and 3 and on the threshold, on planted data; thresholds; and the trainer of these runs."""

import numpy as np
import pytest
import xarray as xr
from planted.records import table, verdicts

from experiments.simplicity_bias.transition import cells
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


def test_the_dependence_on_settings_is_answered():
    steps = placed(step={500_000: 2000, 1_000_000: 1000, 2_000_000: 1000, 8_000_000: 500})
    narrow = xr.concat([steps, placed(step=dict.fromkeys(steps.step.values, 1100)), steps], "seed", data_vars=["train"])
    narrow = narrow.assign_coords(seed=[0, 1, 2])
    at_time = {"seed": [0], "time": [2e4]}
    scales = placed(scale={0.01: 3000}).expand_dims(seed=[0], step=[2_000_000])
    rates, batches = (one.expand_dims(at_time) for one in (placed(rate={0.05: 1000}), placed(batch={8: 1000})))
    full_batch = placed(which={0: 1200}).isel(which=0).expand_dims(at_time)
    outcome = transition.sb_40(narrow, scales, rates, batches, full_batch)
    assert outcome.verdict == "answered"
    expected = {"steps": 2, "initial deviation": 3, "rate": 1, "batch": 1.2, "draw": 1.1}
    assert outcome.numbers == pytest.approx(expected, rel=0.02)


def test_a_threshold_beyond_the_sizes_is_an_infinite_factor():
    assert transition.factor(np.array([np.nan, 1.0]), np.ones(2)) == np.inf


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
    assert [cells.crossing(n, np.log(n / place)) for place in (50, 200)] == pytest.approx([50, 200])
    assert np.isnan(cells.crossing([1, 2], [-1, 0])) and cells.crossing([5, 6], [1, 2]) == 5


def test_both_thresholds_of_every_seed():
    """Training losses that grow like ln n, with a factor for the seed."""
    n, factor = np.array([50, 100, 200, 400, 800]), np.array([1.0, 2.0])
    train = 0.1 * factor[:, None] * np.log(n / 50) / np.log(16)
    found = cells.thresholds(table({"seed": [0, 1], "n": n}, train=train, ols=0.1), noise=0.1)
    np.testing.assert_allclose(found.interpolation, 50 * 16 ** (0.1 / factor))
    np.testing.assert_allclose(found.half, 50 * 16 ** (0.5 / factor))
