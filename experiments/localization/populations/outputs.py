r"""Networks with another output: a constant that is trained or held, a trained read-out, a logistic activation.

What we expect, written down before the runs.  A trained constant makes the mean output zero, so that biases rest at
$b_*$ (:mod:`.rest`) and the localisation of negative fields no longer depends on their number; a constant held at 1/4
or -1/4 moves biases by the formula, in opposite directions.  If it is the missing constant that balances populations,
networks that begin out of balance stay there once it is trained; two populations there are with it as without it.  All
networks of a seed have the same initial weights and the same batches.
Source: note on localized receptive fields, equation (1), Section 2, and the author's public code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from experiments.localization import networks
from experiments.localization.populations import rest
from experiments.localization.populations.cells import apart, population
from experiments.localization.scores import Points, points, scores
from shallow import receptive_fields as fields
from shallow.book.recipes import Recipe
from shallow.data.nlgp import Process
from shallow.stats import stream
from shallow.train import whole_committee
from shallow.train.whole_committee import Machine, Rates

SIDES = {"minus": -1, "plus": 1}


@dataclass(frozen=True)
class Output:
    """How a network differs from the standard one.

    Attributes:
        constant: c at the start.
        learns: "c", "a", both or none, beside weights and biases.
        positive: of forty biases that begin at 1/2, the others beginning at -1/2; all begin at 0 if None.
        side: biases are held at 0 or above (+1), at 0 or below (-1), or are free (0).
        neurons: that take part, of forty; each moves as fast as one of forty.
        logistic: logistic neurons, labels 1 and 0, and the author's rate, which is 40 with the factor 1/2 in the loss;
            four times as many steps.
    """

    constant: float = 0.0
    learns: str = ""
    positive: int | None = None
    side: int = 0
    neurons: int = networks.WIDTH
    logistic: bool = False


OUTPUTS = {
    "none": Output(),
    "constant": Output(learns="c"),
    "held +1/4": Output(0.25),
    "held -1/4": Output(-0.25),
    "plus": Output(-0.5, "c", side=1),
    "plus, 17": Output(-0.5, "c", side=1, neurons=17),
    "minus": Output(0.5, "c", side=-1),
    "minus, 23": Output(0.5, "c", side=-1, neurons=23),
    **{f"begun {m}": Output(learns="c", positive=m) for m in (0, 10, 30, 40)},
    "read-out": Output(learns="a"),
    "read-out, constant": Output(learns="ac"),
    "logistic": Output(logistic=True),
    "logistic, constant": Output(learns="c", logistic=True),
}


def trained(output: Output, seed: int, gain: float, steps: Sequence[int]) -> list[Machine]:
    """The network of an output at some steps of its training."""
    start, K = networks.starts([seed]), networks.WIDTH
    a = np.where(np.arange(K) < output.neurons, K / output.neurons, 0).astype(np.float32)
    eta, longer = (2.0 * networks.WIDTH / 2, 4) if output.logistic else (output.neurons / 2, 1)
    pace = eta / output.neurons  # of one neuron, and of the constant
    rates = Rates(eta, eta, eta * ("a" in output.learns), pace * ("c" in output.learns))
    b = start.b[0] if output.positive is None else np.where(np.arange(K) < output.positive, 0.5, -0.5)
    machine = Machine(start.W[0], b.astype(np.float32), a, output.constant, "logistic" if output.logistic else "erf")
    return whole_committee.train(
        machine,
        networks.pair(gain),
        rng=stream("localization", "batches", seed),
        rates=rates,
        steps=[longer * step for step in steps],
        labels=(1.0, 0.0) if output.logistic else (1.0, -1.0),
        bounds=((0.0 if output.side > 0 else -np.inf), (0.0 if output.side < 0 else np.inf)),
    )


def outputs(seed: int, gain: float, *, steps: Sequence[int] = (50, 4000)) -> xr.Dataset:
    """All :data:`OUTPUTS` of one seed at some steps: scores, constant, biases, and what each population is like.

    Cost: 88,000 steps of 0.4 ms for 4000.
    """
    pair = networks.pair(gain)
    given = points(seed, pair)
    found = [
        xr.concat([measured(network, pair, given) for network in trained(output, seed, gain, steps)], "step")
        for output in OUTPUTS.values()
    ]
    table = xr.concat(found, "output").transpose("step", "output", ...)
    return table.assign_coords(step=list(steps), output=list(OUTPUTS), side=list(SIDES)).astype(np.float32)


def measured(network: Machine, pair: tuple[Process, Process], given: Points) -> xr.Dataset:
    """One network: scores, with outputs of a logistic one taken to the labels +1 and -1, and medians by population.

    right and away are shares of its neurons: see :func:`.cells.apart`.
    """
    x = [np.concatenate(halves) for halves in zip(*(np.split(one, 2) for one in (given.x, given.fitting_x)))]
    there = network.a != 0
    y, fitting = (network.forward(one) for one in (given.x, given.fitting_x))
    if network.activation == "logistic":
        y, fitting = 2 * y - 1, 2 * fitting - 1
    table = {name: value[0] for name, value in scores(y[None], fitting[None], given).items() if value.ndim == 1}
    by_neuron = {name: values[there] for name, values in neurons(network, pair, *x).items()}
    b = network.b[there]
    signs = population(b)
    away, right = apart(b, by_neuron["frequency"])
    table |= {"c": network.c, "away": away, "right": right}
    for name, values in by_neuron.items():
        table[name] = ("side", [np.median(values[signs == s]) if s in signs else np.nan for s in SIDES.values()])
    errors = [np.abs(by_neuron["error"][signs == sign]).max(initial=0.0) for sign in SIDES.values()]
    table |= {"count": ("side", [(signs == sign).sum() for sign in SIDES.values()]), "largest_error": ("side", errors)}
    return xr.Dataset(table)


def neurons(network: Machine, pair: tuple[Process, Process], first: np.ndarray, second: np.ndarray) -> dict:
    """Shape of every field, its read-out, and where its bias rests (K,); the last for erf networks alone."""
    shape = {
        "ipr": fields.inverse_participation_ratio(network.W),
        "frequency": fields.mean_frequency(network.W),
        "a": network.a,
    }
    if network.activation == "erf":
        return shape | rest.resting(network, pair, first, second)._asdict()
    return shape | dict.fromkeys(rest.Rest._fields, np.full(len(network.b), np.nan))


RECORDS: dict[str, Recipe] = {
    "outputs": Recipe(
        outputs,
        {"gain": [0.01, 3.0], "seed": list(range(10))},
        {"steps": [50, 4000]},
        "A trained constant, alone and for one population; a held one; trained read-out; logistic neurons",
        shortened={"steps": [50]},
    ),
}
