"""Steps of the standard network of receptive fields on fresh samples: this book's trainer, PyTorch, and JAX.

n = 40 pixels, 40 neurons, 1000 samples a step, single precision.  Each method takes a problem (networks, classes) and a
number of threads, and returns `run(steps)`, which trains all networks from the start, drawing every minibatch itself,
and returns their weights, shape (R, K, n).  Random numbers are those of each library: methods agree in law.
"""

import math
import time

import numpy as np
import torch
from scipy import fft

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
    torch.set_num_threads(threads)
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
    torch.set_num_threads(threads)
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


def by_hand_fft(problem, threads):
    """The same with sampling by FFT."""
    return by_hand(problem, threads, by_fft)


def jax_parts(problem):
    """One step (parameters, key) -> parameters of one network, sampling by FFT; raises ImportError without JAX."""
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

    def step(parameters, key):
        x = jnp.concatenate([draw(k, r) for k, r in zip(jax.random.split(key), roots)])
        return jax.tree.map(lambda p, g: p - RATE * g, parameters, jax.grad(loss)(parameters, x))

    return jax, [(jnp.asarray(W), jnp.zeros(WIDTH)) for W in networks.W], step


def jax_step(problem, threads):
    """JAX: one compiled step, sampling included, that is dispatched once per step."""
    jax, starts, step = jax_parts(problem)
    step = jax.jit(step)

    def train(parameters, keys):
        for key in keys:
            parameters = step(parameters, key)
        return np.asarray(parameters[0])

    return lambda steps: np.stack([train(p, jax.random.split(jax.random.key(r), steps)) for r, p in enumerate(starts)])


def jax_scan(problem, threads):
    """JAX: the loop over steps compiled by `scan`."""
    jax, starts, step = jax_parts(problem)
    many = jax.jit(lambda parameters, keys: jax.lax.scan(lambda p, k: (step(p, k), None), parameters, keys)[0])
    return lambda steps: np.stack(
        [np.asarray(many(p, jax.random.split(jax.random.key(r), steps))[0]) for r, p in enumerate(starts)]
    )


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
    "by hand, FFT": by_hand_fft,
    "by hand": by_hand,
    "JAX, a step at a time": jax_step,
    "JAX, scan": jax_scan,
    "compiled": compiled,
}


def available():
    """The methods whose library is installed."""
    try:
        import jax  # noqa: F401
    except ImportError:
        return {name: make for name, make in METHODS.items() if not name.startswith("JAX")}
    return METHODS


def agree(runs, steps=100):
    """All methods lead near the same place, as near as other samples lead one of them: correlations are about 0.87."""
    start = problem()[0].W
    found = {name: run(steps) - start for name, run in runs.items()}
    wanted = found["compiled"]
    for name, change in found.items():
        assert np.corrcoef(change.ravel(), wanted.ravel())[0, 1] > 0.8, name
        assert 0.95 < np.linalg.norm(change) / np.linalg.norm(wanted) < 1.05, name


def measure(rounds: int, threads: int, steps: int = 200) -> list[dict]:
    """Microseconds of a step of one network by method, one time per round; a round times each method once.

    The process has `threads` processors; JAX uses them as it likes.
    """
    runs = {name: make(problem(), threads) for name, make in available().items()}
    agree(runs)
    rows = [{"method": name, "threads": threads, "steps": steps, "times": []} for name in runs]
    for counted in [False] + [True] * rounds:
        for row in rows:
            began = time.perf_counter()
            runs[row["method"]](steps)
            if counted:
                row["times"].append(round((time.perf_counter() - began) / steps / NETWORKS * 1e6, 2))
    return rows
