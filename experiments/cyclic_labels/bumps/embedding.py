"""Fixed random features, and inputs with noise coordinates: the last two questions of Bowman (2025, Section 6)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.optimize import nnls

from experiments.cyclic_labels.bumps import cells as bumps
from experiments.cyclic_labels.bumps.cells import recovery
from experiments.cyclic_labels.loss_curves import EPOCHS, GRID, RATES, by_cluster, hinge, start
from shallow import nets, stats
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import cyclic
from shallow.nets import TwoLayer
from shallow.train import plain, univariate
from shallow.train.run import schedule

CLUSTER = 5


def hard_margin(features: np.ndarray, y: np.ndarray) -> np.ndarray:
    r"""Maximum-margin direction, no intercept: $\arg\min \|v\|$ subject to $y_i \langle v, \varphi_i \rangle \ge 1$.

    Features (n, m), labels (n,).  Solved exactly as a least-distance problem by non-negative least squares (Lawson and
    Hanson 1974, chapter 23); ValueError when the points cannot be separated.
    """
    rows = np.asarray(y)[:, None] * features
    scale = np.abs(rows).max()  # the problem is homogeneous: solve it at scale 1
    matrix = np.vstack([rows.T / scale, np.ones(len(rows))])
    target = np.append(np.zeros(rows.shape[1]), 1.0)
    weights, _ = nnls(matrix, target, maxiter=50 * len(rows))
    residual = matrix @ weights - target
    if not residual[-1] < -1e-12:
        raise ValueError("features cannot separate y by a plane through the origin")
    return -residual[:-1] / residual[-1] / scale


def cosine(first: np.ndarray, second: np.ndarray) -> float:
    """Cosine of the angle between two vectors."""
    return float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second)))


@releases_gil
def imbalance(
    points: int,
    step: float,
    train: str,
    seed: int,
    *,
    horizons: tuple[int, ...] = (EPOCHS, 10 * EPOCHS),
    width: int = 512,
) -> xr.Dataset:
    """A run of poor(5, points) looked at after each horizon; `train` is "output" (fixed features) or "all".

    The fields of its bump are those of :mod:`.bumps`; cosine is that of the output weights with the hard-margin
    solution on the features of the hidden layer at that time, NaN where these cannot separate the points.
    """
    sample = cyclic.sample(50, base=7, seed=seed, design=f"poor({CLUSTER},{points})")
    network, _ = start(sample.rng, width)
    records = schedule(bumps.INTERVAL, horizons[-1])
    run = univariate.train(
        sample.x,
        sample.y,
        network,
        step=step,
        epochs=horizons[-1],
        records=records,
        grid=GRID,
        rates=RATES[train],
        keep_parameters=True,
    )
    losses = hinge(run.predictions)
    curves = xr.Dataset(
        {
            "train_loss": (("seed", "epoch"), run.loss[None]),
            "test_loss": (("seed", "epoch"), losses.mean(axis=1)[None]),
            "cluster_loss": (("seed", "epoch", "cluster"), by_cluster(losses)[None]),
        },
        {"seed": [seed], "epoch": records},
    )
    wrong = np.sign(run.predictions) != cyclic.labels(GRID)
    found = []
    for horizon in horizons:
        until, at = curves.sel(epoch=slice(0, horizon)), int(np.searchsorted(records, horizon))
        bump = bumps.slow(until).isel(seed=0, drop=True)
        scalars = {name: bump[name] for name in ("rise", "diverging", "recovers")}
        scalars |= {"recovery": ((), recovery(until)[0]), "zero": ((), run.loss[at] == 0)}
        scalars |= {"loss": ((), losses[at].mean()), "error": ((), wrong[at].mean())}
        scalars |= {"cluster_error": ("cluster", by_cluster(wrong[at]))}
        scalars |= {"cosine": ((), _margin_cosine(sample, run, at))}
        found.append(xr.Dataset(scalars))
    return xr.concat(found, xr.Variable("horizon", list(horizons)))


def _margin_cosine(sample: cyclic.Sample, run: univariate.Run, at: int) -> float:
    w, b, v = run.parameters[at]
    try:
        return cosine(v, hard_margin(np.maximum(np.outer(sample.x, w) + b, 0), sample.y))
    except ValueError:
        return np.nan


def with_noise(x: np.ndarray, inputs: int, rng: np.random.Generator) -> np.ndarray:
    """x (n,) as the first of `inputs` coordinates, the others uniform on [-1/2, 1/2] as x is; shape (n, inputs)."""
    return np.column_stack([x, rng.uniform(-0.5, 0.5, (len(x), inputs - 1))])


def gradient_shares(network: TwoLayer, x: np.ndarray) -> np.ndarray:
    r"""Share of each input in the AGOP trace, $\frac1n \sum_i \nabla f(x_i) \nabla f(x_i)^\top$: x (n, d) -> (d,)."""
    gates = (x @ network.W.T + network.b > 0) * network.v
    energy = ((gates @ network.W) ** 2).mean(axis=0)
    return energy / energy.sum()


@releases_gil
def noisy(
    inputs: int, design: str, seed: int, *, n: int = 200, width: int = 512, step: float = 0.001, epochs: int = EPOCHS
) -> xr.Dataset:
    """A network with `inputs` coordinates, all but the first noise, trained on cyclic labels of the first.

    It is tested on the grid with fresh noise coordinates; true_share is the share of the AGOP trace on the first
    coordinate, over the test points.
    """
    sample = cyclic.sample(n, base=7, seed=seed, design=design)
    network = nets.default(sample.rng, width, inputs)
    x = with_noise(sample.x, inputs, sample.rng)
    test = with_noise(GRID, inputs, stats.stream("noise", inputs, seed))
    options = {"loss": "hinge", "reduction": "sum", "records": bumps.INTERVAL}
    run = plain.train(x, sample.y, network, step=step, steps=epochs, **options)
    predictions = np.stack([record.forward(test) for record in run.values])
    losses = hinge(predictions)
    data = {
        "train_loss": ("epoch", run.loss),
        "test_loss": ("epoch", losses.mean(axis=1)),
        "error": ("epoch", (np.sign(predictions) != cyclic.labels(GRID)).mean(axis=1)),
        "cluster_loss": (("epoch", "cluster"), by_cluster(losses)),
        "true_share": ("epoch", [gradient_shares(record, test)[0] for record in run.values]),
    }
    return xr.Dataset(data, {"epoch": run.steps})


RECORDS: dict[str, Recipe] = {
    "imbalance": Recipe(
        imbalance,
        {"points": [1, 2, 3, 5, 8], "step": [0.001, 0.01], "train": ["output", "all"], "seed": list(range(20))},
        about="A poor cluster on a fixed random embedding and in the full network, 20,000 and 200,000 epochs",
    ),
    "noise_coordinates": Recipe(
        noisy,
        {"inputs": [2, 5, 10], "design": ["poor(5,4)", "strat"], "seed": list(range(10))},
        {"n": 200, "width": 512, "step": 0.001, "epochs": 20_000},
        "Cyclic labels of one coordinate among noise coordinates: share of the gradient outer product",
    ),
}
