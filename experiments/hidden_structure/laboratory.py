r"""The laboratory's presets: settings, what the book found there, and the runs with which the page opens.

Two experiments of the chapter at sizes that a page trains in seconds, in float64.  *Empty orthant*: the shells of
:mod:`.shells` in two to seven dimensions and the networks of :mod:`.orthants`, by Adam for a given number of epochs;
the neighbours of the empty orthant can be emptied as well, or as many others.  *Hidden direction*: the polynomials of
:mod:`.polynomials` in up to a hundred inputs, by AdaDelta.  Streams are the book's: with its sizes, and from seed 1 on
for polynomials, data and starts are those of its runs, but its networks are trained in float32 and stop early.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import expit

from experiments.hidden_structure import hidden_direction, hidden_index, polynomial_measures, polynomials, shells
from shallow import checks, mlp
from shallow.mlp import Stack
from shallow.stats import stream
from shallow.train import ensemble

Settings = dict[str, Any]
#: Test points of each class in the empty orthant and in another.
TESTED_EMPTY, TESTED_OTHERS = 100, 25
#: The map of one network: GRID^2 cells over [-SIDE, SIDE]^2; the tile of each of several: TILE^2 cells, in which two
#: absolute values go from 4 - REACH to 4 + REACH.
GRID, SIDE, TILE, REACH = 40, 7.0, 14, 2.5
BATCH = 32
#: What is emptied besides the empty orthant.
REMOVED = ("no other orthant", "its neighbours", "as many others")
#: Degree of the curve that is drawn through the training points along the first layer's main direction.
CURVE = 10
#: Arrays that are colours, of which the page carries whole numbers.
COLOURS = ("map", "tiles")
#: An accuracy from which an empty orthant is learned, and a distance from 1/2 that counts as chance, as on the pages.
LEARNED, CHANCE = 0.75, 0.05
#: For how many epochs the first layer of a polynomial's network is trained; None for all.
FIRST = {"all epochs": None, "no epoch": 0, "1 epoch": 1, "2 epochs": 2, "5 epochs": 5, "10 epochs": 10}
COLUMNS = ("loss", "empty", "near", "others", "aligned", "direction", "fit", "absolute", "square")


def settings(**changes: Any) -> Settings:
    """Settings of the laboratory: what is usual except for `changes`."""
    usual = {
        "experiment": "empty orthant",
        "dimension": 6,
        "removed": "no other orthant",
        "points": 50,
        "depth": 1,
        "rate": 0.003,
        "loss": "probability",
        "networks": 1,
        "degree": 7,
        "inputs": 40,
        "samples": 4000,
        "first": "all epochs",
        "width": 256,
        "epochs": 40,
        "seed": 1,
    }
    return usual | changes


def polynomial(**changes: Any) -> Settings:
    """Settings of the other experiment, likewise."""
    return settings(experiment="hidden direction", width=128, epochs=60) | changes


#: The preset with whose run the page opens: four quadrants that can be seen.
OPENING = "plane"
TEN = {"networks": 10, "seed": 0}
#: key, the button's label, what to guess, what was found, settings.
PRESETS: list[tuple[str, str, str, str, Settings]] = [
    (
        "plane",
        "An empty quadrant",
        "Two shells lie in each quadrant of the plane, but for one. What will a network say there?",
        "Outer class, on both shells: from there, too, the nearest points are those of outer shells. So end 10 of 10 "
        "seeds.",
        settings(dimension=2, points=100, depth=3, width=64, rate=0.001, epochs=100, seed=0),
    ),
    (
        "found",
        "One orthant of 64",
        "Six dimensions have 64 orthants, of which one is empty. Can a network know what lies where no point was?",
        "This one does: it is right on 92 % of the empty orthant, elsewhere on 90 %. Has it found that signs do "
        "not matter?",
        settings(epochs=80, seed=0),
    ),
    (
        "ten",
        "The same, ten networks",
        "Ten seeds, each with its own empty orthant. How many of the networks learn it, are right on 75 % or more?",
        "Six learn it, one does no better than guessing, three know a part; the mean is 77 %.",
        settings(**TEN),
    ),
    (
        "neighbours",
        "Without the neighbours",
        "Now the six neighbours, which differ in one sign, are empty too. How many networks learn the orthant?",
        "None: all ten guess. Had they noticed that signs do not matter, 57 orthants would have been enough.",
        settings(removed="its neighbours", **TEN),
    ),
    (
        "others",
        "Without six others",
        "As many orthants are empty as before, but none of them is a neighbour. How many networks learn it now?",
        "Five, much as with the one alone; two guess. What a network knows there comes from the neighbours.",
        settings(removed="as many others", **TEN),
    ),
    (
        "seven",
        "A hidden direction",
        "A target depends on the sum of 40 inputs alone. What finds that out first: the first layer or the output?",
        "The first layer: at epoch 10 it holds 86 % and the output nothing; half is reached at epochs 5 and 23. "
        "In 10 of 10 seeds it is ahead.",
        polynomial(),
    ),
    (
        "frozen",
        "First layer frozen",
        "After ten epochs the first layer stays as it is. Can the output layer make use of what it holds?",
        "Not in fifty epochs: the network explains 4 %, in none of 10 seeds more than 15 %. Let the first layer go on, "
        "as before, and it explains 99 %.",
        polynomial(first="10 epochs"),
    ),
    (
        "eight",
        "Stopped by a score",
        "Degree 8. At epoch 20 the mean square error is 59 % above that of a constant. Would you stop there?",
        "At epoch 100 it explains 98 % where most points are. At epoch 20 the first layer held 97 % already, and the "
        "absolute error, which is trained, had fallen by 26 %: few points carry the squares.",
        polynomial(degree=8, epochs=100),
    ),
]


class ShellTask(NamedTuple):
    """The empty orthant, all orthants without points, it first, training points (80 percent of all) and test points."""

    empty: int
    without: np.ndarray
    train: shells.Points
    test: shells.Points


def shell_task(seed: int, *, dimension: int, per_class: int, removed: str = REMOVED[0]) -> ShellTask:
    """Shells in all orthants but some; with the book's size its points, and the first of its test points elsewhere.

    `removed` is one of :data:`REMOVED`; the others are no neighbours, and in the plane there is but one.
    """
    checks.one_of(REMOVED, removed=removed)
    empty = int(stream("orthants", seed, "empty").integers(2**dimension))
    near = shells.neighbours(empty, dimension)
    far = np.setdiff1d(np.arange(2**dimension), [empty, *near])
    others = stream("orthants", seed, "removed", "others").permutation(far)[:dimension]
    without = np.array([empty, *dict(zip(REMOVED, ([], near, others), strict=True))[removed]])
    points = shells.sample(
        stream("orthants", seed, "points"), shells.all_but(without, per_class=per_class, dimension=dimension)
    )
    train, _ = shells.split(stream("orthants", seed, "split"), points)
    tested = np.full(2**dimension, TESTED_OTHERS)
    tested[empty] = TESTED_EMPTY
    return ShellTask(empty, without, train, shells.sample(stream("orthants", seed, "test"), tested))


def polynomial_task(seed: int, *, degree: int, inputs: int, samples: int) -> polynomials.Problem:
    """The polynomial of the sum of independent inputs; with the book's size its problem of that run, but for run 0."""
    rng = stream("hidden_index", "independent", seed, "inputs")
    x, v, _ = hidden_index.gaussian(rng, samples, direction=np.full(inputs, inputs**-0.5))
    order = stream("hidden_index", "independent", seed, "split").permutation(samples)
    test, validation, train = np.split(order, [samples // 10, samples // 5])
    rows = {"train": train, "validation": validation, "test": test}
    return polynomials.Problem(x, v, hidden_index.polynomial(degree)(v), rows, np.ones(inputs))


class Trained(NamedTuple):
    """Numbers by name at epochs 0, 1, ...; what is drawn of the end, by name; the networks after every epoch."""

    values: dict[str, list]
    arrays: dict[str, np.ndarray]
    networks: list[list[Stack]]


def train(chosen: Settings) -> Trained:
    """The run of some settings as the laboratory shows it: names are :data:`COLUMNS`, None what an experiment lacks."""
    values, arrays, networks = (_orthants if chosen["experiment"] == "empty orthant" else _polynomial)(chosen)
    missing = [None] * (chosen["epochs"] + 1)
    return Trained({name: values.get(name, missing) for name in COLUMNS}, arrays, networks)


def _orthants(chosen: Settings) -> Trained:
    """loss, and accuracy in the empty orthant, its neighbours and those with points: means over seeds in a row."""
    depth, width, dimension = chosen["depth"], chosen["width"], chosen["dimension"]
    seeds = range(chosen["seed"], chosen["seed"] + chosen["networks"])
    sizes = {"dimension": dimension, "per_class": chosen["points"], "removed": chosen["removed"]}
    tasks = [shell_task(seed, **sizes) for seed in seeds]
    rngs = [stream("orthants", seed, "initialisation", depth, width) for seed in seeds]
    fit = ensemble.train(
        mlp.default(rngs, (dimension, *[width] * depth, 1), dtype=np.float64),
        np.stack([task.train.x for task in tasks]),
        np.stack([task.train.label for task in tasks]),
        rngs=[stream("orthants", seed, "batches") for seed in seeds],
        loss=f"bce-{chosen['loss']}",
        optimiser="adam",
        rate=chosen["rate"],
        epochs=chosen["epochs"],
        batch=BATCH,
        records=range(chosen["epochs"] + 1),
    )
    accuracy = [accuracies(networks, task) for networks, task in zip(fit.values, tasks, strict=True)]
    found = [by_kind(of_one, task) for of_one, task in zip(accuracy, tasks, strict=True)]
    means = {name: np.mean([one[name] for one in found], axis=0).tolist() for name in found[0]}
    arrays = {"each": np.array([one["empty"][-1] for one in found])}
    ends = [(networks[-1], task.empty) for networks, task in zip(fit.values, tasks, strict=True)]
    if len(tasks) == 1:
        arrays |= {"accuracy": accuracy[0][-1], "map": percent_outer(ends, plane)}
    else:
        arrays["tiles"] = percent_outer(ends, tile)
    return Trained({"loss": [None, *fit.training.mean(axis=0).tolist()]} | means, arrays, fit.values)


def accuracies(networks: list[Stack], task: ShellTask) -> np.ndarray:
    """Accuracy on the test points of each orthant; (networks, 2^D)."""
    right = ((now.forward(task.test.x)[0] > 0) == task.test.label for now in networks)
    return np.array([shells.by_orthant(one, task.test) for one in right])


def by_kind(accuracy: np.ndarray, task: ShellTask) -> dict[str, np.ndarray]:
    """Accuracies in the empty orthant, and means over its neighbours and over the orthants with training points."""
    near = shells.neighbours(task.empty, task.train.x.shape[1])
    others = np.delete(accuracy, task.without, axis=-1)
    return {
        "empty": accuracy[..., task.empty],
        "near": accuracy[..., near].mean(axis=-1),
        "others": others.mean(axis=-1),
    }


def percent_outer(ends: Sequence[tuple[Stack, int]], cells: Callable[[int, int], np.ndarray]) -> np.ndarray:
    """Of networks with their empty orthants: probability of the outer shell in the cells of each, in percent."""
    points = [(now, cells(empty, now.weights[0].shape[-1])) for now, empty in ends]
    return 100 * np.concatenate([expit(now.forward(each)[0]) for now, each in points])


def plane(empty: int, dimension: int) -> np.ndarray:
    """The cells of the map: a plane through the centres of the empty orthant and of three that differ in two signs."""
    at = SIDE * (2 * (np.arange(GRID) + 0.5) / GRID - 1)
    return _in_plane(np.meshgrid(at, at), shells.signs(empty, dimension))


def tile(empty: int, dimension: int) -> np.ndarray:
    """The cells of a tile, by |x_1| and |x_2|, in the empty orthant and in that plane."""
    at, signs = REACH * (2 * (np.arange(TILE) + 0.5) / TILE - 1) + shells.CENTRE, shells.signs(empty, dimension)
    across, up = np.meshgrid(at, at)
    return _in_plane([signs[0] * across, signs[1] * up], signs)


def _in_plane(first_two: Sequence[np.ndarray], signs: np.ndarray) -> np.ndarray:
    points = np.tile(shells.CENTRE * signs, (first_two[0].size, 1))
    points[:, :2] = np.stack([each.ravel() for each in first_two], axis=-1)
    return points


def _polynomial(chosen: Settings) -> Trained:
    """loss, share of units with a cosine of 1/2 at least, what the first layer holds, and the network's scores."""
    width, inputs, seed, epochs = chosen["width"], chosen["inputs"], chosen["seed"], chosen["epochs"]
    task = polynomial_task(seed, degree=chosen["degree"], inputs=inputs, samples=chosen["samples"])
    rng = stream("hidden structure", "independent", "initial weights", width, seed)
    warmup = FIRST[chosen["first"]]
    frozen = warmup is not None and warmup < epochs
    fit = polynomials.fitted(
        task,
        polynomials.half_antisymmetric(mlp.default([rng], (inputs, width, 1), dtype=np.float64)),
        polynomials.Setting(width, 1, 0),
        stream("hidden structure", "independent", "batches", seed),
        epochs=epochs - warmup if frozen else epochs,
        mode="stop-first" if frozen else "regular",
        warmup=warmup if frozen else 0,
        records=range(epochs + 1),
    )
    x, v, y = (array[task.rows["test"]] for array in (task.x, task.v, task.y))
    layers = [now.weights[0][0] for now in fit.values[0]]
    said = [explained(now.forward(x)[0], v, y) for now in fit.values[0]]
    values = {
        "loss": [None, *fit.training[0].tolist()],
        "aligned": [float(hidden_direction.aligned(hidden_direction.cosines(W, task.direction))) for W in layers],
        "direction": [explained(best_curve(task, main_direction(W)), v, y)["fit"] for W in layers],
    } | {name: [one[name] for one in said] for name in said[0]}
    u = task.direction / np.linalg.norm(task.direction)
    along = layers[-1] @ u
    across = np.linalg.norm(layers[-1] - np.outer(along, u), axis=1)
    return Trained(values, {"v": v, "f": fit.last.forward(x)[0], "along": along, "across": across}, fit.values)


def main_direction(W: np.ndarray) -> np.ndarray:
    """Of weights (m, D) the direction along which they are largest together: the first right singular vector."""
    return np.linalg.svd(W, full_matrices=False)[2][0]


def best_curve(task: polynomials.Problem, direction: np.ndarray) -> np.ndarray:
    """Predictions on the test points of the polynomial in t = x . direction of least squares on the training points.

    Its degree is :data:`CURVE`; beyond the largest |t| of training it is held.
    """
    t, train = task.x @ direction, task.rows["train"]
    most = np.abs(t[train]).max()
    terms = chebyshev.chebvander(np.clip(t / most, -1, 1), CURVE)
    return terms[task.rows["test"]] @ np.linalg.lstsq(terms[train], task.y[train])[0]


def explained(f: np.ndarray, v: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Shares of a constant's error that predictions f take away.

    fit: of the mean square where |v| <= 1; absolute, square: of the mean absolute error and of the mean square, over
    all points, from the best constant.
    """
    found = polynomial_measures.fits(f, v, y, {"test": np.arange(len(v))}).sel(part="test")
    return {
        "fit": found.r2.sel(range="bulk").item(),
        "absolute": 1 - found.mae.sel(range="all").item() / float(np.abs(y - np.median(y)).mean()),
        "square": found.r2.sel(range="all").item(),
    }


def recorded() -> list[dict]:
    """The presets with their runs, as `laboratories.show` embeds them, to ten digits; arrays are for drawing."""
    presets = []
    for key, label, ask, note, chosen in PRESETS:
        values, arrays, _ = train(chosen)
        drawn = {
            name: np.rint(array).astype(int).tolist() if name in COLOURS else array.round(3).tolist()
            for name, array in arrays.items()
        }
        book = {
            "values": {name: [_rounded(value) for value in curve] for name, curve in values.items()},
            "arrays": drawn,
            "checksum": None,
        }
        said = {"key": key, "label": label, "ask": ask, "note": note, "opens": key == OPENING}
        presets.append(said | {"settings": chosen, "run": book})
    return presets


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.10g}")
