"""Laws behind the chapter on hidden structure: folding, parity and the first push, silent alignment, sign flips."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats as scipy_stats

from experiments.hidden_structure import folding, linear_flow, symmetry
from shallow import nets, stats
from shallow.data import hidden_index, orthants
from shallow.geometry import hidden_direction
from shallow.geometry.hidden_direction import RandomCosine
from shallow.kernels import empirical

DEVIATION = 0.47  # of v in the data of the chapter


# Folding.


def test_absolute_values_solve_the_unseen_orthant_and_distances_do_not():
    """In x the nearest training point is always of the outer shell; in |x| it is of the right one."""
    task = orthants.draw("fold")
    unseen = task.test[task.test.orthant == task.empty[0]]
    train = task.train[:8000]
    raw = folding.match_fractions(unseen.x, unseen.label, train.x, train.label)
    folded = folding.match_fractions(np.abs(unseen.x), unseen.label, np.abs(train.x), train.label)
    assert raw == {0: 0.0, 1: 1.0} and folded == {0: 1.0, 1: 1.0}
    assert ((orthants.radius(task.test.x) > 1.5) == task.test.label).all()
    around = np.stack([orthants.reflected(unseen.x, k) for k in orthants.neighbours(int(task.empty[0]))])
    assert folding.quotient(np.abs(unseen.x), np.abs(around), unseen.label) == 0
    assert folding.quotient(unseen.x, around, unseen.label) > 2


# Cosines of random directions.


def test_cosines_of_random_weights_have_their_law():
    """In the right dimension only; of uniform weights to leading order; the largest of many by its own law."""
    rng = stats.stream("test cosines")
    cosines = hidden_direction.cosines(rng.standard_normal((20_000, 30)), rng.standard_normal(30))
    pvalues = {D: scipy_stats.kstest(cosines, lambda t, D=D: 1 - RandomCosine(D).above(t)).pvalue for D in (27, 30)}
    assert pvalues[30] > 0.01 and pvalues[27] < 1e-6
    law = RandomCosine(100)
    uniform = hidden_direction.cosines(rng.uniform(-1, 1, (40_000, 100)), np.ones(100))
    assert law.mean == pytest.approx(uniform.mean(), rel=0.015) and law.mean == pytest.approx(0.08, abs=5e-4)
    assert law.above(0.5) < 1e-6 and law.above(law.quantile(0.3)) == pytest.approx(0.7)
    largest = uniform.reshape(-1, 100).max(axis=1)
    assert np.median(largest) == pytest.approx(float(law.quantile(0.5, 100)), rel=0.02)
    assert np.median(largest) != pytest.approx(float(law.quantile(0.5)), rel=1)


# Parity and the first push.


@pytest.mark.parametrize("degree", range(3, 10))
def test_parity_decides_the_linear_signal(degree):
    """Odd: no mean second derivative.  Even: no linear signal.  Shifted roots: both."""
    target, v = hidden_index.polynomial(degree), DEVIATION * stats.stream("test parity").standard_normal(400_000)
    c = hidden_index.hermite_coefficients(target, DEVIATION)
    wrong = c[(degree + 1) % 2 :: 2]
    assert np.abs(wrong).max() < 1e-12 * np.abs(c).max()
    moved = hidden_index.hermite_coefficients(hidden_index.polynomial(degree, 0.3), DEVIATION)
    assert np.abs(moved[[1, 2]]).min() > 1e-3
    if degree < 7:  # beyond, the sample's moments are those of its few largest |v|
        signal = v * target(v)
        assert DEVIATION * c[1] == pytest.approx(signal.mean(), abs=4 * signal.std() / len(v) ** 0.5)
        for order in (1, 2, 3):
            slopes = target.deriv(order)(v)
            expected = math.factorial(order) ** 0.5 * c[order] / DEVIATION**order
            assert slopes.mean() == pytest.approx(expected, abs=4 * slopes.std() / len(v) ** 0.5 + 1e-9)


def coefficients(degree, deviation, loss="square", shift=0.0):
    target = hidden_index.polynomial(degree, shift)
    if loss == "square":
        return hidden_index.hermite_coefficients(target, deviation)
    return hidden_index.sign_coefficients(target, deviation, 40)


@pytest.mark.parametrize("loss", ["square", "absolute"])
@pytest.mark.parametrize("degree", [3, 4, 5, 6])
def test_pair_of_opposite_neurons_sees_the_linear_signal_alone(degree, loss):
    """D(w, b) + D(-w, -b) = E[q x]: Sigma e times a number for an odd target, nothing for an even one."""
    rng = stats.stream("test pairs", degree)
    W, b, e, c = rng.standard_normal((6, 20)), rng.standard_normal(6), np.ones(20), coefficients(degree, 20**0.5, loss)
    both = hidden_direction.push(W, b, c, e, e).weights + hidden_direction.push(-W, -b, c, e, e).weights
    size = np.abs(hidden_direction.push(W, b, c, e, e).weights).max()
    assert both == pytest.approx(np.full((6, 20), c[1] / 20**0.5), abs=1e-12 * size)
    assert (np.abs(both).max() > 1e-2 * size) == bool(degree % 2)


@pytest.mark.parametrize("loss", ["square", "absolute"])
def test_without_biases_an_odd_target_pushes_all_neurons_alike(loss):
    """D = E[q x] / 2 for every w.  Not for an even target, not for shifted roots, and not with biases."""
    rng = stats.stream("test odd targets")
    W, e = rng.standard_normal((50, 20)), np.ones(20)

    def spread(degree, shift=0.0, bias=0.0):
        c = coefficients(degree, 20**0.5, loss, shift)
        found = hidden_direction.push(W, np.full(50, bias), c, e, e).weights
        return np.abs(found - c[1] / (2 * 20**0.5)).max() / np.abs(found).max()

    assert spread(3) < 1e-12 and spread(7) < 1e-12
    assert spread(4) > 0.1 and spread(3, shift=0.5) > 0.01 and spread(3, bias=1.0) > 0.01


def test_push_along_the_hidden_direction_by_parity():
    """In D = 100 dimensions: one sign and equal sizes for odd targets; for even ones proportional to rho, hence small.

    To leading order the even push is sqrt(2) c_2 phi(0) rho along e and c_0 phi(0) along w, with an error of rho^3.
    """
    rng = stats.stream("test parity of the push")
    W, e = rng.standard_normal((400, 100)), np.full(100, 0.1)
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    along = {}
    for degree in (5, 6):
        c = coefficients(degree, 1.0)
        along[degree] = hidden_direction.push(W, np.zeros(400), c, e, np.ones(100)).weights @ e / np.linalg.norm(c)
    assert np.ptp(along[5]) < 1e-12 and abs(along[5][0]) > 0.05
    rho, c = W @ e, coefficients(6, 1.0)
    leading = (2**0.5 * c[2] + c[0]) / (2 * np.pi) ** 0.5 * rho / np.linalg.norm(c)
    assert (np.abs(along[6] - leading) < 0.6 * np.abs(rho) ** 3).all()
    assert np.median(np.abs(along[6] / leading - 1)) < 0.02
    assert 0.4 < (along[6] > 0).mean() < 0.6


@pytest.mark.parametrize("loss", ["square", "absolute"])
@pytest.mark.parametrize("degree", [3, 4])
def test_first_gradient_of_a_paired_network(degree, loss):
    """Autograd on a large sample agrees with -a_j D(w_j, b_j) within its standard errors; the other loss's D does not.

    Units come in pairs of one neuron and opposite output weights, so that the output is zero.
    """
    rng = stats.stream("test first gradient", degree)
    sigma, inputs, n = 0.6, 8, 200_000
    e, x = np.ones(inputs), sigma * rng.standard_normal((n, inputs))
    tau = sigma * inputs**0.5
    W, b, a = (rng.uniform(-1, 1, shape) for shape in ((5, inputs), 5, 5))
    W_t, b_t, x_t = (torch.tensor(values, requires_grad=True) for values in (np.tile(W, (2, 1)), np.tile(b, 2), x))
    f = (x_t @ W_t.T + b_t).relu() @ torch.from_numpy(np.concatenate([a, -a]))
    target = hidden_index.polynomial(degree)
    y = target(x @ e)
    error = f - torch.from_numpy(y)
    # PyTorch's |.| has slope 0 at 0 only, and no label is exactly the output
    (0.5 * error**2 if loss == "square" else error.abs()).mean().backward()
    assert f.detach().abs().max() < 1e-12
    found = W_t.grad.numpy()[:5], b_t.grad.numpy()[:5]
    q = y if loss == "square" else np.sign(y)
    pieces = ((x @ W.T + b > 0) * q[:, None]).T
    errors = np.abs(a)[:, None] * np.stack([(piece[:, None] * x).std(axis=0) for piece in pieces]) / n**0.5
    scores = {}
    for name in ("square", "absolute"):
        push = hidden_direction.push(W, b, coefficients(degree, tau, name), e, np.full(inputs, sigma**2))
        scores[name] = np.abs(found[0] + a[:, None] * push.weights) / errors
        if name == loss:
            assert found[1] == pytest.approx(-a * push.biases, abs=5 * np.abs(a).max() * q.std() / n**0.5)
    wrong = "absolute" if loss == "square" else "square"
    assert scores[loss].max() < 5 and scores[wrong].max() > 15


def halves(rng, inputs, units):
    """The document's start: PyTorch's default, the second half of the hidden layer minus the first, outputs free."""
    first = nets.default(rng, units // 2, inputs)
    W, b = np.concatenate([first.W, -first.W]), np.concatenate([first.b, -first.b])
    return nets.TwoLayer(W, b, rng.uniform(-1, 1, units) / units**0.5)


def test_first_gradient_at_the_start_and_scale_of_the_document():
    """Absolute loss, 100 inputs of size 0.047: the output is not zero but small, and the push is that of the formula.

    For odd degrees nearly all units are pushed along the hidden direction to one side, for even ones to either side and
    far less.
    """
    rng = stats.stream("test start of the document")
    e, x = np.ones(100), DEVIATION / 10 * rng.standard_normal((20_000, 100))
    network = halves(rng, 100, 128)
    output, active = network.forward(x), x @ network.W.T + network.b > 0
    along = {}
    for degree in (3, 4, 5, 7):
        target = hidden_index.polynomial(degree)
        seen = (active * np.sign(target(x @ e) - output)[:, None]).T @ (x @ e) / len(x)
        c = hidden_index.sign_coefficients(target - output.mean(), DEVIATION, 40)
        push = hidden_direction.push(network.W, network.b, c, e, np.full(100, (DEVIATION / 10) ** 2)).weights
        along[degree] = push @ e
        assert seen == pytest.approx(along[degree], abs=5 * DEVIATION / len(x) ** 0.5)
        straight = hidden_direction.aligned(hidden_direction.cosines(push, e), 0.9)
        one_side = np.abs(np.sign(along[degree]).mean())
        assert (straight > 0.8 and one_side > 0.9) if degree % 2 else (straight < 0.5 and one_side < 0.5)
    sizes = {degree: np.median(np.abs(push)) for degree, push in along.items()}
    assert sizes[3] > sizes[5] > sizes[7] > 10 * sizes[4]


# Silent alignment.


def small_start(scale, inputs=6, units=30):
    rng = stats.stream("test silent alignment")
    return scale * rng.standard_normal(units) / units**0.5, scale * rng.standard_normal((units, inputs)) / units**0.5


def test_balanced_solution_and_conserved_quantity():
    beta, hidden, start = np.array([0.0, 1.2, -0.9]), np.array([0.6, 0.8]), 1e-3
    times, unit = np.linspace(0.5, 5, 10), beta / 1.5
    a, W = start**0.5 * hidden, start**0.5 * np.outer(hidden, unit)
    flow = linear_flow.integrate(a, W, beta, times)
    c = linear_flow.balanced(times, 1.5, start)
    assert flow.predictor == pytest.approx(np.outer(c, unit), abs=1e-8)
    assert flow.kernel == pytest.approx(c[:, None, None] * (np.outer(unit, unit) + np.eye(3)), abs=1e-8)
    assert flow.predictor != pytest.approx(np.outer(linear_flow.balanced(times, 0.75, start), unit), abs=1e-2)
    a, W = small_start(0.5)
    flow = linear_flow.integrate(a, W, np.arange(6) / 5, times, variances=np.arange(1.0, 7))
    gaps = np.einsum("tm,tk->tmk", flow.a, flow.a) - np.einsum("tmd,tkd->tmk", flow.W, flow.W)
    assert np.abs(gaps - (np.outer(a, a) - W @ W.T)).max() < 1e-8 < 0.1 < np.abs(flow.W - W).max()


def test_kernel_turns_before_the_loss_falls_if_the_start_is_small():
    """Loss at the time when the alignment has 90 % of its last value: near 1 from a small start, far below from 1."""
    times, left = np.linspace(0, 20, 801), {}
    for scale in (1.0, 0.1, 0.01):
        flow = linear_flow.integrate(*small_start(scale), np.eye(6)[0], times)
        assert flow.loss[-1] < 1e-6 * flow.loss[0]
        left[scale] = flow.loss[np.argmax(flow.alignment >= 0.9 * flow.alignment[-1])] / flow.loss[0]
    assert left[1.0] < 0.5 and left[0.1] > 0.8 and left[0.01] > 0.99
    assert flow.alignment[-1] == pytest.approx(2 / 9**0.5, abs=1e-3)  # 2 / sqrt(D + 3)


def test_inputs_that_are_not_white_turn_the_kernel_twice():
    """From a small start the predictor first grows along Lambda beta, not along beta, where it must end."""
    variances, beta = np.array([4.0, 1, 1, 1, 1, 1]), np.array([0.5, 1, 0, 0, 0, 0])

    def cosine(flow, direction):
        u = flow.predictor
        return u @ direction / (np.linalg.norm(u, axis=1) * np.linalg.norm(direction))

    flow = linear_flow.integrate(*small_start(1e-4), beta, np.linspace(0, 60, 2401), variances=variances)
    early = np.argmax(flow.loss < 0.99 * flow.loss[0])
    assert cosine(flow, variances * beta)[early] > 0.999 and cosine(flow, beta)[early] < 0.9
    assert cosine(flow, beta)[-1] > 0.999
    white = linear_flow.integrate(*small_start(1e-4), beta, np.linspace(0, 60, 2401))
    assert cosine(white, beta)[np.argmax(white.loss < 0.99 * white.loss[0])] > 0.999


# Sign flips.


def ridge(kernel, x, y, z):
    return kernel(z, x) @ np.linalg.solve(kernel(x, x) + 0.1 * np.eye(len(x)), y)


def test_invariance_of_a_kernel_is_not_invariance_of_its_functions():
    """Joint invariance: flipped data give the flipped prediction.  Full invariance: the prediction is invariant."""
    rng = stats.stream("test two invariances")
    flips, x, z, y = (
        orthants.signs(np.arange(8), 3),
        rng.normal(size=(9, 3)),
        rng.normal(size=(7, 3)),
        rng.normal(size=9),
    )
    network = nets.default(rng, 20, 3)

    def joint(x, z):
        return np.exp(-((x[:, None] - z) ** 2).sum(axis=-1))

    def folded(x, z):
        return symmetry.gaussian(x, z, 1.0)

    def neither(x, z):
        return empirical.ntk(network, x, z)

    s = flips[2]
    moves, keeps = {}, {}
    for name, kernel in (("joint", joint), ("folded", folded), ("neither", neither)):
        moves[name] = np.abs(ridge(kernel, s * x, y, s * z) - ridge(kernel, x, y, z)).max()
        keeps[name] = np.abs(ridge(kernel, x, y, s * z) - ridge(kernel, x, y, z)).max()
    assert max(moves["joint"], moves["folded"], keeps["folded"]) < 1e-10
    assert min(moves["neither"], keeps["joint"], keeps["neither"]) > 0.05


def test_shares_of_known_kernels():
    """1 for functions of |x|, 0 for odd ones, 1/|G| where an orbit is spread out; and nothing else."""
    flips, x = orthants.signs(np.arange(8), 3), 3 + stats.stream("test shares").random((6, 3))
    for kernel, share in (
        (lambda x, z: np.abs(x) @ np.abs(z).T, 1.0),
        (lambda x, z: x @ z.T, 0.0),
        (lambda x, z: np.exp(-((x[:, None] - z) ** 2).sum(axis=-1)), 1 / 8),
        (lambda x, z: 1 + (x @ z.T) * 0, 1.0),
    ):
        assert symmetry.invariant_share(kernel, x, flips) == pytest.approx(share, abs=1e-6)
    few = flips[[7, 6]]  # the last coordinate alone
    assert symmetry.invariant_share(lambda x, z: x[:, :2] @ z[:, :2].T, x, few) == pytest.approx(1)


def mean_kernel(*networks):
    return lambda x, z: sum(empirical.ntk(network, x, z) for network in networks) / len(networks)


def test_tangent_kernel_is_jointly_invariant_on_average_only():
    """Exactly in the mean over a network and its flips; for one network with a defect of order m^(-1/2)."""
    flips, x = orthants.signs(np.arange(8), 3), stats.stream("test joint defect").standard_normal((10, 3))
    square = {}
    for width in (64, 1024):
        networks = [nets.default(stats.stream("test joint defect", width, seed), width, 3) for seed in range(80)]
        square[width] = np.mean([symmetry.joint_defect(mean_kernel(one), x, flips) ** 2 for one in networks])
    assert (square[64] / square[1024]) ** 0.5 == pytest.approx(4, rel=0.2)
    one = networks[0]
    flipped = mean_kernel(*(replace(one, W=one.W * s) for s in flips))
    assert symmetry.joint_defect(flipped, x, flips) < 1e-14 < 1e-3 < square[1024] ** 0.5
    assert 0.1 < symmetry.invariant_share(flipped, x, flips) < 0.9  # by no means fully invariant
