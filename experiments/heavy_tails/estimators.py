r"""What the exponents of the document measure: laws with and without a tail, pure noise, and its exact exponents.

An exponent here is that of a density, $p(\lambda) \propto \lambda^{-\alpha}$, estimated above a cut.  If a share t of
a law F lies above the cut $x_t$, the estimate tends to

.. math:: \alpha(t) = 1 + t \Big/ \int_{x_t}^\infty \frac{1 - F(x)}{x}\,dx ,

which is the exponent itself for a power law and some other number for any other.  `PL_Alpha_Hill` takes t = 1/2.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy import special
from scipy.optimize import elementwise

from shallow import checks, stats
from shallow.book.recipes import releases_gil
from shallow.spectra import marchenko_pastur, tails, tops
from shallow.spectra.marchenko_pastur import MarchenkoPastur

#: The laws of the test of HT-06: no tail in the first five; the number is h/d (MP) or the exponent (Pareto).
TAIL_FREE = ("MP 1", "MP 1.5", "MP 3", "MP 6", "exponential")
PARETO = ("Pareto 1.5", "Pareto 2", "Pareto 2.5", "Pareto 3")


def noise_exponent(h: int, d: int, shares: np.ndarray) -> np.ndarray:
    r"""$\alpha(t)$ of the Marchenko-Pastur law in closed form, for shares t of the spectrum above the cut, in (0, 1).

    With $q = \min(h, d) / \max(h, d)$, $r = \sqrt q$, the point $w = 1 + r e^{i\theta}$ on the circle whose $|w|^2 =
    x_t$ is the cut, $\psi = \arg w$, $\chi = \theta - 2\psi$ and the dilogarithm $\mathrm{Li}_2$,

    .. math:: \pi q\,t = q\theta - r\sin\theta + (1 - q)\psi, \qquad \alpha = 1 + t/M,

    .. math:: \pi q\,M = -(1 + q)\,\mathrm{Im\,Li}_2(-r e^{i\theta}) - r\sin\theta \ln x_t - \pi q\,t\,(1 + \ln x_t)
              - (1 - q)\,[\mathrm{Im\,Li}_2(r e^{i\chi}) + \chi \ln(1 - q)] .

    Accurate to 1e-6 from t = 1e-4 on, below which the terms cancel.
    """
    checks.within("(0, 1)", shares=shares)
    q, shares = MarchenkoPastur(h, d).ratio, np.asarray(shares, dtype=float)
    r = np.sqrt(q)

    def excess(theta: np.ndarray, share: np.ndarray) -> np.ndarray:
        psi = np.angle(1 + r * np.exp(1j * theta))
        return (q * theta - r * np.sin(theta) + (1 - q) * psi) / (np.pi * q) - share

    theta = elementwise.find_root(excess, (np.zeros(shares.shape), np.full(shares.shape, np.pi)), args=(shares,)).x
    w = 1 + r * np.exp(1j * theta)
    chi, cut = theta - 2 * np.angle(w), np.abs(w) ** 2
    hard = _dilogarithm(r * np.exp(1j * chi)).imag + chi * np.log1p(-q) if q < 1 else 0.0
    whole = -(1 + q) * _dilogarithm(1 - w).imag - (1 - q) * hard - r * np.sin(theta) * np.log(cut)
    return 1 + shares / (whole / (np.pi * q) - shares * (1 + np.log(cut)))


def edge_exponent(h: int, d: int, shares: np.ndarray) -> np.ndarray:
    r"""Leading term of $\alpha(t)$ for small t, $1 + \frac52 b / (\frac{3t}{2\kappa})^{2/3}$: without bound.

    Near the edge b = (1 + r)^2 the density is $\kappa \sqrt{b - x}$ with $\kappa = q^{-3/4} / (\pi b)$.
    """
    q = MarchenkoPastur(h, d).ratio
    edge = (1 + np.sqrt(q)) ** 2
    kappa = q**-0.75 / (np.pi * edge)
    return 1 + 2.5 * edge / (1.5 * np.asarray(shares, dtype=float) / kappa) ** (2 / 3)


def exponential_exponent(shares: np.ndarray) -> np.ndarray:
    r"""$\alpha(t) = 1 + t / E_1(\ln \frac1t)$ of the exponential law, with the exponential integral $E_1$."""
    shares = np.asarray(shares, dtype=float)
    return 1 + shares / special.exp1(-np.log(shares))


def population(law: str, share: float = 0.5) -> float:
    r"""$\alpha(t)$ of a law named as in :func:`sample`, by default that of PL_Alpha_Hill."""
    kind, number = _parsed(law)
    if kind == "MP":
        return float(noise_exponent(*_shape(number, 10_000), share))
    return float(exponential_exponent(share)) if kind == "exponential" else number


def sample(law: str, rng: np.random.Generator, count: int, contamination: float = 0.0) -> np.ndarray:
    r"""Values of a law, shape (count,).

    Args:
        law: "MP R", the spectrum of a Gaussian matrix with h/d = R; "exponential"; "Pareto A", independent values with
            density exponent A > 1 above 1.
        contamination: share of the values that come from the spectrum of a Gaussian matrix with h/d = 1.5 and mean 1.
    """
    checks.within("[0, 1)", contamination=contamination)
    kind, number = _parsed(law)
    bulk = round(contamination * count)
    if bulk:
        h, d = _shape(1.5, bulk)
        return np.append(sample(law, rng, count - bulk), marchenko_pastur.spectrum(rng, h, d) / h)
    if kind == "MP":
        return marchenko_pastur.spectrum(rng, *_shape(number, count))
    return rng.standard_exponential(count) if kind == "exponential" else rng.pareto(number - 1, count) + 1


@releases_gil
def estimates(seed: int, law: str, *, count: int = 1000, contamination: float = 0.0) -> xr.Dataset:
    """Both exponents of one sample: hill, ks, and ks_size, the number of values above the cut that the scan chose.

    Arguments as in :func:`sample`.  Cost: 0.5 ms for independent values, 13 ms for a spectrum of 1000.
    """
    values = sample(law, stats.stream("estimators", law, count, contamination, seed), count, contamination)
    chosen = tails.scan(values)
    return xr.Dataset({"hill": tails.hill(values), "ks": chosen.alpha, "ks_size": chosen.size})


def of_noise(ratio: float, count: int, draws: int = 40) -> np.ndarray:
    """Both exponents of matrices of pure noise with h/d = ratio and `count` eigenvalues, shape (draws, 2)."""
    rng = stats.stream("of noise", ratio, count)
    spectra = (marchenko_pastur.spectrum(rng, *_shape(ratio, count)) for _ in range(draws))
    return np.array([(tails.hill(values), tails.scan(values).alpha) for values in spectra])


def population_stretch(law: str, share: float = 0.01) -> float:
    r"""The :func:`tops.stretch` of a law named as in :func:`sample`."""
    kind, number = _parsed(law)
    if kind == "exponential":
        return tops.exponential_stretch(share)
    if kind == "MP":
        middle, quarter, far = MarchenkoPastur(*_shape(number, 10_000)).quantile(np.array([0.5, 0.75, 1 - share]))
    else:
        middle, quarter, far = (np.array([0.5, 0.25, share]) ** (1 / (1 - number))).tolist()
    return float((far - middle) / (quarter - middle))


def edge_distances(quantile, shares: np.ndarray, points: int = 4000) -> np.ndarray:
    """Distance of a law, given by its quantile function, above its cut from the power law fitted there, for shares t.

    This is what the scan minimises.
    """
    grid = (np.arange(points) + 0.5) / points
    values = quantile(1 - np.asarray(shares, dtype=float)[:, None] * (1 - grid))
    cut = quantile(1 - np.asarray(shares, dtype=float))[:, None]
    logs = np.log(values / cut)
    return np.abs(1 - np.exp(-logs / logs.mean(axis=1, keepdims=True)) - grid).max(axis=1)


def moved(values: np.ndarray, *, scale: float = 1.0, top: float = 1.0) -> tuple[float, float]:
    """PL_Alpha_Hill and PL_Alpha_KS of descending values after scaling W, and its largest singular value by `top`."""
    values = np.asarray(values, dtype=float) * scale**2
    values = np.append(values[0] * top**2, values[1:])
    return tails.hill(values), tails.scan(values).alpha


def _parsed(law: str) -> tuple[str, float]:
    """Kind of a law and its number, NaN for the exponential."""
    kind, _, number = law.partition(" ")
    try:
        parsed = float(number or "nan")
    except ValueError:
        parsed = float("nan")
    if law == "exponential" or (kind == "MP" and parsed > 0) or (kind == "Pareto" and parsed > 1):
        return kind, parsed
    raise ValueError(f"law must be 'exponential', 'MP R' with R > 0 or 'Pareto A' with A > 1, got {law!r}")


def _shape(ratio: float, count: int) -> tuple[int, int]:
    """h and d with h/d = ratio and min(h, d) = count."""
    return (round(ratio * count), count) if ratio >= 1 else (count, round(count / ratio))


def _dilogarithm(z: np.ndarray) -> np.ndarray:
    return special.spence(1 - np.asarray(z, dtype=complex))
