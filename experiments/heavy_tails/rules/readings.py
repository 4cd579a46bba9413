"""Rules on evaluations and what they show: the features, points and ridge of a read-out, and a tanh teacher.

The claims: HT-05, HT-58, HT-60, HT-66, HT-67 and HT-68 (Section 5.2, Appendices F.4 and F.5).  Intervals over draws are
Student's, of paired differences where draws are compared.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import xarray as xr

from experiments.heavy_tails import readings
from experiments.heavy_tails.readings import NEAR, Combination, Runs, change, combinations, level, position
from experiments.heavy_tails.teacher_student import FEATURES, PENALTY
from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.data import single_index
from shallow.stats import Interval

LEVELS = {"softplus": 0.85, "tanh": 0.2}  # quoted in Appendix F.5 for Figures 5 and 32
ABOUT = 0.05  # how far from a quoted level "about" reaches
MIDDLE = 1 / 2  # of the way from the least to the largest loss
POINTS = [500, 2000, 4000, 8000]
NOISE = 0.3
LOSSES = ("train", "test")
BROAD = [0.01, 0.1, 1.0, 10.0, 100.0]


@dataclass(frozen=True)
class Sentence:
    """What the document says of a figure, what was measured, and whether it holds (None: not settled)."""

    says: str
    measured: Interval
    holds: bool | None


def about(found: Interval, value: float) -> bool | None:
    """Whether a level is about a quoted one: False if no value of its interval is, None if some are."""
    if found.inside(value - ABOUT, value + ABOUT):
        return True
    return False if found.below(value - ABOUT) or found.above(value + ABOUT) else None


def falls(found: Interval) -> bool | None:
    """Whether a change is a fall."""
    return claims.opposite(found.exceeds(0))


def sentences(figure: str, runs: Runs) -> list[Sentence]:
    """The document's sentences on Figure 5 or 32 that depend on the evaluation, for the runs of a combination."""
    teacher = {"5": "softplus", "32": "tanh"}[figure]
    stated, where = LEVELS[teacher], position(runs.adam)
    best = level(runs.figure)
    found = [Sentence(f"least test loss about {stated}", best, about(best, stated))]
    if figure == "5":
        found += _signs(runs.adam, {"Adam: lower at 1 than at 0.01": (1.0, 0.01, -1)})
        found += [Sentence("Adam: at 1 nearer to the best than to the worst", where, claims.below(where, MIDDLE))]
        found += _signs(runs.figure, {"Adam: higher at 1000 than at 1": (1000.0, 1.0, 1)})
    else:
        found += _signs(
            runs.adam, {"Adam: lower at 0.1 than untrained": (0.1, 0.0, -1), "higher at 1 than at 0.1": (1.0, 0.1, 1)}
        )
        found += [Sentence("Adam: at 1 nearer to the worst than to the best", where, where.exceeds(MIDDLE))]
        found += _signs(runs.adam, {"Adam: higher at 1 than untrained": (1.0, 0.0, 1)})
    moved = change(runs.gd, 3000.0, 0.0, "test" if figure == "5" else "alignment")
    says = "GD: lower at 3000 than untrained" if figure == "5" else "GD: alignment higher at 3000 than untrained"
    return [*found, Sentence(says, moved, falls(moved) if figure == "5" else moved.exceeds(0))]


def _signs(sweep: xr.Dataset, comparisons: Mapping[str, tuple[float, float, int]]) -> list[Sentence]:
    found = {says: (change(sweep, *rates), sign) for says, (*rates, sign) in comparisons.items()}
    return [Sentence(says, one, one.exceeds(0) if sign > 0 else falls(one)) for says, (one, sign) in found.items()]


def shows(figure: str, runs: Runs) -> bool | None:
    """Whether runs show a figure: False if a sentence fails, None if fewer than all but the level are settled."""
    first, *rest = sentences(figure, runs)
    return False if first.holds is False else claims.all_of(*(one.holds for one in rest))


def pattern(gd: xr.Dataset, adam: xr.Dataset) -> dict[str, bool | None]:
    """The pattern of Figure 3 in two sweeps of one step: what falls, and what rises again."""
    return {
        "GD falls at 2000": falls(change(gd, 2000.0, 0.0)),
        "Adam falls up to 1": falls(change(adam, 1.0, 0.0)),
        "Adam rises beyond 1": change(adam, 10.0, 1.0).exceeds(0),
    }


def patterns(record: xr.Dataset) -> dict[str, bool | None]:
    """:func:`pattern` of a record of one step with both optimisers of the code and dimensions seed and rate."""
    return pattern(*(record.sel(rule=f"{name} code") for name in ("GD", "Adam")))


def ht_05(
    runs: Mapping[Combination, Runs] | None = None, ridge: xr.Dataset | None = None, variants: xr.Dataset | None = None
) -> Outcome:
    """Equation (6): are the losses of the figures those of the features in the text?"""
    runs = combinations() if runs is None else runs
    ridge = records.load("heavy_tails/one_step_ridge") if ridge is None else ridge
    variants = records.load("heavy_tails/one_step_variants") if variants is None else variants
    found = {
        (figure, one): shows(figure, runs[one])
        for figure, teacher in (("5", "softplus"), ("32", "tanh"))
        for one in (Combination(teacher, "tanh", features) for features in FEATURES)
    }
    by_text = {figure: holds for (figure, one), holds in found.items() if one.features == "text"}
    by_code = {figure: holds for (figure, one), holds in found.items() if one.features == "code"}
    at = {float(p): patterns(ridge.sel(penalty=p, features="text")) for p in ridge.penalty.values}
    most = max(at.values(), key=lambda one: list(one.values()).count(True))
    own = list(patterns(ridge.sel(penalty=PENALTY, features="code")).values()).count(True)
    changed = {
        str(v): list(patterns(variants.sel(variant=v, features="code")).values()).count(True)
        for v in variants.variant.values
    }
    mixed = by_text["5"] is False and by_code["5"] and by_text["32"] and by_code["32"] is False
    answers = {
        "reproduced": "Yes: both figures behave as losses on the features of the text do.",
        "contradicted": "No: neither figure behaves as losses on the features of the text do.",
        "undecided": "These runs do not tell the two definitions of the features apart.",
        "otherwise": "Figure 32 behaves so; Figure 5 only with features whose scale is applied twice, as in the "
        "authors' program."
        if mixed
        else "Only one of Figures 5 and 32 clearly behaves as losses on the features of the text do.",
    }
    parts = {f"a, Figure {figure}": claims.verdict(holds) for figure, holds in by_text.items()}
    return Outcome(
        verdict=claims.combine(parts),
        parts=parts | {"b": "answered", "c": "answered"},
        answer=answers,
        finding=f"of the sentences on Figure 5 {counted('5', runs, 'code')} with the features of the code and "
        f"{counted('5', runs, 'text')} with those of the text, of those on Figure 32 {counted('32', runs, 'code')} and "
        f"{counted('32', runs, 'text')}; with a softplus student the least test loss is "
        f"{level(runs[Combination('softplus', 'softplus', 'code')].figure)} and "
        f"{level(runs[Combination('softplus', 'softplus', 'text')].figure)} where 0.85 is stated; after one step at "
        f"most {list(most.values()).count(True)} of three properties of Figure 3 are seen on the text's features with "
        f"any ridge constant from {min(at):g} to {max(at):g}, on the code's {own} at {PENALTY:g}, "
        f"{changed['centred']} for centred labels "
        f"and {changed['intercept']} with an intercept",
        evidence={f"Figure {figure}, {one.features}: {s.says}": s.measured
                  for (figure, one) in found for s in sentences(figure, runs[one])},
    )  # fmt: skip


def counted(figure: str, runs: Mapping[Combination, Runs], features: str, student: str = "tanh") -> str:
    """How many sentences on a figure hold and how many fail, in words."""
    teacher = {"5": "softplus", "32": "tanh"}[figure]
    held = [one.holds for one in sentences(figure, runs[Combination(teacher, student, features)])]
    return f"{held.count(True)} hold, {held.count(False)} fail and {held.count(None)} are open"


Points = Mapping[str, Mapping[int, xr.Dataset]]  # by features, then by number of points


@functools.cache
def by_points() -> Points:
    """Losses (seed, step, penalty) before and after ten steps of Adam at the rate 1."""
    parts = [records.load(f"heavy_tails/{name}").sel(step=[0, 10]) for name in ("loss_curves", "loss_curves_more")]
    runs = xr.concat(parts, "seed").transpose("seed", "step", ...)
    return {features: {n: runs.sel(features=features, n=n) for n in POINTS} for features in FEATURES}


def over_steps(curve: xr.Dataset, of: str = "test") -> Interval:
    """Loss after ten steps minus that before the first."""
    losses = curve[of].sel(penalty=PENALTY)
    return stats.student((losses.sel(step=10) - losses.sel(step=0)).values)


def more_points(at: Mapping[int, xr.Dataset]) -> dict[str, bool | None]:
    """The parts of HT-58."""
    least_gain = 0.05  # of the test loss with 2000 points
    last = {n: one.sel(step=10, penalty=PENALTY) for n, one in at.items()}
    lower = {n: stats.student((last[n].test - last[8000].test).values).exceeds(0) for n in POINTS[:-1]}
    gain = stats.student((1 - last[8000].test / last[2000].test).values)
    overfit = [claims.all_of(falls(over_steps(at[n], "train")), over_steps(at[n]).exceeds(0)) for n in (500, 2000)]
    gaps = [last[n].test - last[n].train for n in POINTS]
    narrowing = [stats.student((few - many).values).exceeds(0) for few, many in pairwise(gaps)]
    return {
        "a, by points": claims.all_of(*lower.values(), gain.exceeds(least_gain)),
        "a, along the steps": claims.all_of(*(falls(over_steps(at[8000], of)) for of in LOSSES)),
        "b": claims.all_of(*overfit, *narrowing),
    }


def ht_58(runs: Points | None = None) -> Outcome:
    """Figure 28(a): with 8000 points the losses improve, with few the student overfits."""
    at, text = (by_points() if runs is None else runs).values()
    parts = {name: claims.verdict(one) for name, one in more_points(at).items()}
    means = {
        of: ", ".join(f"{float(one[of].sel(step=10, penalty=PENALTY).mean()):.2f}" for one in at.values())
        for of in LOSSES
    }
    last = (at[n].test.sel(step=10, penalty=PENALTY) for n in (2000, 8000))
    fewer = stats.student(np.subtract(*last).values)
    changes = ", ".join(f"{over_steps(one):.3f}" for one in at.values())
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: ten steps lower both losses with 8000 points and raise the test loss with few.",
            "contradicted": "No: more points do not lower the test loss, and few do not make the student overfit.",
            "undecided": "These draws do not say what more points change.",
            "otherwise": "In part: more points lower the test loss, but not everything said of few and many points "
            "is seen.",
        },
        finding=f"with 500, 2000, 4000 and 8000 points the test loss after ten steps is {means['test']} and the train "
        f"loss {means['train']}, which is least with few points; 2000 points instead of 8000 cost {fewer}; over the "
        f"steps the test loss changes by {changes}; on the features of the text it changes by "
        f"{over_steps(text[8000]):.3f} with 8000 points",
        evidence={f"change over the steps, {of}, {n}": over_steps(at[n], of) for n in POINTS for of in LOSSES},
    )  # fmt: skip


SMALLER = (0.001, 0.0001)


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


def smaller_ridge(runs: xr.Dataset) -> dict[str, bool | None]:
    """The parts a and b of HT-60."""
    steps = (0.1, 0.01), (0.01, 0.001), (0.001, 0.0001)
    wider = [by_ridge(runs, "gap", small, over) for over, small in steps]
    lower = {f"a, {of}": claims.all_of(*(falls(by_ridge(runs, of, p)) for p in SMALLER)) for of in LOSSES}
    return lower | {"b": claims.all_of(*(one.exceeds(0) for one in wider), falls(by_ridge(runs, "test", 0.01, 0.1)))}


def swept(features: str = "code") -> tuple[xr.Dataset, xr.DataArray]:
    """Adam's ten steps with 8000 points at all ridge constants, and the exponents."""
    one = records.load("heavy_tails/ten_steps_8000").sel(rule="Adam code", features=features)
    return one[["test"]], readings.sweep("softplus", "tanh", "Adam code").hill


def ht_60(runs: Points | None = None, sweep: xr.Dataset | None = None, hill: xr.DataArray | None = None) -> Outcome:
    """Figure 28(b): smaller ridge constants lower the losses and widen the gap; does the ridge decide the verdict?"""
    code, text = (by_features[8000] for by_features in (by_points() if runs is None else runs).values())
    sweep, hill = swept() if sweep is None or hill is None else (sweep, hill)
    ranks = correlations(sweep, hill)
    small, large = ranks[min(ranks)], ranks[max(ranks)]
    parts = {name: claims.verdict(one) for name, one in smaller_ridge(code).items()}
    parts["c"] = claims.verdict(claims.all_of(claims.below(small, 0), large.exceeds(0)))
    tests = {p: by_ridge(code, "test", p) for p in SMALLER}
    trains = {p: by_ridge(code, "train", p) for p in SMALLER}
    widening = by_ridge(code, "gap", 0.0001)
    in_text = ", ".join(f"{name}: {claims.verdict(one)}" for name, one in smaller_ridge(text).items())
    sure = parts["a, train"] == parts["b"] == parts["c"] == "reproduced"
    tests_are = {
        "reproduced": "They lower both losses, the train loss more",
        "contradicted": "They lower the train loss and not the test loss",
    }.get(parts["a, test"], "They lower the train loss and change the test loss little")
    return Outcome(
        parts=parts,
        answer=f"{tests_are}; the ridge decides whether small exponents look good." if sure
        else "Not all that is said of smaller ridge constants is seen clearly.",
        finding=f"ridge constants 0.001 and 0.0001 change the test loss of 0.01 by {tests[0.001]:.3f} and "
        f"{tests[0.0001]:.3f}, the train loss by {trains[0.001]:.3f} and {trains[0.0001]:.3f}, the gap by "
        f"{widening:.3f} at 0.0001; the rank correlation of exponent and test loss is {small} at the ridge constant "
        f"{min(ranks):g}, {ranks[PENALTY]} at {PENALTY:g} and {large} at {max(ranks):g}; with the features of the text "
        f"{in_text}",
        evidence={f"rank correlation at {p:g}": one for p, one in ranks.items()},
    )  # fmt: skip


def ht_66(runs: Mapping[Combination, Runs] | None = None, ks: xr.DataArray | None = None) -> Outcome:
    """Figure 32: with a tanh teacher GD at 1000 and more aligns, exponents fall; the losses of Adam turn at 0.1."""
    runs = combinations() if runs is None else runs
    code, text = (runs[Combination("tanh", "tanh", features)] for features in FEATURES)
    gd = code.gd.assign(ks=readings.exponents(code.gd.eigenvalues) if ks is None else ks)
    moved = {of: [change(gd, 3000.0, over, of) for over in (0.0, 1000.0)] for of in ("alignment", "hill", "ks")}
    turned = {name: turns(one) for name, one in (("code", code), ("text", text))}
    parts = {
        "a, alignment": claims.verdict(claims.all_of(*(one.exceeds(0) for one in moved["alignment"]))),
        "a, PL_Alpha_Hill": claims.verdict(claims.all_of(*map(falls, moved["hill"]))),
        "a, PL_Alpha_KS": claims.verdict(claims.all_of(*map(falls, moved["ks"]))),
        "b": claims.verdict(turned["text"]),
    }
    least = {name: float(one.figure.test.mean("seed").idxmin()) for name, one in (("code", code), ("text", text))}
    along = [0.0, 1000.0, 2000.0, 3000.0]
    shown = {
        of: ", ".join(f"{x:.{k}f}" for x in gd[of].mean("seed").sel(rate=along).values)
        for of, k in (("alignment", 3), ("hill", 2), ("ks", 1))
    }
    up, again = (change(text.adam, *pair) for pair in ((0.1, 0.0), (1.0, 0.1)))
    sure = parts["b"] == "reproduced" and turned["code"] is False
    by_gd = {
        (): "GD's trends are the same again",
        ("a, PL_Alpha_KS",): "GD moves alignment and PL_Alpha_Hill as said",
    }.get(tuple(name for name in parts if name != "b" and parts[name] != "reproduced"), "GD's trends are seen in part")
    return Outcome(
        parts=parts,
        answer={
            "contradicted": "No: neither the trends of GD nor the turn of Adam's losses are seen with a tanh teacher.",
            "undecided": "These draws do not settle the trends with a tanh teacher.",
            "otherwise": by_gd
            + (
                "; Adam's losses turn near 0.1 on the features of the text, not on those of the program."
                if sure
                else "; whether Adam's losses turn near 0.1 is another matter."
            ),
        },
        finding=f"with GD untrained and at 1000, 2000, 3000 the alignment is {shown['alignment']} (3000 against "
        f"untrained {moved['alignment'][0]:.3f}), PL_Alpha_Hill {shown['hill']} ({moved['hill'][0]}), PL_Alpha_KS "
        f"{shown['ks']} ({moved['ks'][0]:.1f}); on the features of the text Adam's test loss changes by {up:.3f} up to "
        f"0.1 and by {again:.3f} from there to 1, on those of the code by "
        f"{change(code.adam, 0.1, 0.0):.3f} and {change(code.adam, 1.0, 0.1):.3f}; it is least at {least['text']:g} "
        f"and at {least['code']:g}",
        evidence={f"{of}, 3000 minus {over:g}": one for of, pair in moved.items()
                  for over, one in zip((0.0, 1000.0), pair)},
    )  # fmt: skip


def turns(runs: Runs) -> bool | None:
    """Whether Adam's losses, train and test, are lower at 0.1 than untrained and higher at 1 than at 0.1."""
    down = [falls(change(runs.adam, 0.1, 0.0, of)) for of in LOSSES]
    return claims.all_of(*down, *(change(runs.adam, 1.0, 0.1, of).exceeds(0) for of in LOSSES))


def relative(runs: Runs, teacher: str, of: str) -> xr.DataArray:
    """Least mean loss of Adam over that of the prediction 0, by draw."""
    losses = runs.adam[of].sel(rate=NEAR)
    return losses.sel(rate=losses.mean("seed").idxmin()) / single_index.moments(teacher).null_loss(NOISE)


def ht_67(runs: Mapping[Combination, Runs] | None = None) -> Outcome:
    """Appendix F.5: equal activations are easier to learn; test losses of 0.2 and 0.85."""
    runs = combinations() if runs is None else runs
    floors = {teacher: single_index.moments(teacher).odd_floor(NOISE) - NOISE**2 for teacher in LEVELS}
    harder = {
        (features, of): stats.student((
            relative(runs[Combination("softplus", "tanh", features)], "softplus", of)
            - relative(runs[Combination("tanh", "tanh", features)], "tanh", of)
        ).values)
        for features in FEATURES for of in LOSSES
    }  # fmt: skip
    levels = {
        (teacher, features): level(runs[Combination(teacher, "tanh", features)].figure)
        for teacher in LEVELS for features in FEATURES
    }  # fmt: skip
    near = {key: about(found, LEVELS[key[0]]) for key, found in levels.items()}
    easier = claims.all_of(*(found.exceeds(0) for found in harder.values()))
    parts = {
        "a": claims.verdict(claims.all_of(floors["softplus"] > 0.6, floors["tanh"] < 1e-9, easier)),
        "b, 0.2": claims.verdict(near["tanh", "text"]),
        "b, 0.85": claims.verdict(near["softplus", "code"]),
    }
    tail = {"reproduced": "and the quoted losses are met.", "contradicted": "but the quoted losses are not met."}
    levels_are = claims.combine({name: parts[name] for name in ("b, 0.2", "b, 0.85")})
    return Outcome(
        parts=parts,
        answer={
            "contradicted": "No: a tanh teacher is not easier for a tanh student, and the quoted losses are not met.",
            "undecided": "These draws do not say which teacher is easier to learn.",
            "otherwise": "Yes, a tanh student learns a tanh teacher far better, "
            + tail.get(levels_are, "and the quoted losses lie within the scatter of five draws.")
            if parts["a"] == "reproduced"
            else "Whether a tanh teacher is easier is not clear.",
        },
        finding=f"least mean test losses of Adam (with where another five draws would fall) are "
        f"{levels['tanh', 'text']} with the tanh teacher on the features of the text, {levels['tanh', 'code']} on "
        f"those of the code, and with softplus {levels['softplus', 'text']} and {levels['softplus', 'code']}; over the "
        f"loss of the prediction 0, on 8000 test points, softplus is higher by {harder['code', 'test']} on the "
        f"features of the code and {harder['text', 'test']} on those of the text; floors of an odd student without "
        f"noise {floors['softplus']:.3f} and {floors['tanh']:.3f}",
        evidence={f"softplus minus tanh, {of}, {features}": one for (features, of), one in harder.items()}
        | {f"least test loss, {teacher}, {features}": one for (teacher, features), one in levels.items()},
    )


def ht_68(runs: Mapping[Combination, Runs] | None = None) -> Outcome:
    """Appendix F.5: an exponent near 2 is good with softplus and poor with tanh; the benign range shrinks tenfold."""
    runs = combinations() if runs is None else runs
    pairs = {f: [runs[Combination(teacher, "tanh", f)].adam for teacher in LEVELS] for f in FEATURES}
    where = {f: [position(one) for one in pair] for f, pair in pairs.items()}
    at_one = {f: [change(one, 1.0, 0.0) for one in pair] for f, pair in pairs.items()}
    poorer = {f: claims.all_of(claims.below(good, MIDDLE), poor.exceeds(MIDDLE)) for f, (good, poor) in where.items()}
    shorter = {f: claims.all_of(falls(helps), hurts.exceeds(0)) for f, (helps, hurts) in at_one.items()}
    mixed = claims.all_of(claims.below(where["code"][0], MIDDLE), where["text"][1].exceeds(MIDDLE))
    exponents = [runs[Combination(teacher, "tanh", "code")].figure.hill.sel(rate=1.0).mean() for teacher in LEVELS]
    hill = " and ".join(f"{float(one):.2f}" for one in exponents)
    no = "No: on one kind of features both teachers agree"
    return Outcome(
        parts={"a": claims.any_of(*poorer.values()), "b": claims.any_of(*shorter.values())},
        answer={
            "reproduced": "Yes: with a tanh teacher an exponent near 2 goes with a poorer test loss, and fewer "
            "learning rates help.",
            "contradicted": f"{no}; the two figures differ as their evaluations do, not as their teachers do."
            if mixed
            else f"{no} on whether an exponent near 2 is good.",
            "undecided": "These draws do not say whether the teacher changes what an exponent near 2 means.",
            "otherwise": "In part: the teacher changes either which exponents are good or which learning rates help.",
        },
        finding=f"at the rate 1, where the exponents are {hill}, the test loss lies at {where['code'][0]} of the way "
        f"from best to worst with the softplus teacher and at {where['code'][1]} with tanh on the features of the "
        f"code, at {where['text'][0]} and {where['text'][1]} on those of the text; against the untrained student it "
        f"changes by {at_one['code'][0]:.3f} and {at_one['code'][1]:.3f}, and by {at_one['text'][0]:.3f} and "
        f"{at_one['text'][1]:.3f}",
        evidence={
            f"position at 1, {teacher}, {f}": one for f, pair in where.items() for teacher, one in zip(LEVELS, pair)
        },
    )
