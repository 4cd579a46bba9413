"""The first step of a student: one gradient for all learning rates and both optimisers, and its expected size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from shallow import checks
from shallow.data.single_index import Moments, moments
from shallow.nets import Student
from shallow.train.first_layer import GD, Rule, Trainer


def directions(
    x: np.ndarray, y: np.ndarray, student: Student, rules: Sequence[Rule], **options
) -> dict[Rule, np.ndarray]:
    r"""The direction $D_0$ of the first step by rule, shape (h, d) each, all from one gradient.

    For GD it is the gradient itself; for Adam its sign, up to eps and, without bias correction, a factor $\sqrt{10}$.

    Args:
        options: factor, device and dtype of :func:`shallow.train.first_layer.train`.
    """
    trainer = Trainer(x, y, student, GD(), **options)
    gradient = trainer.gradient()
    return {rule: rule.direction(gradient.clone(), rule.start(gradient), 1).cpu().numpy() for rule in rules}


def students(
    x: np.ndarray, y: np.ndarray, student: Student, rules: Sequence[Rule], rates: Sequence[float], **options
) -> Iterator[tuple[Rule, float, Student]]:
    r"""The students after one step, $W_1 = W_0 - \eta D_0$, for every rule and learning rate, all from one gradient.

    They are those of :func:`shallow.train.first_layer.train` with ``steps=1``, bit for bit on the CPU, and come one at
    a time, so that few are in memory.

    Args:
        rules, rates: all pairs are taken, the rates of one rule after the other.
        options: factor, device and dtype of :func:`shallow.train.first_layer.train`.
    """
    checks.numbers(rates=rates)
    for rate in rates:
        checks.positive(rates=rate)
    for rule, direction in directions(x, y, student, rules, **options).items():
        start, direction = torch.from_numpy(student.W.astype(direction.dtype)), torch.from_numpy(direction)
        for rate in rates:
            moved = torch.sub(start, direction, alpha=rate)
            yield rule, rate, Student(moved.numpy(), student.a, student.scale)


def gradient_norm(student: Student, teacher: Moments, n: int, *, noise: float, factor: float = 1.0) -> float:
    r"""Leading order of $\|\nabla_W R\|_2$ at a random student, for a single-index teacher with these moments.

    The gradient is nearly the rank-one matrix $\frac{2 c s \mu}{n \sqrt h}\,a\,(X^\top r)^\top$ with $\mu = \mathbb
    E[z \tanh z]$.  With $\kappa = |a|^2/h$ and pre-activations of unit variance,

    .. math:: \|\nabla_W R\|_2 \approx 2 c s \mu \sqrt{\kappa}\,
       \sqrt{\mu_*^2 + \kappa\mu^2 + \tfrac{d}{n} \bigl(\mathbb E y^2 + \kappa\,\mathbb E \tanh^2\bigr)} ,

    where $\mu_*$ is the slope of the teacher.  In NTK scaling $\kappa$ is about 1; in mean-field scaling it is 1/h, and
    the student's own output does not count.  The relative error falls as the sizes grow.

    Args:
        student: the initial student; its shape, scale and output weights count.
        teacher: moments of the teacher's link.
        n: number of training points.
        noise: standard deviation of the label noise.
        factor: c of the loss.
    """
    checks.positive(factor=factor)
    checks.integers(1, n=n)
    (h, d), tanh = student.W.shape, moments("tanh")
    strength = float(student.a @ student.a) / h
    signal = teacher.slope**2 + strength * tanh.slope**2
    residual = teacher.null_loss(noise) + strength * tanh.square
    return 2 * factor * student.scale * tanh.slope * float(np.sqrt(strength * (signal + d / n * residual)))
