r"""The standard network of the chapter, and stacks of networks that differ from it in named settings.

Rings of n = 40 points, length scales $(\xi_1, \xi_0) = (2, 1)$, 40 erf neurons with weights from $N(0, 2/(n + K))$ and
biases 0, labels +1 and -1, loss (2) with its factor 1/2, and plain descent with learning rate K/2 on fresh batches of
500 samples per class.
Source: note on localized receptive fields, Section 2, and the author's public code of the same time.
"""

from __future__ import annotations

from collections.abc import Sequence

from shallow import committee
from shallow.data.nlgp import Process
from shallow.stats import stream
from shallow.train import online

N, WIDTH, STEPS = 40, 40, 2000
LENGTHS = (2.0, 1.0)


def pair(gain: float, n: int = N, lengths: tuple[float, float] = LENGTHS, **options) -> tuple[Process, Process]:
    """The classes with label +1 and -1: processes of length scales lengths[0] and lengths[1]."""
    return tuple(Process(n, xi, gain, **options) for xi in lengths)


def starts(seeds: Sequence[int], width: int = WIDTH, n: int = N, **options) -> committee.Committee:
    """One initial network for each seed, the same for every gain; options of :func:`shallow.committee.start`."""
    return committee.start([stream("localization", "start", seed) for seed in seeds], width, n, **options)


def train(
    seeds: Sequence[int],
    gains: Sequence[float],
    *,
    networks: committee.Committee | None = None,
    lengths: tuple[float, float] = LENGTHS,
    rate: float | None = None,
    steps: int = STEPS,
    **options,
) -> online.Run:
    """Networks for all gains and seeds, gains slowest: row g S + s has gain gains[g] and seed seeds[s].

    Args:
        networks: where to begin, one network for each row; by default :func:`starts` of the seeds for every gain.
        rate: by default half the number of neurons.
        options: of :func:`shallow.train.online.train`.

    Cost: 0.4 s of one core for each network of 40 neurons and 2000 steps.
    """
    networks = starts(list(seeds) * len(gains)) if networks is None else networks
    pairs = [pair(gain, networks.pixels, lengths) for gain in gains for _ in seeds]
    rngs = [stream("localization", "batches", seed) for _ in gains for seed in seeds]
    rate = networks.width / 2 if rate is None else rate
    return online.train(networks, pairs, rngs=rngs, rate=rate, steps=steps, **options)
