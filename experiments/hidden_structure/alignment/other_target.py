r"""Which functions the hidden layer allows: the target that it is trained on, or any such function of the direction.

Along training the output weights are solved anew, as in :mod:`.who_leads`, for three targets on the same inputs: the
network's *own* polynomial of v; the polynomial with all roots *shifted* by half their spacing, so that its waves peak
where those of the own one cross zero; and the own polynomial of *another* direction, orthogonal to the hidden one.

What was expected before the run: nothing of any target at epoch 0; at epochs 10 and 20 of the shifted polynomial about
as much as of the own, within 0.2 of R_c; of the other direction nothing at any epoch.  Then what the hidden layer has
is the direction, with biases enough for any such function of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from experiments.hidden_structure import hidden_index, polynomials
from experiments.hidden_structure.alignment.who_leads import LARGE, solved
from experiments.hidden_structure.polynomials import Problem, chosen, initial, problem
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.mlp import Stack
from shallow.stats import stream


class Target(NamedTuple):
    """The coordinate (n,) of which it is a function, and its labels (n,)."""

    v: np.ndarray
    y: np.ndarray


@releases_gil
def other_target(
    run: int, degree: int, *, at: Sequence[int] = (0, 1, 3, 5, 10, 20), size: int = hidden_index.SIZE
) -> xr.Dataset:
    """Train one network with the author's setting, independent inputs; solve its output weights for three targets.

    Returns `r2` (epoch, target): R_c of the :func:`targets` on the test points, by :func:`anew`.  The networks are
    those of the record who_leads, and for the own target so are the numbers of its `output, all`.

    Cost: three seconds for an epoch.
    """
    task, setting = problem("independent", degree, run, size=size), chosen("independent", degree, None, None, None)
    start = initial("independent", task.x.shape[1], setting.width, run)
    rng = stream("hidden structure", "independent", "batches", run)
    fit = polynomials.fitted(task, start, setting, rng, records=list(at), epochs=max(1, *at))
    asked = targets(task, degree, run)
    found = [list(anew(fit.snapshot(epoch), task, asked).values()) for epoch in at]
    return xr.Dataset({"r2": (("epoch", "target"), found)}, {"epoch": list(at), "target": list(asked)})


def targets(task: Problem, degree: int, run: int) -> dict[str, Target]:
    r"""The own target; the shifted one; the own one of another direction.  All have one variance on $|v| \le 1$."""
    spacing = 2 * hidden_index.REACH / (degree - 1)
    signs = np.repeat([1.0, -1.0], task.x.shape[1] // 2)
    across = task.x @ stream("hidden structure", "other target", "signs", run).permutation(signs)
    own = Target(task.v, task.y)
    wanted = task.y[np.abs(task.v) <= 1].std()
    shifted = hidden_index.polynomial(degree, spacing / 2)(task.v)
    rotated = hidden_index.polynomial(degree)(across)
    return {
        "own": own,
        "shifted": Target(task.v, shifted * (wanted / shifted[np.abs(task.v) <= 1].std())),
        "other direction": Target(across, rotated * (wanted / rotated[np.abs(across) <= 1].std())),
    }


def anew(network: Stack, task: Problem, asked: Mapping[str, Target]) -> dict[str, float]:
    """R_c on the test points of each target, of the output layer solved for it on all training points."""
    train, validation, test = (task.rows[part] for part in polynomials.PARTS)
    hidden = network.features(task.x)[0].astype(np.float64)
    hidden = np.column_stack([hidden / np.sqrt((hidden[train] ** 2).sum(axis=1).mean()), np.ones(len(hidden))])
    found = {}
    for name, target in asked.items():
        y, weights, start = target.y, {}, np.zeros(hidden.shape[1])
        for C in LARGE:
            weights[C] = start = solved(hidden[train], y[train], C, start)
        C = min(LARGE, key=lambda C: np.abs(hidden[validation] @ weights[C] - y[validation]).mean())
        inside = test[np.abs(target.v[test]) <= 1]
        found[name] = float(1 - np.mean((hidden[inside] @ weights[C] - y[inside]) ** 2) / y[inside].var())
    return found


RECORDS: dict[str, Recipe] = {
    "other_target": Recipe(
        other_target,
        {"degree": [7], "run": list(range(5))},
        about="Output weights solved anew along training for the own target, a shifted one, another direction",
        replicates="run",
        agreement=Agreement(elsewhere=0.1),
        shortened={"at": (0, 1)},
    ),
}
