"""Mean-field scaling and weight normalisation: what the cells return, laws with twins, measures of the rules."""

import numpy as np
import pytest
import xarray as xr

from experiments.heavy_tails import rate_sweeps, scaling, teacher_student
from shallow.spectra import esd
from shallow.train import first_layer

SMALL = {"n": 200, "d": 80, "h": 120}


def test_rates_in_ntk_units_make_both_scalings_agree_for_adam():
    """The outputs differ by a factor, so the spectra are close but not equal; in unequal units they are far apart."""
    options = {"rate": 0.1, "records": (0, 1), **SMALL}
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
    options = {"rule": "Adam text", "rate": 0.3, **SMALL}
    full = rate_sweeps.steps(0, steps=3, **options).sel(penalty=teacher_student.PENALTY)
    cheap, losses = scaling.spectra(0, records=(0, 3), **options), scaling.curves(0, steps=3, **options).sel(step=3)
    assert np.array_equal(cheap.eigenvalues.sel(step=3), full.eigenvalues) and np.array_equal(cheap.loss, full.loss)
    assert np.allclose(losses.test, full.test) and np.allclose(losses.train, full.train)
    normalised = scaling.spectra(0, records=(0, 3), normalise=True, **options).eigenvalues.sel(step=3)
    trained = teacher_student.trained(teacher_student.draw(0, **SMALL), "Adam text", 0.3, steps=3, normalise=True)
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
    found = scaling.readouts(0, rates={"GD": 10.0, "Adam": 0.04}, penalties=[0.01, 1.0], **SMALL)
    options = dict(penalties=[0.01, 1.0], scaling="mean-field", **SMALL)
    full = rate_sweeps.one_step(0, rules=["GD code"], rates=[10.0], **options)
    for student, rate in (("untrained", 0.0), ("GD code", 10.0)):
        assert np.allclose(found.test.sel(student=student), full.test.sel(rule="GD code", rate=rate))
    test = teacher_student.draw(0, scaling="mean-field", **SMALL)
    ideal = np.mean((test.samples.test.y - 0.5 * test.samples.test.x @ test.teacher.directions[0]) ** 2)
    assert found.ideal.item() == pytest.approx(ideal, rel=1e-5)


def test_unrest_is_zero_for_monotone_curves_only():
    steps = {"step": range(1, 5)}
    assert scaling.unrest(xr.DataArray([4.0, 3, 1, 0], steps, ["step"])) == 0
    assert scaling.unrest(xr.DataArray([1.0, 3, 2, 4], steps, ["step"])) == 2


def test_spread_counts_decades_of_singular_values():
    found = scaling.spread(xr.DataArray([1e8, 1e4, 1e4, 1e2, 1e-4], dims="k"))
    assert found.above == pytest.approx(2) and found.whole == pytest.approx(6)
