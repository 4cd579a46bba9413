r"""The first update of GD and Adam: its norms, the signs of its entries, and the learning rate of the first spike.

The first update of Adam is a matrix of signs (eq. 9).  The document replaces the negative gradient $-G$ by the rank-one
matrix $A = \frac{2 c s \mu}{n \sqrt h}\,a\,(X^\top y)^\top$ with $\mu = \mathbb E \tanh'(z)$, and argues that both have
the same signs (Lemmas B.4 and B.5; its $G_0$ is $-G$).  The cells measure how far that holds, for the labels $y$ of the
document and for the residual $y - f(X)$, which is what the gradient really contains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
import xarray as xr
from scipy.sparse.linalg import eigsh

from experiments.heavy_tails import teacher_student
from experiments.heavy_tails.shapes import SPIKE_RATIO
from experiments.heavy_tails.teacher_student import PYTORCH, RULES
from shallow import nets, stats
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import single_index
from shallow.data.single_index import Moments, moments
from shallow.nets import Student
from shallow.spectra import esd, rank_one
from shallow.train import first_layer
from shallow.train.first_layer import GD, Rule

#: What stands in the rank-one matrix A in the place of the labels.
REFERENCES = ("labels", "residual")
READINGS = ("code", "text")


def sizes(n: int, width: int | None = None) -> dict[str, int]:
    """Sizes with n points: d = n/2, and h = 3n/4 as in the document's Table 2 unless a width is given."""
    if n < 4 or n % 4:
        raise ValueError(f"n must be a positive multiple of 4, got {n}")
    return {"n": n, "d": n // 2, "h": width or 3 * n // 4}


def direction(gradient: np.ndarray, rule: Rule, factor: float = 1.0) -> np.ndarray:
    """First direction of a rule, shape (h, d), from the gradient of the loss with factor 1."""
    gradient = torch.from_numpy(factor * gradient)
    return rule.direction(gradient, rule.start(gradient), 1).numpy()


def rank_one_factors(student: Student, x: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Vectors $a$ (h,) and $g = \frac{2 s \mu}{n \sqrt h} X^\top t$ (d,) of the matrix $A = a g^\top$, float64."""
    g = np.asarray(x, dtype=np.float64).T @ target / len(x)
    return student.a.astype(np.float64), 2 * student.scale * moments("tanh").slope / len(student.a) ** 0.5 * g


@releases_gil
def first_update(seed: int, n: int, *, width: int | None = None, scaling: str = "ntk", link: str = "softplus"):
    r"""Norms and signs of the first update of Adam at one size, and the rank-one matrix that should explain them.

    Sizes are those of :func:`sizes`.  Returns a Dataset. By `reading`, for the direction D of Adam at learning rate 1:
        frobenius, spectral: its norms; off: share of entries more than 1 % away from their value without eps.
    By `reference`, for $A$ with the labels or the residual:
        differing: share of entries in which $-A$ and the gradient $G$ have different signs;
        distance: $\|G + A\|_2 / \|G\|_2$; frobenius_distance: $\|G + A\|_F$; smallest: $\min |A_{ij}|$.
    Scalars: signs, the spectral norm of sign(G); gradient, that of G; predicted, its leading order; start_frobenius and
        start_spectral, the norms of $W_0$.

    Cost: 4 n d h operations, 0.6 s at n = 2000 and 20 s at n = 8000 with Table 2's h.
    """
    drawn = teacher_student.draw(seed, scaling=scaling, link=link, **sizes(n, width))
    x, y = drawn.samples.train
    gradient = first_layer.directions(x, y, drawn.student, [GD()], **PYTORCH)[GD()]
    signs, norm = np.sign(gradient), esd.top(gradient).s[0]
    residual = y.astype(np.float64) - drawn.student.forward(x)
    by_reference = [_compare(gradient, signs, norm, drawn.student, x, target) for target in (y, residual)]
    by_reading = [_adam_norms(gradient, reading) for reading in READINGS]
    start = drawn.student.W
    columns = {name: ("reference", [one[name] for one in by_reference]) for name in by_reference[0]}
    columns |= {name: ("reading", [one[name] for one in by_reading]) for name in by_reading[0]}
    scalars = {
        "signs": esd.top(signs).s[0],
        "gradient": norm,
        "predicted": gradient_norm(drawn.student, moments(link), n, noise=0.3),
        "start_frobenius": np.linalg.norm(start),
        "start_spectral": esd.top(start).s[0],
    }
    return xr.Dataset(columns | scalars, {"reading": list(READINGS), "reference": list(REFERENCES)})


def gradient_norm(student: Student, teacher: Moments, n: int, *, noise: float, factor: float = 1.0) -> float:
    r"""Leading order of $\|\nabla_W R\|_2$ at a random student, for a single-index teacher with these moments.

    The gradient is nearly the rank-one matrix $\frac{2 c s \mu}{n \sqrt h}\,a\,(X^\top r)^\top$ with $\mu = \mathbb
    E[z \tanh z]$.  With $\kappa = |a|^2/h$ and pre-activations of unit variance,

    .. math:: \|\nabla_W R\|_2 \approx 2 c s \mu \sqrt{\kappa}\,
       \sqrt{\mu_*^2 + \kappa\mu^2 + \tfrac{d}{n} \bigl(\mathbb E y^2 + \kappa\,\mathbb E \tanh^2\bigr)} ,

    where $\mu_*$ is the slope of the teacher.  In NTK scaling $\kappa$ is about 1; in mean-field scaling it is 1/h, and
    the student's own output does not count.  The relative error falls as the sizes grow.
    """
    (h, d), tanh = student.W.shape, moments("tanh")
    strength = float(student.a @ student.a) / h
    signal = teacher.slope**2 + strength * tanh.slope**2
    residual = teacher.null_loss(noise) + strength * tanh.square
    return 2 * factor * student.scale * tanh.slope * float(np.sqrt(strength * (signal + d / n * residual)))


def _compare(gradient, signs, norm, student: Student, x: np.ndarray, target: np.ndarray) -> dict[str, float]:
    a, g = rank_one_factors(student, x, target)
    remainder = gradient + np.outer(a, g)
    return {
        "differing": float(np.mean(signs != -np.outer(np.sign(a), np.sign(g)))),
        "distance": esd.top(remainder).s[0] / norm,
        "frobenius_distance": np.linalg.norm(remainder),
        "smallest": np.abs(a).min() * np.abs(g).min(),
    }


def _adam_norms(gradient: np.ndarray, reading: str) -> dict[str, float]:
    rule, factor = RULES[f"Adam {reading}"]
    found = direction(gradient, rule, factor)
    nominal = 1.0 if rule.corrected else (1 - rule.beta1) / (1 - rule.beta2) ** 0.5
    return {
        "frobenius": np.linalg.norm(found.astype(np.float64)),
        "spectral": esd.top(found).s[0],
        "off": float(np.mean(np.abs(np.abs(found) / nominal - 1) > 0.01)),
    }


@releases_gil
def exact_zeros(seed: int, n: int = 2000) -> xr.Dataset:
    r"""Number of entries that are exactly zero: of A with the labels in float64, and of G in float32 and in float64.

    Also smallest, $\min |A_{ij}|$.  Sizes are those of :func:`sizes`.
    """
    drawn = teacher_student.draw(seed, **sizes(n))
    x, y = drawn.samples.train
    found = {}
    for dtype in (torch.float32, torch.float64):
        gradient = first_layer.directions(x, y, drawn.student, [GD()], dtype=dtype, **PYTORCH)[GD()]
        found[f"gradient_{str(dtype).removeprefix('torch.')}"] = int((gradient == 0).sum())
    A = np.outer(*rank_one_factors(drawn.student, x, y))
    return xr.Dataset(found | {"rank_one": int((A == 0).sum()), "smallest": np.abs(A).min()})


def along(W: np.ndarray, D: np.ndarray) -> Callable[[float], np.ndarray]:
    r"""The function $\eta \mapsto$ three largest eigenvalues of $(W - \eta D)^\top (W - \eta D)$, descending.

    The three Gram matrices of its expansion in $\eta$ are formed once; a call is a Lanczos iteration on a d x d matrix,
    0.05 s at d = 1000.
    """
    W, D = (matrix.astype(np.float64) for matrix in (W, D))
    constant, mixed, square = W.T @ W, W.T @ D, D.T @ D
    mixed += mixed.T.copy()
    start = stats.stream("first update", "Lanczos", len(square)).standard_normal(len(square))

    def largest(rate: float) -> np.ndarray:
        gram = constant - rate * mixed + rate**2 * square
        return np.sort(eigsh(gram, k=3, v0=start, return_eigenvectors=False))[::-1]

    return largest


def bisect(largest: Callable[[float], np.ndarray], low: float, high: float, tolerance: float = 0.01) -> float:
    r"""Smallest learning rate with $\lambda_1 / \lambda_2 \ge 1.05$ (SPIKE), by bisection in its logarithm.

    `low` and `high` are rates without and with a spike, `largest` is as from :func:`along`.
    """

    def spiked(rate: float) -> bool:
        values = largest(rate)
        return bool(values[0] / values[1] >= SPIKE_RATIO)

    if spiked(low) or not spiked(high):
        raise ValueError(f"low must be a rate without a spike and high one with it, got {low:g} and {high:g}")
    while high / low > 1 + tolerance:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if spiked(middle) else (middle, high)
    return high


@releases_gil
def spikes(
    seed: int,
    n: int = 2000,
    *,
    link: str = "softplus",
    rules: Sequence[str] = tuple(RULES),
    rates: Sequence[float] = (),
) -> xr.Dataset:
    r"""The learning rate of the first spike by rule, and the spectral gaps at given rates, from one gradient.

    Sizes are those of the document's Table 2.  The rate is searched between those at which the norm of the update is
    a half and ten times the threshold $(hd)^{1/4}$ of a rank-one update that is independent of the weights.

    Returns a Dataset: threshold (rule), to one per cent; norm (rule), $\|D\|_2$; ratio and second (rule, rate),
    $\lambda_1/\lambda_2$ and $\lambda_2/\lambda_3$ after one step.
    """
    size = sizes(n)
    drawn = teacher_student.draw(seed, link=link, **size)
    gradient = first_layer.directions(*drawn.samples.train, drawn.student, [GD()], **PYTORCH)[GD()]
    independent, found = rank_one.threshold(size["h"], size["d"]), []
    for rule, factor in (RULES[name] for name in rules):
        D = direction(gradient, rule, factor)
        norm, largest = esd.top(D).s[0], along(drawn.student.W, D)
        values = np.array([largest(rate) for rate in rates]).reshape(-1, 3)
        threshold = bisect(largest, independent / norm / 2, 10 * independent / norm)
        found.append((threshold, norm, values[:, 0] / values[:, 1], values[:, 1] / values[:, 2]))
    threshold, norm, ratio, second = map(np.array, zip(*found, strict=True))
    return xr.Dataset(
        {
            "threshold": ("rule", threshold),
            "norm": ("rule", norm),
            "ratio": (("rule", "rate"), ratio),
            "second": (("rule", "rate"), second),
        },
        {"rule": list(rules), "rate": list(rates)},
    )


@releases_gil
def sign_spikes(seed: int, n: int, *, rates: Sequence[float] = (), tolerance: float = 0.002) -> xr.Dataset:
    r"""The learning rate of the first spike, and spectral gaps, for the update $\operatorname{sign}(G)$: Adam, eps = 0.

    Sizes are those of Table 2.  Without bias correction the same update has $\sqrt{10}$ times the learning rate.

    Returns a Dataset: threshold, to `tolerance`; norm, $\|\operatorname{sign} G\|_2$; ratio and second (rate),
    $\lambda_1/\lambda_2$ and $\lambda_2/\lambda_3$ after one step.

    Cost: 15 s at n = 4000 on one core.
    """
    size = sizes(n)
    drawn = teacher_student.draw(seed, **size)
    signs = np.sign(first_layer.directions(*drawn.samples.train, drawn.student, [GD()], **PYTORCH)[GD()])
    norm, largest = esd.top(signs).s[0], along(drawn.student.W, signs)
    independent = rank_one.threshold(size["h"], size["d"]) / norm
    values = np.array([largest(rate) for rate in rates]).reshape(-1, 3)
    return xr.Dataset(
        {
            "threshold": bisect(largest, independent / 2, 10 * independent, tolerance),
            "norm": norm,
            "ratio": ("rate", values[:, 0] / values[:, 1]),
            "second": ("rate", values[:, 1] / values[:, 2]),
        },
        {"rate": list(rates)},
    )


@releases_gil
def many_points(seed: int, n: int, *, ratio: int = 128, width: int = 1500, chunk: int = 4096) -> xr.Dataset:
    r"""How far the first gradient is from the rank-one matrix A of the labels, with many points for each dimension.

    There are n / ratio dimensions; the points are drawn and used `chunk` at a time.

    Returns a Dataset of scalars: distance, $\|G + A\|_2 / \|G\|_2$; differing, share of entries in which $-A$ and $G$
        have different signs; signs, $\|\operatorname{sign} G\|_2$.

    Cost: 4 n d h operations; a minute at n = 262144 on one core, with less than a gigabyte.
    """
    if n < 1 or n % ratio or n % chunk:
        raise ValueError(f"n must be a positive multiple of {ratio} and of {chunk}, got {n}")
    streams = {name: stats.stream("many points", seed, name) for name in ("teacher", "student", "inputs", "errors")}
    teacher = single_index.random_teacher(streams["teacher"], n // ratio)
    start = nets.ntk(streams["student"], width, n // ratio)
    student = Student(start.W.astype(np.float32), start.a, start.scale)
    gradient, mean = np.zeros(start.W.shape), np.zeros(n // ratio)
    for _ in range(n // chunk):
        x, y = single_index.sample(teacher, chunk, noise=0.3, inputs=streams["inputs"], errors=streams["errors"])
        gradient += first_layer.directions(x, y, student, [GD()], **PYTORCH)[GD()] * (chunk / n)
        mean += x.T.astype(np.float64) @ y / n
    g = 2 * student.scale * moments("tanh").slope / width**0.5 * mean
    signs = np.sign(gradient)
    return xr.Dataset(
        {
            "distance": esd.top(gradient + np.outer(student.a, g)).s[0] / esd.top(gradient).s[0],
            "differing": float(np.mean(signs != -np.outer(np.sign(student.a), np.sign(g)))),
            "signs": esd.top(signs).s[0],
        }
    )


def taken_apart(seed: int = 0, *, n: int = 60, d: int = 25, h: int = 35) -> xr.Dataset:
    r"""The first gradient of a small draw in float64, by automatic differentiation and by the document's formulas.

    Returns a Dataset with dimensions i (h) and k (d): gradient, $\nabla_W \frac{1}{2n} |y - f(X)|^2$, without formulas;
        printed, the matrix of equation (8); rank_one, centred and output, the three terms of equation (20) in their
        order, without the superfluous transpose of the third and without its sign.
    """
    rng = stats.stream("heavy tails gradient", seed)
    student, x = nets.ntk(rng, h, d), rng.standard_normal((n, d))
    y = np.logaddexp(0, x[:, 0]) + 0.3 * rng.standard_normal(n)
    W = torch.tensor(student.W, requires_grad=True)
    output = torch.tensor(student.a) @ torch.tanh(W @ torch.tensor(x).T / d**0.5) / h**0.5
    (gradient,) = torch.autograd.grad(((output - torch.tensor(y)) ** 2).mean() / 2, W)
    a, hidden = student.a[:, None], np.tanh(student.W @ x.T / d**0.5)
    slope, mean, f = 1 - hidden**2, moments("tanh").slope, student.a @ hidden / h**0.5
    terms = {
        "gradient": gradient.numpy(),
        "printed": (a * (y - f) * slope) @ x / (n * (h * d) ** 0.5),
        "rank_one": mean * a * (x.T @ y) / (n * (h * d) ** 0.5),
        "centred": (a * y * (slope - mean)) @ x / (n * (h * d) ** 0.5),
        "output": (a * f * slope) @ x / (n * (h * d) ** 0.5),
    }
    return xr.Dataset({name: (("i", "k"), values) for name, values in terms.items()})


def base_directions(seed: int = 0, **size: int) -> xr.Dataset:
    r"""The first gradient of a draw (the base setting by default), c = 1, and the directions of Adam that it gives.

    Returns a Dataset: gradient (i, k); direction (reading, eps, i, k) with eps = 1e-8 of PyTorch and eps = 0, where the
        reading says whether there is bias correction and whether the loss has the factor 1 (code) or 1/2 (text).
    """
    drawn = teacher_student.draw(seed, **size)
    gradient = first_layer.directions(*drawn.samples.train, drawn.student, [GD()], **PYTORCH)[GD()]
    rules = {reading: RULES[f"Adam {reading}"] for reading in READINGS}
    found = [
        [direction(gradient, replace(rule, eps=eps), factor) for eps in (1e-8, 0.0)] for rule, factor in rules.values()
    ]
    return xr.Dataset(
        {"gradient": (("i", "k"), gradient), "direction": (("reading", "eps", "i", "k"), found)},
        {"reading": list(READINGS), "eps": [1e-8, 0.0]},
    )


ADAM = ("Adam code", "Adam text")
ROWS = [1000 * (i + 1) for i in range(8)]
THREE = {"seed": [0, 1, 2]}
RECORDS: dict[str, Recipe] = {
    "first_update_fixed_width": Recipe(
        first_update,
        {"n": [1000, 2000, 4000, 8000], "scaling": ["ntk", "mean-field"], **THREE},
        {"width": 1500},
        "Theorem 4.1 and Lemmas B.4, B.5: norms and signs of the first update, width 1500, d = n/2",
    ),
    "first_update_table_2": Recipe(
        first_update, {"n": ROWS, **THREE}, {}, "Figure 8: norms and signs of the first update at the sizes of Table 2"
    ),
    "exact_zeros": Recipe(exact_zeros, {"seed": list(range(10))}, {}, "Proposition B.6: entries that are exactly zero"),
    "first_spike": Recipe(
        spikes,
        {"seed": list(range(5))},
        {"rates": [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 2000.0]},
        "Section 4.1: the learning rate of the first spike, both optimisers and readings",
    ),
    "first_spike_links": Recipe(
        spikes, {"link": ["tanh", "relu"], **THREE}, {"rules": list(ADAM)}, "Appendix F.5: other teachers"
    ),
    "sign_spikes": Recipe(
        sign_spikes,
        {"n": ROWS[:4], "seed": list(range(8))},
        {"rates": [0.01, 0.01 * 10**0.5, 1.0, 10**0.5]},
        "Corollary 4.2 with eps = 0: the learning rate of the first spike at the sizes of Table 2",
    ),
    "many_points": Recipe(
        many_points,
        {"n": [16384, 65536, 262144], **THREE},
        about="Lemma B.4 where its bound says something: 128 points for each dimension, width 1500",
    ),
}
