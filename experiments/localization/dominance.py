r"""How often a filter responds more strongly to the first class than to the second.

A filter w sees $h_i(\tau) = \sum_t w_t X_i(t + \tau)$ of independent samples $X_1, X_0$ of two stationary processes.
Two objectives of the note, for a bias b and $\sigma(x) = \mathrm{erf}(x/\sqrt2)$:

.. math:: \text{(6)}\;\; P\Big(\overline{\sigma(|h_1| + b)} > \overline{\sigma(|h_0| + b)}\Big), \qquad
          \text{(9)}\;\; P\big(|h_1(0)| > |h_0(0)|\big),

with averages over the ring or torus in (6).  With $h_i$ at independent random places (9) becomes (7), which has the
same value.  (9) depends neither on b nor on the norm of w; (6) on both.

For Gaussian data $(h_1/s_1, h_0/s_0)$ is isotropic, so that (9) is $\frac2\pi \arctan\sqrt R$ with the Rayleigh ratio
$R(w) = w^\top\Sigma_1 w / w^\top\Sigma_0 w$, a weighted mean of the ratios $\lambda_1(k)/\lambda_0(k)$ of the spectra:
its extremes are Fourier modes.  For any other data there are draws: an *outcome* of a pair is +1 if the first class
wins, -1 if it loses and 0 for a tie, which counts half (ties are many once erf rounds to 1).
Source: note on localized receptive fields, Section 2, eqs. (6) to (10) and "Gaussian data"; chapter "Localization".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from scipy import fft

from shallow import checks
from shallow.data.nlgp import Process, ring_distance
from shallow.display import short
from shallow.receptive_fields import opposite

#: Modes in which a class has less than this part of its largest eigenvalue are left out of the extremes.
CUT = 1e-6
_BLOCK = 2**15  # numbers of one class at a time, so that they stay in the cache


# Gaussian data.


def at_a_point(ratio: np.ndarray) -> np.ndarray:
    r"""(9) for Gaussian data, $\frac2\pi \arctan\sqrt R$, from the variance ratio $R \ge 0$; `inf` gives 1."""
    checks.numbers(ratio=ratio)
    return 2 / np.pi * np.arctan(np.sqrt(ratio))


def on_average(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    r"""(6) for Gaussian data and Fourier modes as filters, whatever the norm and the bias; the shape of the spectra.

    The filtered signal is $A_i \cos(2\pi\langle k, \tau\rangle + \varphi_i)$ with an exponential $A_i^2$ of mean
    proportional to $\lambda_i(k)$, and the average increases with A: $\lambda_1/(\lambda_1 + \lambda_0)$.  A mode with
    k = -k has no phase and the value of :func:`at_a_point`.  Exact on the continuous ring, and on a grid as far as the
    average does not depend on the phase: not for frequencies of the order of the number of points, and not once
    $\sigma$ saturates between neighbouring points.

    Args:
        first, second: spectra $\lambda_1, \lambda_0$ in the FFT's order (:attr:`Process.spectrum`); NaN is the value
            where one of them is rounded to 0 or below.
    """
    first, second = (np.where(values > 0, values, np.nan) for values in _check_spectra(first, second))
    alone = (opposite(first.shape) == np.arange(first.size)).reshape(first.shape)
    return np.where(alone, at_a_point(first / second), first / (first + second))


def variance_ratio(W: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    r"""Rayleigh ratio $R(w) = \sum_k \lambda_1(k)|\hat w(k)|^2 / \sum_k \lambda_0(k)|\hat w(k)|^2$ of filters.

    Filters (..., *shape) and spectra of that shape in the FFT's order; what (9) knows if the data are Gaussian.
    """
    first, second = _check_spectra(first, second)
    checks.array((..., *first.shape), W=W)
    W = np.asarray(W, dtype=np.float64)
    axes = tuple(range(-first.ndim, 0))
    power = np.abs(fft.fftn(W, axes=axes)) ** 2
    if not power.any(axis=axes).all():
        raise ValueError("W must have no filter that is zero")
    return (power * first).sum(axis=axes) / (power * second).sum(axis=axes)


class Extremes(NamedTuple):
    r"""The modes of the largest and the smallest variance ratio, one of each pair k, -k, and the ratios there."""

    maximiser: tuple[int, ...]
    largest: float
    minimiser: tuple[int, ...]
    smallest: float


def extremes(first: np.ndarray, second: np.ndarray, *, cut: float = CUT) -> Extremes:
    r"""Maximiser and minimiser of $R(w)$, so of (9) for Gaussian data, over all filters.

    Modes count where both spectra, in the FFT's order, exceed a part `cut` of their largest value; elsewhere the ratio
    is rounding.
    """
    first, second = _check_spectra(first, second)
    checks.within("(0, 1)", cut=cut)
    kept = ((first > cut * first.max()) & (second > cut * second.max())).ravel()
    kept &= np.arange(first.size) <= opposite(first.shape)
    if not kept.any():
        raise ValueError(f"cut must leave a mode in which both classes have power, got {cut}")
    modes = np.flatnonzero(kept)
    ratios = first.ravel()[modes] / second.ravel()[modes]
    high, low = ratios.argmax(), ratios.argmin()
    maximiser, minimiser = (tuple(int(k) for k in np.unravel_index(modes[i], first.shape)) for i in (high, low))
    return Extremes(maximiser, float(ratios[high]), minimiser, float(ratios[low]))


def gabors(n: int, widths: np.ndarray, carriers: np.ndarray) -> np.ndarray:
    r"""Even filters $\cos(2\pi k d/n)\,e^{-d^2/a^2}$ of norm 1, d the ring distance; shape (widths, carriers, n).

    Args:
        widths: a > 0 in pixels; `inf` gives cosines, with k = 0 the constant.
        carriers: $k \ge 0$ in cycles per ring; 0 gives bumps.
    """
    d = ring_distance(n)
    checks.shape((None,), widths=widths)
    checks.shape((None,), carriers=carriers)
    checks.within("(0, inf]", widths=widths)
    checks.within(f"[0, {n / 2}]", carriers=carriers)
    a, k = np.asarray(widths, dtype=float), np.asarray(carriers, dtype=float)
    a, k = a[:, None, None], k[:, None]
    fields = np.cos(2 * np.pi * k * d / n) * np.exp(-((d / a) ** 2))
    return fields / np.linalg.norm(fields, axis=-1, keepdims=True)


# Any data: draws.


class Estimate(NamedTuple):
    """An estimate and its standard error, arrays of one shape."""

    value: np.ndarray
    error: np.ndarray

    __repr__ = short


def outcomes_at_a_point(
    rng: np.random.Generator, first: Process, second: Process, W: np.ndarray, pairs: int, *, moved: bool = False
) -> np.ndarray:
    r"""Outcomes of (9) for all filters (F, *shape) on the same independent pairs, int8 of shape (F, pairs).

    With `moved` of (7): each sample is read at a random place of its own; $\sigma$ and b would not change an outcome.

    Cost: two samples and 2 F inner products per pair.
    """
    W = _check_filters(W, first, second, pairs).reshape(len(W), -1)
    outcomes = np.empty((len(W), pairs), dtype=np.int8)
    for block in _blocks(pairs, W.shape[1]):
        responses = []
        for process in (first, second):
            x = process.sample(rng, block.stop - block.start)
            x = _moved(rng, x) if moved else x
            responses.append(np.abs(W @ x.reshape(len(x), -1).T))
        outcomes[:, block] = np.sign(responses[0] - responses[1])
    return outcomes


def outcomes_on_average(
    rng: np.random.Generator, first: Process, second: Process, W: np.ndarray, biases: np.ndarray, pairs: int
) -> np.ndarray:
    """Outcomes of (6) for all filters (F, *shape) and biases on the same independent pairs, int8 (F, B, pairs).

    Biases are those of all filters, shape (B,), or (F, B) each filter's own; norms matter.
    Sums of erfc are compared and not of erf, from the side on which they are small, so that saturated terms still tell
    samples apart, up to preactivations of 37.

    Cost: 2 F N log N operations for the correlations by FFT and 2 F B N complementary error functions per pair of N
    pixels, 14 ns each in all: 50 s for 175 filters, 12 biases and 20,000 pairs of 40.
    """
    W = _check_filters(W, first, second, pairs)
    checks.array((None,) if np.ndim(biases) == 1 else (len(W), None), biases=biases)
    biases = np.asarray(biases, dtype=np.float64)
    biases = np.broadcast_to(biases, (len(W), biases.shape[-1]))
    axes = tuple(range(1, W.ndim))
    filters = fft.rfftn(W, axes=axes).conj()
    outcomes = np.empty((*biases.shape, pairs), dtype=np.int8)
    for block in _blocks(pairs, W[0].size):
        count = block.stop - block.start
        transforms = [fft.rfftn(process.sample(rng, count), axes=axes) for process in (first, second)]
        for f, transform in enumerate(filters):
            responses = [fft.irfftn(x * transform, first.shape, axes=axes).reshape(count, -1) for x in transforms]
            sizes = [torch.from_numpy(np.abs(h) * 0.5**0.5) for h in responses]
            for j, bias in enumerate(biases[f] * 0.5**0.5):
                outcomes[f, j, block] = _compared(*sizes, float(bias))
    return outcomes


def probability(outcomes: np.ndarray) -> Estimate:
    """Share of pairs that the first class wins, ties half, from outcomes (..., pairs); shape (...)."""
    checks.numbers(outcomes=outcomes)
    mean, decided = outcomes.mean(axis=-1, dtype=np.float64), (outcomes != 0).mean(axis=-1)
    return Estimate((1 + mean) / 2, np.sqrt((decided - mean**2) / outcomes.shape[-1]) / 2)


def advantage(outcomes: np.ndarray, rival: np.ndarray) -> Estimate:
    """Difference of the probabilities of two filters on the same pairs, from outcomes that broadcast; shape (...)."""
    checks.numbers(outcomes=outcomes, rival=rival)
    for name, given in (("outcomes", outcomes), ("rival", rival)):
        if given.dtype != np.int8:
            raise ValueError(f"{name} must be outcomes, int8, got {given.dtype}")
    difference = np.subtract(outcomes, rival, dtype=np.int8)
    error = difference.std(axis=-1) / 2 / difference.shape[-1] ** 0.5
    return Estimate(difference.mean(axis=-1, dtype=np.float64) / 2, error)


class Tuned(NamedTuple):
    """Filters in (6), each with the scale and the bias that suit it best on one draw, (F,); outcomes on another."""

    scale: np.ndarray
    bias: np.ndarray
    outcomes: np.ndarray

    __repr__ = short


def tuned_on_average(
    first: Process,
    second: Process,
    W: np.ndarray,
    scales: np.ndarray,
    biases: np.ndarray,
    *,
    select: np.random.Generator,
    evaluate: np.random.Generator,
    pairs: tuple[int, int],
) -> Tuned:
    """The best of all scales (S,) and biases (B,) in (6) for each filter (F, *shape), chosen on one draw of pairs and
    played again on another.

    Cost: that of :func:`outcomes_on_average` for F S filters, B biases and the first number of pairs.
    """
    checks.numbers(pairs=pairs)
    checks.array(("S",), scales=scales)
    checks.positive(scales=scales)
    checks.array(("B",), biases=biases)
    to_select, to_evaluate = pairs
    W = _check_filters(W, first, second, to_select)
    scales, biases = np.asarray(scales, dtype=np.float64), np.asarray(biases, dtype=np.float64)
    scaled = (W[:, None] * scales.reshape(-1, *[1] * (W.ndim - 1))).reshape(-1, *W.shape[1:])
    values = probability(outcomes_on_average(select, first, second, scaled, biases, to_select)).value
    best = values.reshape(len(W), -1).argmax(axis=1)
    rows, chosen = np.arange(len(W)) * len(scales) + best // len(biases), biases[best % len(biases)]
    outcomes = outcomes_on_average(evaluate, first, second, scaled[rows], chosen[:, None], to_evaluate)[:, 0]
    return Tuned(scales[best // len(biases)], chosen, outcomes)


def _compared(first: torch.Tensor, second: torch.Tensor, bias: float) -> np.ndarray:
    r"""Sign of the difference of the averages of erf(a + b) for a = |h|/sqrt 2, shape (pairs, N)."""
    low = [torch.special.erfc(-bias - a).sum(dim=1).numpy() for a in (first, second)]  # of 1 + erf
    signs = np.sign(low[0] - low[1])
    near_one = np.flatnonzero((low[0] > first.shape[1]) & (low[1] > first.shape[1]))
    if len(near_one):
        high = [torch.special.erfc(a[near_one] + bias).sum(dim=1).numpy() for a in (first, second)]  # of 1 - erf
        signs[near_one] = np.sign(high[1] - high[0])
    return signs


def _blocks(pairs: int, size: int) -> list[slice]:
    step = max(1, _BLOCK // size)
    return [slice(start, min(start + step, pairs)) for start in range(0, pairs, step)]


def _moved(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Every sample rotated by a random place of its own."""
    index = [np.arange(len(x)).reshape(-1, *[1] * (x.ndim - 1))]
    for axis, n in enumerate(x.shape[1:]):
        places = (rng.integers(n, size=(len(x), 1)) + np.arange(n)) % n
        index.append(np.expand_dims(places, tuple(a for a in range(1, x.ndim) if a != axis + 1)))
    return x[tuple(index)]


def _check_spectra(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    checks.array(("n",) if np.ndim(first) == 1 else ("n", "m"), first=first, second=second)
    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    return first, second


def _check_filters(W: np.ndarray, first: Process, second: Process, pairs: int) -> np.ndarray:
    if first.shape != second.shape:
        raise ValueError(f"second must have the shape of first, {first.shape}, got {second.shape}")
    checks.array(("F", *first.shape), W=W)
    checks.integers(1, pairs=pairs)
    W = np.asarray(W, dtype=np.float64)
    return W
