"""The rules on the margin and the start, and what becomes of groups, on planted data."""

import numpy as np
import pytest
import xarray as xr
from planted.records import by, planted, table, verdicts

from experiments.simplicity_bias.two_units import rules

ANGLES, SIZES = "simplicity_bias/two_units/extremal_angles", {n: float(n) for n in (10, 20, 50, 100, 200, 1000, 10_000)}


def angles(power=-0.5, more=0.2, with_margin=2):
    """Angles that fall like a power of n, with a share of draws of more than two vectors."""
    draws = np.arange(400)
    factor = xr.DataArray(np.random.default_rng(0).uniform(0.8, 1.2, (7, 400)), {"n": list(SIZES)}, ("n", "draw"))
    number = np.stack([np.where(draws < 400 * more, 4, 2), np.where(draws < 20, with_margin, 2)])
    return planted(ANGLES, number=number[:, None], angle=1.5 * by(n=SIZES) ** power * factor)


test_extra_directions_near_the_two = verdicts(
    rules.sb_30,
    angles,
    reproduced=[{}],
    contradicted=[{"power": 0.2}],
    partly=[{"power": -1.0}, {"more": 0.0}, {"with_margin": 3}],
    undecided=[{"power": 0.0}, {"more": 0.05}],
)


def fractions(last=0.02, first=0.9, scatter=0.001):
    """Shares of unaligned neurons that fall from the largest to the smallest deviation."""
    shares = np.geomspace(first, last, 4)[:, None] + scatter * np.array([-1, 0, 1])
    return planted("simplicity_bias/unaligned", fraction=np.stack([np.full((4, 3), 0.98), shares, shares], axis=-1))


test_few_neurons_are_left_unaligned = verdicts(
    rules.sb_31,
    fractions,
    rrrr=[{"first": 0.04}],
    pprr=[{}],
    cppr=[{"last": 0.15}],
    cccr=[{"last": 0.5}],
    rrpc=[{"first": 0.02, "last": 0.06}],  # no fall
    cpur=[{"last": 0.049, "scatter": 0.005}],
)


def runs(*radius, cuts=0, room=-1.0):
    """Runs over seeds with largest angles at the end, cuts and room at the time 50."""
    axes = {"sign": [1, -1], "time": ["50", "end"], "seed": range(len(radius))}
    ends = np.zeros((2, 2, len(radius)))
    ends[0, 1] = radius
    return table(axes, radius=ends, cuts=cuts).assign(
        room=table({"time": axes["time"], "seed": axes["seed"]}, room=room).room
    )


def test_a_run_stays_if_both_groups_are_tight():
    assert rules.stays(runs(0.01, 0.3)).values.tolist() == [True, False]
    assert rules.share_staying(runs(0.01, 0.3)).estimate == 0.5


def test_fates_by_the_state_before():
    found = rules.fates(runs(0.01, 0.3, 0.01, 0.4, cuts=[0, 0, 0, 2], room=[1.0, -1.0, -1.0, -np.inf]), "50")
    assert found == {"no pattern can change": (1, 1), "not cut": (2, 1), "cut": (1, 0)}


def by_scale():
    """Two sizes and two draws at three scales; the second draw is torn at the small scales too, for the larger size."""
    tight, torn, half = runs(0.01, 0.02), runs(0.3, 0.2), runs(0.01, 0.2)
    sizes = xr.concat([xr.concat([torn, tight, tight], "scale"), xr.concat([torn, half, half], "scale")], "n")
    return sizes.assign_coords(n=[100, 1000], scale=[1e-2, 1e-3, 1e-4])


def before(radius):
    """Largest angles (n, seed, sign) in the groups before growth."""
    n, seeds, _ = np.shape(radius)
    return table({"n": [100, 1000, 10_000][:n], "seed": range(seeds), "sign": [1, -1]}, radius=radius)


def test_a_draw_stays_if_it_does_at_all_small_scales():
    assert rules.staying_draws(by_scale()).transpose("n", "seed").values.tolist() == [[True, True], [True, False]]


def test_draws_by_the_directions_before_growth():
    turned = before([[[1e-7, 1e-6], [1e-7, 1e-7]], [[1e-6, 1e-6], [1e-3, 1e-6]]])
    assert rules.by_directions(turned, by_scale()) == {"one each": (3, 3), "several": (1, 0)}


def test_power_of_n_in_the_angle_before_growth():
    angle = np.outer(1 / np.array([100, 1000, 10_000]), [20.0, 30.0, 25.0])
    assert rules.radius_by_size(before(np.stack([angle, angle], -1))).estimate == pytest.approx(-1.0, abs=0.02)
