"""Drawings of when two groups of neurons stay, for the chapter's story."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr
from matplotlib.axes import Axes

from shallow.book import figures

LABELS = {
    "rate 0.01": "batches, rate 0.01",
    "rate 0.001": "batches, rate 0.001",
    "full batch": "steps on all samples",
}


def outside(axes: Sequence[Axes], ends: xr.Dataset) -> None:
    """Share of the mass outside against the scale of the start, by noise; an axis for each sample size."""
    for ax, n in zip(axes, ends.n.values, strict=True):
        for k, (noise, style) in enumerate(zip(ends.noise.values, figures.mode_styles(ends.sizes["noise"]))):
            share = ends.outside.sel(n=n, noise=noise)
            ax.plot(share.scale * 1.15 ** (k - 1), share.transpose("scale", "seed"), "o", ms=3, color=style["color"])
            ax.plot(share.scale, share.mean("seed"), label=LABELS[str(noise)], **style)
        ax.set(xscale="log", xlabel=r"scale of the start $\lambda$", title=f"$n = {n}$")
    axes[0].set_ylabel("share of the mass elsewhere")
    axes[0].legend(fontsize="small")
