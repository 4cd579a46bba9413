r"""Extremal vectors of a finite sample: the directions that early alignment can lead to.

With the activation pattern $A_n(w)_k = \mathrm{sign}\langle w, x_k\rangle$ let $\mathfrak D_n(w)$ be the set of the
vectors $D_n(w)$ (:mod:`shallow.alignment`) in which the indicator may take any value of [0, 1] where
$\langle w, x_k\rangle = 0$.  Definition 1: D is *extremal* if some w on the sphere satisfies $D \in \mathfrak D_n(w)$
and D = 0 or $A_n(D) = A_n(w)$ or $A_n(D) = -A_n(w)$.  A pattern with z zeros is a face
of the arrangement of the n hyperplanes $\langle w, x_k\rangle = 0$, and the condition leaves one candidate on it: D
must be orthogonal to the z inputs, hence the projection of the vector of the active points, and the z indicators
follow from a linear system.  So all extremal vectors can be listed: along the circle in two dimensions
(:func:`circle`), face by face in few dimensions (:func:`faces`), over all sign vectors for a handful of points
(:func:`brute_force`).  All take inputs in general position (at most d - 1 of them orthogonal to one direction), as
almost all samples of a continuous law are, and labels different from zero.  (Section 2.3.)
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from math import comb

import numba
import numpy as np
from scipy import optimize

from shallow import alignment, checks
from shallow.display import short

compiled = numba.njit(cache=True, nogil=True, error_model="numpy")

#: Inner products below this fraction of their factors' norms are zero: only exactly orthogonal inputs come near.
ZERO = 1e-11
#: The largest number of faces that are listed one by one.
MOST = 2_000_000


@dataclass(frozen=True)
class Extremal:
    """The extremal vectors of a sample; D = 0 is listed once, last, where it is one.

    Attributes:
        vectors: shape (q, d).
        kinds: +1 where A(D) = A(w), -1 where A(D) = -A(w), 0 for D = 0; shape (q,), int8.
        zeros: number of points orthogonal to the direction; shape (q,), int64.
    """

    vectors: np.ndarray
    kinds: np.ndarray
    zeros: np.ndarray

    __repr__ = short

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def directions(self) -> np.ndarray:
        """The unit vectors D/||D|| (kind +1) and -D/||D|| (kind -1) where G has them; D = 0 has none; (<= q, d)."""
        vectors, kinds = self.vectors[self.kinds != 0], self.kinds[self.kinds != 0]
        return kinds[:, None] * vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def circle(x: np.ndarray, y: np.ndarray) -> Extremal:
    r"""All extremal vectors in two dimensions: one turn of w around the circle.

    D_n is constant on the 2n open arcs between the rays orthogonal to an input, and a segment on each ray.  An arc
    holds an extremal vector if $D_n$ or $-D_n$ points into it, a ray if its segment meets the line of the ray.

    Cost: O(n log n), for sorting: 1 ms for 10,000 points.
    """
    x, y = _general(x, y)
    if x.shape[1] != 2:
        raise ValueError(f"x must have two columns, got {x.shape[1]}: use faces in other dimensions")
    side = np.where((x[:, 0] > 0) | ((x[:, 0] == 0) & (x[:, 1] < 0)), 1, -1)
    slopes = np.divide(x[:, 1], x[:, 0], out=np.full(len(y), -np.inf), where=x[:, 0] != 0)
    order = np.argsort(slopes)
    slopes = slopes[order]
    if (slopes[1:] == slopes[:-1]).any():
        raise ValueError("x must have no two parallel rows: their rays coincide")
    return _once(*_turn(x[order], (y[:, None] * x / len(y))[order], side[order]))


def faces(x: np.ndarray, y: np.ndarray) -> Extremal:
    r"""All extremal vectors for inputs in general position that span the space, face by face.

    Every face of the arrangement has a vertex, a direction orthogonal to d - 1 inputs; the faces around a vertex
    give these inputs all signs of {-1, 0, 1} and the others the signs they have at the vertex.

    Cost: $2 \cdot 3^{d-1} \binom{n}{d-1}$ patterns of n signs; about 50 ms for d = 3 and n = 60.
    """
    x, y = _general(x, y)
    n, d = x.shape
    if not 2 <= d <= n:
        raise ValueError(f"x must have at least as many rows as columns and two columns, got shape {x.shape}")
    if (count := 2 * 3 ** (d - 1) * comb(n, d - 1)) > MOST:
        raise ValueError(f"{n} points in dimension {d} have up to {count} faces, at most {MOST} are listed")
    chosen = np.array(list(itertools.combinations(range(n), d - 1)))
    vertices = np.linalg.svd(x[chosen])[2][:, -1]
    at_vertex = np.sign(vertices @ x.T).astype(np.int8)
    patterns = []
    for around in itertools.product((-1, 0, 1), repeat=d - 1):
        for side in (1, -1):
            pattern = side * at_vertex
            np.put_along_axis(pattern, chosen, np.array(around, dtype=np.int8)[None], axis=1)
            patterns.append(pattern)
    vectors, kinds, zeros, held = _of_patterns(x, y, np.concatenate(patterns))
    once = np.unique(held, axis=0, return_index=True)[1]  # a face with several vertices is met at each of them
    return _once(vectors[once], kinds[once], zeros[once])


def brute_force(x: np.ndarray, y: np.ndarray) -> Extremal:
    r"""All extremal vectors by trying every sign vector in $\{-1, 0, 1\}^n$: slow and obvious, any n and d.

    A sign vector met by A(D) or -A(D) belongs to a direction; where D = 0, a linear program looks for one.
    """
    x, y = _general(x, y)
    n, d = x.shape
    if 3**n > MOST:
        raise ValueError(f"x must have at most {int(np.log(MOST) / np.log(3))} rows, got {n}: 3^n sign vectors")
    patterns = np.array(list(itertools.product((-1, 0, 1), repeat=n)), dtype=np.int8)
    patterns = patterns[(patterns == 0).sum(axis=1) <= min(n, d - 1)]
    vectors, kinds, zeros, kept = _of_patterns(x, y, patterns)
    null = kinds == 0
    if null.any() and not any(_realised(x, pattern) for pattern in kept[null]):
        vectors, kinds, zeros = vectors[~null], kinds[~null], zeros[~null]
    return _once(vectors, kinds, zeros)


def _of_patterns(
    x: np.ndarray, y: np.ndarray, patterns: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    r"""Definition 1 on given activation patterns, with at most d - 1 zeros each.

    On a pattern with zeros Z the condition makes D orthogonal to $x_Z$, so D is the projection of the corner $D_0$ of
    $\mathfrak D_n$, in which all indicators of Z are 0, and the indicators solve
    $x_Z x_Z^\top (\eta y_Z) = -n\, x_Z D_0$.

    Returns vectors, kinds and numbers of zeros as in :class:`Extremal` and the patterns, of those that hold an extremal
    vector.  Where D = 0 it is not examined whether a direction has the pattern.
    """
    n, d = x.shape
    push = y[:, None] * x / n
    corners, zeros = (patterns > 0) @ push, (patterns == 0).sum(axis=1)
    sizes = np.linalg.norm(x, axis=1)
    found = []
    for z in np.unique(zeros):
        here = np.flatnonzero(zeros == z)
        own, D, allowed = patterns[here], corners[here].copy(), np.ones(len(here), dtype=bool)
        if z:
            Z = np.nonzero(own == 0)[1].reshape(-1, z)
            inputs = x[Z]
            right = np.einsum("pzd,pd->pz", inputs, D)
            try:
                weights = -np.linalg.solve(inputs @ inputs.transpose(0, 2, 1), right[..., None])[..., 0]
            except np.linalg.LinAlgError:
                raise ValueError(f"x must be in general position, got {z} dependent rows") from None
            D += np.einsum("pz,pzd->pd", weights, inputs)
            shares = n * weights / y[Z]
            allowed = ((shares >= -ZERO) & (shares <= 1 + ZERO)).all(axis=1)
        norms, products = np.linalg.norm(D, axis=1), D @ x.T
        reached = np.sign(np.where(np.abs(products) > ZERO * norms[:, None] * sizes, products, 0.0))
        reached[own == 0] = 0
        null = norms <= ZERO * np.abs(push).sum()
        same, opposite = ((reached == sign * own).all(axis=1) & ~null for sign in (1, -1))
        D[null] = 0.0
        keep = allowed & (null | same | opposite)
        found.append((D[keep], (same.astype(np.int8) - opposite)[keep], np.full(keep.sum(), z), own[keep]))
    return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))


def orthogonal_count(positive: int, negative: int) -> int:
    r"""$2^{n_+} + 2^{n_-} - 1$, the number of extremal vectors of orthogonal inputs with D = 0, by signs of labels."""
    checks.integers(0, positive=positive, negative=negative)
    return 2**positive + 2**negative - 1


@compiled
def _turn(x, push, side):
    """One turn around the circle; rays in order of angle are `side` times x turned by 90 degrees, then their opposites.

    Before the first ray the points with side 1 are active; each leaves at its own ray and enters at the opposite one.
    Returns vectors, kinds and zeros of the extremal vectors, D = 0 for every arc on which no point is active.
    """
    n, found = len(x), 0
    vectors, kinds, zeros = np.empty((4 * n, 2)), np.empty(4 * n), np.empty(4 * n)
    D0, D1 = push[side > 0, 0].sum(), push[side > 0, 1].sum()
    active = (side > 0).sum()
    for i in range(2 * n):
        k, following = i % n, (i + 1) % n
        turn = side[k] if i < n else -side[k]
        ray0, ray1 = -turn * x[k, 1], turn * x[k, 0]
        if turn > 0:  # the point of the ray leaves: below, D is the corner of the segment on the ray
            active -= 1
            D0, D1 = D0 - push[k, 0], D1 - push[k, 1]
        if active == 0:
            D0, D1 = 0.0, 0.0
            vectors[found], kinds[found], zeros[found] = 0.0, 0.0, 0.0
            found += 1
        else:
            share = -(D0 * x[k, 0] + D1 * x[k, 1]) / (push[k, 0] * x[k, 0] + push[k, 1] * x[k, 1])
            if 0.0 <= share <= 1.0:
                vectors[found] = D0 + share * push[k, 0], D1 + share * push[k, 1]
                kinds[found] = np.sign(vectors[found, 0] * ray0 + vectors[found, 1] * ray1)
                zeros[found] = 1
                found += 1
        if turn < 0:
            active += 1
            D0, D1 = D0 + push[k, 0], D1 + push[k, 1]
        if active > 0:  # the arc up to the next ray: D or -D between the two
            turn = side[following] if i + 1 < n or i + 1 == 2 * n else -side[following]
            next0, next1 = -turn * x[following, 1], turn * x[following, 0]
            after, before = ray0 * D1 - ray1 * D0, D0 * next1 - D1 * next0
            if (after > 0 and before > 0) or (after < 0 and before < 0):
                vectors[found] = D0, D1
                kinds[found] = np.sign(after)
                zeros[found] = 0
                found += 1
    return vectors[:found].copy(), kinds[:found].copy(), zeros[:found].copy()


def _realised(x: np.ndarray, pattern: np.ndarray) -> bool:
    """Whether some w other than zero has the pattern: the largest margin of a linear program is positive."""
    n, d = x.shape
    if not pattern.any():
        return np.linalg.matrix_rank(x) < d
    signed, zero = pattern[pattern != 0, None] * x[pattern != 0], pattern == 0
    program = optimize.linprog(
        np.append(np.zeros(d), -1.0),
        A_ub=np.column_stack([-signed, np.ones(len(signed))]),
        b_ub=np.zeros(len(signed)),
        A_eq=np.column_stack([x[zero], np.zeros(zero.sum())]) if zero.any() else None,
        b_eq=np.zeros(zero.sum()) if zero.any() else None,
        bounds=[(None, None)] * d + [(None, 1.0)],
    )
    return bool(program.success and program.x[-1] > 0.5)


def _once(*found: np.ndarray) -> Extremal:
    """Vectors, kinds and numbers of zeros, with D = 0 only once, last."""
    proper = found[1] != 0
    once = 0 if proper.all() else 1
    vectors, kinds, zeros = (np.concatenate([one[proper], np.zeros((once, *one.shape[1:]))]) for one in found)
    return Extremal(vectors, kinds.astype(np.int8), zeros.astype(np.int64))


def _general(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x, y = alignment.sample(x, y)
    if not y.all() or not x.any(axis=1).all():
        raise ValueError("no label in y and no row of x may be zero: such points have no part in D_n")
    return x, y
