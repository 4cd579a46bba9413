r"""Theorem 2: runs of full-batch descent under a margin, held against the least-squares fits of the two half samples.

Inputs N(0, I_d) conditioned on $|x_1| \ge c\|x\|$, as drawn or whitened; labels $x_1 + \eta$; initialisation (8).  The
halves are $S_\pm = \{k : \pm x_{k1} > 0\}$, their fits $\beta_{n,\pm}$, and the *two fits* are the function
$\sigma(\langle\beta_{n,+}, x\rangle) - \sigma(-\langle\beta_{n,-}, x\rangle)$.  (Section 4.)
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import xarray as xr

from shallow import alignment
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.data import teachers
from shallow.nets import TwoLayer, dominated
from shallow.stats import stream
from shallow.train import flow

#: Margin, dimension, width, scale of the initialisation, step and flow time of the chapter's runs; ours.
MARGIN, DIMENSION, WIDTH, SCALE, STEP, TIME = 0.3, 3, 32, 1e-3, 0.05, 400
#: Relative distance below which a network is the two fits.
CLOSE = 1e-6


class Problem(NamedTuple):
    """Training inputs (n, d), labels (n,), the network at the start, and fresh inputs of the same law."""

    x: np.ndarray
    y: np.ndarray
    network: TwoLayer
    fresh: np.ndarray


def draw(
    seed: int,
    n: int,
    *,
    d: int = DIMENSION,
    m: int = WIDTH,
    scale: float = SCALE,
    c: float = MARGIN,
    whiten: bool = True,
    fresh: int = 1000,
    both_signs: bool = False,
) -> Problem:
    """The problem of one seed; data do not depend on m and scale, nor the network's directions on n and scale.

    With `both_signs` the last output weight of a network whose output weights all have one sign is flipped.
    """
    rng = stream("two fits", "data", seed, n, d)
    sample = teachers.labelled(rng, teachers.first_axis(d), teachers.with_margin(rng, n, d, c, whiten=whiten))
    network = dominated(stream("two fits", "network", seed, m, d), m, d, scale)
    if both_signs and abs(np.sign(network.v).sum()) == m:
        network.v[-1] *= -1
    return Problem(*sample, network, teachers.with_margin(stream("fresh", seed, d), fresh, d, c, whiten=whiten))


def fits(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    r"""$\beta_{n,+}$ and $\beta_{n,-}$, shape (2, d); of smallest norm where a half has fewer than d points."""
    return np.stack([np.linalg.lstsq(x[half], y[half])[0] for half in (x[:, 0] > 0, x[:, 0] < 0)])


def as_network(both: np.ndarray) -> TwoLayer:
    """The two fits (2, d) as a network of two neurons."""
    signs = np.array([1.0, -1.0])
    return TwoLayer(signs[:, None] * both, np.zeros(2), signs)


def sums(network: TwoLayer) -> np.ndarray:
    r"""$\beta_\pm = \sum_{\pm a_j > 0} a_j w_j$, shape (2, d)."""
    return np.stack([network.v[half] @ network.W[half] for half in (network.v > 0, network.v < 0)])


def distance(network: TwoLayer, other: TwoLayer, x: np.ndarray) -> float:
    """Root mean square of the difference of two functions at x, over that of the other's values."""
    values = other.forward(x)
    return float(np.linalg.norm(network.forward(x) - values) / np.linalg.norm(values))


def steps_of(time: float, step: float = STEP) -> int:
    return round(time / step)


def alignment_time(x: np.ndarray, y: np.ndarray, scale: float, epsilon: float | np.ndarray = 0.25) -> float:
    r"""$\tau = \varepsilon \ln(1/\lambda) / \|D\|$ with the larger of the $D = D_n(\pm\beta^*)$ (Lemma 3)."""
    first = np.eye(x.shape[1])[0]
    largest = np.linalg.norm(alignment.vector(x, y, np.stack([first, -first])), axis=1).max()
    return epsilon * np.log(1 / scale) / largest


@releases_gil
def outcome(seed: int, n: int, *, time: float = TIME, step: float = STEP, **setting) -> xr.Dataset:
    r"""The end of one run, held against the two fits.

    Returns:
        train, fresh: relative distances from the two fits on training and on fresh inputs.
        sums: largest $\|\beta_\pm - \beta_{n,\pm}\| / \|\beta_{n,\pm}\|$; beta: the two sums.
        loss_ratio: training loss over that of the two fits; both: whether both output signs are present.
        excess: mean of $(h(x) - x_1)^2$ over the fresh inputs; excess_fits: that of the two fits.
        late: how many patterns changed after the alignment time; last: flow time of the last change of a pattern.
    """
    x, y, network, fresh = draw(seed, n, **setting)
    run = flow.train(x, y, network, step=step, steps=steps_of(time, step))
    both, found = fits(x, y), sums(run.network)
    target = as_network(both)
    tau = alignment_time(x, y, setting.get("scale", SCALE))
    after = run.changes * step > tau
    return xr.Dataset(
        {
            "train": ((), distance(run.network, target, x)),
            "fresh": ((), distance(run.network, target, fresh)),
            "sums": ((), (np.linalg.norm(found - both, axis=1) / np.linalg.norm(both, axis=1)).max()),
            "loss_ratio": ((), 2 * run.loss[-1] / ((target.forward(x) - y) ** 2).mean()),
            "excess": ((), ((run.network.forward(fresh) - fresh[:, 0]) ** 2).mean()),
            "excess_fits": ((), ((target.forward(fresh) - fresh[:, 0]) ** 2).mean()),
            "beta": (("sign", "axis"), found),
            "both": ((), abs(np.sign(network.v).sum()) < network.width),
            "late": ((), run.changed[after].sum()),
            "last": ((), run.changes.max(initial=0) * step),
        }
    )


@releases_gil
def successes(n: int, m: int = WIDTH, *, seeds: int, **setting) -> xr.Dataset:
    """How many seeds, of those tried, end within `CLOSE` of the two fits."""
    ends = (outcome(seed, n, m=m, **setting) for seed in range(seeds))
    succeeded = sum(bool(max(end.train, end.fresh) <= CLOSE) for end in ends)
    return xr.Dataset({"tried": ((), seeds), "succeeded": ((), succeeded)})


@releases_gil
def failures(m: int, n: int, *, seeds: int) -> xr.Dataset:
    """Which runs end away from the two fits, training or fresh inputs, and which have output weights of both signs."""
    ends = [outcome(seed, n, m=m, fresh=200) for seed in range(seeds)]
    failed = [not max(end.train.item(), end.fresh.item()) <= CLOSE for end in ends]
    return xr.Dataset({"failed": ("seed", failed), "both": ("seed", [end.both.item() for end in ends])})


@releases_gil
def excess_of_run(seed: int, n: int, d: int) -> xr.Dataset:
    r"""Excess risk of a network of the whitened law, $\frac12\sum_\pm\|\beta_\pm - \beta^*\|^2$; and simulated."""
    end = outcome(seed, n, d=d, fresh=10_000)
    excess = ((end.beta.values - np.eye(d)[0]) ** 2).sum() / 2
    return xr.Dataset({"excess": ((), excess), "simulated": end.excess, "distance": end.train})


@releases_gil
def cones(
    whiten: bool, d: int, n: int, *, seeds: int, margin: float, directions: int = 100, trained: bool = False
) -> xr.Dataset:
    r"""Which vectors of a sample have the activation pattern of $\beta^*$, by seed; $c = \text{margin}\,\sqrt{3/d}$.

    fits: both $\beta_{n,\pm}$; pulls: both $D_n(\pm\beta^*)$; everywhere: also $D_n(w)$ for so many random directions
    w; and, where `trained`, succeeded: training ends at the two fits.
    """
    c, first = margin * (3 / d) ** 0.5, np.eye(d)[0]
    w = stream("directions", d).standard_normal((directions, d))
    found = {name: np.zeros(seeds, dtype=bool) for name in ("fits", "pulls", "everywhere", "succeeded")}
    for seed in range(seeds):
        x, y, *_ = draw(seed, n, d=d, c=c, whiten=whiten, m=2, fresh=1)
        pattern = x[:, 0] > 0
        pulls = alignment.vector(x, y, np.concatenate([[first, -first], w]))
        shared = ((x @ pulls.T > 0) == pattern[:, None]).all(axis=0)
        found["fits"][seed] = ((x @ fits(x, y).T > 0) == pattern[:, None]).all()
        found["pulls"][seed], found["everywhere"][seed] = shared[:2].all(), shared.all()
        if trained:
            end = outcome(seed, n, d=d, c=c, whiten=whiten)
            found["succeeded"][seed] = max(end.train, end.fresh) <= CLOSE
    return xr.Dataset({name: ("seed", flags) for name, flags in found.items() if trained or name != "succeeded"})


_scales = partial(Recipe, successes, fixed={"seeds": 20, "both_signs": True})
RECORDS: dict[str, Recipe] = {
    "two_fits_scales": _scales(
        {"n": [300, 1000, 10000], "m": [8, 32, 128, 1024], "scale": [0.3, 0.1, 0.03, 0.01, 0.001]},
        about="Runs that end at the two fits, by sample size, width and scale of the initialisation",
    ),
    "two_fits_ends": Recipe(
        outcome,
        {"n": [20, 100, 1000, 10_000], "whiten": [False, True], "time": [400, 800], "seed": range(20)},
        {"fresh": 10_000},
        "Where training ends, held against the two fits",
    ),
    "two_fits_failures": Recipe(
        failures,
        {"m": [2, 3, 4, 8, 32], "n": [20, 50, 100, 1000]},
        {"seeds": 400},
        "Runs that end away from the two fits, by width and sample size",
    ),
    "two_fits_linear": Recipe(
        outcome,
        {"n": [100, 300, 1000, 3000, 10_000, 100_000], "whiten": [False, True], "seed": range(100)},
        about="The two sums of trained networks, up to a hundred thousand points",
        agreement=Agreement(rounding=("train", "fresh", "sums")),
    ),
    "two_fits_excess": Recipe(
        excess_of_run,
        {"n": [300, 1000, 3000, 10_000, 30_000], "d": [2, 3, 5, 8], "seed": range(100)},
        about="Excess risk of trained networks, by sample size and dimension",
        agreement=Agreement(rounding=("distance",)),
    ),
    "two_fits_cones": Recipe(
        cones,
        {"whiten": [True, False], "d": [2, 3, 5, 8, 12], "n": [round(10 * 1.4**k) for k in range(13)]},
        {"seeds": 30, "margin": MARGIN, "trained": True},
        "Runs that end at the two fits, and what has the right pattern in their samples",
    ),
    "two_fits_cones_large": Recipe(
        cones,
        {"whiten": [True], "d": [2, 3, 5, 8, 12], "n": [round(10 * 1.4**k) for k in range(21)]},
        {"seeds": 50, "margin": MARGIN},
        "What has the right pattern in larger samples",
    ),
    "two_fits_scales_fine": _scales(
        {"n": [300, 1000, 3000], "m": [8, 32, 128], "scale": [0.4, 0.5, 0.6, 0.7, 1.0]},
        about="Runs that end at the two fits, between the scales 0.3 and 1",
    ),
    "two_fits_scales_large": _scales(
        {"n": [100_000], "m": [8, 32, 128], "scale": [0.3, 0.01]}, about="The same with a hundred thousand points"
    ),
}
