"""Small teachers, their inputs and two small initialisations: laws, and twins that fail on wrong laws."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from shallow import nets, stats
from shallow.data import teachers


def rng(*names):
    return stats.stream("test teachers", *names)


def five_sigma(values, expected):
    """Whether the mean of values (n, ...) is within five standard errors of what is expected, in every entry."""
    error = values.std(axis=0, ddof=1) / len(values) ** 0.5
    return bool((np.abs(values.mean(axis=0) - expected) <= 5 * error + 1e-12).all())


def test_a_linear_teacher_is_linear_and_a_relu_teacher_is_homogeneous():
    x, beta = rng("x").standard_normal((50, 4)), np.array([1.0, -2.0, 0.5, 0.0])
    assert np.allclose(teachers.linear(beta).forward(x), x @ beta, atol=1e-14)
    assert np.allclose(teachers.first_axis(4).forward(x), x[:, 0], atol=1e-14)
    teacher = teachers.relu(rng("t"), 3, 4)
    assert np.allclose(teacher.forward(2.5 * x), 2.5 * teacher.forward(x), atol=1e-13)
    assert not np.allclose(teacher.forward(-x), -teacher.forward(x), atol=0.1)


def test_noise_is_centred_and_has_the_variance_asked_for():
    teacher = teachers.relu(rng("t"), 2, 3)
    sample = teachers.gaussian(rng("noise"), teacher, 20_000, 0.25)
    noise = sample.y - teacher.forward(sample.x)
    assert five_sigma(noise, 0.0) and five_sigma(noise**2, 0.25) and not five_sigma(noise**2, 0.27)
    assert np.array_equal(teachers.gaussian(rng("q"), teacher, 5, 0.0).y, teacher.forward(rng("q").normal(size=(5, 3))))


@pytest.mark.parametrize(("d", "c"), [(1, 0.5), (2, 0.5), (3, 0.3), (10, 0.1)])
def test_inputs_with_a_margin_keep_it_and_have_the_variances_of_the_quadrature(d, c):
    x = teachers.with_margin(rng("margin", d), 20_000, d, c)
    assert x.shape == (20_000, d) and (np.abs(x[:, 0]) >= c * np.linalg.norm(x, axis=1)).all()
    expected = teachers.variances(d, c)
    assert five_sigma(x**2, expected) and five_sigma(x, 0.0)
    assert expected.sum() == pytest.approx(d)
    if d > 1:
        assert not five_sigma(x**2, 1.0) and expected[0] > 1 > expected[1]


@pytest.mark.parametrize("c", [0.03, 0.3, 0.9])
def test_three_dimensions_have_the_closed_form_of_the_variances(c):
    """The angle t is uniform on [c, 1] there, so E t^2 = (1 + c + c^2) / 3."""
    assert teachers.variances(3, c) == pytest.approx([1 + c + c**2, *[1 - (c + c**2) / 2] * 2], rel=1e-10)
    assert teachers.variances(3, c) != pytest.approx([1 + c, *[1 - c / 2] * 2], rel=1e-4)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_whitening_gives_unit_variances_and_leaves_the_stated_margin(d):
    white = teachers.with_margin(rng("white", d), 20_000, d, 0.4, whiten=True)
    cosine = np.abs(white[:, 0]) / np.linalg.norm(white, axis=1)
    margin = teachers.whitened_margin(d, 0.4)
    assert five_sigma(white**2, 1.0)
    assert cosine.min() >= margin - 1e-12 and (d == 1 or cosine.min() < margin + 0.01)
    assert d == 1 or 0 < margin < 0.4


def test_no_margin_is_the_gaussian_law():
    assert teachers.variances(4, 0.0) == pytest.approx(np.ones(4)) and teachers.whitened_margin(4, 0.0) == 0.0
    x = teachers.with_margin(rng("free"), 5000, 2, 0.0)
    assert scipy_stats.kstest(x[:, 1], "norm").pvalue > 1e-4


def test_the_small_initialisation_has_one_law_for_all_parameters():
    network = nets.small(rng("small"), 20_000, 3, 0.01)
    every = np.column_stack([network.W, network.v])
    assert five_sigma(every**2, 1e-4) and not five_sigma(every**2, 1.1e-4) and not network.b.any()


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_dominated_initialisation_is_uniform_in_the_ball_and_dominated(d):
    scale, m = 1e-2, 20_000
    network = nets.dominated(rng("dominated", d), m, d, scale)
    radius = np.linalg.norm(network.W, axis=1) * m**0.5 / scale**2
    assert np.allclose(np.abs(network.v), scale / m**0.5, rtol=1e-12) and five_sigma(np.sign(network.v), 0.0)
    assert (np.linalg.norm(network.W, axis=1) <= scale * np.abs(network.v) * (1 + 1e-12)).all()
    assert scipy_stats.kstest(radius**d, "uniform").pvalue > 1e-4
    assert d == 1 or scipy_stats.kstest(radius, "uniform").pvalue < 1e-4  # a uniform radius is another law
    assert five_sigma(network.W * m**0.5 / scale**2, 0.0)
