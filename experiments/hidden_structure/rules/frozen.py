r"""Rules on a first layer that is frozen after an epoch, and on the hidden coordinate as input: HS-36, 38, 39, 52-54.

Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Sections 5.2.1, 5.2.2, Appendix A.

A run *fits* if Rc, the share of the variance of y that it explains on the test points with |v| <= 1, is at least 0.8.
"Most runs" is more than half of all, by Wilson's interval; errors are compared by Student's interval of the logarithm
of their ratio over paired runs.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.hidden_structure.rules.runs import FIT, count, load, most, rc, share, test_error
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Outcome
from shallow.stats import Interval

FREEZES = ("stop-first", "first-last", "reinit")
KNOWN = (9, 18)  # degrees that the document's networks fit given v
STRAIGHT = (19, 20)  # degrees at which they return a straight line


def log_ratio(first: xr.DataArray, second: xr.DataArray) -> Interval:
    """Mean of log(first / second) over paired runs, Student's."""
    first, second = xr.align(first, second, join="inner")
    return stats.student(np.log(first / second).values.ravel())


def factor(ratio: Interval) -> str:
    """A log ratio as a factor with its interval."""
    return f"{Interval(*np.exp([ratio.estimate, ratio.low, ratio.high])):.2g}"


def by_mode(runs: xr.Dataset, degree: int) -> dict[str, xr.DataArray]:
    """Rc of every run at a degree, by mode."""
    return {mode: rc(runs).sel(degree=degree, mode=mode).transpose("run") for mode in FREEZES}


def modes_fit(runs: xr.Dataset, degree: int) -> dict[str, bool | None]:
    """Whether most runs fit, by mode."""
    return {mode: most(values >= FIT) for mode, values in by_mode(runs, degree).items()}


def graded(fits: dict[str, bool | None]) -> str:
    """reproduced if all hold, contradicted if all fail, partly where some do and some do not, else undecided."""
    values = list(fits.values())
    if None in values:
        return "undecided"
    return "reproduced" if all(values) else "partly" if any(values) else "contradicted"


def hs_36(runs: xr.Dataset | None = None) -> Outcome:
    """Section 5.2.1: odd degrees fit with a first layer frozen after one epoch, even ones do not; degree, mode, run."""
    poor = 0.3
    runs = load("hidden_structure/frozen") if runs is None else runs
    odd = {degree: modes_fit(runs, degree) for degree in (3, 5, 7)}
    even = [most(values <= poor) for degree in (4, 6) for values in by_mode(runs, degree).values()]
    middle = {d: {mode: float(values.median()) for mode, values in by_mode(runs, d).items()} for d in (3, 5, 7, 4, 6)}
    return Outcome(
        parts={f"degree {d}": graded(fits) for d, fits in odd.items()} | {"even": claims.all_of(*even)},
        answer={
            "reproduced": "Yes: after one epoch the output layer alone can finish every odd degree and no even one.",
            "contradicted": "No: after one epoch odd degrees are not easier to finish than even ones.",
            "otherwise": "In part: one epoch is enough at degree 3, in two modes of three at 5, never at 7, nor at "
            "even degrees.",
        },
        finding="median Rc with a first layer frozen after one epoch, stop-first, first-last, reinit: "
        + "; ".join(f"d = {d}: " + ", ".join(f"{one:.2f}" for one in modes.values()) for d, modes in middle.items()),
        evidence={
            f"share of runs that fit, d = {d}, {mode}": share(values >= FIT)
            for d in (3, 5, 7, 4, 6)
            for mode, values in by_mode(runs, d).items()
        },
    )


def bend(runs: xr.Dataset) -> xr.DataArray:
    """Root mean square distance of predictions from their best straight line over the deviation of y, |v| <= 1."""
    part = runs.sel(part="test", range="bulk")
    return part.spread * np.sqrt(np.maximum(1 - part.straight.fillna(1.0), 0))


def hs_38(runs: xr.Dataset | None = None) -> Outcome:
    """Section 5.2.2, Figure 4: v given, degrees up to 18 are fitted and 19, 20 are straight lines; degree, run."""
    half, none, line = 0.5, 0.2, 0.2
    runs = load("hidden_structure/from_v") if runs is None else runs
    values = rc(runs).transpose("degree", "run")
    learnt = {int(d): most(values.sel(degree=d) >= half) for d in range(KNOWN[0], KNOWN[1] + 1)}
    failed = [most(values.sel(degree=d) <= none) for d in STRAIGHT]
    bends = {d: stats.student(bend(runs.sel(degree=d)).values) for d in STRAIGHT}
    medians = values.median("run")
    tail = float(runs.r2.sel(part="test", range="tail", degree=KNOWN[1]).median())
    return Outcome(
        parts={
            "a": claims.all_of(*learnt.values()),
            "b": learnt[KNOWN[1]],
            "c": claims.all_of(*failed, *(claims.below(one, line) for one in bends.values())),
        },
        answer={
            "reproduced": "Yes: given the hidden coordinate, the selected networks fit degrees up to 18 and return "
            "nearly a straight line at 19 and 20.",
            "otherwise": "In part: given the hidden coordinate, not all degrees end as the document says.",
        },
        finding=f"Rc of at least 0.5 in most runs of {sum(one is True for one in learnt.values())} of the ten degrees "
        f"9 to 18, lowest median {float(medians.sel(degree=slice(*KNOWN)).min()):.2f}; at degree 18 the median is "
        f"{float(medians.sel(degree=18)):.2f} on |v| <= 1 and {tail:.2f} beyond; at 19 and 20 it is "
        + " and ".join(f"{float(medians.sel(degree=d)):.2f}" for d in STRAIGHT)
        + ", and predictions leave their straight line by "
        + " and ".join(str(bends[d]) for d in STRAIGHT)
        + " of the labels' deviation",
        evidence={f"distance from a straight line, d = {d}": one for d, one in bends.items()}
        | {"runs with Rc >= 0.5 at d = 18": count(values.sel(degree=18) >= half)},
    )


def highest(*datasets: xr.Dataset) -> tuple[int, int]:
    """Highest degree that most runs clearly fit, and the highest of which it is not clear that they do not."""
    verdicts = {int(d): most(rc(ds.sel(degree=d)) >= FIT) for ds in datasets for d in ds.degree.values}
    sure = [d for d, fits in verdicts.items() if fits]
    return max(sure, default=0), max((d for d, fits in verdicts.items() if fits is not False), default=0)


def hs_39(
    from_v: xr.Dataset | None = None,
    from_x: xr.Dataset | None = None,
    common_v: xr.Dataset | None = None,
    common_x: xr.Dataset | None = None,
) -> Outcome:
    """Sections 5.2.2 and 5.2.4: knowing v raises the highest degree; author's and one common configuration."""
    gain = 3
    names = ("from_v", "from_x", "common_from_v", "common_from_x")
    given = [
        load(f"hidden_structure/{name}") if one is None else one
        for name, one in zip(names, (from_v, from_x, common_v, common_x), strict=True)
    ]
    (v, v_most), (x, x_most), (one_v, one_v_most), (one_x, one_x_most) = map(highest, given)
    least = {"author's": v - x_most, "common": one_v - one_x_most}
    at_most = v_most - x
    holds = all(one >= gain for one in least.values())
    return Outcome(
        verdict=True if holds else False if at_most < gain else None,
        answer={
            "reproduced": "Yes: told the hidden coordinate, networks fit polynomials of about ten degrees more.",
            "contradicted": "No: told the hidden coordinate, networks fit hardly higher degrees.",
            "otherwise": "Open: the highest degree with and without the hidden coordinate is not clear enough.",
        },
        finding=f"the highest degree that most runs fit is {v} given v and {x} from x with the author's selection, "
        f"{one_v} and {one_x} with 512 / 1 / 0 for 500 epochs (five runs, degree {one_x_most} being the highest that "
        "is not excluded from x)",
        evidence={"degrees gained, author's selection, at least": least["author's"],
                  "degrees gained, one configuration, at least": least["common"]},
    )  # fmt: skip


def hs_52(
    frozen: xr.Dataset | None = None,
    regular: xr.Dataset | None = None,
    machines: xr.Dataset | None = None,
    free: xr.Dataset | None = None,
) -> Outcome:
    """Figure 6: the modes at degree 3, their machines, the Gaussian one, and the numbers of parameters; mode, run.

    Args:
        machines: tangent machines of networks with a frozen first layer, on 2,500 points.
        free: that of networks with a free first layer, and the Gaussian machine, on the same points.
    """
    good, close, degree = 0.9, np.log(1.5), 3
    frozen = load("hidden_structure/frozen") if frozen is None else frozen
    regular = load("hidden_structure/from_x") if regular is None else regular
    machines = load("hidden_structure/machines_frozen") if machines is None else machines
    free = load("hidden_structure/machines") if free is None else free
    best, modes = test_error(regular).sel(degree=degree), test_error(frozen).sel(degree=degree)
    behind = {mode: log_ratio(modes.sel(mode=mode, drop=True), best) for mode in FREEZES}
    fits = [most(values >= good) for values in by_mode(frozen, degree).values()]
    of = {name: machines.sel(degree=degree, machine=name, drop=True) for name in ("last", "network")}
    ratios = {
        mode: log_ratio(test_error(of["last"]).sel(mode=mode), test_error(of["network"]).sel(mode=mode))
        for mode in FREEZES
    }
    rival = free.cv.sel(degree=degree, machine="gaussian", drop=True)
    tangent = {mode: of["last"].cv.sel(mode=mode, drop=True) for mode in FREEZES}
    tangent["regular"] = free.cv.sel(degree=degree, machine="last", drop=True)
    ahead = {mode: cv < rival for mode, cv in tangent.items()}
    counts = {int(n) for n in np.ravel(frozen.trainable)}
    total = int(regular.trainable.sel(degree=degree).values.ravel()[0])
    few = int(frozen.trainable.sel(degree=degree).values.max())
    return Outcome(
        parts={
            "a": claims.all_of(*(one.exceeds(0) for one in behind.values()), *fits),
            "b": claims.all_of(*(claims.within(one, -close, close) for one in ratios.values())),
            "c": claims.all_of(*(most(flags) for flags in ahead.values())),
            "d": total == 102 * (few - 1) + 1 and 10 * few < 8000 and len(counts) <= 3,
        },
        answer={
            "reproduced": "Yes: all frozen modes fit degree 3, regular training is best, and tangent kernels beat the "
            "Gaussian one.",
            "otherwise": "In part: all frozen modes fit degree 3, but in one of them the Gaussian kernel is ahead, as "
            "in the document's own log.",
        },
        finding="degree 3: test MSE over that of regular training "
        + ", ".join(f"{mode} {factor(one)}" for mode, one in behind.items())
        + "; of the NTK machine over that of its network "
        + ", ".join(f"{mode} {factor(one)}" for mode, one in ratios.items())
        + "; NTK ahead of the Gaussian machine by cross-validation in "
        + ", ".join(f"{mode} {count(flags)}" for mode, flags in ahead.items())
        + f" runs; the freeze leaves {few} of {total:,} parameters",
        evidence={f"NTK ahead of the Gaussian machine, {mode}": share(flags) for mode, flags in ahead.items()},
    )


def hs_53(
    frozen: xr.Dataset | None = None,
    regular: xr.Dataset | None = None,
    machines: xr.Dataset | None = None,
    gaussian: xr.Dataset | None = None,
) -> Outcome:
    """Figure 7: the modes at degree 6, and the Gaussian machine beside them, on all points; mode, run.

    Args:
        machines: tangent machines of the frozen networks, without "reinit", which has those of "stop-first".
        gaussian: the Gaussian machine.
    """
    far, lost, rough, degree = np.log(10), 0.2, 0.4, 6
    frozen = load("hidden_structure/frozen") if frozen is None else frozen
    regular = load("hidden_structure/from_x") if regular is None else regular
    machines = load("hidden_structure/frozen_all_points") if machines is None else machines
    gaussian = load("hidden_structure/gaussian_author") if gaussian is None else gaussian
    best, modes = test_error(regular).sel(degree=degree), test_error(frozen).sel(degree=degree)
    behind = {mode: log_ratio(modes.sel(mode=mode, drop=True), best) for mode in FREEZES}
    fails = [most(values <= lost) for values in by_mode(frozen, degree).values()]
    rival = gaussian.sel(degree=degree)
    network = {mode: log_ratio(test_error(rival), modes.sel(mode=mode, drop=True)) for mode in FREEZES}
    tangent = {str(m): log_ratio(rival.cv, machines.cv.sel(mode=m, drop=True)) for m in machines["mode"].values}
    r2, spread = (rival[name].sel(part="test", range="all").values for name in ("r2", "spread"))
    explained = stats.student(r2)
    return Outcome(
        parts={
            "a": claims.all_of(*(one.exceeds(far) for one in behind.values()), *fails),
            "b": claims.all_of(*(claims.below(one, 0) for one in (*network.values(), *tangent.values()))),
            "c": claims.all_of(claims.within(explained, 0, rough), bool((spread**2 + r2 > 0).all())),
        },
        answer={
            "reproduced": "Yes: at degree 6 frozen modes learn nothing, and a Gaussian kernel is a little less bad.",
            "otherwise": "In part: at degree 6 frozen modes learn nothing; whether a Gaussian kernel is ahead depends "
            "on the comparison.",
        },
        finding="degree 6: test MSE over that of regular training "
        + ", ".join(f"{mode} {factor(one)}" for mode, one in behind.items())
        + "; of the Gaussian machine over that of the network "
        + ", ".join(f"{mode} {factor(one)}" for mode, one in network.items())
        + "; its cross-validated MSE over that of the NTK machine "
        + ", ".join(f"{mode} {factor(one)}" for mode, one in tangent.items())
        + f"; its test R2 {explained}",
        evidence={"R2 of the Gaussian machine": explained},
    )


def at_freeze(runs: xr.Dataset, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Share of aligned units when the first layer is frozen, and Rc at the end; (warmup, run) each."""
    one = runs.sel(degree=degree) if "degree" in runs.dims else runs
    aligned = one.path_aligned.sel(epoch=one.warmup).transpose("warmup", "run")
    return aligned.values, rc(one).transpose("warmup", "run").values


def hs_54(runs: xr.Dataset | None = None) -> Outcome:
    """Appendix A: the alignment at the freeze decides whether a frozen mode fits; degree, warm-up, run."""
    strong = 0.6
    runs = load("hidden_structure/warm_up") if runs is None else runs
    fits = {d: {int(w): rc(runs).sel(degree=d, warmup=w) >= FIT for w in runs.warmup.values} for d in (3, 6)}
    helps = claims.any_of(*(most(flags) for w, flags in fits[6].items() if w > 1))
    aligned, quality = (values.ravel() for values in at_freeze(runs, 6))
    rank = stats.spearman(aligned, quality, name="HS-54")
    three = runs.sel(degree=3)
    gain = log_ratio(test_error(three.sel(warmup=0, drop=True)), test_error(three.sel(warmup=1, drop=True)))
    enough = next((w for w, flags in fits[6].items() if most(flags)), None)
    return Outcome(
        parts={
            "degree 6": claims.all_of(claims.opposite(most(fits[6][1])), helps, rank.exceeds(strong)),
            "degree 3": claims.all_of(most(fits[3][1]), claims.opposite(most(fits[3][0]))),
        },
        answer={
            "reproduced": "Yes: frozen networks fit if, and only if, enough units were aligned before the freeze.",
            "contradicted": "No: whether frozen networks fit has nothing to do with alignment before the freeze.",
            "otherwise": "At degree 6 alignment decides; at degree 3 a first layer that was never trained is enough, "
            "though alignment lowers the error.",
        },
        finding="runs that fit by epochs of warm-up, degree 3: "
        + ", ".join(f"{w}: {count(flags)}" for w, flags in fits[3].items() if w < 2)
        + "; degree 6: "
        + ", ".join(f"{w}: {count(flags)}" for w, flags in fits[6].items() if w < 9)
        + f"; rank correlation at degree 6 of the final Rc with alignment at the freeze {rank}; at degree 3 the first "
        f"epoch divides the test MSE by {factor(gain)}",
        evidence={
            "rank correlation, degree 6": rank,
            "epochs of warm-up that are enough at degree 6": enough,
            "runs that fit at degree 3 with a first layer never trained": share(fits[3][0]),
        },
    )
