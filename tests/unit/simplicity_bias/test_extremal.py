"""The rules on extremal vectors, few directions and the width that is left, on planted data."""

import numpy as np
import pytest
from planted.records import by, planted, verdicts

from experiments.simplicity_bias.extremal import cells as extremal
from experiments.simplicity_bias.extremal import few_directions, geometry, omnidirectionality, rules
from experiments.simplicity_bias.theory import cells as proofs
from shallow.data import teachers
from shallow.nets import TwoLayer
from shallow.stats import stream
from shallow.train import flow, plain

ROOM, ALIGNED = "simplicity_bias/extremal", "simplicity_bias/aligned"


def steps_off(worst):
    return planted(f"{ROOM}/one_matrix", worst=by(seed={0: worst, 1: 1e-17, 2: 1e-17}), company=3.0)


test_one_matrix = verdicts(rules.sb_02, steps_off, reproduced=[2e-16], contradicted=[1e-3])


def test_one_matrix_predicts_a_step_and_another_one_does_not():
    x, y = teachers.gaussian(stream("planted step"), teachers.first_axis(2), 6)
    network = TwoLayer(stream("planted start").standard_normal((50, 2)), np.zeros(50), np.full(50, 0.1))
    after = flow.train(x, y, network, step=0.05, steps=1).network
    states = np.column_stack([after.W, after.v])
    moved, shared = geometry.predicted_step(x, y, network, 0.05)
    np.testing.assert_allclose(moved, states, rtol=1e-13)
    assert shared.max() > 1
    assert np.abs(geometry.predicted_step(x, -y, network, 0.05)[0] - states).max() > 1e-4


test_continuity_and_gradient = verdicts(
    rules.sb_03,
    lambda jump, wrong: ([geometry.Jumps(jump, 0.05, np.array([wrong, 0.0]))],),
    rr=[(1e-9, 1e-9)],
    cr=[(1e-2, 1e-9)],
    rc=[(1e-9, 1e-2)],
)


def along(*shares):
    """Shares at three falling scales, at tau and later, for one sample size."""
    at_tau = np.array(shares)[:, None] + np.linspace(-0.01, 0.01, 20)
    share = np.stack([np.full((3, 20), 0.1), at_tau, np.full((3, 20), 0.99)], axis=-1)
    toward = planted(f"{ROOM}/toward_extremal", {"n": [100]}, share=share)
    return toward, toward.sel(scale=1e-6)


test_neurons_along_extremal_vectors = verdicts(
    rules.sb_05,
    along,
    reproduced=[(0.4, 0.8, 0.98)],
    undecided=[(0.4, 0.7, 0.9), (0.4, 0.6, 0.8)],  # a hair, but most of them
    contradicted=[(0.99, 0.98, 0.95), (0.1, 0.2, 0.3)],  # falls: by the letter
)


def directions(worst=3.0, linear=2, others=1):
    laws = planted(f"{ROOM}/symmetric_laws", worst=by(d={2: worst, 5: 1.0}), trials=400)
    return laws, [({(linear, linear)}, {(2, 1)})], {"N(0, I)": [1, 1], "16 : 1": [1, others]}


test_two_directions_and_one = verdicts(
    rules.sb_08, directions, rrr=[{}], crr=[{"worst": 9.0}, {"linear": 4}], rrc=[{"others": 3}]
)


@pytest.mark.parametrize(("law", "degrees", "number"), [(1.0, 87, 1), (16.0, 45, 1), (16.0, 87, 3), ("square", 80, 1)])
def test_directions_of_one_unit(law, degrees, number):
    assert geometry.unit_solutions(law, np.radians(degrees)) == number


@pytest.mark.parametrize(("each", "supported"), [(2, True), (50, False)])
def test_small_teachers(each, supported):
    records = (f"{ROOM}/teacher_directions_plane", f"{ROOM}/teacher_directions")
    outcome = rules.sb_10(*(planted(record, count=each) for record in records), {3: 12})
    assert (outcome.verdict, outcome.numbers["supported"]) == ("answered", supported)


def few(means, counts):
    """Numbers of vectors that scatter by one around a mean for every n; clusters of five seeds for both starts."""
    sizes = {"n": [10, 100, 10_000]}
    number, spread = np.array(means)[:, None] + np.resize([-1.0, 1.0], 400), np.arange(5)[:, None, None] / 10
    clusters = np.array(counts)[:, None, None, None] + spread
    return planted(f"{ROOM}/extremal_numbers", sizes, number=number), planted(ALIGNED, sizes, clusters=clusters)


test_few_vectors_and_few_clusters = verdicts(
    rules.sb_11,
    few,
    rrr=[((3, 2.5, 2.4), (30, 5, 2))],
    ruu=[((3, 2.5, 2.8), (2, 2, 2))],
    ccc=[((3, 9, 30), (2, 5, 30))],
    crr=[((3, 12, 12), (30, 5, 2))],  # flat, but many
    urr=[((3, 2.5, 3), (30, 5, 2))],
)


def orthogonal(agree):
    columns = {"agree": [2, 4, agree], "of": [2, 4, 8], "inside": [1, 2, 2]}
    return planted(f"{ROOM}/orthogonal_numbers", {"n": [1, 2, 3]}, **columns)


test_orthogonal_inputs = verdicts(rules.sb_12, orthogonal, reproduced=[8], contradicted=[7])


def test_the_numbers_of_vectors_are_those_of_the_samples():
    found = few_directions.numbers(12, draws=4)
    rng = stream("few directions", "teacher", "gaussian", 12, 3)
    x = rng.standard_normal((12, 2))
    assert int(found.number[3]) == len(extremal.circle(x, x[:, 0] + 0.3 * rng.standard_normal(12)))


def test_a_wrong_mean_pull_would_be_seen(monkeypatch):
    wrong = lambda second, beta: 0.56 * second * beta  # noqa: E731
    monkeypatch.setattr(few_directions.alignment, "population_linear", wrong)
    assert float(few_directions.drift("gaussian", 2, n=40_000, directions=10).worst) > 5


def early(many, spread):
    """Clusters of five draws with Gaussian inputs, n = d: a number and its spread; far more with orthogonal inputs."""
    clusters = {"orthogonal": (500, 1.1), "1": (many, spread), "2": (2, 1.0), "10": (2, 1.0), "100": (2, 1.0)}
    number = [many * spread ** np.linspace(-1, 1, 5) for many, spread in clusters.values()]
    found = planted(f"{ROOM}/early_clusters", number=np.array(number)[..., None])
    return found, found.sel(d=20, ratio=["1", "100"], drop=True)


test_clusters_of_few_data = verdicts(rules.sb_14, early, rrrr=[(20, 1.2)], rrcc=[(1, 1.2)], rruu=[(5, 3.0), (4, 1.1)])


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
    return tuple(one.assign(gap=one.gap + (one.m / 1024.0) ** slopes) for one in gaps)


test_who_loses_directions = verdicts(
    rules.sb_25,
    widths,
    reproduced=[(0.0, -0.8)],
    contradicted=[(-0.8, 0.0)],
    partly=[(-0.8, -0.8), (0.0, 0.0), (-0.076, -0.8)],  # both lose some, both keep all, by a hair
    uuuu=[(-0.076, -0.3)],  # both by a hair
)


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
    assert ratios_off(1e-5, "equation 8") < 2e-3  # of the steps
    assert ratios_off(1e-2, "equation 8") > 2 * ratios_off(1e-3, "equation 8")
    assert ratios_off(1e-5, "dominated") > 0.1


@pytest.mark.parametrize("sigma", [0.3, 1.5])
def test_the_limit_law_of_extremal_vectors_in_the_plane(sigma):
    rng = np.random.default_rng(0)
    one = np.array([proofs.passages(rng, sigma) for _ in range(4000)])
    law, two = proofs.extremal_vectors_in_the_plane(sigma, 200), one[::2] + one[1::2]
    mean = law.pop("mean")
    assert sum(law.values()) == pytest.approx(1) and sum(k * share for k, share in law.items()) == pytest.approx(mean)
    assert two.mean() == pytest.approx(mean, rel=0.05)
    for k in (2, 4):
        assert (two == k).mean() == pytest.approx(law[k], abs=0.035)
