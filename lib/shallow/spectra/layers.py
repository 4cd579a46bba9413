r"""The spectra of a model's layers, each beside noise of its shape and matrices that keep a part of it.

An exponent says little by itself: noise has one too, which depends on the shape of the matrix.  A row therefore gives
the exponent, that of noise of the same shape with its scatter, and how many units of scatter lie between them.  What
may make the difference is tried on three matrices, each with one part of the layer alone: the same entries in random
order (the law of the entries), the entries of each column in random order (unequal columns), and noise with the lengths
of its rows and columns.  On a fourth, rows and columns have equal lengths, and all else is there.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import json
import math
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from shallow import checks
from shallow.display import short
from shallow.spectra import esd, marchenko_pastur, nulls, tails, tops, weights
from shallow.stats import stream

#: Fewer positive eigenvalues than that have no exponent here.
LEAST = 10
NAN = float("nan")
#: Parts of names under which checkpoints keep what is no weight: moments of Adam, for example.
OPTIMISER = re.compile(r"optim(i[sz]er)?(s|_states?(_dict)?)?")


@dataclass(frozen=True)
class Layer:
    r"""What is measured of a layer in one reading; what cannot be measured is NaN or None, and the notes say why.

    Attributes:
        name: of the weight.
        reading: "matrix", "flat" or "slices", see :func:`shallow.spectra.weights.readings`.
        h, d, matrices: shape of a matrix, and how many there are, whose eigenvalues are taken together.
        rank: number of positive eigenvalues of $W^\top W$; exponents are those of these.
        hill, hill_noise, hill_scatter, hill_units: PL_Alpha_Hill, that of noise with its scatter, and the distance
            from noise in units of this scatter.
        hill_below: share of the draws of noise that have a smaller exponent; 0 for a layer below all of them.
        ks, ks_noise, ks_scatter, ks_units, ks_below: likewise PL_Alpha_KS, whose scatter is large and skewed: since
            exponents exceed one, no layer may lie three units below noise, and the share says more.
        ks_size: number of eigenvalues in the tail that PL_Alpha_KS chooses.
        shuffled, within_columns, lengths, balanced: PL_Alpha_Hill of the matrices of :mod:`shallow.spectra.nulls`.
        stretch, stretch_noise: of the bulk, :func:`shallow.spectra.tops.stretch`.
        variance, distance: of the Marchenko-Pastur law fitted to the spectrum, and its Kolmogorov-Smirnov distance.
        outliers: eigenvalues beyond the upper edge of that law, widened by five Tracy-Widom units.
        stable_rank: squared Frobenius over squared spectral norm; the mean over matrices.
        frobenius, spectral: the norms, over all matrices and the largest of them.
        notes: what is not as usual.
        eigenvalues: descending, (matrices min(h, d),); not written to files.
    """

    name: str
    reading: str
    h: int
    d: int
    matrices: int
    rank: int = 0
    hill: float = NAN
    hill_noise: float = NAN
    hill_scatter: float = NAN
    hill_units: float = NAN
    hill_below: float = NAN
    ks: float = NAN
    ks_noise: float = NAN
    ks_scatter: float = NAN
    ks_units: float = NAN
    ks_below: float = NAN
    ks_size: int | None = None
    shuffled: float = NAN
    within_columns: float = NAN
    lengths: float = NAN
    balanced: float = NAN
    stretch: float = NAN
    stretch_noise: float = NAN
    variance: float = NAN
    distance: float = NAN
    outliers: int | None = None
    stable_rank: float = NAN
    frobenius: float = NAN
    spectral: float = NAN
    notes: str = ""
    eigenvalues: np.ndarray = field(default_factory=lambda: np.empty(0), compare=False)

    __repr__ = short

    def row(self) -> dict[str, Any]:
        """The numbers by name, without the eigenvalues."""
        return {one.name: getattr(self, one.name) for one in dataclasses.fields(self) if one.name != "eigenvalues"}

    @property
    def law(self) -> marchenko_pastur.MarchenkoPastur:
        """The Marchenko-Pastur law fitted to the spectrum; ValueError where none could be."""
        return marchenko_pastur.MarchenkoPastur(self.h, self.d, self.variance)


@dataclass(frozen=True)
class Report:
    """The layers of a model, and why other arrays are none: name -> reason."""

    layers: list[Layer]
    skipped: dict[str, str]

    __repr__ = short

    def table(self) -> str:
        """A line a layer, for a terminal."""
        exponents = ("Hill", "noise", "units", "below", "KS", "units", "below")
        head = ("layer", "reading", "shape", *exponents, "shuffled", "columns", "lengths", "balanced")
        lines = [(*head, "stretch", "(noise)", "outliers", "stable rank", "notes"), *map(_line, self.layers)]
        widths = [max(map(len, column)) for column in zip(*lines)]
        left = {0, 1, len(widths) - 1}
        text = []
        for line in lines:
            words = (f"{w:{'<' if i in left else '>'}{n}}" for i, (w, n) in enumerate(zip(line, widths)))
            text.append("  ".join(words).rstrip())
        return "\n".join(text)

    def to_csv(self, path: str | os.PathLike) -> None:
        """Write a line a layer with all numbers; what could not be measured is empty."""
        with open(path, "w", newline="", encoding="utf-8") as file:
            names = [one.name for one in dataclasses.fields(Layer) if one.name != "eigenvalues"]
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            writer.writerows(map(_plain, self.layers))

    def to_json(self, path: str | os.PathLike) -> None:
        """Write {"layers": [{name, reading, ...}], "skipped": {name: reason}}; what could not be measured is null."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"layers": [*map(_plain, self.layers)], "skipped": self.skipped}, file, indent=1, allow_nan=False)


def report(model: Any, *, only: str = "*", threads: int = 1) -> Report:
    """The spectra of all layers of a model.

    Args:
        model: path of a .safetensors, .npz, .pt, .pth, .bin or .onnx file, a torch module, or a dictionary of arrays;
            see :func:`shallow.spectra.weights.opened`.
        only: a pattern such as "encoder.*", as of a shell: other names are left out.
        threads: number of layers at a time.

    >>> rng = np.random.default_rng(0)
    >>> noise = rng.standard_normal((300, 200))
    >>> found = report({"noise": noise, "spiked": noise + 0.2, "bias": np.zeros(300)})
    >>> [(layer.name, bool(abs(layer.hill_units) < 3), layer.outliers) for layer in found.layers]
    [('noise', True, 0), ('spiked', True, 1)]
    >>> found.skipped
    {'bias': 'a vector'}

    Raises:
        ValueError, FileNotFoundError, ImportError: as :func:`shallow.spectra.weights.opened`; a layer with NaN is no
            error but a note.

    Cost: five spectra a layer and twenty of noise, a minute for 4096 x 4096 on one core; memory for some five copies of
    a layer in float64, of `threads` layers.
    """
    found = Report([], {})
    with weights.opened(model) as arrays:
        for _, layers, why in each(arrays, only=only, threads=threads):
            found.layers.extend(layers)
            found.skipped.update(why)
    return found


def each(
    arrays: weights.Weights, *, only: str = "*", threads: int = 1
) -> Iterator[tuple[str, list[Layer], dict[str, str]]]:
    """For each array of a model its name, its layers, and why it has none; what :func:`report` collects.

    Arguments as there, with the arrays of :func:`shallow.spectra.weights.opened`.  Layers come in the order of the
    model, with the same numbers, to rounding, for any number of threads; a single one leaves its cores to linear
    algebra.
    """
    from shallow.extras import threadpool_limits

    checks.integers(1, threads=threads)
    due: deque = deque()
    alone = threadpool_limits(1, user_api="blas") if threads > 1 else nullcontext()
    with alone, ThreadPoolExecutor(threads) as pool:
        for name in (one for one in arrays.names if fnmatchcase(one, only)):
            if any(map(OPTIMISER.fullmatch, name.split("."))):
                yield name, [], {name: "state of an optimiser"}
                continue
            due.append((name, pool.submit(_of_array, name, arrays.read(name))))
            if len(due) > threads:
                first, task = due.popleft()
                yield first, *task.result()
        while due:
            first, task = due.popleft()
            yield first, *task.result()


def _of_array(name: str, array: np.ndarray) -> tuple[list[Layer], dict[str, str]]:
    if array.dtype.kind != "f":
        return [], {name: f"numbers of type {array.dtype}"}
    readings = weights.readings(array)
    return [measure(name, one) for one in readings], {} if readings else {name: "a vector" if array.size else "empty"}


def measure(name: str, reading: weights.Reading) -> Layer:
    """All that a row says of a layer, see :class:`Layer`; the random stream is named by the layer."""
    W = reading.matrices
    k, h, d = W.shape
    place = {"name": name, "reading": reading.name, "h": h, "d": d, "matrices": k}
    if bad := int((~np.isfinite(W)).sum()):
        return Layer(**place, notes=f"{bad} entries are NaN or infinite")
    if not W.any():
        return Layer(**place, frobenius=0.0, spectral=0.0, notes="all zero")
    spectra = [esd.resolved(one) for one in W]
    values = np.sort(np.concatenate(spectra))[::-1]
    kept = values[values > 0]
    found = place | {"eigenvalues": values, "rank": len(kept)} | _norms(spectra)
    notes = [f"rank {len(kept)} of {len(values)}"] if len(kept) < len(values) else []
    if len(kept) < LEAST or min(h, d) < 2:
        return Layer(**found, notes="; ".join([*notes, "too small for an exponent"]))
    if kept[0] <= kept[len(kept) // 2] * (1 + 1e-9):
        return Layer(**found, notes="; ".join([*notes, "singular values are equal: no exponent"]))
    found |= _beside_noise(kept, h, d, k) | _beside_parts(W, name) | _bulk(kept, h, d, k)
    return Layer(**found, notes="; ".join(notes))


def _norms(spectra: list[np.ndarray]) -> dict[str, float]:
    ranks = [esd.stable_rank(values) for values in spectra if values.any()]
    whole = math.sqrt(sum(float(values.sum()) for values in spectra))
    largest = math.sqrt(max(float(values[0]) for values in spectra))
    return {"stable_rank": float(np.mean(ranks)), "frobenius": whole, "spectral": largest}


def _quantities(values: np.ndarray) -> np.ndarray:
    """PL_Alpha_Hill, PL_Alpha_KS and the stretch."""
    return np.array([tails.hill(values), tails.scan(values).alpha, tops.stretch(values)])


@functools.lru_cache(maxsize=1024)
def _noise(h: int, d: int, matrices: int) -> nulls.Null:
    return nulls.noise(h, d, _quantities, matrices=matrices)


@np.errstate(divide="ignore", invalid="ignore")
def _beside_noise(kept: np.ndarray, h: int, d: int, matrices: int) -> dict[str, Any]:
    found, noise = _quantities(kept), _noise(h, d, matrices)
    units = (found - noise.mean) / noise.scatter
    row: dict[str, Any] = {"ks_size": tails.scan(kept).size}
    for i, name in enumerate(("hill", "ks")):
        row |= {name: found[i], f"{name}_noise": noise.mean[i], f"{name}_scatter": noise.scatter[i]}
        row |= {f"{name}_units": units[i], f"{name}_below": np.mean(noise.draws[:, i] < found[i])}
    return row | {"stretch": found[2], "stretch_noise": noise.mean[2]}


def _beside_parts(W: np.ndarray, name: str) -> dict[str, float]:
    """PL_Alpha_Hill of the matrices that keep the entries, the columns, the lengths, and all but the lengths."""
    rng = stream("layers.measure", name, *W.shape)
    shuffled = nulls.shuffled(W.reshape(len(W), -1), rng).reshape(W.shape)
    found = {"shuffled": _hill(shuffled)}
    del shuffled  # a large layer's copy
    found["within_columns"] = _hill(nulls.permuted_within_columns(one, rng) for one in W)
    found["lengths"] = _hill(nulls.lengths(one, rng) for one in W)
    return found | {"balanced": _hill(nulls.balanced(one) for one in W)}


def _hill(matrices: Iterable[np.ndarray]) -> float:
    """PL_Alpha_Hill of the spectra of matrices together; NaN where the upper half is constant."""
    values = np.concatenate([esd.resolved(one) for one in matrices])
    try:
        return tails.hill(values)
    except ValueError:
        return NAN


def _bulk(kept: np.ndarray, h: int, d: int, matrices: int) -> dict[str, Any]:
    law = marchenko_pastur.fit(kept, h, d, matrices=matrices)
    edge = law.edges[1] + 5 * law.tracy_widom_unit
    distance = law.distance(kept, matrices=matrices)
    return {"variance": law.variance, "distance": distance, "outliers": int((kept > edge).sum())}


def _plain(layer: Layer) -> dict[str, Any]:
    """The row in numbers of Python, None for what could not be measured."""
    row = {name: value.item() if isinstance(value, np.generic) else value for name, value in layer.row().items()}
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()
    }


def _line(layer: Layer) -> tuple[str, ...]:
    """A row of the table as words; a dash for what could not be measured."""
    numbers = [
        (layer.hill, ".2f"),
        (layer.hill_noise, ".2f"),
        (layer.hill_units, "+.1f"),
        (layer.hill_below, ".0%"),
        (layer.ks, ".2f"),
        (layer.ks_units, "+.1f"),
        (layer.ks_below, ".0%"),
        (layer.shuffled, ".2f"),
        (layer.within_columns, ".2f"),
        (layer.lengths, ".2f"),
        (layer.balanced, ".2f"),
        (layer.stretch, ".1f"),
        (layer.stretch_noise, ".1f"),
        (layer.outliers, "d"),
        (layer.stable_rank, ".1f"),
    ]
    shape = f"{layer.h} x {layer.d}" if layer.matrices == 1 else f"{layer.matrices} of {layer.h} x {layer.d}"
    words = ("-" if value is None or not math.isfinite(value) else format(value, spec) for value, spec in numbers)
    return (layer.name, layer.reading, shape, *words, layer.notes)
