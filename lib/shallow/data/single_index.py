r"""Teachers of one or a few directions: $y = F^*(x) + \rho\,\xi$ with $x \sim N(0, I_d)$ and $\xi \sim N(0, 1)$.

A *single-index* teacher is $F^*(x) = \sigma_*(\beta \cdot x)$ with a unit vector $\beta$ and a link $\sigma_*$; a
multi-index teacher is the sum or the product of the link over k orthonormal directions.  Since $\beta \cdot x$ is
standard normal, what any student can reach follows from Gaussian moments of the link alone (:func:`moments`).
Source: Kothapalli et al., "From Spikes to Heavy Tails", eq. (1) and Appendix H.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from shallow import checks
from shallow.display import short
from shallow.stats import stream

#: Link functions by name, elementwise.
LINKS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "softplus": lambda z: np.logaddexp(0.0, z),
    "tanh": np.tanh,
    "relu": lambda z: np.maximum(z, 0.0),
    "identity": lambda z: z,
}
COMBINE = {"sum": np.sum, "product": np.prod}

_RANGE, _NODES = 14.0, 200  # the normal density is below 1e-42 beyond; nodes on each half-line


@dataclass(frozen=True)
class Teacher:
    r"""$F^*(x) = \sum_k \sigma_*(\beta_k \cdot x)$, or the product over k.

    Attributes:
        directions: orthonormal rows $\beta_k$, shape (k, d), float64.
        link: name of $\sigma_*$ in `LINKS`.
        combine: "sum" or "product".

    Raises:
        ValueError: for rows that are not orthonormal or an unknown name.
    """

    directions: np.ndarray
    link: str = "softplus"
    combine: str = "sum"

    __repr__ = short

    def __post_init__(self) -> None:
        checks.numbers(directions=self.directions)
        rows = np.atleast_2d(np.asarray(self.directions, dtype=np.float64))
        checks.array(("k", "d"), directions=rows)
        if not np.allclose(rows @ rows.T, np.eye(len(rows)), rtol=0, atol=1e-10):
            raise ValueError(f"directions must be orthonormal rows, got scalar products {rows @ rows.T}")
        object.__setattr__(self, "directions", rows)
        checks.one_of(LINKS, link=self.link)
        checks.one_of(COMBINE, combine=self.combine)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Labels without noise at x of shape (n, d); shape (n,), float64."""
        checks.shape((None, self.directions.shape[1]), x=x)
        x = np.asarray(x, dtype=np.float64)
        return COMBINE[self.combine](LINKS[self.link](x @ self.directions.T), axis=1)


def random_teacher(
    rng: np.random.Generator, inputs: int, *, link: str = "softplus", indices: int = 1, combine: str = "sum"
) -> Teacher:
    r"""A teacher with `indices` uniformly random orthonormal directions in `inputs` dimensions.

    One direction is $g/|g|$ with a Gaussian vector g; several come from orthonormalising Gaussian vectors in turn, so
    that the first ones do not depend on how many there are.
    """
    checks.generators(rng=rng)
    checks.integers(1, inputs=inputs)
    checks.integers(1, inputs, indices=indices)
    basis, triangle = np.linalg.qr(rng.standard_normal((indices, inputs)).T)
    return Teacher((basis * np.sign(np.diag(triangle))).T, link, combine)


class Sample(NamedTuple):
    """Inputs of shape (n, d) and noisy labels of shape (n,), of one number type."""

    x: np.ndarray
    y: np.ndarray

    __repr__ = short


class Split(NamedTuple):
    """Three independent samples of one teacher: for the first layer, for the ridge read-out (hold-out), and to test."""

    train: Sample
    probe: Sample
    test: Sample

    __repr__ = short


def sample(
    teacher: Teacher,
    n: int,
    *,
    noise: float,
    inputs: np.random.Generator,
    errors: np.random.Generator,
    dtype=np.float32,
) -> Sample:
    r"""n points $x \sim N(0, I_d)$ with labels $F^*(x) + \rho\,\xi$; drawn in float64, then rounded to `dtype`.

    Args:
        noise: $\rho \ge 0$, standard deviation of the label noise.
        inputs, errors: generators of x and $\xi$.
        dtype: float32 or float64; the sample in float32 is the rounded sample in float64.
    """
    checks.generators(inputs=inputs, errors=errors)
    checks.integers(1, n=n)
    checks.not_negative(noise=noise)
    checks.one_of((np.float32, np.float64), dtype=np.dtype(dtype))
    x = inputs.standard_normal((n, teacher.directions.shape[1]))
    y = teacher(x) + noise * errors.standard_normal(n)
    return Sample(x.astype(dtype), y.astype(dtype))


def split(teacher: Teacher, n: int, *, seed: int | str, noise: float = 0.3, test: int = 200, dtype=np.float32) -> Split:
    """Train and probe samples of n points each and a test sample; label noise is in all three (Section 3.1).

    Inputs and noise of each sample have a stream of their own, named by the seed.  So with one seed a larger n only
    appends points, another noise level only rescales the same errors, and the test inputs depend on neither.

    Cost: (2 n + test) d normal draws, 10 ns each.
    """

    def part(name: str, size: int) -> Sample:
        streams = {what: stream("single_index", seed, name, what) for what in ("inputs", "errors")}
        return sample(teacher, size, noise=noise, dtype=dtype, **streams)

    checks.words(seed=seed)
    checks.integers(1, test=test)
    return Split(part("train", n), part("probe", n), part("test", test))


# Gaussian moments of a link.


def expectation(function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    r"""$\mathbb E\,g(z)$ for $z \sim N(0, 1)$ and g that acts on the last axis; the shape of g without that axis.

    Gauss-Legendre quadrature on both half-lines: exact to rounding for functions that are smooth but for a kink at 0,
    where Gauss-Hermite quadrature would converge slowly.
    """
    nodes, weights = legendre.leggauss(_NODES)
    z = _RANGE / 2 * (1 + nodes)
    z, weights = np.concatenate([-z[::-1], z]), _RANGE / 2 * np.concatenate([weights[::-1], weights])
    return np.asarray(function(z)) @ (weights * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi))


@dataclass(frozen=True)
class Moments:
    r"""Gaussian moments of a link $\sigma$, which give the losses of simple predictors of a single-index teacher.

    Attributes:
        mean: $\mathbb E\,\sigma(z)$.
        slope: $\mathbb E[z\,\sigma(z)]$.
        square: $\mathbb E\,\sigma(z)^2$.
        even: mean square of the even part $(\sigma(z) + \sigma(-z))/2$; the odd part has the rest.
    """

    mean: float
    slope: float
    square: float
    even: float

    @property
    def odd(self) -> float:
        """Mean square of the odd part."""
        return self.square - self.even

    @property
    def curved(self) -> float:
        """Mean square of what is neither constant nor linear."""
        return self.square - self.mean**2 - self.slope**2

    def null_loss(self, noise: float) -> float:
        r"""$\mathbb E\,y^2$, the mean square error of the prediction 0."""
        checks.within("[0, 1e150]", noise=noise)
        return self.square + noise**2

    def odd_floor(self, noise: float) -> float:
        """Smallest mean square error of any odd function of x, so of any tanh student without biases."""
        checks.within("[0, 1e150]", noise=noise)
        return self.even + noise**2

    def linear_floor(self, noise: float) -> float:
        r"""Mean square error of the best linear predictor without intercept."""
        checks.within("[0, 1e150]", noise=noise)
        return self.square - self.slope**2 + noise**2


def moments(link: str) -> Moments:
    """The Gaussian moments of a link, by quadrature."""
    checks.one_of(LINKS, link=link)
    sigma = LINKS[link]
    return Moments(
        *map(
            float,
            expectation(lambda z: np.stack([sigma(z), z * sigma(z), sigma(z) ** 2, ((sigma(z) + sigma(-z)) / 2) ** 2])),
        )
    )
