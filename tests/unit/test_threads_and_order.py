"""Results depend neither on the number of threads nor on the order in which replicates are drawn and computed.

Cells and compiled trainers give the same bits.  Matrix products of BLAS and PyTorch may add up in another order with
more threads: what rests on them agrees to rounding.
"""

import numpy as np
import pytest
import torch
import xarray as xr
from threadpoolctl import threadpool_info, threadpool_limits

from experiments.cyclic_labels.variance import ensembles
from shallow import committee, deep, mlp, nets
from shallow.book import records, sweep
from shallow.data import cyclic
from shallow.data.nlgp import Process
from shallow.kernels import layered, ridge
from shallow.spectra import esd, tails
from shallow.stats import stream
from shallow.train import accumulated, ensemble, first_layer, minibatch, online, univariate


@pytest.fixture
def with_threads():
    """Call a function with so many threads in BLAS, OpenMP and PyTorch; the former numbers are restored."""
    before = torch.get_num_threads()

    def call(function, threads):
        torch.set_num_threads(threads)
        with threadpool_limits(threads):
            assert {pool["num_threads"] for pool in threadpool_info()} == {threads} == {torch.get_num_threads()}
            return function()

    yield call
    torch.set_num_threads(before)


# The number of threads.


def small_fields():
    rngs = [stream("fields", r) for r in range(3)]
    pair = Process(24, 2.0, 3.0), Process(24, 1.0, 3.0)
    steps = {"rate": 5.0, "steps": 20, "batch": 200, "records": [20]}
    return online.train(committee.start(rngs, 8, 24), pair, rngs=[stream("batches", r) for r in range(3)], **steps).W


def perceptrons():
    x = stream("inputs").standard_normal((200, 7)).astype(np.float32)
    networks = mlp.default([stream("perceptrons", r) for r in range(3)], (7, 32, 32, 1))
    options = {"loss": "absolute", "optimiser": "adam", "rate": 1e-3, "epochs": 3}
    rngs = [stream("shuffles", r) for r in range(3)]
    return ensemble.train(networks, x, x[:, 0] * x[:, 1], rngs=rngs, **options).last.parameters


def lines():
    data = cyclic.sample(60, seed=0)
    return univariate.train(data.x, data.y, nets.default(data.rng, 64), step=0.01, epochs=500).outputs


def mini_batches():
    x = stream("inputs").standard_normal((300, 5))
    network = nets.small(stream("network"), 600, 5, 0.1)
    return minibatch.train(x, x[:, 0], network, rate=0.01, steps=50, rng=stream("batches")).network.W


def power_law():
    fit = tails.scan(stream("values").pareto(1.5, 3000) + 1)
    return np.array([fit.alpha, fit.xmin, fit.distance])


@pytest.mark.parametrize("routine", [small_fields, perceptrons, lines, mini_batches, power_law])
def test_threads_change_no_bit_of_a_compiled_routine(routine, with_threads):
    """Each network has one thread from beginning to end, and sums in an order of its own."""
    one, two = (with_threads(routine, threads) for threads in (1, 2))
    np.testing.assert_array_equal(one, two)


def spectrum():
    return esd.eigenvalues(stream("matrix").standard_normal((450, 300)))


def tangent_kernel():
    network = mlp.default([stream("network")], (7, 64, 64, 1)).network(0)
    return layered.ntk(*network, stream("points").standard_normal((700, 7)))


def steps_of_a_first_layer():
    x = stream("points").standard_normal((400, 100))
    student = nets.ntk(stream("student"), 150, 100)
    return first_layer.train(x, x[:, 0], student, first_layer.GD(), rate=1.0, steps=5, dtype=torch.float64).network.W


def readout():
    features = stream("features").standard_normal((500, 300))
    return ridge.Ridge(features, features[:, 0]).weights(0.1)


def gradients_of_a_deep_network():
    network = deep.vgg11(stream("vgg"), width=4).double()
    rng = stream("images")
    x, y = torch.tensor(rng.standard_normal((40, 3, 32, 32))), torch.tensor(rng.integers(10, size=40))
    accumulated.gradient(network, x, y, micro_batch=20)
    return np.concatenate([p.grad.numpy().ravel() for p in network.parameters()])


@pytest.mark.parametrize(
    "routine", [spectrum, tangent_kernel, steps_of_a_first_layer, readout, gradients_of_a_deep_network]
)
def test_threads_change_matrix_products_by_rounding_only(routine, with_threads):
    """In double precision; 1e-10 of the largest entry leaves four digits for the conditions of the problems."""
    one, two = (with_threads(routine, threads) for threads in (1, 2))
    np.testing.assert_allclose(two, one, rtol=0, atol=1e-10 * np.abs(one).max())
    assert np.ptp(one) > 0


# The order of replicates.

#: A cheap place on the grid of a record of each chapter.
PLACES = {
    "cyclic_labels/kernel/modes": {"width": 128, "step": 0.01, "design": "two_rightmost"},
    "heavy_tails/first_update/first_update_table_2": {"n": 1000},
    "simplicity_bias/concentration/deviation_dimensions": {"d": 2, "n": 1000, "kind": "linear"},
    "hidden_structure/cited/cited_kernels": {"data": "digits"},
    "localization/widths_20": {"gain": 3.0},
}


@pytest.mark.parametrize("name", PLACES)
def test_replicates_do_not_depend_on_each_other(name):
    """Three of them in turn; backwards and two at a time; and one alone: the same bits."""
    recipe = records.recipe(name)
    place = {axis: [value] for axis, value in PLACES[name].items()}
    first = list(recipe.axes[recipe.replicates])[:3]
    assert {*place, recipe.replicates} == set(recipe.axes)

    def computed(replicates, jobs):
        axes = {axis: replicates if axis == recipe.replicates else place[axis] for axis in recipe.axes}
        return sweep.grid(recipe.cell, axes, jobs=jobs, progress=False, **recipe.fixed)

    whole = computed(first, 1)
    xr.testing.assert_identical(computed(first[::-1], 2).sel({recipe.replicates: first}), whole)
    xr.testing.assert_identical(computed(first[1:2], 1), whole.sel({recipe.replicates: first[1:2]}))
    one, other = (whole.isel({recipe.replicates: r}, drop=True) for r in (0, 1))
    assert not one.identical(other)


def test_models_of_an_ensemble_are_permuted_with_their_seeds_and_a_part_is_a_part_of_the_whole():
    options, order = {"width": 32, "step": 0.01, "epochs": 200, "every": 100}, (2, 0, 3, 1)
    whole = ensembles.functions(30, models=4, **options)
    permuted = ensembles.functions(30, models=4, data_seeds=order, **options)
    xr.testing.assert_identical(permuted, whole.isel(model=list(order)))
    xr.testing.assert_identical(ensembles.functions(30, models=2, **options), whole.isel(model=[0, 1]))
    assert not np.array_equal(whole.f[:, 0], whole.f[:, 1])
