r"""The laboratory's presets: settings, what the book found there, and the runs with which the page opens.

The laboratory is the setting of Theorem 2 in the plane, d = 2: inputs N(0, I_2), where a margin is asked for given
$|x_1| \ge c\|x\|$, labels $x_1 + \eta$, and the data and starts of :func:`two_fits.draw`, not whitened.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from experiments.simplicity_bias import two_fits
from experiments.simplicity_bias.extremal import cells as extremal
from shallow import clusters, nets, stats
from shallow.data import teachers
from shallow.nets import TwoLayer
from shallow.train import flow, minibatch
from shallow.train.run import log_spaced

Settings = dict[str, Any]
#: What the sliders offer.
POINTS = (3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 5000)
SCALES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 1e-4, 1e-5, 1e-6)
#: Records in a decade of steps; directions of a half circle at which the test loss is taken; share of the mass.
DECADE, NODES, SHARE = 12, 256, 0.99


def settings(**changes: Any) -> Settings:
    """Settings of the laboratory: what is usual except for `changes`."""
    data = {"n": 100, "margin": two_fits.MARGIN, "noise": teachers.NOISE}
    network = {"width": 64, "start": "dominated", "scale": 0.1}
    return data | network | {"rate": 0.05, "steps": 100_000, "batch": "all", "seed": 0} | changes


#: key, the button's label, what to guess, what was found, settings.  Each changes one thing, along the chapter's thread
#: and at the first seed; of a hundred points single borders can be seen.  The scale is the largest power of ten at
#: which "many" ends within 1e-6 of the two fits, that of "large" the next one above; "few" is the largest number of
#: points on the slider whose training loss ends below a hundredth of the noise; the scale of "tight" is the largest
#: smaller power of ten at which the network without a margin ends as two neurons, the batch of "batches" the largest on
#: offer at which that one does not.  "held" is the control of "batches".
PRESETS: list[tuple[str, str, str, str, Settings]] = [
    (
        "many",
        "A hundred points",
        "64 neurons learn from 100 noisy points. How many different neurons are they in the end?",
        "Two: they turn to two places, grow there, and end as the two fits, to twelve digits. So do all of 10 seeds.",
        settings(),
    ),
    (
        "few",
        "Four points",
        "Only four noisy points. Does the network leave their noise alone?",
        "No: two neurons have room for four points. No training loss is left, much test loss. So end 7 of 10 seeds.",
        settings(n=4),
    ),
    (
        "large",
        "A larger start",
        "The first weights are ten times larger. Do the neurons still gather before they learn?",
        "No: they learn while they turn. 15 different ones are left, which fit a fifth of the noise.",
        settings(scale=1.0),
    ),
    (
        "cut",
        "No margin",
        "Now points and their borders lie in all directions. Do neurons that have gathered stay together?",
        "Not here: borders cut them, and the parts drift asunder. Five are left; 3 of 10 seeds end as two.",
        settings(margin=0.0),
    ),
    (
        "tight",
        "No margin, a smaller start",
        "The same points, but first weights a tenth as large. Do they stay together now?",
        "Yes: they gather more narrowly before they grow, and no border cuts them. So end 7 of 10 seeds.",
        settings(margin=0.0, scale=0.01),
    ),
    (
        "batches",
        "The same in batches",
        "The same points and start, but each step sees eight points, drawn at random. Does that matter?",
        "It does: batches shake neurons across borders, and they part. Four are left; 4 of 10 seeds end as two.",
        settings(margin=0.0, scale=0.01, batch="8"),
    ),
    (
        "held",
        "Batches and a margin",
        "Batches of eight in the first run, in which no border is near. Do they part here as well?",
        "No: they tremble together, as two neurons, with all of 10 seeds. Batches tear only what borders cut.",
        settings(batch="8"),
    ),
]


class Draw(NamedTuple):
    x: np.ndarray
    y: np.ndarray
    network: TwoLayer


def draw(chosen: Settings) -> Draw:
    """The problem of :func:`two_fits.draw` in the plane, with any noise and with either start."""
    n, m, seed = chosen["n"], chosen["width"], chosen["seed"]
    rng = stats.stream("two fits", "data", seed, n, 2)
    x = teachers.with_margin(rng, n, 2, chosen["margin"])
    sample = teachers.labelled(rng, teachers.first_axis(2), x, chosen["noise"])
    rng = stats.stream("two fits", "network", seed, m, 2)
    if chosen["start"] == "Gaussian":
        return Draw(*sample, nets.small(rng, m, 2, chosen["scale"] / m**0.5))
    return Draw(*sample, nets.dominated(rng, m, 2, chosen["scale"]))


def test_loss(network: TwoLayer, margin: float, noise: float) -> float:
    r"""$\sigma^2 + \mathbb E (f(x) - x_1)^2$ for inputs with a margin, or Gaussian ones, by 512 directions.

    f is homogeneous and the length of x independent of its direction, with $\mathbb E\|x\|^2 = 2$: what remains is the
    mean over the directions with $|u_1| \ge c$.
    """
    angles = np.arccos(margin) * (2 * (np.arange(NODES) + 0.5) / NODES - 1)
    u = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    u = np.concatenate([u, -u])
    return float(noise + 2 * ((network.forward(u) - u[:, 0]) ** 2).mean())


def groups(network: TwoLayer, x: np.ndarray) -> int:
    """To how many neurons the network amounts: those of one sign that are active on the same points count as one.

    It is the least number of such groups that have 99 % of the mass.
    """
    signed = np.column_stack([network.v > 0, network.W @ x.T > 0])
    labels = np.unique(np.packbits(signed, axis=1), axis=0, return_inverse=True)[1]
    return clusters.number_for(np.bincount(labels, np.abs(network.v) * np.linalg.norm(network.W, axis=1)), SHARE)


def references(drawn: Draw, chosen: Settings) -> list[dict[str, float]]:
    """Training and test loss of one least-squares fit and of the two fits."""
    fits = teachers.linear(np.linalg.lstsq(drawn.x, drawn.y)[0]), two_fits.as_network(two_fits.fits(drawn.x, drawn.y))
    return [
        {
            "train": float(((fit.forward(drawn.x) - drawn.y) ** 2).mean()),
            "test": test_loss(fit, chosen["margin"], chosen["noise"]),
        }
        for fit in fits
    ]


def train(chosen: Settings) -> tuple[dict[str, list], TwoLayer]:
    """The numbers that the laboratory shows, by name, at steps 0, 1, ... in equal ratios; and the network at the end.

    train and test are mean squares, distance is :func:`two_fits.distance` to the two fits on the training inputs.
    """
    drawn = draw(chosen)
    x, y, network = drawn
    steps, rate = chosen["steps"], chosen["rate"]
    records = log_spaced(steps, DECADE)
    if chosen["batch"] == "all" or int(chosen["batch"]) >= len(y):
        run = flow.train(x, y, network, step=2 * rate, steps=steps, records=records)
        states = [TwoLayer(W, np.zeros(len(v)), v) for W, v in zip(run.W, run.v, strict=True)]
    else:
        rng = stats.stream("laboratory", "batches", chosen["seed"], len(y))
        run = minibatch.train(
            x, y, network, rate=rate, steps=steps, batch=int(chosen["batch"]), rng=rng, records=records
        )
        states = run.values
    target = two_fits.as_network(two_fits.fits(x, y))
    values = {
        "train": [float(((now.forward(x) - y) ** 2).mean()) for now in states],
        "test": [test_loss(now, chosen["margin"], chosen["noise"]) for now in states],
        "distance": [two_fits.distance(now, target, x) for now in states],
        "groups": [groups(now, x) for now in states],
    }
    return values, run.network


def directions(drawn: Draw) -> list[tuple[float, float, int]]:
    """Unit vectors w with an extremal vector +-|D| w other than 0, with that sign."""
    found = extremal.circle(drawn.x, drawn.y)
    kinds = found.kinds[found.kinds != 0]
    return [(*map(float, w), int(kind)) for w, kind in zip(found.directions, kinds, strict=True)]


def recorded() -> list[dict]:
    """The presets with their runs, as `laboratories.show` embeds them.

    Numbers keep all bits; the last network is for drawing.  Cost: about three seconds.
    """
    presets = []
    for key, label, ask, note, chosen in PRESETS:
        values, network = train(chosen)
        arrays = {"W": network.W.ravel(), "a": network.v}
        drawn = {name: [float(f"{value:.6g}") for value in weights] for name, weights in arrays.items()}
        book = {"values": values, "arrays": drawn, "checksum": None}
        presets.append({"key": key, "label": label, "ask": ask, "note": note, "settings": chosen, "run": book})
    return presets
