r"""Sum or mean: what dividing the hinge loss by the sample size changes (Bowman 2025, Sections 1.1 and 4).

Full-batch descent on the mean with step $\eta$ is descent on the sum with step $\eta/n$, so every question about the
reduction is one about the step, and is asked here in the sum form.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.cyclic_labels.loss_curves import EPOCHS, GRID
from experiments.cyclic_labels.variance import ensembles, heatmaps
from experiments.cyclic_labels.variance.heatmaps import SIZES
from shallow import checks, nets, stats
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import cyclic
from shallow.train import univariate

STEP = 0.01
#: Step in sum form at sample size n: the sum, the mean at the same nominal step, the mean with the step times 50.
FORMS = {"sum": lambda n: STEP, "mean": lambda n: STEP / n, "mean, 50 x step": lambda n: 50 * STEP / n}
AFTER = 1000  # instability is judged on the records after this epoch
NEAR = 1 / 4  # of a cluster width: what counts as near a label boundary
#: Options of the step in the three ensembles whose variance is compared.
STEPS = {"sum": {"step": STEP}, "0.5/n": {"step_times_n": 0.5}, "0.1/n": {"step_times_n": 0.1}}


@releases_gil
def reduced(
    n: int, seed: int, form: str, *, width: int = 512, base: int = 0, epochs: int = EPOCHS, every: int = 100
) -> xr.Dataset:
    """One network trained under a form of the reduction, reduced to scalars; NaN after divergence.

    error is the misclassified share of the grid at the end, alive the share of the neurons active on a training point
    at the start that still are at the end; zero_epoch is NaN for never, diverged_epoch NaN for finite.
    """
    checks.one_of(FORMS, form=form)
    found = dict.fromkeys(("error", "instability", "alive", "zero_epoch", "diverged_epoch"), np.nan)
    sample = cyclic.sample(n, base=base, seed=seed)
    network = nets.default(sample.rng, width)
    try:
        run = univariate.train(sample.x, sample.y, network, step=FORMS[form](n), epochs=epochs, records=every)
    except univariate.Diverged as failure:
        found["diverged_epoch"] = failure.epoch
    else:
        final = univariate.evaluate(run.network, GRID)[0]
        found["error"] = np.mean(np.sign(final) != cyclic.labels(GRID))
        found["instability"] = instability(run.epochs, run.loss, n)
        found["alive"] = _alive(run.network, sample.x) / _alive(network, sample.x)
        found["zero_epoch"] = np.nan if run.zero_epoch is None else run.zero_epoch
    return xr.Dataset({key: ((), value) for key, value in found.items()})


def _alive(network: nets.TwoLayer, x: np.ndarray) -> int:
    """Number of neurons active on some point of the ascending x: the two ends decide, since w x + b is monotone."""
    return int((x[[0, -1]] * network.W + network.b[:, None] > 0).any(axis=1).sum())


@releases_gil
def survivors(n: int, seed: int, form: str, *, width: int = 512, base: int = 0, epochs: int = 100) -> xr.Dataset:
    """Share of the neurons active on a training point at the start that still are, at every epoch: alive (epoch)."""
    sample = cyclic.sample(n, base=base, seed=seed)
    network = nets.default(sample.rng, width)
    options = dict(step=FORMS[form](n), epochs=epochs, records=1, keep_parameters=True)
    run = univariate.train(sample.x, sample.y, network, **options)
    alive = [_alive(nets.TwoLayer(*parameters), sample.x) for parameters in run.parameters]
    return xr.Dataset({"alive": ("epoch", np.array(alive) / alive[0])}, {"epoch": run.epochs})


def instability(epochs: np.ndarray, loss: np.ndarray, n: int) -> float:
    """Share of the records after epoch 1000 and before zero loss at which the loss exceeds twice its running minimum
    plus 0.02 n; 0 if there is no such record.  epochs, loss: (R,), summed hinge."""
    epochs, loss = np.asarray(epochs), np.asarray(loss)
    excess = loss > 2 * np.minimum.accumulate(loss) + 0.02 * n
    judged = (epochs > AFTER) & (loss > 0)
    return float(excess[judged].mean()) if judged.any() else 0.0


@releases_gil
def active_terms(
    n: int, step: float, seed: int, *, width: int = 512, base: int = 7, epochs: int = EPOCHS
) -> xr.Dataset:
    """Active hinge terms of one run at T/10, T/2 and T; how many of them, and of all points, are near a boundary."""
    sample = cyclic.sample(n, base=base, seed=seed)
    records = np.array([epochs // 10, epochs // 2, epochs])
    run = univariate.train(
        sample.x, sample.y, nets.default(sample.rng, width), step=step, epochs=epochs, records=records
    )
    edges = cyclic.boundaries()
    near = np.abs(sample.x[:, None] - edges).min(axis=1) < NEAR * (edges[1] - edges[0])
    active = 1 - sample.y * run.outputs > 0
    data = {"active": ("epoch", active.sum(axis=1)), "active_near": ("epoch", (active & near).sum(axis=1))}
    return xr.Dataset(data | {"points_near": ((), near.sum())}, {"epoch": records})


def excess_near(
    active: np.ndarray, near: np.ndarray, points: np.ndarray, n: np.ndarray, *, name: str
) -> stats.Interval:
    """Share of the active terms that lie near a boundary minus that share of all points; all arrays (runs,).

    Runs without an active term are left out; the bootstrap resamples runs, not points.
    """
    runs = np.stack([active, near, points, n], axis=1)[active > 0]

    def share(values: np.ndarray, axis: int) -> np.ndarray:
        a, near, points, n = values.sum(axis=axis)
        return near / a - points / n

    return stats.bootstrap(runs, share, name=name)


def trend_of_runs(values: xr.DataArray, *, name: str, resamples: int = 500) -> stats.Interval:
    """Rank correlation of values (n, seed) with n over all runs; the bootstrap draws runs at every n."""
    runs = values.transpose("n", "seed").values
    n = np.repeat(values.n.values, runs.shape[1])
    drawn = stats.stream("runs", name).integers(0, runs.shape[1], (resamples, *runs.shape))
    draws = stats.rank_correlation(np.take_along_axis(runs[None], drawn, axis=2).reshape(resamples, -1), n)
    return stats.Interval.of_correlation(stats.rank_correlation(runs.ravel(), n), draws, n.size)


@releases_gil
def equal_budget(n: int, base: int, form: str, **options) -> xr.Dataset:
    """The ensemble with as many epochs as make step x n x epochs equal to that of the sum at n = 50, 20,000 epochs."""
    step = {"sum": STEP, "0.5/n": 0.5 / n, "0.1/n": 0.1 / n}[form]
    epochs = round(STEP * 50 * EPOCHS / (step * n))
    full = ensembles.ensemble(n, base=base, step=step, epochs=epochs, every=epochs, **options).isel(epoch=-1)
    packed = heatmaps.pack(full.gram.values)
    return xr.Dataset({"gram": ("pair", packed), "train_loss": full.train_loss.drop_vars("epoch")})


RECORDS: dict[str, Recipe] = {
    "equal_budget": Recipe(
        equal_budget,
        {"form": list(STEPS), "base": [0, 1], "n": list(SIZES)},
        {"models": 40},
        "Variance at equal step x n x epochs for three steps",
        replicates="base",
    ),
    "normalised_steps": Recipe(
        heatmaps.heatmap,
        {"step_times_n": [0.5, 0.1], "base": [0, 1], "n": list(SIZES)},
        {"width": 512, "models": 40, "epochs": EPOCHS, "every": 500},
        "Forty models on 13 sizes with steps proportional to 1/n",
        replicates="base",
    ),
    "sum_or_mean": Recipe(
        reduced,
        {"form": list(FORMS), "width": [128, 512], "n": [10, 20, 50, 80, 120, 160, 200, 400], "seed": list(range(20))},
        about="Error, stability and surviving neurons of the sum and of two forms of the mean",
    ),
    "active_terms": Recipe(
        active_terms,
        {"step": [0.01, 0.001], "n": [50, 100, 200], "seed": list(range(50))},
        about="Active hinge terms and those near a label boundary, at three epochs",
    ),
}
