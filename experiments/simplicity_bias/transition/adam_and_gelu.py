"""The transition of Figure 1 with another optimiser or another activation (introduction of the published version)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from experiments.simplicity_bias.transition import adam_and_gelu_steps
from experiments.simplicity_bias.transition import cells as transition
from shallow import checks, gaussian_loss
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import teachers
from shallow.nets import TwoLayer
from shallow.stats import stream
from shallow.train import plain

#: What is exchanged, and the learning rate that goes with it (unsourced, as all of them).
VARIANTS = {
    "Adam": {"optimiser": "adam", "rate": 1e-3},
    "GeLU": {"activation": "gelu", "rate": transition.RATE},
}
#: Fresh inputs on which the excess risk of a GeLU network is measured; there is no closed form.
FRESH = 100_000


def gelu(network: TwoLayer, x: np.ndarray) -> np.ndarray:
    r"""$\sum_j v_j\,z_j \Phi(z_j)$ with $z_j = \langle w_j, x\rangle$, shape (n,); in blocks, O(n m d)."""
    blocks = np.array_split(x, max(1, len(x) * network.width // 2_000_000))
    return np.concatenate([plain.hidden(block, network, "gelu")[0] @ network.v for block in blocks])


@releases_gil
def variant(
    seed: int,
    n: int,
    kind: str,
    *,
    d: int = 5,
    width: int = transition.NARROW,
    steps: int = 2_000_000,
    snapshots: Sequence[int] = (1000, 100_000, 300_000, 500_000, 1_000_000, 2_000_000),
) -> xr.Dataset:
    """Training loss and excess risk (dimension step) of one run, with those of least squares on the same data.

    Data, initialisation and order of the batches are those of :func:`transition.run`; `kind` is a name of `VARIANTS`.
    """
    checks.one_of(VARIANTS, kind=kind)
    target, sample, start = transition.drawn(seed, n, d=d, width=width)
    fresh = stream("simplicity bias", "fresh inputs", d, n, seed).standard_normal((FRESH, d))

    def measures(network: TwoLayer) -> tuple[float, float]:
        if kind == "GeLU":
            squares = (gelu(network, sample.x) - sample.y) ** 2
            return np.mean(squares), np.mean((gelu(network, fresh) - target.forward(fresh)) ** 2)
        return transition.train_loss(network, sample), gaussian_loss.excess_risk(network, target)

    shown = sorted({*(s for s in snapshots if s <= steps), steps})
    rng = stream("simplicity bias", "batches", d, n, width, seed)
    path = adam_and_gelu_steps.train(
        *sample,
        start,
        steps=steps,
        batch=min(transition.BATCH, n),
        rng=rng,
        records=shown,
        measure=measures,
        **VARIANTS[kind],
    )
    train, excess = zip(*path.values, strict=True)
    beta, ols = transition.least_squares(sample)
    return xr.Dataset(
        {
            "train": ("step", list(train)),
            "excess": ("step", list(excess)),
            "ols": ols,
            "ols_excess": gaussian_loss.excess_risk(teachers.linear(beta), target),
        },
        {"step": shown},
    )


RECORDS: dict[str, Recipe] = {
    "variants": Recipe(
        variant,
        {"kind": list(VARIANTS), "n": [100, 750, 1250, 2000, 5000, 10_000], "seed": [0]},
        about="Figure 1 with 1008 neurons, with Adam and with GeLU, 2 million steps",
        shortened={"steps": 1000},
    ),
}
