"""The classifier of the orthant program, its losses, accuracies and last hidden layer, against the library."""

from collections.abc import Iterator
from functools import cache

import numpy as np
from scipy.special import expit

from experiments.authors_programs.files import Recording, difference
from experiments.authors_programs.streams import Recorded
from experiments.hidden_structure import shells
from experiments.hidden_structure.folding import cells as folding
from shallow.mlp import Stack
from shallow.train import ensemble

INPUTS = {f"{part}_{sample}" for part in "xy" for sample in ("train", "validation", "test", "match")}
INPUTS |= {"theta_0", "order", "validation_order", "decayed_order"}
PROGRAM = Recording("hidden_structure_orthants", INPUTS)
SETTINGS = PROGRAM.settings
BATCH, EPOCHS, DECAY = SETTINGS["batch"], SETTINGS["epochs"], SETTINGS["decayed"]["weight_decay"]


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    return PROGRAM[f"x_{name}"], PROGRAM[f"y_{name}"]


def in_batches(order: np.ndarray) -> Iterator[np.ndarray]:
    """The batches of an epoch; the last one is smaller."""
    return (order[first : first + BATCH] for first in range(0, len(order), BATCH))


def trained(orders: list[np.ndarray], **options) -> ensemble.Fit:
    """One network, its epochs in the given orders."""
    start = Stack(PROGRAM["theta_0"][None], tuple(SETTINGS["widths"]))
    options = {"loss": "bce-probability", "records": range(len(orders) + 1)} | options
    schedule = {"epochs": len(orders), "batch": BATCH, "rate": SETTINGS["rate"], "optimiser": "adam"}
    return ensemble.train(start, *data("train"), rngs=[Recorded(orders)], **schedule, **options)


@cache
def run() -> ensemble.Fit:
    return trained(PROGRAM["order"], validation=data("validation"))


def batch_losses(orders: np.ndarray, **options) -> np.ndarray:
    """Loss of every batch before its step, by epoch; each batch is an epoch of the library's trainer."""
    batches = [batch for order in orders for batch in in_batches(order)]
    return trained(batches, records=(), **options).training.reshape(len(orders), -1)


def validation(epoch: int) -> tuple[np.ndarray, np.ndarray]:
    """Losses and hits of the validation points after an epoch; the mean over points is the library's own."""
    x, y = data("validation")
    f = run().snapshot(epoch).forward(x)[0]
    losses = np.logaddexp(0.0, (1 - 2 * y) * f)
    assert difference(losses.mean(), run().validation[0, epoch - 1]) < 1e-12
    return losses, (f > 0) == y


def by_batch(part: int, orders: np.ndarray = PROGRAM["validation_order"]) -> np.ndarray:
    """Means over the batches of the validation points, in the order of each epoch; 0 the losses, 1 the accuracies."""
    values = [validation(epoch)[part] for epoch in range(1, EPOCHS + 1)]
    return np.array([[rows[batch].mean() for batch in in_batches(order)] for rows, order in zip(values, orders)])


def accuracies(epoch: int) -> np.ndarray:
    x, y = data("test")
    points = shells.Points(x, y, shells.index(x))
    return shells.by_orthant((run().snapshot(epoch).forward(x)[0] > 0) == y, points)


def match_fractions(epoch: int) -> np.ndarray:
    (x, y), (x_train, y_train) = data("match"), data("train")
    queries, points = (run().snapshot(epoch).features(part)[0] for part in (x, x_train))
    found = folding.match_fractions(queries, y, points, y_train)
    return np.array([found[0], found[1]])


def stopped(losses: np.ndarray, patience: float, min_delta: float) -> tuple[int, int]:
    """Last and best epoch of early stopping on given losses: the library's rule, which sees means over points only."""
    best = 0
    for epoch in range(1, len(losses) + 1):
        if best == 0 or losses[best - 1] - losses[epoch - 1] >= min_delta:
            best = epoch
        elif epoch - best >= patience:
            return epoch, best
    return len(losses), best


@cache
def computed() -> dict[str, np.ndarray]:
    """The library's value of every output."""
    found = {f"theta_{epoch}": run().snapshot(epoch).parameters[0] for epoch in SETTINGS["theta_epochs"]}
    for epoch in (0, EPOCHS):
        found[f"features_match_{epoch}"] = run().snapshot(epoch).features(PROGRAM["x_match"][:6])[0]
        found[f"accuracy_by_orthant_{epoch}"] = accuracies(epoch)
        found[f"match_fractions_{epoch}"] = match_fractions(epoch)
    training, validation_losses = batch_losses(PROGRAM["order"]), by_batch(0)
    decayed_training = batch_losses(PROGRAM["decayed_order"], decay=DECAY)
    stops = [stopped(validation_losses.mean(axis=1), *rule) for rule in PROGRAM["stopping"][:, :2]]
    return found | {
        "decayed_theta_4": trained(PROGRAM["decayed_order"], decay=DECAY).last.parameters[0],
        "batch_loss": training,
        "train_loss": training.mean(axis=1),
        "decayed_batch_loss": decayed_training,
        "decayed_train_loss": decayed_training.mean(axis=1),
        "validation_batch_loss": validation_losses,
        "validation_loss": validation_losses.mean(axis=1),
        "validation_accuracy": by_batch(1).mean(axis=1),
        "probability_match": expit(run().last.forward(PROGRAM["x_match"])[0]),
        "stopping": np.column_stack([PROGRAM["stopping"][:, :2], stops]),
    }
