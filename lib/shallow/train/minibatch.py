r"""Stochastic gradient descent on the mean square for two-layer ReLU networks with few inputs and no biases (numba).

.. math:: f(x) = \sum_{j=1}^m a_j\,\sigma(\langle w_j, x\rangle), \qquad
          \ell_{\text{batch}} = \frac1B \sum_{b=1}^B (f(x_b) - y_b)^2

*without* a factor 1/2: one step of rate $\eta$ is $2\eta$ units of time of the gradient flow on the halved loss.
The compiled core is :mod:`shallow.train.fused`.  Source: Boursier and Flammarion, "Simplicity bias and optimization
threshold in two-layer ReLU networks", Section 5 and Appendix A.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from tqdm import tqdm

from shallow import checks
from shallow.nets import TwoLayer
from shallow.representation import short
from shallow.train import fused
from shallow.train.univariate import Diverged

_LONGEST = 8192  # steps of one call of the compiled core: short enough to be interrupted, long enough to hide the call


@dataclass(frozen=True)
class Run:
    """One training run.

    Attributes:
        steps: the recorded steps, shape (R,); step 0 is the initialisation.
        values: what was measured there, a list of length R; the networks themselves unless a measure was given.
        network: the trained network; its neurons are in the order of the initial one.
    """

    steps: np.ndarray
    values: list[Any]
    network: TwoLayer

    __repr__ = short


class Batches:
    """An endless stream of shuffled epochs, cut into batches: a batch may begin in one epoch and end in the next.

    Attributes:
        size: B, the number of samples in a batch.
        rng: the generator that shuffles; with `left` it is the whole state.
        left: samples of the current epoch that are not used yet, int32.
    """

    def __init__(self, n: int, size: int, rng: np.random.Generator) -> None:
        checks.integers(1, n=n, size=size)
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
    every: int = 50_000,
    records: Sequence[int] | None = None,
    measure: Callable[[TwoLayer], Any] | None = None,
    dtype: type = np.float64,
    progress: bool = False,
    checkpoint: str | Path | None = None,
    interval: int = 500_000,
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
        records: ascending steps at which `measure` is called; by default the first and the last.
        measure: a function of the network at a record; by default the network itself is kept.
        dtype: number type of the whole computation, by default that of a network; float32 takes half the time.
        progress: show a progress line.
        checkpoint: file for the state of the run, replaced atomically about every `interval` steps and at the end.  If
            it exists, the run goes on from there and ends with the same bits.  It is a pickle: read only your own.

    Raises:
        ValueError: for impossible input, naming the argument; also for the checkpoint of another run.
        Diverged: when a weight is not finite at a record or a checkpoint.

    Cost: about 22 d + 30 operations per neuron and sample of a batch; no array of B x m numbers is made.
    """
    x, y, records = _checked(x, y, network, rate, steps, batch, decay, every, records, dtype, interval)
    state = _State(x, y, network, Batches(len(x), batch, rng), dtype)
    saved = None if checkpoint is None else Path(checkpoint)
    key = saved and _key(x, y, network, rng, rate, steps, batch, decay, every, records, dtype)
    values: list[Any] = []
    if saved and saved.exists():
        values = state.restore(saved, key)
    stops = np.union1d(records, np.append(np.arange(interval, steps, interval), steps)) if saved else records
    with tqdm(total=steps, initial=state.taken, unit="step", unit_scale=True, disable=not progress) as line:
        for stop in [*stops[stops >= state.taken], steps]:
            while state.taken < stop:
                count = min(_LONGEST, stop - state.taken)
                state.advance(_rates(rate, decay, every, state.taken, count))
                line.update(count)
            if len(values) < len(records) and records[len(values)] == stop:
                values.append(state.network() if measure is None else measure(state.network()))
            if saved:
                state.save(saved, key, values)
    return Run(records, values, state.network())


class _State:
    """A run between two calls of the compiled core: the weights in tiles, the batches to come, and the steps taken."""

    def __init__(self, x: np.ndarray, y: np.ndarray, network: TwoLayer, batches: Batches, dtype: type) -> None:
        d, m = x.shape[1], network.width
        tiles = -(-m // fused.TILE)
        size = -(-m // (16 * tiles)) * 16  # tiles of one size, a whole number of vectors
        weights = np.zeros((tiles * size, d + 1))
        weights[:m] = np.column_stack([network.W, network.v])
        tiled = weights.reshape(tiles, size, d + 1).transpose(0, 2, 1)
        self.W, self.a = (np.ascontiguousarray(part, dtype) for part in (tiled[:, :d], tiled[:, d]))
        self.x, self.y = np.ascontiguousarray(x, dtype), np.ascontiguousarray(y, dtype)
        self.width, self.batches, self.taken = m, batches, 0

    def advance(self, rates: np.ndarray) -> None:
        steps = fused.steps(self.x.shape[1])
        steps(self.W, self.a, self.x, self.y, self.batches.take(len(rates)), rates.astype(self.W.dtype))
        self.taken += len(rates)

    def network(self) -> TwoLayer:
        """The network as it is now, in float64; raises Diverged if a weight is not finite."""
        W = self.W.transpose(0, 2, 1).reshape(-1, self.W.shape[1])[: self.width].astype(np.float64)
        v = self.a.reshape(-1)[: self.width].astype(np.float64)  # a copy: the state moves on
        if not (np.isfinite(W).all() and np.isfinite(v).all()):
            raise Diverged(self.taken)
        return TwoLayer(W, np.zeros(self.width), v)

    def save(self, path: Path, key: str, values: list[Any]) -> None:
        self.network()
        stream = (self.batches.rng.bit_generator.state, self.batches.left)
        temporary = path.with_name(path.name + ".part")
        joblib.dump((key, self.taken, self.W, self.a, stream, values), temporary)
        os.replace(temporary, path)

    def restore(self, path: Path, key: str) -> list[Any]:
        """Take over a saved state; the values measured so far."""
        found, self.taken, self.W, self.a, stream, values = joblib.load(path)
        if found != key:
            raise ValueError(f"checkpoint must belong to the same data, network and options; {path} is of another run")
        self.batches.rng.bit_generator.state, self.batches.left = stream
        return values


def _rates(rate: float, decay: float, every: int, first: int, count: int) -> np.ndarray:
    """Rates of `count` steps from `first` on; one power at a time: those of an array depend on its length."""
    periods = np.arange(first, first + count) // every
    return np.array([rate * decay ** int(k) for k in range(periods[0], periods[-1] + 1)])[periods - periods[0]]


def _key(x: np.ndarray, y: np.ndarray, network: TwoLayer, rng: np.random.Generator, *options: Any) -> str:
    """Hash of everything that a run depends on, but for what it measures."""
    digest = hashlib.sha256(repr((rng.bit_generator.state, options)).encode())
    for array in (x, y, network.W, network.v):
        digest.update(f"{array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


# Bad input.


def _checked(x, y, network, rate, steps, batch, decay, every, records, dtype, interval):
    checks.numbers(x=x, y=y, records=records)
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    inputs = network.W.shape[1]
    if x.ndim != 2 or not len(x) or x.shape[1] != inputs or not np.isfinite(x).all():
        raise ValueError(f"x must be finite of shape (n, {inputs}), got {checks.given(x)}")
    if y.shape != (len(x),) or not np.isfinite(y).all():
        raise ValueError(f"y must be finite of shape ({len(x)},), got {checks.given(y)}")
    if network.b.any():
        raise ValueError("network must have no biases, got biases that are not zero")
    checks.positive(rate=rate, decay=decay)
    checks.integers(0, steps=steps)
    checks.integers(1, batch=batch, every=every, interval=interval)
    if batch > len(x):
        raise ValueError(f"batch must be at most the number of points, {len(x)}, got {batch}")
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be numpy.float32 or numpy.float64, got {dtype!r}")
    given = np.unique([0, steps]) if records is None else np.asarray(records)
    whole = given.ndim == 1 and given.size and np.issubdtype(given.dtype, np.integer)
    if not whole or given[0] < 0 or given[-1] > steps or (np.diff(given) <= 0).any():
        raise ValueError(f"records must be ascending steps in 0..{steps}, got {records}")
    return x, y, given.astype(np.int64)
