r"""The laboratory's presets: settings, what the book found there, and the runs with which the page opens.

Two experiments of the chapter at sizes that a page trains in seconds, in float64.  *Empty orthant*: the shells of
:mod:`.shells` in two to seven dimensions and the networks of :mod:`.orthants`, by Adam for a given number of epochs.
*Hidden direction*: the polynomials of :mod:`.polynomials` in up to a hundred inputs, by AdaDelta.  Streams are the
book's: with its sizes, and from seed 1 on for polynomials, data and starts are those of its runs, but its networks are
trained in float32 and stop early.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from experiments.hidden_structure import hidden_direction, hidden_index, polynomial_measures, polynomials, shells
from shallow import mlp
from shallow.mlp import Stack
from shallow.stats import stream
from shallow.train import ensemble

Settings = dict[str, Any]
#: Test points of each class in the empty orthant and in another; the grid of the map over [-SIDE, SIDE]^2.
TESTED_EMPTY, TESTED_OTHERS, GRID, SIDE = 100, 25, 56, 7.0
BATCH = 32
#: An accuracy in the empty orthant that counts as found, and the distance from 1/2 that counts as chance.
FOUND, CHANCE = 0.9, 0.05
#: For how many epochs the first layer of a polynomial's network is trained; None for all.
FIRST = {"all epochs": None, "no epoch": 0, "1 epoch": 1, "2 epochs": 2, "5 epochs": 5, "10 epochs": 10}
COLUMNS = ("loss", "empty", "others", "aligned", "largest", "fit")


def settings(**changes: Any) -> Settings:
    """Settings of the laboratory: what is usual except for `changes`."""
    usual = {
        "experiment": "empty orthant",
        "dimension": 5,
        "points": 100,
        "depth": 1,
        "rate": 0.003,
        "loss": "probability",
        "networks": 1,
        "degree": 3,
        "inputs": 40,
        "samples": 4000,
        "first": "all epochs",
        "width": 128,
        "epochs": 80,
        "seed": 4,
    }
    return usual | changes


def polynomial(**changes: Any) -> Settings:
    """Settings of the other experiment, likewise."""
    return settings(experiment="hidden direction", epochs=60, seed=1) | changes


#: key, the button's label, what to guess, what was found, settings.
PRESETS: list[tuple[str, str, str, str, Settings]] = [
    (
        "found",
        "Empty orthant: one network",
        "Points lie in 31 of 32 orthants. Once trained, does the network answer rightly in the one that was empty?",
        "One layer of 128 units ends right on 94 % of the empty orthant, after jumps between chance and above 95 %.",
        settings(),
    ),
    (
        "twenty",
        "Empty orthant: twenty seeds",
        "The same from twenty seeds. How many of the networks are right in their empty orthants?",
        "Of seeds 0 to 19, 14 end at chance and three above 90 %. Means of five in a row range from 0.51 to 0.68.",
        settings(networks=20, seed=0),
    ),
    (
        "plane",
        "Empty orthant: in the plane",
        "In the plane one of four quadrants is empty. What will the network say there?",
        "Three layers learn the three full quadrants and call the whole empty one by one class. So end 20 of 20 seeds.",
        settings(dimension=2, depth=3, width=32, epochs=100, seed=0),
    ),
    (
        "cubic",
        "Hidden direction: degree 3",
        "The target depends on the sum of the inputs alone. How many neurons point that way after one epoch?",
        "At least a third of the neurons point along the hidden direction by then, in 10 of 10 seeds.",
        polynomial(epochs=20),
    ),
    (
        "six",
        "Hidden direction: degree 6",
        "Now a polynomial of degree 6 in that sum. Is its direction found as soon?",
        "No neuron points that way after the first epoch; then a few do, and the network fits. So end 10 of 10 seeds.",
        polynomial(degree=6),
    ),
    (
        "frozen",
        "The same, first layer frozen",
        "The first layer stays as it is after one epoch. Can the second one learn the rest alone?",
        "No: what the first layer is by then explains nothing, in 10 of 10 seeds.",
        polynomial(degree=6, first="1 epoch"),
    ),
]


class ShellTask(NamedTuple):
    """The number of the empty orthant, training points (80 percent of all others') and test points."""

    empty: int
    train: shells.Points
    test: shells.Points


def shell_task(seed: int, *, dimension: int, per_class: int) -> ShellTask:
    """Shells in all orthants but one; with the book's size its points, and the first of its test points elsewhere."""
    empty = int(stream("orthants", seed, "empty").integers(2**dimension))
    counts = shells.all_but(empty, per_class=per_class, dimension=dimension)
    points = shells.sample(stream("orthants", seed, "points"), counts)
    train, _ = shells.split(stream("orthants", seed, "split"), points)
    tested = np.full(len(counts), TESTED_OTHERS)
    tested[empty] = TESTED_EMPTY
    return ShellTask(empty, train, shells.sample(stream("orthants", seed, "test"), tested))


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
    """loss, accuracy in the empty orthant, mean accuracy in the others: means over the networks of seeds in a row."""
    depth, width, dimension = chosen["depth"], chosen["width"], chosen["dimension"]
    seeds = range(chosen["seed"], chosen["seed"] + chosen["networks"])
    tasks = [shell_task(seed, dimension=dimension, per_class=chosen["points"]) for seed in seeds]
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
    accuracy = [
        np.array([shells.by_orthant((now.forward(test.x)[0] > 0) == test.label, test) for now in networks])
        for (*_, test), networks in zip(tasks, fit.values, strict=True)
    ]
    empty = np.array([of_one[:, task.empty] for task, of_one in zip(tasks, accuracy, strict=True)])
    others = [np.delete(of_one, task.empty, axis=1).mean(axis=1) for task, of_one in zip(tasks, accuracy, strict=True)]
    values = {"loss": [None, *fit.training.mean(axis=0).tolist()], "empty": empty.mean(axis=0).tolist()}
    arrays = {"each": empty[:, -1], "accuracy": accuracy[0][-1]}
    if dimension == 2 and len(seeds) == 1:
        arrays["map"] = expit(fit.last.forward(grid())[0])
    return Trained(values | {"others": np.mean(others, axis=0).tolist()}, arrays, fit.values)


def grid() -> np.ndarray:
    """The midpoints of the map, row by row from below."""
    at = SIDE * (2 * (np.arange(GRID) + 0.5) / GRID - 1)
    return np.stack(np.meshgrid(at, at), axis=-1).reshape(-1, 2)


def _polynomial(chosen: Settings) -> Trained:
    """loss, share of units with a cosine of 1/2 at least, the largest cosine, R2 on test points with |v| <= 1."""
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
    cosines = [hidden_direction.cosines(now.weights[0][0], task.direction) for now in fit.values[0]]
    x, v, y = (array[task.rows["test"]] for array in (task.x, task.v, task.y))
    tested = {"test": np.arange(len(v))}
    fits = [polynomial_measures.fits(now.forward(x)[0], v, y, tested) for now in fit.values[0]]
    values = {
        "loss": [None, *fit.training[0].tolist()],
        "aligned": [float(hidden_direction.aligned(cosine)) for cosine in cosines],
        "largest": [float(cosine.max()) for cosine in cosines],
        "fit": [now.r2.sel(part="test", range="bulk").item() for now in fits],
    }
    arrays = {"v": v, "f": fit.last.forward(x)[0], "cosine": cosines[-1]}
    return Trained(values, arrays, fit.values)


def recorded() -> list[dict]:
    """The presets with their runs, as `laboratories.show` embeds them, to twelve digits; arrays are for drawing."""
    presets = []
    for key, label, ask, note, chosen in PRESETS:
        values, arrays, _ = train(chosen)
        book = {
            "values": {name: [_rounded(value) for value in curve] for name, curve in values.items()},
            "arrays": {name: [float(f"{value:.3f}") for value in array] for name, array in arrays.items()},
            "checksum": None,
        }
        presets.append({"key": key, "label": label, "ask": ask, "note": note, "settings": chosen, "run": book})
    return presets


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.12g}")
