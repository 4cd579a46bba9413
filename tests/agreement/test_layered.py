"""Kernels of deep networks, layer by layer, against contracted Jacobians of automatic differentiation."""

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.authors_programs.files import difference
from shallow import mlp
from shallow.kernels import layered, plain
from shallow.stats import stream

WIDTHS = [(3, 1, 1), (1, 6, 1), (7, 5, 4, 1), (4, 6, 3, 5, 1), (7, 16, 16, 16, 16, 1)]


def draw(widths, name="network"):
    """A network with normal parameters of about the usual size, as lists of NumPy arrays."""
    rng = stream("layered", name, *widths)
    weights = [rng.normal(size=(b, a)) / a**0.5 for a, b in zip(widths, widths[1:], strict=False)]
    return weights, [rng.normal(size=len(W)) / 2 for W in weights]


def points(n, d, name="points"):
    return stream("layered", name, n, d).normal(size=(n, d))


def jacobian(weights, biases, x, output="logit") -> list[np.ndarray]:
    """Gradients of one point after the other by torch.func, one matrix (n, parameters) per layer."""

    def value(parameters, point):
        for W, b in parameters[:-1]:
            point = torch.relu(W @ point + b)
        W, b = parameters[-1]
        logit = (W @ point + b)[0]
        return logit if output == "logit" else torch.sigmoid(logit)

    parameters = [tuple(map(torch.as_tensor, pair)) for pair in zip(weights, biases, strict=True)]
    rows = [torch.func.grad(value)(parameters, point) for point in torch.as_tensor(x)]
    return [np.array([np.concatenate([row[k][0].ravel(), row[k][1]]) for row in rows]) for k in range(len(weights))]


@pytest.mark.parametrize("output", layered.OUTPUTS)
@pytest.mark.parametrize("widths", WIDTHS)
def test_kernel_is_the_contracted_jacobian(widths, output):
    network, x, z = draw(widths), points(9, widths[0]), points(6, widths[0], "others")
    left, right = jacobian(*network, x, output), jacobian(*network, z, output)
    assert difference(layered.ntk(*network, x, z, output=output), sum(J @ G.T for J, G in zip(left, right))) < 1e-13
    assert difference(layered.ntk(*network, x, output=output), sum(J @ J.T for J in left)) < 1e-13
    assert difference(layered.jacobian(*network, x, output=output), np.hstack(left)) < 1e-13
    assert difference(layered.diagonal(*network, x, output=output), sum((J**2).sum(axis=1) for J in left)) < 1e-13
    for layer, J in enumerate(left, start=1):
        of_layer = layered.ntk(*network, x, output=output, trainable=[layer])
        assert difference(of_layer, J @ J.T) < 1e-13
    frozen = layered.ntk(*network, x, z, output=output, trainable=range(2, len(left) + 1))
    assert difference(frozen, sum(J @ G.T for J, G in zip(left[1:], right[1:]))) < 1e-13


@pytest.mark.parametrize("widths", [widths for widths in WIDTHS if len(widths) > 2])
def test_the_formula_in_numpy_is_the_contracted_jacobian(widths):
    networks, x, z = [draw(widths, name) for name in "ab"], points(9, widths[0]), points(6, widths[0], "others")
    found, square = (plain.ntk(mlp.stacked(networks), x, other) for other in (z, None))
    for network, kernel, own in zip(networks, found, square, strict=True):
        left, right = (np.hstack(jacobian(*network, inputs)) for inputs in (x, z))
        assert difference(kernel, left @ right.T) < 1e-13
        assert difference(own, left @ left.T) < 1e-13


@settings(max_examples=30, deadline=None)
@given(
    widths=st.lists(st.integers(1, 9), min_size=2, max_size=5),
    sizes=st.tuples(st.integers(1, 13), st.integers(1, 13)),
    block=st.integers(1, 15),
    output=st.sampled_from(layered.OUTPUTS),
    seed=st.integers(0, 2**32),
)
def test_any_shape_and_any_blocks(widths, sizes, block, output, seed):
    rng, widths = np.random.default_rng(seed), [*widths, 1]
    weights = [rng.integers(-2, 3, (b, a)).astype(float) for a, b in zip(widths, widths[1:], strict=False)]
    biases = [rng.integers(-1, 2, len(W)) / 2 for W in weights]  # many pre-activations are exactly zero
    x, z = (rng.integers(-2, 3, (n, widths[0])) / 2 for n in sizes)
    left, right = (np.hstack(jacobian(weights, biases, points, output)) for points in (x, z))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layered, "_BLOCK", block)
        square, cross = (layered.ntk(weights, biases, x, other, output=output) for other in (None, z))
    assert np.abs(square - left @ left.T).max() <= 1e-12 * max(1, np.abs(left @ left.T).max())
    assert np.abs(cross - left @ right.T).max() <= 1e-12 * max(1, np.abs(left @ right.T).max())
    assert np.array_equal(square, square.T)


def test_number_types_and_parameters_of_modules():
    modules = [torch.nn.Linear(7, 20), torch.nn.Linear(20, 20), torch.nn.Linear(20, 1)]
    network = [m.weight for m in modules], [m.bias for m in modules]
    x = torch.as_tensor(points(50, 7), dtype=torch.float32)
    double = layered.ntk(*network, x)
    single = layered.ntk(*network, x, dtype=torch.float32)
    assert (double.dtype, single.dtype) == (np.float64, np.float32)
    assert 0 < difference(single, double) < 1e-6


def test_confident_probabilities_keep_their_digits():
    """p(1 - p) at logits of 60, where 1 - p is zero in floating point."""
    weights, biases = [np.ones((1, 1)), np.ones((1, 1))], [np.zeros(1), np.zeros(1)]
    x = np.array([[1.0], [60.0]])
    logit, probability = (layered.ntk(weights, biases, x, output=output) for output in layered.OUTPUTS)
    slope = 1 / (np.exp(x) + 2 + np.exp(-x))
    assert np.abs(probability / (slope * logit * slope.T) - 1).max() < 1e-13
    assert probability[1, 1] > 0


WEIGHTS, X = [np.ones((3, 2)), np.ones((4, 3)), np.ones((1, 4))], np.ones((5, 2))
BIASES = [np.ones(len(W)) for W in WEIGHTS]


@pytest.mark.parametrize(
    ("weights", "biases"),
    [
        (WEIGHTS[2:], BIASES[2:]),  # one layer
        (WEIGHTS[:2], BIASES[:2]),  # two outputs
        ([WEIGHTS[0], WEIGHTS[2]], [BIASES[0], BIASES[2]]),  # that do not chain
        (WEIGHTS, BIASES[:2]),
        (WEIGHTS, [np.ones(2), *BIASES[1:]]),
        (WEIGHTS, [np.array([np.nan, 1.0, 1.0]), *BIASES[1:]]),
    ],
)
def test_what_is_no_network_is_refused(weights, biases):
    with pytest.raises(ValueError, match="^weights and biases"):
        layered.ntk(weights, biases, X)
    assert layered.ntk(WEIGHTS, BIASES, X).shape == (5, 5)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("biases", {"biases": [*BIASES[:2], None]}),
        ("biases", {"biases": None}),
        ("weights", {"weights": torch.nn.Sequential(torch.nn.Linear(2, 1))}),
        ("weights", {"weights": [W[::-1] for W in WEIGHTS]}),
        ("weights", {"weights": [torch.ones(W.shape, dtype=torch.bfloat16) for W in WEIGHTS]}),
        ("x", {"x": X[::-1]}),
        ("x", {"x": pd.DataFrame(X)}),
    ],
)
def test_what_pytorch_does_not_take_is_refused_by_name(name, change):
    with pytest.raises(ValueError, match=f"^{name} must"):
        layered.ntk(**{"weights": WEIGHTS, "biases": BIASES, "x": X} | change)


def test_a_module_gives_its_parameters_if_it_is_a_network_of_relus():
    first, relu, last, x = torch.nn.Linear(7, 5), torch.nn.ReLU(), torch.nn.Linear(5, 1), points(6, 7)
    module = torch.nn.Sequential(first, relu, last)
    found = mlp.stacked([mlp.of_module(module)]).forward(x)[0]
    assert found == pytest.approx(module(torch.as_tensor(x).float())[:, 0].detach().numpy(), abs=1e-6)
    others = ([first, torch.nn.GELU(), last], [first, relu, torch.nn.Linear(5, 1, bias=False)], [first, relu], [last])
    for layers in others:
        with pytest.raises(ValueError, match="^network must"):
            mlp.of_module(torch.nn.Sequential(*layers))
