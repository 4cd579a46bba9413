r"""Why networks trained at a low rate do not fill the empty orthant: the rate, the time, or the noise of the batches?

The document's three layers of 64 neurons under six settings, from one start, on one draw of the data and with one
order of the points in a run.  Nothing stops early; what the document's rule would have kept is given beside it.

What was expected before the run: at the rate 1e-4 networks are at chance after 200 epochs and, with ten times the
epochs, where rate times epochs is that of 200 epochs at 1e-3, still are in most runs, so that time is not the cause;
batches of 320 at 1e-3 lose, batches of 4 at 1e-4 gain at equal steps.  Refuted if the low rate catches up within 0.1
after 2,000 epochs: then it was time; or if batches of 320 do as well as batches of 32 at equal steps: then it is not
the noise.  The last two settings were added with the first four known, and with two runs more: they have the rate over
the root of the batch of the first.  If this quotient decides, both fill the orthant as often as the first does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import xarray as xr

from experiments.hidden_structure import shells
from experiments.hidden_structure.orthants import cells
from shallow import checks
from shallow.book.recipes import Recipe
from shallow.mlp import Stack
from shallow.stats import RESAMPLES, Interval, stream, student
from shallow.train import ensemble


class Setting(NamedTuple):
    """Learning rate, points of a batch and epochs of training."""

    rate: float
    batch: int
    epochs: int


#: 127,000 steps are 200 epochs with batches of 32 and 25 with batches of 4; 2,000 with batches of 320 are 128,000.
SETTINGS = {
    "high rate": Setting(1e-3, 32, 500),
    "low rate": Setting(1e-4, 32, 2000),
    "high rate, batches of 320": Setting(1e-3, 320, 2000),
    "low rate, batches of 4": Setting(1e-4, 4, 200),
    "three times the high rate, batches of 320": Setting(3.16e-3, 320, 2000),
    "a third of the high rate, batches of 4": Setting(3.54e-4, 4, 200),
}
#: Epochs after which networks are measured, and for which :func:`followed` has values as far as a setting goes.
MOMENTS = (10, 20, 25, 50, 100, 200, 500, 1000, 2000)
DEPTH, WIDTH = 3, 64
POINTS = 20_320  # for training
#: What may tell early which network will be right: larger is better, or smaller, by the sign.
EARLY = {"empty": 1, "others": 1, "training": -1, "correlation": 1}


def followed(run: int, setting: str, *, width: int = WIDTH, epochs: int | None = None) -> xr.Dataset:
    """Train one network by a setting and measure it at :data:`MOMENTS`.

    Returns, by epoch and NaN where the training is shorter: `empty`, accuracy on the test points of the empty orthant;
    `others`, on those of all others; `training`, mean loss of the epoch; `correlation` of the logits at mirror images.
    And of the moment at which the document's rule stops, or the end: `stopped_at` and `stopped`, accuracy in the empty
    orthant.

    Args:
        epochs: fewer than those of the setting.
    """
    checks.one_of(SETTINGS, setting=setting)
    rate, batch, most = SETTINGS[setting]
    epochs = most if epochs is None else epochs
    checks.integers(1, most, epochs=epochs)
    task = shells.draw(run)
    there = task.test[task.test.orthant == task.empty[0]]
    elsewhere = task.test[task.test.orthant != task.empty[0]]
    with small_numbers_are_zero():
        fit = ensemble.train(
            cells.untrained(run, DEPTH, width),
            task.train.x,
            task.train.label,
            rngs=[stream("orthants", run, "batches")],
            loss="bce-probability",
            optimiser="adam",
            rate=rate,
            epochs=epochs,
            batch=batch,
            validation=(task.validation.x, task.validation.label),
            records=range(1, epochs + 1),
        )
    networks = dict(enumerate(fit.values[0], start=1))
    stop = stopping(fit.validation[0])
    rows = np.full((4, len(MOMENTS)), np.nan)
    for k, epoch in enumerate(MOMENTS):
        if epoch in networks:
            now = networks[epoch]
            correlation = cells.fold(now, there)[1]
            rows[:, k] = accuracy(now, there), accuracy(now, elsewhere), fit.training[0, epoch - 1], correlation
    names = ("empty", "others", "training", "correlation")
    return xr.Dataset(
        {name: ("epoch", row) for name, row in zip(names, rows, strict=True)}
        | {"stopped_at": stop, "stopped": accuracy(networks[stop], there)},
        {"epoch": list(MOMENTS)},
    )


def accuracy(network: Stack, points: shells.Points) -> float:
    """Share of points on the right side of the logit 0."""
    return float(((network.forward(points.x)[0] > 0) == points.label).mean())


def stopping(validation: np.ndarray, patience: int = cells.PATIENCE, least: float = 1e-4) -> int:
    """The epoch, from 1, at which :func:`shallow.train.ensemble.train` with patience would stop; the last if never."""
    checks.array(("n",), validation=validation)
    best, at = np.inf, 0
    for epoch, loss in enumerate(validation, start=1):
        if best - loss >= least:
            best, at = loss, epoch
        elif epoch - at >= patience:
            return epoch
    return len(validation)


@contextmanager
def small_numbers_are_zero() -> Iterator[None]:
    """Numbers below the smallest normal one count as zero meanwhile: Adam's averages fall there, and slow it fivefold.

    Threads that are started within it inherit it.
    """
    import torch

    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def compared(found: xr.Dataset, learned: float) -> list[list]:
    """Rows of the record, by setting and moment; the last of a setting is that of the document's stopping.

    Rate, batch, epochs and thousands of steps; mean accuracies in the empty orthant and elsewhere; in how many runs the
    first is at least `learned`; its paired differences from the first setting after 200 epochs, and where that stops;
    training loss.
    """
    high, rows = found.sel(setting="high rate"), []
    for name, (rate, batch, epochs) in SETTINGS.items():
        one, steps = found.sel(setting=name), -(-POINTS // batch)
        shown = [(e, one.sel(epoch=e)) for e in (*[25] * (batch == 4), 200, 500, 2000) if e <= epochs]
        shown = [(e, round(e * steps / 1000), now.empty, now.others, now.training) for e, now in shown]
        shown.append((f"stopped, {float(one.stopped_at.median()):.0f}", "", one.stopped, None, None))
        for epoch, thousands, empty, others, training in shown:
            means = [f"{float(empty.mean()):.2f}", *([] if others is None else [f"{float(others.mean()):.2f}"])]
            apart = [(empty - first).values for first in (high.empty.sel(epoch=200), high.stopped)]
            rows.append(
                [f"{rate:g}", batch, epoch, thousands, " / ".join(means)]
                + [f"{int((empty >= learned).sum())} of {empty.size}"]
                + [str(student(lost)) if lost.any() else "" for lost in apart]
                + ["" if training is None else f"{float(training.mean()):.3f}"]
            )
    return rows


def auc(score: np.ndarray, flags: np.ndarray) -> float:
    """Share of the pairs of a true and a false flag in which the true one has the higher score, ties counting half."""
    checks.array(("n",), score=score, flags=flags)
    flags = np.asarray(flags, dtype=bool)
    if flags.all() or not flags.any():
        raise ValueError(f"flags must be true and false, got {checks.given(flags)}")
    apart = np.asarray(score)[flags, None] - np.asarray(score)[~flags]
    return float((np.sign(apart) / 2 + 0.5).mean())


def auc_interval(score: np.ndarray, flags: np.ndarray, *, name: str) -> Interval:
    """:func:`auc` with the percentiles of draws of the true and of the false ones anew, each with replacement."""
    score, flags, rng = np.asarray(score), np.asarray(flags, dtype=bool), stream("orthants", "auc", name)
    true, false = np.flatnonzero(flags), np.flatnonzero(~flags)
    rows = [np.concatenate([rng.choice(true, len(true)), rng.choice(false, len(false))]) for _ in range(RESAMPLES)]
    return Interval.from_draws(auc(score, flags), np.array([auc(score[r], flags[r]) for r in rows]))


def early(known: xr.Dataset, fresh: xr.Dataset, learned: float) -> dict[tuple[str, int], tuple[Interval, Interval]]:
    """:func:`auc_interval`, in known and in fresh runs, of what is measured early for who is right where it stops."""
    found = {}
    for name, sign in EARLY.items():
        for epoch in (10, 20, 50):
            found[name, epoch] = tuple(
                auc_interval(sign * one[name].sel(epoch=epoch).values, one.stopped.values >= learned, name=part)
                for part, one in (("known", known), ("fresh", fresh))
            )
    return found


RECORDS: dict[str, Recipe] = {
    "rate_time_noise": Recipe(
        followed,
        {"run": list(range(10)), "setting": list(SETTINGS)},
        about="Three layers of 64 neurons at four rates, with batches of 4, 32 and 320, and ten times the epochs",
        replicates="run",
        shortened={"epochs": 10},
    ),
    "rate_time_noise_fresh": Recipe(
        followed,
        {"run": list(range(100, 120))},
        {"setting": "high rate", "epochs": 300},
        about="Twenty further networks of the first setting, 300 epochs, to test what tells early which will be right",
        replicates="run",
        shortened={"epochs": 10},
    ),
}
