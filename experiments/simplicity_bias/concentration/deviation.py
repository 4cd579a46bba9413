r"""How far the gradient vectors of a sample are from their mean, over all directions: $\sup_w \|D_n(w) - D(w)\|$.

Exactly in two and three dimensions, by :mod:`.circles`; a lower bound in more, by a walk from great
circle to great circle.  With signs $\varepsilon_k y_k$ for the labels and zero for D the same functions give the
supremum of the symmetrised process.  (Theorem 1.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from experiments.simplicity_bias.concentration import circles
from shallow import alignment, checks
from shallow.display import short
from shallow.nets import TwoLayer

#: Widths of the band of points beside the hyperplane that decide where :func:`search` turns, in standard deviations.
WINDOWS = (1.0, 0.3, 0.1, 0.03)
#: After one round of the windows :func:`search` continues one of so many starts.
CONTINUED = 5
#: Arcs of a circle at which :func:`search` evaluates a D that turns with w; it interpolates between them.
NODES = 1000


def supremum(x: np.ndarray, y: np.ndarray, population: np.ndarray | TwoLayer) -> float:
    r"""$\sup_w \|D_n(w) - D(w)\|$ over all directions, exactly, in two dimensions (three for a constant D).

    Args:
        x, y: the sample, shapes (n, d) and (n,), for d = 3 in general position.
        population: D(w); either a vector, shape (d,), where it is the same for every w (symmetric inputs and a linear
            teacher; zeros for a symmetrised process), or the teacher, for inputs $N(0, I_2)$.

    Cost: $O(n \log n)$ for d = 2, 0.2 s for a million points, with a teacher 5 ms more; $O(n^2 \log n)$ for d = 3.
    """
    x, y = alignment.sample(x, y)
    (n, d), population = x.shape, _checked(population, x.shape[1])
    if d == 2 and isinstance(population, TwoLayer):
        return _around_curve(x, y, population)
    if d not in (2, 3) or isinstance(population, TwoLayer):
        raise ValueError(f"x must have 2 columns, or 3 with a constant population, got {d}")
    if d == 3:
        return float(np.sqrt(circles.all_circles(x, y, n * population)) / n)
    p, q = x.T
    order, slopes = circles.turn(p, q)
    changes, start, nodes = circles.weights(p, y)[order], circles.at_start(p, q, x, y), n * np.stack([population] * 2)
    largest, _, _ = circles.sweep(changes, x[order], slopes, start, y @ x - 2 * nodes[0], nodes)
    return float(np.sqrt(largest) / n)


class Found(NamedTuple):
    r"""A lower bound $\|D_n(w) - D(w)\|$ of the supremum and the direction w at which it is attained."""

    value: float
    direction: np.ndarray

    __repr__ = short


def search(
    rng: np.random.Generator,
    x: np.ndarray,
    y: np.ndarray,
    population: np.ndarray | TwoLayer,
    *,
    starts: int = 50,
    sweeps: int = 24,
) -> Found:
    r"""A lower bound of $\sup_w \|D_n(w) - D(w)\|$ in any dimension $d \ge 2$, by local search from random directions.

    Each step finds the best direction of a whole great circle.  The circle goes through the present w in the direction
    in which points with $y_k \langle x_k, D_n(w) - D(w)\rangle > 0$ near the hyperplane become active and the others
    inactive; "near" cycles through `WINDOWS`.  After the first cycle the best fifth of the starts goes on, with so many
    `sweeps` of a circle in all.  Cost: $O(n d + n \log n)$ per circle: 1 ms for n = 10 000, d = 20.
    """
    x, y = alignment.sample(x, y)
    if x.shape[1] < 2:
        raise ValueError(f"x must have at least 2 columns, got {x.shape[1]}")
    checks.integers(1, starts=starts, sweeps=sweeps)
    walk = _Walk(x, y, _checked(population, x.shape[1]), y @ x)
    first = rng.standard_normal((starts, x.shape[1]))
    found = [walk.climb(w / np.linalg.norm(w), range(min(sweeps, len(WINDOWS)))) for w in first]
    if sweeps > len(WINDOWS):
        found.sort(key=lambda one: -one.value)
        best = found[: -(-starts // CONTINUED)]
        found = [walk.climb(one.direction, range(len(WINDOWS), sweeps)) for one in best]
    return max(found, key=lambda one: one.value)


@dataclass(frozen=True)
class _Walk:
    """A sample around its population, with the sum of all y x: steps from circle to circle."""

    x: np.ndarray
    y: np.ndarray
    population: np.ndarray | TwoLayer
    everything: np.ndarray

    def climb(self, w: np.ndarray, steps: range) -> Found:
        """The best direction met in the given steps, which start at w."""
        best = Found(-1.0, w)
        for step in range(steps.start, steps.stop + 1):
            p = self.x @ w
            active = ((p > 0) * self.y) @ self.x
            difference = active / len(p) - self._mean(w)
            value = float(np.linalg.norm(difference))
            if value > best.value:
                best = Found(value, w)
            if step == steps.stop:
                break
            width = WINDOWS[step % len(WINDOWS)] * np.sqrt(np.mean(p**2))
            v = (np.exp(-0.5 * (p / width) ** 2) * self.y * (self.x @ difference)) @ self.x
            v -= w * (v @ w)
            length = np.linalg.norm(v)
            if length > 0:  # otherwise no point lies in the window
                w = self._best_of_circle(w, v / length, p, active)
        return best

    def _mean(self, w: np.ndarray) -> np.ndarray:
        return alignment.population(self.population, w) if isinstance(self.population, TwoLayer) else self.population

    def _best_of_circle(self, u: np.ndarray, v: np.ndarray, p: np.ndarray, active: np.ndarray) -> np.ndarray:
        """The middle of the best arc of the circle through u and v, D being taken where an arc begins."""
        order, slopes = circles.turn(p, self.x @ v)
        nodes, total = self._centres(u, v, slopes)
        changes = circles.weights(p, self.y)[order]
        _, arc, half = circles.sweep(changes, self.x[order], slopes, active, self.everything - total, nodes)
        begin = circles.angle(slopes[arc - 1]) if arc else 0.0
        middle = (begin + circles.angle(slopes[arc])) / 2 + np.pi * half
        w = np.cos(middle) * u + np.sin(middle) * v
        return w / np.linalg.norm(w)

    def _centres(self, u: np.ndarray, v: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """n D(w) where some arcs of a circle begin, (nodes, d), and n (D(w) + D(-w)) = n E[y x], (d,)."""
        n, mean = len(slopes), self.population
        if not isinstance(mean, TwoLayer):
            return np.stack([n * mean] * 2), 2 * n * mean
        stride = -(-n // NODES)
        arcs = np.minimum(np.arange(0, n + stride, stride), n - 1)
        begins = v - slopes[arcs - 1, None] * u
        begins[0] = u
        return n * alignment.population(mean, begins), n / 2 * mean.v @ mean.W


def _around_curve(x: np.ndarray, y: np.ndarray, teacher: TwoLayer) -> float:
    r"""The supremum for d = 2 around $D(\varphi)$, inside the arcs too, by bisection of those that may hold it.

    With $w' = u$ one has $D' = \frac1\pi (h(u) + h(-u))\, u$, hence $q(\varphi) = \|D_n - D(\varphi)\|^2$ has
    $|q''| \le K = \frac2\pi E (2R + E/\pi)$, where $E = \sum_i |a_i| \|v_i\|$ and $R \ge \|D_n - D\|$, and on an arc of
    length t q exceeds the larger of its values at the ends by no more than $K t^2 / 8$.
    """
    p, q = x.T
    order, slopes = circles.turn(p, q)
    steps = circles.weights(p, y)[order, None] * x[order]
    first, everything = circles.at_start(p, q, x, y), y @ x
    half = np.concatenate([first[None], first + np.cumsum(steps, axis=0)])[np.append(True, slopes < np.inf)]
    ends = np.concatenate([[0.0], circles.angle(slopes[slopes < np.inf]), [np.pi]])
    values = np.concatenate([half, everything - half]) / len(y)
    low, high = (np.concatenate([e, np.pi + e]) for e in (ends[:-1], ends[1:]))
    values, low, high = (array[high > low] for array in (values, low, high))

    def squares(values: np.ndarray, angles: np.ndarray) -> np.ndarray:
        centre = alignment.population(teacher, np.stack([np.cos(angles), np.sin(angles)], axis=-1))
        return ((values - centre) ** 2).sum(axis=-1)

    at_low, at_high = squares(values, low), squares(values, high)
    largest = max(at_low.max(), at_high.max())
    E = np.abs(teacher.v) @ np.linalg.norm(teacher.W, axis=1)
    R = np.sqrt(largest) + E / np.pi * (high - low).max()
    curvature = 2 / np.pi * E * (2 * R + E / np.pi)
    while True:
        ceiling = np.maximum(at_low, at_high) + curvature / 8 * (high - low) ** 2
        left = ceiling > largest * (1 + 1e-12)
        if not left.any():
            return float(np.sqrt(largest))
        values, low, high, at_low, at_high = (array[left] for array in (values, low, high, at_low, at_high))
        middle = (low + high) / 2
        at_middle = squares(values, middle)
        largest = max(largest, at_middle.max())
        values, low, high = np.tile(values, (2, 1)), np.append(low, middle), np.append(middle, high)
        at_low, at_high = np.append(at_low, at_middle), np.append(at_middle, at_high)


def _checked(population: np.ndarray | TwoLayer, d: int) -> np.ndarray | TwoLayer:
    if isinstance(population, TwoLayer):
        if population.W.shape[1] != d:
            raise ValueError(f"population must have {d} inputs as x, got a teacher with {population.W.shape[1]}")
        return population
    checks.array((d,), population=population)
    return np.asarray(population, dtype=np.float64)
