"""Where neurons point: solutions of the infinite-sample condition, and networks at the end of early alignment."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.cluster import hierarchy

from experiments.simplicity_bias import infinite_sample
from shallow import nets, stats
from shallow.book.recipes import Recipe
from shallow.data import teachers
from shallow.geometry import alignment

#: Rows of the sample that are held at a time: a block of activations of 1000 neurons stays in the cache.
ROWS = 256


def solutions(seed: int, d: int, k: int, starts: int = 2000) -> xr.Dataset:
    """Solutions w of condition (6) for a random teacher of k units, by Newton's method from random directions.

    Variables: `count`, how many; `proper`, those with D different from zero; `euler`, the sum of their indices (2 on an
    even-dimensional sphere if none is missing and none has D = 0).
    """
    teacher = teachers.relu(stats.stream("teacher directions", d, k, seed), k, d)
    found = infinite_sample.newton(teacher, stats.stream("Newton starts", d, k, seed).standard_normal((starts, d)))
    return xr.Dataset(
        {"count": ((), len(found)), "proper": ((), found.proper), "euler": ((), int(found.indices.sum()))}
    )


def descend(
    x: np.ndarray, y: np.ndarray, network: nets.TwoLayer, *, step: float, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    r"""W and v after full-batch gradient steps on $\frac{1}{2n}\sum_k (h(x_k) - y_k)^2$, float64; no biases.

    Cost: O(n m d) per step, in blocks of rows.
    """
    W, v, n = network.W.copy(), network.v.copy(), len(y)
    for _ in range(steps):
        D = np.zeros_like(W)
        for rows in (slice(start, start + ROWS) for start in range(0, n, ROWS)):
            hidden = x[rows] @ W.T
            active = hidden > 0
            hidden *= active
            residual = y[rows] - hidden @ v
            D += (active * residual[:, None]).T @ x[rows]
        D *= step / n
        W, v = W + v[:, None] * D, v + (W * D).sum(axis=1)
    return W, v


def grouped(directions: np.ndarray, angle: float) -> np.ndarray:
    """Sizes of the clusters of unit vectors (m, d) by single linkage below an angle in radians, largest first."""
    tree = hierarchy.linkage(directions, method="single")
    labels = hierarchy.fcluster(tree, 2 * np.sin(angle / 2), criterion="distance")
    return np.sort(np.bincount(labels)[1:])[::-1]


def aligned(
    seed: int, n: int, start: str, d: int = 5, m: int = 1000, scale: float = 1e-6, power: float = 0.5,
    step: float = 0.05, angles: tuple[float, ...] = (0.02, 0.05, 0.1),
) -> xr.Dataset:  # fmt: skip
    r"""Clusters of directions at the end of early alignment, the flow time
    $\tau = \epsilon \ln(1/\lambda) / \max_\pm \|D_n(\pm\beta^*)\|$ with $\epsilon$ = `power`.

    Gaussian inputs, linear teacher $e_1$; `start` is "dominated", the initialisation (8) of scale $\lambda$, or
    "gaussian", every component $N(0, \lambda^2/m)$.  Variables: `clusters` of the directions $w_j/\|w_j\|$ at the start
    and at $\tau$ for each linkage angle (time, angle); `in_two`, the share of the neurons in the two largest (time,
    angle); `growth`, $\max_j |a_j(\tau)| / \max_j |a_j(0)|$; `output`, the largest $|h(x_k)|$ at $\tau$, small as long
    as the neurons do not interact.
    """
    rng = stats.stream("aligned network", start, d, n, seed)
    sample = teachers.gaussian(stats.stream("aligned sample", d, n, seed), teachers.first_axis(d), n)
    network = nets.dominated(rng, m, d, scale) if start == "dominated" else nets.small(rng, m, d, scale / m**0.5)
    speed = np.linalg.norm(alignment.vector(*sample, np.eye(d)[:1] * [[1.0], [-1.0]]), axis=1).max()
    W, v = descend(*sample, network, step=step, steps=round(power * np.log(1 / scale) / speed / step))
    units = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (network.W, W)]
    sizes = [[grouped(directions, angle) for angle in angles] for directions in units]
    return xr.Dataset(
        {
            "clusters": (("time", "angle"), [[len(groups) for groups in row] for row in sizes]),
            "in_two": (("time", "angle"), [[groups[:2].sum() / m for groups in row] for row in sizes]),
            "growth": ((), np.abs(v).max() / np.abs(network.v).max()),
            "output": ((), np.abs(nets.TwoLayer(W, np.zeros(m), v).forward(sample.x)).max()),
        },
        {"time": ["start", "aligned"], "angle": list(angles)},
    )


RECORDS = {
    "teacher_directions": Recipe(
        solutions,
        {"d": [3, 5], "k": [1, 2, 3, 5, 8], "seed": range(50)},
        about="Solutions of condition (6) for random teachers, 2000 Newton starts each",
    ),
    "aligned": Recipe(
        aligned,
        {"start": ["dominated", "gaussian"], "n": [10, 30, 100, 300, 1000, 3000, 10_000], "seed": range(5)},
        about="Clusters of the directions of 1000 neurons at the end of early alignment, five inputs",
    ),
}
