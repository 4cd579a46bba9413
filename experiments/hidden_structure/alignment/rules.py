r"""Rules on hidden units that turn to the hidden direction, and tangent kernels: HS-31, 32, 40, 41, 55 to 57, 59.

Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Sections 5.2.1, 5.2.3, Appendix B.

F is the share of hidden units with |cos(w, 1)| >= 0.5, the *epoch of alignment* of a run the first at which F is at a
level.  At an epoch r is the correlation, over test points, of the machine on that epoch's tangent kernel with the final
network, and Rc the share of the variance of y on |v| <= 1 that the machine explains.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.hidden_structure.alignment.kernel_paths import END
from experiments.hidden_structure.runs import NEVER, first_epoch, middle, of_all_units
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.stats import Interval

DOCUMENT = {7: 2, 11: 16}  # the epochs that the document names, by degree
AUTHOR = 10 / 256  # share of aligned units in the document's Figure 15a
FROM_X, RECORDS = "hidden_structure/from_x", "hidden_structure/alignment"


def mostly(majority: float, *flags: xr.DataArray | np.ndarray) -> bool | None:
    """Whether each of some things is so in more than a share of the runs; None if these runs leave it open."""
    return claims.all_of(*(stats.share(one).exceeds(majority) for one in flags))


# What is read from a record.


def rising(series: xr.DataArray, level: float) -> np.ndarray:
    """First epoch at which a series (run, moment) is a level above its start; (run,), NEVER where it is not."""
    values = series.transpose("run", "moment").values
    reached = values - values[:, :1] >= level
    return np.where(reached.any(axis=1), series.moment.values[reached.argmax(axis=1)], NEVER)


def epochs_of(paths: xr.Dataset) -> list[int]:
    """The epochs at which kernel machines were fitted."""
    return [int(moment) for moment in paths.moment.values if moment != END]


def correlation(paths: xr.Dataset, moments: list[int]) -> xr.DataArray:
    """r at these moments; a machine that predicts a constant has none, which counts as 0."""
    return paths.r.sel(moment=moments).fillna(0.0)


def kernel_fit(paths: xr.Dataset, moments: list[int]) -> xr.DataArray:
    """Rc of the machine at these moments."""
    return paths.ntk_r2.sel(part="test", range="bulk", moment=moments)


def network_fit(paths: xr.Dataset, moments: list[int]) -> xr.DataArray:
    """Rc of the network itself at these moments."""
    return paths.network_r2.sel(range="bulk", moment=moments)


def arrivals(paths: xr.Dataset, some: float, rise: float) -> dict[str, np.ndarray]:
    """When each run aligns, and when r and Rc of the kernel and Rc of the network have risen; epochs, (run,) each.

    Args:
        some: the level of F.   rise: above the values before training.
    """
    moments = epochs_of(paths)
    found = {"F": first_epoch(paths.path_aligned.sel(epoch=moments), some).transpose("run").values}
    series = {"r": correlation, "kernel": kernel_fit, "network": network_fit}
    return found | {name: rising(of(paths, moments), rise) for name, of in series.items()}


def together(seen: dict[str, np.ndarray], once: int) -> np.ndarray:
    """Whether alignment, r and Rc of the kernel arrive so many epochs or fewer from each other, (run,)."""
    three = np.stack([seen[name] for name in ("F", "r", "kernel")])
    return (np.ptp(three, axis=0) <= once) & (three < NEVER).all(axis=0)


def lead(paths: xr.Dataset, level: float = 0.8) -> Interval:
    """Epochs from the kernel's first Rc of 0.8 to the network's; mean over the runs that reach both."""
    moments = epochs_of(paths)
    kernel, network = (rising(of(paths, moments), level) for of in (kernel_fit, network_fit))
    known = (kernel < NEVER) & (network < NEVER)
    return stats.student((network - kernel)[known])


def ahead(paths: xr.Dataset, epoch: int) -> Interval:
    """Rc of the kernel minus that of the network at an epoch, mean over runs."""
    return stats.student((kernel_fit(paths, [epoch]) - network_fit(paths, [epoch])).values.ravel())


def largest_step(series: np.ndarray) -> np.ndarray:
    """Share of the total rise of a series (run, epoch) in its largest one-epoch step, infinite without a rise."""
    total, steps = series[:, -1] - series[:, 0], np.diff(series, axis=1).max(axis=1)
    return np.divide(steps, total, out=np.full(len(total), np.inf), where=total > 0)


def trend(series: np.ndarray) -> np.ndarray:
    """Rank correlation of a series (run, epoch) with the epoch; 0 for one that never changes."""
    clock = np.arange(series.shape[1])
    return np.nan_to_num(stats.rank_correlation(clock, series))


def near_correlation(moments: xr.Dataset, moment: int) -> np.ndarray:
    """Correlation of the machine of a moment with the final network over the test points with |v| <= 1, (run,)."""
    found = []
    for run in moments.run.values:
        one = moments.sel(run=run)
        inside = one.is_test.values.astype(bool) & (np.abs(one.v.values) <= 1)
        pair = one.prediction.sel(moment=moment).values[inside], one.final.values[inside]
        spread = min(np.std(values) for values in pair)
        found.append(float(np.corrcoef(*pair)[0, 1]) if spread > 1e-9 else 0.0)
    return np.array(found)


def apart(copies: xr.Dataset, share_apart: float = 0.01) -> xr.DataArray:
    """First epoch at which the validation loss of a changed copy differs by 1 % from that of copy 0; (degree, copy)."""
    path = copies.path_validation
    base = path.sel(copy=0, drop=True)
    return first_epoch(np.abs(path.drop_sel(copy=0) / base - 1), share_apart)


# The rules.


@decides(from_x=FROM_X, fourth=f"{RECORDS}/alignment_4")
def hs_31(from_x, fourth, *, some, soon, window, majority):
    """Section 5.2.1: units align, at odd degrees in one or two epochs, at even ones in about five to ten; degree, run.

    `fourth`: the first epochs of further runs of degree 4.
    """
    odd, even = (3, 5, 7), (4, 6)
    end = {d: from_x.sel(degree=d) for d in (3, 4, 5, 6, 7)}
    F = {d: of_all_units(one) for d, one in end.items()}
    paths = {d: one.path_aligned for d, one in end.items()} | {4: fourth.path_aligned}
    when = {d: first_epoch(path, some).values for d, path in paths.items()}
    latest = max(np.median(when[d]) for d in odd)
    inside = {d: (when[d] >= window[0]) & (when[d] <= window[1]) for d in even}
    return Found(
        {
            "a": mostly(majority, *((F[d] >= some) & (one.near > 0) for d, one in end.items())),
            "b": mostly(majority, *(when[d] <= soon for d in odd)),
            "c": mostly(majority, *inside.values(), *(when[d] > latest for d in even)),
        },
        {f"share of runs in epochs 4 to 11, d = {d}": stats.share(flags) for d, flags in inside.items()}
        | {"epoch": {d: middle(one) for d, one in when.items()}}
        | {"F at the end": {d: float(one.median()) for d, one in F.items()}}
        | {"F of units left at degree 7": float(end[7].aligned.median()), "runs with F": int((F[7] >= some).sum())}
        | {"near": {d: int((one.near > 0).sum()) for d, one in end.items()}, "runs": from_x.sizes["run"]},
    )


@decides(
    shifted=f"{RECORDS}/shifted_roots",
    bare=f"{RECORDS}/no_linear_part",
    unsigned=f"{RECORDS}/no_sign_signal",
    turned=f"{RECORDS}/directions",
)
def hs_32(shifted, bare, unsigned, turned, *, soon, later, majority):
    """Section 5.2.1: even degrees align later because they have no linear signal; run, and what is changed.

    `shifted`: degree 6 with all roots moved; `bare`: degree 5 with and without its linear part; `unsigned`: degree 5
    whose sign is uncorrelated with v; `turned`: other hidden directions, degrees 3 and 6.
    """
    moved = {f"{s:g}": first_epoch(shifted.path_aligned.sel(shift=s)).values for s in shifted["shift"].values}
    largest = f"{float(shifted['shift'].max()):g}"
    plain, straight = (first_epoch(bare.path_aligned.sel(linear=flag, drop=True)) for flag in (True, False))
    without, others = first_epoch(unsigned.path_aligned), first_epoch(turned.path_aligned)
    return Found(
        {
            "signal given": mostly(majority, moved[largest] <= soon, moved["0"] > soon),
            "signal taken": mostly(majority, without - plain >= later),
        },
        {f"aligned within two epochs, roots shifted by {largest}": stats.share(moved[largest] <= soon)}
        | {"delayed by three epochs or more without a signal in the sign": stats.share(without - plain >= later)}
        | {"the same without the linear part of the labels": stats.share(straight - plain >= later)}
        | {"roots shifted": {shift: middle(one) for shift, one in moved.items()}}
        | {"as it is": middle(plain), "no linear part": middle(straight), "no signal in the sign": middle(without)}
        | {
            str(name): [middle(others.sel(direction=name, degree=d)) for d in (3, 6)]
            for name in turned.direction.values
        },
    )


@decides(
    seven=f"{RECORDS}/kernels_7",
    eleven=f"{RECORDS}/kernels_11",
    correlated=f"{RECORDS}/kernels_7_correlated",
    whole=f"{RECORDS}/moments_7",
)
def hs_40(seven, eleven, correlated, whole, *, some, rise, once, majority):
    """Section 5.2.3, Appendix B: at degree 7 cosines and kernel jump together, at degree 11 not; run, moment.

    `seven`, `eleven`: degree 7 on independent and degree 11 on correlated inputs; `correlated`: degree 7 on correlated
    inputs, the missing corner; `whole`: degree 7, machines on all training points at some epochs.
    """
    seen = [arrivals(paths, some, rise) for paths in (seven, eleven, correlated)]
    joint, eleventh, tied = (together(one, once) for one in seen)
    on_time = np.all([np.abs(seen[0][name] - DOCUMENT[7]) <= once for name in ("F", "r", "kernel")], axis=0)
    third = {name: of(whole, [3]).values.ravel() for name, of in (("kernel", kernel_fit), ("network", network_fit))}
    return Found(
        {
            "a": mostly(majority, joint & on_time),
            "b": claims.all_of(*(claims.opposite(mostly(majority, one)) for one in (eleventh, tied))),
        },
        {"Rc of the kernel minus that of the network, degree 7, epoch 3": ahead(whole, 3)}
        | {
            "epochs by which the kernel leads, degree 7": lead(seven),
            "the same with correlated inputs": lead(correlated),
        }
        | {"epoch": {name: middle(when) for name, when in seen[0].items()}, "runs": joint.size}
        | {"together": [int(flags.sum()) for flags in (joint, eleventh, tied)]}
        | {"at epoch 3": {name: stats.student(values) for name, values in third.items()}},
    )


@decides(eleven=f"{RECORDS}/alignment_11", seven=f"{RECORDS}/alignment_7", kernels=f"{RECORDS}/kernels_11")
def hs_41(eleven, seven, kernels, *, later, window, steady, majority):
    """Section 5.2.3: at degree 11 alignment comes at about epoch 16, and three measures improve steadily; run, epoch.

    `eleven`, `seven`: the first epochs of many runs of the two degrees; `kernels`: machines after each of the first
    twenty epochs of degree 11.
    """
    late, early = (first_epoch(paths.path_aligned).values for paths in (eleven, seven))
    low, high = stats.percentiles(late)
    median = stats.bootstrap(late, np.median, name="HS-41")
    moments = list(range(21))
    series = {
        "mean |cos|": kernels.path_mean_cosine.sel(epoch=moments),
        "r": correlation(kernels, moments),
        "Rc": kernel_fit(kernels, moments),
    }
    found = {name: np.nan_to_num(one.transpose("run", ...).values) for name, one in series.items()}
    steps = {name: largest_step(one) for name, one in found.items()}
    trends = {name: stats.student(trend(one)) for name, one in found.items()}
    delayed = late - np.median(early) >= later
    until = f"{high:.0f}" if high < NEVER else f"{eleven.epoch.values[-1]} or later"
    return Found(
        {
            "a": claims.all_of(mostly(majority, delayed), claims.within(median, *window)),
            "b": claims.all_of(
                mostly(majority, steps["mean |cos|"] <= steady), *(one.exceeds(0) for one in trends.values())
            ),
            "c": mostly(majority, steps["r"] <= steady, steps["Rc"] <= steady),
        },
        {
            "central 95 % of the runs": f"epochs {low:.0f} to {until}",
            "later than degree 7 by five epochs": stats.share(delayed),
            "median": median,
            "epoch": {11: middle(late), 7: middle(early)},
            "trend": list(trends.values()),
            "step": [float(np.median(one)) for one in steps.values()],
        },
    )


@decides(from_x=FROM_X)
def hs_55(from_x, *, large):
    """Figure 8: at degree 3 a large number of units is close to the direction after one epoch; run."""
    half, near = (from_x[name].sel(degree=3) for name in ("path_aligned", "path_near"))
    turned, close = (stats.student(one.sel(epoch=1).values) for one in (half, near))
    return Found(
        {
            "turned": claims.all_of(turned.exceeds(large), bool((half.sel(epoch=0) == 0).all())),
            "close to 1": close.exceeds(large),
        },
        {"above 0.5": f"{turned:.3f}", "above 0.9": f"{close:.3f}"}
        | {"above 0.9 after five": stats.student(near.sel(epoch=5).values)},
    )


@decides(from_x=FROM_X)
def hs_56(from_x, *, hardly, later, majority):
    """Figure 9: at degree 6 hardly any alignment after one epoch, more later; run."""
    six = from_x.sel(degree=6)
    first, fifth = (six.path_aligned.sel(epoch=epoch) for epoch in (1, 5))
    few, some = first <= hardly, six.aligned >= later
    return Found(
        mostly(majority, few, some),
        {"at most 0.005 after one epoch": f"{int(few.sum())} of {few.size}"}
        | {"at least 0.02 at the end": f"{int(some.sum())} of {some.size}"}
        | {"F": [stats.student(one.values) for one in (first, fifth, six.aligned)]},
    )


@decides(moments=f"{RECORDS}/moments_7", paths=f"{RECORDS}/alignment_7")
def hs_57(moments, paths, *, small, weak, poor, large, rise, near, follows, fits, majority):
    """Figures 10 to 12: degree 7 before training, after two epochs and at the end; run, moment.

    `moments`: tangent machines on all points; `paths`: the first epochs of many runs.
    """
    seen = [0, 2, 3, END]
    r, fit = correlation(moments, seen), kernel_fit(moments, seen)
    before = (moments.largest_cosine.sel(moment=0) <= small) & (r.sel(moment=0) <= weak) & (fit.sel(moment=0) <= poor)
    F = stats.student(paths.path_aligned.sel(epoch=DOCUMENT[7]).values)
    second, third = (((r - r.sel(moment=0) >= rise) & (fit - fit.sel(moment=0) >= rise)).sel(moment=m) for m in (2, 3))
    end = (moments.near.sel(moment=END) >= near) & (r.sel(moment=END) >= follows) & (fit.sel(moment=END) >= fits)
    return Found(
        {
            "a": mostly(majority, before),
            "b": F.exceeds(large),
            "c": mostly(majority, second),
            "d": mostly(majority, end),
        },
        {"risen after two epochs": stats.share(second), "after three": stats.share(third), "end": stats.share(end)}
        | {"F": F, "r": r.median("run").values, "Rc": fit.median("run").values}
        | {"runs risen": [int(one.sum()) for one in (second, third)], "runs at the end": int(end.sum())}
        | {"runs": end.size},
    )


@decides(moments=f"{RECORDS}/moments_11", paths=f"{RECORDS}/alignment_11")
def hs_59(moments, paths, *, small, poor, window, none, even, unmarked, marked, some, fits, follows, majority):
    """Figures 14 to 16: degree 11 with correlation before training, at epoch 16 and at the end; run, moment.

    `moments`: tangent machines on all points; `paths`: the first epochs of many runs.
    """
    r, fit = correlation(moments, [14, 18]), kernel_fit(moments, [0, 14, 18])
    before = (moments.largest_cosine.sel(moment=0) <= small) & (fit.sel(moment=0) <= poor)
    cosine = paths.path_mean_cosine.sel(epoch=slice(0, DOCUMENT[11])).transpose("run", "epoch").values
    early, late = (paths.path_aligned.sel(epoch=epoch).values for epoch in (6, DOCUMENT[11]))
    slow = (early <= none) & ((np.diff(cosine, axis=1) > 0).mean(axis=1) >= even)
    passed = slow & (late >= window[0]) & (late <= window[1])
    changes = {
        name: stats.student((one.sel(moment=18) - one.sel(moment=14)).values) for name, one in (("r", r), ("Rc", fit))
    }
    unchanged = claims.all_of(*(claims.below(one, unmarked) for one in changes.values()))
    moved = claims.any_of(*(one.exceeds(marked) for one in changes.values()))
    near = near_correlation(moments, END)
    end = (moments.aligned.sel(moment=END) >= some) & (moments.final_r2.sel(range="bulk") >= fits)
    end = end.transpose("run").values & (near >= follows)
    return Found(
        {
            "a": mostly(majority, before),
            "b": mostly(majority, passed),
            "c": True if unchanged else False if moved else None,
            "d": mostly(majority, end),
        },
        {"some units beyond one half at epoch 16": stats.share(passed)}
        | {f"change of {name}, epoch 14 to 18": one for name, one in changes.items()}
        | {"end": stats.share(end), "Rc before": float(fit.sel(moment=0).median()), "document": AUTHOR}
        | {"F": [np.median(late), *stats.percentiles(late)], "r at the end": np.median(near)}
        | {"slow": int(slow.sum()), "passed": int(passed.sum()), "many": slow.size}
        | {"as at the end": int(end.sum()), "runs": end.size},
    )


# Who leads.


def leaders(parts: xr.Dataset) -> tuple[list[str], list[list[object]]]:
    """Rc of every learner at every epoch, medians and ranges over runs: header and rows."""
    inside, rows = parts.r2.sel(range="bulk"), []
    for epoch in parts.epoch.values:
        values = [inside.sel(epoch=epoch, learner=name).values for name in LEARNERS]
        rows.append([int(epoch), *(f"{np.median(one):.2f} ({one.min():.2f} to {one.max():.2f})" for one in values)])
    return ["epoch", *LEARNERS.values()], rows


#: What the table calls the learners of the record who_leads.
LEARNERS = {
    "network": "network",
    "output": "output layer, 2,000 points",
    "output, all": "output layer, 8,000",
    "first": "first layer's part, 2,000",
    "full": "full kernel, 2,000",
    "dealt": "signs dealt, 2,000",
}
