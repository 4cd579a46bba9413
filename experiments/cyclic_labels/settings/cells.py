"""Are the document's formulas right, and does the fast trainer follow them? (Bowman 2025, Sections 1.2, 4 and 5)"""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.cyclic_labels import oracle
from experiments.cyclic_labels.loss_curves import EPOCHS, GRID
from experiments.cyclic_labels.variance import amplitudes, initialisation
from shallow import nets
from shallow.book.recipes import Agreement, Recipe
from shallow.data import cyclic
from shallow.nets import TwoLayer
from shallow.train import plain, univariate

TRAINERS = {
    "formulas": lambda *problem, epochs, **options: (
        plain.train(*problem, steps=epochs, loss="hinge", reduction="sum", **options).network
    ),
    "fast": lambda *problem, **options: univariate.train(*problem, **options).network,
}


def adversarial() -> tuple[np.ndarray, np.ndarray, TwoLayer]:
    r"""A problem (x, y, network) on which every convention shows.

    Inputs: duplicates, both ends of the interval, -0.0 and a point on a label boundary (label 0).  Neurons: kinks
    exactly on training points, $w = 0$ with $b >, <, = 0$, $w = -0.0$, tiny w, dead neurons; output weights that make
    $y_i f_i = 1$ exactly at one point.
    """
    x = np.array([-0.5, -0.375, -0.25, -0.25, -0.125, -0.0, 0.125, 0.125, 0.25, 0.4375, 0.5])
    y = np.where(x == 0, 0.0, cyclic.labels(x, 2))
    y[y == 0] = [0, 1, -1, 0, 1, 1, -1, 0][: (y == 0).sum()]
    w = [1, -1, 1, -1, 0.5, 0, 0, 0, -0.0, 1e-300, -1e-300, 2, -2, 1, -1, 4]
    b = [0.25, -0.125, -0.125, 0.25, 0, 0.5, -0.5, 0, -0.0, 0, 1e-300, -2, -2, 0.375, 0.375, -2]
    v = np.resize([0.25, -0.5, 1, -0.125, 0.75, 0.5, -0.25], len(w))
    network = TwoLayer(np.array(w, dtype=float), np.array(b, dtype=float), v)
    v[5] += (y[4] - network.forward(x)[4]) / b[5]  # a constant neuron of height 1/2: sets f at one point to its label
    return x, y, nets.with_output(network, v)


def steps(epochs: int, step: float) -> dict[str, float]:
    """Largest difference of any parameter from automatic differentiation on the adversarial problem, by trainer."""
    x, y, network = adversarial()
    wanted = oracle.train(x, y, network, step=step, epochs=epochs)
    return {name: _distance(train(x, y, network, step=step, epochs=epochs), wanted) for name, train in TRAINERS.items()}


def _distance(first: TwoLayer, second: TwoLayer) -> float:
    return max(float(np.abs(getattr(first, name) - getattr(second, name)).max()) for name in ("W", "b", "v"))


def path(n: int, width: int, step: float, *, seed: int = 0, epochs: int = EPOCHS) -> xr.Dataset:
    """Largest difference on the grid from automatic differentiation after `epochs`, relative to the largest output."""
    sample = cyclic.sample(n, seed=seed)
    network = nets.default(sample.rng, width)
    fast, slow = (
        train(sample.x, sample.y, network, step=step, epochs=epochs) for train in (TRAINERS["fast"], oracle.train)
    )
    wanted = slow.forward(GRID)
    difference = np.abs(univariate.evaluate(fast, GRID)[0] - wanted).max() / np.abs(wanted).max()
    return xr.Dataset({"difference": ((), difference)})


RECORDS: dict[str, Recipe] = {
    "agreement": Recipe(
        path,
        {"n": [20, 50], "width": [128, 512], "step": [0.01, 0.001]},
        {"seed": 0, "epochs": 20_000},
        "The fast trainer against automatic differentiation over 20,000 epochs",
        agreement=Agreement(elsewhere=0.1),  # rounding errors, all of the size of 1e-13
    ),
    "frozen": Recipe(
        amplitudes.frozen,
        {"n": [10, 20, 50], "seed": list(range(10))},
        about="A thousand epochs beyond zero training loss, without and with weight decay",
    ),
    "saddle": Recipe(
        initialisation.saddle,
        {"n": [10, 50, 200], "periods": [3, 4], "seed": list(range(100))},
        about="Directions of descent and of ascent at the zero network",
    ),
}
