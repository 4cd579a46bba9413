"""A finished cell on disk is complete or absent, and a damaged one is noticed."""

import errno
import multiprocessing
import os
import resource
import signal

import numpy as np
import pytest
import xarray as xr
from planted import cells, writer
from shallow import store
from shallow.store import Store

POINT = {"width": 128, "step": 0.01, "design": "iid"}
CELL = xr.Dataset({"loss": ("epoch", np.linspace(1, 0, 7)), "zero": ((), 3)}, {"epoch": range(7)}, {"note": "kept"})


def test_a_cell_comes_back_bit_for_bit_with_its_cost(tmp_path):
    kept = Store(tmp_path)
    kept.put(POINT, CELL, 1.5)
    again = Store(tmp_path)
    xr.testing.assert_identical(again.get(POINT), CELL)
    assert again.seconds == {store.key(POINT): 1.5}
    assert again.get(POINT | {"step": 0.1}) is None


def test_a_point_is_known_whatever_the_order_of_its_names_and_the_type_of_its_numbers():
    assert store.key({"b": np.int64(2), "a": np.float64(0.5)}) == store.key({"a": 0.5, "b": 2})
    assert store.key({"a": 0.5, "b": 2}) != store.key({"a": 0.5, "b": 3})


@pytest.mark.parametrize(
    "damage", [lambda c: c[:-1], lambda c: c[:20], lambda c: b"", lambda c: c[:-1] + bytes([c[-1] ^ 1])]
)
def test_a_truncated_or_altered_file_is_named_and_counts_as_absent(tmp_path, damage):
    kept = Store(tmp_path)
    kept.put(POINT, CELL, 1.0)
    (file,) = tmp_path.glob("*.cell")
    file.write_bytes(damage(file.read_bytes()))
    with pytest.warns(
        RuntimeWarning, match=rf"{file.name} does not match its checksum.*width=128, step=0.01, design=iid"
    ):
        assert kept.get(POINT) is None
    kept.put(POINT, CELL, 1.0)
    xr.testing.assert_identical(kept.get(POINT), CELL)


def test_only_the_damaged_cell_is_computed_again(tmp_path, monkeypatch):
    monkeypatch.setenv("PLANTED_TRACE", str(tmp_path / "trace"))
    from shallow import sweep

    axes, kept = {"seed": [0, 1, 2]}, Store(tmp_path / "cells")
    whole = sweep.grid(cells.slow, axes, store=kept, jobs=1)
    file = kept.folder / f"{store.key({'seed': 1})}.cell"
    file.write_bytes(file.read_bytes()[:-5])
    with pytest.warns(RuntimeWarning, match=file.name):
        xr.testing.assert_identical(sweep.grid(cells.slow, axes, store=kept, jobs=1), whole)
    assert (tmp_path / "trace").read_text().splitlines()[3:] == ["{'seed': 1}"]


def test_a_full_disk_leaves_nothing_behind_and_loses_nothing(tmp_path):
    """The limit on the size of a file stands in for a disk without space: the write fails half way."""
    kept = Store(tmp_path)
    kept.put(POINT, CELL, 1.0)
    large = xr.Dataset({"value": ("k", np.random.default_rng(0).standard_normal(5000))})
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(OSError) as raised:
            kept.put(POINT | {"width": 256}, large, 1.0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert raised.value.errno == errno.EFBIG
    assert [file.suffix for file in tmp_path.iterdir()] == [".cell"]
    xr.testing.assert_identical(kept.get(POINT), CELL)


def test_concurrent_writers_leave_whole_cells(tmp_path):
    """Two processes write the same cells, and now and then clear the folder under each other."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=writer.write, args=(str(tmp_path / "cells"), value)) for value in (1, 2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    found = [Store(tmp_path / "cells").get({"i": i}) for i in range(5)]
    assert any(cell is not None for cell in found)
    for cell in found:
        assert cell is None or len(np.unique(cell.v)) == 1
    assert not [name for name in os.listdir(tmp_path / "cells") if name.endswith(".part")]
