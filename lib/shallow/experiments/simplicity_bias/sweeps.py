"""The recorded sweep of Figure 1: name -> recipe."""

from __future__ import annotations

from shallow.experiments import Recipe
from shallow.experiments.simplicity_bias.runs import NARROW, run

#: Sample sizes of Figure 1 (the document's are lost), and the narrow network's further ones.
SIZES = [100, 200, 350, 500, 750, 1000, 1250, 1500, 2000, 3000, 5000, 10_000]
#: A cell is verified by the first thousand steps of the same run, a tenth of a millisecond to a second.
SHORT = {"steps": 1000, "anatomy": False, "decayed": 0, "keep": False}


RECORDS: dict[str, Recipe] = {
    "figure_1_narrow": Recipe(
        run,
        {"n": [30, 50, *SIZES, 30_000], "seed": [0]},
        {"width": NARROW, "anatomy": True, "keep": True, "decayed": 2_000_000},
        "Figures 1 and 2 with 1008 neurons: 8 million steps, then 2 million with a decaying rate",
        shortened=SHORT,
    ),
}
