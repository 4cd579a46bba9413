"""Ensembles of multilayer perceptrons against PyTorch, one network at a time, trajectory by trajectory in float64."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shallow import mlp
from shallow.mlp import Stack
from shallow.stats import stream
from shallow.train import ensemble

WIDTHS = (5, 12, 8, 1)
LOSSES = {
    "absolute": torch.nn.L1Loss(),
    "bce-logit": torch.nn.BCEWithLogitsLoss(),
    "bce-probability": lambda f, y: torch.nn.functional.binary_cross_entropy(torch.sigmoid(f), y),
}
OPTIMISERS = {"adam": torch.optim.Adam, "adadelta": torch.optim.Adadelta}
flat = torch.nn.utils.parameters_to_vector


def problem(n: int, *names: str, inputs: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and labels 0 and 1 that take more than a plane to tell apart."""
    x = stream("ensemble", n, *names).standard_normal((n, inputs))
    return x, (x[:, 0] * x[:, -1] > 0).astype(float)


VALIDATION = problem(30, "validation")


def start(replicas: int, scale: float = 1.0) -> Stack:
    networks = mlp.default([stream("start", r) for r in range(replicas)], WIDTHS, dtype=np.float64)
    return Stack(scale * networks.parameters, networks.widths)


def shuffles(replicas: int) -> list[np.random.Generator]:
    return [stream("shuffle", r) for r in range(replicas)]


def one_by_one(network, x, y, rng, *, loss, validation, patience, min_delta, mode, validation_batch=None, **given):
    """The obvious loop: nn.Sequential, torch.optim, autograd; last and best parameters, epochs, validation losses."""
    layers = [torch.nn.Linear(*W.shape[::-1], dtype=torch.float64) for W in network[0]]
    for layer, W, b in zip(layers, *network):
        layer.weight.data, layer.bias.data = torch.tensor(W), torch.tensor(b)
    model = torch.nn.Sequential(*[m for layer in layers for m in (layer, torch.nn.ReLU())][:-1])
    descent = OPTIMISERS[given["optimiser"]](model.parameters(), lr=given["rate"], weight_decay=given["decay"])
    x, y, held_out = torch.tensor(x), torch.tensor(y), [torch.tensor(part) for part in validation]
    history, best, best_epoch, best_loss = [], flat(model.parameters()).detach(), 0, None
    loader = None if validation_batch is None else rng.spawn(1)[0]
    warmup = 0 if mode == "regular" else given["warmup"]
    for epoch in range(1, warmup + given["epochs"] + 1):
        layers[0].requires_grad_(epoch <= warmup or mode == "regular")
        layers[-1].requires_grad_(epoch > warmup or mode != "first-last")
        if epoch == warmup + 1 and mode == "reinit":
            bound = layers[-1].in_features ** -0.5
            for parameter in layers[-1].parameters():
                parameter.data.copy_(torch.tensor(rng.uniform(-bound, bound, tuple(parameter.shape))))
        for rows in torch.tensor(rng.permutation(len(x))).split(given["batch"]):
            descent.zero_grad()
            LOSSES[loss](model(x[rows])[:, 0], y[rows]).backward()
            descent.step()
        with torch.no_grad():
            whole = torch.arange(len(held_out[0]))
            order = whole if loader is None else torch.tensor(loader.permutation(len(whole)))
            batches = order.split(validation_batch or len(whole))
            means = [LOSSES[loss](model(held_out[0][rows])[:, 0], held_out[1][rows]).item() for rows in batches]
            history.append(float(np.mean(means)))
        if epoch > warmup:
            if best_loss is None or best_loss - history[-1] >= min_delta:
                best, best_epoch, best_loss = flat(model.parameters()).detach(), epoch, history[-1]
            elif patience is not None and epoch - best_epoch >= patience:
                break
    return flat(model.parameters()).detach(), best, epoch, best_epoch, history


def assert_same(networks: Stack, x, y, tolerance: float = 1e-9, rates=0.01, decays=0.0, **options) -> ensemble.Fit:
    """Train the stack, and every network alone; compare all that both know."""
    options = {"batch": 16, "patience": None, "min_delta": 0.0, "mode": "regular", "warmup": 2} | options
    fit = ensemble.train(networks, x, y, rngs=shuffles(len(networks)), rate=rates, decay=decays, **options)
    for r, rng in enumerate(shuffles(len(networks))):
        single = {"rate": np.broadcast_to(rates, len(networks))[r], "decay": np.broadcast_to(decays, len(networks))[r]}
        last, best, epochs, best_epoch, history = one_by_one(networks.network(r), x, y, rng, **single, **options)
        assert (fit.epochs[r], fit.best_epoch[r]) == (epochs, best_epoch)
        np.testing.assert_allclose(fit.last.parameters[r], last, rtol=0, atol=tolerance)
        np.testing.assert_allclose(fit.best.parameters[r], best, rtol=0, atol=tolerance)
        np.testing.assert_allclose(fit.validation[r, :epochs], history, rtol=1e-9)
        assert np.isnan(fit.validation[r, epochs:]).all()
    assert not fit.diverged.any()
    return fit


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("loss", LOSSES)
def test_each_optimiser_and_loss_equals_pytorch(optimiser, loss):
    """Several rates and weight decays at once, and a last batch of 6 points."""
    rates = {"adam": [1e-3, 0.01, 0.1], "adadelta": [0.1, 1.0, 3.0]}[optimiser]
    networks = start(3)
    options = {"loss": loss, "optimiser": optimiser, "epochs": 6, "validation": VALIDATION}
    fit = assert_same(networks, *problem(70), rates=rates, decays=[0.0, 1e-3, 0.1], **options)
    assert (np.abs(fit.last.parameters - networks.parameters).max(axis=1) > 5e-3).all()
    assert np.abs(fit.last.parameters[0] - fit.last.parameters[1]).max() > 0.01


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("mode", [mode for mode in ensemble.MODES if mode != "regular"])
def test_each_schedule_equals_pytorch(mode, optimiser):
    """A layer that is released begins its own count of steps; a frozen one feels no weight decay."""
    networks, records = start(2), (0, 2, 5)
    options = {"loss": "absolute", "optimiser": optimiser, "mode": mode, "validation": VALIDATION, "records": records}
    fit = assert_same(networks, *problem(70), rates=0.02, decays=0.01, epochs=3, **options)
    began, frozen, ended = (fit.snapshot(epoch) for epoch in records)
    np.testing.assert_array_equal(began.parameters, networks.parameters)
    np.testing.assert_array_equal(frozen.weights[0], ended.weights[0])
    np.testing.assert_array_equal(frozen.biases[0], ended.biases[0])
    assert (frozen.weights[0] != began.weights[0]).any()
    assert (frozen.weights[1] != ended.weights[1]).any()
    assert (frozen.weights[2] == began.weights[2]).all() == (mode == "first-last")
    assert fit.best_epoch.min() > 2  # early stopping has not seen the warm-up


def test_a_freeze_without_warm_up_never_moves_the_first_layer():
    networks = start(1)
    options = {"loss": "absolute", "optimiser": "adadelta", "mode": "stop-first", "warmup": 0, "epochs": 3}
    fit = assert_same(networks, *problem(70), rates=1.0, validation=VALIDATION, **options)
    np.testing.assert_array_equal(fit.last.weights[0], networks.weights[0])
    assert (fit.last.weights[1] != networks.weights[1]).any()


@pytest.mark.parametrize("min_delta", [0.0, 0.005])
def test_early_stopping_at_the_same_epochs_as_pytorch(min_delta):
    """Each network has its own patience; a stopped one keeps its last weights, and the best are known too."""
    rates = [0.3, 0.1, 0.05, 0.02, 0.01]
    options = {"loss": "bce-logit", "optimiser": "adam", "epochs": 25, "patience": 3, "min_delta": min_delta}
    fit = assert_same(start(5), *problem(70), rates=rates, validation=VALIDATION, tolerance=1e-7, **options)
    assert len(set(fit.epochs)) >= 2
    assert fit.epochs.min() < 20
    stopped = fit.epochs < 25
    np.testing.assert_array_equal((fit.epochs - fit.best_epoch)[stopped], 3)
    found = fit.best.forward(VALIDATION[0])
    of_best = (np.logaddexp(0, found) - VALIDATION[1] * found).mean(axis=1)
    np.testing.assert_allclose(of_best, fit.validation[np.arange(5), fit.best_epoch - 1], rtol=1e-12)


def test_a_fall_of_exactly_min_delta_is_an_improvement():
    options = {"loss": "bce-logit", "optimiser": "adam", "epochs": 2, "rate": 0.01, "validation": problem(70)}
    first, second = ensemble.train(start(1), *problem(70), rngs=shuffles(1), **options).validation[0]
    for min_delta, best in ((first - second, 2), (np.nextafter(first - second, 1), 1)):
        fit = ensemble.train(start(1), *problem(70), rngs=shuffles(1), min_delta=min_delta, **options)
        assert first > second and fit.best_epoch[0] == best
    options["rate"] = [2.5e-5, 3.2e-5]  # by default 1e-4
    fit = ensemble.train(start(1)[[0, 0]], *problem(70), rngs=shuffles(2), **options)
    below, above = fit.validation[:, 0] - fit.validation[:, 1]
    assert 8e-5 < below < 1e-4 < above < 1.2e-4 and fit.best_epoch.tolist() == [1, 2]


def test_an_output_that_is_its_label_has_no_slope():
    """Of the absolute error: a network of zeros with labels 0 stays, with labels 1 its output bias moves."""
    networks, (x, _) = start(1, scale=0.0), problem(70)
    options = {"loss": "absolute", "optimiser": "adam", "epochs": 1, "rate": 0.01}
    still, moved = (ensemble.train(networks, x, y, rngs=shuffles(1), **options) for y in (np.zeros(70), np.ones(70)))
    assert not still.last.parameters.any() and moved.last.biases[-1] > 0


@pytest.mark.parametrize("size", [4, 15, 16, 30, 31])
def test_validation_by_batches_in_a_new_order_equals_pytorch(size):
    """Points of a smaller last batch count more, unless there is none; training does not change."""
    options = {"loss": "bce-logit", "optimiser": "adam", "epochs": 12, "patience": 2, "rates": [0.3, 0.05]}
    options |= {"validation": VALIDATION, "tolerance": 1e-8}
    fit, plain = (assert_same(start(2), *problem(70), validation_batch=batch, **options) for batch in (size, None))
    both = min(fit.epochs.min(), plain.epochs.min())
    np.testing.assert_array_equal(fit.training[:, :both], plain.training[:, :both])
    equal = np.isclose(fit.validation[:, :both], plain.validation[:, :both], rtol=1e-12)
    assert equal.all() if 30 % min(size, 30) == 0 else not equal.any()


@settings(max_examples=12, deadline=None)
@given(
    n=st.integers(1, 40),
    widths=st.lists(st.integers(1, 20), min_size=2, max_size=6),
    decay=st.sampled_from([0.0, 1.0, 1e4]),
    seed=st.integers(0, 99),
    data=st.data(),
)
def test_any_shape_and_any_batch_equals_pytorch(n, widths, decay, seed, data):
    """Also one point, one unit, batches that do not divide the epoch, and weight decay up to 10,000."""
    batch = data.draw(st.integers(1, n))
    optimiser, rate = data.draw(st.sampled_from([("adam", 1e-3), ("adadelta", 1.0)]))
    networks = mlp.default([stream(seed)], (*widths, 1), dtype=np.float64)
    x, _ = problem(n, seed, inputs=widths[0])
    y = stream(seed, "labels").standard_normal(n)
    options = {"loss": "absolute", "optimiser": optimiser, "epochs": 2, "batch": batch, "validation": (x, y)}
    options |= {"min_delta": 1e-9}  # of dead networks rounding would choose the best epoch
    assert_same(networks, x, y, tolerance=1e-8, rates=rate, decays=decay, **options)


def test_saturated_probabilities_are_those_of_pytorch():
    """A wrong point of saturated probability has a gradient in the logit and none in the probability."""
    networks, (x, y) = start(1, scale=8.0), problem(70)
    assert np.abs(networks.forward(x)).max() > 37  # 1 / (1 + exp(-37)) is 1 in float64
    options = {"optimiser": "adam", "epochs": 2, "validation": (x, y), "tolerance": 1e-8}
    logit, probability = (
        assert_same(networks, x, y, loss=loss, **options) for loss in ("bce-logit", "bce-probability")
    )
    assert np.abs(logit.last.parameters - probability.last.parameters).max() > 1e-4
    assert np.abs(logit.validation - probability.validation).min() > 0.1


def test_each_network_may_have_its_own_data():
    samples, held_out = [problem(70, r) for r in range(3)], [problem(30, r, "validation") for r in range(3)]
    x, y = map(np.stack, zip(*samples))
    options = {"loss": "bce-logit", "optimiser": "adam", "epochs": 3, "rate": 0.01}
    fit = ensemble.train(start(3), x, y, rngs=shuffles(3), validation=tuple(map(np.stack, zip(*held_out))), **options)
    for r in range(3):
        alone = ensemble.train(start(3)[[r]], *samples[r], rngs=[shuffles(3)[r]], validation=held_out[r], **options)
        np.testing.assert_array_equal(fit.last.parameters[r], alone.last.parameters[0])
        np.testing.assert_array_equal(fit.validation[r], alone.validation[0])


def test_threads_records_and_length_change_no_bit():
    """A run is a prefix of a longer one, and the same in one thread or two."""
    networks, (x, y) = start(3), problem(70)
    options = {"loss": "absolute", "optimiser": "adadelta", "rate": 1.0}
    long = ensemble.train(networks, x, y, rngs=shuffles(3), epochs=6, records=(0, 2, 6), jobs=2, **options)
    short = ensemble.train(networks, x, y, rngs=shuffles(3), epochs=2, **options)
    np.testing.assert_array_equal(long.snapshot(2).parameters, short.last.parameters)
    np.testing.assert_array_equal(long.training[:, :2], short.training)
    np.testing.assert_array_equal(long.snapshot(6).parameters, long.last.parameters)
    np.testing.assert_array_equal(long.best.parameters, long.last.parameters)  # no validation
    assert np.isnan(long.validation).all()
    assert np.abs(long.last.parameters - short.last.parameters).max() > 0.01


def test_single_precision_stays_close_to_double():
    """Three epochs; the reading of float32 is another number type, not another trajectory."""
    networks, (x, y) = start(2), problem(200)
    single = Stack(networks.parameters.astype(np.float32), networks.widths)
    options = {"loss": "bce-probability", "optimiser": "adam", "rate": 0.01, "epochs": 3, "batch": 32}
    found, wanted = (ensemble.train(s, x, y, rngs=shuffles(2), **options).last.parameters for s in (single, networks))
    assert found.dtype == np.float32
    assert 0 < np.abs(found - wanted).max() < 1e-3
    assert np.abs(wanted - networks.parameters).max() > 0.05


@pytest.mark.parametrize("widths", [(7, 64, 64, 1), (7, 300, 1), (100, 512, 1)])
def test_products_of_small_factors_change_nothing_but_rounding(widths, monkeypatch):
    """Widths of one block of outputs and of two; a last batch of 6 points, too few for them."""
    networks, found = mlp.default([stream("start", 0)], widths), []
    options = {"loss": "absolute", "optimiser": "adadelta", "rate": 1.0, "epochs": 2, "batch": 32}
    for kernels in ("Haswell", "SkylakeX"):
        monkeypatch.setattr(ensemble, "threadpool_info", lambda name=kernels: [{"architecture": name}])
        fit = ensemble.train(networks, *problem(70, inputs=widths[0]), rngs=shuffles(1), **options)
        found.append(fit.last.parameters - networks.parameters)
    assert np.abs(found[0]).max() > 1e-3
    np.testing.assert_allclose(*found, atol=1e-5)


def test_a_network_that_diverges_is_reported_and_disturbs_no_other():
    networks = Stack(start(3).parameters.astype(np.float32), WIDTHS)
    options = {"loss": "bce-logit", "optimiser": "adam", "epochs": 4, "validation": VALIDATION, "records": (0, 4)}
    fit = ensemble.train(networks, *problem(70), rate=[0.01, 1e30, 0.02], rngs=shuffles(3), **options)
    assert fit.diverged.tolist() == [False, True, False]
    assert fit.epochs[1] == 1 and len(fit.values[1]) == 1  # of the start
    assert np.isfinite(fit.best.parameters).all()
    rngs = shuffles(3)[::2]
    others = ensemble.train(networks[[0, 2]], *problem(70), rate=[0.01, 0.02], rngs=rngs, **options)
    np.testing.assert_array_equal(fit.last.parameters[[0, 2]], others.last.parameters)


def test_a_stopped_network_is_in_later_snapshots_as_it_stopped():
    options = {"loss": "bce-logit", "optimiser": "adam", "epochs": 8, "patience": 1, "min_delta": 10.0}
    options |= {"rate": 0.1, "validation": VALIDATION, "records": (1, 8)}
    fit = ensemble.train(start(1), *problem(70), rngs=shuffles(1), **options)
    assert fit.epochs[0] == 2
    np.testing.assert_array_equal(fit.snapshot(8).parameters, fit.last.parameters)
    with pytest.raises(ValueError, match=r"epoch must be recorded, one of \[1, 8\], got 2"):
        fit.snapshot(2)


def test_a_measure_takes_the_place_of_the_networks():
    options = {"loss": "absolute", "optimiser": "adadelta", "rate": 1.0, "epochs": 2, "records": (0, 1)}
    options |= {"measure": lambda network: float(np.linalg.norm(network.weights[0]))}
    norms = ensemble.train(start(2), *problem(70), rngs=shuffles(2), **options).values
    np.testing.assert_allclose([v[0] for v in norms], np.linalg.norm(start(2).weights[0], axis=(1, 2)))
    assert all(v[0] != v[1] for v in norms)


def test_default_weights_are_the_very_numbers_of_pytorch():
    with torch.random.fork_rng():
        torch.manual_seed(47647)
        layers = [torch.nn.Linear(n, m) for n, m in zip(WIDTHS, WIDTHS[1:])]
    networks = mlp.default([torch.Generator().manual_seed(47647)], WIDTHS)
    for layer, W, b in zip(layers, *networks.network(0)):
        np.testing.assert_allclose(W, layer.weight.detach().numpy(), rtol=1e-6)
        np.testing.assert_allclose(b, layer.bias.detach().numpy(), rtol=1e-6)


def test_forward_and_features_are_those_of_pytorch():
    networks, x = start(3), problem(20)[0]
    shared, own = networks.forward(x), networks.forward(np.stack([x, 2 * x, 3 * x]))
    for r in range(3):
        hidden = torch.tensor(x)
        for W, b in list(zip(*networks.network(r)))[:-1]:
            hidden = torch.relu(torch.nn.functional.linear(hidden, torch.tensor(W), torch.tensor(b)))
        output = torch.nn.functional.linear(
            hidden, *map(torch.tensor, (networks.weights[-1][r], networks.biases[-1][r]))
        )
        np.testing.assert_allclose(networks.features(x)[r], hidden, atol=1e-14)
        np.testing.assert_allclose(shared[r], output[:, 0], atol=1e-14)
        np.testing.assert_allclose(own[r], networks[[r]].forward((r + 1) * x)[0], atol=1e-14)
