r"""Rules on the note's probabilities (6) to (14): LO-27 to LO-31, LO-33, LO-34, LO-38 to LO-43.

Intervals are Student's over seeds, of networks or of draws of pairs.  Where a record has the standard error of a draw,
the draws of its seeds are pooled, which is a normal interval over all their pairs: :func:`pooled`.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import xarray as xr

from experiments.localization import objectives
from experiments.localization.rules.data import all_within, each, farthest
from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.stats import Interval

load = cache(lambda name: records.load(name))  # looked up when called, so that a call can be watched

ROUNDING = 1e-10


def pooled(values: xr.DataArray | np.ndarray, errors: xr.DataArray | np.ndarray) -> Interval:
    """Mean over the seeds of estimates from pairs of their own, with a normal interval from their standard errors."""
    mean, error = float(values.mean()), float(np.sqrt((errors.astype(float) ** 2).sum()) / errors.size)
    return Interval(mean, mean - 1.96 * error, mean + 1.96 * error)


def lo_27(averages: xr.DataArray | None = None) -> Outcome:
    """Equation (6): how near one it comes for the learned fields; the note asks for it ideally.

    Args:
        averages: (6) of the learned fields (gain, seed).
    """
    near = 0.95
    if averages is None:
        averages = objectives.learned(load("localization/balance").isel(step=-1))
    found = {float(g): stats.student(averages.sel(gain=g).values) for g in averages.gain.values}
    reached = [g for g, one in found.items() if one.exceeds(near)]
    values = ", ".join(f"{one:.3f} at g = {g:g}" for g, one in found.items())
    reach = " and ".join(f"{one.estimate:.2f} at gain {g:g}" for g, one in found.items())
    return Outcome(
        verdict="answered",
        answer="At every gain that was tried the learned fields come near the ideal, a probability of about one."
        if len(reached) == len(found)
        else f"Not quite: with the learned fields the probability is {reach}, not about one.",
        finding=f"(6) of the learned negative fields with their own biases, mean over the fields: {values}",
        evidence={f"(6) at g = {g:g}": f"{one:.3f}" for g, one in found.items()},
    )


def lo_28(runs: xr.Dataset | None = None) -> Outcome:
    """After (6): the condition is equivalent to a large spread of the one class relative to the other.

    Args:
        runs: lead, lead_error (gain, seed, filter, rival), ratio (gain, seed, filter).
    """
    same, other = 0.01, 0.05
    runs = load("localization/filters_on_average") if runs is None else runs
    names = [str(name) for name in runs["filter"].values if str(name).startswith("bump as ")]
    gaps = {}
    for gain in runs.gain.values:
        for name in names:
            one = runs.sel(gain=gain, filter=name, rival=name.removeprefix("bump as "))
            gaps[float(gain), name] = pooled(one.lead, one.lead_error)
    differ = [
        claims.any_of(*(outside(gap, other) for (g, _), gap in gaps.items() if g == gain)) for gain in runs.gain.values
    ]
    equal = claims.all_of(*(claims.within(gap, -same, same) for gap in gaps.values()))
    fails = claims.all_of(*differ)
    ranges = "; ".join(
        f"{min(v):.2f} to {max(v):.2f} at g = {g:g}"
        for g in map(float, runs.gain.values)
        if (v := [gap.estimate for (at, _), gap in gaps.items() if at == g])
    )
    return Outcome(
        verdict=True if equal else False if fails else "undecided" if None in (equal, fails) else "partly",
        answer={
            "reproduced": "Yes: filters with the same ratio of variances have the same probability (6).",
            "contradicted": "No: two filters with the same ratio of variances can differ widely in (6); a narrow one "
            "is ahead.",
            "otherwise": "Open: the filters of equal variance ratio that were compared do not settle it.",
        },
        finding=f"{len(names)} bumps are ahead of the cosine with the same variance ratio in (6) by {ranges}",
        evidence={f"{name} over it, g = {g:g}": f"{gap:.3f}" for (g, name), gap in gaps.items()},
    )


def outside(gap: Interval, size: float) -> bool | None:
    """Whether a difference is larger than a size in modulus."""
    return claims.any_of(gap.exceeds(size), claims.below(gap, -size))


def rivals(runs: xr.Dataset) -> tuple[str, str, Interval]:
    """Of one gain: the best filter of (7), the best in (6), and the lead in (6) of the second over the first.

    Every seed's pair of filters is chosen by the values of the others.
    """
    names, chosen, leads = runs["filter"].values, [], []
    for seed in runs.seed.values:
        rest = runs.drop_sel(seed=seed)
        point, ring = (str(names[rest[name].mean("seed").values.argmax()]) for name in ("point", "average"))
        one = runs.sel(seed=seed, filter=ring, rival=point)
        chosen.append((point, ring))
        leads.append((float(one.lead), float(one.lead_error)))
    point, ring = (max(kind, key=list(kind).count) for kind in zip(*chosen, strict=True))
    return point, ring, pooled(*map(np.array, zip(*leads, strict=True)))


def lo_29(runs: xr.Dataset | None = None, wave: tuple[float, float] | None = None) -> Outcome:
    """(6) to (7): the average over the ring replaced by one place leaves the best filter what it is.

    Args:
        runs: average, point (gain, seed, filter), lead, lead_error (gain, seed, filter, rival).
        wave: exact values of (6) for Gaussian data: of the best wave in (7), and of the best of all waves.
    """
    tie, loses = 0.005, 0.02
    runs = load("localization/filters_on_average") if runs is None else runs
    best, other = objectives.exact_waves() if wave is None else wave
    found = {float(g): rivals(runs.sel(gain=g)) for g in runs.gain.values}
    fails = claims.any_of(*(lead.exceeds(loses) for *_, lead in found.values()))
    holds = claims.all_of(other - best <= tie, *(claims.below(lead, tie) for *_, lead in found.values()))
    if other - best > loses:
        fails = True
    texts = [
        f"g = {g:g}: best in (7) {spelled(point)}, best in (6) {spelled(ring)}, ahead there by {lead:.3f}"
        for g, (point, ring, lead) in found.items()
    ]
    return Outcome(
        verdict=True if holds else False if fails else "undecided" if None in (holds, fails) else "partly",
        answer={
            "reproduced": "Yes: the filter that is best at one place is also best on the average over the ring.",
            "contradicted": "No: the average over the ring favours narrow filters that fit into it many times; one "
            "place does not.",
            "otherwise": "Open: the best filters of the two problems cannot be told apart, or differ by little.",
        },
        finding=f"Gaussian data, exactly: (6) is {best:.4f} for the best wave in (7) and {other:.4f} for the best "
        f"wave in (6); {'; '.join(texts)}",
        evidence={"exact lead": f"{other - best:.4f}"} | {f"lead, g = {g:g}": f"{v[2]:.3f}" for g, v in found.items()},
    )


def spelled(name: str) -> str:
    """Name of a filter of the record in words."""
    kind, *numbers = name.split()
    if kind == "gabor":
        return f"Gabor function ({numbers[0]} pixels, {numbers[1]} cycles)"
    return f"bump of {numbers[0]} pixels" if kind == "bump" and len(numbers) == 1 else name


def lo_30(runs: xr.Dataset | None = None) -> Outcome:
    """Which objective training follows where (6) and (9) disagree; a question of ours.

    Args:
        runs: spread, low, loss (begin, gain, seed, step).
    """
    local, same = 0.1, 0.02
    runs = load("localization/planted_fields") if runs is None else runs
    end = runs.isel(step=-1).sel(gain=0.01)
    begun = float(runs.spread.sel(gain=0.01, begin="bumps").isel(step=0).mean())
    spread = stats.student(end.spread.sel(begin="bumps").values)
    low = stats.student(end.low.sel(begin="bumps").values)
    apart = stats.student((end.loss.sel(begin="bumps") / end.loss.sel(begin="random") - 1).values)
    leaves = claims.all_of(claims.below(spread, local), claims.within(apart, -same, same))
    last = runs.isel(step=-1).sel(gain=3.0).spread
    waves, bumps = (stats.student(last.sel(begin=name).values) for name in ("waves", "bumps"))
    return Outcome(
        verdict="undecided" if leaves is None else "answered",
        answer="The single place: on nearly Gaussian data even perfect bumps spread into long waves, which (6) does "
        "not want."
        if leaves
        else "Not the single place alone: bumps that are planted stay, or end with another loss.",
        finding=f"at g = 0.01 tiled bumps go from an inverse participation ratio of {begun:.2f} to {spread}, with "
        f"{low} of the energy in modes up to 2, and end {apart:.1%} from the loss of random starts; at g = 3 waves end "
        f"at {waves} and bumps at {bumps}",
        evidence={"bumps at the end, g = 0.01": f"{spread:.3f}", "loss over that of random starts": f"{apart:.2%}"},
    )


def lo_31(draws: xr.Dataset | None = None) -> Outcome:
    """(7) to (8), (8) to (9), (9) to (10).

    Args:
        draws: differ, tied (..., seed); moved (gain, filter, seed), (8) minus (9); squares (gain, filter, seed).
    """
    margin = 0.01
    draws = objectives.steps() if draws is None else draws
    differ, tied = int(draws.differ.sum()), float(draws.tied.max())
    worst = farthest(draws.moved)
    same = bool(draws.squares.all())
    return Outcome(
        parts={"a": differ == 0, "b": all_within(draws.moved, -margin, margin), "c": same},
        answer={
            "reproduced": "Yes: sigmoid and bias, the random places and the squares can all be dropped.",
            "contradicted": "No: the four probabilities are not one number.",
            "otherwise": "In part: some of these steps change the probability.",
        },
        finding=f"(a) {differ} pairs decided otherwise, up to {tied:.0%} of them tied by rounding; (b) (8) minus (9) "
        f"is at most {worst:.3f}; (c) {'equal' if same else 'unequal'} on every pair",
        evidence={"pairs decided otherwise": differ, "(8) minus (9), farthest": f"{worst:.4f}"},
    )


def lo_33(runs: xr.Dataset | None = None) -> Outcome:
    """After (10): the aim is a large variance of the one class relative to the other.

    Args:
        runs: lead, lead_error (gain, seed, rival), of a bump over the constant, which has the largest ratio; ratio
            (gain, seed, mode) and gabor_ratio (gain, seed, width, carrier).
    """
    gap, gains = 0.01, (0.01, 1.0, 3.0, 100.0)
    runs = load("localization/filters_at_a_point").isel(n=0, drop=True) if runs is None else runs
    largest = all(
        float(runs.ratio.sel(gain=g).isel(mode=0).min()) >= float(runs.gabor_ratio.sel(gain=g).max()) for g in gains
    )
    bumps = {g: runs.sel(gain=g, rival="bump") for g in gains}
    leads = {g: pooled(one.lead, one.lead_error) for g, one in bumps.items()}
    return Outcome(
        parts={f"g = {g:g}": claims.below(lead, gap) for g, lead in leads.items()},
        answer={
            "reproduced": "Yes: the filter with the largest ratio of variances is also the best in (9).",
            "contradicted": "No: filters with a smaller ratio of variances are better in (9), at all gains.",
            "otherwise": "For Gaussian data only: elsewhere a bump is better in (9) although its variance ratio is "
            "smaller.",
        },
        finding="the best bump leads the constant"
        + (", which has the largest variance ratio," if largest else "")
        + " in (9) by "
        + ", ".join(f"{lead:.3f} at g = {g:g}" for g, lead in leads.items())
        + "; for Gaussian data (9) is the arctan law of that ratio",
        evidence={f"lead of the bump, g = {g:g}": f"{lead:.4f}" for g, lead in leads.items()},
    )


def missed(runs: xr.Dataset, name: str = "value") -> xr.DataArray:
    """Share of what there is to gain in (9) over 1/2 that the learned fields leave."""
    return (runs.best - runs[name]) / (runs.best - 0.5)


def lo_34(runs: xr.Dataset | None = None) -> Outcome:
    """Understanding the model: (9) is the problem that the network solves.

    Args:
        runs: value, start, best (gain, seed, sign).
    """
    share = 0.25
    runs = load("localization/learned_filters") if runs is None else runs
    left, start = missed(runs), float(missed(runs, "start").min())
    found = {
        (name, float(g)): stats.student(left.sel(sign=sign, gain=g).values)
        for sign, name in ((-1, "negative"), (1, "positive"))
        for g in runs.gain.values
    }
    parts = {
        name: claims.all_of(*(claims.below(one, share) for (of, _), one in found.items() if of == name))
        for name in ("negative", "positive")
    }
    listed = {
        name: ", ".join(f"{one:.2f}" for (of, _), one in found.items() if of == name)
        for name in ("negative", "positive")
    }
    gains = ", ".join(f"{g:g}" for g in runs.gain.values)
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: learned fields take at least three quarters of what (9) has to offer, in both groups.",
            "contradicted": "No: learned fields leave much of what (9) has to offer, in both groups.",
            "otherwise": "Nearly: learned fields take most of what (9) offers; only negative ones at the largest gain "
            "leave about a quarter.",
        },
        finding=f"share of what there is to gain in (9) that learned fields miss, at g = {gains}: negative "
        f"{listed['negative']}; positive {listed['positive']}; before training {start:.2f} or more",
        evidence={f"missed, {name}, g = {g:g}": f"{one:.3f}" for (name, g), one in found.items()},
    )


def missed_rows(runs: xr.Dataset) -> list[list[str]]:
    """By sign and gain: (9) of learned fields at the start and at the end, of the best filter, and what is missed."""
    rows = []
    for sign, name in ((-1, "negative"), (1, "positive")):
        for gain in runs.gain.values:
            one = runs.sel(sign=sign, gain=gain)
            values = [f"{float(one[part].mean()):.3f}" for part in ("start", "value", "best")]
            rows.append([name, f"{gain:g}", *values, str(stats.student(missed(one).values))])
    return rows


def dip_rows(dips: xr.Dataset) -> list[list[str]]:
    """What fields with and without their dips miss of (9), and their loss; differences paired by seed."""
    rows = []
    for part, name in (("missed", "share of (9) missed"), ("loss", "loss")):
        whole, cut = (dips[part].sel(shape=shape).values for shape in ("whole", "cut"))
        rows.append([name, *(f"{stats.student(values):.3f}" for values in (whole, cut, whole - cut))])
    return rows


def lo_38(responses: xr.Dataset | None = None, integrals: xr.Dataset | None = None) -> Outcome:
    """Gaussian data: the law of a response (a), and the chain down to the integral of erf (b).

    Args:
        responses: variance, distance (gain, xi, filter, seed).
        integrals: value (case, line), wins (case), pairs.
    """
    variance, distance, relative, margin = 0.02, 0.01, 1e-8, 0.005
    responses = objectives.responses() if responses is None else responses
    integrals = lines() if integrals is None else integrals
    apart = float(np.abs(integrals.value.diff("line") / integrals.value.isel(line=slice(1, None))).max())
    drawn = [drawn_apart(one) for one in cases(integrals)]
    parts = {
        "a": claims.all_of(
            all_within(responses.variance, 1 - variance, 1 + variance),
            *(claims.below(one, distance) for one in each(responses.distance)),
        ),
        "b": claims.all_of(apart < relative, *(claims.within(one, -margin, margin) for one in drawn)),
    }
    ratio, far = farthest(responses.variance, 1.0), farthest(responses.distance)
    widest = max(drawn, key=lambda one: max(abs(one.low), abs(one.high)))
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: the responses are normal, and every line of the calculation follows from the one "
            "before.",
            "contradicted": "No: neither the law of the responses nor the calculation is right.",
            "otherwise": "In part: the law of the responses, or a line of the calculation, is not right.",
        },
        finding=f"(a) sample variances over the formula {ratio:.3f} where they are farthest from it, distance from "
        f"the normal law {far:.4f} or less; (b) successive lines agree to "
        f"{'1e-8 or better' if apart < relative else f'{apart:.0e}'}, and draws differ from the first by "
        f"{widest:.4f} at most",
        evidence={"variance over the formula": f"{ratio:.4f}", "distance": f"{far:.4f}", "draws": f"{widest:.4f}"},
    )


@cache
def lines() -> xr.Dataset:
    """The integrals of LO-38 and LO-39."""
    return objectives.integrals()


def cases(integrals: xr.Dataset) -> list[xr.Dataset]:
    """The integrals by case."""
    return [integrals.isel(case=i) for i in range(integrals.sizes["case"])]


def drawn_apart(case: xr.Dataset) -> Interval:
    """The share of won pairs minus the first line of the chain, with Wilson's interval."""
    share, line = stats.wilson(int(case.wins), int(case.pairs)), float(case.value[0])
    return Interval(*(value - line for value in (share.estimate, share.low, share.high)))


def lo_39(integrals: xr.Dataset | None = None) -> Outcome:
    """The last integral, which the note leaves: a closed form.

    Args:
        integrals: integral, closed (ratio), value (case, line), wins (case), pairs.
    """
    margin = 0.005
    integrals = lines() if integrals is None else integrals
    error = float(np.abs(integrals.integral - integrals.closed).max())
    drawn = [drawn_apart(one) for one in cases(integrals)]
    near = claims.all_of(error < ROUNDING, *(claims.within(one, -margin, margin) for one in drawn))
    widest = max(drawn, key=lambda one: max(abs(one.low), abs(one.high)))
    return Outcome(
        verdict="answered" if near else "undecided" if near is None else "contradicted",
        answer={
            "answered": "The integral is elementary: the arctangent of the ratio of the two standard deviations, times "
            "two over pi.",
            "contradicted": "The arctangent law is not the value of the integral.",
            "otherwise": "Open: too few draws to check the arctangent law.",
        },
        finding=f"it is 2/π arctan(s1/s0): {'within 1e-10 of' if error < ROUNDING else 'off'} the integral at "
        f"{integrals.sizes['ratio']} values of s1/s0; draws differ from it by {widest:.4f} at most",
        evidence={"draws minus the law": f"{widest:.4f}"},
    )


def lo_40(found: xr.Dataset | None = None) -> Outcome:
    """Gaussian data: the best and the worst filter in (9), which the note does not give.

    Args:
        found: mode, predicted, found (case, end).
    """
    slack = 1e-6
    found = objectives.extremes() if found is None else found
    sign = xr.DataArray([1.0, -1.0], {"end": ["largest", "smallest"]})
    beyond = float(((found.found - found.predicted) * sign).max())
    texts = [
        f"{case}: "
        + ", ".join(
            f"{end} {float(one.predicted.sel(end=end)):.4f} at k = {int(one.mode.sel(end=end))}"
            for end in ("largest", "smallest")
        )
        for case in found.case.values
        for one in [found.sel(case=case)]
    ]
    return Outcome(
        verdict="answered" if beyond <= slack else "contradicted",
        answer={
            "answered": "Both are waves: for the note's classes the constant is the best filter and the fastest wave "
            "the worst.",
            "otherwise": "The waves that the spectra name are not the best and the worst filter: a search goes beyond.",
        },
        finding=f"2/π arctan of the root of the largest and of the smallest ratio of the spectra; {'; '.join(texts)}; "
        f"a search {'finds nothing beyond' if beyond <= slack else 'goes beyond'} them by more than 1e-6",
        evidence={"a search goes beyond by 1e-6": beyond > slack},
    )


def lo_41(draws: xr.Dataset | None = None) -> Outcome:
    """(11), (12) and footnote 4.

    Args:
        draws: differ (form, gain, seed), pairs on which (11) or (12) is not (9); pairs, of each gain and seed.
    """
    rounded = 1e-4
    draws = objectives.polar() if draws is None else draws
    pairs = int(draws.pairs) * draws.sizes["gain"] * draws.sizes["seed"]
    first, second = (int(draws.differ.sel(form=form).sum()) for form in ("(11)", "(12)"))
    few = second <= rounded * pairs
    return Outcome(
        parts={"a": first <= rounded * pairs, "b": few, "c": first <= rounded * pairs and few},
        answer={
            "reproduced": "Yes: norms and cosines restate the comparison and say nothing new.",
            "contradicted": "No: the polar form is another comparison.",
            "otherwise": "In part: one of the two polar forms is another comparison.",
        },
        finding=f"the event of (11) is that of (9) on all but {first}, that of (12) on all but {second} of {pairs:,} "
        "pairs; (12) needs a response to X0 that is not zero, which has probability one",
        evidence={"pairs, (11)": first, "pairs, (12)": second},
    )


def lo_42(draws: xr.Dataset | None = None) -> Outcome:
    """After (12): as parallel as possible to the one class and as orthogonal as possible to the other, a trade-off.

    Args:
        draws: behind (gain, choice, seed), in (9), of the filter chosen by (9) minus that of the choice.
    """
    gap = 0.01
    draws = objectives.cosines() if draws is None else draws
    of = {
        (choice, float(g)): stats.student(draws.behind.sel(choice=choice, gain=g).values)
        for choice in objectives.CHOICES[1:]
        for g in draws.gain.values
    }
    compared = [one for (choice, _), one in of.items() if choice == "cosines compared"]
    near = claims.all_of(*(claims.below(one, gap) for one in compared))
    far = claims.all_of(*(one.exceeds(gap) for one in compared))
    texts = [
        f"{choice} {', '.join(f'{one:.3f}' for (of_, _), one in of.items() if of_ == choice)}"
        for choice in objectives.CHOICES[1:]
    ]
    return Outcome(
        verdict=True if near else False if far else "undecided" if None in (near, far) else "partly",
        answer={
            "reproduced": "Yes, as a trade-off: comparing cosines finds the same filter; either half alone does not.",
            "contradicted": "No: the filter that is best by cosines alone is not the best in (9).",
            "otherwise": "At some gains only: elsewhere cosines alone name another filter.",
        },
        finding="filters chosen without (9) are behind the best in it, at g = "
        f"{' and '.join(f'{g:g}' for g in draws.gain.values)}, by: {'; '.join(texts)}",
        evidence={f"{choice}, g = {g:g}": f"{one:.4f}" for (choice, g), one in of.items()},
    )


def lo_43(draws: xr.Dataset | None = None, extremes: xr.Dataset | None = None) -> Outcome:
    """(13), (14) and footnote 5 (a); whether Fourier series are needed (b), or helpful (c).

    Args:
        draws: apart, differ (gain), off (gain), moduli (gain, pair, seed).
        extremes: for LO-40.
    """
    free, bound = 0.02, 0.1
    draws = objectives.fourier() if draws is None else draws
    unitary = float(draws.apart) < ROUNDING and int(draws.differ.sum()) == 0
    diagonal = float(draws.off.max()) < ROUNDING
    gaussian, *others = (draws.moduli.sel(gain=g) for g in draws.gain.values)
    independent = all_within(gaussian, -free, free)
    dependent = claims.all_of(*(outside(one, bound) for values in others for one in each(values)))
    solved = lo_40(extremes).verdict == "answered"
    settled = claims.all_of(independent, dependent)
    strongest = ", ".join(f"{farthest(values):.3f}" for values in others)
    return Outcome(
        verdict="reproduced" if unitary else "contradicted",
        parts={
            "a": unitary,
            "b": "answered" if diagonal and settled else "undecided",
            "c": "answered" if solved else "undecided",
        },
        answer={
            "reproduced": "Yes, the Fourier form is the same problem; and it helps, since it solves the Gaussian case.",
            "otherwise": "No: in Fourier space the comparison is another one.",
        },
        finding=f"(a) inner products and events are {'the same' if unitary else 'not the same'}; (b) covariances are "
        f"{'diagonal' if diagonal else 'not diagonal'} in the Fourier basis at every gain, and squared moduli at two "
        f"frequencies have correlations within {farthest(gaussian):.3f} at g = 0.01, but {strongest} at g = 3 and 100; "
        f"(c) the Fourier form {'gives' if solved else 'does not give'} best and worst filter for Gaussian data",
        evidence={"correlation of moduli, g = 0.01": f"{farthest(gaussian):.4f}", "g = 3 and 100": strongest},
    )
