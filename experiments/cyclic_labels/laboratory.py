"""The laboratory's presets: settings, what the book found there, and the runs with which the page opens."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any

import numpy as np

from experiments.cyclic_labels.loss_curves import EPOCHS, GRID, hinge, start
from shallow.data import cyclic
from shallow.train import univariate

Settings = dict[str, Any]
CLUSTERS = ("c1", "c2", "c3", "c4", "c5", "c6")  # settings that hold the number of points in each cluster
INITIAL = {"default": {}, "antisymmetric": {"antisymmetric": True}, "near zero": {"alpha": 0.1}}
#: Of the seeds 0..9 the one with the highest diverging bump that recovers when the last cluster has one point.
SEED = 5


def settings(counts: tuple[int, ...], **changes: Any) -> Settings:
    """Settings of the laboratory: counts of the six clusters, and what is usual except for `changes`."""
    usual = {"step": 0.001, "loss": "sum", "width": 512, "initial": "default", "seed": SEED}
    return dict(zip(CLUSTERS, counts, strict=True)) | usual | changes


POOR, EQUAL = (10, 10, 10, 10, 9, 1), (9, 9, 8, 8, 8, 8)
#: The preset with whose run the page opens: the small steps of the story.
OPENING = "small_step"
#: key, the button's label, what to guess, what was found, settings.
PRESETS: list[tuple[str, str, str, str, Settings]] = [
    (
        "poor",
        "One point in the last cluster",
        "The last cluster has one training point, others nine or ten. Does the test loss fall with the training loss?",
        "The test loss climbs while the training loss falls, and comes down again: here the bump is common.",
        settings(POOR),
    ),
    (
        "balanced",
        "Balanced clusters",
        "As many points, but dealt evenly over the clusters. How do the two losses go now?",
        "They fall together, but for small waves. With points dealt evenly a bump is rare, and small where it occurs.",
        settings(EQUAL),
    ),
    (
        "small_step",
        "Small steps, a tenth as long",
        "As many steps, each a tenth as long. Does the test loss still climb?",
        "It does, ten times slower: 20,000 small steps show the climb of 2,000 long ones. So it needs no long step.",
        settings(POOR, step=0.0001),
    ),
    (
        "mean",
        "Mean instead of sum",
        "The loss is averaged over the fifty points, not summed. How far do 20,000 steps get?",
        "The mean is the sum with a fiftieth of the learning rate: after 20,000 steps little has been learned.",
        settings(POOR, loss="mean"),
    ),
    (
        "antisymmetric",
        "Antisymmetric start",
        "The network starts as f = 0, in two opposite copies. Was the climb due to the random first function?",
        "No: the bump is there all the same, lower.",
        settings(POOR, initial="antisymmetric"),
    ),
]


def train(chosen: Settings) -> tuple[cyclic.Sample, univariate.Run]:
    """The sample of the settings and the run on it, with f on the grid of 1000 points every 100 epochs.

    Raises :class:`univariate.Diverged`.
    """
    sample = cyclic.from_counts([chosen[name] for name in CLUSTERS], seed=chosen["seed"])
    if chosen.get("moved"):  # "3:0.25" puts the fourth point from the left at 0.25
        x = sample.x.copy()
        for point, place in (one.split(":") for one in chosen["moved"].split(",")):
            x[int(point)] = float(place)
        sample = replace(sample, x=np.sort(x), y=cyclic.labels(np.sort(x)))
    network, rates = start(sample.rng, chosen["width"], **INITIAL[chosen["initial"]])
    options = dict(step=chosen["step"], epochs=EPOCHS, grid=GRID, rates=rates, reduction=chosen["loss"])
    return sample, univariate.train(sample.x, sample.y, network, **options)


def losses(chosen: Settings, run: univariate.Run) -> dict[str, np.ndarray]:
    """Mean hinge loss at the training points and on the grid at every record."""
    n = sum(chosen[name] for name in CLUSTERS)
    return {"train": run.loss / (n if chosen["loss"] == "sum" else 1), "test": hinge(run.predictions).mean(axis=-1)}


def checksum(run: univariate.Run) -> int:
    """CRC-32 of the bytes of the last w, b and v."""
    return zlib.crc32(b"".join(group.tobytes() for group in (run.network.W[:, 0], run.network.b, run.network.v)))


def recorded() -> list[dict]:
    """The presets with their runs, as `laboratories.show` embeds them; x, y and the last f are for drawing alone."""
    presets = []
    for key, label, ask, note, chosen in PRESETS:
        sample, run = train(chosen)
        arrays = {"x": sample.x, "y": sample.y, "f": run.predictions[-1]}
        drawn = {name: values.round(4).tolist() for name, values in arrays.items()}
        values = {name: curve.tolist() for name, curve in losses(chosen, run).items()}
        book = {"values": values, "arrays": drawn, "checksum": checksum(run)}
        said = {"key": key, "label": label, "ask": ask, "note": note, "opens": key == OPENING}
        presets.append(said | {"settings": chosen, "run": book})
    return presets
