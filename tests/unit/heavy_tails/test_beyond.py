"""The rules on deep networks and open questions, on planted data for which the answer is known."""

import itertools
import math

import numpy as np
import pytest
from planted import tuned_ridge
from planted.records import by, planted, scatter, verdicts

from experiments.heavy_tails.beyond import open_questions, steering
from experiments.heavy_tails.beyond import rules as beyond
from experiments.heavy_tails.teacher_student import FEATURES, RATES
from shallow import stats
from shallow.spectra import marchenko_pastur

ROOM = "heavy_tails/beyond/"
NOISE = marchenko_pastur.spectrum(stats.stream("planted beyond"), 1500, 1000)


def network(heavy, loss=1.0):
    """VGG11 on two data sets; heavy: layers with a power law after the steps."""
    rng = stats.stream("planted network", *heavy)
    values = np.broadcast_to(np.sqrt(NOISE[::2]), (2, 2, 2, 9, 2, 500)).copy()
    for layer in heavy:
        values[:, :, :, layer - 1, 1] = np.sqrt(np.sort(rng.pareto(0.7, (2, 2, 2, 500)) + 1)[..., ::-1])
    course = 2.5 * np.stack([np.ones((2, 2)), loss + 0.004 * rng.standard_normal((2, 2))], axis=-1)
    places = {"data": ["cifar10", "mnist"], "k": slice(500), "step": [0, 10]}
    of_layers = {"singular_values": values, "kernel": [750, 500, 1]}
    return planted(f"{ROOM}deep_vgg11", places, **of_layers, null_hill=3.0, loss=course, accuracy=0.1)


test_heavy_layers_are_found = verdicts(
    beyond.ht_26, network, reproduced=[(range(2, 9),)], contradicted=[((),)], partly=[((2, 4),)]
)


def other_network(heavy):
    """Its second layer is the third, ..."""
    return ((network(heavy).isel(data=[0]).assign_coords(layer=np.arange(2, 11)),),)


test_layers_of_the_other_network_are_its_own = verdicts(
    beyond.ht_27, other_network, reproduced=[((4, 7, 9),)], contradicted=[((),)], partly=[((4,),)]
)


test_tails_count_only_while_the_loss_is_high = verdicts(
    beyond.ht_28, network, reproduced=[(range(2, 9), 1.1)], contradicted=[((2, 3), 1.1), (range(2, 9), 0.1)]
)


def test_the_exponent_of_a_share_is_that_of_a_power_law():
    values = stats.stream("planted share").pareto(1.0, 20_000) + 1
    assert beyond.hill_at(0.05)(values) == pytest.approx(2, abs=0.1)


def surrogate(code, text):
    """Losses of the linear surrogate that are `code` and `text` times the true ones."""
    name = f"{ROOM}equivalent_features"
    true = 1 + abs(scatter(name, "loss", 0.1).isel(model=0, drop=True))
    linear = true * by(features={"code": code, "text": text}) * (1 + scatter(name, "loss", 1e-3, seed=1))
    return planted(name, loss=linear.where(linear.model != "true", true))


@pytest.mark.parametrize(
    ("code", "text", "close"), [(1, 1, [True, True]), (1, 1.2, [True, False]), (1.1, 1, [False, True])]
)
def test_a_surrogate_is_near_or_not(code, text, close):
    numbers = beyond.ht_75(surrogate(code, text)).numbers
    assert [numbers[f"close up to rate 0.01, {features}"] for features in FEATURES] == close


def exchanged(**lower):
    """Losses of the eight students: lower by a factor where a part is the trained one."""
    name, others = f"{ROOM}dissected", {"spectrum": "noise", "vectors": "random", "size": "initial"}
    level = math.prod(by(**{part: {"trained": lower.get(part, 1.0), one: 1.0}}) for part, one in others.items())
    loss, untrained = (1 + scatter(name, what, 0.002) for what in ("loss", "untrained"))
    return planted(name, loss=level * loss, untrained=untrained)


@pytest.mark.parametrize(
    ("text", "lowers", "costs"),
    [({"direction": -0.03, "spectrum": 0.02}, 0, 18), ({"spectrum": -0.02}, 18, 0), ({"size": -0.1}, 0, 0)],
)
def test_the_part_that_lowers_the_loss_is_found(text, lowers, costs):
    code = {"direction": -0.03, "spectrum": 0.02}
    both = (tuned_ridge.record(text=text, **code),) * 2
    outcome = beyond.ht_76(exchanged(size=0.9), both, tuned_ridge.bulk(0.02))
    assert outcome.numbers["bulk, Adam 1, text"].estimate == pytest.approx(0.02, abs=1e-3)
    for (features, effects), part in itertools.product(
        {"code": code, "text": text}.items(), ("size", "direction", "spectrum")
    ):
        assert outcome.numbers[f"8000, Adam 1, {features}, {part}"].estimate == pytest.approx(
            effects.get(part, 0), abs=2e-3
        )
    found = [outcome.numbers[f"spectrum {does}, text"] for does in ("lowers", "costs")]
    assert np.abs(np.subtract(found, (lowers, costs))).max() <= 3  # a few of many by chance
    assert outcome.numbers["spectrum costs, code"] == outcome.numbers["runs"] == 18
    assert outcome.numbers["fixed ridge, code, size"].estimate == pytest.approx(-0.1, abs=0.01)


def test_weights_are_put_together_from_the_parts_that_are_asked_for():
    rng = stats.stream("planted weights")
    start, end = rng.standard_normal((30, 20)), 3 * rng.standard_normal((30, 20)) ** 3
    made = open_questions.recombined(start, end, rng)
    assert np.allclose(made[0, 0, 0], end)
    norms = np.linalg.norm(made, axis=(-2, -1))
    assert np.allclose(norms[..., 0], np.linalg.norm(end)) and np.allclose(norms[..., 1], np.linalg.norm(start))
    shapes = np.linalg.svd(made, compute_uv=False) / norms[..., None]
    assert np.allclose(shapes[0], shapes[0, 0, 0]) and np.allclose(shapes[1], shapes[1, 0, 0])
    assert not np.allclose(shapes[0], shapes[1], atol=0.02)
    U, s, Vt = np.linalg.svd(end, full_matrices=False)
    diagonal = np.einsum("ik,ij,kj->k", U, made[1, 0, 1], Vt)
    assert np.allclose(diagonal, np.linalg.svd(made[1, 0, 1], compute_uv=False))  # trained vectors, values of noise
    with pytest.raises(ValueError, match="one shape"):
        open_questions.recombined(start.T, end.T, rng)


def teachers(faithful):
    """Spectra of noise with one outlier, or with as many as the teacher has directions."""
    name = f"{ROOM}many_directions"
    values = NOISE * (1 + scatter(name, "average", 1e-4).values[..., :1])
    for one, k in zip(values, beyond.indices().values()):
        one[..., : k if faithful else 1] *= 3
    return planted(name, eigenvalues=values)


@pytest.mark.parametrize("faithful", [True, False])
def test_spikes_are_counted(faithful):
    numbers = beyond.ht_78(teachers(faithful)).numbers
    assert [numbers[f"right count, rate {rate}"].exceeds(1 / 2) for rate in ("0.1", "1")] == [faithful] * 2
    assert numbers["one for every teacher, rate 0.1"] is not faithful


def penalised(name, **options):
    """Runs of the first stage: losses that fall, a test loss of one."""
    name = ROOM + name
    return planted(name, loss=np.linspace(2, 1, 31), test=1 + scatter(name, "test", 0.001), **options)


@pytest.mark.parametrize("loss", [0.8, 1.1])
def test_steering_must_beat_the_best_fixed_rate(loss):
    """Of the fixed rates 1 is the best, with a loss of 1; all targets are met."""
    name = f"{ROOM}controlled"
    runs = planted(name, test=loss + scatter(name, "test", 0.01))
    fixed = planted("heavy_tails/ten_steps_2000", test=by(rate=dict.fromkeys((0.0, *RATES), 1.5) | {1.0: 1.0}))
    met = penalised("penalty", hill=by(target={target: target for target in steering.TARGETS}))
    outcome = beyond.ht_79(runs, (fixed, fixed), met, penalised("penalty_beside"))
    assert outcome.verdict == "answered"
    assert all(outcome.numbers[f"steered, n = {n}, code"].contains(loss - 1) for n in beyond.POINTS)
    assert all(outcome.numbers[f"target {target:g}, code"].inside(-0.01, 0.01) for target in steering.TARGETS)
    assert outcome.numbers["targets missed by"] == 0
