"""The rules on networks in the orthant that they have never seen, on planted data."""

import numpy as np
import pytest
import xarray as xr

from experiments.hidden_structure import authors
from experiments.hidden_structure.rules import orthants as rules

DEPTHS = [1, 2, 3, 4, 5]
MEANS = {d: {name: value for name, (value, _) in row.items()} for d, row in authors.TABLE_1["network"].items()}


def scattered(mean, spread, n=20):
    """Values of n runs with that mean, evenly spread to both sides."""
    return mean + spread * np.linspace(-1, 1, n)


def runs(empty=None, others=None, spread=0.03, **columns):
    """Twenty networks of each depth, by default as the document has them; accuracies by depth and their spread."""
    empty = {d: MEANS[d]["empty"] for d in DEPTHS} | (empty or {})
    others = {d: MEANS[d]["others"] for d in DEPTHS} | (others or {})
    values = {"empty": empty, "others": others} | columns
    wide = {"empty": spread, "others": 0.01}
    table = {
        name: (("depth", "run"), [scattered(by_depth[d], wide.get(name, 0.002)) for d in DEPTHS])
        for name, by_depth in values.items()
    }
    return xr.Dataset(table, {"depth": DEPTHS, "run": range(20)})


def data(off=0.0, miscounted=0, right=1.0, nearest=2.0):
    """What is found of the data in three dimensions, the last of which may be at fault."""
    columns = {"off": [0.0, 0.0, off], "miscounted": [0, 0, miscounted], "astray": [0, 0, 0]}
    values = {name: ("dimension", column) for name, column in columns.items()}
    return xr.Dataset(values | {"accuracy": ("orthant", [1.0, 1.0, 1.0, right]), "nearest": nearest})


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "reproduced"),
        ({"off": 0.1}, "partly"),
        ({"miscounted": 1}, "partly"),
        ({"right": 0.99}, "partly"),
        ({"off": 0.1, "nearest": 1.0}, "contradicted"),
    ],
)
def test_data_of_shells(change, verdict):
    assert rules.hs_08(data(**change)).verdict == verdict


@pytest.mark.parametrize(
    ("spread", "worst", "verdict"),
    [
        ({1: 0.03, 2: 0.04, 3: 0.02}, {1: 0.9, 2: 0.8, 3: 0.9}, "reproduced"),
        ({1: 0.03, 2: 0.09, 3: 0.02}, {1: 0.9, 2: 0.8, 3: 0.9}, "contradicted"),
        ({1: 0.03, 2: 0.04, 3: 0.02}, {1: 0.9, 2: 0.6, 3: 0.9}, "contradicted"),
        ({1: 0.03, 2: 0.0601, 3: 0.02}, {1: 0.9, 2: 0.8, 3: 0.9}, "undecided"),
        ({1: 0.03, 2: 0.04, 3: 0.02}, {1: 0.9, 2: 0.7, 3: 0.9}, "undecided"),
    ],
)
def test_consistency_between_orthants(spread, worst, verdict):
    rest = {4: 0.0, 5: 0.0}
    planted = runs(worst=worst | rest, deviation=spread | rest).rename(deviation="spread")
    assert rules.hs_09(planted).verdict == verdict


@pytest.mark.parametrize(
    ("empty", "others", "letters"),
    [
        ({1: 0.8, 2: 0.75, 3: 0.85}, {}, "rrrr"),
        ({1: 0.52, 2: 0.51, 3: 0.5}, {}, "ccrr"),  # all at chance
        ({1: 0.97, 2: 0.96, 3: 0.99}, {}, "rcrr"),  # nothing lost
        ({1: 0.8, 2: 0.75, 3: 0.85, 4: 0.9}, {}, "rrcr"),
        ({1: 0.8, 2: 0.75, 3: 0.85}, {5: 0.7}, "rrrc"),  # at chance everywhere
        ({1: 0.61, 2: 0.6, 3: 0.59}, {}, "ucrr"),
    ],
)
def test_empty_orthant_by_depth(empty, others, letters):
    parts = rules.hs_10(runs(empty, others)).parts
    assert "".join(verdict[0] for verdict in parts.values()) == letters


def test_four_layers_of_which_a_quarter_learn_are_undecided():
    some = runs({1: 0.8, 2: 0.75, 3: 0.85})
    some.empty.loc[{"depth": 4}] = np.where(np.arange(20) < 5, 0.8, 0.5)
    assert rules.hs_10(some).parts == {"a": "reproduced", "b": "reproduced", "c": "undecided", "d": "reproduced"}


def sizes(slope, noise=0.0):
    """Networks of three sizes in ten runs whose accuracy falls or rises with the number of parameters."""
    rng = np.random.default_rng(0)
    size, run = (values.ravel() for values in np.meshgrid([100, 1000, 10_000], range(10)))
    empty = 0.7 + slope * np.log10(size) + noise * rng.standard_normal(30)
    columns = {"empty": empty, "parameters": size, "run": run}
    return xr.Dataset({name: ("network", column) for name, column in columns.items()})


@pytest.mark.parametrize(
    ("train", "slope", "noise", "verdict"),
    [
        ({3: 0.98, 4: 0.99, 5: 1.06}, -0.05, 0.01, "reproduced"),
        ({3: 0.98, 4: 0.99, 5: 1.06}, 0.05, 0.01, "contradicted"),
        ({3: 1.1, 4: 0.99, 5: 1.0}, -0.05, 0.01, "contradicted"),
        ({3: 0.98, 4: 0.99, 5: 1.06}, 0.0, 0.1, "undecided"),
    ],
)
def test_excess_of_parameters(train, slope, noise, verdict):
    networks = runs(train={1: 0.95, 2: 0.9} | train)
    assert rules.hs_11(networks, sizes(slope, noise)).verdict == verdict


def test_printed_means():
    assert rules.hs_14(runs()).verdict == "reproduced"
    found = rules.hs_14(runs({1: 0.95}, {2: 0.95}))
    assert found.verdict == "partly"
    assert [letter for letter, verdict in found.parts.items() if verdict == "contradicted"] == ["a", "b"]


def test_a_row_of_zero_spread_is_compared_by_ours():
    two = runs()
    two.empty.loc[{"depth": 4}] = np.where(np.arange(20) < 5, 0.8, 0.5)
    assert rules.hs_14(two).parts["d"] == "reproduced"  # five at chance are no surprise
    assert rules.hs_14(runs({4: 0.6})).parts["d"] == "contradicted"


def with_matches(spread):
    """The networks at both moments, with match fractions around the printed ones; every entry has the same spread."""
    final = runs(spread=spread)
    final = final.assign(others=final.empty)
    match = np.empty((2, 5, 2, 20))
    for (d, label, moment), (value, _) in authors.TABLE_2.items():
        match[int(moment == "last"), d - 1, label] = scattered(value, spread)
    both = xr.concat([final, final], "moment").assign_coords(moment=["initial", "last"])
    return both.assign(match=(("moment", "depth", "label", "run"), match)).assign_coords(label=[0, 1])


@pytest.mark.parametrize(("spread", "verdict"), [(0.3, "contradicted"), (0.0001, "reproduced"), (0.008, "partly")])
def test_printed_intervals(spread, verdict):
    assert rules.hs_17(with_matches(spread)).verdict == verdict


def fewer(near, far):
    """Ten runs without seven orthants: accuracies without the neighbours and without others."""
    values = np.stack([scattered(near, 0.02, 10), scattered(far, 0.02, 10)])
    columns = {"empty": (("kind", "removed", "run"), values[:, None])}
    return xr.Dataset(columns, {"kind": ["neighbours", "random"], "removed": [7], "run": range(10)})


@pytest.mark.parametrize(
    ("near", "far", "verdict", "word"),
    [(0.5, 0.8, "answered", "neighbours"), (0.8, 0.8, "answered", "symmetry"), (0.7, 0.8, "undecided", "decide")],
)
def test_neighbours_or_symmetry(near, far, verdict, word):
    found = rules.hs_63(fewer(near, far))
    assert found.verdict == verdict
    assert word in found.answer


def few(levels, points=(0, 1, 10)):
    """Three depths in five runs: accuracy in the orthant with so many points, 1 elsewhere."""
    empty = np.stack([np.broadcast_to(scattered(level, 0.01, 5), (3, 5)) for level in levels], axis=1)
    columns = {
        "empty": (("depth", "points", "run"), empty),
        "others": (("depth", "points", "run"), np.ones_like(empty)),
    }
    return xr.Dataset(columns, {"depth": [1, 3, 5], "points": list(points), "run": range(5)})


def many(levels, emptied=(2, 8, 64)):
    """Ten runs by the number of empty orthants, all of a run alike."""
    accuracy = np.ones((len(emptied), 10, 128))
    populated = np.ones_like(accuracy)
    for i, (k, level) in enumerate(zip(emptied, levels, strict=True)):
        accuracy[i, :, :k], populated[i, :, :k] = scattered(level, 0.02, 10)[:, None], 0
    dims = ("emptied", "run", "orthant")
    return xr.Dataset({"accuracy": (dims, accuracy), "populated": (dims, populated)}, {"emptied": list(emptied)})


@pytest.mark.parametrize(
    ("points", "empties", "letters"),
    [
        ((0.7, 0.8, 0.97), (0.8, 0.7, 0.5), "aa"),
        ((0.7, 0.8, 0.85), (0.8, 0.7, 0.5), "ua"),  # never like a full one
        ((0.7, 0.8, 0.97), (0.9, 0.9, 0.9), "au"),  # never less
    ],
)
def test_few_points_and_many_empty_orthants(points, empties, letters):
    parts = rules.hs_64(few(points), many(empties)).parts
    assert "".join(verdict[0] for verdict in parts.values()) == letters


def test_points_that_suffice():
    assert rules.hs_64(few((0.95, 0.8, 0.97)), many((0.8, 0.7, 0.5))).evidence["points that suffice"] == 10


def crossed(start, data, noise=0.02):
    """Six data sets by six starts at two depths, with effects of both."""
    rng = np.random.default_rng(1)
    effects = data * np.linspace(-1, 1, 6)[:, None] + start * np.linspace(-1, 1, 6)
    empty = 0.75 + effects + noise * rng.standard_normal((2, 6, 6))
    return xr.Dataset({"empty": (("depth", "data", "start"), empty)}, {"depth": [1, 3]})


def nudged(between, within, runs=8):
    """Versions of runs with a spread between and within them."""
    rng = np.random.default_rng(2)
    table = 0.75 + between * np.linspace(-1, 1, runs)[:, None] + within * rng.standard_normal((2, runs, 4))
    return xr.DataArray(table, dims=("depth", "run", "nudge"), coords={"depth": [1, 3]})


@pytest.mark.parametrize(
    ("table", "versions", "verdict"),
    [
        (crossed(0.2, 0.0), nudged(0.2, 0.01), "answered"),  # the start decides
        (crossed(0.0, 0.2), nudged(0.2, 0.01), "answered"),  # the data decide
        (crossed(0.1, 0.1, 0.1), nudged(0.2, 0.01), "undecided"),
        (crossed(0.1, 0.1, 0.1), nudged(0.02, 0.2), "answered"),  # rounding does
    ],
)
def test_what_decides_a_run(table, versions, verdict):
    assert rules.hs_65(table, versions).verdict == verdict


def test_share_of_the_last_bit():
    assert rules.within_share(nudged(0.2, 0.001).values[0]).high < 0.01
    assert rules.within_share(nudged(0.0, 0.1).values[0]).low > 0.3
    assert rules.mixed_runs(xr.DataArray([[0.8, 0.5], [0.8, 0.9], [0.5, 0.5]], dims=("run", "nudge"))) == 1


def test_accuracy_by_populated_neighbours():
    accuracy, populated = np.full(8, 1.0), np.ones(8)
    populated[[0, 1, 7]] = 0  # of three dimensions: 0 and 1 are neighbours, all neighbours of 7 are populated
    accuracy[[0, 1, 7]] = 0.5, 0.7, 0.9
    record = xr.Dataset({"accuracy": ("orthant", accuracy), "populated": ("orthant", populated)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules.shells, "neighbours", lambda k: np.array([k ^ 1, k ^ 2, k ^ 4]))
        found = rules.by_populated_neighbours(record)
    assert found.sel(neighbours=2).item() == pytest.approx(0.6)
    assert found.sel(neighbours=3).item() == 0.9
    assert np.isnan(found.sel(neighbours=0).item())


def test_window_of_sizes_and_selection():
    three = xr.Dataset({"empty": (("width", "run"), [[0.5, 0.8], [0.9, np.nan]])}, {"width": [32, 64], "run": [0, 1]})
    assert [share.estimate for share in rules.window({3: three}).values()] == [0.5, 1.0]
    axes = ("width", "rate", "decay", "run")
    early = np.array([[[[0.5, 0.51]]], [[[0.6, 0.7]]], [[[0.55, 0.8]]]])
    last = (("moment", *axes), early[None])
    record = xr.Dataset(
        {"selection": (axes, early), "held_out": last, "empty": last},
        {"width": [32, 64, 128], "rate": [1e-3], "decay": [0.0], "run": [0, 1], "moment": ["last"]},
    )
    found = rules.selection(record)
    assert found["idle"] == 1
    assert found["winners"] == [(64, 1e-3, 0.0), (128, 1e-3, 0.0)]
    assert found["final"].estimate == pytest.approx(1)
