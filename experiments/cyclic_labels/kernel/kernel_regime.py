"""How far training goes from the kernel at initialisation, and how it answers to small changes of the data."""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.cyclic_labels.kernel import kernel_spectra, modes
from experiments.cyclic_labels.kernel.modes import MODE_STEPS
from experiments.cyclic_labels.loss_curves import EPOCHS, GRID, INITIALISATIONS
from shallow import nets, stats
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.data import cyclic
from shallow.kernels import empirical
from shallow.nets import TwoLayer
from shallow.train import univariate

#: The smallest step and its number of epochs; their product is the common training time.
SMALLEST, SHORT = 0.001 / 64, 5000


@releases_gil
def regime(seed: int, *, step: float, width: int, n: int = 50, base: int = 7, epochs: int = EPOCHS) -> xr.Dataset:
    r"""How far the kernel at the last epoch is from that at initialisation; i.i.d. inputs; NaN after divergence.

    beyond is the alignment of the two kernels orthogonal to the affine functions of x, subspace the mean squared cosine
    of their top five eigenspaces; null_ means an independent network at initialisation in place of the trained one;
    moved is the change of the parameters relative to their norm, step_eigenvalue $\eta\lambda_1$ at the start.
    """
    sample = cyclic.sample(n, base=base, seed=seed)
    network = nets.default(sample.rng, width)
    other = nets.default(stats.stream("another network", width, seed), width)
    first = empirical.eigenbasis(empirical.ntk(network, sample.x))[0][0]
    data = {"step_eigenvalue": step * first, "moved": np.nan, "diverged_epoch": np.nan}
    data |= {f"null_{name}": value for name, value in _likeness(network, other, sample.x).items()}
    try:
        end = univariate.train(sample.x, sample.y, network, step=step, epochs=epochs, records=epochs).network
    except univariate.Diverged as failure:
        end, data["diverged_epoch"] = None, failure.epoch
    data |= _likeness(network, end, sample.x)
    if end is not None:
        before, after = (np.concatenate([net.W[:, 0], net.b, net.v]) for net in (network, end))
        data["moved"] = np.linalg.norm(after - before) / np.linalg.norm(before)
    return xr.Dataset(data)


def _likeness(network: TwoLayer, other: TwoLayer | None, x: np.ndarray) -> dict[str, float]:
    if other is None:
        return dict.fromkeys(("alignment", "beyond", "subspace"), np.nan)
    kernels = [empirical.ntk(net, x) for net in (network, other)]
    affine = np.stack([np.ones_like(x), x], axis=1)
    return {
        "alignment": empirical.alignment(*kernels),
        "beyond": empirical.alignment(*(empirical.without(kernel, affine) for kernel in kernels)),
        "subspace": empirical.subspace_alignment(*(empirical.eigenbasis(kernel)[1][:, :5] for kernel in kernels)),
    }


@releases_gil
def sensitivity(
    seed: int, *, step: float, width: int, n: int = 50, base: int = 7, epochs: int = SHORT, at: int = 1000
) -> xr.Dataset:
    r"""Oscillation of the projections, and what a small change of the data does to f; i.i.d. inputs.

    flips are the sign changes of $\beta_i$ per 100 epochs, in the first `at` epochs; flip and move the root mean square
    over the grid of the change of f at epoch `at` when one label is flipped, or one point moved by 0.01; what ends in
    _equal is at the common training time (see SMALLEST); size is the root mean square of f, top_share the share of
    $|g|^2$ in mode 1, step_eigenvalue $\eta\lambda_1$.  NaN after divergence.
    """
    sample = cyclic.sample(n, base=base, seed=seed)
    network = nets.default(sample.rng, width)
    values, vectors = empirical.eigenbasis(empirical.ntk(network, sample.x))
    same = min(round(SMALLEST * SHORT / step), epochs)
    records = np.unique([at, same])
    options = dict(step=step, epochs=max(at, same), records=records, grid=GRID)
    try:
        run = univariate.train(sample.x, sample.y, network, keep_gradients=True, **options)
        others = [univariate.train(x, y, network, **options).predictions for x, y in _disturbed(sample, seed)]
    except univariate.Diverged:
        beta, functions = np.full((at, n), np.nan), np.full((3, len(records), len(GRID)), np.nan)
    else:
        beta, functions = run.projections(vectors), np.stack([run.predictions, *others])
    change = np.sqrt(((functions[1:] - functions[0]) ** 2).mean(axis=-1))
    there, equal = np.searchsorted(records, at), np.searchsorted(records, same)
    data = {
        "flips": ("mode", 100 * modes.sign_changes(beta[:at, : modes.MODES]) / at),
        "flips_equal": ("mode", modes.sign_changes(beta[:same, : modes.MODES])),
        "flip": change[0, there],
        "move": change[1, there],
        "flip_equal": change[0, equal],
        "move_equal": change[1, equal],
        "size": np.sqrt((functions[0, there] ** 2).mean()),
        "top_share": (beta[:at, 0] ** 2).sum() / (beta[:at] ** 2).sum(),
        "step_eigenvalue": step * values[0],
    }
    return xr.Dataset(data, {"mode": modes.NUMBERS})


def _disturbed(sample: cyclic.Sample, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The training set with the label of one random point flipped, and with that point moved by 0.01 to the middle."""
    point = int(stats.stream("which point", seed).integers(len(sample.x)))
    flipped, moved = sample.y.copy(), sample.x.copy()
    flipped[point] *= -1
    moved[point] -= 0.01 * np.sign(moved[point])
    return [(sample.x, flipped), (moved, sample.y)]


WIDTHS = [32, 128, 512, 2048, 8192]
RECORDS: dict[str, Recipe] = {
    "kernel_regime": Recipe(
        regime,
        {"width": [128, 512, 8192], "step": MODE_STEPS, "seed": list(range(10))},
        about="The kernel after 20,000 epochs against the kernel at initialisation",
    ),
    "sensitivity": Recipe(
        sensitivity,
        {"width": [128, 512, 8192], "step": [0.001 * 4.0**k for k in range(-3, 4)], "seed": list(range(10))},
        about="Oscillation of the projections, and the effect of one label or one point, by width and step",
    ),
    "spectra": Recipe(
        kernel_spectra.dominance,
        {"initial": list(INITIALISATIONS), "width": WIDTHS, "n": [20, 50, 100, 200], "seed": list(range(50))},
        about="Shares of the eigenvalues in the trace of the kernel at initialisation",
    ),
    "early_signal": Recipe(
        kernel_spectra.early,
        {"width": [128, 512, 8192], "design": ["iid", "strat"], "seed": list(range(20))},
        about="Kernel, labels and output gradient by mode at epochs 0 and 100",
        agreement=Agreement(rounding=("labels", "share"), eigenvalues="eigenvalues"),
    ),
}
