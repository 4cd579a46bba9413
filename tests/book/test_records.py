"""Every record is what its own code computes today: whole, for its specification, with cells of it recomputed."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import pytest
from joblib import cpu_count
from shallow import paths, records


@pytest.fixture(scope="module")
def verifications():
    """A cell of every record, recomputed and compared in processes side by side; by name."""
    with ProcessPoolExecutor(cpu_count(), multiprocessing.get_context("spawn")) as pool:
        yield {name: pool.submit(records.verify, name) for name in records.recipes()}


@pytest.mark.parametrize("name", records.recipes())
def test_a_record_agrees_with_its_code(name, verifications):
    assert len(verifications[name].result()) == 1


def test_records_are_small():
    sizes = {file.name: file.stat().st_size for file in paths.RECORDS.rglob("*.nc")}
    assert sizes and max(sizes.values()) < 5e6 and sum(sizes.values()) < 60e6, sizes


def test_nothing_is_recorded_without_a_recipe():
    stored = {f"{file.parent.name}/{file.stem}" for file in paths.RECORDS.rglob("*.json")}
    assert stored <= set(records.recipes())
