r"""What invariance under sign flips means for a kernel: averages over the flips, and how far a kernel is from them.

A function is invariant if $f(s \odot x) = f(x)$ for all flips s of a group G.  For a kernel there are two notions:

- *joint* invariance, $K(s \odot x, s \odot z) = K(x, z)$: kernel machines commute with the flips, so that flipped data
  give a flipped prediction.  The expected tangent kernel of a network whose initial law is symmetric has it.
- *full* invariance, $K(s \odot x, z) = K(x, z)$: every function of the space is invariant.

The average $K_G(x, z) = |G|^{-2} \sum_{s, t} K(s \odot x, t \odot z)$ is the kernel of the averaged features and fully
invariant; for a jointly invariant kernel averaging one argument is enough.  Its trace beside that of K says how much
of K lies on invariant functions.  Flips are rows of a matrix of signs; :func:`shallow.data.orthants.signs` makes them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shallow import checks

Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]


def averaged(kernel: Kernel, flips: np.ndarray, *, both: bool = False) -> Kernel:
    r"""$\frac1{|G|} \sum_s K(x, s \odot z)$, or with `both` $K_G$, as a function of x (n, D) and z (n', D).

    Args:
        kernel: x, z -> matrix (n, n').
        flips: the group, shape (|G|, D), entries -1 and 1.
        both: average over both arguments; needed, at |G| times the cost, where the kernel is not jointly invariant.

    Cost: |G| or |G|^2 evaluations of the kernel.
    """
    flips = _group(flips)

    def mean(x: np.ndarray, z: np.ndarray) -> np.ndarray:
        x, z = _points("x", x, flips), _points("z", z, flips)
        left = flips if both else np.ones((1, flips.shape[1]))
        return sum(kernel(s * x, t * z) for s in left for t in flips) / (len(left) * len(flips))

    return mean


def gaussian(x: np.ndarray, z: np.ndarray, gamma: float) -> np.ndarray:
    r"""$e^{-\gamma |x - z|^2}$ averaged over all $2^D$ flips, $\prod_i \frac12 (e^{-\gamma(x_i - z_i)^2} +
    e^{-\gamma(x_i + z_i)^2})$; shape (n, n').

    Args:
        x, z: shapes (n, D), (n', D).

    Cost: 2 D n n' exponentials instead of $2^D n n'$.
    """
    checks.numbers(x=x, z=z)
    x, z = np.asarray(x, dtype=np.float64), np.asarray(z, dtype=np.float64)
    if x.ndim != 2 or z.ndim != 2 or x.shape[1] != z.shape[1]:
        raise ValueError(f"x and z must be matrices with equally many columns, got shapes {x.shape} and {z.shape}")
    checks.positive(gamma=gamma)
    product = np.ones((len(x), len(z)))
    for left, right in zip(x.T, z.T, strict=True):
        near = np.exp(-gamma * np.subtract.outer(left, right) ** 2)
        product *= (near + np.exp(-gamma * np.add.outer(left, right) ** 2)) / 2
    return product


def invariant_share(kernel: Kernel, x: np.ndarray, flips: np.ndarray) -> float:
    r"""$\sum_i K_G(x_i, x_i) / \sum_i \frac1{|G|} \sum_s K(s \odot x_i, s \odot x_i)$, in [0, 1].

    Over the orbits of the points, the share of the kernel's trace on invariant functions: the mean square over a random
    function of covariance K of its invariant part, by that of the whole.  1 for a fully invariant kernel, 1/|G| for one
    under which the points of an orbit are orthogonal.

    Args:
        x: points, shape (n, D).

    Cost: one evaluation on |G| x |G| points for each of the n.
    """
    flips = _group(flips)
    x = _points("x", x, flips)
    orbits = [kernel(flips * point, flips * point) for point in x]
    whole = sum(np.trace(orbit) for orbit in orbits)
    if not whole > 0:
        raise ValueError(f"kernel must have a positive trace at x, got {whole}")
    return float(sum(orbit.mean() for orbit in orbits) * len(flips) / whole)


def joint_defect(kernel: Kernel, x: np.ndarray, flips: np.ndarray) -> float:
    r"""$\sqrt{\frac1{|G|} \sum_s \|K(s \odot x, s \odot x) - K(x, x)\|_F^2} \big/ \|K(x, x)\|_F$.

    0 for a jointly invariant kernel; the tangent kernel of one random network of width m has it of order $m^{-1/2}$.

    Args:
        x: points, shape (n, D).
    """
    flips = _group(flips)
    x = _points("x", x, flips)
    plain = kernel(x, x)
    squares = [np.sum((kernel(s * x, s * x) - plain) ** 2) for s in flips]
    return float(np.sqrt(np.mean(squares)) / np.linalg.norm(plain))


def _group(flips: np.ndarray) -> np.ndarray:
    """The flips, once they are seen to be distinct and closed under products."""
    checks.numbers(flips=flips)
    flips = np.asarray(flips, dtype=np.float64)
    if flips.ndim != 2 or not flips.size or not np.isin(flips, (-1, 1)).all():
        raise ValueError(f"flips must be a matrix of -1 and 1, got {checks.given(flips, np.isin(flips, (-1, 1)))}")
    codes = (flips < 0) @ (1 << np.arange(flips.shape[1]))  # the product of two flips is the exclusive or
    if len(np.unique(codes)) < len(flips) or not np.isin(codes[:, None] ^ codes, codes).all():
        raise ValueError(f"flips must be distinct rows closed under products, got {len(flips)} rows that are not")
    return flips


def _points(name: str, x: np.ndarray, flips: np.ndarray) -> np.ndarray:
    checks.numbers(**{name: x})
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 2 or x.shape[1] != flips.shape[1]:
        raise ValueError(f"{name} must have shape (n, {flips.shape[1]}), got {x.shape}")
    return x
