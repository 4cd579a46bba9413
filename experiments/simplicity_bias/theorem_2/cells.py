r"""Assumption 1 on the inputs: two laws that meet it, and the extremal vectors of their samples.

Both laws are symmetric with the margin $|x_1| \ge c\|x\|$, $\beta^* = e_1$.  *Conditioned*: N(0, I_d) given the margin
(:func:`shallow.data.teachers.with_margin`).  *Squeezed*: N(0, I_d) with $t = x_1/\|x\|$ moved from $|t| < 2c$ to
$\mathrm{sign}(t)\,(c + |t|/2)$ at the same norm.  (Assumption 1 and equation (19).)
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy import integrate

from experiments.simplicity_bias.concentration import deviation
from experiments.simplicity_bias.extremal import cells as extremal
from shallow import alignment
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import teachers
from shallow.stats import stream

LAWS = ("conditioned", "squeezed")


def squeezed(rng: np.random.Generator, n: int, d: int, c: float) -> np.ndarray:
    r"""n inputs of the squeezed law with margin c < 1/2; the map doubles the density on $c \le |t| < 2c$."""
    x = rng.standard_normal((n, d))
    size = np.linalg.norm(x, axis=1)
    t = x[:, 0] / size
    new = np.where(np.abs(t) < 2 * c, np.sign(t) * (c + np.abs(t) / 2), t)
    x[:, 1:] *= np.sqrt((1 - new**2) / (1 - t**2))[:, None]
    x[:, 0] = new * size
    return x


def variances(law: str, d: int, c: float) -> np.ndarray:
    r"""Diagonal of $\Sigma = \mathbb E xx^\top$, by quadrature over t; off the diagonal it is zero."""
    if law == "conditioned":
        return teachers.variances(d, c)

    def integral(moved, low, high):  # t = sin(angle)
        return integrate.quad(lambda angle: moved(np.sin(angle)) * np.cos(angle) ** (d - 2), low, high)[0]

    edge, end = np.arcsin(2 * c), np.pi / 2
    square = integral(lambda t: (c + t / 2) ** 2, 0, edge) + integral(lambda t: t**2, edge, end)
    first = d * square / integral(lambda t: 1.0, 0, end)
    return np.array([first, *[(d - first) / (d - 1)] * (d - 1)])


@releases_gil
def conditions(law: str, d: int, c: float, *, n: int) -> xr.Dataset:
    r"""What Assumption 1 asks for, measured on n inputs of a law with margin c.

    Returns:
        gap: $\|\Sigma - I\|_{op}$ by quadrature.
        symmetric: largest mean of $x_i$ and $x_i\|x\|^2$ over its standard error.
        second: largest difference of a second moment from the quadrature over its standard error.
        slack, white: least $|x_1|/\|x\|$ over c, less 1, and itself after division by the standard deviations.
        tail: largest share of $|\langle u, x\rangle| > t$ over $2 e^{-t^2/2}/p$, t = 1 to 4, for a random unit vector
            u; p is the probability of the margin under N(0, I_d), which bounds the density of either law.
    """
    rng = stream("assumption", law, d, str(c))
    x = teachers.with_margin(rng, n, d, c) if law == "conditioned" else squeezed(rng, n, d, c)
    sigma, size = variances(law, d, c), (x**2).sum(axis=1)
    odd = np.column_stack([x, x * size[:, None]])
    kept = (np.abs(normal := rng.standard_normal((100_000, d)))[:, 0] >= c * np.linalg.norm(normal, axis=1)).mean()
    u = rng.standard_normal(d)
    along = np.abs(x @ u) / np.linalg.norm(u)
    found = {
        "gap": np.abs(sigma - 1).max(),
        "symmetric": (np.abs(odd.mean(axis=0)) / odd.std(axis=0)).max() * n**0.5,
        "second": (np.abs((x**2).mean(axis=0) - sigma) / (x**2).std(axis=0)).max() * n**0.5,
        "slack": np.sqrt((x[:, 0] ** 2 / size).min()) / c - 1,
        "white": np.sqrt((x[:, 0] ** 2 / sigma[0] / (x**2 / sigma).sum(axis=1)).min()),
        "tail": max((along > t).mean() / (2 * np.exp(-(t**2) / 2) / kept) for t in (1, 2, 3, 4)),
    }
    return xr.Dataset({name: ((), float(value)) for name, value in found.items()})


@releases_gil
def pairs(c: float, whiten: bool, d: int, n: int, *, draws: int) -> xr.Dataset:
    r"""Whether the extremal vectors are two, $D_n(\beta^*)$ and $D_n(-\beta^*)$, in draws of the conditioned law.

    event: in the plane, whether $\sup_w\|D_n(w) - \frac12\Sigma\beta^*\|$ is below $\frac{c'}2\|\Sigma\beta^*\|$ with
    the margin c' of the inputs; by the margin every $D_n(w)$ then has the signs of $\beta^*$.
    """
    first = np.eye(d)[0]
    centre = first / 2 * (1 if whiten else teachers.variances(d, c)[0])
    margin = teachers.whitened_margin(d, c) if whiten else c
    two, event = np.zeros((2, draws), dtype=bool)
    for draw in range(draws):
        rng = stream("two halves", d, n, draw, str(c), int(whiten))
        sample = teachers.labelled(rng, teachers.first_axis(d), teachers.with_margin(rng, n, d, c, whiten=whiten))
        found = extremal.circle(*sample) if d == 2 else extremal.faces(*sample)
        halves = alignment.vector(*sample, np.stack([first, -first]))
        if len(found) == 2 and sorted(found.kinds) == [-1, 1]:
            two[draw] = np.abs(found.vectors[np.argsort(-found.kinds)] - halves).max() < 1e-12
        event[draw] = d == 2 and deviation.supremum(*sample, centre) < margin * centre[0]
    return xr.Dataset({"two": ("draw", two), "event": ("draw", event)})


MARGINS = {"c": [0.5, 0.3], "whiten": [False, True]}
RECORDS: dict[str, Recipe] = {
    "assumption": Recipe(
        conditions,
        {"law": list(LAWS), "d": [2, 3, 5, 10], "c": [0.3, 0.1, 0.03]},
        {"n": 1_000_000},
        "Two laws of inputs against the five conditions of Assumption 1",
    ),
    "extremal_pairs": Recipe(
        pairs,
        MARGINS | {"d": [2], "n": [10, 20, 50, 200, 1000, 5000]},
        {"draws": 400},
        "Whether a sample in the plane with a margin has exactly two extremal vectors",
    ),
    "extremal_pairs_space": Recipe(
        pairs, MARGINS | {"d": [3], "n": [10, 20, 50]}, {"draws": 100}, "The same in three dimensions"
    ),
}
