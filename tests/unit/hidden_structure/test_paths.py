"""Cells on kernels along training, on the works that the document cites, and on two-stage training, at tiny sizes."""

import numpy as np
import pytest
import torch

from experiments.hidden_structure import hidden_index, polynomials
from experiments.hidden_structure.alignment import alignment_moments, kernel_paths, who_leads
from experiments.hidden_structure.alignment.kernel_paths import END
from experiments.hidden_structure.cited import cells as cited
from experiments.hidden_structure.cited import parity, silent_alignment, two_stage
from shallow import mlp, stats
from shallow.kernels import layered
from shallow.kernels.ridge import RidgePath
from shallow.mlp import Stack
from shallow.train import ensemble

PATH = dict(at=(0, 2), points=160, chosen_on=80, penalties=(0.01, 1.0), epochs=4, early=3, size=400)


def rng(*names):
    return stats.stream("tests", "hs paths", *names)


def test_a_path_is_the_run_of_the_document():
    found = kernel_paths.kernel_path(1, 7, **PATH)
    plain = polynomials.network(1, 7, epochs=4, early=3, size=400)
    np.testing.assert_array_equal(found.path_aligned, plain.path_aligned)
    np.testing.assert_array_equal(found.path_validation, plain.path_validation)
    np.testing.assert_allclose(found.final_mse.sel(part="test"), plain.mse.sel(part="test"), rtol=1e-6)
    assert float(found.network_r.sel(moment=END)) == pytest.approx(1)


def test_a_kernel_that_knows_the_direction_fits():
    """The kernel of units along the hidden direction with spread biases fits the polynomial; of random units not."""
    task = polynomials.problem("independent", 4, 1, size=1000)
    random = mlp.default([rng("random")], (100, 64, 1), dtype=np.float64)
    aligned = Stack(random.parameters.copy(), random.widths)
    aligned.weights[0][0] = np.sign(rng("signs").standard_normal((64, 1))) * np.ones(100)
    aligned.biases[0][0] = rng("biases").uniform(-2, 2, 64)
    fitted, splits = task.rows["train"], [(np.arange(300), np.arange(300, 400))]
    knowing, blind = (
        kernel_paths.machine(network, task, fitted, splits, (0.1, 10.0))[0] for network in (aligned, random)
    )
    bulk = dict(part="test", range="bulk")
    assert knowing.ntk_r2.sel(bulk) > 0.95 and blind.ntk_r2.sel(bulk) < 0.7
    assert knowing.ntk_cv < 0.2 * blind.ntk_cv


def test_moments_hold_what_the_pictures_need():
    options = {"points": 200, "chosen_on": 40, "shown": 30, "epochs": 3, "penalties": (1e-2, 1.0)}
    found = alignment_moments.moments(1, 5, at=(0, 2), **options, size=400)
    assert found.moment.values.tolist() == [0, 2, END] and int(found.epochs) == 3
    assert int(found.is_test.sum()) == 40 and found.sizes["point"] == 70
    task = polynomials.problem("independent", 5, 1, size=400)
    rows = np.concatenate([task.rows["test"], task.rows["train"][:30]])
    np.testing.assert_array_equal(found.y, task.y[rows])
    r = np.corrcoef(found.prediction.sel(moment=END)[:40], found.final[:40])[0, 1]
    assert abs(float(found.r.sel(moment=END)) - r) < 1e-12
    np.testing.assert_array_equal(found.network_r2.sel(moment=END), found.final_r2)
    assert found.cosine.shape == (3, 256) and float(found.largest_cosine.sel(moment=0)) < 0.5


def test_moments_shortened_are_those_of_the_whole():
    options = {"points": 100, "chosen_on": 40, "shown": 10, "epochs": 3, "penalties": (1.0,)}
    whole = alignment_moments.moments(1, 5, at=(0, 2), **options, size=400)
    short = alignment_moments.moments(1, 5, at=(0, 2), whole=False, **options, size=400)
    for name in short.data_vars:
        np.testing.assert_array_equal(short[name], whole[name].sel(moment=[0, 2]))


def test_a_changed_copy_begins_as_the_plain_run():
    options = {"early": 20, "whole": False, "size": 400}
    plain, same, changed = (
        polynomials.network(1, 5, **options),
        *(alignment_moments.perturbed(1, 5, k, **options) for k in (0, 3)),
    )
    assert plain.identical(same)
    gap = np.abs(plain.path_validation - changed.path_validation).values[1:]
    assert 0 < gap.max() < 1e-4


def test_without_sign_takes_the_signal_and_keeps_the_variance():
    v = hidden_index.published("independent").v[:2000]
    y = hidden_index.polynomial(5)(v)
    changed = alignment_moments.without_sign(v, y)
    assert abs(np.mean(np.sign(changed) * v)) < 1e-3 < abs(np.mean(np.sign(y) * v))
    assert changed.std() == pytest.approx(y.std())
    assert alignment_moments.unsigned(1, early=1, whole=False, size=400).path_aligned.shape == (2,)


def test_snapshots_between_epochs_are_those_of_the_trainer():
    task, setting = polynomials.problem("correlated", 3, 2, size=410), polynomials.COMMON
    start = polynomials.initial("correlated", 100, 512, 2)
    named = ("snapshots",)
    networks = silent_alignment.snapshots(start, task, setting, rng(*named), [0, 4, 11, 22])
    x, y = task.x[task.rows["train"]], task.y[task.rows["train"]]
    fit = ensemble.train(
        start, x, y, rngs=[rng(*named)], loss="absolute", optimiser="adadelta", rate=1.0, epochs=2, records=[1, 2]
    )
    assert len(x) == 328  # eleven steps an epoch, the last one smaller
    for network, wanted in zip((networks[0], *networks[2:]), (start, fit.snapshot(1), fit.last), strict=True):
        # Sums of single precision may be taken in another order where the compiler finds other lanes.
        np.testing.assert_allclose(network.parameters, wanted.parameters, atol=1e-6)


def test_adam_is_that_of_pytorch():
    part = cited.Part(rng("x").standard_normal((8, 5)), rng("y").choice([-1.0, 1.0], 8))
    start = cited.parameters_of(mlp.default([rng("network")], (5, 7, 1)).network(0))
    found, _, done = cited.adam(start, part, rng("order"), rate=0.01, batch=8, until=0.0, epochs=20)
    x, y = (torch.tensor(values, dtype=torch.float32) for values in part)
    W, b, a, c = tensors = [torch.tensor(p, requires_grad=True) for p in start]
    optimiser = torch.optim.Adam(tensors, lr=0.01)
    for _ in range(20):
        optimiser.zero_grad()
        ((torch.relu(x @ W.T + b) @ a[0] + c - y) ** 2).mean().backward()
        optimiser.step()
    assert done == 20
    for mine, theirs in zip(found, tensors, strict=True):
        np.testing.assert_allclose(mine, theirs.detach(), atol=1e-5)


def test_images_of_two_classes():
    parts, checksum = cited.two_classes("digits", 0, (60, 20))
    assert [part.x.shape for part in parts] == [(60, 64), (20, 64)] and set(parts[0].y) == {-1, 1}
    assert checksum == cited.two_classes("digits", 0, (60, 20))[1] != cited.two_classes("digits", 1, (60, 20))[1]


def test_the_halves_of_the_parity():
    part = parity.draw(rng("parity"), 4000, 10, 3)
    assert abs(part.uniform.mean() - 0.5) < 0.05
    np.testing.assert_array_equal(part.x[~part.uniform, 0], part.y[~part.uniform])
    assert np.abs(part.x[part.uniform].T @ part.y[part.uniform]).max() / part.uniform.sum() < 0.1


def test_the_one_step_is_the_gradient_of_a_network_that_is_zero():
    x, y = rng("x").standard_normal((40, 6)), rng("y").standard_normal(40)
    W, a = two_stage.pairs(rng("pairs"), 8, 6)
    assert np.abs(two_stage.value(([W, a[None]], [np.zeros(8), np.zeros(1)]), x)).max() < 1e-12
    tensor = torch.tensor(W, requires_grad=True)
    f = torch.relu(torch.tensor(x) @ tensor.T) @ torch.tensor(a)
    (((f - torch.tensor(y)) ** 2).mean() / 2).backward()
    np.testing.assert_allclose(two_stage.one_step(W, a, x, y), -tensor.grad, atol=1e-12)


def test_the_expected_step_follows_the_hidden_direction_for_even_targets_only():
    """The step of an odd target, without its linear part, is nothing but the sample's small even part."""
    W, a = two_stage.pairs(rng("expected"), 200, 100)
    sizes = {}
    for degree in (4, 5):
        task = polynomials.problem("independent", degree, 1)
        step = two_stage.expected_step(W, a, task) / task.y.std()
        sizes[degree] = np.linalg.norm(step)
        if degree == 4:
            pulled = (a * W.sum(axis=1)) @ step
            assert abs(pulled.sum()) / (10 * np.linalg.norm(pulled)) > 0.9
    assert sizes[5] < 0.2 * sizes[4]


def test_ridge_is_the_best_of_its_path():
    x, targets = rng("x").standard_normal((90, 6)), rng("targets").standard_normal((90, 2))
    network = mlp.default([rng("network")], (6, 20, 1), dtype=np.float64).network(0)
    rows = {"validation": np.arange(60, 75), "test": np.arange(75, 90)}
    found = two_stage.ridge(network, x, targets, np.arange(60), rows)
    kernel = layered.ntk(*network, x, x[:60])
    unit = np.trace(kernel[:60]) / 60
    for k, y in enumerate(targets.T):
        path = RidgePath(kernel[:60] / unit, y[:60]).values(kernel / unit, 60 * np.array(two_stage.PENALTIES))
        best = np.argmin(np.mean((path[60:75].T - y[60:75]) ** 2, axis=1))
        np.testing.assert_allclose(found[:, k], path[75:, best], rtol=1e-5, atol=1e-8)


def test_both_solvers_of_a_machine_agree(monkeypatch):
    """Where libsvm ends too early the interior point takes over; where it does not, both find the same function."""
    x = rng("solvers").standard_normal((120, 5))
    kernel, y = np.exp(-((x[:, None] - x) ** 2).sum(axis=-1) / 5), np.sign(x[:, 0]) + x[:, 1]
    for name, value in {"GAP": 1e-5, "TOLERANCE": 1e-7, "FREE": 1e5, "STEPS": 10_000}.items():
        monkeypatch.setattr(kernel_paths, name, value)
    patient = kernel_paths.absolute(kernel, y, 10.0)
    monkeypatch.setattr(kernel_paths, "STEPS", 2)
    hasty = kernel_paths.absolute(kernel, y, 10.0)
    assert max(patient.convergence.gap, hasty.convergence.gap) <= 1e-5
    assert patient.convergence.iterations > 1000 > hasty.convergence.iterations
    np.testing.assert_allclose(hasty.values(kernel), patient.values(kernel), atol=2e-3)
    assert hasty.intercept == pytest.approx(patient.intercept, abs=2e-3)


def test_who_leads():
    """Shapes, the null's norms, and an output layer solved as the machine on its kernel is."""
    found = who_leads.who_leads(1, 5, at=(0, 1), points=200, chosen_on=100, size=1000)
    assert found.r2.sizes == {"epoch": 2, "learner": 6, "range": 3} and np.isnan(found.C.sel(learner="network")).all()
    network = mlp.default([np.random.default_rng(0)], (100, 8, 1))
    other = who_leads.dealt(network, 0)
    np.testing.assert_array_equal(np.abs(other.weights[0]), np.abs(network.weights[0]))
    assert (other.weights[0] != network.weights[0]).any() and (other.weights[1] == network.weights[1]).all()


def test_an_output_layer_of_least_absolute_error():
    draw = np.random.default_rng(1)
    z = np.column_stack([draw.standard_normal((300, 3)), np.ones(300)])
    y = z @ [1.0, -2.0, 0.5, 3.0] + 5.0 * (draw.random(300) < 0.2)  # a fifth of the labels is far off
    w = who_leads.solved(z, y, 100.0, np.zeros(4))
    np.testing.assert_allclose(w, [1.0, -2.0, 0.5, 3.0], atol=0.02)
