r"""The heatmaps of variance and loss over sample size n and epoch t, and the criteria that all of them share.

Trends are Spearman rank correlations: over the epochs at each n, and over n at the last epoch T.  Intervals come from
resampling the models of every n.  A resample with counts $c_s$ has weights $w_s = c_s / S$ and the variance
$V = \sum_s w_s G_{ss} - \sum_{st} w_s w_t G_{st}$, so that the Gram matrices G of a record are enough.
"""

from __future__ import annotations

import functools

import numpy as np
import xarray as xr
from joblib import Parallel, cpu_count, delayed
from scipy.stats import rankdata

from experiments.cyclic_labels.variance import ensembles
from shallow import checks, stats
from shallow.book.recipes import Recipe, releases_gil

#: Thirteen of the 191 sample sizes, for what is run in the page.
SIZES = (10, 20, 30, 40, 50, 60, 80, 100, 120, 140, 160, 180, 200)
AFTER = 500  # the link between loss and variance is judged on the records after this epoch
TEN = 10  # models of the document, whose sums its figures show
_THINNING = 10  # grid points between those on which the robust variance is resampled
_RESAMPLES = 500  # of all models at all sizes: enough for the spread of a correlation or of a ratio


@releases_gil
def heatmap(n: int, **options) -> xr.Dataset:
    """One column of a heatmap: the :func:`summary` of the ensemble of :func:`ensembles.functions` at sample size n.

    robust_band is the bootstrap interval of the robust variance at the last record, from every tenth grid point.
    """
    trained = ensembles.functions(n, **options)
    full = ensembles.reduce(trained)
    return summary(full).assign(robust_band=("bound", _robust_band(trained.f.values[-1, :, ::_THINNING], n)))


@releases_gil
def models(n: int, **options) -> xr.Dataset:
    """The same ensemble with every model kept: gram (epoch, pair), train_loss and test_loss (epoch, model)."""
    full = ensembles.ensemble(n, **options)
    return full[["train_loss", "test_loss"]].assign(gram=(("epoch", "pair"), pack(full.gram.values)))


@releases_gil
def ends(n: int, *, models: int, **options) -> xr.Dataset:
    """Variances of a large ensemble at the last epoch: robust, as in :func:`heatmap`, and V of each ten models."""
    f = ensembles.functions(n, models=models, **options).f.values[-1]
    groups = f.reshape(-1, TEN, f.shape[-1])
    data = {"robust": ((), ensembles.robust_variance(f)), "variance": ("group", groups.var(axis=1).mean(axis=-1))}
    return xr.Dataset(data | {"robust_band": ("bound", _robust_band(f[:, ::_THINNING], n))})


def summary(full: xr.Dataset) -> xr.Dataset:
    """Reduce :func:`ensembles.ensemble` datasets, stacked along any leading axes, to the rows of a heatmap.

    Losses are summed over models, the test loss being the mean hinge on the grid; errors are means over models; the
    packed gram and sign_gram are those at the last record.
    """
    series, last = full.gram.dims[:-2], full.isel(epoch=-1)
    pairs = (*last.gram.dims[:-2], "pair")
    return xr.Dataset(
        {
            "variance": (series, ensembles.variance(full.gram)),
            "relative": (series, ensembles.relative_variance(full.gram)),
            "sign_variance": (series, ensembles.variance(full.sign_gram)),
            "robust": full.robust,
            "train_loss": full.train_loss.sum("model", skipna=False),
            "test_loss": full.test_loss.sum("model", skipna=False),
            "error": full.error.mean("model", skipna=False),
            "gram": (pairs, pack(last.gram.values)),
            "sign_gram": (pairs, pack(last.sign_gram.values)),
            "final_error": last.error.drop_vars("epoch"),
            "zero_epoch": full.zero_epoch,
            "diverged_epoch": full.diverged_epoch,
        }
    )


def pack(gram: np.ndarray) -> np.ndarray:
    """The upper triangle of symmetric matrices, row by row: (..., S, S) -> (..., S (S + 1) / 2)."""
    rows, columns = np.triu_indices(gram.shape[-1])
    return gram[..., rows, columns]


def unpack(packed: np.ndarray) -> np.ndarray:
    """The symmetric matrices of :func:`pack`, in double precision: (..., S (S + 1) / 2) -> (..., S, S)."""
    packed = np.asarray(packed, dtype=float)
    size = int(np.sqrt(2 * packed.shape[-1]))
    if size * (size + 1) // 2 != packed.shape[-1]:
        raise ValueError(f"packed must have S (S + 1) / 2 entries in its last axis, got {packed.shape[-1]}")
    rows, columns = np.triu_indices(size)
    gram = np.empty((*packed.shape[:-1], size, size))
    gram[..., rows, columns] = gram[..., columns, rows] = packed
    return gram


def _robust_band(f: np.ndarray, n: int) -> np.ndarray:
    """Interval of the robust variance of f (model, grid) over resampled models, in batches to spare memory."""
    rng = stats.stream("robust", n)
    draws = rng.integers(0, len(f), (10, stats.RESAMPLES // 10, len(f)))
    return stats.percentiles(np.concatenate([ensembles.robust_variance(f[draw]) for draw in draws]))


def weights(sizes: int, models: int, *, name: str, resamples: int = stats.RESAMPLES) -> np.ndarray:
    """Bootstrap weights over models, independent for each size: (resamples, sizes, models), rows sum to 1."""
    return _counts(sizes, models, name, resamples) / models


@functools.lru_cache(maxsize=4)  # a ratio of variances and one of errors resample the same models
def _counts(sizes: int, models: int, name: str, resamples: int) -> np.ndarray:
    """How often each model is drawn, in small integers: they are drawn far more slowly than divided."""
    drawn = stats.stream("models", name).multinomial(models, np.full(models, 1 / models), (resamples, sizes))
    return drawn.astype(np.min_scalar_type(models))


def weighted(gram: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Variance and mean square of weighted ensembles: gram (n, S, S), weight (r, n, S) -> two arrays (r, n)."""
    square = np.einsum("rns,nss->rn", weight, gram)
    swapped = weight.swapaxes(0, 1)  # n, r, S: one matrix product for each size
    return square - ((swapped @ gram) * swapped).sum(axis=-1).T, square


def over_epochs(values: xr.DataArray) -> np.ndarray:
    """Rank correlations of values (n, epoch) with the epoch, over all records from epoch 0; one for each n."""
    values = values.transpose("n", "epoch")
    return stats.rank_correlation(values.values, values.epoch.values)


def over_sizes(column: xr.Dataset, *, name: str) -> stats.Interval:
    """rho(V(n, T), n) with a bootstrap over models, from the packed gram (n, pair) of a heatmap, n ascending."""
    gram = unpack(column.gram.transpose("n", "pair").values)
    draws, _ = weighted(gram, weights(*gram.shape[:2], name=name, resamples=_RESAMPLES))
    return rank_interval(ensembles.variance(gram), draws)


def over_sizes_robust(robust: xr.DataArray, band: xr.DataArray, *, name: str) -> stats.Interval:
    """rho(R(n), n) of a robust variance R (n), n ascending, whose intervals over models are band (n, bound).

    R is redrawn log-normally with the width of these intervals.
    """
    low, high = band.transpose("bound", "n").values
    noise = stats.stream("robust trend", name).standard_normal((_RESAMPLES, len(low)))
    return rank_interval(robust.values, robust.values * np.exp(noise * np.log(high / low) / (2 * 1.96)))


def rank_interval(values: np.ndarray, draws: np.ndarray) -> stats.Interval:
    """Rank correlation of values (k,) with their index, and its interval from draws (resamples, k) of them."""
    return stats.Interval.of_correlation(rank_trend(np.asarray(values)), rank_trend(draws), np.shape(values)[-1])


def rank_trend(series: np.ndarray) -> np.ndarray:
    """Spearman correlation of each row of (..., R) with its index, average ranks for ties; 0 for a constant row."""
    if series.shape[-1] < 2:
        return np.zeros(series.shape[:-1])
    ranks = rankdata(series, axis=-1) - (series.shape[-1] + 1) / 2
    time = np.arange(series.shape[-1]) - (series.shape[-1] - 1) / 2
    norm = np.sqrt((ranks**2).sum(axis=-1) * (time**2).sum())
    return np.divide(ranks @ time, norm, out=np.zeros(norm.shape), where=norm > 0)


def ratio(first: xr.Dataset, second: xr.Dataset, *, name: str, paired: bool, of: str = "variance") -> stats.Interval:
    r"""Geometric mean of $V_1(n, T) / V_2(n, T)$ over the common sizes, with a bootstrap over models.

    `of="relative"` compares V over the mean of f^2, `of="error"` the final errors, averaged over models, instead.
    `paired` resamples the same models in both, for ensembles on the same data.
    """
    checks.one_of(("variance", "relative", "error"), of=of)
    estimates, draws = [], []
    for part, key in zip(xr.align(first, second), (name, name if paired else f"{name}/second"), strict=True):
        error = part.final_error.transpose("n", "model").values
        drawn = weights(*error.shape, name=key, resamples=_RESAMPLES)
        weight = np.concatenate([np.full((1, *error.shape), 1 / error.shape[1]), drawn])
        gram = unpack(part.gram.transpose("n", "pair").values)
        V, square = weighted(gram, weight)
        values = np.log({"variance": V, "relative": V / square}.get(of, (weight * error).sum(axis=-1)))
        estimates.append(values[0])
        draws.append(values[1:])
    estimate, drawn = (np.exp((one - other).mean(axis=-1)) for one, other in (estimates, draws))
    return stats.Interval.from_draws(estimate, drawn, skip_nan=True)


def linked(record: xr.Dataset, *, name: str, resamples: int = 200) -> dict[tuple[str, str], stats.Interval]:
    """Rank correlation of V with the summed losses over the points (n, t) after epoch 500, plain and partial.

    The record is :func:`models` stacked along n; intervals are keyed by (loss, given), where given is "", "n", "epoch"
    or "n, epoch".  Models are resampled, the same ones at all points of one n.
    """
    late = record.sel(epoch=record.epoch > AFTER).transpose("n", "epoch", ...)
    gram = unpack(late.gram.values)
    losses = {key: late[key].values for key in ("train_loss", "test_loss")}
    n, epoch = np.broadcast_arrays(late.n.values[:, None], late.epoch.values[None, :])
    cells = np.stack([rankdata(n.ravel()), rankdata(epoch.ravel())])
    S = gram.shape[-1]
    drawn = weights(len(gram), S, name=name, resamples=resamples)
    rows = np.concatenate([np.full((1, len(gram), S), 1 / S), drawn])  # the first row is the sample itself
    calls = (delayed(_partial_correlations)(gram, losses, row, cells) for row in rows)
    found = np.array(Parallel(n_jobs=cpu_count(), prefer="threads", batch_size=50)(calls))
    keys = [(loss, given) for loss in losses for given in ("", "n", "epoch", "n, epoch")]
    return {key: stats.Interval.of_correlation(c[0], c[1:], n.size) for key, c in zip(keys, found.T, strict=True)}


def _partial_correlations(gram: np.ndarray, losses: dict, weight: np.ndarray, cells: np.ndarray) -> list[float]:
    """For one weighting (n, S) of the models: the rank correlations of V and each loss, by what is given."""
    square = np.einsum("ns,ness->ne", weight, gram)
    variance = square - np.einsum("nes,ns->ne", (gram @ weight[:, None, :, None])[..., 0], weight)
    sums = [np.einsum("ns,nes->ne", weight, loss) for loss in losses.values()]
    ranks = np.concatenate([rankdata([variance.ravel(), *(s.ravel() for s in sums)], axis=1), cells])
    r = np.corrcoef(ranks)  # 0: V; 1, 2: losses; 3: n; 4: epoch
    return [_partial(r, 0, loss, given) for loss in (1, 2) for given in ([], [3], [4], [3, 4])]


def _partial(r: np.ndarray, a: int, b: int, given: list[int]) -> float:
    """Partial correlation of a and b given others."""
    precision = np.linalg.inv(r[np.ix_([a, b, *given], [a, b, *given])])
    return float(-precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1]))


def on_ten(record: xr.Dataset, loss: str) -> xr.DataArray:
    """A loss as the document sums it: ten times the mean over the models, however many there are."""
    return TEN / record.sizes["model"] * record[loss]


ALL_SIZES, EIGHT_SIZES = list(range(10, 201)), [10, 20, 30, 50, 80, 120, 160, 200]
#: The report draws ten models; four times as many make the intervals half as wide.
HEATMAP = dict(step=0.01, width=512, models=40, epochs=20_000, every=500)
#: One and two sets of ensembles.
ONCE, TWICE = {"base": [0], "n": ALL_SIZES}, {"base": [0, 1], "n": ALL_SIZES}
ANTISYMMETRIC = HEATMAP | {"antisymmetric": True}
RECORDS: dict[str, Recipe] = {
    "heatmap_three_periods": Recipe(
        heatmap, TWICE, HEATMAP, "Figures 1 and 2: three periods, default initialisation", replicates="base"
    ),
    "heatmap_three_periods_models": Recipe(
        models,
        {"n": ALL_SIZES},
        HEATMAP | {"models": 10},
        "Figures 1 and 2: the first ten models one by one, at every record",
    ),
    "heatmap_four_periods_models": Recipe(
        models,
        {"n": ALL_SIZES},
        HEATMAP | {"models": 10, "periods": 4},
        "Figures 3 and 4: the first ten models one by one, at every record",
    ),
    "heatmap_antisymmetric_models": Recipe(
        models,
        {"n": ALL_SIZES},
        ANTISYMMETRIC | {"models": 10},
        "Figures 5 and 6: the first ten models one by one, at every record",
    ),
    "heatmap_four_periods": Recipe(
        heatmap, TWICE, HEATMAP | {"periods": 4}, "Figures 3 and 4: four periods", replicates="base"
    ),
    "heatmap_antisymmetric": Recipe(
        heatmap, TWICE, ANTISYMMETRIC, "Figures 5 and 6: antisymmetric initialisation, three periods", replicates="base"
    ),
    "heatmap_near_zero": Recipe(
        heatmap, ONCE, HEATMAP | {"alpha": 0.1}, "Section 4, step 4: default initialisation times 0.1"
    ),
    "heatmap_nearer_zero": Recipe(
        heatmap,
        {"base": [0], "n": list(SIZES)},
        HEATMAP | {"alpha": 0.01},
        "Section 4, step 4: default initialisation times 0.01, on 13 sizes",
    ),
    "growth_of_many_models": Recipe(
        ends,
        {"step": [0.001, 0.003, 0.01], "width": [128, 512], "initial": ["default", "normal"], "n": EIGHT_SIZES},
        {"models": 160, "epochs": 20_000, "every": 20_000},
        "Growth with the sample size in twelve settings: the robust variance of 160 models, V of sixteen times ten",
    ),
}
