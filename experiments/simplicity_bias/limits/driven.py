"""Interpolating networks of any width on the data of Figure 1: both layers, driven there by Gauss-Newton steps.

Where a network has fewer neurons than points its output layer alone cannot interpolate, and small steps would take too
long; a Gauss-Newton step moves both layers at once, by the least change that fits the labels to first order.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy import linalg

from experiments.simplicity_bias.transition import cells as transition
from shallow import gaussian_loss
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.data import teachers
from shallow.data.teachers import Sample
from shallow.kernels import empirical
from shallow.nets import TwoLayer
from shallow.stats import stream
from shallow.train import minibatch


def gauss_newton(network: TwoLayer, sample: Sample, damping: float) -> TwoLayer:
    r"""One damped Gauss-Newton step $J^\top (J J^\top + \mu I)^{-1} r$ on the residuals r (n,), in all weights.

    $\mu$ is `damping` times the mean of the diagonal of $J J^\top$.  Cost: O(n^2 m + n^3).
    """
    x, y = sample
    hidden = x @ network.W.T
    active, hidden = (hidden > 0).astype(float), np.maximum(hidden, 0)
    kernel = empirical.ntk(network, x, rates=(1.0, 1.0, 0.0))
    kernel[np.diag_indices_from(kernel)] += damping * np.trace(kernel) / len(y)
    share = linalg.solve(kernel, y - hidden @ network.v, assume_a="pos", overwrite_a=True)
    change = network.v[:, None] * (active.T @ (share[:, None] * x))
    return TwoLayer(network.W + change, network.b, network.v + hidden.T @ share)


def interpolate(network: TwoLayer, sample: Sample, *, enough: float, most: int) -> tuple[TwoLayer, int]:
    """Gauss-Newton steps until the mean square is at most `enough`; the network and their number.

    The damping is divided by 4 after a step that lowers the loss, and multiplied by 4 after one that does not and is
    taken back.  After `most` steps it ends as it is.
    """
    loss, damping = transition.train_loss(network, sample), 1e-3
    for step in range(most):
        if loss <= enough:
            return network, step
        trial = gauss_newton(network, sample, damping)
        reached = transition.train_loss(trial, sample)
        if reached < loss:
            network, loss, damping = trial, reached, damping / 4
        else:
            damping *= 4
    return network, most


@releases_gil
def driven(
    seed: int,
    n: int,
    *,
    width: int = transition.NARROW,
    d: int = 5,
    gain: float = 6.0,
    steps: int = 30_000,
    most: int = 200,
) -> xr.Dataset:
    r"""Order-one weights, $w_j \sim N(0, I/d)$ and $a_j \sim N(0, 1/m)$: SGD at the rate gain / m, then Gauss-Newton.

    At `most` so many Gauss-Newton steps, until the train loss is a hundredth of the noise; 0 is the first stage alone.
    `moved` is their change of all weights over the norm of these.
    """
    target, sample, _ = transition.drawn(seed, n, d=d, width=width)
    rng = stream("interpolating", seed, n, width, d)
    start = TwoLayer(rng.standard_normal((width, d)) / d**0.5, np.zeros(width), rng.standard_normal(width) / width**0.5)
    options = {"batch": min(transition.BATCH, n), "rng": rng, "dtype": np.float32}
    stages = {"SGD": minibatch.train(*sample, start, rate=gain / width, steps=steps, **options).network}
    once = {}
    if most:
        stages["driven"], taken = interpolate(stages["SGD"], sample, enough=teachers.NOISE / 100, most=most)
        before, after = (np.column_stack([one.W, one.v]) for one in stages.values())
        once = {"taken": taken, "moved": np.linalg.norm(after - before) / np.linalg.norm(before)}
    losses = {
        "train": [transition.train_loss(one, sample) for one in stages.values()],
        "excess": [gaussian_loss.excess_risk(one, target) for one in stages.values()],
    }
    return xr.Dataset({name: ("stage", values) for name, values in losses.items()} | once, {"stage": list(stages)})


RECORDS: dict[str, Recipe] = {
    "driven": Recipe(
        driven,
        {"n": [1000, 2000], "seed": [0, 1, 2]},
        about="Interpolation from order-one weights with 1008 neurons, both layers",
        agreement=Agreement(relative=1e-3),
        shortened={"most": 0},
    ),
}
