r"""Descent of two-layer networks by the formulas: any activation, loss, update rule and batch; compiled, no shortcut.

Use it where no other trainer of this package is made for your case, or where the point is that nothing is left out.
With $z_{ik} = w_k \cdot x_i + b_k$, $f_i = \sum_k v_k\,\sigma(z_{ik})$ and $g_i = \ell'(f_i, y_i)$, divided by the
number of points where the loss is their mean,

.. math:: \nabla_{v_k} \mathcal L = \sum_i g_i\, \sigma(z_{ik}), \quad
          \nabla_{w_k} \mathcal L = v_k \sum_i g_i\, \sigma'(z_{ik})\, x_i, \quad
          \nabla_{b_k} \mathcal L = v_k \sum_i g_i\, \sigma'(z_{ik}) .
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np

from shallow import checks
from shallow.nets import ALL, TwoLayer
from shallow.train.backpropagation import adadelta, adam
from shallow.train.functions import ACTIVATIONS, LOSSES, activation, compare
from shallow.train.minibatch import LONGEST, Batches
from shallow.train.run import Diverged, Run, schedule

RULES = ("gd", "adam", "adadelta")  # of descent; compiled code takes their numbers in this order
PRODUCTS = 8  # inputs from which on matrix products are faster than loops
_BLOCK = 2**17  # activations that are held at a time, so that they stay in the cache
_ALL_POINTS = np.empty((0, 0), np.int32)


def train(
    x: np.ndarray,
    y: np.ndarray,
    network: TwoLayer,
    *,
    step: float,
    steps: int,
    activation: str = "relu",
    loss: str = "square",
    reduction: str = "mean",
    rule: str = "gd",
    rates: tuple[float, float, float] = ALL,
    decay: float = 0.0,
    batch: int | None = None,
    rng: np.random.Generator | None = None,
    records: Sequence[int] | np.ndarray | int | None = None,
    measure: Callable[[TwoLayer], Any] | None = None,
    largest: float = np.inf,
) -> Run:
    r"""Train (W, b, v) in float64.

    Args:
        x, y: inputs of shape (n,) or (n, d), and labels (n,).
        network: the initial network; not changed.  A TwoLayer is only the carrier of the weights here: its `forward` is
            that of the ReLU.
        step: $\eta$; the groups (v, W, b) move with $\eta$ times `rates`.
        steps: their number.
        activation: "relu", "gelu", "tanh" or "erf", see :func:`shallow.train.functions.activation`.
        loss: "hinge", "square" ($\frac12 (f - y)^2$), "absolute" or "bce", see :func:`shallow.train.functions.compare`.
        reduction: "sum" over the points of a batch, or their "mean".
        rule: "gd", or "adam" or "adadelta" with the constants of torch.optim.
        decay: $\mu$; "gd" multiplies every trained parameter by $1 - \eta\mu$ before the step, the other rules add
            $\mu$ times the parameter to the gradient.
        batch, rng: samples of a batch and the generator that shuffles, see :class:`shallow.train.minibatch.Batches`;
            by default every step sees all points.
        records: steps to record, or an interval between records; by default the first and the last.
        measure: a function of the network at a record; by default the network itself is kept.
        largest: a loss at which the run ends, with the records before it; by default it diverges where it is infinite.

    Returns:
        The run; its `loss` is that of all points at the records, shape (R,).

    Raises:
        ValueError: for impossible input, naming the argument.
        Diverged: when the loss is not finite, naming the step.

    Cost: 4 B m d operations per step, from `PRODUCTS` inputs on in two matrix products; the very first call compiles,
    some seconds.  For fewer inputs, with ReLU and hinge, the sums run in a fixed order without fused operations, so
    that every processor rounds them alike; products are rounded as BLAS likes.
    """
    x, y = _checked(x, y, network, activation, loss, reduction)
    checks.positive(step=step)
    checks.integers(1, steps=steps)
    checks.one_of(RULES, rule=rule)
    checks.array((3,), rates=rates)
    checks.not_negative(rates=rates, decay=decay)
    if batch is not None:
        checks.integers(1, len(x), batch=batch)
        if rng is None:
            raise ValueError("rng must be given where batch is, got None")
    records, share = schedule(records, steps), 1.0 if reduction == "sum" else 1 / (batch or len(x))
    stream = None if batch is None else Batches(len(x), batch, rng)
    by_row = step * np.array([*[rates[1]] * x.shape[1], rates[2], rates[0]], dtype=np.float64)
    keep = np.where(by_row > 0, 1 - step * decay, 1.0)
    kinds = ACTIVATIONS.index(activation), LOSSES.index(loss), RULES.index(rule)
    theta = _rows(network)
    moments, losses, values, taken = np.zeros((2, *theta.shape)), [], [], 0
    for stop in [*records, steps]:
        count = done = 0
        while taken < stop and done == count:
            count = min(LONGEST, stop - taken)
            rows = stream.take(count) if stream else _ALL_POINTS
            done = _descend(*kinds, x, y, rows, count, share, theta, moments, taken, by_row, keep, decay, largest)
            taken += done
        now = _gradient(x, y, theta, activation, loss, reduction)[1]
        finite = np.isfinite(theta).all()
        if done < count or not now < largest or not finite:
            if largest < np.inf and finite:
                break
            raise Diverged(int(taken))
        if len(values) < len(records):
            losses.append(now)
            values.append(_network(theta) if measure is None else measure(_network(theta)))
    return Run(records[: len(values)], values, _network(theta), np.array(losses))


def gradient(
    x: np.ndarray,
    y: np.ndarray,
    network: TwoLayer,
    *,
    activation: str = "relu",
    loss: str = "square",
    reduction: str = "mean",
) -> tuple[TwoLayer, float]:
    """The gradient of the loss of all points in (W, b, v), in the form of a network, and the loss; O(n m d)."""
    x, y = _checked(x, y, network, activation, loss, reduction)
    found, value = _gradient(x, y, _rows(network), activation, loss, reduction)
    return _network(found), value


def hidden(x: np.ndarray, network: TwoLayer, activation: str = "relu") -> tuple[np.ndarray, np.ndarray]:
    r"""$\sigma(z_{ik})$ and $\sigma'(z_{ik})$ for inputs (n, d), shape (n, m) each; f is the first of them times v."""
    checks.one_of(ACTIVATIONS, activation=activation)
    checks.array(("n", network.W.shape[1]), x=x)
    return _elementwise(ACTIVATIONS.index(activation), np.asarray(x, dtype=np.float64) @ network.W.T + network.b)


def _gradient(x, y, theta, activation, loss, reduction):
    found = np.empty_like(theta)
    share = 1.0 if reduction == "sum" else 1 / len(x)
    total = _sums(ACTIVATIONS.index(activation), LOSSES.index(loss), x, y, share, theta, found)
    found[:-1] *= theta[-1]
    return found, total


def _rows(network: TwoLayer) -> np.ndarray:
    """All parameters as rows: those of W^T, b and v, shape (d + 2, m)."""
    return np.ascontiguousarray(np.vstack([network.W.T, network.b, network.v]))


def _network(theta: np.ndarray) -> TwoLayer:
    return TwoLayer(theta[:-2].T.copy(), theta[-2].copy(), theta[-1].copy())


_compiled = numba.njit(nogil=True, error_model="numpy")
_kept = numba.njit(nogil=True, error_model="numpy", cache=True)


def _loops(name: str) -> tuple[Callable, Callable]:
    """Compiled loops over a row of pre-activations, without a sum: they vectorise with a fixed order of summation."""
    activate = activation(name)

    @_compiled
    def add(z, v, f):
        """f += v sigma(z)."""
        for i in range(len(z)):
            f[i] += v * activate(z[i])[0]

    @_compiled
    def pull(z, g, by_v, by_b):
        """by_v += g sigma(z), by_b += g sigma'(z), and z becomes sigma'(z)."""
        for k in range(len(z)):
            value, slope = activate(z[k])
            by_v[k] += g * value
            by_b[k] += g * slope
            z[k] = slope

    @_compiled
    def fill(z, b, values):
        """values = sigma(z + b), and z becomes sigma'(z + b)."""
        for k in range(len(z)):
            values[k], z[k] = activate(z[k] + b[k])

    return add, pull, fill


_ADD, _PULL, _FILL = zip(*map(_loops, ACTIVATIONS))
(_add_relu, _add_gelu, _add_tanh, _add_erf), (_pull_relu, _pull_gelu, _pull_tanh, _pull_erf) = _ADD, _PULL
_fill_relu, _fill_gelu, _fill_tanh, _fill_erf = _FILL


@_kept
def _add(activation, z, v, f):
    if activation == 0:
        _add_relu(z, v, f)
    elif activation == 1:
        _add_gelu(z, v, f)
    elif activation == 2:
        _add_tanh(z, v, f)
    else:
        _add_erf(z, v, f)


@_kept
def _pull(activation, z, g, by_v, by_b):
    if activation == 0:
        _pull_relu(z, g, by_v, by_b)
    elif activation == 1:
        _pull_gelu(z, g, by_v, by_b)
    elif activation == 2:
        _pull_tanh(z, g, by_v, by_b)
    else:
        _pull_erf(z, g, by_v, by_b)


@_kept
def _fill(activation, z, b, values):
    if activation == 0:
        _fill_relu(z, b, values)
    elif activation == 1:
        _fill_gelu(z, b, values)
    elif activation == 2:
        _fill_tanh(z, b, values)
    else:
        _fill_erf(z, b, values)


@_kept
def _elementwise(activation, z):
    value, slope, unused = np.zeros_like(z), z.copy(), np.empty(z.shape[1])
    for i in range(len(z)):
        _pull(activation, slope[i], 1.0, value[i], unused)
    return value, slope


@_kept
def _sums(activation, loss, x, y, share, theta, found):
    """The loss, and into `found` the gradient without its factors v_k."""
    n, d = x.shape
    if d >= PRODUCTS:
        return _products(activation, loss, x, y, share, theta, found)
    columns = np.ascontiguousarray(x.T)
    m = theta.shape[1]
    W, b, v = theta[:d], theta[d], theta[d + 1]
    dW, db, dv = found[:d], found[d], found[d + 1]
    f, z, pre, total = np.zeros(n), np.empty(n), np.empty(m), 0.0
    for k in range(m):
        z[:] = b[k]
        for j in range(d):
            w = W[j, k]
            for i in range(n):
                z[i] += w * columns[j, i]
        _add(activation, z, v[k], f)
    found[:] = 0.0
    for i in range(n):
        value, slope = compare(loss, f[i], y[i])
        total += value
        g = share * slope
        if g == 0.0:
            continue
        pre[:] = b
        for j in range(d):
            for k in range(m):
                pre[k] += W[j, k] * x[i, j]
        _pull(activation, pre, g, dv, db)
        for j in range(d):
            gx = g * x[i, j]
            for k in range(m):
                dW[j, k] += gx * pre[k]
    return share * total


@_kept
def _products(activation, loss, x, y, share, theta, found):
    """The same in matrix products over some points at a time."""
    n, d = x.shape
    m = theta.shape[1]
    W, b, v = theta[:d], theta[d], theta[d + 1]
    dW, db, dv = found[:d], found[d], found[d + 1]
    found[:] = 0.0
    rows, total = min(n, max(64, _BLOCK // m)), 0.0
    z, values, part = np.empty((rows, m)), np.empty((rows, m)), np.empty((d, m))
    for start in range(0, n, rows):
        points = x[start : start + rows]
        pre, hidden = z[: len(points)], values[: len(points)]
        np.dot(points, W, pre)
        for i in range(len(points)):
            _fill(activation, pre[i], b, hidden[i])
        f = np.dot(hidden, v)
        for i in range(len(points)):
            value, slope = compare(loss, f[i], y[start + i])
            total += value
            g = share * slope
            for k in range(m):
                pre[i, k] *= g
                dv[k] += g * hidden[i, k]
                db[k] += pre[i, k]
        np.dot(points.T, pre, part)
        for j in range(d):
            for k in range(m):
                dW[j, k] += part[j, k]
    return share * total


@_kept
def _descend(activation, loss, rule, x, y, rows, steps, share, theta, moments, taken, rates, keep, decay, largest):
    """Take steps: the number taken, fewer where the loss is not below `largest` before a step."""
    d, m, found = x.shape[1], theta.shape[1], np.empty_like(theta)
    for t in range(steps):
        if rows.size:
            points, labels = x[rows[t]], y[rows[t]]
        else:
            points, labels = x, y
        if not _sums(activation, loss, points, labels, share, theta, found) < largest:
            return t
        v = theta[d + 1]
        if rule == 0:
            for j in range(d + 1):
                for k in range(m):
                    theta[j, k] = theta[j, k] * keep[j] - rates[j] * v[k] * found[j, k]
            for k in range(m):
                v[k] = v[k] * keep[d + 1] - rates[d + 1] * found[d + 1, k]
        else:
            for j in range(d + 1):
                for k in range(m):
                    found[j, k] *= v[k]
            for j in range(d + 2):
                first, second = moments[0, j], moments[1, j]
                if rule == 1:
                    adam(theta[j], found[j], first, second, taken + t + 1, rates[j], decay)
                else:
                    adadelta(theta[j], found[j], first, second, rates[j], decay)
    return steps


def _checked(x, y, network, activation, loss, reduction) -> tuple[np.ndarray, np.ndarray]:
    checks.one_of(ACTIVATIONS, activation=activation)
    checks.one_of(LOSSES, loss=loss)
    checks.one_of(("sum", "mean"), reduction=reduction)
    checks.finite(x=x)
    x = np.asarray(x, dtype=np.float64)
    x = np.ascontiguousarray(x.reshape(len(x), -1))
    checks.array(("n", network.W.shape[1]), x=x)
    checks.array((len(x),), y=y)
    if loss in ("hinge", "bce"):
        checks.labels((-1, 0, 1) if loss == "hinge" else (-1, 1), y=y)
    return x, np.asarray(y, dtype=np.float64)
