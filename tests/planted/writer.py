"""A process that writes the same five cells again and again, and now and then clears the folder."""

import numpy as np
import xarray as xr

from shallow.book.store import Store


def write(folder: str, value: int) -> None:
    """Cells full of `value`; ends with all five of them written."""
    store = Store(folder)
    for i in range(150):
        if i % 40 == 39:
            store.clear()
        store.put({"i": i % 5}, xr.Dataset({"v": ("k", np.full(2000, value))}), 1.0)
