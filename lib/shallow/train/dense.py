r"""Full-batch gradient descent for two-layer ReLU networks with any number of inputs: the formulas, compiled.

It evaluates all $n m d$ products of every epoch and takes no shortcut: not at zero loss, not for dead neurons.  Use it
for more than one input, and where the point is that nothing has been left out; for one input
:mod:`shallow.train.univariate` is far faster.  With $g_i = -y_i [1 - y_i f_i > 0]$ and $a_{ik} = [w_k \cdot x_i + b_k
> 0]$,

.. math:: \nabla_{v_k} \mathcal L = \sum_i g_i \mathrm{ReLU}(w_k \cdot x_i + b_k), \quad
          \nabla_{w_k} \mathcal L = v_k \sum_i g_i a_{ik} x_i, \quad \nabla_{b_k} \mathcal L = v_k \sum_i g_i a_{ik} .
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from shallow import checks
from shallow.nets import ALL, TwoLayer
from shallow.representation import short
from shallow.train.univariate import Diverged, every


@dataclass(frozen=True)
class Run:
    """One training run.

    Attributes:
        epochs: recorded epochs, shape (R,); epoch 0 is the initialisation.
        loss: summed hinge loss at the records, shape (R,).
        networks: the network at every record, a list of length R.
    """

    epochs: np.ndarray
    loss: np.ndarray
    networks: list[TwoLayer]

    __repr__ = short


def train(
    x: np.ndarray,
    y: np.ndarray,
    network: TwoLayer,
    *,
    step: float,
    epochs: int,
    records: int | None = None,
    rates: tuple[float, float, float] = ALL,
    decay: float = 0.0,
) -> Run:
    r"""Train on the summed hinge loss by the update formulas of Bowman (2025, Section 1.2).

    Args:
        x, y: inputs of shape (n,) or (n, d) and labels of shape (n,), y in {-1, 0, 1}, and no truth values.  A point
            with label 0 carries no gradient: its hinge is 1 whatever f is.
        network: initial network with d inputs; not changed.
        step: $\eta$; the groups (v, W, b) move with $\eta$ times `rates`.
        epochs: number of steps.
        records: interval between records; by default only the first and the last epoch.
        decay: $\mu$; every trained parameter is multiplied by $1 - \eta\mu$ before the step.

    Raises:
        ValueError: for impossible input, naming the argument.
        Diverged: when the loss is not finite, naming the epoch.

    Cost: O(n m d) per epoch.  Sums run in a fixed order, so that every processor rounds them alike.
    """
    checks.numbers(x=x, y=y, rates=rates)
    checks.labels(y=y)
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    x = np.ascontiguousarray(x.reshape(len(x), -1))
    if x.shape[1] != network.W.shape[1] or not len(x) or not np.isfinite(x).all():
        raise ValueError(f"x must be finite with {network.W.shape[1]} columns, got {checks.given(x)}")
    if y.shape != (len(x),) or not np.isin(y, (-1, 0, 1)).all():
        raise ValueError(
            f"y must have shape ({len(x)},) and values -1, 0, 1; got {checks.given(y, np.isin(y, (-1, 0, 1)))}"
        )
    checks.positive(step=step)
    checks.integers(1, epochs=epochs)
    if not (np.isfinite(decay) and decay >= 0):
        raise ValueError(f"decay must be finite and not negative, got {decay}")
    if records is not None and (not isinstance(records, int | np.integer) or records < 1):
        raise ValueError(f"records must be a positive interval between records, got {records!r}")
    if len(rates) != 3 or not all(np.isfinite(rate) and rate >= 0 for rate in rates):
        raise ValueError(f"rates must be three non-negative numbers for (v, W, b), got {rates}")
    kept = every(records or epochs, epochs)
    W, b, v = network.W.T.copy(), network.b.copy(), network.v.copy()
    steps, shrink = step * np.asarray(rates, dtype=float), np.where(np.asarray(rates) > 0, 1 - step * decay, 1.0)
    loss, networks = np.empty(len(kept)), []
    for r, (epoch, following) in enumerate(zip(kept, np.append(kept[1:], kept[-1]), strict=True)):
        networks.append(TwoLayer(W.T.copy(), b.copy(), v.copy()))
        loss[r], bad = _descend(x, y, W, b, v, steps, shrink, following - epoch)
        if bad >= 0:
            raise Diverged(int(epoch + bad))
    return Run(kept, loss, networks)


@numba.njit(cache=True, nogil=True)
def _descend(x, y, W, b, v, steps, shrink, epochs):
    """Take `epochs` steps in place; returns the loss before the first and the epoch of a non-finite loss, or -1.

    W is (d, m) and x is (n, d).  The inner loops run over points or over neurons without carrying a sum, so that they
    vectorise with a fixed order of summation.
    """
    n, d = x.shape
    m = v.size
    columns = np.ascontiguousarray(x.T)
    f, z, pre = np.empty(n), np.empty(n), np.empty(m)
    dW, db, dv = np.empty((d, m)), np.empty(m), np.empty(m)
    first = 0.0
    for epoch in range(max(epochs, 1)):
        f[:] = 0.0
        for k in range(m):
            z[:] = b[k]
            for j in range(d):
                w = W[j, k]
                for i in range(n):
                    z[i] += w * columns[j, i]
            for i in range(n):
                f[i] += v[k] * max(z[i], 0.0)
        hinge = 0.0
        for i in range(n):
            margin = 1.0 - y[i] * f[i]
            hinge += margin if not margin <= 0.0 else 0.0  # NaN goes in
        if epoch == 0:
            first = hinge
        if not np.isfinite(hinge):
            return first, epoch
        if epochs == 0:
            break
        dW[:], db[:], dv[:] = 0.0, 0.0, 0.0
        for i in range(n):
            if not 1.0 - y[i] * f[i] > 0.0:
                continue
            g = -y[i]
            pre[:] = b
            for j in range(d):
                for k in range(m):
                    pre[k] += W[j, k] * x[i, j]
            for k in range(m):
                dv[k] += g * max(pre[k], 0.0)
                db[k] += g if pre[k] > 0.0 else 0.0
            for j in range(d):
                gx = g * x[i, j]
                for k in range(m):
                    dW[j, k] += gx if pre[k] > 0.0 else 0.0
        for k in range(m):
            old = v[k]
            v[k] = old * shrink[0] - steps[0] * dv[k]
            b[k] = b[k] * shrink[2] - steps[2] * old * db[k]
            for j in range(d):
                W[j, k] = W[j, k] * shrink[1] - steps[1] * old * dW[j, k]
    return first, -1
