"""What the page on folding draws."""

from __future__ import annotations

import xarray as xr
from matplotlib.axes import Axes

from experiments.hidden_structure.drawing import ELSEWHERE


def fold_plane(ax: Axes, runs: xr.Dataset) -> None:
    """Feature quotient and output correlation of networks with three layers, untrained and trained; dotted: a fold.

    Args:
        runs: empty, quotient and correlation by depth, moment and run.
    """
    three = runs.sel(depth=3)
    before, after = three.sel(moment="initial"), three.sel(moment="last")
    ax.plot(before.quotient, before.correlation, "s", color="0.55", ms=4, label="untrained")
    learned = after.empty.values >= 0.75
    for chosen, face, name in ((learned, ELSEWHERE, "learned"), (~learned, "white", "not learned")):
        ax.plot(after.quotient[chosen], after.correlation[chosen], "o", color=ELSEWHERE, mfc=face, ms=5, label=name)
    ax.plot([0, 0.5, 0.5], [0.9, 0.9, 1.02], color="k", ls=":", lw=1)
    ax.set(xlabel="quotient of the features", ylabel="correlation of the output", xlim=(0, None), ylim=(None, 1.02))
