"""Rules on what the document states and leaves open, and on its derivations (Bowman 2025)."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import xarray as xr

from experiments.cyclic_labels.bumps import undersampling
from experiments.cyclic_labels.kernel import kernel_spectra
from experiments.cyclic_labels.loss_curves import EPOCHS, GRID
from experiments.cyclic_labels.settings import cells as trainer_agreement
from experiments.cyclic_labels.variance import initialisation, loss_reduction
from shallow import stats
from shallow.book import claims, sweep
from shallow.book.claims import Found, decides
from shallow.data import cyclic
from shallow.stats import Interval

STATED_PERIODS = 3  # "In this paper, we only look at periods = 3" (Section 1.1)


class Open(NamedTuple):
    """A setting that the text leaves open: what it says, what is taken here, and the variants that change it."""

    said: str
    taken: str
    tried: tuple[str, ...] = ()  # variants of the record `ablations`


OPEN = {
    "step": Open(
        "nothing", "0.001 for single runs, 0.01 for heat maps", ("step 0.0003, longer", "step 0.003", "step 0.01")
    ),
    "width": Open("for the kernel figures only", "512", ("width 128", "width 2048")),
    "initialisation": Open("nothing", "PyTorch's default, w, b ~ U(−1, 1), v ~ U(−1, 1)/√m", ("normal",)),
    "sample size": Open("for the heat maps only", "50 points in single runs", ("n = 20", "n = 100")),
    "scale near zero": Open("nothing", "0.1 of the default"),
    "test set": Open("drawn at random, size not given", "a grid of 1000 midpoints"),
    "batch": Open("stochastic descent in words, the full sum in the formula", "the full sum"),
}
#: Year in the text and year in the list of references.
CITED = {
    "Mallinar et al. [4]": {"text": 2023, "list": 2024},
    "Zhang et al. [10]": {"text": 2020, "list": 2020},
    "the STL-10 experiments [7]": {"text": 2024, "list": 2024},
}


# What the document leaves open.


def bump_changes(ablations: xr.Dataset) -> dict[str, Interval]:
    """Change of the fraction of runs with a diverging bump against the reference, by variant, paired over seeds.

    ablations: the record of that name; one point in the poor cluster.
    """
    diverging = ablations.diverging.sel(points=1)
    variants = [variant for setting in OPEN.values() for variant in setting.tried]
    reference = diverging.sel(variant="reference").values
    return {v: stats.paired(diverging.sel(variant=v).values, reference, name=f"open/{v}") for v in variants}


def mattering(change: dict[str, Interval], least: float) -> dict[str, bool]:
    """Whether a variant of a setting changes the fraction of bumps by more than the least, for the settings varied."""
    return {
        name: any(change[v].above(least) or change[v].below(-least) for v in setting.tried)
        for name, setting in OPEN.items()
        if setting.tried
    }


def open_settings(change: dict[str, Interval], least: float) -> list[list[str]]:
    """Rows of a table: the open settings, what the text says, what is taken here, and whether it matters."""
    words = {True: "yes", False: "not seen", None: "not varied"}
    matters = mattering(change, least)
    return [[name, setting.said, setting.taken, words[matters.get(name)]] for name, setting in OPEN.items()]


@decides(ablations="cyclic_labels/bumps/ablations")
def cl_55(ablations, *, least):
    """Section 6 and the whole text: is everything stated that a repetition needs?"""
    change = bump_changes(ablations)
    matters = mattering(change, least)
    return Found(
        "answered",
        {f"change of the fraction of bumps, {variant}": each for variant, each in change.items()}
        | {"matters": matters, "open": len(OPEN), "that matter": sum(matters.values()), "varied": len(matters)}
        | {"citations": len(CITED), **CITED},
    )


def captions() -> dict[int, int | None]:
    """What the captions of Figures 1 to 10 say about the number of periods; None: nothing."""
    return {1: 3, 2: 3, 3: 4, 4: 4} | dict.fromkeys(range(5, 11))


@decides(periods=captions)
def cl_02(periods):
    """Section 1.1: all results are for three periods."""
    said = {f"Figure {figure}": number for figure, number in periods.items() if number is not None}
    others = {figure: number for figure, number in said.items() if number != STATED_PERIODS}
    silent = len(periods) - len(said)
    return Found(
        "contradicted" if others else "undecided" if silent else "reproduced",
        {f"Figure {figure}": number or "no number" for figure, number in periods.items()}
        | {"others": others, "differ": len(others), "agree": len(said) - len(others), "silent": silent}
        | {"figures": len(periods)},
    )


# What it derives, and how training ends.


def counted() -> dict[tuple[int, int], dict[str, object]]:
    """For each number of periods and points: `edges`, whether the labels on the grid change sign at the boundaries and
    nowhere else, and `means` and `p` of :func:`undersampling.count_test`."""
    found = {}
    for periods, n in itertools.product((3, 4), (20, 50, 100, 200)):
        edges = GRID[1:][np.diff(cyclic.labels(GRID, periods)) != 0] - 0.5 / len(GRID)
        exact = len(edges) == 2 * periods - 1 and np.abs(edges - cyclic.boundaries(periods)).max() < 0.5 / len(GRID)
        found[periods, n] = undersampling.count_test(n, periods) | {"edges": bool(exact)}
    return found


@decides(tests=counted)
def cl_01(tests, *, least):
    """Section 1.1: 2P alternating clusters of equal width, with multinomial counts."""
    p = {f"P = {periods}, n = {n}": test["p"] for (periods, n), test in tests.items()}
    edges, means = (all(test[key] for test in tests.values()) for key in ("edges", "means"))
    return Found(
        edges and means and min(p.values()) > least,
        {"p of the smallest count": p, "edges": edges, "means": means}
        | {"least p": min(p.values()), "tests": len(p), "few": undersampling.smallest_count_law(50, 6)[:2].sum()},
    )


def short_runs() -> float:
    """Largest deviation of a parameter from automatic differentiation after 1 and 50 steps on the adversarial case."""
    runs = itertools.product((1, 50), (0.01, 0.001))
    return max(max(trainer_agreement.steps(epochs, step).values()) for epochs, step in runs)


@decides(short=short_runs, long="cyclic_labels/settings/agreement")
def cl_03(short, long, *, exact, close):
    """Sections 1.1 and 1.2: the updates are gradient descent on the summed hinge of a network without output bias."""
    furthest = float(long.difference.max())
    return Found(
        short < exact and furthest < close,
        {"parameters after 50 steps": short, f"f after {EPOCHS:,} epochs": furthest},
    )


def near_boundaries(terms: xr.Dataset, *, name: str) -> Interval:
    """Share of the active terms near a boundary minus that share of all points, bootstrap over runs.

    terms: the record `active_terms` at one epoch, any dimensions.
    """
    columns = [terms[key] for key in ("active", "active_near", "points_near")] + [terms.n]
    runs = [column.values.ravel() for column in xr.broadcast(*columns)]
    return loss_reduction.excess_near(*runs, name=name)


@decides(terms="cyclic_labels/variance/active_terms")
def cl_05(terms, *, clear, small):
    """Section 1.1: late in training only points near the decision boundaries still drive learning."""
    half, end = terms.epoch.values[-2:]
    excess = {epoch: near_boundaries(terms.sel(epoch=epoch), name=f"near/{epoch}") for epoch in (half, end)}
    both, last = claims.all_of(*(each.exceeds(clear) for each in excess.values())), terms.sel(epoch=end)
    points = last.points_near.sum() / xr.broadcast(last.n, last.points_near)[0].sum()
    return Found(
        "contradicted" if excess[end].below(small) else "partly" if both is False else both,
        {f"excess share at epoch {epoch:,}": each for epoch, each in excess.items()}
        | {"active near": float(last.active_near.sum() / last.active.sum()), "points near": float(points)}
        | {"done": float((last.active == 0).mean())},
    )


def stays_at_zero() -> bool:
    """Whether training from zero stays there, for three sizes and two numbers of periods."""
    return all(initialisation.stays_at_zero(n, periods=periods) for n in (10, 50, 200) for periods in (3, 4))


@decides(signs="cyclic_labels/settings/saddle", stays=stays_at_zero)
def cl_22(signs, stays):
    """Section 4: zero is a saddle of the risk, so that training cannot start there."""
    down, up = (int(flags.sum()) for flags in (signs.descent < 0, signs.ascent > 0))
    return Found(
        stays and down == up == signs.descent.size,
        {"data sets": signs.descent.size, "with descent": down, "with ascent": up, "stays at zero": stays},
    )


@decides(after="cyclic_labels/settings/frozen")
def cl_32(after):
    """Section 4: beyond the margin loss and gradient are zero, so training stops at whichever amplitude was reached."""
    reached = after.reached.values.astype(bool)
    count, unchanged = int(reached.sum()), int(after.unchanged.values.astype(bool)[reached].sum())
    zero = bool((after.loss.sel(factor=slice(1, None)).where(after.reached, 0) == 0).all())
    return Found(
        unchanged == count and zero if count else None,
        {"runs at zero loss": count, "unchanged bit for bit": unchanged, "c f at zero": zero, "runs": reached.size},
    )


def forms() -> xr.Dataset:
    """The kernel against its closed form: :func:`kernel_spectra.form_errors` over widths and sizes."""
    return sweep.grid(kernel_spectra.form_errors, {"n": [50, 100], "width": [128, 512, 8192], "seed": range(5)})


def driven() -> xr.Dataset:
    """What drives the parameters: :func:`kernel_spectra.gradient_errors` over epochs."""
    return sweep.grid(kernel_spectra.gradient_errors, {"epochs": [0, 1000, EPOCHS], "seed": range(5)})


@decides(forms=forms, driven=driven)
def cl_35(forms, driven, *, exact, rounding):
    """Section 5: the kernel is a Gram matrix with a closed form, and the output gradient drives the parameters."""
    worst = {name: float(forms[name].max()) for name in ("form", "rebuilt", "orthonormal")}
    moved = {name: float(driven[name].max()) for name in ("gradient", "speed")}
    rests = ((driven["update"] == 0) & (driven.residual > 0.1)).isel(epochs=-1).values
    return Found(
        {
            "a": max(worst.values()) < exact and float(forms.smallest.min()) > -rounding,
            "b": max(moved.values()) < exact and bool(rests.any()),
        },
        {"deviation": worst | moved, "rest": int(rests.sum()), "networks": rests.size},
    )
