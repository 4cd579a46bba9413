r"""How many points Theorem 2 needs, by dimension, variance of the noise and margin; and how many the fits need.

Inputs with margin c, whitened; labels $x_1 + \eta$ with noise of variance $\sigma^2$.  A run can end at the two fits
$\beta_{n,\pm}$ only if they have the activation pattern of $\beta^*$ on the sample: otherwise they are no rest point.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy import integrate, optimize
from scipy.special import ndtr

from experiments.simplicity_bias import two_fits
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import teachers
from shallow.nets import dominated
from shallow.stats import stream
from shallow.train import flow

SIZES = [round(10 * 1.4**k) for k in range(21)]


def right_pattern(x: np.ndarray, both: np.ndarray) -> bool:
    r"""Whether both fits, shape (2, d), are active on the points (n, d) on which $\beta^* = e_1$ is."""
    return bool(((x @ both.T > 0) == (x[:, 0] > 0)[:, None]).all())


@releases_gil
def needs(noise: float, c: float, d: int, n: int, *, seeds: int) -> xr.Dataset:
    """By seed: whether the two fits have the right pattern, and whether training ends at them.

    Training is run where the fits have the pattern; elsewhere they are no rest point, and the run counts as failed.
    The inputs of a seed do not depend on the noise, nor the network on n.
    """
    fits, succeeded = np.zeros((2, seeds), dtype=bool)
    for seed in range(seeds):
        x = teachers.with_margin(stream("points needed", seed, d, n, str(c)), n, d, c, whiten=True)
        y = teachers.labelled(stream("points needed", "noise", seed, d, n), teachers.first_axis(d), x, noise).y
        both = two_fits.fits(x, y)
        fits[seed] = right_pattern(x, both)
        if fits[seed]:
            network = dominated(stream("points needed", "network", seed, d), two_fits.WIDTH, d, two_fits.SCALE)
            run = flow.train(x, y, network, step=two_fits.STEP, steps=two_fits.steps_of(two_fits.TIME))
            succeeded[seed] = two_fits.distance(run.network, two_fits.as_network(both), x) <= two_fits.CLOSE
    return xr.Dataset({"fits": ("seed", fits), "succeeded": ("seed", succeeded)})


def wrong_points(n: float, noise: float, c: float, d: int) -> float:
    r"""Expected number of wrong signs of the two fits on the n points, 2n pairs in all, to first order.

    Along x the error of $\beta_{n,\pm}$ has the variance $2\sigma^2\|x\|^2/n$, so the number is $2n\,\mathbb
    E\,\Phi(-u\sqrt{n/2}/\sigma)$ with $u = |x_1|/\|x\| \ge c'$ of the whitened law.
    """
    first, other = teachers.variances(d, c)[:2]

    def law(angle: float) -> float:  # t = sin(angle) before whitening
        return np.cos(angle) ** (d - 2)

    def wrong(angle: float) -> float:
        along, across = np.sin(angle) / first**0.5, np.cos(angle) / other**0.5
        return law(angle) * ndtr(-along / np.hypot(along, across) * (n / 2 / noise) ** 0.5)

    ends = np.arcsin(c), np.pi / 2
    return 2 * n * integrate.quad(wrong, *ends, epsabs=1e-12)[0] / integrate.quad(law, *ends)[0]


def predicted(noise: float, c: float, d: int, enough: float = 0.9) -> float:
    r"""The n at which :func:`wrong_points` falls to $-\log(\text{enough})$; d points per half at least."""

    def over(log_n: float) -> float:
        return np.log(wrong_points(np.exp(log_n), noise, c, d) + 1e-300) - np.log(-np.log(enough))

    low = np.log(2.0 * d)
    return float(np.exp(low if over(low) < 0 else optimize.brentq(over, low, np.log(1e9), xtol=1e-4)))


RECORDS: dict[str, Recipe] = {
    "points_needed": Recipe(
        needs,
        {"noise": [0.09, 0.3, 1.0], "c": [0.1, 0.17, 0.3], "d": [2, 3, 5, 8, 12], "n": SIZES},
        {"seeds": 30},
        "Runs that end at the two fits, and fits with the right pattern, by noise, margin and dimension",
    ),
}
