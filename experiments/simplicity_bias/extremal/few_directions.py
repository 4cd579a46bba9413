r"""How many directions early alignment leads to (Section 3): extremal vectors of planar samples, and their inputs."""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.simplicity_bias import early_alignment
from experiments.simplicity_bias.extremal import cells as extremal
from experiments.simplicity_bias.extremal import effective_width
from shallow import alignment, checks
from shallow.book.recipes import Recipe
from shallow.stats import stream

LABELS = ("teacher", "noise")
LAWS = ("gaussian", "cube", "stretched")


def numbers(n: int, *, labels: str = "teacher", noise: str = "gaussian", size: float = 0.3, draws: int) -> xr.Dataset:
    r"""Extremal vectors of samples of n Gaussian inputs in the plane.

    The labels are those of a "teacher", $y = x_1 + \xi$, or "noise", $y = \xi$; $\xi$ is "gaussian", or a "sign" $\pm$.

    Returns, for every draw: number; rays, how many of them belong to a direction orthogonal to an input; and angle,
    the largest between an extremal direction and the first axis, in radians.
    """
    checks.one_of(LABELS, labels=labels)
    checks.one_of(("gaussian", "sign"), noise=noise)
    rows = []
    for draw in range(draws):
        rng = stream("few directions", labels, noise, n, draw)
        x = rng.standard_normal((n, 2))
        xi = size * (rng.standard_normal(n) if noise == "gaussian" else rng.choice([-1.0, 1.0], n))
        found = extremal.circle(x, xi + (x[:, 0] if labels == "teacher" else 0.0))
        turned = np.abs(found.directions)
        rows.append([len(found), (found.zeros[found.kinds != 0] == 1).sum(), np.arctan2(*turned.T[::-1]).max()])
    columns = dict(zip(("number", "rays", "angle"), np.array(rows, float).T))
    return xr.Dataset({name: ("draw", column) for name, column in columns.items()}, {"draw": np.arange(draws)})


def drift(law: str, d: int, *, n: int = 1_000_000, directions: int = 100, block: int = 20_000) -> xr.Dataset:
    r"""How far $D_n(w)$ of a linear teacher is from $\frac12\Sigma\beta^*$, in standard errors of its components.

    Inputs are N(0, I_d); uniform on a cube; or Gaussian with standard deviations from 2 to 1/2.  Returns `worst`, the
    largest distance over random directions w and $\beta^*$ = e_1 or a random unit vector, of so many `trials`.
    """
    checks.one_of(LAWS, law=law)
    rng, widths = stream("symmetric", law, d), np.linspace(2, 0.5, d)
    w, betas = rng.standard_normal((directions, d)), np.stack([np.eye(d)[0], rng.standard_normal(d)])
    betas[1] /= np.linalg.norm(betas[1])
    sums = 0
    for _ in range(n // block):
        x = rng.uniform(-(3**0.5), 3**0.5, (block, d)) if law == "cube" else rng.standard_normal((block, d))
        x = x * widths if law == "stretched" else x
        push = ((x @ betas.T)[:, :, None] * x[:, None]).reshape(block, -1)
        active = (x.astype(np.float32) @ w.T.astype(np.float32) > 0).astype(np.float32)
        sums = sums + active.T @ np.column_stack([push, push**2]).astype(np.float32)
    mean, square = np.split(sums / n, 2, axis=1)
    second = widths**2 if law == "stretched" else np.ones(d)
    expected = np.concatenate([alignment.population_linear(second, beta) for beta in betas])
    away = np.abs(mean - expected) / np.sqrt((square - mean**2) / n)
    return xr.Dataset({"worst": ((), float(away.max())), "trials": ((), away.size)})


RECORDS: dict[str, Recipe] = {
    "extremal_numbers": Recipe(
        numbers,
        {"labels": list(LABELS), "n": [10, 30, 100, 300, 1000, 3000, 10_000]},
        {"draws": 400},
        "Extremal vectors of planar samples, linear teacher or labels of noise",
    ),
    "symmetric_laws": Recipe(
        drift, {"law": list(LAWS), "d": [2, 5]}, about="Vectors of a linear teacher for symmetric laws of the inputs"
    ),
    "toward_extremal": Recipe(
        early_alignment.toward_extremal,
        {"n": [20, 100, 500], "scale": [1e-2, 1e-4, 1e-6], "seed": range(20)},
        {"step": 0.1},
        "Neurons along extremal vectors at the end of early alignment, two inputs",
    ),
    "toward_extremal_shuffled": Recipe(
        early_alignment.toward_extremal,
        {"n": [20, 100, 500], "seed": range(20)},
        {"step": 0.1, "scale": 1e-6, "shuffled": True},
        "The same with permuted labels",
    ),
    "early_clusters_draws": Recipe(
        effective_width.early,
        {"ratio": ["1", "100"], "seed": range(5, 15)},
        {"d": 20, "exponents": [0.0, 0.5]},
        "Ten more draws of clusters at the end of early alignment, twenty inputs",
    ),
    "final_clusters_large": Recipe(
        effective_width.final,
        {"kappa": [1, 2], "d": [30, 60], "seed": range(5)},
        about="Clusters at convergence in 30 and 60 dimensions",
    ),
}
