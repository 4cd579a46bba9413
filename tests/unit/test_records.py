"""Recorded runs: what is stored is what the code computes, and anything else is noticed."""

import json

import h5netcdf
import numpy as np
import pytest
import xarray as xr
from shallow import paths, records
from shallow.experiments import Recipe


def cell(seed, *, scale=1.0):
    values = np.random.default_rng(seed).standard_normal(20)
    return xr.Dataset({"value": ("k", scale * values), "count": ((), seed)})


NAME = "chapter/planted"


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A small recorded run in an empty records folder."""
    monkeypatch.setattr(paths, "RECORDS", tmp_path)
    monkeypatch.setattr(records, "recipes", lambda: {NAME: Recipe(cell, {"seed": [3, 4, 5]}, {"scale": 2.0})})
    records.make(NAME)
    return tmp_path / "chapter"


def test_a_record_round_trips_and_verifies(planted):
    stored = records.load(NAME)
    np.testing.assert_allclose(stored.value.sel(seed=4), cell(4, scale=2.0).value, rtol=1e-6)
    assert stored["count"].dtype.kind == "i"
    assert len(records.verify(NAME, cells=3)) == 3
    assert not records.is_stale(NAME)


def test_a_planted_wrong_digit_is_caught_by_verification(planted):
    """Even when the checksum has been brought into line with the altered data."""
    with h5netcdf.File(planted / "planted.nc", "a") as file:
        file["value"][...] = np.asarray(file["value"][...]) + 0.001
    manifest = json.loads((planted / "planted.json").read_text())
    manifest["sha256"] = records.hashlib.sha256((planted / "planted.nc").read_bytes()).hexdigest()
    (planted / "planted.json").write_text(json.dumps(manifest))
    with pytest.raises(records.RecordError, match="differs from its own code"):
        records.verify(NAME)


def test_an_altered_file_is_caught_by_its_checksum(planted):
    file = planted / "planted.nc"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(records.RecordError, match="checksum.*python -m shallow record chapter/planted"):
        records.load(NAME)


def test_a_missing_record_names_the_command(planted):
    (planted / "planted.json").unlink()
    with pytest.raises(records.RecordError, match="python -m shallow record chapter/planted"):
        records.load(NAME)


def test_a_record_of_another_specification_is_refused(planted, monkeypatch):
    monkeypatch.setattr(records, "recipes", lambda: {NAME: Recipe(cell, {"seed": [3, 4, 5]}, {"scale": 3.0})})
    with pytest.raises(records.RecordError, match="another specification"):
        records.load(NAME)


def test_an_unknown_name_lists_the_known():
    with pytest.raises(KeyError, match="cyclic_labels/heatmap_three_periods"):
        records.recipe("cyclic_labels/nothing")


@pytest.mark.parametrize(("change", "counts"), [(b"\nextra = 1\n", True), (b"\n# a comment\n", False)])
def test_the_fingerprint_covers_code_that_is_imported_indirectly(monkeypatch, change, counts):
    """A changed trainer marks a record stale, although the cell's own module is unchanged; a comment does not."""
    from shallow.experiments.cyclic_labels.ensembles import ensemble
    from shallow.train import univariate

    before = records.fingerprint(ensemble)
    read, changed = records.Path.read_bytes, records.Path(univariate.__file__)
    monkeypatch.setattr(records.Path, "read_bytes", lambda p: read(p) + (change if p == changed else b""))
    assert (records.fingerprint(ensemble) != before) == counts


def test_a_docstring_does_not_count(monkeypatch):
    from shallow.experiments.cyclic_labels.ensembles import ensemble

    before = records.fingerprint(ensemble)
    read = records.Path.read_bytes
    monkeypatch.setattr(records.Path, "read_bytes", lambda p: read(p).replace(b'"""', b'"""More words. ', 1))
    assert records.fingerprint(ensemble) == before
