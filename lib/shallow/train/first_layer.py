r"""Full-batch gradient descent and Adam on the first layer of a student, its output weights frozen; torch, any device.

With $r = f(X) - y$ and the loss $R = \frac{c}{n} |r|^2$ of the student $f(x) = h^{-1/2} a^\top \tanh(s W x)$,

.. math:: \nabla_W R = \frac{2 c s}{n \sqrt h} \bigl[(a r^\top) \odot \operatorname{sech}^2(s W X^\top)\bigr] X ,

two products of h x n and n x d matrices, which take nine tenths of the time of a step.  Both optimisers move the
weights by $W \leftarrow W - \eta D$ with a direction D that does not depend on $\eta$.
Source: Kothapalli et al., "From Spikes to Heavy Tails", Section 3.1.  The document has $c = 1/2$ and Adam without bias
correction (eq. 4 and 5), its public code $c = 1$ and Adam with bias correction.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from shallow import checks
from shallow.nets import Student
from shallow.representation import short
from shallow.train.univariate import Diverged


@dataclass(frozen=True)
class GD:
    """Gradient descent: the direction is the gradient."""

    def start(self, W: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The state before the first step: none."""
        return ()

    def direction(self, gradient: torch.Tensor, state: tuple[torch.Tensor, ...], t: int) -> torch.Tensor:
        """D at step t = 1, 2, ...; may overwrite the gradient, and updates the state."""
        return gradient


@dataclass(frozen=True)
class Adam:
    r"""Adam with the gradients of the full batch: $D = \hat m / (\sqrt{\hat v} + \epsilon)$, as in torch.optim.Adam.

    Attributes:
        corrected: divide the moments by $1 - \beta^t$ (the code); without it they are used as they are (eq. 4 and 5),
            which makes the step larger by $\sqrt{10}$ at t = 1 and by up to 6.5 later.
        beta1, beta2, eps: decay factors of the moments, and $\epsilon$.
    """

    corrected: bool = True
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8

    def __post_init__(self) -> None:
        for name in ("beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must lie in [0, 1), got {getattr(self, name)}")
        if not (np.isfinite(self.eps) and self.eps >= 0):
            raise ValueError(f"eps must be finite and not negative, got {self.eps}")

    def start(self, W: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The two moments, zero, in the shape of W."""
        return torch.zeros_like(W), torch.zeros_like(W)

    def direction(self, gradient: torch.Tensor, state: tuple[torch.Tensor, ...], t: int) -> torch.Tensor:
        """D at step t = 1, 2, ...; overwrites the gradient and updates the moments."""
        first, second = state
        first.lerp_(gradient, 1 - self.beta1)
        second.mul_(self.beta2).addcmul_(gradient, gradient, value=1 - self.beta2)
        of_first, root = (1 - self.beta1**t, (1 - self.beta2**t) ** 0.5) if self.corrected else (1.0, 1.0)
        below = torch.sqrt(second, out=gradient).add_(root * self.eps)
        return torch.div(first, below, out=gradient).mul_(root / of_first)


Rule = GD | Adam


class Trainer:
    """A student in training, for loops that look at it between steps; :func:`train` is the plain loop.

    Attributes:
        W: the weights, a tensor of shape (h, d); may be changed between steps.
        taken: number of steps taken.
        loss: R before the latest gradient, a tensor with no dimension; None before the first one.
    """

    def __init__(
        self,
        x: np.ndarray,
        y: np.ndarray,
        student: Student,
        rule: Rule,
        *,
        factor: float = 1.0,
        normalise: str | None = None,
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
    ):
        """Arguments as for :func:`train`."""
        x, y = _check_data(x, y, student)
        if not isinstance(rule, Rule):
            raise ValueError(f"rule must be a GD or an Adam, got {rule!r}")
        checks.positive(factor=factor)
        if normalise not in (None, "before", "after"):
            raise ValueError(f"normalise must be None, 'before' or 'after', got {normalise!r}")
        if dtype not in (torch.float32, torch.float64):
            raise ValueError(f"dtype must be torch.float32 or torch.float64, got {dtype}")
        if dtype == torch.float32 and student.W.dtype == np.float64:
            raise ValueError("dtype must be torch.float64 for a student in float64, got torch.float32, which rounds it")
        self._x, self._y, a, self.W = (
            torch.tensor(array, dtype=dtype, device=device) for array in (x, y, student.a, student.W)
        )
        self._start, self.rule, self.factor, self.normalise = student, rule, factor, normalise
        (n, d), h = x.shape, len(a)
        self._out = a / h**0.5
        self._rows = (-2 * factor * student.scale / n * self._out)[:, None]
        self._hidden, self._gradient = self.W.new_empty(h, n), self.W.new_empty(h, d)
        self.state, self.taken, self.loss = rule.start(self.W), 0, None
        if normalise == "after":
            self._normalise()

    def gradient(self) -> torch.Tensor:
        """The gradient of R at W, shape (h, d), in memory that the next call uses again; 4 n d h operations.

        With ``normalise="before"`` W is normalised first.
        """
        if self.normalise == "before":
            self._normalise()
        hidden = torch.mm(self.W, self._x.T, out=self._hidden).mul_(self._start.scale).tanh_()
        residual = torch.mv(hidden.T, self._out).sub_(self._y)
        self.loss = self.factor * residual.square().mean()
        hidden.square_().sub_(1).mul_(residual)  # minus sech^2, in place: the sign is in the factor of the rows
        return torch.mm(hidden, self._x, out=self._gradient).mul_(self._rows)

    def update(self, gradient: torch.Tensor, rate: float) -> None:
        r"""Move W by $-\eta D$ for a gradient, which may be overwritten, of shape (h, d)."""
        if not 0 <= rate < np.inf:
            raise ValueError(f"rate must be finite and not negative, got {rate}")
        self.taken += 1
        self.W.sub_(self.rule.direction(gradient, self.state, self.taken), alpha=rate)
        if self.normalise == "after":
            self._normalise()

    def step(self, rate: float) -> torch.Tensor:
        r"""One step with learning rate $\eta$; the loss before it."""
        self.update(self.gradient(), rate)
        return self.loss

    @property
    def student(self) -> Student:
        """A copy of the student as it is now, in numpy; raises Diverged if its weights are not finite."""
        if not torch.isfinite(self.W).all():
            raise Diverged(self.taken)
        return Student(self.W.cpu().numpy().copy(), self._start.a, self._start.scale)

    def _normalise(self) -> None:
        self.W.mul_(self.W.numel() ** 0.5 / torch.linalg.vector_norm(self.W))


@dataclass(frozen=True)
class Run:
    """One training run.

    Attributes:
        steps: the recorded steps, shape (R,); step 0 is the initialisation.
        values: what was measured there, a list of length R; the students themselves unless a measure was given.
        loss: R before every step, shape (number of steps,).
        student: the trained student.
    """

    steps: np.ndarray
    values: list[Any]
    loss: np.ndarray
    student: Student

    __repr__ = short


def train(
    x: np.ndarray,
    y: np.ndarray,
    student: Student,
    rule: Rule,
    *,
    rate: float,
    steps: int,
    decay: float = 1.0,
    factor: float = 1.0,
    normalise: str | None = None,
    records: Sequence[int] | None = None,
    measure: Callable[[Student], Any] | None = None,
    device: str | torch.device = "cpu",
    dtype: torch.dtype = torch.float32,
    progress: bool = False,
    checkpoint: str | Path | None = None,
    interval: int = 1000,
) -> Run:
    r"""Train the first layer on the squared loss with all n points in every step.

    Args:
        x, y: inputs of shape (n, d) and labels of shape (n,).
        student: the initial student with d inputs; not changed.
        rule: :class:`GD` or :class:`Adam`.
        rate: $\eta$, the learning rate of the first step.
        steps: number of steps.
        decay: $\gamma$; the rate of step t = 0, 1, ... is $\eta\gamma^t$, as with torch's StepLR and step size 1.
        factor: c in the loss $\frac{c}{n} |f(X) - y|^2$: 1 in the document's code, 1/2 in its text.
        normalise: scale W to $\|W\|_F = \sqrt{hd}$ "before" each forward pass (the code), or "after" each update and at
            the start (the text); the moments of Adam are not scaled.  Both see the same weights in every forward pass;
            the recorded weights differ by a factor.
        records: ascending steps at which `measure` is called; by default the first and the last, 0 and `steps`.
        measure: a function of the student at a record; by default the student itself is kept.
        device, dtype: where and in which number type to compute: float64, or float32, in which a student in float64 is
            refused.
        progress: show a progress line.
        checkpoint: file for the state of the run, replaced atomically every `interval` steps and at the end.  If it
            exists, the run goes on from there, with the same `measure`, and ends with the same bits; a finished run is
            only read.  It is a pickle: read only your own.

    Raises:
        ValueError: for impossible input, naming the argument; also for the checkpoint of another run.
        Diverged: when the weights are not finite at a record.

    Cost: 4 n d h operations per step and (n h + 4 d h) numbers of memory beside the data.
    """
    records = _check_options(rate, steps, decay, records, interval)
    trainer = Trainer(x, y, student, rule, factor=factor, normalise=normalise, device=device, dtype=dtype)
    loss, values = trainer.W.new_zeros(steps), []
    saved = None if checkpoint is None else Path(checkpoint)
    key = saved and _key(x, y, student, rule, rate, steps, decay, factor, normalise, records, dtype)
    if saved and saved.exists():
        values = _restore(saved, key, trainer, loss)
    with tqdm(total=steps, initial=trainer.taken, unit="step", disable=not progress) as line:
        while True:
            t = trainer.taken
            if len(values) < len(records) and records[len(values)] == t:
                values.append(trainer.student if measure is None else measure(trainer.student))
            if saved and (t == steps or t and t % interval == 0):
                _save(saved, key, trainer, loss, values)
            if t == steps:
                return Run(records, values, loss.cpu().numpy(), trainer.student)
            loss[t] = trainer.step(rate * decay**t)
            line.update()


# Checkpoints.


def _key(x: np.ndarray, y: np.ndarray, student: Student, *options: Any) -> str:
    """Hash of everything that a run depends on, but for what it measures."""
    digest = hashlib.sha256(repr((student.scale, *options)).encode())
    for array in map(np.asarray, (x, y, student.W, student.a)):
        digest.update(f"{array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _save(path: Path, key: str, trainer: Trainer, loss: torch.Tensor, values: list[Any]) -> None:
    content = {"key": key, "taken": trainer.taken, "W": trainer.W, "state": trainer.state, "loss": loss}
    temporary = path.with_name(path.name + ".part")
    torch.save(content | {"values": values}, temporary)
    os.replace(temporary, path)


def _restore(path: Path, key: str, trainer: Trainer, loss: torch.Tensor) -> list[Any]:
    """Set the trainer and the losses to a saved state; the values measured so far."""
    saved = torch.load(path, map_location=trainer.W.device, weights_only=False)
    if saved["key"] != key:
        raise ValueError(f"checkpoint must belong to the same data, student and options; {path} is of another run")
    trainer.taken, trainer.state = saved["taken"], saved["state"]
    trainer.W.copy_(saved["W"])
    loss.copy_(saved["loss"])
    return saved["values"]


# Bad input.


def _check_data(x: np.ndarray, y: np.ndarray, student: Student) -> tuple[np.ndarray, np.ndarray]:
    checks.numbers(x=x, y=y)
    x, y = np.asarray(x), np.asarray(y)
    if np.iscomplexobj(x) or np.iscomplexobj(y):
        raise ValueError("x and y must be real, got complex numbers")
    inputs = student.W.shape[1]
    if x.ndim != 2 or not len(x) or x.shape[1] != inputs or not np.isfinite(x).all():
        raise ValueError(f"x must be finite of shape (n, {inputs}), got {checks.given(x)}")
    if y.shape != (len(x),) or not np.isfinite(y).all():
        raise ValueError(f"y must be finite of shape ({len(x)},), got {checks.given(y)}")
    return x, y


def _check_options(rate, steps, decay, records, interval) -> np.ndarray:
    checks.numbers(records=records)
    checks.positive(rate=rate, decay=decay)
    checks.integers(0, steps=steps)
    checks.integers(1, interval=interval)
    given = np.unique([0, steps]) if records is None else np.asarray(records)
    whole = given.ndim == 1 and given.size and np.issubdtype(given.dtype, np.integer)
    if not whole or given[0] < 0 or given[-1] > steps or (np.diff(given) <= 0).any():
        raise ValueError(f"records must be ascending steps in 0..{steps}, got {records}")
    return given.astype(np.int64)
