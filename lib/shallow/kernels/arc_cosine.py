r"""Tangent kernels of infinitely wide ReLU networks of any depth and any number of inputs, in closed form.

For a centred normal pair (u, v) with variances $q, q'$ and correlation $\cos\vartheta$

.. math:: \mathbb E[\mathrm{ReLU}(u)\,\mathrm{ReLU}(v)] = \frac{\sqrt{q q'}}{2\pi}
   \bigl(\sin\vartheta + (\pi - \vartheta)\cos\vartheta\bigr), \qquad P(u > 0, v > 0) = \frac{\pi - \vartheta}{2\pi}

(Cho and Saul 2009), and in a wide network the pre-activations of a layer at two points are such pairs, whose covariance
follows from the layer below.  The kernel depends on x and z by $|x|$, $|z|$ and $x \cdot z$ alone: it is invariant
under orthogonal maps of *both* points, and under a map of one of them, a flip of a sign say, it is not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shallow import checks
from shallow.display import short


class Moments(NamedTuple):
    """Expectations for a normal pair: of the product of the activations, and that both are active."""

    product: np.ndarray
    active: np.ndarray

    __repr__ = short


def moments(first: np.ndarray, covariance: np.ndarray, second: np.ndarray) -> Moments:
    """The two expectations for variances `first` and `second` and their covariance, arrays that broadcast.

    The angle comes with an absolute error of about 1e-8 where it is small.  Variances whose products leave the range of
    numbers are divided by powers of four first, and the covariance by the powers of two.
    """
    checks.numbers(first=first, covariance=covariance, second=second)
    parts = first, covariance, second
    first, covariance, second = (np.asarray(one, dtype=np.result_type(one, np.float32)) for one in parts)
    ends = [end for one in (first, second) for end in (one.min(initial=1), one.max(initial=1))]
    if not all(1e-15 < end < 1e15 for end in ends):
        units = [np.ldexp(one.dtype.type(1), np.frexp(one)[1] // 2) for one in (first, second)]
        both = units[0] * units[1]
        if (both != 1).any():
            pair = moments(first / units[0] ** 2, covariance / both, second / units[1] ** 2)
            return Moments(both * pair.product, pair.active)
    norms = first * second
    sine = np.sqrt(np.maximum(norms - covariance**2, 0))
    angle = np.arctan2(sine, covariance)
    return Moments((sine + (np.pi - angle) * covariance) / (2 * np.pi), (np.pi - angle) / (2 * np.pi))


def ntk(x: np.ndarray, z: np.ndarray | None = None, *, depth: int, width: int) -> np.ndarray:
    r"""The kernel of the logit in PyTorch's default scaling, to leading order in the width m; shape (n, n').

    Weights and biases of a layer with k inputs have variance 1/(3k).  With $H_0 = x \cdot z$ and
    $H_l = m\,\mathbb E[\mathrm{ReLU}(u)\,\mathrm{ReLU}(v)]$ of pairs with covariance $(H_{l-1} + 1)/(3 k_l)$, $k_1 = d$
    and $k_l = m$ beyond,

    .. math:: K_0 = H_0 + 1, \qquad K_l = \tfrac13 P_l(u > 0, v > 0)\,K_{l-1} + H_l + 1, \qquad K = K_\mathrm{depth} .

    With normal weights this is the expectation at every width for one hidden layer, and up to a relative error of order
    1/m for more.  The default weights are uniform: pre-activations of the *first* layer are then normal for many inputs
    only, at any width, and the kernel has neither quite this value nor quite the invariance under rotations.

    Args:
        x, z: inputs of shape (n, d) and (n', d), up to 1e150; z defaults to x.
        depth: number of hidden layers.
        width: neurons m in each.  K/m converges for a large width.

    Cost: O(n n' (d + depth)).
    """
    z = x if z is None else z
    checks.array(("n", "d"), x=x)
    checks.array(("n", np.shape(x)[1]), z=z)
    checks.integers(1, depth=depth, width=width)
    x, z = np.asarray(x, dtype=np.float64), np.asarray(z, dtype=np.float64)
    checks.within("[-1e150, 1e150]", x=x, z=z)  # the kernel grows with their squares
    products, kernel, fan_in = [(x**2).sum(axis=1)[:, None], x @ z.T, (z**2).sum(axis=1)], x @ z.T + 1, x.shape[1]
    for _ in range(depth):
        first, covariance, second = ((product + 1) / (3 * fan_in) for product in products)
        pair = moments(first, covariance, second)
        products, fan_in = [width * first / 2, width * pair.product, width * second / 2], width
        kernel = pair.active / 3 * kernel + products[1] + 1
    return kernel
