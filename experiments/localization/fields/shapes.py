r"""What trained fields look like: localised or not, how well bumps and Gabor functions fit, growth on the fine ring.

The fine ring has 400 pixels and the lengths (20, 10), ten times those of the standard network: the ring of the
document's Figure 1.  Its data have no power above some 60 cycles, where the initial weights stay for ever; shape is
measured below (:data:`EXCITED`).  Its rate is a tenth; that is the pace of the weights, and the biases are slower.
Source: note on localized receptive fields, Section 2, "Localization", "A cheat" and "Difference in means".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from experiments.localization import networks
from experiments.localization.fields import gabor
from experiments.localization.fields.shaping import RECORDED
from shallow import receptive_fields as fields
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.stats import stream

QUARTER = networks.N // 4
#: Cycles per ring up to which the data of the fine ring have power.
EXCITED = 60
#: Steps at which spectra and examples are kept.
SHOWN = (0, 100, 200, 400, 1000, 4000)


def measured(W: np.ndarray) -> dict[str, np.ndarray]:
    """Of fields (K, n) localisation, mean frequency, and fits: R^2 of both models, and their shapes.

    window is the largest share of the energy in a quarter of the ring.
    """
    fits = {model: gabor.fit(W, model) for model in gabor.MODELS}
    return {
        "ipr": fields.inverse_participation_ratio(W),
        "window": fields.window_share(W, W.shape[1] // 4),
        "frequency": fields.mean_frequency(W),
        "bump": fits["bump"].r2,
        "gabor": fits["gabor"].r2,
        "carrier": fits["gabor"].carrier,
        "width": fits["gabor"].width,
        "bump_width": fits["bump"].width,
    }


def fitted(seed: int, gain: float, *, steps: Sequence[int] = (100, networks.STEPS)) -> xr.Dataset:
    """Biases and what is :func:`measured` of a standard network's fields, of its initial ones and of white noise.

    Cost: 3 s.
    """
    run = networks.train([seed], [gain], steps=steps[-1], records=np.array([0, *steps]))
    noise = stream("localization", "noise fields", seed).standard_normal((networks.WIDTH, networks.N))
    found = [measured(W.astype(np.float64)) for W in (noise, *run.W[0])]
    table = {name: np.stack([one[name] for one in found]) for name in found[0]}
    table["b"] = np.stack([np.full(networks.WIDTH, np.nan), *run.b[0]])
    columns = {name: (("of", "neuron"), values.astype(np.float32)) for name, values in table.items()}
    return xr.Dataset(columns, {"of": ["noise", "start", *(f"step {step}" for step in steps)]})


@releases_gil
def grown(seed: int, gain: float, *, finer: int = 1, steps: int = RECORDED[-1], whole: bool = True) -> xr.Dataset:
    """A standard network over time, or one on a ring so many times finer.

    Args:
        whole: also what depends on the last step, `cosine`, `power` and `example`.

    Returns:
        b, norm, high (share of the energy above 10 cycles, of that up to :data:`EXCITED`), noise (share above that),
            ipr (times `finer`, so that fields of one shape have one value), cosine (with the field at the end);
        power of k cycles over that of the whole field, mean over the neurons of a final sign; example: the first three
            fields that end with a negative bias.

    Cost: 1 s of one core, 10 s on 400 pixels.
    """
    pixels, records = finer * networks.N, [step for step in RECORDED if step <= steps]
    run = networks.train(
        [seed],
        [gain],
        networks=networks.starts([seed], networks.WIDTH, pixels),
        lengths=tuple(finer * xi for xi in networks.LENGTHS),
        rate=networks.WIDTH / 2 / finer,
        steps=steps,
        records=records,
    )
    W, table = run.W[0].astype(np.float64), ("step", "neuron")
    smooth, kept = fields.low_pass(W, EXCITED), fields.low_share(W, EXCITED)
    found = {
        "b": (table, run.b[0]),
        "norm": (table, np.linalg.norm(W, axis=-1)),
        "high": (table, 1 - fields.low_share(W, QUARTER) / kept),
        "noise": (table, 1 - kept),
        "ipr": (table, finer * fields.inverse_participation_ratio(smooth)),
    }
    coords: dict = {"step": records}
    if whole:
        norms = np.linalg.norm(smooth, axis=-1)
        shown = [records.index(step) for step in SHOWN if step <= steps]
        power = np.abs(np.fft.rfft(W[shown])) ** 2
        power = (power / power.sum(axis=-1, keepdims=True))[..., : 2 * EXCITED + 1]
        sides = [run.b[0, -1] < 0, run.b[0, -1] > 0]
        found |= {
            "cosine": (table, np.einsum("skn,kn->sk", smooth, smooth[-1]) / norms / norms[-1]),
            "power": (("shown", "side", "k"), np.stack([power[:, side].mean(axis=1) for side in sides], axis=1)),
            "example": (("shown", "some", "pixel"), W[shown][:, np.flatnonzero(sides[0])[:3]]),
        }
        coords |= {"shown": [records[i] for i in shown], "side": [-1, 1]}
    return xr.Dataset({name: (dims, values.astype(np.float32)) for name, (dims, values) in found.items()}, coords)


# Records.  A cell is verified by its first steps: the rounding of one processor grows with the thousands of steps.

RECORDS: dict[str, Recipe] = {
    "shapes_at_ends": Recipe(
        fitted,
        {"gain": [0.01, 3.0], "seed": list(range(10))},
        about="Ten standard networks at both gains: localisation, and fits of bumps and Gabor functions",
        shortened={"steps": [100]},
        agreement=Agreement(rounding=("width",)),  # of a field without an end, a thousand rings: rounding decides
    ),
    "growth": Recipe(
        grown,
        {"gain": [0.01, 3.0], "seed": list(range(10))},
        about="Norms, shapes and spectra of the fields over time, ten standard networks at both gains",
        agreement=Agreement(rounding=("noise",)),  # this ring has no cycles beyond `EXCITED`
        shortened={"steps": 100, "whole": False},
    ),
    "growth_400": Recipe(
        grown,
        {"gain": [3.0], "seed": list(range(5))},
        {"finer": 10},
        "The same on the ring of 400 pixels",
        shortened={"steps": 20, "whole": False},
    ),
}
