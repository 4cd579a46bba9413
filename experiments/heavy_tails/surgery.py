"""Training with the leading singular pair cut out, of the gradient before Adam divides or of the update after it.

Adam's first direction is a matrix of signs.  In some of its columns all rows agree and in others none do: without the
leading pair of the *update* the first kind of column stays where it is and the second moves, and the columns of W have
unequal variances.  Without the leading pair of the *gradient* every entry still moves by the learning rate, and the
spike does not enter Adam's moments.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from shallow import checks
from shallow.spectra import esd
from shallow.train.first_layer import Trainer

#: What is cut: nothing; the leading pair of the update or of the gradient; and, beside the latter, every gap of W.
CUTS = ("nothing", "update", "gradient", "gradient and gaps")
#: Gap of two successive singular values that is left where gaps are cut, and how many are looked at.
CLOSE, TOP = 1.02, 12


def run(trainer: Trainer, rate: float, cut: str, *, first_only: bool) -> Iterator[Trainer]:
    """The trainer after 0, 1, 2, ... steps with something cut out, of the first step alone or of every one."""
    checks.one_of(CUTS, cut=cut)
    yield trainer
    while True:
        step(trainer, rate, cut if trainer.taken == 0 or not first_only else "nothing")
        yield trainer


def step(trainer: Trainer, rate: float, cut: str) -> None:
    """One step with the leading pair of the gradient or of the update cut out."""
    before = trainer.W.numpy().copy()
    gradient = trainer.gradient()
    if cut.startswith("gradient"):
        gradient = gradient - leading(gradient.numpy())
    trainer.update(gradient, rate)
    if cut == "update":
        trainer.W -= leading(trainer.W.numpy() - before)
    if cut.endswith("gaps"):
        trainer.W -= beyond_gaps(trainer.W.numpy())


def leading(matrix: np.ndarray) -> torch.Tensor:
    """The part $s_1 u_1 v_1^T$ of a matrix, float32."""
    u, s, v = (part[..., 0] for part in esd.top(matrix))
    return torch.from_numpy((s * np.outer(u, v)).astype(np.float32))


def beyond_gaps(W: np.ndarray) -> torch.Tensor:
    r"""What to subtract so that none of the largest singular values is more than 1.02 times the next, float32.

    Eigenvalues have then no gap above 1.04, and none is a spike.
    """
    U, s, V = esd.top(W, TOP)
    kept = s.copy()
    for k in range(TOP - 2, -1, -1):
        kept[k] = min(s[k], CLOSE * kept[k + 1])
    return torch.from_numpy(((U * (s - kept)) @ V.T).astype(np.float32))
