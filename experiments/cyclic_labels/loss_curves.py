"""One training run on cyclic labels, reduced to its loss curves."""

from __future__ import annotations

import numpy as np
import xarray as xr

from shallow import checks, nets
from shallow.book.recipes import releases_gil
from shallow.data import cyclic
from shallow.nets import TwoLayer
from shallow.train import univariate
from shallow.train.run import schedule

GRID = cyclic.grid(1000)
EPOCHS = 20_000
INITIALISATIONS = {"default": nets.default, "normal": nets.normal}
RATES = {"all": nets.ALL, "output": nets.OUTPUT_ONLY, "hidden": nets.HIDDEN_ONLY}


def start(
    rng: np.random.Generator, width: int, *, initial: str = "default", alpha: float = 1.0, antisymmetric: bool = False
) -> tuple[TwoLayer, tuple[float, float, float]]:
    """The initial network and the rates of its groups: a draw of `initial`, times alpha, doubled if antisymmetric."""
    checks.one_of(INITIALISATIONS, initial=initial)
    network = nets.scaled(INITIALISATIONS[initial](rng, width), alpha)
    return (nets.antisymmetric(network), nets.ANTISYMMETRIC) if antisymmetric else (network, nets.ALL)


def hinge(predictions: np.ndarray, periods: int = 3) -> np.ndarray:
    """Hinge loss of predictions (..., 1000) at every point of the grid, shape (..., 1000)."""
    return np.maximum(0.0, 1.0 - cyclic.labels(GRID, periods) * predictions)


def by_cluster(values: np.ndarray, periods: int = 3) -> np.ndarray:
    """Mean over the grid points of each cluster: (..., 1000) -> (..., 2 periods)."""
    cluster = cyclic.clusters(GRID, periods)
    return np.stack([values[..., cluster == c].mean(axis=-1) for c in range(2 * periods)], axis=-1)


@releases_gil
def run(
    seed: int,
    *,
    design: str = "iid",
    step: float = 0.001,
    n: int = 50,
    width: int = 512,
    periods: int = 3,
    base: int = 7,
    epochs: int = EPOCHS,
    every: int = 100,
    initial: str = "default",
    alpha: float = 1.0,
    antisymmetric: bool = False,
    train: str = "all",
    rates: tuple[float, float, float] | None = None,
    agop: float = 0.0,
    decay: float = 0.0,
    keep: tuple[str, ...] = (),
) -> xr.Dataset:
    """Train one network and reduce it to its loss curves over `epoch` (records) and `cluster`.

    `rates`, the steps of v, W and b over `step`, replace those of `train`.

    train_loss is the summed hinge, test_loss its mean on the grid, trace the mean f'^2 at the training points (the
    trace of the AGOP), error the misclassified share of the grid; zero_epoch is NaN if the training loss never reached
    zero, diverged_epoch NaN if finite.  `keep` adds "predictions", "outputs", "slope_energy" (mean f'^2 on the grid by
    cluster) and "sample" (x, y).  A diverged run has NaN everywhere.
    """
    sample = cyclic.sample(n, periods=periods, base=base, seed=seed, design=design)
    network, default = start(sample.rng, width, initial=initial, alpha=alpha, antisymmetric=antisymmetric)
    if rates is None:
        rates = default if train == "all" else RATES[train]
    records = schedule(every, epochs)
    try:
        result = univariate.train(
            sample.x,
            sample.y,
            network,
            step=step,
            epochs=epochs,
            records=records,
            grid=GRID,
            rates=rates,
            agop=agop,
            decay=decay,
            keep_parameters="slope_energy" in keep,
        )
    except univariate.Diverged as failure:
        result, diverged = None, failure.epoch
    else:
        diverged = np.nan
    shape = (len(records), len(GRID))
    predictions = np.full(shape, np.nan) if result is None else result.predictions
    wrong = np.where(np.isnan(predictions), np.nan, np.sign(predictions) != cyclic.labels(GRID, periods))
    losses = hinge(predictions, periods)
    data = {
        "train_loss": ("epoch", np.full(len(records), np.nan) if result is None else result.loss),
        "test_loss": ("epoch", losses.mean(axis=-1)),
        "trace": ("epoch", np.full(len(records), np.nan) if result is None else (result.slopes**2).mean(axis=1)),
        "cluster_loss": (("epoch", "cluster"), by_cluster(losses, periods)),
        "error": ("epoch", wrong.mean(axis=-1)),
        "cluster_error": (("epoch", "cluster"), by_cluster(wrong, periods)),
        "zero_epoch": ((), np.nan if result is None or result.zero_epoch is None else result.zero_epoch),
        "diverged_epoch": ((), diverged),
        "count": ("cluster", np.bincount(cyclic.clusters(sample.x, periods), minlength=2 * periods)),
    }
    if "predictions" in keep:
        data["predictions"] = (("epoch", "grid"), predictions.astype(np.float32))
    if "outputs" in keep:
        data["outputs"] = (("epoch", "point"), np.full((len(records), n), np.nan) if result is None else result.outputs)
    if "slope_energy" in keep:
        data["slope_energy"] = (("epoch", "cluster"), _slope_energy(result, records, periods))
    if "sample" in keep:
        data |= {"x": ("point", sample.x), "y": ("point", sample.y)}
    return xr.Dataset(data, {"epoch": records, "cluster": np.arange(2 * periods)})


def _slope_energy(result: univariate.Run | None, records: np.ndarray, periods: int) -> np.ndarray:
    """Mean of f'(x)^2 over the grid points of each cluster at every record, shape (R, 2 periods)."""
    if result is None:
        return np.full((len(records), 2 * periods), np.nan)
    slopes = np.stack([univariate.evaluate(TwoLayer(*p), GRID)[1] for p in result.parameters])
    return by_cluster(slopes**2, periods)
