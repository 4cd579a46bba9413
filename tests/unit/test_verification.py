"""Redoing cells: every wrong record is refused, cells are drawn from all costs, and what was redone is kept."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner
from planted import cells
from planted.forge import NAME, OTHER, alter, rewrite

from shallow.__main__ import main
from shallow.book import fingerprint, recording, records, verification
from shallow.book.recipes import Agreement

POINT = {"seed": 7}
RECORD = xr.Dataset({"value": (("seed", "k"), [[1.0, -2.0, np.nan, np.inf], [3.0, 4.0, 5.0, 6.0]])}, {"seed": [7, 8]})


@pytest.mark.parametrize(
    ("rule", "fresh", "agrees", "agrees_elsewhere"),
    [
        (Agreement(), [1.0, -2.0, np.nan, np.inf], True, True),
        (Agreement(), [1.0 + 1e-6, -2.0, np.nan, np.inf], True, True),
        (Agreement(), [1.0 + 1e-4, -2.0, np.nan, np.inf], False, True),
        (Agreement(), [1.5, -3.0, np.nan, np.inf], False, False),
        (Agreement(), [0.0, 0.0, np.nan, np.inf], False, False),
        (Agreement(), [1.0, -2.0, 0.0, np.inf], False, False),
        (Agreement(), [1.0, -2.0, np.nan, -np.inf], False, False),
        (Agreement(relative=1e-3), [1.001, -2.0, np.nan, np.inf], True, True),
        (Agreement(absolute=0.1), [1.05, -2.0, np.nan, np.inf], True, True),
    ],
)
def test_rounding_agrees_and_elsewhere_a_share_of_the_spread(rule, fresh, agrees, agrees_elsewhere):
    found = xr.Dataset({"value": ("k", fresh)})
    assert (rule.disagreements(found, RECORD, POINT) == []) == agrees
    assert (rule.disagreements(found, RECORD, POINT, elsewhere=True) == []) == agrees_elsewhere


def test_a_tolerance_for_another_processor_ends_where_that_has_agreed_exactly(recorded, monkeypatch):
    alter(recorded, "quick", lambda values: values + 1e-4)  # and the checksum with it
    with pytest.raises(records.RecordError, match=r"differs from its own code at \{'seed': \d\} in 'value'"):
        verification.verify(NAME)
    monkeypatch.setattr(records, "processor", lambda: "another one")
    loose = verification.redo(NAME, 0)
    assert loose.rule == verification.ELSEWHERE
    verification.note([loose])
    assert verification.redo(NAME, 0).rule == verification.ELSEWHERE  # agreeing loosely proves nothing
    verification.note([verification.Redone(NAME, 0, True, verification.EXACT, 0.1)])
    with pytest.raises(records.RecordError, match="differs from its own code"):
        verification.redo(NAME, 0)
    assert verification.redo(NAME, 1).rule == verification.ELSEWHERE


def test_long_cells_are_compared_in_part_or_to_their_end(recorded, monkeypatch, tmp_path):
    monkeypatch.setattr(records, "recipes", lambda *_: cells.RECORDS)
    recording.make("planted/walk", jobs=1)
    monkeypatch.setenv("PLANTED_TRACE", str(tmp_path / "trace"))
    (part,), (whole,) = verification.verify("planted/walk"), verification.verify("planted/walk", whole=True)
    lines = (tmp_path / "trace").read_text(encoding="utf-8").splitlines()
    assert ["'steps': 1}" in line for line in lines] == [True, False]
    assert (part.whole, whole.whole) == (False, True)
    alter(recorded, "walk", lambda values: values + 1e-3)
    with pytest.raises(records.RecordError, match="'value'"):
        verification.verify("planted/walk")


def test_a_processor_with_the_kernels_of_another_is_one_of_its_own(monkeypatch):
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    own = records.processor()
    monkeypatch.setenv("OPENBLAS_CORETYPE", "SkylakeX")
    assert records.processor() == f"{own} as SkylakeX"


def test_on_another_processor_the_start_of_chaotic_runs_is_compared(recorded, monkeypatch):
    monkeypatch.setattr(records, "recipes", lambda *_: cells.RECORDS)
    for name in ("planted/chaotic", "planted/slow"):
        recording.make(name, jobs=2)
    with pytest.raises(records.RecordError, match="record 'planted/chaotic' differs"):
        verification.verify("planted/chaotic")
    monkeypatch.setattr(records, "processor", lambda: "another one")
    (trial,) = verification.verify("planted/chaotic")
    assert (trial.whole, trial.rule, trial.seconds) == (False, verification.ELSEWHERE, 0)
    alter(recorded, "slow", lambda values: values * 1.5)
    with pytest.raises(records.RecordError, match="record 'planted/slow' differs"):
        verification.verify("planted/chaotic")


def test_on_another_processor_a_steady_cell_is_compared_in_the_place_of_one_that_is_not(recorded, monkeypatch):
    recipe = replace(cells.RECORDS[NAME], steady={"seed": [3]})
    monkeypatch.setattr(records, "recipes", lambda *_: {NAME: recipe})
    monkeypatch.setattr(records, "processor", lambda: "another one")
    alter(recorded, "quick", lambda values: values * [[1.0], [2.0], [2.0]])  # the other runs took another path here
    found = [verification.redo(NAME, cell) for cell in (0, 1, 2)]
    assert [(trial.cell, trial.rule) for trial in found] == [(0, "exact")] * 3
    verification.note(found)
    assert verification.redo(NAME, 2).cell == 0  # exact agreement where runs are steady says nothing of the others
    alter(recorded, "quick", lambda values: values * 1.5)
    with pytest.raises(records.RecordError, match="at {'seed': 3} in 'value'"):
        verification.redo(NAME, 2)


def test_cells_whose_data_are_not_at_hand_are_left_for_others(recorded, monkeypatch):
    plain, missing = records.recipe(NAME), {3, 5}

    def cell(seed):
        if seed in missing:
            raise ConnectionError("digits could not be fetched")
        return plain.cell(seed)

    monkeypatch.setattr(fingerprint, "of", lambda function: "1" * 16)
    monkeypatch.setattr(records, "recipe", lambda name: replace(plain, cell=cell))
    monkeypatch.setattr(records, "checked", records.manifest)
    assert [trial.cell for trial in verification.verify(NAME, cells=2)] == [1]
    missing.add(4)
    result = CliRunner().invoke(main, ["verify", NAME])
    assert result.exit_code == 0 and "digits could not be fetched" in result.stderr


def test_a_cell_that_raises_disagrees(recorded, monkeypatch):
    recipe = replace(records.recipe(NAME), fixed={"seconds": -1.0})  # time.sleep refuses that
    monkeypatch.setattr(records, "recipe", lambda name: recipe)
    monkeypatch.setattr(records, "checked", records.manifest)
    with pytest.raises(records.RecordError, match="its own code at .* raises ValueError"):
        verification.verify(NAME)


@pytest.fixture
def many(recorded, monkeypatch):
    """A record of which the cells cost 1 to 8 seconds."""
    monkeypatch.setattr(records, "expected_seconds", lambda name: np.arange(1.0, 9.0))
    monkeypatch.setattr(fingerprint, "of", lambda function: "1" * 16)
    return OTHER


def drawn(count, day=1, **options):
    """Cells drawn one after the other on a day."""
    found = []
    for _ in range(count):
        found.append(verification.draw(OTHER, day=date(2026, 1, day), without=found, **options))
    return found


def test_cells_come_from_all_quarters_of_the_cost_and_other_ones_on_another_day(many):
    days = [drawn(4, day) for day in range(1, 20)]
    assert all(sorted(cell // 2 for cell in day) == [0, 1, 2, 3] for day in days)
    assert len({day[0] for day in days}) > 4 and days[0] == drawn(4)
    assert {cell for day in range(1, 20) for cell in drawn(2, day, limit=4.5)} == {0, 1, 2, 3}
    assert drawn(2, limit=0.1) == [0, None]  # the cheapest at least


def test_cells_that_were_redone_come_last(many):
    verification.note([verification.Redone(many, cell, True, verification.EXACT, 1.0) for cell in range(7)])
    assert {drawn(1, day)[0] for day in range(1, 9)} == {7}
    assert sorted(drawn(8)) == list(range(8))


def test_a_manifest_keeps_what_was_redone_when_and_where(recorded, monkeypatch):
    data, before = (recorded / "quick.nc").read_bytes(), records.manifest(NAME)
    monkeypatch.setattr(fingerprint, "of", lambda function: "1" * 16)
    assert records.state(NAME) == "stale" and verification.share(NAME) == 0
    verification.note(verification.verify(NAME, cells=2), day=date(2026, 1, 2))
    verification.note([verification.Redone(NAME, 0, False, verification.ELSEWHERE, 0.0)], day=date(2026, 1, 3))
    after = records.manifest(NAME)
    first, second = after.pop("redone")
    before.pop("redone")
    assert after == before and (recorded / "quick.nc").read_bytes() == data
    assert first["fingerprint"] == "1" * 16 and len(first["cells"]) == len(first["seconds"]) == 2 and first["whole"]
    assert first["date"] == "2026-01-02" and first["processor"] == records.processor() and first["rule"] == "exact"
    assert second["cells"] == [0] and not second["whole"] and second["rule"] == "another processor"
    assert records.state(NAME) == "confirmed" and 0.3 < verification.share(NAME) < 1
    monkeypatch.setattr(fingerprint, "of", lambda function: "2" * 16)
    assert records.state(NAME) == "stale" and verification.share(NAME) == 0


def test_a_shortened_cell_counts_for_what_it_took(many, monkeypatch):
    manifest = records.manifest(many) | {"seconds": 36.0}
    monkeypatch.setattr(records, "manifest", lambda name: manifest)
    note = {"fingerprint": "1" * 16, "date": "", "processor": "", "rule": "exact"}
    manifest["redone"] = [note | {"whole": False, "cells": [7, 3], "seconds": [0.5, 100.0]}]
    assert verification.share(many) == pytest.approx((0.5 + 4) / 36)  # the fourth cell is expected to take 4
    manifest["redone"] += [note | {"whole": True, "cells": [7], "seconds": [0.1]}]
    assert verification.share(many) == pytest.approx((8 + 4) / 36)


def test_a_budget_goes_where_least_has_been_redone(recorded, monkeypatch):
    monkeypatch.setattr(fingerprint, "of", lambda function: "1" * 16)
    for name in (NAME, OTHER):
        axes, count = records.recipe(name).axes, len(records.points(records.recipe(name)))
        times = {axis: [10 / count] * len(values) for axis, values in axes.items()}
        rewrite(recorded, name.partition("/")[2], seconds=10.0, seconds_by=times)
    verification.note([verification.Redone(NAME, 0, True, verification.EXACT, 3.3)])
    planned = verification.budget(15 / 60, [NAME, OTHER], jobs=1)
    assert [name for name, _, _ in planned[:3]] == [OTHER] * 3  # 3.75 of 10 seconds, before NAME with 3.33 goes on
    assert len(set(planned)) == len(planned)
    assert 10 < sum(seconds for _, _, seconds in planned) <= 15
    assert verification.budget(2 / 60, [NAME, OTHER], jobs=1) == []  # no cell fits into a third of it


def test_a_thin_record_gets_a_dear_cell_or_several_that_cost_less(many, monkeypatch):
    manifest = records.manifest(many) | {"redone": []}
    monkeypatch.setattr(records, "manifest", lambda name: manifest)
    assert verification.is_thin(many)
    ((_, cell, _), *_) = verification.budget(10, [many], jobs=1)
    assert cell in range(8)  # of 36 seconds 2 % are less than any cell
    monkeypatch.setattr(verification, "LEAST", 0.9)
    assert verification.budget(10, [many], jobs=1)[0][1] in (6, 7)  # the dearest quarter
    note = {"fingerprint": "1" * 16, "date": "", "processor": "", "rule": "exact", "seconds": [1.0]}
    for whole, cells_, thin in [(False, [7], True), (True, [5], True), (True, [6], False)]:
        manifest["redone"] = [note | {"whole": whole, "cells": cells_}]
        assert verification.is_thin(many) == thin


def test_the_command_spends_its_minutes_and_notes_every_cell(recorded, monkeypatch):
    monkeypatch.setattr(fingerprint, "of", lambda function: "1" * 16)
    monkeypatch.setattr(verification, "ProcessPoolExecutor", lambda jobs, *_: ThreadPoolExecutor(jobs))
    result = CliRunner().invoke(main, ["verify", "--minutes", "0.05", "--confirm", "--jobs", "1"])
    assert result.exit_code == 0, result.output
    assert "planted/quick: 1 of 3 cells agree" in result.stdout and "planted/pairs: 1 of 8 cells" in result.stdout
    assert verification.share(NAME) == pytest.approx(1) == verification.share(OTHER)
