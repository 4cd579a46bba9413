r"""Polynomials of a hidden direction: $y = p(v)$ with $v = \sum_j x_j$, seen through Gaussian inputs x.

The inputs are $N(0, I)$ (*independent*) or $N(0, I + \mathbf 1 \mathbf 1^\top)$ (*correlated*), scaled by
$s = 2 / \max_i |v_i|$ so that $|v| \le 2$ in the sample; the target is the monic polynomial with equally spaced roots
on $[-2, 2]$, both ends included.  It is even or odd as its degree.  In a third case (*given*) the input is a
one-dimensional v itself.
Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Section 5.1, and its public code.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.polynomial import Polynomial
from scipy.special import ndtr
from sklearn.model_selection import train_test_split

from shallow import checks
from shallow.display import short
from shallow.stats import stream

CASES = ("independent", "correlated", "given")
SIZE, DIMENSION, REACH = 10_000, 100, 2.0
#: The author's seeds, of the inputs and of the two splits.
INPUT_SEED, SPLIT_SEEDS = 844, (13, 9173)


@dataclass(frozen=True)
class Draw:
    """Inputs x (n, p) and the hidden coordinate v (n,), scaled to max |v| = 2; x / scale is standard.

    Row numbers `train`, `validation` and `test` are of 80, 10 and 10 percent, in random order.
    """

    x: np.ndarray
    v: np.ndarray
    scale: float
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray

    __repr__ = short


def draw(case: str, run: int, *, size: int = SIZE) -> Draw:
    """Run 0 of 10,000 points is the author's own data set, :func:`published`; other runs have streams of their own."""
    checks.one_of(CASES, case=case)
    checks.integers(0, run=run)
    checks.integers(10, size=size)
    if run == 0 and size == SIZE:
        return published(case)
    rng = stream("hidden_index", case, run, "inputs")
    if case == "given":
        v = rng.standard_normal(size)
        scale = _scale(v)
        x, v = scale * v[:, None], scale * v
    else:
        x, v, scale = gaussian(rng, size, correlated=case == "correlated")
    held_out = size // 10
    test, validation, train = np.split(
        stream("hidden_index", case, run, "split").permutation(size), [held_out, 2 * held_out]
    )
    return Draw(x, v, scale, train, validation, test)


def gaussian(
    rng: np.random.Generator, size: int, *, correlated: bool = False, direction: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, float]:
    r"""Scaled inputs x (n, p), their hidden coordinate $v = \sqrt p\, u \cdot x$ (n,), and the scale.

    Correlated, their covariance before scaling is $I + p\,uu^\top$ instead of I.  `direction` is the unit vector u, by
    default $\mathbf 1/\sqrt p$ in `DIMENSION` dimensions, so that v is the sum.  With the first coordinate vector the
    first q columns of x are $(v/\sqrt p, e_2, \dots, e_q)$.
    """
    checks.generators(rng=rng)
    checks.numbers(direction=direction)
    checks.integers(1, size=size)
    u = np.full(DIMENSION, DIMENSION**-0.5) if direction is None else np.asarray(direction, dtype=np.float64)
    if u.ndim != 1 or not abs(np.linalg.norm(u) - 1) < 1e-10:
        raise ValueError(f"direction must be a unit vector, got {checks.given(u)} and norm {np.linalg.norm(u)}")
    x = rng.standard_normal((size, len(u)))
    if correlated:
        x += rng.standard_normal((size, 1)) * (len(u) ** 0.5 * u)
    v = len(u) ** 0.5 * (x @ u)
    scale = _scale(v)
    return scale * x, scale * v, scale


def published(case: str) -> Draw:
    """The author's data set of 10,000 points, from PyTorch's generator and scikit-learn's splits.

    The normal draws are in float32, as there; everything after them is in float64.
    """
    checks.one_of(CASES, case=case)
    generator = torch.Generator().manual_seed(INPUT_SEED)
    shape = (SIZE,) if case == "given" else (SIZE, DIMENSION)
    x = torch.randn(shape, generator=generator, dtype=torch.float32).numpy().astype(np.float64).reshape(SIZE, -1)
    if case == "correlated":
        x = x @ np.linalg.cholesky(np.eye(DIMENSION) + 1).T
    v = x.sum(axis=1)
    scale = _scale(v)
    rest, test = train_test_split(np.arange(SIZE), test_size=SIZE // 10, random_state=SPLIT_SEEDS[0])
    train, validation = train_test_split(rest, test_size=SIZE // 10, random_state=SPLIT_SEEDS[1])
    return Draw(scale * x, scale * v, scale, train, validation, test)


def _scale(v: np.ndarray) -> float:
    return float(REACH / np.abs(v).max())


# Targets, and what a Gaussian v makes of them.


def polynomial(degree: int, shift: float = 0.0) -> Polynomial:
    r"""$\prod_{k=1}^d (v - r_k)$ with d equally spaced roots on $[-2, 2]$, both ends included, all moved by `shift`.

    Its values on $[-2, 2]$ are exact to 1e-9 up to degree 20, where the outer lobes reach 350.
    """
    checks.integers(2, degree=degree)
    checks.finite(shift=shift)
    return Polynomial.fromroots(np.linspace(-REACH, REACH, degree) + shift)


def hermite(z: np.ndarray, count: int) -> np.ndarray:
    r"""$h_k(z) = \mathrm{He}_k(z)/\sqrt{k!}$ for k < count, orthonormal under N(0, 1); shape (count, ...)."""
    checks.numbers(z=z)
    checks.integers(1, count=count)
    z = np.asarray(z, dtype=np.float64)
    values = np.ones((count, *z.shape))
    if count > 1:
        values[1] = z
    for k in range(2, count):
        values[k] = (z * values[k - 1] - (k - 1) ** 0.5 * values[k - 2]) / k**0.5
    return values


def hermite_coefficients(target: Polynomial, deviation: float) -> np.ndarray:
    r"""$c_k = \mathbb E[p(v)\,h_k(v/\tau)]$ for $v \sim N(0, \tau^2)$ and k = 0, ..., d; shape (d + 1,).

    $c_0$ is the mean of the target, $\sum_{k \ge 1} c_k^2$ its variance, $\tau c_1 = \mathbb E[v\,p(v)]$ its linear
    signal.  Gauss-Hermite quadrature, exact but for rounding.

    They are those of the Gaussian, not of a sample with $|v| \le 2$: at $\tau$ = 0.47 the two agree up to degree 7, and
    from degree 10 on the Gaussian moments are carried by $|v| > 2$.
    """
    checks.positive(deviation=deviation)
    count = target.degree() + 1
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    return hermite(nodes, count) @ (weights * target(deviation * nodes)) / weights.sum()


def sign_coefficients(target: Polynomial, deviation: float, count: int) -> np.ndarray:
    r"""$c_k = \mathbb E[\operatorname{sgn}(p(v))\,h_k(v/\tau)]$ for $v \sim N(0, \tau^2)$ and k < count; (count,).

    What the absolute loss of a network that is 0 sees of the target.  Between roots the integrals are
    $\int_a^b h_k \varphi = [-h_{k-1} \varphi]_a^b / \sqrt k$ with the normal density $\varphi$.
    """
    checks.positive(deviation=deviation)
    checks.integers(1, count=count)
    roots = np.sort(target.roots().real)  # the real part of a complex root cuts an interval, which does no harm
    ends, z = np.array([roots.min(initial=0) - 1, *roots, roots.max(initial=0) + 1]), roots / deviation
    below = hermite(z, count)[:-1] * np.exp(-(z**2) / 2) / (2 * np.pi) ** 0.5
    integrals = np.zeros((count, len(roots) + 2))  # of h_k phi from minus infinity to each end
    integrals[0, 1:] = [*ndtr(z), 1.0]
    integrals[1:, 1:-1] = -below / np.arange(1, count)[:, None] ** 0.5
    return np.diff(integrals) @ np.sign(target((ends[1:] + ends[:-1]) / 2))
