"""Every record is whole and agrees with its code.

A cell is recomputed where the code has changed since the record was made, and of a third of the others, another one
every day; `make verify` recomputes a cell of all.
"""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from datetime import date

import pytest
from joblib import cpu_count
from shallow import paths, records

TURNS = 3


@pytest.fixture(scope="module")
def verifications():
    """A cell of the records whose turn it is, recomputed and compared in processes side by side; by name."""
    turn = date.today().toordinal() % TURNS
    due = [name for i, name in enumerate(records.recipes()) if i % TURNS == turn or records.is_stale(name)]
    with ProcessPoolExecutor(cpu_count(), multiprocessing.get_context("spawn")) as pool:
        yield {name: pool.submit(records.verify, name) for name in due}


@pytest.mark.parametrize("name", records.recipes())
def test_a_record_agrees_with_its_code(name, verifications):
    assert records.load(name).sizes
    if name in verifications:
        assert len(verifications[name].result()) == 1


def test_records_are_small():
    sizes = {file.name: file.stat().st_size for file in paths.RECORDS.rglob("*.nc")}
    assert sizes and max(sizes.values()) < 5e6 and sum(sizes.values()) < 60e6, sizes


def test_nothing_is_recorded_without_a_recipe():
    stored = {f"{file.parent.name}/{file.stem}" for file in paths.RECORDS.rglob("*.json")}
    assert stored <= set(records.recipes())
