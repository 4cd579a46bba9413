"""Drawings of the kernel's spectrum and modes, on the axes or the figure that they are given."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.cyclic_labels import loss_curves
from experiments.cyclic_labels.bumps import cells as bumps
from experiments.cyclic_labels.kernel import kernel_spectra, modes
from shallow.book import figures


def spectrum(ax: Axes, width: int = 512, seed: int = 0, n: int = 50) -> None:
    """The eigenvalues of one kernel at initialisation, largest first, on a logarithmic scale; five of them filled.

    Eigenvalues below 1e-12 of the largest are rounding errors and left out.
    """
    values = kernel_spectra.spectrum(seed, width=width, n=n).eigenvalues.values
    rank = np.arange(1, n + 1)[values > 1e-12 * values[0]]
    ax.semilogy(rank[5:], values[rank[5:] - 1], "o", ms=4, mfc="white", color=figures.COLOURS["live"])
    ax.semilogy(rank[:5], values[:5], "o", ms=5, color=figures.COLOURS["live"], label="the five plotted modes")
    for k, share in enumerate(np.cumsum(values)[:2] / values.sum(), start=1):
        ax.annotate(f"  $E({k})$ = {share:.3f}", (k, values[k - 1]), va="center", fontsize="small")
    ax.set(xlabel="rank $i$", ylabel=r"eigenvalue $\lambda_i$", xlim=(0, n + 1))


def modes_apart(figure: Figure, width: int, seed: int, *, first: int = 120, step: float = 0.001) -> None:
    r"""Figures 8 to 10 of the document, for a run of two_rightmost: nothing is cut off, no curve hides another.

    Left: the losses over all epochs, and over the `first` ones.  Right: a row for each projection
    $\beta_1, \dots, \beta_5$ at every epoch (grey) and its root mean square over 400 epochs (black), over all
    epochs and over the `first`.  Low (dotted) and peak (dashed) of the bump are marked.
    """
    options = dict(design="two_rightmost", width=width, step=step)
    losses = loss_curves.run(seed, **options)
    beginning = loss_curves.run(seed, epochs=first, every=1, **options)
    found = bumps.slow(losses.expand_dims(seed=[seed])).isel(seed=0)
    beta = modes.every_epoch(seed, **options)
    window = modes.WINDOW * modes.EVERY
    size = modes.moving_rms(beta, window)[:: modes.EVERY]
    left, right = figure.subfigures(1, 2, width_ratios=(1, 1.9))
    above, below = left.subplots(2, 1, height_ratios=(1.6, 1))
    for ax, run in ((above, losses), (below, beginning)):
        figures.losses(ax, run.epoch, run.train_loss / losses["count"].sum(), run.test_loss)
        ax.set(ylabel="mean hinge loss")
    above.set(yscale="log", xticks=[0, 10_000, 20_000])
    figures.log_ticks(above.yaxis)
    above.legend(fontsize="small")
    below.set(ylim=(0, None))
    below.get_legend().remove()
    rows = right.subplots(5, 2, sharex="col", sharey="row", width_ratios=(1.5, 1))
    for i, (whole, early) in enumerate(rows):
        whole.plot(beta[:, i], color=figures.COLOURS["null"], lw=0.3, rasterized=True)
        whole.plot(modes.EVERY * np.arange(len(size)) + window // 2, size[:, i], color="k", ls="-", lw=1.2)
        early.plot(beta[: first + 1, i], color=figures.COLOURS["null"], ls="-", lw=0.8)
        whole.set_ylabel(rf"$\beta_{i + 1}$", rotation=0, labelpad=8, va="center")
    rows[-1, 0].set(xlabel="epoch", xticks=[0, 10_000, 20_000])
    rows[-1, 1].set(xlabel="epoch")
    for ax in (above, *rows[:, 0]):
        for name, style in (("low", ":"), ("peak", "--")) if found.recovers else ():
            ax.axvline(float(found[name]), color="0.3", lw=0.9, ls=style, zorder=4)
