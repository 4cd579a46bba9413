"""What two scores see of a network: the mean square, which selects, and the absolute error, which training lowers.

Both on the validation points, over those of the constant that is best for the training points.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
import xarray as xr
from numpy.polynomial.legendre import legvander
from scipy.optimize import linprog

from experiments.hidden_structure import polynomials
from experiments.hidden_structure.alignment.kernel_paths import END
from experiments.hidden_structure.polynomial_measures import fits
from experiments.hidden_structure.runs import rc

#: By the name of their path, and at the end of training.
SCORES = {"square": ("path_square", "mse"), "absolute": ("path_validation", "mae")}
MOMENTS = {"20": 20, "end": END}
LOOKS = [f"{score} {when}" for when in MOMENTS for score in SCORES]
NAMES = {"square": "mean square", "absolute": "absolute error", "20": "after 20 epochs", "end": "at the end"}


def over_constant(
    runs: xr.Dataset, degree: int, epoch: int, case: str = "independent", score: str = "square"
) -> xr.DataArray:
    """A score after an epoch, or at the end, over that of the constant; `runs` with dimension run."""
    path, end = SCORES[score]
    seen = runs[end].sel(part="validation", range="all", drop=True) if epoch == END else runs[path].sel(epoch=epoch)
    constants = [of_constant(case, degree, int(run))[score] for run in runs.run.values]
    return seen / xr.DataArray(constants, {"run": runs.run}, ["run"])


@cache
def of_constant(case: str, degree: int, run: int) -> dict[str, float]:
    """Both scores of the median of the training labels."""
    task = polynomials.problem(case, degree, run)
    train, validation = (task.y[task.rows[part]] for part in ("train", "validation"))
    left = validation - np.median(train)
    return {"square": float(np.mean(left**2)), "absolute": float(np.mean(np.abs(left)))}


# Choosing again among the settings in store.


def candidates(runs: Sequence[xr.Dataset], degree: int, case: str) -> xr.Dataset:
    """The settings of one degree, those of several records together; (candidate, run), five runs.

    Returns `fit`, Rc at the end, and the two scores at both moments, by the names in :data:`LOOKS`.
    """
    tables = []
    for one in runs:
        one = one.sel(run=slice(0, 4))
        columns = {"fit": rc(one)} | {
            f"{score} {when}": over_constant(one, degree, epoch, case, score).drop_vars("epoch", errors="ignore")
            for when, epoch in MOMENTS.items()
            for score in SCORES
        }
        table, axes = xr.Dataset(columns), [axis for axis in ("width", "rate", "decay") if axis in one.dims]
        table = table.stack(candidate=axes).reset_index("candidate") if axes else table.expand_dims("candidate")
        tables.append(table.drop_vars(["width", "rate", "decay", "degree"], errors="ignore"))
    return xr.concat(tables, "candidate").transpose("candidate", "run")


def in_store(
    eight: xr.Dataset, own: xr.Dataset, tied: xr.Dataset, own_tied: xr.Dataset, given: xr.Dataset, own_given: xr.Dataset
) -> dict[int, xr.Dataset]:
    """The :func:`candidates` by degree: 8 from x, 12 and 13 correlated, 19 and 20 given v, with the author's choice."""
    found = {8: candidates([eight, own.sel(degree=8)], 8, "independent")}
    for case, degrees, runs in (("correlated", (12, 13), (tied, own_tied)), ("given", (19, 20), (given, own_given))):
        found |= {d: candidates([one.sel(degree=d) for one in runs], d, case) for d in degrees}
    return found


def ahead(table: xr.Dataset, look: str, half: float) -> int:
    """How many of the networks that learn are ahead of the constant by a look."""
    return int(((table.fit >= half) & (table[look] < 1)).sum())


def picked(table: xr.Dataset, look: str) -> np.ndarray:
    """Rc at the end of the candidate of the best score, by run."""
    return table.fit.isel(candidate=table[look].fillna(np.inf).argmin("candidate")).values


def looks_table(pools: dict[int, xr.Dataset], half: float) -> tuple[list[str], list[list[object]]]:
    """What each look sees of the networks that learn, and how often its choice learns: header and rows."""
    rows = []
    for degree, table in pools.items():
        learn = int((table.fit >= half).sum())
        seen = [f"{ahead(table, look, half)}" for look in LOOKS]
        best = [f"{int((picked(table, look) >= half).sum())} of {table.sizes['run']}" for look in LOOKS]
        pairs = [f"{k} / {choice}" for k, choice in zip(seen, best, strict=True)]
        rows.append([degree, table.sizes["candidate"], learn, *pairs])
    looks = [f"{NAMES[score]} {NAMES[when]}: ahead / choice learns" for score, when in map(str.split, LOOKS)]
    return ["degree", "settings", "networks that learn", *looks], rows


# The middle and all points.


def both_scores(
    kinds: Iterable[tuple[str, str, xr.Dataset, Sequence[int]]],
) -> tuple[list[str], list[list[object]]]:
    """Rc and R2 over all test points, medians with ranges, beside those of a quintic: header and rows."""
    rows = []
    for name, case, runs, degrees in kinds:
        for degree in degrees:
            r2 = runs.r2.sel(part="test", degree=degree)
            values = [r2.sel(range=where).values.ravel() for where in ("bulk", "all")]
            spread = [f"{np.median(one):.2f} ({one.min():.2f} to {one.max():.2f})" for one in values]
            rows.append([name, degree, values[0].size, *spread, *quintics(case, degree)])
    return ["setting", "degree", "runs", "$R_c$", "$R^2$", "$R_c$ of a quintic", "$R^2$ of a quintic"], rows


def quintics(case: str, degree: int, runs: int = 5) -> list[str]:
    """Medians of :func:`quintic` over the data of some runs, R2 with its range."""
    inside, everything = np.array([quintic(case, degree, run) for run in range(runs)]).T
    return [
        f"{np.median(inside):.2f}",
        f"{np.median(everything):.2f} ({everything.min():.2f} to {everything.max():.2f})",
    ]


def quintic(case: str, degree: int, run: int) -> tuple[float, float]:
    """Rc and R2 over all test points of the polynomial of degree 5 in v of least absolute error on the training points.

    Its coefficients are the multipliers of the dual linear program: max y.d, where |d_i| <= 1 and d is orthogonal to
    the powers of v.
    """
    task = polynomials.problem(case, degree, run)
    train, test = task.rows["train"], task.rows["test"]
    powers = legvander(task.v / np.abs(task.v).max(), 5)
    program = linprog(-task.y[train], A_eq=powers[train].T, b_eq=np.zeros(6), bounds=(-1, 1))
    found = fits(powers @ -program.eqlin.marginals, task.v, task.y, {"test": test}).r2.isel(part=0)
    return float(found.sel(range="bulk")), float(found.sel(range="all"))
