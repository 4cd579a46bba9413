"""Networks that interpolate noisy labels of a linear teacher where training from small weights does not.

Interpolation at any sample size: :func:`capacity` solves the output layer of random hidden neurons by least squares,
:func:`interpolating` trains a network of order-one weights until it fits the noise.  (Section 4.1.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from scipy import linalg

from experiments.simplicity_bias.transition import cells as transition
from shallow import gaussian_loss, nets
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.data import teachers
from shallow.nets import TwoLayer
from shallow.stats import stream
from shallow.train import minibatch


def capacity(seed: int, *, n: int, width: int = 10_000, d: int = 5) -> xr.Dataset:
    r"""Output weights of least norm that interpolate n points of the linear teacher, hidden directions uniform.

    Returns:
        rank: number of eigenvalues of $\Phi\Phi^\top$, $\Phi_{kj} = \sigma(\langle w_j, x_k\rangle)$, above $n\epsilon$
            times the largest, which is what rounding leaves of zero; condition: its condition number;
        train, excess: mean square on the sample and excess risk; NaN where the rank is below n.

    Cost: $n^2 m$ operations in matrix products and $n^3$; 8 s for n = 5000, m = 10000 on one core.
    """
    rng = stream("capacity", seed, n, width, d)
    teacher = teachers.first_axis(d)
    x, y = teachers.gaussian(rng, teacher, n)
    W = rng.standard_normal((width, d))
    W /= np.linalg.norm(W, axis=1)[:, None]
    features = np.maximum(x @ W.T, 0.0)
    gram = features @ features.T
    eigenvalues = linalg.eigvalsh(gram)
    rank = int(np.sum(eigenvalues > n * np.finfo(float).eps * eigenvalues[-1]))
    a = _least_norm(features, y, gram) if rank == n else np.full(width, np.nan)
    risk = gaussian_loss.excess_risk(TwoLayer(W, np.zeros(width), a), teacher) if rank == n else np.nan
    return xr.Dataset(
        {
            "rank": rank,
            "condition": 1 / max(eigenvalues[0] / eigenvalues[-1], np.finfo(float).eps),
            "train": float(np.mean((features @ a - y) ** 2)),
            "excess": risk,
        }
    )


@releases_gil
def interpolating(
    seed: int, *, n: int, records: Sequence[int], width: int = 10_000, d: int = 5, gain: float = 6.0, batch: int = 32
) -> xr.Dataset:
    r"""A network of order-one weights, $w_j \sim N(0, I/d)$ and $a_j \sim N(0, 1/m)$, on the data of Figure 1.

    Plain SGD as in Figure 1 but for the rate, gain / m: that of Figure 1 diverges at these weights, because the largest
    eigenvalue of the tangent kernel grows like m.  At every step in `records` the network is looked at, and beside
    it, `solved`, the network with the least change of its output weights that interpolates; `moved` is the root mean
    square of that change over that of the output weights.

    Cost: 95 microseconds per step, and $n^2 m$ operations in matrix products per record.
    """
    target, sample, _ = transition.drawn(seed, n, d=d, width=width)
    rng = stream("interpolating", seed, n, width, d)
    start = TwoLayer(rng.standard_normal((width, d)) / d**0.5, np.zeros(width), rng.standard_normal(width) / width**0.5)

    def look(network: TwoLayer) -> dict[str, float]:
        features = np.maximum(sample.x @ network.W.T, 0.0)
        residual = sample.y - features @ network.v
        change = _least_norm(features, residual, features @ features.T)
        solved = nets.with_output(network, network.v + change)
        return {
            "train": float(np.mean(residual**2)),
            "excess": gaussian_loss.excess_risk(network, target),
            "solved_train": transition.train_loss(solved, sample),
            "solved_excess": gaussian_loss.excess_risk(solved, target),
            "moved": float(np.linalg.norm(change) / np.linalg.norm(network.v)),
        }

    options = {"rate": gain / width, "batch": min(batch, n), "rng": rng, "dtype": np.float32}
    path = minibatch.train(*sample, start, steps=records[-1], records=records, measure=look, **options)
    return xr.Dataset(
        {name: ("step", [value[name] for value in path.values]) for name in path.values[0]}, {"step": list(records)}
    )


def _least_norm(features: np.ndarray, y: np.ndarray, gram: np.ndarray) -> np.ndarray:
    r"""The vector of least norm with $\Phi a = y$, by Cholesky's factor of $\Phi\Phi^\top$ and two refinements."""
    factor, a = linalg.cho_factor(gram), np.zeros(features.shape[1])
    for _ in range(3):
        a += features.T @ linalg.cho_solve(factor, y - features @ a)
    return a


RECORDS: dict[str, Recipe] = {
    "capacity": Recipe(
        capacity,
        {"n": [500, 1000, 2000, 5000], "seed": [0, 1]},
        about="Interpolation by the output layer of 10,000 random neurons",
        agreement=Agreement(rounding=("train",)),
    ),
    "interpolating": Recipe(
        interpolating,
        {"n": [30, 100, 200, 500, 1000, 2000, 5000], "seed": [0, 1, 2]},
        {"records": [1000, 30_000]},
        "Interpolation from order-one weights, 10,000 neurons",
        agreement=Agreement(rounding=("solved_train",)),
        shortened={"records": [1000]},
    ),
    "stopped": Recipe(
        transition.run,
        {"n": [2000, 5000], "seed": [0, 1, 2]},
        {"width": 10_000, "steps": 1_000_000},
        "Figure 1 with 10,000 neurons on the same data, a million steps",
        shortened={"steps": 1000},
    ),
}
