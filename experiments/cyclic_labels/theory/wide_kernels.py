r"""Tangent kernels of infinitely wide two-layer ReLU networks with one input, in closed form.

At every width m the kernel of a random network has the mean $\mathbb E K(x, z) = m\,C(x, z) + D(x, z)$: the output
weights give C, the expectation over one neuron of $\mathrm{ReLU}(wx + b)\,\mathrm{ReLU}(wz + b)$, and the hidden
parameters give D, which does not grow because $v_k^2$ is of order 1/m.  So $K/m \to C$, with fluctuations of order
$m^{-1/2}$.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from shallow import checks
from shallow.display import short


class Parts(NamedTuple):
    r"""The two parts of $\mathbb E K = m C + D$, each of shape (n, n'): from v, and from W and b together."""

    output: np.ndarray
    hidden: np.ndarray

    __repr__ = short

    def at(self, width: int) -> np.ndarray:
        """The expected kernel m C + D of a network of that width."""
        checks.integers(1, width=width)
        return width * self.output + self.hidden


def _pair(x: np.ndarray, z: np.ndarray | None, allowed: str) -> tuple[np.ndarray, np.ndarray]:
    z = x if z is None else z
    checks.array((None,), x=x, z=z)
    checks.within(allowed, x=x, z=z)
    return np.asarray(x, dtype=float)[:, None], np.asarray(z, dtype=float)[None, :]


def uniform(x: np.ndarray, z: np.ndarray | None = None) -> Parts:
    r"""The default initialisation, $w, b \sim U(-1, 1)$ and $v \sim U(-1, 1)/\sqrt m$, for $|x|, |z| \le 1$:

    .. math:: C = \frac{1 + xz}{6} + \frac{|x - z|^3}{96},
       \qquad D = \frac13 \Bigl(\frac12 - \frac{|x - z|}{8}\Bigr) (1 + xz).

    An affine kernel plus the kernel of cubic splines; x, z of shape (n,), (n',).
    """
    x, z = _pair(x, z, "[-1, 1]")
    affine, distance = 1 + x * z, np.abs(x - z)
    return Parts(affine / 6 + distance**3 / 96, (1 / 2 - distance / 8) * affine / 3)


def gaussian(x: np.ndarray, z: np.ndarray | None = None) -> Parts:
    r"""The normal initialisation, $w, b \sim N(0, 1)$ and $v \sim N(0, 1)/\sqrt m$, for all x and z:

    .. math:: C = \frac{|u||u'|}{2\pi} \bigl(\sin\vartheta + (\pi - \vartheta) \cos\vartheta\bigr),
       \qquad D = \frac{\pi - \vartheta}{2\pi} (1 + xz),

    with $\vartheta$ the angle between $u = (x, 1)$ and $u' = (z, 1)$.
    """
    x, z = _pair(x, z, "(-inf, inf)")
    angle = np.abs(np.arctan(x) - np.arctan(z))  # |u||u'| sin = |x - z|, |u||u'| cos = 1 + x z
    affine = 1 + x * z
    return Parts((np.abs(x - z) + (np.pi - angle) * affine) / (2 * np.pi), (np.pi - angle) * affine / (2 * np.pi))


class Spectrum(NamedTuple):
    """Eigenvalues (count,) of a kernel on an interval, and eigenfunctions (nodes, count) with quadrature weights."""

    values: np.ndarray
    functions: np.ndarray
    nodes: np.ndarray
    weights: np.ndarray

    __repr__ = short


def spectrum(
    kernel: Callable[[np.ndarray], np.ndarray], count: int, *, low: float = -0.5, high: float = 0.5, nodes: int = 400
) -> Spectrum:
    r"""Leading eigenpairs of $\xi \mapsto \frac{1}{|I|} \int_I k(\cdot, z)\,\xi(z)\,dz$ on $I = [low, high]$.

    The eigenvalues are those of $\frac1n K$ for many uniform inputs; the functions have mean square 1 on the interval.
    400 Gauss-Legendre nodes give the first ten eigenvalues of the kernels here to 1e-6 or better.
    """
    checks.integers(1, nodes=nodes)
    checks.integers(1, nodes, count=count)
    checks.finite(low=low, high=high)
    if not low < high:
        raise ValueError(f"low must be below high, got {low} and {high}")
    points, weights = np.polynomial.legendre.leggauss(nodes)
    points, weights = (low + high) / 2 + (high - low) / 2 * points, weights / 2
    root = np.sqrt(weights)
    values, vectors = np.linalg.eigh(root[:, None] * kernel(points) * root)
    functions = vectors[:, ::-1][:, :count] / root[:, None]
    return Spectrum(values[::-1][:count], functions * np.sign(functions[0]), points, weights)


def beam_eigenvalues(count: int) -> np.ndarray:
    r"""$1 / (8 \kappa_j^4)$ for the roots $0 < \kappa_1 < \kappa_2 < \dots$ of $\cos\kappa \cosh\kappa = 1$; (count,).

    With P projecting off the affine functions on an interval of length one and C of :func:`uniform`, these are the
    eigenvalues of PCP, the inverse of $8\,d^4/dx^4$ with free ends: the modes of a vibrating beam.  They sum to 1/3360
    and bound those of C itself, from the third on; the eigenfunctions of C are near those of PCP, not the same.
    """
    checks.integers(1, count=count)
    middles = (np.arange(1, count + 1) + 0.5) * np.pi
    roots = [brentq(_free_ends, middle - 0.5, middle + 0.5, xtol=1e-14) for middle in middles]
    return 1 / (8 * np.array(roots) ** 4)


def _free_ends(k: float) -> float:
    """cos k - 1 / cosh k, without overflow."""
    return np.cos(k) - 2 * np.exp(-k) / (1 + np.exp(-2 * k))
