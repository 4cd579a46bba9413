"""What the page on folding draws."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.hidden_structure import authors
from experiments.hidden_structure.drawing import ELSEWHERE
from shallow.book import figures


def match_strips(axes: Sequence[Axes], runs: xr.Dataset) -> None:
    """Match of every network by depth, class 0 and class 1, before and after training, beside the document's five.

    Args:
        runs: match by depth, label, moment and run.
    """
    looks = {"initial": ("before", -0.24, "0.55", "s"), "last": ("after", 0.1, ELSEWHERE, "o")}
    for ax, label in zip(axes, (0, 1), strict=True):
        for depth in authors.DEPTHS:
            for moment, (name, at, colour, marker) in looks.items():
                own = runs.match.sel(depth=depth, label=label, moment=moment).values
                log = np.array(authors.MATCH_LOGS[depth, label, moment])
                style = {"marker": marker, "color": colour, "ls": "none", "ms": 3.5}
                names = (name, f"{name}, document's") if depth == 1 else (None, None)
                ax.plot(depth + at + figures.swarm(own, 0.02, half=0.1), own, alpha=0.75, label=names[0], **style)
                beside = depth + at + 0.16 + figures.swarm(log, 0.02, half=0.03)
                ax.plot(beside, log, mfc="none", label=names[1], **style)
        ax.set(xlabel="hidden layers", title=f"class {label}", xticks=authors.DEPTHS, ylim=(-0.04, 1.04))
        ax.grid(False, axis="x")
    axes[0].set_ylabel("match")


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
