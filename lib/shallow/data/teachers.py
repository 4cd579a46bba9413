r"""Small teachers and their inputs: $y = h^*(x) + \eta$ with a linear or a ReLU teacher and symmetric inputs x.

Both kinds of teacher are two-layer ReLU networks without biases: $\langle\beta, x\rangle = \sigma(\langle\beta,
x\rangle) - \sigma(-\langle\beta, x\rangle)$.  What is known in closed form for a ReLU teacher holds for a linear one.
Source: Boursier and Flammarion, "Simplicity bias and optimization threshold in two-layer ReLU networks", eq. (7),
Assumption 1 and Appendix A.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import integrate

from shallow import checks
from shallow.display import short
from shallow.nets import TwoLayer

#: Variance of the label noise, our choice: the document's number is lost.
NOISE = 0.09


class Sample(NamedTuple):
    """Inputs x of shape (n, d) and noisy labels y of shape (n,), float64."""

    x: np.ndarray
    y: np.ndarray

    __repr__ = short


def linear(beta: np.ndarray) -> TwoLayer:
    r"""The linear teacher $\langle\beta, x\rangle$ as two ReLU neurons; beta has shape (d,)."""
    checks.array(("d",), beta=beta)
    beta = np.asarray(beta, dtype=np.float64)
    return TwoLayer(np.stack([beta, -beta]), np.zeros(2), np.array([1.0, -1.0]))


def first_axis(d: int) -> TwoLayer:
    r"""The linear teacher $\beta^* = e_1$ in dimension d."""
    checks.integers(1, d=d)
    return linear(np.eye(d)[0])


def relu(rng: np.random.Generator, units: int, d: int) -> TwoLayer:
    r"""$\sum_{i \le k} a_i^* \sigma(\langle w_i^*, x\rangle)$, all parameters N(0, 1); w* first (Appendix A.3)."""
    checks.generators(rng=rng)
    checks.integers(1, units=units, d=d)
    W = rng.standard_normal((units, d))
    return TwoLayer(W, np.zeros(units), rng.standard_normal(units))


def labelled(rng: np.random.Generator, teacher: TwoLayer, x: np.ndarray, noise: float = NOISE) -> Sample:
    r"""The sample (x, h*(x) + eta) with Gaussian eta of variance `noise`."""
    checks.generators(rng=rng)
    checks.not_negative(noise=noise)
    return Sample(x, teacher.forward(x) + noise**0.5 * rng.standard_normal(len(x)))


def gaussian(rng: np.random.Generator, teacher: TwoLayer, n: int, noise: float = NOISE) -> Sample:
    """n points with inputs N(0, I_d), d that of the teacher; the inputs are drawn first."""
    checks.generators(rng=rng)
    checks.integers(1, n=n)
    return labelled(rng, teacher, rng.standard_normal((n, teacher.W.shape[1])), noise)


def with_margin(rng: np.random.Generator, n: int, d: int, c: float, *, whiten: bool = False) -> np.ndarray:
    r"""n inputs N(0, I_d) conditioned on $|x_1| \ge c\|x\|$, the margin of Assumption 1 for $\beta^* = e_1$; (n, d).

    Args:
        c: the margin, in [0, 1).
        whiten: divide every coordinate by its exact standard deviation (:func:`variances`), so that
            $\mathbb E xx^\top = I$; the margin is then :func:`whitened_margin`.

    Cost: rejection, about $1/P(|x_1| \ge c\|x\|)$ draws per point; the probability falls quickly once $c \sqrt d > 1$.
    """
    checks.generators(rng=rng)
    checks.within("[0, 1)", c=c)
    checks.integers(1, n=n, d=d)
    kept, missing = [], n
    while missing > 0:
        x = rng.standard_normal((2 * missing + 16, d))
        kept.append(x[np.abs(x[:, 0]) >= c * np.linalg.norm(x, axis=1)][:missing])
        missing -= len(kept[-1])
    x = np.concatenate(kept)
    return x / np.sqrt(variances(d, c)) if whiten else x


def variances(d: int, c: float) -> np.ndarray:
    r"""Diagonal of $\Sigma = \mathbb E xx^\top$ of :func:`with_margin` (not whitened), shape (d,).

    With $t = x_1/\|x\|$, of density proportional to $(1 - t^2)^{(d-3)/2}$ and independent of $\|x\|$,
    $\Sigma_{11} = d\,\mathbb E[t^2 \mid |t| \ge c]$ and $\Sigma_{jj} = (d - \Sigma_{11}) / (d - 1)$.
    """
    checks.within("[0, 1)", c=c)
    checks.integers(1, d=d)
    if d == 1:
        return np.ones(1)

    def moment(power: int) -> float:  # t = sin(angle) removes the singularity of d = 2
        return integrate.quad(lambda angle: np.sin(angle) ** power * np.cos(angle) ** (d - 2), np.arcsin(c), np.pi / 2)[
            0
        ]

    first = d * moment(2) / moment(0)
    return np.array([first, *[(d - first) / (d - 1)] * (d - 1)])


def whitened_margin(d: int, c: float) -> float:
    r"""The margin after whitening, $\rho c / \sqrt{\rho^2 c^2 + 1 - c^2}$ with $\rho^2 = \Sigma_{22}/\Sigma_{11}$."""
    sigma = variances(d, c)
    ratio = 1.0 if d == 1 else sigma[1] / sigma[0]
    return float(np.sqrt(ratio * c**2 / (ratio * c**2 + 1 - c**2)))
