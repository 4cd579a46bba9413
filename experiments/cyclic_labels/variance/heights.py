r"""What makes functions tall, and models differ in height: the closest training points of opposite labels.

A function is written as sign times height, $f_s(x) = \operatorname{sgn} f_s(x)\,|f_s(x)|$, and the relative variance of
an ensemble is measured with either of them levelled between its models.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.cyclic_labels.loss_curves import EPOCHS, GRID
from shallow import checks, nets, stats
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import cyclic
from shallow.train import univariate

MOMENTS = (500, 1000, 2000, 5000, 10_000, 20_000)  # in epochs of the step 0.01
DISTANCE = 0.02  # between points and a line that they are kept away from; a cluster is 1/6 wide
PLACED = ("as drawn", "away from borders", "away from centres")


def placed(x: np.ndarray, how: str, distance: float = DISTANCE) -> np.ndarray:
    """Points as drawn, or moved within their clusters to at least `distance` from all inner borders, or all centres.

    Both moves are affine, on clusters or on their halves; the second one, the control, brings points no farther from
    those with the other label.
    """
    checks.one_of(PLACED, how=how)
    if how == "as drawn":
        return x
    cluster, width = cyclic.clusters(x), 1 / 6
    left = cluster * width - 0.5
    if how == "away from borders":
        low, high = left + distance * (cluster > 0), left + width - distance * (cluster < 5)
        return low + (x - left) / width * (high - low)
    share = (x - left) / width
    outer = 1 - 2 * distance / width  # what a half of a cluster shrinks to, towards its border
    return left + width * np.where(share < 0.5, share * outer, 1 - (1 - share) * outer)


def relative(f: np.ndarray) -> float:
    """Mean over the grid of the variance over models of f (model, grid), over the mean of f^2; 0 where f vanishes."""
    power = (f**2).mean()
    return 0.0 if power == 0 else float(1 - (f.mean(axis=0) ** 2).mean() / power)


def parts(f: np.ndarray) -> dict[str, float]:
    """The variance of functions (model, grid) with parts of them levelled between models, relative to the mean of f^2.

    relative: nothing levelled.  equal: all functions have one root mean square.  signs: heights are those of the mean
    |f|, signs each model's own.  heights: the signs are the labels', heights each model's own.  levels: as heights, and
    each model has one height in a cluster.  sign: the variance of sgn f.
    """
    cluster, labels = cyclic.clusters(GRID), cyclic.labels(GRID)
    whole = np.sqrt((f**2).mean(axis=1, keepdims=True))
    levels = np.stack([np.sqrt((f[:, cluster == c] ** 2).mean(axis=1)) for c in range(6)], axis=1)
    return {
        "relative": relative(f),
        "equal": relative(np.divide(f, whole, out=np.zeros_like(f), where=whole > 0)),
        "signs": relative(np.sign(f) * np.abs(f).mean(axis=0)),
        "heights": relative(np.abs(f) * labels),
        "levels": relative(levels[:, cluster] * labels),
        "sign": relative(np.sign(f)),
    }


@releases_gil
def heights(
    n: int, repetition: int, how: str, refinement: int, *, models: int = 20, step: float = 0.01, base: int = 4
) -> xr.Dataset:
    """Twenty models on data :func:`placed` so, with every step of 0.01 cut into `refinement`, at `MOMENTS`.

    Returns over `epoch`, in epochs of the uncut step: the :func:`parts` of their variance, power (the mean of f^2),
    unfitted (share of models with a positive training hinge) and error; and over `model`, at the end: level, the root
    mean square of f in each cluster (`place`), and gap, the distance of the training points on either side of each
    inner `border`, infinite if one of its clusters is empty.
    """
    records = np.array(MOMENTS) * refinement
    f, losses, gaps = [], [], []
    for seed in range(models * repetition, models * (repetition + 1)):
        sample = cyclic.sample(n, base=base, seed=seed)
        x = placed(sample.x, how)
        options = dict(step=step / refinement, epochs=EPOCHS * refinement, records=records, grid=GRID)
        run = univariate.train(x, sample.y, nets.default(sample.rng, 512), **options)
        f.append(run.predictions)
        losses.append(run.loss)
        gaps.append(across(x))
    f = np.stack(f, axis=1)
    cluster = cyclic.clusters(GRID)
    found = [parts(at) for at in f]
    data = {name: ("epoch", [one[name] for one in found]) for name in found[0]}
    data["power"] = ("epoch", (f**2).mean(axis=(1, 2)))
    data["unfitted"] = ("epoch", (np.stack(losses, axis=1) > 0).mean(axis=1))
    data["error"] = ("epoch", (np.sign(f) != cyclic.labels(GRID)).mean(axis=(1, 2)))
    level = np.stack([np.sqrt((f[-1][:, cluster == c] ** 2).mean(axis=1)) for c in range(6)], axis=1)
    data["level"] = (("model", "place"), level.astype(np.float32))
    data["gap"] = (("model", "border"), np.array(gaps, dtype=np.float32))
    return xr.Dataset(data, {"epoch": list(MOMENTS)})


def across(x: np.ndarray) -> np.ndarray:
    """Distance between the training points on either side of each inner border, infinite next to an empty cluster."""
    cluster = cyclic.clusters(x)
    first = np.array([x[cluster == c].min(initial=np.inf) for c in range(6)])
    last = np.array([x[cluster == c].max(initial=-np.inf) for c in range(6)])
    return first[1:] - last[:-1]


def closest(part: xr.Dataset) -> stats.Interval:
    """Rank correlation, over the models of :func:`heights` at one size, of height and one over the smallest gap.

    The mean over the repetitions, with Student's interval.
    """
    level = part.level.transpose("repetition", "model", "place").values
    near = 1 / part.gap.transpose("repetition", "model", "border").values.min(axis=-1)
    return stats.student(stats.rank_correlation((level**2).mean(axis=-1), near))


RECORDS: dict[str, Recipe] = {
    "heights": Recipe(
        heights,
        {
            "n": [20, 30, 60, 100, 150, 200],
            "how": list(PLACED),
            "refinement": [1, 10],
            "repetition": list(range(10)),
        },
        about="Heights of functions when points are kept away from the borders of clusters, or from their centres",
        replicates="repetition",
    ),
}
