r"""Directions with $D(w) \parallel w$: what extremal vectors become when the sample is infinite (eq. 6).

With every direction covered by inputs, D is extremal iff $D = D(w)$ for a w with D = 0 or $D/\|D\| = \pm w$; these w
are the zeros of the tangent field $F(w) = D(w) - \langle w, D(w)\rangle w$, the gradient of
$G(w) = \langle w, D(w)\rangle$ on the sphere.  Here inputs are $N(0, I_d)$ and the teacher is a two-layer network, so
that D(w) has a closed form (:func:`shallow.alignment.population`).  (Section 3.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import xarray as xr
from scipy import optimize

from shallow import alignment, checks, stats
from shallow.book.recipes import Recipe
from shallow.data import teachers
from shallow.display import short
from shallow.nets import TwoLayer

compiled = numba.njit(cache=True, nogil=True)
#: Two solutions closer than this are one.
SAME = 1e-5
#: A vector D shorter than this part of the teacher's size is zero.
NULL = 1e-12


@dataclass(frozen=True)
class Solutions:
    r"""Solutions w of the condition (6), their vectors D(w), exactly zero where it vanishes, and their indices.

    An index is the sign of the determinant of the derivative of F, and 0 where D = 0.  If no solution is missed and
    none has D = 0 they add up to the Euler characteristic of the sphere: 2 for odd d, 0 for even d.
    """

    directions: np.ndarray
    vectors: np.ndarray
    indices: np.ndarray

    __repr__ = short

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def proper(self) -> int:
        """Number of solutions with D different from zero."""
        return int(self.vectors.any(axis=1).sum())


def on_circle(teacher: TwoLayer) -> Solutions:
    r"""All solutions for d = 2, by a search that cannot miss one.

    With $w = (\cos\varphi, \sin\varphi)$ and units at the angles $\alpha_i$ the tangent component is
    $f(\varphi) = -\frac{1}{2\pi} \sum_i a_i \|v_i\| (\pi - |s_i|) \sin s_i$, $s_i = \varphi - \alpha_i$ in
    $[-\pi, \pi]$, and $f'' + f = \frac1\pi \sum_i a_i \|v_i\| \mathrm{sgn}(s_i) \cos s_i$ is a sinusoid between two of
    the 2k angles where an $s_i$ is 0 or $\pi$.  On a piece shorter than $\pi$ on which it has one sign, with a positive
    solution h of $h'' + h = 0$, the Wronskian $W = h f' - h' f$ is monotone ($W' = h (f'' + f)$), hence f/h has at most
    one turning point and f at most two zeros: three bracketed root searches find them.  Cost: O(k^2), 1 ms per unit.
    """
    _check(teacher, dimension=2)
    angles = np.arctan2(teacher.W[:, 1], teacher.W[:, 0])
    weights = teacher.v * np.linalg.norm(teacher.W, axis=1)
    tiny = 1e-14 * np.abs(weights).sum()
    ends = np.unique(np.concatenate([angles, angles + np.pi]) % (2 * np.pi))
    roots = [root for l, r in _pieces(ends, weights, angles) for root in _on_piece(l, r, weights, angles, tiny)]
    roots = np.sort(np.array(roots) % (2 * np.pi))
    if len(roots):
        roots = roots[np.diff(roots, prepend=roots[-1] - 2 * np.pi) > SAME] if len(roots) > 1 else roots
    return _described(teacher, np.column_stack([np.cos(roots), np.sin(roots)]))


def newton(teacher: TwoLayer, starts: np.ndarray) -> Solutions:
    r"""Solutions found by Newton's method on the sphere from given starting directions, any d; saddles included.

    The derivative of F on the tangent space is
    $\sum_i \frac{a_i \|v_i\| \sin t_i}{2\pi} (I + p_i p_i^\top) - G(w) I$, $p_i$ the unit vector from w towards $v_i$.
    Cost: about 20 steps of O(k d^2 + d^3) per start, 2 to 10 microseconds each start for d <= 5 and k <= 8.
    """
    _check(teacher)
    checks.array(("s", teacher.W.shape[1]), starts=starts)
    starts = np.ascontiguousarray(starts, dtype=np.float64)
    if not starts.any(axis=1).all():
        raise ValueError(f"starts must have no row of zeros, got {checks.given(starts)}")
    return _described(teacher, _newton(starts, *_polar(teacher)))


def _check(teacher: TwoLayer, dimension: int | None = None) -> None:
    if teacher.b.any():
        raise ValueError("teacher must have no biases")
    if dimension and teacher.W.shape[1] != dimension:
        raise ValueError(f"teacher must have {dimension} inputs, got {teacher.W.shape[1]}")
    if not (teacher.v[:, None] * teacher.W).any():
        raise ValueError("teacher must not be zero")


def _polar(teacher: TwoLayer) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors of the units, shape (k, d), and their weights a ||v||, shape (k,)."""
    sizes = np.linalg.norm(teacher.W, axis=1)
    return teacher.W / np.where(sizes, sizes, 1.0)[:, None], teacher.v * sizes


def _described(teacher: TwoLayer, w: np.ndarray) -> Solutions:
    units, weights = _polar(teacher)
    vectors = alignment.population(teacher, w)
    vectors[np.linalg.norm(vectors, axis=1) < NULL * np.abs(weights).sum()] = 0.0
    signs = [np.sign(np.linalg.det(_field(u, units, weights)[1])) for u in w]
    return Solutions(w, vectors, np.where(vectors.any(axis=1), signs, 0).astype(np.int64))


# The circle.


def _tangent(phi: float, middle: float, weights: np.ndarray, angles: np.ndarray) -> tuple[float, float]:
    """f and f' at phi, with the signs of the s_i that hold at the middle of the piece."""
    turns = np.round((middle - angles) / (2 * np.pi))
    side = np.sign(middle - angles - 2 * np.pi * turns)
    s = phi - angles - 2 * np.pi * turns
    room, sine, cosine = np.pi - side * s, np.sin(s), np.cos(s)
    return -(weights @ (room * sine)) / (2 * np.pi), -(weights @ (room * cosine - side * sine)) / (2 * np.pi)


def _pieces(ends: np.ndarray, weights: np.ndarray, angles: np.ndarray) -> list[tuple[float, float]]:
    """Arcs shorter than pi on which f'' + f is one sinusoid of one sign."""
    cut = []
    for l, r in zip(ends, np.append(ends[1:], ends[0] + 2 * np.pi), strict=True):
        middle = (l + r) / 2
        phase = np.angle(weights * np.sign((middle - angles + np.pi) % (2 * np.pi) - np.pi) @ np.exp(1j * angles))
        zero = l + (phase + np.pi / 2 - l) % np.pi  # the zero of the sinusoid that follows l
        points = [l, middle, r] if zero >= r else sorted([l, middle, zero, r])
        cut += list(zip(points, points[1:], strict=False))
    return cut


def _on_piece(l: float, r: float, weights: np.ndarray, angles: np.ndarray, tiny: float) -> list[float]:
    """Zeros of f on a piece: f/h is monotone on either side of the one zero that W may have."""
    if r - l < 1e-15:
        return []
    middle = (l + r) / 2

    def f(phi: float) -> float:
        return _tangent(phi, middle, weights, angles)[0]

    def wronskian(phi: float) -> float:
        value, slope = _tangent(phi, middle, weights, angles)
        return np.cos(phi - middle) * slope + np.sin(phi - middle) * value

    if max(abs(f(phi)) for phi in np.linspace(l, r, 9)) <= tiny:
        raise ValueError("teacher has D(w) parallel to w on a whole arc")
    turning = [optimize.brentq(wronskian, l, r)] if wronskian(l) * wronskian(r) < 0 else []
    points = [l, *turning, r]
    roots = [phi for phi in points if abs(f(phi)) <= tiny]
    return roots + [
        optimize.brentq(f, a, b, xtol=1e-14) for a, b in zip(points, points[1:], strict=False) if f(a) * f(b) < 0
    ]


# Newton's method.


@compiled
def _field(w: np.ndarray, units: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """F at a unit vector, and its derivative with w w^T added, so that it is regular where the tangent part is."""
    d = len(w)
    D, J = np.zeros(d), np.zeros((d, d))
    for i in range(len(weights)):
        cosine = min(1.0, max(-1.0, np.dot(w, units[i])))
        p = units[i] - cosine * w
        sine = np.sqrt(np.dot(p, p))
        angle = np.arctan2(sine, cosine)
        part = weights[i] / (2 * np.pi)
        D += part * ((np.pi - angle) * units[i] + sine * w)
        for a in range(d):
            J[a, a] += part * sine
            if sine > 1e-12:
                for b in range(d):
                    J[a, b] += part * p[a] * p[b] / sine
    G = np.dot(w, D)
    flow = J @ w  # J maps the tangent space to itself up to its part along w, which is put to 1
    for a in range(d):
        J[a, a] -= G
        for b in range(d):
            J[a, b] += (1.0 + G) * w[a] * w[b] - flow[a] * w[b]
    return D - G * w, J


@compiled
def _newton(starts: np.ndarray, units: np.ndarray, weights: np.ndarray) -> np.ndarray:
    d = starts.shape[1]
    found, count = np.empty((1024, d)), 0
    scale = np.abs(weights).sum()
    for w in starts:
        w = w / np.linalg.norm(w)
        for _ in range(100):
            F, J = _field(w, units, weights)
            if np.dot(F, F) < (1e-13 * scale) ** 2:
                known = False
                for j in range(count):
                    known = known or np.sum((found[j] - w) ** 2) < SAME**2
                if not known and count < len(found):
                    found[count] = w
                    count += 1
                break
            for a in range(d):
                J[a, a] += 1e-15 * scale  # at a degenerate solution the derivative may be singular
            step = np.linalg.solve(J, -F)
            length = np.sqrt(np.dot(step, step))
            w = w + step * min(1.0, 0.5 / length)
            w /= np.linalg.norm(w)
    return found[:count].copy()


# The cell.


def solutions(seed: int, d: int, k: int, starts: int = 2000) -> xr.Dataset:
    """Numbers of :class:`Solutions` for a random teacher of k units, by Newton's method from random directions."""
    teacher = teachers.relu(stats.stream("teacher directions", d, k, seed), k, d)
    found = newton(teacher, stats.stream("Newton starts", d, k, seed).standard_normal((starts, d)))
    return xr.Dataset(
        {"count": ((), len(found)), "proper": ((), found.proper), "euler": ((), int(found.indices.sum()))}
    )


RECORDS: dict[str, Recipe] = {
    "teacher_directions": Recipe(
        solutions,
        {"d": [3, 5], "k": [1, 2, 3, 5, 8], "seed": range(50)},
        about="Solutions of condition (6) for random teachers, 2000 Newton starts each",
    ),
}
