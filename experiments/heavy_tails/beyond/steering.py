"""Steering by the exponent: a learning rate that follows PL_Alpha_Hill, and a penalty that pulls it to a target.

Both use the exponent of the weights while the first layer is trained, to see whether it is a handle on the test loss.
Source: Kothapalli et al., "From Spikes to Heavy Tails", Appendix H, last paragraph.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr

from experiments.heavy_tails import teacher_student
from shallow import checks
from shallow.book.recipes import Recipe, releases_gil
from shallow.spectra import esd, tails

HIGH, LOW, RAISE, LOWER = 2.2, 2.0, 1.5, 0.5


@releases_gil
def controlled(
    seed: int, *, n: int, rule: str = "Adam code", start: float = 0.1, steps: int = 10, **setting
) -> xr.Dataset:
    r"""Training whose learning rate is steered by the exponent of the weights.

    The first step has the rate `start`.  After every step the rate is multiplied by 1.5 if PL_Alpha_Hill is above 2.2,
    halved if it is below 2.0, and kept in between.

    Returns:
        rate (time), hill (time): $\eta$ of every step and PL_Alpha_Hill after it;
        train, test (features): losses of the ridge read-out after the last step.
    """
    checks.positive(start=start)
    drawn = teacher_student.draw(seed, n=n, **setting)
    trainer = teacher_student.trainer(drawn, rule)
    rate, rates, exponents = start, [], []
    for _ in range(steps):
        trainer.step(rate)
        rates.append(rate)
        exponents.append(tails.hill(esd.eigenvalues(trainer.W.numpy())))
        rate *= RAISE if exponents[-1] > HIGH else LOWER if exponents[-1] < LOW else 1.0
    train, test = teacher_student.losses(trainer.student, drawn)
    return xr.Dataset(
        {
            "rate": ("time", rates),
            "hill": ("time", exponents),
            "train": ("features", train),
            "test": ("features", test),
        },
        {"features": list(teacher_student.FEATURES)},
    )


def hill_gradient(W: np.ndarray) -> tuple[float, np.ndarray]:
    r"""PL_Alpha_Hill of the eigenvalues of $W^\top W$ and its derivative in W.

    With singular values $s_1 \ge \dots \ge s_d$, $i = \lfloor d/2 \rfloor$ and $m = d - i$ the exponent is $\alpha =
    1 + m / S$ with $S = \sum_{k \le m} 2 \ln s_k - 2 m \ln s_m$.  Simple singular values have the derivative
    $\partial s_k / \partial W = u_k v_k^\top$, and $m / S^2 = (\alpha - 1)^2 / m$, so

    .. math:: \frac{\partial \alpha}{\partial W} = -\frac{2 (\alpha - 1)^2}{m}
       \Bigl[ \sum_{k \le m} \frac{u_k v_k^\top}{s_k} - m\,\frac{u_m v_m^\top}{s_m} \Bigr] .

    The part of the cut $s_m$ is m times that of any other: to lower the exponent, descent mostly lowers one middle
    singular value, until another one becomes the cut.  There the derivative jumps.  Along W itself it vanishes, since
    the exponent does not depend on the scale.

    W must have no equal singular values in the upper half.  Cost: one eigendecomposition of a d x d matrix and three
    products.
    """
    W = esd.as_matrix("W", W)
    if W.shape[0] < W.shape[1]:
        raise ValueError(f"W must have at least as many rows as columns, got shape {W.shape}")
    squares, V = np.linalg.eigh(W.T @ W)
    upper = slice(len(squares) // 2, None)
    alpha, V, weights = tails.hill(squares.clip(0)), V[:, upper], 1 / squares[upper]
    m = len(weights)
    weights[0] *= 1 - m
    return alpha, -2 * (alpha - 1) ** 2 / m * ((W @ V) * weights) @ V.T  # W v_k = s_k u_k


@releases_gil
def penalised(
    seed: int,
    *,
    target: float,
    strength: float,
    rule: str = "Adam code",
    rate: float = 0.2,
    steps: int = 50,
    looks: Sequence[int],
    **setting,
) -> xr.Dataset:
    r"""Training on the loss of the first stage plus $\mu\,(\alpha(W) - \alpha_0)^2$.

    Args:
        target: $\alpha_0$.
        strength: $\mu \ge 0$; 0 is plain training.
        looks: steps at which the student is evaluated, ascending, in 0..`steps`.

    Returns:
        loss, hill (step): loss of the first stage *without* the penalty, and PL_Alpha_Hill, at the looks;
        train, test (step, features): of the ridge read-out there;
        eigenvalues (k): of $W^\top W$ at the last look.
    """
    checks.not_negative(strength=strength)
    drawn = teacher_student.draw(seed, **setting)
    trainer = teacher_student.trainer(drawn, rule)
    seen = []
    for t in range(steps + 1):
        gradient = trainer.gradient()
        if t in looks:
            spectrum = esd.eigenvalues(trainer.W.numpy())
            seen.append((float(trainer.loss), tails.hill(spectrum), teacher_student.losses(trainer.student, drawn)))
        if strength:
            alpha, slope = hill_gradient(trainer.W.numpy())
            gradient.add_(torch.from_numpy(slope.astype(np.float32)), alpha=2 * strength * (alpha - target))
        if t < steps:
            trainer.update(gradient, rate)
    loss, exponents, found = zip(*seen)
    found = np.array(found)
    both = {name: (("step", "features"), found[:, k]) for k, name in enumerate(("train", "test"))}
    return xr.Dataset(
        {"loss": ("step", list(loss)), "hill": ("step", list(exponents)), "eigenvalues": ("k", spectrum)} | both,
        {"step": list(looks), "features": list(teacher_student.FEATURES)},
    )


# What the rules ask.


def at_loss(run: xr.Dataset, level: float) -> xr.DataArray:
    """Test loss (features) where the first stage of a run first gets down to a loss, linear between two looks."""
    loss = run.loss.values
    if not loss.min() <= level <= loss[0]:
        raise ValueError(f"level must lie between the smallest and the first loss of the run, got {level}")
    (k,) = np.flatnonzero(loss <= level)[:1]
    if k == 0:
        return run.test.isel(step=0, drop=True)
    part = (loss[k - 1] - level) / (loss[k - 1] - loss[k])
    before, after = (run.test.isel(step=j, drop=True) for j in (k - 1, k))
    return before + part * (after - before)


def compared(first: xr.Dataset, second: xr.Dataset) -> xr.DataArray:
    """Test losses (run, features) of two runs at the smallest stage-one loss that both reach."""
    level = max(float(one.loss.min()) for one in (first, second))
    return xr.concat([at_loss(one, level) for one in (first, second)], "run")


SEEDS = [0, 1, 2, 3, 4]
#: The exponents aimed at, and the strength of the penalty: of 0.01, 0.1 and 1, tried on the first seed.
TARGETS, STRENGTH = [2.0, 2.2, 2.4], 0.01
HALF = {"n": 1000, "d": 500, "h": 750, "test": 1000}
WHOLE = {**HALF, "looks": [*range(11), *range(12, 51, 2)]}
RECORDS: dict[str, Recipe] = {
    "controlled": Recipe(controlled, {"n": [2000, 8000], "seed": SEEDS}, {}, "Ten steps, rate steered by the exponent"),
    "penalty": Recipe(
        penalised,
        {"target": TARGETS, "seed": SEEDS[1:]},
        {**WHOLE, "strength": STRENGTH},
        "The penalty with the strength found, on the other seeds",
    ),
    "penalty_beside": Recipe(
        penalised,
        {"strength": [0.0, 1.0], "seed": SEEDS[1:]},
        {**WHOLE, "target": 2.0},
        "The same without a penalty, and with one a hundred times stronger",
    ),
}
