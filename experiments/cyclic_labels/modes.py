r"""The gradient on the outputs, seen in the eigenbasis of the tangent kernel at initialisation.

With $K = \sum_i \lambda_i \xi_i \xi_i^\top$ on the training inputs at epoch 0, largest eigenvalue first, the
projections are $\beta_i(t) = \langle g(t), \xi_i \rangle$ with $g = \nabla_f \mathcal L$ (Bowman 2025, equation 8).
Records are 20 epochs apart and a window holds 20 of them, unless stated otherwise.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.ndimage import uniform_filter1d

from experiments.cyclic_labels.loss_curves import EPOCHS
from shallow import checks, nets, stats
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import cyclic
from shallow.kernels import empirical
from shallow.train import univariate

MODES, LEADING = 8, 15
EVERY, WINDOW = 20, 20
NUMBERS = np.arange(1, MODES + 1)


@releases_gil
def track(
    seed: int, *, design: str = "iid", step: float = 0.001, width: int = 512, n: int = 50, base: int = 7,
    epochs: int = EPOCHS,
) -> xr.Dataset:  # fmt: skip
    r"""Train one network and follow its output gradient in the eigenbasis of the kernel at initialisation.

    Returns over `epoch` (every 20) and `mode` (1..8): beta; power, the mean of $\beta_i^2$ over the 20 epochs from the
    record on; residual, $\langle f - y, \xi_i \rangle$; and all that :func:`summary` returns.  After divergence
    everything is NaN that depends on the run.

    Cost: epochs x O(n + width) for training, epochs x O(n^2) for the projections, O(n^2 width) for the kernel.
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

    Over `mode`: labels (share of $|y|^2$); start ($|\beta_i(0)|$); early_std and late_std (first tenth and last half,
    every epoch); late_rms; flips (sign changes per 100 epochs, first tenth); decay (first epoch from which the moving
    rms stays below $\sqrt n/20$ or 10% of its first value, whichever is larger; NaN for never); decay_mean (the same
    for the absolute value of the moving mean, with every epoch of the window); quiet (for the rms and $\sqrt n/10$,
    every epoch).  Over `leading` k = 1..15: captured (share of $\sum_t |g(t)|^2$ in
    modes 1..k).  Scalars: participation (of the mode energies, all n modes); null_participation (in a random basis);
    label_participation; top_share (share of $|g|^2$ in mode 1, first 1000 epochs); step_eigenvalue
    ($\eta\lambda_1$); zero_epoch and diverged_epoch (NaN for never).
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
    return np.nan_to_num([stats.rank_correlation(numbers, np.nan_to_num(row, nan=np.inf)) for row in decay])


def agreement_in_time(tracks: xr.Dataset) -> np.ndarray:
    """Spearman's rho over time of the moving rms of beta and of the residual, for every run and mode: (runs, modes)."""
    pairs = zip(tracks.beta.values, tracks.residual.values, strict=True)
    sizes = [(moving_rms(beta), moving_rms(residual)) for beta, residual in pairs]
    return np.array([[stats.rank_correlation(b[:, i], r[:, i]) for i in range(b.shape[1])] for b, r in sizes])


def phases(beta: np.ndarray, low: int, peak: int) -> np.ndarray:
    """Rms of beta (..., records, modes) in the window before low, from low to peak, and in the window after the peak.

    Returns shape (..., 3, modes).  A late peak leaves the last window as many records as there are.
    """
    a, b = low // EVERY, min(peak // EVERY, beta.shape[-2] - 2)
    spans = (slice(a - WINDOW, a), slice(a, b + 1), slice(b + 1, b + 1 + WINDOW))
    return np.stack([np.sqrt((beta[..., span, :] ** 2).mean(axis=-2)) for span in spans], axis=-2)


def changes_of_phase(beta: np.ndarray, lows: np.ndarray, peaks: np.ndarray) -> np.ndarray:
    """Changes of the rms over the phases of every window in every run: (windows, runs, 2 modes).

    First, for each mode, the change from before the low to low-to-peak; then that from there to after the peak.
    """
    changes = [np.diff(phases(beta, low, peak), axis=-2) for low, peak in zip(lows, peaks, strict=True)]
    return np.stack(changes).reshape(len(lows), len(beta), -1)


def in_own_windows(tracks: xr.Dataset, bumps: xr.Dataset) -> np.ndarray:
    """The three sizes of :func:`phases` of every run with a recovering bump: (runs, 3, modes)."""
    chosen = np.flatnonzero(bumps.recovers)
    beta, low, peak = tracks.beta.values, bumps.low.values, bumps.peak.values
    return np.stack([phases(beta[s], int(low[s]), int(peak[s])) for s in chosen])


def stratum(tracks: xr.Dataset, bumps: xr.Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One stratum of :func:`contrast`: runs with a recovering bump against runs with no bump at all."""
    own, others = np.flatnonzero(bumps.recovers), np.flatnonzero(~bumps.bump)
    return changes_of_phase(tracks.beta.values, bumps.low.values[own], bumps.peak.values[own]), own, others


def contrast(
    strata: list[tuple[np.ndarray, np.ndarray, np.ndarray]], *, name: str, permutations: int = 2000, level: float = 0.05
) -> xr.Dataset:
    """Do runs change more in their own windows than other runs do in the same windows?

    Args:
        strata: for each design (changes, own, others): the changes of every run in every window (windows, runs, looks),
            the run that each window belongs to (windows,), and the runs to compare with (others,).
        name: of the random stream.
        permutations: relabellings of runs within their stratum; windows stay, runs take each other's places.

    Returns:
        Dataset over `look`: estimate, the mean over windows of own minus mean other; low and high, the 95% interval
        from the permutations; p, two-sided permutation p-values adjusted by Holm over all looks; and the scalar
        false_alarms: the share of relabellings in which the same rule finds a p below level.
    """
    rng = stats.stream("contrast", name)
    estimate = _own_minus_others(strata)
    null = np.stack([_own_minus_others(_relabelled(strata, rng)) for _ in range(permutations)])
    size = np.sort(np.abs(null), axis=0)

    def adjusted(values: np.ndarray) -> np.ndarray:
        as_large = [permutations - np.searchsorted(size[:, k], abs(v) - 1e-12) for k, v in enumerate(values)]
        return stats.holm((1 + np.array(as_large)) / (1 + permutations))

    alarms = np.mean([(adjusted(values) < level).any() for values in null[: permutations // 4]])
    spread = stats.percentiles(null, axis=0)
    data = {"estimate": estimate, "low": estimate - spread[1], "high": estimate - spread[0], "p": adjusted(estimate)}
    return xr.Dataset({key: ("look", value) for key, value in data.items()} | {"false_alarms": ((), alarms)})


def _own_minus_others(strata: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> np.ndarray:
    """Mean over all windows of the change of the own run minus the mean change of the others, per look."""
    parts = [changes[np.arange(len(own)), own] - changes[:, others].mean(axis=1) for changes, own, others in strata]
    return np.concatenate(parts).mean(axis=0)


def _relabelled(
    strata: list[tuple[np.ndarray, np.ndarray, np.ndarray]], rng: np.random.Generator
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The strata with the runs permuted among own and others."""
    mixed = [rng.permutation(np.concatenate([own, others])) for _, own, others in strata]
    cut = zip(strata, mixed, strict=True)
    return [(changes, runs[: len(own)], runs[len(own) :]) for (changes, own, _), runs in cut]


def figure_8(tracks: xr.Dataset) -> dict[str, np.ndarray]:
    r"""The sentences about Figure 8, for every run, on the first five modes of which three have to obey; (runs,) each.

    "starts large": $|\beta_i(0)| > \sqrt n / 10$; "decays": rms of the last window below a quarter of that start; "no
    dominance": no mode has more than half of the energy of the five over the last half.
    """
    five, root = tracks.sel(mode=slice(1, 5)), np.sqrt(tracks.attrs["n"])
    final = np.sqrt((five.beta[:, -WINDOW:] ** 2).mean("epoch"))
    energy = five.late_rms**2
    return {
        "starts large": ((five.start > root / 10).sum("mode") >= 3).values,
        "decays": ((final < five.start / 4).sum("mode") >= 3).values,
        "no dominance": (energy.max("mode") <= 0.5 * energy.sum("mode")).values,
    }


def figure_9(tracks: xr.Dataset) -> dict[str, np.ndarray]:
    r"""The sentences about Figure 9, for every run, on the first five modes; (runs,) each.

    "early > late": the standard deviation of the first tenth exceeds that of the last half in four modes; "1, 2 most":
    the first two modes have the two largest early deviations, or over 2/5 of the summed variance; "all settle": rms of
    the last half below $\sqrt n / 10$ in all; "last": the mode that is the last to stay below that level, 0
    where several never do.
    """
    five, root = tracks.sel(mode=slice(1, 5)), np.sqrt(tracks.attrs["n"])
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


MODE_STEPS, MODE_DESIGNS = [0.0001, 0.001, 0.01], ["iid", "strat", "two_rightmost"]
RECORDS: dict[str, Recipe] = {
    "modes": Recipe(
        summary,
        {"width": [128, 512], "step": MODE_STEPS, "design": MODE_DESIGNS, "seed": list(range(50))},
        {},
        "Projections of the output gradient on the eigenvectors of the kernel at initialisation",
    ),
    "modes_wide": Recipe(
        summary,
        {"step": MODE_STEPS, "design": MODE_DESIGNS, "seed": list(range(10))},
        {"width": 8192},
        "The same at width 8192",
    ),
}
