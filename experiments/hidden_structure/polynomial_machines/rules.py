r"""Rules on networks against kernel machines on the polynomials: HS-01, 03, 29, 42 to 44, 46 to 49, 62.

*Fixed* kernels are chosen before training: the Gaussian one, and the tangent kernel of the untrained network.  The fit
of a learner is $R^2$ on the test points with $|v| \le 1$, the document's *bulk*, where nothing else is said.  Intervals
over runs are Student's; those of ratios belong to geometric means.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from experiments.hidden_structure import hidden_index, polynomials
from experiments.hidden_structure.orthants.rules import NETWORKS
from experiments.hidden_structure.polynomial_machines import ceiling, tangent_identity
from shallow import stats
from shallow.book import claims, sweep
from shallow.book.claims import Found, decides
from shallow.stats import Interval

BETWEEN = (4, 5, 6, 7)  # degrees at which the document's networks fit and a nearly straight line does not
MACHINES = "hidden_structure/polynomial_machines/machines"  # all machines on 2,500 points, and networks on 8,000
GAUSSIAN = "hidden_structure/polynomial_machines/gaussian_author"  # on 8,000 points
SEVENTH = "hidden_structure/polynomial_machines/machines_8000_7"  # network and final NTK on 8,000 points, degree 7
FIRST = "hidden_structure/polynomial_machines/machines_8000"  # the same at other degrees, run 0
SAME = "hidden_structure/polynomial_machines/machines_same_points"  # the same on 2,500 points
TANGENT = "hidden_structure/shell_machines/tangent_training"  # tangent machines on shells by epoch
#: The author's logged test errors, of the network and of the machine on its tangent kernel, not refitted at degree 8.
AUTHOR_NETWORK = {3: 0.00134, 4: 0.0066, 5: 0.0033, 6: 0.0174, 7: 0.152, 8: 0.207, 9: 0.134}
AUTHOR_TANGENT = {3: 0.00112, 4: 0.0044, 5: 0.0023, 6: 0.0554, 7: 0.135, 9: 0.117}


# What rules and pages measure.


def learners(few: xr.Dataset, seventh: xr.Dataset) -> xr.Dataset:
    """Networks on all 8,000 points and machines on their tangent kernels, which have 2,500 except at degree 7.

    Args:
        few, seventh: the records MACHINES and SEVENTH.
    """
    rest = few.sel(machine=["network", "last"], degree=few.degree != 7)
    return xr.concat([rest, seventh[list(few.data_vars)]], "degree", join="exact").sortby("degree")


def test(runs: xr.Dataset, learner: str | None, measure: str = "mse", range: str = "all") -> xr.DataArray:
    """A measure on test points by degree and run, of one of several learners or of the only one."""
    values = runs[measure].sel(part="test", range=range)
    values = values if learner is None else values.sel(machine=learner)
    return values.transpose(..., "run").reset_coords(drop=True)


def fit(runs: xr.Dataset, learner: str | None) -> xr.DataArray:
    """R2 on the bulk of the test points, by degree and run."""
    return test(runs, learner, "r2", "bulk")


def by_degree(values: xr.DataArray, degrees: Sequence[int] | None = None) -> dict[int, Interval]:
    """The mean over runs with its interval, by degree."""
    shown = values.degree.values if degrees is None else degrees
    return {int(d): stats.student(values.sel(degree=d).values) for d in shown}


def ratios(above: xr.DataArray, under: xr.DataArray, degrees: Sequence[int]) -> dict[int, Interval]:
    """Geometric means over runs of a ratio, by degree."""
    return {int(d): stats.geometric((above.sel(degree=d) / under.sel(degree=d)).values) for d in degrees}


def best(*candidates: xr.DataArray) -> xr.DataArray:
    """The largest of several measures, by degree and run."""
    return xr.concat(candidates, "kernel").max("kernel")


def deviation() -> float:
    """Standard deviation of the hidden coordinate of the author's points, those of run 0."""
    return float(hidden_index.draw("independent", 0).v.std())


def ceilings(points: int, degrees: Sequence[int] = tuple(range(3, 10)), dimension: int = 100) -> np.ndarray:
    """The bound on R2 over all points, averaged over directions, of kernels that do not depend on the direction."""
    tau = deviation()
    if dimension == 1:  # a function of v is a function of x
        return np.ones(len(degrees))
    return np.array([ceiling.ceiling(hidden_index.polynomial(d), tau, dimension, points) for d in degrees])


def energy_shares(degree: int) -> np.ndarray:
    """Shares of the variance of a target whose angular degree is 1, 2, 3, and more; shape (4,)."""
    energies = ceiling.angular_energies(hidden_index.polynomial(degree), deviation(), hidden_index.DIMENSION).energies
    return np.append(energies[1:4], energies[4:].sum()) / energies[1:].sum()


def above_ceiling(runs: xr.Dataset, points: int, learner: str = "network") -> dict[int, bool | None]:
    """Whether the mean R2 of a learner over all points lies above the ceiling, by degree."""
    r2 = by_degree(test(runs, learner, "r2"))
    return {d: found.exceeds(float(ceilings(points, [d])[0])) for d, found in r2.items()}


def straight(degree: int, run: int, points: int = 8000) -> dict[str, float]:
    """R2 of least squares on the 100 inputs of the first training points, on the test points, all and bulk."""
    task = polynomials.problem("independent", degree, run)
    x = np.column_stack([np.ones(len(task.x)), task.x])
    train, test = task.rows["train"][:points], task.rows["test"]
    prediction = x[test] @ np.linalg.lstsq(x[train], task.y[train], rcond=None)[0]
    found = {}
    for name, keep in (("all", np.ones(len(test), bool)), ("bulk", np.abs(task.v[test]) <= 1)):
        y = task.y[test][keep]
        found[name] = float(1 - np.mean((prediction[keep] - y) ** 2) / y.var())
    return found


# Networks against fixed kernels.


@decides(
    few=MACHINES,
    gaussian=GAUSSIAN,
    seventh=SEVENTH,
    networks=NETWORKS,
    linear="hidden_structure/shell_machines/linear_machines",
    kernels="hidden_structure/shell_machines/fixed_kernels",
    tangent=TANGENT,
)
def hs_01(few, gaussian, seventh, networks, linear, kernels, tangent, *, chance, finds, fits):
    """Abstract: fixed kernels against networks, in the empty orthant and on the polynomials."""
    first, last = tangent.empty.sel(epoch=0), networks.empty.sel(moment="last")
    shells = {"linear": linear.empty.sel(C=1.0), "Gaussian": kernels.empty.sel(kernel="gaussian")}
    shells |= {f"initial NTK, depth {d}": first.sel(depth=d) for d in first.depth.values}
    shells = {name: stats.student(values.values) for name, values in shells.items()}
    by_depth = [stats.student(last.sel(depth=d).values) for d in last.depth.values]
    there = max(by_depth, key=lambda one: one.estimate)
    candidates = [fit(few, name) for name in ("initial", "gaussian", "gaussian_absolute")]
    fixed = by_degree(best(*candidates, fit(gaussian, None)), BETWEEN)
    learnt = by_degree(fit(learners(few, seventh), "network"), BETWEEN)
    apart = claims.all_of(
        *(claims.below(one, chance) for one in shells.values()),
        there.exceeds(finds),
        *(claims.below(one, fits) for one in fixed.values()),
        *(one.exceeds(fits) for one in learnt.values()),
    )
    matched = claims.any_of(
        *(one.exceeds(there.estimate) for one in shells.values()),
        claims.all_of(*(fixed[d].exceeds(learnt[d].estimate) for d in BETWEEN)),
    )
    return Found(
        True if apart else False if matched else None,
        {"fixed kernels on the shells": shells, "best networks there": there, "fixed": fixed, "net": learnt},
    )


def identity() -> xr.Dataset:
    """Ten random networks: gradients against the closed form, and the two machines; in seconds."""
    axes = {"shape": list(tangent_identity.NETWORKS), "seed": list(range(5))}
    return sweep.grid(tangent_identity.same_learner, axes, jobs=1, progress=False)


def dropped() -> xr.Dataset:
    """The same comparison where one of the two machines lacks five features."""
    axes = {"shape": list(tangent_identity.NETWORKS), "seed": [0]}
    return sweep.grid(tangent_identity.same_learner, axes, dropped=5, jobs=1, progress=False)


@decides(pairs=identity, planted=dropped)
def hs_03(pairs, planted):
    """Section 2: a linear machine on gradients and a kernel machine are one; over shape and seed."""
    limits = {"jacobian": 1e-8, "gram": 1e-8, "predictions": 1e-6, "asymmetry": 0}
    same = all(bool((pairs[name] <= limit).all()) for name, limit in limits.items())
    noticed = bool((planted.predictions > limits["predictions"]).all())
    return Found(same and bool((pairs.smallest >= -1e-9).all()) if noticed else None)


@decides(gaussian=GAUSSIAN, few=MACHINES, seventh=SEVENTH)
def hs_29(gaussian, few, seventh, *, ahead):
    """Section 5.1.2: the network against the Gaussian machine, both on 8,000 points; an expectation of the document."""
    whole = learners(few, seventh)
    ratio = {
        name: ratios(test(gaussian, None, range=name), test(whole, "network", range=name), BETWEEN)
        for name in ("all", "bulk")
    }
    return Found(
        claims.all_of(*(one.exceeds(ahead) for one in ratio["all"].values())),
        {f"ratio, degree {d}": one for d, one in ratio["all"].items()} | {"bulk": ratio["bulk"]},
    )


def straight_lines(runs: Sequence[int] = range(20)) -> np.ndarray:
    """R2 of a straight line in 100 inputs on all test points, degree 5, least squares on the machine's points."""
    return np.array([straight(5, int(run), 2500)["all"] for run in runs])


@decides(inputs="hidden_structure/polynomial_machines/gaussian_inputs", lines=straight_lines)
def hs_42(inputs, lines, *, high, slack):
    """Section 5.2.4: R2 of the Gaussian machine against the number of inputs, degree 5; over inputs and run."""
    r2 = test(inputs, None, "r2").transpose("inputs", "run")
    by_inputs = {int(p): stats.student(values) for p, values in zip(r2.inputs.values, r2.values, strict=True)}
    rises = map(stats.student, np.diff(r2.values, axis=0))
    beyond = stats.student(r2.sel(inputs=100).values - lines)
    return Found(
        claims.all_of(
            *(one.exceeds(high) for p, one in by_inputs.items() if p <= 2),
            *(claims.below(rise, slack) for rise in rises),
            claims.below(beyond, slack),
        ),
        {f"{p} inputs": one for p, one in by_inputs.items()}
        | {"beyond a straight line": beyond, "ceiling": ceilings(2500, [5])[0]},
    )


@decides(gaussian=GAUSSIAN, few=MACHINES)
def hs_43(gaussian, few, *, limit):
    """Section 5.2.4: cross-validated errors of the Gaussian machine."""
    third = stats.student(gaussian.cv.sel(degree=3).values)
    grid = by_degree(few.cv.sel(machine="gaussian"), range(4, 10))
    all_points = by_degree(gaussian.cv, range(4, 10))
    r2 = test(few, "gaussian", "r2").mean("run")
    return Found(
        {
            "a": claims.below(third, limit),
            "b": claims.all_of(*(one.exceeds(limit) for of in (grid, all_points) for one in of.values())),
        },
        {"degree 3": third}
        | {f"degree {d}": one for d, one in grid.items()}
        | {"all points": all_points, "R2": dict(zip(r2.degree.values.tolist(), r2.values, strict=True))},
    )


def leads(few: xr.Dataset, gaussian: xr.Dataset, seventh: xr.Dataset) -> dict[str, dict[int, Interval | float]]:
    """Errors of the Gaussian machine over those of the final NTK by degree: 2,500 points; at degree 7 all 8,000.

    Returns:
        cv, cross-validated; tubeless, means of the same without a tube, on 2,500 points throughout; test, on test
        points.
    """
    degrees, cv = few.degree.values, few.cv
    last = cv.sel(machine="last", drop=True)
    tubeless = ratios(cv.sel(machine="gaussian_absolute", drop=True), last, degrees)
    return {
        "cv": ratios(cv.sel(machine="gaussian", drop=True), last, degrees)
        | ratios(gaussian.cv, seventh.cv.sel(machine="last"), [7]),
        "tubeless": {d: one.estimate for d, one in tubeless.items()},
        "test": ratios(test(few, "gaussian"), test(few, "last"), degrees)
        | ratios(test(gaussian, None), test(seventh, "last"), [7]),
    }


@decides(few=MACHINES, gaussian=GAUSSIAN, seventh=SEVENTH)
def hs_44(few, gaussian, seventh, *, no_better, needed, far, near, band):
    """Section 5.2.4: the Gaussian machine against the machine on the final NTK, by cross-validation."""
    found = leads(few, gaussian, seventh)
    cv = found["cv"]
    sides = [one.exceeds(no_better) for one in cv.values()]
    wide = claims.all_of(*(cv[d].exceeds(far) for d in BETWEEN))
    close = claims.any_of(*(claims.below(cv[d], near) for d in BETWEEN))
    return Found(
        {
            "a": True if sides.count(True) >= needed else False if len(sides) - sides.count(False) < needed else None,
            "b": True if wide else False if close else None,
            "c": claims.all_of(*(claims.within(cv[d], *band) for d in (8, 9))),
        },
        {f"ratio, degree {d}": one for d, one in cv.items()}
        | {"without tube": found["tubeless"], "on test points": found["test"]},
    )


@decides(few=MACHINES, same=SAME, seventh=SEVENTH, gaussian=GAUSSIAN)
def hs_49(few, same, seventh, gaussian, *, level, clear, several, fits, none):
    """Section 5.2.4, closing sentences: is the network no better than kernels; (a) errors, (b) fits."""
    whole, fixed = learners(few, seventh), ("initial", "gaussian_absolute")
    equal = ratios(np.minimum(*(test(few, name) for name in fixed)), test(same, "network"), BETWEEN)
    more = ratios(test(gaussian, None), test(whole, "network"), BETWEEN)
    blind = by_degree(best(*(fit(few, name) for name in fixed)), BETWEEN)
    all_points, trained = by_degree(fit(gaussian, None), BETWEEN), by_degree(fit(whole, "last"), BETWEEN)
    good = claims.all_of(*(claims.below(one, level) for one in equal.values()))
    larger = [one.exceeds(clear) for one in equal.values()]
    fitting = claims.all_of(*(one.exceeds(fits) for one in blind.values()))
    apart = [claims.all_of(claims.below(blind[d], none), trained[d].exceeds(fits)) for d in BETWEEN]
    return Found(
        {
            "a": True if good else False if larger.count(True) >= several else None,
            "b": True if fitting else False if apart.count(True) >= several else None,
        },
        {f"ratio, degree {d}": one for d, one in equal.items()}
        | {"more points": more, "fixed, 2,500": blind, "fixed, 8,000": all_points, "final NTK": trained},
    )


@decides(few=MACHINES, seventh=SEVENTH, tangent=TANGENT)
def hs_62(few, seventh, tangent, *, nothing, fits, alike, chance, finds):
    """How much of the NTK machine's success comes from training, on polynomials and on shells."""
    first = by_degree(fit(few, "initial"), range(3, 8))
    last = by_degree(fit(learners(few, seventh), "last"), range(3, 8))
    degrees = {
        d: "from the start"
        if last[d].estimate - first[d].estimate <= alike
        else ("learned" if first[d].below(nothing) and last[d].above(fits) else "in part")
        for d in first
    }
    before, after = (
        {int(d): stats.student(tangent.empty.sel(epoch=e, depth=d).values) for d in tangent.depth.values}
        for e in (0, -1)
    )
    depths = {
        d: "nothing learned"
        if after[d].below(chance)
        else "open"
        if before[d].above(chance) or not after[d].above(chance)
        else ("learned" if after[d].above(finds) else "in part")
        for d in before
    }
    learnt = [str(d) for d, how in degrees.items() if how == "learned"]
    return Found(
        {"polynomials": "answered", "shells": "undecided" if "open" in depths.values() else "answered"},
        {"polynomials": degrees, "shells": depths}
        | {"R2, untrained": first, "R2, trained": last, "E, untrained": before, "E, trained": after}
        | {"learned": ", ".join([*learnt[:-2], " and ".join(learnt[-2:])])},
    )


# The network and its own kernel.


@decides(few=MACHINES, seventh=SEVENTH)
def hs_46(few, seventh, *, fits, flat):
    """Figure 5: the machine on the final NTK fits where its network fits, and is constant at degree 8."""
    whole = learners(few, seventh)
    last, network = fit(whole, "last"), fit(whole, "network")
    spread = stats.student(test(whole, "last", "spread", "bulk").sel(degree=8).values)
    followed = {d: last.sel(degree=d).values[network.sel(degree=d).values >= fits] for d in range(3, 8)}
    followed = {d: stats.student(fitting) for d, fitting in followed.items() if len(fitting) > 1}
    seventh = last.sel(degree=7).values
    return Found(
        {
            "a": stats.student(seventh).exceeds(fits),
            "b": claims.below(spread, flat),
            "c": claims.all_of(*(one.exceeds(fits) for one in followed.values())) if followed else None,
        },
        {f"R2, degree {d}": one for d, one in followed.items()}
        | {"spread, degree 8": spread, "largest spread": spread.high}
        | {"runs at degree 7": [seventh.min(), seventh.max()]},
    )


def equal_points(same: xr.Dataset, seventh: xr.Dataset) -> xr.Dataset:
    """Network and machine on its NTK on the same points, degrees 3 to 7: 2,500 of them, and all 8,000 at degree 7."""
    pair = ["network", "last"]
    seventh = seventh.sel(machine=pair, degree=[7])
    common = [name for name in same.data_vars if name in seventh]
    return xr.concat([same[common].sel(machine=pair, degree=slice(3, 6)), seventh[common]], "degree", join="exact")


@decides(same=SAME, first=FIRST, seventh=SEVENTH)
def hs_47(same, first, seventh):
    """Section 5.2.4: "marginally better losses than the network for all degrees"; log ratios of test errors."""
    equal = equal_points(same, seventh)
    found = by_degree(np.log(test(equal, "last") / test(equal, "network")))
    at_all = np.log(test(first, "last") / test(first, "network")).isel(run=0)
    whole = {d: found[7].estimate if d == 7 else float(at_all.sel(degree=d)) for d in found}
    logged = {d: float(np.log(error / AUTHOR_NETWORK[d])) for d, error in AUTHOR_TANGENT.items()}
    behind = [d for d in found if whole[d] > 0 and (d != 7 and logged[d] > 0 or found[d].above(0))]
    holds = claims.all_of(*(claims.below(one, 0) for one in found.values()))
    bulk = ratios(test(seventh, "last", range="bulk"), test(seventh, "network", range="bulk"), [7])
    return Found(
        False if behind else holds or None,
        {f"log ratio, degree {d}": one for d, one in found.items()}
        | {"behind": behind, "run 0": whole, "author": logged, "bulk": bulk[7]},
    )


@decides(same=SAME, first=FIRST, seventh=SEVENTH)
def hs_48(same, first, seventh, *, more):
    """Figures 3 and 5, degree 7: the network's fit is fuzzier than that of its NTK."""
    fuzz = [runs.fuzz.sel(degree=slice(3, 7)) for runs in (equal_points(same, seventh), first)]
    network, last = ([one.sel(machine=name, drop=True) for one in fuzz] for name in ("network", "last"))
    found = ratios(network[0], last[0], fuzz[0].degree.values)
    whole = (network[1] / last[1]).isel(run=0)
    return Found(
        True if found[7].exceeds(more) else False if claims.below(found[7], 1) else None,
        {f"degree {d}": one for d, one in found.items()}
        | {"run 0": dict(zip(whole.degree.values.tolist(), whole.values, strict=True))},
    )
