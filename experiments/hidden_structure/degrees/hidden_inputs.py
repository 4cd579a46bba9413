r"""Inputs and targets of the hidden direction before any training: covariances, parities, random coefficients.

Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Sections 5.1.1, 5.2.1 and 5.2.2.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.hidden_structure import hidden_index
from shallow import checks
from shallow.stats import stream


def inputs(case: str, run: int = 0, *, size: int = hidden_index.SIZE) -> xr.Dataset:
    r"""The second moments $C = x^\top x/n$ of a draw, against $s^2 I$ or $s^2 (I + \mathbf 1 \mathbf 1^\top)$.

    Returns:
        `reach` $\max |v|$, `scale` s, `inverse_square` $a = 1/s^2$, `deviation` of v; `along` $u^\top C u$ with
        $u = \mathbf 1/\sqrt p$, and `across`, its mean $(\mathrm{tr}\,C - u^\top C u)/(p - 1)$ over the orthogonal
        directions; `largest_error`, `mean_square_error` over the entries on and above the diagonal of $C - \Sigma$ in
        units of their standard errors $\sqrt{(\Sigma_{ii} \Sigma_{jj} + \Sigma_{ij}^2)/n}$.
    """
    drawn = hidden_index.draw(case, run, size=size)
    n, p = drawn.x.shape
    C = drawn.x.T @ drawn.x / n
    sigma = drawn.scale**2 * (np.eye(p) + (case == "correlated"))
    variances = np.diag(sigma)
    errors = ((C - sigma) / np.sqrt((np.outer(variances, variances) + sigma**2) / n))[np.triu_indices(p)]
    along = C.sum() / p
    return xr.Dataset(
        {
            "reach": np.abs(drawn.v).max(),
            "scale": drawn.scale,
            "inverse_square": drawn.scale**-2,
            "deviation": drawn.v.std(),
            "along": along,
            "across": (np.trace(C) - along) / (p - 1) if p > 1 else np.nan,
            "largest_error": np.abs(errors).max(),
            "mean_square_error": np.mean(errors**2),
        }
    )


def parity(degree: int) -> xr.Dataset:
    """Whether the polynomial of a degree is as even or odd as it should be.

    `wrong`: largest coefficient of the other parity over the largest of all; `slope`: $p'(0)$ over the largest.
    """
    coefficients = hidden_index.polynomial(degree).coef
    size = np.abs(coefficients) / np.abs(coefficients).max()
    return xr.Dataset({"wrong": size[(degree + 1) % 2 :: 2].max(), "slope": size[1]})


def random_coefficients(
    degree: int, deviation: float, *, draws: int = 1000, size: int = hidden_index.SIZE
) -> xr.Dataset:
    r"""Polynomials with d + 1 coefficients from N(0, 1), on `size` values v from $N(0, \tau^2)$, $\tau$ = `deviation`.

    Returns `linear` (draw): share of the variance of p(v) that the best straight line in v explains; `variance` (draw).
    Both from the sample covariance of the powers of v.
    """
    checks.positive(deviation=deviation)
    rng = stream("hidden structure", "random coefficients", degree, deviation)
    z = rng.standard_normal(size)
    powers = np.cov(np.vander(z, degree + 1, increasing=True)[:, 1:], rowvar=False)  # the constant does not count
    c = rng.standard_normal((draws, degree + 1))[:, 1:] * deviation ** np.arange(1, degree + 1)
    variance = np.einsum("ki,ij,kj->k", c, powers, c)
    linear = (c @ powers[0]) ** 2 / (powers[0, 0] * variance)
    return xr.Dataset({"linear": ("draw", linear), "variance": ("draw", variance)})
