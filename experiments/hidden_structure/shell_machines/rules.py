r"""Rules on kernel machines on shells: HS-12, 13, 15, 16, 18, 19, 24, 25, 26, 61, 66; and the complete Table 1.

E is the accuracy in the empty orthant, M the mean accuracy over the populated ones.  A tangent machine belongs to one
stored network; what it loses is taken run by run against that network (:func:`lost`), with Student's interval over
runs.  Points of one network are never counted as draws.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import xarray as xr

from experiments.hidden_structure import authors, shells
from experiments.hidden_structure.orthants import orthant_statistics
from experiments.hidden_structure.orthants.rules import NETWORKS
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.stats import Interval

DEPTHS = (1, 2, 3, 4, 5)
LEARNING = (1, 2, 3)  # depths at which networks find something of the symmetry
FINAL = 20_000  # passes of the author's last fit
OUTPUTS = ("logit", "probability")
POPULATED = 2**shells.DIMENSION - 1
ENDED = 1e-3  # relative duality gap of a problem that is solved

TANGENT = "hidden_structure/shell_machines/tangent_machines"  # in the author's form, ten runs of each depth
CONVERGED = "hidden_structure/shell_machines/tangent_converged"  # solved on both outputs, one to three layers
KERNELS = "hidden_structure/shell_machines/fixed_kernels"  # Gaussian, of absolute values, averaged; five draws
LINEAR = "hidden_structure/shell_machines/linear_machines"
#: What :func:`table_1` is made of.
TABLE = (NETWORKS, TANGENT, CONVERGED, KERNELS, LINEAR, "hidden_structure/shell_machines/nearest_neighbours")


# What the rules read.


def author_form(tangent: xr.Dataset) -> xr.Dataset:
    """Tangent machines after 20,000 passes, ten runs of each depth."""
    return tangent.sel(limit=FINAL)


def solved(converged: xr.Dataset) -> xr.Dataset:
    """Solved machines on the kernels of logit and probability, ten runs of one, two and three layers."""
    return converged.sel(scaling="raw")


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


def at_least(interval: Interval, size: float) -> bool | None:
    """Whether an effect is positive and of some size: clearly above 0 with such an estimate; not if clearly below."""
    return True if interval.above(0) and interval.estimate >= size else False if interval.below(size) else None


def most(conditions: Iterable[bool | None], needed: int) -> bool | None:
    """Whether so many of the conditions hold; None if the open ones decide."""
    found = list(conditions)
    holding, open_ = sum(one is True for one in found), sum(one is None for one in found)
    return True if holding >= needed else False if holding + open_ < needed else None


# Kernels fixed in advance.


@decides(linear=LINEAR)
def hs_12(linear, *, guess):
    """Table 1: a linear machine is at chance in every orthant, over draws, at every C; the author's is shown beside."""
    every = [linear.isel(C=i) for i in np.flatnonzero(np.isfinite(linear.C.values))]
    E, M = ([stats.student(of(one, name)) for one in every] for name in ("empty", "others"))
    one, stopped = linear.sel(C=1.0), linear.isel(C=int(np.isnan(linear.C.values).argmax()))
    return Found(
        claims.all_of(*(claims.within(mean, *guess) for mean in E + M)),
        {"M at C = 1": stats.student(of(one, "others"))}
        | {"orthants on one side": stats.student(of(one, "one_sided"))}
        | {"E of the stopped machine": stats.student(of(stopped, "empty")), "draws": linear.sizes["run"]}
        | {f"lowest {name}": min(mean.estimate for mean in means) for name, means in (("E", E), ("M", M))}
        | {f"highest {name}": max(mean.estimate for mean in means) for name, means in (("E", E), ("M", M))},
    )


@decides(kernels=KERNELS, full="hidden_structure/shell_machines/gaussian_full")
def hs_13(kernels, full, *, perfect, chance):
    """Table 1: a Gaussian machine is right wherever there are data, and at chance where there are none."""
    g = kernels.sel(kernel="gaussian")
    M, train, E = (stats.student(of(g, name)) for name in ("others", "train", "empty"))
    return Found(
        claims.all_of(M.exceeds(perfect), train.exceeds(perfect), claims.below(E, chance)),
        {"M": M, "training accuracy": train, "E": E, "draws": g.sizes["run"], "class 1": float(g.ones.min())}
        | {"M, all points": float(full.others.mean()), "E, all points": float(full.empty.mean())},
    )


@decides(kernels=KERNELS, runs=NETWORKS)
def hs_61(kernels, runs, *, slack):
    """Section 1: does a machine with the right kernel reach the network?"""
    three = runs.sel(depth=3, moment="last")
    own = {k: {n: of(kernels.sel(kernel=k), n) for n in ("empty", "others")} for k in ("folded", "averaged")}
    ahead = {k: {n: stats.welch(values, of(three, n)) for n, values in row.items()} for k, row in own.items()}
    reached = claims.any_of(*(claims.all_of(*(one.exceeds(slack) for one in row.values())) for row in ahead.values()))
    return Found(
        "undecided" if reached is None else "answered",
        {f"{n} ahead of the network, {k}": one for k, row in ahead.items() for n, one in row.items()}
        | {k: {n: values.mean() for n, values in row.items()} for k, row in own.items()}
        | {"E, networks": stats.student(of(three, "empty")), "M, networks": stats.student(of(three, "others"))}
        | {"one reaches the network": reached},
    )


# Tangent machines in the author's form.


@decides(tangent=TANGENT)
def hs_15(tangent, *, apart, single, level, slack, few, much, four, five):
    """Table 1, rows of the tangent machines: five lettered rows, paired with their networks."""
    runs = author_form(tangent)
    E = {d: stats.student(of(runs, "empty", d)) for d in DEPTHS}
    M_lost, E_lost = losses(runs, "others"), losses(runs, "empty")
    differs = stats.student(np.abs(lost(runs, "empty", 1)))
    behind = [stats.student(of(runs, "others", 3) - of(runs, "others", d)) for d in DEPTHS if d != 3]
    lowest = claims.all_of(*(claims.below(one, 0) for one in behind))
    met = [
        orthant_statistics.agrees(of(runs, name, d), row[name][0])
        for d, row in authors.TABLE_1["tangent machine"].items()
        for name in ("empty", "others")
    ]
    return Found(
        {
            "a": claims.all_of(claims.below(differs, apart), claims.within(M_lost[1], *single)),
            "b": claims.all_of(claims.below(E[2], level), E_lost[2].exceeds(-slack), claims.within(M_lost[2], *few)),
            "c": claims.all_of(E[3].exceeds(level), E_lost[3].exceeds(0), M_lost[3].exceeds(much), lowest),
            "d": claims.all_of(claims.within(E[4], *four), claims.within(M_lost[4], *few)),
            "e": claims.all_of(claims.within(E[5], *five), M_lost[5].exceeds(much)),
        },
        {f"lost of M, depth {d}": one for d, one in M_lost.items()}
        | {f"E, depth {d}": one for d, one in E.items()}
        | {"E lost": E_lost, "M": {d: of(runs, "others", d).mean() for d in DEPTHS}, "runs": runs.sizes["run"]}
        | {"E differs": differs, "within reach": sum(met)},
    )


@decides(runs=NETWORKS, tangent=TANGENT, kernels=KERNELS, linear=LINEAR)
def hs_16(runs, tangent, kernels, linear):
    """Table 1, bold entries: the three-layer network leads in E, the Gaussian machine in M; run by run where paired."""
    net, own = runs.sel(moment="last"), author_form(tangent)
    gaussian, linear = kernels.sel(kernel="gaussian"), linear.sel(C=1.0)
    three, memory = of(net, "empty", 3), of(gaussian, "others")
    E = {f"{d}-NN": stats.student(three - of(net, "empty", d)) for d in DEPTHS if d != 3}
    E |= {f"{d}-NTK": stats.student(three[: own.sizes["run"]] - of(own, "empty", d)) for d in DEPTHS}
    E |= {name: stats.welch(three, of(one, "empty")) for name, one in (("Gaussian", gaussian), ("linear", linear))}
    M = {f"{d}-NN": stats.welch(memory, of(net, "others", d)) for d in DEPTHS}
    M |= {f"{d}-NTK": stats.welch(memory, of(own, "others", d)) for d in DEPTHS}
    M |= {"linear": stats.welch(memory, of(linear, "others"))}
    best_E, best_M = (min(ahead, key=lambda name: ahead[name].estimate) for ahead in (E, M))
    return Found(
        claims.all_of(*(one.exceeds(0) for ahead in (E, M) for one in ahead.values())),
        {f"E of 3-NN ahead of {name}": one for name, one in E.items()}
        | {f"M of the Gaussian ahead of {best_M}": M[best_M]}
        | {"E": stats.student(three), "best other in E": best_E, "E ahead": E[best_E]}
        | {"M": memory.mean(), "best other in M": best_M, "M ahead": M[best_M]},
    )


@decides(runs=NETWORKS, tangent=TANGENT, kernels=KERNELS)
def hs_18(runs, tangent, kernels, *, chance, needed, gain, follows, gap):
    """Section 4.2.1: the Gaussian memorises (a), the tangent machine gains in E (b), gaps between orthants (c)."""
    net, own, g = runs.sel(moment="last"), author_form(tangent), kernels.sel(kernel="gaussian")
    M, E = of(g, "others"), of(g, "empty")
    ahead = {d: stats.welch(M, of(own, "others", d)) for d in DEPTHS}
    gained = {d: stats.welch(of(own, "empty", d), E) for d in LEARNING}
    pooled = [np.concatenate([of(own, name, d) for d in LEARNING]) for name in ("empty", "network_empty")]
    rank = stats.spearman(*pooled, name="HS-18")
    wider = {d: stats.welch(M - E, of(net, "others", d) - of(net, "empty", d)) for d in DEPTHS}
    return Found(
        {
            "a": claims.all_of(*(one.exceeds(0) for one in ahead.values()), claims.below(stats.student(E), chance)),
            "b": claims.all_of(most((one.exceeds(gain) for one in gained.values()), needed), rank.exceeds(follows)),
            "c": claims.all_of(*(at_least(wider[d], gap) for d in LEARNING)),
        },
        {f"E gained at depth {d}": one for d, one in gained.items()}
        | {"rank correlation with the network": rank}
        | {f"wider gap than the network, depth {d}": one for d, one in wider.items()}
        | {"M ahead": ahead, "E": E.mean()},
    )


@decides(runs=NETWORKS, tangent=TANGENT, kernels=KERNELS)
def hs_19(runs, tangent, kernels, *, known, near, paid, ahead):
    """Section 4.2.1: machines do worse than their networks (a), for the sake of E (b), and find less of it (c)."""
    net, own, chance = runs.sel(moment="last"), author_form(tangent), of(kernels.sel(kernel="gaussian"), "empty")
    M, E, overall = (losses(own, name) for name in ("others", "empty", "overall"))
    learned = [d for d in LEARNING if stats.student(of(own, "network_empty", d)).above(known)]
    kept = claims.all_of(
        bool(learned),
        *(claims.below(stats.student(np.abs(lost(own, "empty", d))), near) for d in learned),
        *(M[d].exceeds(paid) for d in learned),
    )
    more = [stats.student(lost(own, "empty", d) - lost(own, "others", d)).above(0) for d in learned]
    best = max((of(net, "empty", d)[: own.sizes["run"]] for d in DEPTHS), key=np.mean)
    machine = max((of(own, "empty", d) for d in DEPTHS), key=np.mean)
    lead = stats.student(best - machine) if machine.mean() >= chance.mean() else stats.welch(best, chance)
    return Found(
        {
            "a": claims.all_of(*(one.exceeds(0) for one in (*M.values(), *overall.values()))),
            "b": False if any(more) else kept or None,
            "c": at_least(lead, ahead),
        },
        {f"M lost, depth {d}": one for d, one in M.items()}
        | {f"E lost, depth {d}": one for d, one in E.items()}
        | {"best network ahead in E": lead, "runs": own.sizes["run"]},
    )


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
    i_before = np.maximum(i - 1, 0)
    before, after = (np.take_along_axis(profiles, k[..., None], axis=-1)[..., 0] for k in (i_before, i))
    share = np.clip((0.5 - before) / np.where(after == before, 1, after - before), 0, 1)
    return np.where(i > 0, radius[i_before] * (1 - share) + radius[i] * share, radius[0])


def of_mean(runs: Curves, statistic: Callable[[np.ndarray], np.ndarray], name: str) -> Interval:
    """A statistic of the mean profile, with its bootstrap interval over the runs."""
    rows = stats.stream("bootstrap", name).integers(0, len(runs), (stats.RESAMPLES, len(runs)))
    return Interval.from_draws(float(statistic(runs.mean(axis=0))), statistic(runs[rows].mean(axis=1)))


def at(radius: np.ndarray, value: float) -> int:
    """Number of the radius next to a value."""
    return int(np.abs(radius - value).argmin())


def sigmoid_like(profile: xr.DataArray, falls: float, fits: float) -> tuple[bool | None, dict[str, list[Interval]]]:
    """HS-24(a): in each region the mean hardly falls, and fits a logistic curve; both numbers by region."""
    r = profile.radius.values.astype(float)
    found = {
        region: [
            of_mean(runs, orthant_statistics.falls, f"HS-24 falls {region}"),
            of_mean(runs, lambda p: logistic_r2(r, p), f"HS-24 R2 {region}"),
        ]
        for region, runs in curves(profile).items()
    }
    return claims.all_of(*(claims.all_of(claims.below(f, falls), R2.exceeds(fits)) for f, R2 in found.values())), found


def distance(profile: xr.DataArray) -> Interval:
    """Largest distance over the radius of the empty orthant from the mean of the two others, of the mean profiles."""
    return of_mean(_apart(profile), lambda p: np.abs(p).max(axis=-1), "HS-24 apart")


def _apart(profile: xr.DataArray) -> Curves:
    rows = curves(profile)
    return rows["empty"] - (rows["neighbour"] + rows["distant"]) / 2


def agreeing(
    profile: xr.DataArray, inner: float, outer: float, crosses: Sequence[float], apart: float
) -> tuple[bool | None, dict[str, Interval]]:
    """HS-24(b): levels at the shells, and distance of the empty orthant; where each region crosses one half."""
    r, rows = profile.radius.values.astype(float), curves(profile)
    first, second = ({k: stats.student(v[:, at(r, shell)]) for k, v in rows.items()} for shell in shells.RADII)
    half = {k: of_mean(v, lambda p: crossing(r, p), f"HS-24 crossing {k}") for k, v in rows.items()}
    levels = [claims.below(one, inner) for one in first.values()] + [one.exceeds(outer) for one in second.values()]
    levels += [claims.within(one, *crosses) for one in half.values()]
    return claims.all_of(*levels, claims.below(distance(profile), apart)), half


def dipping(
    profile: xr.DataArray, around: Sequence[float], dip: float
) -> tuple[bool | None, dict[str, dict[str, Interval]]]:
    """HS-24(c): in every region the mean has a minimum near the inner shell, lower than both ends; not in two."""
    r, found, dips = profile.radius.values.astype(float), {}, []
    for region, runs in curves(profile).items():
        found[region] = one = {
            "radius": of_mean(runs, lambda p: r[np.argmin(p, axis=-1)], f"HS-24 minimum {region}"),
            "left": of_mean(runs, lambda p: p[..., 0] - p.min(axis=-1), f"HS-24 left {region}"),
            "right": of_mean(runs, lambda p: p[..., -1] - p.min(axis=-1), f"HS-24 right {region}"),
            "lowest": of_mean(runs, lambda p: p.min(axis=-1), f"HS-24 lowest {region}"),
        }
        sides = (one[side].exceeds(dip) for side in ("left", "right"))
        dips.append(claims.all_of(*sides, claims.within(one["radius"], *around)))
    return (True if claims.all_of(*dips) else False if dips.count(False) >= 2 else None), found


@decides(runs=NETWORKS, tangent=TANGENT)
def hs_24(runs, tangent, *, falls, fits, inner, outer, crosses, apart, found, far, around, dip):
    """Figure 2: networks rise like sigmoids (a) that agree (b), tangent machines dip at the inner shell (c)."""
    lines, own = runs.profile.sel(depth=3), author_form(tangent).profile.sel(depth=3)
    smooth, shape = sigmoid_like(lines, falls, fits)
    agree, half = agreeing(lines, inner, outer, crosses, apart)
    dips, low = dipping(own, around, dip)
    theirs = lines.isel(run=np.flatnonzero(of(runs.sel(moment="last"), "empty", 3) >= found))
    return Found(
        {"a": smooth, "b": agree, "c": dips},
        {
            "crossing of 1/2": half,
            "distance of the empty orthant": distance(lines),
            "share of runs more than 0.5 away": stats.share(np.abs(_apart(lines)).max(axis=1) > far),
            "depth of the dip on the left": {region: one["left"] for region, one in low.items()},
            "minimum": {region: one["lowest"] for region, one in low.items()},
            "largest fall": max(fall.estimate for fall, _ in shape.values()),
            "smallest R²": min(R2.estimate for _, R2 in shape.values()),
            "distance, found": distance(theirs) if theirs.sizes["run"] > 1 else None,
            "networks": lines.sizes["run"],
            "networks, found": theirs.sizes["run"],
            "machines": own.sizes["run"],
        },
    )


@decides(runs=NETWORKS)
def hs_25(runs, *, found, populated, empty):
    """Section 4.2.2: where the symmetry is found, the logit is a rising function of the folded radius."""
    three = runs.sel(depth=3)
    finds = of(three.sel(moment="last"), "empty") >= found
    R2 = {part: three.isotonic.sel(part=part).values.astype(float) for part in ("populated", "empty")}
    median = {part: stats.bootstrap(v[finds], np.median, name=f"HS-25 {part}") for part, v in R2.items()}
    mean = three.profile.isel(run=np.flatnonzero(finds))
    r = mean.radius.values.astype(float)
    average = {k: of_mean(v, lambda p: logistic_r2(r, p), f"HS-25 {k}") for k, v in curves(mean).items()}
    return Found(
        claims.all_of(median["populated"].exceeds(populated), median["empty"].exceeds(empty)),
        {"median R²": median, "logistic R² of the mean profile": average, "runs": int(finds.sum())}
        | {"smallest logistic R²": min(one.estimate for one in average.values())}
        | {"median R², other runs": np.nan if finds.all() else np.median(R2["empty"][~finds])},
    )


def local_views(
    kernels: xr.Dataset, tangent: xr.Dataset, converged: xr.Dataset, *, found: float, least: int
) -> dict[str, Curves]:
    """Profiles in the empty orthant by machine, of the runs whose own network has found the symmetry, if so many."""
    views = {"Gaussian": curves(kernels.profile.sel(kernel="gaussian"))["empty"]}
    own, ended = author_form(tangent), solved(converged)
    for d in LEARNING:
        for name, record, profile in (
            (f"{d}-NTK", own, own.profile),
            (f"{d}-NTK solved", ended, ended.profile.sel(output="logit")),
        ):
            views[name] = curves(profile.sel(depth=d))["empty"][of(record, "network_empty", d) >= found]
    return {name: runs for name, runs in views.items() if len(runs) >= least}


@decides(kernels=KERNELS, tangent=TANGENT, converged=CONVERGED)
def hs_26(kernels, tangent, converged, *, found, least, climbs, steps):
    """Section 4.2.2: no kernel machine has a rising profile in the empty orthant."""
    lines, r = local_views(kernels, tangent, converged, found=found, least=least), shells.PROFILE
    rises = {k: stats.student(runs[:, at(r, 2.0)] - runs[:, at(r, 1.0)]) for k, runs in lines.items()}
    down = {k: of_mean(runs, orthant_statistics.falls, f"HS-26 {k}") for k, runs in lines.items()}
    rising = {k: claims.all_of(rises[k].exceeds(climbs), claims.below(down[k], steps)) for k in lines}
    return Found(
        claims.opposite(claims.any_of(*rising.values())),
        {"rise": rises, "falls": down, "runs": {k: len(runs) for k, runs in lines.items()}}
        | {"rising": [k for k, holds in rising.items() if holds] or ["none"]},
    )


# Kernel, solver or scaling.

SOLVERS = ("1,000 passes", "20,000 passes", "primal", "Newton")


def by_solver(name: str, depth: int, tangent: xr.Dataset, other: xr.Dataset) -> dict[str, np.ndarray]:
    """Values of the same networks' machines by solver, at the author's C."""
    ours, theirs = tangent.sel(depth=depth, run=other.run.values), other.sel(depth=depth)
    passes = [of(ours.sel(limit=limit), name) for limit in (1000, FINAL)]
    return dict(zip(SOLVERS, (*passes, of(theirs, f"primal_{name}"), of(theirs, f"kernel_{name}")), strict=True))


def outputs_differ(outputs: Mapping[str, xr.Dataset], name: str, size: float) -> bool:
    """Whether the outputs' means differ by at least a size at a depth, by an interval without 0, where both ended."""
    for d in LEARNING:
        done = np.isfinite(of(at_minimum(outputs["probability"]), "gap", d))
        apart = stats.student(of(outputs["logit"], name, d)[done] - of(outputs["probability"], name, d)[done])
        if abs(apart.estimate) >= size and not apart.contains(0):
            return True
    return False


def changed_signs(scaled: xr.Dataset) -> list[bool]:
    """Whether a loss is clearly on the other side than unscaled, by column, output, depth and scaling."""
    found = []
    for name, output, d in itertools.product(("others", "empty"), OUTPUTS, LEARNING):
        one = scaled.sel(output=output)
        sides = {s: stats.student(lost(one.sel(scaling=s), name, d)).exceeds(0) for s in scaled.scaling.values}
        raw = sides.pop("raw")
        found += [None not in (side, raw) and side != raw for side in sides.values()]
    return found


@decides(
    tangent=TANGENT,
    solvers="hidden_structure/shell_machines/tangent_solvers",
    converged=CONVERGED,
    scaled="hidden_structure/shell_machines/tangent_scalings",
)
def hs_66(tangent, solvers, converged, scaled, *, large, same, much, more, around, dip):
    """Are the tangent rows of Table 1 about the kernel, the solver, the output, or the scaling?"""
    forms = {int(d): by_solver("others", d, tangent, solvers) for d in solvers.depth.values}
    gained = {d: stats.student(f["Newton"] - f["20,000 passes"]) for d, f in forms.items()}
    apart = max(np.ptp([values.mean() for values in f.values()]) for f in forms.values())
    by_end = any(one.above(0) and one.estimate >= large for one in gained.values())
    outputs = {o: solved(converged).sel(output=o) for o in OUTPUTS}
    dips = {o: dipping(one.profile.sel(depth=3), around, dip)[0] for o, one in outputs.items()}
    differ = outputs_differ(outputs, "others", much) or outputs_differ(outputs, "empty", more)
    changed = changed_signs(scaled)
    M_lost = {o: losses(at_minimum(one), "others") for o, one in outputs.items()}
    open_ = {"a": not by_end and apart > same, "b": not differ and None in dips.values(), "c": False}
    return Found(
        {letter: "undecided" if left_open else "answered" for letter, left_open in open_.items()},
        {f"M gained by solving, depth {d}": one for d, one in gained.items()}
        | {f"M lost, {o}, depth {d}": one for o, row in M_lost.items() for d, one in row.items()}
        | {"solver or kernel": "solver" if by_end else "kernel" if apart <= same else "in between"}
        | {"solvers apart": apart, "output matters": differ or set(dips.values()) == {True, False}}
        | {"dip": {o: {True: "there", False: "absent", None: "unclear"}[found] for o, found in dips.items()}}
        | {"not ended": int((~(abs(outputs["probability"].gap.sel(depth=list(LEARNING))) < ENDED)).sum())}
        | {"scaling matters": any(changed), "signs changed": sum(changed), "signs": len(changed)},
    )


# Table 1.


def table_1(
    runs: xr.Dataset,
    tangent: xr.Dataset,
    converged: xr.Dataset,
    kernels: xr.Dataset,
    linear: xr.Dataset,
    nearest: xr.Dataset,
) -> tuple[list[str], list[list[str]]]:
    """Table 1 complete, with intervals over runs and the document's numbers: header and rows for `figures.table`.

    Args:
        runs, ..., nearest: the records of TABLE.
    """
    net, own, ended = runs.sel(moment="last"), author_form(tangent), solved(converged).sel(output="logit")
    plural = {1: "nearest neighbour"} | {int(k): f"{k} nearest neighbours" for k in nearest["count"].values if k > 1}
    kinds = [("linear machine", linear.sel(C=1.0), None, authors.TABLE_1_FIXED["linear"])]
    kinds += [("Gaussian machine", kernels.sel(kernel="gaussian"), None, authors.TABLE_1_FIXED["gaussian"])]
    kinds += [(plural[int(k)], nearest.sel(count=k), None, None) for k in nearest["count"].values]
    kinds += [(f"network, {layers(d)}", net, d, authors.TABLE_1["network"][d]) for d in DEPTHS]
    kinds += [(f"tangent machine, {layers(d)}", own, d, authors.TABLE_1["tangent machine"][d]) for d in DEPTHS]
    kinds += [(f"the same solved on the logit, {layers(d)}", ended, d, None) for d in LEARNING]
    kinds += [("Gaussian machine on absolute values", kernels.sel(kernel="folded"), None, None)]
    header = ["learner", "runs", "E", "M", "E, document", "M, document"]
    return header, [_row(*kind) for kind in kinds]


def layers(depth: int) -> str:
    """As in "1 layer"."""
    return f"{depth} layer{'s' if depth > 1 else ''}"


def _row(name: str, record: xr.Dataset, depth: int | None, printed: Mapping | None) -> list[str]:
    E, M = (stats.student(of(record, column, depth)) for column in ("empty", "others"))
    theirs = [f"{printed[column][0]:.4g}" for column in ("empty", "others")] if printed else ["", ""]
    return [name, str(record.sizes["run"]), f"{E:.2f}", f"{M:.3f}", *theirs]
