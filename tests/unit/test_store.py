"""A finished cell on disk is complete or absent, and a damaged one is noticed."""

import errno
import hashlib
import pickle
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from planted.forge import Crafted

from shallow.book import store
from shallow.book.store import Store

POINT = {"width": 128, "step": 0.01, "design": "iid"}
CELL = xr.Dataset({"loss": ("epoch", np.linspace(1, 0, 7)), "zero": ((), 3)}, {"epoch": range(7)}, {"note": "kept"})


EVERYTHING = xr.Dataset(
    {
        "single": (("a", "b"), np.float32([[0.1, np.nan], [np.inf, -0.0]])),
        "double": ("a", [np.nextafter(1, 2), np.nan]),
        "fortran": (("a", "b"), np.asfortranarray([[1.0, 2.0], [3.0, 4.0]])),
        "count": ((), 3),
        "small": ("a", np.int16([-1, 2])),
        "flag": ("a", [True, False]),
        "one_flag": ((), True),
        "none": ("empty", np.zeros(0)),
        "word": ("a", ["naïve", "\N{GREEK SMALL LETTER ALPHA}"]),
    },
    {"a": ["x", "longer"], "b": [True, False], "beside": ("a", [1.5, np.nan]), "scalar": 2.5},
    {"text": "kept", "n": 50, "rate": 0.1},
)


def test_every_type_of_a_cell_comes_back_bit_for_bit_with_its_cost(tmp_path):
    Store(tmp_path).put(POINT, EVERYTHING, 1.5)
    again = Store(tmp_path)
    found = again.get(POINT)
    xr.testing.assert_identical(found, EVERYTHING)
    assert list(found.data_vars) == list(EVERYTHING.data_vars)
    for name, array in EVERYTHING.variables.items():
        assert found.variables[name].dtype == array.dtype, name
        assert found.variables[name].values.tobytes() == array.values.tobytes(), name
    assert again.seconds == {store.key(POINT): 1.5} and again.get(POINT | {"step": 0.1}) is None


def forged(payload):
    """A file whose checksum is right: who can write the file can compute that too."""
    return hashlib.sha256(payload).digest() + payload


@pytest.mark.parametrize(
    "damage",
    [
        lambda c: forged(pickle.dumps((1.0, Crafted()))),
        lambda c: forged(b"\x89HDF\r\n\x1a\n"),
        lambda c: forged(b""),
        lambda c: c[:-1],
        lambda c: c[:20],
        lambda c: b"",
        lambda c: c[:-1] + bytes([c[-1] ^ 1]),
    ],
)
def test_a_damaged_file_is_named_counts_as_absent_and_runs_nothing(tmp_path, monkeypatch, damage):
    monkeypatch.chdir(tmp_path)
    kept = Store(tmp_path)
    kept.put(POINT, CELL, 1.0)
    (file,) = tmp_path.glob("*.cell")
    file.write_bytes(damage(file.read_bytes()))
    with pytest.warns(RuntimeWarning, match=rf"{file.name} holds no cell.*width=128, step=0.01, design=iid"):
        assert kept.get(POINT) is None
    assert not Path("trace").exists()
    kept.put(POINT, CELL, 1.0)
    xr.testing.assert_identical(kept.get(POINT), CELL)


CLAIMANT = """
import sys, time
from shallow.book.store import Store
store = Store(sys.argv[1])
assert store.claim({"i": 1})
print("claimed", flush=True)
time.sleep(60)
"""


def test_a_cell_has_one_claimant_until_it_is_put_or_released_or_the_claimant_dies(tmp_path):
    one, two = Store(tmp_path), Store(tmp_path)
    assert one.claim({"i": 0}) and not two.claim({"i": 0}) and two.claim({"i": 2})
    one.put({"i": 0}, CELL, 1.0)
    one.release({"i": 0})
    assert two.claim({"i": 0})
    command = [sys.executable, "-c", CLAIMANT, tmp_path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as other:
        assert other.stdout.readline() == "claimed\n"
        assert not one.claim({"i": 1})
        other.kill()
        other.wait(10)
        assert one.claim({"i": 1})


def test_the_cells_stay_while_another_recording_is_at_work_with_them(tmp_path):
    one, two = Store(tmp_path / "cells"), Store(tmp_path / "cells")
    with one.at_work():
        one.put(POINT, CELL, 1.0)
        assert two.others()
        two.clear()
        assert one.holds(POINT)
    assert not two.others()
    two.clear()
    assert not one.holds(POINT) and not (tmp_path / "cells").exists()


def test_a_point_is_known_whatever_the_order_of_its_names_and_the_type_of_its_numbers():
    assert store.key({"b": np.int64(2), "a": np.float64(0.5)}) == store.key({"a": 0.5, "b": 2})
    assert store.key({"a": 0.5, "b": 2}) != store.key({"a": 0.5, "b": 3})


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
    assert raised.value.errno == errno.EFBIG and str(tmp_path) in str(raised.value)
    assert [file.suffix for file in tmp_path.iterdir()] == [".cell"]
    xr.testing.assert_identical(kept.get(POINT), CELL)
