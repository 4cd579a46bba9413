"""Open questions and steering: features, surgeries, several directions, and the derivative of the exponent."""

import numpy as np
import pytest
import xarray as xr
from scipy import integrate

from experiments.heavy_tails import gradient_laws, rate_sweeps, teacher_student
from experiments.heavy_tails.beyond import open_questions, steering
from shallow import stats
from shallow.data import single_index
from shallow.nets import Student
from shallow.spectra import esd, tails
from shallow.train import first_layer

SMALL = {"n": 200, "d": 80, "h": 120}


def rng(name):
    return stats.stream("tests", "ht open questions", name)


@pytest.mark.parametrize(("offset", "spread"), [(0.0, 0.03), (0.7, 1.15), (3.0, 5.7), (-2.0, 20.0)])
def test_moments_of_tanh_are_those_of_adaptive_quadrature(offset, spread):
    def mean(function):
        def integrand(z):
            return function(np.tanh(offset + spread * z)) * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)

        return integrate.quad(integrand, -8, 8, points=[-offset / spread], limit=500)[0]

    first, slope = mean(lambda value: value), mean(lambda value: 1 - value**2)
    rest = mean(lambda value: value**2) - first**2 - (spread * slope) ** 2
    found = open_questions.tanh_moments(offset, spread)
    np.testing.assert_allclose(found, [first, slope, np.sqrt(max(rest, 0))], atol=2e-4)


def test_equivalent_features_have_the_covariances_of_the_true_ones():
    """With the inputs and of each feature with itself; those of two features with each other may differ."""
    student = Student(3 * rng("W").standard_normal((6, 4)), np.ones(6), 0.5)
    x = rng("x").standard_normal((200_000, 4))
    true, equivalent = (
        Z * 6**0.5 for Z in (student.features(x), open_questions.equivalent_features(student, x, 0.5, rng("noise")))
    )
    np.testing.assert_allclose(x.T @ equivalent / len(x), x.T @ true / len(x), atol=0.015)
    np.testing.assert_allclose(np.mean(equivalent**2, axis=0), np.mean(true**2, axis=0), atol=0.01)
    linearised = 0.5 * x @ student.W.T
    assert np.abs(x.T @ (linearised - true) / len(x)).max() > 0.3


def test_what_depends_on_the_kept_direction_alone_is_kept_exactly():
    direction, x = np.array([0.6, 0.8, 0.0]), rng("inputs").standard_normal((50, 3))
    student = Student(np.outer([1.0, -2.0, 30.0, 0.1], direction), np.ones(4), 1.0)
    kept = open_questions.equivalent_features(student, x, 1.0, rng("none"), direction)
    np.testing.assert_allclose(kept, student.features(x), atol=1e-7)
    assert np.abs(open_questions.equivalent_features(student, x, 1.0, rng("none")) - student.features(x)).max() > 0.1


def test_losses_of_true_features_are_those_of_the_sweep():
    found = open_questions.gaussian_equivalent(0, rule="Adam text", rate=0.3, more=50, **SMALL).sel(model="true").loss
    sweep = rate_sweeps.one_step(0, rules=["Adam text"], rates=[0.3], **SMALL).sel(rate=0.3, rule="Adam text").squeeze()
    for sample in ("train", "test"):
        np.testing.assert_allclose(found.sel(sample=sample), sweep[sample], rtol=1e-5)
    assert (found.sel(sample="wide") != found.sel(sample="test")).all()


def test_the_prediction_for_one_direction_is_that_of_the_entries():
    law = gradient_laws.entries(2000, 1000)
    slope = gradient_laws.SLOPE * single_index.moments("softplus").slope
    cosine = slope / law.shared**0.5 * (2 / np.pi * law.correlation) ** 0.5 / law.signs
    assert open_questions.predicted_average(2000, 1000, 1500, rate=1e6) == pytest.approx(cosine, rel=1e-6)


# Steering.


def test_the_derivative_of_the_exponent_is_the_limit_of_differences():
    W, other = (rng(name).standard_normal((30, 21)) for name in ("W0", "D"))
    alpha, slope = steering.hill_gradient(W)
    assert alpha == pytest.approx(tails.hill(esd.eigenvalues(W)), rel=1e-12)
    ends = [tails.hill(esd.eigenvalues(W + step * other)) for step in (1e-6, -1e-6)]
    assert np.vdot(slope, other) == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-4)
    assert np.vdot(slope, W) == pytest.approx(0, abs=1e-10)
    U, s, V = esd.singular_vectors(W)
    m = 11
    without_cut = -2 * (alpha - 1) ** 2 / m * (U[:, :m] / s[:m]) @ V[:, :m].T
    assert abs(np.vdot(without_cut, other) / np.vdot(slope, other) - 1) > 0.1


def test_a_controlled_run_follows_its_rule():
    found = steering.controlled(0, steps=8, start=0.5, **SMALL)
    rates, exponents = found.rate.values, found.hill.values
    factors = np.where(exponents > 2.2, 1.5, np.where(exponents < 2.0, 0.5, 1.0))
    assert rates[0] == 0.5 and len(set(factors)) > 1
    np.testing.assert_allclose(rates[1:] / rates[:-1], factors[:-1])


def test_a_penalty_moves_the_exponent_to_its_target():
    options = {"rate": 0.05, "steps": 10, "looks": [0, 10], **SMALL}
    plain = steering.penalised(0, target=2.0, strength=0.0, **options)
    drawn = teacher_student.draw(0, **SMALL)
    run = first_layer.train(*drawn.samples.train, drawn.student, first_layer.Adam(), rate=0.05, steps=11)
    np.testing.assert_allclose(plain.loss, run.loss[[0, 10]], rtol=1e-6)
    assert tails.hill(plain.eigenvalues.values) == float(plain.hill[-1])
    last = {target: steering.penalised(0, target=target, strength=1.0, **options).hill[-1] for target in (2.0, 3.0)}
    assert last[2.0] < plain.hill[-1] - 0.05 and last[3.0] > plain.hill[-1] + 0.05


def run_of(loss, test):
    return xr.Dataset({"loss": ("step", loss), "test": (("step", "features"), np.array(test)[:, None])})


def test_runs_are_compared_where_their_losses_are_equal():
    first, second = run_of([4.0, 2.0, 1.0], [10.0, 6.0, 5.0]), run_of([4.0, 5.0, 1.5, 3.0], [0.0, 0.0, 8.0, 1.0])
    assert steering.compared(first, second).values[:, 0] == pytest.approx([5.5, 8.0])
    assert float(steering.at_loss(first, 4.0)[0]) == 10.0
    with pytest.raises(ValueError, match="level must lie between the smallest and the first loss of the run, got 0.5"):
        steering.at_loss(first, 0.5)
