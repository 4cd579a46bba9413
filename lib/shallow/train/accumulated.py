r"""Full-batch Adam for deep networks in bounded memory: the gradient is accumulated over micro-batches.

The images are cut into consecutive micro-batches $B_1, \dots, B_m$ of almost equal size.  With cross-entropy $\ell$

.. math:: \mathcal L(\theta) = \frac1n \sum_{j=1}^m \sum_{i \in B_j} \ell(f(x_i; \theta), y_i), \qquad
          \nabla \mathcal L = \sum_{j=1}^m \nabla \frac1n \sum_{i \in B_j} \ell(f(x_i; \theta), y_i)

is the gradient of all n images up to rounding.  **With batch normalisation** f depends on its batch: every micro-batch
is normalised by its own mean and variance, the same images together at every step, and $\mathcal L$ means that loss.
One micro-batch of all images gives normalisation by the full batch.  The images should be in random order.
"""

from __future__ import annotations

import copy
import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from tqdm import tqdm

from shallow import checks
from shallow.deep import weight_matrices
from shallow.representation import short
from shallow.train.univariate import Diverged

#: What is measured of a network: arrays by name.
Measure = Callable[[nn.Module], Mapping[str, np.ndarray]]


@dataclass(frozen=True)
class Run:
    """One training run.

    Attributes:
        records: steps after which was measured, shape (R,); 0 is the initialisation.
        loss: mean cross-entropy before every step and after the last, shape (steps + 1,).
        measures: what was measured at the records, a list of length R of arrays by name.
        network: the trained network, on the CPU.
    """

    records: np.ndarray
    loss: np.ndarray
    measures: list[dict[str, np.ndarray]]
    network: nn.Module

    __repr__ = short


def gradient(network: nn.Module, x: torch.Tensor, y: torch.Tensor, *, micro_batch: int, progress=None) -> float:
    r"""Leave $\nabla\mathcal L$ in ``.grad`` of the parameters, whatever was there before; returns $\mathcal L$.

    Args:
        network: a network without buffers, such as those of :mod:`shallow.deep`, on any device.
        x, y: images (n, c, h, w) of the network's type and labels (n,); they are moved to its device in pieces.
        micro_batch: largest number of images at a time.
        progress: a bar of tqdm that advances by the number of images.

    Cost: one forward and backward pass for every image; memory for the activations of one micro-batch.
    """
    network.zero_grad(set_to_none=True)
    return _accumulate(network, x, y, micro_batch, backward=True, progress=progress)


def loss(network: nn.Module, x: torch.Tensor, y: torch.Tensor, *, micro_batch: int) -> float:
    r"""$\mathcal L$ alone, with the arguments of :func:`gradient`; a third of its cost."""
    with torch.no_grad():
        return _accumulate(network, x, y, micro_batch, backward=False)


def train(
    x: np.ndarray,
    y: np.ndarray,
    network: nn.Module,
    *,
    step: float = 0.01,
    steps: int = 10,
    records: np.ndarray | None = None,
    measure: Measure = weight_matrices,
    micro_batch: int = 100,
    device: str | torch.device = "cpu",
    checkpoint: str | os.PathLike | None = None,
    progress: bool | None = None,
) -> Run:
    r"""Train by Adam on the full batch: `torch.optim.Adam` with $\beta = (0.9, 0.999)$, $\epsilon = 10^{-8}$, no decay.

    Args:
        x, y: images, shape (n, c, h, w), taken in the type of the network, and labels (n,), integers from 0.
        network: initial network without buffers, such as those of :mod:`shallow.deep`; not changed.
        step: $\eta$.
        steps: number of steps.
        records: ascending steps in 0..steps at which to measure; by default the first and the last.
        measure: called with the network at the records; by default a copy of all weight matrices.
        micro_batch: largest number of images at a time; it bounds the memory and, with batch normalisation, says what
            is normalised together.
        device: where to compute.
        checkpoint: file that holds the state of the run after every step, written so that it is whole at any moment.
            A run that finds its own checkpoint goes on from there, on the CPU to the same bits as without interruption.
        progress: show a progress line; by default only on a terminal.

    Raises:
        ValueError: for impossible input, naming the argument, and for a checkpoint that is broken or of another run.
        Diverged: when the loss is not finite, naming the step.

    Source: "From Spikes to Heavy Tails", Section 5.3 and Appendix F.6 ($\eta = 0.01$, 10 steps).

    Cost: steps + 1/3 gradients, see :func:`gradient`.  With 100 images of 32 x 32 per micro-batch it takes 1.0 GB
    for VGG11 and 1.4 GB for ResNet18; each further image in it takes about 2 MB and 5 MB.  A checkpoint takes the
    space of the measures and three times that of the weights.
    """
    records = _check_options(step, steps, records, micro_batch)
    images, labels = _check_data(x, y, network)
    network = copy.deepcopy(network)
    identity = _identity(images, labels, network, step, steps, records, micro_batch)
    network = network.to(device)
    optimizer = torch.optim.Adam(network.parameters(), lr=step)
    losses, measures = _resume(checkpoint, identity, network, optimizer)
    if not losses and 0 in records:
        measures.append(_measured(measure, network))
    total, done = steps * len(labels), len(losses) * len(labels)
    with tqdm(total=total, initial=done, unit="image", disable=None if progress is None else not progress) as bar:
        for t in range(len(losses), steps):
            value = gradient(network, images, labels, micro_batch=micro_batch, progress=bar)
            losses.append(_finite(value, t))
            optimizer.step()
            if t + 1 in records:
                measures.append(_measured(measure, network))
            _save(checkpoint, identity, network, optimizer, losses, measures)
    final = _finite(loss(network, images, labels, micro_batch=micro_batch), steps)
    return Run(records, np.array([*losses, final]), measures, network.cpu())


def _accumulate(network, x, y, micro_batch: int, *, backward: bool, progress=None) -> float:
    """Sum over the micro-batches of their share of the loss, each followed by its backward pass or not."""
    checks.integers(1, micro_batch=micro_batch)
    device, value = next(network.parameters()).device, 0.0
    pieces = -(-len(y) // micro_batch)
    for images, labels in zip(x.tensor_split(pieces), y.tensor_split(pieces), strict=True):
        logits = network(images.to(device, memory_format=torch.channels_last))  # faster, on processors too
        share = nn.functional.cross_entropy(logits, labels.to(device), reduction="sum") / len(y)
        if backward:
            share.backward()
        value += share.item()
        if progress is not None:
            progress.update(len(labels))
    return value


def _finite(value: float, t: int) -> float:
    if not np.isfinite(value):
        raise Diverged(t)
    return value


def _measured(measure: Measure, network: nn.Module) -> dict[str, np.ndarray]:
    """What is measured, copied, so that further steps do not change it."""
    return {name: np.array(array, order="C") for name, array in measure(network).items()}


def _identity(images, labels, network, step, steps, records, micro_batch) -> str:
    """Hash of everything that determines the run, except for what is measured."""
    digest = hashlib.sha256(repr((str(network), step, steps, records.tolist(), micro_batch, images.shape)).encode())
    for tensor in (images, labels, *network.parameters()):
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _save(path, identity, network, optimizer, losses, measures) -> None:
    """Write the state of a run beside its file, then move it there."""
    if path is None:
        return
    state = {
        "identity": identity,
        "network": network.state_dict(),
        "optimizer": optimizer.state_dict(),
        "losses": losses,
        "measures": [{name: torch.from_numpy(array) for name, array in found.items()} for found in measures],
    }
    beside = Path(f"{os.fspath(path)}.{os.getpid()}.part")
    try:
        torch.save(state, beside)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _resume(path, identity, network, optimizer) -> tuple[list[float], list[dict[str, np.ndarray]]]:
    """Losses and measures so far, with the network and the optimizer set to go on; nothing without a checkpoint."""
    if path is None or not Path(path).exists():
        return [], []
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        found = state["identity"]
    except Exception as error:  # what is no checkpoint fails in any way
        raise ValueError(f"checkpoint must be written by this function, but {path} is not one ({error})") from error
    if found != identity:
        raise ValueError(
            f"checkpoint {path} belongs to another run: other data, network, steps or micro_batch; remove it"
        )
    network.load_state_dict(state["network"])
    optimizer.load_state_dict(state["optimizer"])
    measures = [{name: tensor.numpy() for name, tensor in found.items()} for found in state["measures"]]
    return list(state["losses"]), measures


def _check_data(x, y, network) -> tuple[torch.Tensor, torch.Tensor]:
    checks.numbers(x=x, y=y)
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    if x.ndim != 4 or not x.size or not np.issubdtype(x.dtype, np.floating) or not np.isfinite(x).all():
        raise ValueError(
            f"x must be finite floats of shape (n, channels, height, width), got {x.dtype} of {checks.given(x)}"
        )
    if y.shape != (len(x),) or not np.issubdtype(y.dtype, np.integer) or y.min() < 0:
        raise ValueError(
            f"y must be {len(x)} integers that are not negative, got {y.dtype} of {checks.given(y, y >= 0)}"
        )
    if next(network.buffers(), None) is not None:
        raise ValueError("network must have no buffers, such as running statistics of batch normalisation")
    return torch.tensor(x, dtype=next(network.parameters()).dtype), torch.tensor(y, dtype=torch.int64)


def _check_options(step, steps, records, micro_batch) -> np.ndarray:
    checks.numbers(records=records)
    checks.positive(step=step)
    checks.integers(1, steps=steps, micro_batch=micro_batch)
    given = np.array([0, steps]) if records is None else np.asarray(records)
    whole = given.ndim == 1 and np.issubdtype(given.dtype, np.integer) and given.size
    if not whole or given[0] < 0 or given[-1] > steps or (np.diff(given) <= 0).any():
        raise ValueError(f"records must be ascending steps in 0..{steps}, got {records}")
    return given.astype(np.int64)
