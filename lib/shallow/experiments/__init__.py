"""Cells of the chapters: pure functions of parameters and seed that return labelled datasets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import xarray as xr
from scipy import special


def releases_gil(cell: Callable[..., xr.Dataset]) -> Callable[..., xr.Dataset]:
    """Mark a cell that spends its time in compiled code without the interpreter's lock: sweeps run it in threads."""
    cell.releases_gil = True
    return cell


@dataclass(frozen=True)
class Band:
    r"""A recomputed cell must lie among the record's replicates: for runs so chaotic that rounding decides their path.

    Every variable is reduced to its mean over the cell.  That number must lie in the prediction interval for one more
    normal replicate: within $t\, s \sqrt{1 + 1/r}$ of the mean of the r replicates at the same other parameters, with
    s their standard deviation and t the Student quantile of r - 1 degrees of freedom.  By default that is 36 s for
    three replicates, the least allowed, so that only gross errors are found; 9 s for five and 4 s for twenty.

    Attributes:
        over: axis of the replicates.
        confidence: of the interval; nearly one, since a record has many variables.
    """

    over: str = "seed"
    confidence: float = 0.999

    def on(self, *, same_processor: bool) -> Band:
        """The rule is the same on every processor."""
        return self

    def disagreements(self, fresh: xr.Dataset, record: xr.Dataset, point: Mapping[str, object]) -> list[str]:
        """Names of the variables of the cell `fresh` outside the band of the record's replicates at `point`."""
        kept = record.sel({axis: value for axis, value in point.items() if axis != self.over})
        count = kept.sizes[self.over]
        if count < 3:
            return list(fresh.data_vars)
        half_width = special.stdtrit(count - 1, (1 + self.confidence) / 2) * (1 + 1 / count) ** 0.5
        outside = []
        for name, array in fresh.data_vars.items():
            replicates = kept[name].astype(float).mean(array.dims).values
            distance = abs(float(array.astype(float).mean()) - replicates.mean())
            rounding = 1e-5 * np.abs(replicates).max()
            if not distance <= half_width * replicates.std(ddof=1) + rounding:
                outside.append(name)
        return outside


@dataclass(frozen=True)
class Exact:
    """A recomputed cell must equal the stored one to rounding.

    Numbers x, y of one variable agree if |x - y| <= relative (|y| + s) + absolute, with s the largest finite |y| of
    that variable in the cell; counts and flags must be equal, and NaN and infinity stand in the same places.

    Attributes:
        relative: the default admits single precision, in which records are stored.
        absolute: for quantities that are themselves rounding errors.
        elsewhere: what holds on another kind of processor than the record's, for runs that magnify the rounding of its
            matrix products: a tolerance in the place of `relative`, with counts as numbers, or a band of replicates.
    """

    relative: float = 1e-5
    absolute: float = 0.0
    elsewhere: float | Band | None = None

    def on(self, *, same_processor: bool) -> Exact | Band:
        """The rule for a recomputation on the record's kind of processor, or on another."""
        if isinstance(self.elsewhere, Band) and not same_processor:
            return self.elsewhere
        return self if same_processor or self.elsewhere is None else replace(self, relative=self.elsewhere)

    def disagreements(self, fresh: xr.Dataset, record: xr.Dataset, point: Mapping[str, object]) -> list[str]:
        """Names of the variables of the cell `fresh` that disagree with the record at `point`."""
        kept = record.sel(point)
        return [name for name, array in fresh.data_vars.items() if not self._agree(array.values, kept[name].values)]

    def _agree(self, fresh: np.ndarray, kept: np.ndarray) -> bool:
        loose = self.relative == self.elsewhere and fresh.dtype.kind in "iu"
        if fresh.shape != kept.shape or (fresh.dtype.kind != "f" and not loose):
            return bool(np.array_equal(fresh, kept))
        scale = np.abs(fresh[np.isfinite(fresh)]).max(initial=0.0)
        slack = self.absolute + self.relative * scale
        return bool(np.allclose(kept, fresh, rtol=self.relative, atol=slack, equal_nan=True))


@dataclass(frozen=True)
class Recipe:
    """What a recorded run computes: ``sweep.grid(cell, axes, **fixed)``.

    Attributes:
        cell: a pure function returning a Dataset, defined at the top level of a module.
        axes: named axes of the grid.
        fixed: further arguments of the cell.
        about: one line for people.
        replicates: the axis along which runs differ by chance alone; ``--seeds`` takes its first values.
        agreement: the rule by which a recomputed cell is compared with the stored one.
        shortened: arguments in the place of the fixed ones when a cell is recomputed for comparison, where whole cells
            take long: fewer steps of the same run, say.  A shortened cell is compared at the coordinates it has.
    """

    cell: Callable[..., xr.Dataset]
    axes: Mapping[str, Sequence]
    fixed: Mapping[str, object] = field(default_factory=dict)
    about: str = ""
    replicates: str = "seed"
    agreement: Exact | Band = field(default_factory=Exact)
    shortened: Mapping[str, object] = field(default_factory=dict)
