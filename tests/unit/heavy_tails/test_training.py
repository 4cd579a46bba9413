"""Cells that train a student and keep its spectra: against each other, against slow versions, and planted cases."""

import numpy as np
import pytest

from experiments.heavy_tails import rate_sweeps, shapes, teacher_student
from experiments.heavy_tails.long_runs import cells as long_runs
from experiments.heavy_tails.overlaps import cells as overlaps
from experiments.heavy_tails.route import cells as training_spectra
from experiments.heavy_tails.variants import cells as scaling
from shallow import stats
from shallow.spectra import esd
from shallow.train import first_layer

SMALL = dict(n=200, d=100, h=150, test=20)
SMALLER = {"n": 200, "d": 80, "h": 120}


def random_matrix(name, h=150, d=100):
    return stats.stream("tests", "ht route", name).standard_normal((h, d))


def test_a_path_is_the_run_of_the_sweeps():
    """The same spectra and losses as :func:`rate_sweeps.steps`, which trains with the plain loop."""
    path = training_spectra.path(0, rule="GD code", rate=300.0, records=[1, 4], **SMALL)
    plain = rate_sweeps.steps(0, rule="GD code", rate=300.0, steps=4, records=[1, 4], **SMALL)
    np.testing.assert_array_equal(path.eigenvalues, plain.eigenvalues)
    np.testing.assert_array_equal(path.similarity, plain.similarity)
    np.testing.assert_allclose(path.loss, plain.loss, rtol=1e-6)


def test_a_full_batch_is_the_whole_sample():
    """Up to the order of summation; half a batch is another run."""
    wanted = training_spectra.path(1, rule="Adam code", rate=0.5, records=[1, 5], **SMALL).eigenvalues
    options = dict(rate=0.5, records=[1, 5], **SMALL)
    full, half = (training_spectra.batches(1, batch=size, **options).eigenvalues for size in (200, 100))
    np.testing.assert_allclose(full, wanted, rtol=1e-3)
    assert np.abs(half / wanted - 1).max() > 0.05


@pytest.mark.parametrize("planted", [0, 1, 3])
def test_outliers_are_counted(planted):
    """Directions of norm 60 in a matrix whose threshold is 11."""
    noise, ends = random_matrix("noise"), [np.linalg.qr(random_matrix(s, p, 5))[0] for s, p in (("u", 150), ("v", 100))]
    values = esd.eigenvalues(noise + 60 * ends[0][:, :planted] @ ends[1][:, :planted].T)
    assert training_spectra.outliers(values, 150, 100) == planted


def test_overlaps_of_a_run_are_those_of_its_matrices():
    pair, setting = (3, 2), dict(rule="Adam code", rate=0.3)
    found = overlaps.run(0, pairs=[pair], **setting, **SMALL).isel(pair=0)
    W = overlaps.weights(teacher_student.draw(0, **SMALL), *setting.values(), 3)
    first, second = (esd.singular_vectors(matrix) for matrix in (W[3], W[3].astype(float) - W[2]))
    sides = [overlaps.overlap(getattr(first, side), getattr(second, side)) for side in ("U", "V")]
    for side, wanted in zip(overlaps.SIDES, sides):
        one = found.sel(side=side)
        np.testing.assert_allclose(one.diagonal, np.diagonal(wanted.matrix), atol=1e-6)
        assert float(one.maximum) == pytest.approx(wanted.maximum, abs=1e-9)
        assert float(one.twenty) == pytest.approx(overlaps.participation(wanted.matrix[:20, :20]), rel=1e-6)
    np.testing.assert_allclose(found.eigenvalues.sel(end=3), esd.eigenvalues(W[3]), rtol=1e-8)


def test_the_diagonal_by_chance_has_no_power_law():
    """Squared Gaussian overlaps never lose against a power law; numbers that follow one do win."""
    rng = stats.stream("tests", "ht route", "diagonal")
    chance = [overlaps.diagonal_tail(rng.standard_normal(1000) ** 2 / 1500) for _ in range(10)]
    heavy = [overlaps.diagonal_tail(rng.pareto(0.8, 1000) + 1) for _ in range(10)]
    assert sum(one.favours == 1 for one in chance) == 0
    assert sum(one.favours == 1 for one in heavy) >= 8
    assert np.mean([one.kurtosis for one in chance]) == pytest.approx(4, abs=1.5)


def test_the_cut_chi_square_is_a_density_and_its_fit_finds_the_scale():
    law = overlaps.ScaledChiSquare(0.5, 2.0)
    x = np.linspace(0.5, 80, 200_001)
    assert np.trapezoid(np.exp(law.log_density(x)), x) == pytest.approx(1, abs=1e-4)
    values = 3 * stats.stream("tests", "ht route", "scale").standard_normal(20_000) ** 2
    assert overlaps.ScaledChiSquare.fit(values, 1.0).scale == pytest.approx(3, rel=0.05)


# Long runs.


@pytest.mark.parametrize("rule, rate", [("GD text", 300.0), ("Adam code", 0.3)])
def test_milestones_are_those_of_the_path(rule, rate):
    """The spectra and losses of :func:`training_spectra.path`; looking at a step changes nothing later."""
    found = long_runs.milestones(0, rule=rule, rate=rate, records=[0, 2, 3, 9], **SMALL)
    wanted = training_spectra.path(0, rule=rule, rate=rate, records=[0, 2, 3, 9, 10], **SMALL)
    np.testing.assert_array_equal(found.eigenvalues, wanted.eigenvalues.sel(step=found.step))
    np.testing.assert_allclose(found.loss, wanted.loss.isel(time=found.step.values), rtol=1e-6)


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
    U, s, Vt = np.linalg.svd(run.network.W.astype(float) - start, full_matrices=False)
    values = esd.eigenvalues(start + (U * np.append(factor * s[0], s[1:])) @ Vt)
    found = long_runs.until_onset(0, rule="Adam code", rate=0.2, checks=[1], spike_factor=factor, **SMALL)
    assert float(found.spike_ratio[0]) == pytest.approx(values[0] / values[1], rel=1e-4)


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


# Mean-field scaling and weight normalisation.


def test_rates_in_ntk_units_make_both_scalings_agree_for_adam():
    """The outputs differ by a factor, so the spectra are close but not equal; in unequal units they are far apart."""
    options = {"rate": 0.1, "records": (0, 1), **SMALLER}
    ntk = scaling.spectra(0, scaling="ntk", in_ntk_units=True, **options).eigenvalues
    same, other = (
        80 * scaling.spectra(0, scaling="mean-field", in_ntk_units=flag, **options).eigenvalues
        for flag in (True, False)
    )
    assert np.allclose(same.sel(step=0), ntk.sel(step=0), rtol=1e-4)
    leading = [spectrum.sel(step=1, k=0).item() for spectrum in (ntk, same, other)]
    assert leading[1] == pytest.approx(leading[0], rel=0.3) and leading[2] > 5 * leading[0]


def test_the_cells_train_the_same_student():
    """That with read-outs, that with spectra alone, that with losses alone, and the plain training, normalised too."""
    options = {"rule": "Adam text", "rate": 0.3, **SMALLER}
    full = rate_sweeps.steps(0, steps=3, **options).sel(penalty=teacher_student.PENALTY)
    cheap, losses = scaling.spectra(0, records=(0, 3), **options), scaling.curves(0, steps=3, **options).sel(step=3)
    assert np.array_equal(cheap.eigenvalues.sel(step=3), full.eigenvalues) and np.array_equal(cheap.loss, full.loss)
    assert np.allclose(losses.test, full.test) and np.allclose(losses.train, full.train)
    normalised = scaling.spectra(0, records=(0, 3), normalise=True, **options).eigenvalues.sel(step=3)
    trained = teacher_student.trained(teacher_student.draw(0, **SMALLER), "Adam text", 0.3, steps=3, normalise=True)
    assert np.array_equal(normalised, esd.eigenvalues(trained.W)) and not np.allclose(normalised, full.eigenvalues)


def test_a_single_step_of_gd_by_explicit_matrices():
    """Norms, gaps and threshold against the singular values of the matrices themselves."""
    found = scaling.first_step_of_gd(0, 400)
    drawn = teacher_student.draw(0, n=400, d=200, h=300, scaling="mean-field")
    gradient = first_layer.directions(*drawn.samples.train, drawn.student, [teacher_student.RULES["GD code"][0]])
    (gradient,) = gradient.values()

    def gap(rate):
        first, second, *_ = esd.eigenvalues(drawn.student.W.astype(float) - rate * gradient)
        return first / second

    assert found.ratio.sel(reading="code").item() == pytest.approx(gap(20), rel=1e-6)
    assert found.ratio.sel(reading="text").item() == pytest.approx(gap(10), rel=1e-6)
    threshold = found.threshold.item()
    assert gap(threshold) >= 1.05 > gap(threshold / 1.02)
    spectral = found.direction.sel(rule="GD code", norm="spectral").item()
    assert spectral == pytest.approx(np.linalg.norm(gradient, 2), rel=1e-6)
    assert np.isnan(scaling.first_step_of_gd(0, 400, bisected=False).threshold)


def test_readouts_hold_the_untrained_student_and_the_population_predictor():
    found = scaling.readouts(0, rates={"GD": 10.0, "Adam": 0.04}, penalties=[0.01, 1.0], **SMALLER)
    options = dict(penalties=[0.01, 1.0], scaling="mean-field", **SMALLER)
    full = rate_sweeps.one_step(0, rules=["GD code"], rates=[10.0], **options)
    for student, rate in (("untrained", 0.0), ("GD code", 10.0)):
        assert np.allclose(found.test.sel(student=student), full.test.sel(rule="GD code", rate=rate))
    test = teacher_student.draw(0, scaling="mean-field", **SMALLER)
    ideal = np.mean((test.samples.test.y - 0.5 * test.samples.test.x @ test.teacher.directions[0]) ** 2)
    assert found.ideal.item() == pytest.approx(ideal, rel=1e-5)
