"""Drawings of the top per cents of spectra, for the chapter's pages alone: on the axes that they are given."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from experiments.heavy_tails import estimators
from shallow.spectra import tails, tops
from shallow.stats import stream


def mean_excess(ax: Axes, samples: list[np.ndarray], label: str | None, **look) -> None:
    """Mean over samples of the excess above the cut over that at 20 %, by the share above it (3 values or more)."""
    least = 3 / min(map(len, samples))
    shares = np.geomspace(max(0.02, least), 0.4, 25)
    curves = np.array([tops.mean_excess(values, shares) / tops.mean_excess(values, [0.2]) for values in samples])
    ax.plot(shares, curves.mean(axis=0), label=label, **{"ls": "-"} | look)
    ax.set(xscale="log", yscale="log", xlabel="share above the cut", ylabel="mean excess, relative")
    ax.set_xticks([0.02, 0.05, 0.1, 0.2, 0.4], ["2 %", "5 %", "10 %", "20 %", "40 %"])
    ax.set_yticks([0.25, 0.5, 1, 2, 4], ["1/4", "1/2", "1", "2", "4"])
    ax.minorticks_off()


def top_exponents(ax: Axes, samples: list[np.ndarray], label: str | None, *, most: float = 0.4, **look) -> None:
    """Hill's exponent of each sample by the share of its values above the cut, from three values on up to `most`."""
    for k, values in enumerate(samples):
        path = tails.hill_path(values)
        share = path.sizes / len(values)
        kept = (path.sizes >= 3) & (share >= 0.02) & (share <= most)
        ax.plot(share[kept], path.alpha[kept], label=None if k else label, **{"ls": "-", "lw": 0.8} | look)
    ax.set(xscale="log", xlabel="share above the cut", ylabel="exponent", ylim=(1.2, 6))
    ax.set_xticks([0.02, 0.05, 0.1, 0.2, most], ["2 %", "5 %", "10 %", "20 %", f"{most:.0%}".replace("%", " %")])
    ax.minorticks_off()


def top_references(left: Axes, right: Axes, student: np.ndarray) -> None:
    """A student's spectrum, an exponential law and a power law on the axes of both kinds of curves of the top."""
    laws = {"exponential law": ("exponential", ":"), "power law 2": ("Pareto 2", "--")}
    curves = {name: (estimators.sample(law, stream("tops", law), 100_000), line) for name, (law, line) in laws.items()}
    for name, (values, line) in {"two-layer student": (student, "-"), **curves}.items():
        top_exponents(left, [values], name, color="k", ls=line)
        mean_excess(right, [values], None, color="k", ls=line)
