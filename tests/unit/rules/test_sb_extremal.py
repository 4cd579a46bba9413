"""The rules on extremal vectors and few directions, on planted data for which the answer is known."""

import numpy as np
import pytest
import xarray as xr

from experiments.simplicity_bias import extremal, few_directions, geometry
from experiments.simplicity_bias.rules import extremal as rules
from shallow.data import teachers
from shallow.nets import TwoLayer
from shallow.stats import stream
from shallow.train import flow

DRAWS = 20
JITTER = np.linspace(-0.01, 0.01, DRAWS)


@pytest.mark.parametrize(("worst", "verdict"), [(2e-16, "reproduced"), (1e-3, "contradicted")])
def test_one_matrix(worst, verdict):
    steps = xr.Dataset({"worst": ("seed", [worst, 1e-17]), "company": ("seed", [3.0, 3.0])})
    assert rules.sb_02(steps).verdict == verdict


def test_one_matrix_predicts_a_step_and_another_one_does_not():
    x, y = teachers.gaussian(stream("planted step"), teachers.first_axis(2), 6)
    network = TwoLayer(stream("planted start").standard_normal((50, 2)), np.zeros(50), np.full(50, 0.1))
    after = flow.train(x, y, network, step=0.05, steps=1).network
    states = np.column_stack([after.W, after.v])
    moved, shared = geometry.predicted_step(x, y, network, 0.05)
    np.testing.assert_allclose(moved, states, rtol=1e-13)
    assert shared.max() > 1
    assert np.abs(geometry.predicted_step(x, -y, network, 0.05)[0] - states).max() > 1e-4


@pytest.mark.parametrize(
    ("jump", "wrong", "parts"),
    [
        (1e-9, 1e-9, {"continuous": "reproduced", "gradient": "reproduced"}),
        (1e-2, 1e-9, {"continuous": "contradicted", "gradient": "reproduced"}),
        (1e-9, 1e-2, {"continuous": "reproduced", "gradient": "contradicted"}),
    ],
)
def test_continuity_and_gradient(jump, wrong, parts):
    assert rules.sb_03([geometry.Jumps(jump, 0.05, np.array([wrong, 0.0]))]).parts == parts


def shares(*at_tau):
    """Shares at three falling scales, at tau and later, for one sample size."""
    values = np.empty((1, 3, DRAWS, 3))
    values[..., 0], values[..., 2] = 0.1, 0.99
    values[..., 1] = np.array(at_tau)[:, None] + JITTER
    coords = {"n": [100], "scale": [1e-2, 1e-4, 1e-6], "seed": range(DRAWS), "exponent": [0, 1 / 3, 2 / 3]}
    return xr.Dataset({"share": (list(coords), values)}, coords)


@pytest.mark.parametrize(
    ("at_tau", "verdict", "reading"),
    [
        ((0.4, 0.8, 0.98), "reproduced", None),
        ((0.4, 0.7, 0.9), "undecided", "reproduced"),  # a hair, but most of them
        ((0.4, 0.6, 0.8), "undecided", "reproduced"),
        ((0.99, 0.98, 0.95), "contradicted", "reproduced"),  # falls: by the letter
        ((0.1, 0.2, 0.3), "contradicted", None),
    ],
)
def test_neurons_along_extremal_vectors(at_tau, verdict, reading):
    toward = shares(*at_tau)
    outcome = rules.sb_05(toward, toward.sel(scale=1e-6))
    assert (outcome.verdict, outcome.reading) == (verdict, reading)


def law_of(worst):
    """Distances for one law."""
    return xr.Dataset({"worst": ("d", [worst, 1.0]), "trials": ("d", [400, 1000])})


@pytest.mark.parametrize(
    ("worst", "linear", "others", "parts"),
    [
        (3.0, 2, 1, ("reproduced", "reproduced", "reproduced")),
        (9.0, 2, 1, ("contradicted", "reproduced", "reproduced")),
        (3.0, 4, 1, ("contradicted", "reproduced", "reproduced")),
        (3.0, 2, 3, ("reproduced", "reproduced", "contradicted")),
    ],
)
def test_two_directions_and_one(worst, linear, others, parts):
    exact = [({(linear, linear)}, {(2, 1)})]
    outcome = rules.sb_08(law_of(worst), exact, {"N(0, I)": [1, 1], "16 : 1": [1, others]})
    assert tuple(outcome.parts.values()) == parts


@pytest.mark.parametrize(("law", "degrees", "number"), [(1.0, 87, 1), (16.0, 45, 1), (16.0, 87, 3), ("square", 80, 1)])
def test_directions_of_one_unit(law, degrees, number):
    assert geometry.unit_solutions(law, np.radians(degrees)) == number


@pytest.mark.parametrize(("each", "answer"), [(2, "Yes"), (50, "No")])
def test_small_teachers(each, answer):
    counts = xr.DataArray(np.full((3, 2, 9), each), {"d": [2, 3, 5], "k": [1, 8], "seed": range(9)}, ["d", "k", "seed"])
    outcome = rules.sb_10(counts, {3: 12})
    assert outcome.verdict == "answered" and outcome.answer.startswith(answer)


def planar(means):
    """Numbers of vectors that scatter by one around a mean for every n."""
    rows = np.array(means)[:, None] + np.resize([-1.0, 1.0], 400)
    return xr.Dataset({"number": (("n", "draw"), rows)}, {"n": [10, 100, 10_000], "draw": range(400)})


def clusters(counts):
    """Clusters of five seeds at three n for both starts."""
    values = np.broadcast_to(np.array(counts)[None, :, None], (2, 3, 5)) + np.arange(5) / 10
    coords = {"start": ["dominated", "gaussian"], "n": [10, 100, 10_000], "seed": range(5)}
    table = xr.Dataset({"clusters": (list(coords), values)}, coords)
    return table.expand_dims(time=["aligned"], angle=[0.05])


@pytest.mark.parametrize(
    ("means", "counts", "vectors", "groups"),
    [
        ((3, 2.5, 2.4), (30, 5, 2), "reproduced", "reproduced"),
        ((3, 2.5, 2.8), (2, 2, 2), "reproduced", "undecided"),
        ((3, 9, 30), (2, 5, 30), "contradicted", "contradicted"),
        ((3, 12, 12), (30, 5, 2), "contradicted", "reproduced"),  # flat, but many
        ((3, 2.5, 3), (30, 5, 2), "undecided", "reproduced"),
    ],
)
def test_few_vectors_and_few_clusters(means, counts, vectors, groups):
    parts = rules.sb_11(planar(means), clusters(counts)).parts
    assert parts == {"vectors": vectors, "clusters, (8)": groups, "clusters, Gaussian": groups}


@pytest.mark.parametrize(("agree", "verdict"), [((2, 4, 8), "reproduced"), ((2, 4, 7), "contradicted")])
def test_orthogonal_inputs(agree, verdict):
    table = {"agree": ("n", list(agree)), "of": ("n", [2, 4, 8]), "inside": ("n", [1, 2, 2])}
    assert rules.sb_12(xr.Dataset(table, {"n": [1, 2, 3]})).verdict == verdict


def test_the_count_of_orthogonal_inputs():
    found = geometry.orthogonal_counts(3)
    assert int(found.agree) == int(found.of) == 8


def test_the_numbers_of_vectors_are_those_of_the_samples():
    found = few_directions.numbers(12, draws=4)
    rng = stream("few directions", "teacher", "gaussian", 12, 3)
    x = rng.standard_normal((12, 2))
    assert int(found.number[3]) == len(extremal.circle(x, x[:, 0] + 0.3 * rng.standard_normal(12)))


@pytest.mark.parametrize("law", few_directions.LAWS)
def test_the_pull_of_a_linear_teacher_does_not_depend_on_the_direction(law):
    assert float(few_directions.drift(law, 2, n=40_000, directions=10).worst) < 5


def test_a_wrong_mean_pull_would_be_seen(monkeypatch):
    wrong = lambda second, beta: 0.56 * second * beta  # noqa: E731
    monkeypatch.setattr(few_directions.alignment, "population_linear", wrong)
    assert float(few_directions.drift("gaussian", 2, n=40_000, directions=10).worst) > 5
