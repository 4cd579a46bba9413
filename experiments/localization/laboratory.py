r"""The laboratory's presets: settings, what the book found there, and the runs with which the page opens.

The laboratory trains the chapter's standard network (:mod:`.networks`) on the ring of 40 pixels in float64, from the
starts and with the streams of the book's seeds.  Its batches of 200 and its 1000 steps are fewer than the book's 1000
and 2000, which can be chosen.
Beside the process stand two twins of its covariance: the heavy-tailed one of :mod:`shallow.data.nlgp`, and the
Gaussian one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from experiments.localization import networks
from experiments.localization.populations.cells import population
from shallow import receptive_fields
from shallow.committee import Committee
from shallow.data import nlgp
from shallow.data.nlgp import Process
from shallow.stats import stream
from shallow.train import online
from shallow.train.run import log_spaced

Settings = dict[str, Any]
#: Shares of positive neurons that the slider offers.
GAINS = (0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 1, 2, 3, 5, 10, 30, 100)
WIDTHS = (4, 8, 20, 40, 60, 100)
RATES = (1, 2, 5, 10, 20, 50, 100)
SHARES = (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1)
#: Records in a decade of steps; biases at the start where they have a sign.
DECADE, LEVEL = 12, 0.5


def settings(**changes: Any) -> Settings:
    """Settings of the laboratory: what is usual except for `changes`."""
    usual = {
        "kind": "process",
        "gain": 3,
        "slow": 2,
        "fast": 1,
        "width": 40,
        "biases": "from 0",
        "positive": 0.5,
        "offset": 0,
        "seed": 0,
        "rate": 20,
        "steps": 1000,
        "batch": "200",
    }
    return usual | changes


@dataclass(frozen=True)
class GaussianTwin(Process):
    """The Gaussian process with the covariance of another one on a ring; made by :meth:`of`."""

    like: Process | None = None

    @classmethod
    def of(cls, process: Process) -> GaussianTwin:
        """The twin of a process of variance one."""
        return cls(process.shape, process.xi, 0.0, like=process)

    @cached_property
    def kernel(self) -> np.ndarray:
        """First row of the covariance: the latent process is the process itself."""
        return self.like.covariance

    @cached_property
    def roots(self) -> tuple[np.ndarray, ...]:
        """R with R^T R the covariance: waves by frequency, cosines first, as :class:`Process` has them."""
        (n,) = self.shape
        values = nlgp.eigenvalues(self.kernel)
        kept = np.flatnonzero((values > nlgp.CUT * values.max())[: n // 2 + 1])
        paired = kept[(kept > 0) & (2 * kept < n)]
        angles = 2 * np.pi / n * np.arange(n)
        waves = np.concatenate([np.cos(np.outer(kept, angles)), np.sin(np.outer(paired, angles))])
        all_of_them = np.concatenate([kept, paired])
        sizes = np.sqrt(np.where(np.isin(all_of_them, paired), 2, 1) * values[all_of_them] / n)
        return (sizes[:, None] * waves,)

    @cached_property
    def _ranks(self) -> tuple[int, ...]:
        return (len(self.roots[0]),)


def pair(chosen: Settings) -> tuple[Process, Process]:
    """The two classes."""
    tails = "heavy" if chosen["kind"] == "heavy-tailed twin" else "light"
    classes = networks.pair(chosen["gain"], lengths=(chosen["slow"], chosen["fast"]), tails=tails)
    return tuple(map(GaussianTwin.of, classes)) if chosen["kind"] == "Gaussian twin" else classes


def start(chosen: Settings) -> tuple[Committee, tuple[np.ndarray, np.ndarray]]:
    """The network at the start, and the bounds of its biases: the first neurons are those with the sign +."""
    width = chosen["width"]
    network = networks.starts([chosen["seed"]], width, dtype=np.float64)
    up, free = np.arange(width) < chosen["positive"] * width, np.full(width, np.inf)
    if chosen["biases"] == "held to signs":
        return network, (np.where(up, 0, -free), np.where(up, free, 0))
    if chosen["biases"] == "from ±1/2":
        network = replace(network, b=np.where(up, LEVEL, -LEVEL)[None])
    return network, (-free, free)


def measured(run: online.Run) -> dict[str, list]:
    """What the laboratory shows of a run's first network at its records; None where there is nothing to measure.

    loss: mean over the batches since the last record; and of the fields with negative and with positive biases the
    number, the median inverse participation ratio and the median of the mean frequency.
    """
    found: dict[str, list] = {"loss": [None]}
    for last, step in zip(run.steps, run.steps[1:], strict=False):
        found["loss"].append(float(run.losses[0, last:step].mean()))
    for name, sign in (("minus", -1), ("plus", 1)):
        chosen = [W[population(b) == sign] for W, b in zip(run.W[0], run.b[0], strict=True)]
        found[name] = [len(fields) for fields in chosen]
        for measure, of in (
            ("ipr", receptive_fields.inverse_participation_ratio),
            ("frequency", receptive_fields.mean_frequency),
        ):
            found[f"{measure}_{name}"] = [float(np.median(of(fields))) if len(fields) else None for fields in chosen]
    return found


def train(chosen: Settings, steps: int | None = None) -> online.Run:
    """The run of some settings, or its first steps, with the laboratory's records.

    Cost: 0.1 ms of one core a step of 200 samples, 0.45 ms of 1000.
    """
    network, bounds = start(chosen)
    steps = chosen["steps"] if steps is None else steps
    records = log_spaced(chosen["steps"], DECADE)
    return online.train(
        network,
        pair(chosen),
        rngs=[stream("localization", "batches", chosen["seed"])],
        rate=chosen["rate"],
        steps=steps,
        batch=int(chosen["batch"]),
        offset=chosen["offset"],
        bounds=bounds,
        records=records[records <= steps],
    )


#: key, the button's label, what to guess, what was found, settings.  Each changes one thing of the first.
PRESETS: list[tuple[str, str, str, str, Settings]] = [
    (
        "two",
        "The chapter's data",
        "Forty neurons learn to tell slow noise from fast, on a ring. What will their weights look like?",
        "Data near to signs, g = 3: fields with negative biases contract to bumps, those with positive ones oscillate.",
        settings(),
    ),
    (
        "waves",
        "Nearly Gaussian data",
        "The same at g = 0.01: the values are nearly Gaussian. What becomes of the fields?",
        "No bump: negative biases have waves as long as the ring, positive ones oscillate.",
        settings(gain=0.01),
    ),
    (
        "signs",
        "Data of −1 and +1",
        "The same at g = 100: values of −1 and +1 alone. What becomes of the fields?",
        "The bumps are as narrow as at g = 3; the fast fields are less regular.",
        settings(gain=100),
    ),
    (
        "gaussian",
        "The Gaussian twin",
        "Gaussian data with exactly the covariance of the first run. Is the covariance enough for bumps?",
        "No: long waves. The covariance alone makes no bumps.",
        settings(kind="Gaussian twin"),
    ),
    (
        "heavy",
        "The heavy-tailed twin",
        "The same covariance again, with heavy tails. Is it enough that data are far from Gaussian?",
        "No bumps either: the slow fields spread over the ring.",
        settings(kind="heavy-tailed twin"),
    ),
    (
        "negative",
        "Only negative biases",
        "All biases are held at or below 0, and the constant 1/2 that is then missing is added. And the fields?",
        "All forty become bumps.",
        settings(biases="held to signs", positive=0, offset=0.5),
    ),
]


def preset(key: str, label: str, ask: str, note: str, chosen: Settings) -> dict:
    """A preset with its run: numbers keep all bits; the last network is for drawing."""
    run = train(chosen)
    arrays = {"W": run.last.W.ravel(), "b": run.last.b.ravel()}
    drawn = {name: [round(float(value), 3) for value in values] for name, values in arrays.items()}
    book = {"values": measured(run), "arrays": drawn, "checksum": None}
    return {"key": key, "label": label, "ask": ask, "note": note, "settings": chosen, "run": book}


def recorded() -> list[dict]:
    """The presets with their runs, as `laboratories.show` embeds them.

    Cost: about a second, and five to compile.
    """
    return [preset(*one) for one in PRESETS]
