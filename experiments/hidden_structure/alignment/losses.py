r"""When neurons turn under other losses and with other numbers of inputs: which signal does the loss pass on?

While the output is negligible, the push on a neuron along the hidden direction is the mean of $q v$ over the points at
which it is active, with q what the loss sees of the target: $\operatorname{sign}(y - y_{\mathrm{med}})$ under the
absolute loss, $y - \bar y$ under the squared one, and under Huber's loss a difference cut off at $\pm\delta$.

What was expected before the runs: under the absolute loss degree 5 is slow without the correlation of v with the sign,
and fast without the linear part of the labels; under the squared loss the two change places; Huber's loss, with delta
one standard deviation of the labels, lies between.  Targets with a signal need about as many steps with 200 inputs as
with 25, the others several times as many.
Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Section 5.2.1; Joshi, Misiakiewicz
and Srebro (2024) on exponents that depend on the loss.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.hidden_structure import hidden_direction, hidden_index, polynomials
from experiments.hidden_structure.alignment.alignment_moments import without_sign
from experiments.hidden_structure.alignment.polynomial_probes import relabelled
from experiments.hidden_structure.polynomials import BATCH, COMMON, initial
from shallow import checks
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.stats import Interval, stream, student
from shallow.train import backpropagation

#: Labels of the targets as functions of v.
TARGETS = {
    "degree 5": lambda v: relabelled(v, 5),
    "degree 5, no linear part": lambda v: relabelled(v, 5, linear=False),
    "degree 5, no sign signal": lambda v: without_sign(v, relabelled(v, 5)),
    "degree 6, roots shifted": lambda v: relabelled(v, 6, shift=0.3),
    "degree 6": lambda v: relabelled(v, 6),
}
#: Derivatives of the losses in the output, as functions of f - y and of delta.
SLOPES = {
    "absolute": lambda rest, delta: np.sign(rest),
    "Huber": lambda rest, delta: np.clip(rest, -delta, delta),
    "squared": lambda rest, delta: rest,
}
#: Shares of the neurons that have turned, |cos| at least 0.5, whose times are kept.
SHARES = (polynomials.ALIGNED, 0.1)


@releases_gil
def turning(run: int, target: str, loss: str, inputs: int, *, steps: int = 10_000, every: int = 5) -> xr.Dataset:
    """Steps after which shares of 512 neurons have turned, AdaDelta in batches of 32; NaN if not within `steps`.

    Returns `steps` (share), by looks every so many steps.  With 100 inputs the data and first weights are those of the
    other records; the scale of v is that of 100 inputs for every number of inputs.

    Cost: a quarter of a second for a thousand steps with 100 inputs.
    """
    checks.one_of(TARGETS, target=target)
    checks.one_of(SLOPES, loss=loss)
    checks.integers(1, inputs=inputs, steps=steps, every=every)
    if inputs == hidden_index.DIMENSION:
        drawn = hidden_index.draw("independent", run)
        x, v, train = drawn.x, drawn.v, drawn.train
    else:
        rng = stream("hidden structure", "losses", "inputs", inputs, run)
        x, v, _ = hidden_index.gaussian(rng, hidden_index.SIZE, direction=np.full(inputs, inputs**-0.5))
        train = np.arange(8 * hidden_index.SIZE // 10)
    y = TARGETS[target](v)
    theta = initial("independent", inputs, COMMON.width, run).parameters[0].astype(np.float32)
    rng = stream("hidden structure", "losses", "batches", run)
    found, moments = dict.fromkeys(SHARES, np.nan), np.zeros((2, len(theta)), np.float32)
    data = x[train].astype(np.float32), y[train].astype(np.float32), np.float32(y.std())
    order = np.empty(0, int)
    for step in range(1, steps + 1):
        if len(order) < BATCH:
            order = rng.permutation(len(train))
        _step(theta, moments, data, order[:BATCH], loss)
        order = order[BATCH:]
        if step % every == 0:
            turned = np.mean(hidden_direction.cosines(_parts(theta, inputs)[0], np.ones(inputs)) >= 0.5)
            found = {share: float(step) if np.isnan(t) and turned >= share else t for share, t in found.items()}
            if not np.isnan(list(found.values())).any():
                break
    return xr.Dataset({"steps": ("share", list(found.values()))}, {"share": list(SHARES)})


def _parts(theta: np.ndarray, inputs: int) -> list[np.ndarray]:
    """Views of W (m, d), b (m,), a (m,) and the output bias (1,)."""
    m = COMMON.width
    ends = np.cumsum([m * inputs, m, m])
    W, b, a, c = np.split(theta, ends)
    return [W.reshape(m, inputs), b, a, c]


def _step(theta: np.ndarray, moments: np.ndarray, data: tuple, batch: np.ndarray, loss: str) -> None:
    """One step of AdaDelta at rate 1 without decay, in place."""
    x, y, delta = data[0][batch], data[1][batch], data[2]
    W, b, a, c = _parts(theta, x.shape[1])
    h = np.maximum(x @ W.T + b, 0)
    slope = SLOPES[loss](h @ a + c - y, delta).astype(np.float32) / np.float32(len(y))
    back = slope[:, None] * a * (h > 0)
    gradient = np.concatenate([(back.T @ x).ravel(), back.sum(axis=0), slope @ h, [slope.sum()]]).astype(np.float32)
    backpropagation.adadelta(theta, gradient, *moments, COMMON.rate, 0.0)


def growth(steps: xr.DataArray) -> Interval | None:
    """Power of the number of inputs with which the steps (inputs, run) grow; None if a run never got there."""
    if steps.isnull().any():
        return None
    logs = np.log(steps.transpose("inputs", "run").values)
    return student(np.polyfit(np.log(steps.inputs.values.astype(float)), logs, 1)[0])


RECORDS: dict[str, Recipe] = {
    "losses": Recipe(
        turning,
        {
            "target": list(TARGETS),
            "loss": list(SLOPES),
            "inputs": [25, 50, 100, 200],
            "run": polynomials.RUNS,
        },
        about="Steps until neurons have turned, by target, loss and number of inputs",
        replicates="run",
        agreement=Agreement(elsewhere=0.1),
        shortened={"steps": 250},
    ),
}
