"""The rules on networks in the orthant that they have never seen, on planted data."""

import numpy as np
import pytest
import xarray as xr
from planted.records import table, verdicts

from experiments.hidden_structure import authors
from experiments.hidden_structure.orthants import rules

DEPTHS, LAST = [1, 2, 3, 4, 5], {"moment": ["last"]}
MEANS = {d: {name: value for name, (value, _) in row.items()} for d, row in authors.TABLE_1["network"].items()}


def scattered(mean, spread, n=20):
    return mean + spread * np.linspace(-1, 1, n)


def runs(empty=None, others=None, spread=0.03, **columns):
    """Twenty networks of each depth, by default as the document has them; accuracies by depth and their spread."""
    printed = {name: {d: MEANS[d][name] for d in DEPTHS} for name in ("empty", "others")}
    values = {"empty": printed["empty"] | (empty or {}), "others": printed["others"] | (others or {})} | columns
    wide = {"empty": spread, "others": 0.01}
    found = {name: [scattered(of[d], wide.get(name, 0.002)) for d in DEPTHS] for name, of in values.items()}
    return table(LAST | {"depth": DEPTHS, "run": range(20)}, **found)


def data(off=0.0, miscounted=0, right=1.0, nearest=2.0):
    """What is found of the data in three dimensions, the last of which may be at fault."""
    found = table({"dimension": range(3)}, off=[0.0, 0.0, off], miscounted=[0, 0, miscounted], astray=0)
    return found.merge(table({"orthant": range(4)}, accuracy=[1.0, 1.0, 1.0, right])).assign(nearest=nearest)


test_data_of_shells = verdicts(
    rules.hs_08,
    data,
    reproduced=[{}],
    partly=[{"off": 0.1}, {"miscounted": 1}, {"right": 0.99}],
    contradicted=[{"off": 0.1, "nearest": 1.0}],
)


def consistent(spread, worst):
    """Networks whose accuracies with two layers have a spread over orthants and a worst one."""
    rest = {4: 0.0, 5: 0.0}
    found = runs(worst={1: 0.9, 2: worst, 3: 0.9} | rest, deviation={1: 0.03, 2: spread, 3: 0.02} | rest)
    return found.rename(deviation="spread")


test_consistency_between_orthants = verdicts(
    rules.hs_09,
    consistent,
    reproduced=[(0.04, 0.8)],
    contradicted=[(0.09, 0.8), (0.04, 0.6)],
    undecided=[(0.0601, 0.8), (0.04, 0.7)],
)
LEARNED = {1: 0.8, 2: 0.75, 3: 0.85}
QUARTER = np.where(np.arange(20) < 5, 0.8, 0.5)  # of the runs learn
test_empty_orthant_by_depth = verdicts(
    rules.hs_10,
    runs,
    rrrr=[(LEARNED,)],
    ccrr=[({1: 0.52, 2: 0.51, 3: 0.5},)],  # all at chance
    rcrr=[({1: 0.97, 2: 0.96, 3: 0.99},)],  # nothing lost
    rrcr=[(LEARNED | {4: 0.9},)],
    rrur=[(LEARNED | {4: QUARTER},)],
    rrrc=[(LEARNED, {5: 0.7})],  # at chance everywhere
    ucrr=[({1: 0.61, 2: 0.6, 3: 0.59},)],
)


def widths(slope=0.0, noise=0.0, none=1.0):
    """Networks of ten runs whose accuracy falls or rises with the size, by depth and width; at 64 units with `none`."""
    rng = np.random.default_rng(0)

    def of(*width, layers=3):
        size = np.array(width)[:, None] ** 2 * np.ones(10)
        empty = none + slope * np.log10(size / 64**2) + noise * rng.standard_normal(size.shape)
        axes = LAST | {"width": list(width), "run": range(10)}
        return table(axes, empty=empty, others=1.0, match=empty, parameters=layers * size)

    authors_widths = enumerate((128, 32, 64, 32, 128), start=1)
    own = xr.concat([of(width, layers=d).isel(width=0, drop=True) for d, width in authors_widths], "depth")
    others = enumerate(([32, 64], [32, 64, 128], [32, 128], [64, 128], [32, 64, 128]), start=1)
    swept = [of(*width, layers=d) for d, width in others]
    return (*swept, of(256), own.assign_coords(depth=DEPTHS))


test_excess_of_parameters = verdicts(
    rules.hs_11,
    lambda third, fifth, slope, noise: (
        runs(train={1: 0.95, 2: 0.9, 3: third, 4: 0.99, 5: fifth}),
        widths(slope, noise),
    ),
    reproduced=[(0.98, 1.06, -0.05, 0.01)],
    contradicted=[(0.98, 1.06, 0.05, 0.01), (1.1, 1.0, -0.05, 0.01)],
    undecided=[(0.98, 1.06, 0.0, 0.1)],
)


def test_printed_means():
    assert rules.hs_14(runs()).verdict == "reproduced"
    assert rules.hs_14(runs(spread=0.3)).parts["a"] == "undecided"  # agreement that could hardly have failed
    found = rules.hs_14(runs({1: 0.95}, {2: 0.95}))
    assert found.verdict == "partly"
    assert [letter for letter, verdict in found.parts.items() if verdict == "contradicted"] == ["a", "b"]


def test_a_row_of_zero_spread_is_compared_by_ours():
    assert rules.hs_14(runs({4: QUARTER})).parts["d"] != "contradicted"  # five at chance are no surprise
    assert rules.hs_14(runs({4: 0.6})).parts["d"] == "contradicted"


def with_matches(spread):
    """The networks at both moments, with match fractions around the printed ones; every entry has the same spread."""
    match = np.empty((2, 5, 2, 20))
    for (d, label, moment), (value, _) in authors.TABLE_2.items():
        match[int(moment == "last"), d - 1, label] = scattered(value, spread)
    both, run = {"moment": ["initial", "last"], "depth": DEPTHS}, {"run": range(20)}
    accuracy = runs(spread=spread).empty.isel(moment=0).values
    found = table(both | run, empty=accuracy, others=accuracy)
    return found.merge(table(both | {"label": [0, 1]} | run, match=match))


test_printed_intervals = verdicts(rules.hs_17, with_matches, contradicted=[0.3], reproduced=[0.0001], partly=[0.008])


def fewer(near, far):
    axes = LAST | {"kind": ["neighbours", "random"], "removed": [7], "run": range(10)}
    return table(axes, empty=np.stack([scattered(level, 0.02, 10)[None] for level in (near, far)]))


test_neighbours_or_symmetry = verdicts(rules.hs_63, fewer, answered=[(0.5, 0.8), (0.8, 0.8)], undecided=[(0.7, 0.8)])


def few(levels):
    """Three depths in five runs: accuracy in the orthant with so many points, 1 elsewhere."""
    axes = LAST | {"depth": [1, 3, 5], "points": [1, 10], "run": range(5)}
    return table(axes, empty=np.stack([scattered(level, 0.01, 5) for level in levels]), others=1.0)


def many(levels, emptied=(2, 8, 64)):
    accuracy, populated = np.ones((2, len(emptied), 10, 128))
    for i, (k, level) in enumerate(zip(emptied, levels, strict=True)):
        accuracy[i, :, :k], populated[i, :, :k] = scattered(level, 0.02, 10)[:, None], 0
    axes = LAST | {"emptied": list(emptied), "run": range(10), "orthant": range(128)}
    return table(axes, accuracy=accuracy, populated=populated)


@pytest.mark.parametrize(
    ("none", "points", "empties", "letters", "enough"),
    [
        (0.7, (0.8, 0.97), (0.8, 0.7, 0.5), "aa", 10),
        (0.7, (0.8, 0.85), (0.8, 0.7, 0.5), "ua", None),  # never like a full one
        (0.7, (0.8, 0.97), (0.9, 0.9, 0.9), "au", 10),  # never less
        (0.95, (0.8, 0.97), (0.8, 0.7, 0.5), "aa", 10),  # without any points, but not with one
        (0.95, (0.96, 0.97), (0.8, 0.7, 0.5), "aa", 0),
    ],
)
def test_few_points_and_many_empty_orthants(none, points, empties, letters, enough):
    found = rules.hs_64(few(points), many(empties), widths(none=none, noise=0.01))
    assert "".join(verdict[0] for verdict in found.parts.values()) == letters
    assert found.numbers["points that suffice"] == enough


def crossed(start, data, noise=0.02):
    rng, even = np.random.default_rng(1), np.linspace(-1, 1, 6)
    empty = 0.75 + data * even[:, None] + start * even + noise * rng.standard_normal((2, 6, 6))
    return table(LAST | {"depth": [1, 3], "data": range(6), "start": range(6)}, empty=empty)


def nudged(between, within):
    """Eight runs, and three versions of each, with a spread between and within them: (depth, run, nudge)."""
    rng = np.random.default_rng(2)
    empty = 0.75 + between * np.linspace(-1, 1, 8)[:, None] + within * rng.standard_normal((2, 8, 4))
    return table(LAST | {"depth": [1, 3], "run": range(8), "nudge": range(4)}, empty=empty)


def by_chance(effects, spreads):
    versions = nudged(*spreads)
    return crossed(*effects), versions.sel(nudge=[1, 2, 3]), versions.sel(nudge=0, drop=True)


test_what_decides_a_run = verdicts(
    rules.hs_65,
    by_chance,
    answered=[
        ((0.2, 0.0), (0.2, 0.01)),  # the start decides
        ((0.0, 0.2), (0.2, 0.01)),  # the data decide
        ((0.1, 0.1, 0.1), (0.02, 0.2)),  # rounding does
    ],
    undecided=[((0.1, 0.1, 0.1), (0.2, 0.01))],
)


def test_share_of_the_last_bit():
    assert rules.within_share(nudged(0.2, 0.001).empty.values[0, 0]).high < 0.01
    assert rules.within_share(nudged(0.0, 0.1).empty.values[0, 0]).low > 0.3
    assert rules.mixed_runs(xr.DataArray([[0.8, 0.5], [0.8, 0.9], [0.5, 0.5]], dims=("run", "nudge"))) == 1
