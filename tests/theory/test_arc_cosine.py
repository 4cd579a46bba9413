"""The tangent kernel of a wide deep network is the arc-cosine recursion, in the mean or in the limit."""

import numpy as np
import pytest

from experiments.cyclic_labels import wide_kernels
from shallow.kernels import arc_cosine, layered
from shallow.stats import stream


def draw(rng, inputs, depth, width, law="normal"):
    """A network in PyTorch's default scaling; uniform weights are its default."""
    sizes = [inputs, *[width] * depth, 1]

    def entries(fan_in, *shape):
        return (
            rng.uniform(-1, 1, shape) / fan_in**0.5
            if law == "uniform"
            else rng.normal(size=shape) / (3 * fan_in) ** 0.5
        )

    pairs = [(entries(a, b, a), entries(a, b)) for a, b in zip(sizes, sizes[1:])]
    return [W for W, _ in pairs], [b for _, b in pairs]


def points(n, d):
    return stream("arc-cosine", "points", n, d).normal(size=(n, d))


def z_scores(kernels, expected):
    kernels = np.asarray(kernels)
    return (kernels.mean(axis=0) - expected) / (kernels.std(axis=0) / np.sqrt(len(kernels)))


def test_moments_are_those_of_samples_and_of_the_closed_form_for_one_input():
    rng = stream("arc-cosine", "moments")
    u, v = rng.multivariate_normal([0, 0], [[2.0, 0.7], [0.7, 1.0]], 400_000).T
    found = arc_cosine.moments(np.array(2.0), np.array(0.7), np.array(1.0))
    for sample, value in ((np.maximum(u, 0) * np.maximum(v, 0), found.product), ((u > 0) & (v > 0), found.active)):
        error = sample.std() / len(u) ** 0.5
        assert abs(sample.mean() - value) < 4.5 * error
        assert abs(sample.mean() - 1.05 * value) > 4.5 * error
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
        assert np.abs(z_scores(kernels, arc_cosine.ntk(x, depth=1, width=width))).max() < 4.5
    assert np.abs(z_scores(kernels, arc_cosine.ntk(x, depth=1, width=25))).max() > 4.5


@pytest.mark.parametrize("depth", [2, 3])
def test_wide_deep_networks_have_the_mean_of_the_recursion(depth):
    x, rng = points(4, 5), stream("arc-cosine", "wide", depth)
    kernels = [layered.ntk(*draw(rng, 5, depth, 300), x) for _ in range(40)]
    assert np.abs(z_scores(kernels, arc_cosine.ntk(x, depth=depth, width=300))).max() < 4.5
    for wrong in (depth - 1, depth + 1):  # a layer forgotten, a layer too many
        assert np.abs(z_scores(kernels, arc_cosine.ntk(x, depth=wrong, width=300))).max() > 8


def widest(x):
    """Kernels of 16 networks with one hidden layer of 20,000 uniform neurons, which differ by a per cent."""
    rng = stream("arc-cosine", "widest", "uniform", x.shape[1])
    return np.array([layered.ntk(*draw(rng, x.shape[1], 1, 20_000, "uniform"), x) for _ in range(16)])


def test_uniform_weights_have_the_same_limit_for_many_inputs_only():
    """The first layer's pre-activations are sums of d + 1 uniform terms; the limit for one input is known."""
    few, many = np.linspace(-1, 1, 5)[:, None], points(5, 50)
    close, off = (z_scores(widest(x), arc_cosine.ntk(x, depth=1, width=20_000)) for x in (many, few))
    assert np.abs(close).max() < 4.5 < 8 < np.abs(off).max()
    assert np.abs(z_scores(widest(few) - 1, wide_kernels.uniform(few[:, 0]).at(20_000))).max() < 4.5
