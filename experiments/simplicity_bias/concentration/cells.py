r"""Cells on Theorem 1: the deviation $\sup_w \|D_n(w) - D(w)\|$ against n, the dimension and the law of the labels."""

from __future__ import annotations

import numba
import numpy as np
import xarray as xr

from experiments.simplicity_bias.concentration import deviation
from shallow import alignment, checks, gaussian_loss, stats
from shallow.book.recipes import Recipe
from shallow.data import teachers
from shallow.nets import TwoLayer

DIMENSIONS = (2, 5, 10, 20)
SIZES = (1_000, 10_000, 100_000)
#: Student's t by its degrees of freedom; 0 stands for Gaussian noise of the chapter's variance.
FREEDOM = {"Gaussian": 0.0, "Student 5": 5.0, "Student 2.5": 2.5}
LENGTHS = (50, 100, 300, 1000, 3000)


def teacher(kind: str, d: int) -> TwoLayer:
    r"""The linear teacher $e_1$, or the one draw of five ReLU units that all experiments of this dimension share."""
    checks.one_of(("linear", "relu"), kind=kind)
    return teachers.first_axis(d) if kind == "linear" else teachers.relu(stats.stream("five units", d), 5, d)


def moment(drawn: TwoLayer, noise: float = teachers.NOISE) -> float:
    r"""$\mathbb E[y^2\|x\|^2] = (d + 2)\,\mathbb E h^*(x)^2 + d\sigma^2$ for $x \sim N(0, I_d)$.

    $h^*(x)^2$ is homogeneous of degree two, so that its mean against $\|x\|^2$ is its mean times
    $\mathbb E r^4 / \mathbb E r^2 = d + 2$.
    """
    d = drawn.W.shape[1]
    zero = TwoLayer(np.zeros((1, d)), np.zeros(1), np.zeros(1))
    return (d + 2) * gaussian_loss.excess_risk(drawn, zero) + d * noise


def dimensions(seed: int, d: int, n: int, kind: str, *, starts: int = 50, sweeps: int = 24) -> xr.Dataset:
    r"""The deviation of one sample, exact for d = 2 and else by local search, and that of its starts alone."""
    drawn = teacher(kind, d)
    rng = stats.stream("deviation", kind, d, n, seed)
    x, y = teachers.gaussian(rng, drawn, n)
    population = 0.5 * drawn.W[0] if kind == "linear" else drawn
    if d == 2:
        found = deviation.supremum(x, y, population)
    else:
        found = deviation.search(rng, x, y, population, starts=starts, sweeps=sweeps).value
    w = rng.standard_normal((starts, d))
    net = [np.linalg.norm(alignment.vector(x, y, one) - alignment.population(drawn, one)) for one in w]
    return xr.Dataset({"deviation": found, "net": float(np.max(net))})


def tails(block: int, noise: str, n: int, *, draws: int = 1000) -> xr.Dataset:
    r"""Exact deviations in the plane for the teacher $e_1$; and above, whether $Z_n > 2\,\mathbb E Z_n$; by draw.

    $Z_n = \frac1n \sum_k y_k^2 \|x_k\|^2$.
    """
    rng = stats.stream("deviation tails", noise, n, block)
    deviations, above = np.empty(draws, dtype=np.float32), np.empty(draws, dtype=np.int8)
    mean, centre = 4 + 2 * variance(noise), np.array([0.5, 0.0])
    for i in range(draws):
        x = rng.standard_normal((n, 2))
        y = x[:, 0] + disturbance(rng, noise, n)
        deviations[i] = deviation.supremum(x, y, centre)
        above[i] = np.mean(y**2 * np.sum(x**2, axis=1)) > 2 * mean
    return xr.Dataset({"deviation": ("draw", deviations), "above": ("draw", above)}, {"draw": np.arange(draws)})


def disturbance(rng: np.random.Generator, noise: str, n: int) -> np.ndarray:
    """Label noise of shape (n,), by its name in `FREEDOM`; Student's has the scale 1."""
    freedom = FREEDOM[noise]
    return rng.standard_t(freedom, n) if freedom else teachers.NOISE**0.5 * rng.standard_normal(n)


def variance(noise: str) -> float:
    r"""$\sigma^2$ of :func:`disturbance`."""
    freedom = FREEDOM[noise]
    return freedom / (freedom - 2) if freedom else teachers.NOISE


@numba.njit(cache=True, nogil=True)
def corners(x, y):
    r"""The sets $\mathfrak D_n(w)$ at the rays orthogonal to a data point in the plane, directly: a corner and an edge.

    The corners are the sums over the points with $\langle w, x_j\rangle > 0$ at the n rays $w = (-x_{k2}, x_{k1})$ and
    then at their opposites, the edges $y_k x_k / n$; both (2n, 2).  Cost $O(n^2)$.
    """
    n = len(x)
    corner, edge = np.zeros((2 * n, 2)), np.empty((2 * n, 2))
    for k in range(n):
        edge[k] = edge[n + k] = y[k] * x[k] / n
        for j in range(n):
            if j == k:
                continue
            side = x[k, 0] * x[j, 1] - x[k, 1] * x[j, 0]
            if side != 0.0:  # by components, as a vector would be allocated for each j
                row = k if side > 0.0 else n + k
                corner[row, 0] += y[j] * x[j, 0] / n
                corner[row, 1] += y[j] * x[j, 1] / n
    return corner, edge


RECORDS = {
    "deviation_dimensions": Recipe(
        dimensions,
        {"d": list(DIMENSIONS), "n": list(SIZES), "kind": ["linear", "relu"], "seed": list(range(5))},
        about="Theorem 1: the deviation in several dimensions",
    ),
    "deviation_dimensions_more": Recipe(
        dimensions,
        {"d": list(DIMENSIONS), "n": [1_000, 10_000], "kind": ["relu"], "seed": list(range(5, 20))},
        about="Theorem 1: the deviation in several dimensions, fifteen more draws with five ReLU units",
    ),
    "deviation_quantiles": Recipe(
        dimensions,
        {"d": list(DIMENSIONS), "n": [1_000, 10_000], "seed": list(range(100))},
        {"kind": "linear"},
        "Equation (17): a hundred deviations for each dimension",
    ),
    "deviation_tails": Recipe(
        tails,
        {"noise": list(FREEDOM), "n": list(LENGTHS), "block": list(range(20))},
        about="Theorem 3 and Corollary 1: twenty thousand deviations in the plane for each law of the labels",
        replicates="block",
        shortened={"draws": 100},
    ),
}
