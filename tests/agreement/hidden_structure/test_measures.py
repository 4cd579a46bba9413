"""Fast or closed forms of the chapter on hidden structure against slow and obvious ones."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import norm

from experiments.hidden_structure import hidden_direction, hidden_index, shells
from experiments.hidden_structure.folding import cells as folding
from experiments.hidden_structure.shell_machines import orthant_kernels
from experiments.hidden_structure.theory import linear_flow
from shallow import stats
from shallow.kernels import empirical


def slow_nearest(queries, points):
    return [int(np.argmin([np.sum((point - query) ** 2) for point in points])) for query in queries]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 5), st.sampled_from([0.0, 1e-9, 1.0, 1e8]))
def test_nearest_points_are_those_of_a_search_one_by_one(seed, n, p, offset):
    """Also with many ties, and with distances far below the size of the numbers, where products alone lose them."""
    rng = np.random.default_rng(seed)
    queries, points = offset + rng.integers(0, 3, (7, p)), offset + rng.integers(0, 3, (n, p)) * rng.choice([1.0, 1e-3])
    assert folding.nearest(queries, points).tolist() == slow_nearest(queries, points)


@pytest.mark.parametrize("degree", [2, 3, 6, 9])
@pytest.mark.parametrize("deviation", [0.47, 1.3])
def test_coefficients_are_integrals(degree, deviation):
    """Of the polynomial, shifted so that both parities occur, and of its sign, by a fine midpoint rule."""
    target = hidden_index.polynomial(degree, 0.1)
    z = (np.arange(-120_000, 120_000) + 0.5) / 10_000
    weights = norm.pdf(z) / 10_000
    functions = hidden_index.hermite(z, 12)
    values = target(deviation * z)
    plain = hidden_index.hermite_coefficients(target, deviation)
    assert functions[: degree + 1] @ (weights * values) == pytest.approx(plain, rel=1e-7, abs=1e-9)
    assert (plain**2).sum() == pytest.approx(weights @ values**2)
    signs = hidden_index.sign_coefficients(target, deviation, 12)
    assert functions @ (weights * np.sign(values)) == pytest.approx(signs, abs=2e-4)
    assert functions @ (weights * np.sign(values)) != pytest.approx(np.roll(signs, 1), abs=2e-2)


def test_sign_coefficients_carry_all_of_a_sign():
    """Parseval: they sum to one, slowly; and a target without roots has the sign 1."""
    signs = hidden_index.sign_coefficients(hidden_index.polynomial(5), 0.47, 4000)
    assert 0.97 < (signs**2).sum() < 1
    for positive in (hidden_index.Polynomial([1.0, 0.0, 1.0]), hidden_index.Polynomial([2.0])):
        assert hidden_index.sign_coefficients(positive, 1.0, 4) == pytest.approx([1, 0, 0, 0], abs=1e-12)


def push_by_quadrature(w, b, q, breaks):
    """D and its bias part in two dimensions with unit covariance and v = x_1: one integral over v.

    Given v, the neuron is active with probability Phi(h), and E[x_2; active] = phi(h), with h = (b + w_1 v) / |w_2|.
    """
    pieces = [np.linspace(low, high, 4001) for low, high in zip([-9, *breaks], [*breaks, 9], strict=True)]
    total = np.zeros(3)
    for v in pieces:
        middle, width = (v[1:] + v[:-1]) / 2, np.diff(v)
        h = (b + w[0] * middle) / abs(w[1])
        mass = width * norm.pdf(middle) * q(middle)
        total += [mass @ (middle * ndtr(h)), np.sign(w[1]) * mass @ norm.pdf(h), mass @ ndtr(h)]
    return total


@pytest.mark.parametrize("degree", [3, 4])
def test_push_is_an_integral(degree):
    rng = stats.stream("test push", degree)
    target = hidden_index.polynomial(degree, 0.2)
    W, b = rng.standard_normal((6, 2)), rng.standard_normal(6)
    W[:, 1] = np.sign(W[:, 1]) * np.maximum(np.abs(W[:, 1]), np.abs(W[:, 0]))  # |rho| <= 0.71
    breaks = np.linspace(-2, 2, degree) + 0.2
    for q, coefficients in (
        (target, hidden_index.hermite_coefficients(target, 1.0)),
        (lambda v: np.sign(target(v)), hidden_index.sign_coefficients(target, 1.0, 60)),
    ):
        found = hidden_direction.push(W, b, coefficients, np.array([1.0, 0.0]), np.ones(2))
        expected = np.array([push_by_quadrature(w, bias, q, breaks) for w, bias in zip(W, b, strict=True)])
        assert found.weights == pytest.approx(expected[:, :2], abs=1e-5)
        assert found.biases == pytest.approx(expected[:, 2], abs=1e-5)


def test_flow_is_the_limit_of_gradient_descent():
    """Small steps of PyTorch's gradient on a sample with exactly these variances; half the step halves the error."""
    rng = stats.stream("test linear flow")
    variances, beta = np.array([2.0, 0.5, 1.0]), np.array([1.0, -1.0, 0.3])
    a, W = 0.3 * rng.standard_normal(4), 0.3 * rng.standard_normal((4, 3))
    flow = linear_flow.integrate(a, W, beta, [0.7, 2.0], variances=variances)
    x = torch.from_numpy(np.diag(np.sqrt(3 * variances)))
    y, errors = x @ torch.from_numpy(beta), []
    for steps in (300, 600):
        p, q = (torch.tensor(start, requires_grad=True) for start in (a, W))
        for _ in range(steps):
            loss = 0.5 * ((x @ q.T @ p - y) ** 2).mean()
            for parameter, gradient in zip((p, q), torch.autograd.grad(loss, (p, q)), strict=True):
                parameter.data -= 2.0 / steps * gradient
        errors.append(np.abs(q.detach().numpy() - flow.W[1]).max())
    assert errors[0] < 1e-2 and errors[1] / errors[0] == pytest.approx(0.5, abs=0.05)
    assert loss.item() == pytest.approx(flow.loss[1], abs=1e-2) and flow.loss[1] < flow.loss[0]


def radial(x, z, gamma=0.3):
    return np.exp(-gamma * ((x[:, None] - z) ** 2).sum(axis=-1))


def test_gaussian_kernel_is_averaged_over_flips():
    rng = stats.stream("test averages")
    x, z, flips = rng.standard_normal((5, 3)), rng.standard_normal((4, 3)), shells.signs(np.arange(8), 3)
    slow = np.mean([radial(s * x, t * z) for s in flips for t in flips], axis=0)
    assert orthant_kernels.averaged(x, z, 0.3) == pytest.approx(slow) and slow != pytest.approx(radial(x, z), rel=0.1)


def test_target_alignment_is_its_definition():
    rng = stats.stream("test alignment")
    features, y = rng.standard_normal((30, 5)), rng.standard_normal(30)
    kernel, H = features @ features.T, np.eye(30) - 1 / 30
    expected = empirical.alignment(H @ kernel @ H, np.outer(H @ y, H @ y))
    assert empirical.target_alignment(kernel, y) == pytest.approx(expected)
    assert empirical.alignment(kernel, np.outer(y, y)) != pytest.approx(expected, rel=1e-3)
    values = np.linalg.eigvalsh(kernel)
    assert empirical.effective_rank(kernel) == pytest.approx(values.sum() ** 2 / (values**2).sum())
