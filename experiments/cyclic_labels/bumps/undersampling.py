"""Training sets with poor clusters: bumps, spikes and final errors (Bowman 2025, Sections 3 and 6)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.stats import chisquare, poisson

from experiments.cyclic_labels import loss_curves
from experiments.cyclic_labels.bumps import cells as bumps
from shallow import checks, stats
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import cyclic

POOR = ("poor(5,3)", "poor(5,1)", "poor(2,1)", "two_rightmost")
DESIGNS = ("iid", "strat", "equi", *POOR)
#: Options of the runs that differ from the reference in one factor, and the points in the poor cluster.
ABLATIONS: dict[str, dict] = {
    "reference": {},
    "inner cluster": {"cluster": 2},
    "step 0.0003": {"step": 0.0003},
    "step 0.0003, longer": {"step": 0.0003, "epochs": 66_700},
    "step 0.003": {"step": 0.003},
    "step 0.01": {"step": 0.01},
    "width 128": {"width": 128},
    "width 2048": {"width": 2048},
    "normal": {"initial": "normal"},
    "antisymmetric": {"antisymmetric": True},
    "AGOP 0.001": {"agop": 0.001},
    "decay 0.001": {"decay": 0.001},
    "n = 20": {"n": 20},
    "n = 100": {"n": 100},
}
POINTS = (0, 1, 2, 3, 5, 8)


def poor_clusters(design: str, n: int = 50, periods: int = 3) -> np.ndarray:
    """The clusters that a design leaves with fewer than half of n / (2 periods) points; none for iid and equi."""
    if design in ("iid", "equi"):
        return np.empty(0, dtype=int)
    counts = np.bincount(cyclic.design_clusters(design, n, periods), minlength=2 * periods)
    return np.flatnonzero(counts < n / (4 * periods))


def smallest_count_law(n: int, clusters: int) -> np.ndarray:
    r"""Law of the smallest of `clusters` multinomial counts of n points: probabilities of 0, 1, ..., n // clusters.

    $P(\min \ge k)$ by Poissonisation: the probability that independent Poisson counts, each at least k, sum to n, over
    the probability that unrestricted ones do.  Cost: O(n^2) for each k.
    """
    checks.integers(1, n=n, clusters=clusters)
    counts = np.arange(n + 1)
    single = poisson.pmf(counts, n / clusters)
    tails = []
    for k in range(n // clusters + 1):
        at_least, total = np.where(counts >= k, single, 0.0), np.ones(1)
        for _ in range(clusters):
            total = np.convolve(total, at_least)[: n + 1]
        tails.append(total[n])
    return -np.diff([*tails, 0.0]) / poisson.pmf(n, n)


def counts(n: int, periods: int, *, draws: int) -> np.ndarray:
    """Points in each cluster of iid data sets with seeds 0, 1, ..., shape (draws, 2 periods)."""
    samples = (cyclic.sample(n, periods=periods, base=3, seed=seed).x for seed in range(draws))
    return np.stack([np.bincount(cyclic.clusters(x, periods), minlength=2 * periods) for x in samples])


def merged(observed: np.ndarray, expected: np.ndarray, least: float = 5.0) -> tuple[np.ndarray, np.ndarray]:
    """Neighbouring classes joined until each expected number is at least `least`, as a chi-square test needs."""
    edges, total = [0], 0.0
    for index, value in enumerate(expected[:-1]):
        total += value
        if total >= least and expected[index + 1 :].sum() >= least:
            edges.append(index + 1)
            total = 0.0
    return np.add.reduceat(observed, edges), np.add.reduceat(expected, edges)


def in_poor(found: xr.Dataset, design: str) -> np.ndarray:
    """Whether each diverging bump of a design is attributed to one of its poor clusters, shape (bumps,)."""
    return np.isin(found.cluster.values[found.diverging.values], poor_clusters(design))


#: Other numbers in the definition of a bump, to see what hangs on them.
DEFINITIONS: dict[str, dict] = {
    "threshold 0.02": {"rise": 0.02},
    "threshold 0.1": {"rise": 0.1},
    "threshold 0.2": {"rise": 0.2},
    "median of 5": {"window": 5},
    "median of 21": {"window": 21},
}


@releases_gil
def designed(seed: int, *, design: str, step: float) -> xr.Dataset:
    """One run of n = 50 points at width 512: its :func:`bumps.outcomes`, and its bump by several definitions.

    right says whether the last output has the sign of the label at the centre of each cluster, calm whether a diverging
    bump is left when jumps are removed (:func:`bumps.calm`), diverging_by whether it is one under :data:`DEFINITIONS`
    and when the training loss is not smoothed.
    """
    trained = loss_curves.run(seed, design=design, step=step, keep=("predictions",)).expand_dims(seed=[seed])
    found = bumps.outcomes(trained)
    labels = cyclic.labels((np.arange(6) + 0.5) / 6 - 0.5)
    right = np.sign(at_centres(trained.predictions.isel(epoch=-1).values)) == labels
    others = {name: bumps.slow(trained, **numbers).diverging for name, numbers in DEFINITIONS.items()}
    raw = trained.train_loss.isel(seed=0).sel(epoch=[found.peak.item(), found.low.item()]).values
    others["training loss as recorded"] = found.bump & (raw[0] <= raw[1])
    return found.assign(
        count=trained["count"].rename(cluster="place"),
        right=(("seed", "place"), right),
        calm=bumps.slow(bumps.calm(trained)).diverging,
        diverging_by=xr.concat(others.values(), xr.Variable("definition", list(others))),
    ).isel(seed=0, drop=True)


@releases_gil
def spiky(seed: int, *, design: str, step: float) -> xr.Dataset:
    """Spikes of the test loss of one run at records every 20 epochs, and whether the training loss jumps too.

    train_rise is how far the mean training loss at the peak is above its running minimum; joint is the share of all
    records with a spike at which it is as far above as the test loss must be; NaN without a spike.
    """
    trained = loss_curves.run(seed, design=design, step=step, every=20).expand_dims(seed=[seed])
    found = bumps.spikes(trained).isel(seed=0, drop=True)
    late = trained.isel(seed=0).sel(epoch=slice(bumps.START, None))
    n = int(trained["count"].sum())
    test, train = (
        values - np.minimum.accumulate(values) for values in (late.test_loss.values, late.train_loss.values / n)
    )
    high = test > bumps.SPIKE
    joint = (train[high] > bumps.SPIKE).mean() if high.any() else np.nan
    numbers = {"spike": found.spike, "rise": found.rise, "peak": found.peak, "train_rise": found.train_jump / n}
    return xr.Dataset({k: ((), float(v)) for k, v in (numbers | {"joint": joint}).items()})


def at_centres(f: np.ndarray, periods: int = 3) -> np.ndarray:
    """Functions on the grid (..., 1000) at the centres of the clusters, by linear interpolation: (..., 2 periods)."""
    centres = (np.arange(2 * periods) + 0.5) / (2 * periods) - 0.5
    return np.apply_along_axis(lambda values: np.interp(centres, loss_curves.GRID, values), -1, f)


def count_test(n: int, periods: int, *, draws: int = 1000) -> dict[str, float | bool]:
    """Do the cluster counts of iid data sets follow the multinomial law?

    Returns `means`: whether all lie within 4 standard errors of n / (2 periods); `p`: chi-square p-value of the
    smallest counts against :func:`smallest_count_law`, classes with fewer than 5 expected sets joined.
    """
    found, clusters = counts(n, periods, draws=draws), 2 * periods
    error = np.sqrt(n / clusters * (1 - 1 / clusters) / draws)
    law = draws * smallest_count_law(n, clusters)
    observed, expected = merged(np.bincount(found.min(axis=1), minlength=len(law)), law)
    return {
        "means": bool((np.abs(found.mean(axis=0) - n / clusters) < 4 * error).all()),
        "p": float(chisquare(observed, expected).pvalue) if len(observed) > 1 else 1.0,
    }


# Dose and response: points in one cluster, one factor changed at a time (the first question of Section 6).


@releases_gil
def ablation(variant: str, seed: int, points: int | None = None) -> xr.Dataset:
    """Outcome of a run with `points` points in one cluster (None: stratified), one factor changed from the reference.

    The reference is cluster 5, step 0.001, width 512, default initialisation, no penalty, n = 50.
    """
    options = dict(ABLATIONS[variant])
    cluster = options.pop("cluster", 5)
    design = "strat" if points is None else f"poor({cluster},{points})"
    return result(seed, design=design, **options)


@releases_gil
def result(seed: int, **options) -> xr.Dataset:
    """:func:`bumps.as_scalars` of :func:`loss_curves.run` with its options."""
    return bumps.as_scalars(loss_curves.run(seed, **options))


@releases_gil
def iid(n: int, seed: int) -> xr.Dataset:
    """Outcome of a run on independent data, step 0.001, width 512, with `smallest`: the smallest cluster count."""
    trained = loss_curves.run(seed, n=n)
    return bumps.as_scalars(trained).assign(smallest=((), trained["count"].values.min()))


def dose_trend(values: np.ndarray, points: np.ndarray, *, name: str) -> stats.Interval:
    """Rank correlation of values (points, seeds) with the numbers of points, bootstrap over seeds.

    All entries NaN where the values are all equal: then there is nothing to correlate.
    """
    values = np.asarray(values, dtype=float)
    rows = stats.stream("dose", name).integers(0, values.shape[1], (stats.RESAMPLES, values.shape[1]))
    doses = np.repeat(points, values.shape[1])
    draws = stats.rank_correlation(values[:, rows].swapaxes(0, 1).reshape(len(rows), -1), doses)
    return _interval(stats.rank_correlation(values.ravel(), doses), draws, doses.size)


def correlation(a: np.ndarray, b: np.ndarray, *, name: str) -> stats.Interval:
    """Rank correlation of two vectors, bootstrap over the pairs."""
    rows = stats.stream("pairs", name).integers(0, len(a), (stats.RESAMPLES, len(a)))
    draws = stats.rank_correlation(np.asarray(a)[rows], np.asarray(b)[rows])
    return _interval(stats.rank_correlation(a, b), draws, len(a))


def given_size(smallest: np.ndarray, rise: np.ndarray, n: np.ndarray, *, name: str) -> stats.Interval:
    """Partial rank correlation of smallest count and bump size given n, bootstrap over runs; all arrays (runs,)."""
    rows = stats.stream("partial", name).integers(0, len(n), (stats.RESAMPLES, len(n)))
    everything = np.arange(len(n))[None]
    draws, estimate = (_partial(smallest[r], rise[r], n[r]) for r in (rows, everything))
    return _interval(float(estimate[0]), draws, len(n))


def _partial(a: np.ndarray, b: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Partial rank correlations of the rows of a and b (draws, runs) given those of a third."""
    ab, ac, bc = (stats.rank_correlation(*pair) for pair in ((a, b), (a, given), (b, given)))
    return (ab - ac * bc) / np.sqrt((1 - ac**2) * (1 - bc**2))


def _interval(estimate: float, draws: np.ndarray, pairs: int) -> stats.Interval:
    if np.isnan(estimate):
        return stats.Interval(np.nan, np.nan, np.nan)
    return stats.Interval.of_correlation(estimate, draws[np.isfinite(draws)], pairs)


SEEDS = list(range(50))
RECORDS: dict[str, Recipe] = {
    "ablations": Recipe(
        ablation,
        {"variant": list(ABLATIONS), "points": list(POINTS), "seed": SEEDS},
        about="Dose and response: points in one cluster, one factor changed at a time",
    ),
    "ablations_stratified": Recipe(
        ablation,
        {"variant": list(ABLATIONS), "seed": SEEDS},
        {"points": None},
        "The same factors without a poor cluster",
    ),
    "independent_outcomes": Recipe(
        iid, {"n": [20, 50, 100], "seed": SEEDS}, {}, "Bumps and smallest counts in independent data"
    ),
    "fixed_features": Recipe(
        result,
        {"design": ["poor(5,1)", "strat"], "seed": SEEDS},
        {"train": "output", "epochs": 200_000},
        "Output weights alone, ten times the epochs",
    ),
    "spikes": Recipe(
        spiky,
        {"design": ["strat", "equi", "iid"], "step": [0.0003, 0.001, 0.003, 0.01], "seed": SEEDS},
        about="Spikes of the test loss at four steps, records every 20 epochs",
    ),
    "designs": Recipe(
        designed,
        {"design": list(DESIGNS), "step": [0.001, 0.01], "seed": SEEDS},
        about="Bumps and ends of the runs of seven designs at two steps",
    ),
    "designs_other_seeds": Recipe(
        designed,
        {"design": ["poor(5,1)", "strat"], "seed": list(range(100, 150))},
        {"step": 0.001},
        "The same for two designs with other seeds",
    ),
}
