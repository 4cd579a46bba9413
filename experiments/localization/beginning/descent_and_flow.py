r"""The first steps of training beside their closed form, and what the initial weights know of the end.

At the start, descent of the loss (2) follows the gradient flow of the absolute loss, in which the neurons do not see
each other; with the coupling between them the flow is that of (2) for all times, if the data are Gaussian
(:mod:`experiments.localization.gaussian_flow`).  For other data the covariances of X are put into the same formulas.
Source: note on localized receptive fields, Section 2 ("More on this later") and equations (28) to (34).
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.localization import gaussian_flow, networks
from shallow import receptive_fields as fields
from shallow.book.recipes import Recipe, releases_gil
from shallow.data.nlgp import circulant
from shallow.stats import stream
from shallow.train import online

#: The steps that :func:`early` and :func:`fates` look at.
EARLY = (0, 10, 25, 50, 100, 200, 400)
AHEAD = (25, 100, 500, 2000)
#: The frequencies in which the first class has more power than the second, for lengths (2, 1) on 40 points.
LOW = 6
#: Seeds of networks that no rule was chosen on.
FRESH = list(range(100, 150))


@releases_gil
def early(
    seed: int,
    gain: float,
    loss: str,
    *,
    width: int = 400,
    rate: float = 50.0,
    batch: int = 4000,
    steps: int = EARLY[-1],
) -> xr.Dataset:
    """Descent of the "square" or the "absolute" loss and the two flows from one start, at :data:`EARLY` up to a step.

    The flows are taken at time rate x step; low is the share of a field in frequencies up to :data:`LOW`.

    Cost: 4 s of one core for the defaults.
    """
    kept = [step for step in EARLY if step <= steps]
    pair, start = networks.pair(gain), networks.starts([seed], width)
    rngs = [stream("localization", "batches", seed)]
    run = online.train(start, pair, rngs=rngs, rate=rate, steps=kept[-1], batch=batch, loss=loss, records=kept)
    flows = [_flow(start.W[0].astype(float), pair, rate * np.array(kept, float), coupled) for coupled in (False, True)]
    found = {
        "b": (("step", "neuron"), run.b[0]),
        "b_flow": (("flow", "step", "neuron"), np.stack([flow.b for flow in flows])),
        "low": (("step", "neuron"), fields.low_share(run.W[0], LOW)),
        "low_flow": (("flow", "step", "neuron"), np.stack([fields.low_share(flow.W, LOW) for flow in flows])),
    }
    return _single(found, {"step": kept, "flow": ["alone", "coupled"]})


@releases_gil
def fates(seed: int, gain: float, *, steps: int = networks.STEPS) -> xr.Dataset:
    """A standard network trained twice from one start on different batches, and what its initial weights predict.

    At the steps of :data:`AHEAD` up to the last one.  v are the variances of the pre-activations at the start, under
    either class; places and signs of a flow are those of the field seen through the covariance of the first class,
    which smooths.

    Cost: 1 s of one core.
    """
    pair, start = networks.pair(gain), networks.starts([seed])
    kept, rate = [step for step in AHEAD if step <= steps], start.width / 2
    rngs = [stream("localization", name, seed) for name in ("batches", "other batches")]
    run = online.train(start[[0, 0]], pair, rngs=rngs, rate=rate, steps=kept[-1], records=kept)
    W, covariances = start.W[0].astype(float), [circulant(process.covariance) for process in pair]
    flows = [_flow(W, pair, rate * np.array(kept, float), coupled) for coupled in (False, True)]
    dims, dims_flow = ("run", "step", "neuron"), ("flow", "step", "neuron")
    found = {"v": (("label", "neuron"), [np.einsum("kn,nm,km->k", W, covariance, W) for covariance in covariances])}
    found |= _looked_at(run.b, run.W, run.W, dims)
    b, W = (np.stack([getattr(flow, name) for flow in flows]) for name in ("b", "W"))
    found |= {f"{name}_flow": entry for name, entry in _looked_at(b, W, W @ covariances[0], dims_flow).items()}
    return _single(found, {"label": [1, -1], "flow": ["alone", "coupled"], "step": kept})


def _looked_at(b: np.ndarray, W: np.ndarray, seen: np.ndarray, dims: tuple[str, ...]) -> dict:
    """Biases, localisation of the fields, and place and sign of the largest entry of the fields as they are seen."""
    return {
        "b": (dims, b),
        "ipr": (dims, fields.inverse_participation_ratio(W)),
        "peak": (dims, np.abs(seen).argmax(axis=-1).astype(np.int16)),
        "sign": (dims, fields.peak_sign(seen).astype(np.int8)),
    }


def _flow(W: np.ndarray, pair: online.Pair, times: np.ndarray, coupled: bool) -> gaussian_flow.Flow:
    covariances = [circulant(process.covariance) for process in pair]
    return gaussian_flow.integrate(W, np.zeros(len(W)), *covariances, times, coupled=coupled, tolerance=1e-6)


def _single(found: dict, coords: dict) -> xr.Dataset:
    """A dataset with its fractions in float32."""
    arrays = {name: (dims, np.asarray(values)) for name, (dims, values) in found.items()}
    single = {name: a.astype(np.float32) if a.dtype == float else a for name, (_, a) in arrays.items()}
    return xr.Dataset({name: (dims, single[name]) for name, (dims, _) in arrays.items()}, coords)


RECORDS: dict[str, Recipe] = {
    "first_steps": Recipe(
        early,
        {"loss": ["square", "absolute"], "gain": [0.01, 3.0], "seed": list(range(3))},
        about="400 neurons, 400 steps: descent beside the closed-form equations of the start",
        shortened={"steps": 25},
    ),
    "fates": Recipe(
        fates,
        {"gain": [0.01, 1.0, 3.0], "seed": FRESH},
        about="Standard networks trained twice from one start, and what the start predicts",
        shortened={"steps": 25},
    ),
}
