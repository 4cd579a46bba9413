"""Cells of the sections on the route to a heavy tail and on overlaps, at sizes of a few milliseconds."""

import numpy as np
import pytest

from experiments.heavy_tails import overlaps, rate_sweeps, teacher_student, training_spectra
from shallow import stats
from shallow.spectra import esd

SMALL = dict(n=200, d=100, h=150, test=20)


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


def test_labels_without_information_keep_their_law_only():
    sample = teacher_student.draw(0, **SMALL).samples.train
    same, permuted, drawn = (training_spectra.relabelled(sample, labels, 0) for labels in training_spectra.LABELS)
    np.testing.assert_array_equal(same.y, sample.y)
    np.testing.assert_array_equal(np.sort(permuted.y), np.sort(sample.y))
    assert abs(np.corrcoef(permuted.y, sample.y)[0, 1]) < 0.3 and drawn.y.dtype == sample.y.dtype
    assert abs(drawn.y.mean() - sample.y.mean()) < 4 * sample.y.std() / np.sqrt(len(sample.y))


@pytest.mark.parametrize("planted", [0, 1, 3])
def test_outliers_are_counted(planted):
    """Directions of norm 60 in a matrix whose threshold is 11."""
    noise, ends = random_matrix("noise"), [np.linalg.qr(random_matrix(s, p, 5))[0] for s, p in (("u", 150), ("v", 100))]
    values = esd.eigenvalues(noise + 60 * ends[0][:, :planted] @ ends[1][:, :planted].T)
    assert training_spectra.outliers(values, 150, 100) == planted


def test_shapes_of_a_dataset_are_those_of_each_spectrum():
    path = training_spectra.path(0, rule="Adam code", rate=0.5, records=[0, 3], **SMALL)
    table = training_spectra.shapes_of(path, 150, 100)
    values = path.eigenvalues.sel(step=3).values
    assert float(table.share.sel(step=3)) == pytest.approx(values[0] / values.sum())
    assert float(table.largest.sel(step=3) + table.rest.sel(step=3)) == pytest.approx(values.sum())
    assert table.ht_onset.dtype == bool


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


def test_a_tiny_update_needs_double_precision():
    """At rate 1e-4 most of a float32 update is rounding; in float64 the first one has the gradient's direction."""
    setting = dict(rule="GD code", rate=1e-4, pairs=[(1, 0)], **SMALL)
    tiny, rounded, larger = (
        overlaps.run(0, **(setting | options)).norm[0]
        for options in ({"double": True}, {}, {"double": True, "rate": 1.0})
    )
    assert float(larger / tiny) == pytest.approx(1e4, rel=1e-4)
    assert abs(float(rounded / tiny) - 1) > 1e-3


def test_losses_are_taken_where_asked():
    found = overlaps.run(0, rule="GD code", rate=100.0, pairs=[(2, 1)], losses=[0, 2], **SMALL)
    plain = rate_sweeps.steps(0, rule="GD code", rate=100.0, steps=2, records=[2], **SMALL).isel(step=0, penalty=0)
    np.testing.assert_allclose(found.test.sel(at=2), plain.test, rtol=1e-6)


def test_the_largest_drop_is_found():
    found = overlaps.drop(0, rate=600.0, steps=10, **SMALL)
    s, top = int(found.s), found.top.values
    assert (top[:-1] / top[1:]).max() == top[s] / top[s + 1]
    np.testing.assert_allclose(found.spectra[:, 0], top[s : s + 2], rtol=1e-6)


def test_the_law_of_a_rank_one_update_holds_where_its_assumptions_do():
    """For fresh weights, not for the student's own, and not with h and d exchanged in the overlaps."""
    found = overlaps.prediction(0, rule="GD code", rates=[800.0, 2000.0], n=1000, d=500, h=750, test=20)
    ratio = found.measured / found.predicted
    np.testing.assert_allclose(ratio.sel(start="fresh", update="rank one"), 1, atol=0.05)
    assert float(ratio.sel(start="own", update="whole", what="eigenvalue")[0]) < 0.95
    exchanged = found.measured.sel(what="left") / found.predicted.sel(what="right")
    assert np.abs(exchanged.sel(start="fresh", update="rank one", rate=800.0) - 1) > 0.05


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
