r"""Sparse parity with a biased half: data on which a network is better than kernel machines.

Half of the inputs are uniform on $\{-1, 1\}^n$; in the other half the k relevant coordinates are all equal.  The label
is their product.  For odd k the second half has a linear signal, by which a network may find the coordinates; on the
first half every function of fewer than k of them is uncorrelated with the label.
Source: Daniely and Malach (2020) and Shi et al. (2022), as told in Section 2 of the document; its core without images.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr
from sklearn.metrics.pairwise import rbf_kernel

from experiments.hidden_structure import selection
from shallow import checks, mlp
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.kernels import layered, machines
from shallow.stats import stream
from shallow.train import ensemble

#: Values of gamma times n, and of C, that are tried; the tangent kernel has a mean diagonal of 1.
GAMMAS, PENALTIES = (0.125, 0.5, 2.0), (0.1, 1.0, 10.0, 100.0)


class Part(NamedTuple):
    """Inputs (n, d) of -1 and 1, labels (n,) of -1 and 1, and which points are of the uniform half, (n,)."""

    x: np.ndarray
    y: np.ndarray
    uniform: np.ndarray


def draw(rng: np.random.Generator, count: int, inputs: int, relevant: int) -> Part:
    """Points, each of either half with probability 1/2; the first `relevant` coordinates count, an odd number."""
    if not 1 <= relevant <= inputs or relevant % 2 == 0:
        raise ValueError(f"relevant must be odd and at most inputs = {inputs}, got {relevant}")
    x = rng.choice([-1.0, 1.0], (count, inputs))
    uniform = rng.random(count) < 0.5
    x[~uniform, :relevant] = x[~uniform, :1]
    return Part(x, x[:, :relevant].prod(axis=1), uniform)


@releases_gil
def sparse_parity(
    seed: int,
    *,
    inputs: int = 50,
    relevant: int = 5,
    train: int = 10_000,
    test: int = 5000,
    width: int = 512,
    decay: float = 0.0,
    epochs: int = 50,
    points: int = 5000,
    held_out: int = 1000,
    whole: bool = True,
) -> xr.Dataset:
    """A network of one hidden layer, AdaDelta with rate 1 and cross-entropy, against two kernel machines.

    Args:
        points, held_out: numbers of points for the support vector machines, with hinge loss, and for the choice of C
            and gamma by their accuracy.
        whole: if not, only the network's `path` and `share` are returned.

    Returns:
        `accuracy` (learner, half): network, rbf, ntk (tangent kernel of the initial network); uniform, biased;
        `path` (epoch): the network's on the uniform half; `share` (epoch): mean share of $|w_j|^2$ on the relevant
        coordinates, k/n by chance; `held` (learner), accuracy by which the machines were chosen.
    """
    rng = stream("hidden structure", "parity", inputs, relevant, seed)
    parts = [draw(rng, count, inputs, relevant) for count in (train, test, held_out)]
    learnt, tested, held = parts
    checks.integers(2, train, points=points)
    start = mlp.default([stream("hidden structure", "parity", "initial weights", width, seed)], (inputs, width, 1))

    def look(now: mlp.Stack) -> tuple[np.ndarray, float]:
        squares = now.weights[0][0].astype(float) ** 2
        share = squares[:, :relevant].sum(axis=1) / squares.sum(axis=1)
        return _by_half(now.forward(tested.x)[0], tested), float(share.mean())

    fit = ensemble.train(
        start,
        learnt.x,
        (learnt.y + 1) / 2,
        rngs=[rng],
        loss="bce-logit",
        optimiser="adadelta",
        rate=1.0,
        decay=decay,
        epochs=epochs,
        records=range(epochs + 1),
        measure=look,
    )
    accuracy, share = (np.array(column) for column in zip(*fit.values[0], strict=True))
    path = xr.Dataset({"path": ("epoch", accuracy[:, 0]), "share": ("epoch", share)}, {"epoch": fit.records})
    if not whole:
        return path
    small = Part(*(array[:points] for array in learnt))
    network = start.network(0)
    unit = layered.diagonal(*network, small.x).mean()
    kernels = {
        "rbf": [lambda x, z, g=g: rbf_kernel(x, z, gamma=g / inputs) for g in GAMMAS],
        "ntk": [lambda x, z: layered.ntk(*network, x, z) / unit],
    }
    found = [_best_machine(candidates, small, held, tested) for candidates in kernels.values()]
    return path.assign(
        accuracy=(("learner", "half"), [accuracy[-1], *(by_half for by_half, _ in found)]),
        held=("learner", [np.nan, *(chosen_by for _, chosen_by in found)]),
    ).assign_coords(learner=["network", *kernels], half=["uniform", "biased"])


def _by_half(f: np.ndarray, part: Part) -> np.ndarray:
    """Accuracy on the uniform and on the biased half."""
    right = (f > 0) == (part.y > 0)
    return np.array([right[half].mean() for half in (part.uniform, ~part.uniform)])


def _best_machine(kernels: list, learnt: Part, held: Part, tested: Part) -> tuple[np.ndarray, float]:
    """Test accuracies of the machine that is best on the points held out, and its accuracy there."""
    best, chosen_by = None, -1.0
    for kernel in kernels:
        gram, across = kernel(learnt.x, learnt.x), kernel(held.x, learnt.x)
        for C in PENALTIES:
            machine = machines.hinge(gram, learnt.y, C)
            right = 1 - selection.misclassified(machine.values(across), held.y)
            if right > chosen_by:
                best, chosen_by = (kernel, machine), right
    kernel, machine = best
    return _by_half(machine.values(kernel(tested.x, learnt.x)), tested), chosen_by


SHORT = {"agreement": Agreement(elsewhere=0.05), "shortened": {"epochs": 2, "whole": False}}
RECORDS: dict[str, Recipe] = {
    "parity": Recipe(
        sparse_parity,
        {"seed": list(range(5))},
        about="Sparse parity with a biased half: network and kernel machines",
        **SHORT,
    ),
    "parity_decay": Recipe(
        sparse_parity,
        {"train": [5000, 10_000], "decay": [0.0, 1e-4, 1e-3], "seed": list(range(5))},
        {"epochs": 100, "whole": False},
        "Sparse parity: networks by number of points and weight decay",
        **SHORT,
    ),
}
