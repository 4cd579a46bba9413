"""Rules on the overlaps of singular vectors of weights and updates (Appendices C, D.1, F.1 and F.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from scipy.ndimage import uniform_filter1d
from scipy.stats import ks_2samp

from experiments.heavy_tails.overlaps import cells as overlaps
from experiments.heavy_tails.overlaps.cells import SIDES
from experiments.heavy_tails.readings.cells import exponents
from experiments.heavy_tails.route import cells as training_spectra
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.spectra import tails
from shallow.stats import Interval

#: Length of the vectors by side: overlaps by chance have the mean one over it.
LENGTH = xr.DataArray([1500, 1000], {"side": list(SIDES)}, "side")
#: Where the largest of a million overlaps lies by chance.
LEVEL = 2 * np.log(1000**2) / LENGTH
BLOCKS = {"2-10": (1, 10), "11-50": (10, 50), "51-200": (50, 200), "201-1000": (200, 1000)}
FIRST, LAST, BEFORE = "W1, M0", "W10, M9", "W0, M0"
ADAM_ONE, ADAM_ONE_MORE = "heavy_tails/overlaps/overlaps_adam_one", "heavy_tails/overlaps/overlaps_adam_one_more"
GD_2000 = "heavy_tails/overlaps/overlaps_gd_2000"
NOISY = "heavy_tails/overlaps/overlaps_noise_five"


def by_side(values: xr.DataArray) -> dict[str, Interval]:
    """Mean over draws with Student's interval for left and right vectors."""
    return {side: stats.student(values.sel(side=side).values) for side in SIDES}


def peaks(found: xr.Dataset, pair: str) -> dict[str, Interval]:
    """Largest overlap of a pair of matrices by side, in units of where it lies by chance."""
    return by_side((found.maximum / LEVEL).sel(pair=pair))


def looks_random(found: xr.Dataset, pair: str, most: float) -> bool | None:
    """Whether the largest overlaps of left and of right vectors are below so many times their level by chance."""
    return claims.all_of(*(claims.below(one, most) for one in peaks(found, pair).values()))


def has_outliers(found: xr.Dataset, pair: str, least: float) -> bool | None:
    """Whether the largest overlaps of left and of right vectors are above so many times their level by chance."""
    return claims.all_of(*(one.exceeds(least) for one in peaks(found, pair).values()))


def diagonal_blocks(diagonal: xr.DataArray) -> xr.DataArray:
    """Mean diagonal overlap over blocks of the index in units of chance: `block` in the place of the dimension k.

    The first entry is left out: a lone spike has a large one and nothing else.
    """
    means = [diagonal.astype(float).isel(k=slice(*ends)).mean("k") * LENGTH for ends in BLOCKS.values()]
    return xr.concat(means, "block").assign_coords(block=list(BLOCKS))


def decays(blocks: xr.DataArray, least: float) -> bool | None:
    """Whether block means (block, side, seed) start above so many times chance and fall from block to block."""
    found = []
    for side in SIDES:
        one = np.log(blocks.sel(side=side).transpose("block", "seed").values)
        found.append(stats.student(one[0]).exceeds(np.log(least)))
        found += [stats.student(first - second).exceeds(0) for first, second in zip(one, one[1:])]
    return claims.all_of(*found)


@decides(gd="heavy_tails/overlaps/prediction_gd", adam="heavy_tails/overlaps/prediction_adam")
def ht_40(gd, adam, *, most, control):
    """Appendix C: are the spike and its overlaps after one step those of a spiked rectangular matrix?"""
    parts, numbers, fresh = {}, {}, []
    for name, one in {"GD": gd, "Adam": adam}.items():
        off = (one.measured / one.predicted - 1).sel(rule=f"{name} code", update="whole").transpose(..., "seed")
        fresh.append(float(abs(off.sel(start="fresh").mean("seed")).max()))
        for rate in one.rate.values:
            own = {w: stats.student(off.sel(rate=rate, start="own", what=w).values) for w in one.what.values}
            parts[f"{name} {rate:g}"] = claims.all_of(*(claims.within(found, -most, most) for found in own.values()))
            numbers |= {f"{name} {rate:g}, {what}": found for what, found in own.items()}
    if max(fresh) > control:
        parts = dict.fromkeys(parts)
    return Found(parts, numbers | {"largest mean on fresh weights": max(fresh)})


@decides(runs=(ADAM_ONE, ADAM_ONE_MORE), text="heavy_tails/overlaps/overlaps_adam_one_text")
def ht_41(runs, text, *, nearly, above):
    """Figure 9: one aligned pair after one step, a decaying diagonal after ten."""
    runs = xr.concat(runs, "seed")
    corner = by_side(runs["first"].sel(pair=FIRST))
    blocks = {pair: diagonal_blocks(runs.diagonal.sel(pair=pair)) for pair in (FIRST, LAST)}
    other = (text.diagonal.sel(pair=LAST).isel(k=slice(1, 10)).mean("k") * LENGTH).min()
    mean = {pair: one.mean("seed").transpose("side", "block").values for pair, one in blocks.items()}
    return Found(
        {
            "a": claims.all_of(*(one.exceeds(nearly) for one in corner.values())),
            "b": decays(blocks[LAST], above),
        },
        {f"first entry, {side}": one for side, one in corner.items()}
        | {f"mean of blocks, {pair}": dict(zip(SIDES, values)) for pair, values in mean.items()}
        | {"least mean of entries 2 to 10, text": float(other)},
    )


def ten_steps(adam_one: xr.Dataset, adam: xr.Dataset, gd_2000: xr.Dataset, gd: xr.Dataset) -> dict[str, xr.Dataset]:
    """Overlaps of W10 with M9 and last spectra over (rate, seed) by optimiser, for the draws that all rates have."""
    parts = {
        "Adam": [adam_one.expand_dims(rate=[1.0]), adam],
        "GD": [gd_2000.expand_dims(rate=[2000.0]), gd],
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


@decides(
    adam_one=ADAM_ONE,
    adam="heavy_tails/overlaps/overlaps_adam",
    gd_2000=GD_2000,
    gd="heavy_tails/overlaps/overlaps_gd",
)
def ht_42(adam_one, adam, gd_2000, gd, *, link, majority):
    """Appendices C and H: does the diagonal go with the tail, is it itself heavy-tailed, do spreads tell shapes?"""
    rates, fitted = [0.01, 0.1, 0.2, 0.5, 1.0, 10.0], [0.1, 1.0, 10.0]
    runs = ten_steps(adam_one, adam, gd_2000, gd)
    tables = {name: training_spectra.shapes_of(one[["eigenvalues"]]) for name, one in runs.items()}
    adam, bulk = runs["Adam"].sel(rate=rates), tables["Adam"].hill_excl.sel(rate=rates)
    leading = adam.diagonal.astype(float).isel(k=slice(0, 10)).mean("k")
    rho = {side: per_draw(leading.sel(side=side), bulk) for side in SIDES}
    diagonals = adam.diagonal.astype(float).sel(rate=fitted).transpose(..., "k")
    local = uniform_filter1d(diagonals.values, 51, mode="nearest")
    wins, levelled = power_law_wins(diagonals), power_law_wins(diagonals / local)
    won = stats.share(wins.values)

    def pooled(tables: Sequence[xr.DataArray]) -> np.ndarray:
        return np.concatenate([one.transpose("rate", "seed").values.ravel() for one in tables])

    labels = pooled([one.ht for one in tables.values()])
    areas = {}
    for side in SIDES:
        for measure in ("participation", "off_diagonal", "entropy"):
            scores = pooled([one[measure].sel(side=side) for one in runs.values()])
            areas[side, measure] = area(scores, labels, name=f"HT-42/{side}/{measure}")
    best = {side: max((v for (s, _), v in areas.items() if s == side), key=lambda v: v.estimate) for side in SIDES}
    return Found(
        {
            "a": claims.all_of(*(claims.below(one, link) for one in rho.values())),
            "b": True if wins.values.all() else False if claims.below(won, majority) else "partly",
            "c": "answered",
        },
        {f"correlation, {side}": one for side, one in rho.items()}
        | {f"area under the curve, {side}, {measure}": one for (side, measure), one in areas.items()}
        | {"power law better": won, "wins": int(wins.sum()), "diagonals": wins.size, "levelled": int(levelled.sum())}
        | {"best area": best, "runs": len(labels)},
    )


@decides(runs="heavy_tails/overlaps/overlaps_field", text="heavy_tails/overlaps/overlaps_field_text")
def ht_45(runs, text, *, random, outlier):
    """Figures 12 and 14: outliers in the overlaps of a student in mean-field scaling."""
    large, small = runs.sel(rate=0.04), runs.sel(rate=5e-5)
    shown = {"0.04, W1": (large, FIRST), "5e-5, W10": (small, LAST), "0.04, W0": (large, BEFORE)}
    shown |= {"0.04, W10": (large, LAST)}
    return Found(
        {
            "a": claims.all_of(has_outliers(large, FIRST, outlier), looks_random(large, BEFORE, random)),
            "b": claims.all_of(looks_random(small, LAST, random), has_outliers(large, LAST, outlier)),
        },
        {name: peaks(*each) for name, each in shown.items()}
        | {"largest at 5e-5, text": float((text.maximum.sel(rate=5e-5, pair=LAST) / LEVEL).max())},
    )


@decides(
    gd="heavy_tails/overlaps/overlaps_first_gd",
    adam="heavy_tails/overlaps/overlaps_first_adam",
    text="heavy_tails/overlaps/overlaps_first_gd_text",
)
def ht_51(gd, adam, text, *, random, outlier):
    """Figures 16 to 18: overlaps of the first update with the weights before and after it."""
    cases = {"GD 0.1": gd.sel(rate=0.1), "Adam 0.1": adam, "GD 2000": gd.sel(rate=2000.0)}
    after = [looks_random(cases["GD 0.1"], FIRST, random)]
    after += [has_outliers(cases[name], FIRST, outlier) for name in ("Adam 0.1", "GD 2000")]
    before = [(one.maximum / LEVEL).sel(pair=BEFORE).max() for one in cases.values()]
    return Found(
        {
            letter: claims.all_of(looks_random(one, BEFORE, random), found)
            for letter, one, found in zip("abc", cases.values(), after)
        },
        {f"{name}, W1": peaks(one, FIRST) for name, one in cases.items()}
        | {"largest with W0": float(max(before))}
        | {"largest of GD 2000, text": float((text.maximum.sel(rate=2000.0, pair=FIRST) / LEVEL).max())},
    )


@decides(runs=GD_2000, course="heavy_tails/overlaps/gd_2000_course", text="heavy_tails/overlaps/overlaps_gd_2000_text")
def ht_53(runs, course, text, *, half, factor):
    """Figure 21: ten steps of GD at 2000, losses and overlaps."""
    path = course.test.sel(features="code").mean("seed")
    losses = [(name, kind) for kind in course.features.values for name in ("train", "test")]
    changed = {loss: fall(course, *loss) for loss in losses}
    shrunk = by_side(runs.maximum.sel(pair=LAST) / runs.maximum.sel(pair=FIRST))
    last = runs.sel(pair=LAST)
    chances = {"maximum": last.maximum * LENGTH, "twenty": last.twenty}
    logs = {name: np.log(one.sel(side="left") / one.sel(side="right")) for name, one in chances.items()}
    sides = {name: stats.student(one.values) for name, one in logs.items()}
    least = np.log(factor)
    different = [claims.any_of(one.exceeds(least), claims.below(one, -least)) for one in sides.values()]
    return Found(
        {
            "a, train": claims.below(changed["train", "code"], 0),
            "a, test": claims.below(changed["test", "code"], 0),
            "b": claims.all_of(*(claims.below(one, half) for one in shrunk.values())),
            "c": claims.all_of(*different),
        },
        {f"change of {n}, features of the {kind}": one for (n, kind), one in changed.items()}
        | {f"largest overlap, ten steps over one, {side}": one for side, one in shrunk.items()}
        | {f"log of left over right, {name}": one for name, one in sides.items()}
        | {"mean test loss falls all the way": bool((path.diff("at") < 0).all())}
        | {"left over right": float(np.exp(sides["maximum"].estimate))}
        | {"largest after one step, text": float((text.maximum.sel(pair=FIRST) / LEVEL).max())},
    )


def fall(runs: xr.Dataset, name: str, features: str) -> Interval:
    """Change of a loss over ten steps, mean over draws with Student's interval."""
    one = runs[name].sel(features=features)
    return stats.student((one.sel(at=10) - one.sel(at=0)).values)


def spectral_distance(runs: xr.Dataset) -> np.ndarray:
    """Kolmogorov-Smirnov distance (seed,) of the spectra after ten steps for label noise 0.3 and 0.7."""
    pairs = runs.eigenvalues.sel(end=10, noise=[0.3, 0.7]).transpose("seed", "noise", "k").values
    return np.array([ks_2samp(*one).statistic for one in pairs])


@decides(runs=NOISY)
def ht_55(runs, *, alike, halved, small, large):
    """Figures 25 and 26: label noise in the spectrum and in the overlaps."""
    distance = spectral_distance(runs)
    hill = exponents(runs.eigenvalues.sel(end=10), tails.hill).transpose("noise", "seed")
    apart, between = stats.student(distance), stats.student((hill.sel(noise=0.3) - hill.sel(noise=0.7)).values)
    top = runs.maximum.isel(pair=0).transpose("noise", "side", "seed")
    ratio = by_side(top.sel(noise=0.3) / top.sel(noise=0.7))
    ends = by_side(top.sel(noise=0.7) / top.sel(noise=0.1) - 1)
    drift = stats.student((hill.sel(noise=0.7) / hill.sel(noise=0.1) - 1).values)
    return Found(
        {
            "a": claims.all_of(claims.below(apart, alike), claims.within(between, -alike, alike)),
            "b": claims.all_of(*(claims.within(one, *halved) for one in ratio.values())),
            "c": claims.all_of(claims.within(drift, -small, small), *(one.exceeds(large) for one in ends.values())),
        },
        {"distance of the spectra": apart, "difference of the exponents": between}
        | {f"largest overlap, 0.3 over 0.7, {side}": one for side, one in ratio.items()}
        | {f"largest overlap, change from 0.1 to 0.7, {side}": one for side, one in ends.items()}
        | {"exponent, change from 0.1 to 0.7": drift},
    )


@decides(runs=NOISY)
def ht_56(runs):
    """Figures 25(a), 26(a) and 28(c): losses against the noise of the labels."""
    code = runs[["train", "test"]].sel(features="code").transpose("noise", "at", "seed", ...)
    excess = code.test.sel(noise=0.7) - code.test.sel(noise=0.3)
    return Found(
        {
            "a": claims.all_of(*(rises(code[name], [0.3, 0.7]) for name in ("train", "test"))),
            "b": claims.all_of(*(rises(code[name], code.noise.values) for name in ("train", "test"))),
        },
        {f"test loss, 0.7 minus 0.3, step {at}": stats.student(excess.sel(at=at).values) for at in (0, 10)}
        | {
            "less the noise": {rho: float(code.test.sel(noise=rho, at=10).mean()) - rho**2 for rho in code.noise.values}
        },
    )


def rises(loss: xr.DataArray, levels: list[float]) -> bool | None:
    """Whether a loss (noise, at, seed) rises from level to level of the noise at every step, paired over draws."""
    steps = loss.sel(noise=list(levels)).diff("noise").transpose("noise", "at", "seed").values
    return claims.all_of(*(stats.student(draws).exceeds(0) for draws in steps.reshape(-1, steps.shape[-1])))
