r"""Two concentric shells in each orthant of $\mathbb R^D$: points $4 s + r\,g/|g|$ with signs $s \in \{-1, 1\}^D$.

The radius is the class: r = 1 is class 0 and r = 2 class 1.  No shell crosses a coordinate plane, so the signs of a
point name its *orthant*; orthants are numbered by the binary number of their signs, the first coordinate most
significant and -1 the digit 0.  Taking absolute values sends all $2^D$ pairs of shells onto one.  An orthant without
training points shows whether a learner has found that symmetry.
Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Section 4.1, and its public code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shallow import checks
from shallow.display import short
from shallow.stats import stream

DIMENSION, PER_CLASS = 7, 100
CENTRE, RADII = 4.0, (1.0, 2.0)
#: Radii 0.5, 0.6, ..., 2.5 of the document's radial profiles.
PROFILE = np.arange(5, 26) / 10


@dataclass(frozen=True)
class Points:
    """Points x (n, D), their class, 0 or 1, and the number of their orthant, (n,); `points[rows]` are some of them."""

    x: np.ndarray
    label: np.ndarray
    orthant: np.ndarray

    __repr__ = short

    def __len__(self) -> int:
        return len(self.label)

    def __getitem__(self, rows: np.ndarray | slice) -> Points:
        return Points(self.x[rows], self.label[rows], self.orthant[rows])


@dataclass(frozen=True)
class Task:
    """One draw of the data.

    Attributes:
        counts: points of each class asked for in each orthant, shape (2^D,); 0 in empty ones.
        train, validation: a random 80 and 20 percent of these points, in random order, not stratified.
        test: fresh points, `PER_CLASS` of each class in every orthant, ordered by orthant and class.
    """

    counts: np.ndarray
    train: Points
    validation: Points
    test: Points

    __repr__ = short

    @property
    def empty(self) -> np.ndarray:
        """The orthants without points for training, ascending."""
        return np.flatnonzero(self.counts == 0)


def draw(seed: int | str, counts: np.ndarray | None = None) -> Task:
    """The data of one run; by default all orthants but one of :data:`DIMENSION` dimensions are full.

    The choice of the empty orthant, the points, their split and the test set have a stream each, named by the seed.
    With one seed, other counts leave the test set and what an orthant holds as they are: see :func:`sample`.
    """
    checks.words(seed=seed)
    if counts is None:
        counts = all_but(empty_orthant(seed))
    points = sample(stream("orthants", seed, "points"), counts)
    train, validation = split(stream("orthants", seed, "split"), points)
    test = sample(stream("orthants", seed, "test"), np.full(len(counts), PER_CLASS))
    return Task(np.asarray(counts), train, validation, test)


def empty_orthant(seed: int | str) -> int:
    """The one orthant that :func:`draw` leaves empty unless it is given counts."""
    checks.words(seed=seed)
    return int(stream("orthants", seed, "empty").integers(2**DIMENSION))


def all_but(empty: int | Sequence[int], *, per_class: int = PER_CLASS, dimension: int = DIMENSION) -> np.ndarray:
    """Equal counts in all orthants but the named ones, which get 0; shape (2^D,)."""
    checks.integers(1, per_class=per_class, dimension=dimension)
    counts = np.full(2**dimension, per_class)
    counts[_check_orthants("empty", empty, dimension)] = 0
    return counts


def sample(rng: np.random.Generator, counts: np.ndarray) -> Points:
    """Points uniform on both shells, `counts[k]` of each class in orthant k, ordered by orthant and class.

    From one state of the generator, a larger count only adds points, and an orthant that is emptied changes no other.
    """
    checks.generators(rng=rng)
    checks.numbers(counts=counts)
    counts = np.asarray(counts)
    dimension = int(counts.size).bit_length() - 1
    whole = np.issubdtype(counts.dtype, np.integer) and (counts >= 0).all()
    if counts.shape != (2**dimension,) or dimension < 1 or not whole or not counts.any():
        raise ValueError(
            f"counts must be 2^D integers from 0, not all 0, got {counts.dtype} of {checks.given(counts, counts >= 0)}"
        )
    directions = _unit(rng.standard_normal((counts.max(), len(counts), len(RADII), dimension)))
    taken = np.arange(counts.max()) < counts[:, None, None]
    orthant, label, number = np.nonzero(np.broadcast_to(taken, (len(counts), len(RADII), counts.max())))
    x = CENTRE * signs(orthant, dimension) + np.array(RADII)[label, None] * directions[number, orthant, label]
    return Points(x, label, orthant)


def split(rng: np.random.Generator, points: Points, share: float = 0.8) -> tuple[Points, Points]:
    """A random share of the points, rounded down, and the others; both in random order."""
    checks.generators(rng=rng)
    checks.within("(0, 1)", share=share)
    order, first = rng.permutation(len(points)), int(share * len(points) + 1e-9)
    return points[order[:first]], points[order[first:]]


# Orthants.


def signs(orthant: int | np.ndarray, dimension: int = DIMENSION) -> np.ndarray:
    """Sign vectors of orthants, shape (..., D), values -1.0 and 1.0; `signs(np.arange(2**D), D)` is the whole group."""
    orthant = _check_orthants("orthant", orthant, dimension)
    return 2.0 * (orthant[..., None] >> np.arange(dimension)[::-1] & 1) - 1.0


def index(x: np.ndarray) -> np.ndarray:
    """Number of the orthant of each point; x of shape (..., D), no coordinate 0."""
    checks.numbers(x=x)
    x = np.asarray(x, dtype=np.float64)
    if x.ndim < 1 or not np.isfinite(x).all() or not x.all():
        raise ValueError(
            f"x must be finite without zeros, of shape (..., D), got {checks.given(x, np.isfinite(x) & (x != 0))}"
        )
    return (x > 0) @ (1 << np.arange(x.shape[-1])[::-1])


def neighbours(orthant: int, dimension: int = DIMENSION) -> np.ndarray:
    """The D orthants that differ in one sign, ascending."""
    return np.sort(_check_orthants("orthant", orthant, dimension) ^ (1 << np.arange(dimension)))


def compared(empty: int, dimension: int = DIMENSION) -> tuple[int, int, int]:
    """The orthants of the document's Figure 2: the empty one, its lowest neighbour, the lowest that is neither."""
    _check_orthants("empty", empty, dimension)
    checks.integers(2, dimension=dimension)
    near = neighbours(empty, dimension)
    far = np.setdiff1d(np.arange(2**dimension), [*near, empty])
    return int(empty), int(near[0]), int(far[0])


def reflected(x: np.ndarray, orthant: int | np.ndarray) -> np.ndarray:
    """The same points in another orthant: |x| with its signs; x of shape (..., D), orthant a number or shape (...)."""
    checks.shape((..., "D"), x=x)
    x = np.asarray(x, dtype=np.float64)
    return np.abs(x) * signs(orthant, x.shape[-1])


def radius(x: np.ndarray) -> np.ndarray:
    """Distance of |x| from (4, ..., 4), the radius of the shell of a point in whichever orthant; shape (...)."""
    checks.numbers(x=x)
    return np.linalg.norm(np.abs(np.asarray(x, dtype=np.float64)) - CENTRE, axis=-1)


def profile(
    rng: np.random.Generator, radii: np.ndarray = PROFILE, directions: int = PER_CLASS, dimension: int = DIMENSION
) -> np.ndarray:
    """Points at each of the radii in the all-positive orthant, to be :func:`reflected`; (radii, directions, D).

    Each radius has directions of its own.
    """
    checks.generators(rng=rng)
    checks.shape((None,), radii=radii)
    checks.within(f"(0, {CENTRE:g})", radii=radii)  # so that no point leaves its orthant
    checks.integers(1, directions=directions, dimension=dimension)
    radii = np.asarray(radii, dtype=np.float64)
    return CENTRE + radii[:, None, None] * _unit(rng.standard_normal((len(radii), directions, dimension)))


def by_orthant(values: np.ndarray, points: Points) -> np.ndarray:
    """Mean of values (n,) over the points of each orthant, such as the accuracy; shape (2^D,), NaN without points."""
    checks.shape(points.orthant.shape, values=values)
    values = np.asarray(values, dtype=np.float64)
    count = np.bincount(points.orthant, minlength=2 ** points.x.shape[1]).astype(np.float64)
    total = np.bincount(points.orthant, values, minlength=len(count))
    return np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)


def _unit(g: np.ndarray) -> np.ndarray:
    return g / np.linalg.norm(g, axis=-1, keepdims=True)


def _check_orthants(name: str, orthant: int | Sequence[int] | np.ndarray, dimension: int) -> np.ndarray:
    checks.integers(1, dimension=dimension)
    checks.within(f"[0, {2**dimension})", **{name: orthant})
    orthant = np.asarray(orthant)
    if orthant.size and not np.issubdtype(orthant.dtype, np.integer):
        raise ValueError(f"{name} must be integers, got {orthant.dtype}")
    return orthant.astype(np.int64)
