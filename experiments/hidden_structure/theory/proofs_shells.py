r"""Numbers beside the proofs on shells and their tangent kernels: each function evaluates both sides of a statement."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from experiments.hidden_structure import constructed, shells
from experiments.hidden_structure.folding import cells as folding
from experiments.hidden_structure.orthants import cells as orthants
from experiments.hidden_structure.polynomial_machines import tangent_identity
from experiments.hidden_structure.shell_machines import orthant_kernels, orthant_scores
from shallow import mlp, stats
from shallow.kernels import arc_cosine, layered, machines
from shallow.mlp import Stack
from shallow.train import ensemble

Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]
FLIPS = shells.signs(np.arange(2**shells.DIMENSION))


def folds(network: Stack) -> dict[str, float]:
    r"""A constructed network on the test points of one draw.

    `lowest`, `highest`: largest value of $\sum_i \varphi(|x_i|)$ on class 0 and smallest on class 1; `worst`: accuracy
    in the worst orthant; `quotient`: of the features; `match`: share of the points of class 0 in the empty orthant
    whose nearest of 4,000 training points, in features, is of class 0.
    """
    task = shells.draw("constructed")
    unseen, value = task.test[task.test.orthant == task.empty[0]], network.forward(task.test.x)[0]
    around = [shells.reflected(unseen.x, k) for k in shells.neighbours(int(task.empty[0]))]
    seen, train = network.features(unseen.x)[0], task.train[:4000]
    return {
        "lowest": float(value[task.test.label == 0].max() + constructed.MIDDLE),
        "highest": float(value[task.test.label == 1].min() + constructed.MIDDLE),
        "worst": float(shells.by_orthant((value > 0) == task.test.label, task.test).min()),
        "quotient": folding.quotient(seen, np.stack([network.features(x)[0] for x in around]), unseen.label),
        "match": folding.match_fractions(seen, unseen.label, network.features(train.x)[0], train.label)[0],
    }


def nearest_margin(draws: int = 20) -> tuple[float, float]:
    """Share of the points of empty orthants that are nearest to one of class 1, and the smallest lead of class 1."""
    leads = []
    for seed in range(draws):
        task = shells.draw(f"lead {seed}")
        x = task.test.x[task.test.orthant == task.empty[0]]
        pools = [task.train.x[task.train.label == label] for label in (0, 1)]
        inner, outer = (np.linalg.norm(x - pool[folding.nearest(x, pool)], axis=1) for pool in pools)
        leads.append(inner - outer)
    return float(np.mean(np.array(leads) > 0)), float(np.min(leads))


def reflected_training(turn_start: bool, points: int = 2000) -> bool:
    """Whether a network trained on reflected data equals the reflected network, bit for bit.

    The proposition asks that the first layer of the start is reflected along.
    """
    task, flip, start = shells.draw("reflected"), shells.signs(37), orthants.untrained(0, 3, 64)
    (first, *others), biases = start.network(0)
    other = mlp.stacked([([first * flip if turn_start else first, *others], biases)])
    outputs = []
    for one, sign in ((start, np.ones(7)), (Stack(other.parameters.astype(np.float32), other.widths), flip)):
        fit = ensemble.train(
            one,
            task.train.x[:points] * sign,
            task.train.label[:points],
            rngs=[stats.stream("hs flip")],
            loss="bce-probability",
            optimiser="adam",
            rate=1e-3,
            decay=1e-3,
            epochs=2,
            batch=orthants.BATCH,
        )
        outputs.append(fit.last.forward(task.test.x[::16] * sign))
    return bool((outputs[0] == outputs[1]).all())


# The tangent kernel and its machines.


def tangent_errors(depth: int, points: int = 40) -> dict[str, float]:
    """Largest error of the layered formula over the largest entry, against automatic differentiation; by output.

    `no biases` is the formula without the + 1 in each layer, which is another kernel.
    """
    weights, biases, x = _small(depth, points)
    exact = {output: _exact(weights, biases, x, output) for output in layered.OUTPUTS}
    found = {output: layered.ntk(weights, biases, x, output=output) for output in layered.OUTPUTS}
    exact["no biases"], found["no biases"] = exact["logit"], found["logit"] - _bias_part(weights, biases, x)
    return {key: float(np.abs(found[key] - exact[key]).max() / np.abs(exact[key]).max()) for key in found}


def three_terms(points: int = 40) -> dict[str, float]:
    """Largest error of the formula of one hidden layer over the largest entry; and without the 1 in x . z + 1."""
    (W, V), (b, c), x = _small(1, points)
    exact = _exact([W, V], [b, c], x, "logit")
    h = x @ W.T + b
    active, features = (h > 0) * V[0], np.maximum(h, 0)
    found = {k: (x @ x.T + k) * (active @ active.T) + features @ features.T + 1 for k in (1, 0)}
    right, wrong = (float(np.abs(K - exact).max() / np.abs(exact).max()) for K in found.values())
    return {"right": right, "wrong": wrong}


def contained(depth: int, points: int = 40) -> tuple[float, bool]:
    """The last layer's parameters on the gradients of the logit less the logit, over the largest logit; and whether
    they have its sign on the gradients of the probability."""
    weights, biases, x = _small(depth, points)
    logit = mlp.stacked([(weights, biases)]).forward(x)[0]
    last = np.zeros(sum(W.size + len(W) for W in weights))
    last[-weights[-1].size - 1 :] = [*weights[-1].ravel(), *biases[-1]]
    own, squashed = (tangent_identity.gradients(weights, biases, x, output) @ last for output in layered.OUTPUTS)
    return float(np.abs(own - logit).max() / np.abs(logit).max()), bool((squashed * logit > 0).all())


def probability_bound(C: float, power: int, sharpness: float = 60.0) -> float:
    r"""Largest $|f_p - b|$ over $\psi^{power} \sqrt{2 C n K_f}$ at test points; power 1 is the proposition's bound.

    The network is random, its output layer multiplied by `sharpness`, so that it is sure of most points.
    """
    weights, biases, _ = _small(2, 1)
    weights, biases = [*weights[:-1], sharpness * weights[-1]], [*biases[:-1], sharpness * biases[-1]]
    task = shells.draw(0)
    fitted, there = orthant_scores.subset(task.train, 1), task.test.x[::50]
    gram, across = (layered.ntk(weights, biases, x, fitted.x, output="probability") for x in (fitted.x, there))
    machine = machines.squared_hinge(gram, orthant_scores.labels(fitted), C)
    f = machine.values(across) - machine.intercept
    logit = mlp.stacked([(weights, biases)]).forward(there)[0]
    psi = 1 / (2 + 2 * np.cosh(logit))
    bound = psi**power * np.sqrt(2 * C * len(fitted) * layered.diagonal(weights, biases, there))
    return float(np.max(np.abs(f) / bound))


# Flips.


def flip_kernels() -> dict[str, Kernel]:
    """Kernels that know more or less of the flips, by name."""
    one = orthants.untrained("flips", 1, 128).network(0)
    return {
        "Gaussian": lambda x, z: orthant_kernels.KERNELS["gaussian"](x, z, 0.1),
        "Gaussian, averaged over flips": lambda x, z: orthant_kernels.KERNELS["averaged"](x, z, 0.1),
        "tangent, one layer, infinite width": lambda x, z: arc_cosine.ntk(x, z, depth=1, width=128),
        "tangent, one layer, 128 units": lambda x, z: layered.ntk(*one, x, z),
    }


def flip_differences(kernel: Kernel, C: float = 10.0) -> tuple[float, float, float]:
    """Over the largest |f|: how far machines are from three equalities.

    The machine on flipped data against the flipped machine; a machine at flipped points against itself; the same for a
    machine whose training set holds all flips, of a group of eight, of its points.
    """
    task, flip = shells.draw(0), shells.signs(37)
    fitted, x = orthant_scores.subset(task.train, 1), task.test.x[::200]
    few = FLIPS[::16] * FLIPS[0]  # a group of eight
    whole = (orthants_positive(30)[:, None] * few).reshape(-1, shells.DIMENSION)
    label = np.where(shells.radius(whole) > 1.5, 1.0, -1.0)

    def fit(points: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
        return machines.squared_hinge(kernel(points, points), y, C).values(kernel(at, points))

    y = orthant_scores.labels(fitted)
    f, flipped, other = fit(fitted.x, y, x), fit(fitted.x, y, x * flip), fit(fitted.x * flip, y, x * flip)
    closed, moved = fit(whole, label, x), fit(whole, label, x * few[3])
    scale = np.abs(f).max()
    return tuple(
        float(np.abs(a - b).max() / s)
        for a, b, s in ((other, f, scale), (flipped, f, scale), (moved, closed, np.abs(closed).max()))
    )


def orthants_positive(count: int) -> np.ndarray:
    """Points of both shells in the positive orthant, half of each class; (count, 7)."""
    rng = stats.stream("hs", "positive", count)
    return np.concatenate([shells.profile(rng, [radius], count // 2)[0] for radius in shells.RADII])


def _small(depth: int, points: int) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    rng = stats.stream("hidden structure", "tangent kernel", depth)
    weights, biases = mlp.default([rng], (shells.DIMENSION, *[16] * depth, 1), dtype=np.float64).network(0)
    return weights, biases, shells.draw(0).test.x[rng.choice(25_600, points, replace=False)]


def _exact(weights: list[np.ndarray], biases: list[np.ndarray], x: np.ndarray, output: str) -> np.ndarray:
    """Gram matrix of the gradients of one output at every point, which knows nothing of the formula."""
    J = tangent_identity.gradients(weights, biases, x, output)
    return J @ J.T


def _bias_part(weights: list[np.ndarray], biases: list[np.ndarray], x: np.ndarray) -> np.ndarray:
    columns = layered.jacobian(weights, biases, x)
    ends = np.cumsum([size for W in weights for size in (W.size, len(W))])
    B = np.hstack([columns[:, end - len(W) : end] for W, end in zip(weights, ends[1::2], strict=True)])
    return B @ B.T
