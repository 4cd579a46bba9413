"""Mean-field scaling and weight normalisation: what the cells return, laws with twins, measures of the rules."""

import numpy as np
import pytest
import xarray as xr

from experiments.heavy_tails import runs, scaling
from shallow.spectra import esd
from shallow.train import first_step

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


def test_spectra_are_those_of_the_full_cell():
    """The cheap cell and the one with read-outs train the same student, with normalisation and decay too."""
    options = {"rule": "Adam text", "rate": 0.3, "normalise": True, "decay": 0.5, **SMALL}
    cheap = scaling.spectra(0, records=(0, 3), **options)
    full = runs.steps(0, steps=3, **options)
    assert np.array_equal(cheap.eigenvalues.sel(step=3), full.eigenvalues) and np.array_equal(cheap.loss, full.loss)


def test_curves_end_in_the_losses_of_the_full_cell():
    options = {"rate": 0.3, "decay": 0.5, "steps": 3, **SMALL}
    found = scaling.curves(0, **options).sel(step=3)
    full = runs.steps(0, **options).sel(penalty=runs.PENALTY)
    assert np.allclose(found.test, full.test) and np.allclose(found.train, full.train)


def test_a_single_step_of_gd_by_explicit_matrices():
    """Norms, gaps and threshold against the singular values of the matrices themselves."""
    found = scaling.first_step_of_gd(0, 400)
    drawn = runs.draw(0, n=400, d=200, h=300, scaling="mean-field")
    gradient = first_step.directions(*drawn.samples.train, drawn.student, [runs.RULES["GD code"][0]])
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
    full = runs.one_step(0, rules=["GD code"], rates=[10.0], penalties=[0.01, 1.0], scaling="mean-field", **SMALL)
    for student, rate in (("untrained", 0.0), ("GD code", 10.0)):
        assert np.allclose(found.test.sel(student=student), full.test.sel(rule="GD code", rate=rate))
    test = runs.draw(0, scaling="mean-field", **SMALL)
    ideal = np.mean((test.samples.test.y - 0.5 * test.samples.test.x @ test.teacher.directions[0]) ** 2)
    assert found.ideal.item() == pytest.approx(ideal, rel=1e-5)


def test_unrest_is_zero_for_monotone_curves_only():
    steps = {"step": range(1, 5)}
    assert scaling.unrest(xr.DataArray([4.0, 3, 1, 0], steps, ["step"])) == 0
    assert scaling.unrest(xr.DataArray([1.0, 3, 2, 4], steps, ["step"])) == 2


def test_spread_counts_decades_of_singular_values():
    found = scaling.spread(xr.DataArray([1e8, 1e4, 1e4, 1e2, 1e-4], dims="k"))
    assert found.above == pytest.approx(2) and found.whole == pytest.approx(6)


def test_median_distance_ignores_the_scale_and_sees_the_shape():
    values = np.linspace(1, 5, 101)
    assert scaling.median_distance(8 * values, values) == 0
    assert scaling.median_distance(values**3, values) > 0.2


@pytest.mark.parametrize(
    ("exponent", "distance", "onset", "tail"),
    [(2.2, 0.12, True, True), (2.2, 0.07, True, False), (2.38, 0.2, True, False), (2.44, 0.2, False, False)],
)
def test_heavy_needs_a_low_exponent_and_a_distant_bulk(exponent, distance, onset, tail):
    means = xr.Dataset({"hill_excl": exponent, "d_mp": distance})
    assert scaling.heavy(means, 2.449, onset=True) == onset and scaling.heavy(means, 2.449) == tail


def test_recipes_name_parameters_of_their_cells():
    for name, recipe in scaling.RECORDS.items():
        assert recipe.about and recipe.replicates in recipe.axes, name
