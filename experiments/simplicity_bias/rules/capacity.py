"""Rule on whether interpolating parameters exist at the width of Figure 1: SB-23."""

from __future__ import annotations

import xarray as xr

from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.data.teachers import NOISE


def sb_23(solved: xr.Dataset | None = None) -> Outcome:
    """Section 4.1: output weights on random directions that fit all labels; over n and seed, 10,000 neurons."""
    sizes, fitted = [1000, 2000, 5000], 1e-10
    solved = records.load("simplicity_bias/capacity") if solved is None else solved
    upper = solved.sel(n=sizes)
    full = bool((upper["rank"] == upper.n).all())
    return Outcome(
        verdict=full and claims.all_of(bool((upper.train <= fitted).all())),
        answer={
            "reproduced": "Yes: with random first-layer weights the output weights alone fit all labels of up to 5000 "
            "samples.",
            "contradicted": "No: random directions do not suffice to fit all labels.",
        },
        finding=f"features of full rank and a train loss of {float(upper.train.max()):.0e} at most at n = 1000, 2000 "
        f"and 5000 in all {upper.train.size} draws (condition of the kernel up to "
        f"{float(upper.condition.max()):.0e}); the excess risk is {float(upper.excess.min()) / NOISE:.1f} to "
        f"{float(upper.excess.max()) / NOISE:.1f} times the noise",
    )
