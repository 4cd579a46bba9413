r"""Rules on kernel machines on shells: HS-12, 13, 15, 16, 18, 19, 24, 25, 26, 61, 66; and the complete Table 1.

E is the accuracy in the empty orthant, M the mean accuracy over the populated ones.  A tangent machine belongs to one
stored network; what it loses is taken run by run against that network (:func:`lost`), with Student's interval over
runs.  Points of one network are never counted as draws.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from functools import cache

import numpy as np
import xarray as xr
from scipy import stats as scipy_stats

from experiments.hidden_structure import authors, orthant_statistics, shells
from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.stats import Interval

DEPTHS = (1, 2, 3, 4, 5)
LEARNING = (1, 2, 3)  # depths at which networks find something of the symmetry
FINAL = 20_000  # passes of the author's last fit
OUTPUTS = ("logit", "probability")
POPULATED = 2**shells.DIMENSION - 1
ENDED = 1e-3  # relative duality gap of a problem that is solved
FOUND = 0.75  # E of a network that has found the symmetry

load = cache(lambda name: records.load(name))  # looked up when called, so that a call can be watched


# What the rules read.


def networks(orthants: xr.Dataset | None = None) -> xr.Dataset:
    """The last weights of the document's networks, twenty runs of each depth."""
    record = load("hidden_structure/orthants") if orthants is None else orthants
    return record.sel(moment="last")


def author_form(tangent: xr.Dataset | None = None) -> xr.Dataset:
    """Tangent machines after 20,000 passes, ten runs of each depth."""
    return (load("hidden_structure/tangent_machines") if tangent is None else tangent).sel(limit=FINAL)


def solved(converged: xr.Dataset | None = None) -> xr.Dataset:
    """Solved machines on the kernels of logit and probability, ten runs of one, two and three layers."""
    record = load("hidden_structure/tangent_converged") if converged is None else converged
    return record.sel(scaling="raw")


def fixed(kernel: str, record: xr.Dataset | None = None) -> xr.Dataset:
    """Machines with one of the fixed kernels, five draws."""
    return (load("hidden_structure/fixed_kernels") if record is None else record).sel(kernel=kernel)


def of(record: xr.Dataset, name: str, depth: int | None = None) -> np.ndarray:
    """Values over runs, at one depth."""
    values = record[name] if depth is None else record[name].sel(depth=depth)
    return values.values.astype(float)


def lost(record: xr.Dataset, name: str, depth: int) -> np.ndarray:
    """What machines lose against their own networks, run by run; `name` may be "overall", all 128 orthants."""
    if name == "overall":
        return (POPULATED * lost(record, "others", depth) + lost(record, "empty", depth)) / (POPULATED + 1)
    return of(record, f"network_{name}", depth) - of(record, name, depth)


def losses(record: xr.Dataset, name: str) -> dict[int, Interval]:
    """Mean loss by depth, Student's intervals over the runs that :func:`at_minimum` has left."""
    runs = {int(d): lost(record, name, d) for d in record.depth.values}
    return {d: stats.student(values[np.isfinite(values)]) for d, values in runs.items()}


def at_minimum(record: xr.Dataset) -> xr.Dataset:
    """Solved machines; NaN where Newton's method, at the largest C, has not reached the minimum."""
    return record.where(abs(record.gap) < ENDED)


def difference(a: np.ndarray, b: np.ndarray) -> Interval:
    """Difference of two means with Welch's interval; a side without spread is a number."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return stats.student(a - b[0] if np.ptp(b) == 0 else a[0] - b)
    interval = scipy_stats.ttest_ind(a, b, equal_var=False).confidence_interval()
    return Interval(float(a.mean() - b.mean()), float(interval.low), float(interval.high))


def at_least(interval: Interval, size: float) -> bool | None:
    """Whether an effect is positive and of some size: clearly above 0 with such an estimate; not if clearly below."""
    return True if interval.above(0) and interval.estimate >= size else False if interval.below(size) else None


def most(conditions: Iterable[bool | None], needed: int) -> bool | None:
    """Whether so many of the conditions hold; None if the open ones decide."""
    found = list(conditions)
    holding, open_ = sum(one is True for one in found), sum(one is None for one in found)
    return True if holding >= needed else False if holding + open_ < needed else None


def listed(intervals: Mapping[object, Interval], spec: str = ".2f") -> str:
    """Intervals in the order of a mapping, separated by commas."""
    return ", ".join(format(one, spec) for one in intervals.values())


# Kernels fixed in advance.


def hs_12(linear: xr.Dataset | None = None) -> Outcome:
    """Table 1: a linear machine is at chance in every orthant, over draws, at every C; the author's is shown beside."""
    low, high = 0.47, 0.53
    runs = load("hidden_structure/linear_machines") if linear is None else linear
    columns = {
        (name, float(C)): stats.student(of(runs.isel(C=i), name))
        for name in ("empty", "others")
        for i, C in enumerate(runs.C.values)
        if np.isfinite(C)
    }
    stopped = stats.student(of(runs.isel(C=int(np.isnan(runs.C.values).argmax())), "empty"))
    empty, others = ([columns[key] for key in columns if key[0] == name] for name in ("empty", "others"))
    one_sided = stats.student(of(runs.sel(C=1.0), "one_sided"))
    return Outcome(
        verdict=claims.all_of(*(claims.within(one, low, high) for one in columns.values())),
        answer={
            "reproduced": "Yes: no plane separates shells within shells, so a linear machine guesses everywhere.",
            "contradicted": "No: a linear machine is better or worse than guessing somewhere.",
            "otherwise": "Unclear: these draws do not pin the linear machine to guessing.",
        },
        finding=f"over {runs.sizes['run']} draws and all values of C mean E is "
        f"{min(i.estimate for i in empty):.3f} to {max(i.estimate for i in empty):.3f} and mean M "
        f"{min(i.estimate for i in others):.3f} to {max(i.estimate for i in others):.3f}; at C = 1 {one_sided:.2f} of "
        f"the orthants lie wholly on one side; the author's machine, stopped, has E {stopped:.2f}",
        evidence={
            "M at C = 1": columns["others", 1.0],
            "orthants on one side": one_sided,
            "E of the stopped machine": stopped,
        },
    )


def hs_13(kernels: xr.Dataset | None = None, full: xr.Dataset | None = None) -> Outcome:
    """Table 1: a Gaussian machine is right wherever there are data, and at chance where there are none."""
    perfect, chance = 0.99, 0.55
    g = fixed("gaussian", kernels)
    full = load("hidden_structure/gaussian_full") if full is None else full
    M, train, E = (stats.student(of(g, name)) for name in ("others", "train", "empty"))
    return Outcome(
        verdict=claims.all_of(M.exceeds(perfect), train.exceeds(perfect), claims.below(E, chance)),
        answer={
            "reproduced": "Yes: it is right wherever it has data, and calls nearly all of the empty orthant class 1.",
            "contradicted": "No: the Gaussian machine is not perfect on the populated orthants, or not at chance.",
            "otherwise": "Unclear: the draws scatter too much.",
        },
        finding=f"in {g.sizes['run']} draws M is {M:.4f}, training accuracy {train:.4f}, E {E:.3f}, and at "
        f"least {float(g.ones.min()):.0%} of the empty orthant is called class 1; on all 20,320 points M = "
        f"{float(full.others.mean()):.4f} and E = {float(full.empty.mean()):.2f}",
        evidence={"M": M, "training accuracy": train, "E": E},
    )


def hs_61(kernels: xr.Dataset | None = None, orthants: xr.Dataset | None = None) -> Outcome:
    """Section 1: does a machine with the right kernel reach the network?"""
    slack = -0.02
    runs = networks(orthants).sel(depth=3)
    ahead = {
        (kernel, name): difference(of(fixed(kernel, kernels), name), of(runs, name))
        for kernel, name in itertools.product(("folded", "averaged"), ("empty", "others"))
    }
    reached = claims.any_of(
        *(claims.all_of(*(ahead[kernel, name].exceeds(slack) for name in ("empty", "others")))
          for kernel in ("folded", "averaged"))
    )  # fmt: skip
    says = {
        True: "Yes: a Gaussian machine on absolute values beats every network, from an eighth of the points.",
        False: "No: even kernels that know the reflections stay behind the network.",
        None: "Unclear: the networks scatter too much to say.",
    }
    own = {kernel: [of(fixed(kernel, kernels), name).mean() for name in ("empty", "others")]
           for kernel in ("folded", "averaged")}  # fmt: skip
    return Outcome(
        verdict="answered",
        answer=says[reached],
        finding=f"E and M on |x| {own['folded'][0]:.3f} and {own['folded'][1]:.3f}, averaged over the reflections "
        f"{own['averaged'][0]:.3f} and {own['averaged'][1]:.3f}, from 2,540 points; networks of three layers "
        f"{stats.student(of(runs, 'empty')):.2f} and {stats.student(of(runs, 'others')):.3f} from 20,320",
        evidence={f"{name} ahead of the network, {kernel}": one for (kernel, name), one in ahead.items()},
    )


# Tangent machines in the author's form.


def hs_15(tangent: xr.Dataset | None = None) -> Outcome:
    """Table 1, rows of the tangent machines: five lettered rows, paired with their networks."""
    runs = author_form(tangent)
    E = {d: stats.student(of(runs, "empty", d)) for d in DEPTHS}
    M_lost, E_lost = losses(runs, "others"), losses(runs, "empty")
    apart = stats.student(np.abs(lost(runs, "empty", 1)))
    printed = authors.TABLE_1["tangent machine"]
    met = [
        orthant_statistics.agrees(of(runs, name, d), printed[d][name][0])
        for d in DEPTHS for name in ("empty", "others")
    ]  # fmt: skip
    behind = [stats.student(of(runs, "others", 3) - of(runs, "others", d)) for d in DEPTHS if d != 3]
    parts = {
        "a": claims.all_of(claims.below(apart, 0.1), claims.within(M_lost[1], 0.02, 0.12)),
        "b": claims.all_of(
            claims.below(E[2], 0.6), E_lost[2].exceeds(-0.02), claims.within(M_lost[2], 0.01, 0.1)
        ),
        "c": claims.all_of(
            E[3].exceeds(0.6), E_lost[3].exceeds(0), M_lost[3].exceeds(0.1), *(claims.below(one, 0) for one in behind)
        ),
        "d": claims.all_of(claims.within(E[4], 0.47, 0.53), claims.within(M_lost[4], 0.01, 0.1)),
        "e": claims.all_of(claims.within(E[5], 0.48, 0.52), M_lost[5].exceeds(0.1)),
    }  # fmt: skip
    agree = all(met) and claims.combine({k: claims.verdict(one) for k, one in parts.items()}) == "partly"
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: all five rows of tangent machines come out as in the table.",
            "contradicted": "No: none of the five rows comes out as in the table.",
            "otherwise": "In part: the printed means are within reach of ours, "
            "but the scatter leaves most patterns of the rows open."
            if all(met)
            else "In part: every machine loses accuracy on populated orthants, "
            "but not every row has the printed pattern.",
        },
        finding=f"{runs.sizes['run']} networks of each depth: E {listed(E)}; M "
        + ", ".join(f"{of(runs, 'others', d).mean():.3f}" for d in DEPTHS)
        + f"; lost of M {listed(M_lost)}, of E {listed(E_lost)}; at one layer E differs by {apart:.2f} from the "
        f"network's; {sum(met)} of the ten printed means are within reach of a mean of five of these runs",
        evidence={f"lost of M, depth {d}": one for d, one in M_lost.items()}
        | {f"E, depth {d}": one for d, one in E.items()},
        reading="reproduced" if agree else None,
        reading_why="As numbers all ten entries agree with ours; the rule asks for differences that ten networks "
        "cannot settle."
        if agree
        else None,
    )


def hs_16(
    orthants: xr.Dataset | None = None, tangent: xr.Dataset | None = None, kernels: xr.Dataset | None = None,
    linear: xr.Dataset | None = None,
) -> Outcome:  # fmt: skip
    """Table 1, bold entries: the three-layer network leads in E, the Gaussian machine in M; run by run where paired."""
    net, own = networks(orthants), author_form(tangent)
    gaussian = fixed("gaussian", kernels)
    linear = (load("hidden_structure/linear_machines") if linear is None else linear).sel(C=1.0)
    three = of(net, "empty", 3)
    ahead = {f"{d}-NN": stats.student(three - of(net, "empty", d)) for d in DEPTHS if d != 3}
    ahead |= {f"{d}-NTK": stats.student(three[: own.sizes["run"]] - of(own, "empty", d)) for d in DEPTHS}
    ahead |= {name: difference(three, of(one, "empty")) for name, one in (("Gaussian", gaussian), ("linear", linear))}
    best = of(gaussian, "others")
    memory = {f"{d}-NN": difference(best, of(net, "others", d)) for d in DEPTHS}
    memory |= {f"{d}-NTK": difference(best, of(own, "others", d)) for d in DEPTHS}
    memory |= {"linear": difference(best, of(linear, "others"))}
    second, next_ = (min(of_, key=lambda name: of_[name].estimate) for of_ in (ahead, memory))
    leads, holds = (claims.all_of(*(one.exceeds(0) for one in of_.values())) for of_ in (ahead, memory))
    return Outcome(
        verdict=claims.all_of(leads, holds),
        answer={
            "reproduced": "Yes: three layers lead in the empty orthant, the Gaussian machine in the others.",
            "contradicted": "No: another model is clearly ahead in one of the two columns.",
            "otherwise": "Unclear in the empty orthant, where several models lie within each other's scatter; "
            "the Gaussian machine does lead elsewhere.",
        },
        finding=f"E of 3-NN is {stats.student(three):.2f}, ahead of {second}, the best other, by {ahead[second]:.2f}; "
        f"M of the Gaussian machine is {best.mean():.4f}, ahead of {next_} by {memory[next_]:.4f}",
        evidence={f"E of 3-NN ahead of {name}": one for name, one in ahead.items()}
        | {f"M of the Gaussian ahead of {next_}": memory[next_]},
    )


def hs_18(
    orthants: xr.Dataset | None = None, tangent: xr.Dataset | None = None, kernels: xr.Dataset | None = None
) -> Outcome:
    """Section 4.2.1: the Gaussian memorises (a), the tangent machine gains in E (b), gaps between orthants (c)."""
    chance, gain, follows, gap = 0.55, 0.05, 0.5, 0.1
    net, own, g = networks(orthants), author_form(tangent), fixed("gaussian", kernels)
    M, E = of(g, "others"), of(g, "empty")
    above = {d: difference(M, of(own, "others", d)) for d in DEPTHS}
    gained = {d: difference(of(own, "empty", d), E) for d in LEARNING}
    pooled = [np.concatenate([of(own, name, d) for d in LEARNING]) for name in ("empty", "network_empty")]
    rank = stats.spearman(*pooled, name="HS-18")
    gaps = {d: of(net, "others", d) - of(net, "empty", d) for d in DEPTHS}
    wider = {d: difference(M - E, gaps[d]) for d in DEPTHS}
    parts = {
        "a": claims.all_of(*(one.exceeds(0) for one in above.values()), claims.below(stats.student(E), chance)),
        "b": claims.all_of(most((at_least(one, gain) for one in gained.values()), 2), at_least(rank, follows)),
        "c": claims.all_of(*(at_least(wider[d], gap) for d in LEARNING)),
    }
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: the Gaussian memorises and guesses in the empty orthant; "
            "the tangent machine gains there what its network has found.",
            "contradicted": "No: the Gaussian is not ahead, and tangent machines gain nothing in the empty orthant.",
            "otherwise": "In part: the Gaussian memorises and pays, but what the tangent machine gains is less clear.",
        },
        finding=f"M of the Gaussian machine is ahead of the tangent machines by {listed(above)}, its E is "
        f"{E.mean():.2f}; theirs is higher by {listed(gained)} at one to three layers and follows that of the network "
        f"(rank correlation {rank:.2f}); the gap M − E of the Gaussian machine exceeds the networks' by "
        f"{listed(wider)} at depth 1 to 5",
        evidence={f"E gained at depth {d}": one for d, one in gained.items()}
        | {"rank correlation with the network": rank}
        | {f"wider gap than the network, depth {d}": one for d, one in wider.items()},
    )  # fmt: skip


def hs_19(
    orthants: xr.Dataset | None = None, tangent: xr.Dataset | None = None, kernels: xr.Dataset | None = None
) -> Outcome:
    """Section 4.2.1: machines do worse than their networks (a), for the sake of E (b), and find less of it (c)."""
    own = author_form(tangent)
    parts, found = trade_off(own, networks(orthants), fixed("gaussian", kernels))
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: every tangent machine is worse than its network, for the sake of the empty orthant.",
            "contradicted": "No: tangent machines are not worse than their networks.",
            "otherwise": "In part: as run, every machine is worse overall; "
            "that this buys accuracy in the empty orthant does not show.",
        },
        finding=f"over {own.sizes['run']} networks of each depth the machine loses {listed(found['M'], '.3f')} of M at "
        f"depth 1 to 5 and {listed(found['E'])} of E; the best network is ahead of the best kernel machine of the "
        f"table by {found['ahead']:.2f} in E",
        evidence={f"M lost, depth {d}": one for d, one in found["M"].items()}
        | {f"E lost, depth {d}": one for d, one in found["E"].items()} | {"best network ahead in E": found["ahead"]},
    )  # fmt: skip


def trade_off(own: xr.Dataset, net: xr.Dataset, gaussian: xr.Dataset) -> tuple[dict[str, bool | None], dict]:
    """The parts of HS-19 for one form of the machine, and its losses M, E, overall, and `ahead`.

    (a) the losses of M and of all orthants together are above 0 at every depth; contradicted where one is below.
    (b) at depths of one to three layers whose networks have a mean E above 0.55, E stays within 0.05 of the network's
    and at least 0.02 of M is lost; contradicted where more of E than of M is lost.
    (c) the best network leads the best machine in E by at least 0.05, run by run.
    """
    M, E, overall = (losses(own, name) for name in ("others", "empty", "overall"))
    learned = [d for d in M if d in LEARNING and stats.student(of(own, "network_empty", d)).above(0.55)]
    kept = claims.all_of(
        bool(learned),
        *(claims.below(stats.student(np.abs(lost(own, "empty", d))), 0.05) for d in learned),
        *(M[d].exceeds(0.02) for d in learned),
    )
    paid = [stats.student(lost(own, "empty", d) - lost(own, "others", d)).above(0) for d in learned]
    runs = own.sizes["run"]
    best = max((of(net, "empty", d)[:runs] for d in DEPTHS), key=np.mean)
    machine = max((of(own, "empty", d) for d in M), key=np.mean)
    chance = of(gaussian, "empty")
    ahead = stats.student(best - machine) if machine.mean() >= chance.mean() else difference(best, chance)
    parts = {
        "a": claims.all_of(*(one.exceeds(0) for one in (*M.values(), *overall.values()))),
        "b": False if any(paid) else True if kept else None,
        "c": at_least(ahead, 0.05),
    }
    return parts, {"M": M, "E": E, "overall": overall, "ahead": ahead, "learned": learned}


# Along the radius.

Curves = np.ndarray  # profiles of runs, (run, radius)
_SLOPES, _CENTRES = np.geomspace(0.5, 50, 21), np.linspace(0.0, 3.0, 31)


def curves(profile: xr.DataArray) -> dict[str, Curves]:
    """Profiles by region, each (run, radius)."""
    return {
        str(r): profile.sel(region=r).transpose("run", "radius").values.astype(float) for r in profile.region.values
    }


def logistic_r2(radius: np.ndarray, profiles: np.ndarray) -> np.ndarray:
    """R2 of the best of a fine grid of curves 1 / (1 + exp(-a (r - c))) for profiles (..., radius)."""
    grid = 1 / (1 + np.exp(-_SLOPES[:, None, None] * (radius - _CENTRES[:, None])))
    grid = grid.reshape(-1, len(radius))
    rest = (profiles**2).sum(-1)[..., None] - 2 * profiles @ grid.T + (grid**2).sum(-1)
    return 1 - rest.min(axis=-1) / np.maximum(profiles.var(axis=-1) * len(radius), 1e-12)


def crossing(radius: np.ndarray, profiles: np.ndarray) -> np.ndarray:
    """Where profiles (..., radius) first reach one half, by interpolation; the last radius where they do not."""
    high = profiles >= 0.5
    i = np.where(high.any(axis=-1), high.argmax(axis=-1), len(radius) - 1)
    before, after = (
        np.take_along_axis(profiles, np.maximum(k, 0)[..., None], axis=-1)[..., 0] for k in (i - 1, i)
    )  # fmt: skip
    share = np.clip((0.5 - before) / np.where(after == before, 1, after - before), 0, 1)
    return np.where(i > 0, radius[np.maximum(i - 1, 0)] * (1 - share) + radius[i] * share, radius[0])


def of_mean(runs: Curves, statistic: Callable[[np.ndarray], np.ndarray], name: str) -> Interval:
    """A statistic of the mean profile, with its bootstrap interval over the runs."""
    rows = stats.stream("bootstrap", name).integers(0, len(runs), (stats.RESAMPLES, len(runs)))
    return Interval.from_draws(float(statistic(runs.mean(axis=0))), statistic(runs[rows].mean(axis=1)))


def at(radius: np.ndarray, value: float) -> int:
    """Number of the radius next to a value."""
    return int(np.abs(radius - value).argmin())


def sigmoid_like(profile: xr.DataArray) -> tuple[bool | None, dict[str, dict[str, Interval]]]:
    """HS-24(a): in each region the mean hardly falls, and fits a logistic curve."""
    r, found = profile.radius.values.astype(float), {}
    for region, runs in curves(profile).items():
        found[region] = {
            "falls": of_mean(runs, orthant_statistics.falls, f"HS-24 falls {region}"),
            "R2": of_mean(runs, lambda p: logistic_r2(r, p), f"HS-24 R2 {region}"),
        }
    rising = [claims.all_of(claims.below(one["falls"], 0.05), one["R2"].exceeds(0.9)) for one in found.values()]
    return claims.all_of(*rising), found


def agreeing(profile: xr.DataArray) -> tuple[bool | None, dict[str, Interval], Interval]:
    """HS-24(b): levels at the shells and crossing of one half in each region; distance of the empty orthant."""
    r, rows = profile.radius.values.astype(float), curves(profile)
    inner, outer = ({k: stats.student(v[:, at(r, shell)]) for k, v in rows.items()} for shell in shells.RADII)
    half = {k: of_mean(v, lambda p: crossing(r, p), f"HS-24 crossing {k}") for k, v in rows.items()}
    gaps = rows["empty"] - (rows["neighbour"] + rows["distant"]) / 2
    apart = of_mean(gaps, lambda p: np.abs(p).max(axis=-1), "HS-24 apart")
    levels = [claims.below(one, 0.4) for one in inner.values()] + [one.exceeds(0.85) for one in outer.values()]
    levels += [claims.within(one, 1.0, 1.8) for one in half.values()]
    return claims.all_of(*levels, claims.below(apart, 0.35)), half, apart


def dipping(profile: xr.DataArray) -> tuple[bool | None, dict[str, dict[str, Interval]]]:
    """HS-24(c): in every region the mean has a minimum near the inner shell, lower than both ends; not in two."""
    r, found, dips = profile.radius.values.astype(float), {}, []
    for region, runs in curves(profile).items():
        one = {
            "radius": of_mean(runs, lambda p: r[np.argmin(p, axis=-1)], f"HS-24 minimum {region}"),
            "left": of_mean(runs, lambda p: p[..., 0] - p.min(axis=-1), f"HS-24 left {region}"),
            "right": of_mean(runs, lambda p: p[..., -1] - p.min(axis=-1), f"HS-24 right {region}"),
            "lowest": of_mean(runs, lambda p: p.min(axis=-1), f"HS-24 lowest {region}"),
        }
        found[region] = one
        dips.append(
            claims.all_of(one["left"].exceeds(0.2), one["right"].exceeds(0.2), claims.within(one["radius"], 0.9, 1.5))
        )
    clear = claims.all_of(*dips)
    return (True if clear else False if sum(dip is False for dip in dips) >= 2 else None), found


def hs_24(orthants: xr.Dataset | None = None, tangent: xr.Dataset | None = None) -> Outcome:
    """Figure 2: networks rise like sigmoids (a) that agree (b), tangent machines dip at the inner shell (c)."""
    record = load("hidden_structure/orthants") if orthants is None else orthants
    lines, own = record.profile.sel(depth=3), author_form(tangent).profile.sel(depth=3)
    (smooth, shape), (agree, half, apart), (dip, low) = sigmoid_like(lines), agreeing(lines), dipping(own)
    found = lines.isel(run=np.flatnonzero(of(networks(record), "empty", 3) >= FOUND))
    theirs = agreeing(found)[2] if found.sizes["run"] > 1 else None
    single = curves(lines)
    far = stats.wilson(np.abs(single["empty"] - (single["neighbour"] + single["distant"]) / 2).max(axis=1) > 0.5)
    return Outcome(
        parts={"a": smooth, "b": agree, "c": dip},
        answer={
            "reproduced": "Yes: networks rise with the radius alike in all orthants, tangent machines as run dip.",
            "contradicted": "No: networks do not rise alike, and tangent machines do not dip.",
            "otherwise": "In part: mean curves rise; in the empty orthant only networks that found the symmetry "
            "rise like elsewhere, and machines show no clear dip there.",
        },
        finding=f"mean of {lines.sizes['run']} networks: falls by at most "
        f"{max(one['falls'].estimate for one in shape.values()):.2f}, logistic R² from "
        f"{min(one['R2'].estimate for one in shape.values()):.2f} on, crosses 1/2 at r = {listed(half)} (empty, "
        f"neighbour, distant), at most {apart:.2f} apart"
        + (f", over the {found.sizes['run']} networks with E ≥ {FOUND:g} {theirs:.2f}" if theirs else "")
        + f"; in {far:.2f} of the runs the empty orthant is more than 0.5 away; tangent machines "
        f"({own.sizes['run']} runs): minimum {listed({k: one['lowest'] for k, one in low.items()})}, at r = 0.5 higher "
        f"by {listed({k: one['left'] for k, one in low.items()})}",
        evidence={f"crossing of 1/2, {k}": one for k, one in half.items()}
        | {"distance of the empty orthant": apart, "share of runs more than 0.5 away": far}
        | {f"depth of the dip on the left, {k}": one["left"] for k, one in low.items()},
    )


def hs_25(orthants: xr.Dataset | None = None) -> Outcome:
    """Section 4.2.2: where the symmetry is found, the logit is a rising function of the folded radius."""
    limits = {"populated": 0.8, "empty": 0.7}
    record = load("hidden_structure/orthants") if orthants is None else orthants
    E = of(networks(record), "empty", 3)
    R2 = {part: of(record.isotonic.sel(depth=3, part=part).to_dataset(name="R2"), "R2") for part in limits}
    found = {part: stats.bootstrap(values[E >= FOUND], np.median, name=f"HS-25 {part}") for part, values in R2.items()}
    mean, rest = record.profile.sel(depth=3).isel(run=np.flatnonzero(E >= FOUND)), R2["empty"][E < FOUND]
    r = mean.radius.values.astype(float)
    average = {k: of_mean(v, lambda p: logistic_r2(r, p), f"HS-25 {k}") for k, v in curves(mean).items()}
    verdict = claims.verdict(claims.all_of(*(found[part].exceeds(limit) for part, limit in limits.items())))
    sigmoid = all(one.above(0.9) for one in average.values())
    differs = verdict == "contradicted" and sigmoid
    return Outcome(
        verdict=verdict,
        answer={
            "reproduced": "Yes: where the symmetry is found the output follows the distance from the folded centre.",
            "contradicted": "On average over directions yes; at single points a quarter of the logit's variance "
            "comes from the direction.",
            "otherwise": "Unclear: these runs do not decide it.",
        },
        finding=f"median R² of a rising function of r for the logit over the {int((E >= FOUND).sum())} runs with E ≥ "
        f"{FOUND:g}: {found['populated']:.2f} in populated orthants, {found['empty']:.2f} in the empty one"
        + (f", where the other runs have {np.median(rest):.2f}" if len(rest) else "")
        + "; their mean profile fits a logistic curve with R² from "
        + f"{min(one.estimate for one in average.values()):.2f} on",
        evidence={f"median R², {part}": one for part, one in found.items()}
        | {f"logistic R² of the mean profile, {k}": one for k, one in average.items()},
        reading="partly" if differs else None,
        reading_why="The document infers a sigmoid from averages over directions, and those are sigmoids; what the "
        "rule asks of single points is more." if differs else None,
    )  # fmt: skip


def local_views(
    kernels: xr.Dataset | None = None, tangent: xr.Dataset | None = None, converged: xr.Dataset | None = None
) -> dict[str, Curves]:
    """Profiles in the empty orthant by machine, of the runs whose own network has found the symmetry."""
    found = {"Gaussian": curves(fixed("gaussian", kernels).profile)["empty"]}
    own, ended = author_form(tangent), solved(converged)
    for d in LEARNING:
        for name, record, profile in (
            (f"{d}-NTK", own, own.profile.sel(depth=d)),
            (f"{d}-NTK solved", ended, ended.profile.sel(depth=d, output="logit")),
        ):
            found[name] = curves(profile)["empty"][of(record, "network_empty", d) >= FOUND]
    return {name: runs for name, runs in found.items() if len(runs) >= 3}


def hs_26(
    kernels: xr.Dataset | None = None, tangent: xr.Dataset | None = None, converged: xr.Dataset | None = None
) -> Outcome:
    """Section 4.2.2: no kernel machine has a rising profile in the empty orthant."""
    steps, rise = 0.05, 0.5
    lines, r = local_views(kernels, tangent, converged), shells.PROFILE
    rises = {k: stats.student(runs[:, at(r, 2.0)] - runs[:, at(r, 1.0)]) for k, runs in lines.items()}
    down = {k: of_mean(runs, orthant_statistics.falls, f"HS-26 {k}") for k, runs in lines.items()}
    rising = {k: claims.all_of(rises[k].exceeds(rise), claims.below(down[k], steps)) for k in lines}
    return Outcome(
        verdict=claims.opposite(claims.any_of(*rising.values())),
        answer={
            "reproduced": "Yes: no kernel machine rises with the radius in the empty orthant.",
            "contradicted": "No: a tangent machine that is solved rises there with the radius, as its network does.",
            "otherwise": "Unclear: solved tangent machines seem to rise there, but these runs do not decide it.",
        },
        finding=f"rising in the empty orthant over the runs whose network has E ≥ {FOUND:g}: "
        f"{', '.join(k for k, v in rising.items() if v) or 'none'}; rise from r = 1 to 2, and falls: "
        + ", ".join(f"{k} ({len(lines[k])} runs) {rises[k]:.2f} and {down[k]:.2f}" for k in lines),
        evidence={f"rise, {k}": one for k, one in rises.items()} | {f"falls, {k}": one for k, one in down.items()},
    )


# Kernel, solver or scaling.

SOLVERS = ("1,000 passes", "20,000 passes", "primal", "Newton")


def by_solver(name: str, depth: int, tangent: xr.Dataset, other: xr.Dataset) -> dict[str, np.ndarray]:
    """Values of the same networks' machines by solver, at the author's C."""
    ours, theirs = tangent.sel(depth=depth, run=other.run.values), other.sel(depth=depth)
    return dict(
        zip(
            SOLVERS,
            (
                of(ours.sel(limit=1000), name), of(ours.sel(limit=FINAL), name),
                of(theirs, f"primal_{name}"), of(theirs, f"kernel_{name}"),
            ),
        )
    )  # fmt: skip


def losses_by_form(
    tangent: xr.Dataset, solvers: xr.Dataset, ended: xr.Dataset, scaled: xr.Dataset
) -> dict[str, dict[str, dict[str, dict[int, np.ndarray]]]]:
    """What machines lose of M and E, run by run: column -> solver, output or scaling -> its name -> depth -> runs."""
    found = {}
    for name in ("others", "empty"):
        depths = [int(d) for d in solvers.depth.values]
        own = {d: of(solvers, f"network_{name}", d) for d in depths}
        forms = {d: by_solver(name, d, tangent, solvers) for d in depths}
        found[name] = {
            "solver": {one: {d: own[d] - forms[d][one] for d in depths} for one in SOLVERS},
            "output": {o: {d: lost(ended.sel(output=o), name, d) for d in LEARNING} for o in OUTPUTS},
            "scaling": {
                str(s): {d: lost(scaled.sel(output="logit", scaling=s), name, d) for d in LEARNING}
                for s in scaled.scaling.values
            },
        }
    return found


def clear_difference(a: np.ndarray, b: np.ndarray, size: float) -> bool:
    """Whether paired values differ by at least a size in the mean, with an interval without 0."""
    one = stats.student(a - b)
    return abs(one.estimate) >= size and not one.contains(0)


def changed_signs(scaled: xr.Dataset) -> list[tuple[str, str, int, str]]:
    """Name, output, depth and scaling where machine minus network is clearly on the other side than unscaled."""
    found = []
    for name, output, d in itertools.product(("others", "empty"), OUTPUTS, LEARNING):
        one = {
            str(s): stats.student(-lost(scaled.sel(output=output, scaling=s), name, d)) for s in scaled.scaling.values
        }
        sides = {s: one[s].exceeds(0) for s in one}
        found += [
            (name, output, d, s) for s in one if None not in (sides[s], sides["raw"]) and sides[s] != sides["raw"]
        ]
    return found


def hs_66(
    tangent: xr.Dataset | None = None, solvers: xr.Dataset | None = None, converged: xr.Dataset | None = None,
    scaled: xr.Dataset | None = None,
) -> Outcome:  # fmt: skip
    """Are the tangent rows of Table 1 about the kernel, the solver, the output, or the scaling?"""
    large, same, M_size, E_size = 0.03, 0.01, 0.03, 0.05
    tangent = load("hidden_structure/tangent_machines") if tangent is None else tangent
    solvers = load("hidden_structure/tangent_solvers") if solvers is None else solvers
    scaled = load("hidden_structure/tangent_scalings") if scaled is None else scaled
    ended = solved(converged)
    forms = {int(d): by_solver("others", d, tangent, solvers) for d in solvers.depth.values}
    gained = {d: stats.student(f["Newton"] - f["20,000 passes"]) for d, f in forms.items()}
    apart = {d: np.ptp([values.mean() for values in f.values()]) for d, f in forms.items()}
    by_end = any(one.above(0) and one.estimate >= large for one in gained.values())
    solver = "solver" if by_end else "kernel" if max(apart.values()) <= same else "in between"
    outputs = {o: ended.sel(output=o) for o in OUTPUTS}
    done = {d: np.isfinite(of(at_minimum(outputs["probability"]), "gap", d)) for d in LEARNING}
    far = {
        name: [d for d in LEARNING if clear_difference(*(of(outputs[o], name, d)[done[d]] for o in OUTPUTS), size)]
        for name, size in (("others", M_size), ("empty", E_size))
    }
    dips = {o: dipping(outputs[o].profile.sel(depth=3))[0] for o in OUTPUTS}
    output_matters = bool(far["others"] or far["empty"]) or set(dips.values()) == {True, False}
    changed = changed_signs(scaled)
    words = {True: "there", False: "absent", None: "unclear"}
    M_lost = {o: losses(at_minimum(outputs[o]), "others") for o in OUTPUTS}
    left = sum(int((~one).sum()) for one in done.values())
    return Outcome(
        verdict="answered",
        answer="Mostly of the output and the C it needs: on the logit hardly anything is lost, "
        "on the probability much, solved or not."
        if output_matters and not by_end
        else "Mostly of the solver: solved to the end, the machine loses less."
        if by_end
        else "Of the kernel: solver, output and scaling change little.",
        finding=f"(a) {solver}: at the author's C solving to the end gains {listed(gained, '.3f')} of M over 20,000 "
        f"passes at depth {', '.join(map(str, gained))}, the four solvers differ by at most {max(apart.values()):.3f}; "
        f"(b) {'yes' if output_matters else 'no'}: solved, M lost at depth 1 to 3 is {listed(M_lost['logit'], '.3f')} "
        f"on the logit and {listed(M_lost['probability'], '.3f')} on the probability (without {left} machines that did "
        "not end), the dip is "
        + " and ".join(f"{words[dip]} for the {o}" for o, dip in dips.items())
        + f"; (c) {'yes' if changed else 'no'}: {len(changed)} of 36 differences clearly change their sign",
        evidence={f"M gained by solving, depth {d}": one for d, one in gained.items()}
        | {f"M lost, {o}, depth {d}": one for o in OUTPUTS for d, one in M_lost[o].items()},
    )  # fmt: skip


def ends(tangent: xr.Dataset | None = None) -> tuple[list[str], list[list[str]]]:
    """How the solver ended by depth: header and rows for `figures.table`."""
    own, rows = author_form(tangent), []
    for d in DEPTHS:
        done = of(own, "gap", d) < ENDED
        M = lost(own, "others", d)
        parts = [f"{M[some].mean():.2f}" if some.any() else "" for some in (done, ~done)]
        train = f"{of(own, 'train', d).mean():.2f}"
        rows.append([layers(d), f"{done.sum()} of {len(done)}", f"{np.median(of(own, 'gap', d)):.2f}", train, *parts])
    header = ["network", "solved", "median gap", "right on the points of the fit", "M lost, solved", "M lost, stopped"]
    return header, rows


# Table 1.


def table_1(
    orthants: xr.Dataset | None = None, tangent: xr.Dataset | None = None, converged: xr.Dataset | None = None,
    kernels: xr.Dataset | None = None, linear: xr.Dataset | None = None, nearest: xr.Dataset | None = None,
) -> tuple[list[str], list[list[str]]]:  # fmt: skip
    """Table 1 complete, with intervals over runs and the document's numbers: header and rows for `figures.table`."""
    net, own, ended = networks(orthants), author_form(tangent), solved(converged).sel(output="logit")
    linear = load("hidden_structure/linear_machines") if linear is None else linear
    nearest = load("hidden_structure/nearest_neighbours") if nearest is None else nearest
    plural = {1: "nearest neighbour"} | {int(k): f"{k} nearest neighbours" for k in nearest["count"].values if k > 1}
    kinds = [("linear machine", linear.sel(C=1.0), None, authors.TABLE_1_FIXED["linear"])]
    kinds += [("Gaussian machine", fixed("gaussian", kernels), None, authors.TABLE_1_FIXED["gaussian"])]
    kinds += [(plural[int(k)], nearest.sel(count=k), None, None) for k in nearest["count"].values]
    kinds += [(f"network, {layers(d)}", net, d, authors.TABLE_1["network"][d]) for d in DEPTHS]
    kinds += [(f"tangent machine, {layers(d)}", own, d, authors.TABLE_1["tangent machine"][d]) for d in DEPTHS]
    kinds += [(f"the same solved on the logit, {layers(d)}", ended, d, None) for d in LEARNING]
    kinds += [("Gaussian machine on absolute values", fixed("folded", kernels), None, None)]
    header = ["learner", "runs", "E", "M", "E, document", "M, document"]
    return header, [_row(*kind) for kind in kinds]


def layers(depth: int) -> str:
    """As in "1 layer"."""
    return f"{depth} layer{'s' if depth > 1 else ''}"


def _row(name: str, record: xr.Dataset, depth: int | None, printed: Mapping | None) -> list[str]:
    E, M = (stats.student(of(record, column, depth)) for column in ("empty", "others"))
    theirs = [f"{printed[column][0]:.4g}" for column in ("empty", "others")] if printed else ["", ""]
    return [name, str(record.sizes["run"]), f"{E:.2f}", f"{M:.3f}", *theirs]
