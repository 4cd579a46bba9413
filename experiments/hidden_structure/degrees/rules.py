r"""Rules on where learning a polynomial of a hidden direction begins and ends.

HS-02, HS-27, HS-28, HS-30, HS-33, HS-34, HS-35, HS-37, HS-45, HS-51, HS-58, HS-60 and HS-67.  A run *fits* if
$R_c = 1 - \mathrm{MSE}/\mathrm{Var}(y)$ over the test points with $|v| \le 1$ is at least at a level; its predictions
are *flat* if their standard deviation there is at most a share of that of y.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np
import xarray as xr

from experiments.hidden_structure import hidden_index
from experiments.hidden_structure.alignment.kernel_paths import END
from experiments.hidden_structure.degrees import hidden_inputs, scores
from experiments.hidden_structure.runs import everywhere, of_all_units, rc
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.stats import Interval

#: The author's scale factors, as logged, and how well they have to come out.
LOGGED, EXACT = {"independent": 0.0473104864, "correlated": 0.0047323615, "given": 0.46333}, 1e-5
FROM_X, RECORDS = "hidden_structure/from_x", "hidden_structure/alignment"
MACHINES, ORTHANTS = "hidden_structure/polynomial_machines", "hidden_structure/orthants"


# Measures of runs.


def flat(runs: xr.Dataset, most: float, part: str | list[str] = "test", range: str = "bulk") -> xr.DataArray:
    """Whether the predictions for points of a part, with |v| <= 1 or all, hardly vary."""
    return runs.spread.sel(part=part, range=range, drop=True) <= most


def fitting(runs: xr.Dataset, least: float) -> Interval:
    """Share of the runs that fit."""
    return stats.share(rc(runs) >= least)


def by_degree(runs: xr.Dataset, least: float) -> dict[int, Interval]:
    """Share of the runs that fit, for each degree."""
    return {int(degree): fitting(runs.sel(degree=degree), least) for degree in runs.degree.values}


def best(runs: xr.Dataset, least: float, axes: tuple[str, ...] = ("width", "decay")) -> Interval:
    """Share of the runs that fit with the configuration, a point of some axes, with which most of them do."""
    stacked = runs.stack(configuration=[axis for axis in axes if axis in runs.dims])
    shares = [fitting(stacked.isel(configuration=i), least) for i in range(stacked.sizes["configuration"])]
    return max(shares, key=lambda found: found.estimate)


def estimates(shares: Mapping[int, Interval]) -> dict[int, float]:
    """The shares by degree, without their intervals."""
    return {degree: found.estimate for degree, found in shares.items()}


# The window, and what the setting decides before anything is trained.


@decides(
    sizes=f"{ORTHANTS}/orthant_widths_3",
    widest=f"{ORTHANTS}/orthant_width_256",
    authors=f"{ORTHANTS}/orthants",
    runs=FROM_X,
)
def hs_02(sizes, widest, authors, runs, *, learnt, lower, fit, majority):
    """Section 3: a window of sizes (three layers, empty orthant) and one of targets (degree)."""
    three = (sizes.empty, authors.empty.sel(depth=3).expand_dims(width=[64]), widest.empty)
    flags = {int(w): (of.sel(moment="last", width=w) >= learnt).values for of in three for w in of.width.values}
    narrow, *between, wide = sorted(flags)
    inner = max(between, key=lambda width: flags[width].mean())
    drops = {name: stats.newcombe(flags[inner], flags[w]) for name, w in (("narrowest", narrow), ("widest", wide))}
    fits = by_degree(runs.sel(degree=[3, 9]), fit)
    upper = drops["widest"].above(lower) or None  # a range without an upper end says where it does not lie
    parts = {
        "a": claims.all_of(drops["narrowest"].exceeds(lower), upper),
        "b": claims.all_of(fits[3].exceeds(majority), claims.below(fits[9], majority)),
    }
    return Found(
        parts,
        {"learn": {w: int(of.sum()) for w, of in flags.items()}, "runs": {w: of.size for w, of in flags.items()}}
        | {"best width": inner, "lower": drops, "fit": fits},
        verdict=claims.all_of(*parts.values()),
    )


def both_inputs() -> dict[str, xr.Dataset]:
    """What is measured of independent and of correlated inputs."""
    return {case: hidden_inputs.inputs(case) for case in ("independent", "correlated")}


@decides(found=both_inputs)
def hs_27(found, *, entries, mean_square, correlated, independent, equal):
    """Section 5.1.1: scale, covariance and hidden coordinate of both kinds of inputs."""
    plain, tied = found["independent"], found["correlated"]
    ratio = {case: float(one.along / one.across) for case, one in found.items()}
    scaled = [
        abs(float(one.reach) - 2) <= EXACT and abs(float(one.scale) / LOGGED[case] - 1) <= EXACT
        for case, one in found.items()
    ]
    error, wanted = float(plain.mean_square_error), {"correlated": correlated, "independent": independent}
    sampled = float(plain.largest_error) < entries and mean_square[0] < error < mean_square[1]
    alike = abs(float(tied.deviation / plain.deviation) - 1) <= equal
    return Found(
        {
            "a": all(scaled) and sampled,
            "b": alike and all(abs(ratio[case] - value) <= slack for case, (value, slack) in wanted.items()),
        },
        {"1/s²": float(plain.inverse_square), "entries off by": error**0.5, "ratio": ratio}
        | {"deviation": {case: float(one.deviation) for case, one in found.items()}},
    )


def random_polynomials() -> dict[float, dict[int, xr.Dataset]]:
    """Polynomials with random coefficients by the standard deviation of v, scaled and not, and by degree."""
    return {
        deviation: {degree: hidden_inputs.random_coefficients(degree, deviation) for degree in range(3, 10)}
        for deviation in (0.473, 10.0)
    }


@decides(found=random_polynomials)
def hs_28(found, *, line, times, majority):
    """Footnote 1: polynomials with random coefficients, at both scales of v; found[deviation][degree]."""
    drawn = {f"{deviation:g}": list(by.values()) for deviation, by in found.items()}
    ratios = {deviation: list(map(spread_of_variances, several)) for deviation, several in drawn.items()}
    linear = [[stats.share(one.linear >= line).exceeds(majority) for one in several] for several in drawn.values()]
    varied = [[ratio.exceeds(times) for ratio in several] for several in ratios.values()]
    return Found(
        {name: claims.any_of(*(claims.all_of(*one) for one in of)) for name, of in (("a", linear), ("b", varied))},
        {"line": {deviation: [float(one.linear.median()) for one in several] for deviation, several in drawn.items()}}
        | {"ratio": ratios},
    )


def spread_of_variances(one: xr.Dataset) -> Interval:
    """95th over 5th percentile of the variances over draws, bootstrap over the draws."""

    def ratio(values: np.ndarray, axis: int) -> np.ndarray:
        low, high = np.quantile(values, [0.05, 0.95], axis=axis)
        return high / low

    return stats.bootstrap(one.variance.values, ratio, name="spread of variances", resamples=400)


def parities() -> dict[int, xr.Dataset]:
    """Coefficients of the wrong parity and slope at 0, by degree."""
    return {degree: hidden_inputs.parity(degree) for degree in range(3, 21)}


@decides(found=parities)
def hs_30(found):
    """Section 5.2.1: coefficients of the wrong parity, and the slope at 0."""
    nothing = 1e-9
    slopes = {degree: float(one.slope) for degree, one in found.items()}
    odd = min(slope for degree, slope in slopes.items() if degree % 2)
    even = [slope for degree, slope in slopes.items() if not degree % 2]
    largest = max(*even, *(float(one.wrong) for one in found.values()))
    return Found(largest < nothing < odd, {"largest that should vanish": largest, "slopes of odd degrees": odd})


@decides(mixed=partial(hidden_index.published, "independent"), given=partial(hidden_index.published, "given"))
def hs_37(mixed, given):
    """Section 5.2.2: is v, where it is given, that of the other experiment?"""
    apart = float(np.abs(np.sort(mixed.v) - np.sort(given.v)).max())
    return Found(
        apart <= EXACT and abs(mixed.scale / given.scale - 1) <= EXACT,
        {"apart": apart, "scale": [mixed.scale, given.scale]},
    )


def published() -> dict[str, hidden_index.Draw]:
    """The data of the published code and its seeds."""
    return {case: hidden_index.published(case) for case in LOGGED}


@decides(drawn=published)
def hs_51(drawn):
    """Section 6: what the published code and its seeds determine."""
    return Found(
        "answered", {"as logged": {case: abs(drawn[case].scale / scale - 1) <= EXACT for case, scale in LOGGED.items()}}
    )


# Where learning ends.


@decides(runs=FROM_X, others=f"{RECORDS}/degree_8")
def hs_33(runs, others, *, fit, still, some, poor, majority):
    """Section 5.2.1, Figure 3: degree 7 is fitted, 8 is a constant, 8 and 9 neither align nor fit."""
    seventh, eighth = runs.sel(degree=7), runs.sel(degree=8)
    both = stats.share((rc(seventh) >= fit) & (rc(seventh, "train") >= fit))
    same = stats.share(flat(eighth, still))
    failed = {}
    for degree in (8, 9):
        one = runs.sel(degree=degree)
        turned = one.aligned.fillna(0) >= some  # no direction is known where every unit has collapsed
        failed[degree] = stats.share(~turned & (flat(one, still) | (rc(one) <= poor)))
    return Found(
        {
            "a": both.exceeds(majority),
            "b": same.exceeds(majority),
            "c": claims.all_of(*(found.exceeds(majority) for found in failed.values())),
        },
        {"degree 7 fits": both, "median of degree 7": float(rc(seventh).median()), "degree 8 is flat": same}
        | {"deviation": float(eighth.spread.sel(part="test", range="bulk").max())}
        | {"neither": failed, "best other": best(others, fit)},
    )


@decides(gaussian=f"{MACHINES}/gaussian_author", machines=f"{MACHINES}/machines")
def hs_45(gaussian, machines, *, memory, even, majority):
    """Section 5.2.4: at degrees 8 and 9 the Gaussian machine memorises, that on the tangent kernel is constant."""
    parts, numbers = {}, {}
    for letter, degree in (("a", 8), ("b", 9)):
        one, tangent = gaussian.sel(degree=degree), machines.sel(degree=degree, machine="last")
        test, train = (one.sel(part=part, range="all") for part in ("test", "train"))
        left = train.mse / (test.mse / (1 - test.r2))
        found = {
            "memorises": stats.share(left <= memory),
            "flat on new data": stats.share(flat(one, even, range="all")),
            "tangent": stats.share(flat(tangent, even, ["train", "test"], "all").all("part")),
        }
        parts[letter] = claims.all_of(*(of.exceeds(majority) for of in found.values()))
        numbers[f"degree {degree}"] = found | {"left": float(left.median())}
    return Found(parts, numbers)


# Correlated inputs.


@decides(
    runs="hidden_structure/from_correlated_x",
    shuffled="hidden_structure/shuffled_labels",
    long=f"{RECORDS}/long_correlated",
)
def hs_34(runs, shuffled, long, *, fit, some, majority):
    """Section 5.2.1: on correlated inputs degrees up to 11 are fitted, 12 and more are not, and units align."""
    last, tested = 11, [3, 6, 8, 9, 10, 11]
    fits = by_degree(runs, fit)
    ends = (of.exceeds(majority) if degree <= last else claims.below(of, majority) for degree, of in fits.items())
    aligned = {degree: of_all_units(runs.sel(degree=degree)) for degree in tested}
    turned = (stats.share(units >= some).exceeds(majority) for units in aligned.values())
    above = runs.mean_cosine.sel(degree=shuffled.degree, run=shuffled.run) - shuffled.mean_cosine
    return Found(
        {"a": claims.all_of(*ends), "b": claims.all_of(*turned)},
        {"fit": estimates(fits), "runs": runs.sizes["run"], "everywhere": everywhere(runs, range(8, 12))}
        | {"aligned": {degree: float(units.median()) for degree, units in aligned.items()}}
        | {"aligned, shuffled": float(shuffled.aligned.max())}
        | {"cosine": min((stats.student(above.sel(degree=d).values) for d in tested), key=lambda of: of.low)}
        | {"without decay": {d: share for d, share in estimates(by_degree(long, fit)).items() if d > last}}
        | {"without decay, everywhere": everywhere(long, long.degree.values)},
    )


@decides(machines=f"{MACHINES}/machines_correlated")
def hs_35(machines):
    """Section 5.2.1: on correlated inputs the Gaussian machine is ahead of the tangent one at every degree."""
    ratios = lead(machines)
    return Found(
        claims.all_of(*(of.exceeds(1) for of in ratios.values())),
        {"ratio": estimates(ratios), "tangent ahead": [degree for degree, of in ratios.items() if of.below(1)]}
        | {"Gaussian ahead": [degree for degree, of in ratios.items() if of.above(1)]},
    )


def lead(machines: xr.Dataset) -> dict[int, Interval]:
    """Cross-validated error of the tangent machine over that of the Gaussian one by degree, mean over paired runs."""
    tangent, gaussian = (machines.cv.sel(machine=name, drop=True) for name in ("last", "gaussian"))
    ratio = tangent / gaussian
    return {int(degree): stats.geometric(ratio.sel(degree=degree).values) for degree in ratio.degree.values}


# A weight decay that does not decay.


@decides(runs=FROM_X, machines=f"{MACHINES}/machines", free=f"{RECORDS}/degree_8")
def hs_58(runs, machines, free, *, some, still, little, much, majority):
    """Figure 13: at degree 8 nothing is aligned, predictions are constant, and the weights are hardly updated."""
    runs, machines = runs.sel(degree=8), machines.sel(degree=8, machine="last")
    idle = stats.share((runs.aligned.fillna(0) < some) & flat(runs, still))
    machine = stats.share(flat(machines, still))
    changes = {10: stats.student(runs.change.values), 0: stats.student(free.change.sel(width=256, decay=0).values)}
    hardly = claims.all_of(*(claims.below(of, little) for of in changes.values()))
    moved = all(of.exceeds(much) for of in changes.values())
    return Found(
        {
            "a": claims.all_of(idle.exceeds(majority), machine.exceeds(majority)),
            "b": True if hardly else False if moved else None,
        },
        {"idle networks": idle, "flat machines": machine, "change": changes}
        | {"norm at the end": float(runs.growth.median()), "unevenness": float(runs.unevenness.median())},
    )


#: What HS-60 and the page need of the record of ten runs and of that of thirty more.
TWELVE = (
    "path_largest_cosine", "path_mean_cosine", "path_norm", "path_change", "later_change", "ntk_deviation",
    "ntk_r2", "ntk_spread", "network_spread", "final_deviation", "final_spread", "r",
)  # fmt: skip


def twelve(parts: Iterable[xr.Dataset]) -> xr.Dataset:
    """All runs of the network of degree 12, correlated inputs, and of its kernel machines."""
    return xr.concat([part[list(TWELVE)] for part in parts], "run")


def figures_17_to_19(paths: xr.Dataset, limits: Mapping[str, float]) -> dict[str, dict[str, xr.DataArray]]:
    """The conditions of Figures 17, 18 and 19, by figure and in words, each (run,); `limits` are those of HS-60."""
    where = {"part": "test", "range": "bulk"}
    fit, spread = paths.ntk_r2.sel(where), paths.ntk_spread.sel(where)
    deviation, cosine, even = paths.ntk_deviation, paths.path_mean_cosine, limits["even"]
    return {
        "a": {
            f"no cosine above {limits['small']:g}": paths.path_largest_cosine.sel(epoch=0) <= limits["small"],
            "machine spreads": deviation.sel(moment=0) >= limits["spreads"] * paths.final_deviation,
            "no fit before": fit.sel(moment=0) <= limits["poor"],
        },
        "b": {
            "mean cosine doubles": cosine.sel(epoch=1) >= limits["doubles"] * cosine.sel(epoch=0),
            "machine narrows": deviation.sel(moment=0) >= limits["narrows"] * deviation.sel(moment=1),
            "both flat": (spread.sel(moment=1) <= even) & (paths.network_spread.sel(range="bulk", moment=1) <= even),
        },
        "d": {
            "machine spreads again": spread.sel(moment=END) >= limits["again"] * spread.sel(moment=1),
            "network flat": paths.final_spread.sel(where) <= limits["still"],
            "no fit at the end": fit.sel(moment=END) <= limits["weak"],
        },
    }


@decides(paths=(f"{RECORDS}/kernels_12", f"{RECORDS}/kernels_12_more"))
def hs_60(paths, *, small, spreads, poor, doubles, narrows, even, again, still, weak, often, common, slow, fast):
    """Figures 17 to 19: degree 12 with correlated inputs, before training, after an epoch, and at the end."""
    limits = {"small": small, "spreads": spreads, "poor": poor, "doubles": doubles, "narrows": narrows, "even": even}
    limits |= {"again": again, "still": still, "weak": weak}
    paths = twelve(paths)
    conditions = figures_17_to_19(paths, limits)
    whole = {letter: stats.share(xr.concat(list(of.values()), "of").all("of")) for letter, of in conditions.items()}
    single = {name: stats.share(flags) for of in conditions.values() for name, flags in of.items()}
    later = stats.student((paths.later_change / paths.path_change.sel(epoch=1)).values)
    cosine = paths.path_mean_cosine
    return Found(
        {
            "a": whole["a"].exceeds(often),
            "b": whole["b"].exceeds(often),
            "c": True if claims.below(later, slow) else False if later.exceeds(fast) else None,
            "d": whole["d"].exceeds(common),
        },
        {"pictures": whole, "single": {name: one for name, one in single.items() if one.estimate < 1}}
        | {"runs": paths.sizes["run"], "change per epoch": later}
        | {"rise": stats.student((cosine.sel(epoch=1) / cosine.sel(epoch=0)).values)},
    )


# The network or the selection.

SETTING = {True: "the selection", False: "the network", None: "open"}


@decides(
    eight=f"{RECORDS}/degree_8",
    beyond=f"{RECORDS}/beyond_8",
    points=f"{RECORDS}/more_points_one_scale",
    correlated=f"{RECORDS}/long_correlated",
    given=f"{RECORDS}/from_v_at_unit_rate",
    orthants=f"{ORTHANTS}/orthant_selection",
    own=FROM_X,
    tied=f"{RECORDS}/correlated_small_decay",
    own_tied="hidden_structure/from_correlated_x",
    own_given="hidden_structure/from_v",
)
def hs_67(
    eight, beyond, points, correlated, given, orthants, own, tied, own_tied, own_given,
    *, fit, half, informative, majority,
):  # fmt: skip
    """What makes the failures: the network, the configurations that were selected, or the number of points."""
    at_8, past = best(eight, fit), by_degree(beyond, fit)
    few, many = (by_degree(points.sel(points=n), fit) for n in (8000, 32_000))
    long = {degree: fitting(correlated.sel(degree=degree), fit) for degree in (12, 13)}
    rates = {degree: best(given.sel(degree=degree), half) for degree in (19, 20)}
    rank, at_chance, in_orthant, winners = ten_epochs(orthants)
    enough = [claims.below(past[9], majority), many[9].exceeds(majority), claims.below(few[9], majority)]
    ninth = "the number of points" if all(enough) else "the network" if many[9].below(majority) else "open"
    pools = scores.in_store(eight, own, tied, own_tied, given, own_given)
    answers = {
        "a": SETTING[at_8.exceeds(majority)],
        "b": "the selection" if past[9].exceeds(majority) else ninth,
        "c": SETTING[claims.all_of(*(of.exceeds(majority) for of in long.values()))],
        "d": (SETTING | {True: "the learning rate"})[claims.all_of(*(of.exceeds(majority) for of in rates.values()))],
        "e": {True: "informative", False: "noise", None: "open"}[rank.exceeds(informative)],
    }
    return Found(
        {letter: "undecided" if answer == "open" else "answered" for letter, answer in answers.items()},
        {"what decides": answers, "degree 8": at_8, "small decay": estimates(past), "8,000": few, "32,000": many}
        | {"correlated": long, "given": rates, "rank": rank, "rank at chance": at_chance}
        | {"rank in the empty orthant": in_orthant, "chosen": winners}
        | {"learn": {degree: int((table.fit >= half).sum()) for degree, table in pools.items()}}
        | {look: {degree: scores.ahead(table, look, half) for degree, table in pools.items()} for look in scores.LOOKS}
        | {
            f"picked, {look}": {d: int((scores.picked(t, look) >= half).sum()) for d, t in pools.items()}
            for look in scores.LOOKS
        }
        | {"everywhere": everywhere(correlated, (12, 13)) | everywhere(given, (19, 20))},
    )


def ten_epochs(orthants: xr.Dataset) -> tuple[Interval, Interval, Interval, list[str]]:
    """What the accuracy after ten epochs says: rank correlations with the end, and the configurations that win.

    With the final accuracy over all configurations; over those within 0.02 of chance after ten epochs; with the final
    accuracy in the empty orthant.
    """
    early, end = orthants.selection, orthants.held_out.sel(moment="last")
    now, then = (values.mean("run").values.ravel() for values in (early, end))
    there = orthants.empty.sel(moment="last").mean("run").values.ravel()
    idle = np.abs(now - 0.5) <= 0.02
    best_of = [early.sel(run=run).stack(c=("width", "rate", "decay")).idxmax("c").item() for run in early.run.values]
    return (
        stats.spearman(now, then, name="HS-67"),
        stats.spearman(now[idle], then[idle], name="HS-67 idle"),
        stats.spearman(now, there, name="HS-67 E"),
        [f"{width:.0f} / {rate:g} / {decay:g}" for width, rate, decay in best_of],
    )
