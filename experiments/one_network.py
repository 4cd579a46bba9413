r"""The network of the page "One network, every measure": its start, its tangent kernel, and when it passes a mark.

.. math:: f(x) = \sum_{j=1}^m v_j\,\sigma(w_j \cdot x + b_j), \qquad L = \frac{1}{2n} \sum_{k=1}^n (f(x_k) - y_k)^2

with $\sigma$ the ReLU, the GeLU $z\,\Phi(z)$ or tanh.  All parameters move, by full-batch steps of one size, in double
precision: the trainer of the page is :mod:`shallow.train.plain`.
"""

from __future__ import annotations

import numpy as np

from shallow import checks
from shallow.nets import TwoLayer
from shallow.train import plain

#: A loss L beyond which a run is taken to diverge; labels have mean square 1.
LARGEST = 0.5e6


def initial(rng: np.random.Generator, width: int, inputs: int, scale: float) -> TwoLayer:
    r"""$W_{ij} \sim N(0, \alpha^2/d)$, $v_j \sim N(0, \alpha^2/m)$, no biases at first; W is drawn first.

    For the ReLU the output is that of scale 1 times $\alpha^2$.
    """
    checks.positive(scale=scale)
    W, v = rng.standard_normal((width, inputs)), rng.standard_normal(width)
    return TwoLayer(scale / inputs**0.5 * W, np.zeros(width), scale / width**0.5 * v)


def forward(x: np.ndarray, network: TwoLayer, activation: str = "relu") -> np.ndarray:
    """f at x of shape (n, d); shape (n,)."""
    return plain.hidden(x, network, activation)[0] @ network.v


def ntk(network: TwoLayer, x: np.ndarray, z: np.ndarray | None = None, activation: str = "relu") -> np.ndarray:
    r"""Tangent kernel $\sum_j \sigma(h_j) \sigma(h'_j) + v_j^2 \sigma'(h_j) \sigma'(h'_j) (x \cdot z + 1)$, (n, n')."""
    value, slope = plain.hidden(x, network, activation)
    other, other_slope = (value, slope) if z is None else plain.hidden(z, network, activation)
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
