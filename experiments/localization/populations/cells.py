r"""Populations of neurons by the sign of their bias, and how the fields of one population tile the ring.

Two fields are copies of one another up to a shift s and a sign if their largest absolute circular cross-correlation

.. math:: \rho(u, v) = \max_s \Bigl|\sum_x u_x v_{x - s}\Bigr| \Big/ \|u\| \|v\|

is 1.  It is at most the cosine of the amplitude spectra, $\sum_k |\hat u_k| |\hat v_k| / \|u\|\|v\|$: fields with one
spectrum and different phases have a high cosine and a low $\rho$.  Neither is near 0 for white noise, with which a
value has to be compared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shallow import checks
from shallow.display import short
from shallow.receptive_fields import centre, checked

#: Biases of this modulus or less belong to neither population.
DEAD_ZONE = 1e-3


class Balance(NamedTuple):
    """Numbers of neurons with a negative, a vanishing and a positive bias, each of shape (...)."""

    minus: np.ndarray
    none: np.ndarray
    plus: np.ndarray

    __repr__ = short

    @property
    def share(self) -> np.ndarray:
        """Share of the positive population among all neurons, shape (...)."""
        return self.plus / (self.minus + self.none + self.plus)


def population(b: np.ndarray, dead_zone: float = DEAD_ZONE) -> np.ndarray:
    """-1 or +1, the sign of each bias, and 0 inside the dead zone; integers of the shape of b."""
    checks.finite(b=b)
    checks.within("[0, inf]", dead_zone=dead_zone)
    b = np.asarray(b, dtype=np.float64)
    return np.where(np.abs(b) > dead_zone, np.sign(b), 0).astype(int)


def balance(b: np.ndarray, dead_zone: float = DEAD_ZONE) -> Balance:
    """Sizes of the populations of networks with biases of shape (..., K), K >= 1."""
    checks.array((..., "K"), b=b)
    signs = population(b, dead_zone)
    return Balance(*((signs == sign).sum(axis=-1) for sign in (-1, 0, 1)))


def apart(b: np.ndarray, frequency: np.ndarray, n: int = 40) -> tuple[float, float]:
    """Shares of the neurons of a network with a bias beyond half the median, and on the side of n/4 of their sign."""
    of, middle = population(b), n / 4
    right = np.where(of < 0, frequency < middle, frequency > middle) & (of != 0)
    return float(np.mean(np.abs(b) > np.median(np.abs(b)) / 2)), float(np.mean(right))


def order(W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The neurons of a network (K, n), (K,) by population, negative first, and then by centre; shape (K,).

    Neurons without a centre come last in their population.
    """
    checks.array((None, "n"), W=W)
    checks.array((len(W),), b=b)
    return np.lexsort((centre(checked(W)[0]).position, population(b)))


# Tiling.


class Match(NamedTuple):
    r"""How well, where and with which sign each field v fits each u: $u \approx c\,\epsilon\,v(\cdot - s)$, $c > 0$.

    Attributes:
        similarity: $\rho(u_i, u_j)$, shape (m, m); NaN for fields of zeros.
        shift: s in pixels, shape (m, m); the first among equals.
        sign: $\epsilon$, -1 or +1, shape (m, m).
    """

    similarity: np.ndarray
    shift: np.ndarray
    sign: np.ndarray

    __repr__ = short


def match(W: np.ndarray) -> Match:
    """Fits of all fields (m, n) to one another, over all shifts and both signs.

    Cost: O(m^2 n log n), and m^2 n numbers of 16 bytes.
    """
    transform = np.fft.fft(_unit(W))
    correlation = np.fft.ifft(transform[:, None] * transform.conj()).real
    shift = np.abs(correlation).argmax(axis=-1)
    value = np.take_along_axis(correlation, shift[..., None], axis=-1)[..., 0]
    return Match(np.minimum(np.abs(value), 1.0), shift, np.where(value < 0, -1, 1))


def spectral_similarity(W: np.ndarray) -> np.ndarray:
    r"""$\sum_k |\hat u_k| |\hat v_k| / \|u\|\|v\|$ of all fields (m, n), shape (m, m); never below :func:`match`."""
    amplitudes = np.abs(np.fft.fft(_unit(W)))
    return np.minimum(amplitudes @ amplitudes.T / amplitudes.shape[1], 1.0)


def pairs(values: np.ndarray) -> np.ndarray:
    """The m(m - 1)/2 entries above the diagonal of a matrix (m, m): one for each pair."""
    checks.numbers(values=values)
    values = np.asarray(values)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise ValueError(f"values must have shape (m, m), got {values.shape}")
    return values[np.triu_indices(len(values), 1)]


def aligned(W: np.ndarray) -> np.ndarray:
    """Fields (m, n), m >= 1, shifted and flipped to fit the one most similar to all; same shape.

    Their mean is the template of a population whose fields are copies.  Where they are not, it tends to cancel.
    """
    W, _ = checked(W)
    if W.ndim != 2 or not W.any(axis=1).all() or not len(W):
        raise ValueError(
            f"W must hold one or more fields that are not zero, got {checks.given(W, W.any(axis=-1, keepdims=True))}"
        )
    found = match(W)
    reference = found.similarity.sum(axis=1).argmax()
    moves = zip(W, found.shift[reference], found.sign[reference])
    return np.stack([sign * np.roll(field, shift) for field, shift, sign in moves])


def largest_gap(positions: np.ndarray, n: int) -> float:
    """Longest arc of a ring of length n, in pixels, without any of the positions (m,); n for fewer than two."""
    checks.array((None,), positions=positions)
    checks.positive(n=n)
    positions = np.sort(np.asarray(positions, dtype=np.float64) % n)
    return float(np.diff(positions, append=positions[:1] + n).max(initial=0)) if len(positions) else float(n)


def rayleigh(positions: np.ndarray, n: int) -> float:
    r"""p-value of Rayleigh's test of uniformity on a ring of length n, for the positions (m,), m >= 1.

    With R the modulus of $\sum_j e^{2\pi\mathrm i x_j/n}$,
    $p = \exp(\sqrt{1 + 4m + 4(m^2 - R^2)} - 1 - 2m)$, right to .002 for m >= 10 (Zar, "Biostatistical analysis",
    equation 27.4).
    """
    checks.array(("m",), positions=positions)
    checks.positive(n=n)
    positions = np.asarray(positions, dtype=np.float64) % n
    m, resultant = len(positions), abs(np.exp(2j * np.pi * positions / n).sum())
    return float(min(np.exp(np.sqrt(1 + 4 * m + 4 * (m**2 - resultant**2)) - (1 + 2 * m)), 1.0))


def _unit(W: np.ndarray) -> np.ndarray:
    """Fields (m, n) of norm one; NaN for fields of zeros."""
    checks.array(("m", "n"), W=W)
    W, _ = checked(W)
    norms = np.sqrt((W**2).sum(axis=1, keepdims=True))
    return np.divide(W, norms, out=np.full(W.shape, np.nan), where=norms > 0)
