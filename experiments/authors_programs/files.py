"""Numbers that the authors' own public programs computed, and the distance of other numbers from them.

The README beside this module says which program and which version computed them, and from what.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from pathlib import Path

import numpy as np

#: Kinds of keys: numbers of any size, each compared by itself, and stacks of arrays, compared row by row.
NUMBERS = re.compile(r"loss|score|mean_square|alpha|distance|kta|similarity|spectr|frobenius|ridge")
STACKS = re.compile(r"(^|_)(W|W_rows|a|b|weights|bias|cosines)$")


class Recording:
    """One file, `recording[key]`.

    Attributes:
        settings: hyper-parameters, and which steps or epochs a stack belongs to.
        outputs: the keys of what the program computed, in the order of the file; all others are its inputs.
    """

    def __init__(self, name: str, inputs: Collection[str]) -> None:
        with np.load(Path(__file__).with_name(f"{name}.npz"), allow_pickle=False) as file:
            self._arrays = dict(file)
        self.settings = json.loads(str(self._arrays.pop("settings")))
        if unknown := set(inputs) - set(self._arrays):
            raise ValueError(f"inputs must be keys of {name}.npz, got {sorted(unknown)}")
        self.outputs = [key for key in self._arrays if key not in inputs]

    def __getitem__(self, key: str) -> np.ndarray:
        return self._arrays[key]

    def difference(self, key: str, found: np.ndarray) -> float:
        """Relative difference of an array from a key: of each number, of each row of a stack, or of the whole."""
        recorded = self[key]
        rows = recorded.ndim if NUMBERS.search(key) else 1 if STACKS.search(key) else 0
        return difference(found, recorded, tuple(range(rows, recorded.ndim)))


def difference(found: np.ndarray, recorded: np.ndarray, axes: tuple[int, ...] | None = None) -> float:
    """Largest absolute difference over the largest absolute value along the axes, by default along all.

    Zero only equals zero, and NaN nothing.
    """
    found, recorded = np.asarray(found, dtype=np.float64), np.asarray(recorded, dtype=np.float64)
    assert found.shape == recorded.shape
    error, scale = np.abs(found - recorded), np.abs(recorded).max(axis=axes, keepdims=True)
    scale = np.broadcast_to(scale, error.shape)
    ratio = np.divide(error, scale, out=np.where(error == 0, 0.0, np.inf), where=scale > 0)
    return float(np.where(np.isnan(ratio), np.inf, ratio).max())
