"""Bumps of the test loss: what counts as one, fixed before any run, and the runs that are looked at for them."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.ndimage import median_filter, percentile_filter

from experiments.cyclic_labels import loss_curves
from experiments.cyclic_labels.loss_curves import EPOCHS
from shallow import nets
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import cyclic
from shallow.kernels import empirical

INTERVAL, WINDOW, START = 100, 11, 500
RISE, SPIKE = 0.05, 0.2
STEP = 0.001  # that of the runs whose steps are refined


def smooth(values: np.ndarray, window: int = WINDOW) -> np.ndarray:
    """Running median along axis 1 of values (run, record, ...), ends repeated."""
    size = (1, window) + (1,) * (values.ndim - 2)
    return median_filter(values, size=size, mode="nearest")


def _from_start(runs: xr.Dataset, start: int = START) -> xr.Dataset:
    return runs.isel(epoch=np.flatnonzero(runs.epoch >= start))


def _every_hundred(runs: xr.Dataset) -> xr.Dataset:
    """The records of runs that are 100 epochs apart, seeds and epochs first."""
    return runs.isel(epoch=np.flatnonzero(runs.epoch % INTERVAL == 0)).transpose("seed", "epoch", ...)


def slow(runs: xr.Dataset, *, rise: float = RISE, window: int = WINDOW, start: int = START) -> xr.Dataset:
    """The slow bump of each run: where the smoothed test loss rises most above its running minimum.

    Runs are those of :func:`loss_curves.run` stacked along `seed`, with records at least every 100 epochs; other
    thresholds, windows (of the running median, in records) and first epochs are for looking at what hangs on them.

    Returns over `seed`: rise (of the running median of 11 records, 100 epochs apart, above its running minimum, epochs
    >= 500), low and peak (epochs), and the flags bump (rise > 0.05), diverging (a bump at whose peak the training loss,
    smoothed alike, is not above that at the low), recovers (a diverging bump after which the smoothed test loss falls
    back to its value at the low), and cluster (where the loss rises most from low to peak).  A run that is not finite
    has no bump.
    """
    every = _every_hundred(runs)
    if not (np.diff(every.epoch) == INTERVAL).all() or every.epoch[-1] < start:
        given = runs.epoch.values
        raise ValueError(f"runs must have a record every {INTERVAL} epochs up to {start} or more, got epochs {given}")
    smoothed = every.assign(
        test_loss=(("seed", "epoch"), smooth(every.test_loss.values, window)),
        train_loss=(("seed", "epoch"), smooth(every.train_loss.values, window)),
        cluster_loss=(("seed", "epoch", "cluster"), smooth(every.cluster_loss.values, window)),
    )
    late = _from_start(smoothed, start)
    test, train, epoch = late.test_loss.values, late.train_loss.values, late.epoch.values
    rises = test - np.minimum.accumulate(test, axis=1)
    finite = np.isfinite(test).all(axis=1)
    peak = np.where(finite, np.argmax(np.where(finite[:, None], rises, 0), axis=1), 0)
    low = np.array([np.argmin(row[: p + 1]) if ok else 0 for row, p, ok in zip(test, peak, finite, strict=True)])
    row = np.arange(len(test))
    height = np.where(finite, rises[row, peak], 0.0)
    bump = height > rise
    diverging = bump & (train[row, peak] <= train[row, low])
    recovers = diverging & np.array([(t[p:] <= t[q]).any() for t, p, q in zip(test, peak, low, strict=True)])
    clusters = late.cluster_loss.values
    gain = clusters[row, peak] - clusters[row, low]
    data = dict(rise=height, low=epoch[low], peak=epoch[peak], bump=bump, diverging=diverging, recovers=recovers)
    data["cluster"] = np.argmax(gain, axis=1)
    return xr.Dataset({k: ("seed", v) for k, v in data.items()}, {"seed": runs.seed})


def spikes(runs: xr.Dataset) -> xr.Dataset:
    """Spikes of each run, on all records from epoch 500: unsmoothed rises of more than 0.2 above the running minimum.

    Returns over `seed`: spike (none in a run that is not finite), rise (the largest), peak (its epoch) and train_jump,
    the (summed) training loss there over its running minimum.
    """
    late = _from_start(runs.transpose("seed", "epoch", ...))
    test, train = late.test_loss.values, late.train_loss.values
    rises = test - np.minimum.accumulate(test, axis=1)
    peak = np.argmax(np.where(np.isfinite(rises), rises, -1), axis=1)
    row = np.arange(len(test))
    jump = train[row, peak] - np.minimum.accumulate(train, axis=1)[row, peak]
    data = dict(spike=rises[row, peak] > SPIKE, rise=rises[row, peak], peak=late.epoch.values[peak], train_jump=jump)
    return xr.Dataset({k: ("seed", v) for k, v in data.items()}, {"seed": runs.seed})


def calm(trained: xr.Dataset) -> xr.Dataset:
    """The runs with every loss replaced by its running 10th percentile over 11 records (stacked along `seed`).

    A jump leaves no trace in this lower envelope even where jumps are dense and the running median follows them.
    """

    def envelope(values: xr.DataArray) -> np.ndarray:
        size = (1, WINDOW) + (1,) * (values.ndim - 2)
        return percentile_filter(values.transpose("seed", "epoch", ...).values, 10, size=size, mode="nearest")

    names = ("test_loss", "train_loss", "cluster_loss")
    return trained.assign({name: (trained[name].dims, envelope(trained[name])) for name in names})


def choose(bumps: xr.Dataset) -> int | None:
    """The run to draw: the lowest seed with a diverging slow bump that recovers; None if there is none."""
    seeds = bumps.seed.values[bumps.recovers.values]
    return int(seeds.min()) if len(seeds) else None


def choose_clearest(bumps: xr.Dataset) -> int | None:
    """The run to draw beside a faint one: of those that :func:`choose` looks at, the one whose test loss rises most."""
    found = bumps.isel(seed=np.flatnonzero(bumps.recovers))
    return int(found.seed[found.rise.values.argmax()]) if found.sizes["seed"] else None


def is_smooth(trained: xr.Dataset) -> bool:
    """Whether one :func:`loss_curves.run` is a smooth odd curve, a bump and nothing else.

    That is: a diverging slow bump that recovers, is still diverging when jumps are removed (:func:`calm`), and a test
    loss, and mean training loss, without spikes.
    """
    run, n = trained.expand_dims(seed=[0]), int(trained["count"].sum())
    jumps = [spikes(run), spikes(run.assign(test_loss=run.train_loss / n))]
    bump = bool(slow(run).recovers.item() and slow(calm(run)).diverging.item())
    return bump and not any(found.spike.item() for found in jumps)


def as_scalars(trained: xr.Dataset) -> xr.Dataset:
    """The bump of one :func:`loss_curves.run`, its :func:`recovery`, and the final loss and error, all scalars."""
    single = trained.expand_dims(seed=[0])
    found = slow(single).isel(seed=0, drop=True)
    scalars = {name: found[name] for name in ("rise", "low", "peak", "diverging", "recovers")}
    scalars["recovery"] = xr.DataArray(recovery(single)[0])
    return xr.Dataset(scalars | {"loss": trained.test_loss[-1], "error": trained.error[-1]}).reset_coords(drop=True)


def recovery(runs: xr.Dataset) -> np.ndarray:
    """Epoch after the peak at which the smoothed test loss is back at its value at the low; NaN for never, (seed,)."""
    found, every = slow(runs), _every_hundred(runs)
    test, epoch = smooth(every.test_loss.values), every.epoch.values
    back = np.full(len(test), np.nan)
    for s in np.flatnonzero(found.recovers.values):
        level = test[s, np.searchsorted(epoch, found.low.values[s])]
        after = (epoch >= found.peak.values[s]) & (test[s] <= level)
        back[s] = epoch[after.argmax()]
    return back


def outcomes(trained: xr.Dataset) -> xr.Dataset:
    """Bumps and last losses, traces and errors of runs stacked along `seed`; the number of a cluster is `place`."""
    last = trained[["train_loss", "test_loss", "trace", "error", "cluster_error"]].isel(epoch=-1, drop=True)
    return xr.merge([slow(trained), last.rename(cluster="place"), trained.zero_epoch])


@releases_gil
def one_layer(seed: int, *, design: str, step: float, train: str) -> xr.Dataset:
    """Bump and test loss of a run of which all is trained ("all"), or one layer ("output" or "hidden")."""
    trained = loss_curves.run(seed, design=design, step=step, train=train).expand_dims(seed=[seed])
    found = xr.merge([slow(trained)[["diverging", "recovers"]], trained.test_loss])
    return found.isel(seed=0, drop=True)


@releases_gil
def refined(seed: int, design: str, refinement: int, *, n: int = 50, width: int = 512) -> xr.Dataset:
    r"""Bump and spike of one run with step $\eta/k$ and $kT$ epochs, $\eta = 0.001$, k the refinement.

    Training time $\eta t$ and the times of the records are the same for every k, and epochs are counted in units of the
    unrefined step, so that the definitions of this module apply unchanged.  Returns scalars, with stability
    $= \eta\lambda_1/k$, $\lambda_1$ of the tangent kernel at initialisation.
    """
    curves = cut(seed, refinement, design=design, n=n, width=width)
    found = slow(curves).assign(spike=spikes(curves).spike).squeeze("seed", drop=True)
    data = cyclic.sample(n, base=7, seed=seed, design=design)
    values, _ = empirical.eigenbasis(empirical.ntk(nets.default(data.rng, width), data.x))
    return found.assign(stability=STEP / refinement * values[0])


def cut(seed: int, refinement: int, **options) -> xr.Dataset:
    """:func:`loss_curves.run` with every step of 0.001 cut into `refinement`, epochs counted in units of the uncut one.

    Its one seed is a dimension.
    """
    step, epochs, every = STEP / refinement, EPOCHS * refinement, INTERVAL * refinement
    curves = loss_curves.run(seed, step=step, epochs=epochs, every=every, **options)
    return curves.assign_coords(epoch=curves.epoch // refinement).expand_dims(seed=[seed])


TWO_DESIGNS = ["poor(5,1)", "strat"]
RECORDS: dict[str, Recipe] = {
    "small_steps": Recipe(
        refined,
        {
            "refinement": [1, 3, 10, 30],
            "design": ["iid", "strat", "poor(5,1)", "two_rightmost"],
            "seed": list(range(50, 100)),
        },
        about="Bumps of the test loss as the step is cut finer and finer at equal training time",
    ),
    "one_layer": Recipe(
        one_layer,
        {"train": ["all", "output", "hidden"], "step": [0.001, 0.01], "design": TWO_DESIGNS, "seed": list(range(50))},
        about="Test loss and bumps when all parameters, the output weights or the hidden layer alone are trained",
    ),
}
