r"""Full-batch gradient descent and Adam on the first layer of a student, its output weights frozen.

Use it for single-index teachers in thousands of dimensions.  With $r = f(X) - y$ and the loss $R = \frac{c}{n} |r|^2$
of the student $f(x) = h^{-1/2} a^\top \tanh(s W x)$,

.. math:: \nabla_W R = \frac{2 c s}{n \sqrt h} \bigl[(a r^\top) \odot \operatorname{sech}^2(s W X^\top)\bigr] X ,

two products of h x n and n x d matrices, which take nine tenths of the time of a step.  Without a device they are
NumPy's, and what lies between and behind them is compiled (:mod:`shallow.train.passes`); with one all is PyTorch's.
Both optimisers move the weights by $W \leftarrow W - \eta D$ with a direction D that does not depend on $\eta$, so that
one gradient gives the first step for all learning rates and both optimisers (:func:`directions`, :func:`students`).
Source: Kothapalli et al., "From Spikes to Heavy Tails", Section 3.1.  The document has $c = 1/2$ and Adam without bias
correction (eq. 4 and 5), its public code $c = 1$ and Adam with bias correction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shallow import checks
from shallow.extras import torch
from shallow.nets import SoftplusStudent, Student
from shallow.train import passes
from shallow.train.run import Diverged, Run, schedule


@dataclass(frozen=True)
class GD:
    """Gradient descent: the direction is the gradient."""

    def start(self, W: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The state before the first step: none."""
        return ()

    def direction(
        self, gradient: torch.Tensor, state: tuple[torch.Tensor, ...], t: int, *, compiled: bool = False
    ) -> torch.Tensor:
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
        checks.within("[0, 1)", beta1=self.beta1, beta2=self.beta2)
        checks.not_negative(eps=self.eps)

    def start(self, W: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The two moments, zero, in the shape of W."""
        return torch.zeros_like(W), torch.zeros_like(W)

    def direction(
        self, gradient: torch.Tensor, state: tuple[torch.Tensor, ...], t: int, *, compiled: bool = False
    ) -> torch.Tensor:
        """D at step t = 1, 2, ...; overwrites the gradient and updates the moments, in one compiled pass or several."""
        first, second = state
        of_first, root = (1 - self.beta1**t, (1 - self.beta2**t) ** 0.5) if self.corrected else (1.0, 1.0)
        if compiled:
            numbers = (1 - self.beta1, 1 - self.beta2, root / of_first, root * self.eps)
            arrays = [tensor.numpy() for tensor in (gradient, first, second)]
            passes.adam(*arrays, *map(arrays[0].dtype.type, numbers))
            return gradient
        first.lerp_(gradient, 1 - self.beta1)
        second.mul_(self.beta2).addcmul_(gradient, gradient, value=1 - self.beta2)
        below = torch.sqrt(second, out=gradient).add_(root * self.eps)
        return torch.div(first, below, out=gradient).mul_(root / of_first)


Rule = GD | Adam


class Trainer:
    """A student in training, for loops that look at it between steps; :func:`train` is the plain loop.

    Attributes:
        W: the weights, a tensor of shape (h, d), on the CPU without a device; may be changed between steps.
        taken: number of steps taken.
        loss: R before the latest gradient, a tensor with no dimension; None before the first one.
    """

    _softplus = False

    def __init__(
        self,
        x: np.ndarray,
        y: np.ndarray,
        student: Student,
        rule: Rule,
        *,
        factor: float = 1.0,
        normalise: str | None = None,
        device: str | torch.device | None = None,
        dtype: torch.dtype = torch.float32,
    ):
        """Arguments as for :func:`train`."""
        checks.array(("n", student.W.shape[1]), x=x)
        checks.array((len(x),), y=y)
        if not isinstance(rule, Rule):
            raise ValueError(f"rule must be a GD or an Adam, got {rule!r}")
        checks.positive(factor=factor)
        checks.one_of((None, "before", "after"), normalise=normalise)
        checks.one_of((torch.float32, torch.float64), dtype=dtype)
        _check_device(device)
        x, y = np.asarray(x), np.asarray(y)
        if dtype == torch.float32 and student.W.dtype == np.float64:
            raise ValueError("dtype must be torch.float64 for a student in float64, got torch.float32, which rounds it")
        self._x, self._y, a, self.W = (
            torch.tensor(array, dtype=dtype, device=device or "cpu") for array in (x, y, student.a, student.W)
        )
        self._start, self.rule, self.factor, self.normalise = student, rule, factor, normalise
        self._compiled = device is None
        (n, d), h = x.shape, len(a)
        self._out = a / h**0.5
        self._rows = (-2 * factor * student.scale / n * self._out)[:, None]
        self._hidden, self._gradient = self.W.new_empty(h, n), self.W.new_empty(h, d)
        if self._compiled:
            vectors = self._out, -self._rows[:, 0], self._y, torch.empty_like(self._y)
            self._vectors = [vector.numpy() for vector in vectors]
            self._turned = np.ascontiguousarray(self._x.numpy().T)  # products of factors as they lie are faster by 2 %
        self.state, self.taken, self.loss = rule.start(self.W), 0, None
        if normalise == "after":
            self._normalise()

    def gradient(self) -> torch.Tensor:
        """The gradient of R at W, shape (h, d), in memory that the next call uses again; 4 n d h operations.

        With ``normalise="before"`` W is normalised first.
        """
        if self.normalise == "before":
            self._normalise()
        if self._compiled:
            hidden, scale = self._hidden.numpy(), self._turned.dtype.type(self._start.scale)
            with np.errstate(all="ignore"):  # of weights that are not finite Diverged tells
                np.dot(self.W.numpy(), self._turned, out=hidden)
                square = passes.residuals(hidden, scale, self._softplus, *self._vectors)
                np.dot(hidden, self._x.numpy(), out=self._gradient.numpy())
            self.loss = self.W.new_tensor(self.factor * square)
            return self._gradient
        hidden = self._activate(torch.mm(self.W, self._x.T, out=self._hidden).mul_(self._start.scale))
        residual = torch.mv(hidden.T, self._out).sub_(self._y)
        self.loss = self.factor * residual.square().mean()
        self._minus_slope(hidden).mul_(residual)  # the sign is in the factor of the rows
        return torch.mm(hidden, self._x, out=self._gradient).mul_(self._rows)

    def update(self, gradient: torch.Tensor, rate: float) -> None:
        r"""Move W by $-\eta D$ for a gradient, which may be overwritten, of shape (h, d)."""
        if not 0 <= rate <= 1e30:  # a function call in every step would cost more
            raise ValueError(f"rate must be in [0, 1e30], got {rate}")
        if gradient.shape != self.W.shape:
            raise ValueError(f"gradient must have the shape {tuple(self.W.shape)} of W, got {tuple(gradient.shape)}")
        self.taken += 1
        direction = self.rule.direction(gradient, self.state, self.taken, compiled=self._compiled)
        _move(self.W, direction, rate, self._compiled)
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

    @staticmethod
    def _activate(hidden: torch.Tensor) -> torch.Tensor:
        return hidden.tanh_()

    @staticmethod
    def _minus_slope(hidden: torch.Tensor) -> torch.Tensor:
        return hidden.square_().sub_(1)

    def _normalise(self) -> None:
        self.W.mul_(self.W.numel() ** 0.5 / torch.linalg.vector_norm(self.W))


class SoftplusTrainer(Trainer):
    r"""A :class:`shallow.nets.SoftplusStudent` in training; arguments, attributes and use as for :class:`Trainer`.

    The derivative of softplus, $1/(1 + e^{-z})$, takes the place of $\operatorname{sech}^2$ in the gradient.

    Raises:
        ValueError: for a student of another activation, and as :func:`train` does.
    """

    _softplus = True

    def __init__(self, x: np.ndarray, y: np.ndarray, student: SoftplusStudent, rule: Rule, **options):
        """Options as for :class:`Trainer`."""
        if not isinstance(student, SoftplusStudent):
            raise ValueError(f"student must be a SoftplusStudent, got a {type(student).__name__}")
        super().__init__(x, y, student, rule, **options)

    @staticmethod
    def _activate(hidden: torch.Tensor) -> torch.Tensor:
        return torch.logaddexp(hidden, hidden.new_zeros(()), out=hidden)

    @staticmethod
    def _minus_slope(hidden: torch.Tensor) -> torch.Tensor:
        return hidden.neg_().expm1_()  # softplus' = 1 - exp(-softplus)

    @property
    def student(self) -> SoftplusStudent:
        """A copy of the student as it is now, in numpy; raises Diverged if its weights are not finite."""
        now = super().student
        return SoftplusStudent(now.W, now.a, now.scale)


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
    device: str | torch.device | None = None,
    dtype: torch.dtype = torch.float32,
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
        records: steps to record, or an interval between records; by default the first and the last.
        measure: a function of the student at a record; by default the student itself is kept.
        device: where PyTorch is to compute, such as "cuda"; without one NumPy and compiled loops do on the CPU, which
            is faster there.
        dtype: the number type: float64, or float32, in which a student in float64 is refused.

    Returns:
        The run; its `loss` is R before every step, shape (steps,).

    Raises:
        ValueError: for impossible input, naming the argument.
        Diverged: when the weights are not finite at a record.

    Cost: 4 n d h operations per step and (n h + n d + 4 d h) numbers of memory beside the data.

    Example: one large step turns the first right singular vector of W towards the teacher's direction.

    >>> from shallow import nets
    >>> from shallow.data import single_index
    >>> rng = np.random.default_rng(0)
    >>> teacher, student = single_index.random_teacher(rng, 50), nets.ntk(rng, 80, 50)
    >>> x, y = single_index.split(teacher, 1000, seed=0, dtype=np.float64).train
    >>> run = train(x, y, student, GD(), rate=200.0, steps=1, dtype=torch.float64)
    >>> for network in (student, run.network):
    ...     print(abs(np.linalg.svd(network.W)[2][0] @ teacher.directions[0]).round(2))
    0.15
    0.83
    """
    checks.within("(0, 1e30]", rate=rate)
    checks.within("(0, 1]", decay=decay)
    checks.integers(0, steps=steps)
    records = schedule(records, steps)
    trainer = Trainer(x, y, student, rule, factor=factor, normalise=normalise, device=device, dtype=dtype)
    loss, values = trainer.W.new_zeros(steps), []
    for t in range(steps + 1):
        if len(values) < len(records) and records[len(values)] == t:
            values.append(trainer.student if measure is None else measure(trainer.student))
        if t < steps:
            loss[t] = trainer.step(rate * decay**t)
    return Run(records, values, trainer.student, loss.cpu().numpy())


def _move(W: torch.Tensor, direction: torch.Tensor, rate: float, compiled: bool) -> None:
    """A step against a direction, in place."""
    if compiled:
        passes.move(W.numpy(), direction.numpy(), W.numpy().dtype.type(rate))
    else:
        W.sub_(direction, alpha=rate)


def _check_device(device: str | torch.device | None) -> None:
    try:
        torch.empty(0, device=device or "cpu")
    except (AssertionError, RuntimeError, TypeError):
        raise ValueError(f"device must be one that PyTorch finds, or None, got {device!r}") from None


def directions(
    x: np.ndarray, y: np.ndarray, student: Student, rules: Sequence[Rule], **options
) -> dict[Rule, np.ndarray]:
    r"""The direction $D_0$ of the first step by rule, shape (h, d) each, all from one gradient.

    For GD it is the gradient itself; for Adam its sign, up to eps and, without bias correction, a factor $\sqrt{10}$.

    Args:
        options: factor, device and dtype of :func:`train`.
    """
    gradient, compiled = Trainer(x, y, student, GD(), **options).gradient(), options.get("device") is None
    found = (rule.direction(gradient.clone(), rule.start(gradient), 1, compiled=compiled) for rule in rules)
    return {rule: direction.cpu().numpy() for rule, direction in zip(rules, found, strict=True)}


def students(
    x: np.ndarray, y: np.ndarray, student: Student, rules: Sequence[Rule], rates: Sequence[float], **options
) -> Iterator[tuple[Rule, float, Student]]:
    r"""The students after one step, $W_1 = W_0 - \eta D_0$, for every rule and learning rate, all from one gradient.

    They are those of :func:`train` with ``steps=1``, bit for bit on the CPU, and come one at a time, so that few are in
    memory.

    Args:
        rules, rates: all pairs are taken, the rates of one rule after the other.
        options: factor, device and dtype of :func:`train`.
    """
    checks.array(("L",), rates=rates)
    checks.within("(0, 1e30]", rates=rates)
    for rule, direction in directions(x, y, student, rules, **options).items():
        for rate in rates:
            W = student.W.astype(direction.dtype)
            _move(torch.from_numpy(W), torch.from_numpy(direction), rate, options.get("device") is None)
            yield rule, rate, Student(W, student.a, student.scale)
