"""Recorded runs: what is stored is what the code computes, and anything else is noticed."""

import hashlib
import json

import h5netcdf
import numpy as np
import pytest
import xarray as xr
from planted import cells
from shallow import fingerprint, paths, recording, records, stats
from shallow.experiments import Band, Exact, Recipe

NAME = "planted/quick"


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """The planted recipes over an empty folder of records, in which one is made."""
    monkeypatch.setattr(paths, "RECORDS", tmp_path)
    monkeypatch.setattr(records, "recipes", lambda: cells.RECORDS)
    recording.make(NAME, jobs=1)
    return tmp_path / "planted"


def alter(folder, name, change):
    """Change the values of a record and bring its checksum into line, as a careful forger would."""
    with h5netcdf.File(folder / f"{name}.nc", "a") as file:
        file["value"][...] = change(np.asarray(file["value"][...]))
    manifest = json.loads((folder / f"{name}.json").read_text())
    manifest["sha256"] = hashlib.sha256((folder / f"{name}.nc").read_bytes()).hexdigest()
    (folder / f"{name}.json").write_text(json.dumps(manifest))


def test_a_record_round_trips_and_verifies(planted):
    stored = records.load(NAME)
    np.testing.assert_allclose(stored.value.sel(seed=4), cells.slow(4).value, rtol=1e-6)
    assert stored["count"].dtype.kind == "i"
    assert len(records.verify(NAME, cells=3)) == 3
    assert records.state(NAME) == "fresh"


def test_a_record_is_small_and_says_what_made_it(planted):
    manifest = records.manifest(NAME)
    assert records.load(NAME).value.dtype == np.float32
    assert manifest["bytes"] == (planted / "quick.nc").stat().st_size < 20_000
    assert manifest["specification"]["axes"] == {"seed": [3, 4, 5]} and manifest["cells"] == 3
    assert manifest["fingerprint"] == fingerprint.of(cells.slow) and manifest["device"] == "cpu"
    assert set(manifest["versions"]) == {"numpy", "numba", "scipy", "torch", "xarray"}
    assert {"date", "processor", "python", "seconds", "seconds_by"} <= set(manifest)


def test_a_planted_wrong_digit_is_caught_by_verification(planted):
    """Even when the checksum has been brought into line with the altered data."""
    alter(planted, "quick", lambda values: values + 1e-4)
    with pytest.raises(records.RecordError, match=r"differs from its own code at \{'seed': \d\} in 'value'"):
        records.verify(NAME)


def test_an_altered_file_is_named(planted):
    file = planted / "quick.nc"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(records.RecordError, match=f"{file}.*checksum.*python -m shallow record {NAME}"):
        records.load(NAME)
    assert "checksum" in records.state(NAME)


def test_a_truncated_file_is_named(planted):
    file = planted / "quick.nc"
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(records.RecordError, match=f"{file}.*checksum"):
        records.load(NAME)


def test_a_missing_record_names_the_command(planted):
    (planted / "quick.json").unlink()
    with pytest.raises(records.RecordError, match=f"is missing; make it by: python -m shallow record {NAME}"):
        records.load(NAME)


def test_a_record_of_another_specification_is_refused(planted, monkeypatch):
    monkeypatch.setattr(records, "recipes", lambda: {NAME: Recipe(cells.slow, {"seed": [3, 4]})})
    with pytest.raises(records.RecordError, match="another specification"):
        records.load(NAME)


def test_a_record_whose_code_has_changed_is_stale_but_still_there(planted, monkeypatch):
    before = records.load(NAME)
    monkeypatch.setattr(fingerprint, "of", lambda function: "0" * 16)
    assert records.state(NAME) == "stale"
    xr.testing.assert_identical(records.load(NAME), before)


def test_a_confirmed_record_is_fresh_for_the_code_that_agreed_and_stale_for_any_other(planted, monkeypatch):
    data, made = (planted / "quick.nc").read_bytes(), records.manifest(NAME)
    monkeypatch.setattr(fingerprint, "of", lambda function: "1" * 16)
    assert len(recording.confirm(NAME, cells=2)) == 2
    assert records.state(NAME) == "confirmed" and not records.is_stale(NAME)
    noted = records.manifest(NAME)
    note = noted.pop("confirmed")
    assert noted == made and (planted / "quick.nc").read_bytes() == data
    assert note["fingerprint"] == "1" * 16 and note["cells"] == 2 and note["processor"] == records.processor()
    monkeypatch.setattr(fingerprint, "of", lambda function: "2" * 16)
    assert records.state(NAME) == "stale"


def test_a_fresh_record_needs_no_confirmation(planted):
    recording.confirm(NAME)
    assert "confirmed" not in records.manifest(NAME) and records.state(NAME) == "fresh"


def test_a_record_that_disagrees_is_not_confirmed(planted, monkeypatch):
    alter(planted, "quick", lambda values: values + 1e-3)
    monkeypatch.setattr(fingerprint, "of", lambda function: "1" * 16)
    with pytest.raises(records.RecordError, match="differs from its own code"):
        recording.confirm(NAME)
    assert records.state(NAME) == "stale"


def test_an_unknown_name_lists_the_known():
    with pytest.raises(KeyError, match="cyclic_labels/heatmap_three_periods"):
        records.recipe("cyclic_labels/nothing")


def test_zero_cells_verify_nothing_and_are_refused(planted):
    with pytest.raises(ValueError, match="cells must be positive, got 0"):
        records.verify(NAME, cells=0)


def test_other_cells_are_tried_when_the_record_changes(planted, monkeypatch):
    monkeypatch.setattr(records, "expected_seconds", lambda name, cells: np.zeros(len(cells)))  # all are cheap
    recording.make("planted/loose", jobs=1)
    tried = {records.verify("planted/loose")[0]["seed"]}
    for shift in range(1, 9):
        alter(planted, "loose", lambda values, shift=shift: values + 1e-3 * shift)
        tried.add(records.verify("planted/loose")[0]["seed"])
    assert len(tried) > 2


def test_cheap_cells_are_tried_first(planted):
    recording.make("planted/pairs", jobs=1)
    assert records.verify("planted/pairs")[0]["seconds"] == 0.0
    few, many = records.expected_seconds("planted/pairs", [{"seed": 0, "seconds": 0.0}, {"seed": 0, "seconds": 0.01}])
    assert many > few + 0.004 > 0.004  # one of them sleeps for 0.01


def test_long_cells_are_compared_in_part(planted, monkeypatch, tmp_path):
    recording.make("planted/walk", jobs=1)
    monkeypatch.setenv("PLANTED_TRACE", str(tmp_path / "trace"))
    (point,) = records.verify("planted/walk")
    assert (tmp_path / "trace").read_text() == f"{point | {'steps': 1}}\n"
    assert records.load("planted/walk").step.values.tolist() == [0, 1, 10]
    alter(planted, "walk", lambda values: values + 1e-3)
    with pytest.raises(records.RecordError, match="'value'"):
        records.verify("planted/walk")


@pytest.mark.parametrize(
    ("rule", "fresh", "agrees"),
    [
        (Exact(), [1.0, -2.0, np.nan, np.inf], True),
        (Exact(), [1.0 + 1e-6, -2.0, np.nan, np.inf], True),
        (Exact(), [1.0 + 1e-4, -2.0, np.nan, np.inf], False),
        (Exact(), [1.0, -2.0, 0.0, np.inf], False),
        (Exact(), [1.0, -2.0, np.nan, 1e9], False),
        (Exact(absolute=0.1), [1.05, -2.0, np.nan, np.inf], True),
        (Exact(), [1.0, -2.0, np.nan], False),
    ],
)
def test_exact_agreement(rule, fresh, agrees):
    record = xr.Dataset({"value": (("seed", "k"), [[1.0, -2.0, np.nan, np.inf]])}, {"seed": [7]})
    found = rule.disagreements(xr.Dataset({"value": ("k", fresh)}), record, {"seed": 7})
    assert (found == []) == agrees


def test_another_processor_has_its_own_tolerance(planted, monkeypatch):
    rule = Exact(elsewhere=0.1)
    assert rule.on(same_processor=True).relative == 1e-5 and rule.on(same_processor=False).relative == 0.1
    assert Exact().on(same_processor=False) == Exact() and Band().on(same_processor=False) == Band()
    recipe = Recipe(cells.slow, {"seed": [3, 4, 5]}, {}, "Quick cells", agreement=rule)
    monkeypatch.setattr(records, "recipes", lambda: {NAME: recipe})
    alter(planted, "quick", lambda values: values * 1.01)
    with pytest.raises(records.RecordError, match="differs from its own code"):
        records.verify(NAME)
    monkeypatch.setattr(records, "processor", lambda: "another one")
    assert records.verify(NAME)


def test_on_another_processor_chaotic_runs_are_compared_with_their_replicates():
    rule = Exact(elsewhere=Band("seed"))
    record = xr.Dataset({"value": ("seed", [1.0, 1.1, 0.9, 1.2])}, {"seed": [0, 1, 2, 3]})
    near, far = (xr.Dataset({"value": ((), value)}) for value in (1.3, 9.0))
    here, there = rule.on(same_processor=True), rule.on(same_processor=False)
    assert here.disagreements(near, record, {"seed": 0}) == ["value"] == there.disagreements(far, record, {"seed": 0})
    assert there.disagreements(near, record, {"seed": 0}) == []


def test_counts_must_be_equal():
    record = xr.Dataset({"count": ("seed", [100_000, 5])}, {"seed": [0, 1]})
    assert Exact().disagreements(xr.Dataset({"count": ((), 100_001)}), record, {"seed": 0}) == ["count"]


def test_a_chaotic_run_is_compared_with_its_replicates(planted):
    recording.make("planted/chaotic", jobs=1)
    assert records.verify("planted/chaotic", cells=4)
    alter(planted, "chaotic", lambda values: values + 3)
    with pytest.raises(records.RecordError, match="'value'"):
        records.verify("planted/chaotic")


@pytest.mark.parametrize("replicates", [3, 5, 20])
def test_a_band_refuses_one_normal_replicate_of_a_hundred_at_99_percent(replicates):
    """Of replicates and one more run that are all normal, whatever their number."""
    rng = stats.stream("band", replicates)
    refused = []
    for _ in range(2000):
        record = xr.Dataset({"value": ("seed", rng.standard_normal(replicates))}, {"seed": range(replicates)})
        fresh = xr.Dataset({"value": ((), rng.standard_normal())})
        refused.append(Band(confidence=0.99).disagreements(fresh, record, {"seed": 0}) == ["value"])
    share = stats.wilson(refused)
    assert share.low <= 0.01 <= share.high


def test_a_band_needs_three_replicates_and_finite_numbers():
    record = xr.Dataset({"value": ("seed", [1.0, 1.1, 0.9])}, {"seed": [0, 1, 2]})
    fresh = xr.Dataset({"value": ((), 1.05)})
    assert Band().disagreements(fresh, record, {"seed": 0}) == []
    assert Band().disagreements(fresh, record.isel(seed=[0, 1]), {"seed": 0}) == ["value"]
    assert Band().disagreements(fresh * np.nan, record, {"seed": 0}) == ["value"]
