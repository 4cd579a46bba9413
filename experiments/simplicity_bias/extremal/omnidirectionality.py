"""Whether the neurons of a wide network keep pointing everywhere: ReLU against the smooth GeLU, with two inputs.

The largest angle free of neurons shrinks with the width as long as the directions of an infinitely wide network fill
the circle, and stops shrinking once they do not.  (Section 4.1.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from shallow import alignment, checks
from shallow.book.recipes import Recipe
from shallow.data import teachers
from shallow.nets import TwoLayer
from shallow.stats import stream
from shallow.train import plain

#: Flow times in units of $1/\|D_n(\beta^*)\|$ at which directions are looked at.
TIMES = (0.0, 5.0, 20.0)
ACTIVATIONS = ("relu", "gelu")
INITIALISATIONS = ("gaussian", "dominated", "equation 8")


def gaps(
    seed: int,
    *,
    activation: str,
    initialisation: str,
    n: int,
    m: int,
    scale: float = 1e-3,
    step: float = 0.1,
    times: Sequence[float] = TIMES,
) -> xr.Dataset:
    r"""Largest angular gaps between the directions $w_j / \|w_j\|$ at flow times $t / \|D_n(\beta^*)\|$.

    The initialisation is $(w_j, a_j) = \frac{\lambda}{\sqrt m} (\tilde w_j, \tilde a_j)$ with "dominated" $\tilde w_j$
    uniform in the unit disc and $\tilde a_j = \pm 1$, the same with another factor $\lambda$ on $w_j$ ("equation 8"),
    or all components standard normal ("gaussian").

    Returns, for every time: gap, the largest angle without a neuron, in radians; one_sign, the largest angle without
    a neuron of positive output weight; and loss, the mean square.

    Cost: O(n m) per step, float64; half a minute for GeLU, n = 100, m = 16384.
    """
    checks.one_of(ACTIVATIONS, activation=activation)
    sample, network = _draw(seed, n, m, scale, initialisation)
    first = np.linalg.norm(alignment.vector(*sample, np.eye(2)[0]))
    ends = np.round(np.array(times) / first / step).astype(int)
    options = {"step": step, "steps": ends[-1], "activation": activation, "rates": (1.0, 1.0, 0.0)}

    def look(now: TwoLayer) -> tuple[float, float]:
        return largest_gap(now.W), largest_gap(now.W[now.v > 0])

    run = plain.train(*sample, network, records=ends, measure=look, **options)
    gap, one_sign = zip(*run.values)
    columns = {"gap": gap, "one_sign": one_sign, "loss": 2 * run.loss}
    return xr.Dataset({name: ("time", np.array(column)) for name, column in columns.items()}, {"time": list(times)})


def largest_gap(directions: np.ndarray) -> float:
    """The largest angle (radians) between neighbours among vectors (m, 2), none of them zero; 2 pi for one vector."""
    angles = np.sort(np.arctan2(directions[:, 1], directions[:, 0]))
    return float(np.diff(angles, append=angles[0] + 2 * np.pi).max())


def _draw(seed: int, n: int, m: int, scale: float, initialisation: str) -> tuple[teachers.Sample, TwoLayer]:
    sample = teachers.gaussian(stream("omnidirectionality", "data", seed, n), teachers.first_axis(2), n)
    rng = stream("omnidirectionality", initialisation, seed, m)
    W = rng.standard_normal((m, 2))
    checks.one_of(INITIALISATIONS, initialisation=initialisation)
    if initialisation == "gaussian":
        a = rng.standard_normal(m)
    else:
        W *= (np.sqrt(rng.uniform(size=m)) / np.linalg.norm(W, axis=1))[:, None]
        W *= scale if initialisation == "equation 8" else 1.0
        a = rng.choice([-1.0, 1.0], m)
    return sample, TwoLayer(scale / m**0.5 * W, np.zeros(m), scale / m**0.5 * a)


BOTH = {"activation": list(ACTIVATIONS)}
STARTS = BOTH | {"initialisation": list(INITIALISATIONS)}
WIDTHS = [2**k for k in range(8, 15)]
RECORDS: dict[str, Recipe] = {
    "gaps": Recipe(
        gaps,
        STARTS | {"n": [20, 100], "m": WIDTHS, "seed": [0, 1, 2]},
        about="Largest angles without a neuron against the width, ReLU and GeLU",
    ),
    "gaps_wide": Recipe(
        gaps,
        STARTS | {"n": [20], "m": [2**15, 2**16], "seed": [0, 1, 2]},
        about="The same with few points and up to 65536 neurons",
    ),
    "gaps_draws": Recipe(
        gaps,
        BOTH | {"initialisation": ["gaussian"], "n": [20], "m": [2**k for k in range(12, 17)], "seed": [3, 4, 5]},
        about="Three more draws with few points and Gaussian weights, 4096 to 65536 neurons",
    ),
}
