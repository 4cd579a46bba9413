r"""Measures of a network with one hidden layer on a function of a hidden direction: its units, and how it fits.

A *bulk* measure is taken over the points with $|v| \le 1$, about 96 % of them: the outer lobes of the polynomials are
the highest, and few points there carry the mean square over all.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from experiments.hidden_structure.hidden_direction import aligned, cosines
from shallow.mlp import Stack
from shallow.train.ensemble import MODES

COLLAPSED = 1e-6  # units of at most this share of the initial median norm have no direction
RANGES = {"all": (-1.0, np.inf), "bulk": (-1.0, 1.0), "tail": (1.0, np.inf)}


def directions(now: Stack, direction: np.ndarray, initial_norm: float) -> dict[str, float]:
    r"""How the hidden units lie: `aligned`, `near`, shares with $|\cos|$ of 0.5 or 0.9 at least; mean and largest.

    Units that have collapsed are left out.  All four are 1 in one dimension.
    """
    cosine = cosines(now.weights[0][0], direction, least=COLLAPSED * initial_norm)
    known = cosine[np.isfinite(cosine)]
    return {
        "aligned": float(aligned(cosine)),
        "near": float(aligned(cosine, 0.9)),
        "mean_cosine": float(known.mean()) if len(known) else np.nan,
        "largest_cosine": float(known.max(initial=0)) if len(known) else np.nan,
    }


def weights(now: Stack, start: Stack, initial_norm: float) -> dict[str, float]:
    r"""How the first layer has changed.

    `collapsed`: share of units without direction; `norm`: median norm of a unit over that of the start; `change`,
    `growth`: $\|W - W_0\|_F$ and $\|W\|_F$ over $\|W_0\|_F$; `unevenness`: standard deviation over mean of the
    $|w_{jk}|$ within a unit, its median over units: 0 for coordinates $\pm c$, 0.58 for uniform ones.
    """
    W, W0 = (stack.weights[0][0].astype(np.float64) for stack in (now, start))
    norms, size = np.linalg.norm(W, axis=1), np.abs(W)
    alive = norms > COLLAPSED * initial_norm
    return {
        "collapsed": float(1 - alive.mean()),
        "norm": float(np.median(norms) / initial_norm),
        "change": float(np.linalg.norm(W - W0) / np.linalg.norm(W0)),
        "growth": float(np.linalg.norm(W) / np.linalg.norm(W0)),
        "unevenness": float(np.median(size[alive].std(axis=1) / size[alive].mean(axis=1))) if alive.any() else np.nan,
    }


def fits(prediction: np.ndarray, v: np.ndarray, y: np.ndarray, rows: Mapping[str, np.ndarray]) -> xr.Dataset:
    r"""How predictions (n,) fit labels (n,), by part and range: all points; the bulk, $|v| \le 1$; the tail, the rest.

    `rows` are the numbers of the points of each part.  Returns `mse`, `mae`; `r2` $= 1 - \mathrm{mse}/\mathrm{Var}(y)$,
    over the test bulk the claims' Rc; `spread`, standard deviation of the predictions over that of y; `straight`, share
    of the predictions' variance that a straight line in v explains.  NaN where fewer than three points are, and
    `straight` also where predictions are constant.
    """
    names = ("mse", "mae", "r2", "spread", "straight")
    values = np.full((len(names), len(rows), len(RANGES)), np.nan)
    for i, part in enumerate(rows.values()):
        for k, (low, high) in enumerate(RANGES.values()):
            inside = part[(np.abs(v[part]) > low) & (np.abs(v[part]) <= high)]
            if len(inside) > 2:
                values[:, i, k] = _agreement(prediction[inside].astype(np.float64), y[inside], v[inside])
    return xr.Dataset(
        {name: (("part", "range"), array) for name, array in zip(names, values)},
        {"part": list(rows), "range": list(RANGES)},
    )


def _agreement(f: np.ndarray, y: np.ndarray, v: np.ndarray) -> tuple[float, ...]:
    mse, deviation = np.mean((f - y) ** 2), f.std()
    correlation = np.mean((f - f.mean()) * (v - v.mean())) / (deviation * v.std()) if deviation else np.nan
    return mse, np.mean(np.abs(f - y)), 1 - mse / y.var(), deviation / y.std(), correlation**2


def trainable(networks: Stack, mode: str) -> int:
    """The number of parameters of one network that a mode trains after its warm-up: 102 m + 1, or m + 1 if frozen."""
    layers = zip(networks.weights, networks.biases, strict=True)
    return sum(W[0].size + b[0].size for i, (W, b) in enumerate(layers) if i not in MODES[mode].afterwards)
