"""Rules on the overlaps of singular vectors of weights and updates (Appendices C, D.1, F.1 and F.2)."""

from __future__ import annotations

from functools import cache

import numpy as np
import xarray as xr
from scipy.ndimage import uniform_filter1d
from scipy.stats import ks_2samp

from experiments.heavy_tails import overlaps, training_spectra
from experiments.heavy_tails.overlaps import SIDES
from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.spectra import tails
from shallow.stats import Interval

#: Length of the vectors by side: overlaps by chance have the mean one over it.
LENGTH = xr.DataArray([1500, 1000], {"side": list(SIDES)}, "side")
#: Where the largest of a million overlaps lies by chance.
LEVEL = 2 * np.log(1000**2) / LENGTH
RANDOM, OUTLIER = 1.5, 5.0  # multiples of that level: at most, at least
BLOCKS = {"2-10": (1, 10), "11-50": (10, 50), "51-200": (50, 200), "201-1000": (200, 1000)}
FIRST, LAST, BEFORE = "W1, M0", "W10, M9", "W0, M0"


def load(*names: str) -> xr.Dataset:
    """A record of the chapter, or several with further draws, joined along the seed."""
    found = [records.load(f"heavy_tails/{name}") for name in names]
    return found[0] if len(found) == 1 else xr.concat(found, "seed")


def by_side(values: xr.DataArray) -> dict[str, Interval]:
    """Mean over draws with Student's interval for left and right vectors."""
    return {side: stats.student(values.sel(side=side).values) for side in SIDES}


def words(found: dict[str, Interval], spec: str = ".2f") -> str:
    """Left and right interval in words."""
    return " and ".join(f"{one:{spec}} ({side})" for side, one in found.items())


def peaks(found: xr.Dataset, pair: str) -> xr.DataArray:
    """Largest overlap (side, seed) of a pair of matrices, in units of where it lies by chance."""
    return (found.maximum / LEVEL).sel(pair=pair).transpose("side", "seed")


def looks_random(found: xr.Dataset, pair: str) -> bool | None:
    """Whether the largest overlaps of left and of right vectors are below 1.5 times their level by chance."""
    return claims.all_of(*(claims.below(one, RANDOM) for one in by_side(peaks(found, pair)).values()))


def has_outliers(found: xr.Dataset, pair: str) -> bool | None:
    """Whether the largest overlaps of left and of right vectors are above 5 times their level by chance."""
    return claims.all_of(*(one.exceeds(OUTLIER) for one in by_side(peaks(found, pair)).values()))


def diagonal_blocks(diagonal: xr.DataArray) -> xr.DataArray:
    """Mean diagonal overlap over blocks of the index in units of chance: `block` in the place of the dimension k.

    The first entry is left out: a lone spike has a large one and nothing else.
    """
    means = [diagonal.astype(float).isel(k=slice(*ends)).mean("k") * LENGTH for ends in BLOCKS.values()]
    return xr.concat(means, "block").assign_coords(block=list(BLOCKS))


def decays(blocks: xr.DataArray) -> bool | None:
    """Whether block means (block, side, seed) start above 5 times chance and fall from block to block."""
    found = []
    for side in SIDES:
        one = np.log(blocks.sel(side=side).transpose("block", "seed").values)
        found.append(stats.student(one[0]).exceeds(np.log(OUTLIER)))
        found += [stats.student(first - second).exceeds(0) for first, second in zip(one, one[1:])]
    return claims.all_of(*found)


def ht_40(gd: xr.Dataset | None = None, adam: xr.Dataset | None = None) -> Outcome:
    """Appendix C: are the spike and its overlaps after one step those of a spiked rectangular matrix?

    gd, adam: the records `prediction_gd` and `prediction_adam`.
    """
    most, control = 0.10, 0.03
    gd = load("prediction_gd") if gd is None else gd
    adam = load("prediction_adam") if adam is None else adam
    parts: dict[str, bool | None] = {}
    evidence, fresh = {}, []
    for name, one in {"GD": gd, "Adam": adam}.items():
        off = (one.measured / one.predicted - 1).sel(rule=f"{name} code", update="whole").transpose(..., "seed")
        fresh.append(float(abs(off.sel(start="fresh").mean("seed")).max()))
        for rate in one.rate.values:
            own = {w: stats.student(off.sel(rate=rate, start="own", what=w).values) for w in one.what.values}
            parts[f"{name} {rate:g}"] = claims.all_of(*(within(found, most) for found in own.values()))
            evidence |= {f"{name} {rate:g}, {what}": found for what, found in own.items()}
    if max(fresh) > control:
        parts = dict.fromkeys(parts)
    answer = {
        "reproduced": "Yes: the size of the update alone gives the spike and its overlaps to ten per cent.",
        "contradicted": "No: at no learning rate does the size of the update alone give the spike and its overlaps.",
        "undecided": "These runs do not say whether the size of the update alone gives the spike and its overlaps.",
        "otherwise": "Only far above the threshold: nearer to it the update partly undoes the weights that it depends "
        "on, and the spike is smaller.",
    }
    spikes = [f"{part} {evidence[f'{part}, eigenvalue']:.1%}" for part in parts]
    return Outcome(
        parts=parts,
        answer=answer,
        finding=f"measured over predicted largest eigenvalue, minus one: {'; '.join(spikes)}; the formula is that of "
        f"an update of rank one that does not depend on the weights, and on fresh weights the means are off by at most "
        f"{max(fresh):.1%}",
        evidence=evidence,
    )


def within(interval: Interval, most: float) -> bool | None:
    """Whether a quantity lies between -most and most; None if its interval contains one of them."""
    return claims.all_of(interval.exceeds(-most), claims.below(interval, most))


def ht_41(runs: xr.Dataset | None = None, text: xr.Dataset | None = None) -> Outcome:
    """Figure 9: one aligned pair after one step, a decaying diagonal after ten.

    runs, text: the records `overlaps_adam_one` with its further draws, and `overlaps_adam_one_text`.
    """
    nearly = 0.9
    runs = load("overlaps_adam_one", "overlaps_adam_one_more") if runs is None else runs
    text = load("overlaps_adam_one_text") if text is None else text
    corner = by_side(runs["first"].sel(pair=FIRST))
    blocks = {pair: diagonal_blocks(runs.diagonal.sel(pair=pair)) for pair in (FIRST, LAST)}
    other = float((text.diagonal.sel(pair=LAST).isel(k=slice(1, 10)).mean("k") * LENGTH).min())
    mean = {pair: each.mean("seed") for pair, each in blocks.items()}
    along = {pair: "; ".join(", ".join(f"{x:.3g}" for x in each.sel(side=s).values) for s in SIDES)
             for pair, each in mean.items()}  # fmt: skip
    return Outcome(
        parts={
            "a": claims.all_of(*(one.exceeds(nearly) for one in corner.values())),
            "b": decays(blocks[LAST]),
        },
        answer={
            "reproduced": "Yes: after one step the leading vectors coincide; after ten the overlaps decay along the "
            "diagonal, which they already do, more weakly, after one.",
            "contradicted": "No: leading vectors do not coincide after one step, and no diagonal decays after ten.",
            "otherwise": "In part: not both the alignment after one step and the decay after ten are settled.",
        },
        finding=f"first entries of W1 with M0 {words(corner, '.3f')}; diagonal over indices "
        f"{', '.join(BLOCKS)} in units of chance, left; right: {along[LAST]} after ten steps and {along[FIRST]} after "
        f"one; without bias correction (one draw) entries 2 to 10 are at least {other:.0f} times chance after ten",
        evidence={f"first entry, {side}": one for side, one in corner.items()},
    )


@cache
def ten_steps() -> dict[str, xr.Dataset]:
    """Overlaps of W10 with M9 and last spectra over (rate, seed) by optimiser, for the draws that all rates have."""
    parts = {
        "Adam": [load("overlaps_adam_one").expand_dims(rate=[1.0]), load("overlaps_adam")],
        "GD": [load("overlaps_gd_2000").expand_dims(rate=[2000.0]), load("overlaps_gd")],
    }
    kept = ["diagonal", "eigenvalues", "participation", "off_diagonal", "entropy"]
    found = {
        name: xr.concat([one[kept].sel(pair=LAST, end=10, drop=True) for one in each], "rate", join="inner")
        for name, each in parts.items()
    }
    return {name: one.sortby("rate") for name, one in found.items()}


def per_draw(values: xr.DataArray, others: xr.DataArray) -> Interval:
    """Rank correlation over the learning rates within each draw: mean over draws, with Student's interval of artanh.

    A correlation of one is taken half a step lower, where artanh is finite.
    """
    first, second = (one.transpose("seed", "rate").values for one in (values, others))
    k = first.shape[1]
    most = 1 - 6 / (k**3 - k)
    found = np.clip([stats.rank_correlation(a, b) for a, b in zip(first, second)], -most, most)
    inner = stats.student(np.arctanh(found))
    return Interval(*(float(np.tanh(z)) for z in (inner.estimate, inner.low, inner.high)))


def power_law_wins(diagonals: xr.DataArray) -> xr.DataArray:
    """Whether a power law beats a scaled chi-square in the tail of the diagonal, over the dimensions but k."""
    return xr.apply_ufunc(
        lambda one: overlaps.diagonal_tail(one).favours == 1, diagonals, input_core_dims=[["k"]], vectorize=True
    )


def area(scores: np.ndarray, labels: np.ndarray, *, name: str) -> Interval:
    """Area under the curve of a score for two classes, at least 1/2, with its bootstrap interval over runs."""

    def of(table: np.ndarray, axis: int = 0) -> float:
        above, under = (table[table[:, 1] == label, 0] for label in (1, 0))
        both = above[:, None] - under
        share = ((both > 0) + 0.5 * (both == 0)).mean() if both.size else 0.5
        return max(share, 1 - share)

    return stats.bootstrap(np.column_stack([scores, labels]), of, name=name, resamples=500)


def ht_42(runs: dict[str, xr.Dataset] | None = None) -> Outcome:
    """Appendices C and H: does the diagonal go with the tail, is it itself heavy-tailed, does its spread tell shapes?

    runs: as of :func:`ten_steps`.
    """
    link, rates, fitted = -0.8, [0.01, 0.1, 0.2, 0.5, 1.0, 10.0], [0.1, 1.0, 10.0]
    runs = ten_steps() if runs is None else runs
    tables = {name: training_spectra.shapes_of(one[["eigenvalues"]]) for name, one in runs.items()}
    adam, bulk = runs["Adam"].sel(rate=rates), tables["Adam"].hill_excl.sel(rate=rates)
    leading = adam.diagonal.astype(float).isel(k=slice(0, 10)).mean("k")
    rho = {side: per_draw(leading.sel(side=side), bulk) for side in SIDES}
    diagonals = adam.diagonal.astype(float).sel(rate=fitted).transpose(..., "k")
    local = uniform_filter1d(diagonals.values, 51, mode="nearest")
    wins, levelled = power_law_wins(diagonals), power_law_wins(diagonals / local)
    won = stats.wilson(wins.values)
    labels = np.concatenate([one.ht.transpose("rate", "seed").values.ravel() for one in tables.values()])

    def pooled(measure: str, side: str) -> np.ndarray:
        parts = [one[measure].sel(side=side).transpose("rate", "seed").values.ravel() for one in runs.values()]
        return np.concatenate(parts)

    areas = {
        (side, measure): area(pooled(measure, side), labels, name=f"HT-42/{side}/{measure}")
        for side in SIDES for measure in ("participation", "off_diagonal", "entropy")
    }  # fmt: skip
    best = {side: max((v for (s, _), v in areas.items() if s == side), key=lambda v: v.estimate) for side in SIDES}
    told = any(one.above(0.9) for one in areas.values())
    heavy = True if wins.values.all() else False if claims.below(won, 1 / 2) else "partly"
    return Outcome(
        parts={"a": claims.all_of(*(claims.below(one, link) for one in rho.values())), "b": heavy, "c": "answered"},
        answer="Larger leading overlaps seem to go with a wider bulk; diagonals look heavy-tailed only because they "
        "decay; no measure of spread reliably tells shapes apart."
        if max(one.estimate for one in rho.values()) < -1 / 2 and not levelled.any() and not told
        else "How overlaps go with the tail of the spectrum is not as simple as the document hopes.",
        finding=f"rank correlation of the ten leading diagonal overlaps with the exponent over six rates "
        f"{words(rho)}; a power law beats the law by chance in {int(wins.sum())} of {wins.size} diagonals, and in "
        f"{int(levelled.sum())} once they are divided by their local mean; area under the curve of the best of three "
        f"measures of spread, over {len(labels)} runs, {words(best)}",
        evidence={f"correlation, {side}": one for side, one in rho.items()}
        | {f"area under the curve, {side}, {measure}": one for (side, measure), one in areas.items()}
        | {"power law better": won},
    )  # fmt: skip


def ht_45(runs: xr.Dataset | None = None, text: xr.Dataset | None = None) -> Outcome:
    """Figures 12 and 14: outliers in the overlaps of a student in mean-field scaling.

    runs, text: the records `overlaps_field` and `overlaps_field_text`.
    """
    runs = load("overlaps_field") if runs is None else runs
    text = load("overlaps_field_text") if text is None else text
    large, small = runs.sel(rate=0.04), runs.sel(rate=5e-5)
    other = float((text.maximum.sel(rate=5e-5, pair=LAST) / LEVEL).max())
    return Outcome(
        parts={
            "a": claims.all_of(has_outliers(large, FIRST), looks_random(large, BEFORE)),
            "b": claims.all_of(looks_random(small, LAST), has_outliers(large, LAST)),
        },
        answer={
            "reproduced": "Yes: at the larger rate the update has outlying overlaps with the new weights, not with the "
            "old; at the small rate there are none.",
            "otherwise": "No, or only in part: outlying overlaps are not where Figures 12 and 14 have them.",
        },
        finding=f"largest overlap over its level by chance: at 0.04 {words(by_side(peaks(large, BEFORE)), '.2f')} "
        f"with W0, {words(by_side(peaks(large, FIRST)), '.1f')} with W1, {words(by_side(peaks(large, LAST)), '.1f')} "
        f"for W10 with M9; at 0.00005 {words(by_side(peaks(small, LAST)), '.2f')} for W10 with M9, but up to "
        f"{other:.0f} without bias correction (one draw), where the first steps are three to six times as long",
        evidence={
            f"{name}, {side}": one
            for name, each in {"0.04, W1": peaks(large, FIRST), "5e-5, W10": peaks(small, LAST)}.items()
            for side, one in by_side(each).items()
        },
    )


def ht_51(gd: xr.Dataset | None = None, adam: xr.Dataset | None = None, text: xr.Dataset | None = None) -> Outcome:
    """Figures 16 to 18: overlaps of the first update with the weights before and after it.

    gd, adam, text: the records `overlaps_first_gd`, `overlaps_first_adam` and `overlaps_first_gd_text`.
    """
    gd = load("overlaps_first_gd") if gd is None else gd
    adam = load("overlaps_first_adam") if adam is None else adam
    text = load("overlaps_first_gd_text") if text is None else text
    cases = {"GD 0.1": gd.sel(rate=0.1), "Adam 0.1": adam, "GD 2000": gd.sel(rate=2000.0)}
    after = [looks_random(cases["GD 0.1"], FIRST), *(has_outliers(cases[k], FIRST) for k in ("Adam 0.1", "GD 2000"))]
    parts = {
        letter: claims.all_of(looks_random(one, BEFORE), found)
        for letter, one, found in zip("abc", cases.values(), after)
    }
    before = max(float(peaks(one, BEFORE).max()) for one in cases.values())
    other = float((text.maximum.sel(rate=2000.0, pair=FIRST) / LEVEL).max())
    shown = "; ".join(f"{name} {words(by_side(peaks(one, FIRST)), '.1f')}" for name, one in cases.items())
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: the first update has outlying overlaps with the new weights for Adam at 0.1 and GD at "
            "2000, never with the old.",
            "contradicted": "No: the overlaps of the first update are not as in Figures 16 to 18 in any of three runs.",
            "otherwise": "In part: outlying overlaps are where Figures 16 to 18 have them in some of three runs.",
        },
        finding=f"largest overlap of the update over its level by chance: at most {before:.2f} with W0 in any draw; "
        f"with W1 {shown}; with the text's loss, half as large, GD 2000 has {other:.1f} (one draw)",
        evidence={f"{n}, W1, {s}": v for n, one in cases.items() for s, v in by_side(peaks(one, FIRST)).items()},
    )


def ht_53(runs: xr.Dataset | None = None, text: xr.Dataset | None = None) -> Outcome:
    """Figure 21: ten steps of GD at 2000, losses and overlaps.

    runs, text: the records `overlaps_gd_2000` and `overlaps_gd_2000_text`.
    """
    half, apart = 0.5, 0.1
    runs = load("overlaps_gd_2000") if runs is None else runs
    text = load("overlaps_gd_2000_text") if text is None else text
    change = {(name, kind): fall(runs, name, kind) for kind in runs.features.values for name in ("train", "test")}
    shrunk = by_side(runs.maximum.sel(pair=LAST) / runs.maximum.sel(pair=FIRST))
    last = runs.sel(pair=LAST)
    chances = {"maximum": last.maximum * LENGTH, "twenty": last.twenty}
    logs = {name: np.log(one.sel(side="left") / one.sel(side="right")) for name, one in chances.items()}
    sides = {name: stats.student(one.values) for name, one in logs.items()}
    different = (
        claims.any_of(one.exceeds(np.log1p(apart)), claims.below(one, -np.log1p(apart))) for one in sides.values()
    )
    mean = runs.test.sel(features="code").mean("seed")
    monotone = bool((mean.diff("at") < 0).all())
    other = float((text.maximum.sel(pair=FIRST) / LEVEL).max())
    return Outcome(
        parts={
            "a, train": claims.below(change["train", "code"], 0),
            "a, test": claims.below(change["test", "code"], 0),
            "b": claims.all_of(*(claims.below(one, half) for one in shrunk.values())),
            "c": claims.all_of(*different),
        },
        answer={
            "reproduced": "Yes: after ten steps of GD the losses are lower, outlying overlaps far smaller, left and "
            "right vectors differ.",
            "contradicted": "No: losses and overlaps after ten steps of GD are not as in Figure 21.",
            "otherwise": "The outlying overlaps shrink, left and right vectors differ and the train loss falls; "
            "whether the test loss does is within the scatter."
            if change["test", "code"].contains(0) and change["train", "code"].below(0)
            else "In part: not all of lower losses, smaller outlying overlaps and differing sides is settled.",
        },
        finding=f"change of the test loss over ten steps {change['test', 'code']:.3f}, of the train loss "
        f"{change['train', 'code']:.3f}, {'' if monotone else 'not '}monotone; with the text's features "
        f" {change['test', 'text']:.2f} and {change['train', 'text']:.3f}; largest overlap after "
        f"ten steps over that after one {words(shrunk)}; left over right {np.exp(sides['maximum'].estimate):.1f} in "
        f"units of chance; with the text's loss no overlap stands out after one step (one draw, {other:.1f} times the "
        f"level)",
        evidence={f"change of {n}, features of the {kind}": one for (n, kind), one in change.items()}
        | {f"largest overlap, ten steps over one, {side}": one for side, one in shrunk.items()}
        | {f"log of left over right, {name}": one for name, one in sides.items()},
    )


def fall(runs: xr.Dataset, name: str, features: str) -> Interval:
    """Change of a loss over ten steps, mean over draws with Student's interval."""
    one = runs[name].sel(features=features)
    return stats.student((one.sel(at=10) - one.sel(at=0)).values)


def exponents(eigenvalues: xr.DataArray) -> xr.DataArray:
    """PL_Alpha_Hill of spectra, in the place of the dimension k."""
    return xr.apply_ufunc(tails.hill, eigenvalues, input_core_dims=[["k"]], vectorize=True)


def spectral_distance(runs: xr.Dataset) -> np.ndarray:
    """Kolmogorov-Smirnov distance (seed,) of the spectra after ten steps for label noise 0.3 and 0.7."""
    pairs = runs.eigenvalues.sel(end=10, noise=[0.3, 0.7]).transpose("seed", "noise", "k").values
    return np.array([ks_2samp(*one).statistic for one in pairs])


def ht_55(runs: xr.Dataset | None = None) -> Outcome:
    """Figures 25 and 26: label noise in the spectrum and in the overlaps.

    runs: the record `overlaps_noise_five`.
    """
    alike, half, small, large = 0.05, (0.35, 0.7), 0.05, 0.5
    runs = load("overlaps_noise_five") if runs is None else runs
    distance, hill = spectral_distance(runs), exponents(runs.eigenvalues.sel(end=10)).transpose("noise", "seed")
    apart, between = stats.student(distance), stats.student((hill.sel(noise=0.3) - hill.sel(noise=0.7)).values)
    top = runs.maximum.isel(pair=0).transpose("noise", "side", "seed")
    ratio = by_side(top.sel(noise=0.3) / top.sel(noise=0.7))
    ends = by_side(top.sel(noise=0.7) / top.sel(noise=0.1) - 1)
    drift = stats.student((hill.sel(noise=0.7) / hill.sel(noise=0.1) - 1).values)
    halved = [claims.all_of(one.exceeds(half[0]), claims.below(one, half[1])) for one in ratio.values()]
    return Outcome(
        parts={
            "a": claims.all_of(claims.below(apart, alike), within(between, alike)),
            "b": claims.all_of(*halved),
            "c": claims.all_of(within(drift, small), *(one.exceeds(large) for one in ends.values())),
        },
        answer={
            "reproduced": "Yes: the spectra do not show how noisy the labels are, and the largest overlaps do.",
            "partly": "The spectra do look the same, but so do the largest overlaps: they are not halved by less noise."
            if all(one is False for one in halved)
            else "The spectra do look the same; whether the largest overlaps show the noise is not settled.",
            "otherwise": "No: the spectra differ with the noise of the labels, or the overlaps do not.",
        },
        finding=f"five draws: the spectra for noise 0.3 and 0.7 are {apart:.3f} apart and their exponents "
        f"{between:.3f}; the largest overlap for 0.3 over that for 0.7 is {words(ratio)}; from noise 0.1 to 0.7 the "
        f"exponent changes by {drift:.1%}, the largest overlap by {words(ends, '.0%')}",
        evidence={"distance of the spectra": apart, "difference of the exponents": between}
        | {f"largest overlap, 0.3 over 0.7, {side}": one for side, one in ratio.items()}
        | {f"largest overlap, change from 0.1 to 0.7, {side}": one for side, one in ends.items()},
    )


def ht_56(runs: xr.Dataset | None = None) -> Outcome:
    """Figures 25(a), 26(a) and 28(c): losses against the noise of the labels.

    runs: the record `overlaps_noise_five`.
    """
    runs = load("overlaps_noise_five") if runs is None else runs
    code = runs[["train", "test"]].sel(features="code").transpose("noise", "at", "seed", ...)
    higher = {name: rises(code[name], [0.3, 0.7]) for name in ("train", "test")}
    along = {name: rises(code[name], code.noise.values) for name in ("train", "test")}
    excess = code.test.sel(noise=0.7) - code.test.sel(noise=0.3)
    gap = {at: stats.student(excess.sel(at=at).values) for at in (0, 10)}
    clean = [float(code.test.sel(noise=rho, at=10).mean()) - rho**2 for rho in code.noise.values]
    return Outcome(
        parts={"a": claims.all_of(*higher.values()), "b": claims.all_of(*along.values())},
        answer={
            "reproduced": "Yes: both losses rise with the noise of the labels at every step, as the noise of the test "
            "labels alone makes them.",
            "contradicted": "No: more noise in the labels does not raise the losses.",
            "otherwise": "For the most part: losses rise with the noise of the labels, if not surely at every step.",
        },
        finding=f"test loss for noise 0.7 minus that for 0.3: {gap[0]} at the start, where the labels alone add 0.40, "
        f"and {gap[10]} after ten steps; less the noise of the test labels the mean test losses at the end are "
        f"{', '.join(f'{x:.2f}' for x in clean)} for noise 0.1, 0.3, 0.5, 0.7",
        evidence={f"test loss, 0.7 minus 0.3, step {at}": one for at, one in gap.items()},
    )


def rises(loss: xr.DataArray, levels: list[float]) -> bool | None:
    """Whether a loss (noise, at, seed) rises from level to level of the noise at every step, paired over draws."""
    steps = loss.sel(noise=list(levels)).diff("noise").transpose("noise", "at", "seed").values
    return claims.all_of(*(stats.student(draws).exceeds(0) for draws in steps.reshape(-1, steps.shape[-1])))
