"""Sweeps over learning rates: their readings, shapes, and the runs of both optimisers together; and read-outs."""

import numpy as np
import pytest
import xarray as xr
from sklearn.linear_model import Ridge

from experiments.heavy_tails import rate_sweeps, shapes, sweep_rules, teacher_student
from experiments.heavy_tails.sweep_rules import GRID

SEEDS, RATES = [0, 1, 2, 3, 4], [0.0, *GRID]
SHIFT = xr.DataArray([-0.002, -0.001, 0.0, 0.001, 0.002], {"seed": SEEDS}, "seed")


def sweep(**curves):
    """A sweep with the given seed means over untrained and nine rates, and a little noise that all rates share."""
    return xr.Dataset(
        {name: SHIFT + xr.DataArray(values, {"rate": RATES}, "rate").astype(float) for name, values in curves.items()}
    )


#           0    .001  .01   .1    1    10   100  1000  2000  3000
ADAM = {
    "hill": [2.45, 2.45, 2.40, 2.30, 2.10, 2.05, 2.07, 1.70, 1.60, 1.50],
    "test": [1.00, 1.00, 0.95, 0.90, 0.80, 0.85, 0.90, 1.10, 1.20, 1.30],
    "change": [0.0, 0.001, 0.10, 0.20, 0.30, 0.40, 0.50, 0.60, 0.70, 0.80],
}
GD = ADAM | {"change": [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.02, 0.10, 0.20]}


def test_pooled_runs_are_paired_with_the_untrained_student_of_their_draw():
    adam = sweep(**ADAM)
    adam["test"] = adam.test * (1 + adam.seed)  # a common factor for each draw, which the gain does not see
    found = sweep_rules.pooled({"Adam": adam, "GD": sweep(**GD)})
    assert found.sizes["run"] == 2 * 5 * 9 and int(found.unchanged.sum()) == 5 * (1 + 6)
    one = found.unstack("run").sel(optimiser="Adam", rate=1)
    assert np.allclose(one.gain, -0.2, atol=0.01) and one.test.max() > 4 * one.test.min()


def spectra(factors, tilt):
    """400 eigenvalues a rate: log-uniform, times a factor for each rate, stretched by `tilt` at the rate 1000."""
    quantiles = np.linspace(1, 0, 400)
    logs = np.array([np.log(f) + quantiles * (tilt if rate == 1000 else 1) for rate, f in zip(RATES, factors)])
    eigenvalues = np.exp(logs)
    eigenvalues[:, 0] *= 10
    values = np.broadcast_to(eigenvalues, (5, *eigenvalues.shape))
    return xr.DataArray(values, {"seed": SEEDS, "rate": RATES}, ["seed", "rate", "k"])


def test_bulk_distances_see_neither_scale_nor_the_largest_eigenvalue():
    eigenvalues = spectra([1, 1, 1, 1, 1, 20, 400, 1, 1, 1], 3).copy()
    eigenvalues.loc[{"rate": 10, "k": 0}] *= 50
    found = sweep_rules.bulk_distances(xr.Dataset({"eigenvalues": eigenvalues}), [10.0, 100.0, 1000.0]).mean("seed")
    assert found.sel(rate=[10, 100]).max() < 0.01 and found.sel(rate=1000) > 0.2


def test_a_shaped_sweep_holds_a_record_and_the_shapes_of_its_spectra():
    """From a record of two rules; the shapes are those of the rule that was asked for."""
    rng = np.random.default_rng(0)
    dims = {"rule": ["GD code", "Adam code"], "rate": [0.0, 1.0], "seed": [0, 1]}
    values = np.sort(rng.pareto(2, (2, 2, 2, 40)) + 1)[..., ::-1]
    losses = rng.random((2, 2, 2, 2, 1))
    record = xr.Dataset(
        {"eigenvalues": ((*dims, "k"), values), "test": ((*dims, "features", "penalty"), losses)},
        dims | {"features": list(teacher_student.FEATURES), "penalty": [teacher_student.PENALTY]},
    )
    found = sweep_rules.shaped(record, shapes.shape_table(record.eigenvalues, 60, 40), "Adam code", "text")
    assert found.test.sel(seed=1, rate=0).item() == losses[1, 0, 1, 1, 0] and found.hill.dims == ("seed", "rate")
    other = shapes.shape_table(record.eigenvalues.sel(rule="GD code"), 60, 40)
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
