r"""The note's passages from (6) to (14) event by event, by quadrature and by search.

$h_i = \langle w, X_i\rangle$ is the response of a filter to a sample of class i, of variance $s_i^2$, and
$\sigma(x) = \mathrm{erf}(x/\sqrt2)$.
Source: note on localized receptive fields, Section 2, from equation (6) to "Fourier space".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import fft, integrate, optimize, special

from shallow.data.nlgp import Batch, Process, circulant


def responses(
    rng: np.random.Generator, process: Process, w: np.ndarray, count: int, *, moved: bool = False
) -> np.ndarray:
    """Responses (count,) of a filter (n,) to independent samples, at place 0 or each at a random place of its own."""
    x = process.sample(rng, count)
    if not moved:
        return x @ w
    places = np.stack([np.roll(w, place) for place in range(len(w))])
    return np.einsum("pn,pn->p", x, places[rng.integers(len(w), size=count)])


class Events(NamedTuple):
    r"""Pairs under $\sigma(|h_1| + b) > \sigma(|h_0| + b)$ beside those under $|h_1| > |h_0|$.

    Attributes:
        differ: number of pairs that the two decide otherwise, neither with a tie.
        tied: share of the pairs on which rounding makes the sigmoids equal.
        value: probability of the first event, ties as halves.
    """

    differ: int
    tied: float
    value: float


def through_sigmoid(first: np.ndarray, second: np.ndarray, norm: float, bias: float) -> Events:
    """Events of pairs of responses (count,), multiplied by `norm`."""
    u, v = (np.abs(h) for h in (first, second))
    signs = np.sign(np.subtract(*(special.erf((norm * h + bias) / 2**0.5) for h in (u, v))))
    return Events(int((signs * np.sign(u - v) < 0).sum()), float((signs == 0).mean()), float((1 + signs.mean()) / 2))


def tiled_loss(w: np.ndarray, bias: float, batch: Batch) -> float:
    r"""Loss (2) of the network of $\pm w$ at all places with one bias, after the best output offset, over a sample."""
    h = fft.irfft(fft.rfft(batch.x, axis=1) * fft.rfft(w).conj(), len(w), axis=1)
    y = (special.erf((h + bias) / 2**0.5) + special.erf((bias - h) / 2**0.5)).mean(axis=1) / 2
    return float(np.var(batch.y - y) / 2)


# Gaussian data.


def chain(s1: float, s0: float) -> np.ndarray:
    r"""The seven lines of the note's chain for $P(|h_1| > |h_0|)$, each by quadrature, shape (7,).

    From the double integral of the densities over $|x_0| < |x_1|$ to the integral of erf against an exponential.
    Errors are about 1e-11.
    """
    places = sorted({min(s0, 11 * s1), s1, min(4 * s0, 11 * s1)})

    def both_sides(f) -> float:
        return 2 * integrate.quad(f, 0, 12 * s1, epsabs=1e-13, epsrel=1e-12, limit=300, points=places)[0]

    def density(x: float, s: float) -> float:
        return np.exp(-(x**2) / (2 * s**2)) / (s * (2 * np.pi) ** 0.5)

    def inside(x: float) -> float:
        ends = [0, *(place for place in (s0, 4 * s0) if place < x), min(x, 40 * s0)]
        parts = zip(ends, ends[1:])
        return 2 * sum(integrate.quad(density, a, b, (s0,), epsabs=1e-14, epsrel=1e-13)[0] for a, b in parts)

    def below(x: float) -> float:
        return special.ndtr(x / s0)

    def erf(x: float) -> float:
        return special.erf(x / s0 / 2**0.5)

    return np.array(
        [
            both_sides(lambda x: inside(x) * density(x, s1)),
            both_sides(lambda x: (below(x) - below(-x)) * density(x, s1)),
            both_sides(lambda x: (2 * below(x) - 1) * density(x, s1)),
            2 * both_sides(lambda x: below(x) * density(x, s1)) - 1,
            2 * both_sides(lambda x: (erf(x) / 2 + 0.5) * density(x, s1)) - 1,
            both_sides(lambda x: erf(x) * density(x, s1)),
            both_sides(lambda x: erf(x) * np.exp(-(x**2) / (2 * s1**2))) / ((2 * np.pi) ** 0.5 * s1),
        ]
    )


def real_modes(n: int, highest: int) -> np.ndarray:
    """Orthonormal cosines and sines on n points up to a frequency, as rows."""
    angle = 2 * np.pi * np.outer(np.arange(highest + 1), np.arange(n)) / n
    rows = np.concatenate([np.cos(angle), np.sin(angle[1:])])
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    kept = norms[:, 0] > 1e-6  # the sine of n/2 cycles vanishes
    return rows[kept] / norms[kept]


def searched_extremes(
    first: Process, second: Process, basis: np.ndarray, rng: np.random.Generator, *, starts: int = 10
) -> tuple[float, float]:
    r"""Largest and smallest $R(w) = w^\top\Sigma_1 w/w^\top\Sigma_0 w$ that a search finds in the span of a basis.

    The rows of the basis (m, n) are filters.  1000 random combinations, and 200 steps of L-BFGS on $\log R$ up and down
    from the first `starts` of them.  Knows the covariance matrices, not their spectra.
    """
    A, B = (basis @ circulant(process.covariance) @ basis.T for process in (first, second))

    def log_ratio(c: np.ndarray, sign: float) -> tuple[float, np.ndarray]:
        up, down = A @ c, B @ c
        return sign * np.log(c @ up / (c @ down)), 2 * sign * (up / (c @ up) - down / (c @ down))

    def climbed(c: np.ndarray, sign: float) -> float:
        options = {"maxiter": 200, "maxfun": 2000}
        return optimize.minimize(log_ratio, c, (sign,), jac=True, method="L-BFGS-B", options=options).fun * sign

    C = rng.standard_normal((1000, len(basis)))
    random = np.einsum("ij,ij->i", C @ A, C) / np.einsum("ij,ij->i", C @ B, C)
    high, low = (np.exp([climbed(c, sign) for c in C[:starts]]) for sign in (-1.0, 1.0))
    return float(max(random.max(), high.max())), float(min(random.min(), low.min()))


# Nearly Gaussian responses.


def kurtosis_term(ratio: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    r"""Change of $P(|h_1| > |h_0|)$ by the excess kurtosis of the responses, to first order.

    .. math:: \frac{r}{12\pi(1 + r^2)^2}\,\bigl[(3 + r^2)\,\kappa_0 - (1 + 3r^2)\,\kappa_1\bigr], \qquad r^2 = R .

    Args:
        ratio: $R = s_1^2/s_0^2$.
        first, second: $\kappa_1$ and $\kappa_0$; all arrays that broadcast.
    """
    r = np.sqrt(ratio)
    return r / (12 * np.pi * (1 + ratio) ** 2) * ((3 + ratio) * second - (1 + 3 * ratio) * first)


def saturated_dominance(ratio: float, first: float, second: float) -> float:
    r"""$P(|h_1| > |h_0|)$ if each response is a saturated or stretched normal number with the right two moments.

    $h_i = s_i\,\phi_i(Z_i)$ with $\phi_i$ the nonlinearity of a pixel of variance one, light-tailed or heavy-tailed, at
    the gain that gives it the excess kurtosis $\kappa_i$.  Exact for single pixels and for Gaussian data.

    Args:
        ratio: $R = s_1^2/s_0^2$.
        first, second: $\kappa_1$ and $\kappa_0$, above -2.
    """
    z = np.linspace(0, 9, 9001)
    u, v = (_pixel(kurtosis).observed(z.copy()) for kurtosis in (first, second))
    inside = special.ndtr(np.interp(np.sqrt(ratio) * u, v, z, right=np.inf)) - 0.5  # half of P(|h_0| < that of z)
    return float(4 * integrate.simpson(inside * np.exp(-(z**2) / 2), x=z) / (2 * np.pi) ** 0.5)


def _pixel(kurtosis: float) -> Process:
    """A process whose pixels have this excess kurtosis."""
    if abs(kurtosis) < 1e-6:
        return Process(2, 0.1, 0.0)
    tails, highest = ("light", 1e4) if kurtosis < 0 else ("heavy", 0.4999)

    def excess(log_gain: float) -> float:
        return Process(2, 0.1, float(np.exp(log_gain)), tails=tails).excess_kurtosis - kurtosis

    return Process(
        2, 0.1, float(np.exp(optimize.brentq(excess, np.log(3e-4), np.log(highest), xtol=1e-8))), tails=tails
    )
