"""What the page on the two processes draws."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.localization.data import cells as processes
from shallow.book import figures
from shallow.data import nlgp
from shallow.stats import stream


def one_place(left: Axes, right: Axes, measures: xr.DataArray) -> None:
    """Values of one place: densities with histograms, and measures of the distance from normal against the gain."""
    z = stream("localization", "marginal", 0).standard_normal(200_000)
    for gain, style in zip((0.1, 0.5**0.5, 1.0, 3.0), figures.mode_styles(4), strict=True):
        law, reach = nlgp.Process(40, 2.0, gain), min(processes.largest_value(gain), 3.5)
        grid = np.linspace(-reach, reach, 401)[1:-1]
        left.hist(law.observed(z), np.linspace(-reach, reach, 61), density=True, histtype="step", ls="-", color="0.7")
        left.plot(grid, law.density(grid), label=f"$g = {gain:.2g}$", **style)
    left.set(xlabel="value $x$", ylabel="density", xlim=(-3.4, 3.4), ylim=(0, 1.25))
    left.legend(fontsize="x-small", loc="upper center", handlelength=1.5)
    fine = np.geomspace(0.01, 100, 60)
    kurtosis = [nlgp.Process(40, 2.0, gain).excess_kurtosis for gain in fine]
    distance = [processes.exact_distance(gain) for gain in fine]
    part = [processes.nonlinear_part(gain) for gain in fine]
    curves = {"excess kurtosis": (kurtosis, "excess kurtosis", "test", "o", "-")}
    curves["distance"] = (distance, "distance from $N(0, 1)$", "train", "s", "--")
    curves["nonlinear"] = (part, "part not linear in $Z$", "label_plus", "^", "-.")
    for name, (values, label, colour, marker, line) in curves.items():
        look = {"color": figures.COLOURS[colour], "label": label, "ms": 4}
        right.plot(measures.gain, measures.sel(measure=name).mean("seed"), marker, **look)
        right.plot(fine, values, line, color=figures.COLOURS[colour], lw=1.2)
    right.axhline(0, color="k", lw=0.6)
    right.set(xscale="log", xlabel="gain $g$", ylabel="measure", ylim=(-2.15, 1.6))
    right.legend(fontsize="small", loc="upper left")
