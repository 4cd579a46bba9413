"""Rules on the width that is left (Boursier and Flammarion, Sections 3 and 4.1): SB-14, SB-15, SB-25.

Intervals over draws are Student's, of factors on their logarithms; exponents have percentile bootstraps over draws.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np
import xarray as xr

from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.stats import Interval

AT_TAU = 0.5  # the exponent of the end of early alignment
CLOSING = -0.3  # of the largest angle against the width
PERSISTENT = float(np.log(0.9) / np.log(4))  # ten per cent over two doublings
FIRST = 4096  # neurons, from which on a trend is taken
STARTS = {"gaussian": "Gaussian", "equation 8": "start (8)"}
NAMES = {"relu": "ReLU", "gelu": "GeLU"}


def load(name: str) -> xr.Dataset:
    """A record of the chapter."""
    return records.load(f"simplicity_bias/{name}")


@functools.cache
def early_counts() -> xr.DataArray:
    """Clusters at the end of early alignment, over d, ratio and seed; NaN where a draw was not made."""
    first = load("early_clusters").number.sel(exponent=AT_TAU, drop=True)
    more = load("early_clusters_draws").number.sel(exponent=AT_TAU, drop=True).expand_dims(d=[20])
    return first.combine_first(more)


def factor(more: np.ndarray, fewer: np.ndarray) -> Interval:
    """Geometric mean of paired ratios."""
    logs = stats.student(np.log(more / fewer))
    return Interval(*np.exp([logs.estimate, logs.low, logs.high]).tolist())


def sb_14(counts: xr.DataArray | None = None) -> Outcome:
    """Section 3: many clusters when data are few; n = d beside n = 100 d, orthogonal and Gaussian inputs."""
    many, dimensions = 3, (20, 50)
    counts = early_counts() if counts is None else counts
    factors = {}
    for ratio, name in (("orthogonal", "orthogonal"), ("1", "Gaussian")):
        for d in dimensions:
            pair = counts.sel(d=d, ratio=[ratio, "100"]).dropna("seed").transpose("ratio", "seed").values
            factors[f"{name}, d = {d}"] = factor(*pair)
    medians = {
        name: ", ".join(f"{float(counts.sel(d=d, ratio=ratio).median()):g}" for d in counts.d.values)
        for ratio, name in (("orthogonal", "orthogonal"), ("1", "Gaussian"), ("2", "n = 2d"), ("100", "n = 100d"))
    }
    return Outcome(
        parts={k: True if f.above(many) else False if f.below(1) else None for k, f in factors.items()},
        answer={
            "reproduced": "Yes: with as many points as dimensions many more clusters are left than with a hundred "
            "times as many.",
            "contradicted": "No: few points leave no more clusters than many.",
            "otherwise": "Yes for orthogonal inputs, by hundreds; Gaussian inputs leave about five clusters in twenty "
            "dimensions, dozens in fifty.",
        },
        finding="clusters at n = d over those at n = 100d: "
        + "; ".join(f"{f:.3g} ({name})" for name, f in factors.items())
        + f"; medians at d = {', '.join(map(str, counts.d.values))}: "
        + "; ".join(f"{text} ({name})" for name, text in medians.items()),
        evidence={f"factor, {name}": f for name, f in factors.items()},
    )


@functools.cache
def final_runs() -> xr.Dataset:
    """Runs to convergence, over kappa, d and seed; NaN where there is none."""
    return xr.merge([load("final_clusters"), load("final_clusters_large")], join="outer", compat="no_conflicts")


def exponent(ended: xr.Dataset, kappa: int, variable: str = "number") -> Interval:
    """Slope of the mean logarithm against log d, bootstrap over the draws of each dimension."""
    values = ended[variable].sel(kappa=kappa).dropna("d").transpose("seed", "d")
    d, logs = np.log(values.d.values), np.log(values.values)
    weights = (d - d.mean()) / np.sum((d - d.mean()) ** 2)  # of least squares
    rng = stats.stream("exponent of clusters", variable, kappa)
    rows = rng.integers(0, len(logs), (stats.RESAMPLES, *logs.shape))
    drawn = np.take_along_axis(logs[None], rows, axis=1).mean(axis=1)
    return Interval.from_draws(logs.mean(axis=0) @ weights, drawn @ weights)


def sb_15(ended: xr.Dataset | None = None) -> Outcome:
    """Section 3, a conjecture: clusters at convergence of the order of n for n = d and 2d."""
    low, high, none = 0.7, 1.3, 0.3
    ended = final_runs() if ended is None else ended
    found = {int(kappa): exponent(ended, kappa) for kappa in (1, 2)}
    width = {int(kappa): exponent(ended, kappa, "effective_width") for kappa in (1, 2)}
    holds = claims.all_of(*(claims.all_of(e.exceeds(low), claims.below(e, high)) for e in found.values()))
    refused = any(e.below(none) for e in found.values())
    over = ended.number / (ended.kappa * ended.d)
    per_point = {k: ", ".join(f"{float(v):.2f}" for v in over.sel(kappa=k).median("seed").dropna("d")) for k in found}
    loss = ended.loss.sel(kappa=[1, 2])
    of = int(loss.notnull().sum())
    done = stats.wilson(int((loss < 1e-8).sum()), of)
    if refused:
        answer = "Not supported: the number of clusters hardly grows with the sample."
    elif holds:
        answer = "Supported: the number of clusters at the end grows in proportion to the sample."
    else:
        answer = (
            "Consistent with it, not more: clusters grow about in proportion to the sample with wide scatter, their "
            "effective number more slowly."
        )
    return Outcome(
        verdict="answered",
        answer=answer,
        finding="exponent of the number of clusters in d: "
        + ", ".join(f"{e} (n = {'' if k == 1 else k}d)" for k, e in found.items())
        + ", of the participation ratio "
        + ", ".join(map(str, width.values()))
        + f"; median clusters over n at d = {', '.join(map(str, ended.d.values))}: "
        + "; ".join(f"{text} (n = {'' if k == 1 else k}d)" for k, text in per_point.items())
        + f"; {done.estimate:.0%} of {of} runs interpolate",
        evidence={f"exponent of the clusters, n = {'' if k == 1 else k}d": e for k, e in found.items()}
        | {"runs that interpolate": done},
    )


@functools.cache
def gaps() -> xr.DataArray:
    """Largest angles without a neuron over activation, initialisation, n, m, seed, time; NaN where there is no run."""
    names = ("gaps", "gaps_wide", "gaps_draws")
    parts = [load(name).gap for name in names]
    return functools.reduce(lambda a, b: a.combine_first(b), parts)


def slopes(found: xr.DataArray, activation: str, initialisation: str, time: float, n: int = 20) -> np.ndarray:
    """Of every draw, the slope of the logarithm of the gap against that of the width from :data:`FIRST` on."""
    chosen = found.sel(activation=activation, initialisation=initialisation, time=time, n=n)
    chosen = chosen.sel(m=chosen.m >= FIRST).dropna("seed", how="any").transpose("m", "seed")
    return np.polyfit(np.log(chosen.m.values), np.log(chosen.values), 1)[0]


def kind(trend: Interval) -> str:
    """What an interval of slopes says of a gap."""
    if trend.below(CLOSING):
        return "closing"
    if trend.above(PERSISTENT):
        return "persistent"
    return "between" if trend.inside(CLOSING, PERSISTENT) else "undecided"


def keeps(trends: Mapping[float, Interval]) -> bool | None:
    """Whether gaps close at all times."""
    return claims.all_of(*(claims.below(trend, CLOSING) for trend in trends.values()))


def loses(trends: Mapping[float, Interval]) -> bool | None:
    """Whether the gap persists at some time."""
    return claims.any_of(*(trend.exceeds(PERSISTENT) for trend in trends.values()))


@functools.cache
def all_trends() -> dict[tuple[str, str, float], Interval]:
    """Mean slopes by activation, start and time, twenty points."""
    return trends_of(gaps())


def trends_of(found: xr.DataArray) -> dict[tuple[str, str, float], Interval]:
    """Mean slope over the draws, by activation, start and time."""
    return {
        (activation, start, time): stats.student(slopes(found, activation, start, time))
        for start in found.initialisation.values for activation in found.activation.values for time in (5.0, 20.0)
    }  # fmt: skip


def sb_25(found: xr.DataArray | None = None) -> Outcome:
    """Section 4.1: ReLU loses directions, smooth activations do not; largest gaps against the width, two inputs."""
    found = gaps() if found is None else found
    trends = trends_of(found)
    parts, shown = {}, []
    for start, name in STARTS.items():
        by = {a: {t: trends[a, start, t] for t in (5.0, 20.0)} for a in NAMES}
        parts[f"{name}: GeLU keeps"], parts[f"{name}: ReLU loses"] = keeps(by["gelu"]), loses(by["relu"])
        shown += [f"{name}, {NAMES[a]} " + " and ".join(map(str, by[a].values())) for a in by]
    late = stats.student(slopes(found, "relu", "gaussian", 20.0) - slopes(found, "gelu", "gaussian", 20.0))
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: wider smooth networks fill all directions, ReLU networks keep a gap.",
            "contradicted": "No: smooth networks keep a gap, and ReLU networks fill all directions.",
            "otherwise": "In part: from Gaussian weights GeLU's gaps close with width and ReLU's more slowly; from the "
            "theorem's own start both networks lose directions.",
        },
        finding="slope of the largest gap in the width from 4096 neurons on at times 5 and 20: "
        + "; ".join(shown)
        + f"; from Gaussian weights at the later time ReLU's exceeds GeLU's by {late}",
        evidence={f"{NAMES[a]}, {STARTS[s]}, time {t:g}": e for (a, s, t), e in trends.items() if s in STARTS}
        | {"ReLU minus GeLU, Gaussian, time 20": late},
    )
