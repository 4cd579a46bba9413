"""Every record is whole and agrees with its code, and no rule of comparison lets a wrong record pass.

A cell is recomputed where the code has changed since the record was made, and of a fourteenth of the others that have a
cell of a few seconds, other ones every day; `make verify MINUTES=60` spends an hour on dearer and whole ones.
"""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from datetime import date

import numpy as np
import pytest
import xarray as xr
from joblib import cpu_count

from shallow.book import paths, records, verification
from shallow.book.recipes import spread

TURNS, LIMIT = 14, 8.0


def is_quick(name):
    """Whether some cell of a record, shortened where its recipe says how, takes a few seconds."""
    return bool(records.recipe(name).shortened) or records.expected_seconds(name).min() <= LIMIT


@pytest.fixture(scope="module")
def verifications():
    """A cell of the records whose turn it is, recomputed and compared in processes side by side; by name."""
    turn = date.today().toordinal() % TURNS
    quick = [name for i, name in enumerate(records.recipes()) if i % TURNS == turn and is_quick(name)]
    due = {*quick, *filter(records.is_stale, records.recipes())}
    with ProcessPoolExecutor(cpu_count(), multiprocessing.get_context("spawn")) as pool:
        yield {name: pool.submit(verification.verify, name, limit=LIMIT) for name in due}


@pytest.mark.parametrize("name", records.recipes())
def test_a_record_agrees_with_its_code(name, verifications):
    assert records.load(name).sizes
    if name in verifications:
        try:
            verified = verifications[name].result()
        except ConnectionError as error:  # models and images are fetched by name
            pytest.skip(str(error))
        assert len(verified) == 1


def wrong_by(record, name, cell):
    """A variable of a cell, moved by a fifth of its spread over the record, half as large again, and zeros.

    Only what is off by a fifth of the spread is wrong: zeros in the place of less are not.
    """
    values = cell[name]
    if values.dtype.kind not in "fiu":
        return {"others": ~values if values.dtype.kind == "b" else values + "x"}
    d, scale = spread(record[name]), float(np.abs(values.values[np.isfinite(values.values)]).max(initial=0.0))
    step = 0.2 * (d if d > 2e-4 * scale else scale) or 1.0  # smaller spreads are below what single precision admits
    if not values.size:
        return {}
    whole = values.dtype.kind in "iu"
    wrong = {"moved": values + (max(1, round(step)) if whole else step)}
    if scale >= max(0.2 * d, 1e-300):
        wrong["zeros"] = values.where(~np.isfinite(values), 0)
        wrong |= {} if whole else {"half as large again": 1.5 * values}
    return wrong if np.isfinite(values.values).any() else {"finite": xr.zeros_like(values)}


def relabelled(cell):
    """The cell with another label in every coordinate in turn."""
    for name, labels in cell.indexes.items():
        if len(labels):
            *others, last = labels.tolist()
            another = last + "x" if isinstance(last, str) else last + abs(last) + 1 if np.isfinite(last) else 0.5
            yield name, cell.assign_coords({name: [*others, another]})


def accepted(record, agreement, point, *, elsewhere):
    """The wrong variables that the rule in force lets pass."""
    found = []
    compared = [name for name in record.data_vars if not (elsewhere and name in agreement.rounding)]
    for variable in compared:
        cell = record[[variable]].sel(point)
        assert agreement.disagreements(cell, record, point, elsewhere=elsewhere) == []
        for label, wrong in relabelled(cell):
            if not agreement.disagreements(wrong, record, point, elsewhere=elsewhere):
                found.append(f"{variable} with other labels of {label} at {point}, elsewhere {elsewhere}")
        for how, values in wrong_by(record, variable, cell).items():
            if not agreement.disagreements(values.to_dataset(name=variable), record, point, elsewhere=elsewhere):
                found.append(f"{variable} {how} at {point}, elsewhere {elsewhere}")
    return found


@pytest.mark.parametrize("name", records.recipes())
def test_a_wrong_record_is_refused(name):
    """The first cell by the rule for a processor that has agreed exactly, the last by the weaker one for any other."""
    recipe, record = records.recipe(name), records.load(name)
    points = records.points(recipe)
    steady = [point for point in points if recipe.is_steady(point)]
    assert accepted(record, recipe.agreement, points[0], elsewhere=False) == []
    if steady:
        assert accepted(record, recipe.agreement, steady[-1], elsewhere=True) == []
        return
    start = records.recipe(recipe.start)
    begun = [{axis: point[axis] for axis in start.axes} for point in points]
    assert all(point in records.points(start) and start.is_steady(point) for point in begun)


@pytest.mark.parametrize("name", records.recipes())
def test_rounding_errors_are_not_compared_on_another_processor(name):
    agreement, record = records.recipe(name).agreement, records.load(name)
    numbers = {key: one.values for key, one in record.items() if one.dtype.kind in "fiu"}
    largest = {key: np.abs(values[np.isfinite(values)]).max(initial=0) for key, values in numbers.items()}
    errors = {key for key, size in largest.items() if 0 < size < 1e-12}
    assert errors <= {*agreement.rounding} or agreement.elsewhere >= 0.1


def test_records_are_small():
    sizes = {file.name: file.stat().st_size for file in paths.RECORDS.rglob("*.nc")}
    assert sizes and max(sizes.values()) < 5e6 and sum(sizes.values()) < 50e6, sizes


def test_nothing_is_recorded_without_a_recipe():
    files = paths.RECORDS.glob("*/**/*.json")
    stored = {file.relative_to(paths.RECORDS).with_suffix("").as_posix() for file in files}
    assert stored <= set(records.recipes())
