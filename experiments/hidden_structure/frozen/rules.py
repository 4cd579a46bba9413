r"""Rules on a first layer that is frozen after an epoch, and on the hidden coordinate as input: HS-36, 38, 39, 52-54.

Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Sections 5.2.1, 5.2.2, Appendix A.

Rc is the share of the variance of y that a run explains on the test points with |v| <= 1.  Errors are compared by the
geometric mean of their ratio over paired runs.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.hidden_structure.runs import everywhere, rc, test_error
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.stats import Interval

FREEZES = ("stop-first", "first-last", "reinit")
KNOWN = (9, 18)  # degrees that the document's networks fit given v
STRAIGHT = (19, 20)  # degrees at which they return a straight line
FROZEN, FROM_X = "hidden_structure/frozen", "hidden_structure/from_x"


def ratio(first: xr.DataArray, second: xr.DataArray) -> Interval:
    """Geometric mean of first / second over paired runs."""
    return stats.geometric((first / second).values.ravel())


def over_regular(frozen: xr.Dataset, regular: xr.Dataset, degree: int) -> dict[str, Interval]:
    """Test error of the modes over that of regular training."""
    modes, best = test_error(frozen).sel(degree=degree), test_error(regular).sel(degree=degree)
    return {mode: ratio(modes.sel(mode=mode), best) for mode in FREEZES}


@decides(runs=FROZEN)
def hs_36(runs, *, fit, poor, majority):
    """Section 5.2.1: odd degrees fit with a first layer frozen after one epoch, even ones do not; degree, mode, run."""
    odd, even = (3, 5, 7), (4, 6)
    values = {d: {mode: rc(runs).sel(degree=d, mode=mode) for mode in FREEZES} for d in odd + even}
    fits = {d: {mode: stats.share(one >= fit) for mode, one in of.items()} for d, of in values.items()}
    parts = {}
    for d in odd:
        each = {mode: claims.verdict(share.exceeds(majority)) for mode, share in fits[d].items()}
        parts[f"degree {d}"] = "undecided" if "undecided" in each.values() else claims.combine(each)
    failed = [stats.share(one <= poor).exceeds(majority) for d in even for one in values[d].values()]
    return Found(
        parts | {"even": claims.all_of(*failed)},
        {f"share of runs that fit, d = {d}": of for d, of in fits.items()}
        | {f"median, d = {d}": [float(one.median()) for one in of.values()] for d, of in values.items()},
    )


def bend(runs: xr.Dataset) -> xr.DataArray:
    """Root mean square distance of predictions from their best straight line over the deviation of y, |v| <= 1."""
    part = runs.sel(part="test", range="bulk")
    return part.spread * np.sqrt(np.maximum(1 - part.straight.fillna(1.0), 0))


@decides(runs="hidden_structure/from_v")
def hs_38(runs, *, half, poor, straight, still, majority):
    """Section 5.2.2, Figure 4: v given, degrees up to 18 are fitted and 19, 20 are straight lines; degree, run."""
    values = rc(runs)
    learnt = {d: stats.share(values.sel(degree=d) >= half) for d in range(KNOWN[0], KNOWN[1] + 1)}
    follows = [share.exceeds(majority) for share in learnt.values()]
    bends = {d: stats.student(bend(runs.sel(degree=d)).values) for d in STRAIGHT}
    bulk = runs.sel(part="test", range="bulk")
    level = (bulk.straight.fillna(1) >= straight) | (bulk.spread <= still)
    lines = {d: stats.share((level & (values <= poor)).sel(degree=d)) for d in STRAIGHT}
    medians = {d: float(values.sel(degree=d).median()) for d in (*learnt, *STRAIGHT)}
    last = values.sel(degree=KNOWN[1]) >= half
    return Found(
        {
            "a": claims.all_of(*follows),
            "b": follows[-1],
            "c": claims.all_of(*(share.exceeds(majority) for share in lines.values())),
        },
        {f"distance from a straight line, d = {d}": one for d, one in bends.items()}
        | {"runs with Rc >= 0.5 at d = 18": f"{int(last.sum())} of {last.size}"}
        | {"lines": lines, "everywhere": everywhere(runs, (*learnt, *STRAIGHT))}
        | {"degrees followed": follows.count(True), "median": medians, "lowest": min(medians[d] for d in learnt)}
        | {"median beyond": float(runs.r2.sel(part="test", range="tail", degree=KNOWN[1]).median())},
    )


def highest(runs: xr.Dataset, *, fit: float, majority: float, range: str = "bulk") -> tuple[int, int]:
    """Highest degree that most runs clearly fit, and the highest of which it is not clear that they do not."""
    fits = runs.r2.sel(part="test", range=range)
    shares = {int(d): stats.share(fits.sel(degree=d) >= fit) for d in runs.degree.values}
    sure = [d for d, share in shares.items() if share.exceeds(majority)]
    possible = [d for d, share in shares.items() if not share.below(majority)]
    return max(sure, default=0), max(possible, default=0)


@decides(
    from_v="hidden_structure/from_v",
    from_x=FROM_X,
    common_v="hidden_structure/alignment/common_from_v",
    common_x="hidden_structure/alignment/common_from_x",
)
def hs_39(from_v, from_x, common_v, common_x, *, fit, gain, majority):
    """Sections 5.2.2 and 5.2.4: knowing v raises the highest degree; author's and one common configuration."""
    (v, v_most), (x, x_most), (one_v, _), (one_x, one_x_most) = (
        highest(runs, fit=fit, majority=majority) for runs in (from_v, from_x, common_v, common_x)
    )
    least = (v - x_most, one_v - one_x_most)
    names = ("given v", "from x", "given v, one configuration", "from x, one configuration")
    whole = [highest(runs, fit=fit, majority=majority, range="all")[0] for runs in (from_v, from_x, common_v, common_x)]
    return Found(
        True if min(least) >= gain else False if v_most - x < gain else None,
        {"degrees gained, author's selection, at least": least[0]}
        | {"degrees gained, one configuration, at least": least[1]}
        | {"given v": v, "from x": x, "given v, one configuration": one_v, "from x, one configuration": one_x}
        | {"from x, one configuration, at most": one_x_most}
        | {"all points": dict(zip(names, whole, strict=True))},
    )


@decides(
    frozen=FROZEN,
    regular=FROM_X,
    machines="hidden_structure/polynomial_machines/machines_frozen",
    free="hidden_structure/polynomial_machines/machines",
)
def hs_52(frozen, regular, machines, free, *, good, close, per, majority):
    """Figure 6: the modes at degree 3, their machines, the Gaussian one, and the numbers of parameters; mode, run.

    `machines`: tangent machines of networks with a frozen first layer, on 2,500 points; `free`: that of networks with a
    free first layer, and the Gaussian machine, on the same points.
    """
    behind = over_regular(frozen, regular, degree=3)
    frozen_3, regular_3, machines_3, free_3 = (one.sel(degree=3) for one in (frozen, regular, machines, free))
    fits = [stats.share(rc(frozen_3).sel(mode=mode) >= good).exceeds(majority) for mode in FREEZES]
    error, cv = test_error(machines_3), machines_3.cv.sel(machine="last", drop=True)
    own = {mode: ratio(*(error.sel(machine=one, mode=mode) for one in ("last", "network"))) for mode in FREEZES}
    rival = free_3.cv.sel(machine="gaussian", drop=True)
    tangent = {mode: cv.sel(mode=mode) for mode in FREEZES} | {"regular": free_3.cv.sel(machine="last", drop=True)}
    ahead = {mode: one < rival for mode, one in tangent.items()}
    shares = {mode: stats.share(flags) for mode, flags in ahead.items()}
    total, few = int(regular_3.trainable.values.ravel()[0]), int(frozen_3.trainable.max())
    kinds = np.unique(frozen.trainable).size
    return Found(
        {
            "a": claims.all_of(*(one.exceeds(1) for one in behind.values()), *fits),
            "b": claims.all_of(*(claims.within(one, 1 / close, close) for one in own.values())),
            "c": claims.all_of(*(share.exceeds(majority) for share in shares.values())),
            "d": total == 102 * (few - 1) + 1 and per * few < 8000 and kinds <= 3,
        },
        {"NTK ahead of the Gaussian machine": shares, "over regular": behind, "NTK over its network": own}
        | {"runs ahead": {mode: int(flags.sum()) for mode, flags in ahead.items()}, "runs": rival.size}
        | {"parameters left": few, "parameters": total},
    )


@decides(
    frozen=FROZEN,
    regular=FROM_X,
    machines="hidden_structure/frozen/frozen_all_points",
    gaussian="hidden_structure/polynomial_machines/gaussian_author",
)
def hs_53(frozen, regular, machines, gaussian, *, far, lost, rough, majority):
    """Figure 7: the modes at degree 6, and the Gaussian machine beside them, on all points; mode, run.

    `machines`: tangent machines of the frozen networks, without "reinit", which has those of "stop-first".
    """
    behind = over_regular(frozen, regular, degree=6)
    modes, rival = frozen.sel(degree=6), gaussian.sel(degree=6)
    fails = [stats.share(rc(modes).sel(mode=mode) <= lost).exceeds(majority) for mode in FREEZES]
    network = {mode: ratio(test_error(rival), test_error(modes).sel(mode=mode)) for mode in FREEZES}
    tangent = {str(mode): ratio(rival.cv, machines.cv.sel(mode=mode)) for mode in machines["mode"].values}
    r2, spread = (rival[name].sel(part="test", range="all").values for name in ("r2", "spread"))
    explained = stats.student(r2)
    return Found(
        {
            "a": claims.all_of(*(one.exceeds(far) for one in behind.values()), *fails),
            "b": claims.all_of(*(claims.below(one, 1) for one in (*network.values(), *tangent.values()))),
            "c": claims.all_of(claims.within(explained, 0, rough), bool((spread**2 + r2 > 0).all())),
        },
        {"R2 of the Gaussian machine": explained, "over regular": behind}
        | {"Gaussian over network": network, "Gaussian over NTK": tangent},
    )


def at_freeze(runs: xr.Dataset, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Share of aligned units when the first layer is frozen, and Rc at the end; (warmup, run) each."""
    one = runs.sel(degree=degree) if "degree" in runs.dims else runs
    aligned = one.path_aligned.sel(epoch=one.warmup).transpose("warmup", "run")
    return aligned.values, rc(one).transpose("warmup", "run").values


@decides(runs="hidden_structure/warm_up")
def hs_54(runs, *, fit, strong, majority):
    """Appendix A: the alignment at the freeze decides whether a frozen mode fits; degree, warm-up, run."""
    flags = {d: {int(w): rc(runs).sel(degree=d, warmup=w) >= fit for w in runs.warmup.values} for d in (3, 6)}
    shares = {d: {w: stats.share(one) for w, one in of.items()} for d, of in flags.items()}
    fits = {d: {w: share.exceeds(majority) for w, share in of.items()} for d, of in shares.items()}
    rank = stats.spearman(*(values.ravel() for values in at_freeze(runs, 6)), name="HS-54")
    helps = claims.any_of(*(most for w, most in fits[6].items() if w > 1))
    error = test_error(runs).sel(degree=3)
    return Found(
        {
            "degree 6": claims.all_of(claims.opposite(fits[6][1]), helps, rank.exceeds(strong)),
            "degree 3": claims.all_of(fits[3][1], claims.opposite(fits[3][0])),
        },
        {
            "rank correlation, degree 6": rank,
            "epochs of warm-up that are enough at degree 6": next((w for w, most in fits[6].items() if most), None),
            "runs that fit at degree 3 with a first layer never trained": shares[3][0],
            "fitting": {d: {w: int(one.sum()) for w, one in of.items()} for d, of in flags.items()},
            "runs": runs.sizes["run"],
            "gain": ratio(error.sel(warmup=0), error.sel(warmup=1)),
            "everywhere": {w: everywhere(runs.sel(warmup=w), (6,))[6] for w in (5, 8)},
        },
    )
