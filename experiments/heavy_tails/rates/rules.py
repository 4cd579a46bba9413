r"""Rules on ten steps at every learning rate (Figures 5 and 22 to 24): HT-21 to 25, 54, 59, 71 and 74.

A *sweep* is a Dataset over seed and rate of one optimiser; rate 0 is the untrained student, so that every change is
paired with the same draw.  Intervals are Student's, over draws.  The readings of the text stand in the findings: most
of its optimisers' sweeps are a single draw.

The data of the rules: `runs`, `some` and `few`, with 8000, 4000 and 2000 points; `more`, ten more draws of Adam at
three rates; `spikes` and `further`, five of these at the other rates; `few_more`, five more with 2000 points; `text`
and `few_text`, with the optimisers of the text; `benign_text`, five draws of its Adam at three rates; `tuned`, losses
with a tuned ridge.  A number that several records hold is read from all their draws, :func:`all_draws`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import xarray as xr

from experiments.heavy_tails import readings_of_sweeps, shapes
from experiments.heavy_tails.readings import gains
from experiments.heavy_tails.readings_of_sweeps import BENIGN, GRID, HUGE, INTERVAL, TENS
from experiments.heavy_tails.teacher_student import FEATURES
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.spectra import tails
from shallow.stats import Interval

RUNS, SOME, FEW = "heavy_tails/ten_steps_8000", "heavy_tails/ten_steps_4000", "heavy_tails/ten_steps_2000"
TEXT, FEW_TEXT = "heavy_tails/ten_steps_8000_text", "heavy_tails/ten_steps_2000_text"
MORE, BENIGN_TEXT = "heavy_tails/ten_steps_8000_more", "heavy_tails/ten_steps_8000_benign"
FURTHER = "heavy_tails/rates/ten_steps_8000_further"
SPIKES, FEW_MORE = (f"heavy_tails/exponents/spike_position_{n}_more" for n in (8000, 2000))
TUNED = gains.TUNED[8000]
NOISE = shapes.noise_hill(1500, 1000)  # PL_Alpha_Hill of the untrained student
ALONG = [0.0, *HUGE]  # HT-21: untrained and the large rates
FROM_TENTH = [rate for rate in GRID if rate >= 0.1]  # HT-71
BETTER = 0.01  # HT-23: a test loss that says that training has helped, below the untrained one's, relative
UPPER = 6.0  # of PL_Alpha_KS at rate 1 with 8000 points, in a gap: 2.5 if the fit takes a quarter of the spectrum
CURVES = {"train": "training loss", "test": "test loss", "alignment": "alignment", "hill": "PL_Alpha_Hill"}
EXPONENTS = {"hill": "PL_Alpha_Hill", "ks": "PL_Alpha_KS"}


def sweep(record: xr.Dataset, rule: str = "Adam code", features: str = "code") -> xr.Dataset:
    """Ten steps of an optimiser over the nine rates, in a reading of the features, with the shapes of the spectra."""
    return readings_of_sweeps.reading(readings_of_sweeps.shaped(record), rule, features)


def benign(*records: xr.Dataset, rule: str = "Adam code", features: str = "code") -> xr.Dataset:
    """Adam untrained and at 0.01, 0.1 and 1, all draws of some records."""
    found = [sweep(record, rule, features).sel(rate=[0.0, *BENIGN]) for record in records]
    return xr.concat(found, "seed", data_vars="all", coords="minimal")


def all_draws(of: str, *found: xr.Dataset) -> xr.DataArray:
    """A quantity (seed, rate) of all draws in some sweeps, NaN at the rates that a draw has not; the first counts."""
    whole = found[0][of]
    for one in found[1:]:
        whole = whole.combine_first(one[of].reset_coords(drop=True)) if of in one else whole
    return whole


def many_draws(runs: xr.Dataset, further: xr.Dataset, *others: xr.Dataset) -> xr.Dataset:
    """Exponents, losses and alignment of Adam with 8000 points (seed, rate), of all draws."""
    found = [*map(sweep, (runs, *others)), further_sweep(further)]
    return xr.Dataset({of: all_draws(of, *found) for of in (*CURVES, "ks")})


def further_sweep(further: xr.Dataset) -> xr.Dataset:
    """Further draws (seed, rate), with the features of the code."""
    return further.sel(rule="Adam code", features="code").reset_coords(drop=True).transpose("seed", "rate")


def pooled(record: xr.Dataset) -> xr.Dataset:
    """:func:`readings_of_sweeps.pooled` of all trained students of both optimisers."""
    return readings_of_sweeps.pooled({name: sweep(record, f"{name} code") for name in ("GD", "Adam")})


def mean(values: xr.DataArray, rate: float) -> Interval:
    """Mean at a learning rate over the draws that have it."""
    return stats.student(values.sel(rate=rate).dropna("seed").values)


def means(values: xr.DataArray, rates: Sequence[float]) -> dict[str, float]:
    """Means over draws by learning rate, without intervals."""
    return {f"{rate:g}": float(values.sel(rate=rate).mean()) for rate in rates}


def change(values: xr.DataArray, start: float, end: float) -> Interval:
    """Mean change of values (seed, rate) from one rate to another, paired by draw, over the draws that have both."""
    return stats.student((values.sel(rate=end) - values.sel(rate=start)).dropna("seed").values)


def steps(values: xr.DataArray, rates: Sequence[float]) -> dict[tuple[float, float], Interval]:
    """:func:`change` between neighbouring rates."""
    return {pair: change(values, *pair) for pair in pairwise(rates)}


def falls(values: xr.DataArray, rates: Sequence[float], rise: float = 0.0) -> bool | None:
    """Whether values (seed, rate) fall from the first rate to the last, and no step rises clearly by more than `rise`.

    None if the interval of the whole change contains 0.
    """
    rising = any(step.above(rise) for step in steps(values, rates).values())
    return False if rising else claims.below(change(values, rates[0], rates[-1]), 0)


def correlations(one: xr.DataArray, other: xr.DataArray, rates: Sequence[float] = tuple(GRID)) -> np.ndarray:
    """Spearman's rank correlation of two curves (seed, rate) over the rates, in each draw that has all of them."""
    both = xr.align(*(values.sel(rate=list(rates)).dropna("seed") for values in (one, other)))
    one, other = (values.transpose("seed", "rate").values for values in both)
    return np.array([stats.rank_correlation(*pair) for pair in zip(one, other)])


def correlation(one: xr.DataArray, other: xr.DataArray, rates: Sequence[float] = tuple(GRID)) -> Interval:
    """Mean of :func:`correlations`, with an interval that ends at -1 and 1."""
    found = stats.student(correlations(one, other, rates))
    return Interval(found.estimate, max(found.low, -1.0), min(found.high, 1.0))


def best_rate(one: xr.Dataset) -> float:
    """Learning rate of the lowest mean test loss."""
    return float(one.test.sel(rate=GRID).mean("seed").idxmin())


def cuts(one: xr.Dataset) -> xr.DataArray:
    """Number of eigenvalues above the cut that PL_Alpha_KS chooses (seed, rate)."""
    values = one.eigenvalues.transpose("seed", "rate", "k")
    found = [[tails.scan(spectrum.astype(float)).size for spectrum in draw] for draw in values.values]
    return xr.DataArray(found, {"seed": one.seed.values, "rate": one.rate.values}, ["seed", "rate"])


@decides(runs=RUNS)
def ht_21(runs):
    """Figure 5, GD: at large learning rates losses and exponents fall while the alignment rises."""
    gd, text = sweep(runs, "GD code"), sweep(runs, "GD code", "text")
    whole = {name: change(gd[of], 0, 3000) for of, name in (CURVES | EXPONENTS).items()}
    parts = {name: falls(-gd[of] if of == "alignment" else gd[of], ALONG) for of, name in (CURVES | EXPONENTS).items()}
    return Found(
        parts,
        {f"{name}, 3000 minus untrained": value for name, value in whole.items()}
        | {"alignment, 2000 minus 1000": change(gd.alignment, 1000, 2000)}
        | {f"mean {CURVES[of]}": means(gd[of], [0, 3000]) for of in ("hill", "alignment")}
        | {f"features of the text, {CURVES[of]}": change(text[of], 0, 3000) for of in ("train", "test")},
    )


@decides(runs=RUNS, further=FURTHER, more=MORE, spikes=SPIKES)
def ht_22(runs, further, more, spikes, *, tight):
    """Figure 5: with Adam the training loss goes with alignment and exponents more clearly than with GD."""
    adam, gd = many_draws(runs, further, more, spikes), sweep(runs, "GD code")
    text = sweep(runs, features="text")
    parts, numbers = {}, {"draws": len(correlations(adam.train, adam.hill))}
    for of, name, sign in (("alignment", "alignment", -1), ("hill", "PL_Alpha_Hill", 1), ("ks", "PL_Alpha_KS", 1)):
        clear = stats.student(sign * correlations(adam.train, adam[of]))
        of_gd = sign * correlations(gd.train, gd[of])
        more = stats.student(sign * correlations(*(adam[each].sel(seed=gd.seed) for each in ("train", of))) - of_gd)
        parts[name] = claims.all_of(clear.exceeds(tight), more.exceeds(0))
        numbers |= {f"{name}: Adam's, in the stated direction": clear, f"{name}: Adam's minus GD's": more}
    for name, one in {"Adam": adam, "GD": gd, "Adam, features of the text": text}.items():
        numbers[f"all three, {name}"] = [correlation(one.train, one[of]) for of in ("alignment", "hill", "ks")]
    return Found(parts, numbers)


def inside_better(found: xr.Dataset) -> dict[str, Interval]:
    """What an exponent in the document's range says of the test loss relative to that of the untrained student.

    Intervals over draws of: the mean of the runs inside minus that of those outside; the share of the runs inside that
    are at least 1 % better than untrained; the rank correlation of exponent and loss over the runs inside whose
    spectrum has changed, and over all runs inside.
    """
    rows = {
        "inside minus outside": [],
        "share 1 % better than untrained": [],
        "lower is better": [],
        "with unchanged": [],
    }
    for seed in np.unique(found.seed.values):
        one = found.isel(run=found.seed.values == seed)
        inside, gain, hill = (one[name].values for name in ("inside", "gain", "hill"))
        moved = inside & ~one.unchanged.values
        rows["inside minus outside"].append(gain[inside].mean() - gain[~inside].mean())
        rows["share 1 % better than untrained"].append((gain[inside] <= -BETTER).mean())
        rows["lower is better"].append(stats.rank_correlation(hill[moved], gain[moved]))
        rows["with unchanged"].append(stats.rank_correlation(hill[inside], gain[inside]))
    return {name: stats.student(np.array(values)) for name, values in rows.items()}


def in_range(exponents: np.ndarray) -> bool | None:
    """Whether the mean of some exponents lies in the document's range."""
    mean = stats.student(exponents)
    return claims.all_of(mean.exceeds(INTERVAL[0]), claims.below(mean, INTERVAL[1]))


def best_runs(found: xr.Dataset) -> xr.Dataset:
    """The run with the lowest test loss in every draw."""
    by_draw = [np.flatnonzero(found.seed.values == seed) for seed in np.unique(found.seed.values)]
    return found.isel(run=[draw[np.argmin(found.gain.values[draw])] for draw in by_draw])


def by_own_ridge(tuned: xr.Dataset) -> dict[str, Interval]:
    """How exponents and losses go together if every network has its own ridge constant, in both readings."""
    found = {}
    for features in FEATURES:
        for run in ("Adam 0.1", "Adam 1"):
            found[f"tuned ridge, {features}, {run}"] = gains.effect(tuned, run, "training", features)
        found[f"tuned ridge, {features}, 1 over 0.01"] = gains.change(tuned, "Adam 1", "Adam 0.01", features)
        runs = {"Adam": gains.runs_of(tuned, "Adam"), "all runs": [str(run) for run in tuned.run.values]}
        for name, some in runs.items():
            found[f"tuned ridge, {features}, rank correlation, {name}"] = gains.rank_correlations(tuned, some, features)
    return found


@decides(runs=RUNS, more=MORE, benign_text=BENIGN_TEXT, tuned=TUNED)
def ht_23(runs, more, benign_text, tuned, *, goes_with):
    """Section 5.2: an exponent in (2, 2.5) marks good generalisation, and lower is better in it."""
    adam, features = benign(runs, more), benign(runs, more, features="text")
    text, found = benign(benign_text, rule="Adam text"), pooled(runs)
    small = found.isel(run=(found.optimiser.values == "GD") & (found.rate.values <= 100))
    controls = [adam.hill.sel(rate=0).values, *(one.hill.values for _, one in small.groupby("rate"))]
    says, best = inside_better(found), best_runs(found)
    relative = adam.test / adam.test.sel(rate=0)
    by_rate = {pair: change(relative, *pair) for pair in ((0.0, 0.01), (0.01, 0.1), (0.1, 1.0), (0.01, 1.0))}
    return Found(
        {
            "a": claims.all_of(*(in_range(adam.hill.sel(rate=rate).values) for rate in BENIGN)),
            "b": claims.all_of(falls(adam.hill, BENIGN), falls(relative, BENIGN)),
            "c, better inside": claims.below(says["inside minus outside"], 0),
            "c, untrained outside": claims.opposite(claims.any_of(*map(in_range, controls))),
            "c, lower is better": says["lower is better"].exceeds(goes_with),
        },
        {f"PL_Alpha_Hill, Adam at {rate:g}": mean(adam.hill, rate) for rate in BENIGN}
        | {f"relative test loss, {b:g} minus {a:g}": one for (a, b), one in by_rate.items()}
        | says
        | {"untrained": NOISE, "outside": int((~best.inside.values).sum()), "draws": best.sizes["run"]}
        | {
            f"relative test loss, 1 minus 0.01, {name} of the text": change(one.test / one.test.sel(rate=0), 0.01, 1.0)
            for name, one in (("features", features), ("Adam", text))
        }
        | {"mean PL_Alpha_Hill, Adam of the text": means(text.hill, BENIGN)}
        | by_own_ridge(tuned)
        | {"best run with a tuned ridge": {f: gains.best_run(tuned, f) for f in FEATURES}},
    )


def by_points(runs, further, more, spikes, some, few, few_more) -> dict[int, xr.Dataset]:
    """Both exponents of Adam (seed, rate), all draws, by number of points; with 8000 also losses and alignment."""
    small = {of: all_draws(of, sweep(few), sweep(few_more)) for of in EXPONENTS}
    return {8000: many_draws(runs, further, more, spikes), 4000: sweep(some), 2000: xr.Dataset(small)}


MANY = {"runs": RUNS, "further": FURTHER, "more": MORE, "spikes": SPIKES}
ALL = MANY | {"some": SOME, "few": FEW, "few_more": FEW_MORE}


@decides(**ALL, text=TEXT)
def ht_24(runs, further, more, spikes, some, few, few_more, text, *, level, very_heavy, worse):
    """Section 5.2, Adam at rates of 1 and more, with 8000 points; other numbers of points beside."""
    adam, text = by_points(runs, further, more, spikes, some, few, few_more), sweep(text, "Adam text")
    one = adam[8000]
    tens = one.hill.sel(rate=TENS).dropna("seed")
    spread = stats.student((tens.max("rate") - tens.min("rate")).values)
    hill = {rate: mean(one.hill, rate) for rate in HUGE}
    best = best_rate(one.dropna("seed"))
    loss = {rate: mean(one.test / one.test.sel(rate=best) - 1, rate) for rate in HUGE}
    return Found(
        {
            "a": claims.below(spread, level),
            "b": falls(one.ks, TENS),
            "c": claims.all_of(*(claims.below(value, very_heavy) for value in hill.values())),
            "d": claims.all_of(*(value.exceeds(worse) for value in loss.values())),
        },
        {"range of PL_Alpha_Hill over 1, 10, 100": spread}
        | {
            f"PL_Alpha_KS, {n} points, {b:g} minus {a:g}": value
            for n, by_rate in adam.items()
            for (a, b), value in steps(by_rate.ks, TENS).items()
        }
        | {f"PL_Alpha_KS, 8000 points, at {rate:g}": mean(one.ks, rate) for rate in TENS}
        | {"PL_Alpha_KS, 8000 points, 100 minus 1": change(one.ks, 1.0, 100.0)}
        | {f"draws at {rate:g}": int(one.ks.sel(rate=rate).notnull().sum()) for rate in TENS}
        | {"upper branch at 1": int((one.ks.sel(rate=1.0) > UPPER).sum())}
        | {"PL_Alpha_KS, 8000 points, largest at 1": float(one.ks.sel(rate=1.0).max())}
        | {f"PL_Alpha_Hill at {rate:g}": value for rate, value in hill.items()}
        | {f"test loss at {rate:g} over the least": value for rate, value in loss.items()}
        | {"best rate": best, "mean PL_Alpha_Hill": means(one.hill, TENS), "mean at large": means(one.hill, HUGE)}
        | {"mean PL_Alpha_KS": {n: means(by_rate.ks, TENS) for n, by_rate in adam.items()}}
        | {f"Adam of the text, mean {EXPONENTS[of]}": means(text[of], TENS) for of in EXPONENTS},
    )


def gaps(one: xr.Dataset) -> xr.Dataset:
    """Decades of median and gap of Adam's spectra (seed, rate), and how the largest one moves the exponent."""
    middle = one["median"] if "median" in one else one.eigenvalues.median("k")
    found = {"median": np.log10(middle), "gap": np.log10(one.spike_ratio), "ratio": one.spike_ratio}
    return xr.Dataset(found | {"lift": one.hill - one.hill_excl})


@decides(**MANY, text=TEXT)
def ht_25(runs, further, more, spikes, text, *, factor, lift, alike, unlike):
    """Figure 24: spectra of Adam at 1, 10, 100 and 1000."""
    text, found = (
        sweep(text, "Adam text"),
        [gaps(one) for one in (*map(sweep, (runs, more, spikes)), further_sweep(further))],
    )
    shown = [*TENS, 1000.0]
    apart, wider = (steps(all_draws(of, *found), shown) for of in ("median", "gap"))
    lifted = {rate: mean(all_draws("lift", *found), rate) for rate in TENS}
    away = readings_of_sweeps.bulk_distances(sweep(runs), [10.0, 100.0, 1000.0])
    bulk = {rate: mean(away, rate) for rate in away.rate.values}
    strong = [claims.any_of(one.exceeds(lift), claims.below(one, -lift)) for one in lifted.values()]
    return Found(
        {
            "a": claims.all_of(*(apart[pair].exceeds(np.log10(factor)) for pair in pairwise(TENS))),
            "b": claims.any_of(*strong),
            "c": claims.all_of(*(one.exceeds(0) for one in wider.values())),
            "d, not at 10 and 100": claims.all_of(*(claims.below(bulk[rate], alike) for rate in (10.0, 100.0))),
            "d, at 1000": bulk[1000.0].exceeds(unlike),
        },
        {f"decades between medians, {a:g} to {b:g}": one for (a, b), one in apart.items()}
        | {f"PL_Alpha_Hill by the largest eigenvalue, {rate:g}": one for rate, one in lifted.items()}
        | {f"decades of the gap, {a:g} to {b:g}": one for (a, b), one in wider.items()}
        | {f"distance of the bulk from that at 1, {rate:g}": one for rate, one in bulk.items()}
        | {"mean decades between medians": [one.estimate for one in apart.values()]}
        | {"mean change by the largest": [one.estimate for one in lifted.values()]}
        | {"mean gap": means(all_draws("ratio", *found), shown), "mean gap, text": means(text.spike_ratio, shown)}
        | {
            "distance at 1000 over 100": stats.student(
                (away.sel(rate=1000.0) / away.sel(rate=100.0)).dropna("seed").values
            )
        },
    )


def moved(values: xr.DataArray, tie: float) -> xr.DataArray:
    """Change of a curve (seed, rate) against untrained; 0 where it is below a share of the curve's largest."""
    difference = (values - values.sel(rate=0)).sel(rate=GRID)
    size = np.abs(difference)
    return difference.where(size >= tie * size.max("rate"), 0.0)


def likeness(few: xr.Dataset, many: xr.Dataset, tie: float) -> dict[str, Interval]:
    """Rank correlation over the rates of the curves of two sweeps, by draw; changes too small count as ties."""
    few, many = xr.align(few, many, join="inner")
    return {of: correlation(moved(few[of], tie), moved(many[of], tie)) for of in CURVES}


@decides(few=FEW, some=SOME, runs=RUNS)
def ht_54(few, some, runs, *, tie, tight):
    """Figures 22 and 23: are the curves with fewer points like those with 8000?"""
    adam, gd = (
        {n: sweep(one, rule) for n, one in ((2000, few), (4000, some), (8000, runs))}
        for rule in ("Adam code", "GD code")
    )
    found = {
        f"{CURVES[of]} of {name}, {n} points": one
        for n in (2000, 4000)
        for name, by_n in (("GD", gd), ("Adam", adam))
        for of, one in likeness(by_n[n], by_n[8000], tie).items()
    }
    unlike = {name: one for name, one in found.items() if claims.below(one, tight)}
    gain = {n: change(one.test / one.test.sel(rate=0), 0, 1) for n, one in adam.items()}
    return Found(
        "answered",
        found
        | {f"test loss of Adam at 1 against untrained, {n} points": one for n, one in gain.items()}
        | {"curves": len(found), "alike": sum(one.exceeds(tight) is True for one in found.values())}
        | {"unlike": len(unlike), "clearly unlike": unlike}
        | {f"best_{n}": best_rate(one) for n, one in adam.items()},
    )


@decides(few=FEW, few_more=FEW_MORE, runs=RUNS, more=MORE, few_text=FEW_TEXT, benign_text=BENIGN_TEXT)
def ht_59(few, few_more, runs, more, few_text, benign_text, *, quoted, rounding, factor, absorbed, order):
    """Appendix F.4: Adam at 1 with 2000 and with 8000 points, paired where both have the draws."""
    both = [sweep(one)[["hill", "spike_ratio"]].sel(rate=[1.0]) for one in (few, few_more)]
    few, many = xr.concat(both, "seed"), benign(runs, more)
    text = sweep(few_text, "Adam text"), benign(benign_text, rule="Adam text")
    hill, (wide, narrow) = [mean(one.hill, 1) for one in (few, many)], (mean(one.spike_ratio, 1) for one in (few, many))
    near = [claims.within(one, said - rounding, said + rounding) for one, said in zip(hill, quoted)]
    first, second = xr.align(few.sel(rate=1), many.sel(rate=1), join="inner")
    heavier = stats.student((second.hill - first.hill).values)
    times = stats.student(np.log2(first.spike_ratio / second.spike_ratio).values)
    return Found(
        {
            "a": claims.all_of(*near, heavier.exceeds(0)),
            "b, direction": times.exceeds(np.log2(factor)),
            "b, absorbed": claims.below(narrow, absorbed),
            "b, order of magnitude": wide.exceeds(order**0.5),
        },
        {
            "PL_Alpha_Hill, 2000 points": hill[0],
            "PL_Alpha_Hill, 8000 points": hill[1],
            "PL_Alpha_Hill, 8000 minus 2000": heavier,
            "gap, 2000 points": wide,
            "gap, 8000 points": narrow,
            "binary logarithm of the ratio of the gaps": times,
            "hill_2000": hill[0].estimate,
            "hill_8000": hill[1].estimate,
            "gap_2000": wide.estimate,
            "gap_8000": narrow.estimate,
            "untrained": NOISE,
            "gap of singular values": [one.estimate**0.5 for one in (wide, narrow)],
            "gap, Adam of the text": [float(one.spike_ratio.sel(rate=1).mean()) for one in text],
        },
    )


@decides(**ALL)
def ht_71(runs, further, more, spikes, some, few, few_more, *, tight, rise):
    """Appendix G: from 0.1 on both exponents of Adam show one trend and do not increase, with 8000 points."""
    adam = by_points(runs, further, more, spikes, some, few, few_more)
    one = adam[8000]
    same = {n: correlation(by_rate.hill, by_rate.ks, FROM_TENTH) for n, by_rate in adam.items()}
    return Found(
        {
            "same trend": same[8000].exceeds(tight),
            "PL_Alpha_Hill does not increase": falls(one.hill, FROM_TENTH, rise),
            "PL_Alpha_KS does not increase": falls(one.ks, FROM_TENTH),
        },
        {f"rank correlation, {n} points": value for n, value in same.items()}
        | {
            f"{name}, {b:g} minus {a:g}": value
            for of, name in EXPONENTS.items()
            for (a, b), value in steps(one[of], FROM_TENTH).items()
        }
        | {f"mean {name}": means(one[of], FROM_TENTH) for of, name in EXPONENTS.items()},
    )


@decides(few=FEW, runs=RUNS)
def ht_74(few, runs, *, tight):
    """Appendix H: heavy tails of the weights show in the features; those of the code decide."""
    sweeps = {(n, of): sweep(one, features=of) for n, one in ((2000, few), (8000, runs)) for of in ("code", "text")}
    found = {key: correlation(one.hill, one.feature_hill) for key, one in sweeps.items()}
    many = sweeps[8000, "code"]
    ends = {"weights": many.hill, "code": many.feature_hill, "text": sweeps[8000, "text"].feature_hill}
    return Found(
        {f"{n} points": found[n, "code"].exceeds(tight) for n in (2000, 8000)},
        {f"{n} points, features of the {of}": one for (n, of), one in found.items()}
        | {"ends": {name: means(values, [0.0, 3000.0]) for name, values in ends.items()}},
    )
