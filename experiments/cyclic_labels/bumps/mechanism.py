"""How a poor cluster makes the test loss rise and fall: runs taken apart (Bowman 2025, Section 6).

Bumps, low and peak are those of :mod:`.bumps`.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.ndimage import uniform_filter1d

from experiments.cyclic_labels.bumps import cells as bumps
from experiments.cyclic_labels.loss_curves import EPOCHS, GRID, by_cluster, hinge, start
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import cyclic
from shallow.nets import TwoLayer
from shallow.train import univariate
from shallow.train.run import schedule

#: Poor clusters of the designs that this module follows.
POOR = {"poor(5,1)": (5,), "poor(2,1)": (2,), "two_rightmost": (4, 5)}
FINE, COARSE = 20, 500  # epochs between the records of the gradient and of the pulls


@releases_gil
def anatomy(
    seed: int,
    *,
    design: str,
    step: float = 0.001,
    agop: float = 0.0,
    n: int = 50,
    width: int = 512,
    epochs: int = EPOCHS,
) -> xr.Dataset:
    """One run taken apart, P = 3, base 7, over three sets of records.

    - `epoch` (every 100): losses; border_slope, the slope of f across the grid cell of a label boundary; kinks and
      kink_weight, the neurons with their kink within a quarter of a cluster width of the boundary, plain and weighted
      by |v w|; energy_grid and energy_points, the share of each cluster in the sum of f'^2 on grid and training points;
    - `fine` (every 20): share of each cluster in the l1 norm of the output gradient, 0 when that vanishes;
    - `coarse` (every 500): own_pull and other_pull of :func:`_pulls`, NaN in a design without a poor cluster.  Their
      gradient is that of the `fine` records, which says how large a pull is and not how far the two cancel: signs flip
      within a few epochs (:func:`.poor_cluster.balance` counts every epoch).
    """
    sample = cyclic.sample(n, base=7, seed=seed, design=design)
    network, rates = start(sample.rng, width)
    fine = schedule(FINE, epochs)
    trained = univariate.train(
        sample.x,
        sample.y,
        network,
        step=step,
        epochs=epochs,
        records=fine,
        grid=GRID,
        rates=rates,
        agop=agop,
        keep_parameters=True,
    )
    checked, coarse = fine % bumps.INTERVAL == 0, fine % COARSE == 0
    parameters, f = trained.parameters[checked], trained.predictions[checked]
    losses, active = hinge(f), (1 - sample.y * trained.outputs > 0).astype(float)
    slopes = np.stack([univariate.evaluate(TwoLayer(*p), GRID)[1] for p in parameters])
    gradient = uniform_filter1d(-sample.y * active, COARSE // FINE, axis=0, mode="nearest")[coarse]
    own, other = _pulls(trained.parameters[coarse], gradient, sample.x, POOR.get(design, ()))
    right = np.searchsorted(GRID, cyclic.boundaries())
    data = {
        "train_loss": ("epoch", trained.loss[checked]),
        "test_loss": ("epoch", losses.mean(axis=1)),
        "cluster_loss": (("epoch", "cluster"), by_cluster(losses)),
        "border_slope": (("epoch", "boundary"), (f[:, right] - f[:, right - 1]) / (GRID[1] - GRID[0])),
        "energy_grid": (("epoch", "cluster"), _shares(slopes**2, GRID)),
        "energy_points": (("epoch", "cluster"), _shares(trained.slopes[checked] ** 2, sample.x)),
        "share": (("fine", "cluster"), _shares(active, sample.x)),
        "own_pull": ("coarse", own),
        "other_pull": ("coarse", other),
    }
    places = {"cluster": np.arange(6), "boundary": cyclic.boundaries()}
    records = {"epoch": fine[checked], "fine": fine, "coarse": fine[coarse]}
    return xr.Dataset(data | _kinks(parameters), places | records)


def _shares(values: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Share of each cluster in the sum of values (R, points) over the points x; 0 where the sum is; shape (R, 6)."""
    member = cyclic.clusters(x)[:, None] == np.arange(6)
    sums = values @ member
    total = sums.sum(axis=1, keepdims=True)
    return np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)


def _kinks(parameters: np.ndarray) -> dict[str, tuple]:
    """Kinks -b/w near each label boundary and in each cluster, for parameters (R, 3, m) in the order w, b, v.

    Both are unions of the 24 quarters of clusters: two around a boundary, four in a cluster.
    """
    w, b, v = parameters.swapaxes(0, 1)
    place = np.divide(-b, w, out=np.full_like(w, np.inf), where=w != 0)
    row, neuron = np.nonzero((place >= -0.5) & (place < 0.5))
    quarter = row * 24 + ((place[row, neuron] + 0.5) * 24).astype(int)
    shape = (len(parameters), 24)
    plain = np.bincount(quarter, minlength=24 * len(w)).reshape(shape)
    weight = np.bincount(quarter, np.abs(v * w)[row, neuron], minlength=24 * len(w)).reshape(shape)
    return {
        "kinks": (("epoch", "boundary"), plain[:, 3:-1:4] + plain[:, 4::4]),
        "kink_weight": (("epoch", "boundary"), weight[:, 3:-1:4] + weight[:, 4::4]),
        "cluster_kink_weight": (("epoch", "cluster"), weight.reshape(len(w), 6, 4).sum(axis=-1)),
    }


def _pulls(parameters: np.ndarray, gradient: np.ndarray, x: np.ndarray, poor: tuple[int, ...]) -> np.ndarray:
    r"""Velocity of the mean margin over the poor clusters due to their own training points and to all others, (2, C).

    In one step the margin $y f$ at a point z changes by $-\eta\, y \sum_i K_t(z, x_i) g_i$ to first order in $\eta$,
    with the tangent kernel $K_t$ at that epoch; this is the mean over points z of the poor clusters, per unit of step.

    parameters: (C, 3, m); gradient: (C, n), the output gradient, averaged over the epochs around each record.
    """
    if not poor:
        return np.full((2, len(parameters)), np.nan)
    z = GRID[np.isin(cyclic.clusters(GRID), poor)][4::8]
    sign = cyclic.labels(z) / len(z)
    own = np.isin(cyclic.clusters(x), poor)
    found = np.empty((2, len(parameters)))
    for c, ((w, b, v), g) in enumerate(zip(parameters, gradient, strict=True)):
        there, here = np.outer(z, w) + b, np.outer(x, w) + b
        gates = sign @ (there > 0) * v**2, (sign * z) @ (there > 0) * v**2
        open_ = (here > 0).astype(float)
        kernel = np.maximum(here, 0) @ (sign @ np.maximum(there, 0)) + open_ @ gates[0] + x * (open_ @ gates[1])
        found[:, c] = -(kernel * g)[own].sum(), -(kernel * g)[~own].sum()
    return found


def neighbours(poor: tuple[int, ...]) -> list[int]:
    """The well-sampled clusters next to a block of poor ones."""
    return [c for c in (min(poor) - 1, max(poor) + 1) if 0 <= c < 6]


def borders(poor: tuple[int, ...]) -> list[int]:
    """Indices of the label boundaries of a block of poor clusters; boundary k lies between the clusters k and k + 1."""
    return sorted({k for c in poor for k in (c - 1, c) if 0 <= k < 5})


def events(runs: xr.Dataset, poor: tuple[int, ...]) -> xr.Dataset:
    """What happens between low and peak in the qualifying runs (diverging slow bumps that recover), over `seed`.

    Runs are those of :func:`anatomy` of one design.  poor_rise and neighbour_rise are changes of smoothed losses from
    low to peak; crossing is the first epoch from 500 on at which the running median over 1000 epochs of the poor
    clusters' share of the gradient exceeds one half (inf for never); pull_peak is the own pull over own pull and the
    others' push; the flags say whether the poor rises while its neighbours fall (parts), and whether the crossing is
    not after the peak (passed), or not after the low (passed_at_low, the null for the timing).

    The pulls are no guide to the drift of the poor clusters where steps overshoot: at single epochs they differ by more
    than either, on average over some epochs they cancel to a per cent.
    """
    found = bumps.slow(runs)
    seeds = found.seed.values[found.recovers.values]
    found, runs = found.sel(seed=seeds), runs.sel(seed=seeds)
    share = bumps.smooth(runs.share.values[..., list(poor)].sum(axis=-1), bumps.WINDOW * bumps.INTERVAL // FINE)
    losses = bumps.smooth(runs.cluster_loss.transpose("seed", "epoch", "cluster").values)
    low, peak, row = found.low.values, found.peak.values, np.arange(len(seeds))
    change = losses[row, peak // bumps.INTERVAL] - losses[row, low // bumps.INTERVAL]
    over = (share > 0.5) & (runs.fine.values >= bumps.START)
    crossing = np.where(over.any(axis=1), runs.fine.values[over.argmax(axis=1)], np.inf)
    poor_rise, neighbour_rise = change[:, list(poor)].mean(axis=1), change[:, neighbours(poor)].mean(axis=1)
    data = {
        "low": low,
        "peak": peak,
        "poor_rise": poor_rise,
        "neighbour_rise": neighbour_rise,
        "crossing": crossing,
        "share_low": share[row, low // FINE],
        "share_peak": share[row, peak // FINE],
        "pull_low": _pull_share(runs, low),
        "pull_peak": _pull_share(runs, peak),
        "parts": (poor_rise > 0) & (neighbour_rise < 0),
        "passed": crossing <= peak,
        "passed_at_low": crossing <= low,
    }
    return xr.Dataset({key: ("seed", value) for key, value in data.items()}, {"seed": seeds})


def _pull_share(runs: xr.Dataset, epoch: np.ndarray) -> np.ndarray:
    """Own pull over own pull plus the others' push, averaged over the two coarse records around each seed's `epoch`."""
    near = np.stack([epoch // COARSE, np.minimum(epoch // COARSE + 1, runs.sizes["coarse"] - 1)], axis=1)
    pulls = (runs[name].values for name in ("own_pull", "other_pull"))
    own, other = (np.take_along_axis(values, near, axis=1).mean(axis=1) for values in pulls)
    with np.errstate(invalid="ignore"):  # NaN where nothing pulls
        return own / (own + np.maximum(-other, 0))


def at_events(runs: xr.Dataset, found: xr.Dataset, variable: str) -> xr.DataArray:
    """A variable over `epoch` at epoch 0, low, peak, T/2 and T of each seed in `found`: dimension `moment`."""
    last = int(runs.epoch[-1])
    moments = {"start": 0, "low": found.low, "peak": found.peak, "T/2": last // 2, "T": last}
    parts = [runs[variable].sel(seed=found.seed, epoch=xr.zeros_like(found.low) + when) for when in moments.values()]
    return xr.concat([part.drop_vars("epoch") for part in parts], xr.Variable("moment", list(moments)))


@releases_gil
def energies(seed: int, *, design: str, agop: float) -> xr.Dataset:
    """Where f'^2 lives at the :func:`at_events` of one run, NaN in a run without a recovering bump.

    A design without a poor cluster takes the moments of poor(5,1) with the same seed and penalty.
    """
    marking = design if design in POOR else "poor(5,1)"
    runs = {name: anatomy(seed, design=name, agop=agop).expand_dims(seed=[seed]) for name in {design, marking}}
    found = events(runs[marking], POOR[marking])
    names = ("energy_grid", "energy_points")
    shares = [at_events(runs[design], found, name).reindex(seed=[seed]).isel(seed=0, drop=True) for name in names]
    return xr.Dataset(dict(zip(names, shares, strict=True))).transpose("moment", "cluster")


@releases_gil
def dissected(seed: int, *, design: str) -> xr.Dataset:
    """One run of a design with poor clusters, reduced to what happens to them.

    Returns :func:`events`, NaN in a run that does not qualify; kink_weight and even_kink_weight at the
    :func:`at_events` of this run, in this run and in the stratified one with the same seed; and over `coarse` the
    losses and the share in the gradient as running medians, the pulls, and border_slope, the slope of f at the borders
    of the poor clusters, positive where it leads to the right label.
    """
    runs = {name: anatomy(seed, design=name).expand_dims(seed=[seed]) for name in (design, "strat")}
    found = events(runs[design], POOR[design])
    names = {"kink_weight": design, "even_kink_weight": "strat"}
    kinks = {new: at_events(runs[name], found, "kink_weight").reindex(seed=[seed]) for new, name in names.items()}
    happened = found.astype(float).reindex(seed=[seed])
    everything = happened.assign(kinks).assign(_courses(runs[design], POOR[design]).data_vars)
    return everything.isel(seed=0, drop=True).transpose("coarse", "moment", "boundary")


def _courses(runs: xr.Dataset, poor: tuple[int, ...]) -> xr.Dataset:
    """The time courses of :func:`dissected`, over `seed` and `coarse`."""
    cluster_loss = runs.cluster_loss.transpose("seed", "epoch", "cluster")
    losses = cluster_loss.copy(data=bumps.smooth(cluster_loss.values)).sel(epoch=runs.coarse)
    share = runs.share.sel(cluster=list(poor)).sum("cluster").transpose("seed", "fine")
    share = share.copy(data=bumps.smooth(share.values, bumps.WINDOW * bumps.INTERVAL // FINE)).sel(fine=runs.coarse)
    borders_of = borders(poor)
    right = cyclic.labels((np.array(borders_of) + 1.5) / 6 - 0.5)  # the label at the right of each border
    slopes = runs.border_slope.isel(boundary=borders_of).sel(epoch=runs.coarse)
    courses = {
        "poor_loss": losses.sel(cluster=list(poor)).mean("cluster"),
        "neighbour_loss": losses.sel(cluster=neighbours(poor)).mean("cluster"),
        "share": share,
        "own_pull": runs.own_pull,
        "other_pull": runs.other_pull,
        "border_slope": (slopes * xr.DataArray(right, dims="boundary")).mean("boundary"),
    }
    return xr.Dataset({name: values.drop_vars(("epoch", "fine"), errors="ignore") for name, values in courses.items()})


RECORDS: dict[str, Recipe] = {
    "dissected": Recipe(
        dissected,
        {"design": list(POOR), "seed": list(range(50))},
        about="Runs with poor clusters taken apart: losses, pulls and kinks while a bump rises and falls",
    ),
}
