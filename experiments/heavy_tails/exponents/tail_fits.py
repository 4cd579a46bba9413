"""What kind of tail the trained spectra have: a power law, another law, or that of noise with unequal rows."""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.heavy_tails import estimators, rate_sweeps, shapes
from experiments.heavy_tails.exponents import row_profile
from shallow import checks
from shallow.book.recipes import Recipe, releases_gil
from shallow.spectra import esd, marchenko_pastur, tail_laws, tails

#: Runs whose spectra the document calls heavy-tailed: optimiser and learning rate.
RUNS = {
    "GD 2000": ("GD", 2000.0),
    "GD 3000": ("GD", 3000.0),
    "Adam 0.5": ("Adam", 0.5),
    "Adam 1": ("Adam", 1.0),
    "Adam 10": ("Adam", 10.0),
    "Adam 100": ("Adam", 100.0),
}
LEAST = 50  # values above the cut
ALTERNATIVES = {"log-normal": tail_laws.LogNormal, "exponential": tail_laws.Exponential}


@releases_gil
def tail_fits(seed: int, run: str, *, reading: str = "code", steps: int = 10, n: int = 2000) -> xr.Dataset:
    """A trained spectrum and its fits, of all eigenvalues and without a spike (dimension spectrum).

    Returns:
        eigenvalues (k); what :func:`power_law_test` returns (spectrum); what :func:`widened` returns, without a spike.

    Cost: that of the steps, 2.4 s for ten with 2000 points, and 2 s.
    """
    checks.one_of(RUNS, run=run)
    optimiser, rate = RUNS[run]
    values = rate_sweeps.steps(seed, rule=f"{optimiser} {reading}", rate=rate, steps=steps, n=n).eigenvalues.values
    spectra = {"all": values, "without spike": without_spike(values)}
    name = f"{run}/{reading}/{steps}/{n}/{seed}"
    tests = [power_law_test(kept, name=f"{name}/{which}") for which, kept in spectra.items()]
    return (
        xr.concat(tests, "spectrum", coords="minimal", compat="override")
        .assign_coords(spectrum=list(spectra))
        .assign({"eigenvalues": ("k", values)} | widened(spectra["without spike"], 1500, 1000))
    )


def without_spike(values: np.ndarray) -> np.ndarray:
    """Descending eigenvalues without the first one if that is a spike."""
    return values[1:] if values[0] / values[1] >= shapes.SPIKE_RATIO else values


def power_law_test(values: np.ndarray, *, name: str, resamples: int = 1000) -> xr.Dataset:
    r"""The fit of a power law with at least 50 values above the cut, and its tests (Clauset, Shalizi and Newman 2009).

    Returns:
        alpha, size (values above the cut), p (of the fit, by bootstrap); for each alternative ratio, the
        log-likelihood ratio over its standard deviation (positive: the power law is better), and its two-sided p-value
        ratio_p.

    Cost: 0.15 s at 1000 values and 1000 resamples.
    """
    fit = tails.power_law(values, least=LEAST)
    found = [tail_laws.vuong(fit.law, law.fit(values, fit.xmin), values) for law in ALTERNATIVES.values()]
    return xr.Dataset(
        {
            "alpha": fit.alpha,
            "size": fit.size,
            "p": tails.goodness(values, name=name, least=LEAST, resamples=resamples),
            "ratio": ("alternative", [test.normalised for test in found]),
            "ratio_p": ("alternative", [test.p for test in found]),
        },
        {"alternative": list(ALTERNATIVES)},
    )


def beaten(found: xr.Dataset) -> xr.DataArray:
    """Whether an alternative is better than the power law at the level 5 %."""
    return (found.ratio < 0) & (found.ratio_p < 0.05)


def supported(found: xr.Dataset) -> xr.DataArray:
    """Whether a power law is supported: p of at least 0.1, and no alternative better."""
    return (found.p >= 0.1) & ~beaten(found).any("alternative")


def widened(values: np.ndarray, h: int, d: int) -> dict[str, float]:
    """A Marchenko-Pastur law widened by unequal rows as an explanation of a spectrum, in Kolmogorov-Smirnov distances.

    Returns:
        spread: standard deviation of the logarithm of the rows' variances, fitted;
        profile_distance: of the whole spectrum to the widened law;
        tail_profile, tail_power: of the values above the power law's cut to the widened law, whose two parameters are
            fitted to the whole spectrum, and to the power law, whose two are fitted to just these values.

    Cost: 1 to 2 s, the fit of the spread.
    """
    spread, distance = row_profile.fit_log_normal(values, h, d)
    law = row_profile.RowProfile.log_normal(h, d, spread)
    scale, fit = esd.best_scale(law.cdf, values), tails.power_law(values, least=LEAST)
    tail = np.sort(values[values >= fit.xmin])
    below = law.cdf(fit.xmin / scale)
    profile = (law.cdf(tail / scale) - below) / max(1 - below, np.finfo(float).tiny)
    power = 1 - (tail / fit.xmin) ** (1 - fit.alpha)
    return {
        "spread": spread,
        "profile_distance": distance,
        "tail_profile": max(esd.signed_distances(profile)),
        "tail_power": max(esd.signed_distances(power)),
    }


def fitted_curves(values: np.ndarray, spread: float, h: int = 1500, d: int = 1000) -> dict[str, np.ndarray]:
    """Share of a spectrum above a value by four laws, as rows of values over the median and shares, for drawing.

    Given are descending eigenvalues without a spike, and the spread of :func:`widened`.

    Returns "eigenvalues" themselves; "power law" and "log-normal", fitted above the best cut; "widened noise" as far as
    its numerical form resolves it; "noise", the Marchenko-Pastur law that fits best.
    """
    fit, scale = tails.power_law(values, least=LEAST), np.median(values)
    grid = np.geomspace(values[-1], 3 * values[0], 4000)
    above, part = grid[grid >= fit.xmin], fit.size / len(values)
    density = np.exp(tail_laws.LogNormal.fit(values, fit.xmin).log_density(above))
    left = 1 - np.append(0, np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(above)))
    profile = row_profile.RowProfile.log_normal(h, d, spread)
    beyond = 1 - profile.cdf(grid / esd.best_scale(profile.cdf, values))
    seen = beyond > 0.015
    noise = 1 - marchenko_pastur.fit(values, h, d).cdf(grid)
    curves = {
        "eigenvalues": (values, np.arange(1, len(values) + 1) / len(values)),
        "power law": (above, part * (above / fit.xmin) ** (1 - fit.alpha)),
        "log-normal": (above, part * np.maximum(left, 1e-9)),
        "widened noise": (grid[seen], beyond[seen]),
        "noise": (grid, np.maximum(noise, 1e-9)),
    }
    return {name: np.array([x / scale, shares]) for name, (x, shares) in curves.items()}


def same_norms(W: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    r"""Eigenvalues of a Gaussian matrix that has nothing of W (h, d) but the norms of its rows and columns, descending.

    The variances are $r_i c_j / m$ with the mean squares r of the rows, c of the columns and m of all entries of W
    without its first singular pair.

    Cost: 0.2 s at 1500 x 1000.
    """
    U, s, V = esd.top(W, 1)
    squares = (W - (U * s) @ V.T) ** 2
    variances = np.outer(squares.mean(axis=1), squares.mean(axis=0)) / squares.mean()
    return esd.eigenvalues(rng.standard_normal(W.shape) * np.sqrt(variances))


#: After ten steps of Adam at ten and above rounding is seen in the spectrum.
STEADY = {"run": [run for run in RUNS if run not in ("Adam 10", "Adam 100")]}


def _one_draw(n: int, steps: int, about: str) -> Recipe:
    fixed = {"n": n, "steps": steps, "reading": "code"}
    return Recipe(tail_fits, {"run": list(RUNS), "seed": [0]}, fixed, about, steady=STEADY)


RECORDS: dict[str, Recipe] = {
    "tail_fits": Recipe(
        tail_fits,
        {"reading": ["code", "text"], "run": list(RUNS), "seed": [0, 1, 2]},
        {"n": 2000, "steps": 10},
        "What kind of tail: ten steps with 2000 points, fits and tests",
        steady=STEADY,
    ),
    "tail_fits_long": _one_draw(2000, 100, "What kind of tail: a hundred steps with 2000 points, fits and tests"),
    "tail_fits_8000": _one_draw(8000, 10, "What kind of tail: ten steps with 8000 points, fits and tests"),
    "exponents_of_laws": Recipe(
        estimators.estimates,
        {"law": [*estimators.TAIL_FREE, *estimators.PARETO], "seed": list(range(200))},
        {"count": 1000},
        "Both exponents of samples of nine laws",
    ),
    "exponents_half_noise": Recipe(
        estimators.estimates,
        {"law": ["Pareto 1.5", "Pareto 2", "Pareto 3"], "seed": list(range(200))},
        {"count": 1000, "contamination": 0.5},
        "Both exponents of samples of power laws, half of them replaced by noise",
    ),
    "spike_position_2000_more": Recipe(
        rate_sweeps.steps,
        {"rule": ["Adam code"], "rate": [0.001, 0.01, 0.1, 1.0, 10.0], "seed": list(range(5, 10))},
        about="Ten Adam steps: exponents and the position of the spike, more draws",
    ),
    "spike_position_8000_more": Recipe(
        rate_sweeps.steps,
        {"rule": ["Adam code"], "rate": [0.001, 0.01, 1.0, 10.0], "seed": list(range(5, 10))},
        {"n": 8000},
        "The same with 8000 points",
    ),
}
