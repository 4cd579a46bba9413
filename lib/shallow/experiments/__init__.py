"""Cells of the chapters: pure functions of parameters and seed that return labelled datasets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import xarray as xr


@dataclass(frozen=True)
class Recipe:
    """What a recorded run computes: ``sweep.grid(cell, axes, **fixed)``.

    Attributes:
        cell: a pure function returning a Dataset.
        axes: named axes of the grid.
        fixed: further arguments of the cell.
        about: one line for people.
        reduce: applied to the whole grid before it is stored, to keep a record small.
    """

    cell: Callable[..., xr.Dataset]
    axes: Mapping[str, Sequence]
    fixed: Mapping[str, object] = field(default_factory=dict)
    about: str = ""
    reduce: Callable[[xr.Dataset], xr.Dataset] | None = None
