"""How the cost of the library's main routines grows with their sizes, on one thread.

A curve takes one routine, lets one size grow and keeps the others.  `cost` is the law of the routine's docstring up to
a factor; the page draws it beside the times and compares the exponents.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from timeit import timeit

import numpy as np

from benchmarks import timing
from experiments.localization import gaussian_flow
from experiments.simplicity_bias import two_fits
from experiments.simplicity_bias.extremal import cells as extremal
from shallow import committee, mlp, nets
from shallow.data import cyclic, teachers
from shallow.data.nlgp import Process, circulant
from shallow.kernels import layered, linear_machines
from shallow.spectra import esd, tails
from shallow.spectra.marchenko_pastur import MarchenkoPastur
from shallow.stats import stream
from shallow.train import flow, online, univariate

#: The sizes that are kept where another grows.
POINTS, NEURONS, PIXELS, BATCH, RANK = 105, 512, 40, 1000, 200
#: Seconds that a timing takes at least; faster calls are repeated.
LEAST = 0.02


@dataclass(frozen=True)
class Curve:
    """One routine and one size.

    Attributes:
        routine: its name in the library.
        size: symbol of what grows, and in words.
        law: the docstring's cost, as TeX.
        cost: the same as a number, at a size.
        problem: a function of the size that returns `run()`, and how many equal parts a run has, such as epochs.
        sizes: ascending.
    """

    routine: str
    size: tuple[str, str]
    law: str
    cost: Callable[[int], float]
    problem: Callable[[int], tuple[Callable[[], object], int]]
    sizes: Sequence[int]


def on_a_line(n=POINTS, m=NEURONS, epochs=1000):
    """Epochs of the univariate trainer; the step falls with n, because the loss is a sum."""
    sample = cyclic.sample(n, seed=0)
    network = nets.default(sample.rng, m)

    def run():
        trained = univariate.train(sample.x, sample.y, network, step=1 / n, epochs=epochs, records=epochs)
        assert trained.zero_epoch is None, "epochs after the loss is zero are not computed"

    return run, epochs


def eigenvalues(d):
    W = stream("scaling", "matrix", d).standard_normal((3 * d // 2, d))
    return lambda: esd.eigenvalues(W), 1


def power_law(n):
    """The fit of a random spectrum."""
    values = MarchenkoPastur(3 * n // 2, n).quantile(stream("scaling", "spectrum", n).uniform(size=n))
    return lambda: tails.power_law(values), 1


def circle(n):
    sample = teachers.gaussian(stream("scaling", "circle", n), teachers.first_axis(2), n)
    return lambda: extremal.circle(*sample), 1


def by_groups(m, n=1000, alignment=8000, steps=400_000):
    """Full-batch steps after the early alignment, where two patterns are left; with the first look at all neurons."""
    x, y, network, _ = two_fits.draw(0, n, m=m)
    aligned = flow.train(x, y, network, step=two_fits.STEP, steps=alignment).network
    return lambda: flow.train(x, y, aligned, step=two_fits.STEP, steps=steps), steps


def tangent_kernel(n=2000, width=64):
    """Of a network with three hidden layers and seven inputs."""
    network = mlp.default([stream("scaling", "network")], (7, width, width, width, 1)).network(0)
    x = stream("scaling", "inputs", n).standard_normal((n, 7))
    return lambda: layered.ntk(*network, x), 1


def passes(n, count=10):
    """Passes of coordinate descent over points with random labels."""
    rng = stream("scaling", "points", n)
    points = linear_machines.Reduced(rng.standard_normal((n, RANK)), np.arange(RANK))
    y = np.where(rng.uniform(size=n) < 0.5, -1, 1)
    return lambda: linear_machines.coordinate_descent(points, y, 1.0, stream("scaling", "order"), passes=[count]), count


def classes(pixels):
    """Both classes of receptive fields; their correlation lengths grow with the ring."""
    return Process(pixels, pixels / 20, 3.0), Process(pixels, pixels / 40, 3.0)


def online_steps(pixels, steps=20):
    network = committee.start([stream("scaling", "fields")], PIXELS, pixels)

    def run():
        rngs = [stream("scaling", "batches")]
        online.train(network, classes(pixels), rngs=rngs, rate=20.0, steps=steps, batch=BATCH, records=[steps])

    return run, steps


def samples(count):
    process, rng = classes(PIXELS)[0], stream("scaling", "samples")
    return lambda: process.sample(rng, count, np.float32), 1


def velocity(pixels):
    W = committee.start([stream("scaling", "flow")], PIXELS, pixels).W[0]
    covariances = [circulant(process.covariance) for process in classes(pixels)]
    return lambda: gaussian_flow.velocity(W, np.full(len(W), 0.1), *covariances, coupled=True), 1


def operations(pixels):
    """Of a sample in the products of the trainer, of which r latent modes are drawn."""
    ranks = [process.roots[0].shape[0] for process in classes(pixels)]
    return 4 * PIXELS * pixels + 2 * pixels * np.mean(ranks)


def powers(first, last):
    """2^first, ..., 2^last."""
    return tuple(2**k for k in range(first, last + 1))


def rings(most):
    """20, 40, ..., 10 2^most."""
    return tuple(10 * power for power in powers(1, most))


NEURON, POINT = ("m", "neurons"), ("n", "points")
CURVES = {
    "cyclic_labels": (
        Curve("train.univariate.train", NEURON, "n + m", lambda m: POINTS + m, lambda m: on_a_line(m=m), powers(6, 14)),
        Curve("train.univariate.train", POINT, "n + m", lambda n: n + NEURONS, on_a_line, powers(6, 14)),
    ),
    "hidden_structure": (
        Curve("kernels.layered.ntk", POINT, "n^2", lambda n: n**2, tangent_kernel, powers(6, 12)),
        Curve(
            "kernels.layered.ntk",
            ("m", "width of a layer"),
            r"\sum_l (m_l + m_{l-1})",
            lambda m: 6 * m + 8,
            lambda m: tangent_kernel(width=m),
            powers(3, 9),
        ),
        Curve("linear_machines.coordinate_descent", POINT, "n r", lambda n: n * RANK, passes, powers(10, 15)),
    ),
    "simplicity_bias": (
        Curve("extremal.circle", POINT, r"n \log n", lambda n: n * np.log(n), circle, powers(8, 18)),
        Curve("train.flow.train", NEURON, "K^2 d^2", lambda m: 1, by_groups, powers(3, 10)),
    ),
    "heavy_tails": (
        Curve("spectra.esd.eigenvalues", ("d", "columns"), "d^3", lambda d: d**3, eigenvalues, powers(5, 10)),
        Curve(
            "spectra.tails.power_law", ("N", "values"), r"N^2 \text{ at most}", lambda n: n**2, power_law, powers(8, 15)
        ),
    ),
    "localization": (
        Curve("train.online.train", ("N", "pixels"), "4 K N + 2 N r", operations, online_steps, rings(6)),
        Curve("data.nlgp.Process.sample", ("B", "samples"), "B", lambda count: count, samples, powers(4, 15)),
        Curve(
            "gaussian_flow.velocity",
            ("n", "pixels"),
            "K n^2 + K^2 n",
            lambda n: PIXELS * n**2 + PIXELS**2 * n,
            velocity,
            rings(7),
        ),
    ),
}


def measure(rounds: int, threads: int) -> list[dict]:
    """Microseconds of a part of a run (an epoch, a step, a call) by curve and size.

    A first run compiles, and a second says how often a short one is repeated.
    """
    curves, cases = [], []
    for chapter, found in CURVES.items():
        for one in found:
            points = []
            for size in one.sizes:
                run, parts = one.problem(size)
                run()
                repeats = int(np.ceil(LEAST / timeit(run, number=1)))
                points.append({"size": size, "cost": float(one.cost(size))})
                cases.append((points[-1], partial(timeit, run, number=repeats), repeats * parts))
            row = {"chapter": chapter, "routine": one.routine, "size": one.size, "law": one.law}
            curves.append(row | {"points": points})
    timing.timed(cases, rounds, 1e6)
    return curves
