"""Weight decay under several rules: the laws of a weight alone, and PyTorch's training beside the library's."""

import numpy as np
import pytest

from experiments.hidden_structure import polynomials
from experiments.hidden_structure.cited import silent_alignment
from experiments.hidden_structure.degrees import decay_optimisers, weight_decay
from experiments.hidden_structure.theory import proofs_decay
from shallow import stats


def rng(*names):
    return stats.stream("tests", "hs decay optimisers", *names)


def after(rule, decay, steps, weights=None):
    """Weights alone after the steps, and after one more."""
    start = rng("start").uniform(-0.1, 0.1, 30) if weights is None else weights
    last = [w.copy() for w in decay_optimisers.alone(rule, start, steps + 1, decay)][-2:]
    return last[0], last[1]


def test_adadelta_alone_is_the_librarys():
    start = rng("own").uniform(-0.1, 0.1, 20)
    own, _ = weight_decay.alone(start, 50, 10)
    np.testing.assert_allclose(after("AdaDelta", 10, 50, start)[0], own, rtol=1e-6)


@pytest.mark.parametrize("decay", [1e-3, 1.0])
def test_rmsprop_rests_in_its_cycle(decay):
    now, then = after("RMSprop", decay, 4000)
    np.testing.assert_allclose(np.abs(now), decay_optimisers.resting("RMSprop", decay), rtol=1e-6)
    np.testing.assert_allclose(then, -now)


@pytest.mark.parametrize(
    ("rule", "factor", "steps"),
    [("AdaDelta", 1.1, 3000), ("RMSprop", 1.1, 20000), ("Adam", 1.15, 30000), ("SGD", 1.05, 500), ("AdamW", 1.05, 500)],
)
def test_weights_leave_zero_beyond_the_edge_and_not_below(rule, factor, steps):
    edge, start = decay_optimisers.EDGES[rule], 1e-3 * np.array([-1.0, 0.7])
    below, beyond = (np.abs(after(rule, decay, steps, start)[0]) for decay in (edge / factor, edge * factor))
    assert below.max() < 1e-9 and beyond.max() > max(1e-9, 10 * below.max())


def test_adams_cycle_repels_and_rmsprops_attracts():
    assert decay_optimisers.multipliers(0.9, 0.999)[-1] > 1.04
    assert decay_optimisers.multipliers(0.0, 0.99)[-1] == pytest.approx(0.99**0.5)


def test_ratios_are_the_map_of_the_proofs():
    state = proofs_decay.State(1.7, 0.4, 0.2)
    now = decay_optimisers.ratios(*map(np.array, state), product=3.0, keep=0.8)
    for _ in range(3):
        k = float(now.half)
        assert np.sign(decay_optimisers.later(now, 3.0, 0.8).half - k) == np.sign(
            4 * k * (1 - k) * np.exp(now.share) + (2.25 / k**2 - 1) * now.floor
        )
        state, now = proofs_decay.moved(state, 3.0, 1.0, 0.8), decay_optimisers.later(now, 3.0, 0.8)
        np.testing.assert_allclose(now, decay_optimisers.ratios(*map(np.array, state), product=3.0, keep=0.8))


def test_weights_arrive_beyond_the_edge_only():
    beyond, below = (decay_optimisers.arrival(product, 0.7, starts=50) for product in (3.0, 1.5))
    assert (beyond.arrived == 1).all() and (beyond.zero == 0).all() and (beyond["last"] >= beyond["median"]).all()
    assert float(below.zero.sel(means="zero")) == 1


@pytest.mark.parametrize("keep", [0.5, 0.95])
def test_the_growth_has_no_memory_in_it(keep):
    assert decay_optimisers.grown(4.0, keep) == pytest.approx(1, abs=0.01)
    with pytest.raises(ValueError, match="product must be in"):
        decay_optimisers.grown(2.0, keep)


def test_adadelta_in_torch_trains_as_the_library():
    task = polynomials.problem("independent", 8, 1, size=2000)
    setting = polynomials.Setting(64, 1.0, 10.0)
    start = polynomials.initial("independent", 100, 64, 1)
    (own,) = silent_alignment.snapshots(start, task, setting, rng("batches"), [30])
    path = decay_optimisers.trained("AdaDelta", start, task, 10.0, rng("batches"))
    for _ in range(30):
        now = next(path)
    np.testing.assert_allclose(now.parameters, own.parameters, atol=1e-4)
    assert np.abs(own.parameters - start.parameters).max() > 0.05


def test_a_network_flips_under_a_coupled_decay_and_not_under_a_decoupled_one():
    coupled, decoupled = (decay_optimisers.network(1, rule, 10.0, epochs=4, size=4000) for rule in ("RMSprop", "AdamW"))
    assert (coupled.flips > 0.9).all() and (decoupled.flips < 0.1).all()
    np.testing.assert_allclose(coupled["size"], decay_optimisers.resting("RMSprop", 10), rtol=0.2)
    gone = decay_optimisers.network(1, "AdaDelta, decoupled", 3.0, epochs=4, size=4000)
    assert np.isinf(gone["size"]).all() and np.isnan(gone.r2)


def test_rules_have_names():
    with pytest.raises(ValueError, match="rule must be one of RMSprop, Adam: 'SGD'"):
        decay_optimisers.resting("SGD", 1.0)
    with pytest.raises(ValueError, match="rule must be one of AdaDelta"):
        next(decay_optimisers.alone("adam", np.ones(2), 1, 1.0))
