"""What the page on the two populations draws."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.localization.populations import rules
from shallow import stats
from shallow.book import figures


def biases_at_rest(ax: Axes, outputs: xr.Dataset, against: str = "count") -> None:
    """Biases of negative neurons over the crossing, without a constant and with a trained one.

    Against the number of negative neurons, or the mean of the output ("mean_output").
    """
    names = {"count": "negative neurons of 40", "mean_output": "mean output of the network"}
    for output, face in (("none", "full"), ("constant", "none")):
        for gain, colour in ((0.01, "train"), (3.0, "test")):
            one = outputs.sel(output=output, gain=gain, side="minus")
            word = "no constant" if output == "none" else "trained constant"
            look = {"ls": "none", "fillstyle": face, "ms": 5, "color": figures.COLOURS[colour]}
            ax.plot(one[against], one.crossing, "o", label=f"$g = {gain:g}$, {word}", **look)
    ax.axhline(1, color="0.5", ls=":")
    ax.set(xlabel=names[against], ylabel="$|b|/b_*$, negative neurons")


def kept_shares(left: Axes, right: Axes, outputs: xr.Dataset, runs: xr.Dataset) -> None:
    """Shares of positive biases at the end, and losses over the usual start's, by the start, with a trained constant.

    Crosses are networks without one, of the record of arrangements (`runs`).
    """
    width = int(outputs["count"].isel(output=0, gain=0, seed=0).sum())
    for gain, marker, colour, size in ((0.01, "o-", "train", 8), (3.0, "s--", "test", 3.5)):
        usual = outputs.loss.sel(output="constant", gain=gain)
        look = {"fmt": marker, "ms": 4, "color": figures.COLOURS[colour], "label": f"$g = {gain:g}$"}
        begun = [(int(name.split()[1]) / width, outputs.sel(output=name, gain=gain)) for name in rules.CONSTANT]
        starts = [start for start, _ in begun]
        ends = [stats.student(one["count"].sel(side="plus").values / width) for _, one in begun]
        ratios = [stats.student((one.loss / usual).values) for _, one in begun]
        face = "none" if size > 4 else None  # so that both markers of a place can be seen
        figures.errorbars(left, starts, ends, **look | {"fmt": marker[0], "ms": size, "mfc": face})
        figures.errorbars(right, starts, ratios, **look)
    starts = {name: rules.EXTREME[name] for name in ("begun at -0.5", "begun at +0.5")} | rules.MODERATE
    ends = [rules.shares(runs.sel(network=name)).ravel() for name in starts]
    x, y = np.repeat(list(starts.values()), [len(end) for end in ends]), np.concatenate(ends)
    left.plot(x, y, "x", color="0.5", ms=4, label="no constant")
    left.plot([0, 1], [0, 1], color="0.5", lw=0.8)
    right.axhline(1, color="0.5", ls=":")
    left.set(xlabel="share positive at the start", ylabel="share positive at the end")
    right.set(xlabel="share positive at the start", ylabel="error over that of the usual start")
    left.legend(fontsize="small")
