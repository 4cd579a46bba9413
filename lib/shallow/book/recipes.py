"""Recipes of recorded runs: cells, pure functions of parameters and seed that return labelled datasets, and axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import xarray as xr


def releases_gil(cell: Callable[..., xr.Dataset]) -> Callable[..., xr.Dataset]:
    """Mark a cell that spends its time in compiled code without the interpreter's lock: sweeps run it in threads."""
    cell.releases_gil = True
    return cell


@dataclass(frozen=True)
class Agreement:
    r"""How the numbers of a recomputed cell are compared with the stored ones.

    A recomputed number x of a variable agrees with the stored y if $|x - y| \le \rho\,(|y| + s) + \alpha$, with s the
    largest finite $|y|$ of that variable in the cell; labels, counts and flags must be equal, and NaN and infinity
    stand in the same places.  A processor of another kind rounds matrix products in another order, and training
    magnifies that: there the slack is larger by $\varepsilon \max(\min(d, s), d/10)$, with d the standard deviation of
    the variable over the whole record, and counts are numbers.

    Attributes:
        relative: $\rho$; the default admits the rounding of stored numbers (`BITS` of :mod:`shallow.book.recording`).
        absolute: $\alpha$, for quantities that are themselves rounding errors.
        elsewhere: $\varepsilon$; None for runs so chaotic that rounding decides where they end, which cannot be
            compared on another kind of processor.
        rounding: variables that are rounding errors, or that rounding decides: left out on another kind of processor.
        eigenvalues: the variable of the eigenvalues to whose vectors those of `rounding` belong, which are then left
            out only where an eigenvalue is below 1e-13 of the largest, as rounding decides about a vector there.
    """

    relative: float = 1e-5
    absolute: float = 0.0
    elsewhere: float | None = 0.01
    rounding: tuple[str, ...] = ()
    eigenvalues: str | None = None

    def disagreements(
        self,
        fresh: xr.Dataset,
        record: xr.Dataset,
        point: Mapping[str, object],
        *,
        elsewhere: bool = False,
        whole: bool = False,
    ) -> list[str]:
        """Names of the variables and coordinates of the cell `fresh` that disagree with the record at `point`.

        Args:
            elsewhere: by the rule for another kind of processor; ValueError for runs that it cannot compare.
            whole: the cell has all that the record has; one that is shortened is compared in what it has.
        """
        if elsewhere and self.elsewhere is None:
            raise ValueError("elsewhere must be False: these runs cannot be compared on another kind of processor")
        share, there = self.elsewhere if elsewhere else 0.0, record.sel(point).drop_vars(point)
        fresh = fresh.drop_vars(point, errors="ignore")
        if strange := [name for name in fresh.variables if name not in there.variables]:
            return strange
        places = {dim: _places(labels.values, there[dim].values) for dim, labels in fresh.indexes.items()}
        if missing := [dim for dim, place in places.items() if place is None]:
            return missing
        expected = set(there.variables if whole else there.coords)
        there = there.isel(places)
        wrong = [name for name in expected - {*fresh.variables} if whole or {*there[name].dims} <= {*fresh.dims}]
        wrong += [dim for dim in fresh.dims if whole and fresh.sizes[dim] < record.sizes[dim]]
        wrong += [name for name in {*fresh.coords} - {*places} if not _same(fresh[name].values, there[name].values)]
        left_out = self.rounding if elsewhere else ()
        if left_out and self.eigenvalues:
            determined = there[self.eigenvalues] > 1e-13 * there[self.eigenvalues].max()
            for name in {*left_out} & {*fresh.data_vars}:
                there[name], fresh[name] = there[name].where(determined), fresh[name].where(determined)
            left_out = ()
        return sorted(wrong) + [
            name
            for name, values in fresh.data_vars.items()
            if name not in left_out and not self._agree(values.values, there[name].values, spread(record[name]), share)
        ]

    def _agree(self, x: np.ndarray, y: np.ndarray, d: float, share: float) -> bool:
        if x.shape != y.shape or (x.dtype.kind not in "fiu") or (x.dtype.kind in "iu" and not share):
            return bool(np.array_equal(x, y))
        scale = np.abs(y[np.isfinite(y)]).max(initial=0.0)
        slack = self.absolute + self.relative * scale + share * max(min(d, scale), d / 10)
        return bool(np.allclose(x, y, rtol=self.relative, atol=slack, equal_nan=True))


def _places(labels: np.ndarray, known: np.ndarray) -> np.ndarray | None:
    """Where the labels are among the known ones; None unless all are there, in that order."""
    if _same(labels, known):
        return np.arange(len(labels))
    places = np.array([next(iter(np.flatnonzero(_equal(label, known))), -1) for label in labels], dtype=int)
    return places if (np.diff(places, prepend=-1) > 0).all() else None


def _equal(labels: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Which labels are equal: numbers to the last digits, which processors round differently."""
    if "f" in (np.asarray(labels).dtype.kind, known.dtype.kind):
        return np.isclose(labels, known, rtol=1e-12, atol=0.0, equal_nan=True)
    return labels == known


def _same(labels: np.ndarray, known: np.ndarray) -> bool:
    return labels.shape == known.shape and bool(np.all(_equal(labels, known)))


def spread(values: xr.DataArray) -> float:
    """Standard deviation of the finite numbers of a variable; 0 for words."""
    if values.dtype.kind not in "fiub":
        return 0.0
    numbers = values.values[np.isfinite(values.values)].astype(float)
    return float(numbers.std()) if numbers.size else 0.0


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
        shortened: arguments in the place of the fixed ones when a cell is recomputed for a quick comparison, where
            whole cells take long: fewer steps of the same run, say.  A shortened cell is compared at the coordinates
            it has.
        start: name of the record that holds the first steps of the same runs, over some of the axes, which is compared
            instead on a kind of processor on which these runs cannot be.
        steady: axes and the values of them at which rounding does not decide where runs end; on another kind of
            processor the runs at other values cannot be compared, and one of these is, in their place.
        exact: variables that other runs start from, kept in single precision.
    """

    cell: Callable[..., xr.Dataset]
    axes: Mapping[str, Sequence]
    fixed: Mapping[str, object] = field(default_factory=dict)
    about: str = ""
    replicates: str = "seed"
    agreement: Agreement = field(default_factory=Agreement)
    shortened: Mapping[str, object] = field(default_factory=dict)
    start: str | None = None
    steady: Mapping[str, Sequence] = field(default_factory=dict)
    exact: tuple[str, ...] = ()

    def is_steady(self, point: Mapping[str, object]) -> bool:
        """Whether the run at a point can be compared on another kind of processor."""
        return self.agreement.elsewhere is not None and all(point[axis] in self.steady[axis] for axis in self.steady)
