r"""One network on shells in orthants: the document's training, and all that is measured before and after it.

Sections 4.1 and 4.2 of the document, with what its public code adds: seven inputs, d hidden layers of m units, cross-
entropy of the probability, Adam, batches of 32, up to 500 epochs, a patience of 50, and the weights of the last epoch.
A *run* is one draw of everything: data, empty orthant, split, initialisation and batches.  The *focus* is the orthant
that is studied: the empty one, or the one with few points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from experiments.hidden_structure import shells
from experiments.hidden_structure.folding import cells as folding
from shallow import checks, mlp
from shallow.book.recipes import releases_gil
from shallow.mlp import Stack
from shallow.stats import stream
from shallow.train import ensemble

#: Width, learning rate and weight decay of the document by number of hidden layers, from its public logs.
AUTHORS = {1: (128, 1e-3, 0.0), 2: (32, 1e-3, 1e-4), 3: (64, 1e-3, 0.0), 4: (32, 1e-3, 0.0), 5: (128, 1e-4, 0.0)}
BATCH, EPOCHS, PATIENCE = 32, 500, 50
#: Parameters of its largest network, five layers of 128 units.
LARGEST = 67_201
#: The document selects its networks by their accuracy after so many epochs.
SELECTION = 10
#: Epochs after which the losses are kept.
SHOWN = (1, 2, 5, 10, 20, 50, 100, 200, 500)
#: Radii between those of the profiles, for the regression of the logit.
BETWEEN = 2100


@releases_gil
def author(run: int, depth: int, *, keep: Sequence[int] = (), **options) -> xr.Dataset:
    """:func:`network` with the document's configuration (:data:`AUTHORS`) and stopping: Tables 1 and 2, Figure 2.

    Its program stops by the mean of the means over batches of the validation points, in a new order every epoch.  The
    weights are kept of the first ``keep[depth - 1]`` runs; those of the others are NaN.
    """
    width, rate, decay = document(depth)
    options |= {"rate": rate, "decay": decay, "validation_batch": BATCH}
    found = network(run, depth, width, keep=bool(keep), **options)
    return found.assign(theta=found.theta * np.nan) if "theta" in found and run >= keep[depth - 1] else found


def document(depth: int) -> tuple[int, float, float]:
    """Width, learning rate and weight decay of the document for a number of hidden layers."""
    checks.one_of(AUTHORS, depth=depth)
    return AUTHORS[depth]


@releases_gil
def network(run: int, depth: int, width: int, **options) -> xr.Dataset:
    """:func:`study` of one run with one empty orthant, on equal data for all networks of a run; `options` as there."""
    task = shells.draw(run)
    return study(task, int(task.empty[0]), run, depth, width, **options)


def study(
    task: shells.Task,
    studied: int,
    start: int,
    depth: int,
    width: int,
    *,
    epochs: int = EPOCHS,
    final: bool = True,
    keep: bool = False,
    **protocol: float | None,
) -> xr.Dataset:
    """Train one network and measure it.

    Args:
        studied: the focus.
        start: names initialisation, order of the batches, and the points of the profiles.
        protocol: rate, decay and validation_batch of :func:`trained`.
        keep: whether to return the last weights as well, for whatever is to be compared on the same networks.
        final: otherwise only the untrained network and the first losses are given, for comparisons of cells.

    Returns:
        The :func:`measures` by moment: initial, last weights, weights of the best epoch.
        training, validation (epoch): losses at :data:`SHOWN`, NaN after the end; epochs, best_epoch: when that was.
        selection: what `held_out` was after ten epochs.
        populated (orthant): whether an orthant has points for training; parameters: their number.
        profile (region, radius), isotonic (part): :func:`profiles` and :func:`isotonic` of the last weights.
        theta (weight): if kept, the last weights in the order of :class:`Stack`, then NaN.
    """
    checks.integers(SELECTION if final else 1, epochs=epochs)
    initial, fit = trained(task, start, depth, width, epochs=epochs, **protocol)
    shown = [epoch for epoch in SHOWN if epoch <= epochs]
    losses = {
        name: ("epoch", [curve[0, e - 1] if e <= curve.shape[1] else np.nan for e in shown])
        for name, curve in (("training", fit.training), ("validation", fit.validation))
    }
    moments = {"initial": initial} | ({"last": fit.last, "best": fit.best} if final else {})
    measured = xr.concat([measures(one, task, studied) for one in moments.values()], "moment")
    found = measured.assign(losses).assign_coords(moment=list(moments), epoch=shown)
    if not final:
        return found
    if keep:
        theta = fit.last.parameters[0]
        found = found.assign(theta=("weight", np.pad(theta, (0, LARGEST - len(theta)), constant_values=np.nan)))
    return found.assign(
        epochs=int(fit.epochs[0]),
        best_epoch=int(fit.best_epoch[0]),
        selection=fit.values[0][0],
        parameters=fit.last.parameters.shape[1],
        populated=("orthant", task.counts > 0),
        profile=(("region", "radius"), profiles(fit.last, studied, start)),
        isotonic=("part", [isotonic(fit.last, where, start) for where in (_others(task, studied), [studied])]),
    ).assign_coords(region=["empty", "neighbour", "distant"], radius=shells.PROFILE, part=["populated", "empty"])


def trained(
    task: shells.Task,
    start: int,
    depth: int,
    width: int,
    *,
    rate: float = 1e-3,
    decay: float = 0.0,
    validation_batch: int | None = None,
    epochs: int = EPOCHS,
) -> tuple[Stack, ensemble.Fit]:
    """The initial network, in float32, and its training by the document's protocol, Adam.

    With `validation_batch` as in :func:`shallow.train.ensemble.train`; by default the validation loss that stops
    training is the mean over the points.
    """
    initial = untrained(start, depth, width)
    fit = ensemble.train(
        initial,
        task.train.x,
        task.train.label,
        rngs=[stream("orthants", start, "batches")],
        loss="bce-probability",
        optimiser="adam",
        rate=rate,
        decay=decay,
        epochs=epochs,
        batch=BATCH,
        validation=(task.validation.x, task.validation.label),
        validation_batch=validation_batch,
        patience=PATIENCE,
        records=[SELECTION] if epochs >= SELECTION else [],
        measure=lambda now: _accuracy_by_batch(now, task.validation),
    )
    return initial, fit


def untrained(start: int, depth: int, width: int) -> Stack:
    """The initial network of a start, a stack of one in float32."""
    checks.integers(1, depth=depth, width=width)
    rng = stream("orthants", start, "initialisation", depth, width)
    return mlp.default([rng], (shells.DIMENSION, *[width] * depth, 1))


def stored(record: xr.Dataset, run: int, depth: int) -> Stack:
    """The network of a run that a record of :func:`author` keeps, a stack of one."""
    theta = record.theta.sel(run=run, depth=depth).values
    width, *_ = document(depth)
    return Stack(theta[None, np.isfinite(theta)], (shells.DIMENSION, *[width] * depth, 1))


# Measures.


def measures(network: Stack, task: shells.Task, studied: int) -> xr.Dataset:
    """Accuracies, match fractions and folding of one network.

    Returns:
        accuracy (orthant): on the test points of each orthant; empty: that of the focus, E; others, spread, worst:
        mean M, standard deviation and minimum over the populated orthants but the focus; train: on all training points;
        held_out: on the validation points, mean over batches of 32 as in the document;
        ones: share of the test points of the focus that are called class 1;
        match (label): share of the test points of the focus whose nearest training point in the last hidden layer has
        their label (Table 2);
        quotient, correlation: :func:`fold` of the test points of the focus.
    """
    accuracy = shells.by_orthant(_classes(network, task.test) == task.test.label, task.test)
    there, others = task.test[task.test.orthant == studied], accuracy[_others(task, studied)]
    quotient, correlation = fold(network, there)
    return xr.Dataset(
        {
            "accuracy": ("orthant", accuracy),
            "empty": accuracy[studied],
            "others": others.mean(),
            "spread": others.std(ddof=1),
            "worst": others.min(),
            "train": float((_classes(network, task.train) == task.train.label).mean()),
            "held_out": _accuracy_by_batch(network, task.validation),
            "ones": float(_classes(network, there).mean()),
            "match": ("label", _match(lambda x: network.features(x)[0], there, task)),
            "quotient": quotient,
            "correlation": correlation,
        },
        {"orthant": np.arange(len(accuracy)), "label": [0, 1]},
    )


def _match(features: Callable[[np.ndarray], np.ndarray], points: shells.Points, task: shells.Task) -> list[float]:
    """Share of the points of each class whose nearest training point in the features has their label."""
    pool, labels = features(task.train.x), task.train.label
    found = folding.match_fractions(features(points.x), points.label, pool, labels)
    return [found[0], found[1]]


def fold(network: Stack, points: shells.Points) -> tuple[float, float]:
    """How alike a network treats points of one orthant and their reflections into its neighbours.

    Returns q, the `quotient` of the last hidden layer, 0 for a perfect fold; and g, Pearson's correlation of the logit
    at x and at its reflection over all pairs, NaN for a constant logit.
    """
    near = shells.neighbours(int(points.orthant[0]), points.x.shape[1])
    x = np.stack([points.x, *(shells.reflected(points.x, orthant) for orthant in near)])
    features = network.features(x.reshape(-1, x.shape[-1]))[0].reshape(*x.shape[:2], -1)
    here, *there = network.forward(x.reshape(-1, x.shape[-1]))[0].reshape(x.shape[:2]).astype(np.float64)
    pairs = np.stack([np.tile(here, len(there)), np.concatenate(there)])
    constant = (np.ptp(pairs, axis=1) == 0).any()
    correlation = np.nan if constant else np.corrcoef(pairs)[0, 1]
    return folding.quotient(features[0], features[1:], points.label), float(correlation)


def profiles(network: Stack, studied: int, start: int) -> np.ndarray:
    """Mean probability of class 1 at the radii of Figure 2 in the focus, a neighbour and a distant orthant; (3, 21).

    The same points, 100 for each radius, are reflected into the three.
    """
    x = shells.profile(stream("orthants", start, "profile"))
    there = [shells.reflected(x, orthant).reshape(-1, x.shape[-1]) for orthant in shells.compared(studied)]
    return np.stack([expit(network.forward(part)[0]).reshape(x.shape[:2]).mean(axis=1) for part in there])


def isotonic(network: Stack, where: np.ndarray, start: int) -> float:
    """R2 of the best rising function of the folded radius for the logit, at radii uniform in [0.5, 2.5].

    The points lie in orthants drawn from `where`; NaN for a constant logit.
    """
    rng = stream("orthants", start, "radii")
    radii = rng.uniform(*shells.PROFILE[[0, -1]], BETWEEN)
    x = shells.reflected(shells.profile(rng, radii, 1)[:, 0], rng.choice(where, BETWEEN))
    logit = network.forward(x)[0].astype(np.float64)
    rest = logit - IsotonicRegression().fit_transform(radii, logit)
    return float(1 - (rest**2).mean() / logit.var()) if logit.var() > 0 else float("nan")


def _others(task: shells.Task, studied: int) -> np.ndarray:
    """The populated orthants but the focus."""
    return np.setdiff1d(np.flatnonzero(task.counts), studied)


def _classes(network: Stack, points: shells.Points) -> np.ndarray:
    return network.forward(points.x)[0] > 0


def _accuracy_by_batch(network: Stack, points: shells.Points) -> float:
    """Mean of the accuracies of the batches, the last of which may be smaller."""
    right = _classes(network, points) == points.label
    return float(np.mean([right[i : i + BATCH].mean() for i in range(0, len(right), BATCH)]))
