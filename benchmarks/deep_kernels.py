"""The tangent kernel of a deep network: the sum over layers of this book, and contracted Jacobians by autograd.

Each method takes a network (weights, biases) in the shapes of `shallow.mlp.Stack.network`, and inputs x,
and returns `run()`, which returns the symmetric kernel matrix of all points in single precision.  The last
release of neural-tangents, 0.6.5, does not load with the JAX of the extra `bench`.
"""

import numpy as np
import torch

from benchmarks import timing
from shallow import mlp
from shallow.kernels import layered
from shallow.stats import stream

#: Widths and number of points: the networks of the chapter's two parts, with P = 8,897 and 52,225 parameters.
CASES = [((7, 64, 64, 64, 1), 500), ((7, 64, 64, 64, 1), 2000), ((100, 512, 1), 500)]


def sequential(weights, biases):
    """A network in PyTorch with ReLU between its layers."""
    layers = [torch.nn.Linear(*W.shape[::-1]) for W in weights]
    for layer, W, b in zip(layers, weights, biases):
        layer.weight.data, layer.bias.data = torch.tensor(W), torch.tensor(b)
    return torch.nn.Sequential(*[part for layer in layers for part in (layer, torch.nn.ReLU())][:-1])


def problem(widths, n):
    """A network at its default initialisation, and normal inputs."""
    x = stream("benchmark", "deep kernels", n).standard_normal((n, widths[0])).astype(np.float32)
    return *mlp.default([stream("benchmark", "deep kernels")], widths).network(0), x


def torch_func(weights, biases, x):
    """As in PyTorch's tutorial: vmap and jacrev of the functional network, contracted parameter by parameter."""
    model = sequential(weights, biases)
    parameters, inputs = {name: p.detach() for name, p in model.named_parameters()}, torch.tensor(x)

    def output(parameters, point):
        return torch.func.functional_call(model, parameters, (point[None],))[0, 0]

    def run():
        rows = torch.func.vmap(torch.func.jacrev(output), (None, 0))(parameters, inputs)
        return sum(J.flatten(1) @ J.flatten(1).T for J in rows.values()).numpy()

    return run


def jax_compiled(weights, biases, x):
    """The same in JAX, compiled."""
    import jax
    import jax.numpy as jnp

    parameters, inputs = [tuple(map(jnp.asarray, layer)) for layer in zip(weights, biases)], jnp.asarray(x)

    def output(parameters, point):
        *hidden, (W, b) = parameters
        for V, c in hidden:
            point = jax.nn.relu(V @ point + c)
        return (W @ point + b)[0]

    @jax.jit
    def kernel(parameters, inputs):
        rows = jax.vmap(jax.grad(output), (None, 0))(parameters, inputs)
        flat = [J.reshape(len(inputs), -1) for J in jax.tree.leaves(rows)]
        return sum(J @ J.T for J in flat)

    return lambda: np.asarray(kernel(parameters, inputs))


def by_layers(weights, biases, x):
    """The sum over layers of this book."""
    return lambda: layered.ntk(weights, biases, x, dtype=torch.float32)


METHODS = {"torch.func": torch_func, "JAX": jax_compiled, "by layers": by_layers}


def measure(rounds: int, threads: int) -> list[dict]:
    """Milliseconds of a kernel by method, widths and number of points.

    The first run of a method compiles, is checked against the kernel in double precision and is not counted.
    """
    cases = []
    for widths, n in CASES:
        given = problem(widths, n)
        expected = layered.ntk(*given)
        for name, make in timing.available(METHODS).items():
            run = make(*given)
            assert np.abs(run() - expected).max() < 1e-4 * expected.max(), (name, widths, n)
            cases.append(({"method": name, "widths": widths, "n": n, "threads": threads}, run, 1))
    return timing.timed(cases, rounds, 1e3)
