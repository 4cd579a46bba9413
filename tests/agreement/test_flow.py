"""Full-batch descent by groups of neurons against torch.autograd, with and without changing patterns."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.cyclic_labels import oracle
from shallow import nets
from shallow.data import teachers
from shallow.stats import stream
from shallow.train import flow


def problem(n, d, m, *, seed=0, scale=0.1, margin=0.0):
    rng = stream("test flow", n, d, m, seed)
    x = teachers.with_margin(rng, n, d, margin, whiten=True)
    return *teachers.labelled(rng, teachers.first_axis(d), x), nets.dominated(rng, m, d, scale)


def autograd(x, y, network, step, steps):
    """Losses and networks after 0, 1, ..., `steps` steps, changed patterns, and the steps where they are clear.

    A sum of inputs may tend to zero with the loss; then rounding decides whether its neuron is active.
    """
    parameters, x, y = oracle.tensors(network), torch.tensor(x), torch.tensor(y)
    losses, W, v, patterns, close = [], [], [], [], []
    for _ in range(steps + 1):
        loss = ((oracle.forward(parameters, x) - y) ** 2).mean() / 2
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            losses.append(loss.item())
            W.append(parameters[0].numpy().copy())
            v.append(parameters[2].numpy().copy())
            inputs = (x @ parameters[0].T).numpy()
            patterns.append(inputs > 0)
            close.append(((inputs != 0) & (np.abs(inputs) < 1e-10 * np.abs(inputs).max())).any())
            for p, gradient in zip((parameters[0], parameters[2]), (gradients[0], gradients[2]), strict=True):
                p.sub_(step * gradient)
    changed = [np.count_nonzero((now != before).any(axis=0)) for before, now in zip(patterns, patterns[1:])]
    clear = [t for t in range(1, steps + 1) if not close[t - 1] and not close[t]]
    return np.array(losses), np.array(W), np.array(v), {t: c for t, c in enumerate(changed, 1) if c}, clear


def agree(given, step, steps, records=1):
    run = flow.train(*given, step=step, steps=steps, records=records)
    losses, W, v, changes, clear = autograd(*given, step, steps)
    at = run.steps
    assert np.allclose(run.loss, losses[at], rtol=1e-10, atol=1e-14)
    assert np.allclose(run.W, W[at], rtol=0, atol=1e-10 * np.abs(W).max())
    assert np.allclose(run.v, v[at], rtol=0, atol=1e-10 * np.abs(v).max())
    found = dict(zip(run.changes.tolist(), run.changed.tolist(), strict=True))
    assert {t: found.get(t) for t in clear} == {t: changes.get(t) for t in clear} != {}
    return run


def test_without_changes_of_patterns():
    """With a margin and many points the early phase is a few steps, and groups take the rest."""
    run = agree(problem(300, 3, 16, scale=1e-3, margin=0.3), 0.05, 1500, 300)
    assert run.plain < 10 and run.changes.max() < 10
    assert np.array_equal(run.network.W, run.W[-1]) and np.array_equal(run.steps, np.arange(0, 1501, 300))


@pytest.mark.parametrize("seed", [2, 6, 9])
def test_changes_are_seen_at_their_step(seed):
    """Few points with a margin: groups form, last, and break up late."""
    run = agree(problem(20, 3, 32, seed=seed, scale=1e-3, margin=0.3), 0.05, 500, 500)
    assert run.changes.max() > 100 and run.plain < 50


@settings(deadline=None, max_examples=25)
@given(
    n=st.integers(1, 25),
    d=st.integers(1, 4),
    m=st.integers(1, 12),
    scale=st.sampled_from([1e-3, 0.1, 1.0, 2.0]),
    margin=st.sampled_from([0.0, 0.3]),
    seed=st.integers(0, 20),
)
def test_any_small_problem(n, d, m, scale, margin, seed):
    """Larger scales, no margin: patterns that change at most steps, groups of one neuron, dead neurons."""
    agree(problem(n, d, m, seed=seed, scale=scale, margin=margin), 0.05, 200, 200)


def test_records_do_not_change_the_path():
    given = problem(40, 3, 8, scale=0.03, margin=0.3)
    coarse, fine = (flow.train(*given, step=0.05, steps=400, records=r) for r in (400, 37))
    assert np.allclose(coarse.network.W, fine.network.W, rtol=0, atol=1e-13)
    assert np.array_equal(coarse.changes, fine.changes) and np.array_equal(coarse.changed, fine.changed)


def test_points_at_the_origin_and_neurons_without_input_weights():
    """A zero input is active nowhere, a zero neuron moves nowhere, and groups take two thirds of the steps."""
    x, y, network = problem(30, 3, 6, scale=0.1, margin=0.3)
    x[3], network.W[2] = 0.0, 0.0
    run = agree((x, y, network), 0.05, 300, 300)
    assert not run.network.W[2].any() and run.network.v[2] == network.v[2] and run.plain < 150
