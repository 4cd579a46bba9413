"""Drawings of the layers of deep networks, on axes that they are given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes


def by_layer(ax: Axes, exponents: xr.DataArray, colours: Sequence[str]) -> None:
    """Exponents (of, seed, layer) of :func:`.shuffled_labels.exponents`, a place for each layer."""
    names = {"before": "before training", "true": "after, true labels", "shuffled": "after, shuffled labels"}
    places = np.arange(exponents.sizes["layer"])
    for (of, name), marker, shift, colour in zip(names.items(), "sod", (0, -0.12, 0.12), colours, strict=True):
        values = exponents.sel(of=of).transpose("seed", "layer").values
        ax.plot(places + shift, values.T, marker, color=colour, ms=5, label=[name, *[None] * (len(values) - 1)])
    ax.set_xticks(places, [str(layer) for layer in exponents.layer.values])
    ax.set(xlabel="layer", ylim=(0, None))
