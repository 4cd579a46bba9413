r"""Networks written down, not trained, that fold the shells: what one, two and more hidden layers can represent.

The squared folded radius is a sum over coordinates.  With $\varphi$, the interpolant of $(t - 4)^2$ at 2, 3, 4, 5, 6,

.. math:: f(x) = \sum_i \varphi(|x_i|), \qquad \varphi(t) = 10 - 3 t + 2 \sum_{b = 3, 4, 5} \mathrm{ReLU}(t - b)
   \quad (2 \le t \le 6),

lies in [1, 2.75] on the shells of class 0 and in [4, 5.75] on those of class 1, in every orthant.
"""

from __future__ import annotations

import numpy as np

from experiments.hidden_structure import shells
from shallow import checks, mlp
from shallow.mlp import Stack

KNOTS = (3.0, 4.0, 5.0)
#: The logit is f minus this, half way between the classes.
MIDDLE = 3.375
_EYE = np.eye(shells.DIMENSION)


def folding_network(depth: int) -> Stack:
    r"""The fold with so many hidden layers, as a stack of one.

    One layer holds $\mathrm{ReLU}(\pm x_i - b)$ for b = 0, 3, 4, 5, 56 units.  With two, the first holds
    $\mathrm{ReLU}(\pm x_i)$, 14 units, and the second, 22 units, is a function of the absolute values alone; the
    third layer is f, and further ones hand it on.
    """
    checks.integers(1, depth=depth)
    both = np.vstack([_EYE, -_EYE])
    if depth == 1:
        starts, slopes = (np.repeat(values, len(both)) for values in ([0.0, *KNOTS], [-3.0, 2.0, 2.0, 2.0]))
        offset = np.array([10.0 * shells.DIMENSION - MIDDLE])
        return _stack([(np.vstack([both] * (1 + len(KNOTS))), -starts), (slopes[None], offset)])
    absolute = np.hstack([_EYE, _EYE])
    second = np.vstack([absolute.sum(axis=0), *[absolute] * len(KNOTS)])
    starts, slopes = np.append(0.0, np.repeat(KNOTS, len(_EYE))), np.append(-3.0, np.full(len(second) - 1, 2.0))
    offset = 10.0 * shells.DIMENSION
    sums = [(slopes[None], np.array([offset - (MIDDLE if depth == 2 else 0.0)]))]
    if depth > 2:
        sums += [*[(np.ones((1, 1)), np.zeros(1))] * (depth - 3), (np.ones((1, 1)), np.array([-MIDDLE]))]
    return _stack([(both, np.zeros(len(both))), (second, -starts), *sums])


def _stack(layers: list[tuple[np.ndarray, np.ndarray]]) -> Stack:
    weights, biases = zip(*layers, strict=True)
    return mlp.stacked([(list(weights), list(biases))])
