r"""Where interpolation is lost: sample sizes at which the training loss crosses a level.

Two definitions, because the text mixes them: $n_{int}$, where the network stops to interpolate (training loss above a
tenth of the noise), and $n_{half}$, where it has come half of the way to least squares.  Source: Boursier and
Flammarion, Section 5 and Appendix A.3; the levels are ours.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shallow.data.teachers import NOISE


def crossing(n: np.ndarray, excess: np.ndarray) -> float:
    r"""The n at which a quantity known at ascending sample sizes first becomes positive.

    Between the last n with a value of at most 0 and the first with a positive one, n is interpolated linearly in
    $\log n$.  NaN if no value is positive, and the first n if that one already is.

    Args:
        n, excess: vectors of one length; n ascending and positive.
    """
    n, excess = np.asarray(n, dtype=float), np.asarray(excess, dtype=float)
    if n.ndim != 1 or n.shape != excess.shape or not len(n) or (np.diff(n) <= 0).any() or n[0] <= 0:
        raise ValueError(f"n must be ascending and positive, one for each value, got {n} for shape {excess.shape}")
    if not np.isfinite(excess).all():
        raise ValueError("excess must be finite, got NaN or infinity")
    if not (excess > 0).any():
        return float("nan")
    i = int(np.argmax(excess > 0))
    if i == 0:
        return float(n[0])
    share = -excess[i - 1] / (excess[i] - excess[i - 1])
    return float(np.exp((1 - share) * np.log(n[i - 1]) + share * np.log(n[i])))


def thresholds(final: xr.Dataset, noise: float = NOISE) -> xr.Dataset:
    r"""`interpolation` ($n_{int}$, train > noise / 10) and `half` ($n_{half}$, train > OLS train / 2) by replicate.

    Args:
        final: variables train and ols with a dimension n, and others (seed, teacher, ...), at one step.
    """
    levels = {"interpolation": xr.full_like(final.ols, noise / 10), "half": final.ols / 2}
    return xr.Dataset(
        {
            name: xr.apply_ufunc(
                lambda values: crossing(final.n.values, values),
                final.train - level,
                input_core_dims=[["n"]],
                vectorize=True,
            )
            for name, level in levels.items()
        }
    )


def exponent(d: np.ndarray, n: np.ndarray) -> float:
    r"""The exponent p of $n \propto d^p$: slope of log n against log d, both vectors."""
    return float(np.polyfit(np.log(d), np.log(n), 1)[0])
