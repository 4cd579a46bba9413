"""Recorded runs: what is stored is what the code computes; anything else is noticed, by name, and harms no other."""

import os
import sys
from functools import partial
from io import BytesIO

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner
from planted import cells
from planted.forge import NAME, OTHER, rewrite, sign

from shallow.__main__ import main
from shallow.book import fingerprint, paths, recording, records
from shallow.book.recipes import Recipe


def test_a_record_is_small_and_says_what_made_it(recorded):
    stored, manifest = records.load(NAME), records.manifest(NAME)
    np.testing.assert_allclose(stored.value.sel(seed=4), cells.slow(4).value, rtol=1e-6)
    assert stored.value.dtype == np.float32 and stored["count"].dtype.kind == "i"
    assert manifest["bytes"] == (recorded / "quick.nc").stat().st_size < 20_000
    assert manifest["specification"] == {"cell": "slow", "axes": {"seed": [3, 4, 5]}, "fixed": {}}
    assert manifest["fingerprint"] == fingerprint.of(cells.slow) and manifest["device"] == "cpu"
    assert set(manifest["versions"]) == {"numpy", "numba", "scipy", "torch", "xarray"}
    assert {"date", "processor", "python", "seconds", "seconds_by"} <= set(manifest)


def test_large_arrays_are_rounded_unless_other_runs_start_from_them():
    rng = np.random.default_rng(0)
    values = rng.standard_normal(5000) * 10.0 ** rng.integers(-30, 30, 5000)
    values[:4] = np.nan, np.inf, -np.inf, 0.0
    few, flags = values[:10], values > 0
    whole = xr.Dataset({"many": ("k", values), "start": ("k", values), "few": ("j", few), "flags": ("k", flags)})
    data = recording._packed(whole, ("start",))
    back = xr.load_dataset(BytesIO(data), engine="h5netcdf")
    np.testing.assert_array_equal(back.start, values.astype("float32"))
    np.testing.assert_array_equal(back.few, few.astype("float32"))
    np.testing.assert_array_equal(back.flags, flags)
    np.testing.assert_allclose(back.many, values, rtol=2.0 ** -(recording.BITS + 1) + 1e-7)
    assert not (back.many.values[4:].view("uint32") & (1 << 23 - recording.BITS) - 1).any()
    assert len(data) < len(recording._packed(whole, ("start", "many"))) - 5000 // 2


# Found after a move.

CELL = """
import xarray as xr
def {name}(seed): return xr.Dataset({{"value": ((), float(seed))}})
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Writes a module of a package that may be moved, and returns the recipe of its cell."""

    def write(module, name):
        file = tmp_path / "movable" / f"{module}.py"
        file.parent.mkdir(exist_ok=True)
        (tmp_path / "movable" / "__init__.py").touch()
        file.write_text(CELL.format(name=name), encoding="utf-8")
        scope = {}
        exec(f"from movable.{module} import {name} as cell", scope)
        return Recipe(scope["cell"], {"seed": [1, 2]})

    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(paths, "RECORDS", tmp_path / "records")
    yield write
    for name in [name for name in sys.modules if name.partition(".")[0] == "movable"]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("module", "name", "renamed"), [("elsewhere", "cell", {}), ("others", "network", {"cell": "network"})]
)
def test_a_record_is_found_after_its_cell_has_moved(package, monkeypatch, module, name, renamed):
    """To another module; or to another name, which the table of renamed cells then holds."""
    monkeypatch.setattr(records, "recipes", lambda *_: {"movable/run": recipe})
    recipe = package("runs", "cell")
    recording.make("movable/run", jobs=1)
    before, recipe = records.load("movable/run"), package(module, name)
    if renamed:
        with pytest.raises(records.RecordError, match="another specification"):
            records.load("movable/run")
        monkeypatch.setattr(records, "RENAMED", renamed)
    xr.testing.assert_identical(records.load("movable/run"), before)
    assert records.state("movable/run") == "fresh"


# Refused when wrong.


def _replaced(name, content):
    def damage(folder):
        (folder / name).write_bytes(content(folder / name) if callable(content) else content)

    return damage


def _forged(name, content):
    """Data that match their checksum."""

    def damage(folder):
        _replaced(name, content)(folder)
        sign(folder, "quick")

    return damage


def _dataset(change):
    def damage(folder):
        changed = change(xr.load_dataset(folder / "quick.nc", engine="h5netcdf"))
        (folder / "quick.nc").unlink()
        changed.to_netcdf(folder / "quick.nc", engine="h5netcdf")
        sign(folder, "quick")

    return damage


def _no_file(name, make):
    def damage(folder):
        (folder / name).unlink()
        make(folder / name)

    return damage


def _flipped(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    return bytes(content)


DAMAGES = {
    **{f"{key} missing": partial(rewrite, name="quick", **{key: ...}) for key in sorted(records.KEYS)},
    "another specification": partial(rewrite, name="quick", specification={"cell": "fast", "axes": {}, "fixed": {}}),
    "manifest empty": _replaced("quick.json", b""),
    "manifest no text": _replaced("quick.json", b"\xff\xfe\x00\x80"),
    "manifest a list": _replaced("quick.json", b"[1, 2]"),
    "manifest a folder": _no_file("quick.json", os.mkdir),
    "manifest a link to nowhere": _no_file("quick.json", lambda file: file.symlink_to("nowhere")),
    "data missing": lambda folder: (folder / "quick.nc").unlink(),
    "data empty": _replaced("quick.nc", b""),
    "a bit of the data": _replaced("quick.nc", _flipped),
    "data a folder": _no_file("quick.nc", os.mkdir),
    "forged data, cut": _forged("quick.nc", lambda file: file.read_bytes()[:3000]),
    "forged data of another record": _forged("quick.nc", lambda file: (file.parent / "pairs.nc").read_bytes()),
    "forged data without the axis": _dataset(lambda dataset: dataset.isel(seed=0, drop=True)),
    "forged data with other seeds": _dataset(lambda dataset: dataset.assign_coords(seed=[3, 4, 6])),
    "forged data without labels": _dataset(lambda dataset: dataset.drop_vars("seed")),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damage_is_named_with_the_command_that_mends_it_and_leaves_other_records_alone(recorded, damage):
    damage(recorded)
    with pytest.raises(records.RecordError) as raised:
        records.load(NAME)
    message = str(raised.value)
    assert "quick" in message and f"python -m shallow record {NAME}" in message
    assert records.load(OTHER).sizes
    run = CliRunner().invoke
    listed = run(main, ["list"])
    assert listed.exit_code == 0 and OTHER in listed.output and "fresh" in listed.output
    checked = run(main, ["verify"])
    assert checked.exit_code == 1 and f"{OTHER}: 1 of 8 cells agree" in checked.stdout and "quick" in checked.stderr
    assert isinstance(checked.exception, SystemExit)


@pytest.mark.parametrize("damage", ["manifest empty", "manifest a link to nowhere", "data empty", "seconds_by missing"])
@pytest.mark.parametrize("command", [["record", NAME], ["record", "--all"], ["record", NAME, "--anew"]], ids=" ".join)
def test_a_damaged_record_is_mended_by_the_command(recorded, damage, command):
    DAMAGES[damage](recorded)
    result = CliRunner().invoke(main, [*command, "--jobs", "1"])
    assert result.exit_code == 0, result.output
    assert records.state(NAME) == "fresh" == records.state(OTHER) and records.load(NAME).sizes


def test_expected_seconds_are_products_of_factors(recorded):
    rewrite(recorded, "pairs", seconds=16.0, seconds_by={"seed": [1.0, 2.0, 2.0, 3.0], "seconds": [1.0, 3.0]})
    found = records.expected_seconds(OTHER, [{"seed": 3, "seconds": 0.01}, {"seed": 0, "seconds": 5.0}])
    assert found == pytest.approx([2 * 1.5 * 1.5, 2 * 0.5])  # what the record does not have counts as the mean
