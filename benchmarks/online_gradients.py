"""Steps of the standard network of receptive fields on fresh samples: this book's trainer, PyTorch, and JAX.

n = 40 pixels, 40 neurons, 1000 samples a step, single precision.  Each method takes a problem (networks, classes) and a
number of threads, and returns `run(steps)`, which trains all networks from the start, drawing every minibatch itself,
and returns their weights, shape (R, K, n).  Random numbers are those of each library: methods agree in law.
"""

import math
from functools import partial, reduce

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


def by_fft(roots):
    """PyTorch: samples of a class, white noise coloured by FFT."""
    roots = torch.tensor(roots)
    return lambda: torch.fft.irfft(torch.fft.rfft(torch.randn(BATCH // 2, PIXELS)) * roots, n=PIXELS)


def by_product(roots):
    """PyTorch: the same by a product with the square root of the covariance, which is a circulant."""
    row = fft.irfft(roots, PIXELS)
    root = torch.tensor(np.stack([np.roll(row, shift) for shift in range(PIXELS)]))
    return lambda: torch.randn(BATCH // 2, PIXELS) @ root


def labels():
    return torch.ones(BATCH).index_fill_(0, torch.arange(BATCH // 2, BATCH), -1)


def plain(problem, threads):
    """As in a tutorial: nn.Linear, autograd, optim.SGD; sampling by FFT."""
    networks, classes = problem
    draws, y = [by_fft(spectral(process)) for process in classes], labels()

    def train(W, steps):
        layer = torch.nn.Linear(PIXELS, WIDTH)
        layer.weight.data, layer.bias.data = torch.tensor(W), torch.zeros(WIDTH)
        descent = torch.optim.SGD(layer.parameters(), lr=RATE)
        for _ in range(steps):
            x = torch.cat([torch.erf(GAIN * draw()) * SCALE for draw in draws])
            output = torch.erf(layer(x) / math.sqrt(2)).mean(dim=1)
            descent.zero_grad()
            (0.5 * (output - y).square().mean()).backward()
            descent.step()
        return layer.weight.detach().numpy()

    return lambda steps: np.stack([train(W, steps) for W in networks.W])


def by_hand(problem, threads, sampler=by_product):
    """PyTorch without autograd: gradients by hand, in place; sampling by a matrix product."""
    networks, classes = problem
    draws, y = [sampler(spectral(process)) for process in classes], labels()

    @torch.no_grad()
    def train(start, steps):
        W, b = torch.tensor(start), torch.zeros(WIDTH)
        hidden, slope = torch.empty(BATCH, WIDTH), torch.empty(BATCH, WIDTH)
        factor = math.sqrt(2 / math.pi) * RATE / BATCH / WIDTH
        for _ in range(steps):
            x = torch.cat([draw() for draw in draws]).mul_(GAIN).erf_().mul_(SCALE)
            torch.addmm(b, x, W.T, out=hidden)
            torch.mul(hidden, hidden, out=slope).mul_(-0.5).exp_()
            residual = hidden.mul_(math.sqrt(0.5)).erf_().mean(dim=1).sub_(y).mul_(factor)
            slope.mul_(residual[:, None])
            W.addmm_(slope.T, x, alpha=-1)
            b.sub_(slope.sum(dim=0))
        return W.numpy()

    return lambda steps: np.stack([train(W, steps) for W in networks.W])


def in_jax(problem, threads, scan):
    """JAX, sampling by FFT: a compiled step that is dispatched once per step, or the loop compiled by `scan`."""
    import jax
    import jax.numpy as jnp
    from jax.scipy.special import erf

    networks, classes = problem
    roots = [jnp.asarray(spectral(process)) for process in classes]
    y = jnp.repeat(jnp.array([1.0, -1.0]), BATCH // 2)

    def draw(key, roots):
        white = jax.random.normal(key, (BATCH // 2, PIXELS))
        return SCALE * erf(GAIN * jnp.fft.irfft(jnp.fft.rfft(white) * roots, n=PIXELS))

    def loss(parameters, x):
        W, b = parameters
        return 0.5 * jnp.mean((erf((x @ W.T + b) / math.sqrt(2)).mean(axis=1) - y) ** 2)

    @jax.jit
    def step(parameters, key):
        x = jnp.concatenate([draw(k, r) for k, r in zip(jax.random.split(key), roots)])
        return jax.tree.map(lambda p, g: p - RATE * g, parameters, jax.grad(loss)(parameters, x))

    @jax.jit
    def scanned(parameters, keys):
        return jax.lax.scan(lambda p, key: (step(p, key), None), parameters, keys)[0]

    def train(r, steps):
        start, keys = (jnp.asarray(networks.W[r]), jnp.zeros(WIDTH)), jax.random.split(jax.random.key(r), steps)
        return np.asarray((scanned(start, keys) if scan else reduce(step, keys, start))[0])

    return lambda steps: np.stack([train(r, steps) for r in range(NETWORKS)])


def compiled(problem, threads):
    """The trainer of this book, a thread for each network."""
    networks, classes = problem

    def run(steps):
        rngs = [stream("benchmark", "batches", r) for r in range(NETWORKS)]
        return online.train(
            networks, classes, rngs=rngs, rate=RATE, steps=steps, batch=BATCH, records=[steps], jobs=threads
        ).last.W

    return run


METHODS = {
    "plain loop": plain,
    "by hand, FFT": partial(by_hand, sampler=by_fft),
    "by hand": by_hand,
    "JAX, a step at a time": partial(in_jax, scan=False),
    "JAX, scan": partial(in_jax, scan=True),
    "compiled": compiled,
}


def agree(runs, steps=100):
    """All methods lead near the same place, as near as other samples lead one of them: correlations are about 0.87."""
    start = problem()[0].W
    found = {name: run(steps) - start for name, run in runs.items()}
    wanted = found["compiled"]
    for name, change in found.items():
        assert np.corrcoef(change.ravel(), wanted.ravel())[0, 1] > 0.8, name
        assert 0.95 < np.linalg.norm(change) / np.linalg.norm(wanted) < 1.05, name


def measure(rounds: int, threads: int, steps: int = 200) -> list[dict]:
    """Microseconds of a step of one network by method; a first run is not counted.

    The process has `threads` processors; JAX uses them as it likes.
    """
    runs = {name: make(problem(), threads) for name, make in timing.available(METHODS).items()}
    agree(runs)
    cases = []
    for name, run in runs.items():
        run(steps)
        cases.append(({"method": name, "threads": threads, "steps": steps}, partial(run, steps), steps * NETWORKS))
    return timing.timed(cases, rounds, 1e6)
