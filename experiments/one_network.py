r"""The network of the closing paper, "What five documents share": its data, its training, and the instruments on it.

.. math:: f(x) = \sum_{j=1}^m v_j\,\sigma(w_j \cdot x + b_j), \qquad L = \frac{1}{2n} \sum_{k=1}^n (f(x_k) - y_k)^2

with $\sigma$ the ReLU or the GeLU $z\,\Phi(z)$, whose mean slopes are one half.  All parameters move, by full-batch
steps of one size, in double precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.optimize import brentq

from experiments.hidden_structure import hidden_direction
from shallow import alignment, checks, stats
from shallow.book.recipes import releases_gil
from shallow.kernels import empirical
from shallow.kernels.ridge import RidgePath
from shallow.nets import TwoLayer
from shallow.train import plain

INPUTS, WIDTH, POINTS, STEP, TIME = 40, 100, 400, 0.1, 40.0
#: Steps after which :func:`path` looks: the start, and others with equal ratios up to the time.
STEPS = np.unique(np.round(np.r_[0, np.geomspace(1, TIME / STEP, 33)]).astype(int))
#: Standard deviation of the label noise; the labels without it have 1.
NOISE = 0.35
#: Mean slope of both activations.
SLOPE = 0.5
#: What the labels depend on: x of shape (n, d) and the direction beta to labels without noise.
TARGETS = {
    "ReLU": lambda x, beta: np.maximum(x @ beta, 0),
    "even": lambda x, beta: np.abs(x @ beta),
}
PENALTIES = 10.0 ** np.arange(-7, 2)
#: Points of the kernel whose movement is measured.
SEEN = 200


class Sample(NamedTuple):
    """Training points (n, d) with labels, test points with labels, and the unit vector beta."""

    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    beta: np.ndarray


def direction() -> np.ndarray:
    """The hidden direction: a bump on a ring of the inputs, of length 1; its participation ratio is 0.27."""
    away = np.abs(np.arange(INPUTS) - INPUTS // 2)
    bump = np.exp(-(away**2) / (2 * 1.5**2))
    return bump / np.linalg.norm(bump)


def draw(seed: int, target: str = "ReLU") -> Sample:
    """A draw of points and labels; targets share points and noise.  Labels are centred and of mean square 1."""
    checks.one_of(TARGETS, target=target)
    rng, beta = stats.stream("one network", "data", seed), direction()
    x = rng.standard_normal((2 * POINTS, INPUTS))
    clean = TARGETS[target](x, beta)
    y = (clean - clean[:POINTS].mean()) / clean[:POINTS].std() + NOISE * rng.standard_normal(len(x))
    y = (y - y[:POINTS].mean()) / y[:POINTS].std()
    return Sample(x[:POINTS], y[:POINTS], x[POINTS:], y[POINTS:], beta)


def labelled(seed: int, labels: str = "true", target: str = "ReLU") -> Sample:
    """A draw with its "true" training labels, or with the same labels "shuffled" over the points."""
    checks.one_of(("true", "shuffled"), labels=labels)
    sample = draw(seed, target)
    if labels == "true":
        return sample
    return sample._replace(y=stats.stream("one network", "shuffle", seed).permutation(sample.y))


def initial(rng: np.random.Generator, width: int, inputs: int, scale: float) -> TwoLayer:
    r"""$W_{ij} \sim N(0, \alpha^2/d)$, $v_j \sim N(0, \alpha^2/m)$, no biases at first; W is drawn first.

    For the ReLU the output is that of scale 1 times $\alpha^2$.
    """
    checks.positive(scale=scale)
    W, v = rng.standard_normal((width, inputs)), rng.standard_normal(width)
    return TwoLayer(scale / inputs**0.5 * W, np.zeros(width), scale / width**0.5 * v)


def start(seed: int, scale: float) -> TwoLayer:
    """Initial weights of a scale."""
    return initial(stats.stream("one network", "start", seed), WIDTH, INPUTS, scale)


def forward(x: np.ndarray, network: TwoLayer, activation: str = "relu") -> np.ndarray:
    """f at x of shape (n, d); shape (n,)."""
    return plain.hidden(x, network, activation)[0] @ network.v


def train(
    x: np.ndarray, y: np.ndarray, network: TwoLayer, steps: Sequence[int], activation: str = "relu"
) -> tuple[np.ndarray, list[TwoLayer]]:
    """Mean squares (R,) and networks after ascending numbers of steps."""
    run = plain.train(x, y, network, step=STEP, steps=steps[-1], records=steps, activation=activation)
    return 2 * run.loss, run.values


def ntk(network: TwoLayer, x: np.ndarray, z: np.ndarray | None = None, activation: str = "relu") -> np.ndarray:
    r"""Tangent kernel $\sum_j \sigma(h_j) \sigma(h'_j) + v_j^2 \sigma'(h_j) \sigma'(h'_j) (x \cdot z + 1)$, (n, n')."""
    z = x if z is None else z
    (value, slope), (other, other_slope) = (plain.hidden(points, network, activation) for points in (x, z))
    return value @ other.T + ((slope * network.v**2) @ other_slope.T) * (x @ z.T + 1)


def machine(network: TwoLayer, sample: Sample, activation: str = "relu") -> float:
    """Test mean square of kernel ridge regression with the tangent kernel; the penalty leaves one point out."""
    kernel = ntk(network, sample.x, activation=activation)
    unit = np.trace(kernel) / len(kernel)
    fit, penalties = RidgePath(kernel / unit + 1, sample.y), len(kernel) * PENALTIES
    best = penalties[[(fit.leave_one_out(penalties) ** 2).mean(axis=0).argmin()]]
    values = fit.values(ntk(network, sample.x_test, sample.x, activation) / unit + 1, best)[:, 0]
    return float(np.mean((values - sample.y_test) ** 2))


def mean_pull(sample: Sample) -> np.ndarray:
    r"""$\bar D = \kappa X^\top y / n$, the pull on a neuron that is active on half of the points, whichever half."""
    return SLOPE * sample.x.T @ sample.y / len(sample.x)


def readings(network: TwoLayer, pull: np.ndarray) -> dict[str, float]:
    """Overlaps with the pull, of the first right singular vector of W and of single neurons, |cosines| in the mean."""
    right = np.linalg.svd(network.W, full_matrices=False)[2]
    matrix = abs(right[0] @ pull) / np.linalg.norm(pull)
    return {"matrix": matrix, "neurons": hidden_direction.cosines(network.W, pull).mean()}


@releases_gil
def path(
    seed: int,
    scale: float,
    labels: str = "true",
    target: str = "ReLU",
    activation: str = "relu",
    machines: Sequence[int] = (),
) -> xr.Dataset:
    """One run, and all instruments along it.

    Returns:
        By time: loss and test (mean squares), moved (one minus the alignment of the tangent kernel with that at the
        start), remaining (the same with that at the end), and :func:`readings`.  By `at`, the records of `machines`:
        machine, the test mean square of ridge regression with the kernel of that moment and the true labels.
    """
    true, sample = draw(seed, target), labelled(seed, labels, target)
    losses, networks = train(sample.x, sample.y, start(seed, scale), STEPS, activation)
    kernels = [ntk(network, sample.x[:SEEN], activation=activation) for network in networks]
    found = [readings(network, mean_pull(sample)) for network in networks]
    along = {name: [one[name] for one in found] for name in found[0]}
    along["loss"] = losses
    along["test"] = [np.mean((forward(true.x_test, one, activation) - true.y_test) ** 2) for one in networks]
    along["moved"] = [1 - empirical.alignment(kernels[0], one) for one in kernels]
    along["remaining"] = [1 - empirical.alignment(kernels[-1], one) for one in kernels]
    scores = [machine(networks[k], true, activation) for k in machines]
    variables = {name: ("time", np.asarray(values, dtype=float)) for name, values in along.items()}
    variables["machine"] = ("at", np.array(scores, dtype=float))
    return xr.Dataset(variables, {"time": STEPS * STEP, "at": (STEPS * STEP)[list(machines)]})


def passing(times: np.ndarray, values: np.ndarray, mark: float) -> float:
    """The first time at which values reach the mark, interpolated between records; infinite if they never do."""
    reached = np.flatnonzero(np.asarray(values) >= mark)
    if not len(reached):
        return float("inf")
    k = int(reached[0])
    if k == 0:
        return float(times[0])
    share = (mark - values[k - 1]) / (values[k] - values[k - 1])
    return float(times[k - 1] + share * (times[k] - times[k - 1]))


def marks(runs: xr.Dataset) -> dict[str, np.ndarray]:
    """When each seed's run passes the marks, by name.

    One half for the overlaps of matrix and neurons with the pull, half of the way from the first to the
    last kernel (none where these are aligned by more than 0.95), a fall by a tenth for the loss.
    """
    return {
        "matrix": all_passing(runs, runs.matrix, 0.5),
        "kernel": kernel_passing(runs, 0.5),
        "neurons": all_passing(runs, runs.neurons, 0.5),
        "loss": all_passing(runs, 1 - runs.loss / runs.loss.isel(time=0), 0.1),
    }


def kernel_passing(runs: xr.Dataset, share: float) -> np.ndarray:
    """When each seed's kernel has made a share of its way from the first to the last, see :func:`marks`."""
    way = runs.remaining.isel(time=0)
    return np.where(way >= 0.05, all_passing(runs, 1 - runs.remaining / way, share), np.inf)


def all_passing(runs: xr.Dataset, values: xr.DataArray, mark: float) -> np.ndarray:
    """:func:`passing` of each seed."""
    return np.array([passing(runs.time.values, one.values, mark) for one in values.transpose("seed", "time")])


def shown(times: np.ndarray) -> str:
    """Geometric mean with its interval, or in how many seeds the mark is passed."""
    passed = np.isfinite(times).sum()
    if passed < len(times):
        return f"{passed} of {len(times)}" if passed else "never"
    log = stats.student(np.log(np.maximum(times, 1e-3)))
    return f"{stats.Interval(*np.exp([log.estimate, log.low, log.high])):.1f}"


def mean_cosine(deviation: float) -> float:
    """E |z| / sqrt(1 + z^2) for a normal z of the given deviation."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    z = deviation * nodes
    return float(weights @ (np.abs(z) / np.hypot(1, z)) / weights.sum())


#: Growth that a mark of one half asks for: of the matrix, in q / d of :func:`clock`; of the neurons, as a deviation s.
STRENGTH = (1 / 4 + np.sqrt(1 / 16 + 3 * WIDTH / INPUTS)) / 1.5
DEVIATION = brentq(lambda deviation: mean_cosine(deviation) - 0.5, 1e-6, 1e3)


def clock(seed: int, scale: float, labels: str = "true", target: str = "ReLU") -> dict[str, float]:
    r"""Times of the marks if the one vector $\bar D$ of :func:`mean_pull` drives all neurons until the loss falls.

    The weights along it grow like hyperbolic functions of $\omega = |\bar D|\,t$.  With $q = (m + d) \sinh^2 \omega$
    the first singular vector has the overlap $\sqrt{(q^2 - md) / q(q + d)}$, and neurons the deviation s with
    $s^2 = \cosh^2 \omega / d + \sinh^2 \omega / m$.
    """
    length = np.linalg.norm(mean_pull(labelled(seed, labels, target)))
    ratio, whole = WIDTH / INPUTS, length / SLOPE

    def along(w):
        return np.hypot(np.cosh(w) / INPUTS**0.5, np.sinh(w) / WIDTH**0.5) - DEVIATION

    def output(w):
        return 0.5 * SLOPE * scale**2 * (1 + ratio) * np.sinh(2 * w) - (whole - np.sqrt(whole**2 - 0.1))

    growth = {
        "matrix": np.arcsinh(np.sqrt(STRENGTH / (1 + ratio))),
        "neurons": brentq(along, 0, 30),
        "loss": brentq(output, 0, 30) if whole**2 > 0.1 else np.inf,  # a linear fit may not lower it by a tenth
    }
    return {name: float(w / length) for name, w in growth.items()}


def longer(seed: int) -> float:
    """By what factor |D_n(w)| exceeds |D| where a neuron with v > 0 comes to rest, w parallel to D_n(w)."""
    sample = draw(seed)
    w = pull = mean_pull(sample)
    for _ in range(50):
        (w,) = alignment.vector(sample.x, sample.y, w[None])
    return float(np.linalg.norm(w) / np.linalg.norm(pull))


def one_step(seed: int, sizes: Sequence[float], scale: float = 1e-3) -> np.ndarray:
    """Overlaps of matrix and neurons with the pull after a single step of each size; shape (sizes, 2)."""
    sample, network = draw(seed), start(seed, scale)
    push, pull = first_push(network, sample.x, sample.y), mean_pull(sample)
    found = [readings(TwoLayer(network.W + size * push, network.b, network.v), pull) for size in sizes]
    return np.array([[one["matrix"], one["neurons"]] for one in found])


def thresholds(seed: int) -> tuple[float, float]:
    """Step sizes beyond which the first step alone passes the marks of matrix and neurons, by the clock's argument."""
    length = np.linalg.norm(mean_pull(draw(seed)))
    return float(STRENGTH**0.5 / length), float(np.sqrt((DEVIATION**2 - 1 / INPUTS) * WIDTH) / length)


def first_push(network: TwoLayer, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Minus the gradient of L in W: rows v_j D_n(w_j), with the residuals in place of the labels."""
    return network.v[:, None] * alignment.vector(x, y - network.forward(x), network.W)


def shared(seed: int, labels: str = "true", target: str = "ReLU") -> float:
    r"""Share of the squared first push that is $v \bar D^\top$, as if all neurons had the same pull."""
    network, sample = start(seed, 1e-3), labelled(seed, labels, target)
    push = first_push(network, sample.x, sample.y)
    rest = sample._replace(y=sample.y - network.forward(sample.x))
    return float(1 - ((push - np.outer(network.v, mean_pull(rest))) ** 2).sum() / (push**2).sum())
