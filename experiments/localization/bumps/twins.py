r"""Data with one covariance and three kinds of tails: filters in (9).

A process with gain g has two twins of exactly its covariance: the heavy-tailed one of :mod:`shallow.data.nlgp` and the
Gaussian one.  Whatever depends on second moments alone is the same for the three.  In (9) the Gaussian twin needs no
draws: its value is $\frac2\pi \arctan\sqrt R$.
Goes beyond the note on localized receptive fields; its footnote 2 supposes heavy tails.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.localization import dominance, networks
from experiments.localization.bumps import filters
from experiments.localization.reductions import saturated_dominance
from shallow.book.recipes import Recipe
from shallow.stats import stream


def bumps() -> np.ndarray:
    """The constant and the bumps of all widths, shape (15, 40)."""
    return np.concatenate([filters.waves(networks.N)[:1], dominance.gabors(networks.N, filters.WIDTHS, [0])[:, 0]])


def in_objective(tails: str, gain: float, seed: int, *, pairs: int = 50_000) -> xr.Dataset:
    r"""(9) of the constant and of bumps on processes with light or heavy tails.

    Width 0 is the constant, leads are over it on the same pairs, and law is the value for the Gaussian twin.  The
    kurtosis of the responses is that of the sample, for heavy tails beyond g = 1/2 of an infinite one.

    Cost: 1 s; half of it for light tails.
    """
    classes, W = networks.pair(gain, tails=tails), bumps()
    rng = stream("localization", "twins", tails, seed)
    outcomes = dominance.outcomes_at_a_point(rng, *classes, W, pairs)
    lead = dominance.advantage(outcomes, outcomes[0])
    heavy = [filters.kurtosis(rng, process, W, pairs) for process in classes]
    ratio = dominance.variance_ratio(W, *(process.spectrum for process in classes))
    return xr.Dataset(
        {
            "value": ("width", dominance.probability(outcomes).value),
            "lead": ("width", lead.value),
            "lead_error": ("width", lead.error),
            "law": ("width", dominance.at_a_point(ratio)),
            "kurtosis": (("class", "width"), np.stack(heavy)),
        },
        {"width": np.r_[0.0, filters.WIDTHS], "class": [1, 0]},
    )


def closed(ratio: np.ndarray, kurtosis: np.ndarray) -> np.ndarray:
    """(9) by the closure of two moments: variance ratios (F,), excess kurtoses (2, F), those below 0.001 taken as 0."""
    kurtosis = np.where(np.abs(kurtosis) < 1e-3, 0.0, kurtosis)
    return np.array([saturated_dominance(*values) for values in zip(ratio, *kurtosis, strict=True)])


# Records.

#: Gains of the twins in (9): the kurtosis of a heavy-tailed pixel is finite at the first two.
GAINS = [0.1, 0.35, 1.0, 3.0]
SEEDS = [0, 1, 2, 3, 4, 5]

RECORDS: dict[str, Recipe] = {
    "twin_filters": Recipe(
        in_objective,
        {"tails": ["light", "heavy"], "gain": GAINS, "seed": SEEDS},
        about="Objective (9) of bumps on data with light and heavy tails and one covariance",
    ),
}
