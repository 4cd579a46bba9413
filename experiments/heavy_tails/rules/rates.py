r"""Rules on ten steps at every learning rate (Figures 5 and 22 to 24): HT-21 to 25, 54, 59, 71 and 74.

A *sweep* is a Dataset over seed and rate of one optimiser; rate 0 is the untrained student, so that every change is
paired with the same draw.  Intervals are Student's, over draws.  The readings of the text stand in the findings: most
of its optimisers' sweeps are a single draw.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import xarray as xr

from experiments.heavy_tails import shapes, sweep_rules
from experiments.heavy_tails.sweep_rules import BENIGN, GRID, HUGE, INTERVAL, TENS
from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.spectra import tails
from shallow.stats import Interval

NOISE = shapes.noise_hill(1500, 1000)  # PL_Alpha_Hill of the untrained student
ALONG = [0.0, *HUGE]  # HT-21: untrained and the large rates
FROM_TENTH = [rate for rate in GRID if rate >= 0.1]  # HT-71
TIGHT = 0.8  # of a rank correlation over the learning rates
BETTER = 0.01  # HT-23: a test loss that says that training has helped, below the untrained one's, relative
LEVEL, VERY_HEAVY, WORSE = 0.1, 1.8, 0.05  # HT-24
ALIKE, UNLIKE = 0.05, 0.10  # HT-25: distances of the bulk at 10 and 100, and at 1000
TIE = 0.05  # HT-54: share of a curve's largest change below which it has not changed
QUOTED, ROUNDING, FAR = (1.8, 1.9), 0.05, 10**0.5  # HT-59
RISE = 0.03  # HT-71: allowed to PL_Alpha_Hill
CURVES = {"train": "training loss", "test": "test loss", "alignment": "alignment", "hill": "PL_Alpha_Hill"}
EXPONENTS = {"hill": "PL_Alpha_Hill", "ks": "PL_Alpha_KS"}


@functools.cache
def recorded(name: str) -> tuple[xr.Dataset, xr.Dataset]:
    """A record of the chapter and the shapes of its spectra."""
    record = records.load(f"heavy_tails/{name}")
    return record, shapes.shape_table(record.eigenvalues)


@functools.cache
def sweep(optimiser: str, n: int = 8000, *, reading: str = "code", features: str = "code") -> xr.Dataset:
    """Ten steps of "GD" or "Adam" over the nine rates, in a reading of the optimiser and one of the features."""
    name = f"ten_steps_{n}" + ("_text" if reading == "text" else "")
    return sweep_rules.shaped(*recorded(name), f"{optimiser} {reading}", features)


@functools.cache
def benign(reading: str = "code", features: str = "code") -> xr.Dataset:
    """Adam untrained and at 0.01, 0.1 and 1 with 8000 points: fifteen draws of the code's, five of the text's."""
    names = {"code": ("ten_steps_8000", "ten_steps_8000_more"), "text": ("ten_steps_8000_benign",)}[reading]
    found = [sweep_rules.shaped(*recorded(name), f"Adam {reading}", features) for name in names]
    return xr.concat([one.sel(rate=[0.0, *BENIGN]) for one in found], "seed", data_vars="all", coords="minimal")


@functools.cache
def runs(features: str = "code") -> xr.Dataset:
    """:func:`sweep_rules.pooled` of all trained students with 8000 points."""
    return sweep_rules.pooled({name: sweep(name, features=features) for name in ("GD", "Adam")})


def change(values: xr.DataArray, start: float, end: float) -> Interval:
    """Mean change of values (seed, rate) from one rate to another, paired by draw."""
    return stats.student((values.sel(rate=end) - values.sel(rate=start)).values)


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
    """Spearman's rank correlation of two curves (seed, rate) over the rates, in each draw."""
    one, other = (values.sel(rate=list(rates)).transpose("seed", "rate").values for values in (one, other))
    return np.array([stats.rank_correlation(*pair) for pair in zip(one, other)])


def correlation(one: xr.DataArray, other: xr.DataArray, rates: Sequence[float] = tuple(GRID)) -> Interval:
    """Mean of :func:`correlations`, with an interval that ends at -1 and 1."""
    found = stats.student(correlations(one, other, rates))
    return Interval(found.estimate, max(found.low, -1.0), min(found.high, 1.0))


def gap(one: xr.Dataset, rate: float) -> Interval:
    """Largest eigenvalue over the second."""
    return stats.student(one.spike_ratio.sel(rate=rate).values)


def best_rate(one: xr.Dataset) -> float:
    """Learning rate of the lowest mean test loss."""
    return float(one.test.sel(rate=GRID).mean("seed").idxmin())


def means(values: xr.DataArray, rates: Sequence[float], spec: str = ".2f") -> str:
    """Means over draws at some rates, as text."""
    return ", ".join(format(float(values.sel(rate=rate).mean()), spec) for rate in rates)


def cuts(one: xr.Dataset) -> xr.DataArray:
    """Number of eigenvalues above the cut that PL_Alpha_KS chooses (seed, rate), at the nine rates."""
    values = one.eigenvalues.sel(rate=GRID).transpose("seed", "rate", "k")
    found = [[tails.scan(spectrum.astype(float)).size for spectrum in draw] for draw in values.values]
    return xr.DataArray(found, {"seed": one.seed.values, "rate": GRID}, ["seed", "rate"])


def named(parts: Mapping[str, bool | None], holds: bool | None) -> str:
    """The parts with one outcome, as a list in words; "nothing" if there are none."""
    *first, last = [name for name, one in parts.items() if one is holds] or ["nothing"]
    return f"{', '.join(first)} and {last}" if first else last


def ht_21(gd: xr.Dataset | None = None, text: xr.Dataset | None = None) -> Outcome:
    """Figure 5, GD: at large learning rates losses and exponents fall while the alignment rises.

    gd, text: sweeps of GD with the features of the code and of the text.
    """
    gd = sweep("GD") if gd is None else gd
    text = sweep("GD", features="text") if text is None else text
    parts = {
        "training loss": falls(gd.train, ALONG),
        "test loss": falls(gd.test, ALONG),
        "alignment": falls(-gd.alignment, ALONG),
        "PL_Alpha_Hill": falls(gd.hill, ALONG),
        "PL_Alpha_KS": falls(gd.ks, ALONG),
    }
    whole = {name: change(gd[of], 0, 3000) for of, name in (CURVES | EXPONENTS).items()}
    dip, other = change(gd.alignment, 1000, 2000), {of: change(text[of], 0, 3000) for of in ("train", "test")}
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: with large learning rates of GD both losses and both exponents fall while the "
            "alignment rises.",
            "contradicted": "No: with large learning rates of GD losses, alignment and exponents do not move as "
            "described.",
            "undecided": "These runs do not settle how losses, alignment and exponents move with large learning rates.",
            "partly": f"In part: with GD at large rates {named(parts, True)} move as described, {named(parts, False)} "
            f"not steadily; {named(parts, None)} is unclear.",
        },
        finding=f"from the untrained network to GD at 3000 the training loss changes by {whole['training loss']:.3f} "
        f"and the test loss by {whole['test loss']:.3f}, PL_Alpha_Hill goes from {means(gd.hill, [0])} to "
        f"{means(gd.hill, [3000])}, and the alignment from {means(gd.alignment, [0], '.4f')} to "
        f"{means(gd.alignment, [3000], '.4f')}, but from 1000 to 2000 it changes by {dip:.4f}; the change of "
        f"PL_Alpha_KS is uncertain, {whole['PL_Alpha_KS']:.0f}; with the features of the text the losses change by "
        f"{other['train']:.3f} (training) and {other['test']:.3f} (test)",
        evidence={f"{name}, 3000 minus untrained": value for name, value in whole.items()}
        | {"alignment, 2000 minus 1000": dip},
    )


def ht_22(adam: xr.Dataset | None = None, gd: xr.Dataset | None = None, text: xr.Dataset | None = None) -> Outcome:
    """Figure 5: with Adam the training loss goes with alignment and exponents more clearly than with GD.

    adam, gd: sweeps with the features of the code; text: Adam with those of the text.
    """
    adam, gd = (sweep(name) if one is None else one for name, one in (("Adam", adam), ("GD", gd)))
    text = sweep("Adam", features="text") if text is None else text
    parts, evidence = {}, {}
    for of, name, sign in (("alignment", "alignment", -1), ("hill", "PL_Alpha_Hill", 1), ("ks", "PL_Alpha_KS", 1)):
        by_draw = [sign * correlations(one.train, one[of]) for one in (adam, gd)]
        clear, more = stats.student(by_draw[0]), stats.student(by_draw[0] - by_draw[1])
        parts[name] = claims.all_of(clear.exceeds(TIGHT), more.exceeds(0))
        evidence |= {f"{name}: Adam's, in the stated direction": clear, f"{name}: Adam's minus GD's": more}
    listed = {
        name: ", ".join(str(correlation(one.train, one[of])) for of in ("alignment", "hill", "ks"))
        for name, one in (("Adam", adam), ("GD", gd), ("text", text))
    }
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: over the learning rates of Adam alignment and exponents go with the training loss, "
            "more clearly than with GD.",
            "contradicted": "No: over the learning rates of Adam neither alignment nor exponents go closely with the "
            "training loss.",
            "otherwise": f"In part: clearer than with GD for {named(parts, True)}, not for {named(parts, False)}.",
        },
        finding=f"rank correlation over nine rates of the training loss with alignment, PL_Alpha_Hill and PL_Alpha_KS: "
        f"{listed['Adam']} with Adam and {listed['GD']} with GD; with the features of the text {listed['text']} with "
        "Adam",
        evidence=evidence,
    )


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


def ht_23(
    adam: xr.Dataset | None = None,
    found: xr.Dataset | None = None,
    text: xr.Dataset | None = None,
    features: xr.Dataset | None = None,
) -> Outcome:
    """Section 5.2: an exponent in (2, 2.5) marks good generalisation, and lower is better in it.

    adam, text: Adam of the code and of the text, untrained and at 0.01, 0.1 and 1; features: Adam of the code with the
    features of the text; found: all runs, pooled.
    """
    adam, found = benign() if adam is None else adam, runs() if found is None else found
    text = benign("text") if text is None else text
    features = benign(features="text") if features is None else features
    hill = {rate: stats.student(adam.hill.sel(rate=rate).values) for rate in BENIGN}
    trained = claims.all_of(*(in_range(adam.hill.sel(rate=rate).values) for rate in BENIGN))
    small = found.isel(run=(found.optimiser.values == "GD") & (found.rate.values <= 100))
    controls = [adam.hill.sel(rate=0).values, *(one.hill.values for _, one in small.groupby("rate"))]
    separates = claims.opposite(claims.any_of(*map(in_range, controls)))
    says, best = inside_better(found), best_runs(found)
    outside = int((~best.inside.values).sum())
    relative = adam.test / adam.test.sel(rate=0)
    by_rate = {pair: change(relative, *pair) for pair in ((0.0, 0.01), (0.01, 0.1), (0.1, 1.0), (0.01, 1.0))}
    of_text, of_features = (change(one.test / one.test.sel(rate=0), 0.01, 1.0) for one in (text, features))
    falling = claims.all_of(falls(adam.hill, BENIGN), falls(relative, BENIGN))
    along = "In part: exponent and loss fall together, but " if falling else "No: "
    return Outcome(
        parts={
            "a": trained,
            "b": falling,
            "c, better inside": claims.below(says["inside minus outside"], 0),
            "c, untrained outside": separates,
            "c, lower is better": says["lower is better"].exceeds(0.5),
        },
        answer={
            "reproduced": "Yes: networks with an exponent between 2 and 2.5 generalise better, and a lower one in this "
            "range is better still.",
            "undecided": "These runs do not settle whether an exponent between 2 and 2.5 marks good generalisation.",
            "otherwise": f"{along}the range holds the untrained network, and not the best one in {outside} of "
            f"{best.sizes['run']} draws.",
        },
        finding=f"PL_Alpha_Hill is {NOISE:.3f} untrained and {', '.join(map(str, hill.values()))} with Adam at 0.01, "
        f"0.1 and 1; the test loss, relative to untrained, changes by {by_rate[0.0, 0.01]:.1%} up to 0.01 and by "
        f"{by_rate[0.01, 1.0]:.1%} from there to 1; over all runs of both optimisers it is "
        f"{says['inside minus outside']:.0%} inside the range against outside, and the rank correlation of exponent "
        f"and loss inside is {says['lower is better']} without and {says['with unchanged']} with unchanged spectra; "
        f"from 0.01 to 1 the loss changes by {of_features:.0%} with the features of the text, and by {of_text:.0%} "
        f"with Adam as the text defines it, for which PL_Alpha_Hill is {means(text.hill, BENIGN)}",
        evidence={f"PL_Alpha_Hill, Adam at {rate:g}": one for rate, one in hill.items()}
        | {f"relative test loss, {b:g} minus {a:g}": one for (a, b), one in by_rate.items()}
        | says,
    )


def ht_24(adam: Mapping[int, xr.Dataset] | None = None, text: xr.Dataset | None = None) -> Outcome:
    """Section 5.2, Adam at rates of 1 and more.

    adam: sweeps by number of points, 8000 decides; text: the text's Adam with 8000 points.
    """
    adam = {n: sweep("Adam", n) for n in (8000, 4000, 2000)} if adam is None else adam
    text = sweep("Adam", reading="text") if text is None else text
    one = adam[8000]
    level = one.hill.sel(rate=TENS)
    spread = stats.student((level.max("rate") - level.min("rate")).values)
    hill = {rate: stats.student(one.hill.sel(rate=rate).values) for rate in HUGE}
    best = best_rate(one)
    worse = {rate: stats.student((one.test.sel(rate=rate) / one.test.sel(rate=best) - 1).values) for rate in HUGE}
    ks = {n: falls(some.ks, TENS) for n, some in adam.items()}
    fewer = [f"{means(some.ks, TENS, '.1f')} with {n}" for n, some in adam.items() if n != 8000]
    return Outcome(
        parts={
            "a": claims.below(spread, LEVEL),
            "b": ks[8000],
            "c": claims.all_of(*(claims.below(value, VERY_HEAVY) for value in hill.values())),
            "d": claims.all_of(*(value.exceeds(WORSE) for value in worse.values())),
        },
        answer={
            "reproduced": "Yes: up to 100 only PL_Alpha_KS falls; above, PL_Alpha_Hill is below 1.8 and losses are "
            "worse.",
            "otherwise": "In part: PL_Alpha_Hill stays level up to 100 and drops above without better losses, but "
            "PL_Alpha_KS falls steadily with fewer points only."
            if ks[8000] is False and all(value for n, value in ks.items() if n != 8000)
            else "In part: not all of the four statements on large learning rates hold.",
        },
        finding=f"at 1, 10 and 100 PL_Alpha_Hill is {means(one.hill, TENS)} (largest minus smallest {spread:.3f}) and "
        f"PL_Alpha_KS {means(one.ks, TENS, '.1f')}, with steps {steps(one.ks, TENS)[1.0, 10.0]:.1f} and "
        f"{steps(one.ks, TENS)[10.0, 100.0]:.1f}; it is {' and '.join(fewer)} points; at 1000, 2000 and 3000 "
        f"PL_Alpha_Hill is {means(one.hill, HUGE)} and the test loss {worse[1000.0]:.0%}, {worse[2000.0]:.0%} and "
        f"{worse[3000.0]:.0%} above that at {best:g}; with Adam as the text defines it, one draw, PL_Alpha_Hill is "
        f"{means(text.hill, TENS)} at 1, 10 and 100 and PL_Alpha_KS {means(text.ks, TENS, '.1f')}",
        evidence={"range of PL_Alpha_Hill over 1, 10, 100": spread}
        | {
            f"PL_Alpha_KS, {n} points, {b:g} minus {a:g}": value
            for n, some in adam.items()
            for (a, b), value in steps(some.ks, TENS).items()
        }
        | {f"PL_Alpha_Hill at {rate:g}": value for rate, value in hill.items()}
        | {f"test loss at {rate:g} over the least": value for rate, value in worse.items()},
    )


def ht_25(adam: xr.Dataset | None = None, text: xr.Dataset | None = None) -> Outcome:
    """Figure 24: spectra of Adam at 1, 10, 100 and 1000.  adam, text: sweeps of the code's and of the text's Adam."""
    adam = sweep("Adam") if adam is None else adam
    text = sweep("Adam", reading="text") if text is None else text
    shown = [*TENS, 1000.0]
    apart = steps(np.log10(adam.eigenvalues.median("k")), shown)
    lift = {rate: stats.student((adam.hill - adam.hill_excl).sel(rate=rate).values) for rate in TENS}
    wider = steps(np.log10(adam.spike_ratio), shown)
    away = sweep_rules.bulk_distances(adam, [10.0, 100.0, 1000.0])
    bulk = {rate: stats.student(away.sel(rate=rate).values) for rate in away.rate.values}
    times = stats.student((away.sel(rate=1000.0) / away.sel(rate=100.0)).values)
    strong = [claims.any_of(one.exceeds(0.05), claims.below(one, -0.05)) for one in lift.values()]
    parts = {
        "a": claims.all_of(apart[1.0, 10.0].exceeds(1), apart[10.0, 100.0].exceeds(1)),
        "b": claims.any_of(*strong),
        "c": claims.all_of(*(one.exceeds(0) for one in wider.values())),
        "d, not at 10 and 100": claims.all_of(*(claims.below(bulk[rate], ALIKE) for rate in (10.0, 100.0))),
        "d, at 1000": bulk[1000.0].exceeds(UNLIKE),
    }
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: scale and gap grow with the learning rate, the spike moves the Hill exponent, and the "
            "bulk changes at 1000.",
            "otherwise": "Scale and gap do grow with the learning rate, but the largest eigenvalue hardly moves the "
            "Hill exponent, and the bulk changes gradually."
            if parts["a"] and parts["b"] is False and parts["c"]
            else "In part: not all that is said of these spectra holds.",
        },
        finding=f"medians at 1, 10, 100 and 1000 are {', '.join(f'{one.estimate:.1f}' for one in apart.values())} "
        f"decades apart; the largest eigenvalue changes PL_Alpha_Hill by "
        f"{', '.join(f'{one.estimate:.4f}' for one in lift.values())} at 1, 10 and 100; it is "
        f"{means(adam.spike_ratio, shown, '.3g')} times the second at the four rates; the Kolmogorov-Smirnov distance "
        f"of the bulk over its median from that at 1 is {', '.join(map('{:.3f}'.format, bulk.values()))} at 10, 100 "
        f"and 1000, the last {times:.1f} times that at 100; with Adam as the text defines it, one draw, the largest is "
        f"{means(text.spike_ratio, shown, '.3g')} times the second",
        evidence={f"decades between medians, {a:g} to {b:g}": one for (a, b), one in apart.items()}
        | {f"PL_Alpha_Hill by the largest eigenvalue, {rate:g}": one for rate, one in lift.items()}
        | {f"decades of the gap, {a:g} to {b:g}": one for (a, b), one in wider.items()}
        | {f"distance of the bulk from that at 1, {rate:g}": one for rate, one in bulk.items()},
    )


def moved(values: xr.DataArray) -> xr.DataArray:
    """Change of a curve (seed, rate) against untrained; 0 where it is below 5 % of the curve's largest."""
    difference = (values - values.sel(rate=0)).sel(rate=GRID)
    size = np.abs(difference)
    return difference.where(size >= TIE * size.max("rate"), 0.0)


def likeness(few: xr.Dataset, many: xr.Dataset) -> dict[str, Interval]:
    """Rank correlation over the rates of the curves of two sweeps, by draw; changes too small count as ties."""
    few, many = xr.align(few, many, join="inner")
    return {of: correlation(moved(few[of]), moved(many[of])) for of in CURVES}


def ht_54(sweeps: Mapping[tuple[str, int], xr.Dataset] | None = None) -> Outcome:
    """Figures 22 and 23: are the curves with fewer points like those with 8000?  sweeps: by optimiser and points."""
    sizes, both = (2000, 4000), ("GD", "Adam")
    if sweeps is None:
        sweeps = {(name, n): sweep(name, n) for name in both for n in (*sizes, 8000)}
    found = {
        f"{CURVES[of]} of {name}, {n} points": one
        for n in sizes
        for name in both
        for of, one in likeness(sweeps[name, n], sweeps[name, 8000]).items()
    }
    unlike = [name for name, one in found.items() if claims.below(one, TIGHT)]
    alike = sum(one.exceeds(TIGHT) is True for one in found.values())
    best = [f"{best_rate(sweeps['Adam', n]):g}" for n in (*sizes, 8000)]
    gain = {n: sweeps["Adam", n].test / sweeps["Adam", n].test.sel(rate=0) for n in (*sizes, 8000)}
    at_one = {n: change(one, 0, 1) for n, one in gain.items()}
    return Outcome(
        verdict="answered",
        answer=f"Of {len(found)} curves {len(unlike)} clearly has another shape than with 8000 points; Adam's best "
        f"rate is {best[0]} with 2000 points and {best[2]} with 8000.",
        finding=f"rank correlation with the curve of 8000 points above {TIGHT} for {alike} of {len(found)} curves, "
        f"below it for {', '.join(f'{name}: {found[name]}' for name in unlike) or 'none'}, undecided for the rest; the "
        f"best rates of Adam are {', '.join(best)} with 2000, 4000 and 8000 points, and its test loss at 1 against "
        f"untrained {', '.join(f'{one:.0%}' for one in at_one.values())}",
        evidence=found | {f"test loss of Adam at 1 against untrained, {n} points": one for n, one in at_one.items()},
    )


def ht_59(
    few: xr.Dataset | None = None, many: xr.Dataset | None = None, text: Sequence[xr.Dataset] | None = None
) -> Outcome:
    """Appendix F.4: Adam at 1 with 2000 and with 8000 points.

    few, many: sweeps with 2000 and 8000 points, paired where they share draws; text: the same of the text's Adam.
    """
    few, many = sweep("Adam", 2000) if few is None else few, benign() if many is None else many
    text = (sweep("Adam", 2000, reading="text"), benign("text")) if text is None else text
    hill = [stats.student(one.hill.sel(rate=1).values) for one in (few, many)]
    near = [
        claims.all_of(one.exceeds(said - ROUNDING), claims.below(one, said + ROUNDING))
        for one, said in zip(hill, QUOTED)
    ]
    first, second = xr.align(few.sel(rate=1), many.sel(rate=1), join="inner")
    heavier = stats.student((second.hill - first.hill).values)
    twice = stats.student(np.log2(first.spike_ratio / second.spike_ratio).values)
    wide, narrow = gap(few, 1), gap(many, 1)
    return Outcome(
        parts={
            "a": claims.all_of(*near, heavier.exceeds(0)),
            "b, direction": twice.exceeds(1),
            "b, absorbed": claims.below(narrow, shapes.SPIKE_RATIO),
            "b, order of magnitude": wide.exceeds(FAR),
        },
        answer=f"With 2000 points the exponent is {hill[0].estimate:.1f} and the largest eigenvalue "
        f"{wide.estimate:.1f} times the next; with 8000 points {hill[1].estimate:.1f} and {narrow.estimate:.2f} times.",
        finding=f"with 2000 and 8000 points PL_Alpha_Hill is {hill[0]} and {hill[1]} (untrained: {NOISE:.2f}) and the "
        f"largest eigenvalue over the second {wide} and {narrow:.3f} (untrained: about 1.01), of singular "
        f"values {wide.estimate**0.5:.1f} and {narrow.estimate**0.5:.2f}; with Adam as the text defines it the gap is "
        f"{' and '.join(means(one.spike_ratio, [1.0], '.1f') for one in text)}, far away at both sizes",
        evidence={
            "PL_Alpha_Hill, 2000 points": hill[0],
            "PL_Alpha_Hill, 8000 points": hill[1],
            "PL_Alpha_Hill, 8000 minus 2000": heavier,
            "gap, 2000 points": wide,
            "gap, 8000 points": narrow,
            "binary logarithm of the ratio of the gaps": twice,
        },
    )


def ht_71(adam: Mapping[int, xr.Dataset] | None = None) -> Outcome:
    """Appendix G: from 0.1 on both exponents of Adam show one trend and do not increase.

    adam: sweeps by number of points, 8000 decides.
    """
    adam = {n: sweep("Adam", n) for n in (8000, 4000, 2000)} if adam is None else adam
    one = adam[8000]
    same = {n: correlation(some.hill, some.ks, FROM_TENTH) for n, some in adam.items()}
    whole = {of: change(one[of], 0.1, 3000) for of in EXPONENTS}
    allowed = {"hill": RISE, "ks": 0.0}
    up = {of: [pair for pair, step in steps(one[of], FROM_TENTH).items() if step.above(allowed[of])] for of in allowed}
    parts = {
        "same trend": same[8000].exceeds(TIGHT),
        "PL_Alpha_Hill does not increase": falls(one.hill, FROM_TENTH, RISE),
        "PL_Alpha_KS does not increase": falls(one.ks, FROM_TENTH),
    }
    together = up["hill"] == up["ks"] == [(1.0, 10.0)] and all(claims.below(value, 0) for value in whole.values())
    ten = {of: change(one[of], 1, 10) for of in EXPONENTS}
    verdict = claims.combine({name: claims.verdict(value) for name, value in parts.items()})
    exception = together and verdict == "contradicted"
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: from 0.1 on both exponents fall together and do not rise.",
            "otherwise": "Nearly: both exponents fall far between the rates 0.1 and 3000, but both rise from 1 to 10."
            if together
            else "No: the exponents do not fall together over the learning rates from 0.1 on.",
        },
        finding=f"from 0.1 to 3000 PL_Alpha_Hill is {means(one.hill, FROM_TENTH)} and PL_Alpha_KS "
        f"{means(one.ks, FROM_TENTH, '.1f')}; from 1 to 10 they change by {ten['hill']:.3f} and {ten['ks']:.1f}; their "
        f"rank correlation is {', '.join(f'{value} with {n}' for n, value in same.items())} points",
        evidence={f"rank correlation, {n} points": value for n, value in same.items()}
        | {
            f"{EXPONENTS[of]}, {b:g} minus {a:g}": value
            for of in EXPONENTS
            for (a, b), value in steps(one[of], FROM_TENTH).items()
        },
        reading="partly" if exception else None,
        reading_why="Both exponents fall far from 0.1 to 3000, and the one step at which they rise, from 1 to 10, is "
        "common to both."
        if exception
        else None,
    )


def ht_74(sweeps: Mapping[tuple[int, str], xr.Dataset] | None = None) -> Outcome:
    """Appendix H: heavy tails of the weights show in the features.

    sweeps: Adam by number of points and features; those of the code decide.
    """
    if sweeps is None:
        sweeps = {(n, of): sweep("Adam", n, features=of) for n in (2000, 8000) for of in ("code", "text")}
    found = {key: correlation(one.hill, one.feature_hill) for key, one in sweeps.items()}
    parts = {f"{n} points": found[n, "code"].exceeds(TIGHT) for n in (2000, 8000)}
    opposite = all(claims.below(one, 0) for one in found.values())
    one, other = sweeps[8000, "code"], sweeps[8000, "text"]
    ends = {
        name: " to ".join(means(values, [rate]) for rate in (0.0, 3000.0))
        for name, values in (("weights", one.hill), ("code", one.feature_hill), ("text", other.feature_hill))
    }
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: the exponents of weights and of features rank the learning rates alike.",
            "otherwise": "No: over the learning rates the exponent of the features tends to rise where that of the "
            "weights falls."
            if opposite
            else "No: the exponents of weights and of features do not rank the learning rates alike.",
            "undecided": "These runs do not settle whether the exponents of weights and features rank the rates alike.",
        },
        finding="rank correlation of PL_Alpha_Hill of weights and of features over the learning rates, with 2000 and "
        f"8000 points: {found[2000, 'code']} and {found[8000, 'code']} with the features of the code, "
        f"{found[2000, 'text']} and {found[8000, 'text']} with those of the text; from untrained to 3000 that of the "
        f"weights goes from {ends['weights']}, that of the features from {ends['code']} and from {ends['text']}",
        evidence={f"{n} points, features of the {of}": one for (n, of), one in found.items()},
    )
