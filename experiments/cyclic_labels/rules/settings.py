"""Rules on what the document states and leaves open, and on its derivations (Bowman 2025)."""

from __future__ import annotations

import functools
import itertools
from typing import NamedTuple

import numpy as np
import xarray as xr

from experiments.cyclic_labels import initialisation, kernel_spectra, loss_reduction, trainer_agreement, undersampling
from experiments.cyclic_labels.loss_curves import EPOCHS, GRID
from shallow import stats
from shallow.book import claims, records, sweep
from shallow.book.claims import Outcome
from shallow.data import cyclic
from shallow.stats import Interval

#: What the captions of Figures 1 to 10 say about the number of periods; None: nothing.
PERIODS_IN_CAPTIONS = {1: 3, 2: 3, 3: 4, 4: 4, 5: None, 6: None, 7: None, 8: None, 9: None, 10: None}
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
    "Mallinar et al. [4]": (2023, 2024),
    "Zhang et al. [10]": (2020, 2020),
    "the STL-10 experiments [7]": (2024, 2024),
}
MATTERS = 0.1  # CL-55: a change of the fraction of runs with a bump
SIZES, PERIODS, LEAST_P = (20, 50, 100, 200), (3, 4), 0.001  # CL-01
EXACT, LONG = 1e-12, 1e-5  # CL-03 and CL-35: single steps; 20,000 epochs
EXCESS, NO_EXCESS = 0.2, 0.1  # CL-05
NO_NEGATIVE = -1e-10  # CL-35: smallest eigenvalue over the largest


def counted() -> dict[tuple[int, int], dict[str, object]]:
    """For each number of periods and points: `edges`, whether the labels on the grid change sign at the boundaries and
    nowhere else, and `means` and `p` of :func:`undersampling.count_test`."""
    found = {}
    for periods, n in itertools.product(PERIODS, SIZES):
        edges = GRID[1:][np.diff(cyclic.labels(GRID, periods)) != 0] - 0.5 / len(GRID)
        exact = len(edges) == 2 * periods - 1 and np.abs(edges - cyclic.boundaries(periods)).max() < 0.5 / len(GRID)
        found[periods, n] = undersampling.count_test(n, periods) | {"edges": bool(exact)}
    return found


def cl_01(tests: dict[tuple[int, int], dict[str, object]] | None = None) -> Outcome:
    """Section 1.1: 2P alternating clusters of equal width, with multinomial counts.

    tests: as of :func:`counted`.
    """
    tests = counted() if tests is None else tests
    least = min(test["p"] for test in tests.values())
    edges, means = (all(test[key] for test in tests.values()) for key in ("edges", "means"))
    holds, yes = edges and means and least > LEAST_P, {True: "yes", False: "no"}
    few = undersampling.smallest_count_law(50, 6)[:2].sum()
    return Outcome(
        verdict=claims.verdict(holds),
        answer=f"Yes: and with fifty random points some cluster holds at most one of them in only {few:.1%} of the "
        "data sets."
        if holds
        else "No: labels or counts are not those of six clusters of equal width.",
        finding=f"labels change sign at the 2P − 1 boundaries and nowhere else: {yes[edges]}; mean counts agree with "
        f"n/(2P): {yes[means]}; least p of the smallest count against its law {least:.2f} of {len(tests)}; at n = 50 "
        f"it is 0 or 1 with probability {few:.3f}",
        evidence={f"p of the smallest count, P = {p}, n = {n}": test["p"] for (p, n), test in tests.items()},
    )


def cl_02(periods: dict[int, int | None] | None = None) -> Outcome:
    """Section 1.1: all results are for three periods.

    periods: figure -> number of periods that its caption gives, None where it gives none.
    """
    periods = PERIODS_IN_CAPTIONS if periods is None else periods
    others = [figure for figure, number in periods.items() if number not in (STATED_PERIODS, None)]
    silent = sum(number is None for number in periods.values())
    agree = len(periods) - silent - len(others)
    verdict = "contradicted" if others else "undecided" if silent else "reproduced"
    answer = {
        "contradicted": f"No: {len(others)} of its {len(periods)} figures have another number of periods and say so.",
        "undecided": "No caption says otherwise, but some give no number of periods.",
        "reproduced": "Yes: every caption says three periods.",
    }
    said = ", ".join(f"Figure {figure}: {periods[figure]}" for figure in others) or "none"
    return Outcome(
        verdict=verdict,
        answer=answer[verdict],
        finding=f"captions with another number of periods than three: {said}; {agree} say three and {silent} give no "
        "number",
        evidence={f"Figure {figure}": number or "no number" for figure, number in periods.items()},
    )


def short_runs() -> float:
    """Largest deviation of a parameter from automatic differentiation after 1 and 50 steps on the adversarial case."""
    runs = itertools.product((1, 50), (0.01, 0.001))
    return max(max(trainer_agreement.steps(epochs, step).values()) for epochs, step in runs)


def cl_03(short: float | None = None, long: xr.Dataset | None = None) -> Outcome:
    """Sections 1.1 and 1.2: the updates are gradient descent on the summed hinge of a network without output bias.

    short: as of :func:`short_runs`; long: the record `agreement`.
    """
    short = short_runs() if short is None else short
    long = records.load("cyclic_labels/agreement") if long is None else long
    furthest = float(long.difference.max())
    holds = short < EXACT and furthest < LONG
    yes = {True: "agree", False: "do not agree"}
    return Outcome(
        verdict=claims.verdict(holds),
        answer="Yes: they are gradient descent on the full sum, not stochastic, and the fast trainer here takes the "
        "same steps."
        if holds
        else "No: the stated updates, or the fast trainer, do not follow the gradient of the summed loss.",
        finding=f"hand-derived updates and the fast trainer {yes[short < EXACT]} with automatic differentiation to "
        f"1e-12 over 50 steps on ties, and {yes[furthest < LONG]} in f to 1e-5 over {EPOCHS:,} epochs; the descent is "
        "full-batch, not stochastic",
        evidence={"parameters after 50 steps": f"{short:.0e}", f"f after {EPOCHS:,} epochs": f"{furthest:.0e}"},
    )


def near_boundaries(terms: xr.Dataset, *, name: str) -> Interval:
    """Share of the active terms near a boundary minus that share of all points, bootstrap over runs.

    terms: the record `active_terms` at one epoch, any dimensions.
    """
    columns = [terms[key] for key in ("active", "active_near", "points_near")] + [terms.n]
    runs = [column.values.ravel() for column in xr.broadcast(*columns)]
    return loss_reduction.excess_near(*runs, name=name)


def cl_05(terms: xr.Dataset | None = None) -> Outcome:
    """Section 1.1: late in training only points near the decision boundaries still drive learning.

    terms: the record `active_terms`.
    """
    terms = records.load("cyclic_labels/active_terms") if terms is None else terms
    half, end = terms.epoch.values[-2:]
    excess = {epoch: near_boundaries(terms.sel(epoch=epoch), name=f"near/{epoch}") for epoch in (half, end)}
    clear = claims.all_of(*(each.exceeds(EXCESS) for each in excess.values()))
    verdict = "contradicted" if excess[end].below(NO_EXCESS) else "partly" if clear is False else claims.verdict(clear)
    last = terms.sel(epoch=end)
    near, active = int(last.active_near.sum()), int(last.active.sum())
    points = float(last.points_near.sum() / xr.broadcast(last.n, last.points_near)[0].sum())
    word = {"reproduced": "Mostly", "partly": "In part", "contradicted": "No", "undecided": "Undecided"}
    done = float((last.active == 0).mean())
    return Outcome(
        verdict=verdict,
        answer=f"{word[verdict]}: at the end {near / active:.0%} of the points that still pull lie near a boundary, "
        f"against {points:.0%} of all points.",
        finding=f"excess share of active terms near boundaries {excess[half]} at T/2 and {excess[end]} at T; "
        f"{done:.0%} of the runs have no active term left at T",
        evidence={f"excess share at epoch {epoch:,}": each for epoch, each in excess.items()},
    )


def stays_at_zero() -> bool:
    """Whether training from zero stays there, for three sizes and two numbers of periods."""
    return all(initialisation.stays_at_zero(n, periods=periods) for n in (10, 50, 200) for periods in (3, 4))


def cl_22(signs: xr.Dataset | None = None, stays: bool | None = None) -> Outcome:
    """Section 4: zero is a saddle of the risk, so that training cannot start there.

    signs: the record `saddle`; stays: as of :func:`stays_at_zero`.
    """
    signs = records.load("cyclic_labels/saddle") if signs is None else signs
    stays = stays_at_zero() if stays is None else stays
    down, up = (int((flags).sum()) for flags in (signs.descent < 0, signs.ascent > 0))
    holds = stays and down == up == signs.descent.size
    return Outcome(
        verdict=claims.verdict(holds),
        answer="Yes: from zero the risk goes down in some directions and up in others, and training started there "
        "never moves."
        if holds
        else "No: training leaves zero, or the risk does not go both up and down around it.",
        finding=f"directions of descent for {down} and of ascent for {up} of {signs.descent.size} data sets; training "
        f"from zero {'stays there' if stays else 'leaves it'} for 1000 epochs",
        evidence={"data sets": signs.descent.size, "with descent": down, "with ascent": up, "stays at zero": stays},
    )


def cl_32(after: xr.Dataset | None = None) -> Outcome:
    """Section 4: beyond the margin loss and gradient are zero, so training stops at whichever amplitude was reached.

    after: the record `frozen`.
    """
    after = records.load("cyclic_labels/frozen") if after is None else after
    reached = after.reached.values.astype(bool)
    unchanged = int(after.unchanged.values.astype(bool)[reached].sum())
    zero = bool((after.loss.sel(factor=slice(1, None)).where(after.reached, 0) == 0).all())
    holds = None if not reached.any() else unchanged == reached.sum() and zero
    answer = {
        True: "Yes: once the training loss is zero nothing moves any more, and every larger amplitude would have done "
        "as well.",
        False: "No: something still moves after the training loss has reached zero, or a larger amplitude has a loss.",
        None: "Undecided: no run reached zero training loss.",
    }
    return Outcome(
        verdict=claims.verdict(holds),
        answer=answer[holds],
        finding=f"{reached.sum()} of {reached.size} runs reach zero training loss; 1000 further epochs leave every "
        f"parameter of {unchanged} of them unchanged bit for bit, and c f {'keeps' if zero else 'does not keep'} zero "
        "loss for c = 1, 1.5, 10 and 1000",
        evidence={"runs at zero loss": int(reached.sum()), "unchanged bit for bit": unchanged, "c f at zero": zero},
    )


@functools.cache
def _forms() -> xr.Dataset:
    return sweep.grid(kernel_spectra.form_errors, {"n": [50, 100], "width": [128, 512, 8192], "seed": range(5)})


@functools.cache
def _driven() -> xr.Dataset:
    return sweep.grid(kernel_spectra.gradient_errors, {"epochs": [0, 1000, EPOCHS], "seed": range(5)})


def cl_35(forms: xr.Dataset | None = None, driven: xr.Dataset | None = None) -> Outcome:
    """Section 5: the kernel is a Gram matrix with a closed form, and the output gradient drives the parameters.

    forms, driven: :func:`kernel_spectra.form_errors` over widths and sizes, `gradient_errors` over epochs.
    """
    forms = _forms() if forms is None else forms
    driven = _driven() if driven is None else driven
    worst = {name: float(forms[name].max()) for name in ("form", "rebuilt", "orthonormal")}
    exact = {name: float(driven[name].max()) for name in ("gradient", "speed")}
    rests = ((driven["update"] == 0) & (driven.residual > 0.1)).isel(epochs=-1).values
    parts = {
        "a": max(worst.values()) < EXACT and float(forms.smallest.min()) > NO_NEGATIVE,
        "b": max(exact.values()) < EXACT and bool(rests.any()),
    }
    verdicts = {part: claims.verdict(holds) for part, holds in parts.items()}
    agree = {True: "agree", False: "do not agree"}
    return Outcome(
        parts=verdicts,
        answer="Yes: the closed form is exact, and a network rests once all margins are met, however far its outputs "
        "are from the labels."
        if all(parts.values())
        else "Not entirely: the closed form, or what drives the parameters, is not as stated.",
        finding=f"closed form, orthonormal basis and eigenvalues {agree[parts['a']]} with automatic differentiation to "
        f"1e-12, J^T g and the sum over modes {agree[max(exact.values()) < EXACT]}; {rests.sum()} of {rests.size} "
        "networks rest at non-zero residuals",
        evidence={f"deviation, {name}": f"{value:.0e}" for name, value in (worst | exact).items()},
    )


def bump_changes(ablations: xr.Dataset) -> dict[str, Interval]:
    """Change of the fraction of runs with a diverging bump against the reference, by variant, paired over seeds.

    ablations: the record `ablations`; one point in the poor cluster.
    """
    diverging = ablations.diverging.sel(points=1)
    variants = [variant for setting in OPEN.values() for variant in setting.tried]
    reference = diverging.sel(variant="reference").values
    return {v: stats.paired(diverging.sel(variant=v).values, reference, name=f"open/{v}") for v in variants}


def _matters(name: str, change: dict[str, Interval]) -> bool:
    return any(change[v].above(MATTERS) or change[v].below(-MATTERS) for v in OPEN[name].tried)


def open_settings(change: dict[str, Interval]) -> list[list[str]]:
    """Rows of a table: the open settings, what the text says, what is taken here, and whether it matters."""
    words = {True: "yes", False: "not seen"}
    return [
        [name, setting.said, setting.taken, words[_matters(name, change)] if setting.tried else "not varied"]
        for name, setting in OPEN.items()
    ]


def _joined(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]])) or "none of those varied"


def cl_55(ablations: xr.Dataset | None = None) -> Outcome:
    """Section 6 and the whole text: is everything stated that a repetition needs?

    ablations: the record `ablations`.
    """
    ablations = records.load("cyclic_labels/ablations") if ablations is None else ablations
    change = bump_changes(ablations)
    matters = [name for name in OPEN if _matters(name, change)]
    varied = sum(bool(setting.tried) for setting in OPEN.values())
    wrong = [f"{name}, {text} against {listed}" for name, (text, listed) in CITED.items() if text != listed]
    listed = _joined(matters)
    return Outcome(
        verdict="answered",
        answer=f"No: it leaves {len(OPEN)} settings open; {listed} change how often the test loss has a bump.",
        finding=f"{len(OPEN)} settings are open; {len(matters)} of {varied} varied here ({listed}) change the fraction "
        f"of runs with a bump by more than {MATTERS}; citations that disagree with the list, of {len(CITED)}: "
        f"{'; '.join(wrong) or 'none'}",
        evidence={f"change of the fraction of bumps, {variant}": each for variant, each in change.items()},
    )
