"""The rules on folding, on planted data."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from experiments.hidden_structure import authors, constructed, shells
from experiments.hidden_structure.rules import folding as rules

DEPTHS = [1, 2, 3, 4, 5]
FINAL = {d: authors.TABLE_2[d, 0, "last"][0] for d in DEPTHS}


def scattered(mean, spread, n=20):
    """Values of n runs with that mean, evenly spread to both sides."""
    return mean + spread * np.linspace(-1, 1, n)


def runs(match=None, q=0.3, g=0.95, learned=12, spread=0.05, changed=None):
    """Twenty networks of each depth: class-0 match after training by depth, the rest as printed."""
    fractions = np.empty((2, 5, 2, 20))
    printed = {key: value for key, (value, _) in authors.TABLE_2.items()}
    printed |= {(d, 0, "last"): value for d, value in (match or {}).items()} | (changed or {})
    for (d, label, moment), value in printed.items():
        fractions[int(moment == "last"), d - 1, label] = scattered(value, spread)
    axes = ("moment", "depth", "run")
    empty = np.broadcast_to(np.where(np.arange(20) < learned, 0.9, 0.5), (2, 5, 20))
    values = {"empty": empty, "quotient": np.full_like(empty, q), "correlation": np.full_like(empty, g)}
    return xr.Dataset(
        {name: (axes, column) for name, column in values.items()}
        | {"match": (("moment", "depth", "label", "run"), fractions)},
        {"moment": ["initial", "last"], "depth": DEPTHS, "label": [0, 1], "run": range(20)},
    )


@pytest.mark.parametrize(
    ("change", "letters"),
    [
        ({}, "rrrr"),
        ({"q": 0.9}, "crrr"),  # the output folds, the features do not
        ({"g": 0.5}, "crrr"),
        ({"learned": 0}, "urrr"),
        ({"match": FINAL | {4: 0.9}}, "rccr"),
        ({"match": FINAL | {2: 0.6}}, "rrrc"),
        ({"match": FINAL | {4: 0.1}}, "rrur"),
    ],
)
def test_folding(change, letters):
    parts = rules.hs_20(runs(**change)).parts
    assert "".join(verdict[0] for verdict in parts.values()) == letters


def test_the_joint_count_decides():
    some = runs(learned=12)
    some.quotient[:, 2, :6], some.correlation[:, 2, 6:12] = 0.9, 0.5  # each alone holds in six of twelve, both in none
    found = rules.hs_20(some)
    assert found.parts["a"] == "contradicted"
    assert (
        "6 have a feature quotient of at most 0.5, 6 an output correlation of at least 0.9 and 0 both" in found.finding
    )


@pytest.mark.parametrize(
    ("change", "letters"),
    [
        ({}, "rrrrr"),
        ({"match": FINAL | {1: 0.5}}, "crrrr"),
        ({"changed": {(5, 1, "last"): 0.6}}, "rrrrc"),
        ({"match": FINAL | {3: 0.1}}, "rrcrr"),
        ({"match": FINAL | {4: 0.12}}, "rrrrr"),
    ],
)
def test_printed_match_fractions(change, letters):
    parts = rules.hs_21(runs(**change)).parts
    assert "".join(verdict[0] for verdict in parts.values()) == letters


def test_a_rise_near_its_threshold_is_undecided():
    close = runs(match=FINAL | {3: 0.545})
    close.match.loc[{"moment": "last", "depth": 3, "label": 0}] = scattered(0.545, 0.45)
    assert rules.hs_21(close).parts["c"] == "undecided"


@pytest.mark.parametrize(
    ("raw", "changed", "verdict"),
    [
        ((0.0, 1.0), {}, "reproduced"),
        ((0.1, 1.0), {}, "partly"),
        ((0.0, 1.0), {(3, 0, "initial"): 0.3}, "partly"),
        ((0.4, 0.6), {(3, 0, "initial"): 0.3}, "contradicted"),
    ],
)
def test_nearest_neighbours_before_training(raw, changed, verdict):
    inputs = xr.DataArray(np.tile(raw, (10, 1)), dims=("run", "label"), coords={"label": [0, 1]})
    assert rules.hs_22(inputs, runs(spread=0.01, changed=changed)).verdict == verdict


def test_in_the_inputs_the_nearest_point_is_of_class_1():
    assert rules.raw_neighbours([3]).values.tolist() == [[0.0, 1.0]]


WIDTHS = {1: [128, 512, 2048], 2: [32, 64, 256], 4: [8, 16, 32, 64], 5: [16, 32, 64, 128]}


def sizes(folding, rise=(0.0, 0.8), others=0.95):
    """Ten runs of each width: how many of them fold by depth and width; rise of the match with one and two layers."""
    found = {}
    for d, widths in WIDTHS.items():
        match = np.zeros((2, len(widths), 10))
        if d in folding:
            match[0] = [np.arange(10) < k for k in folding[d]]
        else:
            match[0] = [scattered(0.1 + rise[d - 1] * i, 0.02, 10) for i in np.linspace(0, 1, len(widths))]
        accuracy = np.full((len(widths), 10), others) + scattered(0, 0.01, 10)
        columns = {"match": (("label", "width", "run"), match), "others": (("width", "run"), accuracy)}
        columns["empty"] = ("width", "run"), accuracy
        found[d] = xr.Dataset(columns, {"label": [0, 1], "width": widths})
    return found


NO_FOLD = {4: [1, 1, 3, 6], 5: [1, 2, 2, 6]}


@pytest.mark.parametrize(
    ("table", "letters"),
    [
        (sizes(NO_FOLD), "ccr"),
        (sizes({4: [9, 9, 1, 1], 5: [1, 2, 2, 6]}), "rcr"),
        (sizes({4: [9, 9, 1, 1], 5: [1, 2, 2, 6]}, others=0.7), "ucr"),  # they fold, but classify nothing
        (sizes({4: [3, 4, 3, 6], 5: [5, 5, 5, 5]}), "ucr"),
        (sizes(NO_FOLD, rise=(0.5, 0.5)), "crr"),
        (sizes(NO_FOLD, rise=(0.0, 0.0)), "ccc"),
    ],
)
def test_capacity(table, letters):
    parts = rules.hs_23(table).parts
    assert "".join(verdict[0] for verdict in parts.values()) == letters


def test_newcombes_interval():
    found = rules.difference((56, 70), (48, 80))  # Newcombe (1998), method 10: 0.2 [0.0524, 0.3339]
    assert found.estimate == pytest.approx(0.2)
    assert (found.low, found.high) == pytest.approx((0.0524, 0.3339), abs=1e-4)


def test_a_fold_is_symmetric_in_every_coordinate_and_a_line_in_none():
    points = shells.sample(np.random.default_rng(0), np.where(np.arange(128) == 5, 50, 0))
    assert rules.by_coordinate(constructed.folding_network(2), points) == pytest.approx(1)
    line = SimpleNamespace(forward=lambda x: x.sum(axis=1)[None])
    assert (rules.by_coordinate(line, points) < 0.95).all()


def test_ranks_of_features_that_keep_absolute_values():
    task = shells.draw("ranks")
    assert np.median(rules.ranks(constructed.folding_network(2), task, every=10)) < 0.01
    assert 0.2 < np.median(rules.ranks(constructed.folding_network(3), task, every=10)) < 0.8
