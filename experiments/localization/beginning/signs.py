r"""What the signs of biases hang on: the standard network with its classes exchanged, and with biases held at 0.

Source: note on localized receptive fields, Section 2, "Frequency specialization" and the remark on the bias after (10).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from experiments.localization import networks
from experiments.localization.scores import points
from shallow import receptive_fields as fields
from shallow.book.recipes import Recipe, releases_gil
from shallow.data.nlgp import circulant

CHANGES = {
    "none": {},
    "exchanged": {"lengths": networks.LENGTHS[::-1]},
    "no bias": {"bounds": (0.0, 0.0)},
}


@releases_gil
def altered(seed: int, gain: float, change: str, *, steps: Sequence[int] = (100, networks.STEPS)) -> xr.Dataset:
    """A standard network with a change of :data:`CHANGES`, from the start and with the batches of its seed.

    Loss and accuracy are those at the threshold 0 on 10,000 test points.

    Cost: 0.5 s of one core.
    """
    options = CHANGES[change]
    run = networks.train([seed], [gain], steps=steps[-1], records=np.array(steps), **options)
    given = points(seed, networks.pair(gain, lengths=options.get("lengths", networks.LENGTHS)))
    outputs = np.stack([run.snapshot(step).forward(given.x)[0] for step in steps])
    found = {
        "b": (("step", "neuron"), run.b[0]),
        "frequency": (("step", "neuron"), fields.mean_frequency(run.W[0])),
        "loss": ("step", ((outputs - given.y) ** 2).mean(axis=1) / 2),
        "accuracy": ("step", ((outputs > 0) == (given.y > 0)).mean(axis=1)),
    }
    return xr.Dataset(
        {name: (dims, values.astype(np.float32)) for name, (dims, values) in found.items()}, {"step": list(steps)}
    )


def variance_gaps(W: np.ndarray, gain: float) -> np.ndarray:
    r"""$v_0 - v_1$ of fields (..., n), $v_i = w^\top\Sigma_i w$ with the covariance of X; shape (...)."""
    slow, fast = (circulant(process.covariance) for process in networks.pair(gain))
    W = np.asarray(W, dtype=np.float64)
    return np.einsum("...n,nm,...m->...", W, fast - slow, W)


RECORDS: dict[str, Recipe] = {
    "altered": Recipe(
        altered,
        {"change": list(CHANGES), "gain": [0.01, 3.0], "seed": list(range(10))},
        about="Ten standard networks, with the classes exchanged, and with biases held at 0",
        shortened={"steps": [100]},
    ),
}
