r"""Stochastic gradient descent on the mean square for two-layer ReLU networks with few inputs and no biases (numba).

.. math:: f(x) = \sum_{j=1}^m a_j\,\sigma(\langle w_j, x\rangle), \qquad
          \ell_{\text{batch}} = \frac1B \sum_{b=1}^B (f(x_b) - y_b)^2

*without* a factor 1/2: one step of rate $\eta$ is $2\eta$ units of time of the gradient flow on the halved loss.
Use it for few inputs, up to about ten, and any number of neurons.  The compiled core is :mod:`shallow.train.fused`.
Source: Boursier and Flammarion, "Simplicity bias and optimization threshold in two-layer ReLU networks", Section 5 and
Appendix A.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shallow import checks
from shallow.nets import TwoLayer
from shallow.train import fused
from shallow.train.run import Diverged, Run, schedule

#: Steps of one call of the compiled core: short enough to be interrupted, long enough to hide the call.
LONGEST = 8192


class Batches:
    """An endless stream of shuffled epochs, cut into batches: a batch may begin in one epoch and end in the next.

    Attributes:
        size: B, the number of samples in a batch.
        rng: the generator that shuffles; with `left` it is the whole state.
        left: samples of the current epoch that are not used yet, int32.
    """

    def __init__(self, n: int, size: int, rng: np.random.Generator) -> None:
        checks.generators(rng=rng)
        checks.integers(1, n=n)
        checks.integers(1, n, size=size)
        self.n, self.size, self.rng, self.left = n, size, rng, np.empty(0, np.int32)

    def take(self, count: int) -> np.ndarray:
        """The next `count` batches, shape (count, B); the stream does not depend on how it is cut into calls."""
        checks.integers(0, count=count)
        epochs, missing = [self.left], count * self.size - len(self.left)
        while missing > 0:
            epochs.append(self.rng.permutation(self.n).astype(np.int32))
            missing -= self.n
        taken = np.concatenate(epochs)
        self.left = taken[count * self.size :].copy()
        return taken[: count * self.size].reshape(count, self.size)


def train(
    x: np.ndarray,
    y: np.ndarray,
    network: TwoLayer,
    *,
    rate: float,
    steps: int,
    batch: int = 32,
    rng: np.random.Generator,
    decay: float = 1.0,
    every: int = 1,
    records: Sequence[int] | np.ndarray | int | None = None,
    measure: Callable[[TwoLayer], Any] | None = None,
    dtype: type = np.float64,
) -> Run:
    r"""Train all weights by mini-batch gradient descent; epochs are shuffled, see :class:`Batches`.

    Args:
        x, y: inputs of shape (n, d) and labels of shape (n,).
        network: the initial network, without biases; not changed.
        rate: $\eta$, the learning rate at the start.
        steps: number of steps.
        batch: B, the samples in a batch, at most n; B = n is gradient descent on the full batch.
        rng: shuffles the epochs, and is used by nothing else.
        decay, every: the rate of step t is $\eta\,\gamma^{\lfloor t / \text{every} \rfloor}$ with $\gamma$ = `decay`.
        records: steps to record, or an interval between records; by default the first and the last.
        measure: a function of the network at a record; by default the network itself is kept.
        dtype: number type of the whole computation, by default float64, that of a network; float32 takes half the time
            and has to be asked for.

    Returns:
        The run, without its loss.

    Raises:
        ValueError: for impossible input, naming the argument.
        Diverged: when a weight is not finite at a record.

    Cost: about 22 d + 30 operations per neuron and sample of a batch; one byte for each, but no array of B x m numbers.
    """
    checks.generators(rng=rng)
    checks.array(("n", network.W.shape[1]), x=x)
    checks.array((len(x),), y=y)
    if network.b.any():
        raise ValueError("network must have no biases, got biases that are not zero")
    checks.positive(rate=rate)
    checks.within("(0, 1]", decay=decay)
    checks.integers(0, steps=steps)
    checks.integers(1, every=every)
    checks.integers(1, len(x), batch=batch)
    checks.one_of((np.float32, np.float64), dtype=dtype)
    records = schedule(records, steps)
    x, y = (np.ascontiguousarray(part, np.float64).astype(dtype) for part in (x, y))
    d, m, batches = x.shape[1], network.width, Batches(len(x), batch, rng)
    tiles = -(-m // fused.TILE)
    size = -(-m // (16 * tiles)) * 16  # tiles of one size, a whole number of vectors
    weights = np.zeros((tiles * size, d + 1))
    weights[:m] = np.column_stack([network.W, network.v])
    tiled = weights.reshape(tiles, size, d + 1).transpose(0, 2, 1)
    W, a = (np.ascontiguousarray(part, dtype) for part in (tiled[:, :d], tiled[:, d]))
    inputs, taken, values = (0,) * d, 0, []
    for stop in [*records, steps]:
        while taken < stop:
            rates = _rates(rate, decay, every, taken, min(LONGEST, stop - taken))
            fused.steps(inputs, W, a, x, y, batches.take(len(rates)), rates.astype(dtype))
            taken += len(rates)
        if not (np.isfinite(W).all() and np.isfinite(a).all()):
            raise Diverged(taken)
        flat = W.transpose(0, 2, 1).reshape(-1, d)[:m].astype(np.float64), a.reshape(-1)[:m].astype(np.float64)
        now = TwoLayer(flat[0], np.zeros(m), flat[1])  # copies: the weights move on
        if len(values) < len(records):
            values.append(now if measure is None else measure(now))
    return Run(records, values, now)


def _rates(rate: float, decay: float, every: int, first: int, count: int) -> np.ndarray:
    """Rates of `count` steps from `first` on; one power at a time: those of an array depend on its length."""
    periods = np.arange(first, first + count) // every
    return np.array([rate * decay ** int(k) for k in range(periods[0], periods[-1] + 1)])[periods - periods[0]]
