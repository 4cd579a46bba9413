"""Steps of the standard network of receptive fields on fresh samples: PyTorch, JAX, numba, and this book's trainer.

n = 40 pixels, 40 neurons, 1000 samples a step, single precision.  Each method takes a problem (networks, classes) and a
number of threads, and returns `run(steps)`, which trains all networks from the start, drawing every minibatch itself,
and returns their weights, shape (R, K, n).  Random numbers are those of each library: methods agree in law.
"""

import math
from functools import partial

import numba
import numpy as np
import torch
from scipy import fft

from benchmarks import timing
from shallow import committee
from shallow.data.nlgp import Process, eigenvalues
from shallow.stats import stream
from shallow.train import online

PIXELS, WIDTH, BATCH, RATE, GAIN, NETWORKS = 40, 40, 1000, 20.0, 3.0, 2
#: Scale of erf(g z) for variance one.
SCALE = math.sqrt(math.pi / 2 / math.asin(2 * GAIN**2 / (1 + 2 * GAIN**2)))


def problem():
    """Two standard networks at the gain 3, and the two classes."""
    rngs = [stream("benchmark", "fields", r) for r in range(NETWORKS)]
    return committee.start(rngs, WIDTH, PIXELS), (Process(PIXELS, 2.0, GAIN), Process(PIXELS, 1.0, GAIN))


def spectral(process):
    """Square roots of the eigenvalues of the latent covariance at the frequencies of rfft, shape (n / 2 + 1,)."""
    return np.sqrt(np.clip(eigenvalues(process.kernel), 0, None))[: PIXELS // 2 + 1].astype(np.float32)


def root(process):
    """The square root of the latent covariance, a circulant: a product with it colours faster than an FFT here."""
    row = fft.irfft(spectral(process), PIXELS)
    return np.stack([np.roll(row, shift) for shift in range(PIXELS)]).astype(np.float32)


def pytorch_loop(problem, threads):
    """As in a tutorial: nn.Linear, autograd, optim.SGD; white noise coloured by FFT."""
    networks, classes = problem
    roots = [torch.tensor(spectral(process)) for process in classes]
    y = torch.tensor([1.0, -1.0]).repeat_interleave(BATCH // 2)

    def draw(root):
        return torch.fft.irfft(torch.fft.rfft(torch.randn(BATCH // 2, PIXELS)) * root, n=PIXELS)

    def train(W, steps):
        layer = torch.nn.Linear(PIXELS, WIDTH)
        layer.weight.data, layer.bias.data = torch.tensor(W), torch.zeros(WIDTH)
        descent = torch.optim.SGD(layer.parameters(), lr=RATE)
        for _ in range(steps):
            x = torch.cat([torch.erf(GAIN * draw(root)) * SCALE for root in roots])
            output = torch.erf(layer(x) / math.sqrt(2)).mean(dim=1)
            descent.zero_grad()
            (0.5 * (output - y).square().mean()).backward()
            descent.step()
        return layer.weight.detach().numpy()

    return lambda steps: np.stack([train(W, steps) for W in networks.W])


def in_jax(problem, threads):
    """The loop by `scan`; gradients by hand, other generators or a sampler by FFT are not faster."""
    import jax
    import jax.numpy as jnp
    from jax.scipy.special import erf

    networks, classes = problem
    roots = [jnp.asarray(root(process)) for process in classes]
    y = jnp.repeat(jnp.array([1.0, -1.0], jnp.float32), BATCH // 2)

    def loss(parameters, x):
        W, b = parameters
        return 0.5 * jnp.mean((erf((x @ W.T + b) / math.sqrt(2)).mean(axis=1) - y) ** 2)

    def step(parameters, key):
        white = jax.random.normal(key, (2, BATCH // 2, PIXELS), jnp.float32)
        x = SCALE * erf(GAIN * jnp.concatenate([latent @ own for latent, own in zip(white, roots, strict=True)]))
        return jax.tree.map(lambda p, g: p - RATE * g, parameters, jax.grad(loss)(parameters, x)), None

    scanned = jax.jit(lambda parameters, keys: jax.lax.scan(step, parameters, keys)[0])

    def train(r, steps):
        start = jnp.asarray(networks.W[r]), jnp.zeros(WIDTH, jnp.float32)
        return np.asarray(scanned(start, jax.random.split(jax.random.key(r), steps))[0])

    return lambda steps: np.stack([train(r, steps) for r in range(NETWORKS)])


@numba.njit(fastmath=True, error_model="numpy")
def _descend(rng, roots, W, b, steps):
    """Products by BLAS, all else in compiled loops."""
    real, half = np.float32, BATCH // 2
    x, slope, factor = np.empty((BATCH, PIXELS), real), np.empty((BATCH, WIDTH), real), RATE / BATCH / WIDTH
    for _ in range(steps):
        moved = np.zeros_like(b)
        white = rng.standard_normal((BATCH, PIXELS), real)
        np.dot(white[:half], roots[0], x[:half])
        np.dot(white[half:], roots[1], x[half:])
        for k in range(BATCH):
            for i in range(PIXELS):
                x[k, i] = real(SCALE) * math.erf(real(GAIN) * x[k, i])
        np.dot(x, W.T, slope)
        for k in range(BATCH):
            output = real(0)
            for j in range(WIDTH):
                inputs = slope[k, j] + b[j]
                output += math.erf(inputs * real(math.sqrt(0.5)))
                slope[k, j] = math.exp(real(-0.5) * inputs * inputs)
            label = real(1) if k < half else real(-1)
            residual = (output / real(WIDTH) - label) * real(math.sqrt(2 / math.pi) * factor)
            for j in range(WIDTH):
                slope[k, j] *= residual
                moved[j] += slope[k, j]
        b -= moved
        W -= np.dot(slope.T, x)


def in_numba(problem, threads):
    """With NumPy's generator, whose normal numbers of single precision numba compiles."""
    networks, classes = problem
    roots = np.stack([root(process) for process in classes])

    def train(r, steps):
        W = networks.W[r].astype(np.float32)
        _descend(np.random.default_rng(r), roots, W, np.zeros(WIDTH, np.float32), steps)
        return W

    return lambda steps: np.stack([train(r, steps) for r in range(NETWORKS)])


def this_book(problem, threads):
    """A thread for each network."""
    networks, classes = problem

    def run(steps):
        rngs = [stream("benchmark", "batches", r) for r in range(NETWORKS)]
        return online.train(
            networks, classes, rngs=rngs, rate=RATE, steps=steps, batch=BATCH, records=[steps], jobs=threads
        ).last.W

    return run


METHODS = {
    "PyTorch loop": pytorch_loop,
    "JAX": in_jax,
    "numba": in_numba,
    "this book": this_book,
}


def agree(runs, steps=100):
    """All methods lead near the same place, as near as other samples lead one of them: correlations are about 0.87."""
    start = problem()[0].W
    found = {name: run(steps) - start for name, run in runs.items()}
    wanted = found["this book"]
    for name, change in found.items():
        assert np.corrcoef(change.ravel(), wanted.ravel())[0, 1] > 0.8, name
        assert 0.95 < np.linalg.norm(change) / np.linalg.norm(wanted) < 1.05, name


def measure(rounds: int, threads: int) -> list[dict]:
    """Microseconds of a step of one network by method; a first run is not counted.

    The process has `threads` processors; libraries use them as they like.
    """
    runs = {name: make(problem(), threads) for name, make in timing.available(METHODS).items()}
    agree(runs)
    cases = []
    for name, run in runs.items():
        steps = timing.lasting(run)
        row = {"trainer": "online", "problem": f"n {PIXELS}, K {WIDTH}, B {BATCH}", "numbers": "float32"}
        cases.append((row | {"method": name, "threads": threads}, partial(run, steps), steps * NETWORKS))
    return timing.timed(cases, rounds)
