r"""The algorithm of Damian, Lee and Soltanolkotabi (2022), and its ingredients one by one.

Inputs are N(0, I), labels of unit variance with noise of random sign, the loss is the mean square.

1. Output weights $\pm 1$ and first weights from $N(0, I/D)$ come in pairs that cancel, without biases: f = 0.
2. The mean and the linear part of the labels are subtracted.
3. One step on the first layer with decay $1/\eta$: the new weights are $-\eta\,\nabla_W L$, the old ones are gone.
4. Biases are drawn anew from N(0, 1); with the first layer fixed, the output layer is fitted by ridge regression.

Step 3 leaves $w_j \propto \pm\,\mathbb E[\mathbf 1\{w_j \cdot x > 0\}\,y\,x]$, and after step 2 its signal is that of
the second Hermite coefficient, which an odd target does not have.  Kernel machines are ridge regressions with the
penalty that is best on the validation points.  Mean squares are in units of the variance of y.
Source: their "Neural networks can learn representations with gradient descent", Algorithm 1; Section 5.2.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from experiments.hidden_structure import hidden_index, polynomials
from experiments.hidden_structure.hidden_direction import aligned, cosines, push
from experiments.hidden_structure.polynomial_measures import directions
from experiments.hidden_structure.polynomials import BATCH, COMMON, EPOCHS, PATIENCE, Problem, problem
from shallow import checks, mlp
from shallow.book.recipes import Recipe, releases_gil
from shallow.kernels import layered
from shallow.kernels.ridge import solve
from shallow.mlp import Network
from shallow.stats import stream
from shallow.train import ensemble

DEGREES = (3, 4, 5, 6, 7, 8)
WIDTH, POINTS = 512, 2500
#: Median norms of the first weights that are tried: sizes of the one step.
SIZES = (0.25, 0.5, 1.0, 2.0, 4.0)
#: Ridge penalties over the number of points, for features and kernels of mean squared norm 1.
PENALTIES = tuple(10.0**k for k in range(-6, 1))
STARTS = ("half-antisymmetric", "paired", "default")


def noisy(task: Problem, run: int, noise: float) -> np.ndarray:
    r"""Labels plus $\pm$ `noise` times their standard deviation on the training points, of random sign; (n,)."""
    checks.not_negative(noise=noise)
    signs = stream("hidden structure", "label noise", run).choice([-1.0, 1.0], len(task.y))
    return task.y + noise * task.y[task.rows["train"]].std() * signs


@releases_gil
def two_stage(
    run: int,
    *,
    degrees: Sequence[int] = DEGREES,
    noise: float = 0.1,
    width: int = WIDTH,
    points: int = POINTS,
    machines: bool = True,
    size: int = hidden_index.SIZE,
) -> xr.Dataset:
    r"""The algorithm on polynomials of several degrees, from one initialisation, against its tangent kernels.

    Args:
        noise: of the labels in training and in validation, in units of their deviation; tests have clean labels.
        points: number of training points for the kernel of the final network; that of the initial one has them all.

    Returns:
        With dimension degree: `mse` (learner: network, final, initial) on the test points, over the variance of y, and
        `r2`, of their bulk $|v| \le 1$; the network alone without machines.  `aligned`, `mean_cosine` of the units
        after the one step; `signal`, norm of the step with infinitely many points over that of the step, the rest of
        which is noise of the sample; `size`, the chosen size of the step; `penalty`, of the ridge.

    Cost: with 512 units some seconds for a degree, and 30 s for the initial kernel on 8,000 points.
    """
    if not len(degrees) or len(set(degrees)) < len(degrees):
        raise ValueError(f"degrees must be different and not empty, got {degrees}")
    if not isinstance(width, int | np.integer) or width < 2 or width % 2:
        raise ValueError(f"width must be even and positive, got {width!r}")
    tasks = [problem("independent", degree, run, size=size) for degree in degrees]
    first = tasks[0]
    checks.integers(2, len(first.rows["train"]), points=points)
    x = first.x / hidden_index.draw("independent", run, size=size).scale
    rows = first.rows
    rng = stream("hidden structure", "two stages", width, run)
    W, a = pairs(rng, width, x.shape[1])
    b = rng.standard_normal(width)
    targets, offsets = zip(*(without_linear(noisy(task, run, noise), x, rows) for task in tasks), strict=True)
    found, networks = [], []
    for task, target in zip(tasks, targets, strict=True):
        step = one_step(W, a, x[rows["train"]], target[rows["train"]])
        network, chosen = read_out(step, b, x, target, rows)
        networks.append(network)
        cosine = cosines(step, task.direction)
        signal = np.linalg.norm(expected_step(W, a, task)) / np.linalg.norm(step)
        found.append({"aligned": aligned(cosine), "mean_cosine": cosine.mean(), "signal": signal, **chosen})
    test, fitted = rows["test"], rows["train"][:points]
    predictions = {"network": [value(network, x[test]) for network in networks]}
    if machines:
        predictions["final"] = [
            ridge(network, x, target[:, None], fitted, rows)[:, 0] for network, target in zip(networks, targets)
        ]
        initial = ([W, a[None]], [np.zeros(width), np.zeros(1)])
        predictions["initial"] = list(ridge(initial, x, np.transpose(targets), rows["train"], rows).T)
    scores = [
        [_scores(f + offset[test], task) for task, f, offset in zip(tasks, of_learner, offsets)]
        for of_learner in predictions.values()
    ]
    measured = {name: ("degree", [float(one[name]) for one in found]) for name in found[0]}
    mse, r2 = np.moveaxis(np.array(scores), -1, 0)
    return xr.Dataset(
        measured | {"mse": (("learner", "degree"), mse), "r2": (("learner", "degree"), r2)},
        {"degree": list(degrees), "learner": list(predictions)},
    )


def pairs(rng: np.random.Generator, width: int, inputs: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Step 1: $w_j = w_{m/2 + j} \sim N(0, I/D)$, (m, D), and $a_j = -a_{m/2 + j} = \pm 1$, (m,)."""
    W, a = rng.standard_normal((width // 2, inputs)) / inputs**0.5, rng.choice([-1.0, 1.0], width // 2)
    return np.tile(W, (2, 1)), np.concatenate([a, -a])


def without_linear(y: np.ndarray, x: np.ndarray, rows: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    r"""Step 2: labels (n,) less $\bar y + x \cdot \overline{y x}$, means over the training points, and this part."""
    train = rows["train"]
    mean = y[train].mean()
    part = mean + x @ (x[train].T @ y[train] / len(train))
    return y - part, part


def one_step(W: np.ndarray, a: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    r"""Step 3 for f = 0 and b = 0 up to its size, $-\nabla_{w_j} \frac1{2n} \sum_i (f(x_i) - y_i)^2$, (m, D)."""
    return a[:, None] * ((x @ W.T > 0).T.astype(float) @ (y[:, None] * x)) / len(y)


def expected_step(W: np.ndarray, a: np.ndarray, task: Problem) -> np.ndarray:
    """The step with infinitely many points, of the polynomial without its mean and its linear part; (m, D)."""
    train = task.rows["train"]
    coefficients = hidden_index.hermite(task.v / task.v.std(), 9)[:, train] @ task.y[train] / len(train)
    coefficients[:2] = 0
    return a[:, None] * push(W, np.zeros(len(a)), coefficients, task.direction, np.ones(W.shape[1])).weights


def read_out(
    step: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray, rows: dict[str, np.ndarray]
) -> tuple[Network, dict[str, float]]:
    """Step 4: ridge regression on the features, with the size of the step and the penalty best on validation."""
    train, validation, best = rows["train"], rows["validation"], (np.inf,)
    unit = step / np.median(np.linalg.norm(step, axis=1))
    for size in SIZES:
        features = np.maximum(x[train] @ (size * unit).T + b, 0)
        checked = np.maximum(x[validation] @ (size * unit).T + b, 0)
        gram, pull = features.T @ features, features.T @ y[train]
        scale = np.trace(gram)
        for penalty in PENALTIES:
            a = solve(gram, pull, penalty * scale)
            error = np.mean((checked @ a - y[validation]) ** 2)
            if error < best[0]:
                best = (error, size, penalty, a)
    _, size, penalty, a = best
    return ([size * unit, a[None]], [b, np.zeros(1)]), {"size": size, "penalty": penalty}


def value(network: Network, x: np.ndarray) -> np.ndarray:
    """f of a network with one hidden layer at x (n, D), in double precision; (n,)."""
    (W, a), (b, c) = network
    return np.maximum(x @ np.asarray(W, np.float64).T + b, 0) @ a[0] + c


def ridge(
    network: Network, x: np.ndarray, targets: np.ndarray, fitted: np.ndarray, rows: dict[str, np.ndarray]
) -> np.ndarray:
    """Kernel ridge regression with a network's tangent kernel: test predictions (n_test, T) of targets (n, T).

    For every target the penalty of the smallest mean square on the validation points.  Cost: n^3/3 for each penalty.
    """
    kernel = layered.ntk(*network, x[fitted])
    unit = np.trace(kernel) / len(fitted)
    kernel /= unit
    validation, test = rows["validation"], rows["test"]
    across = layered.ntk(*network, x[np.concatenate([validation, test])], x[fitted]) / unit
    best, errors = np.empty((len(test), targets.shape[1])), np.full(targets.shape[1], np.inf)
    for penalty in PENALTIES:
        solved = across @ solve(kernel, targets[fitted], penalty * len(fitted))
        error = np.mean((solved[: len(validation)] - targets[validation]) ** 2, axis=0)
        better = error < errors
        best[:, better], errors[better] = solved[len(validation) :, better], error[better]
    return best


@releases_gil
def regular(
    run: int,
    degree: int,
    *,
    start: str = STARTS[0],
    noise: float = 0.0,
    train: int | None = None,
    points: int = POINTS,
    epochs: int = EPOCHS,
    patience: int | None = PATIENCE,
    machines: bool = True,
    early: int = 20,
    whole: bool = True,
    size: int = hidden_index.SIZE,
) -> xr.Dataset:
    """The document's own training, 512 units with rate 1 and no decay, with one ingredient of the algorithm changed.

    Args:
        start: one of :data:`STARTS`: the document's first layer, f = 0, or PyTorch's.
        noise: of the labels in training and validation, in units of their deviation; tests have clean labels.
        train, points: number of training points, all by default, and how many of them the kernel machines get.
        whole: if not, training ends with the path, and nothing else is returned.

    Returns:
        With dimension epoch = 0, ..., `early` `path_aligned` and `path_mean_cosine`; `alignment_epoch`, the first with
        a share of at least 0.02, NaN without; `mse` and `r2` as of :func:`two_stage`; `epochs`.
    """
    checks.one_of(STARTS, start=start)
    task = problem("independent", degree, run, size=size)
    count = len(task.rows["train"]) if train is None else train
    rows = task.rows | {"train": task.rows["train"][:count]}
    task = task._replace(rows=rows)
    checks.integers(2, count, points=points)
    y = noisy(task, run, noise)
    rng = stream("hidden structure", "ingredients", "initial weights", run)
    drawn = mlp.default([rng], (task.x.shape[1], COMMON.width, 1))
    network = {
        "half-antisymmetric": polynomials.half_antisymmetric,
        "paired": polynomials.paired,
        "default": lambda n: n,
    }[start](drawn)
    norm = np.median(np.linalg.norm(network.weights[0][0], axis=1))
    fit = ensemble.train(
        network,
        task.x[rows["train"]],
        y[rows["train"]],
        loss="absolute",
        optimiser="adadelta",
        rngs=[stream("hidden structure", "ingredients", "batches", run)],
        rate=COMMON.rate,
        decay=COMMON.decay,
        epochs=epochs if whole else early,
        batch=BATCH,
        patience=patience,
        validation=(task.x[rows["validation"]], y[rows["validation"]]),
        records=range(early + 1),
        measure=lambda now: directions(now, task.direction, norm),
    )
    path = xr.Dataset(
        {f"path_{name}": ("epoch", [seen[name] for seen in fit.values[0]]) for name in ("aligned", "mean_cosine")},
        {"epoch": range(early + 1)},
    )
    if not whole:
        return path
    test, fitted = rows["test"], rows["train"][:points]
    predictions = {"network": fit.last.forward(task.x[test])[0]}
    if machines:
        for name, stack in (("final", fit.last), ("initial", network)):
            predictions[name] = ridge(stack.network(0), task.x, y[:, None], fitted, rows)[:, 0]
    mse, r2 = zip(*(_scores(f, task) for f in predictions.values()), strict=True)
    crossed = np.flatnonzero(path.path_aligned >= 0.02)
    return path.assign(
        mse=("learner", list(mse)),
        r2=("learner", list(r2)),
        alignment_epoch=float(crossed[0]) if len(crossed) else np.nan,
        epochs=fit.epochs[0],
    ).assign_coords(learner=list(predictions))


def _scores(prediction: np.ndarray, task: Problem) -> tuple[float, float]:
    """Of test predictions (n_test,): mean square over the variance of the training labels, and r2 of the bulk."""
    v, y = (values[task.rows["test"]] for values in (task.v, task.y))
    squares, bulk = (prediction - y) ** 2, np.abs(v) <= 1
    return float(squares.mean() / task.y[task.rows["train"]].var()), float(1 - squares[bulk].mean() / y[bulk].var())


def _regular(axes: Mapping[str, Sequence[object]], about: str, **fixed: object) -> Recipe:
    """A recipe of :func:`regular` over five runs."""
    return Recipe(
        regular, {**axes, "run": list(range(5))}, fixed, about, replicates="run", shortened={"early": 1, "whole": False}
    )


RECORDS: dict[str, Recipe] = {
    "two_stage": Recipe(
        two_stage,
        {"run": list(range(5))},
        about="The algorithm of Damian, Lee and Soltanolkotabi against its tangent kernels",
        replicates="run",
        shortened={"degrees": (4,), "machines": False},
    ),
    "two_stage_regular": _regular(
        {"degree": list(DEGREES)}, "The document's training against its tangent kernels", epochs=120
    ),
    "two_stage_noise": _regular(
        {"noise": [0.0, 0.1, 0.5, 1.0], "degree": [3, 4, 5, 6, 7]},
        "Label noise of random sign: network and tangent kernels on the same 2,500 points",
        train=2500,
    ),
}
