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
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
import scipy.linalg  # noqa: F401  compiled code calls its BLAS, which must be loaded before it can be limited

from shallow import checks
from shallow.extras import threadpool_limits
from shallow.nets import ALL, TwoLayer
from shallow.train import vector_math
from shallow.train.backpropagation import adadelta, adam
from shallow.train.functions import ACTIVATIONS, LOSSES, activation, compare
from shallow.train.minibatch import LONGEST, Batches
from shallow.train.run import Diverged, Run, check_generators, schedule

RULES = ("gd", "adam", "adadelta")  # of descent; compiled code takes their numbers in this order
PRODUCTS = 6  # inputs from which on matrix products are faster than loops
_BLOCK = 2**19  # activations that are held at a time with products; a thirty-second of them, in the cache, with loops
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
    some seconds.  The same bits each time on one kind of processor with one BLAS.
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
    kinds = _kind(activation), LOSSES.index(loss), RULES.index(rule)
    theta, inputs = _rows(network), _inputs(x)
    moments, losses, values, taken = np.zeros((2, *theta.shape)), [], [], 0
    for stop in [*records, steps]:
        count = done = 0
        while taken < stop and done == count:
            count = min(LONGEST, stop - taken)
            rows = stream.take(count) if stream else _ALL_POINTS
            data = inputs, x, y, rows, count, share
            done = _descend(*kinds, *data, theta, moments, taken, by_row, keep, decay, largest)
            taken += done
        now = _loss(x, y, theta, activation, loss, reduction, theta[:0])
        finite = np.isfinite(theta).all()
        if done < count or not now < largest or not finite:
            if largest < np.inf and finite:
                break
            raise Diverged(int(taken))
        if len(values) < len(records):
            losses.append(now)
            values.append(_network(theta) if measure is None else measure(_network(theta)))
    return Run(records[: len(values)], values, _network(theta), np.array(losses))


def train_each(
    x: np.ndarray,
    y: np.ndarray,
    networks: Sequence[TwoLayer],
    *,
    rngs: Sequence[np.random.Generator] | None = None,
    jobs: int = 1,
    **options: Any,
) -> list[Run]:
    """The runs of many networks, each that of :func:`train`, `jobs` at a time in threads.

    Args:
        x, y: inputs and labels of all networks, as for :func:`train`.
        networks: R of any widths.
        rngs: R generators for mini-batches, one per network.
        jobs: threads; also the number of processors used, as BLAS is held to one thread each.
        options: those of :func:`train`; a `measure` is called in the threads.

    Raises:
        ValueError, Diverged: as :func:`train` does, of the first network in their order; those not begun are left out.
    """
    checks.integers(1, jobs=jobs)
    if rngs is not None:
        check_generators(rngs, len(networks))
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(jobs) as pool:
        own = zip(networks, rngs or [None] * len(networks), strict=True)
        runs = [pool.submit(train, x, y, network, rng=rng, **options) for network, rng in own]
        try:
            return [run.result() for run in runs]
        finally:
            pool.shutdown(cancel_futures=True)


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
    theta = _rows(network)
    found = np.empty_like(theta)
    value = _loss(x, y, theta, activation, loss, reduction, found)
    found[:-1] *= theta[-1]
    return _network(found), value


def hidden(x: np.ndarray, network: TwoLayer, activation: str = "relu") -> tuple[np.ndarray, np.ndarray]:
    r"""$\sigma(z_{ik})$ and $\sigma'(z_{ik})$ for inputs (n, d), shape (n, m) each; f is the first of them times v."""
    checks.one_of(ACTIVATIONS, activation=activation)
    checks.array(("n", network.W.shape[1]), x=x)
    slopes = np.asarray(x, dtype=np.float64) @ network.W.T
    values, f = np.empty_like(slopes), np.empty(len(slopes))
    _push(_kind(activation), (), slopes, slopes, network.b, network.v, values, slopes, f)
    return values, slopes


def _loss(x, y, theta, activation, loss, reduction, found):
    inputs, share = _inputs(x), 1.0 if reduction == "sum" else 1 / len(x)
    space = _space(inputs, x, theta.shape[1])
    return _sums(_kind(activation), LOSSES.index(loss), inputs, x, y, share, theta, found, space)


def _kind(activation: str) -> tuple[int, ...]:
    return (0,) * ACTIVATIONS.index(activation)


def _inputs(x: np.ndarray) -> tuple[int, ...]:
    """A tuple whose length tells compiled code the number of inputs; none where it shall take products."""
    return (0,) * x.shape[1] if x.shape[1] < PRODUCTS else ()


def _rows(network: TwoLayer) -> np.ndarray:
    """All parameters as rows: those of W^T, b and v, shape (d + 2, m)."""
    return np.ascontiguousarray(np.vstack([network.W.T, network.b, network.v]))


def _network(theta: np.ndarray) -> TwoLayer:
    return TwoLayer(theta[:-2].T.copy(), theta[-2].copy(), theta[-1].copy())


_FAST = {"nogil": True, "error_model": "numpy", "fastmath": vector_math.FAST}
_compiled = numba.njit(**_FAST)
_kept = numba.njit(cache=True, **_FAST)


def _forward(name: str) -> Callable:
    """The compiled pass from points to outputs for an activation."""
    activate = activation(name)

    @_compiled
    def forward(inputs, x, W, b, v, values, slopes, f):
        """Values and slopes of the hidden layer, shape (n, m), and f; for d = 0 `slopes` holds x W when it is called.

        `inputs` is a tuple of d numbers, whose type tells the compiler d, which writes the sums over d out.
        """
        for i in range(len(f)):
            total = 0.0
            for k in range(len(v)):
                z = b[k]
                if len(inputs) == 0:
                    z += slopes[i, k]
                for j in range(len(inputs)):
                    z += W[j, k] * x[i, j]
                value, slope = activate(z)
                values[i, k], slopes[i, k] = value, slope
                total += v[k] * value
            f[i] = total

    return forward


_relu, _gelu, _tanh, _erf = map(_forward, ACTIVATIONS)


@_kept
def _push(activation, inputs, x, W, b, v, values, slopes, f):
    """The pass of an activation, its number the length of a tuple: one is compiled, not all."""
    if len(activation) == 0:
        _relu(inputs, x, W, b, v, values, slopes, f)
    elif len(activation) == 1:
        _gelu(inputs, x, W, b, v, values, slopes, f)
    elif len(activation) == 2:
        _tanh(inputs, x, W, b, v, values, slopes, f)
    else:
        _erf(inputs, x, W, b, v, values, slopes, f)


@_kept
def _pull(inputs, x, rows, g, values, slopes, dW, db, dv):
    """Add what four points at a time contribute to the gradients: `rows` of them, with slopes g of the loss."""
    for t in range(0, len(rows), 4):
        i, j, k, l = rows[t], rows[t + 1], rows[t + 2], rows[t + 3]
        p, q, r, s = g[t], g[t + 1], g[t + 2], g[t + 3]
        for c in range(len(dv)):
            dv[c] += p * values[i, c] + q * values[j, c] + r * values[k, c] + s * values[l, c]
            db[c] += p * slopes[i, c] + q * slopes[j, c] + r * slopes[k, c] + s * slopes[l, c]
        for a in range(len(inputs)):
            pa, qa, ra, sa = p * x[i, a], q * x[j, a], r * x[k, a], s * x[l, a]
            for c in range(len(dv)):
                dW[a, c] += pa * slopes[i, c] + qa * slopes[j, c] + ra * slopes[k, c] + sa * slopes[l, c]


@_kept
def _space(inputs, x, m):
    """What a gradient needs beside its result: arrays for some points at a time, and for a product."""
    most = max(4, _BLOCK // 32 // m) if len(inputs) else max(64, _BLOCK // m)
    most = -(-len(x) // -(-len(x) // most))  # equal parts
    hidden, part = np.empty((2, most, m)), np.empty((0 if len(inputs) else x.shape[1], m))
    return hidden, np.empty(most), np.empty(most + 3, np.int64), np.empty(most + 3), part


@_kept
def _sums(activation, loss, inputs, x, y, share, theta, found, space):
    """The loss, and into `found`, unless it is empty, the gradient without its factors v_k."""
    d, (hidden, f, rows, g, part), total = x.shape[1], space, 0.0
    W, b, v = theta[:d], theta[d], theta[d + 1]
    found[:] = 0.0
    for start in range(0, len(x), len(f)):
        points = x[start : start + len(f)]
        size, active = len(points), 0
        values, slopes = hidden[0, :size], hidden[1, :size]
        if len(inputs) == 0:
            np.dot(points, W, slopes)
        _push(activation, inputs, points, W, b, v, values, slopes, f[:size])
        for i in range(size):
            value, slope = compare(loss, f[i], y[start + i])
            total += value
            f[i] = share * slope
            if slope != 0.0:
                rows[active], g[active] = i, f[i]
                active += 1
        if len(found) == 0:
            continue
        fours = (active + 3) // 4 * 4
        rows[active:fours], g[active:fours] = 0, 0.0
        _pull(inputs, points, rows[:fours], g[:fours], values, slopes, found[:d], found[d], found[d + 1])
        if len(inputs) == 0:
            for i in range(size):
                for k in range(len(v)):
                    slopes[i, k] *= f[i]
            if start == 0:
                np.dot(points.T, slopes, found[:d])
            else:
                found[:d] += np.dot(points.T, slopes, part)
    return share * total


@_kept
def _descend(
    activation, loss, rule, inputs, x, y, rows, steps, share, theta, moments, taken, rates, keep, decay, largest
):
    """Take steps: the number taken, fewer where the loss is not below `largest` before a step."""
    d, m = x.shape[1], theta.shape[1]
    found, space = np.empty_like(theta), _space(inputs, x[: rows.shape[1]] if rows.size else x, m)
    for t in range(steps):
        if rows.size:
            points, labels = x[rows[t]], y[rows[t]]
        else:
            points, labels = x, y
        if not _sums(activation, loss, inputs, points, labels, share, theta, found, space) < largest:
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
