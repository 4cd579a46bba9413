"""Least squares on two half samples, no network: excess risks against one fit, covariances (Section 5, eq. 37)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.stats import binom

from shallow.book.recipes import Recipe, releases_gil
from shallow.data import teachers
from shallow.stats import stream


def errors(
    rng: np.random.Generator, n: int, d: int, draws: int, noise: float = teachers.NOISE
) -> tuple[np.ndarray, np.ndarray]:
    r"""Errors $\hat\beta - \beta^*$ of one fit (draws, d) and of both half-sample fits (draws, 2, d), inputs N(0, I_d).

    Exact in law without drawing the data: $n_+$ is binomial, $A_\pm = X_\pm^\top X_\pm = LL^\top$ has Wishart's law
    with $n_\pm$ degrees of freedom (by Bartlett's decomposition), and given the inputs $X_\pm^\top\eta$ is normal with
    covariance $\sigma^2 A_\pm$.  The one fit uses the same data, $A = A_+ + A_-$.  A half has at least d + 2 points:
    with fewer its error has no mean; for n < 10 d such halves are not rare.  Cost: $O(\text{draws}\, d^3)$.
    """
    if n < 10 * d:
        raise ValueError(f"n must be at least 10 d = {10 * d}, so that both halves determine their fits, got {n}")
    plus = np.clip(rng.binomial(n, 0.5, draws), d + 2, n - d - 2)
    sizes = np.stack([plus, n - plus], axis=1)
    L = np.tril(rng.standard_normal((draws, 2, d, d)), -1)
    L[..., range(d), range(d)] = np.sqrt(rng.chisquare(sizes[..., None] - np.arange(d)))
    products = noise**0.5 * L @ rng.standard_normal((draws, 2, d, 1))
    A = L @ L.swapaxes(-1, -2)
    halves = np.linalg.solve(A, products)[..., 0]
    whole = np.linalg.solve(A.sum(axis=1), products.sum(axis=1))[..., 0]
    return whole, halves


def excess(whole: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Excess risks of one fit, $\|\hat\beta - \beta^*\|^2$, and of the two, the mean of theirs; (draws,) each."""
    return (whole**2).sum(axis=-1), (halves**2).sum(axis=-1).mean(axis=-1)


def expected_excess(n: int, d: int, noise: float = teachers.NOISE) -> tuple[float, float]:
    r"""Expected excess risks of one fit, $\sigma^2 d / (n - d - 1)$, and of two.

    The latter is $\sigma^2 d\,\mathbb E (n_+ - d - 1)^{-1}$ over binomial $n_+$ in d + 2 .. n - d - 2.
    """
    plus = np.arange(d + 2, n - d - 1)
    weights = binom.pmf(plus, n, 0.5)
    return noise * d / (n - d - 1), noise * d * float(np.average(1 / (plus - d - 1), weights=weights))


@releases_gil
def covariance(n: int, d: int, c: float, draws: int) -> xr.Dataset:
    r"""How well conditioned $H_+ = \frac1n X_+^\top X_+$ is, inputs with margin c as drawn.

    A half sample is drawn as binomially many points of the whole law: a flip $x \to -x$ leaves $xx^\top$ as it is.
    By draw: deviation, $\|H_+ - \Sigma/2\|_{op}$; smallest, largest, the eigenvalues of $H_+$ over those of $\Sigma/2$.
    """
    half = teachers.variances(d, c) / 2
    deviation, smallest, largest = np.empty((3, draws))
    rng = stream("half samples", "covariance", n, d, c)
    for i in range(draws):
        x = teachers.with_margin(rng, int(rng.binomial(n, 0.5)), d, c)
        H = x.T @ x / n
        spectrum = np.linalg.eigvalsh(H)
        deviation[i] = np.linalg.norm(H - np.diag(half), 2)
        smallest[i], largest[i] = spectrum[0] / half.min(), spectrum[-1] / half.max()
    return xr.Dataset({"deviation": ("draw", deviation), "smallest": ("draw", smallest), "largest": ("draw", largest)})


RECORDS: dict[str, Recipe] = {
    "half_covariance": Recipe(
        covariance,
        {"c": [0.3, 0.0], "d": [3, 5, 10], "n": [50, 200, 1000, 10_000]},
        {"draws": 400},
        "Eigenvalues of the covariance of half a sample",
    ),
    "half_covariance_high": Recipe(
        covariance, {"c": [0.0], "d": [10, 20, 40, 80], "n": [10_000]}, {"draws": 40}, "The same in more dimensions"
    ),
}
