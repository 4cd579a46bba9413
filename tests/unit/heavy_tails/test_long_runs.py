"""The rules on how many steps the widening takes, on planted data for which the answer is known."""

import numpy as np
import pytest
import xarray as xr
from planted.records import verdicts

from experiments.heavy_tails.long_runs import cells as long_runs
from experiments.heavy_tails.long_runs import rules

NOISE = rules.NOISE
STILL, WIDENED, WIDE = (0.0, 0.004), (0.1, 0.06), (0.5, 0.13)  # fall of the exponent, distance
TABLES = rules.tables


@pytest.fixture(autouse=True)
def planted_shapes(monkeypatch):
    """Rules are given spectra and make tables of shapes of them; here the tables are planted."""
    monkeypatch.setattr(rules, "tables", lambda runs: runs)


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
    small = {0.01: table(seeds=1, s10000=smallest), 0.1: late[0.1], 1.0: late[1.0]}
    return early, late, small, {0.1: table(s100=WIDE)}


test_the_grid_of_adam = verdicts(
    rules.ht_17,
    grid,
    rrrr=[{}],
    crrr=[{"late_one": WIDENED}],
    rprr=[{"late_slow": WIDENED}],
    rcrr=[{"late_slow": STILL}],
    rrcr=[{"smallest": WIDENED}],
)


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


def by_hand(gaps, steps):
    """Gaps and steps (0: never) at two rates, over what becomes of the first step, and three draws."""
    axes = {"rate": [0.2, 1.0], "first": ["clean", "0", "0.5", "1", "2", "4"], "seed": [0, 1, 2]}
    gaps, steps = (np.array(one, float)[:, [0, 0, 1, 2, 3, 4], None] for one in (gaps, steps))
    wobble = 1 + 0.001 * np.arange(3)
    columns = {"gap": gaps * wobble, "steps": np.where(steps == 0, np.inf, steps) * np.ones(3)}
    return xr.Dataset({name: (tuple(axes), one) for name, one in columns.items()}, axes)


GAPS = [[1.02, 2, 4, 8, 16], [1.02, 4, 16, 32, 64]]
BY_GAP = by_hand(GAPS, [[0, 40, 20, 10, 5], [0, 20, 5, 3, 2]])
BOTH = by_hand(GAPS, [[0, 40, 20, 10, 5], [0, 5, 4, 3, 2]])
BY_RATE = by_hand([[1.02, 4, 8, 16, 32]] * 2, [[12] * 5, [2] * 5])


test_gap_and_steps = verdicts(
    rules.ht_18,
    lambda rates, first: (rates, first),
    reproduced=[(FALLING, BY_GAP)],
    partly=[(FALLING, BY_RATE)],
    contradicted=[(RISING, BY_RATE)],
)


@pytest.mark.parametrize(
    ("first", "by_gap", "by_rate"), [(BY_GAP, True, False), (BOTH, True, True), (BY_RATE, False, True)]
)
def test_gap_or_rate(first, by_gap, by_rate):
    outcome = rules.ht_77(first)
    assert outcome.verdict == "answered"
    assert [outcome.numbers[f"set by the gap, rate {rate}"] for rate in ("0.2", "1")] == [by_gap] * 2
    assert outcome.numbers["rates differ at one gap"] is by_rate


def gd(at_ten=WIDE, at_hundred=(0.7, 0.15), small=STILL, late=(0.9, 0.16)):
    """Table 3 with the given shapes of rate 2000 and of the small rates at the end."""
    slow = (0.1, 1.0, 10.0)
    early = {rate: table(s10=STILL, s100=STILL) for rate in slow} | {2000.0: table(2, s10=at_ten, s20=at_hundred)}
    far = {rate: table(seeds=1, s10=STILL, s10000=small) for rate in slow}
    far |= {rate: table(9, s10=at_ten, s10000=late) for rate in (500.0, 2000.0)}
    return early, far, {2000.0: table(2, s10=at_ten, s100=at_hundred)}, {2000.0: table(s100=STILL)}


test_the_grid_of_gd = verdicts(
    rules.ht_48,
    gd,
    rrrrr=[{}],
    crrrr=[{"small": WIDENED}],
    rrcuc=[dict.fromkeys(("at_ten", "at_hundred", "late"), WIDENED)],
    rcccc=[dict.fromkeys(("at_ten", "at_hundred", "late"), STILL)],
)


def cut_out(cut=STILL, gap=1.02, small=STILL, first=BY_GAP):
    by_rate = {0.1: table(1.02, s10=small), 0.2: table(2, s10=small), 1.0: table(9, s10=WIDE)}
    return table(gap, s10=cut).expand_dims(cut=["gradient and gaps"]), by_rate, by_rate, first


test_whether_a_spike_is_necessary = verdicts(
    rules.ht_49,
    cut_out,
    rr=[{}],
    ur=[{"cut": WIDE, "gap": 9}],  # there is a spike
    cr=[{"cut": WIDE}, {"first": BY_RATE}],
    rc=[{"small": WIDE}],  # small rates that widen
)


def million(short=WIDENED, tiny=STILL, gap=1.02, seeds=2):
    steps = {"s1000": STILL, "s10000": STILL, "s100000": STILL}
    by_rate = {rate: table(seeds=seeds, **steps, s1000000=tiny) for rate in (1e-5, 1e-4)}
    return by_rate | {rate: table(gap, seeds=seeds, **steps, s1000000=short) for rate in (0.01, 0.03)}


test_a_million_steps = verdicts(
    rules.ht_50, million, rr=[{}], pr=[{"seeds": 1}], cr=[{"short": STILL}, {"gap": 2}], rc=[{"tiny": WIDENED}]
)


def merging(late=1.2, lift=0.001, end=1.2):
    """Adam at 1 after 10 and 100 steps: gap, and what the largest eigenvalue does to the exponents; end: gap of GD."""
    seeds, wobble = 3, 1 + 0.001 * np.arange(3)
    data = {"spike_ratio": np.outer(wobble, [3, late]), "hill": NOISE + np.outer(wobble, [0.01, lift])}
    data |= {"hill_excl": np.full((3, 2), NOISE), "ks_excl": np.full((3, 2), 3.0)}
    data["ks"] = 3 + np.outer(wobble, [1, 100 * lift])
    adam = xr.Dataset({k: (("seed", "step"), v) for k, v in data.items()}, {"seed": range(seeds), "step": [10, 100]})
    gaps = np.outer(1 + 0.001 * np.arange(5), [1.01, 1.5, 20, end])
    spectra = np.stack([gaps, np.ones_like(gaps)], axis=-1)
    return {1.0: adam}, (xr.Dataset({"eigenvalues": (("seed", "step", "k"), spectra)}, {"step": [0, 1, 4, 20]}),)


test_the_way_back_to_the_bulk = verdicts(
    rules.ht_72, merging, rrrr=[{}], crrr=[{"late": 4}], rrcc=[{"lift": 0.05}], rcrr=[{"end": 15}]
)


TINY = {"rule": "Adam code", "rate": 1.0, "n": 100, "d": 50, "h": 75}


def test_draws_of_several_runs_add_up():
    alone = long_runs.milestones(0, records=[0, 1], **TINY).expand_dims(seed=[0])
    found = TABLES([alone, alone.expand_dims(rate=[1.0, rules.GD_RATE])])
    assert {rate: one.sizes["seed"] for rate, one in found.items()} == {1.0: 1, rules.GD_RATE: 2}
    assert float(found[1.0].d_mp.sel(step=0).max()) < 0.1  # of the law of the run's own shape
