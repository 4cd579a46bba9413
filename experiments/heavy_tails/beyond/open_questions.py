"""Open questions of the document: Gaussian-equivalent features, surgery on trained weights, several directions.

* :func:`gaussian_equivalent`: are the losses after one step those of a linear model with independent noise?
* :func:`dissected`: does the test loss need the trained spectrum, or the trained singular vectors?
* :func:`many_directions`: does a teacher with k directions make k spikes?

Source: Kothapalli et al., "From Spikes to Heavy Tails", Appendix H.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from experiments.heavy_tails import gradient_laws, shapes, teacher_student
from experiments.heavy_tails.route import cells as training_spectra
from experiments.heavy_tails.teacher_student import FEATURES, PENALTY, draw, evaluation_scale
from shallow import checks, stats
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import single_index
from shallow.data.single_index import Sample
from shallow.kernels.ridge import Ridge, mean_square
from shallow.nets import Student
from shallow.spectra import esd, rank_one
from shallow.spectra.marchenko_pastur import MarchenkoPastur

#: Points of the document's test sample, and how many more we draw to measure small differences.
TEST, MORE = 200, 2000
SAMPLES = ("train", "test", "wide")
MODELS = ("true", "linear", "linear again", "conditional")
_END = 6.0  # of the integrals over a standard normal variable


def tanh_moments(offset: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Mean and slope of $\tanh(m + s z)$, $z \sim N(0, 1)$, and the standard deviation of what is left.

    $\tanh(m + s z) = \mathbb E \tanh + s z\, \mathbb E \tanh' + \text{rest}$, with a rest that has mean zero, is not
    correlated with z, and has the variance $\mathbb E \tanh^2 - (\mathbb E \tanh)^2 - s^2 (\mathbb E \tanh')^2$.

    By the trapezoidal rule with steps of at most 1/4 in z and 3/4 in s z: its error is of order
    $\exp(-\pi^2 / \text{step})$, about 1e-5.
    """
    offset, spread = np.broadcast_arrays(np.asarray(offset, dtype=float), np.asarray(spread, dtype=float))
    half = int(np.ceil(_END / min(0.25, 0.75 / max(spread.max(), 1e-300))))
    nodes = np.linspace(-_END, _END, 2 * half + 1)
    weights = np.exp(-(nodes**2) / 2)
    mean, square = np.zeros(offset.shape), np.zeros(offset.shape)
    for node, weight in zip(nodes, weights / weights.sum()):
        value = np.tanh(offset + spread * node)
        mean += weight * value
        square += weight * value**2
    slope = 1 - square
    return mean, slope, np.sqrt(np.maximum(square - mean**2 - (spread * slope) ** 2, 0))


def equivalent_features(
    student: Student, x: np.ndarray, scale: float, rng: np.random.Generator, direction: np.ndarray | None = None
) -> np.ndarray:
    r"""Features with the linear part of $h^{-1/2} \tanh(s W x)$ and independent Gaussian noise.

    For $x \sim N(0, I)$ the best linear predictor of $\tanh(s\,w_i \cdot x)$ is $\mu_i s\,w_i \cdot x$ with $\mu_i =
    \mathbb E \tanh'(s |w_i| z)$; the noise has the variance of what it leaves.  With a direction v the same is done
    given $v \cdot x$: mean, slope and noise then are those of :func:`tanh_moments` with the offset
    $s\,(w_i \cdot v)(v \cdot x)$, and everything that depends on x through v alone is kept exactly.

    Returns shape (n, h) for inputs x (n, d).  Cost: 2 n d h operations; with a direction 50 n h evaluations of tanh,
    more for s |w| > 3.
    """
    W, x = student.W.astype(np.float64), np.asarray(x, dtype=np.float64)
    if direction is None:
        offset, rest = np.zeros((1, len(W))), W
    else:
        along = W @ direction
        offset, rest = scale * np.outer(x @ direction, along), W - np.outer(along, direction)
    mean, slope, noise = tanh_moments(offset, scale * np.linalg.norm(rest, axis=1))
    Z = mean + slope * (scale * (x @ rest.T)) + noise * rng.standard_normal((len(x), len(W)))
    return Z / len(W) ** 0.5


def _losses(fitted: np.ndarray, unseen: np.ndarray, probe: Sample, test: Sample) -> list[float]:
    """Ridge losses on the probe sample, on the first `TEST` test points and on all, in the order of `SAMPLES`."""
    weights = Ridge(fitted, probe.y).weights(PENALTY / fitted.shape[1])
    return [
        mean_square(fitted, probe.y, weights),
        mean_square(unseen[:TEST], test.y[:TEST], weights),
        mean_square(unseen, test.y, weights),
    ]


@releases_gil
def gaussian_equivalent(seed: int, *, rule: str, rate: float, more: int = MORE, **setting) -> xr.Dataset:
    r"""Ridge losses after one step, with the true features and with Gaussian-equivalent ones.

    Models: "true"; "linear" and "conditional", :func:`equivalent_features` of the trained weights, all of their
    spectrum included, without a direction and with the first right singular vector; "linear again", with other noise,
    says how much is chance.

    Returns loss (features, model, sample): on the probe sample, the document's 200 test points, and `more` in addition.
    """
    drawn = draw(seed, test=TEST + more, **setting)
    _, probe, test = drawn.samples
    (student,) = teacher_student.after_one_step(drawn, rule, [rate])
    spike = esd.top(student.W).V[:, 0]
    found = np.empty((len(FEATURES), len(MODELS), len(SAMPLES)))
    for k, features in enumerate(FEATURES):
        scale = evaluation_scale(student, features)
        found[k, 0] = _losses(student.features(probe.x, scale), student.features(test.x, scale), probe, test)
        for j, direction in ((1, None), (2, None), (3, spike)):
            rng = stats.stream("heavy tails", seed, "equivalent features", rule, rate, features, MODELS[j])
            Z, Z_test = (equivalent_features(student, part.x, scale, rng, direction) for part in (probe, test))
            found[k, j] = _losses(Z, Z_test, probe, test)
    coordinates = {"features": list(FEATURES), "model": list(MODELS), "sample": list(SAMPLES)}
    return xr.Dataset({"loss": (("features", "model", "sample"), found)}, coordinates)


SPECTRA, VECTORS, SIZES = ("trained", "noise"), ("trained", "random"), ("trained", "initial")


def recombined(start: np.ndarray, end: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    r"""Weights that take the shape of the spectrum, the singular vectors and the size from training or from noise.

    From $W_t = U \operatorname{diag}(s) V^\top$: singular values s, or the square roots of the quantiles of the
    Marchenko-Pastur law; vectors U and V, or uniformly random orthonormal ones; scaled to the Frobenius norm of $W_t$
    or of $W_0$.

    Returns shape (2, 2, 2, h, d), in the order of `SPECTRA`, `VECTORS` and `SIZES`; the first is $W_t$ itself, and the
    last differs from a matrix of independent entries by the missing chance in its spectrum.
    """
    h, d = start.shape
    if h < d or end.shape != start.shape:
        raise ValueError(f"start and end must have one shape (h, d) with h >= d, got {start.shape} and {end.shape}")
    U, s, V = esd.singular_vectors(end)
    noise = np.sqrt(MarchenkoPastur(h, d).quantile((np.arange(d)[::-1] + 0.5) / d))
    left, right = (np.linalg.qr(rng.standard_normal((rows, d)))[0] for rows in (h, d))
    made = np.empty((2, 2, 2, h, d))
    for i, values in enumerate((s, noise)):
        for j, (first, second) in enumerate(((U, V), (left, right))):
            direction = (first * values) @ second.T / np.linalg.norm(values)
            for k, size in enumerate((end, start)):
                made[i, j, k] = np.linalg.norm(size) * direction
    return made


@releases_gil
def dissected(
    seed: int, *, rate: float, rule: str = "Adam code", more: int = MORE, n: int = 8000, **setting
) -> xr.Dataset:
    """Ridge losses of a student after ten steps, of the untrained one, and of what :func:`recombined` makes of both.

    Returns:
        loss (spectrum, vectors, size, features, sample): as in :func:`gaussian_equivalent`;
        untrained (features, sample): loss of the untrained student of the draw;
        growth: norm of the trained weights over that of the initial ones;
        hill: PL_Alpha_Hill of the trained weights.

    Cost: nine pairs of ridge fits, a minute at n = 8000.
    """
    drawn = draw(seed, n=n, test=TEST + more, **setting)
    _, probe, test = drawn.samples
    start, end = drawn.student, teacher_student.trained(drawn, rule, rate)

    def losses(W: np.ndarray) -> list[list[float]]:
        one = Student(W.astype(np.float32), start.a, start.scale)
        scales = [evaluation_scale(one, features) for features in FEATURES]
        return [_losses(one.features(probe.x, scale), one.features(test.x, scale), probe, test) for scale in scales]

    made = recombined(start.W, end.W, stats.stream("heavy tails", seed, "dissected", rule, rate))
    found = np.array([losses(W) for W in made.reshape(-1, *start.W.shape)])
    dims = ("spectrum", "vectors", "size", "features", "sample")
    return xr.Dataset(
        {
            "loss": (dims, found.reshape(2, 2, 2, *found.shape[1:])),
            "untrained": (dims[3:], losses(start.W)),
            "growth": np.linalg.norm(end.W) / np.linalg.norm(start.W),
            "hill": shapes.shape(esd.eigenvalues(end.W), *end.W.shape).hill,
        },
        dict(zip(dims, (list(SPECTRA), list(VECTORS), list(SIZES), list(FEATURES), list(SAMPLES)))),
    )


#: Teachers by name: settings of :func:`teacher_student.draw`.
TEACHERS: Mapping[str, Mapping] = {
    "one": {},
    "sum of two": {"indices": 2},
    "sum of four": {"indices": 4},
    "product of softplus": {"indices": 2, "combine": "product"},
    "product of coordinates": {"indices": 2, "combine": "product", "link": "identity"},
}


@releases_gil
def many_directions(
    seed: int, *, teacher: str, rate: float, rule: str = "Adam code", shown: int = 4, **setting
) -> xr.Dataset:
    r"""Spectra after one and ten steps with one of the `TEACHERS`, and where the leading singular vectors point.

    Returns:
        eigenvalues (step, k): of $W^\top W$;
        average (step, rank): $|v_j \cdot \bar\beta|$, $\bar\beta = \sum_l \beta_l / \sqrt k$, for the first `shown`;
        span (step, rank): length of the projection of $v_j$ on all directions of the teacher.
    """
    checks.one_of(TEACHERS, teacher=teacher)
    drawn = draw(seed, **TEACHERS[teacher], **setting)
    rows = drawn.teacher.directions
    mean = rows.sum(axis=0) / len(rows) ** 0.5
    seen = []
    for t, (student, _) in enumerate(training_spectra.students(drawn, rule, rate, 10)):
        if t in (1, 10):
            V = esd.top(student.W, shown).V
            seen.append(
                {
                    "eigenvalues": ("k", esd.eigenvalues(student.W)),
                    "average": ("rank", np.abs(mean @ V)),
                    "span": ("rank", np.linalg.norm(rows @ V, axis=0)),
                }
            )
    return xr.concat([xr.Dataset(one) for one in seen], "step").assign_coords(step=[1, 10])


def predicted_average(
    n: int, d: int, h: int, *, rate: float, link: str = "softplus", indices: int = 1, combine: str = "sum", noise=0.3
) -> float:
    r"""Predicted $|v_1 \cdot \bar\beta|$ after the first step of Adam, with bias correction and $\epsilon = 0$.

    The first gradient sees a teacher F only through $g = \mathbb E \nabla F$, of length $\sqrt k\,\mu_*$ for a sum
    and $\sqrt k\,\mu_* m^{k-1}$ for a product of k equal links with mean m and slope $\mu_*$, and through $\mathbb E
    y^2$.  With the laws of :mod:`gradient_laws` the cosine of $\bar\beta$ and of the update's right singular vector is
    $c = (|g| / \tau) \sqrt{\rho / \arcsin \rho}$.  The update, of norm $\theta$, also takes back a part of $W_0$, as
    in :func:`gradient_laws.effective_square`, and what is left of the spike is freer from it:

    .. math:: |v_1 \cdot \bar\beta| = c\,\Bigl(1 - \tfrac{4 \gamma \alpha \sqrt d}{\theta}
       + \tfrac{4 \alpha^2 d}{\theta^2}\Bigr)^{-1/4}\,(v \cdot v_1),

    with $\alpha$ and $\gamma$ the `overlap` and the `tilt` there and $v \cdot v_1$ the right overlap of
    :func:`rank_one.spike` at the effective norm.
    """
    of_link, tanh = single_index.moments(link), single_index.moments("tanh")
    if combine == "sum":
        seen = indices * of_link.slope**2
        square = indices * (of_link.square - of_link.mean**2) + (indices * of_link.mean) ** 2
    else:
        seen = indices * (of_link.slope * of_link.mean ** (indices - 1)) ** 2
        square = of_link.square**indices
    square += noise**2
    mu = gradient_laws.SLOPE
    tau = seen + d / n * square + mu**2 + d / n * tanh.square  # the square of the tau of the formula
    private = gradient_laws.SLOPE_VARIANCE * d / n * (square + tanh.square)
    rho = mu**2 * tau / (mu**2 * tau + private)
    signs = rho / np.arcsin(rho)
    theta = rate * np.sqrt(2 / np.pi * np.arcsin(rho) * h * d)
    overlap, tilt = np.sqrt(mu**2 / tau * signs), gradient_laws.TILT["Adam"]
    part = overlap * np.sqrt(d) / theta
    effective = gradient_laws.effective_square(theta, d, overlap=overlap, tilt=tilt)
    freed = (1 - 4 * tilt * part + 4 * part**2) ** -0.25
    return float(np.sqrt(seen / tau * signs * rank_one.spike(np.sqrt(max(effective, 0.0)), h, d).right) * freed)


SEEDS, ONE_STEP = [0, 1, 2], [0.001, 0.01, 0.1, 1.0, 10.0]
RECORDS: dict[str, Recipe] = {
    "equivalent_features": Recipe(
        gaussian_equivalent,
        {"rule": ["Adam code"], "rate": ONE_STEP, "seed": SEEDS},
        {"more": 1000},
        "One step: the losses of Gaussian-equivalent features",
    ),
    "dissected": Recipe(
        dissected,
        {"rate": [1.0], "seed": list(range(8))},
        about="Ten steps, 8000 points: spectrum, vectors and size of the weights exchanged one by one",
    ),
    "many_directions": Recipe(
        many_directions,
        {"teacher": list(TEACHERS), "rate": [0.1, 1.0], "seed": SEEDS},
        about="Teachers with several directions: spectra after one and ten steps",
    ),
}
