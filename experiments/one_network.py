r"""The network of the page "One network, every measure": gradient descent with three activations, and its kernel.

.. math:: f(x) = \sum_{j=1}^m v_j\,\sigma(w_j \cdot x + b_j), \qquad L = \frac{1}{2n} \sum_{k=1}^n (f(x_k) - y_k)^2

with $\sigma$ the ReLU, the GeLU $z\,\Phi(z)$ or tanh.  All parameters move, by full-batch steps of one size, in double
precision.  The trainers of :mod:`shallow.train` are made for one chapter each; this one is slow, and the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from shallow.nets import TwoLayer

Arrays = tuple[np.ndarray, np.ndarray]


def _relu(z: np.ndarray) -> Arrays:
    return np.maximum(z, 0.0), (z > 0).astype(z.dtype)


def _gelu(z: np.ndarray) -> Arrays:
    below = special.ndtr(z)
    return z * below, below + z * np.exp(-0.5 * z * z) / (2 * np.pi) ** 0.5


def _tanh(z: np.ndarray) -> Arrays:
    value = np.tanh(z)
    return value, 1 - value * value


#: $\sigma$ and $\sigma'$ by name, elementwise.
ACTIVATIONS: dict[str, Callable[[np.ndarray], Arrays]] = {"relu": _relu, "gelu": _gelu, "tanh": _tanh}


@dataclass(frozen=True)
class Run:
    """One training run.

    Attributes:
        steps: recorded steps, shape (R,), without those after a divergence.
        loss: mean square of the residuals at the records, without the factor 1/2, shape (R,).
        networks: the network at every record, a list of length R.
        finished: False where training stopped because the loss exceeded `LARGEST`.
    """

    steps: np.ndarray
    loss: np.ndarray
    networks: list[TwoLayer]
    finished: bool


#: A mean square beyond which a run is taken to diverge; labels have mean square 1.
LARGEST = 1e6


def initial(rng: np.random.Generator, width: int, inputs: int, scale: float) -> TwoLayer:
    r"""$W_{ij} \sim N(0, \alpha^2/d)$, $v_j \sim N(0, \alpha^2/m)$, no biases at first; W is drawn first.

    For the ReLU the output is that of scale 1 times $\alpha^2$.
    """
    if not (np.isfinite(scale) and scale > 0):
        raise ValueError(f"scale must be positive and finite, got {scale}")
    W, v = rng.standard_normal((width, inputs)), rng.standard_normal(width)
    return TwoLayer(scale / inputs**0.5 * W, np.zeros(width), scale / width**0.5 * v)


def gradient(x: np.ndarray, y: np.ndarray, network: TwoLayer, activation: str = "relu") -> tuple[TwoLayer, float]:
    """The gradient of L in (W, b, v), in the form of a network, and the mean square; about 4 n m d operations."""
    value, slope = _activated(x, network, activation)
    residual = value @ network.v - y
    by_output = residual @ value / len(y)
    slope *= residual[:, None]
    slope *= network.v / len(y)
    return TwoLayer(slope.T @ x, slope.sum(axis=0), by_output), float(residual @ residual / len(y))


def train(
    x: np.ndarray, y: np.ndarray, network: TwoLayer, *, step: float, records: Sequence[int], activation: str = "relu"
) -> Run:
    """Full-batch gradient descent to the last of the ascending `records`; all three parameter groups move.

    Raises:
        ValueError: for data that do not fit the network, an unknown activation, or a bad step or records.
    """
    records = np.asarray(records)
    if not (np.isfinite(step) and step > 0):
        raise ValueError(f"step must be positive and finite, got {step}")
    if records.ndim != 1 or not len(records) or records[0] < 0 or (np.diff(records) <= 0).any():
        raise ValueError(f"records must be ascending steps from 0 on, got {records}")
    loss, networks, wanted = [], [], set(records.tolist())
    for t in range(int(records[-1]) + 1):
        G, now = gradient(x, y, network, activation)
        if not now < LARGEST:
            break
        if t in wanted:
            loss.append(now)
            networks.append(network)
        network = TwoLayer(network.W - step * G.W, network.b - step * G.b, network.v - step * G.v)
    return Run(records[: len(loss)], np.array(loss), networks, len(loss) == len(records))


def forward(x: np.ndarray, network: TwoLayer, activation: str = "relu") -> np.ndarray:
    """f at x of shape (n, d); shape (n,)."""
    return _activated(x, network, activation)[0] @ network.v


def ntk(network: TwoLayer, x: np.ndarray, z: np.ndarray | None = None, activation: str = "relu") -> np.ndarray:
    r"""Tangent kernel $\sum_j \sigma(h_j) \sigma(h'_j) + v_j^2 \sigma'(h_j) \sigma'(h'_j) (x \cdot z + 1)$, (n, n')."""
    value, slope = _activated(x, network, activation)
    other, other_slope = (value, slope) if z is None else _activated(z, network, activation)
    z = x if z is None else z
    return value @ other.T + ((slope * network.v**2) @ other_slope.T) * (x @ z.T + 1)


def passing(times: np.ndarray, values: np.ndarray, mark: float) -> float:
    """The first time at which values reach the mark, interpolated between records; infinite if they never do."""
    reached = np.flatnonzero(np.asarray(values) >= mark)
    if not len(reached):
        return float("inf")
    k = int(reached[0])
    if k == 0:
        return float(times[0])
    share = (mark - values[k - 1]) / (values[k] - values[k - 1])
    return float(times[k - 1] + share * (times[k] - times[k - 1]))


def _activated(x: np.ndarray, network: TwoLayer, activation: str) -> Arrays:
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {activation!r}")
    if np.ndim(x) != 2 or np.shape(x)[1] != network.W.shape[1]:
        raise ValueError(f"x must have shape (n, {network.W.shape[1]}), got {np.shape(x)}")
    return ACTIVATIONS[activation](x @ network.W.T + network.b)
