r"""Clusters of neuron directions when data are few (Section 3): at the end of early alignment, and of training.

Labels of a linear teacher with noise, initialisation (8).  A cluster is a cap of 0.05 rad of directions of one sign
(:mod:`shallow.clusters`), and their number is that of the heaviest ones with 99 % of the mass $|a_j|\|w_j\|$.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from experiments.simplicity_bias import two_fits
from shallow import clusters, nets
from shallow.book.recipes import Agreement, Recipe
from shallow.data import teachers
from shallow.nets import TwoLayer
from shallow.stats import stream

#: Times of early alignment, as exponents: $\tau = \epsilon \ln(1/\lambda) / \max \|D_n(\pm\beta^*)\|$.
EXPONENTS = (0.0, 1 / 3, 1 / 2, 3 / 4)
#: The loss has stopped to fall when it loses less than this share in so much flow time.
STALLED, WINDOW = 1e-4, 200.0


def early(
    seed: int,
    *,
    d: int,
    ratio: str,
    width: int = 2000,
    scale: float = 1e-4,
    step: float = 0.1,
    exponents: Sequence[float] = EXPONENTS,
) -> xr.Dataset:
    r"""Clusters at the times $\tau(\epsilon)$ of early alignment, ascending `exponents` $\epsilon$.

    Inputs are "orthogonal" (n = d of them, a random orthogonal matrix times $\sqrt d$), or Gaussian with a ratio n/d.

    Returns, for every exponent: number, wide (with caps of 0.1 rad), by_neurons (the heaviest ones with 99 % of the
    neurons), effective_width (participation ratio) and mass, the sum of $|a_j|\|w_j\|$; and patterns, how many pairs
    (sign of $a_j$, active points whose label has that sign) the neurons have at the start.
    """
    sample, start = _draw(seed, d, ratio, width, scale)
    ends = np.round(two_fits.alignment_time(*sample, scale, np.array(exponents)) / step).astype(int)
    network, found, taken = start, [], 0
    for end in ends:
        network, _ = descend(*sample, network, step=step, steps=end - taken)
        taken, one, wide = end, clusters.find(network), clusters.find(network, 0.1).number()
        found.append([one.number(), wide, clusters.number_for(one.sizes), one.effective_width, one.masses.sum()])
    names = ("number", "wide", "by_neurons", "effective_width", "mass")
    columns = {name: ("exponent", np.array(column, float)) for name, column in zip(names, zip(*found))}
    agrees = np.sign(start.v)[:, None] * sample.y > 0
    patterns = np.unique(np.column_stack([start.v > 0, (start.W @ sample.x.T > 0) & agrees]), axis=0)
    return xr.Dataset(columns | {"patterns": len(patterns)}, {"exponent": list(exponents)})


def final(
    seed: int,
    *,
    kappa: int,
    d: int,
    width: int = 2000,
    scale: float = 1e-4,
    step: float = 0.1,
    horizon: float = 1e4,
    interpolated: float = 1e-8,
    stalled: float = STALLED,
) -> xr.Dataset:
    r"""Clusters at convergence with $n = \kappa d$ Gaussian points.

    Training ends when the mean square is below `interpolated`, when it has lost less than a share `stalled` in the
    last 200 units of flow time (0: never), or at the flow time `horizon`: up to 3 minutes for d = 40, n = 200.
    Returns number, wide, effective_width as in :func:`early`; loss (mean square), time, and start, the number of
    clusters at the initialisation.
    """
    sample, network = _draw(seed, d, str(kappa), width, scale)
    start, time, last = clusters.find(network).number(), 0.0, np.inf
    while time < horizon:
        network, loss = descend(*sample, network, step=step, steps=round(WINDOW / step), enough=interpolated)
        time += WINDOW
        if loss < interpolated or last - loss < stalled * last:
            break
        last = loss
    groups = clusters.find(network)
    wide = clusters.find(network, 0.1).number()
    return xr.Dataset(
        {
            "number": float(groups.number()),
            "wide": float(wide),
            "effective_width": groups.effective_width,
            "loss": loss,
            "time": time,
            "start": float(start),
        }
    )


def descend(
    x: np.ndarray, y: np.ndarray, network: TwoLayer, *, step: float, steps: int, enough: float = 0.0
) -> tuple[TwoLayer, float]:
    """Full-batch gradient descent on the halved square loss by matrix products, for many inputs and neurons.

    In single precision: only statistics of the directions are taken from these runs.

    Returns the network and its mean square before the last step; stops early once that is below `enough`.
    Cost: O(n m d) per step.
    """
    x, y, W, a = (part.astype(np.float32) for part in (x, y, network.W, network.v))
    step, n = np.float32(step), len(y)
    hidden, mean_square = np.empty((n, len(a)), np.float32), float(np.mean((network.forward(x) - y) ** 2))
    for _ in range(steps):
        np.matmul(x, W.T, out=hidden)
        np.maximum(hidden, 0.0, out=hidden)
        residual = y - hidden @ a
        mean_square = float(residual @ residual) / n
        if mean_square < enough:
            break
        np.multiply(hidden > 0, (residual / np.float32(n))[:, None], out=hidden)
        D = hidden.T @ x
        slope = np.einsum("jd,jd->j", W, D)
        W += step * a[:, None] * D
        a += step * slope
    return TwoLayer(W, network.b, a), mean_square


def _draw(seed: int, d: int, ratio: str, width: int, scale: float) -> tuple[teachers.Sample, TwoLayer]:
    rng = stream("effective width", seed, d, ratio)
    teacher = teachers.first_axis(d)
    if ratio == "orthogonal":
        x = d**0.5 * np.linalg.qr(rng.standard_normal((d, d)))[0]
        sample = teachers.labelled(rng, teacher, x)
    else:
        sample = teachers.gaussian(rng, teacher, int(ratio) * d)
    return sample, nets.dominated(rng, width, d, scale)


SEEDS = list(range(5))
RECORDS: dict[str, Recipe] = {
    "early_clusters": Recipe(
        early,
        {"d": [5, 20, 50], "ratio": ["orthogonal", "1", "2", "10", "100"], "seed": SEEDS},
        about="Clusters at the end of early alignment against n/d",
    ),
    "final_clusters": Recipe(
        final,
        {"kappa": [1, 2, 5], "d": [5, 10, 20, 40], "seed": SEEDS},
        about="Clusters at convergence with n of the order of d",
        agreement=Agreement(elsewhere=0.1),  # a neuron at the limit of a cluster changes a count by one
    ),
    "final_clusters_whole": Recipe(
        final,
        {"kappa": [1, 2, 5], "d": [5, 10], "seed": [0]},
        {"stalled": 0.0},
        "The same without stopping a loss that has stalled",
    ),
}
