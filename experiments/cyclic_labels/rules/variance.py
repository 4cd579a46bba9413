"""Rules on the variance between trained networks and on the sum of the losses (Bowman 2025, Sections 1.1 and 4)."""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.cyclic_labels import amplitudes, heatmaps, loss_reduction
from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.stats import Interval

TREND, MOST = 0.5, 0.9  # a trend: median rank correlation beyond 0.5, and of its sign at 90 % of the sizes
LINK = 0.2  # CL-17: a partial correlation that says something
LARGE = [80, 120, 160, 200]  # CL-04: sizes pooled for the comparison with the mean
SPREAD, SHARE = 0.25, 0.5  # CL-33: of the amplitudes, relative to their mean; of the variance that goes with them
FEW = 30  # CL-31: below this size a few models with huge outputs make V
SETTINGS = ("step", "width", "initial")
LOSSES = {"train_loss": "training loss", "test_loss": "test loss"}


def no_growth(rho: Interval) -> bool | None:
    """Whether a rank correlation says that there is no growth: its interval reaches down to 0 and stays below 0.5."""
    return False if rho.above(0) else claims.below(rho, TREND)


def trend(values: xr.DataArray) -> tuple[Interval, Interval]:
    """Rank correlation of values (n, epoch) with the epoch: median over n (bootstrap), and share of the n that rise."""
    rho = heatmaps.over_epochs(values)
    return stats.bootstrap(rho, np.median, name="median over sizes", resamples=500), stats.wilson(rho > 0)


def falling(values: xr.DataArray) -> bool | None:
    """Whether values (n, epoch) fall with the epoch."""
    median, falls = trend(-values)
    return claims.all_of(median.exceeds(TREND), falls.exceeds(MOST))


def growth(record: xr.Dataset, *, name: str) -> tuple[dict[str, str], dict[str, object]]:
    """Whether V grows with the epoch and with the size in every set of a heatmap: verdicts and evidence."""
    epochs, sizes, evidence = [], [], {}
    for base in record.base.values:
        part = record.sel(base=base)
        median, rises = trend(part.variance)
        size = heatmaps.over_sizes(part, name=f"{name}/{base}")
        epochs.append(claims.all_of(median.exceeds(TREND), rises.exceeds(MOST)))
        sizes.append(size.exceeds(TREND))
        evidence |= {f"set {base + 1}: median ρ(V, epoch)": median, f"set {base + 1}: ρ(V(T), n)": size}
    holds = {"epochs": claims.all_of(*epochs), "sizes": claims.all_of(*sizes)}
    return {part: claims.verdict(value) for part, value in holds.items()}, evidence


def cl_04(runs: xr.Dataset | None = None) -> Outcome:
    """Section 1.1: is training worse when the loss is divided by the number of points?

    runs: the record `sum_or_mean`.
    """
    runs = records.load("cyclic_labels/sum_or_mean") if runs is None else runs
    error = runs.error.sel(width=512, n=LARGE)
    worse = {
        form: stats.paired(error.sel(form=form).values.ravel(), error.sel(form="sum").values.ravel(), name=form)
        for form in ("mean", "mean, 50 x step")
    }
    holds = {"same step": worse["mean"].exceeds(0), "step times 50": worse["mean, 50 x step"].exceeds(0)}
    answer = {
        (True, False): "Only if the step is left as it is; with a step to match, dividing by N does no harm.",
        (True, True): "Yes: dividing by N makes the final error worse, with the same step and with a larger one.",
        (False, False): "No: dividing by N does not make the final error worse.",
    }
    return Outcome(
        parts={part: claims.verdict(value) for part, value in holds.items()},
        answer=answer.get(tuple(holds.values()), "These runs do not settle whether dividing by N does harm."),
        finding=f"final error minus that of the sum, n ≥ 80: {worse['mean']:.3f} for the mean at the same nominal "
        f"step, {worse['mean, 50 x step']:.3f} with the step times 50",
        evidence={f"error of the {form} minus that of the sum": value for form, value in worse.items()},
    )


def cl_06(runs: xr.Dataset | None = None) -> Outcome:
    """Section 1.1: does the sum make training unstable when N is large?

    runs: the record `sum_or_mean`.
    """
    runs = records.load("cyclic_labels/sum_or_mean") if runs is None else runs
    parts, evidence, last = {}, {}, int(runs.n[-1])
    for width in runs.width.values:
        ours, control = (runs.sel(width=width, form=form) for form in ("sum", "mean, 50 x step"))
        dying, spared = (
            loss_reduction.trend_of_runs(1 - each.alive, name=f"{width}/{form}")
            for form, each in (("sum", ours), ("0.5/n", control))
        )
        excess = stats.paired(ours.error.sel(n=last).values, control.error.sel(n=last).values, name=f"error/{width}")
        worse, prevented = claims.all_of(dying.exceeds(0), excess.exceeds(0)), no_growth(spared)
        holds = claims.verdict(claims.all_of(worse, prevented))
        parts[f"width {width}"] = "partly" if worse and prevented is False else holds
        evidence |= {
            f"width {width}: ρ(neurons lost, n), sum": dying,
            f"width {width}: ρ(neurons lost, n), step 0.5/n": spared,
            f"width {width}: error at n = {last}, sum minus step 0.5/n": excess,
        }
    at = runs.sel(width=512).mean("seed")
    alive, error = (
        {(f, n): float(at[of].sel(form=f, n=n)) for f in ("sum", "mean, 50 x step") for n in (200, last)}
        for of in ("alive", "error")
    )
    unstable, steady = "sum", "mean, 50 x step"
    answer = {
        "reproduced": "Yes: with many points the summed loss throws most neurons off the data within a few steps; a "
        "smaller step prevents it.",
        "contradicted": "No: neither the neurons nor the final error suffer when the summed loss has many points.",
        "partly": "Training suffers when N is large, but a step divided by N does not always prevent it.",
        "undecided": "These runs do not settle whether large N makes training unstable.",
    }
    return Outcome(
        parts=parts,
        answer=answer[claims.combine(parts)],
        finding=f"share of the neurons alive at width 512: {alive[unstable, 200]:.1%} at n = 200 and "
        f"{alive[unstable, last]:.0%} at n = {last} for the sum, {alive[steady, 200]:.1%} and "
        f"{alive[steady, last]:.0%} for step 0.5/n; final error {error[unstable, 200]:.2f} and "
        f"{error[unstable, last]:.2f}, against {error[steady, 200]:.2f} and {error[steady, last]:.2f}",
        evidence=evidence,
    )


def cl_17(models: xr.Dataset | None = None) -> Outcome:
    """Section 4, steps 1 to 3: do the two heatmaps say something about one another?

    models: the record `heatmap_three_periods_models`.
    """
    models = records.load("cyclic_labels/heatmap_three_periods_models") if models is None else models
    links = heatmaps.linked(models, name="linked")
    partial = {key: value for key, value in links.items() if key[1] in ("n", "epoch")}
    away = [claims.any_of(value.exceeds(LINK), claims.below(value, -LINK)) for value in partial.values()]
    linked = claims.any_of(*away)
    answer = {
        True: "Yes: at a given size or a given epoch, cells with more variance tend to have other losses.",
        False: "No: at a given size or epoch the losses say next to nothing about the variance.",
        None: "These runs do not settle whether the losses say anything about the variance.",
    }
    return Outcome(
        verdict=claims.verdict(linked),
        answer=answer[linked],
        finding=f"{away.count(True)} of {len(partial)} partial rank correlations lie beyond ±{LINK}: "
        + ", ".join(f"V with {LOSSES[loss]} given {given} {value}" for (loss, given), value in partial.items()),
        evidence={
            f"V with {LOSSES[loss]}, given {given or 'nothing'}": value for (loss, given), value in links.items()
        },
    )


def cl_19(three: xr.Dataset | None = None) -> Outcome:
    """Figure 1: does the variance grow with the epoch and with the sample size?

    three: the record `heatmap_three_periods`.
    """
    three = records.load("cyclic_labels/heatmap_three_periods") if three is None else three
    parts, evidence = growth(three, name="three periods")
    first = three.isel(base=0, epoch=-1).sortby("n")
    other = {key: float(heatmaps.rank_trend(first[key].values)) for key in ("relative", "sign_variance", "robust")}
    evidence |= {f"set 1: ρ({name} variance at T, n)": round(value, 2) for name, value in other.items()}
    medians, sizes = (of_sets(evidence, end) for end in ("median ρ(V, epoch)", "ρ(V(T), n)"))
    answer = {
        "reproduced": "Yes: the variance grows with training time and with sample size; measured by the functions' "
        "own size it falls with sample size.",
        "partly": "Only in part: the variance does not grow both with training time and with sample size.",
        "contradicted": "No: the variance grows neither with training time nor with sample size.",
        "undecided": "These runs do not settle whether the variance grows.",
    }
    return Outcome(
        parts=parts,
        answer=answer[claims.combine(parts)],
        finding=f"median ρ(V, epoch) {medians} in the two sets; ρ(V(T), n) {sizes}; at T the relative variance has ρ "
        f"{other['relative']:.2f} with n, the variance of the sign {other['sign_variance']:.2f}, the robust variance "
        f"{other['robust']:.2f}",
        evidence=evidence,
    )


def cl_20(three: xr.Dataset | None = None) -> Outcome:
    """Figure 2: do the summed losses fall with the epoch?

    three: the record `heatmap_three_periods`.
    """
    three = records.load("cyclic_labels/heatmap_three_periods") if three is None else three
    parts, evidence = losses(three)
    end = three.isel(base=0, epoch=-1).sortby("n")
    last = {"summed": end.train_loss, "mean": end.train_loss / end.n, "times n": end.test_loss * end.n}
    rho = {name: float(heatmaps.rank_trend(v.values)) for name, v in (last | {"test": end.test_loss}).items()}
    return Outcome(
        parts=parts,
        answer=FALLING[claims.combine(parts)],
        finding=f"{loss_finding(evidence)}; ρ(loss(T), n) {rho['summed']:+.2f} for the summed and {rho['mean']:+.2f} "
        f"for the mean training loss, {rho['times n']:+.2f} and {rho['test']:+.2f} for the test loss",
        evidence=evidence | {f"ρ(training or test loss at T, n), {name}": round(r, 2) for name, r in rho.items()},
    )


FALLING = {
    "reproduced": "Yes: training and test loss fall with the epoch at nearly all sample sizes.",
    "partly": "Only in part: one of the losses falls with the epoch at nearly all sample sizes, the other does not.",
    "contradicted": "No: neither the training loss nor the test loss falls with the epoch at most sample sizes.",
    "undecided": "These runs do not settle whether the losses fall at nearly all sample sizes.",
}


def losses(record: xr.Dataset, bases: tuple[int, ...] = (0,)) -> tuple[dict[str, str], dict[str, object]]:
    """Whether both losses of a heatmap fall with the epoch in the given sets: verdicts and evidence."""
    parts, evidence = {}, {}
    for key, name in LOSSES.items():
        parts[name.split()[0]] = claims.verdict(claims.all_of(*(falling(record[key].sel(base=b)) for b in bases)))
        for b in bases:
            median, rises = trend(record[key].sel(base=b))
            falls = Interval(1 - rises.estimate, 1 - rises.high, 1 - rises.low)
            evidence |= {
                f"set {b + 1}: median ρ({name}, epoch)": median,
                f"set {b + 1}: {name} falls, share of n": falls,
            }
    return parts, evidence


def loss_finding(evidence: dict[str, object]) -> str:
    """The numbers of :func:`losses` for the first set, in words."""
    return ", ".join(
        f"{name} falls at {evidence[f'set 1: {name} falls, share of n']} of the sizes (median ρ with the epoch "
        f"{evidence[f'set 1: median ρ({name}, epoch)'].estimate:.2f})"
        for name in LOSSES.values()
    )


def cl_27(four: xr.Dataset | None = None, three: xr.Dataset | None = None) -> Outcome:
    """Figures 3 and 4: do four periods show the same growth of the variance, and losses that fall?

    four, three: the records `heatmap_four_periods` and `heatmap_three_periods`.
    """
    four = records.load("cyclic_labels/heatmap_four_periods") if four is None else four
    three = records.load("cyclic_labels/heatmap_three_periods") if three is None else three
    variance, evidence = growth(four, name="four periods")
    loss, of_loss = losses(four, tuple(four.base.values))
    open_loss = loss["training"] == "reproduced" and loss["test"] == "undecided"
    parts = {"a": claims.combine(variance), "b": "undecided" if open_loss else claims.combine(loss)}
    ratio = heatmaps.ratio(four.sel(base=0), three.sel(base=0), name="four to three", paired=True)
    done = [stats.wilson(np.isfinite(each.zero_epoch.sel(base=0).values)) for each in (four, three)]
    rising = [int(n) for n in four.n.values[heatmaps.over_epochs(four.test_loss.sel(base=0)) >= 0]]
    answer = {
        ("reproduced", "reproduced"): "Yes: with four periods the variance grows and the losses fall as with three.",
        (
            "reproduced",
            "undecided",
        ): "The variance grows as with three periods; the test loss falls at some nine tenths "
        "of the sizes, but not at the smallest.",
    }
    return Outcome(
        parts=parts,
        answer=answer.get(tuple(parts.values()), "Not in all respects: compare the growth and the fall of the losses."),
        finding=f"median ρ(V, epoch) {of_sets(evidence, 'median ρ(V, epoch)')}, ρ(V(T), n) "
        f"{of_sets(evidence, 'ρ(V(T), n)')}; {loss_finding(of_loss)}, it rises at {len(rising)} sizes up to "
        f"{max(rising, default=0)}; V is {ratio} times that of three periods; {done[0]:.1%} of the runs reach zero "
        f"training loss, {done[1]:.1%} with three periods",
        evidence=evidence | of_loss | {"V over that of three periods": ratio},
    )


def cl_30(three: xr.Dataset | None = None, divided: xr.Dataset | None = None) -> Outcome:
    """Section 4, end: does the variance grow because the loss is not divided by the sample size?

    three, divided: the records `heatmap_three_periods` and `normalised_steps`.
    """
    three = records.load("cyclic_labels/heatmap_three_periods") if three is None else three
    divided = records.load("cyclic_labels/normalised_steps") if divided is None else divided
    half = {base: trend(divided.variance.sel(step_times_n=0.5, base=base))[0] for base in divided.base.values}
    whole = {base: heatmaps.over_sizes(three.sel(base=base), name=f"sum/{base}") for base in three.base.values}
    cells = [(k, base) for k in divided.step_times_n.values for base in divided.base.values]
    size = {c: heatmaps.over_sizes(divided.sel(step_times_n=c[0], base=c[1]), name=f"divided/{c}") for c in cells}
    stays = claims.all_of(*(value.exceeds(TREND) for value in half.values()))
    gone = claims.all_of(*map(no_growth, size.values()))
    epochs = "contradicted" if stays else "reproduced" if all(v.low <= 0 for v in half.values()) else "partly"
    sizes = claims.verdict(claims.all_of(gone, *(value.exceeds(TREND) for value in whole.values())))
    parts = {"a": epochs, "b": sizes}
    answer = {
        (
            "contradicted",
            "reproduced",
        ): "Half right: dividing by the sample size stops the growth with sample size, not "
        "the growth with training time.",
        ("reproduced", "reproduced"): "Yes: dividing by the sample size stops both the growth with time and with size.",
        ("contradicted", "contradicted"): "No: the variance grows in the same way when the loss is divided.",
    }
    return Outcome(
        parts=parts,
        answer=answer.get(tuple(parts.values()), "These runs do not settle whether the missing division is the cause."),
        finding=f"with step 0.5/n ρ(V, epoch) is still {half[0]}; ρ(V(T), n) is {whole[0]} for the sum, "
        f"{size[0.5, 0]} for 0.5/n and {size[0.1, 0]} for 0.1/n",
        evidence={f"set {base + 1}: median ρ(V, epoch), step 0.5/n": value for base, value in half.items()}
        | {f"set {base + 1}: ρ(V(T), n), sum": value for base, value in whole.items()}
        | {f"set {base + 1}: ρ(V(T), n), step {k:g}/n": value for (k, base), value in size.items()},
    )


def cl_31(settings: xr.Dataset | None = None) -> Outcome:
    """Section 4, end: does the growth with the sample size hang on choices that the text does not state?

    settings: the record `growth_of_many_models`.
    """
    settings = records.load("cyclic_labels/growth_of_many_models") if settings is None else settings
    ten, robust, fuller = {}, {}, {}
    for setting in settings.stack(setting=SETTINGS).setting.values:
        part, name = settings.sel(dict(zip(SETTINGS, setting, strict=True))), ", ".join(map(str, setting))
        ten[name] = stats.student(heatmaps.rank_trend(part.variance.transpose("group", "n").values))
        robust[name] = heatmaps.over_sizes_robust(part.robust, part.robust_band, name=f"settings/{name}")
        fuller[name] = heatmaps.rank_trend(part.sel(n=part.n >= FEW).variance.transpose("group", "n").values) > 0
    parts = {"ten models": _in_all(ten), "robust variance": _in_all(robust)}
    verdict = claims.combine(parts)
    rises = float(np.mean(list(fuller.values())))
    answer = {
        "reproduced": "It does not: the variance grows with the sample size for every choice that was tried.",
        "contradicted": "It does: in at least half of the settings the variance does not grow with the sample size.",
        "few": "Hardly: it grows in every setting from 30 points on; with fewer points a few outlying models hide this "
        "at small steps.",
    }
    fair = {"reading": "reproduced", "reading_why": WHY_FEW} if verdict == "partly" and rises > MOST else {}
    grows = {name: sum(value.above(0) for value in part.values()) for name, part in (("ten", ten), ("robust", robust))}
    low, high = (f([value.estimate for value in robust.values()]) for f in (min, max))
    return Outcome(
        parts=parts,
        answer=answer.get("few" if fair else verdict, "In part: it depends on the setting or on the measure."),
        finding=f"mean ρ(V(T), n) of ten models, in sixteen repetitions, lies above 0 in {grows['ten']} of {len(ten)} "
        f"settings, clearly not in {sum(no_growth(v) is True and v.below(0) for v in ten.values())}; the robust "
        f"variance of all grows in {grows['robust']} (ρ {low:.2f} to {high:.2f}); from n = {FEW} on V of ten models "
        f"rises in {rises:.1%} of the repetitions",
        evidence={f"mean ρ(V(T), n), ten models: {name}": value for name, value in ten.items()}
        | {f"ρ(robust variance, n): {name}": value for name, value in robust.items()},
        **fair,
    )


def _in_all(found: dict[str, Interval]) -> str:
    """Whether all settings show growth; contradicted if at least half show none, partly if some show none."""
    flat = sum(no_growth(value) is True for value in found.values())
    holds = claims.verdict(claims.all_of(*(value.exceeds(0) for value in found.values())))
    return "contradicted" if 2 * flat >= len(found) else "partly" if flat else holds


WHY_FEW = (
    "from 30 points on the variance of ten models grows in every setting; what undoes it at the smallest step are a "
    "few models with huge outputs at 10 and 20 points"
)
WHY_HALF = (
    "the thresholds are ours and the numbers lie on them; amplitudes do differ, and carry about half of the variance, "
    "so the sentence gives half of the explanation"
)


def cl_33(three: xr.Dataset | None = None) -> Outcome:
    """Section 4, last sentence: do models differ in amplitude, and does that make the variance?

    three: the record `heatmap_three_periods`, of which thirteen sizes decide.
    """
    three = records.load("cyclic_labels/heatmap_three_periods") if three is None else three
    found, whole = (
        {
            base: _amplitudes(three.sel(base=base, n=sizes), f"{len(sizes)} sizes, set {base}")
            for base in three.base.values
        }
        for sizes in (list(heatmaps.SIZES), three.n.values)
    )
    holds = {
        "spread": claims.all_of(*(f.spread.exceeds(SPREAD) for f in found.values())),
        "share removed": claims.all_of(*(f.removed.exceeds(SHARE) for f in found.values())),
    }
    parts = {name: claims.verdict(value) for name, value in holds.items()}
    verdict = claims.combine(parts)
    half = all(f.removed.contains(SHARE) and f.removed.inside(0.25, 0.75) for f in found.values())
    answer = {
        "reproduced": "Yes: the models differ in amplitude, and most of the variance goes when they have the same.",
        "contradicted": "No: the models have nearly the same amplitude, and it makes little of the variance.",
        "half": "About half: amplitudes differ by a quarter of their mean and make half of the variance; shape makes "
        "the rest.",
    }
    fair = {"reading": "partly", "reading_why": WHY_HALF} if half and verdict == "undecided" else {}
    return Outcome(
        parts=parts,
        answer=answer.get("half" if fair else verdict, "Only in part: amplitudes alone do not make the variance."),
        finding=f"coefficient of variation of the amplitudes {_sets(found, 'spread')}, share of V removed at equal "
        f"amplitude {_sets(found, 'removed')} in the two sets; over all {three.sizes['n']} sizes "
        f"{_sets(whole, 'spread', 3)} and {_sets(whole, 'removed', 3)}",
        evidence={f"set {b + 1}: spread of the amplitudes": f.spread for b, f in found.items()}
        | {f"set {b + 1}: share of V removed": f.removed for b, f in found.items()},
        **fair,
    )


def _amplitudes(column: xr.Dataset, name: str) -> amplitudes.Amplitudes:
    gram = heatmaps.unpack(column.gram.transpose("n", "pair").values)
    return amplitudes.amplitudes(xr.DataArray(gram, dims=("n", "model", "twin")), name=name, resamples=500)


def _sets(found: dict[int, amplitudes.Amplitudes], of: str, digits: int = 2) -> str:
    return " and ".join(format(getattr(each, of), f".{digits}f") for each in found.values())


def of_sets(evidence: dict[str, object], end: str) -> str:
    """What the evidence says about each set, joined by "and"."""
    return " and ".join(str(value) for key, value in evidence.items() if key.endswith(end) and key.startswith("set"))
