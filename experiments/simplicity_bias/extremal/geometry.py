r"""Neurons with one pattern, the function $G_n$, and directions of small teachers: Sections 2.3 and 3, checked."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import xarray as xr

from experiments.simplicity_bias.extremal import cells as extremal
from experiments.simplicity_bias.extremal import infinite_sample
from shallow import alignment, nets
from shallow.book.recipes import Agreement, Recipe
from shallow.data import teachers
from shallow.nets import TwoLayer
from shallow.stats import stream
from shallow.train import flow

UNITS = (1, 2, 3, 5, 8)


def predicted_step(x: np.ndarray, y: np.ndarray, network: TwoLayer, step: float) -> tuple[np.ndarray, np.ndarray]:
    r"""States $z_j = (w_j, a_j)$, shape (m, d + 1), after one step by one matrix T for every activation pattern.

    $T = I + \eta \begin{pmatrix} 0 & D \\ D^\top & 0 \end{pmatrix}$, D the vector of the pattern.  Also returns with
    how many neurons each one shares its pattern, itself included, shape (m,).
    """
    states, d = np.column_stack([network.W, network.v]), x.shape[1]
    patterns, labels, sizes = np.unique(network.W @ x.T > 0, axis=0, return_inverse=True, return_counts=True)
    pull = (patterns * (y - network.forward(x))) @ x / len(y)
    moved = np.empty_like(states)
    for group, D in enumerate(pull):
        T = np.eye(d + 1)
        T[:d, d] = T[d, :d] = step * D
        moved[labels == group] = states[labels == group] @ T  # T is symmetric
    return moved, sizes[labels]


def compare_steps(seed: int, d: int, *, steps: int = 100, step: float = 0.05) -> xr.Dataset:
    """Largest difference of the trainer's steps from :func:`predicted_step`; and how many neurons share a pattern."""
    rng = stream("sb one step", d, seed)
    x, y = teachers.gaussian(rng, teachers.first_axis(d), 50)
    network, worst, company, taken = nets.small(rng, 500, d, 0.02), 0.0, [], 0
    for t in np.sort(rng.choice(400, steps, replace=False)):
        network = flow.train(x, y, network, step=step, steps=int(t) - taken).network
        after = flow.train(x, y, network, step=step, steps=1).network
        moved, shared = predicted_step(x, y, network, step)
        difference = np.abs(moved - np.column_stack([after.W, after.v])).max()
        worst, taken = max(worst, difference / np.abs(moved).max()), int(t)
        company.append(shared.mean())
    return xr.Dataset({"worst": ((), float(worst)), "company": ((), float(np.mean(company)))})


class Jumps(NamedTuple):
    """Largest jumps of G_n and of D_n across hyperplanes, and errors (points,) of D_n as the gradient of G_n."""

    function: float
    vector: float
    gradient: np.ndarray


def jumps(d: int, seed: int, *, n: int = 200, near: float = 1e-9, h: float = 1e-7) -> Jumps:
    """G_n and D_n within `near` of each of the n hyperplanes; differences of G_n by h at 1000 points."""
    rng = stream("alignment function", d, seed)
    x, y = teachers.gaussian(rng, teachers.first_axis(d), n)
    w = rng.standard_normal((n, d))
    w -= ((w * x).sum(axis=1) / (x**2).sum(axis=1))[:, None] * x  # row k lies on hyperplane k
    normal = x / np.linalg.norm(x, axis=1, keepdims=True)
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    sides = w + near * normal, w - near * normal
    found = [np.subtract(*(f(x, y, side) for side in sides)) for f in (alignment.function, alignment.vector)]
    inner = rng.standard_normal((1000, d))
    rises = [alignment.function(x, y, inner + h * e) - alignment.function(x, y, inner - h * e) for e in np.eye(d)]
    wrong = np.abs(np.stack(rises, axis=-1) / (2 * h) - alignment.vector(x, y, inner)).max(axis=1)
    return Jumps(np.abs(found[0]).max(), np.linalg.norm(found[1], axis=1).max(), wrong)


def orthogonal_counts(n: int) -> xr.Dataset:
    """For how many signs of labels n orthogonal inputs have as many extremal vectors as the formula says.

    And `inside`, the largest number that belongs to directions orthogonal to no input.
    """
    agree, inside = 0, 0
    for signs in itertools.product((0, 1), repeat=n):
        rng = stream("orthogonal", n, *signs)
        x = np.linalg.qr(rng.standard_normal((n, n)))[0]
        found = extremal.brute_force(x, np.abs(rng.standard_normal(n)) * np.where(signs, 1, -1))
        agree += len(found) == extremal.orthogonal_count(sum(signs), n - sum(signs))
        inside = max(inside, int((found.zeros == 0).sum()))
    return xr.Dataset({"agree": ((), agree), "of": ((), 2**n), "inside": ((), inside)})


def star(k: int) -> TwoLayer:
    """k equal units at equal angles in the plane: for odd k their linear parts cancel."""
    angles = 0.1 + 2 * np.pi * np.arange(k) / k
    return TwoLayer(np.column_stack([np.cos(angles), np.sin(angles)]), np.zeros(k), np.ones(k))


def planar_solutions(seed: int, k: int) -> xr.Dataset:
    """`count`: number of solutions of (6) for a random teacher of k units in the plane."""
    teacher = teachers.relu(stream("teacher directions", 2, k, seed), k, 2)
    return xr.Dataset({"count": ((), len(infinite_sample.on_circle(teacher)))})


def two_examples(d: int) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """(solutions, those with D other than 0) for a linear teacher and for one unit, N(0, I_d); beta = e_1 or random."""
    beta = stream("unit vector", d).standard_normal(d)
    linear = [teachers.first_axis(d), teachers.linear(beta / np.linalg.norm(beta))]
    single = [TwoLayer(t.W[:1], t.b[:1], t.v[:1]) for t in linear]
    starts = stream("two examples", d).standard_normal((200, d))
    solve = infinite_sample.on_circle if d == 2 else lambda teacher: infinite_sample.newton(teacher, starts)
    return tuple({(len(found), found.proper) for found in map(solve, kind)} for kind in (linear, single))


def stretched_tangent(ratio: float, angle: float, turns: np.ndarray) -> np.ndarray:
    r"""Tangent component of D(w) for one unit at `angle` and Gaussian inputs of variances `ratio` and 1.

    With $x = S z$, $z \sim N(0, I)$: $D(w) = S\, D^{I}(S w)$ for the teacher $\sigma(\langle S v, z\rangle)$; `turns`
    are angles of w.
    """
    S, v = np.array([ratio**0.5, 1.0]), np.array([np.cos(angle), np.sin(angle)])
    w = np.column_stack([np.cos(turns), np.sin(turns)])
    D = S * alignment.population(TwoLayer((S * v)[None], np.zeros(1), np.ones(1)), S * w)
    return D[:, 1] * w[:, 0] - D[:, 0] * w[:, 1]


def square_tangent(angle: float, turns: np.ndarray, points: int = 20_000) -> np.ndarray:
    r"""The same for inputs uniform on the square, by quadrature: rays at $\theta$ weigh $\max(|\cos|, |\sin|)^{-4}$."""
    theta = 2 * np.pi * (np.arange(points) + 0.5) / points
    u = np.column_stack([np.cos(theta), np.sin(theta)])
    mass = np.abs(u).max(axis=1) ** -4.0 * np.maximum(u @ [np.cos(angle), np.sin(angle)], 0.0)
    total = np.concatenate([np.zeros((1, 2)), np.cumsum(np.tile(mass[:, None] * u, (3, 1)), axis=0)]) / points
    start = np.round((turns % (2 * np.pi)) * points / (2 * np.pi)).astype(int) + 3 * points // 4
    D = total[start + points // 2] - total[start]
    return D[:, 1] * np.cos(turns) - D[:, 0] * np.sin(turns)


def unit_solutions(law: str | float, angle: float, points: int = 4000) -> int:
    """Directions with D parallel to w and not 0, for one unit; law: "square", or the ratio of Gaussian variances.

    Changes of sign of the tangent component around the circle, but for the one where D = 0, opposite to the unit.
    """
    steps = 2 * np.pi / points
    turns = angle + np.pi + steps * (np.arange(points) + 0.5)
    tangent = square_tangent(angle, turns) if law == "square" else stretched_tangent(law, angle, turns)
    sign = np.sign(tangent)[3:-3]  # away from D = 0, where rounding decides
    return int((sign[1:] != sign[:-1]).sum())


RECORDS: dict[str, Recipe] = {
    "one_matrix": Recipe(
        compare_steps,
        {"d": [3, 5], "seed": [0, 1, 2]},
        about="Steps of neurons with one pattern, by one matrix",
        agreement=Agreement(rounding=("worst",)),
    ),
    "teacher_directions_plane": Recipe(
        planar_solutions, {"k": list(UNITS), "seed": range(50)}, about="Solutions of condition (6) in the plane, all"
    ),
    "orthogonal_numbers": Recipe(
        orthogonal_counts, {"n": range(1, 8)}, about="Extremal vectors of orthogonal inputs, by trial"
    ),
}
