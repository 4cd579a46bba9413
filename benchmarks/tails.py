"""Power-law fits and spectra beside what a reader would otherwise use.

Each method of `FITS` takes a sample, chooses the cut with the smallest Kolmogorov-Smirnov distance and returns (alpha,
xmin, distance).  Each method of `SPECTRA` takes a matrix W and returns all eigenvalues of W^T W in descending order.
"""

from functools import partial

import numba
import numpy as np
import torch
from threadpoolctl import threadpool_limits

from benchmarks import timing
from shallow.spectra import esd, rank_one, tails
from shallow.spectra.marchenko_pastur import MarchenkoPastur
from shallow.stats import stream

SIZE = 4000
SHAPE = (1500, 1000)  # of the document's base setting


def samples():
    """Samples for the fits: one that is a power law, and two that are none."""
    rng = stream("benchmark", "tails")
    law = MarchenkoPastur(3 * SIZE // 2, SIZE)
    return {
        "Pareto": np.exp(rng.standard_exponential(SIZE) / 1.5),
        "exponential": rng.exponential(size=SIZE),
        "Marchenko-Pastur": law.quantile(rng.uniform(size=SIZE)),
    }


def matrices():
    """Matrices for the spectra: at random, with a spike, and with one that hides the bulk from the Gram matrix."""
    rng, theta = stream("benchmark", "spectrum"), rank_one.threshold(*SHAPE)
    W = rng.standard_normal(SHAPE)
    spike = np.outer(*(vector / np.linalg.norm(vector) for vector in map(rng.standard_normal, SHAPE)))
    return {"random": W, "spike": W + 10 * theta * spike, "large spike": W + 1e5 * theta * spike}


def package(x):
    """`powerlaw`, without its ceiling of 3 on the exponent."""
    import powerlaw

    fit = powerlaw.Fit(x, verbose=0, parameter_ranges={"alpha": [1, None]})
    return fit.alpha, fit.xmin, fit.D


def vectorised(x):
    """NumPy over the tail, a Python loop over the cuts."""
    values, best = np.sort(x), (np.inf,)
    logs = np.log(values)
    for i in range(len(x) - 2):
        tail = logs[i:] - logs[i]
        alpha = 1 + 1 / tail.mean()
        distance = np.abs(1 - np.exp((1 - alpha) * tail) - np.arange(len(tail)) / len(tail)).max()
        best = min(best, (distance, alpha, values[i]))
    return best[1], best[2], best[0]


@numba.njit(cache=True, nogil=True)
def _every_term(logs):
    best, at, slope = np.inf, 0, 0.0
    total = logs.sum()
    for i in range(logs.size - 2):
        m = logs.size - i
        decay = m / (total - m * logs[i])
        distance = 0.0
        for j in range(m):
            distance = max(distance, abs(1.0 - np.exp(-decay * (logs[i + j] - logs[i])) - j / m))
        if distance < best:
            best, at, slope = distance, i, decay
        total -= logs[i]
    return 1 + slope, at, best


def compiled(x):
    """Every cut and every term, compiled."""
    values = np.sort(x)
    alpha, at, distance = _every_term(np.log(values))
    return alpha, values[at], distance


def bounds(x):
    """The fit of this book."""
    fit = tails.power_law(x)
    return fit.alpha, fit.xmin, fit.distance


FITS = {"powerlaw": package, "NumPy": vectorised, "numba": compiled, "bounds": bounds}
SPECTRA = {
    "NumPy svd": lambda W: np.linalg.svd(W)[1] ** 2,  # all of the decomposition, as without options
    "NumPy svd, values only": lambda W: np.linalg.svd(W, compute_uv=False) ** 2,
    "PyTorch svdvals": lambda W: (torch.linalg.svdvals(torch.from_numpy(W)) ** 2).numpy(),
    "certified Gram matrix": esd.eigenvalues,
}


def measure(rounds: int, threads: int) -> list[dict]:
    """Milliseconds of every method on every input; 10 s a round.

    The first call of a method compiles, is checked against the others and is not counted.
    """
    cases = []
    with threadpool_limits(threads):
        for methods, inputs in ((FITS, samples()), (SPECTRA, matrices())):
            for name, given in inputs.items():
                wanted = None
                for method, find in methods.items():
                    found = np.array(find(given))
                    wanted = found if wanted is None else wanted
                    assert np.abs(found / wanted - 1).max() < 1e-6, (method, name)
                    cases.append(({"method": method, "input": name}, partial(find, given), 1))
        return timing.timed(cases, rounds, 1e3)
