"""The rules on how many steps the widening takes, on planted data for which the answer is known."""

import numpy as np
import pytest
import xarray as xr

from experiments.heavy_tails import long_runs
from experiments.heavy_tails.rules import long_runs as rules

NOISE = rules.NOISE
STILL, WIDENED, WIDE = (0.0, 0.004), (0.1, 0.06), (0.5, 0.13)  # fall of the exponent, distance


def table(gap=1.02, seeds=2, **at):
    """A table over draws and steps 0, 1 and others, in the shapes given by step (s1, s10, ...); a gap at step 1."""
    shapes = {0: STILL, 1: STILL} | {int(name[1:]): shape for name, shape in at.items()}
    steps = sorted(shapes)
    wobble = (1 + 1e-4 * np.arange(seeds))[:, None]
    fall, away = (np.array([shapes[t][k] for t in steps], float) * wobble for k in (0, 1))
    gaps = np.array([gap if t == 1 else 1.02 for t in steps]) * wobble
    data = {"hill_excl": NOISE - fall, "hill": NOISE - fall, "d_mp": away, "spike_ratio": gaps, "loss": away}
    dims = ("seed", "step")
    found = xr.Dataset({name: (dims, values) for name, values in data.items()}, {"seed": range(seeds), "step": steps})
    return found.assign(single_spike=found.spike_ratio >= 1.05)


def grid(late_slow=WIDE, smallest=STILL, late_one=WIDE):
    """Tables 1 and 4 as the document has them, but for the late shapes given."""
    early = {0.01: table(s10=STILL, s100=STILL), 0.1: table(2, s10=STILL, s100=STILL)}
    early |= {rate: table(99, s10=WIDE, s100=WIDE) for rate in (1.0, 10.0, 100.0)}
    late = {0.1: table(s10000=late_slow), 1.0: table(s10000=late_one)}
    return early, late, {0.01: table(seeds=1, s10000=smallest), 0.1: late[0.1], 1.0: late[1.0]}


@pytest.mark.parametrize(
    ("planted", "part", "verdict"),
    [
        (grid(), "a", "reproduced"),
        (grid(), "b", "reproduced"),
        (grid(), "c", "reproduced"),
        (grid(), "d", "reproduced"),
        (grid(late_one=WIDENED), "a", "contradicted"),
        (grid(late_slow=WIDENED), "b", "partly"),
        (grid(late_slow=STILL), "b", "contradicted"),
        (grid(smallest=WIDENED), "c", "contradicted"),
    ],
)
def test_the_grid_of_adam(planted, part, verdict):
    assert rules.ht_17(*planted).parts[part] == verdict


def runs(gap, steps, **outer):
    """Runs up to the widened bulk: gaps after step 1 and steps (0: never) over other dimensions and three draws."""
    gap, steps = (np.repeat(np.array(one, float)[..., None], 3, axis=-1) for one in (gap, steps))
    gap = gap * (1 + 0.001 * np.arange(3))
    checks = np.arange(1, 51)
    dims = [*outer, "seed"]
    gaps = np.where(checks == 1, gap[..., None], np.nan)
    data = {"spike_ratio": ([*dims, "check"], gaps), "onset": ([*dims, "check"], steps[..., None] == checks)}
    return xr.Dataset(data, {**outer, "seed": [0, 1, 2], "check": checks})


FALLING = runs([1.5, 3, 9, 20], [0, 20, 5, 2], rate=[0.2, 0.4, 0.8, 1.6])
RISING = runs([1.5, 3, 9, 20], [2, 5, 20, 0], rate=[0.2, 0.4, 0.8, 1.6])
FACTORS = [0.0, 0.5, 1.0, 2.0, 4.0]
BY_GAP = runs([[1.02, 2, 4, 8, 16], [1.02, 4, 16, 32, 64]], [[0, 40, 20, 10, 5], [0, 20, 5, 3, 2]],
              rate=[0.2, 1.0], spike_factor=FACTORS)  # fmt: skip
BOTH = runs([[1.02, 2, 4, 8, 16], [1.02, 4, 16, 32, 64]], [[0, 40, 20, 10, 5], [0, 5, 4, 3, 2]],
            rate=[0.2, 1.0], spike_factor=FACTORS)  # fmt: skip
BY_RATE = runs([[1.02, 4, 8, 16, 32]] * 2, [[12] * 5, [2] * 5], rate=[0.2, 1.0], spike_factor=FACTORS)


@pytest.mark.parametrize(
    ("rates", "factors", "verdict"),
    [(FALLING, BY_GAP, "reproduced"), (FALLING, BY_RATE, "partly"), (RISING, BY_RATE, "contradicted")],
)
def test_gap_and_steps(rates, factors, verdict):
    assert rules.ht_18(rates, factors).verdict == verdict


@pytest.mark.parametrize(("factors", "beginning"), [(BY_GAP, "Yes"), (BOTH, "Both"), (BY_RATE, "No")])
def test_gap_or_rate(factors, beginning):
    outcome = rules.ht_77(factors)
    assert outcome.verdict == "answered" and outcome.answer.startswith(beginning)


def gd(at_ten=WIDE, at_hundred=(0.7, 0.15), small=STILL, late=(0.9, 0.16)):
    """Table 3 with the given shapes of rate 2000 and of the small rates at the end."""
    slow = (0.1, 1.0, 10.0)
    early = {rate: table(s10=STILL, s100=STILL) for rate in slow} | {2000.0: table(2, s10=at_ten, s20=at_hundred)}
    far = {rate: table(seeds=1, s10=STILL, s10000=small) for rate in slow}
    far |= {rate: table(9, s10=at_ten, s10000=late) for rate in (500.0, 2000.0)}
    return early, far, table(2, s10=at_ten, s100=at_hundred)


@pytest.mark.parametrize(
    ("planted", "parts"),
    [
        (gd(), {}),
        (gd(small=WIDENED), {"a, small": "contradicted"}),
        (gd(WIDENED, WIDENED, late=WIDENED), {"a, 2000 wide": "contradicted", "b, beyond": "contradicted",
                                              "b, to 10": "undecided"}),
        (gd(STILL, STILL, late=STILL), {"a, 2000 widened": "contradicted", "a, 2000 wide": "contradicted",
                                        "b, to 10": "contradicted", "b, beyond": "contradicted"}),
    ],
)  # fmt: skip
def test_the_grid_of_gd(planted, parts):
    found = rules.ht_48(*planted).parts
    names = "a, small", "a, 2000 widened", "a, 2000 wide", "b, to 10", "b, beyond"
    assert found == dict.fromkeys(names, "reproduced") | parts


@pytest.mark.parametrize(
    ("cut", "factors", "parts"),
    [
        (table(s10=WIDE), BY_GAP, {"a": "contradicted", "b": "reproduced"}),
        (table(s10=STILL), BY_RATE, {"a": "contradicted", "b": "reproduced"}),
        (table(s10=STILL), BY_GAP, {"a": "reproduced", "b": "reproduced"}),
        (table(9, s10=WIDE), BY_GAP, {"a": "reproduced", "b": "reproduced"}),  # there is a spike
    ],
)
def test_whether_a_spike_is_necessary(cut, factors, parts):
    by_rate = {0.1: table(1.02, s10=STILL), 0.2: table(2, s10=STILL), 1.0: table(9, s10=WIDE)}
    assert rules.ht_49(cut, by_rate, by_rate, factors).parts == parts


def test_small_rates_that_widen():
    by_rate = {0.1: table(1.02, s10=WIDE), 0.2: table(2, s10=WIDE)}
    assert rules.ht_49(table(s10=STILL), by_rate, by_rate, BY_GAP).parts["b"] == "contradicted"


def million(short=WIDENED, tiny=STILL, gap=1.02):
    steps = {"s1000": STILL, "s10000": STILL, "s100000": STILL}
    return {1e-5: table(seeds=1, **steps, s1000000=tiny), 1e-4: table(seeds=1, **steps, s1000000=tiny)} | {
        rate: table(gap, seeds=1, **steps, s1000000=short) for rate in (0.01, 0.03)
    }


@pytest.mark.parametrize(
    ("planted", "parts"),
    [
        (million(), {"a": "reproduced", "b": "reproduced"}),
        (million(short=STILL), {"a": "contradicted", "b": "reproduced"}),
        (million(gap=2), {"a": "contradicted", "b": "reproduced"}),
        (million(tiny=WIDENED), {"a": "reproduced", "b": "contradicted"}),
    ],
)
def test_a_million_steps(planted, parts):
    assert rules.ht_50(planted).parts == parts


def merging(late=1.2, lift=0.001):
    """Adam at 1 after 10 and 100 steps: gap, and what the largest eigenvalue does to the exponents."""
    seeds, wobble = 3, 1 + 0.001 * np.arange(3)
    data = {"spike_ratio": np.outer(wobble, [3, late]), "hill": NOISE + np.outer(wobble, [0.01, lift])}
    data |= {"hill_excl": np.full((3, 2), NOISE), "ks_excl": np.full((3, 2), 3.0)}
    data["ks"] = 3 + np.outer(wobble, [1, 100 * lift])
    return xr.Dataset({k: (("seed", "step"), v) for k, v in data.items()}, {"seed": range(seeds), "step": [10, 100]})


@pytest.mark.parametrize(
    ("adam", "end", "parts"),
    [
        (merging(), 1.2, ["reproduced"] * 4),
        (merging(late=4), 1.2, ["contradicted", *["reproduced"] * 3]),
        (merging(lift=0.05), 1.2, ["reproduced", "reproduced", "contradicted", "contradicted"]),
        (merging(), 15, ["reproduced", "contradicted", "reproduced", "reproduced"]),
    ],
)
def test_the_way_back_to_the_bulk(adam, end, parts):
    gaps = np.outer(1 + 0.001 * np.arange(5), [1.01, 1.5, 20, end])
    gaps = xr.DataArray(gaps, {"seed": range(5), "step": [0, 1, 4, 20]}, ("seed", "step"))
    assert list(rules.ht_72(adam, gaps).parts.values()) == parts


TINY = {"rule": "Adam code", "rate": 1.0, "n": 100, "d": 50, "h": 75}


def test_a_spike_is_cut_out_of_the_first_update_alone():
    plain = long_runs.milestones(0, records=[0, 1, 3], **TINY)
    same, cut = (long_runs.with_spike(0, records=[0, 1, 3], spike_factor=k, **TINY) for k in (1.0, 0.0))
    np.testing.assert_allclose(same.eigenvalues, plain.eigenvalues, rtol=1e-6)
    np.testing.assert_allclose(same.loss, plain.loss, rtol=1e-6)
    gap = {name: float(one.eigenvalues[1, 0] / one.eigenvalues[1, 1]) for name, one in (("plain", plain), ("cut", cut))}
    assert gap["cut"] < 1.3 < gap["plain"]


def test_no_spike_is_left_without_the_leading_parts():
    found = long_runs.without_leading(0, steps=3, **TINY)
    gaps = found.eigenvalues[:, 0] / found.eigenvalues[:, 1]
    assert found.step.values.tolist() == [0, 1, 2, 3] and float(gaps.max()) < 1.3
    np.testing.assert_allclose(found.eigenvalues[0], long_runs.milestones(0, records=[0], **TINY).eigenvalues[0])
