r"""A ceiling for the fit on $|v| \le 1$ of machines whose kernel does not know the direction.

In the notation of :mod:`experiments.hidden_structure.polynomial_machines.ceiling`: let g be a function of v that is 0
off the bulk, of mean 0 and square 1.  For f in V with the variance $s^2 \sigma^2$, where $\sigma^2$ is the part of the
target's variance that lies in the bulk, $\sqrt{1 - R_c} \ge \langle g, q \rangle / \sigma - s\,\|P_V g_u\|$.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.polynomial import Polynomial
from scipy import special

from experiments.hidden_structure import polynomials
from shallow import checks

HIGHEST, FUNCTIONS = 6, 14  # angular degrees that are computed, polynomials on the bulk among which g is sought
NODES, RADII = 4001, 60  # of the quadratures over a coordinate and over the length


class Bulk(NamedTuple):
    """Functions of v on the bulk, orthonormal, the first one constant."""

    target: np.ndarray  # the target less its mean there, of square 1, by its coefficients (function,)
    angular: np.ndarray  # inner products of parts of one angular degree (degree, function, function)
    harmonics: np.ndarray  # number of spherical harmonics (degree,)


def bulk(target: Polynomial, deviation: float, dimension: int, edge: float = 1.0) -> Bulk:
    r"""The bulk $|v| \le$ `edge` for $v = \tau z$, z normal with the deviation $\tau$, in some dimension."""
    checks.integers(4, dimension=dimension)
    checks.positive(deviation=deviation, edge=edge)
    z, powers = np.linspace(-1, 1, NODES) * edge / deviation, np.arange(FUNCTIONS)[:, None]
    weights = np.exp(-(z**2) / 2) * (z[1] - z[0]) / (2 * np.pi) ** 0.5
    weights[[0, -1]] /= 2
    scale = edge / deviation
    inverse = np.linalg.inv(np.linalg.cholesky(((z / scale) ** powers * weights) @ ((z / scale) ** powers).T))
    found = inverse @ ((z / scale) ** powers) @ (weights * target(deviation * z))
    found[0] = 0
    half_square, chi = special.roots_genlaguerre(RADII, dimension / 2 - 1)
    power = (dimension - 3) / 2
    t = np.linspace(-1, 1, NODES)  # even, as the integrands end inside
    density = (1 - t**2) ** power
    density, chi = density / density.sum(), chi / chi.sum()
    P = special.eval_jacobi(np.arange(HIGHEST)[:, None], power, power, t)
    P = P / np.sqrt(P**2 @ density)[:, None] * density
    angular = np.zeros((HIGHEST, FUNCTIONS, FUNCTIONS))
    for share, length in zip(chi, np.sqrt(2 * half_square), strict=True):
        inside = np.abs(length * t) <= scale
        part = P[:, inside] @ (inverse @ (length * t[inside] / scale) ** powers).T
        angular += share * part[:, :, None] * part[:, None, :]
    degrees = np.arange(HIGHEST)
    harmonics = special.comb(dimension + degrees - 1, degrees)
    harmonics[2:] -= special.comb(dimension + degrees[2:] - 3, degrees[2:] - 2)
    return Bulk(found / np.linalg.norm(found), angular, harmonics)


def holds(g: np.ndarray, space: Bulk, points: int) -> float:
    r"""Bound on $\mathbb E_u \|P_V g_u\|^2$ for n + 1 functions and a g of mean 0 and square 1, by its coefficients."""
    energies = np.einsum("k,lkj,j->l", g, space.angular, g)
    left = points + 1.0
    found = max(1 - energies.sum(), 0) * min(left / space.harmonics[-1], 1)  # of higher degrees: more harmonics
    for l in np.argsort(-energies / space.harmonics):
        found += energies[l] * min(left / space.harmonics[l], 1)
        left = max(left - space.harmonics[l], 0)
    return float(found)


def ceiling(space: Bulk, points: int, spread: float) -> float:
    r"""Bound on the mean over u of $R_c$, for predictions whose deviation is `spread` times $\sigma$ or less.

    Every g gives a bound.  The best is taken of $(1 + \lambda M)^{-1}$ of the target, $\lambda \ge 0$, with M the parts
    of each angular degree times the share of its harmonics that n + 1 functions can hold.
    """
    checks.integers(0, points=points)
    checks.positive(spread=spread)
    shares = np.minimum((points + 1.0) / space.harmonics, 1)
    best, form = 0.0, np.tensordot(shares, space.angular, 1)[1:, 1:]
    for strength in np.concatenate([[0.0], np.geomspace(1e-2, 1e6, 80)]):
        g = np.linalg.solve(np.eye(FUNCTIONS - 1) + strength * form, space.target[1:])
        g = np.concatenate([[0.0], g / np.linalg.norm(g)])
        best = max(best, g @ space.target - spread * holds(g, space, points) ** 0.5)
    return float(1 - best**2)


def spread(runs: xr.Dataset, degree: int) -> float:
    r"""Median over runs of the deviation of a learner's test predictions, over $\sigma$ of the same test points.

    `runs` has `spread` (degree, run, part, range), over the deviation of the labels.
    """
    found = []
    for run in runs.run.values:
        task = polynomials.problem("independent", degree, int(run))
        v, y = task.v[task.rows["test"]], task.y[task.rows["test"]]
        inside = np.abs(v) <= 1
        sigma = np.sqrt(np.mean((y - y[inside].mean()) ** 2 * inside))
        found.append(float(runs.spread.sel(degree=degree, run=run, part="test", range="all")) * y.std() / sigma)
    return float(np.median(found))
