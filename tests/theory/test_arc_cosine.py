"""What the tangent kernel of a deep network has to be: a Gram matrix, and the arc-cosine recursion when it is wide."""

import numpy as np
import pytest
from scipy import stats as scipy_stats
from standard_errors import scores

from experiments.cyclic_labels.theory import wide_kernels
from shallow.kernels import arc_cosine, layered
from shallow.stats import stream


def draw(rng, inputs, depth, width, law="normal"):
    """A network in PyTorch's default scaling; uniform weights are its default."""
    sizes = [inputs, *[width] * depth, 1]

    def entries(fan_in, *shape):
        unit = rng.uniform(-1, 1, shape) if law == "uniform" else rng.normal(size=shape) / 3**0.5
        return unit / fan_in**0.5

    pairs = [(entries(a, b, a), entries(a, b)) for a, b in zip(sizes, sizes[1:])]
    return [W for W, _ in pairs], [b for _, b in pairs]


def points(n, d):
    return stream("arc-cosine", "points", n, d).normal(size=(n, d))


def rotation(d):
    return scipy_stats.ortho_group.rvs(d, random_state=stream("arc-cosine", "rotation", d))


@pytest.mark.parametrize("output", layered.OUTPUTS)
def test_kernel_is_positive_semidefinite_as_is_every_layer(output):
    network, x = draw(stream("arc-cosine", "psd"), 4, 3, 10), points(60, 4)
    layers = [layered.ntk(*network, x, output=output, trainable=[layer]) for layer in range(1, 5)]
    for kernel in (*layers, sum(layers)):
        values = np.linalg.eigvalsh(kernel)
        assert values[0] >= -1e-13 * values[-1]
    values = np.linalg.eigvalsh(sum(layers) - 2 * layers[1])  # no sum of kernels
    assert values[0] < -1e-3 * values[-1]


def test_moments_are_those_of_samples_and_of_the_closed_form_for_one_input():
    rng = stream("arc-cosine", "moments")
    u, v = rng.multivariate_normal([0, 0], [[2.0, 0.7], [0.7, 1.0]], 400_000).T
    found = arc_cosine.moments(np.array(2.0), np.array(0.7), np.array(1.0))
    for sample, value in ((np.maximum(u, 0) * np.maximum(v, 0), found.product), ((u > 0) & (v > 0), found.active)):
        assert abs(scores(sample, value)) < 4.5 < abs(scores(sample, 1.05 * value))
    x = np.linspace(-2, 2, 9)
    variances, expected = 1 + x**2, wide_kernels.gaussian(x)
    ours = arc_cosine.moments(variances[:, None], 1 + np.outer(x, x), variances)
    assert ours.product == pytest.approx(expected.output, abs=1e-7)
    assert ours.active * (1 + np.outer(x, x)) == pytest.approx(expected.hidden, abs=1e-7)


def test_one_hidden_layer_has_this_mean_at_every_width():
    x = points(5, 3)
    for width in (1, 20):
        rng = stream("arc-cosine", "mean", width)
        kernels = [layered.ntk(*draw(rng, 3, 1, width), x) for _ in range(300)]
        assert np.abs(scores(kernels, arc_cosine.ntk(x, depth=1, width=width))).max() < 4.5
    assert np.abs(scores(kernels, arc_cosine.ntk(x, depth=1, width=25))).max() > 4.5


@pytest.mark.parametrize("depth", [2, 3])
def test_wide_deep_networks_have_the_mean_of_the_recursion(depth):
    x, rng = points(4, 5), stream("arc-cosine", "wide", depth)
    kernels = [layered.ntk(*draw(rng, 5, depth, 300), x) for _ in range(40)]
    assert np.abs(scores(kernels, arc_cosine.ntk(x, depth=depth, width=300))).max() < 4.5
    for wrong in (depth - 1, depth + 1):  # a layer forgotten, a layer too many
        assert np.abs(scores(kernels, arc_cosine.ntk(x, depth=wrong, width=300))).max() > 8


def widest(x, law):
    """Kernels of 16 networks with one hidden layer of 20,000 neurons, which differ by a per cent."""
    rng = stream("arc-cosine", "widest", law, x.shape[1])
    return np.array([layered.ntk(*draw(rng, x.shape[1], 1, 20_000, law), x) for _ in range(16)])


def test_uniform_weights_have_the_same_limit_for_many_inputs_only():
    """The first layer's pre-activations are sums of d + 1 uniform terms; the limit for one input is known."""
    few, many = np.linspace(-1, 1, 5)[:, None], points(5, 50)
    close, off = (scores(widest(x, "uniform"), arc_cosine.ntk(x, depth=1, width=20_000)) for x in (many, few))
    assert np.abs(close).max() < 4.5 < 8 < np.abs(off).max()
    assert np.abs(scores(widest(few, "uniform") - 1, wide_kernels.uniform(few[:, 0]).at(20_000))).max() < 4.5


def test_uniform_weights_are_invariant_under_flips_and_permutations_but_not_under_rotations():
    """A cube is no ball: with two inputs a turn by 45 degrees moves the kernel of the widest networks."""
    x, turn = np.array([[9.0, 0.5], [0.4, -9.0], [5.0, 4.0]]), np.array([[1, -1], [1, 1]]) / 2**0.5
    for law, moved in (("uniform", True), ("normal", False)):
        plain, turned, flipped, swapped = (
            widest(points, law) for points in (x, x @ turn.T, x * [-1, 1], x[:, ::-1].copy())
        )
        assert np.abs(scores(plain - flipped, 0)).max() < 4.5
        assert np.abs(scores(plain - swapped, 0)).max() < 4.5
        assert (np.abs(scores(plain - turned, 0)).max() > 8) == moved


def test_infinite_width_is_invariant_under_orthogonal_maps_of_both_points_alone():
    x, z, U = points(6, 5), points(7, 5)[:7], rotation(5)
    flip = np.diag([-1.0, 1, 1, 1, 1])
    for depth in (1, 3):
        kernel = arc_cosine.ntk(x, z, depth=depth, width=10**6)
        for Q in (U, flip, -np.eye(5)):
            assert arc_cosine.ntk(x @ Q.T, z @ Q.T, depth=depth, width=10**6) == pytest.approx(kernel, rel=1e-9)
            of_one = arc_cosine.ntk(x @ Q.T, z, depth=depth, width=10**6)
            assert np.linalg.norm(of_one - kernel) > 0.02 * np.linalg.norm(kernel)


def test_finite_width_is_invariant_in_law_alone():
    """One network is not invariant; the mean over networks is, and the mean of squares, for normal weights."""
    x, U, rng = points(4, 2), rotation(2), stream("arc-cosine", "law")
    networks = [draw(rng, 2, 2, 12) for _ in range(300)]
    pairs = ((x, x), (x @ U.T, x @ U.T), (x, x * [-1, 1]))
    plain, rotated, flipped = (np.array([layered.ntk(*network, *pair) for network in networks]) for pair in pairs)
    assert np.linalg.norm(plain[0] - rotated[0]) > 0.01 * np.linalg.norm(plain[0])
    assert np.abs(scores(plain - rotated, 0)).max() < 4.5
    assert np.abs(scores(plain**2 - rotated**2, 0)).max() < 4.5
    assert np.abs(scores(plain - flipped, 0)).max() > 8  # one of the two points alone


def test_moments_are_homogeneous_and_the_kernel_of_large_inputs_is():
    first, covariance, second = np.array([1.5, 0.0, 2.0]), np.array([-0.4, 0.0, 1.1]), np.array([0.3, 1.0, 2.0])
    plain = arc_cosine.moments(first, covariance, second)
    assert plain.product[2] == pytest.approx(arc_cosine.moments(first[2], covariance[2], second[2]).product, rel=1e-14)
    for a, b in ((2.0**-280, 2.0**-280), (2.0**280, 2.0**280), (2.0**400, 2.0**-400)):
        found = arc_cosine.moments(a**2 / 4 * first, a / 2 * b * covariance, b**2 * second)
        assert np.array_equal(found.product, a / 2 * b * plain.product) and np.array_equal(found.active, plain.active)
    x = points(5, 3)
    large, larger = (arc_cosine.ntk(s * x, depth=2, width=50) / s**2 for s in (2.0**60, 2.0**330))
    assert larger == pytest.approx(large, rel=1e-12)
