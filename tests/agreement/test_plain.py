"""The plain trainer against automatic differentiation and torch.optim: every activation, loss, rule and batch."""

import numpy as np
import pytest
import torch
from scipy.special import ndtr

from experiments.cyclic_labels import oracle
from shallow import nets
from shallow.stats import stream
from shallow.train import functions, minibatch, plain
from shallow.train.run import Diverged

ACTIVATIONS = {
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "tanh": torch.tanh,
    "erf": lambda z: torch.erf(z / 2**0.5),
}
LOSSES = {
    "hinge": lambda f, y: torch.relu(1 - y * f),
    "square": lambda f, y: (f - y) ** 2 / 2,
    "absolute": lambda f, y: (f - y).abs(),
    "bce": lambda f, y: torch.nn.functional.softplus(-y * f),
}
RULES = {"gd": torch.optim.SGD, "adam": torch.optim.Adam, "adadelta": torch.optim.Adadelta}


def problem(d=3, n=12, m=20):
    rng = stream("plain", d)
    x = rng.uniform(-0.5, 0.5, (n, d))
    return x, np.where(x[:, 0] > -0.1, 1.0, -1.0), nets.default(rng, m, d)


def by_torch(x, y, network, rows, *, activation="relu", loss="square", rule="gd", reduction="mean", step, decay=0.0):
    """Parameters after a step for every row of numbers of points."""
    W, b, v = parameters = oracle.tensors(network)
    optimizer = RULES[rule](parameters, lr=step, weight_decay=decay)
    for chosen in rows:
        optimizer.zero_grad()
        f = ACTIVATIONS[activation](torch.tensor(x[chosen]) @ W.T + b) @ v
        getattr(LOSSES[loss](f, torch.tensor(y[chosen])), reduction)().backward()
        optimizer.step()
    return [p.detach().numpy() for p in parameters]


def distance(network, parameters):
    return max(np.abs(a - b).max() for a, b in zip((network.W, network.b, network.v), parameters, strict=True))


@pytest.mark.parametrize(
    ("activation", "loss", "rule"),
    [("relu", "hinge", "adam"), ("gelu", "square", "gd"), ("tanh", "absolute", "adadelta"), ("erf", "bce", "adam")],
)
@pytest.mark.parametrize("d", [3, plain.PRODUCTS])
def test_steps_are_those_of_torch(activation, loss, rule, d):
    """Thirty full batches and thirty mini-batches, with decay; a twin without decay is told apart."""
    (x, y, network), options = problem(d), {"activation": activation, "loss": loss, "rule": rule}
    options |= {"step": 0.01 if rule == "adam" else 0.05, "decay": 0.1}
    found = plain.train(x, y, network, steps=30, **options).network
    assert distance(found, by_torch(x, y, network, [np.arange(12)] * 30, **options)) < 1e-11
    batched = plain.train(x, y, network, steps=30, batch=5, rng=stream("b"), reduction="sum", **options).network
    rows = minibatch.Batches(12, 5, stream("b")).take(30)
    assert distance(batched, by_torch(x, y, network, rows, reduction="sum", **options)) < 1e-11
    twin = plain.train(x, y, network, steps=30, **options | {"decay": 0.0}).network
    assert distance(twin, (found.W, found.b, found.v)) > 1e-5


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("options", [{}, {"decay": 0.1}, {"rates": nets.OUTPUT_ONLY}, {"rates": (0.5, 1.0, 0.0)}])
def test_groups_of_parameters_have_their_rates(d, options):
    x, y, network = problem(d)
    run = plain.train(x, y, network, step=0.01, steps=50, loss="hinge", reduction="sum", records=25, **options)
    wanted = oracle.train(x, y, network, step=0.01, epochs=50, **options)
    assert distance(run.network, (wanted.W, wanted.b, wanted.v)) < 1e-13
    assert list(run.steps) == [0, 25, 50] and np.array_equal(run.values[0].W, network.W)
    assert np.allclose(run.loss, [np.maximum(0, 1 - y * one.forward(x)).sum() for one in run.values])


def test_matrix_products_take_some_points_at_a_time():
    """The gradient of three blocks of points, the last of them shorter, is that of automatic differentiation."""
    x, y, network = problem(9, 10_001, 128)
    assert -(-len(x) // (plain._BLOCK // network.width)) == 3
    gradient, loss = plain.gradient(x, y, network, activation="gelu", loss="bce")
    W, b, v = parameters = oracle.tensors(network)
    wanted = LOSSES["bce"](ACTIVATIONS["gelu"](torch.tensor(x) @ W.T + b) @ v, torch.tensor(y)).mean()
    wanted.backward()
    assert distance(gradient, [p.grad.numpy() for p in parameters]) < 1e-15 and abs(loss - wanted.item()) < 1e-13


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations_and_slopes_on_the_whole_line(activation):
    z = np.concatenate([np.linspace(-14, 14, 4001), [-100.0, 100.0]])
    value, slope = np.array([functions.activation(activation)(one) for one in z]).T
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    exact = {
        "relu": (np.maximum(z, 0), z > 0),
        "gelu": (z * ndtr(z), ndtr(z) + z * density),
        "tanh": (np.tanh(z), 1 - np.tanh(z) ** 2),
        "erf": (2 * ndtr(z) - 1, 2 * density),
    }[activation]
    np.testing.assert_allclose(value, exact[0], rtol=1e-14, atol=3e-13)
    np.testing.assert_allclose(slope, exact[1], rtol=1e-14, atol=3e-13)


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_and_slopes_with_their_kinks(loss):
    for y in (-1.0, 1.0):
        f = torch.linspace(-3, 3, 25, dtype=torch.float64, requires_grad=True)  # -1 and 1 are among them
        wanted = LOSSES[loss](f, torch.tensor(y))
        (slopes,) = torch.autograd.grad(wanted.sum(), f)
        found = [functions.compare(functions.LOSSES.index(loss), one, y) for one in f.tolist()]
        np.testing.assert_allclose(found, torch.stack([wanted, slopes], dim=1).detach(), rtol=1e-14, atol=1e-15)


def test_measures_and_chunks_do_not_change_the_path():
    """Adam's correction for the age of its averages goes on over the calls of the compiled core."""
    (x, y, network), options = problem(), {"step": 0.003, "steps": 60, "rule": "adam", "batch": 4}
    once = plain.train(x, y, network, rng=stream("b"), **options).network
    often = plain.train(x, y, network, rng=stream("b"), records=[0, 7, 31], measure=lambda one: one.b.sum(), **options)
    assert np.array_equal(often.network.W, once.W) and often.values[0] == network.b.sum() and len(often.loss) == 3


def test_networks_side_by_side_are_those_alone():
    x, y, first = problem()
    networks, rngs = [first, nets.default(stream("other"), 7, 3)], [stream("b", 0), stream("b", 1)]
    options = {"step": 0.1, "steps": 40, "batch": 5, "loss": "bce"}
    runs = plain.train_each(x, y, networks, rngs=rngs, jobs=2, **options)
    for r, run in enumerate(runs):
        alone = plain.train(x, y, networks[r], rng=stream("b", r), **options)
        assert np.array_equal(run.network.W, alone.network.W) and np.array_equal(run.loss, alone.loss)
    assert not np.array_equal(plain.train_each(x, y, networks[:1], rngs=rngs[1:], **options)[0].loss, runs[0].loss)
    with pytest.raises(ValueError, match="^rngs must hold 2"):
        plain.train_each(x, y, networks, rngs=rngs[:1], **options)
    with pytest.raises(Diverged):
        plain.train_each(x, y, networks, step=1e200, steps=50)


def test_a_run_that_diverges_says_so_or_ends():
    x, y, network = problem()
    with pytest.raises(Diverged):
        plain.train(x, y, network, step=1e200, steps=50)
    short = plain.train(x, y, network, step=50.0, steps=100, records=1, largest=1e6)
    assert 1 <= len(short.values) == len(short.loss) == len(short.steps) < 50 and (short.loss < 1e6).all()
