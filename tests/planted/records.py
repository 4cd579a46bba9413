"""Data for which the answer is known, in the shape of a recorded run."""

import functools
from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr

from shallow.book import records


@functools.cache
def _stored(name: str) -> xr.Dataset:
    return records.load(name)


def planted(name: str, sel: dict | None = None, **variables: object) -> xr.Dataset:
    """A recorded run at some of its labels, with these numbers in the place of its own; what is not named is left out.

    Numbers are scalars, arrays that broadcast to the variable, or labelled arrays (:func:`by`) over some of its axes.
    """
    grid = _stored(name)[list(variables)]
    grid = grid.sel(sel) if sel else grid
    for variable, values in variables.items():
        template = grid[variable]
        if isinstance(values, xr.DataArray):  # by labels, all of which are there
            values = values.sel({axis: template[axis] for axis in values.indexes}).broadcast_like(template)
        values = values.transpose(*template.dims).values if isinstance(values, xr.DataArray) else values
        grid[variable] = (template.dims, np.broadcast_to(values, template.shape).copy())
    return grid


def by(**axis: dict) -> xr.DataArray:
    """Numbers by the labels of one axis, ``by(sign={-1: 0.3, 1: 0.06})``; their sums and products are labelled too."""
    ((name, numbers),) = axis.items()
    return xr.DataArray(list(numbers.values()), {name: list(numbers)}, [name])


def scatter(name: str, like: str, scale: float, seed: int = 0) -> xr.DataArray:
    """Independent normal numbers of a scale at every place of a variable of a recorded run."""
    template = _stored(name)[like]
    return template.copy(data=scale * np.random.default_rng(seed).standard_normal(template.shape))


def often(share, seeds: int) -> xr.DataArray:
    """Flags that are true in a share of the seeds, a number or numbers by labels."""
    return xr.DataArray(np.arange(seeds), dims="seed") < np.round(seeds * share)


def cases(outcomes: dict[str, list]) -> pytest.MarkDecorator:
    """Planted changes by what a rule makes of them, ``{"partly": [{"slope": 0}]}``: tests of (change, outcome)."""
    table = [(change, outcome) for outcome, changes in outcomes.items() for change in changes]
    return pytest.mark.parametrize(("change", "outcome"), table)


def decided(found) -> str:
    """The verdicts of the parts of a claim, or the one of a claim without parts."""
    return " ".join(found.parts.values()) or found.verdict


def over_seeds(values, *dims: str, around=(-1.0, 0.0, 1.0), scatter: float = 0.001, **labels: object) -> xr.DataArray:
    """Values with a last axis of seeds that scatter around them."""
    values = np.asarray(values, float)[..., None] + scatter * np.array(around)
    return xr.DataArray(values, {**labels, "seed": range(len(around))}, (*dims, "seed"))


def table(axes: dict, **columns: object) -> xr.Dataset:
    """Columns that are numbers, or arrays along the last axes, over all labels of all axes."""
    shape = tuple(map(len, axes.values()))
    return xr.Dataset({name: (tuple(axes), np.broadcast_to(one, shape).copy()) for name, one in columns.items()}, axes)


def verdicts(rule, build, **outcomes: list) -> Callable:
    """A test of a rule on what is built from each change, by the verdict that it must have, or letters of its parts.

    ``test_x = verdicts(rules.hs_53, sixth, rrr=[{}], rcr=[{"tangent": 0.4}])``; changes are keywords, a tuple of
    arguments or one argument of `build`, which gives one record or a tuple of them.
    """

    @cases(outcomes)
    def test(change, outcome):
        keywords, arguments = isinstance(change, dict), change if isinstance(change, tuple) else (change,)
        data = build(**change) if keywords else build(*arguments)
        found = rule(*data) if isinstance(data, tuple) else rule(data)
        assert outcome in (found.verdict, letters(found)), f"{found.verdict}, {found.parts}"

    return test


def letters(found) -> str:
    """The first letters of the verdicts of the parts of a claim."""
    return "".join(verdict[0] for verdict in found.parts.values())
