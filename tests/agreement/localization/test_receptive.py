"""Measures and fits of receptive fields against slow and obvious ones; losses and gradients against quadrature."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erf

from experiments.localization import gaussian_flow
from experiments.localization.fields import gabor
from experiments.localization.populations import cells as populations
from experiments.localization.starting_loss import cells as starting_loss
from shallow import receptive_fields as fields
from shallow import stats

SHAPES = st.one_of(st.tuples(st.integers(2, 9)), st.tuples(st.integers(2, 5), st.integers(2, 6)))


def drawn(seed, shape, count=3):
    return np.random.default_rng(seed).standard_normal((count, *shape))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), SHAPES)
def test_frequencies_are_sums_over_waves(seed, shape):
    """Energies of the plane waves one by one, for even and odd numbers of pixels and in both dimensions."""
    field, d = drawn(seed, shape, 1)[0], len(shape)
    places = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1)
    energies, weights, lengths = [], [], []
    for k in np.ndindex(*shape):
        wave = np.exp(-2j * np.pi * (places * k / np.array(shape)).sum(axis=-1))
        signed = [m - n if 2 * m > n else m for m, n in zip(k, shape)]
        energies.append(abs((field * wave).sum()) ** 2 / field.size)
        weights.append(1.0 if all(2 * m % n == 0 for m, n in zip(k, shape)) else 0.5)
        lengths.append(np.hypot(*signed) if d == 2 else abs(signed[0]))
    energies, weights, lengths = map(np.array, (energies, weights, lengths))
    total = (field**2).sum()
    assert energies.sum() == pytest.approx(total)
    for cut in (0, 1, 1.5, 3):
        low = energies[lengths <= cut].sum() / total
        assert fields.low_share(field, cut, d) == pytest.approx(low, abs=1e-12)
        assert (fields.low_pass(field, cut, d) ** 2).sum() / total == pytest.approx(low, abs=1e-12)
    mean = (weights * energies) @ lengths / (weights @ energies)
    assert fields.mean_frequency(field, d) == pytest.approx(mean)
    if d == 1:
        power = np.abs(np.fft.rfft(field)) ** 2
        assert mean == pytest.approx(power @ np.arange(len(power)) / power.sum())


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 9))
def test_matches_are_those_of_a_search_over_shifts(seed, n):
    W = drawn(seed, (n,))
    W = np.concatenate([W, [-2.5 * np.roll(W[0], 1)]])
    found = populations.match(W)
    for i, j in np.ndindex(4, 4):
        scale = np.linalg.norm(W[i]) * np.linalg.norm(W[j])
        slow = [W[i] @ np.roll(W[j], shift) / scale for shift in range(n)]
        assert found.similarity[i, j] == pytest.approx(np.abs(slow).max())
        assert found.sign[i, j] * slow[found.shift[i, j]] == pytest.approx(found.similarity[i, j])
    assert found.similarity[0, 3] == pytest.approx(1)
    assert (found.similarity <= populations.spectral_similarity(W) + 1e-12).all()


def test_best_window_is_that_of_a_search():
    W = drawn(5, (11,), 6)
    slow = [max((np.roll(w, s)[:4] ** 2).sum() for s in range(11)) / (w**2).sum() for w in W]
    assert fields.window_share(W, 4) == pytest.approx(slow)
    W = drawn(5, (5, 7), 6)
    slow = [max((np.roll(w, s, (0, 1))[:3, :3] ** 2).sum() for s in np.ndindex(5, 7)) / (w**2).sum() for w in W]
    assert fields.window_share(W, 3, 2) == pytest.approx(slow)


def test_planted_gabor_functions_are_found_and_models_are_nested():
    """All to rounding up to the odd local optimum, wherever they are, of either sign; noise never fits worse."""
    rng, places = stats.stream("test gabor"), np.arange(40)
    centre, width, carrier = rng.uniform(0, 40, 20), rng.uniform(1.3, 12, 20), rng.uniform(0, 18, 20)
    delta = (places - centre[:, None] + 20) % 40 - 20
    W = np.cos(2 * np.pi / 40 * carrier[:, None] * delta) * np.exp(-((delta / width[:, None]) ** 2))
    W = rng.choice([-3.0, 0.3], (20, 1)) * W + rng.standard_normal((20, 1))
    found = gabor.fit(W)
    exact = found.r2 > 1 - 1e-9
    assert exact.mean() > 0.8 and found.r2.min() > 0.95
    assert found.curve()[exact] == pytest.approx(W[exact], abs=1e-4)
    assert np.median(np.abs(found.width / width - 1)[exact]) < 1e-3
    assert np.median(np.abs(found.carrier - carrier)[exact]) < 1e-3
    noise = rng.standard_normal((12, 40))
    for fields_of in (W, noise, noise.cumsum(axis=1)):
        bump, plain = (gabor.fit(fields_of, model).r2 for model in gabor.MODELS)
        assert (bump <= plain + 1e-12).all()
    assert np.isnan(gabor.fit(np.ones(40)).r2) and gabor.fit(np.exp(-((places - 17.3) ** 2) / 9), "bump").r2 > 1 - 1e-9


def gaussian_points(rng):
    """Nodes and weights of a product rule for two classes in two dimensions, and their covariances."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    grid = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    weights = np.outer(weights, weights).ravel() / weights.sum() ** 2
    factors = 0.4 * rng.standard_normal((2, 2, 2))  # so that the rule is exact to 1e-12
    return weights, [grid @ factor.T for factor in factors], [factor @ factor.T for factor in factors]


@pytest.mark.parametrize("biases", [[0.7, -0.4, 0.0, 3.0], [0.0] * 4, [1e-250, -1.0, 40.0, -40.0]])
def test_velocity_is_an_integral(biases):
    """A product rule with PyTorch's gradient, as far as the rule goes."""
    rng = stats.stream("test gaussian flow", str(biases))
    weights, points, covariances = gaussian_points(rng)
    W, b = rng.standard_normal((4, 2)), np.array(biases)
    p, q = (torch.tensor(values, requires_grad=True) for values in (W, b))
    outputs = [torch.erf((torch.from_numpy(x) @ p.T + q) / 2**0.5).mean(dim=1) for x in points]
    means = [torch.from_numpy(weights) @ y for y in outputs]
    squares = [torch.from_numpy(weights) @ y**2 for y in outputs]
    absolute = 1 - (means[0] - means[1]) / 2  # |Y - y| = 1 - Y y
    squared = (squares[0] - 2 * means[0] + squares[1] + 2 * means[1] + 2) / 4
    for loss, coupled in ((absolute, False), (squared, True)):
        slow = torch.autograd.grad(loss, (p, q), retain_graph=True)
        fast = gaussian_flow.velocity(W, b, *covariances, coupled=coupled)
        for one, other in zip(slow, fast):
            assert other == pytest.approx(-one.numpy(), abs=1e-11)


def test_flow_is_the_limit_of_gradient_descent():
    """Half the step halves the error; the flow of the other loss is another one."""
    rng = stats.stream("test limit of descent")
    _, _, covariances = gaussian_points(rng)
    W, b, end = rng.standard_normal((5, 2)), np.zeros(5), 10.0
    flows = [gaussian_flow.integrate(W, b, *covariances, [1.0, end], coupled=coupled) for coupled in (False, True)]
    for coupled in (False, True):
        errors = []
        for steps in (200, 400):
            p, q = W.copy(), b.copy()
            for _ in range(steps):
                move = gaussian_flow.velocity(p, q, *covariances, coupled=coupled)
                p, q = p + end / steps * move.W, q + end / steps * move.b
            errors.append(np.abs(q - flows[coupled].b[1]).max())
        assert errors[0] < 0.01 and errors[1] / errors[0] == pytest.approx(0.5, abs=0.05)
    assert np.abs(flows[0].b[1] - flows[1].b[1]).max() > 20 * errors[1]


@pytest.mark.parametrize("activation", starting_loss.ACTIVATIONS)
def test_loss_of_given_weights_is_an_integral(activation):
    rng = stats.stream("test loss of weights", activation)
    weights, points, covariances = gaussian_points(rng)
    W = rng.standard_normal((3, 2))
    sigma, labels, error = {
        "erf": (lambda h: erf(h / 2**0.5), (1, -1), 1e-11),
        "relu": (lambda h: np.maximum(h, 0), (1, 0), 1e-2),  # the rule does not know the kink
    }[activation]
    for quiet in (1.0, 0.1):  # the second class, so that the two cannot be exchanged
        x, given = (points[0], quiet * points[1]), (covariances[0], quiet**2 * covariances[1])
        slow = sum(weights @ (sigma(one @ W.T).mean(axis=1) - y) ** 2 for one, y in zip(x, labels)) / 4
        assert starting_loss.of_network(activation, W, *given) == pytest.approx(slow, abs=error)
