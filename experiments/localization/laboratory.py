r"""The laboratory's presets: settings, what the book found there, and the runs with which the page opens.

The laboratory trains the chapter's standard network (:mod:`.networks`) on the ring of 40 pixels in float64, from the
starts and with the streams of the book's seeds.  Its batches of 200 and its 1000 steps are fewer than the book's 1000
and 2000, which can be chosen; three presets take 4000 steps, as the contest of tails does.
Each class has the tails that are chosen for it: it is the process itself, or one of the two twins of its covariance,
the heavy-tailed one of :mod:`shallow.data.nlgp` and the Gaussian one.  A constant in the output is held, or trained
as in :mod:`.populations.outputs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from experiments.localization import networks
from experiments.localization.populations.cells import population
from shallow import checks, receptive_fields
from shallow.committee import Committee
from shallow.data import nlgp
from shallow.data.nlgp import Process
from shallow.stats import stream
from shallow.train import fresh_samples, online, whole_committee
from shallow.train.run import log_spaced
from shallow.train.vector_math import lanes
from shallow.train.whole_committee import Machine, Rates

Settings = dict[str, Any]
#: Shares of positive neurons that the slider offers.
GAINS = (0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 1, 2, 3, 5, 10, 30, 100)
WIDTHS = (4, 8, 20, 40, 60, 100)
RATES = (1, 2, 5, 10, 20, 50, 100)
SHARES = (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1)
TAILS = ("light", "Gaussian", "heavy")
#: Records in a decade of steps; biases at the start where they have a sign.
DECADE, LEVEL = 12, 0.5


def settings(**changes: Any) -> Settings:
    """Settings of the laboratory: what is usual except for `changes`."""
    usual = {
        "slow_tails": "light",
        "fast_tails": "light",
        "gain": 3,
        "slow": 2,
        "fast": 1,
        "width": 40,
        "biases": "from 0",
        "positive": 0.5,
        "constant": "none",
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


def noise(tails: str, gain: float, length: float) -> Process:
    """A class with the covariance of the light-tailed process of the gain and length, and with these tails."""
    checks.one_of(TAILS, tails=tails)
    found = Process(networks.N, length, gain, tails="heavy" if tails == "heavy" else "light")
    return GaussianTwin.of(found) if tails == "Gaussian" else found


def pair(chosen: Settings) -> tuple[Process, Process]:
    """The two classes."""
    return tuple(noise(chosen[f"{name}_tails"], chosen["gain"], chosen[name]) for name in ("slow", "fast"))


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


@dataclass(frozen=True, repr=False)
class WithConstant(online.Run):
    """A run of one network with a trained constant: c, its values at the records, shape (S,)."""

    c: np.ndarray


def train_with_constant(
    network: Committee,
    classes: tuple[Process, Process],
    *,
    rng: np.random.Generator,
    rate: float,
    steps: int,
    batch: int,
    records: Sequence[int],
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> WithConstant:
    """A stack of one network, whose output has a constant that begins at 0 and moves at the rate of one neuron.

    The steps are those of :func:`shallow.train.whole_committee.train`, which keeps no losses: they are computed
    afterwards, on the same batches.

    Cost: 0.4 ms of one core a step of 200 samples.
    """
    again, pace = deepcopy(rng), rate / network.width
    machines = whole_committee.train(
        Machine(network.W[0], network.b[0], np.ones(network.width)),
        classes,
        rng=rng,
        rates=Rates(rate, rate, c=pace),
        steps=list(range(steps + 1)),
        batch=batch,
        bounds=bounds,
    )
    W, b, c = (np.array([getattr(machines[step], name) for step in records]) for name in ("W", "b", "c"))
    last = replace(network, W=machines[-1].W[None], b=machines[-1].b[None])
    losses = batch_losses(machines[:-1], classes, again, batch)
    return WithConstant(np.array(records), W[None], b[None], losses[None], last, ~np.isfinite(last.W).all((1, 2)), c=c)


def batch_losses(
    machines: Sequence[Machine], classes: tuple[Process, Process], rng: np.random.Generator, batch: int
) -> np.ndarray:
    """Loss (2) of each machine on the batch from which it moves on, in float64."""
    recipes, state, size = tuple(fresh_samples.recipe(one, np.float64) for one in classes), lanes(rng), batch // 2
    rows = min(fresh_samples.BLOCK // networks.N, size)
    room, found = fresh_samples.room(recipes, rows), []
    x, y = np.empty((batch, networks.N)), np.repeat([1.0, -1.0], size)
    for machine in machines:
        for recipe, half in zip(recipes, (x[:size], x[size:]), strict=True):
            for start in range(0, size, rows):  # in the blocks in which training draws
                fresh_samples.draw(recipe, state, *room, half[start : start + rows])
        found.append(((machine.forward(x) - y) ** 2).mean() / 2)
    return np.array(found)


def measured(run: online.Run) -> dict[str, list]:
    """What the laboratory shows of a run's first network at its records; None where there is nothing to measure.

    loss: mean over the batches since the last record; c: the constant, if it is trained; and of the fields with
    negative and with positive biases the number, the median inverse participation ratio and the median of the mean
    frequency.
    """
    found: dict[str, list] = {"loss": [None]}
    for last, step in zip(run.steps, run.steps[1:], strict=False):
        found["loss"].append(float(run.losses[0, last:step].mean()))
    found["c"] = run.c.tolist() if isinstance(run, WithConstant) else [None] * len(run.steps)
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

    A trained constant leaves biases held to one sign, or none: other bounds raise ValueError.

    Cost: 0.1 ms of one core a step of 200 samples, 0.45 ms of 1000; four times that with a trained constant.
    """
    network, (low, high) = start(chosen)
    steps = chosen["steps"] if steps is None else steps
    records = log_spaced(chosen["steps"], DECADE)
    records = records[records <= steps]
    given = {"rate": chosen["rate"], "steps": steps, "batch": int(chosen["batch"]), "records": records}
    rng, classes = stream("localization", "batches", chosen["seed"]), pair(chosen)
    if chosen["constant"] != "trained":
        held = 0.0 if chosen["constant"] == "none" else float(chosen["constant"])
        return online.train(network, classes, rngs=[rng], offset=held, bounds=(low, high), **given)
    if len(set(low)) > 1:
        raise ValueError(f"positive must be 0 or 1 where biases are held beside a constant, got {chosen['positive']}")
    return train_with_constant(network, classes, rng=rng, bounds=(low[0], high[0]), **given)


#: key, the button's label, what to guess, what was found, settings.
PRESETS: list[tuple[str, str, str, str, Settings]] = [
    (
        "two",
        "The chapter's data",
        "Forty neurons learn to tell slow noise from fast, on a ring. What will their weights look like?",
        "There are two kinds: fields with negative biases contract to bumps, those with positive ones oscillate.",
        settings(),
    ),
    (
        "gaussian",
        "Both Gaussian",
        "Slow and fast noise are Gaussian, with exactly the covariances of the first run. Is that enough for bumps?",
        "No. Two kinds there are, but the slow fields are long waves: their ratio is 0.05, that of white noise 0.07.",
        settings(slow_tails="Gaussian", fast_tails="Gaussian"),
    ),
    (
        "standard_half",
        "Both light, g = 1/2",
        "The chapter's noise at g = 1/2: tails a little lighter than Gaussian, in both classes. Are there bumps?",
        "Yes, wider ones: their ratio is 0.15 here, and 0.16 in the book's ten networks, which have larger batches.",
        settings(gain=0.5, steps=4000),
    ),
    (
        "bumps_without_light",
        "Slow Gaussian, fast heavy",
        "Covariances as at g = 1/2, but slow noise is Gaussian and fast noise heavy-tailed. Bumps without light tails?",
        "Yes, as local as with light tails: 0.16 here, 0.17 in the book's ten networks. It is a contest of two tails.",
        settings(slow_tails="Gaussian", fast_tails="heavy", gain=0.5, steps=4000),
    ),
    (
        "unmade",
        "Slow Gaussian, fast light",
        "Slow noise stays Gaussian, and fast noise has the light tails. Are there bumps?",
        "No: 0.04 here and in the book's ten networks, less than where both are Gaussian. Light tails can unmake them.",
        settings(slow_tails="Gaussian", gain=0.5, steps=4000),
    ),
    (
        "waves",
        "Nearly Gaussian data",
        "The chapter's noise at g = 0.01: its values are nearly Gaussian. What becomes of the fields?",
        "No bump: negative biases have waves as long as the ring, positive ones oscillate.",
        settings(gain=0.01),
    ),
    (
        "constant",
        "A trained constant",
        "The first run, but the output also learns a constant. Do two kinds remain, and what keeps them in balance?",
        "They remain, but nothing keeps a balance: 27 to 13 here, 19 to 29 negative ones in the book's ten networks, "
        "all with bumps of the ratio 0.30. Begin with biases from ±1/2 and the share 0.9: it stays.",
        settings(constant="trained"),
    ),
    (
        "negative",
        "Only negative biases",
        "All biases are held at or below 0, and the constant 1/2 that is then missing is added. And the fields?",
        "All forty become bumps.",
        settings(biases="held to signs", positive=0, constant="0.5"),
    ),
]


def preset(key: str, label: str, ask: str, note: str, chosen: Settings) -> dict:
    """A preset with its run: numbers keep all bits; the last network is for drawing."""
    run = train(chosen)
    arrays = {"W": run.last.W.round(2), "b": run.last.b.round(3)}
    drawn = {name: values.ravel().tolist() for name, values in arrays.items()}
    book = {"values": measured(run), "arrays": drawn, "checksum": None}
    return {"key": key, "label": label, "ask": ask, "note": note, "settings": chosen, "run": book}


def recorded() -> list[dict]:
    """The presets with their runs, as `laboratories.show` embeds them.

    Cost: about a second, and five to compile.
    """
    return [preset(*one) for one in PRESETS]
