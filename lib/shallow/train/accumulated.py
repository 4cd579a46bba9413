r"""Full-batch Adam for deep networks in bounded memory: the gradient is accumulated over micro-batches.

Use it where the images or their activations do not fit at once.  The images are cut into consecutive micro-batches
$B_1, \dots, B_m$ of almost equal size.  With cross-entropy $\ell$

.. math:: \mathcal L(\theta) = \frac1n \sum_{j=1}^m \sum_{i \in B_j} \ell(f(x_i; \theta), y_i), \qquad
          \nabla \mathcal L = \sum_{j=1}^m \nabla \frac1n \sum_{i \in B_j} \ell(f(x_i; \theta), y_i)

is the gradient of all n images up to rounding.  **With batch normalisation** f depends on its batch: every micro-batch
is normalised by its own mean and variance, the same images together at every step, and $\mathcal L$ means that loss.
One micro-batch of all images gives normalisation by the full batch.  The images should be in random order.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from shallow import checks
from shallow.deep import weight_matrices
from shallow.extras import nn, torch
from shallow.train.run import Diverged, Run, schedule

#: What is measured of a network: arrays by name.
Measure = Callable[[nn.Module], Mapping[str, np.ndarray]]


def gradient(network: nn.Module, x: torch.Tensor, y: torch.Tensor, *, micro_batch: int) -> float:
    r"""Leave $\nabla\mathcal L$ in ``.grad`` of the parameters, whatever was there before; returns $\mathcal L$.

    Args:
        network: a network without buffers, such as those of :mod:`shallow.deep`, on any device.
        x, y: images (n, c, h, w) of the network's type and labels (n,); they are moved to its device in pieces.
        micro_batch: largest number of images at a time.

    Cost: one forward and backward pass for every image; memory for the activations of one micro-batch.
    """
    network.zero_grad(set_to_none=True)
    return _accumulate(network, x, y, micro_batch, backward=True)


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
    records: Sequence[int] | np.ndarray | int | None = None,
    measure: Measure = weight_matrices,
    micro_batch: int = 100,
    device: str | torch.device = "cpu",
) -> Run:
    r"""Train by Adam on the full batch: `torch.optim.Adam` with $\beta = (0.9, 0.999)$, $\epsilon = 10^{-8}$, no decay.

    Args:
        x, y: images, shape (n, c, h, w), taken in the type of the network, and labels (n,), integers from 0.
        network: initial network without buffers, such as those of :mod:`shallow.deep`; not changed.
        step: $\eta$.
        steps: number of steps.
        records: steps to record, or an interval between records; by default the first and the last.
        measure: called with the network at the records; by default a copy of all weight matrices.
        micro_batch: largest number of images at a time; it bounds the memory and, with batch normalisation, says what
            is normalised together.
        device: where to compute.

    Returns:
        The run; its `values` are arrays by name, its `loss` the mean cross-entropy before every step and after the
        last, shape (steps + 1,), its network is on the CPU.

    Raises:
        ValueError: for impossible input, naming the argument.
        Diverged: when the loss is not finite, naming the step.

    Source: "From Spikes to Heavy Tails", Section 5.3 and Appendix F.6 ($\eta = 0.01$, 10 steps).

    Cost: steps + 1/3 gradients, see :func:`gradient`.  With 100 images of 32 x 32 per micro-batch it takes 1.0 GB
    for VGG11 and 1.4 GB for ResNet18; each further image in it takes about 2 MB and 5 MB.
    """
    checks.within("(0, 1e30]", step=step)
    checks.integers(1, steps=steps, micro_batch=micro_batch)
    checks.array(("n", "channels", "height", "width"), x=x)
    checks.array((len(x),), y=y)
    for name, array, kind in (("x", x, np.floating), ("y", y, np.integer)):
        if not np.issubdtype(np.asarray(array).dtype, kind):
            raise ValueError(f"{name} must be of type {kind.__name__}, got {np.asarray(array).dtype}")
    checks.not_negative(y=y)
    if next(network.buffers(), None) is not None:
        raise ValueError("network must have no buffers, such as running statistics of batch normalisation")
    records, network = schedule(records, steps), copy.deepcopy(network)
    images = torch.tensor(np.ascontiguousarray(x), dtype=next(network.parameters()).dtype)
    labels = torch.tensor(np.ascontiguousarray(y), dtype=torch.int64)
    network = network.to(device)
    optimizer, losses, values = torch.optim.Adam(network.parameters(), lr=step), [], []
    for t in range(steps + 1):
        if t in records:  # copied, so that further steps do not change it
            values.append({name: np.array(array, order="C") for name, array in measure(network).items()})
        of_all = gradient if t < steps else loss
        losses.append(of_all(network, images, labels, micro_batch=micro_batch))
        if not np.isfinite(losses[-1]):
            raise Diverged(t)
        if t < steps:
            optimizer.step()
    return Run(records, values, network.cpu(), np.array(losses))


def _accumulate(network, x, y, micro_batch: int, *, backward: bool) -> float:
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
    return value
