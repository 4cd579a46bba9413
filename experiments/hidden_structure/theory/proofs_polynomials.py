r"""Numbers beside the proofs on a hidden direction: each function evaluates both sides of a statement."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial
from scipy.stats import norm
from sklearn.metrics.pairwise import rbf_kernel

from experiments.hidden_structure import hidden_direction, hidden_index, polynomials
from experiments.hidden_structure.cited import two_stage
from experiments.hidden_structure.polynomial_machines import ceiling
from experiments.hidden_structure.theory import linear_flow
from shallow import stats
from shallow.train import ode

DIMENSION = hidden_index.DIMENSION


def deviation() -> float:
    r"""$\tau$, of the document's independent inputs."""
    return float(hidden_index.published("independent").v.std())


def residual(degree: int, shift: float = 0.0) -> Polynomial:
    """The polynomial less its median: its sign is what the absolute loss of a constant network sees of the target."""
    v = deviation() * norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    target = hidden_index.polynomial(degree, shift)
    return target - float(np.median(target(v)))


def leading(degree: int) -> dict[str, float]:
    r"""What a polynomial shows at first order.

    `linear`: $\mathbb E[v y] / (\tau\,\mathrm{sd}(y))$; `curved`: $c_2$ over sd(y); `sign`: the coefficient $c_1$ or
    $c_2$, as the degree is odd or even, of the sign of the residual.
    """
    c = hidden_index.hermite_coefficients(hidden_index.polynomial(degree), deviation())
    size = np.sqrt((c[1:] ** 2).sum())
    sign = hidden_index.sign_coefficients(residual(degree), deviation(), 3)
    return {"linear": float(c[1] / size), "curved": float(c[2] / size), "sign": float(sign[2 - degree % 2])}


class Pushes(NamedTuple):
    """By unit: the push along the hidden direction over the scale of the inputs."""

    measured: np.ndarray
    error: np.ndarray  # standard error of the measurement
    law: np.ndarray
    crippled: np.ndarray  # the law without the leading coefficient


def push(degree: int, points: int = 40_000, units: int = 512) -> Pushes:
    """Measured on fresh Gaussian points for the first units of run 0, and by the law.  Cost: 0.5 s."""
    start, scale = polynomials.initial("independent", DIMENSION, 512, 0), hidden_index.published("independent").scale
    W, b = (part[0][:units].astype(float) for part in (start.weights[0], start.biases[0]))
    target, tau = residual(degree), DIMENSION**0.5 * scale
    rng, total, square = stats.stream("hidden structure", "first push", degree), np.zeros(units), np.zeros(units)
    for _ in range(points // 10_000):
        x = rng.standard_normal((10_000, DIMENSION))
        active, z = (scale * x @ W.T + b > 0).astype(float), x.sum(axis=1) / DIMENSION**0.5
        total += active.T @ (np.sign(target(tau * z)) * z)
        square += active.T @ z**2
    measured = total / points
    c = hidden_index.sign_coefficients(target, tau, 16)
    without = np.where(np.arange(16) == 2 - degree % 2, 0, c)
    along = [
        hidden_direction.push(W, b, some, np.ones(DIMENSION), scale**2 * np.ones(DIMENSION)).weights.sum(axis=1)
        for some in (c, without)
    ]
    laws = (one / DIMENSION**0.5 / scale for one in along)
    return Pushes(measured, np.sqrt((square / points - measured**2) / points), *laws)


class Turn(NamedTuple):
    r"""One unit under gradient flow while the output stays constant, at times from 0."""

    times: np.ndarray
    tangent: np.ndarray  # rho / sqrt(1 - rho^2) of the unit with the direction
    identity: np.ndarray  # its change by the formula, integrated along the path, plus its start
    leading: np.ndarray  # by the leading coefficient alone, with the start's numbers
    rate: float  # this coefficient, c_1 or c_2


def turn(degree: int, *, cosine: float = 0.05, a: float = 0.5, mean: float = 0.0, until: float = 20.0) -> Turn:
    r"""The flow $\dot w = a\,\mathcal P(w, b)$, $\dot b = a\,\mathbb E[1\{h > 0\} T]$ for inputs N(0, I), b(0) = 0.2.

    T is the sign of the residual, with `mean` added, which is $c_0$; a stays as it is.
    """
    c = hidden_index.sign_coefficients(residual(degree), deviation(), 24)
    c[0] = mean
    u, across = np.full(DIMENSION, DIMENSION**-0.5), np.zeros(DIMENSION)
    across[:2] = 0.5**0.5, -(0.5**0.5)
    start, ones = cosine * u + (1 - cosine**2) ** 0.5 * across, np.ones(DIMENSION)

    def velocity(w: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = hidden_direction.push(w[None], b, c, u, ones)
        return a * found.weights[0], a * found.biases

    times = np.linspace(0, until, 401)
    W, b = ode.integrate(velocity, (start, np.array([0.2])), times, tolerance=1e-10)
    size, along = np.linalg.norm(W, axis=1), W @ u
    rest = np.sqrt(size**2 - along**2)
    rho, scaled = along / size, b[:, 0] / size
    k, functions = np.arange(1, len(c))[:, None], hidden_index.hermite(-scaled, len(c))
    moments = np.concatenate([norm.cdf(scaled)[None], norm.pdf(scaled) * functions[:-2] / k[:-1] ** 0.5])
    speed = a / rest * (k**0.5 * c[1:, None] * rho ** (k - 1) * moments).sum(axis=0)
    steps = np.concatenate([[0], np.cumsum((speed[1:] + speed[:-1]) / 2 * np.diff(times))])
    tangent = along / rest
    if degree % 2:
        first = tangent[0] + a * c[1] * norm.cdf(scaled[0]) / rest[0] * times
    else:
        first = tangent[0] * np.exp(a * 2**0.5 * c[2] * norm.pdf(scaled[0]) / rest[0] * times)
    return Turn(times, tangent, tangent[0] + steps, first, float(c[2 - degree % 2]))


# What a kernel can hold that does not know the direction.


def ceiling_check(dimension: int = 5, tau: float = 0.6, directions: int = 100, size: int = 8000) -> dict[str, float]:
    """Spaces against the ceiling in few dimensions, each as mean R^2 over directions u, over its ceiling.

    `gaussian`: largest over 3, 10, 40 Gaussian kernels; `chosen`: 10 of them, of the width out of three that fits this
    u best, over the ceiling of 30; `eigenvectors`: those of the cubic $t^3 - t$, which attain it; `knowing`: one
    function that depends on u.
    """
    rng = stats.stream("hidden structure", "ceiling")
    x, u = rng.standard_normal((size, dimension)), rng.standard_normal((directions, dimension))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    target = hidden_index.polynomial(3) + 0.5 * hidden_index.polynomial(4)
    y = target(tau * x @ u.T)

    def held(features: np.ndarray, y: np.ndarray) -> np.ndarray:
        basis, _ = np.linalg.qr(np.column_stack([np.ones(size), features]))
        return 1 - ((y - basis @ (basis.T @ y)) ** 2).mean(axis=0) / y.var(axis=0)

    def most(count: int) -> float:
        return ceiling.ceiling(target, tau, dimension, count)

    cubic = Polynomial([0, -1.0, 0, 1.0])
    eigenvectors = x * (3 * (x**2).sum(axis=1, keepdims=True) / (dimension + 2) - 1)
    widths = np.array([held(rbf_kernel(x, x[:10], gamma=gamma), y) for gamma in (0.02, 0.1, 0.5)])
    return {
        "gaussian": max(float(held(rbf_kernel(x, x[:n], gamma=0.1), y).mean() / most(n)) for n in (3, 10, 40)),
        "chosen": float(widths.max(axis=0).mean() / most(30)),
        "eigenvectors": float(
            held(eigenvectors, cubic(x @ u.T)).mean() / ceiling.ceiling(cubic, 1.0, dimension, dimension - 1)
        ),
        "knowing": float(held(y[:, :1], y[:, :1]).mean() / most(1)),
    }


# The one step of Damian, Lee and Soltanolkotabi.


def step_law(degree: int, points: int, inputs: int = DIMENSION) -> float:
    """Root mean square of the cosine of a unit with the direction after the step, by the proposition."""
    z, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()
    q = hidden_index.polynomial(degree)
    c = hidden_index.hermite_coefficients(q, deviation())
    clean = q(deviation() * z) - c[0] - c[1] * z
    along = (weights @ (clean * z) ** 2 + c[0] ** 2) / (4 * points)  # the noise along u, and all of it
    noise = along + (inputs - 1) * (weights @ clean**2 + c[0] ** 2) / (4 * points)
    signal = c[2] ** 2 * z**2 / inputs / np.pi  # for rho^2 = z^2 / D
    return float(np.sqrt(weights @ ((signal + along) / (signal + noise))))


def step_measured(degree: int, points: int, seed: int, units: int = 64, inputs: int = DIMENSION) -> float:
    """The same from the steps of some units.  Cost: 0.3 s for 10,000 points."""
    rng = stats.stream("hidden structure", "one step", points, seed)
    x, u = rng.standard_normal((points, inputs)), np.full(inputs, inputs**-0.5)
    W, a = (part[:units] for part in two_stage.pairs(rng, 2 * units, inputs))
    y = hidden_index.polynomial(degree)(deviation() * x @ u)
    clean, _ = two_stage.without_linear(y, x, {"train": np.arange(points)})
    return float(np.sqrt((hidden_direction.cosines(two_stage.one_step(W, a, x, clean), u) ** 2).mean()))


def points_needed(degree: int, inputs: int = DIMENSION) -> float:
    """Points at which signal and noise of the step are equal, for an even degree."""
    c = hidden_index.hermite_coefficients(hidden_index.polynomial(degree), deviation())
    return float(np.pi / 4 * inputs**2 * ((c**2).sum() - c[1] ** 2) / c[2] ** 2)


# Silent alignment of a linear network.


class Silence(NamedTuple):
    """Gradient flow of a linear network from one initial scale."""

    bound: float  # distance of the kernel from its form over the bound, largest over time
    above: bool  # whether the loss stays above its lower bound
    loss: float  # share of the loss that is left at 90 % of the turn of the kernel
    likeness: float  # cosine of the kernel at that moment with the final one


def linear_silence(
    scale: float, variances: np.ndarray | None = None, *, inputs: int = 10, width: int = 50, times: int = 401
) -> Silence:
    """A random start of this scale, a random target of length 1; cost: 0.3 s."""
    rng = stats.stream("hs linear silence")
    a, W = rng.standard_normal(width) / width**0.5, rng.standard_normal((width, inputs)) / (width * inputs) ** 0.5
    target = rng.standard_normal(inputs)
    target /= np.linalg.norm(target)
    longest = (6 - np.log(scale)) * (1 if variances is None else 12)
    run = linear_flow.integrate(
        scale * a, scale * W, target, np.linspace(0, longest, times), variances=variances, tolerance=1e-8
    )
    size, start = np.linalg.norm(run.a, axis=1), scale * np.sqrt(a @ a + (W**2).sum())
    form = np.eye(inputs) + np.outer(target, target)
    gap = np.linalg.norm(run.kernel - size[:, None, None] ** 2 * form, axis=(1, 2))
    A, loss = run.alignment, run.loss / run.loss[0]
    turned = np.argmax(A - A[0] >= 0.9 * (A[-1] - A[0]))
    likeness = np.einsum("tde,de->t", run.kernel, run.kernel[-1]) / np.linalg.norm(run.kernel, axis=(1, 2))
    least = np.maximum(1 - (size**2 + 2.5 * start * size), 0) ** 2 / (2 * run.loss[0])
    return Silence(
        float((gap / (2 * start * size + 6 * start**2)).max()),
        bool((loss >= least).all()),
        float(loss[turned]),
        float(likeness[turned] / np.linalg.norm(run.kernel[-1])),
    )
