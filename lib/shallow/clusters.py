r"""Clusters of neurons by direction: the few caps of the sphere that carry the mass of a network.

The function of a neuron without bias depends on the sign of $a_j$, the direction $w_j/\|w_j\|$ and the *mass*
$|a_j|\|w_j\|$ alone, and two neurons of one sign and one direction act as one whose mass is the sum.  Clusters are
caps of one angular radius around one of their neurons, chosen greedily: each time the cap with the largest mass that
no earlier cap holds.  Unlike connected components, a cap cannot chain directions far apart; unlike caps around the
heaviest neurons, its centre lies in the middle of a cloud.  The number of clusters is thus nearly the least number of
caps that cover the mass, and the order of the neurons does not matter except for exact ties.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from shallow import checks
from shallow.display import short
from shallow.nets import TwoLayer

#: The angular radius of a cluster, in radians.
TOLERANCE = 0.05
_ROWS = 512  # directions whose cosines with all others are held at a time


@dataclass(frozen=True)
class Clusters:
    r"""Neurons grouped by sign and direction; clusters in descending order of mass.

    Attributes:
        labels: number of the cluster of each neuron, -1 for neurons without mass, shape (m,).
        mass: $|a_j|\|w_j\|$, shape (m,).
        masses: sum over each cluster, descending, shape (K,).
        centres: neuron at the centre of each cluster, shape (K,).
    """

    labels: np.ndarray
    mass: np.ndarray
    masses: np.ndarray
    centres: np.ndarray

    __repr__ = short

    @property
    def sizes(self) -> np.ndarray:
        """Number of neurons in each cluster, shape (K,)."""
        return np.bincount(self.labels[self.labels >= 0], minlength=len(self.masses))

    @property
    def effective_width(self) -> float:
        r"""Participation ratio $(\sum_c M_c)^2 / \sum_c M_c^2$ of the masses, from 1 to K; 0 without mass."""
        return float(self.masses.sum() ** 2 / np.sum(self.masses**2)) if len(self.masses) else 0.0

    def number(self, share: float = 0.99) -> int:
        """The least number of clusters that carry this share of the mass; 0 without mass."""
        return number_for(self.masses, share)


def number_for(weights: np.ndarray, share: float = 0.99) -> int:
    """The least number of the non-negative weights (K,) whose sum is at least this share of the whole."""
    checks.shape((None,), weights=weights)
    checks.not_negative(weights=weights)
    checks.within("(0, 1]", share=share)
    weights = np.asarray(weights, dtype=float)
    cumulated = np.cumsum(np.sort(weights)[::-1])
    return int(np.sum(cumulated < share * cumulated[-1] * (1 - 1e-12))) + 1 if len(weights) else 0


def find(network: TwoLayer, tolerance: float = TOLERANCE) -> Clusters:
    """Clusters of the neurons of a network without biases: caps of angular radius `tolerance` (radians) and one sign.

    Raises:
        ValueError: for biases, or a tolerance outside [1e-6, pi/2).

    Cost: all pairs of one sign, in time and as booleans in memory: 0.3 to 0.7 s and 75 MB at most for m = 10000.
    """
    if network.b.any():
        raise ValueError(f"network must have no biases, got values up to {np.abs(network.b).max()}")
    checks.within("[1e-6, 1.57]", tolerance=tolerance)  # cosines do not resolve smaller angles
    norms = np.linalg.norm(network.W, axis=1)
    mass = np.abs(network.v) * norms
    labels, masses, centres = np.full(network.width, -1), [], []
    for chosen in (np.flatnonzero((mass > 0) & (sign * network.v > 0)) for sign in (1, -1)):
        near = _near(network.W[chosen] / norms[chosen, None], tolerance)
        found, centre = _cover(near, mass[chosen])
        labels[chosen] = found + len(centres)
        masses.extend(np.bincount(found, mass[chosen], len(centre)))
        centres.extend(chosen[centre])
    order = np.argsort(-np.array(masses), kind="stable")
    rank = np.argsort(order)
    labels[labels >= 0] = rank[labels[labels >= 0]]
    return Clusters(labels, mass, np.array(masses)[order], np.array(centres, dtype=int)[order])


def purity(groups: np.ndarray, others: np.ndarray, mass: np.ndarray) -> float:
    r"""$\frac1M \sum_g \max_o M(g \cap o)$: the share of the mass that its group keeps together in the other grouping.

    Args:
        groups, others: labels of the neurons, shape (m,).  With `groups` early and `others` late it falls when
            clusters split, with the two exchanged when clusters merge.
        mass: weight of each neuron, shape (m,): the late masses, or ones.
    """
    checks.array(("m",), groups=groups, others=others, mass=mass)
    checks.not_negative(mass=mass)
    groups, others, mass = np.asarray(groups), np.asarray(others), np.asarray(mass, dtype=float)
    if not mass.any():
        raise ValueError(f"mass must not be zero everywhere, got {checks.given(mass)}")
    pairs, place = np.unique(np.stack([groups, others]), axis=1, return_inverse=True)
    shared = np.bincount(place, mass)
    first = np.flatnonzero(np.diff(pairs[0], prepend=pairs[0, 0] - 1))  # pairs are sorted by group
    return float(np.maximum.reduceat(shared, first).sum() / mass.sum())


def condensed(network: TwoLayer, clusters: Clusters) -> TwoLayer:
    r"""One neuron per cluster with $a w = \sum_{j} a_j w_j$ over its members and $|a| = \|w\|$, heaviest first.

    The same function if the members are collinear; otherwise the change is of the order of the angles between them.
    """
    inside = clusters.labels >= 0
    W = np.zeros((len(clusters.masses), network.W.shape[1]))
    np.add.at(W, clusters.labels[inside], np.abs(network.v[inside, None]) * network.W[inside])
    root = np.sqrt(np.linalg.norm(W, axis=1))  # positive: members lie within a right angle of the centre
    return TwoLayer(W / root[:, None], np.zeros(len(W)), np.sign(network.v[clusters.centres]) * root)


def _near(directions: np.ndarray, tolerance: float) -> np.ndarray:
    """Which of the unit vectors (m, d) lie within `tolerance` radians of which; booleans (m, m), symmetric."""
    near = np.empty((len(directions), len(directions)), dtype=bool)
    for start in range(0, len(directions), _ROWS):
        rows = slice(start, start + _ROWS)
        near[rows] = (
            directions[rows] @ directions.T >= np.cos(tolerance) - 1e-15
        )  # equal vectors may miss 1 by rounding
    return near | near.T


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _cover(near, mass):
    """Greedy cover by the rows of `near` (m, m): labels (m,) in order of choice, and the centre of each cap."""
    m = len(mass)
    gain = np.zeros(m)  # mass not yet covered in the cap around each neuron
    for j in range(m):
        gain += mass[j] * near[j]
    labels, centres = np.full(m, -1), np.empty(m, dtype=np.int64)
    covered = found = 0
    while covered < m:
        centre = -1
        for i in range(m):  # a centre that is not covered holds at least itself
            if labels[i] < 0 and (centre < 0 or gain[i] > gain[centre]):
                centre = i
        for j in range(m):
            if near[centre, j] and labels[j] < 0:
                labels[j] = found
                covered += 1
                gain -= mass[j] * near[j]
        centres[found] = centre
        found += 1
    return labels, centres[:found]
