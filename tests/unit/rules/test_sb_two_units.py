"""The rules on the margin and the start, and what becomes of groups, on planted data."""

import numpy as np
import pytest
import xarray as xr

from experiments.simplicity_bias.rules import two_units as rules


def angles(power=-0.5, more=0.2, with_margin=2, n=(100, 200, 1000, 10_000), draws=400):
    """Angles that fall like a power of n, with a share of draws of more than two vectors."""
    rng = np.random.default_rng(0)
    n = np.array(n)
    angle = 1.5 * n[:, None] ** power * rng.uniform(0.8, 1.2, (len(n), draws))
    number = np.where(np.arange(draws) < more * draws, 4, 2) * np.ones((len(n), 1), int)
    kept = np.where(np.arange(draws) < 0.05 * draws, with_margin, 2) * np.ones((len(n), 1), int)
    columns = {"number": (("margin", "n", "draw"), np.stack([number, kept]))}
    columns |= {"angle": (("margin", "n", "draw"), np.stack([angle, angle]))}
    return xr.Dataset(columns, {"margin": [0.0, 0.5], "n": n})


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "reproduced"),
        ({"power": 0.0}, "undecided"),
        ({"power": 0.2}, "contradicted"),
        ({"power": -1.0}, "partly"),
        ({"more": 0.0}, "partly"),
        ({"with_margin": 3}, "partly"),
        ({"more": 0.05}, "undecided"),
    ],
)
def test_extra_directions_near_the_two(change, verdict):
    assert rules.sb_30(angles(**change)).verdict == verdict


def fractions(last=0.02, first=0.9, scatter=0.001):
    """Shares of unaligned neurons that fall from the largest to the smallest deviation."""
    shares = np.geomspace(first, last, 4)[None, :, None] + scatter * np.array([-1, 0, 1])
    values = np.stack([np.full((2, 4, 3), 0.98), np.broadcast_to(shares, (2, 4, 3))])
    coordinates = {"exponent": [0.0, 1 / 3], "n": [2000, 10_000], "deviation": [1e-2, 3e-4, 1e-6, 1e-9]}
    return xr.Dataset({"fraction": (("exponent", "n", "deviation", "seed"), values)}, coordinates)


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "reproduced"),
        ({"last": 0.5}, "contradicted"),
        ({"last": 0.15}, "partly"),
        ({"last": 0.049, "scatter": 0.005}, "undecided"),
        ({"first": 0.02}, "partly"),  # no fall
    ],
)
def test_few_neurons_are_left_unaligned(change, verdict):
    assert rules.sb_31(fractions(**change)).verdict == verdict


def runs(radius, cuts=0, room=-1.0):
    """Runs over seeds with largest angles at the end, cuts and room at the time 50."""
    radius = np.asarray(radius, float)
    size = len(radius)
    return xr.Dataset(
        {
            "radius": (("seed", "time", "sign"), np.stack([np.zeros((size, 2)), np.stack([radius, 0 * radius], 1)], 1)),
            "cuts": (("seed", "time", "sign"), np.broadcast_to(np.reshape(cuts, (-1, 1, 1)), (size, 2, 2))),
            "room": (("seed", "time"), np.broadcast_to(np.reshape(room, (-1, 1)), (size, 2))),
        },
        {"time": ["50", "end"], "sign": [1, -1], "seed": range(size)},
    )


def test_a_run_stays_if_both_groups_are_tight():
    assert rules.stays(runs([0.01, 0.3])).values.tolist() == [True, False]
    assert rules.share_staying(runs([0.01, 0.3])).estimate == 0.5


def test_fates_by_the_state_before():
    found = rules.fates(runs([0.01, 0.3, 0.01, 0.4], cuts=[0, 0, 0, 2], room=[1.0, -1.0, -1.0, -np.inf]), "50")
    assert found == {"no pattern can change": (1, 1), "not cut": (2, 1), "cut": (1, 0)}


def by_scale():
    """Two sizes and two draws at three scales; the second draw is torn at the small scales too, for the larger size."""
    tight, torn, half = runs([0.01, 0.02]), runs([0.3, 0.2]), runs([0.01, 0.2])
    table = xr.concat([xr.concat([torn, tight, tight], "scale"), xr.concat([torn, half, half], "scale")], "n")
    return table.assign_coords(n=[100, 1000], scale=[1e-2, 1e-3, 1e-4])


def test_a_draw_stays_if_it_does_at_all_small_scales():
    assert rules.staying_draws(by_scale()).transpose("n", "seed").values.tolist() == [[True, True], [True, False]]


def test_draws_by_the_directions_before_growth():
    radius = np.array([[[1e-7, 1e-6], [1e-7, 1e-7]], [[1e-6, 1e-6], [1e-3, 1e-6]]])
    before = xr.Dataset({"radius": (("n", "seed", "sign"), radius)}, {"n": [100, 1000], "seed": [0, 1]})
    assert rules.by_directions(before, by_scale()) == {"one each": (3, 3), "several": (1, 0)}


def test_power_of_n_in_the_angle_before_growth():
    n = np.array([100, 1000, 10_000])
    radius = np.broadcast_to((1.0 / n)[:, None, None] * np.array([20.0, 30.0, 25.0])[None, :, None], (3, 3, 2))
    before = xr.Dataset({"radius": (("n", "seed", "sign"), radius)}, {"n": n, "seed": range(3)})
    assert rules.radius_by_size(before).estimate == pytest.approx(-1.0, abs=0.02)


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_power_of_the_scale_in_the_spread(power):
    scales = np.array([1e-2, 1e-3, 1e-4])
    factor = np.array([0.9, 1.0, 1.2])
    spread = xr.DataArray(
        (scales[:, None] ** power * factor)[:, :, None, None], dims=("scale", "seed", "sign", "time"),
        coords={"scale": scales, "time": ["50"]},
    )  # fmt: skip
    assert rules.radius_power(xr.Dataset({"spread": spread}), "50").estimate == pytest.approx(power)
