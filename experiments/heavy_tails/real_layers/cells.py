"""Exponents of the layers of trained models of others, beside noise of the same shape and three nulls."""

from __future__ import annotations

import functools

import numpy as np
import xarray as xr

from experiments.heavy_tails.real_layers.models import MODELS, fetched
from shallow.book.recipes import Agreement, Recipe
from shallow.spectra import Layer, layers, nulls, tails, weights

NUMBERS = ("hill", "hill_noise", "hill_scatter", "hill_units", "ks", "ks_noise", "ks_scatter", "ks_units")
NULLS = ("shuffled", "within_columns", "balanced")
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
        the numbers of :class:`shallow.spectra.Layer` (row), and trimmed_units (row), see :func:`trimmed`;
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
    columns["trimmed_units"] = [trimmed(row) for row in found]
    table = {key: ("row", values + [filled.get(key, np.nan)] * (rows - len(found))) for key, values in columns.items()}
    quantiles = np.full((rows, len(SHARES)), np.nan)
    for line, row in zip(quantiles, found):
        if row.rank:
            line[:] = np.quantile(row.eigenvalues / row.eigenvalues.mean(), 1 - SHARES)
    return xr.Dataset(table | {"quantile": (("row", "share"), quantiles)}, {"row": np.arange(rows), "share": SHARES})


def trimmed(layer: Layer) -> float:
    """Distance of PL_Alpha_Hill from noise, in units of scatter, when the largest eigenvalues are taken from both.

    A tenth of the positive ones, or those beyond the edge of the fitted law where these are more.  NaN where fewer than
    ten are left or the layer has no exponent.
    """
    kept = layer.eigenvalues[: layer.rank]
    count = max(-(-layer.rank // 10), layer.outliers or 0)
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
        "Exponents of eight public models, beside noise of the same shape and three nulls",
        agreement=Agreement(relative=1e-4, elsewhere=0.1),
    ),
}
