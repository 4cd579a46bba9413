r"""Online stochastic gradient descent of committee machines that tell two nonlinear Gaussian processes apart.

.. math:: \hat y(x) = \frac1K \sum_{k=1}^K \sigma(\langle w_k, x\rangle + b_k) + c, \qquad
          \mathcal L = \tfrac12\,\mathbb E\,(\hat y - Y)^2 \ \text{or}\ \mathbb E\,|\hat y - Y| .

Use it where the data are a process, and not a sample.  Every step draws a fresh minibatch, equally many samples of both
classes, so that the loss is the expected one.  Weights and biases are trained, the read-out and the offset c are not.
Many networks of one shape are trained at once: seeds, gains, starts, clamped populations; none knows of another, and
each has its own random numbers.
The compiled core is :mod:`shallow.train.fresh_samples`.
Source: note on localized receptive fields, equations (1), (2), (16) and (28), and the author's public code.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from shallow import checks
from shallow.committee import Committee
from shallow.data.nlgp import Process
from shallow.display import short
from shallow.extras import threadpool_limits
from shallow.train import fresh_samples
from shallow.train.run import check_generators, for_each, log_spaced, schedule
from shallow.train.vector_math import lanes

Pair = tuple[Process, Process]


@dataclass(frozen=True)
class Run:
    """R networks, trained.

    Attributes:
        steps: the recorded steps, shape (S,); step 0 is the start.
        W, b: fields (R, S, K, N) and biases (R, S, K) at the records, in the number type of the networks.
        losses: mean loss of every minibatch before its step, float64, shape (R, steps).
        last: the networks after the last step.
        diverged: whether a parameter is no longer finite at the end, shape (R,).
    """

    steps: np.ndarray
    W: np.ndarray
    b: np.ndarray
    losses: np.ndarray
    last: Committee
    diverged: np.ndarray

    __repr__ = short

    def snapshot(self, step: int) -> Committee:
        """All networks after a recorded step."""
        checks.integers(0, step=step)
        if step not in self.steps:
            raise ValueError(f"step must be recorded, one of {self.steps.tolist()}, got {step}")
        i = int(np.searchsorted(self.steps, step))
        return replace(self.last, W=self.W[:, i], b=self.b[:, i])


def train(
    networks: Committee,
    processes: Pair | Sequence[Pair],
    *,
    rngs: Sequence[np.random.Generator],
    rate: float | np.ndarray,
    steps: int,
    batch: int = 1000,
    labels: tuple[float, float] = (1.0, -1.0),
    loss: str = "square",
    offset: float | np.ndarray = 0.0,
    bounds: tuple[float | np.ndarray, float | np.ndarray] = (-np.inf, np.inf),
    records: Sequence[int] | np.ndarray | int | None = None,
    jobs: int = 1,
) -> Run:
    r"""Train every network of a stack on its own, in the number type of its parameters.

    Args:
        networks: the R initial networks; not changed.  Another run's last ones, or pruned ones, may be given.
        processes: the classes (first, second), one pair for all networks or one for each.
        rngs: R generators, one for each network; each is asked once, for the seeds of a generator in the compiled
            loops.  Equal streams give equal batches, whatever the network; with other gains, equal latent samples.
        rate: $\eta$, one number or R.  A neuron moves at $\eta/K$: with N pixels of a fixed continuous field as
            inputs, $\eta$ goes like K and 1/N.
        steps: number of steps.
        batch: samples of a batch, an even number; half of them of each class.
        labels: of the first and of the second class.
        loss: "square", with its factor 1/2, or "absolute".
        offset: c, one number or R.
        bounds: lowest and highest value of the biases, which are put back into this interval after every step: numbers
            or arrays that broadcast to (R, K).  (0, inf) clamps a positive population, (b, b) keeps biases b for ever.
        records: steps at which weights and biases are kept, or an interval between them; by default
            :func:`shallow.train.run.log_spaced`.
        jobs: threads; also the number of processors used, as BLAS is held to one thread each.

    Raises:
        ValueError: for impossible input, naming the argument.

    Cost: per sample 4 K N + 2 N r operations in matrix products, r the rank of the latent covariance (on a torus
    r1 + r2), a normal number and an erf for each pixel, and an erf with its slope for each neuron.  With K = 40 and
    1000 samples a step takes 0.2 ms of one processor at N = 40 (0.45 in float64), 2.1 ms on a ring of 400 points at
    $\xi = (20, 10)$, and 1.7 ms on a torus of 20 x 20.  The first call compiles, about five seconds.
    """
    R = len(networks)
    pairs = [tuple(processes)] * R if isinstance(processes[0], Process) else [tuple(pair) for pair in processes]
    sizes = [_pixels(pair) for pair in pairs]
    if len(pairs) != R or set(sizes) != {networks.pixels}:
        raise ValueError(f"processes must be one pair or {R} with {networks.pixels} pixels, got {sizes} pixels")
    checks.finite(W=networks.W, b=networks.b)
    check_generators(rngs, R)
    checks.positive(rate=rate)
    checks.integers(0, steps=steps)
    checks.integers(1, jobs=jobs)
    checks.integers(2, batch=batch)
    if batch % 2:
        raise ValueError(f"batch must be even, got {batch}")
    checks.array((2,), labels=labels)
    checks.one_of(fresh_samples.LOSSES, loss=loss)
    labels = tuple(map(float, labels))
    rate, offset, (low, high) = for_each(R, rate=rate), for_each(R, offset=offset), _bounds(networks, bounds)
    records = schedule(log_spaced(steps) if records is None else records, steps)
    real = networks.W.dtype.type
    kinds = fresh_samples.ACTIVATIONS.index(networks.activation), fresh_samples.LOSSES.index(loss)
    S = len(records)
    W, b = np.empty((R, S, *networks.W.shape[1:]), real), np.empty((R, S, networks.width), real)
    losses, last = np.empty((R, steps)), replace(networks, W=networks.W.copy(), b=networks.b.copy())

    def run(r: int) -> None:
        state, now = lanes(rngs[r]), (last.W[r], last.b[r])
        recipes = tuple(fresh_samples.recipe(process, real) for process in pairs[r])
        taken = 0
        for i, stop in enumerate([*records, steps]):
            fresh_samples.descend(
                *kinds,
                *now,
                low[r],
                high[r],
                state,
                recipes,
                labels,
                batch // 2,
                networks.readout,
                offset[r],
                rate[r],
                losses[r, taken:stop],
            )
            taken = stop
            if i < S:
                W[r, i], b[r, i] = now

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(jobs) as pool:
        list(pool.map(run, range(R)))
    diverged = ~(np.isfinite(last.W).all(axis=(1, 2)) & np.isfinite(last.b).all(axis=1))
    return Run(records, W, b, losses, last, diverged)


def _pixels(pair: Pair) -> int:
    shapes = [process.shape for process in pair]
    if len(shapes) != 2 or shapes[0] != shapes[1]:
        raise ValueError(f"processes must be pairs of one shape, got shapes {shapes}")
    return int(np.prod(shapes[0]))


def _bounds(networks: Committee, bounds) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest biases in the number type of the networks, shape (R, K) each."""
    checks.numbers(bounds=bounds)
    shape, given = networks.b.shape, [np.asarray(bound, dtype=networks.b.dtype) for bound in bounds]
    try:
        low, high = (np.broadcast_to(bound, shape).copy() for bound in given)
    except ValueError:
        sizes = [bound.shape for bound in given]
        raise ValueError(f"bounds must be a lower and an upper bound that broadcast to {shape}, got {sizes}") from None
    outside = ~((low <= networks.b) & (networks.b <= high))
    if outside.any():
        lowest, bias, highest = (part[outside][0] for part in (low, networks.b, high))
        raise ValueError(f"bounds must contain the biases at the start, got {lowest} to {highest} for {bias}")
    return low, high
