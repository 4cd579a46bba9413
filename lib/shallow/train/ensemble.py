r"""Many small multilayer perceptrons of equal widths: seeds, learning rates and weight decays side by side.

Adam or AdaDelta on shuffled mini-batches, with early stopping and with layers that are frozen or redrawn on the way.
No network knows of another: each has its data, its rates, its random numbers and its own early stopping, and equals the
same network trained alone in PyTorch, step by step.  They wait in a queue for `jobs` threads, and each runs in compiled
code (:mod:`shallow.train.backpropagation`); one that has stopped costs nothing more.
Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Sections 4.1 and 5.1, and its public
code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401  compiled code calls its BLAS, which must be loaded before it can be limited
from threadpoolctl import threadpool_limits

from shallow import checks
from shallow.mlp import Stack
from shallow.representation import short
from shallow.train.backpropagation import ABSOLUTE, ADADELTA, ADAM, LOGIT, PROBABILITY
from shallow.train.schedules import MODES, Task, check_integer

LOSSES = {"absolute": ABSOLUTE, "bce-logit": LOGIT, "bce-probability": PROBABILITY}
OPTIMISERS = {"adam": ADAM, "adadelta": ADADELTA}


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

    Cost: 6 P operations per point and epoch, P parameters; a step of 32 points takes about 26 microseconds at P = 8,900
    and 120 at 52,000 in float32.
    """
    checks.numbers(records=records)
    loss_number = _chosen("loss", loss, LOSSES)
    task = Task(
        networks,
        _data(networks, x, y, "", loss),
        None if validation is None else _data(networks, *validation, "validation ", loss),
        rngs,
        loss=loss_number,
        optimiser=_chosen("optimiser", optimiser, OPTIMISERS),
        rates=_each("rate", rate, len(networks), least=np.nextafter(0, 1)),
        decays=_each("decay", decay, len(networks), least=0),
        mode=_chosen("mode", mode, MODES),
        warmup=0 if mode == "regular" else warmup,
        epochs=epochs,
        batch=batch,
        patience=patience,
        min_delta=min_delta,
        records=np.asarray(records) if len(records) else np.empty(0, np.int64),
        measure=measure,
    )
    check_integer("jobs", jobs)
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(jobs) as pool:
        runs = list(pool.map(task.run, range(len(networks))))
    longest = max(run.epochs for run in runs)
    return Fit(
        last=Stack(np.stack([run.last for run in runs]), networks.widths),
        best=Stack(np.stack([run.best for run in runs]), networks.widths),
        epochs=np.array([run.epochs for run in runs]),
        best_epoch=np.array([run.best_epoch for run in runs]),
        training=np.stack([run.losses[0, :longest] for run in runs]),
        validation=np.stack([run.losses[1, :longest] for run in runs]),
        diverged=np.array([run.diverged for run in runs]),
        records=task.records,
        values=[run.values for run in runs],
    )


# Bad input.


def _data(networks: Stack, x: np.ndarray, y: np.ndarray, prefix: str, loss: str) -> tuple[np.ndarray, np.ndarray]:
    # Writable and contiguous: for every other kind of array the steps would be compiled anew.
    checks.numbers(**{f"{prefix}x": x, f"{prefix}y": y})
    x, y = (np.require(array, networks.parameters.dtype, ["C", "W"]) for array in (x, y))
    replicas, inputs = len(networks), networks.widths[0]
    fits = x.ndim in (2, 3) and x.shape[-1] == inputs and x.shape[-2] > 0 and (x.ndim == 2 or len(x) == replicas)
    if not fits or not np.isfinite(x).all():
        raise ValueError(
            f"{prefix}x must be finite of shape (n, {inputs}) or ({replicas}, n, {inputs}), got {checks.given(x)}"
        )
    n = x.shape[-2]
    if y.shape not in ((n,), (replicas, n)) or not np.isfinite(y).all():
        raise ValueError(f"{prefix}y must be finite of shape ({n},) or ({replicas}, {n}), got {checks.given(y)}")
    if loss.startswith("bce") and not np.isin(y, (0, 1)).all():
        raise ValueError(f"{prefix}y must hold labels 0 and 1 for the loss {loss!r}")
    return x, y


def _chosen(name: str, value: str, table: dict[str, Any]) -> Any:
    if value not in table:
        raise ValueError(f"{name} must be one of {', '.join(table)}, got {value!r}")
    return table[value]


def _each(name: str, value: float | np.ndarray, count: int, least: float) -> np.ndarray:
    """One number for each network."""
    checks.numbers(**{name: value})
    value = np.asarray(value, dtype=np.float64)
    if value.shape not in ((), (count,)) or not (np.isfinite(value) & (value >= least)).all():
        kind = "positive" if least else "not negative"
        raise ValueError(f"{name} must be finite and {kind}, one number or {count}, got {value}")
    return np.broadcast_to(value, (count,))
