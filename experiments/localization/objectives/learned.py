"""Learned fields in (9) on signs (g = 100), where three networks leave the claim LO-34 undecided: thirty networks."""

from __future__ import annotations

from experiments.localization.bumps import filters
from shallow.book.recipes import Recipe

RECORDS: dict[str, Recipe] = {
    "learned_on_signs": Recipe(
        filters.learned,
        {"gain": [100.0], "seed": list(range(30))},
        about="Learned fields in (9) against the best filters, thirty networks at the largest gain",
    )
}
