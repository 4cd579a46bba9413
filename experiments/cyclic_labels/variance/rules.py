"""Rules on the variance between trained networks, the sum of the losses, and how networks start (Bowman 2025, Sections
1.1 and 4)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from experiments.cyclic_labels import loss_curves
from experiments.cyclic_labels.variance import amplitudes, heatmaps, initialisation, loss_reduction
from shallow import nets, stats
from shallow.book import claims, sweep
from shallow.book.claims import Found, decides
from shallow.kernels import empirical
from shallow.stats import Interval

THREE = "cyclic_labels/variance/heatmap_three_periods"
REDUCED = "cyclic_labels/variance/sum_or_mean"
COMPARED = ("cyclic_labels/variance/antisymmetric_forty_models", "cyclic_labels/variance/initialisation_controls")
LARGE = [80, 120, 160, 200]  # CL-04: sizes pooled for the comparison with the mean
FEW = 30  # CL-31: below this size a few models with huge outputs make V
LOSSES = {"train_loss": "training loss", "test_loss": "test loss"}


# Whether heatmaps rise and fall.


def over_time(values: xr.DataArray) -> tuple[Interval, Interval]:
    """Rank correlation of values (n, epoch) with the epoch: median over n (bootstrap), and share of the n that rise."""
    rho = heatmaps.over_epochs(values)
    return stats.bootstrap(rho, np.median, name="median over sizes", resamples=500), stats.share(rho > 0)


def rises(values: xr.DataArray, trend: float, most: float) -> bool | None:
    """Whether values (n, epoch) rise with the epoch: the median correlation, and the share of the n that rise."""
    median, rising = over_time(values)
    return claims.all_of(median.exceeds(trend), rising.exceeds(most))


def growth(record: xr.Dataset, *, name: str) -> dict[str, Interval]:
    """How V grows with the epoch and with the size, in every set of a heatmap."""
    found = {}
    for base in record.base.values:
        part = record.sel(base=base)
        found[f"set {base + 1}: median ρ(V, epoch)"] = over_time(part.variance)[0]
        found[f"set {base + 1}: ρ(V(T), n)"] = heatmaps.over_sizes(part, name=f"{name}/{base}")
    return found


def grows(record: xr.Dataset, found: Mapping[str, Interval], trend: float, most: float) -> dict[str, bool | None]:
    """Whether V grows with the epoch and with the size, in every set of a heatmap with this :func:`growth`."""
    bases = record.base.values
    return {
        "epochs": claims.all_of(*(rises(record.variance.sel(base=b), trend, most) for b in bases)),
        "sizes": claims.all_of(*(found[f"set {b + 1}: ρ(V(T), n)"].exceeds(trend) for b in bases)),
    }


def losses(record: xr.Dataset, bases: tuple[int, ...] = (0,)) -> dict[str, Interval]:
    """How both losses of a heatmap change with the epoch, in the given sets."""
    found = {}
    for key, name in LOSSES.items():
        for b in bases:
            values = record[key].sel(base=b)
            found[f"set {b + 1}: median ρ({name}, epoch)"] = over_time(values)[0]
            found[f"set {b + 1}: {name} falls, share of n"] = over_time(-values)[1]
    return found


def fall(record: xr.Dataset, trend: float, most: float, bases: tuple[int, ...] = (0,)) -> dict[str, bool | None]:
    """Whether the training and the test loss of a heatmap fall with the epoch, in the given sets."""
    return {
        name.split()[0]: claims.all_of(*(rises(-record[key].sel(base=b), trend, most) for b in bases))
        for key, name in LOSSES.items()
    }


def medians(found: Mapping[str, Interval]) -> dict[str, float]:
    """Of :func:`losses`: the median correlations in the first set, without their intervals."""
    return {f"median, {name}": found[f"set 1: median ρ({name}, epoch)"].estimate for name in LOSSES.values()}


def combined(conditions: Mapping[str, bool | None]) -> str:
    """One verdict from several conditions."""
    return claims.combine(Found(conditions).parts)


def no_growth(rho: Interval, moderate: float) -> bool | None:
    """Whether a rank correlation says that there is no growth: its interval reaches down to 0 and stays moderate."""
    return False if rho.above(0) else claims.below(rho, moderate)


# The variance and the losses.


@decides(three=THREE)
def cl_19(three, *, trend, most):
    """Figure 1: does the variance grow with the epoch and with the sample size?"""
    found, first = growth(three, name="three periods"), three.isel(base=0, epoch=-1).sortby("n")
    return Found(
        grows(three, found, trend, most),
        found
        | {
            f"set 1: ρ({name} variance at T, n)": float(heatmaps.rank_trend(first[name].values))
            for name in ("relative", "sign_variance", "robust")
        },
    )


@decides(three=THREE)
def cl_20(three, *, trend, most):
    """Figure 2: do the summed losses fall with the epoch?"""
    found, end = losses(three), three.isel(base=0, epoch=-1).sortby("n")
    last = {"summed": end.train_loss, "mean": end.train_loss / end.n, "times n": end.test_loss * end.n}
    last |= {"test": end.test_loss}
    rho = {name: float(heatmaps.rank_trend(values.values)) for name, values in last.items()}
    return Found(fall(three, trend, most), found | medians(found) | {"ρ(training or test loss at T, n)": rho})


@decides(four="cyclic_labels/variance/heatmap_four_periods", three=THREE)
def cl_27(four, three, *, trend, most):
    """Figures 3 and 4: do four periods show the same growth of the variance, and losses that fall?"""
    bases = tuple(four.base.values)
    variance, loss = growth(four, name="four periods"), losses(four, bases)
    falls = fall(four, trend, most, bases)
    open_loss = falls["training"] is True and falls["test"] is None
    rising = four.n.values[heatmaps.over_epochs(four.test_loss.sel(base=0)) >= 0]
    return Found(
        {"a": combined(grows(four, variance, trend, most)), "b": "undecided" if open_loss else combined(falls)},
        variance
        | loss
        | medians(loss)
        | {
            "V over that of three periods": heatmaps.ratio(
                four.sel(base=0), three.sel(base=0), name="four to three", paired=True
            ),
            "test loss rises at": len(rising),
            "up to": int(max(rising, default=0)),
            "zero training loss": stats.share(np.isfinite(four.zero_epoch.sel(base=0))),
            "zero training loss, three periods": stats.share(np.isfinite(three.zero_epoch.sel(base=0))),
        },
    )


def links(models: xr.Dataset) -> dict[str, Interval]:
    """Rank correlations of V with each loss, plain and with size or epoch held fixed."""
    found = heatmaps.linked(models, name="linked")
    return {f"V with {LOSSES[loss]}, given {given or 'nothing'}": value for (loss, given), value in found.items()}


@decides(models="cyclic_labels/variance/heatmap_three_periods_models")
def cl_17(models):
    """Section 4, steps 1 to 3: do the two heatmaps say something about one another?"""
    return Found("answered", links(models))


@decides(settings="cyclic_labels/variance/growth_of_many_models")
def cl_31(settings, *, moderate, majority):
    """Section 4, end: does the growth with the sample size hang on choices that the text does not state?"""
    axes, ten, robust, fuller = ("step", "width", "initial"), {}, {}, []
    for setting in settings.stack(setting=axes).setting.values:
        part, name = settings.sel(dict(zip(axes, setting, strict=True))), ", ".join(map(str, setting))
        ten[name] = stats.student(heatmaps.rank_trend(part.variance.transpose("group", "n").values))
        robust[name] = heatmaps.over_sizes_robust(part.robust, part.robust_band, name=f"settings/{name}")
        fuller.append(heatmaps.rank_trend(part.sel(n=part.n >= FEW).variance.transpose("group", "n").values) > 0)

    def in_all(found: dict[str, Interval]) -> str | bool | None:
        """Whether all settings show growth; contradicted if most of them show none, partly if some show none."""
        flat = sum(no_growth(value, moderate) is True for value in found.values())
        grow = claims.all_of(*(value.exceeds(0) for value in found.values()))
        return "contradicted" if flat >= majority * len(found) else "partly" if flat else grow

    ordered = sorted(value.estimate for value in robust.values())
    return Found(
        {"ten models": in_all(ten), "robust variance": in_all(robust)},
        {f"mean ρ(V(T), n), ten models: {name}": value for name, value in ten.items()}
        | {f"ρ(robust variance, n): {name}": value for name, value in robust.items()}
        | {"settings": len(ten), "ten models grow": sum(value.above(0) for value in ten.values())}
        | {"ten models do not": sum(value.below(0) for value in ten.values())}
        | {"robust variance grows": sum(value.above(0) for value in robust.values())}
        | {"lowest": ordered[0], "highest": ordered[-1], "rises from 30 on": float(np.mean(fuller))},
    )


@decides(three=THREE, divided="cyclic_labels/variance/normalised_steps")
def cl_30(three, divided, *, trend):
    """Section 4, end: does the variance grow with the sample size because the loss is not divided by it?"""
    half = {base: over_time(divided.variance.sel(step_times_n=0.5, base=base))[0] for base in divided.base.values}
    whole = {base: heatmaps.over_sizes(three.sel(base=base), name=f"sum/{base}") for base in three.base.values}
    cells = [(k, base) for k in divided.step_times_n.values for base in divided.base.values]
    size = {c: heatmaps.over_sizes(divided.sel(step_times_n=c[0], base=c[1]), name=f"divided/{c}") for c in cells}
    gone = claims.all_of(*(no_growth(value, trend) for value in size.values()))
    return Found(
        claims.all_of(gone, *(value.exceeds(trend) for value in whole.values())),
        {f"set {base + 1}: median ρ(V, epoch), step 0.5/n": value for base, value in half.items()}
        | {f"set {base + 1}: ρ(V(T), n), sum": value for base, value in whole.items()}
        | {f"set {base + 1}: ρ(V(T), n), step {k:g}/n": value for (k, base), value in size.items()},
    )


@decides(runs=REDUCED)
def cl_04(runs):
    """Section 1.1: is training worse when the loss is divided by the number of points?"""
    error = runs.error.sel(width=512, n=LARGE)
    same, larger = (
        stats.paired(error.sel(form=form).values.ravel(), error.sel(form="sum").values.ravel(), name=form)
        for form in ("mean", "mean, 50 x step")
    )
    return Found(
        {"same step": same.exceeds(0), "step times 50": larger.exceeds(0)},
        {
            "error of the mean minus that of the sum": same,
            "error of the mean, 50 x step minus that of the sum": larger,
        },
    )


@decides(runs=REDUCED)
def cl_06(runs, *, moderate):
    """Section 1.1: does the sum make training unstable when N is large?"""
    parts, found, last = {}, {}, int(runs.n[-1])
    forms = {"sum": "sum", "step 0.5/n": "mean, 50 x step"}
    for width in runs.width.values:
        ours, control = (runs.sel(width=width, form=form) for form in forms.values())
        dying, spared = (
            loss_reduction.trend_of_runs(1 - each.alive, name=f"{width}/{form}")
            for form, each in (("sum", ours), ("0.5/n", control))
        )
        excess = stats.paired(ours.error.sel(n=last).values, control.error.sel(n=last).values, name=f"error/{width}")
        worse, prevented = claims.all_of(dying.exceeds(0), excess.exceeds(0)), no_growth(spared, moderate)
        partly = worse and prevented is False
        parts[f"width {width}"] = "partly" if partly else claims.all_of(worse, prevented)
        found |= {
            f"width {width}: ρ(neurons lost, n), sum": dying,
            f"width {width}: ρ(neurons lost, n), step 0.5/n": spared,
            f"width {width}: error at n = {last}, sum minus step 0.5/n": excess,
        }
    at = runs.sel(width=512, n=[200, last]).mean("seed")
    return Found(
        parts,
        found
        | {
            f"{of}, {name}, n = {n}": float(at[of].sel(form=form, n=n))
            for of in ("alive", "error")
            for name, form in forms.items()
            for n in at.n.values
        },
    )


@decides(three=THREE, levelled="cyclic_labels/variance/heights")
def cl_33(three, levelled, *, little, most):
    """Section 4, last sentence: do models differ in amplitude, and does that make the variance?

    The amplitude is that of a whole function, or its height from place to place, with the signs of the labels.
    """
    whole = {base: _amplitudes(three.sel(base=base), f"all sizes, set {base}") for base in three.base.values}
    drawn = levelled.sel(how="as drawn", refinement=1, epoch=int(levelled.epoch[-1]), n=levelled.n >= FEW)
    share = (drawn[["signs", "heights", "levels"]].mean("n") / drawn.relative.mean("n")).transpose("repetition", ...)
    by_place = {name: stats.student(values.values) for name, values in share.items()}
    sets = {_between(one.removed, little, most) for one in whole.values()}
    return Found(
        {
            "whole functions": sets.pop() if len(sets) == 1 else None,
            "place by place": by_place["heights"].exceeds(most),
        },
        {f"set {b + 1}: spread of the amplitudes": f.spread for b, f in whole.items()}
        | {f"set {b + 1}: share of V removed": f.removed for b, f in whole.items()}
        | {f"share of the relative variance, {name} alone": value for name, value in by_place.items()},
    )


def _between(share: Interval, little: float, most: float) -> str | bool | None:
    """True above `most`, False below `little`, "partly" between them; None where an interval leaves it open."""
    if share.above(most):
        return True
    if share.below(little):
        return False
    return "partly" if claims.within(share, little, most) else None


def _amplitudes(column: xr.Dataset, name: str) -> amplitudes.Amplitudes:
    gram = heatmaps.unpack(column.gram.transpose("n", "pair").values)
    return amplitudes.amplitudes(xr.DataArray(gram, dims=("n", "model", "twin")), name=name, resamples=500)


# How networks start: near zero, antisymmetric, at random.


@decides(
    near="cyclic_labels/variance/heatmap_near_zero",
    three=THREE,
    nearer="cyclic_labels/variance/heatmap_nearer_zero",
)
def cl_18(near, three, nearer):
    """Section 4, step 4: does a start near zero leave the pattern of the heatmaps as it is?"""
    first, small = three.sel(base=0), near.isel(base=0)
    return Found(
        "answered",
        growth(near, name="near zero")
        | {
            "V over default, factor 0.1": heatmaps.ratio(small, first, name="0.1", paired=True),
            "V over default, factor 0.01": heatmaps.ratio(nearer.isel(base=0), first, name="0.01", paired=True),
            "two default sets": heatmaps.ratio(three.sel(base=1), first, name="null", paired=False),
            "error over default, factor 0.1": heatmaps.ratio(small, first, name="0.1", paired=True, of="error"),
        },
    )


@decides(grams="cyclic_labels/variance/sources")
def cl_21(grams):
    """Section 4: is the random initial function a main source of the variance between models?"""
    return Found(
        "answered",
        {
            f"{what}, only {varied} varied, over both": amplitudes.sources(
                grams, varied, name=varied, relative=relative
            )
            for what, relative in (("relative variance", True), ("V", False))
            for varied in ("start", "data")
        },
    )


@decides(moved="cyclic_labels/variance/kernel_from_near_zero")
def cl_23(moved, *, aligned):
    """Section 4: does the kernel at the start fail to describe training that starts close to zero?"""
    parts, low, gap = {}, {}, {}
    for step in moved.step.values:
        names = [f"width {width}, step {step:g}" for width in moved.width.values]
        for name, width in zip(names, moved.width.values, strict=True):
            near, default = (moved.alignment.sel(alpha=a, step=step, width=width).values for a in (0.1, 1.0))
            low[name] = stats.bootstrap(near, name=f"low/{name}")
            gap[name] = stats.paired(near, default, name=f"gap/{name}")
        leaves = claims.all_of(*(claims.below(low[name], aligned) for name in names))
        parts[f"step {step:g}"] = "partly" if leaves and not all(gap[name].below(0) for name in names) else leaves
    return Found(parts, {"alignment from factor 0.1": low, "minus that of the default": gap})


def kernel_scaling(alphas: tuple[float, ...] = (0.5, 0.25, 0.1, 0.03, 0.01)) -> float:
    r"""Largest relative deviation of $K(\alpha\theta)$ from $\alpha^2 K(\theta)$ on part of the grid."""
    network, x = nets.default(np.random.default_rng(0), 512), loss_curves.GRID[::5]
    kernel = empirical.ntk(network, x)
    return max(np.abs(empirical.ntk(nets.scaled(network, a), x) / (a**2 * kernel) - 1).max() for a in alphas)


@decides(passage="cyclic_labels/variance/passage", deviation=kernel_scaling)
def cl_24(passage, deviation, *, exact):
    """Section 4: do small initial parameters make the kernel vanish and slow learning down?"""
    start, alphas = passage.start.sel(step=0.001), passage.alpha.values
    delay = {
        f"delay {a:g}→{b:g}, epochs": stats.bootstrap(
            (start.sel(alpha=b) - start.sel(alpha=a)).values, np.median, name=f"slower/{b}"
        )
        for a, b in zip(alphas, alphas[1:])
    }
    square = deviation < exact
    slower = claims.all_of(*(value.exceeds(0) for value in delay.values()))
    return Found({"kernel": square, "slower": slower}, delay, "" if square else "contradicted")


def doublings() -> xr.Dataset:
    """What is exact about antisymmetric networks at the start: :func:`initialisation.doubling` on a grid."""
    at = {"n": [10, 50, 200], "width": [128, 512], "seed": range(3), "activation": list(initialisation.ACTIVATIONS)}
    return sweep.grid(initialisation.doubling, at, jobs=1)


def foldings() -> xr.Dataset:
    """Training of both copies against that of one network: :func:`initialisation.folding` on a grid."""
    return sweep.grid(initialisation.folding, {"width": [128, 512], "step": [0.01, 0.001], "seed": range(2)}, jobs=1)


@decides(doubling=doublings, folding=foldings)
def cl_25(doubling, folding, *, exact, trained):
    """Section 4: antisymmetric doubling makes the output zero, keeps the kernel, and is one network of width 2m."""
    relu = doubling.sel(activation="relu")
    return Found(
        {
            "output": bool((relu.output == 0).all()),
            "kernel": bool((relu.kernel < exact).all()),
            "folding": bool((folding.difference < trained).all()),
        },
        {"largest output at the start": float(relu.output.max())},
    )


@decides(doubling=doublings)
def cl_26(doubling, *, exact):
    """Section 4, quotation: does the trick need a continuously differentiable activation?"""
    relu = doubling.sel(activation="relu")
    return Found("answered", {"exact with ReLU": bool((relu.output == 0).all() and (relu.kernel < exact).all())})


def starts_at_zero() -> float:
    """Largest |h(x; 0)| over ten models of both sets on thirteen sizes."""
    at = {"base": [0, 1], "n": list(heatmaps.SIZES)}
    return float(sweep.grid(initialisation.initial_output, at, jobs=1).output.max())


@decides(asi="cyclic_labels/variance/heatmap_antisymmetric", largest=starts_at_zero)
def cl_28(asi, largest, *, trend, most, zero):
    """Figures 5 and 6: with antisymmetric initialisation, does the variance grow and the test loss fall?"""
    variance, loss, first = growth(asi, name="antisymmetric"), losses(asi), asi.isel(epoch=0)
    nothing = largest == 0 and bool((first.variance < zero).all())
    margin = bool((first.train_loss == asi.sizes["model"] * asi.n).all())
    return Found(
        {
            "a": combined(grows(asi, variance, trend, most)) if nothing else "contradicted",
            "b": combined(fall(asi, trend, most)) if margin else "contradicted",
        },
        variance | loss | medians(loss) | {"largest output at the start": largest},
    )


def networks(tables: tuple[xr.Dataset, ...]) -> dict[str, xr.Dataset]:
    """The networks of the records COMPARED by name."""
    return {str(name): table.sel(network=name) for table in tables for name in table.network.values}


@decides(tables=COMPARED)
def cl_29(tables, *, ordinary):
    """Section 4, after Figure 6: does antisymmetric initialisation leave variance and losses much as they were?

    "plain", "antisymmetric" and "matched" decide, the other networks say what did it; in relative variance up to the
    size at which the plain network begins to lose neurons, in the others at all sizes.
    """
    everything, parts, found = networks(tables), {}, {}
    kept = _directions(everything["plain"]) == _directions(everything["antisymmetric"])
    few = {name: network.sel(n=network.n <= ordinary) for name, network in everything.items()}
    for of in ("relative", "variance", "error"):
        sizes = few if of == "relative" else everything
        low, high = np.exp(stats.percentiles(initialisation.split_null(sizes["plain"], name="plain")[of]))
        ratio, at_few = (
            {
                to: heatmaps.ratio(at["antisymmetric"], at[to], name=to, paired=True, of=of)
                for to in ("plain", "matched")
            }
            for at in (sizes, few)
        )
        same = [claims.within(value, low, high) for value in ratio.values()]
        parts[of] = _corrected(*same) if kept else "contradicted"
        found |= {f"{of}, antisymmetric over {to}": value for to, value in ratio.items()}
        found[f"{of}, antisymmetric over plain, few points"] = heatmaps.ratio(
            few["antisymmetric"], few["plain"], name="plain", paired=True, of=of
        )
        found[f"{of}, halves of one ensemble"] = [float(low), float(high)]
        for name, change in (("step over √2", "step"), ("scale over 2^(1/4)", "scale")):
            alone = heatmaps.ratio(sizes[change], sizes["wide"], name=f"{change} alone", paired=True, of=of)
            found[f"{of}, {name} alone, width 1024"] = alone
    return Found(parts, found)


def _corrected(plain: bool | None, matched: bool | None) -> str:
    """The verdict of CL-29 from whether the ratios to plain and to the matched network are those of chance."""
    if plain is None or (plain is False and matched is None):
        return "undecided"
    return "reproduced" if plain else "corrected" if matched else "contradicted"


def _directions(network: xr.Dataset) -> tuple[float, float]:
    """Signs of the trends of V with the epoch (median over n) and, at the last epoch, with n."""
    at_end = heatmaps.rank_trend(network.variance.isel(epoch=-1).sortby("n").values)
    return float(np.sign(np.median(heatmaps.over_epochs(network.variance)))), float(np.sign(at_end))
