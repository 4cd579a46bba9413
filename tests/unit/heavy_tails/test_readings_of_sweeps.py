"""Sweeps over learning rates: their readings, shapes, and the runs of both optimisers together; and read-outs."""

import functools

import numpy as np
import pytest
import xarray as xr
from planted.records import table
from sklearn.linear_model import Ridge
from unit.heavy_tails.test_rates import ADAM, GD, at, spectra, sweep

from experiments.heavy_tails import rate_sweeps, readings_of_sweeps, shapes, teacher_student


def test_pooled_runs_are_paired_with_the_untrained_student_of_their_draw():
    adam = sweep(**ADAM | {"change": at(ADAM["change"], p1=0.001)})
    adam["test"] = adam.test * (1 + adam.seed)  # a common factor for each draw, which the gain does not see
    found = readings_of_sweeps.pooled({"Adam": adam, "GD": sweep(**GD)})
    assert found.sizes["run"] == 2 * 5 * 9 and int(found.unchanged.sum()) == 5 * (1 + 6)
    one = found.unstack("run").sel(optimiser="Adam", rate=1)
    assert np.allclose(one.gain, -0.15, atol=0.01) and one.test.max() > 4 * one.test.min()


def test_bulk_distances_see_neither_scale_nor_the_largest_eigenvalue():
    eigenvalues = spectra([1, 1, 1, 1, 1, 20, 400, 1, 1, 1], 3).copy()
    eigenvalues.loc[{"rate": 10, "k": 0}] *= 50
    found = readings_of_sweeps.bulk_distances(xr.Dataset({"eigenvalues": eigenvalues}), [10.0, 100.0, 1000.0]).mean(
        "seed"
    )
    assert found.sel(rate=[10, 100]).max() < 0.01 and found.sel(rate=1000) > 0.2


def test_a_shaped_record_holds_the_shapes_of_its_spectra(monkeypatch):
    """A reading of it has those of the rule that was asked for; a record that has shapes is left as it is."""
    small = functools.partial(shapes.shape_table, h=60, d=40)
    monkeypatch.setattr(shapes, "shape_table", small)
    rng = np.random.default_rng(0)
    dims = {"rule": ["GD code", "Adam code"], "rate": [0.0, 1.0], "seed": [0, 1]}
    values = np.sort(rng.pareto(2, (2, 2, 2, 40)) + 1)[..., ::-1]
    losses = rng.random((2, 2, 2, 2, 1))
    record = table(dims | {"features": ["code", "text"], "penalty": [teacher_student.PENALTY]}, test=losses)
    record["eigenvalues"] = (*dims, "k"), values
    whole = readings_of_sweeps.shaped(record)
    assert readings_of_sweeps.shaped(whole) is whole
    found = readings_of_sweeps.reading(whole, "Adam code", "text")
    assert found.test.sel(seed=1, rate=0).item() == losses[1, 0, 1, 1, 0] and found.hill.dims == ("seed", "rate")
    other = small(record.eigenvalues.sel(rule="GD code"))
    assert not np.allclose(found.hill, other.hill.transpose("seed", "rate"))


def test_read_outs_with_a_mean_are_those_of_scikit_learn():
    small = dict(n=40, d=10, h=15, test=20)
    found = rate_sweeps.one_step_variants(0, rules=["GD code"], rates=[1.0], **small).sel(rule="GD code", rate=0.0)
    drawn = teacher_student.draw(0, **small)
    probe, test = drawn.samples.probe, drawn.samples.test
    for features in teacher_student.FEATURES:
        scale = teacher_student.evaluation_scale(drawn.student, features)
        fitted, unseen = (drawn.student.features(part.x, scale).astype(float) for part in (probe, test))
        constant = np.sqrt(np.mean(fitted**2))
        machine = Ridge(alpha=teacher_student.PENALTY / 15 * len(probe.y), fit_intercept=False)
        machine.fit(fitted, probe.y - probe.y.mean())
        centred = np.mean((machine.predict(unseen) + probe.y.mean() - test.y) ** 2)
        wide, wide_unseen = (np.column_stack([Z, np.full(len(Z), constant)]) for Z in (fitted, unseen))
        beside = np.mean((machine.fit(wide, probe.y).predict(wide_unseen) - test.y) ** 2)
        losses = found.test.sel(features=features)
        assert losses.sel(variant="centred") == pytest.approx(centred, rel=1e-5)
        assert losses.sel(variant="intercept") == pytest.approx(beside, rel=1e-5)
