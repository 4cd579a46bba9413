"""The rules on Figures 1 and 3 and on the threshold, on planted data for which the answer is known."""

import numpy as np
import pytest
import xarray as xr

from experiments.simplicity_bias.rules import transition
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
    assert transition.sb_34({"wide": final}).parts["wide"] == verdict
    assert transition.sb_35(final).verdict == verdict


@pytest.mark.parametrize(
    ("power", "verdict"), [(0, "reproduced"), (-1, "contradicted"), (1, "contradicted"), (0.7, "partly")]
)
def test_tempered_overfitting(power, verdict):
    n = np.array([50, 100, 200, 400])
    excess = xr.DataArray(2 * NOISE * np.outer((n / 50.0) ** power, JITTER), {"n": n, "seed": range(3)}, ["n", "seed"])
    assert transition.sb_28({"planted": excess}).verdict == verdict


def test_excess_far_above_the_noise_is_not_tempered():
    excess = xr.DataArray(
        50 * NOISE * np.outer(np.ones(4), JITTER), {"n": [1, 2, 3, 4], "seed": range(3)}, ["n", "seed"]
    )
    assert transition.sb_28({"planted": excess}).verdict == "partly"


def crossing_at(place, *, draws=3):
    """Runs whose training loss passes a tenth of the noise near a place, and half of least squares at four times it."""
    n = np.array([place / 4, place / 2, place * 0.9, place * 1.12, place * 3.6, place * 4.5])
    return runs(train=(0, 0, 0.01, 0.19, 0.45, 0.56), above=(2,) * 6, n=n, draws=draws)


LOW = {3: crossing_at(100), 5: crossing_at(1000)}


@pytest.mark.parametrize(
    ("power", "verdict"), [(3, "reproduced"), (1, "contradicted"), (5, "contradicted"), (2.3, "partly")]
)
def test_the_exponent_between_five_and_ten(power, verdict):
    found = transition.sb_36({5: crossing_at(1000), 10: crossing_at(1000 * 2**power)}, LOW)
    assert set(found.parts.values()) == {verdict}


def test_one_draw_decides_no_exponent():
    runs = {5: crossing_at(1000), 10: crossing_at(8000, draws=1)}
    assert transition.sb_36(runs, LOW).verdict == "undecided"


@pytest.mark.parametrize(
    ("places", "verdict"),
    [
        ({3: 100, 5: 1000, 10: 8000}, "reproduced"),
        ({3: 300, 5: 500, 10: 1000}, "contradicted"),  # in proportion to d
        ({3: 15, 5: 1000, 10: 8000}, "partly"),  # not far above d
    ],
)
def test_far_above_the_dimension(places, verdict):
    found = {d: crossing_at(n) for d, n in places.items()}
    assert transition.sb_37({5: found[5], 10: found[10]}, found).verdict == verdict


def test_the_dependence_on_settings_is_answered():
    same = np.array([800.0, 2000, 0.2, 0.6, 0.9])
    found = {
        ("draw", "seed 1"): (1.1 * same, same),
        ("steps", "more"): (2 * same, same),
        ("rate", "0.05"): (same, same),
    }
    outcome = transition.sb_40(found)
    assert outcome.verdict == "answered"
    assert outcome.evidence == pytest.approx({"steps": 2, "rate": 1, "draw": 1.1})


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
    assert transition.sb_45(final).parts[part] == verdict


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
    found = transition.sb_46(*both)
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
    assert transition.sb_62({"Adam": final}).parts["Adam"] == verdict
