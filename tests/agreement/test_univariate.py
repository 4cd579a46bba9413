"""The fast univariate trainer against automatic differentiation, and bit for bit against a dense one in numpy."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.cyclic_labels import oracle
from experiments.cyclic_labels.settings.cells import adversarial
from shallow import nets
from shallow.data import cyclic
from shallow.nets import TwoLayer
from shallow.train import plain, prefix_sums, univariate

GRID = cyclic.grid()


@pytest.fixture(autouse=True)
def one_torch_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def largest_difference(a: TwoLayer, b: TwoLayer) -> float:
    return max(np.abs(getattr(a, name) - getattr(b, name)).max() for name in ("W", "b", "v"))


def problem(n: int, m: int, seed: int = 0):
    data = cyclic.sample(n, seed=seed)
    return data.x, data.y, nets.default(data.rng, m)


OPTIONS = {
    "plain": {},
    "agop": {"agop": 0.05},
    "decay": {"decay": 0.3},
    "agop and decay": {"agop": 0.05, "decay": 0.3},
    "mean": {"reduction": "mean"},
    "mean, agop and decay": {"reduction": "mean", "agop": 0.05, "decay": 0.3},
    "antisymmetric": {"rates": nets.ANTISYMMETRIC, "agop": 0.05, "decay": 0.3},
    "output only": {"rates": nets.OUTPUT_ONLY, "decay": 0.3},
    "three rates": {"rates": (0.3, 1.0, 0.6), "agop": 0.05, "decay": 0.3},
    "hidden only": {"rates": nets.HIDDEN_ONLY, "agop": 0.05},
    "fixed biases": {"rates": (0.3, 1.0, 0.0), "decay": 0.3},
}


@pytest.mark.parametrize("epochs", [1, 50])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_adversarial_case_is_that_of_autograd(options, epochs):
    x, y, network = adversarial()
    run = univariate.train(x, y, network, step=0.01, epochs=epochs, **options)
    slow = oracle.train(x, y, network, step=0.01, epochs=epochs, **options)
    assert largest_difference(run.network, slow) < 1e-14
    assert largest_difference(run.network, network) > 1e-4  # something moved


def rows(w: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Rows of :mod:`shallow.train.prefix_sums` by counting, for sorted x; fails when an active set is no interval."""
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        active = w[:, None] * x + b[:, None] > 0
    count, n = active.sum(axis=1), len(x)
    suffix = w >= 0
    expected = np.where(suffix[:, None], np.arange(n) >= n - count[:, None], np.arange(n) < count[:, None])
    assert (active == expected).all()
    return np.where(suffix, n - count, n + 1 + count)


def dense(x, y, network, *, step, epochs, rates=nets.ALL, agop=0.0, decay=0.0):
    """(W, b, v), outputs and slopes after `epochs` steps, for sorted x: all sums in the order of the fast trainer."""
    n, rates = len(x), np.asarray(rates)
    w, b, v = network.W[:, 0].copy(), network.b.copy(), network.v.copy()
    keep, (step_v, step_w, step_b) = 1 - step * decay * (rates > 0), step * rates
    for epoch in range(epochs + 1):
        row = rows(w, b, x)
        jumps = np.zeros((2 * n + 2, 2))
        np.add.at(jumps, row, np.stack([v * w, v * b], axis=1))
        suffixes, prefixes = np.cumsum(jumps[:n], axis=0), np.cumsum(jumps[: n + 1 : -1], axis=0)[::-1]
        slope, intercept = (suffixes + prefixes).T
        f = slope * x + intercept
        if epoch == epochs:
            return (w, b, v), f, slope
        g = np.where(1 - y * f > 0, -y, 0.0)
        sums = np.zeros((2 * n + 2, 2))
        sums[n + 2 :] = np.cumsum(np.stack([g, g * x + 2 * (agop / n) * slope], axis=1), axis=0)
        sums[: n + 1] = sums[-1] - sums[n + 1 :]
        g0, g1 = sums[row].T
        v, w, b = (
            v * keep[0] - step_v * (w * g1 + b * g0),
            w * keep[1] - step_w * v * g1,
            b * keep[2] - step_b * v * g0,
        )


@pytest.mark.parametrize("n, m, epochs", [(1, 5, 50), (7, 3, 200), (50, 128, 3000), (105, 512, 1000)])
@pytest.mark.parametrize(
    "options",
    [{}, {"agop": 1e-3}, {"decay": 1e-2}, {"rates": nets.ANTISYMMETRIC}, {"rates": nets.OUTPUT_ONLY}],
    ids=str,
)
def test_equals_the_dense_trainer_bit_for_bit(n, m, epochs, options):
    x, y, network = problem(n, m, seed=3)
    run = univariate.train(x, y, network, step=0.01, epochs=epochs, records=37, **options)
    (w, b, v), f, slope = dense(x, y, network, step=0.01, epochs=epochs, **options)
    for found, wanted in [(run.network.W[:, 0], w), (run.network.b, b), (run.network.v, v)]:
        assert (found == wanted).all()
    assert (run.outputs[-1] == f).all() and (run.slopes[-1] == slope).all()


def located(w: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    table, origin, scale = prefix_sums.locator(x)
    bins = np.array([prefix_sums.bin_of(*neuron, origin, scale) for neuron in zip(w, b, strict=True)], dtype=np.int32)
    found = np.empty(len(w), dtype=np.int32)
    jumps, values, slopes = np.empty(4 * (len(x) + 1)), np.empty(len(x)), np.empty(len(x))
    prefix_sums.outputs(np.stack([w, b, np.zeros(len(w))]), x, table, bins, found, jumps, values, slopes)
    return found


coordinate = st.floats(-1e6, 1e6) | st.sampled_from([0.0, -0.5, 0.25, 0.5, 1e-300, 5e-324])
weight = st.floats(-1e12, 1e12) | st.sampled_from([0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 2e-308, -1e-200, 1e200])


@settings(max_examples=300, deadline=None)
@given(st.lists(coordinate, min_size=1, max_size=12), st.lists(st.tuples(weight, weight), max_size=8), st.data())
def test_active_sets_are_those_of_the_predicate(x, neurons, data):
    """Also for kinks on a point or one unit in the last place beside it."""
    x = np.sort(np.array(x))
    for _ in range(4):
        w, point = data.draw(weight), data.draw(st.sampled_from(list(x)))
        neurons += [(w, b) for b in (-w * point, np.nextafter(-w * point, np.inf), np.nextafter(-w * point, -np.inf))]
    w, b = np.array(neurons).T
    assert (located(w, b, x) == rows(w, b, x)).all()


@pytest.mark.parametrize("scale", [1, 1e-40, 1e-121, 1e150])
@pytest.mark.parametrize("span, shift", [(1, 0), (1e-3, 0.5), (1e-9, 1), (1e-13, 1), (1e6, 0), (1, 1e5), (1e-200, 0)])
def test_active_sets_of_many_kinks_near_points(span, shift, scale):
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-0.5, 0.5, 200) * span + shift)
    kinks = np.repeat(x, 200) + rng.normal(size=40_000) * np.abs(x).max() * 10.0 ** rng.uniform(-18, -2, 40_000)
    w = rng.normal(size=len(kinks)) * scale
    found = located(w, -kinks * w, x)
    assert (found == rows(w, -kinks * w, x)).all()
    assert len(np.unique(found)) > 300 or np.abs(w).max() * np.abs(x).max() < 1e-300


def test_most_kinks_need_no_predicate():
    table, _, _ = prefix_sums.locator(problem(105, 1)[0])
    assert np.mean(table < 0) < 0.01


eighths = st.integers(-8, 8).map(lambda k: k / 8)


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from([1, 2, 4, 8]), st.integers(1, 5), st.booleans())
def test_problems_full_of_ties_are_exactly_those_of_autograd(data, n, m, penalised):
    """In eighths no operation rounds during two steps, so margins, kinks and points may coincide in any way."""
    x, w, b, v = (np.array(data.draw(st.lists(eighths, min_size=k, max_size=k))) for k in (n, m, m, m))
    y = np.array(data.draw(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=n, max_size=n)))
    options = {"step": 0.25, "epochs": 2, "agop": 0.5 * penalised, "decay": 0.5 * penalised}
    network = TwoLayer(w, b, v)
    run = univariate.train(x, y, network, **options)
    assert largest_difference(run.network, oracle.train(x, y, network, **options)) == 0


@pytest.mark.parametrize("n, m, step", [(20, 128, 0.01), (50, 128, 0.01), (50, 512, 0.001)])
def test_20000_epochs_are_those_of_autograd(n, m, step):
    x, y, network = problem(n, m, seed=n)
    run = univariate.train(x, y, network, step=step, epochs=20_000)
    slow = oracle.train(x, y, network, step=step, epochs=20_000)
    wanted = slow.forward(GRID)
    assert np.abs(univariate.evaluate(run.network, GRID)[0] - wanted).max() < 1e-5 * np.abs(wanted).max()


def test_mean_reduction_is_a_smaller_step_of_the_sum():
    x, y, network = problem(40, 64)
    mean = univariate.train(x, y, network, step=0.4, epochs=500, reduction="mean")
    total = univariate.train(x, y, network, step=0.4 / 40, epochs=500)
    assert largest_difference(mean.network, total.network) == 0
    assert np.allclose(mean.loss * 40, total.loss, rtol=1e-14)


def test_stopping_at_zero_loss_is_exact():
    x, y, network = problem(10, 128)
    run = univariate.train(x, y, network, step=0.01, epochs=20_000, records=1, grid=GRID)
    assert 0 < run.zero_epoch < 20_000
    before = univariate.train(x, y, network, step=0.01, epochs=run.zero_epoch, grid=GRID)
    assert run.loss[run.zero_epoch - 1] > 0 and not run.loss[run.zero_epoch :].any()
    assert (run.predictions[run.zero_epoch :] == before.predictions[-1]).all()
    assert largest_difference(run.network, before.network) == 0
    assert largest_difference(run.network, oracle.train(x, y, run.network, step=0.01, epochs=3)) == 0
    by_formulas = plain.train(x, y, run.network, step=0.01, steps=3, loss="hinge", reduction="sum").network
    assert largest_difference(run.network, by_formulas) == 0
    violated = nets.scaled(run.network, np.sqrt(0.9 / (y * run.network.forward(x)).min()))  # one margin at 0.9
    assert largest_difference(violated, oracle.train(x, y, violated, step=0.01, epochs=1)) > 1e-4
    decayed = univariate.train(x, y, run.network, step=0.01, epochs=3, decay=0.1)
    assert decayed.zero_epoch == 0 and largest_difference(decayed.network, run.network) > 1e-4


def test_a_margin_of_exactly_one_has_no_slope():
    """One neuron with f(x) = max(x, 0); at -1 the hinge is active and the neuron is not."""
    x, y, network = np.array([-1.0, 1.0]), np.ones(2), TwoLayer([1.0], [0.0], [1.0])
    run = univariate.train(x, y, network, step=0.1, epochs=2, keep_gradients=True)
    assert run.gradients.tolist() == [[-1, 0], [-1, 0]]
    rest = univariate.train(x[1:], y[1:], network, step=0.1, epochs=2, keep_gradients=True)
    assert rest.zero_epoch == 0 and not rest.gradients.any()
    by_formulas = plain.train(x[:, None], y, network, step=0.1, steps=2, loss="hinge", reduction="sum").network
    for found in (run.network, by_formulas, oracle.train(x, y, network, step=0.1, epochs=2)):
        assert largest_difference(found, network) == 0


def test_dropped_neurons_still_predict():
    """Neurons that are dead on the training set are frozen, but count between the outermost point and the border."""
    _, _, network = problem(10, 512)
    x = np.linspace(-0.3, 0.3, 10)
    y = cyclic.labels(x)
    run = univariate.train(x, y, network, step=0.01, epochs=300, records=50, grid=GRID, keep_parameters=True)
    for predictions, (w, b, v) in zip(run.predictions, run.parameters, strict=True):
        assert np.abs(predictions - TwoLayer(w, b, v).forward(GRID)).max() < 1e-12
    dead = ~(network.W * x + network.b[:, None] > 0).any(axis=1)
    assert dead.sum() > 100
    for name in ("W", "b", "v"):
        assert (getattr(run.network, name)[dead] == getattr(network, name)[dead]).all()
    pruned = TwoLayer(run.network.W[~dead], run.network.b[~dead], run.network.v[~dead])
    assert np.abs(pruned.forward(GRID) - run.predictions[-1]).max() > 1e-3
    assert np.abs(pruned.forward(x) - run.outputs[-1]).max() < 1e-12


def test_records_are_the_states_before_the_next_step():
    x, y, network = problem(30, 64, seed=2)
    run = univariate.train(
        x, y, network, step=0.01, epochs=120, records=[0, 1, 17, 120], grid=GRID, keep_parameters=True
    )
    for r, epoch in enumerate(run.epochs):
        alone = univariate.train(x, y, network, step=0.01, epochs=int(epoch), grid=GRID)
        assert (run.outputs[r] == alone.outputs[-1]).all() and (run.slopes[r] == alone.slopes[-1]).all()
        assert (run.predictions[r] == alone.predictions[-1]).all() and run.loss[r] == alone.loss[-1]
        assert (run.parameters[r] == [alone.network.W[:, 0], alone.network.b, alone.network.v]).all()
        assert run.loss[r] == pytest.approx(np.maximum(0, 1 - y * run.outputs[r]).sum(), rel=1e-13)


def test_points_are_reported_in_the_order_given():
    x, y, network = problem(30, 64)
    shuffle = np.random.default_rng(0).permutation(30)
    options = {"step": 0.01, "epochs": 50, "keep_gradients": True}
    run, shuffled = (univariate.train(x[i], y[i], network, **options) for i in (np.arange(30), shuffle))
    assert (shuffled.outputs == run.outputs[:, shuffle]).all() and (shuffled.slopes == run.slopes[:, shuffle]).all()
    assert (shuffled.gradients == run.gradients[:, shuffle]).all()


def test_gradients_and_projections_are_those_of_the_hinge():
    x, y, network = problem(20, 64)
    run = univariate.train(x, y, network, step=0.01, epochs=400, records=1, keep_gradients=True)
    assert run.gradients.dtype == np.int8 and run.gradients.shape == (400, 20)
    assert (run.gradients == np.where(1 - y * run.outputs[:-1] > 0, -y, 0)).all()
    vectors = np.linalg.qr(np.random.default_rng(0).normal(size=(20, 20)))[0]
    assert np.allclose((run.projections(vectors) ** 2).sum(axis=1), (run.gradients != 0).sum(axis=1))


@pytest.mark.parametrize("step", [5.0, 1e3])
def test_divergence_is_reported_with_its_epoch(step):
    x, y, network = problem(30, 64)
    with pytest.raises(univariate.Diverged) as caught:
        univariate.train(x, y, network, step=step, epochs=5000, agop=0.1)
    for epoch, finite in ((caught.value.epoch, False), (caught.value.epoch - 1, True)):
        with np.errstate(all="ignore"):
            _, outputs, _ = dense(x, y, network, step=step, epochs=epoch, agop=0.1)
        assert np.isfinite(outputs).all() == finite


def test_evaluation_is_the_dense_one():
    x, _, network = problem(20, 300)
    values, slopes = univariate.evaluate(network, GRID)
    active = network.W[:, 0, None] * GRID + network.b[:, None] > 0
    assert np.abs(values - network.forward(GRID)).max() < 1e-13
    assert np.abs(slopes - (network.v * network.W[:, 0]) @ active).max() < 1e-13
    assert univariate.evaluate(network, x[:1])[0] == pytest.approx(network.forward(x[:1]), abs=1e-14)
