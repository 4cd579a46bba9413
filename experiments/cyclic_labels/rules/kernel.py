"""The tangent kernel and its modes: the spectrum, the kernel regime, the speed of modes, the step (Section 5)."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from experiments.cyclic_labels import modes
from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.kernels import empirical

WIDTHS = (128, 512, 8192)
STEPS = (0.0001, 0.001, 0.01)
STABLE = 2  # gradient descent in function space is stable below this value of eta lambda_1
KEPT = 0.95  # alignment of the top five eigenspaces before and after training
ORDERED = 0.5  # rank correlation of a moderate order
SIMPLE = 0.9  # rank correlation of mode number and sign changes
COMPRESSED = 0.8  # participation at width 8192 over that of a narrower width
TWICE = (0.5, 2.0)  # rates that are equal within a factor of two


@functools.cache
def summaries() -> dict[int, xr.Dataset]:
    """The recorded summaries of the projections, by width."""
    narrow, wide = (records.load(f"cyclic_labels/{name}") for name in ("modes", "modes_wide"))
    return {m: wide if m == 8192 else narrow.sel(width=m) for m in WIDTHS}


@functools.cache
def recorded(name: str) -> xr.Dataset:
    """A recorded run of the chapter."""
    return records.load(f"cyclic_labels/{name}")


@functools.cache
def early_signal() -> dict[int, xr.Dataset]:
    """The shares of the output gradient along the modes at epochs 0 and 100, by width."""
    return {m: recorded("early_signal").sel(width=m) for m in WIDTHS}


def _listed(intervals: Sequence[stats.Interval], spec: str = ".2f") -> str:
    return ", ".join(format(interval, spec) for interval in intervals)


def _judged(good: Sequence[bool | None], bad: Sequence[bool | None]) -> str:
    """Reproduced if all are good, contradicted if two are bad; partly where that is certain, else undecided."""
    if all(good):
        return "reproduced"
    if sum(one is True for one in bad) >= 2:
        return "contradicted"
    return "undecided" if None in (*good, *bad) else "partly"


def cl_34(regime: xr.Dataset | None = None) -> Outcome:
    """Section 5: the runs are in the kernel regime."""
    regime = recorded("kernel_regime") if regime is None else regime
    parts, aligned = {}, {}
    for step in STEPS:
        at = [regime.sel(step=step, width=m) for m in WIDTHS]
        kept = [stats.student(group.subspace.values) for group in at]
        size = [stats.student(group.step_eigenvalue.values) for group in at]
        stays = [interval.exceeds(KEPT) for interval in kept]
        small = [claims.opposite(interval.exceeds(STABLE)) for interval in size]
        either = [claims.any_of(*pair) for pair in zip(stays, small, strict=True)]
        both = [claims.all_of(*pair) for pair in zip(stays, small, strict=True)]
        parts[f"step {step:g}"] = _judged(both, [claims.opposite(one) for one in either])
        aligned[step] = kept, size
    kept, size = aligned[0.001]
    answers = {
        "reproduced": "Yes: the leading modes stay what they were, and the step is small enough at every width.",
        "partly": "Only where the step or the width is small; and training turns the leading modes away in every case.",
        "contradicted": "No: training turns the leading modes away from their start, and the steps are too large.",
        "undecided": "These runs do not say whether the kernel at the start still describes training.",
    }
    return Outcome(
        parts=parts,
        answer=answers[claims.combine(parts)],
        finding=(
            f"At step 0.001 ηλ₁ is {', '.join(f'{s.estimate:.2g}' for s in size)} at widths 128, 512, 8192 and the "
            f"top five eigenspaces before and after training agree to {_listed(kept)} (mean squared cosine); those of "
            f"two independent networks to {float(regime.null_subspace.mean()):.2f}."
        ),
        evidence={f"top five, step {step:g}": _listed(kept, ".3f") for step, (kept, _) in aligned.items()}
        | {f"ηλ₁, step {step:g}": _listed(size, ".2f") for step, (_, size) in aligned.items()},
    )


def order_of_modes(group: xr.Dataset, times: str, *, seeds: int = 20) -> stats.Interval:
    """Median over seeds of the rank correlation of mode number and decay time, "decay" or "decay_mean"."""
    rho = modes.order_of_decay(group[times].isel(seed=slice(seeds)).values)
    name = " ".join(str(group[key].item()) for key in ("width", "step", "design"))
    return stats.bootstrap(rho, np.median, name=f"CL-36 {times} {name}")


def orders(found: Mapping[int, xr.Dataset], times: str) -> dict[tuple[float, str], list[stats.Interval]]:
    """:func:`order_of_modes` at the three widths, for each step and design."""
    cases = [(step, design) for step in STEPS[:2] for design in ("iid", "strat")]
    return {
        (step, design): [
            order_of_modes(group.sel(step=step, design=design).assign_coords(width=m), times)
            for m, group in found.items()
        ]
        for step, design in cases
    }


def cl_36(found: Mapping[int, xr.Dataset] | None = None) -> Outcome:
    """Equation 8: modes with larger kernel eigenvalue converge faster."""
    found = summaries() if found is None else found
    size, mean = (orders(found, times) for times in ("decay", "decay_mean"))
    parts = {}
    for (step, design), intervals in size.items():
        faster = [interval.exceeds(0) is True for interval in intervals]
        unordered = [not fast and interval.below(ORDERED) for fast, interval in zip(faster, intervals, strict=True)]
        open_ = [None if not (a or b) else a for a, b in zip(faster, unordered, strict=True)]
        parts[f"step {step:g}, {design}"] = _judged(open_, [claims.opposite(one) for one in open_])
    positive, of_mean = (sum(i.above(0) for found in of.values() for i in found) for of in (size, mean))
    answers = {
        "reproduced": "Yes: the larger the eigenvalue of a mode, the sooner its projection has died away.",
        "partly": "The average of a projection fades in the order of the eigenvalues; its size often does not.",
        "contradicted": "No: the sizes of the projections do not die away in the order of the eigenvalues.",
        "undecided": "These runs do not show whether projections die away in the order of the eigenvalues.",
    }
    return Outcome(
        parts=parts,
        answer=answers[claims.combine(parts)],
        finding=(
            f"Rank correlation of mode and decay time at step 0.001, i.i.d.: {_listed(size[0.001, 'iid'])} at widths "
            f"128, 512, 8192; above zero in {positive} of 12 settings, for the moving mean in {of_mean}."
        ),
        evidence={
            f"{what}, step {step:g}, {design}": _listed(intervals)
            for what, of in (("size", size), ("mean", mean))
            for (step, design), intervals in of.items()
        },
    )


#: Spectra with a known number of modes for 95% of the trace; the last two reach it exactly.
SPECTRA = [([96, 4], 1), ([60, 36, 4], 2), ([30, 20, 20, 15, 10, 5], 5), ([16] * 6 + [4], 6), ([1] * 21, 20),
           ([95, 5], 1), ([50, 45, 5], 2)]  # fmt: skip


def cl_38(spectra: xr.Dataset | None = None) -> Outcome:
    """Section 5 and Figure 7: 95% of the trace lies within five eigenvalues, usually within two."""
    spectra = recorded("spectra") if spectra is None else spectra
    accepted = all(empirical.modes_for(np.array(values)) == expected for values, expected in SPECTRA)
    enough = spectra.enough.sel(n=[50, 100, 200])
    counts = {m: enough.sel(width=m).values.ravel() for m in WIDTHS}
    draws = np.concatenate(list(counts.values()))
    two = {m: stats.wilson(count <= 2) for m, count in counts.items()}
    many, usual = stats.wilson(draws > 5), [interval.exceeds(0.5) for interval in two.values()]
    if (draws <= 5).all():
        threshold = "reproduced" if all(usual) else "undecided" if False not in usual else "partly"
    else:
        threshold = {True: "contradicted", None: "undecided", False: "partly"}[many.exceeds(0.05)]
    parts = {"a": claims.verdict(accepted), "b": threshold}
    answers = {
        "reproduced": "Yes: two modes hold 95 % of the kernel's trace, so that the minimum of five modes decides.",
        "partly": "Five modes hold 95 % of the kernel's trace, but two often do not.",
        "contradicted": "No: 95 % of the kernel's trace often needs more than five modes.",
        "undecided": "These draws leave open how many modes hold 95 % of the kernel's trace.",
    }
    return Outcome(
        verdict=threshold if accepted else "contradicted",
        parts=parts,
        answer=answers[threshold],
        finding=(
            f"95% of the trace is reached at k = {draws.min()} to {draws.max()} in {draws.size} draws, by at most two "
            f"modes in {(draws <= 2).mean():.0%} of them, by one in {(draws == 1).mean():.0%}."
        ),
        evidence={f"at most two modes, width {m}": interval for m, interval in two.items()},
    )


def cl_39(spectra: xr.Dataset | None = None) -> Outcome:
    """Figure 7: the first eigenvalue dominates the spectrum at width 512, and at every width."""
    share = (recorded("spectra") if spectra is None else spectra).share.sel(initial="default")
    first, gap = share.sel(mode=1), share.sel(mode=1) / share.sel(mode=2)
    at = {"width": 512, "n": 50}
    steep = stats.wilson(((first > 0.5) & (gap > 2)).sel(at).values)
    parts = {"a": _often(steep)}
    by_seed = first.sel(n=[50, 100]).transpose("seed", "n", "width")
    dominant = [stats.wilson((by_seed > 0.5).sel(width=m).values) for m in by_seed.width.values]
    spread = stats.bootstrap(by_seed.values, lambda v, axis: np.ptp(v.mean(axis=(0, 1))), name="CL-39 spread")
    weak = [_often(interval) for interval in dominant]
    alike = all(verdict == "reproduced" for verdict in weak) and spread.below(0.1)
    parts["b"] = "contradicted" if "contradicted" in weak else "reproduced" if alike else "partly"
    held = stats.bootstrap(first.sel(at).values, name="CL-39 share")
    ratio = stats.bootstrap(gap.sel(at).values, name="CL-39 gap")
    answers = {
        "reproduced": "Yes: one eigenvalue holds nine tenths of the trace at every width, whatever the labels are.",
        "partly": "The first eigenvalue is the largest by far in some of the kernels only.",
        "contradicted": "No: the first eigenvalue does not dominate the kernel at initialisation.",
    }
    return Outcome(
        parts=parts,
        answer=answers[claims.combine(parts)],
        finding=(
            f"At width 512 the first eigenvalue holds {held:.3f} of the trace and is {ratio:.0f} times the second "
            f"(both above their bounds in {steep.estimate:.0%} of draws); the mean share differs by {spread:.3f} "
            "between widths."
        ),
        evidence={"E(1), width 512": f"{held:.3f}", "λ₁/λ₂, width 512": f"{ratio:.1f}", "steep": steep,
                  "largest difference between widths": f"{spread:.4f}"},
    )  # fmt: skip


def _often(fraction: stats.Interval) -> str:
    """At least 95% with an interval above 0.8: reproduced; an interval below one half: contradicted."""
    if fraction.estimate >= 0.95 and fraction.above(0.8):
        return "reproduced"
    return "contradicted" if fraction.below(0.5) else "partly"


def cl_40(signal: Mapping[int, xr.Dataset] | None = None) -> Outcome:
    """Figure 7: the dominating modes are simple, and learning is aligned with them early on."""
    signal = early_signal() if signal is None else signal
    order, excess = {}, {}
    for (m, group), design in ((item, design) for item in signal.items() for design in ("iid", "strat")):
        runs = group.sel(design=design)
        rho = [stats.rank_correlation(modes.NUMBERS, row) for row in runs.changes.values]
        order[m, design] = stats.bootstrap(np.array(rho), name=f"CL-40 order {m} {design}")
        for epoch in (0, 100):
            share = runs.share.sel(epoch=epoch).values
            pair = share[:, :2].sum(axis=1) - share[:, 2:8].sum(axis=1) / 3
            excess[m, design, epoch] = stats.bootstrap(pair, name=f"CL-40 excess {m} {design} {epoch}")
    parts = {
        "simple": claims.verdict(claims.all_of(*(rho.exceeds(SIMPLE) for rho in order.values()))),
        "aligned": claims.verdict(claims.all_of(*(more.exceeds(0) for more in excess.values()))),
    }
    example = signal[512].sel(design="iid").share.sel(epoch=0).values
    first = stats.bootstrap(example[:, :2].sum(axis=1), name="CL-40 first two")
    often = sum(more.above(0) for more in excess.values())
    answers = {
        "reproduced": "Yes: the leading modes are simple functions, and early learning happens in them.",
        "partly": "The leading modes are simple functions, but the learning signal lies elsewhere.",
        "contradicted": "No: the leading modes are not simple, and early learning does not happen in them.",
        "undecided": "These runs leave open whether early learning happens in the leading modes.",
    }
    verdict = claims.combine(parts)
    return Outcome(
        parts=parts,
        answer="Early learning happens in the leading modes, but they are not simple."
        if verdict == "partly" and parts["aligned"] == "reproduced" else answers[verdict],
        finding=(
            f"The modes are {'' if parts['simple'] == 'reproduced' else 'not '}ordered by sign changes; the first two "
            f"hold {first} of the output gradient at the start (width 512, i.i.d.), a pair of modes 3 to 8 "
            f"{example[:, 2:8].sum(axis=1).mean() / 3:.2f}; more than such a pair in {often} of {len(excess)} cases."
        ),
        evidence={f"order, width {m}, {design}": rho for (m, design), rho in order.items()}
        | {f"modes 1-2 minus a pair of 3-8, width {m}, {design}, epoch {epoch}": more
           for (m, design, epoch), more in excess.items()},
    )  # fmt: skip


def cl_41(found: Mapping[int, xr.Dataset] | None = None) -> Outcome:
    """Section 5 and Figure 10: do five modes carry the gradient, and is it compressed at width 8192?"""
    found = summaries() if found is None else found
    runs = {m: group.sel(step=0.001, design="iid") for m, group in found.items()}
    five = [median_over_seeds(group.captured.sel(leading=5), f"five {m}") for m, group in runs.items()]
    spread = {m: median_over_seeds(group.participation, f"participation {m}") for m, group in runs.items()}
    wide, seeds = runs[8192].participation.values, runs[8192].sizes["seed"]
    ratios = [_ratio(wide, runs[m].participation.values[:seeds], f"CL-41 {m}") for m in WIDTHS[:2]]
    compressed = claims.all_of(*(claims.opposite(q.exceeds(COMPRESSED)) for q in ratios))
    parts = {"a": "answered", "b": "answered", "c": claims.verdict(compressed)}
    carried = ("do not carry", "carry")[all(i.above(0.8) for i in five)]
    answers = {
        "reproduced": "and at width 8192 it lies in fewer directions than at small widths.",
        "contradicted": "and it is spread over as many directions at width 8192 as at small widths.",
        "undecided": "and whether it is compressed at width 8192 these runs leave open.",
    }
    return Outcome(
        verdict=parts["c"],
        parts=parts,
        answer=f"Five modes {carried} the gradient, {answers[parts['c']]}",
        finding=(
            f"Five modes capture {', '.join(f'{i.estimate:.2f}' for i in five)} of the gradient at widths 128, 512, "
            f"8192 (i.i.d.); participation ratios {', '.join(f'{s.estimate:.0f}' for s in spread.values())} of 50; at "
            f"8192 over 128: {ratios[0]}, over 512: {ratios[1]}."
        ),
        evidence={"share in five modes": _listed(five), "participation": _listed(list(spread.values()), ".1f"),
                  "participation, 8192 over 128": ratios[0], "participation, 8192 over 512": ratios[1]},
    )  # fmt: skip


def median_over_seeds(values: xr.DataArray, name: str) -> stats.Interval:
    """Median over seeds with its bootstrap interval."""
    return stats.bootstrap(values.values, np.median, name=f"CL-41 {name}")


def _ratio(first: np.ndarray, second: np.ndarray, name: str) -> stats.Interval:
    """Ratio of the means of paired replicates."""
    pairs = np.stack([first, second], axis=1)
    return stats.bootstrap(pairs, lambda v, axis: v[:, 0].mean() / v[:, 1].mean(), name=name)


#: At equal eta lambda_1: index of the step at width 8192, the narrower width, index of its step; steps are 0.001 * 4^k.
MATCHED = ((0, 128, 3), (1, 512, 3), (3, 512, 5))


def rates(noise: xr.Dataset) -> xr.DataArray:
    """Sign changes per 100 epochs, mean over five modes: (width, step, seed)."""
    return noise.flips.sel(mode=slice(1, 5)).mean("mode").transpose("width", "step", "seed")


def cl_46(noise: xr.Dataset | None = None) -> Outcome:
    """Figure 10: the oscillations at large width come from aligned, noise-sensitive dynamics."""
    noise = recorded("sensitivity") if noise is None else noise
    rate = {m: rates(noise).sel(width=m).values for m in WIDTHS}
    fall = _ratio(rate[8192][0], rate[8192][3], "CL-46 fall")
    equal = [_ratio(rate[8192][k], rate[m][j], f"CL-46 {m} {k}") for k, m, j in MATCHED]
    change = {kind: {m: noise[kind].sel(width=m).values for m in WIDTHS} for kind in ("flip", "move")}
    wider = [stats.paired(of[8192][k], of[m][j], name=f"CL-46 {kind} {m} {k}")
             for kind, of in change.items() for k, m, j in MATCHED]  # fmt: skip
    if fall.below(1):
        same = claims.all_of(*(_inside(ratio) for ratio in equal))
        verdict = {True: "corrected", False: "contradicted", None: "undecided"}[same]
    else:
        verdict = claims.verdict(claims.all_of(fall.exceeds(1), *(more.exceeds(0) for more in wider)))
    answers = {
        "corrected": "The oscillation comes from the step: narrow networks oscillate as much at an equally large one.",
        "reproduced": "Yes: wide networks oscillate at any step, and they are more sensitive to a change of the data.",
        "contradicted": "Neither the step nor a larger sensitivity of wide networks accounts for their oscillation.",
        "undecided": "These runs leave open whether the oscillation belongs to the width or to the step.",
    }
    share = noise.top_share.mean("seed").isel(step=3).values
    mean = {m: [f"{value:.0f}" for value in rate[m].mean(axis=1)] for m in WIDTHS}
    return Outcome(
        verdict=verdict,
        answer=answers[verdict],
        finding=(
            f"Sign changes per 100 epochs at widths 128, 512, 8192: {mean[128][3]}, {mean[512][3]}, {mean[8192][3]} at "
            f"one step, but {mean[128][3]}, {mean[512][2]}, {mean[8192][0]} at ηλ₁ = 1.1 and {mean[128][4]}, "
            f"{mean[512][3]}, {mean[8192][1]} at 4.4; at equal ηλ₁ width 8192 is more sensitive in "
            f"{sum(w.above(0) for w in wider)} of 6; share of |g|² in mode 1: {', '.join(f'{s:.2f}' for s in share)}."
        ),
        evidence={"rate at width 8192, step / 64 over step": fall}
        | {f"rate at equal ηλ₁, 8192 over {m} ({j})": ratio for (_, m, j), ratio in zip(MATCHED, equal, strict=True)}
        | {"more sensitive at width 8192": _listed(wider)},
    )


def _inside(ratio: stats.Interval) -> bool | None:
    """Whether a ratio is one within a factor of two: None if its interval crosses a bound."""
    low, high = TWICE
    return None if ratio.contains(low) or ratio.contains(high) else ratio.inside(low, high)
