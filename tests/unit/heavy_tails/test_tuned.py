"""The ridge constant tuned for each network: the read-out, the networks, and what effects are read off."""

import numpy as np
import pytest
from planted.tuned_ridge import record

from experiments.heavy_tails import teacher_student
from experiments.heavy_tails.readings import gains, tuned
from shallow import stats
from shallow.kernels.ridge import Ridge, mean_square, weights_path
from shallow.spectra import tails

SMALL = {"n": 60, "d": 12, "h": 18}


@pytest.mark.parametrize("shape", [(50, 8), (8, 50), (20, 20)])
def test_a_path_is_the_ridge_fit_at_every_penalty(shape):
    rng = stats.stream("ridge path", *shape)
    Z, y, penalties = rng.standard_normal(shape), rng.standard_normal(shape[0]), np.array([1e-3, 0.1, 10.0])
    expected = np.stack([Ridge(Z, y).weights(penalty) for penalty in penalties], axis=1)
    assert np.allclose(weights_path(Z, y, penalties), expected, rtol=1e-8, atol=1e-10)


def test_the_constant_is_chosen_on_the_validation_points_and_the_loss_is_that_of_the_others():
    drawn = teacher_student.draw(0, test=tuned.VALIDATION + 500, **SMALL)
    student, penalties = drawn.student, (1e-3, 0.1, 10.0, 1e4)
    found = tuned.tuned(student, drawn.samples, student.scale, penalties)
    fitted, unseen = (student.features(part.x).astype(float) for part in (drawn.samples.probe, drawn.samples.test))
    readouts = {p: Ridge(fitted, drawn.samples.probe.y).weights(p / len(student.a)) for p in penalties}

    def loss(p, points):
        return mean_square(unseen[points], drawn.samples.test.y[points].astype(float), readouts[p])

    validation, test = slice(0, tuned.VALIDATION), slice(tuned.VALIDATION, None)
    best = min(penalties, key=lambda p: loss(p, validation))
    assert found["penalty"] == best and found["test"] == pytest.approx(loss(best, test), rel=1e-6)
    assert len(found["fixed"]) == len(found["train"]) == len(tuned.FIXED)


def test_networks_differ_in_one_thing_at_a_time():
    rng = stats.stream("networks")
    start, end = rng.standard_normal((30, 20)), 3 * rng.standard_normal((30, 20)) ** 3
    made = tuned.recomposed(start, end)
    size, direction, trained = made.values()
    assert np.allclose([np.linalg.norm(one) for one in made.values()], np.linalg.norm(end))
    assert np.allclose(size / size[0, 0], start / start[0, 0]) and trained is end
    vectors = [np.linalg.svd(one) for one in (direction, trained)]
    assert np.allclose(abs(vectors[0][2][:19]), abs(vectors[1][2][:19]))
    assert tails.hill(vectors[0][1] ** 2) > tails.hill(vectors[1][1] ** 2)


def test_a_bulk_of_noise_keeps_the_spike_and_the_norm():
    rng = stats.stream("bulk")
    end = rng.standard_normal((30, 20)) ** 3 + 10
    made = tuned.with_spike(end)
    before, after = (np.linalg.svd(one, compute_uv=False) for one in (end, made))
    assert np.isclose(after[0], before[0]) and np.isclose(np.linalg.norm(made), np.linalg.norm(end))
    assert tails.hill(after[1:] ** 2) > tails.hill(before[1:] ** 2)
    found = tuned.bulk_losses(0, run="Adam 1", **SMALL).test
    assert (found > 0).all() and (found.sel(network="spike") != found.sel(network="trained")).all()


def test_all_networks_of_the_untrained_run_are_the_untrained_one():
    found = tuned.tuned_losses(0, run=tuned.UNTRAINED, **SMALL)
    assert (found.test == found.test.sel(network="trained")).all() and found.growth == 1
    moved = tuned.tuned_losses(0, run="Adam 0.1", networks=("size", "trained"), **SMALL)
    assert moved.growth > 1 and (moved.test.sel(network="trained") != found.test.sel(network="trained")).all()


@pytest.mark.parametrize("effects", [{"size": 0.02}, {"direction": -0.03}, {"spectrum": 0.05}])
def test_the_planted_effect_is_found_and_no_other(effects):
    found = record(**effects)
    for what in ("size", "direction", "spectrum"):
        one = gains.effect(found, "Adam 1", what, "code")
        assert one.contains(effects.get(what, 0.0)) or abs(one.estimate - effects.get(what, 0.0)) < 1e-3
        assert (one.above(0.01) or one.below(-0.01)) == (what in effects)


def test_exponents_rank_losses_or_do_not():
    hill = {run: 2.5 - 0.1 * k for k, run in enumerate(tuned.TEN)}
    runs, found = gains.runs_of(record(), "Adam"), record(hill=hill)
    better = found.assign(test=found.test * (1 + 0.1 * found.hill))
    assert gains.rank_correlations(better, runs, "code").exceeds(0.9)
    assert gains.rank_correlations(found, runs, "code").exceeds(0.9) is not True
    assert gains.best_run(better, "text") == tuned.TEN[-1]
