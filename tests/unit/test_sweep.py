"""A grid of cells stacks into one labelled dataset, whatever the order and the place in which the cells finish."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import xarray as xr
from planted import cells
from references import ROOT
from threadpoolctl import threadpool_info, threadpool_limits

from shallow.book import fingerprint, sweep
from shallow.book.recipes import releases_gil
from shallow.book.store import Store, key


@releases_gil
def cell(a, b, *, offset=0.0):
    time.sleep(0.002 * (3 - a))  # the first points finish last
    return xr.Dataset({"sum": ((), a + b + offset), "vector": ("k", np.arange(3) * a)}, {"k": [10, 20, 30]})


def test_the_grid_is_labelled_by_its_axes():
    found = sweep.grid(cell, {"a": [1, 2], "b": [5, 6, 7]}, jobs=2, offset=0.5)
    assert found.sizes == {"a": 2, "b": 3, "k": 3}
    assert found["sum"].sel(a=2, b=7) == 9.5
    np.testing.assert_array_equal(found.vector.sel(a=2, b=5), [0, 2, 4])
    np.testing.assert_array_equal(found.k, [10, 20, 30])


def printed_with_three_threads(program: str) -> list[str]:
    """Words that a program prints in a process of its own, whose environment asks for three threads."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tests"), "OMP_NUM_THREADS": "3"}
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=True)
    return run.stdout.split()


def test_threads_have_one_openmp_thread_whatever_the_environment_says():
    """OpenMP counts the threads of every thread anew, so the caller's limit alone is not theirs."""
    program = """
import numba, torch
from planted import cells
from shallow.book import sweep
from shallow.book.recipes import releases_gil
torch.set_num_threads(5)
print(*sweep.grid(releases_gil(lambda seed: cells.placed(seed)), {"seed": [0, 1]}, jobs=2).threads.values)
print(torch.get_num_threads())
"""
    assert printed_with_three_threads(program) == ["1", "1", "5"]


def test_torch_that_a_cell_loads_has_one_thread_there_and_all_cores_later():
    program = """
import os, sys, xarray as xr
from joblib import cpu_count
from shallow.book import sweep
assert "torch" not in sys.modules
def cell(seed):
    import torch
    return xr.Dataset({"threads": ((), torch.get_num_threads())})
print(*sweep.grid(cell, {"seed": [0, 1]}, jobs=1).threads.values, os.environ["OMP_NUM_THREADS"])
print(sys.modules["torch"].get_num_threads() == cpu_count())
"""
    assert printed_with_three_threads(program) == ["1", "1", "3", "True"]


@pytest.mark.parametrize("function", [cells.placed, releases_gil(lambda seed: cells.placed(seed))])
def test_every_cell_has_one_compute_thread_and_the_callers_number_is_restored(function):
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    with threadpool_limits(2):
        torch.set_num_threads(2)
        for _ in range(20):  # threads that start too early see the caller's number now and then
            assert (sweep.grid(function, {"seed": [0, 1]}, jobs=2).threads == 1).all()
        assert torch.get_num_threads() == 2
        assert max(pool["num_threads"] for pool in threadpool_info()) > 1
        with pytest.raises(sweep.SweepError):
            sweep.grid(cells.fragile, {"seed": [2]}, jobs=1)
        assert torch.get_num_threads() == 2
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("axes", "fixed", "says"),
    [
        ({"a": [1], "b": []}, {}, r"axes\['b'\] must be a sequence of values"),
        ({"a": "12", "b": [0]}, {}, r"axes\['a'\] must be a sequence of values, and not fixed as well, got '12'"),
        ({"a": [1], "b": [0]}, {"b": 1}, r"axes\['b'\] must be a sequence of values, and not fixed as well"),
        ({"a": [1, 2, 1], "b": [0]}, {}, r"axes\['a'\] must not repeat a value, got 1 twice"),
        ({"a": [1], "b": [0]}, {"ofset": 1.0}, "must be the parameters of cell: .*'ofset'"),
        ({"a": [1]}, {}, "must be the parameters of cell: .*'b'"),
    ],
)
def test_a_bad_grid_is_refused_by_name(axes, fixed, says):
    with pytest.raises(ValueError, match=says):
        sweep.grid(cell, axes, **fixed)


def test_results_of_different_shape_are_refused():
    @releases_gil
    def ragged(a):
        return xr.Dataset({"v": ("k", np.zeros(a))})

    with pytest.raises(ValueError, match="differ in the shape of 'v'"):
        sweep.grid(ragged, {"a": [1, 2]})


def test_a_failing_cell_is_reported_with_its_point_and_the_others_go_on(tmp_path, monkeypatch):
    store = Store(tmp_path)
    says = r"1 of 4 cells failed:\n  seed=2: ArithmeticError: seed 2 diverged"
    with pytest.raises(sweep.SweepError, match=says) as raised:
        sweep.grid(cells.fragile, {"seed": [1, 2, 3, 4]}, store=store, jobs=2)
    assert "in fragile" in raised.value.failures[0].traceback
    assert [store.holds({"seed": seed}) for seed in (1, 2, 3, 4)] == [True, False, True, True]
    monkeypatch.setenv("PLANTED_MENDED", "1")
    assert sweep.grid(cells.fragile, {"seed": [1, 2, 3, 4]}, store=store, jobs=1).value.sum() == 10


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_process_with_other_code_than_the_store_wants_computes_nothing(tmp_path, jobs):
    with pytest.raises(sweep.SweepError, match=r"seed=0: .*has other code for planted.cells.slow"):
        sweep.grid(cells.slow, {"seed": [0, 1]}, store=Store(tmp_path, code="0" * 16), jobs=jobs)
    assert not list(tmp_path.glob("*.cell"))
    right = Store(tmp_path, code=fingerprint.of(cells.slow))
    assert sweep.grid(cells.slow, {"seed": [0, 1]}, store=right, jobs=jobs)["count"].values.tolist() == [0, 1]


def test_cells_that_another_process_has_claimed_are_waited_for(tmp_path, monkeypatch):
    monkeypatch.setenv("PLANTED_TRACE", str(tmp_path / "trace"))
    mine, other = Store(tmp_path / "cells"), Store(tmp_path / "cells")
    assert other.claim({"seed": 1}) and other.claim({"seed": 2})

    def finish_one_and_give_up_the_other():
        while not other.holds({"seed": 3}):
            time.sleep(0.02)
        other.put({"seed": 1}, cells.slow(1), 7.0)
        other.release({"seed": 1})
        other.release({"seed": 2})

    thread = threading.Thread(target=finish_one_and_give_up_the_other)
    thread.start()
    found = sweep.grid(cells.slow, {"seed": [0, 1, 2, 3]}, store=mine, jobs=1)
    thread.join(10)
    assert found["count"].values.tolist() == [0, 1, 2, 3] and mine.seconds[key({"seed": 1})] == 7.0
    trace = (tmp_path / "trace").read_text(encoding="utf-8").splitlines()
    assert trace == [str({"seed": seed}) for seed in (0, 3, 1, 2)]
