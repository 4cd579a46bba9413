"""Rules on extremal vectors and few directions (Boursier and Flammarion, Sections 2.3 and 3): SB-02 to SB-12.

Intervals over draws are Student's, those of mean numbers of vectors percentile bootstraps, of shares Wilson's.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import xarray as xr

from experiments.simplicity_bias import extremal, geometry
from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.data import teachers
from shallow.stats import Interval

LIMIT = 2 + 4 * teachers.NOISE**0.5 / np.pi  # mean number of extremal vectors, by the heuristic
TILTS = np.radians(np.arange(1, 90, 2))
PLANAR_LAWS = {"N(0, I)": 1.0, "square": "square", "4 : 1": 4.0, "16 : 1": 16.0, "64 : 1": 64.0}
POINTS = (20, 100, 500)
AT_TAU, TWICE = 1, 2  # places of the exponents 1/3 and 2/3 in the records


def load(name: str) -> xr.Dataset:
    """A record of the chapter."""
    return records.load(f"simplicity_bias/{name}")


def sb_02(steps: xr.Dataset | None = None) -> Outcome:
    """Section 2.3: one matrix moves all neurons of a pattern; largest relative differences `worst` of steps."""
    exact = 1e-12
    steps = load("one_matrix") if steps is None else steps
    worst, runs = float(steps.worst.max()), steps.worst.size
    return Outcome(
        verdict=worst <= exact,
        answer={
            "reproduced": "Yes: one matrix predicts the next step of all neurons that are active on the same points.",
            "contradicted": "No: neurons that are active on the same points do not move by one matrix.",
        },
        finding=f"in {100 * runs} random steps of {runs} runs the largest relative difference is {worst:.0e}; on "
        f"average a neuron shares its pattern with {float(steps.company.mean()) - 1:.1f} of 499 others",
        evidence={"largest relative difference": worst},
    )


def sb_03(found: Sequence[geometry.Jumps] | None = None) -> Outcome:
    """Section 2.3, (5): G_n is continuous and piecewise linear with gradient D_n."""
    continuous, gradient = 1e-7, 1e-6
    found = measured_jumps() if found is None else found
    jump, wrong = max(one.function for one in found), max(one.gradient.max() for one in found)
    return Outcome(
        parts={"continuous": bool(jump <= continuous), "gradient": bool(wrong <= gradient)},
        answer={
            "reproduced": "Yes: the function has no jumps, and inside each cell its gradient is the pull.",
            "contradicted": "No: the function jumps, and the pull is not its gradient.",
            "otherwise": "In part: continuity and gradient do not both hold.",
        },
        finding=f"within 1e-9 of {200 * len(found)} hyperplanes G_n jumps by at most {jump:.0e} and D_n by up to "
        f"{max(one.vector for one in found):.2f}; finite differences of G_n differ from D_n by at most {wrong:.0e}",
        evidence={"largest jump of G_n": jump, "largest error of the gradient": float(wrong)},
    )


@functools.cache
def measured_jumps() -> list[geometry.Jumps]:
    """Six samples of 200 points in two and five dimensions."""
    return [geometry.jumps(d, seed) for d in (2, 5) for seed in range(3)]


def sb_05(toward: xr.Dataset | None = None, shuffled: xr.Dataset | None = None) -> Outcome:
    """Section 2.3: neurons along extremal vectors at tau; share over n, scale, seed and exponent."""
    nearly_all, most = 0.9, 0.5
    toward = load("toward_extremal") if toward is None else toward
    shuffled = load("toward_extremal_shuffled") if shuffled is None else shuffled
    scales = sorted(toward.scale.values)[::-1]
    parts, shown, late = {}, {}, {}
    for n in toward.n.values:
        share = toward.share.sel(n=n).isel(exponent=AT_TAU)
        shown[n] = {scale: stats.student(share.sel(scale=scale).values) for scale in scales}
        rises = [share.sel(scale=b).values - share.sel(scale=a).values for a, b in zip(scales, scales[1:])]
        last = shown[n][scales[-1]]
        grows = claims.all_of(*(stats.student(rise).exceeds(0) for rise in rises))
        parts[f"n = {n}"] = (
            "contradicted" if claims.below(last, most) else claims.all_of(last.exceeds(nearly_all) or None, grows)
        )
        late[n] = stats.student(toward.share.sel(n=n, scale=scales[-1]).isel(exponent=TWICE).values)
    all_most = all(one[scales[-1]].above(most) for one in shown.values())
    differs = set(parts.values()) != {True} and all_most
    false = {n: stats.student(shuffled.share.sel(n=n).isel(exponent=AT_TAU).values) for n in shuffled.n.values}
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: more than nine neurons in ten point nearly along an extremal vector.",
            "contradicted": "No: most neurons point elsewhere.",
            "otherwise": "Yes, most do: nearly all with a hundred points or more, about nine in ten with twenty.",
        },
        finding=f"shares of aligned neurons at lambda = {', '.join(f'{s:.0e}' for s in scales)}: "
        + "; ".join(f"n = {n}: {', '.join(map(str, one.values()))}" for n, one in shown.items())
        + f"; at the start {float(toward.share.isel(exponent=0).mean()):.2f}; at twice the time and the smallest "
        + f"lambda {', '.join(map(str, late.values()))}"
        + f"; with permuted labels {', '.join(map(str, false.values()))}",
        evidence={f"share at the smallest lambda, n = {n}": one[scales[-1]] for n, one in shown.items()},
        reading="reproduced" if differs else None,
        reading_why="The document says 'most if not all', and at the smallest start most are aligned at every n."
        if differs
        else None,
    )  # fmt: skip


def sb_08(
    drift: xr.Dataset | None = None, exact: Sequence[tuple[set, set]] | None = None, counts: dict | None = None
) -> Outcome:
    """Section 3, (6): two directions for a linear teacher, one for one unit; counts over directions by law."""
    errors = 5
    drift = load("symmetric_laws") if drift is None else drift
    exact = [geometry.two_examples(d) for d in (2, 5)] if exact is None else exact
    counts = by_law() if counts is None else counts
    worst = float(drift.worst.max())
    more = {law: stats.wilson(np.array(n) > 1) for law, n in counts.items()}
    several = {law: f"{share.estimate:.0%}, up to {max(counts[law])}" for law, share in more.items() if share.estimate}
    round_law = all(single == {(2, 1)} for _, single in exact) and set(counts["N(0, I)"]) == {1}
    return Outcome(
        parts={
            "linear teacher": worst < errors and all(linear == {(2, 2)} for linear, _ in exact),
            "one unit, N(0, I)": round_law,
            "one unit, other laws": not several,
        },
        answer={
            "reproduced": "Yes: a linear teacher has two directions and a single unit one.",
            "contradicted": "No: the numbers are others.",
            "otherwise": "Yes for a linear teacher, and for one unit with round inputs; strongly stretched inputs can "
            "give one unit three directions.",
        },
        finding=f"D_n of a linear teacher differs from Sigma beta / 2 by at most {worst:.1f} standard errors "
        f"({int(drift.trials.sum())} components, three laws), and two directions solve (6); one unit with N(0, I) has "
        "one and, apart, D = 0; of 45 units in the plane more than one direction have: "
        + ("; ".join(f"variances {law}: {text}" for law, text in several.items()) or "none"),
        evidence={"largest distance of D_n in standard errors": worst}
        | {f"units with several directions, {law}": share for law, share in more.items()},
    )


@functools.cache
def by_law() -> dict[str, list[int]]:
    """Solutions with D other than 0 for one unit at 45 angles from the first axis, by law of the inputs."""
    return {name: [geometry.unit_solutions(law, angle) for angle in TILTS] for name, law in PLANAR_LAWS.items()}


def sb_10(counts: xr.DataArray | None = None, stars: dict[int, int] | None = None) -> Outcome:
    """Section 3, a conjecture: small teachers have few directions; counts over d, k and seed."""
    per_unit = 4
    counts = solutions() if counts is None else counts
    stars = star_counts() if stars is None else stars
    few = counts <= per_unit * counts.k
    share = stats.wilson(few.values.ravel())
    median = counts.median("seed")
    most = {int(d): int(counts.sel(d=d).max()) for d in counts.d.values}
    supported = bool((median <= per_unit * counts.k).all())
    return Outcome(
        verdict="answered",
        answer=f"Yes for random teachers: two directions as a rule, at most {max(most.values())}, however many units; "
        "chosen teachers of k units reach 4k."
        if supported
        else "No: random teachers of few units have more than four directions for each unit.",
        finding=f"{share.estimate:.1%} [{share.low:.1%}, {share.high:.1%}] of {counts.size} random teachers of 1 to 8 "
        f"units have at most 4k solutions; the median is {float(median.max()):g} whatever k, the largest number "
        + ", ".join(f"{n} (d = {d})" for d, n in most.items())
        + "; k equal units at equal angles have "
        + ", ".join(f"{n} (k = {k})" for k, n in stars.items()),
        evidence={"share with at most 4k directions": share} | {f"largest number, d = {d}": n for d, n in most.items()},
    )


@functools.cache
def solutions() -> xr.DataArray:
    """Numbers of solutions of (6) for random teachers: all in the plane, those of 2000 Newton starts in d = 3, 5."""
    plane = load("teacher_directions_plane")["count"].expand_dims(d=[2])
    return xr.concat([plane, load("teacher_directions")["count"]], "d")


def star_counts() -> dict[int, int]:
    """Solutions for odd stars in the plane, all."""
    from experiments.simplicity_bias import infinite_sample

    return {k: len(infinite_sample.on_circle(geometry.star(k))) for k in (3, 5, 7, 9)}


def sb_11(numbers: xr.Dataset | None = None, aligned: xr.Dataset | None = None) -> Outcome:
    """Section 3: few extremal vectors and few clusters for n much larger than d."""
    most, growth, first = 10, 0.5, 100
    numbers = load("extremal_numbers").sel(labels="teacher") if numbers is None else numbers
    aligned = load("aligned") if aligned is None else aligned
    means = {n: stats.bootstrap(numbers.number.sel(n=n).values, name=f"extremal {n}") for n in numbers.n.values}
    last = int(numbers.n.max())
    grown = stats.student(numbers.number.sel(n=last).values - numbers.number.sel(n=first).values)
    two = stats.wilson(numbers.number.sel(n=last).values == 2)
    groups = aligned.clusters.sel(time="aligned", angle=0.05)
    trends = {str(start): trend(groups.sel(start=start)) for start in groups.start.values}
    ends = {s: [float(groups.sel(start=s, n=n).mean()) for n in (groups.n.min(), groups.n.max())] for s in trends}
    parts = {
        "vectors": claims.all_of(
            claims.below(grown, growth), *(claims.below(m, most) for n, m in means.items() if n >= first)
        ),
        **{f"clusters, {'(8)' if s == 'dominated' else 'Gaussian'}": claims.below(one, 0) for s, one in trends.items()},
    }
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: with many points two extremal vectors as a rule, sometimes four or more, and two "
            "clusters remain, more from Gaussian weights.",
            "contradicted": "No: more points give more extremal vectors and more clusters.",
            "otherwise": "In part: numbers of extremal vectors and of clusters do not both stay small.",
        },
        finding=f"in the plane {means[first]} extremal vectors at n = {first} and {means[last]} at n = {last} (the "
        f"heuristic says {LIMIT:.2f}), exactly two in {two} of the draws; clusters in d = 5 from n = 10 to 10,000: "
        + ", ".join(f"{a:.1f} to {b:.1f} ({s})" for s, (a, b) in ends.items())
        + ", rank correlation with n "
        + ", ".join(map(str, trends.values())),
        evidence={f"growth from n = {first} to {last}": grown, "exactly two at the largest n": two}
        | {f"rank correlation of clusters with n, {s}": one for s, one in trends.items()},
    )


def trend(counts: xr.DataArray) -> Interval:
    """Rank correlation of the numbers of clusters with n over all runs."""
    values = counts.transpose("seed", "n").values
    return stats.spearman(np.broadcast_to(counts.n, values.shape).ravel(), values.ravel(), name="clusters")


def sb_12(found: xr.Dataset | None = None) -> Outcome:
    """Section 3: exponentially many extremal vectors for orthogonal inputs; `agree` of `of` label signs for every n."""
    doubling = 0.45
    found = load("orthogonal_numbers") if found is None else found
    sizes = found.n.values
    balanced = np.log2([extremal.orthogonal_count(n - n // 2, n // 2) for n in sizes])
    slope = float(np.polyfit(sizes, balanced, 1)[0])
    agree, of = int(found.agree.sum()), int(found.of.sum())
    return Outcome(
        verdict=agree == of and slope >= doubling,
        answer={
            "reproduced": "Yes: their number doubles with every further positive or negative label; trying all "
            "possibilities confirms the formula.",
            "contradicted": "No: the count does not follow the exponential formula.",
        },
        finding=f"trial of all sign vectors gives 2^n+ + 2^n- - 1 extremal vectors, D = 0 counted once, for {agree} of "
        f"{of} signs of labels, n = {sizes[0]} to {sizes[-1]}; for balanced labels log2 of the number grows by "
        f"{slope:.2f} a point; at most {int(found.inside.max())} belong to directions orthogonal to no input",
        evidence={"signs of labels that agree": f"{agree} of {of}", "doublings a point, balanced": slope},
    )
