"""Rules on the tangent kernel and its modes (Bowman 2025, Section 5): the spectrum, the speed of modes, the step, and
the output gradient in the modes beside the bump of the test loss."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import xarray as xr

from experiments.cyclic_labels import loss_curves
from experiments.cyclic_labels.bumps import cells
from experiments.cyclic_labels.kernel import modes
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.kernels import empirical
from shallow.stats import Interval

WIDTHS = (128, 512, 8192)
STEPS = (0.0001, 0.001, 0.01)
N = 50  # points
PLOTTED = 5  # modes that the document draws
SETTINGS = [(128, "two_rightmost"), (128, "poor(5,1)"), (512, "two_rightmost"), (512, "poor(5,1)")]
DRAWN = "two_rightmost"

MODES = ("cyclic_labels/kernel/modes", "cyclic_labels/kernel/modes_wide")  # summaries of the projections
BUMPS = "cyclic_labels/kernel/bumps_by_width"
WINDOWS = "cyclic_labels/kernel/bump_windows"
SPECTRA = "cyclic_labels/kernel/spectra"
ENDS = "cyclic_labels/kernel/projection_ends"
SWINGS = "cyclic_labels/kernel/early_swings"


def by_width(summaries: Sequence[xr.Dataset]) -> dict[int, xr.Dataset]:
    """The records MODES by width."""
    narrow, wide = summaries
    return {m: wide if m == 8192 else narrow.sel(width=m) for m in WIDTHS}


def _per_width(values: Iterable[object]) -> dict[int, object]:
    return dict(zip(WIDTHS, values, strict=True))


def _judged(good: Sequence[bool | None], bad: Sequence[bool | None]) -> str:
    """Reproduced if all are good, contradicted if two are bad; partly where that is certain, else undecided."""
    if all(good):
        return "reproduced"
    if sum(one is True for one in bad) >= 2:
        return "contradicted"
    return "undecided" if None in (*good, *bad) else "partly"


def _two(first: bool | None, second: bool | None) -> str:
    """Both hold: reproduced; neither: contradicted; one and not the other: partly; else undecided."""
    if None in (first, second):
        return "undecided"
    return ("contradicted", "partly", "reproduced")[first + second]


def _ratio(first: np.ndarray, second: np.ndarray, name: str) -> Interval:
    """Ratio of the means of paired replicates."""
    pairs = np.stack([first, second], axis=1)
    return stats.bootstrap(pairs, lambda v, axis: v[:, 0].mean() / v[:, 1].mean(), name=name)


# The spectrum at the start.


@decides(spectra=SPECTRA)
def cl_39(spectra, *, first, gap, often, surely, half, spread):
    """Figure 7: the first eigenvalue dominates the spectrum at width 512, and at every width."""

    def usual(fraction: Interval) -> str:
        if fraction.estimate >= often and fraction.above(surely):
            return "reproduced"
        return "contradicted" if fraction.below(half) else "partly"

    share, at = spectra.share.sel(initial="default"), {"width": 512, "n": 50}
    largest, ratio = share.sel(mode=1), share.sel(mode=1) / share.sel(mode=2)
    steep = stats.share(((largest > first) & (ratio > gap)).sel(at))
    by_seed = largest.sel(n=[50, 100]).transpose("seed", "n", "width")
    apart = stats.bootstrap(by_seed.values, lambda v, axis: np.ptp(v.mean(axis=(0, 1))), name="CL-39 spread")
    dominant = [usual(stats.share((by_seed > first).sel(width=m))) for m in by_seed.width.values]
    alike = set(dominant) == {"reproduced"} and apart.below(spread)
    return Found(
        {"a": usual(steep), "b": "contradicted" if "contradicted" in dominant else "reproduced" if alike else "partly"},
        {
            "E(1), width 512": stats.bootstrap(largest.sel(at).values, name="CL-39 share"),
            "λ₁/λ₂, width 512": stats.bootstrap(ratio.sel(at).values, name="CL-39 gap"),
            "steep": steep,
            "share of steep draws": steep.estimate,
            "largest difference between widths": apart,
        },
    )


#: Spectra with a known number of modes for 95% of the trace; the last two reach it exactly.
KNOWN = [
    ([96, 4], 1),
    ([60, 36, 4], 2),
    ([30, 20, 20, 15, 10, 5], 5),
    ([16] * 6 + [4], 6),
    ([1] * 21, 20),
    ([95, 5], 1),
    ([50, 45, 5], 2),
]


@decides(spectra=SPECTRA)
def cl_38(spectra, *, majority, seldom):
    """Section 5 and Figure 7: 95% of the trace lies within five eigenvalues, usually within two."""
    accepted = all(empirical.modes_for(np.array(values)) == expected for values, expected in KNOWN)
    draws = spectra.enough.sel(n=[50, 100, 200], width=list(WIDTHS))
    two = {m: stats.share(draws.sel(width=m) <= 2) for m in WIDTHS}
    usual = claims.all_of(*(interval.exceeds(majority) for interval in two.values()))
    if (draws <= 5).all():
        threshold = "partly" if usual is False else usual
    else:
        threshold = "partly" if (rare := claims.below(stats.share(draws > 5), seldom)) else rare
    return Found(
        {"a": accepted, "b": threshold},
        {f"at most two modes, width {m}": interval for m, interval in two.items()}
        | {"least": int(draws.min()), "most": int(draws.max()), "draws": draws.size}
        | {"at most two": float((draws <= 2).mean()), "one": float((draws == 1).mean())},
        threshold if accepted else "contradicted",
    )


@decides(signal="cyclic_labels/kernel/early_signal")
def cl_40(signal, *, simple):
    """Figure 7: the dominating modes are simple, and learning is aligned with them early on."""
    order, excess = {}, {}
    for m, design in ((m, design) for m in WIDTHS for design in ("iid", "strat")):
        runs = signal.sel(width=m, design=design)
        rho = stats.rank_correlation(modes.NUMBERS, runs.changes.transpose("seed", "mode").values)
        order[f"width {m}, {design}"] = stats.bootstrap(rho, name=f"CL-40 order {m} {design}")
        for epoch in (0, 100):
            share = runs.share.sel(epoch=epoch).values
            pair = share[:, :2].sum(axis=1) - share[:, 2:8].sum(axis=1) / 3
            name = f"CL-40 excess {m} {design} {epoch}"
            excess[f"width {m}, {design}, epoch {epoch}"] = stats.bootstrap(pair, name=name)
    example = signal.sel(width=512, design="iid", epoch=0).share.values
    return Found(
        {
            "simple": claims.all_of(*(rho.exceeds(simple) for rho in order.values())),
            "aligned": claims.all_of(*(more.exceeds(0) for more in excess.values())),
        },
        {
            "order": order,
            "modes 1-2 minus a pair of 3-8": excess,
            "first two": stats.bootstrap(example[:, :2].sum(axis=1), name="CL-40 first two"),
            "a pair of 3-8": float(example[:, 2:8].sum(axis=1).mean() / 3),
            "more": sum(more.above(0) for more in excess.values()),
            "cases": len(excess),
        },
    )


# What follows for training.


@decides(regime="cyclic_labels/kernel/kernel_regime")
def cl_34(regime, *, kept, stable):
    """Section 5: the runs are in the kernel regime."""
    parts, top, size = {}, {}, {}
    for step in STEPS:
        name, at = f"step {step:g}", [regime.sel(step=step, width=m) for m in WIDTHS]
        top[name] = _per_width(stats.student(group.subspace.values) for group in at)
        size[name] = _per_width(stats.student(group.step_eigenvalue.values) for group in at)
        both = [(top[name][m].exceeds(kept), claims.opposite(size[name][m].exceeds(stable))) for m in WIDTHS]
        parts[name] = _judged(
            [claims.all_of(*pair) for pair in both], [claims.opposite(claims.any_of(*pair)) for pair in both]
        )
    return Found(
        parts,
        {
            "top five": top,
            "ηλ₁": size,
            "mean ηλ₁": {m: one.estimate for m, one in size["step 0.001"].items()},
            "two independent networks": float(regime.null_subspace.mean()),
        },
    )


def order_of_modes(group: xr.Dataset, times: str, *, seeds: int = 20) -> Interval:
    """Median over seeds of the rank correlation of mode number and decay time, "decay" or "decay_mean"."""
    rho = modes.order_of_decay(group[times].isel(seed=slice(seeds)).values)
    name = " ".join(str(group[key].item()) for key in ("width", "step", "design"))
    return stats.bootstrap(rho, np.median, name=f"CL-36 {times} {name}")


def orders(found: Mapping[int, xr.Dataset], times: str) -> dict[tuple[float, str], list[Interval]]:
    """:func:`order_of_modes` at the three widths, for each step and design."""
    return {
        (step, design): [
            order_of_modes(group.sel(step=step, design=design).assign_coords(width=m), times)
            for m, group in found.items()
        ]
        for step in STEPS[:2]
        for design in ("iid", "strat")
    }


@decides(summaries=MODES)
def cl_36(summaries, *, ordered):
    """Equation 8: modes with larger kernel eigenvalue converge faster."""
    size, mean = (orders(by_width(summaries), times) for times in ("decay", "decay_mean"))
    parts, found = {}, {}
    for step, design in size:
        name = f"step {step:g}, {design}"
        faster = [True if rho.above(0) else False if rho.below(ordered) else None for rho in size[step, design]]
        parts[name] = _judged(faster, [claims.opposite(one) for one in faster])
        found |= {f"{what}, {name}": _per_width(of[step, design]) for what, of in (("size", size), ("mean", mean))}
    above = [[rho.above(0) for rhos in of.values() for rho in rhos] for of in (size, mean)]
    return Found(parts, found | {"above 0": sum(above[0]), "mean above 0": sum(above[1]), "settings": len(above[0])})


@decides(summaries=MODES, swings=SWINGS)
def cl_41(summaries, swings, *, strong):
    """Section 5 and Figure 10: do five modes carry the gradient, and is it compressed at width 8192, early on?"""
    runs = {m: group.sel(step=0.001, design="iid") for m, group in by_width(summaries).items()}
    five, spread = {}, {}
    for m, group in runs.items():
        five[m] = stats.bootstrap(group.captured.sel(leading=5).values, np.median, name=f"CL-41 five {m}")
        spread[m] = stats.bootstrap(group.participation.values, np.median, name=f"CL-41 participation {m}")
    early = {m: swings.participation.sel(width=m, step=0.001, design="iid").values for m in WIDTHS}
    over = {m: _ratio(early[8192], early[m], f"CL-41 {m}") for m in WIDTHS[:2]}
    compressed = claims.all_of(*(claims.below(ratio, strong) for ratio in over.values()))
    return Found(
        {"a": "answered", "b": "answered", "c": compressed},
        {
            "share in five modes": five,
            "median share": {m: one.estimate for m, one in five.items()},
            "median participation": {m: one.estimate for m, one in spread.items()},
            "early participation": {m: float(np.median(values)) for m, values in early.items()},
        }
        | {"participation": spread | {f"8192 over {m}": ratio for m, ratio in over.items()}},
        compressed,
    )


# Projections and the bump.


@decides(ends=ENDS, bumps=BUMPS)
def cl_42(ends, bumps, *, majority):
    """Figure 8: at width 128 most modes start large, decay smoothly, and none dominates in the long run."""
    flags = modes.figure_8(ends.sel(width=128, design=DRAWN))
    drawn = cells.choose(bumps.sel(width=128, step=0.001))
    often = {name: stats.wilson(each) for name, each in flags.items()}
    return Found(
        {name: share.exceeds(majority) for name, share in often.items()},
        often | {"drawn run": {name: bool(each[drawn]) for name, each in flags.items()}},
    )


def settings(windows: xr.Dataset) -> dict[str, tuple[xr.Dataset, xr.Dataset]]:
    """The record WINDOWS by design and width: the seeds 0 to 49, and the fresh seeds 50 to 99."""
    by_name = {f"{design}, {width}": windows.sel(width=width, design=design) for width, design in SETTINGS}
    return {name: (group.sel(first=0), group.sel(first=50)) for name, group in by_name.items()}


@decides(windows=WINDOWS, bumps=BUMPS)
def cl_43(windows, bumps, *, near, majority, half):
    """Figure 8: right when the test error rises, modes 1 to 4 go to zero and mode 5 does not."""
    group, drawn = settings(windows)[f"{DRAWN}, 128"][0], cells.choose(bumps.sel(width=128, step=0.001))
    own = modes.own_sizes(group).astype(float)
    rise, before = (own.sel(phase=phase, mode=slice(1, PLOTTED)).values for phase in ("rise", "before"))
    small = (rise[:, :4] < near * np.sqrt(N)).all(axis=1)
    stands_out = small & (rise.argmax(axis=1) == 4)
    often = stats.wilson(stands_out)
    four, five = (
        stats.geometric(np.sqrt((rise[:, part] ** 2).mean(axis=1) / (before[:, part] ** 2).mean(axis=1)))
        for part in (slice(0, 4), slice(4, 5))
    )
    quiet = group["size"].sel(phase="rise", mode=slice(1, PLOTTED)).values[np.flatnonzero(group.recovers)]
    return Found(
        {"sizes": often.exceeds(majority), "moment": claims.below(four, half)},
        {
            "mode 5 stands out": often,
            "modes 1-4, rise over before": four,
            "mode 5, rise over before": five,
            "mode 5 largest without a bump": (quiet[:, np.flatnonzero(~group.bump)].argmax(axis=-1) == 4).mean(),
            "runs": len(own),
            "drawn run": bool(stands_out[list(own.run.values).index(drawn)]),
        },
    )


def excess(groups: Mapping[str, xr.Dataset], *, pooled: bool = False) -> xr.Dataset:
    """:func:`modes.contrast` of the rise over (setting, mode), or of all settings together."""
    strata = [modes.stratum(group, PLOTTED) for group in groups.values()]
    found = modes.contrast(strata, name="bumps", pooled=pooled, permutations=5000 if pooled else 20_000)
    names = ["together"] if pooled else list(groups)
    looks = {
        key: (("setting", "mode"), values.values.reshape(len(names), PLOTTED))
        for key, values in found.drop_vars("false_alarms").items()
    }
    coordinates = {"setting": names, "mode": modes.NUMBERS[:PLOTTED]}
    return xr.Dataset(looks | {"false_alarms": found.false_alarms}, coordinates)


def found_and_confirmed(first: xr.Dataset, fresh: xr.Dataset, level: float) -> tuple[np.ndarray, np.ndarray]:
    """The changes that differ in the first runs, and those of them that do so again; (settings, modes) each.

    Again: in the same direction, with p below the level after Holm's correction over the changes that were found.
    """
    found = (first.p < level).values
    again = np.zeros_like(found)
    if found.any():
        same = np.sign(first.estimate.values[found]) == np.sign(fresh.estimate.values[found])
        again[found] = same & (stats.holm(fresh.single.values[found]) < level)
    return found, again


@decides(windows=WINDOWS)
def cl_37(windows, *, level, visible):
    """Section 5: does the bump of the test loss coincide with activity in the projections?"""
    groups = settings(windows)
    halves = {name: {key: pair[half] for key, pair in groups.items()} for half, name in enumerate(("first", "fresh"))}
    looks = {name: excess(half) for name, half in halves.items()}
    found, confirmed = found_and_confirmed(*looks.values(), level)
    most = visible * np.sqrt(N)
    unseen = ((looks["fresh"].low > -most) & (looks["fresh"].high < most)).all("mode").values
    everything = {f"{key}, {half}": one for key, pair in groups.items() for half, one in enumerate(pair)}
    together = excess(everything, pooled=True)
    return Found(
        {
            name: "reproduced" if held else "contradicted" if hidden else "undecided"
            for name, held, hidden in zip(groups, confirmed.any(axis=1), unseen, strict=True)
        },
        {
            f"{key}, mode {i}": {name: _look(of, key, i) for name, of in looks.items()}
            for key in groups
            for i in together.mode.values
        }
        | {f"together, mode {i}": _look(together, "together", i) for i in together.mode.values}
        | {"settings": len(groups), "settings confirmed": confirmed.any(axis=1).sum()}
        | {"found": found.sum(), "looks": found.size, "confirmed": confirmed.sum()}
        | {"runs": sum(int(one.recovers.sum()) for one in everything.values())}
        | {"found together": int((together.p < level).sum()), "modes": PLOTTED, "differences": together.estimate.values}
        | {"false alarms": float(looks["first"].false_alarms)},
    )


def _look(looks: xr.Dataset, setting: str, mode: int) -> dict[str, Interval | float]:
    look = looks.sel(setting=setting, mode=mode)
    interval = Interval(*(float(look[key]) for key in ("estimate", "low", "high")))
    return {"difference": interval, "p": float(look.p)}


@decides(ends=ENDS)
def cl_54(ends):
    """Section 6: do the projections of the residuals tell the same story?"""
    by_run = ends.agreement.transpose("seed", "mode", ...)
    return Found(
        "answered",
        {
            f"{design}, {m}": stats.bootstrap(
                by_run.sel(width=m, design=design).values, lambda v, axis: np.nanmedian(v), name=f"CL-54 {design} {m}"
            )
            for design in (DRAWN, "iid")
            for m in WIDTHS[:2]
        },
    )


# Width.


@decides(narrow=MODES[0], bumps=BUMPS)
def cl_44(narrow, bumps, *, majority, chance):
    """Figure 9: at width 512 projections fluctuate early, mostly modes 1 and 2, and settle, mode 3 last."""
    flags = modes.figure_9(narrow.sel(width=512, step=0.001, design=DRAWN))
    drawn = cells.choose(bumps.sel(width=512, step=0.001))
    third = stats.wilson(flags["last"] == 3)
    often = {name: stats.wilson(flags[name]) for name in ("early > late", "1, 2 most", "all settle")}
    early, most, settle = (share.exceeds(majority) for share in often.values())
    return Found(
        {"a": _two(early, most), "b": _two(settle, third.exceeds(chance))},
        often | {"mode 3 last": third, "drawn run": {name: each[drawn] for name, each in flags.items()}},
    )


def compared(found: Mapping[int, xr.Dataset], swings: xr.Dataset, step: float, design: str) -> dict[str, list]:
    """Width 8192 against the others: how far five modes swing from epoch to epoch, and how soon they are quiet.

    "swings": 8192 minus 128 for each of five modes; "quiet": 8192 minus 128 and 512; "medians": of the quiet epoch.
    """
    seeds = found[8192].sizes["seed"]
    five = {
        m: group.sel(step=step, design=design, mode=slice(1, PLOTTED)).isel(seed=slice(seeds))
        for m, group in found.items()
    }
    quiet = {m: group.quiet.fillna(loss_curves.EPOCHS).max("mode").values for m, group in five.items()}
    name = f"CL-45 {step:g} {design}"
    at = swings.swing.sel(step=step, design=design, mode=slice(1, PLOTTED)).transpose("mode", "seed", "width")
    more = (at.sel(width=8192) - at.sel(width=128)).values
    return {
        "swings": [stats.bootstrap(each, name=f"{name} swings {i}") for i, each in enumerate(more)],
        "quiet": [stats.paired(quiet[8192], quiet[m], name=f"{name} {m}") for m in WIDTHS[:2]],
        "medians": [float(np.median(quiet[m])) for m in WIDTHS],
    }


@decides(summaries=MODES, swings=SWINGS)
def cl_45(summaries, swings):
    """Figure 10: at width 8192 all modes oscillate sharply at first and go quickly to zero."""
    runs, parts, found = by_width(summaries), {}, {}
    for design in (DRAWN, "iid"):
        for step in (0.001, 0.01):
            name, case = f"{design}, step {step:g}", compared(runs, swings, step, design)
            parts[name] = _two(_four(case["swings"]), claims.all_of(*(claims.below(d, 0) for d in case["quiet"])))
            found[f"swings, {name}"] = case["swings"]
            found[f"quiet, {name}"] = dict(zip(WIDTHS[:2], case["quiet"], strict=True))
            found[f"modes above, {name}"] = sum(more.above(0) for more in case["swings"])
            found[f"settled, {name}"] = _per_width(case["medians"])
    own = {name: verdict for name, verdict in parts.items() if name.startswith(DRAWN)}
    return Found(parts, found, "reproduced" if "reproduced" in own.values() else claims.combine(own))


def _four(differences: list[Interval]) -> bool | None:
    """Whether four of five differences are above zero: False if two are not (0 in every run included)."""
    above = sum(d.above(0) for d in differences)
    not_above = sum(d.high <= 0 for d in differences)
    return True if above >= 4 else False if not_above >= 2 else None


#: At equal eta lambda_1: index of the step at width 8192, the narrower width, index of its step; steps are 0.001 * 4^k.
MATCHED = ((0, 128, 3), (1, 512, 3), (3, 512, 5))


def rates(noise: xr.Dataset) -> xr.DataArray:
    """Sign changes per 100 epochs, mean over five modes: (width, step, seed)."""
    return noise.flips.sel(mode=slice(1, 5)).mean("mode").transpose("width", "step", "seed")


@decides(noise="cyclic_labels/kernel/sensitivity")
def cl_46(noise, *, equal):
    """Figure 10: the oscillations at large width come from aligned, noise-sensitive dynamics."""
    rate = {m: rates(noise).sel(width=m).values for m in WIDTHS}
    fall = _ratio(rate[8192][0], rate[8192][3], "CL-46 fall")
    same = {(m, j): _ratio(rate[8192][k], rate[m][j], f"CL-46 {m} {k}") for k, m, j in MATCHED}
    wider = [
        stats.paired(of.sel(width=8192).values[k], of.sel(width=m).values[j], name=f"CL-46 {kind} {m} {k}")
        for kind, of in ((kind, noise[kind].transpose("width", "step", "seed")) for kind in ("flip", "move"))
        for k, m, j in MATCHED
    ]
    if fall.below(1):
        step = claims.all_of(*(claims.within(ratio, 1 / equal, equal) for ratio in same.values()))
        verdict = "corrected" if step else step
    else:
        verdict = claims.all_of(fall.exceeds(1), *(more.exceeds(0) for more in wider))
    return Found(
        verdict,
        {"rate at width 8192, step / 64 over step": fall}
        | {f"rate at equal ηλ₁, 8192 over {m} ({j})": ratio for (m, j), ratio in same.items()}
        | {"more sensitive at width 8192": wider, "sensitive": sum(more.above(0) for more in wider)}
        | {"sign changes": {m: values.mean(axis=1) for m, values in rate.items()}, "comparisons": len(wider)}
        | {"share of mode 1": _per_width(noise.top_share.mean("seed").isel(step=3).values)},
    )
