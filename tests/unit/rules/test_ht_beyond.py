"""The rules on deep networks and open questions, on planted data for which the answer is known."""

import numpy as np
import pytest
import xarray as xr

from experiments.heavy_tails import estimators, open_questions, steering
from experiments.heavy_tails.rules import beyond
from experiments.heavy_tails.teacher_student import FEATURES, PENALTY, RATES
from shallow import stats

NOISE = estimators.noise_spectrum(stats.stream("planted beyond"), 1500, 1000)


def network(heavy, loss=1.0):
    """A planted network of nine layers, two draws, two data sets; heavy: layers with a power law after the steps."""
    rng = stats.stream("planted network", *heavy)
    shape = (2, 2, 2, 9)
    values = np.broadcast_to(np.sqrt(NOISE[::5]), (*shape, 2, 200)).copy()
    for layer in heavy:
        law = np.sqrt(np.sort(rng.pareto(0.7, (*shape[:3], 200)) + 1)[..., ::-1])
        values[:, :, :, layer - 1, 1] = law
    dims = ("seed", "data", "flattening", "layer")
    course = np.stack([np.full((2, 2), 2.5), loss * 2.5 + 0.01 * rng.standard_normal((2, 2))], axis=-1)
    return xr.Dataset(
        {
            "singular_values": ((*dims, "t", "k"), values),
            "kernel": ((*dims[:2], "layer", "size"), np.broadcast_to([250, 200, 1], (2, 2, 9, 3))),
            "loss": (("seed", "data", "step"), course),
            "accuracy": (("seed", "data"), np.full((2, 2), 0.1)),
        },
        {
            "seed": [0, 1], "data": ["cifar10", "mnist"], "flattening": ["joined", "positions"],
            "layer": np.arange(1, 10), "t": [0, 10], "step": [0, 10],
        },
    )  # fmt: skip


@pytest.mark.parametrize(("heavy", "verdict"), [(range(2, 9), "reproduced"), ((), "contradicted"), ((2, 4), "partly")])
def test_heavy_layers_are_found(heavy, verdict):
    assert beyond.ht_26(network(heavy)).verdict == verdict


@pytest.mark.parametrize(("heavy", "verdict"), [((4, 7, 9), "reproduced"), ((), "contradicted"), ((4,), "partly")])
def test_layers_of_the_other_network_are_its_own(heavy, verdict):
    planted = network(heavy).isel(data=[0]).assign_coords(layer=np.arange(2, 11))  # its second layer is the third, ...
    assert beyond.ht_27(planted).verdict == verdict


@pytest.mark.parametrize(
    ("heavy", "loss", "verdict"),
    [(range(2, 9), 1.1, "reproduced"), ((2, 3), 1.1, "contradicted"), (range(2, 9), 0.1, "contradicted")],
)
def test_tails_count_only_while_the_loss_is_high(heavy, loss, verdict):
    assert beyond.ht_28(network(heavy, loss)).verdict == verdict


def test_the_interval_of_a_tail_weight_is_that_of_the_plain_bootstrap():
    values = stats.stream("planted weight").standard_exponential(500)
    direct = beyond.resampled_weight(values, name="direct")
    plain = stats.bootstrap(values, lambda v, axis: estimators.tail_weight(v, axis=axis), name="plain")
    assert direct.estimate == plain.estimate
    assert abs(direct.low - plain.low) < 0.3 and abs(direct.high - plain.high) < 0.6


def surrogate(code, text):
    """Planted losses: those of the linear surrogate are `code` and `text` times the true ones."""
    rates = [0.001, 0.01, 0.1, 1.0, 10.0]
    true = 1 + 0.1 * stats.stream("planted losses").random((2, 5, 3, 3))
    factors = np.array([code, text])[:, None, None, None]
    jitter = 1 + 1e-3 * stats.stream("planted jitter").standard_normal(true.shape)
    models = np.stack([true, factors * true * jitter], axis=-1)
    coordinates = {
        "features": list(FEATURES),
        "rate": rates,
        "sample": ["train", "test", "wide"],
        "model": ["true", "linear"],
    }
    return xr.DataArray(models, coordinates, ("features", "rate", "seed", "sample", "model"))


@pytest.mark.parametrize(
    ("code", "text", "answer"),
    [(1, 1, "yes; with the text's too"), (1, 1.2, "yes; with the text's no"), (1.1, 1, "no; with the text's too")],
)
def test_a_surrogate_is_near_or_not(code, text, answer):
    assert answer in beyond.ht_75(surrogate(code, text)).answer


def exchanged(**lower):
    """Planted losses of the eight students: lower by a factor where a part is the trained one."""
    rng = stats.stream("planted exchange", *lower)
    dims = ("spectrum", "vectors", "size")
    values = np.ones((8, 2, 2, 2, 2, 1))
    for place, name in enumerate(dims, 1):
        values[(slice(None), *[slice(None)] * (place - 1), 0)] *= lower.get(name, 1.0)
    values *= 1 + 0.002 * rng.standard_normal(values.shape)
    data = {
        "loss": (("seed", *dims, "features", "sample"), values),
        "untrained": (("seed", "features", "sample"), 1 + 0.002 * rng.standard_normal((8, 2, 1))),
    }
    parts = (open_questions.SPECTRA, open_questions.VECTORS, open_questions.SIZES, FEATURES, ["wide"])
    return xr.Dataset(data, dict(zip((*dims, "features", "sample"), map(list, parts))))


@pytest.mark.parametrize(
    ("lower", "answer"),
    [
        ({"size": 0.9}, "No: with the program's features the larger size"),
        ({"spectrum": 0.9}, "It helps"),
        ({"spectrum": 0.9, "size": 0.9}, "It helps"),
        ({"vectors": 0.9}, "No: neither"),
    ],
)
def test_the_part_that_lowers_the_loss_is_found(lower, answer):
    outcome = beyond.ht_76(exchanged(**lower))
    assert outcome.answer.startswith(answer)
    (part, factor), *_ = lower.items()
    found = beyond.effects(exchanged(**lower), "code")
    assert found[part].contains(factor - 1) and found[part].below(0)


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
    """Planted spectra: noise with one outlier, or with as many as the teacher has directions."""
    names, rates = list(open_questions.TEACHERS), [0.1, 1.0]
    values = np.empty((len(names), 2, 3, 2, 1000))
    for i, k in enumerate(beyond.indices().values()):
        values[i] = NOISE * (1 + 1e-4 * stats.stream("planted teachers", i).standard_normal((2, 3, 2, 1)))
        values[i, ..., : k if faithful else 1] *= 3
    coordinates = {"teacher": names, "rate": rates, "step": [1, 10]}
    return xr.Dataset({"eigenvalues": (("teacher", "rate", "seed", "step", "k"), values)}, coordinates)


@pytest.mark.parametrize(("faithful", "answer"), [(True, "Often"), (False, "No: the first step")])
def test_spikes_are_counted(faithful, answer):
    assert beyond.ht_78(teachers(faithful)).answer.startswith(answer)


def steered(loss):
    """Planted losses of steered runs and of the fixed rates, of which 1 is the best with a loss of 1."""
    scatter = 0.01 * stats.stream("planted steering").standard_normal((2, 5, 2))
    found = xr.Dataset({"test": (("n", "seed", "features"), loss + scatter)}, {"n": [2000, 8000], "seed": range(5)})
    found = found.assign_coords(features=list(FEATURES))
    level = np.where(np.array(RATES) == 1, 1.0, 1.5)[:, None, None, None, None]
    fixed = xr.Dataset(
        {"test": (("rate", "seed", "features", "rule", "penalty"), np.broadcast_to(level, (len(RATES), 5, 2, 1, 1)))},
        {
            "rate": list(RATES),
            "seed": range(5),
            "features": list(FEATURES),
            "rule": ["Adam code"],
            "penalty": [PENALTY],
        },
    )
    return found, {2000: fixed, 8000: fixed}


def penalised(**along):
    """Planted runs of the first stage: losses that fall, a test loss of one, targets met."""
    loss = np.linspace(2, 1, 5)
    (name, values), = along.items()  # fmt: skip
    shape = (len(values), 4, 5)
    data = {
        "loss": ((name, "seed", "step"), np.broadcast_to(loss, shape)),
        "test": ((name, "seed", "step", "features"), np.ones((*shape, 2))),
        "hill": ((name, "seed", "step"), np.broadcast_to(np.array(values)[:, None, None], shape)),
    }
    data["test"][1][...] += 0.001 * stats.stream("planted penalty", name).standard_normal((*shape, 2))
    return xr.Dataset(data, {name: list(values), "seed": range(1, 5), "step": range(5), "features": list(FEATURES)})


@pytest.mark.parametrize(
    ("loss", "start"), [(0.8, "With the program's features steering lowers"), (1.1, "No: steering")]
)
def test_steering_must_beat_the_best_fixed_rate(loss, start):
    runs, fixed = steered(loss)
    outcome = beyond.ht_79(runs, fixed, penalised(target=steering.TARGETS), penalised(strength=[0.0, 1.0]))
    assert outcome.answer.startswith(start)
    assert outcome.verdict == "answered"
