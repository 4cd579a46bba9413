"""The tangent kernel at initialisation: its spectrum, what it has to do with the labels, and its formulas checked."""

from __future__ import annotations

import numpy as np
import torch
import xarray as xr

from experiments.cyclic_labels import oracle
from experiments.cyclic_labels.kernel import modes
from experiments.cyclic_labels.loss_curves import INITIALISATIONS
from shallow import nets
from shallow.book.recipes import releases_gil
from shallow.data import cyclic
from shallow.kernels import empirical
from shallow.train import univariate


@releases_gil
def spectrum(
    seed: int,
    *,
    width: int = 512,
    n: int = 50,
    base: int = 0,
    design: str = "iid",
    initial: str = "default",
    shift: float = 0.0,
    bias: bool = True,
) -> xr.Dataset:
    """The kernel at initialisation, on the training inputs plus `shift`; without hidden biases if `bias` is false.

    labels is the share of |y|^2 along each eigenvector; changes are its sign changes along x, affine is its squared
    norm in the span of 1 and x; output_share is the share of the trace that comes from the output weights.
    """
    sample = cyclic.sample(n, base=base, seed=seed, design=design)
    network = INITIALISATIONS[initial](sample.rng, width)
    if not bias:
        network = nets.TwoLayer(network.W, 0 * network.b, network.v)
    parts = empirical.blocks(network, sample.x + shift)
    kernel = sum(parts if bias else parts[:2])
    values, vectors = empirical.eigenbasis(kernel)
    data = {
        "eigenvalues": ("rank", values),
        "labels": ("rank", (sample.y @ vectors) ** 2 / n),
        "changes": ("mode", modes.sign_changes(vectors[:, : modes.MODES])),
        "affine": ("mode", affine_share(sample.x, vectors[:, : modes.MODES])),
        "output_share": ((), np.trace(parts.output) / np.trace(kernel)),
    }
    return xr.Dataset(data, {"rank": np.arange(1, n + 1), "mode": modes.NUMBERS})


@releases_gil
def dominance(seed: int, *, width: int, n: int, initial: str = "default") -> xr.Dataset:
    """Share of the first eigenvalues in the trace at initialisation; enough: how many modes hold 95% of it."""
    values = spectrum(seed, width=width, n=n, initial=initial).eigenvalues.values
    shares = (values / values.sum())[: modes.MODES]
    return xr.Dataset({"share": ("mode", shares), "enough": empirical.modes_for(values)}, {"mode": modes.NUMBERS})


def affine_share(x: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Squared norm of each unit column of vectors (n, k) in the span of 1 and x; shape (k,)."""
    basis = np.linalg.qr(np.stack([np.ones_like(x), x], axis=1))[0]
    return ((basis.T @ vectors) ** 2).sum(axis=0)


@releases_gil
def early(seed: int, *, design: str = "iid", step: float = 0.001, width: int = 512, n: int = 50) -> xr.Dataset:
    """Share of |g|^2 along each eigenvector over `epoch` (0, 100) and `rank` (1..n), with all of :func:`spectrum`."""
    sample = cyclic.sample(n, base=7, seed=seed, design=design)
    network = nets.default(sample.rng, width)
    vectors = empirical.eigenbasis(empirical.ntk(network, sample.x))[1]
    run = univariate.train(sample.x, sample.y, network, step=step, epochs=101, keep_gradients=True)
    energy = run.projections(vectors)[[0, 100]] ** 2
    at_start = spectrum(seed, width=width, n=n, base=7, design=design)
    return at_start.assign(share=(("epoch", "rank"), energy / energy.sum(axis=1, keepdims=True))).assign_coords(
        epoch=[0, 100]
    )


@releases_gil
def form_errors(width: int, n: int, seed: int) -> xr.Dataset:
    """How far the kernel of a network of the base 0 is from what it should be, relative to its largest entry.

    form: closed form against J J^T by automatic differentiation; rebuilt: K against its eigenvectors and eigenvalues;
    orthonormal: the eigenvectors' Gram matrix against the identity; smallest: smallest eigenvalue over the largest.
    """
    data = cyclic.sample(n, seed=seed)
    network = nets.default(data.rng, width)
    kernel = empirical.ntk(network, data.x)
    reference = sum(J @ J.T for J in oracle.jacobian(network, data.x).values())
    values, vectors = empirical.eigenbasis(kernel)
    return xr.Dataset(
        {
            "form": np.abs(kernel - reference).max() / kernel.max(),
            "rebuilt": np.abs(vectors * values @ vectors.T - kernel).max() / kernel.max(),
            "orthonormal": np.abs(vectors.T @ vectors - np.eye(n)).max(),
            "smallest": values[-1] / values[0],
        }
    )


@releases_gil
def gradient_errors(epochs: int, seed: int, *, n: int = 50, width: int = 512, step: float = 0.01) -> xr.Dataset:
    r"""What moves the parameters of a network of the base 0 after training.

    gradient: largest difference of $J^\top g$ and the loss gradient by automatic differentiation; speed: difference of
    $|J^\top g|^2$ and $\sum_i \lambda_i \beta_i^2$, both relative where larger than 1; update: $|J^\top g|$.
    """
    data = cyclic.sample(n, seed=seed)
    network = univariate.train(data.x, data.y, nets.default(data.rng, width), step=step, epochs=epochs).network
    f, J = network.forward(data.x), oracle.jacobian(network, data.x)
    g = -data.y * (data.y * f < 1)
    parameters = oracle.tensors(network)
    oracle.objective(parameters, torch.tensor(data.x[:, None]), torch.tensor(data.y)).backward()
    found = np.concatenate([J[name].T @ g for name in ("W", "b", "v")])
    expected = np.concatenate([p.grad.numpy().ravel() for p in parameters])
    values, vectors = empirical.eigenbasis(empirical.ntk(network, data.x))
    squared = (found**2).sum()
    return xr.Dataset(
        {
            "gradient": np.abs(found - expected).max() / max(1.0, np.abs(expected).max()),
            "speed": abs(squared - (values * (vectors.T @ g) ** 2).sum()) / max(1.0, squared),
            "update": np.sqrt(squared),
            "residual": np.linalg.norm(f - data.y),
        }
    )
