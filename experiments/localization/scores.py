r"""What networks score on points that they have not seen: loss, accuracy, and both with what a constant can repair.

The output has no constant of its own, so that a network may order the inputs well and yet have a poor loss and a poor
accuracy at threshold 0: with one population only these are different questions.
Source: note on localized receptive fields, equation (2) and Section 2, "Frequency specialization".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

from shallow.data.nlgp import minibatch
from shallow.stats import stream
from shallow.train.online import Pair

#: Test points of each class; as many more serve to fit thresholds and offsets.
PER_CLASS = 5000


class Points(NamedTuple):
    """Inputs (2 m, N) as float32 with labels (2 m,), +1 and then -1: a test set, and one to fit on."""

    x: np.ndarray
    y: np.ndarray
    fitting_x: np.ndarray
    fitting_y: np.ndarray


def points(seed: int, pair: Pair, per_class: int = PER_CLASS) -> Points:
    """Two draws of so many points of each class; a seed's latent points are the same for all gains."""
    drawn = [minibatch(stream("localization", part, seed), *pair, per_class, np.float32) for part in ("test", "fit")]
    (x, y), (fitting_x, fitting_y) = ((batch.x.reshape(2 * per_class, -1), batch.y) for batch in drawn)
    return Points(x, y, fitting_x, fitting_y)


def threshold(output: np.ndarray, y: np.ndarray) -> float:
    """The value t for which the sign of output - t is most often the label, midway between two outputs (m,)."""
    order = np.argsort(output, kind="stable")
    ordered, right = output[order].astype(np.float64), np.cumsum(-y[order])  # right minus wrong, of the points below t
    candidates = np.concatenate([[ordered[0] - 1], (ordered[1:] + ordered[:-1]) / 2, [ordered[-1] + 1]])
    return float(candidates[np.argmax(np.concatenate([[0.0], right]))])


def scores(outputs: np.ndarray, fitting: np.ndarray, given: Points) -> dict[str, np.ndarray]:
    r"""Scores of V networks by their outputs at the test points and at those for fitting, both of shape (V, 2 m).

    Returns:
        loss, with the factor 1/2; loss_refitted, after the constant $c = \overline{y - \hat y}$ of the fitting points
        has been added; accuracy at threshold 0; accuracy_refitted, at the threshold best for the fitting points; area
        under the ROC curve; mean_output; all of shape (V,).  And loss_covariance (V, V), of the mean losses of two
        networks on the same test points: their difference has the variance C_uu + C_vv - 2 C_uv.
    """
    losses = (outputs.astype(np.float64) - given.y) ** 2 / 2
    shifts = (given.fitting_y - fitting).mean(axis=1, dtype=np.float64)
    cuts = np.array([threshold(values, given.fitting_y) for values in fitting])
    return {
        "loss": losses.mean(axis=1),
        "loss_refitted": ((outputs + shifts[:, None] - given.y) ** 2).mean(axis=1) / 2,
        "accuracy": ((outputs > 0) == (given.y > 0)).mean(axis=1),
        "accuracy_refitted": ((outputs > cuts[:, None]) == (given.y > 0)).mean(axis=1),
        "area": np.array([roc_auc_score(given.y, values) for values in outputs]),
        "mean_output": outputs.mean(axis=1, dtype=np.float64),
        "loss_covariance": np.atleast_2d(np.cov(losses)) / losses.shape[1],
    }
