r"""The gradient on the outputs, seen in the eigenbasis of the tangent kernel at initialisation.

With $K = \sum_i \lambda_i \xi_i \xi_i^\top$ on the training inputs at epoch 0, largest eigenvalue first, the
projections are $\beta_i(t) = \langle g(t), \xi_i \rangle$ with $g = \nabla_f \mathcal L$ (Bowman 2025, equation 8).
Records are 20 epochs apart and a window holds 20 of them, unless stated otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from scipy.ndimage import uniform_filter1d

from experiments.cyclic_labels import loss_curves
from experiments.cyclic_labels.bumps import cells as bumps
from experiments.cyclic_labels.bumps import undersampling
from experiments.cyclic_labels.loss_curves import EPOCHS
from shallow import checks, nets, stats
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.data import cyclic
from shallow.kernels import empirical
from shallow.train import univariate

MODES, LEADING = 8, 15
EVERY, WINDOW = 20, 20
NUMBERS = np.arange(1, MODES + 1)


@releases_gil
def track(
    seed: int,
    *,
    design: str = "iid",
    step: float = 0.001,
    width: int = 512,
    n: int = 50,
    base: int = 7,
    epochs: int = EPOCHS,
) -> xr.Dataset:
    r"""Train one network and follow its output gradient in the eigenbasis of the kernel at initialisation.

    Returns over `epoch` (every 20) and `mode` (1..8): beta; power, the mean of $\beta_i^2$ over the 20 epochs from the
    record on; residual, $\langle f - y, \xi_i \rangle$; and all that :func:`summary` returns.  After divergence
    everything is NaN that depends on the run.
    """
    sample = cyclic.sample(n, base=base, seed=seed, design=design)
    network = nets.default(sample.rng, width)
    values, vectors = empirical.eigenbasis(empirical.ntk(network, sample.x))
    zero_epoch = diverged_epoch = np.nan
    options = dict(step=step, epochs=epochs, records=EVERY, keep_gradients=True)
    try:
        run = univariate.train(sample.x, sample.y, network, **options)
    except univariate.Diverged as failure:
        diverged_epoch = failure.epoch
        outputs, gradients = np.full((epochs // EVERY + 1, n), np.nan), np.full((epochs, n), np.nan, dtype=np.float32)
    else:
        zero_epoch = np.nan if run.zero_epoch is None else run.zero_epoch
        outputs, gradients = run.outputs, run.gradients.astype(np.float32)
    beta = gradients @ vectors[:, :MODES]
    blocks = beta.reshape(-1, EVERY, MODES)
    curves = ("epoch", "mode")
    data = {
        "beta": (curves, blocks[:, 0]),
        "power": (curves, (blocks**2).mean(axis=1)),
        "residual": (curves, (outputs[:-1] - sample.y) @ vectors[:, :MODES]),
        "labels": ("mode", (sample.y @ vectors[:, :MODES]) ** 2 / n),
        "label_participation": ((), participation((sample.y @ vectors) ** 2)),
        "step_eigenvalue": ((), step * values[0]),
        "zero_epoch": ((), zero_epoch),
        "diverged_epoch": ((), diverged_epoch),
    }
    random = np.linalg.qr(stats.stream("random basis", n, seed).standard_normal((n, n)))[0]
    data |= _shares(gradients, vectors, random) | _pace(beta, n)
    coordinates = {"epoch": np.arange(0, epochs, EVERY), "mode": NUMBERS, "leading": np.arange(1, LEADING + 1)}
    return xr.Dataset(data, coordinates, {"n": n})


def _shares(gradients: np.ndarray, vectors: np.ndarray, random: np.ndarray) -> dict[str, tuple]:
    """How the energy of g (epochs, n) is spread over the modes, and over a random basis."""
    moments = [(g.T @ g).astype(float) for g in (gradients, gradients[:1000])]  # exact: sums of signs below 2^24
    energy, early = (np.einsum("in,ij,jn->n", vectors, moment, vectors) for moment in moments)
    return {
        "captured": ("leading", np.cumsum(energy)[:LEADING] / energy.sum()),
        "participation": ((), participation(energy)),
        "null_participation": ((), participation(np.einsum("in,ij,jn->n", random, moments[0], random))),
        "top_share": ((), early[0] / early.sum()),
    }


def _pace(beta: np.ndarray, n: int) -> dict[str, tuple]:
    """How fast the projections (epochs, modes) move and settle."""
    first, last = beta[: len(beta) // 10], beta[len(beta) // 2 :]
    by_record = moving_rms(beta[::EVERY])
    by_epoch = moving_rms(beta, WINDOW * EVERY)[::EVERY]
    mean = np.abs(uniform_filter1d(beta, WINDOW * EVERY, axis=0)[WINDOW * EVERY // 2 : -WINDOW * EVERY // 2 : EVERY])
    return {
        "start": ("mode", np.abs(beta[0])),
        "early_std": ("mode", first.std(axis=0)),
        "late_std": ("mode", last.std(axis=0)),
        "late_rms": ("mode", np.sqrt((last**2).mean(axis=0))),
        "flips": ("mode", 100 * sign_changes(first) / len(first)),
        "decay": ("mode", settled(by_record, np.maximum(0.1 * by_record[0], np.sqrt(n) / 20))),
        "decay_mean": ("mode", settled(mean, np.maximum(0.1 * mean[0], np.sqrt(n) / 20))),
        "quiet": ("mode", settled(by_epoch, np.full(beta.shape[1], np.sqrt(n) / 10))),
    }


@releases_gil
def summary(seed: int, **options) -> xr.Dataset:
    r"""One run of :func:`track` without its curves, which is what records keep.

    Over `mode`: labels (share of $|y|^2$); start ($|\beta_i(0)|$); early_ and late_ (first tenth and last half, every
    epoch); flips (sign changes per 100 epochs, first tenth); decay (first epoch from which the moving rms stays below
    $\sqrt n/20$ or 10% of its first value, whichever is larger; NaN for never); decay_mean (the same for the absolute
    value of the moving mean, with every epoch of the window); quiet (for the rms and $\sqrt n/10$, every epoch).
    captured is the share of $\sum_t |g(t)|^2$ in the `leading` modes; null_participation is in a random basis;
    top_share is the share of $|g|^2$ in mode 1, first 1000 epochs; step_eigenvalue is $\eta\lambda_1$.
    """
    return track(seed, **options).drop_dims("epoch")


def sign_changes(values: np.ndarray) -> np.ndarray:
    """Sign changes along the first axis, (points, k) -> (k,); an exact zero keeps the sign before it."""
    sign = np.sign(values)
    last = np.maximum.accumulate(np.where(sign != 0, np.arange(len(sign))[:, None], 0), axis=0)
    held = np.take_along_axis(sign, last, axis=0)
    return (held[1:] * held[:-1] < 0).sum(axis=0)


def participation(energy: np.ndarray) -> float:
    r"""Effective number of modes $(\sum_i e_i)^2 / \sum_i e_i^2$ of energies $e_i \ge 0$, shape (n,)."""
    return float(energy.sum() ** 2 / (energy**2).sum())


def moving_rms(values: np.ndarray, window: int = WINDOW) -> np.ndarray:
    """Root mean square over windows: (records, k) -> (records - window + 1, k); entry r covers r, r + 1, ..."""
    checks.integers(1, len(values), window=window)
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(np.square(values, dtype=float), axis=0)])
    return np.sqrt(np.maximum(sums[window:] - sums[:-window], 0) / window)


def settled(rms: np.ndarray, level: np.ndarray) -> np.ndarray:
    """First epoch from which the windows (records, k) stay below level (k,): 0 for always, NaN for never."""
    above = ~(rms < level)  # so that NaN is above
    last = np.where(above.any(axis=0), len(rms) - 1 - np.argmax(above[::-1], axis=0), -1)
    return np.where(above[-1], np.nan, (last + 1.0) * EVERY)


# What the projections of many runs have in common.


def order_of_decay(decay: np.ndarray) -> np.ndarray:
    """Spearman's rho of mode number and decay epoch (runs, modes), NaN (never) being last; 0 where all tie; (runs,)."""
    numbers = np.arange(decay.shape[1])
    return np.nan_to_num(stats.rank_correlation(numbers, np.nan_to_num(decay, nan=np.inf)))


@releases_gil
def ends(seed: int, *, design: str, width: int, step: float = 0.001) -> xr.Dataset:
    r"""Where the projections of one run start and end, and whether the residual's tell the same; n = 50 points.

    final is the rms of $\beta_i$ over the last 20 records; agreement is Spearman's rho over time of the moving rms of
    $\beta_i$ and of $\langle f - y, \xi_i \rangle$.
    """
    found = track(seed, design=design, width=width, step=step)
    gradient, residual = moving_rms(found.beta.values), moving_rms(found.residual.values)
    rho = [stats.rank_correlation(g, r) for g, r in zip(gradient.T, residual.T, strict=True)]
    return found[["labels", "start", "late_rms"]].assign(final=("mode", gradient[-1]), agreement=("mode", rho))


PHASES = ("before", "rise")


def phases(beta: np.ndarray, low: int, peak: int) -> np.ndarray:
    """Rms of beta (..., records, modes) over the 20 records before the low and from low to peak: (..., 2, modes)."""
    a, b = low // EVERY, peak // EVERY
    spans = (slice(a - WINDOW, a), slice(a, b + 1))
    return np.stack([np.sqrt((beta[..., span, :] ** 2).mean(axis=-2)) for span in spans], axis=-2)


@releases_gil
def windows(first: int, *, design: str, width: int, step: float = 0.001, runs: int = 50) -> xr.Dataset:
    """The projections of runs of a design, from the seed `first` on, in the windows that every bump sets.

    size is the rms of :func:`phases` over `window` (the run whose bump sets it) and `run`, NaN in windows of runs
    without a recovering bump.
    """
    seeds = range(first, first + runs)
    losses = [loss_curves.run(seed, design=design, width=width, step=step) for seed in seeds]
    found = bumps.slow(xr.concat(losses, xr.Variable("seed", seeds)))[["low", "peak", "bump", "recovers"]]
    found = found.drop_vars("seed").rename(seed="run")
    beta = np.stack([track(seed, design=design, width=width, step=step).beta.values for seed in seeds])
    size = np.full((runs, runs, len(PHASES), MODES), np.nan, dtype=np.float32)
    for window in np.flatnonzero(found.recovers):
        size[window] = phases(beta, int(found.low[window]), int(found.peak[window]))
    coordinates = {"run": range(runs), "window": range(runs), "phase": list(PHASES), "mode": NUMBERS}
    return found.assign(size=(("window", "run", "phase", "mode"), size)).assign_coords(coordinates)


def own_sizes(group: xr.Dataset) -> xr.DataArray:
    """Of :func:`windows`: the sizes of each run with a recovering bump in that bump's windows; (run, phase, mode)."""
    own = xr.Variable("run", np.flatnonzero(group.recovers))
    return group["size"].isel(window=own, run=own)


def stratum(group: xr.Dataset, count: int = MODES) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What :func:`contrast` compares: from before the low to the rise, runs with a recovering bump and with none."""
    own, others = np.flatnonzero(group.recovers), np.flatnonzero(~group.bump)
    size = group["size"].sel(mode=slice(1, count)).isel(window=own)
    changes = size.sel(phase="rise", drop=True) - size.sel(phase="before", drop=True)
    return changes.transpose("window", "run", "mode").values.astype(float), own, others


def contrast(
    strata: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
    *,
    name: str,
    pooled: bool = False,
    permutations: int = 20_000,
    level: float = 0.05,
) -> xr.Dataset:
    """Do runs change more in their own windows than other runs do in the same windows?

    Args:
        strata: for each setting (changes, own, others): the changes of every run in every window (windows, runs,
            looks), the run that each window belongs to (windows,), and the runs to compare with (others,).
        pooled: all windows of all strata together, instead of each stratum with looks of its own.
        permutations: relabellings of runs within their stratum; windows stay, runs take each other's places.

    Returns over `look` (of the first stratum, of the second, ...) the mean over windows of own minus mean other with
    its 95% interval, two-sided p-values (single), and these adjusted by Holm over all looks (p); and false_alarms, the
    share of relabellings in which the same rule finds a p below level.
    """
    rng = stats.stream("contrast", name)
    members = [np.concatenate([own, others])[None] for _, own, others in strata]
    estimate = _own_minus_others(strata, members, pooled)[0]
    mixed = [rng.permuted(np.repeat(runs, permutations, axis=0), axis=1) for runs in members]
    null = _own_minus_others(strata, mixed, pooled)
    size = np.sort(np.abs(null), axis=0)

    def single(values: np.ndarray) -> np.ndarray:
        as_large = [permutations - np.searchsorted(size[:, k], abs(v) - 1e-12) for k, v in enumerate(values)]
        return (1 + np.array(as_large)) / (1 + permutations)

    alarms = np.mean([(stats.holm(single(values)) < level).any() for values in null[:500]])
    spread = stats.percentiles(null, axis=0)
    data = {"estimate": estimate, "low": estimate - spread[1], "high": estimate - spread[0]}
    data |= {"single": single(estimate), "p": stats.holm(single(estimate))}
    return xr.Dataset({key: ("look", value) for key, value in data.items()} | {"false_alarms": ((), alarms)})


def _own_minus_others(
    strata: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]], members: Sequence[np.ndarray], pooled: bool
) -> np.ndarray:
    """Mean over windows of the change of the own run minus the mean change of the others: (permutations, looks).

    The members of a stratum (permutations, runs) are the runs in the place of the own ones, then those of the others.
    """
    parts = []
    for (changes, own, _), runs in zip(strata, members, strict=True):
        mine, others = runs[:, : len(own)], runs[:, len(own) :]
        theirs = changes.mean(axis=0)[others].mean(axis=1, keepdims=True)
        parts.append(changes[np.arange(len(own)), mine] - theirs)
    if pooled:
        return np.concatenate(parts, axis=1).mean(axis=1)
    return np.concatenate([part.mean(axis=1) for part in parts], axis=1)


def figure_8(found: xr.Dataset) -> dict[str, np.ndarray]:
    r"""The sentences about Figure 8, for each of :func:`ends`, on the first five modes: three must obey; (runs,) each.

    "starts large": $|\beta_i(0)| > \sqrt n / 10$; "decays": rms of the last window below a quarter of that start; "no
    dominance": no mode has more than half of the energy of the five over the last half.
    """
    five, root = found.sel(mode=slice(1, 5)), np.sqrt(found.attrs["n"])
    energy = five.late_rms**2
    return {
        "starts large": ((five.start > root / 10).sum("mode") >= 3).values,
        "decays": ((five.final < five.start / 4).sum("mode") >= 3).values,
        "no dominance": (energy.max("mode") <= 0.5 * energy.sum("mode")).values,
    }


def figure_9(found: xr.Dataset) -> dict[str, np.ndarray]:
    r"""The sentences about Figure 9, for each of :func:`summary`, on the first five modes; (runs,) each.

    "early > late": the standard deviation of the first tenth exceeds that of the last half in four modes; "1, 2 most":
    the first two modes have the two largest early deviations, or over 2/5 of the summed variance; "all settle": rms of
    the last half below $\sqrt n / 10$ in all; "last": the mode that is the last to stay below that level, 0
    where several never do.
    """
    five, root = found.sel(mode=slice(1, 5)), np.sqrt(found.attrs["n"])
    early = five.early_std.values
    quiet = five.quiet.fillna(np.inf).values
    unique = (quiet == quiet.max(axis=1, keepdims=True)).sum(axis=1) == 1
    two_largest = early[:, :2].min(axis=1) >= early[:, 2:].max(axis=1)
    return {
        "early > late": (early > five.late_std.values).sum(axis=1) >= 4,
        "1, 2 most": two_largest | ((early[:, :2] ** 2).sum(axis=1) > 0.4 * (early**2).sum(axis=1)),
        "all settle": (five.late_rms < root / 10).all("mode").values,
        "last": np.where(unique, quiet.argmax(axis=1) + 1, 0),
    }


# Figures 8 to 10 of the document.


def every_epoch(seed: int, *, design: str, width: int, step: float, n: int = 50, epochs: int = EPOCHS) -> np.ndarray:
    r"""$\beta_1, \dots, \beta_8$ of the run of :func:`track` at every epoch, (epochs, 8)."""
    sample = cyclic.sample(n, base=7, seed=seed, design=design)
    network = nets.default(sample.rng, width)
    vectors = empirical.eigenbasis(empirical.ntk(network, sample.x))[1]
    run = univariate.train(sample.x, sample.y, network, step=step, epochs=epochs, keep_gradients=True)
    return run.gradients @ vectors[:, :MODES]


@releases_gil
def early(seed: int, *, design: str, width: int, step: float) -> xr.Dataset:
    r"""The first 2000 epochs of the run of :func:`track`, over `mode`: swing, the root mean square of the change of
    $\beta_i$ from one epoch to the next, and flips, its sign changes per 100 epochs; participation, of all modes in
    $\sum_t |g(t)|^2$ over the first 1000 epochs.

    A projection that swings about a mean that is not zero never changes its sign.
    """
    sample = cyclic.sample(50, base=7, seed=seed, design=design)
    network = nets.default(sample.rng, width)
    vectors = empirical.eigenbasis(empirical.ntk(network, sample.x))[1]
    run = univariate.train(sample.x, sample.y, network, step=step, epochs=2000, keep_gradients=True)
    beta = run.projections(vectors)
    first = beta[:, :MODES]
    data = {
        "swing": ("mode", np.sqrt((np.diff(first, axis=0) ** 2).mean(axis=0))),
        "flips": ("mode", 100 * sign_changes(first) / len(first)),
        "participation": ((), participation((beta[:1000] ** 2).sum(axis=0))),
    }
    return xr.Dataset(data, {"mode": NUMBERS})


MODE_STEPS, MODE_DESIGNS = [0.0001, 0.001, 0.01], ["iid", "strat", "two_rightmost"]
RECORDS: dict[str, Recipe] = {
    "modes": Recipe(
        summary,
        {"width": [128, 512], "step": MODE_STEPS, "design": MODE_DESIGNS, "seed": list(range(50))},
        about="Projections of the output gradient on the eigenvectors of the kernel at initialisation",
        # A third of the eigenvalues at width 128 vanish, and rounding chooses the eigenvectors.
        agreement=Agreement(rounding=("participation", "label_participation")),
    ),
    "modes_wide": Recipe(
        summary,
        {"step": MODE_STEPS, "design": MODE_DESIGNS, "seed": list(range(10))},
        {"width": 8192},
        "The same at width 8192",
    ),
    "early_swings": Recipe(
        early,
        {"width": [128, 512, 8192], "step": [0.001, 0.01], "design": ["iid", "two_rightmost"], "seed": list(range(50))},
        about="How far the projections swing from epoch to epoch in the first 2,000 epochs",
    ),
    "projection_ends": Recipe(
        ends,
        {"width": [128, 512], "design": ["iid", "two_rightmost"], "seed": list(range(200))},
        about="Where the projections start and end, and the residual's beside them",
    ),
    "bump_windows": Recipe(
        windows,
        {"width": [128, 512], "design": ["two_rightmost", "poor(5,1)"], "first": [0, 50]},
        about="The projections of runs with and without a bump, in the windows of the bumps",
        replicates="first",
    ),
    "bumps_by_width": Recipe(
        undersampling.result,
        {"width": [128, 512, 8192], "step": [0.001, 0.01], "seed": list(range(50))},
        {"design": "two_rightmost"},
        "Bumps at three widths with two poor clusters on the right",
    ),
}
