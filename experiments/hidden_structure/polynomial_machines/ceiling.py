r"""How much of a function of a hidden direction any kernel machine can learn whose kernel does not know the direction.

The target is $g_u(x) = q(\tau\,u \cdot x)$ with $x \sim N(0, I_D)$ and a direction u that is uniform on the sphere.  A
machine on n points predicts a combination of n functions $K(\cdot, x_i)$ and a constant, whatever its loss and penalty:
an element of a space V of dimension n + 1.  If V is independent of u, the share of $g_u$ that V can hold is on average

.. math:: \mathbb E_u \|P_V g_u\|^2 = \operatorname{tr}(P_V T), \qquad T = \mathbb E_u\, g_u \otimes g_u ,

at most the sum of the n + 1 largest eigenvalues of T.  T commutes with rotations.  Its eigenvalues are $E_l / N_l$,
each $N_l$ times, for $l = 0, \dots, \deg q$: the *energy* $E_l = \mathbb E_r \bigl(\mathbb E_t\, q(\tau r t)\,
P_l(t)\bigr)^2$ of the part of angular degree l, where r is the length of x, t the first coordinate of a uniform
direction and $P_l$ its orthonormal polynomials, over the number $N_l$ of spherical harmonics of degree l.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial
from scipy import special

from shallow import checks


class Energies(NamedTuple):
    r"""$E_l$ and $N_l$ for l = 0, ..., deg q, each (deg q + 1,); the energies sum to $\mathbb E\,q(\tau z)^2$."""

    energies: np.ndarray
    harmonics: np.ndarray


def angular_energies(target: Polynomial, deviation: float, dimension: int) -> Energies:
    r"""Energies of $q(\tau\,u \cdot x)$ by angular degree, by quadratures that are exact for polynomials."""
    checks.integers(2, dimension=dimension)
    checks.positive(deviation=deviation)
    degrees, power = np.arange(target.degree() + 1), (dimension - 3) / 2
    t, density = special.roots_jacobi(len(degrees), power, power)
    half_square, chi = special.roots_genlaguerre(len(degrees), dimension / 2 - 1)
    density, chi = density / density.sum(), chi / chi.sum()
    P = special.eval_jacobi(degrees[:, None], power, power, t)
    P /= np.sqrt(P**2 @ density)[:, None]
    values = target(deviation * np.sqrt(2 * half_square)[:, None] * t)
    energies = chi @ ((values * density) @ P.T) ** 2
    harmonics = special.comb(dimension + degrees - 1, degrees)
    harmonics[2:] -= special.comb(dimension + degrees[2:] - 3, degrees[2:] - 2)
    return Energies(energies, harmonics)


def ceiling(target: Polynomial, deviation: float, dimension: int, points: int) -> float:
    """Bound on the mean over u of a machine's $R^2$, one minus its mean square error over the variance of $g_u$."""
    checks.integers(0, points=points)
    energies, harmonics = angular_energies(target, deviation, dimension)
    left, out_of_reach = points + 1.0, 0.0
    for l in np.argsort(-energies / harmonics):
        held = min(left, harmonics[l])
        out_of_reach += energies[l] * (1 - held / harmonics[l])
        left -= held
    nodes, weights = np.polynomial.hermite_e.hermegauss(target.degree() + 1)
    values, weights = target(deviation * nodes), weights / weights.sum()
    return float(1 - out_of_reach / (weights @ values**2 - (weights @ values) ** 2))
