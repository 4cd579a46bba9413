"""Compiled closures are compiled by one process, found by the next, and never taken for one another."""

import os
import subprocess
import sys
from multiprocessing import get_context

import numba
import numpy as np
import pytest
from numba.core.caching import IndexDataCacheFile

from shallow.train import fused, on_disk

TRAINED = """
import numpy as np
from numba.core import event
from shallow import nets
from shallow.train import plain

x = np.linspace(-1, 1, 9)
with event.install_recorder("numba:compile") as compiled:
    for activation in ("relu", "tanh"):
        network = nets.default(np.random.default_rng(0), 5)
        run = plain.train(x, np.sin(x), network, step=0.1, steps=20, activation=activation)
        print(run.network.W.tobytes().hex())
print("compiled", len(compiled.buffer))
"""


def test_a_second_process_compiles_nothing_and_trains_to_the_same_bits(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", TRAINED], env=environment, check=True, capture_output=True, encoding="utf-8"
        )
        for _ in range(2)
    )
    *weights, compiled = first.stdout.split("\n")[:-1]
    assert int(compiled.split()[1]) > 0 and weights[0] != weights[1]
    assert second.stdout.split("\n")[:-1] == [*weights, "compiled 0"]


def test_two_processes_that_keep_at_once_do_not_take_the_code_of_each_other(monkeypatch, tmp_path):
    """The second reads what is on disk before the first writes its index, and writes its code after the first."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    first, second = (made(factor, "at once", factor) for factor in (2, 5))
    write_index, write_code, last = IndexDataCacheFile._save_index, IndexDataCacheFile._save_data, []

    def index(file, overloads):
        if not last:
            last.append(None)
            monkeypatch.setattr(IndexDataCacheFile, "_save_data", lambda *code: last.append(code))
            second(1)
            monkeypatch.setattr(IndexDataCacheFile, "_save_data", write_code)
        write_index(file, overloads)

    monkeypatch.setattr(IndexDataCacheFile, "_save_index", index)
    first(1)
    write_code(*last[1])
    assert [made(factor, "at once", factor)(1) for factor in (2, 5)] == [2, 5]


def outputs(inputs: list[int]) -> list[float]:
    """Sums of the weights after a step of the mini-batch trainer, for each number of inputs."""
    sums = []
    for d in inputs:
        W, a = np.ones((1, d, 16)), np.ones((1, 16))
        fused.steps(d)(W, a, np.ones((4, d)), np.ones(4), np.arange(4)[None], np.full(1, 0.01))
        sums.append(W.sum())
    return sums


def test_code_of_two_processes_is_not_taken_for_one_another_in_a_third(monkeypatch, tmp_path):
    """Forks of one process count on from one number, after which numba names the machine code that they keep."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    first, second, both = (by_fork(inputs) for inputs in ([2], [5], [2, 5]))
    assert both == first + second


def by_fork(inputs: list[int]) -> list[float]:
    with get_context("fork").Pool(1) as fork:
        return fork.apply(outputs, [inputs])


def made(factor: int, *made_of: object):
    """A compiled closure of a factor."""

    @on_disk.kept(*made_of)
    @numba.njit
    def times(x):
        return factor * x

    return times


@pytest.mark.parametrize("what", ["arguments", "text"])
def test_other_arguments_or_another_text_are_another_function(monkeypatch, what):
    assert made(2, "closure", what)(3) == 6
    if what == "text":
        monkeypatch.setattr(on_disk, "_text", lambda: "another")
    assert made(5, "closure", what, *["other"] * (what == "arguments"))(3) == 15
