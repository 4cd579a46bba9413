"""The rules on Figures 1 and 3 and on the threshold, on planted data for which the answer is known."""

import numpy as np
import pytest
import xarray as xr

from experiments.simplicity_bias.transition import rules as transition
from shallow.data.teachers import NOISE

SIZES = (100, 500, 1000, 2000, 10_000)
JITTER = np.array([0.99, 1, 1.01])  # of three draws


def runs(train=(0, 0, 0.2, 0.6, 0.95), above=(3, 4, 3, 1.5, 1.05), *, n=SIZES, draws=3):
    """Ends of runs: training loss over that of least squares, and test loss over its test loss, a little jittered."""
    shape, jitter = ("n", "seed"), JITTER[:draws]
    ols, excess = np.full((len(n), draws), NOISE), np.full((len(n), draws), NOISE / 100)
    return xr.Dataset(
        {
            "train": (shape, np.maximum(np.outer(train, jitter), 1e-9) * NOISE),
            "excess": (shape, np.outer(above, jitter) * 1.01 * NOISE - NOISE),
            "ols": (shape, ols),
            "ols_excess": (shape, excess),
        },
        {"n": list(n), "seed": list(range(draws))},
    )


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


@pytest.mark.parametrize(
    ("level", "power", "verdict"),
    [
        (2, 0, "reproduced"),
        (2, -1, "contradicted"),
        (2, 1, "contradicted"),
        (2, 0.7, "partly"),
        (50, 0, "partly"),  # far above the noise
    ],
)
def test_tempered_overfitting(level, power, verdict):
    n = np.array([50, 100, 200, 400])
    found = recorded(runs(train=(0,) * 4, above=(1,) * 4, n=n))
    found["excess"][:] = level * NOISE * np.outer((n / 50.0) ** power, JITTER)
    solved = found.excess.to_dataset(name="solved_excess")
    assert set(transition.sb_28(found, found, solved).parts.values()) == {verdict}


def crossing_at(place, *, draws=3):
    """Runs whose training loss passes a tenth of the noise near a place, and half of least squares at four times it."""
    n = np.array([place / 4, place / 2, place * 0.9, place * 1.12, place * 3.6, place * 4.5])
    return runs(train=(0, 0, 0.01, 0.19, 0.45, 0.56), above=(2,) * 6, n=n, draws=draws)


def in_dimensions(five, ten, three, **options):
    """Runs in dimensions 5, 10 and 3 that have their thresholds at these places; `options` of those in ten."""
    return recorded(crossing_at(five)), (recorded(crossing_at(ten, **options)),), recorded(crossing_at(three))


@pytest.mark.parametrize(
    ("power", "verdict"), [(3, "reproduced"), (1, "contradicted"), (5, "contradicted"), (2.3, "partly")]
)
def test_the_exponent_between_five_and_ten(power, verdict):
    found = transition.sb_36(*in_dimensions(1000, 1000 * 2**power, 100))
    assert set(found.parts.values()) == {verdict}


def test_one_draw_decides_no_exponent():
    assert transition.sb_36(*in_dimensions(1000, 8000, 100, draws=1)).verdict == "undecided"


@pytest.mark.parametrize(
    ("places", "verdict"),
    [
        ((1000, 8000, 100), "reproduced"),
        ((500, 1000, 300), "contradicted"),  # in proportion to d
        ((1000, 8000, 15), "partly"),  # not far above d
    ],
)
def test_far_above_the_dimension(places, verdict):
    assert transition.sb_37(*in_dimensions(*places)).verdict == verdict


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


@pytest.mark.parametrize(
    ("sizes_that_move", "verdict"),
    [([], "reproduced"), ([750], "partly"), ([500, 750, 1000], "contradicted")],
)
def test_convergence_at_half_of_the_steps(sizes_that_move, verdict):
    n = [100, 500, 750, 1000, 2000]
    early = xr.DataArray(np.full((5, 3), 0.5 * NOISE), {"n": n, "seed": range(3)}, ["n", "seed"])
    late = early + xr.where(early.n.isin(sizes_that_move), 0.1 * NOISE, 0.001 * NOISE)
    train = xr.concat([early, late], "step").assign_coords(step=[4_000_000, 8_000_000])
    assert transition.sb_41(xr.Dataset({"train": train})).verdict == verdict


def test_one_draw_that_moves_decides_nothing():
    train = np.full((2, 1, 3), 0.5 * NOISE)
    train[1, 0, 0] *= 2
    coords = {"step": [4_000_000, 8_000_000], "n": [100], "seed": range(3)}
    assert transition.sb_41(xr.Dataset({"train": (("step", "n", "seed"), train)}, coords)).verdict == "undecided"


@pytest.mark.parametrize(
    ("final", "part", "verdict"),
    [
        (runs(), "a", "reproduced"),
        (runs(), "b", "reproduced"),
        (runs(), "c", "reproduced"),
        (runs(above=(1.2, 4, 3, 1.5, 1.05)), "a", "contradicted"),
        (runs(above=(3, 4, 3, 1.5, 1.4)), "b", "contradicted"),
        (runs(train=(0, 0, 0.7, 0.5, 0.95)), "c", "contradicted"),
    ],
)
def test_figure_3(final, part, verdict):
    assert transition.sb_45(of_teachers(final)).parts[part] == verdict


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


@pytest.mark.parametrize(
    ("final", "verdict"),
    [
        (runs(), "reproduced"),
        (runs(train=(0, 0, 0, 0, 0), above=(3, 4, 4, 4, 4)), "contradicted"),  # interpolates at every n
        (runs(train=(0.5,) * 5, above=(1.3,) * 5), "contradicted"),
        (runs(train=(0, 0, 0.8, 0.3, 0.95)), "contradicted"),
    ],
)
def test_variants(final, verdict):
    run = recorded(final).expand_dims(kind=["Adam"])
    assert transition.sb_62((run,)).parts["Adam"] == verdict
