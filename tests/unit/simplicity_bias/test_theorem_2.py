"""The rules on Assumption 1 and the statement of Theorem 2, on planted data for which the answer is known."""

import numpy as np
import pytest
import xarray as xr

from experiments.simplicity_bias import two_fits
from experiments.simplicity_bias.theorem_2 import cells as assumption
from experiments.simplicity_bias.theorem_2 import rules
from shallow import stats

DRAWS = stats.stream("planted", "theorem 2")


def two_laws(power=3.0, symmetric=1.0, white=0.1, tail=0.5):
    """Two laws; the squeezed one has a distance from the identity like c to a power."""
    c = xr.DataArray([0.3, 0.1, 0.03], dims="c", coords={"c": [0.3, 0.1, 0.03]})
    law = xr.DataArray([0, 1], dims="law", coords={"law": ["conditioned", "squeezed"]})
    gap = xr.where(law == 1, c**power, c) * xr.DataArray(np.ones(2), dims="d", coords={"d": [2, 3]})
    same = {"symmetric": symmetric, "second": 1.0, "slack": 0.0, "white": white, "tail": tail}
    return xr.Dataset({"gap": gap} | {name: xr.full_like(gap, value) for name, value in same.items()})


@pytest.mark.parametrize(
    ("planted", "verdict"),
    [
        ({}, "reproduced"),
        ({"symmetric": 8.0, "power": 1.0}, "contradicted"),  # a law that is not symmetric and not near the identity
        ({"power": 1.0}, "partly"),  # the distance stays c times a constant
        ({"white": 0.0}, "partly"),
        ({"tail": 2.0}, "partly"),
    ],
)
def test_whether_the_assumption_can_be_met(planted, verdict):
    assert rules.sb_16(two_laws(**planted)).verdict == verdict


@pytest.mark.parametrize(("law", "gap"), [("conditioned", 0.1 + 0.01), ("squeezed", 6 * 0.1**3)])
def test_the_second_moments_of_the_laws_in_space(law, gap):
    """In d = 3 the share t = x_1 / |x| is uniform, and both gaps are polynomials in the margin."""
    found = assumption.conditions(law, 3, 0.1, n=20_000)
    assert found.gap.item() == pytest.approx(gap, rel=1e-6)
    assert max(found.symmetric.item(), found.second.item()) < 5
    assert found.slack.item() >= -1e-9


def ends(distance, later=None, seeds=20):
    """Runs at n = 20 ... 10000, two laws and two times, all at one distance, at the second time at another."""
    table = np.full((4, 2, 2, seeds), distance)
    table[:, :, 1] = distance if later is None else later
    coords = {"n": [20, 100, 1000, 10_000], "whiten": [False, True], "time": [400, 800], "seed": range(seeds)}
    one = xr.DataArray(table, coords, list(coords))
    return xr.Dataset({"train": one, "fresh": one, "sums": one})


@pytest.mark.parametrize(
    ("planted", "verdict"),
    [
        (ends(1e-14), "reproduced"),
        (ends(0.2), "contradicted"),
        (ends(1e-4), "partly"),
        (ends(1e-14, later=1e-3), "partly"),  # it does not stay there
        (ends(1e-14, seeds=5), "undecided"),  # too few runs for 95 %
    ],
)
def test_the_end_of_training(planted, verdict):
    assert rules.sb_17(planted).verdict == verdict


def failing(late=0.0, one_sign=True, extra=0.0):
    """Runs of which half fail at n = 20 and a share later; networks of one sign fail or succeed."""
    rng, seeds = stats.stream("planted failures"), 400
    m, n = [2, 3, 4, 8, 32], [20, 50, 100, 1000]
    both = np.array([rng.random(seeds) >= 2.0 ** (1 - k) * (1 + extra) for k in m])[:, None].repeat(4, axis=1)
    shares = np.array([0.5, late, late, late])[None, :, None]
    failed = np.where(both, rng.random(both.shape) < shares, one_sign)
    table = {"failed": (("m", "n", "seed"), failed), "both": (("m", "n", "seed"), both)}
    return xr.Dataset(table, {"m": m, "n": n, "seed": range(seeds)})


@pytest.mark.parametrize(
    ("planted", "data", "signs"),
    [
        (failing(), "reproduced", "reproduced"),
        (failing(late=0.5), "contradicted", "contradicted"),
        (failing(one_sign=False), "reproduced", "contradicted"),
        (failing(extra=0.6), "reproduced", "contradicted"),
    ],
)
def test_how_likely_failures_are(planted, data, signs):
    assert rules.sb_18(planted).parts == {"data": data, "signs": signs}


def scales(limits, seeds=20):
    """Runs that succeed up to a scale, by the sample size; three widths."""
    grid = [0.001, 0.01, 0.1, 0.3, 1.0]
    table = np.array([[[seeds * (scale <= limit) for scale in grid] for _ in range(3)] for limit in limits])
    coords = {"n": [300, 1000, 3000], "m": [8, 32, 128], "scale": grid}
    done = xr.DataArray(table.astype(float), coords, list(coords))
    return xr.Dataset({"succeeded": done, "tried": xr.full_like(done, seeds)})


@pytest.mark.parametrize(
    ("planted", "verdict"),
    [
        (scales([0.3, 0.3, 0.3]).sel(scale=[0.001, 0.01, 0.1, 0.3]), "undecided"),  # no scale fails
        (scales([0.5, 0.5, 0.5]).assign_coords(scale=[0.001, 0.01, 0.1, 0.4, 1.0]), "reproduced"),
        (scales([0.3, 0.1, 0.001]), "contradicted"),  # the scale falls with n
        (scales([0.3, 0.3, 0.3], seeds=3), "undecided"),
    ],
)
def test_whether_one_scale_serves_all_sizes(planted, verdict):
    if verdict == "reproduced":
        planted["succeeded"][..., 3] = 20
    assert rules.sb_19((planted,)).verdict == verdict


def test_bounds_of_the_admissible_scale():
    runs = scales([0.3, 0.1, 0.001])
    assert list(rules.largest_scales(runs)["n"].values()) == [(0.3, 1.0), (0.1, 0.3), (0.001, 0.01)]


def cones(power, d=(2, 3, 5, 8, 12)):
    """Runs that succeed from n = 5 d^power on, and patterns that agree with them."""
    n = np.array([round(10 * 1.4**k) for k in range(24)])
    flags = np.broadcast_to(n >= 5 * np.array(d)[:, None] ** power, (30, len(d), len(n)))
    one = xr.DataArray(flags, {"seed": range(30), "d": list(d), "n": n}, ("seed", "d", "n"))
    one = one.expand_dims(whiten=[True, False])
    return xr.Dataset({"succeeded": one, "fits": one, "pulls": one, "everywhere": one})


@pytest.mark.parametrize("power", [1, 3])
def test_the_exponent_of_the_dimension(power):
    outcome = rules.sb_20(cones(power), cones(power))
    assert outcome.verdict == "answered"
    assert outcome.numbers["exponent, whitened"].estimate == pytest.approx(power, abs=0.2)


def test_runs_succeed_where_the_fits_have_the_pattern_of_the_teacher():
    found = two_fits.cones(True, 3, 27, seeds=20, margin=0.3, trained=True)
    assert 0 < found.succeeded.sum() < 20
    assert (found.fits | ~found.succeeded).all()


def test_the_points_needed_hold_from_there_on():
    flags = np.array([[[True, False, True, True], [False, False, False, False]]])
    np.testing.assert_array_equal(rules.needed(flags, np.array([1, 2, 4, 8])), [4, np.nan])


def test_bounds_on_the_sample_size_grow_with_their_powers():
    plain, refined = ([rules.bound_on_sample_size(d, refined=one) for d in (10, 20, 40)] for one in (False, True))
    assert np.all(np.array(plain) > refined)
    assert 2.9 < np.polyfit(np.log([10, 20, 40]), np.log(plain), 1)[0] < 3.4
    assert 1.9 < np.polyfit(np.log([10, 20, 40]), np.log(refined), 1)[0] < 2.5


def sums(power):
    """Two sums that approach e_1 like n^power."""
    n = np.array([100, 1000, 10_000])
    errors = DRAWS.standard_normal((3, 2, 40, 2, 3)) * (1.0 * n)[:, None, None, None, None] ** power
    coords = {"n": n, "whiten": [False, True], "seed": range(40)}
    return xr.Dataset({"beta": (("n", "whiten", "seed", "sign", "axis"), errors + np.eye(3)[0])}, coords)


@pytest.mark.parametrize(("power", "verdict"), [(-0.5, "reproduced"), (0.3, "contradicted"), (-0.2, "partly")])
def test_nearly_linear(power, verdict):
    assert rules.sb_21(sums(power)).verdict == verdict


def excess(power, dimension=1.0):
    """Excess risks of two fits with other exponents."""
    n, d, seeds = np.array([300, 1000, 3000, 10_000, 30_000]), np.array([2, 3, 5, 8]), 100
    mean = 0.18 * d[None, :] ** dimension * (1.0 * n)[:, None] ** power
    noise = DRAWS.chisquare(2 * d, (seeds, 5, 4)) / (2 * d)
    return xr.Dataset({"excess": (("seed", "n", "d"), mean * noise)}, {"seed": range(seeds), "n": n, "d": d})


@pytest.mark.parametrize(
    ("power", "dimension", "verdict"),
    [(-1, 1, "reproduced"), (-0.4, 1, "contradicted"), (-1, 2, "partly"), (-0.75, 1, "partly")],
)
def test_the_excess_risk(power, dimension, verdict):
    coords = {"n": [1000, 2000, 10_000], "seed": range(3)}
    seen = xr.Dataset({"decayed_excess": (("n", "seed"), 1 / np.outer([1, 2, 10], [1, 1.1, 0.9]))}, coords)
    assert rules.sb_27(excess(power, dimension), seen).verdict == verdict


def limits(gap):
    """Excess risks of one fit near zero, and of two that are larger by a share of the noise, by n / d^3."""
    one = DRAWS.random((3, 3, 200)) * 1e-5
    two = one + 0.09 * np.array(gap)[None, :, None]
    coords = {"d": [3, 5, 10], "size": [10, 100, 1000], "fits": ["one", "two"]}
    return xr.DataArray(np.stack([one, two], axis=-1), coords, ("d", "size", "draw", "fits"))


@pytest.mark.parametrize(
    ("gap", "verdict"),
    [([0.004, 4e-4, 4e-5], "reproduced"), ([0.2, 0.2, 0.2], "contradicted"), ([0.03, 0.003, 3e-4], "partly")],
)
def test_whether_the_test_losses_coincide(gap, verdict):
    assert rules.sb_39(limits(gap)).verdict == verdict


def pairs(event, two, whitened=None):
    """Draws on and off the event, with two extremal vectors or more, after whitening with another share."""
    n, draws = [200, 1000, 5000], 400
    flags = np.zeros((2, 2, 1, 3, draws), dtype=bool)
    flags[:, 0, ..., : int(two * draws)] = True
    flags[:, 1, ..., : int((two if whitened is None else whitened) * draws)] = True
    on = np.broadcast_to(np.arange(draws) < int(event * draws), flags.shape)
    coords = {"c": [0.5, 0.3], "whiten": [False, True], "d": [2], "n": n}
    dims = ("c", "whiten", "d", "n", "draw")
    return xr.Dataset({"two": (dims, flags), "event": (dims, on)}, coords)


@pytest.mark.parametrize(
    ("planted", "parts"),
    [
        (pairs(0.9, 1.0), ("reproduced", "reproduced", "reproduced")),
        (pairs(0.9, 0.5), ("contradicted", "contradicted", "contradicted")),
        (pairs(0.5, 1.0, whitened=0.8), ("reproduced", "contradicted", "reproduced")),
        (pairs(0.0, 0.985), ("undecided", "undecided", "undecided")),
    ],
)
def test_two_extremal_vectors(planted, parts):
    assert tuple(rules.sb_55(planted, planted).parts.values()) == parts


def covariances(n_power=-0.5, d_power=0.5, smallest=0.9, d=(3, 5, 10), n=(50, 200, 1000, 10_000), c=(0.3, 0.0)):
    """Deviations with the given exponents."""
    scale = np.multiply.outer(np.array(d, float) ** d_power, np.array(n, float) ** n_power)
    noise = np.exp(0.1 * DRAWS.standard_normal((len(c), len(d), len(n), 400)))
    table = {"deviation": scale[None, :, :, None] * noise, "smallest": np.full(noise.shape, smallest)}
    dims = ("c", "d", "n", "draw")
    return xr.Dataset({k: (dims, v) for k, v in table.items()}, {"c": list(c), "d": list(d), "n": list(n)})


@pytest.mark.parametrize(
    ("planted", "parts"),
    [
        ({}, ("reproduced", "reproduced", "reproduced")),
        ({"n_power": -0.1}, ("contradicted", "reproduced", "reproduced")),
        ({"d_power": 1.0}, ("reproduced", "contradicted", "reproduced")),
        ({"smallest": 0.1}, ("reproduced", "reproduced", "contradicted")),
    ],
)
def test_the_covariance_of_a_half_sample(planted, parts):
    high = covariances(**planted, d=(10, 20, 40, 80), n=(10_000,), c=(0.0,))
    assert tuple(rules.sb_59(covariances(**planted), high).parts.values()) == parts
