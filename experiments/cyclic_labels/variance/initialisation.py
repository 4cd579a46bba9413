r"""Initialisation at zero, near zero and antisymmetric: what is exact about it, and what it changes in training.

The antisymmetric network is $h = \tfrac{1}{\sqrt2} f(\cdot;\theta) - \tfrac{1}{\sqrt2} f(\cdot;\theta')$ with
$\theta'(0) = \theta(0)$ and both copies trained (Bowman 2025, Section 4, after Zhang et al. 2020).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import xarray as xr
from scipy.special import expit

from experiments.cyclic_labels.loss_curves import EPOCHS, GRID, start
from experiments.cyclic_labels.variance import ensembles, heatmaps
from experiments.cyclic_labels.variance.heatmaps import SIZES
from shallow import checks, nets, stats
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import cyclic
from shallow.kernels import empirical
from shallow.nets import TwoLayer
from shallow.train import univariate
from shallow.train.run import schedule

#: Activations with their derivatives; that of ReLU at 0 is 0, as in the trainer.
ACTIVATIONS: dict[str, tuple[Callable, Callable]] = {
    "relu": (lambda z: np.maximum(z, 0.0), lambda z: (z > 0).astype(float)),
    "softplus": (lambda z: np.logaddexp(0.0, z), expit),
}
#: The networks of the comparison; `matched` differs from the antisymmetric one in its start alone, see `compared`.
NETWORKS = {
    "plain": dict(width=512, step=0.01),
    "wide": dict(width=1024, step=0.01),
    "antisymmetric": dict(width=512, step=0.01, antisymmetric=True),
    "matched": dict(width=1024, step=0.01 * 2**-0.5, alpha=2**-0.25),
}
#: Plain networks between `wide` and `matched` (scale or step alone), and two more with the same step x eigenvalue as
#: `plain`, `antisymmetric` and `matched` (the step halved, or the scale divided by the root of two); and the smaller
#: step for as much longer, so that step x epochs is that of `wide`.
CONTROLS = {
    "scale": dict(width=1024, step=0.01, alpha=2**-0.25),
    "step": dict(width=1024, step=0.01 * 2**-0.5),
    "step, longer": dict(width=1024, step=0.01 * 2**-0.5, epochs=28_284, every=28_284),
    "half step": dict(width=1024, step=0.01 / 2),
    "half kernel": dict(width=1024, step=0.01, alpha=2**-0.5),
}


@releases_gil
def saddle(seed: int, *, n: int, periods: int = 3, width: int = 512, base: int = 3, radius: float = 1e-3) -> xr.Dataset:
    r"""The smaller and the larger change $\mathcal L(r\theta) - n$ of the summed hinge along $\theta$ and its mirror.

    The direction $\theta$ is a default draw, the mirror image flips the signs of v.
    """
    sample = cyclic.sample(n, periods=periods, base=base, seed=seed)
    direction = nets.scaled(nets.default(sample.rng, width), radius)
    both = (direction, nets.with_output(direction, -direction.v))
    changes = [-np.minimum(sample.y * network.forward(sample.x), 1.0).sum() for network in both]
    return xr.Dataset({"descent": ((), min(changes)), "ascent": ((), max(changes))})


def stays_at_zero(n: int, *, periods: int = 3, width: int = 512, base: int = 3, epochs: int = 1000) -> bool:
    """Whether the zero network is bit for bit unchanged by training."""
    sample, zero = cyclic.sample(n, periods=periods, base=base), np.zeros(width)
    run = univariate.train(sample.x, sample.y, TwoLayer(zero, zero, zero), step=0.01, epochs=epochs, records=[epochs])
    return not any(parameter.any() for parameter in (run.network.W, run.network.b, run.network.v))


@releases_gil
def kernel_change(
    seed: int, *, alpha: float, width: int, step: float, n: int = 50, base: int = 7, epochs: int = EPOCHS
) -> xr.Dataset:
    r"""Alignment of the last tangent kernel with the first, and the change $\|K_T - K_0\| / \|K_0\|$."""
    sample = cyclic.sample(n, base=base, seed=seed)
    network, rates = start(sample.rng, width, alpha=alpha)
    run = univariate.train(sample.x, sample.y, network, step=step, epochs=epochs, records=[epochs], rates=rates)
    first, last = empirical.ntk(network, sample.x), empirical.ntk(run.network, sample.x)
    change = np.linalg.norm(last - first) / np.linalg.norm(first)
    return xr.Dataset({"alignment": ((), empirical.alignment(first, last)), "change": ((), change)})


@releases_gil
def passage(
    seed: int, *, alpha: float, step: float, n: int = 50, width: int = 512, base: int = 7, epochs: int = EPOCHS
) -> xr.Dataset:
    """When training gets going and where it ends, from initial parameters times alpha.

    start is the first epoch with a training loss below 0.9 n, half below 0.5 n, zero at 0, infinite for never.  Every
    epoch is looked at up to 2000, every 20th after.
    """
    sample = cyclic.sample(n, base=base, seed=seed)
    network, rates = start(sample.rng, width, alpha=alpha)
    records = np.union1d(np.arange(min(2000, epochs) + 1), schedule(20, epochs))
    run = univariate.train(sample.x, sample.y, network, step=step, epochs=epochs, records=records, rates=rates)
    passed = {name: run.loss < share * n for name, share in (("start", 0.9), ("half", 0.5))} | {"zero": run.loss == 0}
    data = {name: ((), float(records[np.argmax(flags)]) if flags.any() else np.inf) for name, flags in passed.items()}
    return xr.Dataset(data | {"final": ((), run.loss[-1] / n)})


def output_of_copies(first: TwoLayer, second: TwoLayer, x: np.ndarray, activation: str = "relu") -> np.ndarray:
    r"""$h = \tfrac{1}{\sqrt2} f(\cdot;\theta) - \tfrac{1}{\sqrt2} f(\cdot;\theta')$, the copies summed in one order."""
    value, _ = ACTIVATIONS[activation]
    f, g = (value(np.outer(x, copy.W[:, 0]) + copy.b) @ copy.v for copy in (first, second))
    return f / np.sqrt(2) - g / np.sqrt(2)


def jacobian(network: TwoLayer, x: np.ndarray, activation: str = "relu") -> np.ndarray:
    """Derivatives of f at x in (v, W, b) for any activation of the table, densely: shape (len(x), 3 m)."""
    value, derivative = ACTIVATIONS[activation]
    z = np.outer(x, network.W[:, 0]) + network.b
    gate = derivative(z) * network.v
    return np.hstack([value(z), gate * x[:, None], gate])


@releases_gil
def doubling(
    seed: int, *, n: int, width: int, activation: str = "relu", factor: float = np.sqrt(0.5), copied: bool = True
) -> xr.Dataset:
    r"""The two exact properties of the antisymmetric network at the start, on the training inputs and 100 grid points.

    output is $\max |h(x; 0)|$, kernel the largest deviation of the kernel of the doubled network from that of the
    single one, relative to the latter's largest entry.  The factor of both copies in h is $1/\sqrt2$ in the definition;
    if not `copied`, the second copy is a second sample, a control that must fail.
    """
    sample = cyclic.sample(n, seed=seed)
    first = nets.default(sample.rng, width)
    second = replace(first) if copied else nets.default(sample.rng, width)
    x = np.concatenate([sample.x, GRID[::10]])
    single = jacobian(first, x, activation)
    both = factor * np.hstack([single, -jacobian(second, x, activation)])
    kernel = single @ single.T
    deviation = np.abs(both @ both.T - kernel).max() / np.abs(kernel).max()
    output = np.abs(output_of_copies(first, second, x, activation)).max()
    return xr.Dataset({"output": ((), output), "kernel": ((), deviation)})


@releases_gil
def folding(seed: int, *, width: int, step: float, n: int = 50, base: int = 0, epochs: int = 500) -> xr.Dataset:
    """Difference on the grid, relative to the output, of the antisymmetric network trained folded and as copies."""
    sample = cyclic.sample(n, base=base, seed=seed)
    network = nets.default(sample.rng, width)
    options = dict(step=step, epochs=epochs, records=[epochs], grid=GRID, rates=nets.ANTISYMMETRIC)
    folded = univariate.train(sample.x, sample.y, nets.antisymmetric(network), **options).predictions[-1]
    unfolded = output_of_copies(*_train_copies(sample.x, sample.y, network, step, epochs), GRID)
    return xr.Dataset({"difference": ((), np.abs(folded - unfolded).max() / np.abs(unfolded).max())})


def _train_copies(x: np.ndarray, y: np.ndarray, network: TwoLayer, step: float, epochs: int) -> list[TwoLayer]:
    copies = [network, replace(network)]
    for _ in range(epochs):
        g = np.where(1.0 - y * output_of_copies(*copies, x) > 0, -y, 0.0)
        for i, sign in enumerate((1.0, -1.0)):
            v, W, b = np.split(step * sign / np.sqrt(2) * (g @ jacobian(copies[i], x)), 3)
            copies[i] = TwoLayer(copies[i].W[:, 0] - W, copies[i].b - b, copies[i].v - v)
    return copies


@releases_gil
def initial_output(n: int, *, width: int = 512, base: int = 0, models: int = 10) -> xr.Dataset:
    """Largest |h(x; 0)| on the grid over the antisymmetric networks of one heatmap column: the scalar output."""
    largest = 0.0
    for seed in range(models):
        network = nets.default(cyclic.sample(n, base=base, seed=seed).rng, width)
        f, g = (univariate.evaluate(copy, GRID)[0] for copy in (network, replace(network)))
        largest = max(largest, float(np.abs(f / np.sqrt(2) - g / np.sqrt(2)).max()))
    return xr.Dataset({"output": ((), largest)})


@releases_gil
def compared(network: str, n: int, **options) -> xr.Dataset:
    r"""A heatmap column, without what is not compared, for one of the networks of the comparison.

    With $\varphi = 2^{-1/4} \theta$ the antisymmetric network is $f(\cdot;\varphi) - f(\cdot;\varphi')$ and moves with
    the step $\eta / \sqrt2$ in all groups: `matched` is a plain network of that width, scale and step.
    """
    checks.one_of(NETWORKS, network=network)
    full = ensembles.ensemble(n, **NETWORKS[network], **options)
    return heatmaps.summary(full)[["variance", "error", "gram", "final_error", "diverged_epoch"]]


@releases_gil
def control(network: str, n: int, **options) -> xr.Dataset:
    """One of `CONTROLS` at the last epoch: gram (pair), final_error and diverged_epoch (model)."""
    checks.one_of(CONTROLS, network=network)
    full = ensembles.ensemble(n, **(options | CONTROLS[network]))
    return heatmaps.summary(full)[["gram", "final_error", "diverged_epoch"]]


def split_null(plain: xr.Dataset, *, name: str, splits: int = 1000) -> dict[str, np.ndarray]:
    """Null of the three comparisons, the models of one network split into two disjoint halves: (splits,) each.

    These are logarithms of the geometric mean over n of the ratio between the halves.
    """
    gram, error = heatmaps.unpack(plain.gram.values), plain.final_error.values
    sizes, models = error.shape
    rng, half = stats.stream("split", name), models // 2
    order = rng.permuted(np.broadcast_to(np.arange(models), (splits, sizes, models)), axis=-1)
    first, second = (order < half) / half, (order >= half) / (models - half)
    halves = {"variance": [], "relative": [], "error": []}
    for weight in (first, second):
        V, square = heatmaps.weighted(gram, weight)
        for name, values in zip(halves, (V, V / square, (weight * error).sum(axis=-1)), strict=True):
            halves[name].append(values)
    return {name: np.log(one / other).mean(axis=-1) for name, (one, other) in halves.items()}


RECORDS: dict[str, Recipe] = {
    "antisymmetric_forty_models": Recipe(
        compared,
        {"network": list(NETWORKS), "n": list(SIZES)},
        {"models": 40, "epochs": 20_000, "every": 500},
        "Antisymmetric against plain, twice as wide, and matched in scale and step, 40 models each",
    ),
    "initialisation_controls": Recipe(
        control,
        {"network": list(CONTROLS), "n": list(SIZES)},
        {"models": 40, "epochs": 20_000, "every": 20_000},
        "Plain networks of width 1024 with the scale or the step of the antisymmetric one, 40 models each",
    ),
    "kernel_from_near_zero": Recipe(
        kernel_change,
        {"alpha": [1.0, 0.1], "width": [128, 512, 8192], "step": [0.001, 0.01], "seed": list(range(10))},
        {"n": 50, "epochs": 20_000},
        "Change of the tangent kernel from default and near-zero initialisation",
    ),
    "passage": Recipe(
        passage,
        {"alpha": [1, 0.5, 0.25, 0.1, 0.03, 0.01], "step": [0.001, 0.01], "seed": list(range(20))},
        about="How long training takes to get going from small initial parameters",
    ),
}
