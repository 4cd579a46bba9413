r"""The ridge read-out of a student, and how well its features and weights are aligned with the teacher.

On n hold-out points with features Z (n, h) the output weights are (Kothapalli et al., eq. 6, with $\mu = \lambda/h$)

.. math:: \hat a = \arg\min_a \tfrac1n |y - Z a|^2 + \mu |a|^2 = (Z^\top Z + \mu n I)^{-1} Z^\top y .

Everything after the features is in float64 and by Cholesky factors.  The document's code inverts in float32, which in
its base setting moves its losses in the seventh digit at initialisation and in the fifth after large steps; its n x n
sums for the kernel target alignment, also in float32, move that in the fourth digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from shallow import checks
from shallow.data.single_index import Sample
from shallow.display import short
from shallow.kernels.ridge import Ridge, mean_square
from shallow.nets import Student


@dataclass(frozen=True)
class Evaluation:
    r"""A student with its read-out.

    Attributes:
        train: mean square of the ridge fit on the points it was fitted to, by penalty, shape (L,).
        test: mean square on the test points, shape (L,).
        alignment: kernel target alignment of the features with the labels of the fitted points (eq. 7).
    """

    train: np.ndarray
    test: np.ndarray
    alignment: float

    __repr__ = short


def evaluate(
    student: Student, probe: Sample, test: Sample, penalties: Sequence[float] = (0.01,), *, scale: float | None = None
) -> Evaluation:
    r"""Ridge losses and kernel target alignment as in the document's figures.

    Args:
        probe: the hold-out points, to which the read-out is fitted; "train loss" is the loss there.
        penalties: $\lambda$, each divided by the width h (eq. 6).
        scale: scale of the pre-activations, if not the student's.  The document's code applies the scale twice:
            ``scale=student.scale**2``, $\tanh(Wx/d)$ in NTK scaling.

    Cost: 2 n d h + n h min(n, h) operations; 0.2 s on one core for n = 2000, d = 1000, h = 1500.
    """
    checks.positive(penalties=penalties)
    fitted, unseen = (student.features(sample.x, scale).astype(np.float64) for sample in (probe, test))
    ridge = Ridge(fitted, probe.y)
    readouts = [ridge.weights(penalty / len(student.a)) for penalty in penalties]
    return Evaluation(
        train=np.array([mean_square(fitted, probe.y, weights) for weights in readouts]),
        test=np.array([mean_square(unseen, test.y, weights) for weights in readouts]),
        alignment=ridge.alignment,
    )


def similarity(W: np.ndarray, directions: np.ndarray) -> float:
    r"""$|v_1 \cdot \beta|$ with $v_1$ the first right singular vector of W (the document's sim, Section 3.2).

    `directions` is one unit vector of shape (d,), or k orthonormal rows: then it is the length of the projection of
    $v_1$ on their span.  A random vector has $\sqrt{k/d}$.  Cost: h d^2 + 4/3 d^3 operations, 0.1 s for d = 1000.
    """
    checks.array(("h", "d"), W=W)
    checks.array((..., np.shape(W)[1]), directions=directions)
    W, directions = np.asarray(W, dtype=np.float64), np.atleast_2d(np.asarray(directions, dtype=np.float64))
    if directions.ndim > 2 or not np.allclose(directions @ directions.T, np.eye(len(directions)), atol=1e-6):
        raise ValueError(f"directions must be orthonormal rows, got shape {directions.shape}, or other products")
    d = W.shape[1]
    (top,) = linalg.eigh(W.T @ W, subset_by_index=[d - 1, d - 1], check_finite=False)[1].T
    return float(np.linalg.norm(directions @ top))
