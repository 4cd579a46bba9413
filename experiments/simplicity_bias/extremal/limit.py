r"""Near $\beta^*$ on the scale 1/n: the function that neurons climb, in the limit of many samples, in any dimension.

With $w = \beta^* + u/n$ the hyperplanes of the samples become a Poisson process: $h_k + \langle u, z_k\rangle = 0$ with
$z_k \sim N(0, I_{d-1})$ and $h_k$ at the rate $1/\sqrt{2\pi}$ on the line.  The gradient of $n^2 G_n$ is

.. math:: -\frac12 (u - u_0) + \sum_k \xi_k z_k \bigl(1\{h_k + \langle u, z_k\rangle > 0\} - 1\{h_k > 0\}\bigr),

with $|u_0|$ of order $\sqrt n$.  In the plane the number of its zeros is known (:func:`theory.cells`).
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.cluster import hierarchy

from shallow.book.recipes import Recipe, releases_gil
from shallow.stats import stream

#: Distance of the place from which the process is seen; distance, number and steps of the climbs; least distance.
FAR, AWAY, STARTS, STEPS, APART = 60.0, 15.0, 32, 400, 0.05


def hyperplanes(rng: np.random.Generator, d: int, sigma: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Normals z (K, d - 1), offsets h (K,) and noises (K,) of those that may come within 2 FAR of the origin."""
    reach = 2 * FAR * (d**0.5 + 4)
    K = rng.poisson(2 * reach / np.sqrt(2 * np.pi))
    z, h = rng.standard_normal((K, d - 1)), rng.uniform(-reach, reach, K)
    met = np.abs(h) < 2 * FAR * np.linalg.norm(z, axis=1)
    return z[met], h[met], sigma * rng.standard_normal(met.sum())


def gradient(u: np.ndarray, z: np.ndarray, h: np.ndarray, xi: np.ndarray, seen: np.ndarray, centre: np.ndarray):
    """The gradient at u (S, d - 1); `seen` are the activities at the place from which the process is seen."""
    return -0.5 * (u - centre) + ((h + u @ z.T > 0) * 1.0 - seen) * xi @ z


def climbed(d: int, sigma: float, rng: np.random.Generator) -> np.ndarray:
    """Ends of climbs from random starts at the distance AWAY of where the gradient is near zero, (S, d - 1)."""
    z, h, xi = hyperplanes(rng, d, sigma)
    far = np.eye(d - 1)[0] * FAR
    seen = h + z @ far > 0
    centre = np.zeros(d - 1)
    middle = np.zeros((1, d - 1))
    for k in range(STEPS):  # find the place
        middle = middle + 2 / (1 + k / 20) * gradient(middle, z, h, xi, seen, centre)
    ways = rng.standard_normal((STARTS, d - 1))
    u = middle + AWAY * ways / np.linalg.norm(ways, axis=1, keepdims=True)
    for k in range(STEPS):
        u = u + 0.5 / (1 + k / 10) * gradient(u, z, h, xi, seen, centre)
    return u


@releases_gil
def directions(d: int, noise: float, *, draws: int) -> xr.Dataset:
    """By draw: to how many places the climbs lead, by linkage below APART, and how far these are apart at most."""
    number, spread = np.zeros(draws, np.int16), np.zeros(draws, np.float32)
    for draw in range(draws):
        u = climbed(d, noise**0.5, stream("limit of the extremal vectors", d, str(noise), draw))
        labels = hierarchy.fcluster(hierarchy.linkage(u, "single"), APART, "distance")
        number[draw], spread[draw] = labels.max(), np.linalg.norm(u - u.mean(axis=0), axis=1).max()
    return xr.Dataset({"number": ("draw", number), "spread": ("draw", spread)})


RECORDS: dict[str, Recipe] = {
    "limit_directions": Recipe(
        directions,
        {"d": [2, 3, 5], "noise": [0.09]},
        {"draws": 4000},
        "To how many directions neurons of one sign turn, in the limit of many samples",
    ),
}
