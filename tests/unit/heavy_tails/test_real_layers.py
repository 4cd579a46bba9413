"""Rules on the exponents of public models on planted tables, and where the models come from."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import xarray as xr

from experiments.heavy_tails.real_layers import cells, models, rules
from shallow.spectra import report

MODELS, ROWS = [f"model {k}" for k in range(8)], 40


def table(units=-10.0, kept=0.1, flipped=0.5, trimmed=-8.0) -> xr.Dataset:
    """Twenty convolutions a model in both readings: flat `units` from noise, with so much of it in every null.

    A share `flipped` of the slices is within noise, the others are as far below as the whole.
    """
    rng = np.random.default_rng(0)
    shape = (len(MODELS), ROWS)
    reading = np.tile(["flat", "slices"], ROWS // 2)
    name = np.repeat([f"layer {k}" for k in range(ROWS // 2)], 2)
    distance = units * np.exp(0.1 * rng.standard_normal(shape))
    inside = (reading == "slices") & (np.arange(ROWS) // 2 < flipped * ROWS / 2)
    distance[:, inside] = 0.5
    noise, scatter = np.full(shape, 3.0), np.full(shape, 0.02)
    hill = noise + scatter * distance
    nulls = dict.fromkeys(rules.ALONE.values(), noise + kept * (hill - noise))
    nulls["balanced"] = noise + (1 - kept) * (hill - noise)
    numbers = {"hill": hill, "hill_noise": noise, "hill_scatter": scatter, "hill_units": distance, **nulls}
    numbers |= {"trimmed_units": np.full(shape, trimmed), "rank": np.full(shape, 64)}
    numbers |= {"taken": np.full(shape, 7), "top_tenth": np.full(shape, 0.4)}
    words = {"name": np.broadcast_to(name, shape), "reading": np.broadcast_to(reading, shape)}
    return xr.Dataset({key: (("model", "row"), value) for key, value in (numbers | words).items()}, {"model": MODELS})


@pytest.mark.parametrize(
    ("rule", "number", "change", "limit"),
    [
        ("ht_81", "share", {"units": -1.0}, 0.75),
        ("ht_81", "share", {"units": 10.0}, 0.75),
        ("ht_83", "differ", {"flipped": 0.0}, 0.1),
        ("ht_84", "share", {"trimmed": -0.5}, 0.75),
    ],
)
def test_yes_and_no_lie_on_either_side_of_the_limit(rule, number, change, limit):
    yes, no = (getattr(rules, rule)(table(**one)) for one in ({}, change))
    assert yes.verdict == no.verdict == "answered"
    assert yes.numbers[number].low > limit > no.numbers[number].high


def test_a_null_that_keeps_most_of_the_distance_explains_more_than_half():
    yes, no = (rules.ht_82(table(kept=kept)) for kept in (0.1, 0.9))
    assert yes.parts == no.parts == dict.fromkeys("abc", "answered")
    assert all(yes.numbers[f"shares, {part}"].high < 0.5 < no.numbers[f"shares, {part}"].low for part in "abc")


def test_what_balancing_takes_away_decides_nothing():
    """Beside another cause a null may have most of the distance alone, and take little of it away."""
    runs = table(kept=0.8)
    runs["balanced"] = runs.hill_noise + 0.9 * (runs.hill - runs.hill_noise)
    found = rules.ht_82(runs)
    assert found.numbers["shares, c"].low > 0.5 > found.numbers["gone when balanced"].high


def test_few_convolutions_leave_the_question_open():
    assert rules.ht_83(table(flipped=0.1).isel(model=[0])).verdict == "undecided"


def test_small_layers_and_empty_rows_are_left_out():
    runs = table()
    runs["rank"][:, :10] = 31
    runs.hill_units[:, 10:12] = np.nan
    assert int(rules.whole(runs, 32).sum()) == len(MODELS) * 14
    assert len(rules.distances(runs, 32)["flat"]) == len(MODELS) * 14


def test_a_model_whose_layers_are_all_noise_is_left_out_of_the_median():
    runs = table()
    runs.hill_units[0] = 0.0
    assert rules.ht_82(runs).numbers["shares, a"].estimate == pytest.approx(0.1)


def test_trimming_takes_the_outliers_and_nothing_else_away():
    """A few large eigenvalues make the exponent low, and are gone; a spectrum that is wide as a whole stays low."""
    noise = np.random.default_rng(1).standard_normal((200, 100))
    U, s, V = np.linalg.svd(noise, full_matrices=False)
    spiked = (U * np.where(np.arange(100) < 8, 20 * s, s)) @ V
    wide = noise * np.exp(np.random.default_rng(2).standard_normal((200, 1)))
    plain, few, whole = report({"noise": noise, "spiked": spiked, "wide": wide}).layers
    assert few.hill_units < -10 and whole.hill_units < -10
    assert abs(cells.trimmed(plain)) < 3 and abs(cells.trimmed(few)) < 4 and cells.trimmed(whole) < -10
    assert cells.top_tenth(few) > 0.9 > 0.6 > cells.top_tenth(whole) > 0.2
    assert (cells.taken(plain), cells.taken(few)) == (10, 10)
    tiny = report({"tiny": noise[:4, :4]}).layers[0]
    assert np.isnan(cells.trimmed(tiny)) and np.isnan(cells.top_tenth(tiny))


def test_a_cell_is_the_report_of_the_model_in_a_table(monkeypatch, tmp_path):
    W = np.random.default_rng(3).standard_normal((48, 32))
    np.savez(tmp_path / "a.npz", w=W, conv=np.stack([W, W], axis=-1), bias=W[0])
    monkeypatch.setattr(cells, "fetched", lambda model: tmp_path / "a.npz")
    found, layers = cells.exponents("any", rows=6), report(tmp_path / "a.npz").layers
    assert list(found.reading.values) == ["matrix", "flat", "slices", "", "", ""]
    assert found.hill.values[:3] == pytest.approx([layer.hill for layer in layers])
    assert np.isnan(found.hill.values[3:]).all() and np.isnan(found["quantile"].values[3:]).all()
    assert (np.diff(found["quantile"].values[0]) <= 0).all()
    with pytest.raises(ValueError, match="^rows must be at least 3"):
        cells.exponents("any", rows=2)


def test_models_are_fetched_once_and_checked(monkeypatch, tmp_path):
    monkeypatch.setenv("SHALLOW_DATA", str(tmp_path))
    right = models.MODELS["Magika"]._replace(digest=hashlib.sha256(b"weights").hexdigest())
    monkeypatch.setitem(models.MODELS, "Magika", right)
    asked = []
    monkeypatch.setattr(models, "_from_wheel", lambda model: asked.append(model) or b"weights")
    path = models.fetched("Magika")
    assert models.fetched("Magika") == path and path.read_bytes() == b"weights" and asked == [right]
    path.write_bytes(b"others")
    with pytest.raises(ValueError, match="must have the digest"):
        models.fetched("Magika")
    with pytest.raises(ValueError, match="^name must be one of"):
        models.fetched("unknown")


def test_without_a_network_the_package_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("SHALLOW_DATA", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(ConnectionError, match=r"magika==.* is not at hand, and pip cannot fetch it"):
        models.fetched("Magika")
