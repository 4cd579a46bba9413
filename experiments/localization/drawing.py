"""What the pages on localised receptive fields draw several times."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from experiments.localization import laboratory, populations
from shallow.book import figures


def laboratory_picture() -> Figure:
    """The laboratory's first preset as a figure, for readers without scripts: all fields, and how they localise."""
    *_, chosen = laboratory.PRESETS[0]
    run = laboratory.train(chosen)
    W, b = run.last.W[0], run.last.b[0]
    values = laboratory.measured(run)
    order = populations.order(W, b)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    scaled = (W / np.abs(W).max(axis=1, keepdims=True))[order]
    left.imshow(scaled, cmap="RdBu", vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
    left.axhline((populations.population(b) < 0).sum() - 0.5, color="k", lw=1)
    left.set(xlabel="pixel", ylabel="field, negative biases above the line")
    left.grid(False)
    for name, sign in (("minus", "negative"), ("plus", "positive")):
        ratio = [np.nan if value is None else value for value in values[f"ipr_{name}"]]
        right.plot(run.steps[1:], ratio[1:], color=figures.COLOURS[f"label_{name}"], label=f"{sign} biases")
    right.axhline(3 / 42, color="0.5", ls=":", label="white noise")
    right.set(xscale="log", xlabel="step", ylabel="median participation ratio", ylim=(0, 0.4))
    right.legend()
    return figure
