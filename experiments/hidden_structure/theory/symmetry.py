r"""Invariance of kernels under sign flips of the inputs: a Gaussian kernel that has it, and how far others are from it.

A function is invariant if $f(s \odot x) = f(x)$ for all flips s of a group G.  For a kernel there are two notions:

- *joint* invariance, $K(s \odot x, s \odot z) = K(x, z)$: kernel machines commute with the flips, so that flipped data
  give a flipped prediction.  The expected tangent kernel of a network whose initial law is symmetric has it.
- *full* invariance, $K(s \odot x, z) = K(x, z)$: every function of the space is invariant, as of a jointly invariant
  kernel that is averaged over the flips of one argument.

Flips are rows of a matrix of signs; :func:`experiments.hidden_structure.shells.signs` makes them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shallow import checks

Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]


def gaussian(x: np.ndarray, z: np.ndarray, gamma: float) -> np.ndarray:
    r"""$e^{-\gamma |x - z|^2}$ averaged over all $2^D$ flips, $\prod_i \frac12 (e^{-\gamma(x_i - z_i)^2} +
    e^{-\gamma(x_i + z_i)^2})$; shape (n, n').

    Args:
        x, z: shapes (n, D), (n', D).

    Cost: 2 D n n' exponentials instead of $2^D n n'$.
    """
    checks.shape((None, "D"), x=x)
    checks.shape((None, np.shape(x)[1]), z=z)
    checks.positive(gamma=gamma)
    x, z = np.asarray(x, dtype=np.float64), np.asarray(z, dtype=np.float64)
    product = np.ones((len(x), len(z)))
    for left, right in zip(x.T, z.T, strict=True):
        near = np.exp(-gamma * np.subtract.outer(left, right) ** 2)
        product *= (near + np.exp(-gamma * np.add.outer(left, right) ** 2)) / 2
    return product


def joint_defect(kernel: Kernel, x: np.ndarray, flips: np.ndarray) -> float:
    r"""$\sqrt{\frac1{|G|} \sum_s \|K(s \odot x, s \odot x) - K(x, x)\|_F^2} \big/ \|K(x, x)\|_F$.

    0 for a jointly invariant kernel; the tangent kernel of one random network of width m has it of order $m^{-1/2}$.

    Args:
        x: points, shape (n, D).
    """
    flips = _group(flips)
    checks.shape((None, flips.shape[1]), x=x)
    x = np.asarray(x, dtype=np.float64)
    plain = kernel(x, x)
    squares = [np.sum((kernel(s * x, s * x) - plain) ** 2) for s in flips]
    return float(np.sqrt(np.mean(squares)) / np.linalg.norm(plain))


def _group(flips: np.ndarray) -> np.ndarray:
    """The flips, once they are seen to be distinct and closed under products."""
    checks.array(("G", "D"), flips=flips)
    checks.labels((-1, 1), flips=flips)
    flips = np.asarray(flips, dtype=np.float64)
    codes = (flips < 0) @ (1 << np.arange(flips.shape[1]))  # the product of two flips is the exclusive or
    if len(np.unique(codes)) < len(flips) or not np.isin(codes[:, None] ^ codes, codes).all():
        raise ValueError(f"flips must be distinct rows closed under products, got {len(flips)} rows that are not")
    return flips
