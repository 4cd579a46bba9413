r"""Ensembles of networks trained on different data: variance, amplitudes and losses at one sample size.

All quadratic measures derive from the Gram matrix of the models' functions,
$G_{st} = \frac{1}{|\mathcal X|} \sum_{x} f_s(x) f_t(x)$ on the common grid of 1000 midpoints, so a record keeps the
Gram matrix and every variance, ratio and bootstrap interval follows from it.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.cyclic_labels.loss_curves import EPOCHS, GRID, hinge, start
from shallow.book.recipes import releases_gil
from shallow.data import cyclic
from shallow.train import univariate
from shallow.train.run import schedule


def functions(
    n: int,
    *,
    periods: int = 3,
    width: int = 512,
    step: float | None = None,
    step_times_n: float | None = None,
    base: int = 0,
    models: int = 10,
    data_seeds: tuple[int, ...] | None = None,
    start_seeds: tuple[int, ...] | None = None,
    epochs: int = EPOCHS,
    every: int = 500,
    initial: str = "default",
    alpha: float = 1.0,
    antisymmetric: bool = False,
) -> xr.Dataset:
    """Train `models` networks at sample size n, model s on the stream (base, n, s): f and summed hinge loss.

    The step is `step`, or `step_times_n` / n.  `data_seeds` and `start_seeds` replace the seeds of the data and of the
    initial networks, one a model, so that either can be held fixed.  zero_epoch is NaN for never, diverged_epoch for
    finite; a model that diverged is NaN everywhere.
    """
    if (step is None) == (step_times_n is None):
        raise ValueError(f"give exactly one of step and step_times_n, got {step} and {step_times_n}")
    data_seeds = data_seeds or tuple(range(models))
    start_seeds = start_seeds or data_seeds
    if not len(data_seeds) == len(start_seeds) == models:
        raise ValueError(f"give {models} data_seeds and start_seeds, got {len(data_seeds)} and {len(start_seeds)}")
    records = schedule(every, epochs)
    predictions = np.full((len(records), models, len(GRID)), np.nan)
    train_loss = np.full((len(records), models), np.nan)
    zero, diverged = np.full(models, np.nan), np.full(models, np.nan)
    for s, (data_seed, start_seed) in enumerate(zip(data_seeds, start_seeds)):
        sample = cyclic.sample(n, periods=periods, base=base, seed=data_seed)
        rng = sample.rng if start_seed == data_seed else cyclic.sample(n, base=base, seed=start_seed).rng
        network, rates = start(rng, width, initial=initial, alpha=alpha, antisymmetric=antisymmetric)
        try:
            run = univariate.train(
                sample.x,
                sample.y,
                network,
                step=step or step_times_n / n,
                epochs=epochs,
                records=records,
                grid=GRID,
                rates=rates,
            )
        except univariate.Diverged as failure:
            diverged[s] = failure.epoch
            continue
        predictions[:, s], train_loss[:, s] = run.predictions, run.loss
        zero[s] = np.nan if run.zero_epoch is None else run.zero_epoch
    data = {"f": (("epoch", "model", "grid"), predictions), "train_loss": (("epoch", "model"), train_loss)}
    data |= {"zero_epoch": ("model", zero), "diverged_epoch": ("model", diverged)}
    return xr.Dataset(data, {"epoch": records}, {"periods": periods})


@releases_gil
def ensemble(n: int, **options) -> xr.Dataset:
    """The networks of :func:`functions`, with its options, reduced to Gram matrices by :func:`reduce`."""
    return reduce(functions(n, **options))


def reduce(trained: xr.Dataset) -> xr.Dataset:
    """The functions of an ensemble reduced to Gram matrices of f and of sgn f over (epoch, model, twin), and losses.

    test_loss is the mean hinge on the grid, error the misclassified share of it, robust the :func:`robust_variance`.
    """
    f, periods = trained.f.values, trained.attrs["periods"]
    sign = np.sign(f)
    wrong = np.where(np.isnan(f), np.nan, sign != cyclic.labels(GRID, periods))
    pair, single = ("epoch", "model", "twin"), ("epoch", "model")
    return trained.drop_vars("f").assign(
        gram=(pair, f @ f.swapaxes(1, 2) / len(GRID)),
        sign_gram=(pair, sign @ sign.swapaxes(1, 2) / len(GRID)),
        robust=("epoch", robust_variance(f)),
        test_loss=(single, hinge(f, periods).mean(axis=-1)),
        error=(single, wrong.mean(axis=-1)),
    )


def robust_variance(f: np.ndarray) -> np.ndarray:
    """Median over models of the squared distance to the median function, mean over the grid.

    f: (..., model, grid) -> (...).
    """
    median = np.median(f, axis=-2, keepdims=True)
    return np.median((f - median) ** 2, axis=-2).mean(axis=-1)


def variance(gram: np.ndarray) -> np.ndarray:
    r"""Mean over the grid of the variance over models: $V = \frac1S \sum_s G_{ss} - \frac{1}{S^2} \sum_{st} G_{st}$.

    gram: (..., S, S) -> (...), with divisor S (ddof 0).  Apply to sign_gram for the variance of the sign.
    """
    gram = np.asarray(gram)
    return np.trace(gram, axis1=-2, axis2=-1) / gram.shape[-1] - gram.mean(axis=(-2, -1))


def relative_variance(gram: np.ndarray) -> np.ndarray:
    r"""$V / \overline{f^2}$ with $\overline{f^2} = \frac1S \sum_s G_{ss}$; 0 where all functions vanish."""
    power = np.trace(np.asarray(gram), axis1=-2, axis2=-1) / np.shape(gram)[-1]
    return np.divide(variance(gram), power, out=np.zeros_like(power), where=power > 0)


def amplitudes(gram: np.ndarray) -> np.ndarray:
    r"""Root mean squares $a_s = \sqrt{G_{ss}}$ of the models on the grid: (..., S, S) -> (..., S)."""
    return np.sqrt(np.diagonal(gram, axis1=-2, axis2=-1))
