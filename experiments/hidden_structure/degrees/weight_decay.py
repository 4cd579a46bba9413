r"""What a weight decay above two does under AdaDelta: weights that flip their signs at every step and grow.

The decay is added to the gradient before AdaDelta divides it by its running size.  Where it dominates, the gradient of
a weight w is $\lambda w$, and the size of an alternating weight grows like $\frac12 \sqrt{\epsilon (\eta^2 - 4
/\lambda^2)\, t}$ with the number t of steps.
Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Figures 13 and 17 to 19.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.hidden_structure import hidden_direction, polynomials
from experiments.hidden_structure.cited import silent_alignment
from shallow import checks
from shallow.stats import stream
from shallow.train import backpropagation

KEEP, FLOOR = backpropagation.RHO, backpropagation.EPS  # of AdaDelta
STEPS = 250  # batches of an epoch


def alone(weights: np.ndarray, steps: int, decay: float, rate: float = 1.0) -> tuple[np.ndarray, float]:
    """Weights (n,) after steps of AdaDelta with no gradient but the decay's, and the share that flips in the last."""
    checks.integers(1, steps=steps)
    checks.positive(decay=decay, rate=rate)
    w, (nothing, moved, square) = np.array(weights, float), np.zeros((3, len(weights)))
    for _ in range(steps):
        before = w.copy()
        backpropagation.adadelta(w, nothing, moved, square, rate, decay)
    return w, float(np.mean(w * before < 0))


def law(epochs: float | np.ndarray, decay: float, rate: float = 1.0) -> np.ndarray:
    """Size of a weight by the law, from zero at the start; NaN where weights shrink, rate times decay below 2."""
    checks.positive(decay=decay, rate=rate)
    grows, epochs = rate**2 - 4 / decay**2, np.asarray(epochs, float)
    return np.sqrt(FLOOR * grows * STEPS * epochs) / 2 if grows > 0 else np.full(epochs.shape, np.nan)


def growth(epochs: float | np.ndarray, decay: float, inputs: int = 100, rate: float = 1.0) -> np.ndarray:
    r"""Norm of the first layer over that of PyTorch's uniform start, $1/\sqrt{3p}$ a coordinate, by the law."""
    return law(epochs, decay, rate) * (3 * inputs) ** 0.5


def one_batch_later(degree: int, epochs: Sequence[int], *, case: str = "correlated", run: int = 0) -> np.ndarray:
    """First layers of the author's network after these epochs, and after one batch more; (epoch, 2, m, p)."""
    task, setting = polynomials.problem(case, degree, run), polynomials.SETTINGS[case][degree]
    start = polynomials.initial(case, task.x.shape[1], setting.width, run)
    marks = [STEPS * epoch + more for epoch in epochs for more in (0, 1)]
    rng = stream("hidden structure", case, "batches", run)
    networks = silent_alignment.snapshots(start, task, setting, rng, marks)
    first = np.array([network.weights[0][0] for network in networks], float)
    return first.reshape(len(epochs), 2, *first.shape[1:])


def signs(pair: np.ndarray) -> dict[str, float]:
    """Of first layers before and after a batch (2, m, p): their size, cosines and changes of sign.

    `size`, root mean square of a weight; `cosine`, mean |cos| with the all-ones vector; `lattice`, share of cosines
    within 0.002 of a multiple of 0.02, as vectors of signs in a hundred dimensions have them, 0.2 by chance; `flips`,
    share of the weights that change their sign.
    """
    now, then = pair
    cosine = hidden_direction.cosines(now, np.ones(now.shape[1]))
    return {
        "size": float(np.sqrt(np.mean(now**2))),
        "cosine": float(cosine.mean()),
        "lattice": float(np.mean(np.abs(cosine / 0.02 - np.round(cosine / 0.02)) <= 0.1)),
        "flips": float(np.mean(now * then < 0)),
    }
