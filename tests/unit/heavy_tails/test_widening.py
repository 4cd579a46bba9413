"""Surgery before and after Adam's division, the nulls of a bulk, and the law of the bulk after one step."""

from itertools import islice

import numpy as np
import pytest

from experiments.heavy_tails import surgery, teacher_student
from experiments.heavy_tails.first_update import bulk
from experiments.heavy_tails.long_runs import onsets
from experiments.heavy_tails.route import noise_errors, widening
from shallow.spectra import esd

SMALL = {"n": 200, "d": 100, "h": 150}


def after(cut, steps=1, rate=1.0, first_only=False):
    trainer = teacher_student.trainer(teacher_student.draw(0, **SMALL), "Adam code")
    last = next(islice(surgery.run(trainer, rate, cut, first_only=first_only), steps, None))
    return last.student.W


def gap(W):
    values = esd.eigenvalues(W)
    return values[0] / values[1]


def test_where_the_pair_is_cut_decides_whether_columns_stay_equal():
    start = teacher_student.draw(0, **SMALL).student.W
    moved = {cut: np.square(after(cut) - start, dtype=float).mean(axis=0) for cut in ("gradient", "update")}
    np.testing.assert_allclose(moved["gradient"], 1, rtol=0.01)  # every entry moves by the learning rate
    assert np.quantile(moved["update"], 0.05) < 0.3
    assert gap(after("gradient")) < 1.5 < gap(after("nothing"))


def test_nothing_is_cut_of_later_steps_unless_asked():
    np.testing.assert_array_equal(after("nothing", 3), after("nothing", 3, first_only=True))
    assert gap(after("gradient", 2, first_only=True)) > gap(after("gradient", 2))


def test_no_gap_is_left_where_gaps_are_closed():
    values = esd.eigenvalues(after("gradient and gaps", 3))[: surgery.TOP]
    assert (values[:-1] / values[1:]).max() < surgery.CLOSE**2 + 1e-3


def test_the_null_keeps_the_columns_and_forgets_the_rows():
    rng = np.random.default_rng(0)
    unequal = rng.standard_normal((300, 200)) * np.repeat([1.0, 3.0], 100)
    low_rank = rng.standard_normal((300, 200)) + rng.standard_normal((300, 20)) @ rng.standard_normal((20, 200))
    found = {name: widening.forms(W, "test").hill_excl for name, W in (("unequal", unequal), ("rows", low_rank))}
    whole, null, equal = (
        {k: float(v.sel(form=f)) for k, v in found.items()} for f in ("whole", "permuted", "equal columns")
    )
    assert abs(whole["unequal"] - null["unequal"]) < 0.05 < 0.3 < equal["unequal"] - whole["unequal"]
    assert null["rows"] - whole["rows"] > 0.3 and abs(equal["rows"] - whole["rows"]) < 0.05


def test_a_spike_hides_unequal_columns_from_a_null_that_keeps_it():
    rng = np.random.default_rng(1)
    means = np.repeat([2.5, 0.1], 100)
    W = rng.standard_normal((300, 200)) * np.sqrt(9.02 - means**2) + np.outer(rng.choice([-1, 1], 300), means)
    hill = widening.forms(W, "test").hill_excl
    assert float(hill.sel(form="permuted with its spike") - hill.sel(form="permuted")) > 0.2
    assert abs(float(hill.sel(form="whole") - hill.sel(form="permuted"))) < 0.1


def test_white_inputs_are_white_and_plain_ones_are_left():
    x = np.random.default_rng(0).standard_normal((200, 50)).astype(np.float32)
    white = widening.spread_inputs(x, 0.0)
    np.testing.assert_allclose(white.T @ white / 200, np.eye(50), atol=1e-5)
    np.testing.assert_allclose(widening.spread_inputs(x, 1.0) / x, np.linalg.norm(x) ** -1 * 100, rtol=1e-3)


def test_shuffled_labels_shorten_the_pull():
    true, shuffled = (
        widening.labelled(0, rule="GD code", rate=100.0, labels=name, records=[1], n=800, d=100, h=150)
        for name in ("true", "permuted")
    )
    assert float(true.pull) > 1.1 * float(shuffled.pull) and true.gradient > 1.1 * shuffled.gradient


def test_causes_look_at_whole_and_permuted_updates():
    found = widening.causes(0, rule="Adam code", rate=1.0, power=0.0, updates=(2, 3), **SMALL)
    assert found.step.values.tolist() == [2, 3] and found.update_hill_excl.dims == ("step", "of")
    assert float(found.update_hill_excl[0, 1] - found.update_hill_excl[0, 0]) > 0.05


def test_the_bulk_after_one_step_has_its_law():
    found = bulk.first_bulk(0, rates=[1.0, 10.0], n=800, d=400, h=600)
    assert (found.distance < 0.05).all() and (found.noise.sel(rate=10.0) > 0.15)
    np.testing.assert_allclose(found.hill, found.law_hill, atol=0.08)
    np.testing.assert_allclose(bulk.unshared(np.array([0.0, 50.0])), [1, 0], atol=1e-12)


def test_a_larger_first_spike_does_not_delay_the_bulk():
    steps, gaps = {}, {}
    for first in ("clean", "1", "4"):
        found = onsets.until_widened(0, rate=0.5, first=first, checks=range(1, 30), **SMALL)
        steps[first], gaps[first] = float(found.steps), float(found.gap)
    assert gaps["clean"] < gaps["1"] < gaps["4"] and steps["4"] <= steps["1"]
    with pytest.raises(ValueError, match="first"):
        onsets.until_widened(0, rate=0.5, first="3", checks=[1], **SMALL)


def test_given_the_inputs_the_law_knows_the_upper_end():
    found = bulk.first_bulk(0, rates=[3.0], n=800, d=400, h=600).isel(rate=0)
    assert float(found.inputs_distance) < float(found.distance)
    assert abs(float(found.inputs_second) - 1) < 0.1 < float(found.second) - 1


def test_the_root_takes_a_covariance_away():
    x, weights = np.random.default_rng(0).standard_normal((200, 20)), np.linspace(1, 3, 200)
    white = (x * weights[:, None]) @ widening.inverse_root(x, weights)
    np.testing.assert_allclose(white.T @ white / np.square(white).sum() * 20, np.eye(20), atol=1e-9)


def test_the_data_widen_the_bulk_through_the_residuals_of_their_own_points():
    found = {
        name: float(widening.whitened(0, rule="Adam code", rate=1.0, weights=name, **SMALL).hill_excl[0])
        for name in widening.WEIGHTS
    }
    assert found["residuals"] > found["equal"] and found["residuals"] > found["permuted residuals"]


def test_errors_of_the_network_give_its_gradient_and_others_give_another():
    drawn = teacher_student.draw(0, **SMALL)
    x, y = drawn.samples.train
    own = teacher_student.trainer(drawn, "GD text").gradient().numpy()
    errors = drawn.student.forward(x) - y
    found = noise_errors.gradient(drawn.student, x, errors, factor=0.5)
    np.testing.assert_allclose(found, own, rtol=1e-3, atol=1e-5 * abs(own).max())
    assert abs(noise_errors.gradient(drawn.student, x, errors[::-1], factor=0.5) - own).max() > 0.1 * abs(own).max()
