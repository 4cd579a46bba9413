"""The closed form of the Gaussian loss against a dense formula with angles, against samples and against laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from standard_errors import scores

from shallow import gaussian_loss, nets
from shallow.data import teachers


def dense(first, second):
    r"""The same number from $K = |u||v| (\sin t + (\pi - t)\cos t) / 2\pi$, one angle for every pair."""
    W, a = np.concatenate([first.W, second.W]), np.concatenate([first.v, -second.v])
    norms = np.linalg.norm(W, axis=1)
    u = W / np.where(norms > 0, norms, 1)[:, None]
    t = 2 * np.arctan2(np.linalg.norm(u[:, None] - u, axis=2), np.linalg.norm(u[:, None] + u, axis=2))
    return a @ (np.outer(norms, norms) * (np.sin(t) + (np.pi - t) * np.cos(t)) / (2 * np.pi)) @ a


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 7), st.integers(1, 5))
def test_agrees_with_the_dense_formula(seed, width, inputs, units):
    """Also with neurons that are zero, equal, opposite or almost collinear."""
    rng = np.random.default_rng(seed)
    one, teacher = nets.small(rng, width, inputs, 1.0), teachers.relu(rng, units, inputs)
    W = one.W.copy()
    W[rng.random(width) < 0.2] = 0
    W[0], W[-1] = -2 * W[width // 2], W[width // 2] * (1 + 1e-9 * rng.standard_normal(inputs))
    one = nets.TwoLayer(W, one.b, one.v)
    mass = sum(np.abs(net.v) @ np.linalg.norm(net.W, axis=1) for net in (one, teacher))
    found = gaussian_loss.excess_risk(one, teacher)
    assert found == pytest.approx(dense(one, teacher), rel=1e-12, abs=1e-14 * mass**2)
    assert found == pytest.approx(gaussian_loss.excess_risk(teacher, one), rel=1e-12, abs=1e-14 * mass**2)


@pytest.mark.parametrize("width", [gaussian_loss._TILE + shift for shift in (-3, -2, -1, 0, 700)])
def test_agrees_where_tiles_end(width):
    rng = np.random.default_rng(width)
    one, teacher = nets.small(rng, width, 3, 1.0), teachers.first_axis(3)
    assert gaussian_loss.excess_risk(one, teacher) == pytest.approx(dense(one, teacher), rel=1e-12)


@pytest.mark.parametrize("inputs", [1, 2, 5])
def test_agrees_with_a_sample(inputs):
    """Within five standard errors, and a teacher that is one tenth longer is told apart."""
    rng = np.random.default_rng(inputs)
    one, teacher = nets.small(rng, 30, inputs, 0.3), teachers.relu(rng, 3, inputs)
    x = rng.standard_normal((400_000, inputs))
    squares = (one.forward(x) - teacher.forward(x)) ** 2
    longer = nets.TwoLayer(1.1 * teacher.W, teacher.b, teacher.v)
    assert abs(scores(squares, gaussian_loss.excess_risk(one, teacher))) < 5
    assert abs(scores(squares, gaussian_loss.excess_risk(one, longer))) > 5


@pytest.mark.parametrize("size", [1e-2, 1e-3, 1e-5])
@pytest.mark.parametrize("pieces", [1, 5000])
def test_a_linear_estimate_costs_its_squared_distance(size, pieces):
    r"""$\|\hat\beta - \beta^*\|^2$, down to 1e-10 and with the estimate cut into thousands of pieces."""
    rng = np.random.default_rng(pieces)
    shift = size * rng.standard_normal(5)
    estimate = np.eye(5)[0] + shift
    lengths = rng.uniform(0.5, 1.5, pieces)
    lengths /= lengths.sum()
    W = np.concatenate([np.outer(lengths**0.5, estimate), -np.outer(lengths**0.5, estimate)])
    one = nets.TwoLayer(W, np.zeros(2 * pieces), np.concatenate([lengths**0.5, -(lengths**0.5)]))
    found = gaussian_loss.excess_risk(one, teachers.first_axis(5))
    assert found == pytest.approx(shift @ shift, rel=1e-4, abs=1e-15)
    assert found != pytest.approx(shift @ shift / 2, rel=0.1)  # the factor 1/2 of the loss of the flow
