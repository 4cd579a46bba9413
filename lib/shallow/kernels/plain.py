r"""The tangent kernel of multilayer perceptrons, as its formula says, in NumPy alone.

With the notation of :mod:`shallow.kernels.layered`, which does the same for one network in blocks on PyTorch, faster
and in less memory, and can also leave layers out, differentiate a probability or compute in float32.
"""

from __future__ import annotations

import numpy as np

from shallow import checks
from shallow.mlp import Network, Stack


@checks.no_module
def ntk(networks: Stack, x: np.ndarray, z: np.ndarray | None = None) -> np.ndarray:
    r"""The kernel $\nabla_\theta f(x) \cdot \nabla_\theta f(z)$ of every network of a stack, in float64; (R, n, n').

    Args:
        networks: R networks with finite parameters.
        x, z: inputs of shape (n, m_0) and (n', m_0), up to 1e150; z defaults to x.

    Raises:
        ValueError: for inputs of another shape, and for numbers that are not finite.

    Cost: $\sum_l 2 n n' (m_l + m_{l-1})$ operations for each network in matrix products; memory for four arrays (n, n')
    and all activations.
    """
    checks.finite(networks=networks.parameters)
    z = x if z is None else z
    checks.array((None, networks.widths[0]), x=x, z=z)
    x, z = (np.asarray(points, dtype=np.float64) for points in (x, z))
    checks.within("[-1e150, 1e150]", x=x, z=z)  # the kernel grows with their squares
    kernels = np.zeros((len(networks), len(x), len(z)))
    for r, kernel in enumerate(kernels):
        for (delta, h), (other_delta, other_h) in zip(
            _factors(networks.network(r), x), _factors(networks.network(r), z)
        ):
            kernel += (delta @ other_delta.T) * (h @ other_h.T + 1)
    return kernels


def _factors(network: Network, x: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    r"""$\delta_l$, shape (n, m_l), and $h_{l-1}$, shape (n, m_{l-1}), from the last layer to the first."""
    weights, biases = network
    h = [x]
    for W, b in zip(weights[:-1], biases[:-1]):
        h.append(np.maximum(h[-1] @ W.T + b, 0))
    delta, found = np.ones((len(x), 1)), []
    for W, inputs in zip(weights[::-1], h[::-1]):
        found.append((delta, inputs))
        delta = (delta @ W) * (inputs > 0)
    return found
