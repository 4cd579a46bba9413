r"""Early alignment: the first stage of training from small weights, in which neurons turn and hardly grow.

It is looked at after the flow time $\tau(\varepsilon) = \varepsilon \ln(1/\lambda) / \|D\|$, D the larger of
$D_n(\pm\beta^*)$; after it $|a_j|$ has grown at most like $\lambda^{-\varepsilon}$.  (Section 2.3 and Lemma 3.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.cluster import hierarchy

from experiments.simplicity_bias import two_fits
from experiments.simplicity_bias.extremal import cells as extremal
from shallow import alignment, nets
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import teachers
from shallow.nets import TwoLayer
from shallow.stats import stream
from shallow.train import flow

#: A neuron has the direction of an extremal vector if the cosine is larger; it is unaligned if it is smaller.
ALIGNED, UNALIGNED = 0.99, 0.9
#: Steps before a graded run doubles its step.
STAGE = 8


class Path(NamedTuple):
    """A run: flow times (R,), states W (R, m, d) and v (R, m) at them, and times at which patterns changed (C,)."""

    times: np.ndarray
    W: np.ndarray
    v: np.ndarray
    changes: np.ndarray


def path(
    x: np.ndarray, y: np.ndarray, network: TwoLayer, until: float, *, step: float, first: float | None = None
) -> Path:
    """Every state of a run up to the flow time `until`, in whole steps; the `first` ones are doubled up to `step`."""
    size, time, parts = first or step, 0.0, [Path(np.zeros(1), network.W[None], network.v[None], np.empty(0))]
    while True:
        left = round((until - time) / size)
        steps = left if 2 * size > step else min(STAGE, left)
        run = flow.train(x, y, network, step=size, steps=steps, records=1)
        parts.append(Path(time + size * run.steps[1:], run.W[1:], run.v[1:], time + size * run.changes))
        network, time = run.network, time + size * steps
        if steps == left:
            return Path(*map(np.concatenate, zip(*parts)))
        size *= 2


def pulls(x: np.ndarray, y: np.ndarray, sides: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""$D_n(\beta^*)$ for neurons with positive `sides` (m,), else $D_n(-\beta^*)$: unit vectors (m, d), norms (m,)."""
    both = alignment.vector(x, y, np.array([[1.0], [-1.0]]) * np.eye(x.shape[1])[0])
    norms = np.linalg.norm(both, axis=1)
    which = np.where(sides > 0, 0, 1)
    return (both / norms[:, None])[which], norms[which]


@releases_gil
def under_margin(
    seed: int,
    n: int,
    *,
    scale: float,
    whiten: bool,
    epsilon: float = 0.25,
    step: float = two_fits.STEP,
    first: float | None = None,
    time: float | None = None,
) -> xr.Dataset:
    r"""One run of the setting of Theorem 2 up to $\tau$, or to the flow time `time`.

    Returns:
        turn: median angle between $w_j(0)$ and $w_j(\tau)$; ratio, size: largest growth of $|a_j|$ and of $(w_j, a_j)$.
        misaligned: largest $1 - \cos$ of the angle from $w_j$ to $D_n(\beta^*)$, or $-D_n(-\beta^*)$ for $a_j < 0$.
        unbalanced: largest $1 - \langle w_j / a_j, D / \|D\| \rangle$; tanh: largest distance of the product from
            $\tanh(\|D\| t)$ at all $t \le \tau$.
        entered: flow time of the last change of a pattern if then every neuron has that of $\pm\beta^*$, else NaN.
        loss: over that at the start.
    """
    x, y, network, _ = two_fits.draw(seed, n, scale=scale, whiten=whiten, fresh=1, both_signs=True)
    tau = two_fits.alignment_time(x, y, scale, epsilon) if time is None else time
    times, W, v, changes = path(x, y, network, tau, step=step, first=first)
    D, norms = pulls(x, y, network.v)
    along = np.einsum("tjd,jd->tj", W, D)
    across = np.linalg.norm(W[-1] - along[-1][:, None] * D, axis=1)
    lengths = np.linalg.norm(W, axis=2)
    signs = np.sign(network.v)
    cosine = signs * along[-1] / lengths[-1]
    in_cone = np.array_equal(W[-1] @ x.T > 0, signs[:, None] * x[:, 0] > 0)
    start, end = (np.hypot(lengths[t], v[t]) for t in (0, -1))
    turned = np.einsum("jd,jd->j", W[0], W[-1]) / lengths[0] / lengths[-1]
    return xr.Dataset(
        {
            "turn": np.median(np.arccos(np.clip(turned, -1, 1))),
            "ratio": np.abs(v[-1] / v[0]).max(),
            "size": (end / start).max(),
            "misaligned": np.where(cosine > 0, (across / lengths[-1]) ** 2 / (1 + cosine), 1 - cosine).max(),
            "unbalanced": (1 - along[-1] / v[-1]).max(),
            "tanh": np.abs(along / v - np.tanh(norms * times[:, None])).max(),
            "entered": changes.max(initial=0.0) if in_cone else np.nan,
            "loss": np.sum((TwoLayer(W[-1], network.b, v[-1]).forward(x) - y) ** 2)
            / np.sum((network.forward(x) - y) ** 2),
            "tau": times[-1],
        }
    )


@releases_gil
def toward_extremal(
    seed: int,
    n: int,
    *,
    scale: float,
    m: int = 1000,
    exponents: Sequence[float] = (0.0, 1 / 3, 2 / 3),
    step: float = two_fits.STEP,
    shuffled: bool = False,
) -> xr.Dataset:
    r"""Shares of neurons along extremal vectors at $\tau(\varepsilon)$, two Gaussian inputs, no margin.

    Initialisation (2) with domination: $\tilde a_j = \pm 1$ and $\tilde w_j$ uniform in the unit disc.

    Returns, for every exponent: share of the neurons that see data with a cosine above 0.99 to $\mathrm{sign}(a_j)$
    times some non-zero extremal vector; ratio, the largest $|a_j(\tau)| / |a_j(0)|$; and dead, how many see no data.
    """
    rng = stream("toward extremal", seed, n)
    x, y = teachers.gaussian(rng, teachers.first_axis(2), n)
    y = rng.permutation(y) if shuffled else y
    found = extremal.circle(x, y)
    D = found.vectors[found.kinds != 0]
    D = D / np.linalg.norm(D, axis=1, keepdims=True)
    start = nets.dominated(stream("toward extremal", "network", seed), m, 2, scale)
    network = start = TwoLayer(start.W / scale, start.b, start.v)
    shares, ratios, dead, taken = [], [], [], 0
    for exponent in exponents:
        end = round(two_fits.alignment_time(x, y, scale, exponent) / step)
        network = flow.train(x, y, network, step=step, steps=end - taken).network
        taken = end
        alive = (network.W @ x.T > 0).any(axis=1)
        w = np.sign(network.v)[:, None] * network.W / np.linalg.norm(network.W, axis=1, keepdims=True)
        shares.append(((w @ D.T).max(axis=1) > ALIGNED)[alive].mean())
        ratios.append(np.abs(network.v / start.v).max())
        dead.append((~alive).sum())
    columns = {"share": shares, "ratio": ratios, "dead": dead}
    return xr.Dataset(
        {name: ("exponent", np.array(column, float)) for name, column in columns.items()} | {"vectors": len(D)},
        {"exponent": list(exponents)},
    )


@releases_gil
def unaligned(
    seed: int,
    *,
    n: int,
    deviation: float,
    d: int = 5,
    m: int = 10_000,
    step: float = 0.1,
    exponents: Sequence[float] = (0.0, 1 / 6, 1 / 3),
) -> xr.Dataset:
    r"""Shares of neurons with $|\cos(w_j, D_n(w_j))| < 0.9$ at $\tau(\varepsilon)$, all weights Gaussian at the start.

    The `deviation` s of every component gives $\lambda = s \sqrt m$ by eq. (2).

    Returns, for every exponent: fraction; and ideal, the fraction if every neuron had been moved by the one vector
    $D_n(\pm\beta^*)$ of its half space, in closed form from the same start.

    Cost: O(n m d) per step: half a second at n = 10000.
    """
    x, y = teachers.gaussian(stream("unaligned", seed, n), teachers.first_axis(d), n)
    network = start = nets.small(stream("unaligned", "network", seed), m, d, deviation)
    scale = min(deviation * m**0.5, 1.0)
    D, norms = pulls(x, y, start.W[:, 0])
    fractions, ideals, taken = [], [], 0
    for exponent in exponents:
        end = round(two_fits.alignment_time(x, y, scale, exponent) / step)
        network = flow.train(x, y, network, step=step, steps=end - taken).network
        taken = end
        own = np.concatenate([alignment.vector(x, y, part) for part in np.array_split(network.W, 50)])
        cosine = np.einsum("jd,jd->j", network.W, own) / np.linalg.norm(network.W, axis=1) / np.linalg.norm(own, axis=1)
        fractions.append((np.abs(cosine) < UNALIGNED).mean())
        along = np.einsum("jd,jd->j", start.W, D)
        rest = np.linalg.norm(start.W - along[:, None] * D, axis=1)
        grown, shrunk = (along + start.v) * (1 + step * norms) ** end, (along - start.v) * (1 - step * norms) ** end
        along = (grown + shrunk) / 2
        ideals.append((np.abs(along) / np.hypot(along, rest) < UNALIGNED).mean())
    columns = {"fraction": ("exponent", np.array(fractions)), "ideal": ("exponent", np.array(ideals))}
    return xr.Dataset(columns, {"exponent": list(exponents)})


def grouped(directions: np.ndarray, angle: float) -> np.ndarray:
    """Sizes of the clusters of unit vectors (m, d) by single linkage below an angle in radians, largest first."""
    tree = hierarchy.linkage(directions, method="single")
    labels = hierarchy.fcluster(tree, 2 * np.sin(angle / 2), criterion="distance")
    return np.sort(np.bincount(labels)[1:])[::-1]


def aligned(
    seed: int,
    n: int,
    start: str,
    d: int = 5,
    m: int = 1000,
    scale: float = 1e-6,
    power: float = 0.5,
    step: float = 0.05,
    angles: tuple[float, ...] = (0.02, 0.05, 0.1),
) -> xr.Dataset:
    r"""Clusters of the directions of all neurons, at the start and at $\tau$ with $\varepsilon$ = `power`.

    Gaussian inputs, linear teacher $e_1$; `start` is "dominated", the initialisation (8) of scale $\lambda$, or
    "gaussian", every component $N(0, \lambda^2/m)$.  Variables: `clusters`, their number, and `in_two`, the share of
    the neurons in the two largest, by linkage angle; `growth` of the largest $|a_j|$; `output`, the largest $|h(x_k)|$
    at $\tau$, small as long as the neurons do not interact.
    """
    rng = stream("aligned network", start, d, n, seed)
    sample = teachers.gaussian(stream("aligned sample", d, n, seed), teachers.first_axis(d), n)
    network = nets.dominated(rng, m, d, scale) if start == "dominated" else nets.small(rng, m, d, scale / m**0.5)
    steps = round(two_fits.alignment_time(*sample, scale, power) / step)
    end = flow.train(*sample, network, step=step, steps=steps).network
    units = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (network.W, end.W)]
    sizes = [[grouped(directions, angle) for angle in angles] for directions in units]
    return xr.Dataset(
        {
            "clusters": (("time", "angle"), [[len(groups) for groups in row] for row in sizes]),
            "in_two": (("time", "angle"), [[groups[:2].sum() / m for groups in row] for row in sizes]),
            "growth": ((), np.abs(end.v).max() / np.abs(network.v).max()),
            "output": ((), np.abs(end.forward(sample.x)).max()),
        },
        {"time": ["start", "aligned"], "angle": list(angles)},
    )


RECORDS: dict[str, Recipe] = {
    "unaligned": Recipe(
        unaligned,
        {"n": [2000, 10_000], "deviation": [1e-2, 3e-4, 1e-6, 1e-9], "seed": [0, 1, 2]},
        about="Neurons not yet aligned, all weights Gaussian at the start",
    ),
    "aligned": Recipe(
        aligned,
        {"start": ["dominated", "gaussian"], "n": [10, 30, 100, 300, 1000, 3000, 10_000], "seed": range(5)},
        about="Clusters of the directions of 1000 neurons at the end of early alignment, five inputs",
    ),
}
