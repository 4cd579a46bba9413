"""The document's scatter plots of overlaps, for its page alone."""

from __future__ import annotations

import numpy as np
import xarray as xr
from mpl_toolkits.mplot3d import Axes3D

COLOUR = "#0072B2"


def scatter(ax: Axes3D, largest: xr.Dataset, size: int = 1000) -> None:
    """Overlaps over the indices of both vectors, as the document draws them, of one side of :func:`scatters.largest`.

    The largest entries are points.  All others lie below the grey plane at the smallest of these.
    """
    values = largest.value.values
    weights, update = largest.place.sel(vector=["weights", "update"]).values
    ends = np.array([1, size])
    x, y = np.meshgrid(ends, ends)
    ax.plot_surface(x, y, np.full((2, 2), values[-1]), color="0.6", alpha=0.5, rasterized=True)
    ax.scatter(update, weights, values, s=2, color=COLOUR, depthshade=False, rasterized=True)
    ax.set_zlim(0, max(1.05 * values[0], 0.05))
    ax.set_xticks([1, size], ["1", str(size)], fontsize=5)
    ax.set_yticks([1, size], ["1", str(size)], fontsize=5)
    ax.tick_params(axis="z", labelsize=5, pad=-2)
    ax.tick_params(axis="x", pad=-5)
    ax.tick_params(axis="y", pad=-5)
    ax.locator_params(axis="z", nbins=4)
    ax.view_init(elev=18, azim=-130)
    ax.set_box_aspect((1, 1, 0.75), zoom=1.05)
