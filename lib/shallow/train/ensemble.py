r"""Many small multilayer perceptrons of equal widths: seeds, learning rates and weight decays side by side.

Use it for widths of some hundreds.  Adam or AdaDelta on shuffled mini-batches, with early stopping and with layers that
are frozen or redrawn on the way.  No network knows of another: each has its data, its rates, its random numbers and its
own early stopping, and equals the same network trained alone in PyTorch, step by step.  They wait in a queue for `jobs`
threads, and each runs in compiled code (:mod:`shallow.train.backpropagation`); one that has stopped costs nothing more.
Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Sections 4.1 and 5.1, and its public
code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg  # noqa: F401  compiled code calls its BLAS, which must be loaded before it can be limited

from shallow import checks
from shallow.display import short
from shallow.extras import threadpool_info, threadpool_limits
from shallow.mlp import Stack, uniform
from shallow.train import backpropagation
from shallow.train.backpropagation import ABSOLUTE, ADADELTA, ADAM, LOGIT, PROBABILITY, WITH_SMALL_FACTORS
from shallow.train.run import check_generators, for_each, schedule

LOSSES = {"absolute": ABSOLUTE, "bce-logit": LOGIT, "bce-probability": PROBABILITY}
OPTIMISERS = {"adam": ADAM, "adadelta": ADADELTA}


class Mode(NamedTuple):
    """A schedule: layers frozen in the warm-up and after it, and whether the output layer is redrawn in between.

    Layer 0 is the first one, layer -1 the output.
    """

    warming: tuple[int, ...] = ()
    afterwards: tuple[int, ...] = (0,)
    redraw: bool = False


MODES = {
    "regular": Mode(afterwards=()),
    "stop-first": Mode(),
    "first-last": Mode(warming=(-1,)),
    "reinit": Mode(redraw=True),
}


@dataclass(frozen=True)
class Fit:
    """R trained networks.  Epochs are counted from 1, with those of a warm-up; epoch 0 is the start.

    Attributes:
        last: the networks as they stopped; a diverged one has parameters or outputs that are not finite.
        best: the networks at the last improvement of the validation loss by `min_delta`; without validation, the last.
        epochs, best_epoch: when that was, shape (R,).
        training: mean over the points of an epoch of the loss before each point's own step, shape (R, T); NaN after the
            network stopped.
        validation: mean loss of the validation points after each epoch, shape (R, T); NaN likewise.
        diverged: whether a loss or a parameter was no longer finite, which stops a network; shape (R,).
        records: the recorded epochs, shape (S,).
        values: for each network what was measured at the records that it reached, networks (stacks of one) by default.
    """

    last: Stack
    best: Stack
    epochs: np.ndarray
    best_epoch: np.ndarray
    training: np.ndarray
    validation: np.ndarray
    diverged: np.ndarray
    records: np.ndarray
    values: list[list[Any]]

    __repr__ = short

    def snapshot(self, epoch: int) -> Stack:
        """All networks after a recorded epoch, if no measure was given; those that had stopped are as they stopped."""
        checks.integers(0, epoch=epoch)
        if epoch not in self.records:
            raise ValueError(f"epoch must be recorded, one of {self.records.tolist()}, got {epoch}")
        i = self.records.tolist().index(epoch)
        rows = [v[i].parameters[0] if i < len(v) else last for v, last in zip(self.values, self.last.parameters)]
        return Stack(np.stack(rows), self.last.widths)


def train(
    networks: Stack,
    x: np.ndarray,
    y: np.ndarray,
    *,
    rngs: Sequence[np.random.Generator],
    loss: str,
    optimiser: str,
    rate: float | np.ndarray,
    decay: float | np.ndarray = 0.0,
    epochs: int,
    batch: int = 32,
    validation: tuple[np.ndarray, np.ndarray] | None = None,
    validation_batch: int | None = None,
    patience: int | None = None,
    min_delta: float = 1e-4,
    mode: str = "regular",
    warmup: int = 1,
    records: Sequence[int] = (),
    measure: Callable[[Stack], Any] | None = None,
    jobs: int = 1,
) -> Fit:
    r"""Train every network of a stack on its own, in the number type of its parameters.

    Args:
        networks: the R initial networks; not changed.
        x, y: inputs (n, d) and labels (n,) for all networks, or (R, n, d) and (R, n) with a draw for each.
        rngs: R generators; each shuffles the epochs of its network, the last batch being smaller if n is no multiple,
            and redraws its output layer in mode "reinit".
        loss: mean over a batch of $|f - y|$, "absolute"; or of the cross-entropy with labels 0 and 1 of the logit f,
            "bce-logit" (torch.nn.BCEWithLogitsLoss), or of the probability $1/(1 + e^{-f})$ as it is rounded and cut
            off in torch.nn.BCELoss, "bce-probability": there a point of saturated wrong probability has no gradient.
        optimiser: "adam" or "adadelta", as in torch.optim with its default constants.
        rate, decay: learning rate and weight decay, one number or R; the decay times the parameter is added to the
            gradient, before the optimiser normalises it.
        epochs: at most so many, after the warm-up.
        batch: B, at most n.
        validation: inputs and labels, each shared or one per network as x and y are.
        validation_batch: if given, the validation loss is the mean of the means over batches of so many validation
            points, put in a new random order after every epoch, as a loop over a shuffled loader computes it: points of
            a smaller last batch count more.  By default it is the mean over the points.  Training is the same.
        patience, min_delta: a network stops when its validation loss has not fallen by at least `min_delta` below that
            of the last such improvement for `patience` epochs; by default it never does.  It keeps its last weights.
        mode: "regular"; or after `warmup` epochs, not seen by early stopping, the first layer is frozen: "stop-first",
            "first-last" (in the warm-up the output layer is frozen instead) or "reinit" (the output layer is then
            redrawn from PyTorch's default).  The optimiser keeps its state, and has none of a layer never trained; no
            weight decay acts on a frozen layer.
        warmup: may be 0; of no effect in mode "regular".
        records: ascending epochs after which a network is measured, 0 for the start; a redraw comes after its record.
        measure: a function of a stack of one network, called in the threads; by default the network is kept.
        jobs: threads; also the number of processors used, as BLAS is held to one thread each.

    Raises:
        ValueError: for impossible input, naming the argument.

    Cost: 6 P operations per point and epoch, P parameters; a step of 32 points takes about 14 microseconds at P = 8,900
    and 55 at 52,000 in float32 with AVX-512, up to twice that without.
    """
    replicas = len(networks)
    for table, given in ((LOSSES, {"loss": loss}), (OPTIMISERS, {"optimiser": optimiser}), (MODES, {"mode": mode})):
        checks.one_of(table, **given)
    check_generators(rngs, replicas)
    checks.integers(0, warmup=warmup)
    checks.integers(1, epochs=epochs, jobs=jobs)
    checks.finite(networks=networks.parameters)
    checks.positive(rate=rate)
    checks.not_negative(decay=decay, min_delta=min_delta)
    points = _data(networks, x, y, "", loss)
    held_out = None if validation is None else _data(networks, *validation, "validation ", loss)
    checks.integers(1, points[0].shape[-2], batch=batch)
    for name, given in {"patience": patience, "validation_batch": validation_batch}.items():
        if given is not None:
            checks.integers(1, **{name: given})
            if validation is None:
                raise ValueError(f"validation must be given where {name} is, got None")
    rates, decays = for_each(replicas, rate=rate), for_each(replicas, decay=decay)
    warmup = 0 if mode == "regular" else warmup
    total, kind, layers = warmup + epochs, LOSSES[loss], MODES[mode]
    recorded = schedule(records, total) if len(records) else np.empty(0, np.int64)
    small = any(one.get("architecture") in WITH_SMALL_FACTORS for one in threadpool_info())

    def run(r: int) -> tuple[Any, ...]:
        """Train network r until it has no patience left, diverges or has seen all epochs."""
        state, rng, (x, y) = _State(networks, r), rngs[r], _of(points, r)
        losses, values = np.full((2, total), np.nan), []
        best, best_epoch, best_loss, diverged = state.theta.copy(), 0, np.inf, False
        shuffle = None if validation_batch is None else rng.spawn(1)[0]

        def look(t: int) -> None:
            if t in recorded:
                now = Stack(state.theta[None].copy(), networks.widths)
                values.append(now if measure is None else measure(now))

        look(0)
        for t in range(1, total + 1):
            if t == warmup + 1 and layers.redraw:
                state.redraw_output(rng)
            frozen = layers.warming if t <= warmup else layers.afterwards
            options = (rng.permutation(len(x)), batch, kind, OPTIMISERS[optimiser], rates[r], decays[r], small)
            losses[0, t - 1] = state.epoch(frozen, x, y, *options)
            if held_out is not None:
                losses[1, t - 1] = state.held_out(*_of(held_out, r), kind, validation_batch, shuffle)
            look(t)
            seen = losses[: 1 if held_out is None else 2, t - 1]
            diverged = not (np.isfinite(seen).all() and np.isfinite(state.theta).all())
            if diverged:
                break
            if t > warmup:
                if held_out is None or best_loss - losses[1, t - 1] >= min_delta:
                    best, best_epoch, best_loss = state.theta.copy(), t, losses[1, t - 1]
                elif patience is not None and t - best_epoch >= patience:
                    break
        return state.theta, best, t, best_epoch, losses, diverged, values

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(jobs) as pool:
        last, best, ends, best_epochs, losses, diverged, values = zip(*pool.map(run, range(replicas)), strict=True)
    training, held = np.moveaxis(np.stack(losses)[:, :, : max(ends)], 1, 0)
    return Fit(
        last=Stack(np.stack(last), networks.widths),
        best=Stack(np.stack(best), networks.widths),
        epochs=np.array(ends),
        best_epoch=np.array(best_epochs),
        training=training,
        validation=held,
        diverged=np.array(diverged),
        records=recorded,
        values=list(values),
    )


class _State:
    """A network in training, and what its optimiser remembers."""

    def __init__(self, networks: Stack, r: int) -> None:
        self.theta, self.widths = networks.parameters[r].copy(), np.array(networks.widths)
        self.moments = np.zeros((2, len(self.theta)), self.theta.dtype)
        self.ages = np.zeros(len(self.widths) - 1, np.int64)

    def epoch(self, frozen: tuple[int, ...], x: np.ndarray, y: np.ndarray, *options: Any) -> float:
        trained = np.ones(len(self.ages), np.bool_)
        trained[list(frozen)] = False
        return backpropagation.epoch(self.theta, self.moments, self.ages, trained, self.widths, x, y, *options)

    def held_out(
        self, x: np.ndarray, y: np.ndarray, kind: int, batch: int | None, rng: np.random.Generator | None
    ) -> float:
        if batch is None:
            return backpropagation.mean_loss(self.theta, self.widths, x, y, kind)
        order, whole = rng.permutation(len(x)), (len(x) - 1) // batch  # batches before the last
        parts = (order[: whole * batch], order[whole * batch :])
        first, last = (backpropagation.mean_loss(self.theta, self.widths, x[p], y[p], kind) for p in parts)
        return (whole * first + last) / (whole + 1) if whole else last

    def redraw_output(self, rng: np.random.Generator) -> None:
        width = int(self.widths[-2])
        for part in (self.theta[-1 - width : -1], self.theta[-1:]):
            part[:] = uniform(rng, len(part), width**-0.5)


def _of(data: tuple[np.ndarray, np.ndarray], r: int) -> tuple[np.ndarray, np.ndarray]:
    """The inputs and labels of network r."""
    x, y = data
    return x if x.ndim == 2 else x[r], y if y.ndim == 1 else y[r]


def _data(networks: Stack, x: np.ndarray, y: np.ndarray, prefix: str, loss: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and labels, (n, d) and (n,) or with a leading axis R, checked."""
    replicas = (len(networks),)
    checks.array((*replicas * (np.ndim(x) == 3), "n", networks.widths[0]), **{f"{prefix}x": x})
    checks.array((*replicas * (np.ndim(y) == 2), np.shape(x)[-2]), **{f"{prefix}y": y})
    if loss.startswith("bce") and not np.isin(y, (0, 1)).all():
        raise ValueError(f"{prefix}y must hold labels 0 and 1 for the loss {loss!r}")
    # Writable and contiguous: for every other kind of array the steps would be compiled anew.
    return tuple(np.require(array, networks.parameters.dtype, ["C", "W"]) for array in (x, y))
