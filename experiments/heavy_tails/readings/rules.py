"""Rules on evaluations and what they show: the features, points and ridge of a read-out, and a tanh teacher.

The claims: HT-05, HT-58, HT-60, HT-66, HT-67 and HT-68 (Section 5.2, Appendices F.4 and F.5).  Intervals over draws are
Student's, of paired differences where draws are compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import xarray as xr

from experiments.heavy_tails.readings import cells as readings
from experiments.heavy_tails.readings import gains
from experiments.heavy_tails.readings.cells import LINKS, NEAR, Combination, Runs, change, level, position
from experiments.heavy_tails.teacher_student import FEATURES, PENALTY
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.data import single_index
from shallow.spectra import tails
from shallow.stats import Interval

FIGURES = {"5": "softplus", "32": "tanh"}  # with their teachers
LEVELS = {"softplus": 0.85, "tanh": 0.2}  # quoted in Appendix F.5 for these figures
POINTS = [500, 2000, 4000, 8000]
NOISE = 0.3
LOSSES = ("train", "test")
BROAD = [0.01, 0.1, 1.0, 10.0, 100.0]
TEN_STEPS = "heavy_tails/ten_steps_8000"
#: Ten steps with 8000 points: a tanh student with both teachers, the same on more test points, a softplus student.
SWEEPS = (
    TEN_STEPS,
    "heavy_tails/ten_steps_tanh",
    "heavy_tails/ten_steps_tanh_gd",
    "heavy_tails/readings/ten_steps_tanh_gd_more",
    "heavy_tails/readings/many_test_points",
    "heavy_tails/readings/softplus_student",
    "heavy_tails/readings/softplus_student_gd",
)
#: The same of a tanh student with the optimisers of the text, by teacher.
CURVES = ("heavy_tails/readings/loss_curves", "heavy_tails/readings/loss_curves_more")


def combinations(runs: Sequence[xr.Dataset]) -> dict[Combination, Runs]:
    """What Figures 5 and 32 show, with the optimisers of the document's code, from the runs SWEEPS."""
    softplus, tanh, *tanh_gd, many, student, student_gd = runs
    teachers = {"softplus": (softplus, many, [softplus]), "tanh": (tanh, many, tanh_gd)}
    found = {}
    for teacher in LINKS:
        for name, (adam, more, gd) in {"tanh": teachers[teacher], "softplus": (student, student, [student_gd])}.items():
            figure, wide = (sweep(one, teacher, "Adam code") for one in (adam, more))
            large = xr.concat([sweep(one, teacher, "GD code") for one in gd], "seed")
            for features in FEATURES:
                by_features = Runs(*(one.sel(features=features) for one in (figure, wide, large)))
                found[Combination(teacher, name, features)] = by_features
    return found


def sweep(run: xr.Dataset, teacher: str, rule: str) -> xr.Dataset:
    """Losses, alignments, eigenvalues and their PL_Alpha_Hill (seed, rate) of an optimiser."""
    found = run.sel(rule=rule, penalty=PENALTY, drop=True)
    found = found.sel(link=teacher, drop=True) if "link" in found.dims else found
    found = found[["train", "test", "alignment", "eigenvalues"]].transpose("seed", "rate", "features", "k")
    return found.assign(hill=readings.exponents(found.eigenvalues, tails.hill))


@dataclass(frozen=True)
class Sentence:
    """What the document says of a figure, what was measured, and whether it holds (None: not settled)."""

    says: str
    measured: Interval
    holds: bool | None


def falls(found: Interval) -> bool | None:
    """Whether a change is a fall."""
    return claims.below(found, 0)


def sentences(figure: str, runs: Runs, about: float) -> list[Sentence]:
    """The document's sentences on Figure 5 or 32 that depend on the evaluation, for the runs of a combination.

    about: how far from a quoted level "about" reaches.
    """
    adam, stated = runs.adam, LEVELS[FIGURES[figure]]
    where, best, moved = position(adam), level(runs.figure), {}
    found = [Sentence(f"least test loss about {stated}", best, claims.within(best, stated - about, stated + about))]
    if figure == "5":
        moved["Adam: lower at 1 than at 0.01"] = change(adam, 1.0, 0.01)
        nearer = Sentence("Adam: at 1 nearer to the best than to the worst", where, claims.below(where, 1 / 2))
        last = {
            "Adam: higher at 1000 than at 1": change(runs.figure, 1000.0, 1.0),
            "GD: lower at 3000 than untrained": change(runs.gd, 3000.0, 0.0),
        }
    else:
        moved["Adam: lower at 0.1 than untrained"] = change(adam, 0.1, 0.0)
        moved["higher at 1 than at 0.1"] = change(adam, 1.0, 0.1)
        nearer = Sentence("Adam: at 1 nearer to the worst than to the best", where, where.exceeds(1 / 2))
        last = {
            "Adam: higher at 1 than untrained": change(adam, 1.0, 0.0),
            "GD: alignment higher at 3000 than untrained": change(runs.gd, 3000.0, 0.0, "alignment"),
        }

    def compared(changes: Mapping[str, Interval]) -> list[Sentence]:
        return [Sentence(k, one, falls(one) if "lower" in k else one.exceeds(0)) for k, one in changes.items()]

    return [*found, *compared(moved), nearer, *compared(last)]


def seen(record: xr.Dataset) -> int:
    """How many of three properties of Figure 3 one step shows: GD and Adam fall, and Adam rises again."""
    gd, adam = (record.sel(rule=f"{name} code") for name in ("GD", "Adam"))
    flags = [falls(change(gd, 2000.0, 0.0)), falls(change(adam, 1.0, 0.0)), change(adam, 10.0, 1.0).exceeds(0)]
    return flags.count(True)


#: The properties of Figure 3 as changes from one run to another.
THREE = {
    "GD at 2000": ("GD 2000", gains.UNTRAINED),
    "Adam at 1": ("Adam 1", gains.UNTRAINED),
    "Adam from 1 to 10": ("Adam 10", "Adam 1"),
}


def three_properties(first: xr.Dataset, features: str, constant: float | None) -> dict[str, Interval]:
    """The changes :data:`THREE` after one step, with tuned ridge constants or one for all."""
    return {name: gains.change(first, *pair, features, constant) for name, pair in THREE.items()}


def shown(changes: Mapping[str, Interval]) -> int:
    """How many of the three are as in Figure 3: two falls and a rise."""
    *down, up = changes.values()
    return [*map(falls, down), up.exceeds(0)].count(True)


@decides(runs=SWEEPS, first=gains.FIRST, variants="heavy_tails/one_step_variants")
def ht_05(runs, first, variants, *, about):
    """Equation (6): are the losses of the figures those of the features in the text?"""
    runs = combinations(runs)
    found = {
        (figure, features): sentences(figure, runs[Combination(teacher, "tanh", features)], about)
        for figure, teacher in FIGURES.items()
        for features in FEATURES
    }
    parts, counted = {}, {}
    for (figure, features), (least, *rest) in found.items():
        held = [one.holds for one in (least, *rest)]
        told = {"hold": held.count(True), "fail": held.count(False), "open": held.count(None)}
        counted[f"sentences on Figure {figure}, {features}"] = told
        if features == "text":  # a level that is not settled decides nothing
            shows = False if least.holds is False else claims.all_of(*(one.holds for one in rest))
            parts[f"a, Figure {figure}"] = claims.verdict(shows)
    constants = {"tuned": None} | {f"{p:g}": float(p) for p in first.constant.values}
    after = {(f, name): three_properties(first, f, p) for f in FEATURES for name, p in constants.items()}
    student = {f: level(runs[Combination("softplus", "softplus", f)].figure) for f in FEATURES}
    return Found(
        parts | {"b": "answered", "c": "answered"},
        {f"Figure {figure}, {f}: {one.says}": one.measured for (figure, f), some in found.items() for one in some}
        | counted
        | {"least test loss of a softplus student": student}
        | {f"properties, {f}, {name}": shown(three) for (f, name), three in after.items()}
        | {f"{of}, {f}, {name}": one for (f, name), three in after.items() for of, one in three.items()}
        | {"draws": first.sizes["seed"]}
        | {str(v): seen(variants.sel(variant=v, features="code")) for v in variants.variant.values},
        verdict=claims.combine(parts),
    )


Points = Mapping[int, xr.Dataset]  # losses (seed, step, penalty) by number of points


def by_points(runs: Sequence[xr.Dataset]) -> tuple[Points, Points]:
    """Losses before and after ten steps of Adam at the rate 1, features of code and text, from the runs CURVES."""
    both = xr.concat([one.sel(step=[0, 10]) for one in runs], "seed").transpose("seed", "step", ...)
    return tuple({n: both.sel(features=features, n=n) for n in POINTS} for features in ("code", "text"))


def over_steps(curve: xr.Dataset, of: str = "test") -> Interval:
    """Loss after ten steps minus that before the first."""
    losses = curve[of].sel(penalty=PENALTY)
    return stats.student((losses.sel(step=10) - losses.sel(step=0)).values)


@decides(runs=CURVES)
def ht_58(runs, *, gain):
    """Figure 28(a): with 8000 points the losses improve, with few the student overfits."""
    at, text = by_points(runs)
    last = {n: one.sel(step=10, penalty=PENALTY) for n, one in at.items()}
    cost = {n: stats.student((last[n].test - last[8000].test).values) for n in POINTS[:-1]}
    gained = stats.student((1 - last[8000].test / last[2000].test).values)
    overfit = [claims.all_of(falls(over_steps(at[n], "train")), over_steps(at[n]).exceeds(0)) for n in (500, 2000)]
    gaps = [last[n].test - last[n].train for n in POINTS]
    narrowing = [stats.student((few - many).values).exceeds(0) for few, many in pairwise(gaps)]
    return Found(
        {
            "a, by points": claims.all_of(*(one.exceeds(0) for one in cost.values()), gained.exceeds(gain)),
            "a, along the steps": claims.all_of(*(falls(over_steps(at[8000], of)) for of in LOSSES)),
            "b": claims.all_of(*overfit, *narrowing),
        },
        {f"change over the steps, {of}, {n}": over_steps(at[n], of) for n in POINTS for of in LOSSES}
        | {f"mean {of} loss": [float(one[of].mean()) for one in last.values()] for of in LOSSES}
        | {"changes of the test loss": [over_steps(one) for one in at.values()]}
        | {"2000 points instead of 8000": cost[2000], "text, 8000 points": over_steps(text[8000])},
    )


def by_ridge(runs: xr.Dataset, of: str, penalty: float, over: float = PENALTY) -> Interval:
    """Loss after ten steps at a ridge constant minus that at another; `of` "gap": test minus train."""
    last = runs.sel(step=10)
    last = last.assign(gap=last.test - last.train)[of]
    return stats.student((last.sel(penalty=penalty) - last.sel(penalty=over)).values)


def correlations(sweep: xr.Dataset, hill: xr.DataArray) -> dict[float, Interval]:
    """Rank correlation of exponent and test loss over five rates, mean over draws, by ridge constant."""
    exponents, test = (one.sel(rate=BROAD).transpose("seed", ..., "rate") for one in (hill, sweep.test))
    found = {}
    for p in test.penalty.values:
        by_draw = zip(exponents.values, test.sel(penalty=p).values, strict=True)
        found[float(p)] = stats.student([stats.rank_correlation(*pair) for pair in by_draw])
    return found


SMALLER = (0.001, 0.0001)


def smaller_ridge(runs: xr.Dataset) -> dict[str, bool | None]:
    """The parts a and b of HT-60."""
    steps = (0.1, 0.01), (0.01, 0.001), (0.001, 0.0001)
    wider = [by_ridge(runs, "gap", small, over) for over, small in steps]
    lower = {f"a, {of}": claims.all_of(*(falls(by_ridge(runs, of, p)) for p in SMALLER)) for of in LOSSES}
    return lower | {"b": claims.all_of(*(one.exceeds(0) for one in wider), falls(by_ridge(runs, "test", 0.01, 0.1)))}


def swept(run: xr.Dataset, features: str = "code") -> tuple[xr.Dataset, xr.DataArray]:
    """Adam's ten steps with 8000 points at all ridge constants, and the exponents, from the run TEN_STEPS."""
    one = run.sel(rule="Adam code", features=features)
    return one[["test"]], readings.exponents(one.eigenvalues, tails.hill)


BROAD_RUNS = [f"Adam {rate:g}" for rate in BROAD]


@decides(runs=CURVES, sweep=TEN_STEPS, tuned=gains.TUNED[8000])
def ht_60(runs, sweep, tuned):
    """Figure 28(b): smaller ridge constants lower the losses and widen the gap; does the ridge decide the verdict?"""
    code, text = (one[8000] for one in by_points(runs))
    ranks = correlations(*swept(sweep))
    turns = claims.all_of(claims.below(ranks[min(ranks)], 0), ranks[max(ranks)].exceeds(0))
    return Found(
        smaller_ridge(code) | {"c": turns},
        {f"rank correlation at {p:g}": one for p, one in ranks.items()}
        | {of: {f"{p:g}": by_ridge(code, of, p) for p in SMALLER} for of in (*LOSSES, "gap")}
        | {"features of the text": {name: claims.verdict(one) for name, one in smaller_ridge(text).items()}}
        | {f"rank correlation, tuned, {f}": gains.rank_correlations(tuned, BROAD_RUNS, f) for f in FEATURES}
        | {"draws, tuned": tuned.sizes["seed"]},
    )


@decides(runs=SWEEPS)
def ht_66(runs):
    """Figure 32: with a tanh teacher GD at 1000 and more aligns, exponents fall; the losses of Adam turn at 0.1."""
    runs = combinations(runs)
    code, text = (runs[Combination("tanh", "tanh", features)] for features in ("code", "text"))
    gd = code.gd.assign(ks=readings.exponents(code.gd.eigenvalues))
    moved = {of: {over: change(gd, 3000.0, over, of) for over in (0.0, 1000.0)} for of in ("alignment", "hill", "ks")}
    turn = {of: [change(text.adam, 0.1, 0.0, of), change(text.adam, 1.0, 0.1, of)] for of in LOSSES}
    along = gd.mean("seed").sel(rate=[0.0, 1000.0, 2000.0, 3000.0])
    return Found(
        {
            "a, alignment": claims.all_of(*(one.exceeds(0) for one in moved["alignment"].values())),
            "a, PL_Alpha_Hill": claims.all_of(*map(falls, moved["hill"].values())),
            "a, PL_Alpha_KS": claims.all_of(*map(falls, moved["ks"].values())),
            "b": claims.all_of(*(claims.all_of(falls(down), up.exceeds(0)) for down, up in turn.values())),
        },
        {f"{of}, 3000 minus {over:g}": one for of, pair in moved.items() for over, one in pair.items()}
        | {f"mean {of}": along[of].values for of in moved}
        | {"turn with the text": turn["test"]}
        | {"turn with the code": [change(code.adam, 0.1, 0.0), change(code.adam, 1.0, 0.1)]}
        | {"least at": [float(one.figure.test.mean("seed").idxmin()) for one in (text, code)]},
    )


def relative(runs: Runs, teacher: str, of: str) -> xr.DataArray:
    """Least mean loss of Adam over that of the prediction 0, by draw."""
    losses = runs.adam[of].sel(rate=NEAR)
    return losses.sel(rate=losses.mean("seed").idxmin()) / single_index.moments(teacher).null_loss(NOISE)


@decides(runs=SWEEPS)
def ht_67(runs, *, about):
    """Appendix F.5: equal activations are easier to learn; test losses of 0.2 and 0.85."""
    runs, harder, levels = combinations(runs), {}, {}
    floors = {teacher: single_index.moments(teacher).odd_floor(NOISE) - NOISE**2 for teacher in LEVELS}
    for features in FEATURES:
        by_teacher = {teacher: runs[Combination(teacher, "tanh", features)] for teacher in LEVELS}
        for teacher, one in by_teacher.items():
            levels[f"{teacher}, {features}"] = level(one.figure)
        for of in LOSSES:
            softplus, tanh = (relative(one, teacher, of) for teacher, one in by_teacher.items())
            harder[f"{of}, {features}"] = stats.student((softplus - tanh).values)

    def quoted(teacher: str, features: str) -> bool | None:
        return claims.within(levels[f"{teacher}, {features}"], LEVELS[teacher] - about, LEVELS[teacher] + about)

    easier = claims.all_of(*(found.exceeds(0) for found in harder.values()))
    return Found(
        {
            "a": claims.all_of(floors["softplus"] > 0.6, floors["tanh"] < 1e-9, easier),
            "b, 0.2": quoted("tanh", "text"),
            "b, 0.85": quoted("softplus", "code"),
        },
        {"softplus minus tanh": harder, "least test loss": levels, "floor": floors},
    )


@decides(runs=SWEEPS)
def ht_68(runs, *, middle):
    """Appendix F.5: an exponent near 2 is good with softplus and poor with tanh; the benign range shrinks tenfold."""
    runs, poorer, shorter, numbers = combinations(runs), [], [], {}
    for features in FEATURES:
        pair = {teacher: runs[Combination(teacher, "tanh", features)].adam for teacher in LEVELS}
        good, poor = (position(one) for one in pair.values())
        helps, hurts = (change(one, 1.0, 0.0) for one in pair.values())
        poorer.append(claims.all_of(claims.below(good, middle), poor.exceeds(middle)))
        shorter.append(claims.all_of(falls(helps), hurts.exceeds(0)))
        numbers |= {f"position at 1, {teacher}, {features}": one for teacher, one in zip(pair, (good, poor))}
        numbers[f"change at 1, {features}"] = [helps, hurts]
    figures = [runs[Combination(teacher, "tanh", "code")].figure for teacher in LEVELS]
    return Found(
        {"a": claims.any_of(*poorer), "b": claims.any_of(*shorter)},
        numbers | {"exponents": [float(one.hill.sel(rate=1.0).mean()) for one in figures]},
    )
