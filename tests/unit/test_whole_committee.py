"""Committee machines that learn their output: against the fast trainer, against differences of the loss."""

import numpy as np
import pytest

from shallow import committee
from shallow.data.nlgp import Process
from shallow.stats import stream
from shallow.train import online, whole_committee
from shallow.train.whole_committee import Machine, Rates

PAIR = Process(12, 2.0, 3.0), Process(12, 1.0, 3.0)
START = committee.start([stream("a")], 4, 12)
GOOD = {"processes": PAIR, "rates": Rates(1.0, 1.0), "steps": [3], "batch": 10}


def machine(**change) -> Machine:
    return Machine(**{"W": START.W[0], "b": START.b[0], "a": np.ones(4, np.float32)} | change)


def train(one: Machine, **change):
    return whole_committee.train(one, **{"rng": stream("batches"), **GOOD, **change})


@pytest.mark.parametrize("batch", [10, 2000])  # in one block, and in several
def test_with_a_fixed_output_it_is_the_fast_trainer(batch):
    slow = train(machine(), batch=batch, steps=[2, 20])
    fast = online.train(START, PAIR, rngs=[stream("batches")], rate=1.0, steps=20, batch=batch, records=[2, 20])
    for one, step in zip(slow, (2, 20), strict=True):
        np.testing.assert_allclose(one.W, fast.snapshot(step).W[0], atol=2e-6)
        np.testing.assert_allclose(one.b, fast.snapshot(step).b[0], atol=2e-6)
    x = PAIR[0].sample(np.random.default_rng(0), 50, np.float32)
    np.testing.assert_allclose(slow[-1].forward(x), fast.last.forward(x)[0], atol=1e-5)


@pytest.mark.parametrize("activation", ["erf", "logistic"])
def test_a_step_goes_down_the_differences_of_the_loss(activation):
    """Every group of parameters, by central differences, on the batch of the first step."""
    rng = np.random.default_rng(1)
    one = Machine(rng.normal(size=(4, 12)), rng.normal(size=4), rng.normal(size=4), 0.3, activation)
    rates, labels = Rates(0.5, 0.25, 2.0, 0.125), (1.0, 0.0)
    seen = {}
    moved = whole_committee._moved

    def watched(now, kind, x, y, *rest):
        seen.setdefault("batch", (x.copy(), y.copy()))
        return moved(now, kind, x, y, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whole_committee, "_moved", watched)
        (after,) = train(one, rates=rates, steps=[1], labels=labels)
    x, y = seen["batch"]
    assert set(y) == {0.0, 1.0} and y[:5].all()

    def loss(**change) -> float:
        other = Machine(**{"W": one.W, "b": one.b, "a": one.a, "c": one.c, "activation": activation} | change)
        return float(np.mean((other.forward(x) - y) ** 2) / 2)

    def slope(name: str, place: tuple) -> float:
        up, down = (np.array(getattr(one, name), float) for _ in range(2))
        up[place] += 1e-5
        down[place] -= 1e-5
        return (loss(**{name: up}) - loss(**{name: down})) / 2e-5

    for name, place in (("W", (2, 5)), ("b", (1,)), ("a", (3,)), ("c", ())):
        step = (np.array(getattr(after, name)) - np.array(getattr(one, name)))[place]
        assert step == pytest.approx(-getattr(rates, name) * slope(name, place), rel=1e-5), name


def test_groups_without_a_rate_and_neurons_without_a_readout_stay():
    one = machine(a=np.array([2, 0, 1, 1], np.float32))
    (after,) = train(one, rates=Rates(1.0, 1.0), steps=[20])
    assert after.c == 0 and (after.a == one.a).all()
    assert (after.W[1] == one.W[1]).all() and after.b[1] == 0 and after.b[0] != 0


def test_bounds_hold_and_a_constant_takes_the_mean_away():
    up = train(machine(), rates=Rates(1.0, 1.0), steps=[100], bounds=(0.0, np.inf))[-1]
    assert (up.b >= 0).all() and (up.b > 0).any()
    shifted = train(machine(c=0.5), rates=Rates(0.0, 0.0, c=0.5), steps=[60], batch=200)[-1]
    assert abs(shifted.c) < 0.1
