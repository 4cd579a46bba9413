"""The rules on extremal vectors, few directions and the width that is left, on planted data."""

import numpy as np
import pytest
from planted.records import by, cases, decided, planted

from experiments.simplicity_bias.extremal import cells as extremal
from experiments.simplicity_bias.extremal import few_directions, geometry, omnidirectionality, rules
from shallow.data import teachers
from shallow.nets import TwoLayer
from shallow.stats import stream
from shallow.train import flow, plain

ROOM = "simplicity_bias/extremal"


@cases({"reproduced": [2e-16], "contradicted": [1e-3]})
def test_one_matrix(change, outcome):
    steps = planted(f"{ROOM}/one_matrix", worst=by(seed={0: change, 1: 1e-17, 2: 1e-17}), company=3.0)
    assert rules.sb_02(steps).verdict == outcome


def test_one_matrix_predicts_a_step_and_another_one_does_not():
    x, y = teachers.gaussian(stream("planted step"), teachers.first_axis(2), 6)
    network = TwoLayer(stream("planted start").standard_normal((50, 2)), np.zeros(50), np.full(50, 0.1))
    after = flow.train(x, y, network, step=0.05, steps=1).network
    states = np.column_stack([after.W, after.v])
    moved, shared = geometry.predicted_step(x, y, network, 0.05)
    np.testing.assert_allclose(moved, states, rtol=1e-13)
    assert shared.max() > 1
    assert np.abs(geometry.predicted_step(x, -y, network, 0.05)[0] - states).max() > 1e-4


@cases(
    {
        "reproduced reproduced": [(1e-9, 1e-9)],
        "contradicted reproduced": [(1e-2, 1e-9)],
        "reproduced contradicted": [(1e-9, 1e-2)],
    }
)
def test_continuity_and_gradient(change, outcome):
    jump, wrong = change
    assert decided(rules.sb_03([geometry.Jumps(jump, 0.05, np.array([wrong, 0.0]))])) == outcome


@cases(
    {
        "reproduced": [(0.4, 0.8, 0.98)],
        "undecided": [(0.4, 0.7, 0.9), (0.4, 0.6, 0.8)],  # a hair, but most of them
        "contradicted": [(0.99, 0.98, 0.95), (0.1, 0.2, 0.3)],  # falls: by the letter
    }
)
def test_neurons_along_extremal_vectors(change, outcome):
    """Shares at three falling scales, at tau and later, for one sample size."""
    at_tau = np.array(change)[:, None] + np.linspace(-0.01, 0.01, 20)
    share = np.stack([np.full((3, 20), 0.1), at_tau, np.full((3, 20), 0.99)], axis=-1)
    toward = planted(f"{ROOM}/toward_extremal", {"n": [100]}, share=share)
    assert rules.sb_05(toward, toward.sel(scale=1e-6)).verdict == outcome


@pytest.mark.parametrize(
    ("worst", "linear", "others", "parts"),
    [
        (3.0, 2, 1, "reproduced reproduced reproduced"),
        (9.0, 2, 1, "contradicted reproduced reproduced"),
        (3.0, 4, 1, "contradicted reproduced reproduced"),
        (3.0, 2, 3, "reproduced reproduced contradicted"),
    ],
)
def test_two_directions_and_one(worst, linear, others, parts):
    laws = planted(f"{ROOM}/symmetric_laws", worst=by(d={2: worst, 5: 1.0}), trials=400)
    exact, counts = [({(linear, linear)}, {(2, 1)})], {"N(0, I)": [1, 1], "16 : 1": [1, others]}
    assert decided(rules.sb_08(laws, exact, counts)) == parts


@pytest.mark.parametrize(("law", "degrees", "number"), [(1.0, 87, 1), (16.0, 45, 1), (16.0, 87, 3), ("square", 80, 1)])
def test_directions_of_one_unit(law, degrees, number):
    assert geometry.unit_solutions(law, np.radians(degrees)) == number


@pytest.mark.parametrize(("each", "supported"), [(2, True), (50, False)])
def test_small_teachers(each, supported):
    records = (f"{ROOM}/teacher_directions_plane", f"{ROOM}/teacher_directions")
    outcome = rules.sb_10(*(planted(record, count=each) for record in records), {3: 12})
    assert (outcome.verdict, outcome.numbers["supported"]) == ("answered", supported)


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
    """Numbers of vectors that scatter by one around a mean for every n; clusters of five seeds for both starts."""
    sizes = [10, 100, 10_000]
    number, spread = (
        np.array(means)[:, None] + np.resize([-1.0, 1.0], 400),
        np.array(counts)[:, None] + np.arange(5) / 10,
    )
    numbers = planted(f"{ROOM}/extremal_numbers", {"n": sizes}, number=number)
    clusters = planted("simplicity_bias/aligned", {"n": sizes}, clusters=spread[..., None, None])
    parts = rules.sb_11(numbers, clusters).parts
    assert parts == {"vectors": vectors, "clusters, (8)": groups, "clusters, Gaussian": groups}


@cases({"reproduced": [8], "contradicted": [7]})
def test_orthogonal_inputs(change, outcome):
    columns = {"agree": [2, 4, change], "of": [2, 4, 8], "inside": [1, 2, 2]}
    assert rules.sb_12(planted(f"{ROOM}/orthogonal_numbers", {"n": [1, 2, 3]}, **columns)).verdict == outcome


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


def early(orthogonal, gaussian):
    """Clusters of five draws at n = d and n = 100 d in three dimensions: a number and its spread."""
    starts = {"orthogonal": orthogonal, "1": gaussian, "2": (2, 1.0), "10": (2, 1.0), "100": (2, 1.0)}
    number = [many * spread ** np.linspace(-1, 1, 5) for many, spread in starts.values()]
    found = planted(f"{ROOM}/early_clusters", number=np.array(number)[..., None])
    return found, found.sel(d=20, ratio=["1", "100"], drop=True)


@cases({"reproduced": [(20, 1.2)], "contradicted": [(1, 1.2)], "undecided": [(5, 3.0), (4, 1.1)]})
def test_clusters_of_few_data(change, outcome):
    parts = rules.sb_14(*early((500, 1.1), change)).parts
    assert parts["orthogonal, d = 20"] == parts["orthogonal, d = 50"] == "reproduced"
    assert parts["Gaussian, d = 50"] == outcome


@pytest.mark.parametrize(
    ("power", "spread", "supported", "refused"),
    [(1.0, 1.05, True, False), (0.1, 1.05, False, True), (0.5, 1.05, False, False), (1.0, 6.0, None, False)],
)
def test_the_exponent_of_the_clusters(power, spread, supported, refused):
    """Clusters that grow like a power of the dimension, five draws."""
    number = np.outer(2 * (np.array([5, 10, 20, 40]) / 5) ** power, spread ** np.linspace(-1, 1, 5))
    ended = planted(f"{ROOM}/final_clusters", number=number, effective_width=number, loss=1e-9)
    outcome = rules.sb_15(ended, ended)
    assert outcome.verdict == "answered"
    assert (outcome.numbers["supported"], outcome.numbers["not supported"]) == (supported, refused)


def widths(relu, gelu):
    """Largest gaps of six draws, falling with the width by given slopes, the same from every start."""
    gaps = [planted(f"{ROOM}/{name}", {"n": [20]}, gap=0.0) for name in ("gaps", "gaps_wide", "gaps_draws")]
    slopes = by(activation={"relu": relu, "gelu": gelu}) + by(seed=dict(enumerate(np.linspace(-0.02, 0.02, 6))))
    return [one.assign(gap=one.gap + (one.m / 1024.0) ** slopes) for one in gaps]


@cases(
    {
        "reproduced": [(0.0, -0.8)],
        "contradicted": [(-0.8, 0.0)],
        "partly": [(-0.8, -0.8), (0.0, 0.0), (-0.076, -0.8)],  # both keep all, both lose some, by a hair
    }
)
def test_who_loses_directions(change, outcome):
    assert rules.sb_25(*widths(*change)).verdict == outcome


def test_a_hair_is_undecided():
    parts = rules.sb_25(*widths(-0.076, -0.3)).parts
    assert set(parts.values()) == {"undecided"}


def test_draws_that_were_not_made_are_left_out():
    found = rules.all_gaps(*widths(0.0, -0.8))
    assert len(rules.slopes(found, "relu", "equation 8", 5.0)) == 3
    assert len(rules.slopes(found, "relu", "gaussian", 5.0)) == 6


def ratios_off(scale, start, n=20, flow_time=4.0, step=0.01):
    r"""Largest distance of w_j / a_j of GeLU neurons from tanh(|D| t) D / |D|, D the pull of the linear network."""
    sample, network = omnidirectionality._draw(0, n, 64, scale, start)
    how = {"step": step, "steps": round(flow_time / step), "activation": "gelu", "rates": (1.0, 1.0, 0.0)}
    end = plain.train(*sample, network, **how).network
    D = sample.y @ sample.x / (2 * n)
    size = np.linalg.norm(D)
    return np.abs(end.W / end.v[:, None] - np.tanh(size * flow_time) * D / size).max()


def test_from_start_8_a_smooth_network_loses_its_directions():
    discretised = ratios_off(1e-5, "equation 8")
    assert discretised < 2e-3  # of the steps
    assert ratios_off(1e-2, "equation 8") > 2 * ratios_off(1e-3, "equation 8")
    assert ratios_off(1e-5, "dominated") > 0.1
