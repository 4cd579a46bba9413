"""What the page on the average over the ring draws."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from experiments.localization.populations import cells as populations


def bundle(ax: Axes, W: np.ndarray) -> None:
    """Fields of a population, moved and flipped to lie on one another, with their mean (black) and that stretched."""
    lined, n = populations.aligned(W), W.shape[-1]
    mean = lined.mean(axis=0)
    move, sign = n // 2 - int(np.abs(mean).argmax()), np.sign(mean[np.abs(mean).argmax()])
    stretch = np.linalg.norm(W, axis=1).mean() / np.linalg.norm(mean)
    offsets = np.arange(n) - n // 2
    ax.plot(offsets, sign * np.roll(lined, move, axis=1).T, "-", color="#56B4E9", lw=0.5)
    ax.plot(offsets, sign * np.roll(mean, move), "-", color="k", lw=1.6, label="mean")
    ax.plot(offsets, sign * stretch * np.roll(mean, move), "--", color="#D55E00", lw=1.2, label="stretched mean")
    ax.set_xlabel("pixels from the centre")
