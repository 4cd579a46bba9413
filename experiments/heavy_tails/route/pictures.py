"""Figures on why the bulk widens: the law after one step, two surgeries, and the parts of the width after ten."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from experiments.heavy_tails import drawing, teacher_student
from experiments.heavy_tails.drawing import ADAM, GD
from experiments.heavy_tails.first_update import bulk
from experiments.heavy_tails.route import rules
from shallow import stats
from shallow.spectra import esd
from shallow.spectra.profiles import ProfileLaw

GREY, GREEN = "0.45", "#009E73"
CUT_LOOKS = {"nothing": "k", "update": GD, "gradient": ADAM}


def law_line(ax, law: ProfileLaw, share: float = 1.0, **look) -> None:
    """Density of a law per decade, on the logarithm of the eigenvalue."""
    x, density = law.density
    shown = density > 1e-3 * (density * x).max() / x
    ax.plot(np.log10(x[shown]), share * (density * x)[shown] * np.log(10), **look)


def first_bulk(record: xr.Dataset, rates: Sequence[float] = (1.0, 10.0)) -> Figure:
    """Spectra of one draw after one step of Adam under the law without a fit, and the distances of all draws."""
    drawn = teacher_student.draw(0)
    figure, axes = plt.subplots(1, 3, figsize=(7.4, 2.8), layout="constrained")
    for ax, rate, student in zip(axes, rates, teacher_student.after_one_step(drawn, "Adam code", rates)):
        values = esd.eigenvalues(student.W)
        counts, edges = np.histogram(np.log10(values[1:]), 60, density=True)
        ax.stairs(counts, edges, fill=True, color=drawing.AFTER, alpha=0.5)
        law_line(ax, bulk.law(rate, 2000, 1000, 1500), color="k", lw=1.3)
        ax.plot(np.log10(values[0]), 0.03, "v", color=drawing.AFTER, ms=5, transform=ax.get_xaxis_transform())
        ax.set(title=f"Adam {rate:g}, one step", xlabel=r"$\log_{10}$ eigenvalue")
    axes[0].set_ylabel("density")
    for name, colour, marker in (("noise", GREY, "s"), ("distance", "k", "o")):
        label = {"noise": "to noise, scale fitted", "distance": "to the law, no fit"}[name]
        shown = record[name].where(record.rate >= 0.5, drop=True)
        mean, low, high = np.transpose([_three(shown.sel(rate=rate)) for rate in shown.rate.values])
        axes[2].errorbar(shown.rate, mean, [mean - low, high - mean], fmt=f"{marker}-", color=colour, ms=4, label=label)
    axes[2].set(xscale="log", yscale="log", xlabel=r"learning rate $\eta$", ylabel="distance of the bulk")
    axes[2].legend(fontsize="x-small", loc="lower right")
    return figure


def _three(values: xr.DataArray) -> tuple[float, float, float]:
    one = stats.student(values.values.astype(float))
    return one.estimate, one.low, one.high


def surgeries(every: xr.Dataset, spectra: xr.Dataset) -> Figure:
    """Spectra of Adam at 1 after ten steps, with the pair cut after and before the division, and exponents beside."""
    titles = {"nothing": "nothing cut", "update": "update cut", "gradient": "gradient cut"}
    figure, axes = plt.subplots(1, 4, figsize=(7.4, 2.7), layout="constrained", width_ratios=[1, 1, 1, 1.35])
    for ax, (cut, title) in zip(axes, titles.items()):
        drawing.spectrum(ax, spectra.eigenvalues.sel(rate=1.0, seed=0, cut=cut).values, log=True)
        ax.set(title=title, xlim=(2, 6), ylim=(8e-3, 2), ylabel="density" if ax is axes[0] else "")
        ax.set_xlabel(r"$\log_{10}$ eigenvalue", fontsize="small")
        ax.title.set_fontsize("medium")
    names = list(titles)
    for place, cut in enumerate(names):
        one = every.sel(rate=1.0, cut=cut).end_hill_excl
        for shift, form, marker, colour in ((-0.1, "whole", "o", ADAM), (0.1, "permuted", "s", GREY)):
            label = {"whole": "as it is", "permuted": "null"}[form] if not place else None
            where = np.full(one.sizes["seed"], place + shift)
            axes[3].plot(where, one.sel(form=form), marker, color=colour, ms=3.5, label=label)
    axes[3].axhline(rules.NOISE, color="0.4", ls="--", lw=0.8)
    axes[3].set_xticks(range(3), ["nothing", "update", "gradient"], fontsize="small")
    axes[3].set(ylabel="exponent", xlim=(-0.5, 2.5), title="ten draws")
    axes[3].title.set_fontsize("medium")
    axes[3].legend(fontsize="x-small", loc="center right")
    return figure


def parts(shares: dict[str, dict[str, stats.Interval]]) -> Figure:
    """Fall of the exponent below noise of several runs, whole, without the data's part, and in the null."""
    figure, ax = plt.subplots(figsize=(6.6, 2.9), layout="constrained")
    looks = {"whole": ADAM, "white inputs": GREEN, "null": GREY, "null, white inputs": "0.75"}
    width = 0.2
    for k, (part, colour) in enumerate(looks.items()):
        found = [of[part] for of in shares.values()]
        middle = np.array([one.estimate for one in found])
        ends = np.array([[one.estimate - one.low, one.high - one.estimate] for one in found]).T
        ax.bar(np.arange(len(found)) + (k - 1.5) * width, middle, width, yerr=ends, color=colour, label=part, capsize=2)
    ax.set_xticks(range(len(shares)), list(shares))
    ax.set(ylabel="exponent of noise minus that of the bulk")
    ax.legend(fontsize="small")
    return figure
