r"""The gradient on the outputs, seen in the eigenbasis of the tangent kernel at initialisation.

With $K = \sum_i \lambda_i \xi_i \xi_i^\top$ on the training inputs at epoch 0, ordered from the largest eigenvalue, the
projections are $\beta_i(t) = \langle g(t), \xi_i \rangle$ with $g = \nabla_f \mathcal L$ (Bowman 2025, equation 8).  A
window is 20 records, one every 20 epochs, unless stated otherwise.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shallow import nets, stats
from shallow.data import cyclic
from shallow.experiments.cyclic_labels.runs import EPOCHS
from shallow.kernels import empirical
from shallow.nets import TwoLayer
from shallow.train import univariate

MODES, EVERY, WINDOW, SHARES = 8, 20, 20, 15


def _drawn(seed: int, design: str, n: int, width: int, base: int) -> tuple[cyclic.Sample, TwoLayer]:
    sample = cyclic.sample(n, base=base, seed=seed, design=design)
    return sample, nets.default(sample.rng, width)


def spectrum(
    seed: int, *, width: int = 512, n: int = 50, base: int = 0, initial: str = "default", center: float = 0.0
) -> xr.Dataset:
    """Kernel at initialisation on n uniform inputs, shifted by center.

    Returns values (n,): eigenvalues; output_share: the share of the trace that comes from v; changes (MODES,): sign
    changes of the eigenvectors along x; affine (MODES,): squared norm of each in the span of 1 and x.
    """
    sample = cyclic.sample(n, base=base, seed=seed)
    network = {"default": nets.default, "normal": nets.normal}[initial](sample.rng, width)
    parts = empirical.blocks(network, sample.x + center)
    kernel = sum(parts)
    values, vectors = empirical.eigenbasis(kernel)
    return xr.Dataset(
        {
            "values": ("rank", values),
            "output_share": ((), np.trace(parts.output) / np.trace(kernel)),
            "changes": ("mode", sign_changes(vectors[:, :MODES])),
            "affine": ("mode", affine_share(sample.x, vectors[:, :MODES])),
        },
        {"rank": np.arange(1, n + 1), "mode": np.arange(1, MODES + 1)},
    )


def sign_changes(values: np.ndarray) -> np.ndarray:
    """Sign changes along the first axis; an exact zero keeps the sign before it.  (points, ...) -> (...)."""
    sign = np.sign(np.asarray(values, dtype=float))
    index = np.where(sign != 0, np.arange(len(sign)).reshape((-1,) + (1,) * (sign.ndim - 1)), -1)
    last = np.maximum.accumulate(index, axis=0)
    held = np.where(last < 0, 0.0, np.take_along_axis(sign, np.maximum(last, 0), axis=0))
    return (held[1:] * held[:-1] < 0).sum(axis=0)


def affine_share(x: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Squared norm of the projection of each unit column of vectors (n, k) on the span of 1 and x; shape (k,)."""
    basis = np.linalg.qr(np.stack([np.ones_like(x), x], axis=1))[0]
    return ((basis.T @ vectors) ** 2).sum(axis=0)


def track(
    seed: int, *, design: str = "iid", step: float = 0.001, width: int = 512, n: int = 50, base: int = 7,
    epochs: int = EPOCHS,
) -> xr.Dataset:  # fmt: skip
    r"""Train one network and follow its output gradient in the eigenbasis of the kernel at initialisation.

    Returns, over `epoch` (every 20) and `mode` (1..8): beta, the projections at the records; power, the mean of
    $\beta_i^2$ over the 20 epochs from the record on; residual, $\langle f - y, \xi_i \rangle$.  Beside them everything
    that :func:`summary` returns.  A diverged run is NaN except for diverged_epoch and what holds at initialisation.

    Cost: epochs x O(n + width) for training, epochs x O(n^2) for the projections, O(n^2 width) for the kernel.
    """
    sample, network = _drawn(seed, design, n, width, base)
    values, vectors = empirical.eigenbasis(empirical.ntk(network, sample.x))
    run, diverged = None, np.nan
    try:
        run = univariate.train(
            sample.x, sample.y, network, step=step, epochs=epochs, records=EVERY, keep_gradients=True
        )
    except univariate.Diverged as failure:
        diverged = failure.epoch
    beta = np.full((epochs, n), np.nan) if run is None else run.projections(vectors)
    outputs = np.full((epochs // EVERY + 1, n), np.nan) if run is None else run.outputs
    random = np.linalg.qr(stats.stream("random basis", n, seed).standard_normal((n, n)))[0]
    null = np.full((epochs, n), np.nan) if run is None else run.projections(random)
    blocks = beta[: epochs // EVERY * EVERY].reshape(-1, EVERY, n)[:, :, :MODES]
    curves, scalar = ("epoch", "mode"), ()
    data = {
        "beta": (curves, blocks[:, 0]),
        "power": (curves, (blocks**2).mean(axis=1)),
        "residual": (curves, (outputs - sample.y)[:-1] @ vectors[:, :MODES]),
        "labels": ("mode", (sample.y @ vectors[:, :MODES]) ** 2 / n),
        "label_participation": (scalar, participation((sample.y @ vectors) ** 2)),
        "null_participation": (scalar, participation((null**2).sum(axis=0))),
        "step_eigenvalue": (scalar, step * values[0]),
        "zero_epoch": (scalar, np.nan if run is None or run.zero_epoch is None else run.zero_epoch),
        "diverged_epoch": (scalar, diverged),
    }
    coordinates = {
        "epoch": np.arange(0, epochs // EVERY * EVERY, EVERY), "mode": np.arange(1, MODES + 1),
        "leading": np.arange(1, SHARES + 1),
    }  # fmt: skip
    return _summarise(xr.Dataset(data, coordinates), beta)


def _summarise(data: xr.Dataset, beta: np.ndarray) -> xr.Dataset:
    """Add the numbers that need every epoch; beta has shape (epochs, n)."""
    epochs, n = beta.shape
    energy = (beta**2).sum(axis=0)
    first, last = beta[: epochs // 10, :MODES], beta[epochs // 2 :, :MODES]
    rms = moving_rms(data.beta.values)
    start = np.abs(beta[0, :MODES]) if epochs else np.zeros(MODES)
    return data.assign(
        captured=("leading", np.cumsum(energy)[:SHARES] / energy.sum()),
        participation=((), participation(energy)),
        start=("mode", start),
        early_std=("mode", first.std(axis=0)),
        late_std=("mode", last.std(axis=0)),
        late_rms=("mode", np.sqrt((last**2).mean(axis=0))),
        flips=("mode", sign_changes(first) / (len(first) / 100)),
        top_share=((), (beta[:1000, 0] ** 2).sum() / (beta[:1000] ** 2).sum()),
        decay=("mode", settled(rms, np.maximum(0.1 * rms[0], np.sqrt(n) / 20))),
        quiet=("mode", settled(moving_rms(np.sqrt(data.power.values)), np.full(MODES, np.sqrt(n) / 10))),
    )


def summary(seed: int, **options) -> xr.Dataset:
    r"""One run of :func:`track` without its curves; what records keep.

    Over `mode`: labels (share of $|y|^2$), start ($|\beta_i(0)|$), early_std and late_std (every epoch of the first tenth,
    of the last half), late_rms, flips (sign changes per 100 epochs in the first tenth), decay (first epoch after which
    the moving rms stays below 10% of its first value or $\sqrt n/20$, whichever is larger; inf for never) and quiet (the
    same for $\sqrt n/10$, every epoch counted).  Over `leading` k = 1..15: captured, the share of $\sum_t |g(t)|^2$ in
    modes 1..k.  Scalars: participation (of the mode energies over all n modes), null_participation (in a random
    basis), label_participation, top_share (share of $|g|^2$ in mode 1, first 1000 epochs), step_eigenvalue
    ($\eta\lambda_1$), zero_epoch, diverged_epoch.
    """
    return track(seed, **options).drop_dims("epoch")


def participation(energy: np.ndarray) -> float:
    r"""Effective number of modes $(\sum_i e_i)^2 / \sum_i e_i^2$ of energies $e_i \ge 0$, shape (n,)."""
    energy = np.asarray(energy, dtype=float)
    return float(energy.sum() ** 2 / (energy**2).sum())


def moving_rms(values: np.ndarray, window: int = WINDOW) -> np.ndarray:
    """Root mean square over windows of records: (records, ...) -> (records - window + 1, ...), entry r covers r, r+1, ..."""
    values = np.asarray(values, dtype=float)
    if not 1 <= window <= len(values):
        raise ValueError(f"window must lie in 1..{len(values)}, got {window}")
    return np.sqrt(np.lib.stride_tricks.sliding_window_view(values**2, window, axis=0).mean(axis=-1))


def settled(rms: np.ndarray, level: np.ndarray, every: int = EVERY) -> np.ndarray:
    """First epoch from which the windows (records, modes) stay below level (modes,); inf for never, NaN for a NaN run."""
    above = rms >= level
    last = np.where(above.any(axis=0), len(rms) - 1 - np.argmax(above[::-1], axis=0), -1)
    epochs = np.where(above[-1], np.inf, (last + 1.0) * every)
    return np.where(np.isnan(rms).any(axis=0), np.nan, epochs)


def rank_of_mode(decay: np.ndarray) -> np.ndarray:
    """Spearman's rho between mode number and decay epoch (runs, modes), never counted last; 0 where all tie; (runs,)."""
    modes = np.arange(decay.shape[1])
    finite = np.where(np.isfinite(decay), decay, 1e12)
    return np.nan_to_num([stats.rank_correlation(modes, row) for row in finite])


def phases(beta: np.ndarray, low: int, peak: int) -> np.ndarray:
    """Rms of beta (..., records, modes) in the window before low, from low to peak, and in the window after peak.

    Returns shape (..., 3, modes).  An early low or a late peak shortens its window to the records there are.
    """
    a, b = low // EVERY, peak // EVERY
    spans = (slice(max(a - WINDOW, 0), a), slice(a, b + 1), slice(b + 1, b + 1 + WINDOW))
    return np.stack([np.sqrt((beta[..., span, :] ** 2).mean(axis=-2)) for span in spans], axis=-2)


def regime(seed: int, *, step: float, width: int, n: int = 50, base: int = 7, epochs: int = EPOCHS) -> xr.Dataset:
    r"""How far the kernel at the last epoch is from the kernel at initialisation (i.i.d. inputs).

    Returns scalars: alignment of the kernels; alignment_beyond, the same orthogonal to the affine functions of x; subspace,
    the mean squared cosine of the top five eigenspaces; null_alignment, null_beyond and null_subspace, all three for an
    independent network of the same width instead of the trained one; moved, the relative change of the parameters in norm;
    step_eigenvalue, $\eta\lambda_1$ at the start; diverged_epoch.
    """
    sample, network = _drawn(seed, "iid", n, width, base)
    kernel = empirical.ntk(network, sample.x)
    other = empirical.ntk(nets.default(stats.stream("another network", width, seed), width), sample.x)
    data = {f"null_{name}": value for name, value in _compare(kernel, other, sample.x).items()}
    data |= {"step_eigenvalue": step * empirical.eigenbasis(kernel)[0][0], "diverged_epoch": np.nan, "moved": np.nan}
    try:
        end = univariate.train(sample.x, sample.y, network, step=step, epochs=epochs, records=epochs).network
    except univariate.Diverged as failure:
        data |= {"diverged_epoch": failure.epoch} | dict.fromkeys(("alignment", "beyond", "subspace"), np.nan)
        return xr.Dataset(data)
    before, after = (np.concatenate([net.W[:, 0], net.b, net.v]) for net in (network, end))
    data["moved"] = np.linalg.norm(after - before) / np.linalg.norm(before)
    return xr.Dataset(data | _compare(kernel, empirical.ntk(end, sample.x), sample.x))


def _compare(kernel: np.ndarray, other: np.ndarray, x: np.ndarray) -> dict[str, float]:
    if not other.any():  # every neuron has died
        return dict.fromkeys(("alignment", "beyond", "subspace"), 0.0)
    affine = np.stack([np.ones_like(x), x], axis=1)
    beyond = [empirical.without(k, affine) for k in (kernel, other)]
    top = [empirical.eigenbasis(k)[1][:, :5] for k in (kernel, other)]
    return {
        "alignment": empirical.alignment(kernel, other),
        "beyond": empirical.alignment(*beyond) if beyond[1].any() else 0.0,
        "subspace": empirical.subspace_alignment(*top),
    }


def sensitivity(
    seed: int, *, step: float, width: int, n: int = 50, base: int = 7, epochs: int = 5000, at: int = 1000
) -> xr.Dataset:
    r"""Oscillation of the projections, and how a small change of the data changes f at epoch `at` (i.i.d. inputs).

    Returns, over `mode`: flips (sign changes of beta per 100 epochs in the first `at`), flips_equal (their number while
    $\eta t$ is below that of the smallest step, $0.001 \cdot 5000 / 64$); and scalars: top_share (share of $|g|^2$ in mode
    1, first `at` epochs), flip and move (root mean square over the grid of the change of f when one label is flipped, or
    one point moved by 0.01), flip_equal and move_equal (the same at that $\eta t$; NaN below `at` = 1 epoch), size (rms of
    f at epoch `at`), step_eigenvalue.  NaN for a diverged run.
    """
    sample, network = _drawn(seed, "iid", n, width, base)
    values, vectors = empirical.eigenbasis(empirical.ntk(network, sample.x))
    same_time = round(0.001 * 5000 / 64 / step)
    chosen = int(stats.stream("which point", seed).integers(n))
    flipped, moved = sample.y.copy(), sample.x.copy()
    flipped[chosen] *= -1
    moved[chosen] += 0.01 if moved[chosen] < 0 else -0.01
    records = np.unique([0, min(same_time, epochs), at, epochs])
    options = dict(step=step, epochs=epochs, records=records, grid=cyclic.grid())
    try:
        run = univariate.train(sample.x, sample.y, network, keep_gradients=True, **options)
        other = [univariate.train(x, y, network, **options) for x, y in ((sample.x, flipped), (moved, sample.y))]
    except univariate.Diverged:
        run = None
    names = ("top_share", "flip", "move", "flip_equal", "move_equal", "size")
    if run is None:
        scalars, flips, flips_equal = dict.fromkeys(names, np.nan), np.full(MODES, np.nan), np.full(MODES, np.nan)
    else:
        beta = run.projections(vectors)
        flips, flips_equal = sign_changes(beta[:at, :MODES]) / (at / 100), sign_changes(beta[:same_time, :MODES])
        change = [np.sqrt(((o.predictions - run.predictions) ** 2).mean(axis=-1)) for o in other]
        there, equal = np.searchsorted(records, at), np.searchsorted(records, min(same_time, epochs))
        scalars = {
            "top_share": (beta[:at, 0] ** 2).sum() / (beta[:at] ** 2).sum(),
            "flip": change[0][there], "move": change[1][there],
            "flip_equal": change[0][equal], "move_equal": change[1][equal],
            "size": np.sqrt((run.predictions[there] ** 2).mean()),
        }  # fmt: skip
    return xr.Dataset(
        scalars | {"step_eigenvalue": step * values[0], "flips": ("mode", flips), "flips_equal": ("mode", flips_equal)},
        {"mode": np.arange(1, MODES + 1)},
    )
