"""What the page on the theory draws."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from experiments.localization import dominance, networks, reductions
from experiments.localization.theory import cells as proofs
from shallow.book import figures


def closure_on_signs(ax: Axes) -> None:
    r"""(9) of the filter $(\epsilon, 1, \epsilon)$ on sign data: exact, by the closure, and by the variances alone."""
    weights = np.geomspace(0.03, 0.49, 25)
    shares = [proofs.agreeing(process) for process in networks.pair(np.inf)]
    moments = np.array([[proofs.side_moments(share, w) for w in weights] for share in shares])
    ratio = moments[0, :, 0] / moments[1, :, 0]
    closed = [reductions.saturated_dominance(*one) for one in zip(ratio, *moments[:, :, 1], strict=True)]
    ax.axhline(proofs.side_value(*shares), color=figures.COLOURS["live"], label="exact")
    ax.plot(weights, closed, "--", color=figures.COLOURS["test"], label="variances and kurtoses")
    ax.plot(weights, dominance.at_a_point(ratio), ":", color=figures.COLOURS["train"], label="variances alone")
    ax.set(
        xlabel=r"side weight $\epsilon$",
        ylabel="(9)",
        ylim=(0.48, 1.02),
        title=r"signs, filter $(\epsilon, 1, \epsilon)$",
    )
