r"""The gradient on the outputs, seen in the eigenbasis of the tangent kernel at initialisation.

With $K = \sum_i \lambda_i \xi_i \xi_i^\top$ on the training inputs at epoch 0, largest eigenvalue first, the
projections are $\beta_i(t) = \langle g(t), \xi_i \rangle$ with $g = \nabla_f \mathcal L$ (Bowman 2025, equation 8).
Records are 20 epochs apart and a window holds 20 of them, unless stated otherwise.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.ndimage import uniform_filter1d

from experiments.cyclic_labels.runs import EPOCHS
from shallow import nets, stats
from shallow.book.recipes import releases_gil
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
    if not 1 <= window <= len(values):
        raise ValueError(f"window must lie in 1..{len(values)}, got {window}")
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(np.square(values, dtype=float), axis=0)])
    return np.sqrt(np.maximum(sums[window:] - sums[:-window], 0) / window)


def settled(rms: np.ndarray, level: np.ndarray) -> np.ndarray:
    """First epoch from which the windows (records, k) stay below level (k,): 0 for always, NaN for never."""
    above = ~(rms < level)  # so that NaN is above
    last = np.where(above.any(axis=0), len(rms) - 1 - np.argmax(above[::-1], axis=0), -1)
    return np.where(above[-1], np.nan, (last + 1.0) * EVERY)
