r"""The network of the chapter: two classes of rings, forty neurons, plain descent on fresh batches; and what it scores.

40 pixels, $(\xi_1, \xi_0) = (2, 1)$, $\sigma = \mathrm{erf}(\cdot/\sqrt2)$, labels +1 and -1, loss (2), weights
$N(0, 2/(n + K))$, biases 0, rate K/2, batches of 1000.  Everything is a function of a seed: networks of one seed and
one shape start equal and see equal batches, whatever else is changed, so that they can be compared in pairs.
Source: note on localized receptive fields, equations (1) and (2); the sizes are those of the author's public code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from sklearn.metrics import roc_auc_score

from shallow import committee
from shallow.committee import Committee
from shallow.data.nlgp import Process, minibatch
from shallow.experiments import Exact, Recipe, releases_gil
from shallow.stats import stream
from shallow.train import online
from shallow.train.online import Pair

PIXELS, LENGTHS, WIDTH, STEPS = 40, (2.0, 1.0), 40, 2000
#: Test points of each class; as many more serve to fit thresholds and offsets.
PER_CLASS = 5000
#: Gains between the Gaussian limit and signs.
GAINS = [0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0]
SEEDS, TEN = [0, 1, 2], list(range(10))


def classes(
    gain: float, shape: int | tuple[int, ...] = PIXELS, lengths: tuple[float, float] = LENGTHS, tails: str = "light"
) -> Pair:
    """The two processes, label +1 first."""
    return tuple(Process(shape, xi, gain, tails=tails) for xi in lengths)


def initial(seed: int, width: int = WIDTH, pixels: int = PIXELS, activation: str = "erf") -> Committee:
    """One network before training; the weights do not depend on the activation."""
    return committee.start([stream("localization", "start", seed)], width, pixels, activation=activation)


def batches(seed: int) -> np.random.Generator:
    """The random numbers of the batches of a seed, from their beginning."""
    return stream("localization", "batches", seed)


def trained(
    seeds: Sequence[int], gain: float, *, width: int = WIDTH, steps: int = STEPS, records: Sequence[int] | None = None
) -> online.Run:
    """Standard networks of some seeds, trained at rate K/2; 0.2 ms for a step of one of forty neurons."""
    networks = [initial(seed, width) for seed in seeds]
    stack = Committee(np.concatenate([net.W for net in networks]), np.concatenate([net.b for net in networks]))
    rngs = [batches(seed) for seed in seeds]
    return online.train(stack, classes(gain), rngs=rngs, rate=width / 2, steps=steps, records=records)


# What networks score.


class Points(NamedTuple):
    """Inputs (2 m, N) as float32 with labels (2 m,): a test set, and one to fit thresholds and offsets."""

    x: np.ndarray
    y: np.ndarray
    fitting_x: np.ndarray
    fitting_y: np.ndarray


def points(seed: int, pair: Pair, per_class: int = PER_CLASS) -> Points:
    """Two draws of so many points of each class."""
    drawn = [minibatch(stream("localization", part, seed), *pair, per_class, np.float32) for part in ("test", "fit")]
    (x, y), (fitting_x, fitting_y) = ((batch.x.reshape(2 * per_class, -1), batch.y) for batch in drawn)
    return Points(x, y, fitting_x, fitting_y)


def threshold(output: np.ndarray, y: np.ndarray) -> float:
    """The value t for which the sign of output - t is most often the label, midway between two outputs (m,)."""
    order = np.argsort(output, kind="stable")
    ordered, right = output[order].astype(np.float64), np.cumsum(-y[order])  # of the points below t, less the wrong
    candidates = np.concatenate([[ordered[0] - 1], (ordered[1:] + ordered[:-1]) / 2, [ordered[-1] + 1]])
    return float(candidates[np.argmax(np.concatenate([[0.0], right]))])


def scores(outputs: np.ndarray, fitting: np.ndarray, given: Points) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    r"""Scores of networks by their outputs at the test points and at those for fitting, both of shape (V, 2 m).

    Returns:
        Variables on the dimension `network`: loss, with the factor 1/2, and its standard error loss_error;
        loss_refitted, after the constant $c = \overline{y - \hat y}$ of the fitting points has been added; accuracy at
        threshold 0; accuracy_refitted, at the threshold best for the fitting points; area under the ROC curve;
        mean_output.  And loss_covariance, of the mean losses of two networks on the same test points.
    """
    losses = (outputs.astype(np.float64) - given.y) ** 2 / 2
    shifts = (given.fitting_y - fitting).mean(axis=1, dtype=np.float64)
    cuts = np.array([threshold(values, given.fitting_y) for values in fitting])
    covariance = np.atleast_2d(np.cov(losses)) / losses.shape[1]
    by_network = {
        "loss": losses.mean(axis=1),
        "loss_error": np.sqrt(np.diagonal(covariance)),
        "loss_refitted": ((outputs + shifts[:, None] - given.y) ** 2).mean(axis=1) / 2,
        "accuracy": ((outputs > 0) == (given.y > 0)).mean(axis=1),
        "accuracy_refitted": ((outputs > cuts[:, None]) == (given.y > 0)).mean(axis=1),
        "area": np.array([roc_auc_score(given.y, values) for values in outputs]),
        "mean_output": outputs.mean(axis=1, dtype=np.float64),
    }
    found = {name: (("network",), values.astype(np.float32)) for name, values in by_network.items()}
    return found | {"loss_covariance": (("network", "rival"), covariance.astype(np.float32))}


# Cells.


@releases_gil
def network(seed: int, gain: float, *, width: int = WIDTH, steps: int = STEPS) -> xr.Dataset:
    """A standard network after training.

    Returns:
        W (neuron, pixel), b (neuron); loss and accuracy at threshold 0 on 10,000 test points; diverged.

    Cost: 0.2 ms per step for forty neurons, 0.5 ms for a hundred.
    """
    run = trained([seed], gain, width=width, steps=steps, records=[steps])
    given = points(seed, classes(gain))
    output = run.last.forward(given.x)[0]
    return xr.Dataset(
        {
            "W": (("neuron", "pixel"), run.last.W[0]),
            "b": ("neuron", run.last.b[0]),
            "loss": np.float32(((output - given.y) ** 2).mean() / 2),
            "accuracy": np.float32(((output > 0) == (given.y > 0)).mean()),
            "diverged": run.diverged[0],
        }
    )


#: A cell is verified by the first steps of the same run: the rounding of one processor grows by the thousands of steps.
SHORT, AGREEMENT = {"steps": 100}, Exact(elsewhere=0.02)

RECORDS: dict[str, Recipe] = {
    "gains": Recipe(
        network, {"gain": GAINS, "seed": SEEDS}, {"steps": 4000}, "The standard network from Gaussian data to signs",
        agreement=AGREEMENT, shortened=SHORT,
    ),
    "balance": Recipe(
        network, {"gain": [0.01, 3.0], "seed": TEN}, {}, "Ten standard networks at both gains",
        agreement=AGREEMENT, shortened=SHORT,
    ),
    "tiling": Recipe(
        network, {"seed": list(range(5))}, {"gain": 3.0, "width": 100}, "A hundred neurons, 2000 steps",
        agreement=AGREEMENT, shortened=SHORT,
    ),
    **{
        f"widths_{width}": Recipe(
            network, {"gain": [0.01, 3.0], "seed": SEEDS}, {"width": width, "steps": 3000},
            f"{width} neurons, 3000 steps", agreement=AGREEMENT, shortened=SHORT,
        )
        for width in (20, 40, 100)
    },
}  # fmt: skip
