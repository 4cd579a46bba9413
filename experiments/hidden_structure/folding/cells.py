r"""Does a representation fold the input space?  Nearest neighbours, and points beside their reflections, in features.

Features $\Phi(x)$ are the activations of a layer, or x itself.  A representation that folds takes a point and its
reflection into another orthant to nearly the same place; then the nearest training point of a point in an orthant
without training points is of its own class.
Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Section 4.2.2 and Table 2.
"""

from __future__ import annotations

import numpy as np

from shallow import checks

_ROWS = 32  # queries whose products with all points are held at a time


def nearest(queries: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Row of the point with the smallest Euclidean distance to each query; shape (q,), of (q, p) and (n, p).

    Matrix products estimate all distances; where their rounding leaves several candidates, distances by differences
    decide.  The result is that of the direct computation in float64; equal distances go to the lowest row.
    """
    queries, points = _features("queries", queries), _features("points", points)
    checks.array(("n", queries.shape[1]), points=points)
    sizes, largest = np.einsum("np,np->n", points, points), np.abs(points).max(initial=0.0)
    found = np.empty(len(queries), dtype=np.int64)
    for start in range(0, len(queries), _ROWS):
        part = queries[start : start + _ROWS]
        squares = part @ points.T
        squares *= -2
        squares += sizes  # up to the size of the query
        reach = np.abs(part).max(axis=1, initial=0.0) + largest
        slack = 4 * np.finfo(float).eps * (points.shape[1] + 2) ** 2 * reach**2  # twice the error of a square
        close = squares <= (squares.min(axis=1) + slack)[:, None]
        found[start : start + _ROWS] = np.argmax(close, axis=1)
        for row in np.flatnonzero(close.sum(axis=1) > 1):
            candidates = np.flatnonzero(close[row])
            exact = ((points[candidates] - part[row]) ** 2).sum(axis=1)
            found[start + row] = candidates[np.argmin(exact)]
    return found


def match_fractions(
    queries: np.ndarray, labels: np.ndarray, points: np.ndarray, point_labels: np.ndarray
) -> dict[int, float]:
    """Per class, the share of its queries whose :func:`nearest` point has their label.

    The points, features of the training set, are in random order so that ties favour no class.
    """
    checks.array((len(queries),), labels=labels)
    checks.array((len(points),), point_labels=point_labels)
    labels, point_labels = np.asarray(labels), np.asarray(point_labels)
    match = point_labels[nearest(queries, points)] == labels
    return {int(label): float(match[labels == label].mean()) for label in np.unique(labels)}


def quotient(features: np.ndarray, reflections: np.ndarray, labels: np.ndarray) -> float:
    r"""Median of $|\Phi(x) - \Phi(\rho x)|$ over points and reflections, by that of $|\Phi(x) - \Phi(x')|$ over pairs.

    The pairs are of different classes and in one orthant, the reflections (k, n, p) those of the points (n, p) in k
    others.  0 is a perfect fold; NaN where the classes coincide.
    """
    checks.array((len(features),), labels=labels)
    features, labels = _features("features", features), np.asarray(labels)
    checks.array((None, *features.shape), reflections=reflections)
    if set(np.unique(labels)) != {0, 1}:
        raise ValueError(f"labels must be 0 and 1, both present, got {np.unique(labels)}")
    reflections = np.asarray(reflections, dtype=np.float64)
    moved = np.median(np.linalg.norm(reflections - features, axis=-1))
    first, second = features[labels == 0], features[labels == 1]
    apart = np.median(np.linalg.norm(first[:, None] - second, axis=-1))
    return float(moved / apart) if apart > 0 else float("nan")


def _features(name: str, values: np.ndarray) -> np.ndarray:
    checks.array((None, None), **{name: values})
    values = np.asarray(values, dtype=np.float64)
    return values
