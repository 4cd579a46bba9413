"""The output gradient in the modes of the kernel, beside the bump of the test loss, at three widths (Section 5)."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np
import xarray as xr

from experiments.cyclic_labels import loss_curves, modes
from experiments.cyclic_labels.rules.kernel import WIDTHS, recorded, summaries
from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome

PLOTTED = 5  # modes that the document draws
NEAR_ZERO = 0.1  # size of a projection in units of sqrt(n)
CHANCE = 1 / 5  # for a given one of five modes to be the largest, or the last
LEVEL = 0.05  # of p-values after Holm's correction
VISIBLE = 0.05  # change of the size, in units of sqrt(n), below which no bump could be read from the plot
HALF = 0.5  # what modes that converge to zero fall below
SETTINGS = [(128, "two_rightmost"), (128, "poor(5,1)"), (512, "two_rightmost"), (512, "poor(5,1)")]
DRAWN = "two_rightmost"


@functools.cache
def settings() -> dict[str, tuple[xr.Dataset, xr.Dataset]]:
    """The recorded :func:`modes.windows` by design and width: the seeds 0 to 49, and the fresh seeds 50 to 99."""
    found = records.load("cyclic_labels/bump_windows")
    by_name = {f"{design}, {width}": found.sel(width=width, design=design) for width, design in SETTINGS}
    return {name: (group.sel(first=0), group.sel(first=50)) for name, group in by_name.items()}


def excess(groups: Mapping[str, xr.Dataset], *, pooled: bool = False) -> xr.Dataset:
    """:func:`modes.contrast` of the rise over (setting, mode), or of all settings together."""
    strata = [modes.stratum(group, PLOTTED) for group in groups.values()]
    found = modes.contrast(strata, name="bumps", pooled=pooled, permutations=5000 if pooled else 20_000)
    names = ["together"] if pooled else list(groups)
    looks = {key: (("setting", "mode"), values.values.reshape(len(names), PLOTTED))
             for key, values in found.drop_vars("false_alarms").items()}  # fmt: skip
    coordinates = {"setting": names, "mode": modes.NUMBERS[:PLOTTED]}
    return xr.Dataset(looks | {"false_alarms": found.false_alarms}, coordinates)


def found_and_confirmed(first: xr.Dataset, fresh: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """The changes that differ in the first runs, and those of them that do so again; (settings, modes) each.

    Again: in the same direction, with p below 0.05 after Holm's correction over the changes that were found.
    """
    found = (first.p < LEVEL).values
    again = np.zeros_like(found)
    if found.any():
        same = np.sign(first.estimate.values[found]) == np.sign(fresh.estimate.values[found])
        again[found] = same & (stats.holm(fresh.single.values[found]) < LEVEL)
    return found, again


def cl_37(groups: Mapping[str, tuple[xr.Dataset, xr.Dataset]] | None = None, *, n: int = 50) -> Outcome:
    """Section 5: does the bump of the test loss coincide with activity in the projections?"""
    groups = settings() if groups is None else groups
    first, fresh = ({name: pair[half] for name, pair in groups.items()} for half in (0, 1))
    looks, again = excess(first), excess(fresh)
    found, confirmed = found_and_confirmed(looks, again)
    visible = VISIBLE * np.sqrt(n)
    invisible = ((again.low > -visible) & (again.high < visible)).all("mode").values
    parts = {
        name: "reproduced" if held else "contradicted" if unseen else "undecided"
        for name, held, unseen in zip(groups, confirmed.any(axis=1), invisible, strict=True)
    }
    everything = {f"{name}, {k}": group for name, pair in groups.items() for k, group in enumerate(pair)}
    together = excess(everything, pooled=True)
    runs = sum(int(group.recovers.sum()) for pair in groups.values() for group in pair)
    answers = {
        "reproduced": "Yes: where the test loss rises, a plotted mode changes more than in runs without a bump.",
        "partly": f"In {confirmed.any(axis=1).sum()} of {len(groups)} settings a plotted mode changes more at the rise "
        "than without a bump; which way depends on the setting.",
        "contradicted": "No: where the test loss rises, no plotted mode changes visibly more than without a bump.",
        "undecided": "No plotted mode changes more at the rise in fresh runs too, but small changes remain possible.",
    }
    return Outcome(
        parts=parts,
        answer=answers[claims.combine(parts)],
        finding=(
            f"{found.sum()} of {found.size} changes differ between runs with and without a bump in the first 50 seeds, "
            f"{confirmed.sum()} of them again in 50 fresh ones; in all {runs} runs with a bump together "
            f"{int((together.p < LEVEL).sum())} of {PLOTTED}, with differences from "
            f"{float(together.estimate.min()):.2f} to {float(together.estimate.max()):.2f}; with permuted labels a "
            f"difference is found in {float(looks.false_alarms):.0%}."
        ),
        evidence={
            f"{name}, mode {i}": f"{_look(looks, name, i)}; fresh: {_look(again, name, i)}"
            for name in groups
            for i in looks.mode.values
        }
        | {f"together, mode {i}": _look(together, "together", i) for i in together.mode.values},
    )


def _look(looks: xr.Dataset, setting: str, mode: int) -> str:
    look = looks.sel(setting=setting, mode=mode)
    interval = stats.Interval(*(float(look[key]) for key in ("estimate", "low", "high")))
    return f"{interval}, p = {float(look.p):.3f}"


def cl_42(ends: xr.Dataset | None = None, drawn: int | None = None) -> Outcome:
    """Figure 8: at width 128 most modes start large, decay smoothly, and none dominates in the long run."""
    if ends is None:
        ends, drawn = recorded("projection_ends").sel(width=128, design=DRAWN), modes.drawn(128)
    flags = modes.figure_8(ends)
    often = {name: stats.wilson(each) for name, each in flags.items()}
    parts = {name: claims.verdict(share.exceeds(1 / 2)) for name, share in often.items()}
    answers = {
        "reproduced": "Yes: in most runs the projections start large, shrink, and none dominates at the end.",
        "partly": "Only in part: not all of starting large, shrinking and ending without a dominant mode is usual.",
        "contradicted": "No: most runs do not look like the figure.",
        "undecided": "These runs leave open whether the figure is typical.",
    }
    return Outcome(
        parts=parts,
        answer=answers[claims.combine(parts)],
        finding="; ".join(f"{name}: {often[name]} of seeds, drawn run {_word(flags[name][drawn])}" for name in flags),
        evidence=often,
    )


def _word(flag: bool) -> str:
    return "yes" if flag else "no"


def cl_43(group: xr.Dataset | None = None, drawn: int | None = None, *, n: int = 50) -> Outcome:
    """Figure 8: right when the test error rises, modes 1 to 4 go to zero and mode 5 does not."""
    if group is None:
        group, drawn = settings()[f"{DRAWN}, 128"][0], modes.drawn(128)
    own = modes.own_sizes(group).astype(float)
    rise, before = (own.sel(phase=phase, mode=slice(1, PLOTTED)).values for phase in ("rise", "before"))
    small = (rise[:, :4] < NEAR_ZERO * np.sqrt(n)).all(axis=1)
    stands_out = small & (rise.argmax(axis=1) == 4)
    often, shown = stats.wilson(stands_out), bool(stands_out[list(own.run.values).index(drawn)])
    falls = [_change(rise[:, part], before[:, part]) for part in (slice(0, 4), slice(4, 5))]
    parts = {
        "sizes": claims.verdict(often.exceeds(1 / 2)),
        "moment": claims.verdict(claims.opposite(falls[0].exceeds(HALF))),
    }
    quiet = group["size"].sel(phase="rise", mode=slice(1, PLOTTED)).values[np.flatnonzero(group.recovers)]
    without = (quiet[:, np.flatnonzero(~group.bump)].argmax(axis=-1) == 4).mean()
    answers = {
        "reproduced": "Yes: when the test loss begins to rise, modes 1 to 4 fall to little and mode 5 stays large.",
        "partly": "During the rise mode 5 is large and modes 1 to 4 are small, but they were so before the rise.",
        "contradicted": "No: during the rise mode 5 does not stand out, and modes 1 to 4 do not fall.",
        "undecided": "These runs leave open what mode 5 does when the test loss rises.",
    }
    verdict = claims.combine(parts)
    if verdict == "partly" and parts["sizes"] != "reproduced":
        answers["partly"] = "Modes 1 to 4 fall when the test loss begins to rise, but mode 5 seldom stands out."
    return Outcome(
        parts=parts,
        answer=answers[verdict],
        finding=(
            f"Modes 1 to 4 near zero and mode 5 the largest of five from low to peak: {often} of {len(own)} runs, "
            f"drawn run {_word(shown)}; size during the rise over that before it: modes 1 to 4 {falls[0]}, mode 5 "
            f"{falls[1]}; mode 5 is the largest in {without:.0%} of the same windows in runs without a bump."
        ),
        evidence={"mode 5 stands out": often, "modes 1-4, rise over before": falls[0],
                  "mode 5, rise over before": falls[1], "mode 5 largest without a bump": f"{without:.2f}"},
    )  # fmt: skip


def _change(after: np.ndarray, before: np.ndarray) -> stats.Interval:
    """Geometric mean over runs of the ratio of the rms over the modes, (runs, modes) each."""
    log = np.log(np.sqrt((after**2).mean(axis=1) / (before**2).mean(axis=1)))
    interval = stats.student(log)
    return stats.Interval(*np.exp([interval.estimate, interval.low, interval.high]))


def cl_44(runs: xr.Dataset | None = None, drawn: int | None = None) -> Outcome:
    """Figure 9: at width 512 projections fluctuate early, mostly modes 1 and 2, and settle, mode 3 last."""
    if runs is None:
        runs, drawn = summaries()[512].sel(step=0.001, design=DRAWN), modes.drawn(512)
    flags = modes.figure_9(runs)
    third = stats.wilson(flags["last"] == 3)
    often = {name: stats.wilson(flags[name]) for name in ("early > late", "1, 2 most", "all settle")}
    holds = {name: share.exceeds(1 / 2) for name, share in often.items()}
    last = int(flags["last"][drawn])
    parts = {"a": _two(holds["early > late"], holds["1, 2 most"])}
    parts["b"] = _two(holds["all settle"], third.exceeds(CHANCE))
    usual = np.bincount(flags["last"], minlength=PLOTTED + 1)[1:].argmax() + 1
    answers = {
        "reproduced": "Yes: the projections fluctuate early, most of all the first two, and settle with mode 3 last.",
        "partly": f"The first two modes fluctuate most, but mode {usual}, not mode 3, is usually the last to settle."
        if usual != 3 else "Mode 3 is usually the last to settle, but the rest of the caption holds only in part.",
        "contradicted": "No: early fluctuation, the lead of the first two modes and settling are all unusual.",
        "undecided": "These runs leave open whether the figure is typical.",
    }  # fmt: skip
    return Outcome(
        parts=parts,
        answer=answers[claims.combine(parts)],
        finding=(
            f"Early fluctuation exceeds the late one in {often['early > late']} of seeds (drawn run "
            f"{_word(flags['early > late'][drawn])}), modes 1 and 2 lead in {often['1, 2 most']}; all five settle in "
            f"{often['all settle']} (drawn run {_word(flags['all settle'][drawn])}), mode 3 is last in {third} (drawn "
            f"run: mode {last or 'undetermined'})."
        ),
        evidence=often | {"mode 3 last": third},
    )


def _two(first: bool | None, second: bool | None) -> str:
    """Both hold: reproduced; neither: contradicted; one and not the other: partly; else undecided."""
    if None in (first, second):
        return "undecided"
    return ("contradicted", "partly", "reproduced")[first + second]


def compared(found: Mapping[int, xr.Dataset], step: float, design: str, *, seeds: int = 10) -> dict[str, list]:
    """Width 8192 against the others: intervals of the difference in sign changes by mode, and in the quiet epoch.

    "flips": 8192 minus 128 for each of five modes; "quiet": 8192 minus 128 and minus 512.
    """
    five = {m: group.sel(step=step, design=design, mode=slice(1, PLOTTED)).isel(seed=slice(seeds))
            for m, group in found.items()}  # fmt: skip
    quiet = {m: group.quiet.fillna(loss_curves.EPOCHS).max("mode").values for m, group in five.items()}
    name = f"CL-45 {step:g} {design}"
    more = (five[8192].flips.values - five[128].flips.values).T
    return {
        "flips": [stats.bootstrap(each, name=f"{name} flips {i}") for i, each in enumerate(more)],
        "quiet": [stats.paired(quiet[8192], quiet[m], name=f"{name} {m}") for m in WIDTHS[:2]],
        "medians": [float(np.median(quiet[m])) for m in WIDTHS],
    }


def cl_45(found: Mapping[int, xr.Dataset] | None = None) -> Outcome:
    """Figure 10: at width 8192 all modes oscillate sharply at first and go quickly to zero."""
    found = summaries() if found is None else found
    cases = {step: [compared(found, step, design) for design in (DRAWN, "iid")] for step in (0.001, 0.01)}
    oscillates = {step: claims.all_of(*(_four(c["flips"]) for c in both)) for step, both in cases.items()}
    quick = {step: claims.all_of(*(claims.opposite(d.exceeds(0)) for c in both for d in c["quiet"]))
             for step, both in cases.items()}  # fmt: skip
    by_step = {f"step {step:g}": _two(oscillates[step], quick[step]) for step in cases}
    verdict = "reproduced" if "reproduced" in by_step.values() else claims.combine(by_step)
    first = {m: float(group.flips.sel(step=0.001, design=DRAWN, mode=1).mean()) for m, group in found.items()}
    answers = {
        "reproduced": "Yes: at width 8192 the modes oscillate more than at small widths and settle earlier.",
        "partly": "At the larger step width 8192 settles first; but not all modes oscillate more than at width 128.",
        "contradicted": "No: width 8192 neither oscillates more in all modes nor settles earlier.",
        "undecided": "Ten runs leave open whether width 8192 oscillates more and settles earlier.",
    }
    if verdict == "partly" and any(oscillates.values()):
        answers["partly"] = "At width 8192 the modes oscillate more than at width 128, but they do not settle earlier."
    return Outcome(
        verdict=verdict,
        answer=answers[verdict],
        finding="; ".join(
            f"step {step:g}: sign changes above those of width 128 in "
            f"{' and '.join(str(sum(f.above(0) for f in c['flips'])) for c in both)} of 5 modes (two designs), settled "
            f"at widths 128, 512, 8192 after {', '.join(f'{m:.0f}' for m in both[0]['medians'])} epochs"
            for step, both in cases.items()
        )
        + f"; sign changes of mode 1 per 100 epochs at step 0.001: {', '.join(f'{f:.0f}' for f in first.values())}.",
        evidence={
            f"{what}, step {step:g}, {design}": ", ".join(f"{i:.0f}" for i in c[what])
            for step, both in cases.items()
            for design, c in zip((DRAWN, "iid"), both, strict=True)
            for what in ("flips", "quiet")
        },
    )


def _four(differences: list[stats.Interval]) -> bool | None:
    """Whether four of five differences are above zero: False if two are not (0 in every run included)."""
    above = sum(d.above(0) for d in differences)
    not_above = sum(d.high <= 0 for d in differences)
    return True if above >= 4 else False if not_above >= 2 else None


def cl_54(ends: xr.Dataset | None = None) -> Outcome:
    """Section 6: do the projections of the residuals tell the same story?"""
    ends = recorded("projection_ends") if ends is None else ends
    by_run = ends.agreement.transpose("seed", "mode", ...)
    rho = {f"{design}, {m}": stats.bootstrap(by_run.sel(width=m, design=design).values,
                                             lambda v, axis: np.nanmedian(v), name=f"CL-54 {design} {m}")
           for design in (DRAWN, "iid") for m in (128, 512)}  # fmt: skip
    same, other = (all(r.above(0.5) for r in rho.values()), all(claims.opposite(r.exceeds(0.5)) for r in rho.values()))
    return Outcome(
        verdict="answered",
        answer="Yes: the residuals grow and shrink along the modes as the gradient does." if same
        else "No: when the gradient fades the residuals do not, because margins larger than one leave a residual."
        if other else "In some settings the residuals behave like the gradient, in others not.",
        finding="Median rank correlation over time of the two sizes: "
        + ", ".join(f"{interval} ({name})" for name, interval in rho.items()),
        evidence=rho,
    )  # fmt: skip
