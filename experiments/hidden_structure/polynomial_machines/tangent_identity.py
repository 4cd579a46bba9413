r"""A linear machine on the gradients of a network and a kernel machine on their Gram matrix are one (Section 2).

The gradients by automatic differentiation are compared with the closed form, layer by layer; ridge regression on the
gradients with kernel ridge regression on the closed form of the Gram matrix.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr

from experiments.hidden_structure import hidden_index, shells
from shallow import checks, mlp
from shallow.kernels import layered
from shallow.kernels.ridge import RidgePath, solve
from shallow.stats import stream

NETWORKS = {"100-32-1": (100, 32, 1), "7-16-16-16-1": (7, 16, 16, 16, 1)}
RIDGE = 1e-3


def same_learner(seed: int, shape: str, *, points: int = 200, new: int = 100, dropped: int = 0) -> xr.Dataset:
    """A random network on the data of its task, in float64.

    Args:
        shape: a name of :data:`NETWORKS`; 100 inputs are those of a polynomial of degree 3, 7 are those of orthants.
        dropped: columns left out of the gradients on one side, so that the learners differ.

    Returns `jacobian`, `gram`: relative errors of the closed forms in the Frobenius norm; `asymmetry` of the Gram
    matrix; `smallest`, its smallest eigenvalue over the largest; `predictions`: largest difference of the two machines
    over the largest prediction.
    """
    checks.one_of(NETWORKS, shape=shape)
    widths = NETWORKS[shape]
    network = mlp.default([stream("tangent identity", shape, seed)], widths, dtype=np.float64).network(0)
    x, y = _data(seed, widths[0], points + new)
    automatic, closed = gradients(*network, x), layered.jacobian(*network, x)
    kernel = layered.ntk(*network, x)
    features = automatic[:, dropped:]
    inside = features[:points]
    linear = features[points:] @ solve(inside.T @ inside, inside.T @ y[:points], RIDGE)
    path = RidgePath(kernel[:points, :points], y[:points])
    by_kernel = path.values(kernel[points:, :points], np.array([RIDGE]))[:, 0]
    eigenvalues = np.linalg.eigvalsh(kernel)
    return xr.Dataset(
        {
            "jacobian": _relative(automatic, closed),
            "gram": _relative(automatic @ automatic.T, kernel),
            "asymmetry": float(np.abs(kernel - kernel.T).max()),
            "smallest": float(eigenvalues[0] / eigenvalues[-1]),
            "predictions": float(np.abs(linear - by_kernel).max() / np.abs(by_kernel).max()),
        }
    )


def _data(seed: int, inputs: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    if inputs == shells.DIMENSION:
        drawn = shells.draw(seed).train[:count]
        return drawn.x, 2.0 * drawn.label - 1
    drawn = hidden_index.draw("independent", seed)
    return drawn.x[:count], hidden_index.polynomial(3)(drawn.v[:count])


def gradients(
    weights: Sequence[np.ndarray], biases: Sequence[np.ndarray], x: np.ndarray, output: str = "logit"
) -> np.ndarray:
    """Gradients of an output by torch.autograd, one point after the other, shape (n, P), in PyTorch's order."""
    parameters = [torch.tensor(part, requires_grad=True) for layer in zip(weights, biases) for part in layer]
    rows = []
    for point in torch.tensor(x):
        h = point
        for W, b in zip(parameters[:-2:2], parameters[1:-2:2]):
            h = torch.relu(W @ h + b)
        (logit,) = parameters[-2] @ h + parameters[-1]
        value = logit if output == "logit" else torch.sigmoid(logit)
        rows.append(torch.cat([part.ravel() for part in torch.autograd.grad(value, parameters)]))
    return torch.stack(rows).numpy()


def _relative(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))
