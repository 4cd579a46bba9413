"""What the output of a network depends on while it is trained: the hidden coordinate, or other directions too.

A low R_c says that the output lacks the polynomial, and not that it lacks the direction.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from experiments.hidden_structure import hidden_index, polynomials
from experiments.hidden_structure.polynomials import chosen, initial, problem
from shallow.book.recipes import Recipe, releases_gil
from shallow.stats import stream

TERMS = 16  # Legendre polynomials in v / 2 whose span stands for the functions of v


@releases_gil
def output_of_v(
    run: int, degree: int, *, at: Sequence[int] = (0, 1, 2, 3, 5, 10, 20), size: int = hidden_index.SIZE
) -> xr.Dataset:
    r"""Train one network with the author's setting, independent inputs, and look at its output where $|v| \le 1$.

    Returns, by epoch, over the validation and test points: `share`, of the output's variance that is a function of v
    (:func:`share_of`); `correlation` of the output with v; `r2`, the share of the label's variance that it explains.

    Cost: two seconds.
    """
    task, setting = problem("independent", degree, run, size=size), chosen("independent", degree, None, None, None)
    start = initial("independent", task.x.shape[1], setting.width, run)
    rng = stream("hidden structure", "independent", "batches", run)
    fit = polynomials.fitted(task, start, setting, rng, records=list(at), epochs=max(1, *at))
    rows = np.concatenate([task.rows["validation"], task.rows["test"]])
    rows = rows[np.abs(task.v[rows]) <= 1]
    v, y, found = task.v[rows].astype(np.float64), task.y[rows], []
    for epoch in at:
        output = fit.snapshot(epoch).forward(task.x[rows])[0].ravel().astype(np.float64)
        numbers = share_of(v, output), np.corrcoef(v, output)[0, 1], 1 - np.mean((output - y) ** 2) / y.var()
        found.append(numbers)
    names = ("share", "correlation", "r2")
    columns = np.transpose(found)
    return xr.Dataset({k: ("epoch", one) for k, one in zip(names, columns, strict=True)}, {"epoch": list(at)})


def share_of(v: np.ndarray, output: np.ndarray) -> float:
    """Adjusted share of the variance of outputs (n,) that a polynomial of degree 15 in v (n,) explains."""
    basis = np.polynomial.legendre.legvander(v / 2, TERMS - 1)
    left = output - basis @ np.linalg.lstsq(basis, output, rcond=None)[0]
    return float(1 - left @ left / (len(v) - TERMS) / output.var(ddof=1))


RECORDS: dict[str, Recipe] = {
    "output_of_v": Recipe(
        output_of_v,
        {"degree": [5, 6, 7], "run": list(range(5))},
        about="Share of the output's variance that is a function of the hidden coordinate, along training",
    ),
}
