"""Exponents of the layers of trained models of others, beside noise of the same shape and the nulls of the library."""

from __future__ import annotations

import functools

import numpy as np
import xarray as xr

from experiments.heavy_tails.real_layers.models import MODELS, fetched
from shallow.book.recipes import Agreement, Recipe
from shallow.spectra import Layer, layers, nulls, tails, weights

PARTS = ("", "_noise", "_scatter", "_units", "_below")
NUMBERS = tuple(f"{exponent}{part}" for exponent in ("hill", "ks") for part in PARTS)
NULLS = ("shuffled", "within_columns", "lengths", "balanced")
SHAPES = ("h", "d", "matrices", "rank")
#: Shares of the eigenvalues above the stored ones.
SHARES = np.round(np.geomspace(0.005, 0.995, 30), 4)


def exponents(model: str, *, rows: int) -> xr.Dataset:
    """What :func:`shallow.spectra.report` says of a model, a row a weight and reading; rows that are left over are NaN.

    Args:
        model: name in :data:`MODELS`, whose file is fetched.
        rows: length of the table.

    Returns:
        name, reading (row): of the weight, empty where the table is longer;
        h, d, matrices, rank, outliers (row): counts;
        the numbers of :class:`shallow.spectra.Layer` (row);
        taken, trimmed_units, top_tenth (row): see :func:`taken`, :func:`trimmed`, :func:`top_tenth`;
        quantile (row, share): the eigenvalue over the mean that a share of the eigenvalues exceeds.

    Cost: half a second a matrix of 256 x 512; a minute for the largest model.
    """
    with weights.opened(fetched(model)) as arrays:
        found = [row for _, rows_of_one, _ in layers.each(arrays) for row in rows_of_one]
    if len(found) > rows:
        raise ValueError(f"rows must be at least {len(found)} for {model}, got {rows}")
    filled = {"name": "", "reading": ""} | dict.fromkeys((*SHAPES, "outliers"), 0)
    columns = {key: [getattr(row, key) or filled.get(key, 0) for row in found] for key in (*filled, *NUMBERS, *NULLS)}
    columns |= {key: [getattr(row, key) for row in found] for key in ("stretch", "stretch_noise", "stable_rank")}
    own = {"taken": taken, "trimmed_units": trimmed, "top_tenth": top_tenth}
    columns |= {key: [of(row) for row in found] for key, of in own.items()}
    table = {key: ("row", values + [filled.get(key, np.nan)] * (rows - len(found))) for key, values in columns.items()}
    quantiles = np.full((rows, len(SHARES)), np.nan)
    for line, row in zip(quantiles, found):
        if row.rank:
            line[:] = np.quantile(row.eigenvalues / row.eigenvalues.mean(), 1 - SHARES)
    return xr.Dataset(table | {"quantile": (("row", "share"), quantiles)}, {"row": np.arange(rows), "share": SHARES})


def taken(layer: Layer) -> int:
    """How many of the largest eigenvalues :func:`trimmed` takes away."""
    return max(-(-layer.rank // 10), layer.outliers or 0)


def top_tenth(layer: Layer) -> float:
    r"""Share of the largest tenth of the eigenvalues in what sets the layer's exponent apart from that of noise.

    PL_Alpha_Hill is one plus the inverse mean of $\ln(\lambda / m)$ over the eigenvalues above the median m; of this
    mean, less that of noise, the part of the largest tenth of all.  NaN without an exponent.
    """
    if not np.isfinite(layer.hill):
        return np.nan
    noise = _mean_logs_of_noise(layer.h, layer.d, layer.matrices)
    whole, top = _mean_logs(layer.eigenvalues) - noise.mean
    return float(top / whole)


def _mean_logs(values: np.ndarray) -> np.ndarray:
    """The mean of ln(eigenvalue / median) over the eigenvalues (descending) above the median, and its top tenth."""
    count = int((values > 0).sum())
    logs = np.log(values[: count - count // 2])
    logs -= logs[-1]
    return np.array([logs.mean(), logs[: -(-count // 10)].sum() / len(logs)])


@functools.lru_cache(maxsize=512)
def _mean_logs_of_noise(h: int, d: int, matrices: int) -> nulls.Null:
    return nulls.noise(h, d, _mean_logs, matrices=matrices)


def trimmed(layer: Layer) -> float:
    """Distance of PL_Alpha_Hill from noise, in units of scatter, when the largest eigenvalues are taken from both.

    A tenth of the positive ones, or those beyond the edge of the fitted law where these are more.  NaN where fewer than
    ten are left or the layer has no exponent.
    """
    kept, count = layer.eigenvalues[: layer.rank], taken(layer)
    if not np.isfinite(layer.hill) or layer.rank - count < layers.LEAST:
        return np.nan
    noise = _trimmed_noise(layer.h, layer.d, layer.matrices, count)
    return float((tails.hill(kept[count:]) - noise.mean) / noise.scatter)


@functools.lru_cache(maxsize=512)
def _trimmed_noise(h: int, d: int, matrices: int, count: int) -> nulls.Null:
    return nulls.noise(h, d, lambda values: tails.hill(values[count:]), matrices=matrices)


RECORDS: dict[str, Recipe] = {
    "exponents": Recipe(
        exponents,
        {"model": list(MODELS)},
        {"rows": 80},
        "Exponents of eight public models, beside noise of the same shape and four nulls",
        agreement=Agreement(relative=1e-4, elsewhere=0.1),
    ),
}
