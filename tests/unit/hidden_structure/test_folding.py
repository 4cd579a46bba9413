"""The rules on folding, on planted data, and its measures by hand."""

import numpy as np
import pytest
from planted.records import table, verdicts

from experiments.hidden_structure import authors
from experiments.hidden_structure.folding import cells, rules
from experiments.hidden_structure.orthants import rules as networks

DEPTHS = [1, 2, 3, 4, 5]
FINAL = {d: authors.TABLE_2[d, 0, "last"][0] for d in DEPTHS}


def scattered(mean, spread, n=20):
    return mean + spread * np.linspace(-1, 1, n)


def runs(match=None, q=0.3, g=0.95, learned=12, spread=0.05, changed=None):
    """Twenty networks of each depth: class-0 match after training by depth, the rest as printed."""
    fractions = np.empty((2, 5, 2, 20))
    printed = {key: value for key, (value, _) in authors.TABLE_2.items()}
    printed |= {(d, 0, "last"): value for d, value in (match or {}).items()} | (changed or {})
    for (d, label, moment), value in printed.items():
        fractions[int(moment == "last"), d - 1, label] = scattered(value, spread)
    axes, run = {"moment": ["initial", "last"], "depth": DEPTHS}, {"run": range(20)}
    found = table(axes | run, empty=np.where(np.arange(20) < learned, 0.9, 0.5), quotient=q, correlation=g)
    return found.merge(table(axes | {"label": [0, 1]} | run, match=fractions))


test_folding = verdicts(
    rules.hs_20,
    runs,
    rrrr=[{}],
    crrr=[{"q": 0.9}, {"g": 0.5}],  # the output folds, the features do not; the other way round
    urrr=[{"learned": 0}],
    rccr=[{"match": FINAL | {4: 0.9}}],
    rrrc=[{"match": FINAL | {2: 0.6}}],
    rrur=[{"match": FINAL | {4: 0.1}}],
)


def test_the_joint_count_decides():
    some = runs(learned=12)
    some.quotient[:, 2, :6], some.correlation[:, 2, 6:12] = 0.9, 0.5  # each alone holds in six of twelve, both in none
    found = rules.hs_20(some)
    assert found.parts["a"] == "contradicted"
    assert [found.numbers[name] for name in ("features fold", "outputs fold", "both")] == [6, 6, 0]


test_printed_match_fractions = verdicts(
    rules.hs_21,
    runs,
    rrrrr=[{}, {"match": FINAL | {4: 0.12}}, {"match": FINAL | {1: 0.09}}],
    crrrr=[{"match": FINAL | {1: 0.11}}],
    rrrrc=[{"changed": {(5, 1, "last"): 0.6}}],
    rrcrr=[{"match": FINAL | {3: 0.1}}],
    rrurr=[{"match": FINAL | {3: scattered(0.8, 0.4)}}],  # means of five may be anywhere
)
FOLDED = {(3, 0, "initial"): 0.3}
test_nearest_neighbours_before_training = verdicts(
    rules.hs_22,
    lambda raw, changed=None: (
        table({"run": range(10), "label": [0, 1]}, raw=raw).raw,
        runs(spread=0.01, changed=changed),
    ),
    reproduced=[((0.0, 1.0),)],
    partly=[((0.1, 1.0),), ((0.0, 1.0), FOLDED)],
    contradicted=[((0.4, 0.6), FOLDED)],
)


def test_in_the_inputs_the_nearest_point_is_of_class_1():
    assert rules.raw_neighbours([3]).values.tolist() == [[0.0, 1.0]]


WIDTHS = {1: [128, 512, 2048], 2: [32, 64, 256], 4: [8, 16, 32, 64], 5: [16, 32, 64, 128]}


def sizes(folding, rise=(0.0, 0.8), others=0.95):
    """Ten runs of each width: how many of them fold by depth and width; rise of the match with one and two layers."""
    found = {}
    for d, widths in WIDTHS.items():
        if d in folding:
            match = [np.arange(10) < k for k in folding[d]]
        else:
            match = [scattered(0.1 + rise[d - 1] * i, 0.02, 10) for i in np.linspace(0, 1, len(widths))]
        axes, accuracy = {"width": widths, "run": range(10)}, others + scattered(0, 0.01, 10)
        match = np.stack([match, np.zeros((len(widths), 10))])
        found[d] = table(axes, others=accuracy, empty=accuracy).merge(table({"label": [0, 1]} | axes, match=match))
    return found


NO_FOLD, FOLD = {4: [1, 1, 3, 6], 5: [1, 2, 2, 6]}, {4: [9, 9, 1, 1], 5: [1, 2, 2, 6]}
test_capacity = verdicts(
    rules.hs_23,
    sizes,
    ccr=[(NO_FOLD,)],
    rcr=[(FOLD,)],
    ucr=[(FOLD, (0.0, 0.8), 0.7), ({4: [3, 4, 3, 6], 5: [5, 5, 5, 5]},)],  # the first fold, but classify nothing
    crr=[(NO_FOLD, (0.5, 0.5))],
    ccc=[(NO_FOLD, (0.0, 0.0))],
)


@pytest.fixture(autouse=True)
def put_together(monkeypatch):
    monkeypatch.setattr(networks, "by_width", dict)  # planted as it is put together


def test_quotient_by_hand():
    features, labels = np.array([[0.0, 0.0], [0.0, 4.0]]), [0, 1]
    assert cells.quotient(features, np.stack([features + [1, 0], features - [1, 0]]), labels) == 0.25
    assert cells.quotient(features, features[None], labels) == 0
    assert np.isnan(cells.quotient(0 * features, features[None], labels))


def test_ties_go_to_the_lowest_row():
    points = np.array([[5.0], [1.0], [-1.0], [1.0]])
    assert cells.nearest([[0.0], [2.0]], points).tolist() == [1, 1]
    assert cells.match_fractions([[0.0], [2.0]], [7, 1], points, [0, 1, 0, 0]) == {1: 1.0, 7: 0.0}
