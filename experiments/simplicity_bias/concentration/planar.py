r"""Cells on samples in the plane, where the supremum over all directions and the extremal vectors are found exactly.

Inputs are $N(0, I_2)$ (of :func:`links` also $N(0, I_3)$) and the teacher is $\beta^* = e_1$, for which
$D(w) = \frac12 \beta^*$ for every w, or one draw of five ReLU units.
"""

from __future__ import annotations

from functools import partial
from math import comb

import numpy as np
import xarray as xr

from experiments.simplicity_bias.concentration import cells as concentration
from experiments.simplicity_bias.concentration import circles, deviation
from experiments.simplicity_bias.extremal import cells as extremal
from experiments.simplicity_bias.extremal import infinite_sample
from shallow import alignment, checks, stats
from shallow.book.recipes import Recipe
from shallow.data import teachers
from shallow.nets import TwoLayer

CENTRE = np.array([0.5, 0.0])  # D(w) of the linear teacher
DRAWS = 25  # samples of a cell
#: Points between the two corners of a set at a ray at which :func:`rays` looks, corners included.
ON_EDGE = (0.0, 0.25, 0.5, 0.75, 1.0)


def suprema(block: int, n: int, freedom: float = 0.0, draws: int = DRAWS) -> xr.Dataset:
    """Exact suprema of the linear teacher; noise as in `concentration.FREEDOM`, 0 for the chapter's."""
    rng = stats.stream("planar suprema", n, str(freedom), block)
    found = np.empty(draws)
    for i in range(draws):
        x = rng.standard_normal((n, 2))
        noise = rng.standard_t(freedom, n) if freedom else teachers.NOISE**0.5 * rng.standard_normal(n)
        found[i] = deviation.supremum(x, x[:, 0] + noise, CENTRE)
    return xr.Dataset({"deviation": ("draw", found)})


def links(block: int, d: int, n: int, draws: int = 50) -> xr.Dataset:
    r"""The quantities in the proof of Theorem 1, for d = 2 and 3.

    By draw: process, the supremum; signed, that of $R_n(w)$, the process with random signs around zero; scaled, the
    latter over $\sqrt{Z_n / n}$.  Of the first sample alone: :func:`of_patterns`.
    """
    rng = stats.stream("links of the proof", d, n, block)
    centre, found = 0.5 * np.eye(d)[0], np.empty((3, draws))
    for i in range(draws):
        x, y = teachers.gaussian(rng, teachers.first_axis(d), n)
        if i == 0:
            counted = of_patterns(x, y)
        signed = deviation.supremum(x, rng.choice([-1.0, 1.0], n) * y, np.zeros(d))
        mean_square = np.mean(y**2 * np.sum(x**2, axis=1))
        found[:, i] = deviation.supremum(x, y, centre), signed, signed / np.sqrt(mean_square / n)
    names = ("process", "signed", "scaled")
    return xr.Dataset({name: ("draw", values) for name, values in zip(names, found)} | counted)


def of_patterns(x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    r"""Number of activation patterns u of a sample in two or three dimensions, and largest ratios of norms over them.

    operator: of the operator to the Frobenius norm of $M_u = (u_k y_k x_k)_k$; frobenius: of the latter to
    $(\sum_k y_k^2 \|x_k\|^2)^{1/2}$.
    """
    patterns, g = circles.patterns(x).astype(float), y[:, None] * x
    matrices = np.tensordot(patterns, g[:, :, None] * g[:, None, :], axes=1)  # M_u M_u^T
    operator, frobenius = np.linalg.eigvalsh(matrices)[:, -1], np.trace(matrices, axis1=1, axis2=2)
    seen = frobenius > 0
    return {
        "patterns": float(len(patterns)),
        "operator": float(np.sqrt(operator[seen] / frobenius[seen]).max()),
        "frobenius": float(np.sqrt(frobenius.max() / np.sum(g**2))),
    }


def cover(n: int, d: int) -> int:
    r"""Cover's number $2 \sum_{i<d} \binom{n-1}{i}$ of activation patterns of n points in general position."""
    checks.integers(1, n=n, d=d)
    return 2 * sum(comb(n - 1, i) for i in range(d))


def rays(block: int, n: int, kind: str, draws: int = DRAWS) -> xr.Dataset:
    r"""The sets $\mathfrak D_n(w)$ at the rays orthogonal to a point against the supremum over the open arcs.

    The teacher is "linear" or "relu"; or "mirrored", a linear one with noise of variance one whose n points are n/2
    points and their mirror images, as no continuous law draws them.
    """
    checks.one_of(("linear", "relu", "mirrored"), kind=kind)
    rng = stats.stream("sets at the rays", kind, n, block)
    teacher = concentration.teacher("relu" if kind == "relu" else "linear", 2)
    found = np.empty((2, draws))
    for i in range(draws):
        if kind == "mirrored":
            half = rng.standard_normal((n // 2, 2))
            x = np.concatenate([half, -half])
            y = x[:, 0] + rng.standard_normal(len(x))
        else:
            x, y = teachers.gaussian(rng, teacher, n)
        centre = teacher if kind == "relu" else CENTRE
        found[:, i] = largest_on_rays(x, y, centre), deviation.supremum(x, y, centre)
    return xr.Dataset({"sets": ("draw", found[0]), "arcs": ("draw", found[1])})


def largest_on_rays(x: np.ndarray, y: np.ndarray, population: np.ndarray | TwoLayer) -> float:
    r"""Largest $\|D - D(w)\|$ over the sets at all rays of a sample (n, 2); population as in `deviation.supremum`."""
    directions = np.concatenate([x @ [[0, 1], [-1, 0]], x @ [[0, -1], [1, 0]]])
    mean = alignment.population(population, directions) if isinstance(population, TwoLayer) else population
    corner, edge = concentration.corners(x, y)
    return max(float(np.linalg.norm(corner + share * edge - mean, axis=1).max()) for share in ON_EDGE)


def extremes(block: int, n: int, kind: str, draws: int = DRAWS) -> xr.Dataset:
    r"""Distance of the extremal vectors of samples from those of the infinite sample, and the deviation.

    By draw: distance, the largest of an extremal vector from $S^* = \{D(w) : D(w) \in \mathbb R w\}$; wrong, the same
    from $\beta^*$ instead; deviation, $\sup_w \|D_n(w) - D(w)\|$; count, the number of extremal vectors.
    """
    teacher = concentration.teacher(kind, 2)
    rng, found = stats.stream("extremes", kind, n, block), np.empty((4, draws))
    limits = population_vectors(kind)
    for i in range(draws):
        sample = teachers.gaussian(rng, teacher, n)
        vectors = extremal.circle(*sample).vectors
        deviates = deviation.supremum(*sample, CENTRE if kind == "linear" else teacher)
        found[:, i] = farthest(vectors, limits), farthest(vectors, 2 * CENTRE[None]), deviates, len(vectors)
    names = ("distance", "wrong", "deviation", "count")
    return xr.Dataset({name: ("draw", values) for name, values in zip(names, found)})


def population_vectors(kind: str) -> np.ndarray:
    r"""$S^*$, the vectors of equation (6), shape (q, 2): $\frac12\beta^*$ for the linear teacher."""
    if kind == "linear":
        return CENTRE[None]
    return infinite_sample.on_circle(concentration.teacher(kind, 2)).vectors


def farthest(vectors: np.ndarray, limits: np.ndarray) -> float:
    """Largest distance of one of the vectors (q, 2) from the nearest of the limits (p, 2)."""
    return float(np.linalg.norm(vectors[:, None] - limits, axis=2).min(axis=1).max())


def separation(kind: str, eps: float, points: int = 20_001) -> float:
    r"""The constant $\delta(\varepsilon)$ in the proof of Proposition 1, by a grid of directions.

    The minimum of $\|P_w D(w)\|$, $P_w$ the projection on $w^\perp$, over the directions whose D(w) is
    $\varepsilon/2$ or more away from $S^*$; infinite if there are none.
    """
    checks.positive(eps=eps)
    angles = np.linspace(0, 2 * np.pi, points)
    w = np.column_stack([np.cos(angles), np.sin(angles)])
    vectors = (
        np.tile(CENTRE, (points, 1)) if kind == "linear" else alignment.population(concentration.teacher(kind, 2), w)
    )
    away = np.linalg.norm(vectors[:, None] - population_vectors(kind), axis=2).min(axis=1)
    tangent = np.abs(vectors[:, 1] * w[:, 0] - vectors[:, 0] * w[:, 1])
    return float(np.where(away >= eps / 2, tangent, np.inf).min())


def second_moment(block: int, d: int, draws: int = 500_000) -> xr.Dataset:
    r"""Mean of $y^2 \|x\|^2$ over fresh points of the linear teacher, over its formula $(d + 2) + d\sigma^2$."""
    x, y = teachers.gaussian(stats.stream("second moments", d, block), teachers.first_axis(d), draws)
    return xr.Dataset({"ratio": np.mean(y**2 * np.sum(x**2, axis=1)) / (d + 2 + d * teachers.NOISE)})


_blocks = partial(Recipe, replicates="block")
RECORDS = {
    "second_moments": _blocks(
        second_moment,
        {"d": list(concentration.DIMENSIONS), "block": list(range(20))},
        about="Equation (17): the second moment of ten million points",
    ),
    "planar_suprema": _blocks(
        suprema,
        {"n": [100, 300, 1_000, 3_000, 10_000], "freedom": [0.0, 1.5], "block": list(range(8))},
        {},
        "Theorem 1: 200 exact deviations in the plane for each size, with noise of finite and of infinite variance",
    ),
    "planar_suprema_large": _blocks(
        suprema,
        {"n": [100_000, 1_000_000], "block": list(range(25))},
        {"draws": 1},
        "Theorem 1: exact deviations in the plane of up to a million points",
    ),
    "links": _blocks(
        links,
        {"d": [2, 3], "n": [5, 10, 20, 50, 200], "block": list(range(10))},
        about="Proof of Theorem 1: the quantities of its steps in 500 samples of each size",
    ),
    "rays": _blocks(
        rays,
        {"n": [6, 20, 100, 1_000], "kind": ["linear", "relu", "mirrored"], "block": list(range(8))},
        about="Lemma 1: the sets at the rays against the open arcs",
    ),
    "planar_extremes": _blocks(
        extremes,
        {"n": [10, 30, 100, 300, 1_000, 3_000, 10_000, 20_000], "kind": ["linear"], "block": list(range(40))},
        about="Proposition 1: a thousand samples of each size, linear teacher",
    ),
    "planar_extremes_relu": _blocks(
        extremes,
        {"n": [10, 100, 1_000, 10_000], "kind": ["relu"], "block": list(range(8))},
        about="Proposition 1: 200 samples of each size, five ReLU units",
    ),
    "planar_extremes_relu_large": _blocks(
        extremes,
        {"n": [100_000], "kind": ["relu"], "block": list(range(25))},
        {"draws": 4},
        "Proposition 1: a hundred samples of 100,000 points, five ReLU units",
    ),
}
