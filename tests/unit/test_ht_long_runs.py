"""Cells of the section on the number of steps to the tail, at sizes of a few milliseconds."""

import numpy as np
import pytest
import xarray as xr

from experiments.heavy_tails import long_runs, shapes, teacher_student, training_spectra
from shallow.spectra import esd
from shallow.train import first_layer

SMALL = dict(n=200, d=100, h=150, test=20)


@pytest.mark.parametrize("rule, rate", [("GD text", 300.0), ("Adam code", 0.3)])
def test_milestones_are_those_of_the_path(rule, rate):
    """The spectra and losses of :func:`training_spectra.path`; looking at a step changes nothing later."""
    found = long_runs.milestones(0, rule=rule, rate=rate, records=[0, 2, 3, 9], **SMALL)
    wanted = training_spectra.path(0, rule=rule, rate=rate, records=[0, 2, 3, 9, 10], **SMALL)
    np.testing.assert_array_equal(found.eigenvalues, wanted.eigenvalues.sel(step=found.step))
    np.testing.assert_allclose(found.loss, wanted.loss.isel(time=found.step.values), rtol=1e-6)


def test_a_shorter_run_is_the_beginning_of_a_longer_one():
    """What the comparison of a long record with its shortened cells relies on."""
    long, short = (
        long_runs.milestones(1, rule="Adam text", rate=0.1, records=records, **SMALL)
        for records in ([0, 1, 10, 40], [0, 1, 10])
    )
    assert long.sel(step=short.step).identical(short)


def test_weights_move_by_the_rate_at_the_first_step_of_adam():
    """Every entry by the rate, but for the few small gradients that eps holds back; by nothing at step 0."""
    found = long_runs.milestones(0, rule="Adam code", rate=0.25, records=[0, 1], **SMALL)
    assert found.moved.sel(step=0) == 0
    assert 0.245 < found.moved.sel(step=1) <= 0.25


def test_a_run_stops_at_its_onset():
    """The shapes up to the first step with HT-ONSET are those of the path; nothing is kept after it."""
    checks = [1, 2, 4, 8, 12]
    found = long_runs.until_onset(0, rule="Adam code", rate=0.5, checks=checks, **SMALL)
    path = training_spectra.path(0, rule="Adam code", rate=0.5, records=checks, **SMALL)
    wanted = [shapes.shape(values, 150, 100) for values in path.eigenvalues.values]
    first = [s.ht_onset for s in wanted].index(True)
    assert 0 < first < len(checks) - 1
    assert found.onset.values.tolist() == [k == first for k in range(len(checks))]
    for name in ("spike_ratio", "hill_excl", "d_mp"):
        kept = [getattr(s, name) for s in wanted[: first + 1]]
        np.testing.assert_allclose(found[name], kept + [np.nan] * (len(checks) - first - 1))


@pytest.mark.parametrize("factor", [0.0, 1.0, 3.0])
def test_only_the_rank_one_part_of_the_first_update_is_scaled(factor):
    """Against the whole decomposition of the update, in float64."""
    drawn = teacher_student.draw(0, **SMALL)
    train, start = drawn.samples.train, drawn.student.W
    run = first_layer.train(train.x, train.y, drawn.student, first_layer.Adam(), rate=0.2, steps=1)
    U, s, Vt = np.linalg.svd(run.student.W.astype(float) - start, full_matrices=False)
    values = esd.eigenvalues(start + (U * np.append(factor * s[0], s[1:])) @ Vt)
    found = long_runs.until_onset(0, rule="Adam code", rate=0.2, checks=[1], spike_factor=factor, **SMALL)
    assert float(found.spike_ratio[0]) == pytest.approx(values[0] / values[1], rel=1e-4)


def test_courses_are_means_over_the_seeds():
    """Of the shapes of each seed's spectra; one table for every rule and rate."""
    options = dict(rule="GD code", rate=300.0, records=[0, 1, 3])
    two = [long_runs.milestones(seed, **options, **SMALL) for seed in (0, 1)]
    joined = xr.concat(two, "seed").assign_coords(seed=[0, 1]).expand_dims(rule=["GD code"], rate=[300.0])
    ((key, table),) = long_runs.courses(150, 100, joined).items()
    last = [shapes.shape(one.eigenvalues.sel(step=3).values, 150, 100) for one in two]
    assert key == ("GD code", 300.0) and table.attrs["seeds"] == 2
    assert float(table.hill_excl.sel(step=3)) == pytest.approx(np.mean([s.hill_excl for s in last]))
    assert float(table.ht.sel(step=3)) == np.mean([s.ht for s in last])
    assert float(table.moved.sel(step=1)) == pytest.approx(np.mean([float(one.moved[1]) for one in two]))


def test_steps_to_the_onset_are_the_first_check_that_has_it():
    onset = [[False, True, False], [False, False, False]]
    found = xr.Dataset({"onset": (("seed", "check"), onset)}, {"seed": [0, 1], "check": [1, 5, 9]})
    np.testing.assert_array_equal(long_runs.steps_to_onset(found), [5, np.nan])


def test_single_precision_is_the_run_of_the_milestones_and_double_precision_follows_it():
    """The first steps agree to rounding; a larger rate is another run."""
    options = dict(rate=0.3, records=[0, 1, 4], **SMALL)
    wanted = long_runs.milestones(0, rule="Adam code", **options)
    single, double = (long_runs.in_precision(0, dtype=dtype, **options) for dtype in ("float32", "float64"))
    np.testing.assert_array_equal(single.eigenvalues, wanted.eigenvalues)
    np.testing.assert_allclose(double.eigenvalues, wanted.eigenvalues, rtol=1e-4)
    np.testing.assert_allclose(single.loss[:2], wanted.loss[:2], rtol=1e-6)
    assert double.moved[-1] == pytest.approx(float(wanted.moved[-1]), rel=1e-4)
    assert double.loss[1] != single.loss[1]
