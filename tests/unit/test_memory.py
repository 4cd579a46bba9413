"""Peak memory of the routines that promise not to make the large arrays of the obvious form.

Every bound is a number of arrays of the sizes that the routine is allowed, and stands beside a twin: the obvious form
at the same sizes, which exceeds it, so that the measurement is known to see what it should.  NumPy tells tracemalloc
what it allocates.  Compiled loops, LAPACK and PyTorch do not: such a call is measured by how far it raises the largest
resident set of a process of its own (this file as a script).
"""

import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
import torch

from shallow import committee, deep, mlp, nets
from shallow.data import cyclic, images
from shallow.data.nlgp import Process
from shallow.kernels import empirical, layered
from shallow.spectra import esd, tails
from shallow.stats import stream
from shallow.train import accumulated, minibatch, online, univariate

NUMBER = 8  # bytes
#: What the allocator and pages of code may add to a resident set.
NOISE = 8_000_000
#: The size, of that which a case takes as its argument, for calls that compile and load the code.
SMALL = 40


class Case(NamedTuple):
    """A routine and its twin at the same sizes, and the bound in bytes."""

    bound: int
    ours: Callable[[], object]
    naive: Callable[[], object]


# What NumPy allocates.


def traced(call: Callable[[], object]) -> int:
    """Largest number of bytes that NumPy and Python hold at a time for a call, its result included."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_images_are_read_as_bytes(tmp_path):
    """Once, and never as numbers: 4000 and 1000 random images of 32 x 32 x 3."""
    rng, found = np.random.default_rng(0), {}
    for part, n in (("train", 4000), ("test", 1000)):
        found[f"x_{part}"] = rng.integers(0, 256, (n, 32, 32, 3), dtype=np.uint8)
        found[f"y_{part}"] = rng.integers(0, 10, n)
    np.savez(tmp_path / "cifar10.npz", **found)
    size = 5000 * 32 * 32 * 3
    loaded = images.load("cifar10", tmp_path).x_train
    assert traced(lambda: images.load("cifar10", tmp_path)) <= 1.1 * size < traced(lambda: loaded.astype(float))


# What the whole process takes.


def two_layer_kernel(m: int = 60_000) -> Case:
    """Activations of one chunk of neurons and matrices of the result's size; neither all activations nor gradients."""
    network = nets.default(stream("memory"), m, 3)
    x = stream("points").standard_normal((150, 3))
    bound = (6 * len(x) * empirical._CHUNK + 8 * len(x) ** 2) * NUMBER + NOISE
    return Case(bound, lambda: empirical.ntk(network, x), lambda: x @ network.W.T)


def epochs_on_a_line(m: int = 20_000) -> Case:
    """Vectors of points and neurons, and the table of bins; not the pairs of both."""
    sample = cyclic.sample(2000, seed=0)
    network = nets.default(sample.rng, m)
    bound = 64 * (2000 + m) * NUMBER + NOISE
    return Case(
        bound,
        lambda: univariate.train(sample.x, sample.y, network, step=1e-4, epochs=3),
        lambda: np.multiply.outer(sample.x, network.W[:, 0]),
    )


def mini_batches(m: int = 60_000) -> Case:
    """Copies of the weights and a byte for each sample and neuron; not the activations of a batch."""
    d, batch = 5, 512
    x = stream("inputs").standard_normal((1000, d)).astype(np.float32)
    network = nets.small(stream("network"), m, d, 1e-3)
    options = {"rate": 0.01, "steps": 2, "batch": batch}
    return Case(
        10 * m * (d + 1) * NUMBER + batch * m + NOISE,
        lambda: minibatch.train(x, x[:, 0], network, rng=stream("batches"), **options),
        lambda: x[:batch] @ network.W.astype(np.float32).T,
    )


def deep_tangent_kernel(n: int = 600) -> Case:
    """The result, some copies of the activations and a few blocks; not the gradients."""
    widths = (100, 512, 1)
    network, x = mlp.default([stream("network")], widths).network(0), stream("points").standard_normal((n, widths[0]))
    bound = (n**2 + 8 * n * sum(widths) + 4 * layered._BLOCK**2) * NUMBER + NOISE
    return Case(bound, lambda: layered.ntk(*network, x), lambda: layered.jacobian(*network, x))


def spectrum_of_a_long_matrix(h: int = 3000) -> Case:
    """The Gram matrix of the short side; no orthogonal matrix of the long one."""
    d = 100
    W = stream("matrix").standard_normal((h, d))
    bound = (h * d + 8 * d**2) * NUMBER + NOISE
    return Case(bound, lambda: esd.eigenvalues(W), lambda: np.linalg.svd(W))


def largest_singular_values(d: int = 1000) -> Case:
    """Some tens of vectors; not all of them."""
    h = 3 * d // 2
    W = stream("matrix").standard_normal((h, d))
    return Case(50 * (h + d) * NUMBER + NOISE, lambda: esd.top(W, 2), lambda: esd.singular_vectors(W))


def tail_of_a_spectrum(n: int = 4000) -> Case:
    """Vectors of the values; not the distances of all cuts."""
    values = stream("values").pareto(1.5, n) + 1
    return Case(16 * n * NUMBER + NOISE, lambda: tails.scan(values), lambda: np.divide.outer(values, values))


def online_samples(steps: int = 1000) -> Case:
    """A few batches whatever the number of steps; not the samples of all of them."""
    pair, batch, pixels = (Process(40, 2.0, 3.0), Process(40, 1.0, 3.0)), 400, 40
    networks, options = committee.start([stream("network")], 8, pixels), {"rate": 1.0, "records": [steps]}
    bound = (4 * batch * pixels + steps) * NUMBER + NOISE
    return Case(
        bound,
        lambda: online.train(networks, pair, rngs=[stream("batches")], steps=steps, batch=batch, **options),
        lambda: stream("batches").standard_normal((steps, batch, pixels)),
    )


def micro_batches(n: int = 200) -> Case:
    """Twice what the docstring says of an image, 2 MB at the width 64, for those of one micro-batch; not for all."""
    width, few = 16, 10
    network, rng = deep.vgg11(stream("network"), width=width), stream("images")
    x = torch.tensor(rng.standard_normal((n, 3, 32, 32)), dtype=torch.float32)
    y = torch.tensor(rng.integers(10, size=n))
    weights = sum(p.nbytes for p in network.parameters())
    bound = 2 * few * 2_000_000 * width // 64 + 4 * weights + NOISE
    return Case(
        bound,
        lambda: accumulated.gradient(network, x, y, micro_batch=few),
        lambda: accumulated.gradient(network, x, y, micro_batch=n),
    )


WHOLE = (
    two_layer_kernel,
    epochs_on_a_line,
    mini_batches,
    deep_tangent_kernel,
    spectrum_of_a_long_matrix,
    largest_singular_values,
    tail_of_a_spectrum,
    online_samples,
    micro_batches,
)


@pytest.fixture(scope="module")
def resident():
    alone = os.environ | {"OMP_NUM_THREADS": "1"}  # other threads would not live on in a forked process
    done = subprocess.run([sys.executable, __file__], env=alone, capture_output=True, encoding="utf-8", check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", [case.__name__ for case in WHOLE])
def test_processes_stay_within_their_bound(resident, name):
    bound, ours, naive = resident[name]
    assert ours <= bound < naive


def largest_resident_set() -> int:
    """Bytes; Linux counts in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1024 if sys.platform == "linux" else 1)


def raised(case: Callable[..., Case], which: str) -> int:
    """By how much a call raises it, beyond a small call that touches the same code.

    A forked process begins with the present resident set of its parent, not with the largest, which compiling raised.
    """
    getattr(case(SMALL), which)()
    call = getattr(case(), which)
    before = largest_resident_set()
    call()
    return largest_resident_set() - before


def measured(case: Callable[..., Case]) -> list[int]:
    """Bound, routine and twin, either call in a process of its own."""
    found = [case().bound]
    for which in ("ours", "naive"):
        getattr(case(SMALL), which)()
        with multiprocessing.get_context("fork").Pool(1) as pool:
            found.append(pool.apply(raised, (case, which)))
    return found


if __name__ == "__main__":
    print(json.dumps({case.__name__: measured(case) for case in WHOLE}))
