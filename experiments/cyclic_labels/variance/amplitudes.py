r"""What the variance between models is made of: amplitude or shape, data or initialisation (Bowman 2025, Section 4).

Every model is written as $f_s = a_s \varphi_s$ with $\varphi_s$ of root mean square 1 on the grid; everything follows
from the Gram matrix $G_{st} = a_s a_t \langle \varphi_s, \varphi_t \rangle$ of an ensemble and survives reweighting of
its models.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from experiments.cyclic_labels.loss_curves import EPOCHS
from experiments.cyclic_labels.variance import ensembles, heatmaps
from shallow import checks, nets, stats
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import cyclic
from shallow.train import plain, univariate

VARIED = ("start", "data", "both")


@dataclass(frozen=True)
class Amplitudes:
    """How an ensemble's variance depends on its amplitudes, median over n with bootstrap over models."""

    spread: stats.Interval  # coefficient of variation of the amplitudes a_s
    removed: stats.Interval  # share of V that goes when all a_s are set to their mean


def measure(gram: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficient of variation of the amplitudes and share of V removed at equal amplitude, both (r, n).

    gram: (n, S, S); weight: (r, n, S), rows sum to 1 (uniform for the ensemble itself, counts / S for a resample).
    """
    a = ensembles.amplitudes(gram)
    shape = gram / (a[:, :, None] * a[:, None, :])
    mean = (weight * a).sum(axis=-1)
    variance, square = heatmaps.weighted(gram, weight)
    spread = np.sqrt(np.maximum(square - mean**2, 0)) / mean
    equal = mean**2 * heatmaps.weighted(shape, weight)[0]
    return spread, 1 - equal / variance


def amplitudes(gram: xr.DataArray, *, name: str, resamples: int = stats.RESAMPLES) -> Amplitudes:
    """The measures at one epoch, median over n; gram (n, model, twin)."""
    values = gram.transpose("n", "model", "twin").values
    uniform = np.full((1, *values.shape[:2]), 1 / values.shape[-1])
    estimates = [np.median(m) for m in measure(values, uniform)]
    weight = heatmaps.weights(len(values), values.shape[-1], name=name, resamples=resamples)
    with np.errstate(invalid="ignore"):  # a resample of one model alone has no variance
        draws = [np.nanmedian(m, axis=1) for m in measure(values, weight)]
    return Amplitudes(*(stats.Interval.from_draws(e, d, skip_nan=True) for e, d in zip(estimates, draws, strict=True)))


@releases_gil
def source(
    n: int, repetition: int, varied: str, *, models: int = 10, step: float = 0.01, base: int = 2, epochs: int = EPOCHS
) -> xr.Dataset:
    """Gram matrix of ten models that differ in initialisation only ("start"), in data only ("data") or in both.

    The repetition r uses the seeds 10 r, ..., 10 r + 9; what is held fixed is that of seed 10 r.
    """
    checks.one_of(VARIED, varied=varied)
    seeds = tuple(range(models * repetition, models * (repetition + 1)))
    fixed = (seeds[0],) * models
    full = ensembles.ensemble(
        n,
        base=base,
        step=step,
        epochs=epochs,
        every=epochs,
        models=models,
        data_seeds=fixed if varied == "start" else seeds,
        start_seeds=fixed if varied == "data" else seeds,
    )
    return full.isel(epoch=-1, drop=True)[["gram"]]


def sources(grams: xr.Dataset, varied: str, *, name: str, relative: bool = True) -> stats.Interval:
    """Median over n of the variance with one source varied over that with both, means over the repetitions.

    grams: gram (n, repetition, varied, model, twin).  The bootstrap draws repetitions and, within them, models.
    `relative` takes V over the mean square of f, otherwise V itself.
    """
    gram = grams.gram.transpose("n", "repetition", "varied", "model", "twin")
    shape = gram.shape[:2]

    def means(kind: str) -> np.ndarray:
        g = gram.sel(varied=kind).values.reshape(-1, *gram.shape[-2:])
        weight = heatmaps.weights(len(g), g.shape[-1], name=f"{name}/{kind}")
        weight = np.concatenate([np.full_like(weight[:1], 1 / g.shape[-1]), weight])
        V, square = heatmaps.weighted(g, weight)
        values = (V / square if relative else V).reshape(-1, *shape)
        equal = np.full(shape[1], 1 / shape[1])
        drawn = stats.stream("repetitions", name, kind).multinomial(shape[1], equal, values.shape[:2])
        drawn[0] = 1
        return (values * drawn).sum(axis=-1) / shape[1]

    ratios = np.median(means(varied) / means("both"), axis=1)
    return stats.Interval.from_draws(ratios[0], ratios[1:])


@releases_gil
def frozen(n: int, seed: int, *, step: float = 0.01, epochs: int = EPOCHS, further: int = 1000) -> xr.Dataset:
    """After zero training loss: do 1000 further epochs move a parameter, and what is the summed hinge loss of c f?

    The further epochs are taken by :mod:`shallow.train.plain`, which knows no shortcut at zero loss; decays is the
    control: with weight decay 0.001 they do move it.
    """
    factors = np.array([0.9, 1.0, 1.5, 10.0, 1000.0])
    sample = cyclic.sample(n, seed=seed)
    run = univariate.train(sample.x, sample.y, nets.default(sample.rng, 512), step=step, epochs=epochs, records=epochs)
    margins = sample.y * run.network.forward(sample.x)
    after, decayed = (
        plain.train(
            sample.x, sample.y, run.network, step=step, steps=further, loss="hinge", reduction="sum", decay=decay
        ).network
        for decay in (0.0, 1e-3)
    )
    data = {
        "reached": ((), run.zero_epoch is not None),
        "unchanged": ((), _equal(run.network, after)),
        "decays": ((), not _equal(run.network, decayed)),
        "loss": ("factor", [np.maximum(0, 1 - c * margins).sum() for c in factors]),
    }
    return xr.Dataset(data, {"factor": factors})


def _equal(first: nets.TwoLayer, second: nets.TwoLayer) -> bool:
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in ("W", "b", "v"))


RECORDS: dict[str, Recipe] = {
    "sources": Recipe(
        source,
        {"n": heatmaps.EIGHT_SIZES, "repetition": list(range(5)), "varied": list(VARIED)},
        {"models": 10, "step": 0.01, "base": 2},
        "Ten models that differ in initialisation, in data or in both",
        replicates="repetition",
    ),
}
