"""Online descent against automatic differentiation on the same batches, and the batches against the process."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from fresh_batches import batches
from hypothesis import given, settings
from hypothesis import strategies as st

from shallow import committee
from shallow.committee import Committee
from shallow.data.nlgp import Process
from shallow.stats import stream
from shallow.train import fresh_samples, online, vector_math


def pair(shape: int | tuple[int, int] = 12, gain: float = 3.0, **options) -> tuple[Process, Process]:
    return Process(shape, 2.0, gain, **options), Process(shape, 1.0, gain, **options)


def streams(count: int) -> list[np.random.Generator]:
    return [stream("online", "batches", r) for r in range(count)]


def networks(count: int, width: int, pixels: int, activation: str = "erf", dtype: type = np.float64) -> Committee:
    """Networks with weights of order one and biases, so that all parts of the gradient matter."""
    rng = stream("online", "start", width, pixels)
    W, b = rng.standard_normal((count, width, pixels)), rng.standard_normal((count, width))
    return Committee((0.5 * W).astype(dtype), b.astype(dtype), activation)


def by_autograd(start, pairs, *, rate, steps, batch, labels, loss, offset, bounds):
    """W and b of one network by torch.autograd in float64, and the losses before the steps."""
    W, b = (torch.tensor(array[0], dtype=torch.float64, requires_grad=True) for array in (start.W, start.b))
    y = torch.tensor(np.repeat(np.array(labels, float), batch // 2))
    losses = []
    for x in batches(pairs, streams(1)[0], steps, batch, np.float64):
        hidden = torch.tensor(x) @ W.T + b
        activated = torch.erf(hidden / 2**0.5) if start.activation == "erf" else torch.relu(hidden)
        residual = offset + start.readout * activated.sum(dim=1) - y
        value = 0.5 * residual.square().mean() if loss == "square" else residual.abs().mean()
        by_W, by_b = torch.autograd.grad(value, (W, b))
        with torch.no_grad():
            W -= rate * by_W
            b.copy_(torch.clamp(b - rate * by_b, *bounds))
        losses.append(value.item())
    return W.detach().numpy(), b.detach().numpy(), np.array(losses)


#: Activation, loss, labels, and a rate for one neuron at which descent is stable: rounding would grow as well.
CASES = [
    ("erf", "square", (1.0, -1.0), 0.2),
    ("erf", "absolute", (1.0, -1.0), 0.2),
    ("relu", "square", (1.0, 0.0), 0.02),
]


@pytest.mark.parametrize(("activation", "loss", "labels", "rate"), CASES)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_thirty_steps_equal_autograd_in_double_precision(activation, loss, labels, rate, data):
    """Also for widths and batches that fill no vector, several blocks, a torus, an offset, and clamped biases."""
    shape = data.draw(st.sampled_from([2, 12, 40, (4, 6)]))
    width = data.draw(st.integers(1, 9))
    start = networks(1, width, int(np.prod(shape)), activation)
    low, high = data.draw(st.sampled_from([(-np.inf, np.inf), (0.0, np.inf), (-0.3, 0.2)]))
    start = replace(start, b=np.clip(start.b, low, high))
    batch = 2 * data.draw(st.sampled_from([1, 2, 17, 300]))
    options = {"rate": rate * width, "steps": 30, "batch": batch, "labels": labels}
    options |= {"loss": loss, "offset": data.draw(st.sampled_from([0.0, 0.5])), "bounds": (low, high)}
    xi = data.draw(st.sampled_from([0.4, 0.8]))  # a ring of two points carries no longer correlations
    pairs = Process(shape, xi, 3.0), Process(shape, xi / 2, 3.0)
    run = online.train(start, pairs, rngs=streams(1), **options)
    W, b, losses = by_autograd(start, pairs, **options)
    np.testing.assert_allclose(run.last.W[0], W, rtol=0, atol=1e-11)
    np.testing.assert_allclose(run.last.b[0], b, rtol=0, atol=1e-11)
    np.testing.assert_allclose(run.losses[0], losses, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("activation", "loss", "labels", "rate"), CASES)
def test_kinks_have_no_slope(activation, loss, labels, rate):
    """Of a ReLU at 0, and of the absolute loss at an output that is the label of the first class."""
    start = Committee(np.zeros((1, 3, 12)), np.zeros((1, 3)), activation)
    options = {"rate": rate, "steps": 1, "batch": 4, "labels": labels, "loss": loss, "offset": 1.0}
    options["bounds"] = (-np.inf, np.inf)
    run = online.train(start, pair(), rngs=streams(1), **options)
    W, b, _ = by_autograd(start, pair(), **options)
    np.testing.assert_allclose(run.last.W[0], W, rtol=0, atol=1e-13)
    np.testing.assert_allclose(run.last.b[0], b, rtol=0, atol=1e-13)


def test_the_standard_network_in_single_precision_stays_with_autograd_for_two_hundred_steps():
    start = committee.start([stream("online", "standard")], 40, 40, dtype=np.float32)
    options = {"rate": 20.0, "steps": 200, "batch": 200}
    run = online.train(start, pair(40), rngs=streams(1), **options)
    W, b, _ = by_autograd(start, pair(40), labels=(1, -1), loss="square", offset=0, bounds=(None, np.inf), **options)
    assert np.abs(b).max() > 0.2  # the network has moved
    assert np.abs(run.last.W[0] - W).max() < 1e-3
    assert np.abs(run.last.b[0] - b).max() < 1e-3


PROCESSES = [
    {"gain": 0.01},
    {"gain": 3.0},
    {"gain": 100.0},
    {"gain": 0.0},
    {"gain": np.inf},
    {"gain": 3.0, "normalisation": "raw"},
    {"gain": 0.0, "normalisation": "mismatched"},
    {"gain": 0.5, "normalisation": "mismatched"},
    {"gain": 0.3, "tails": "heavy"},
    {"gain": np.inf, "tails": "heavy", "normalisation": "raw"},
    {"gain": 0.0, "tails": "heavy"},
]


@pytest.mark.parametrize("options", PROCESSES, ids=lambda o: "-".join(map(str, o.values())))
@pytest.mark.parametrize("shape", [40, (6, 5)])
def test_batches_are_what_the_process_makes_of_the_same_normal_numbers(shape, options):
    """With n points and ranks r the white numbers of a block are (r2, rows, r1), rows the samples of one class."""
    rows, classes = 20, (Process(shape, 1.1, **options), Process(shape, 0.7, **options))
    found = batches(classes, stream("same"), 1, 2 * rows, np.float64)[0]
    state = vector_math.lanes(stream("same"))
    for process, x in zip(classes, found.reshape(2, rows, -1)):
        *across, along = process.roots
        across = across[0] if across else np.ones((1, 1))
        size = rows * len(across) * len(along)
        white = np.empty(-(-size // vector_math.GROUP) * vector_math.GROUP)
        vector_math.normals(np.float64)(state, white)
        latent = np.einsum("bsa,ax,by->sxy", white[:size].reshape(len(along), rows, len(across)), across, along)
        wanted = process.observed(latent).reshape(rows, -1)
        np.testing.assert_allclose(x, wanted, rtol=1e-11, atol=1e-12)


def test_number_types_have_the_same_batches_and_blocks_of_rows_are_drawn_one_after_the_other():
    pairs, batch = pair(40), 2 * (2 * fresh_samples.BLOCK // 40 + 7)
    double, single = (batches(pairs, stream("types"), 2, batch, dtype) for dtype in (np.float64, np.float32))
    assert np.abs(double - single).max() < 2e-4  # the slope of erf(3 z) amplifies rounding
    assert len(np.unique(double.round(9).reshape(-1, 40), axis=0)) == 2 * batch  # no sample comes twice


def test_networks_side_by_side_are_those_trained_alone_bit_for_bit():
    start, rates, offsets = networks(3, 8, 12, dtype=np.float32), np.array([1.0, 4.0, 2.0]), np.array([0.5, 0.0, -0.5])
    pairs = [pair(gain=g) for g in (0.01, 3.0, np.inf)]
    low = np.where(np.arange(3)[:, None] == 1, start.b, -np.inf)
    high = np.where(np.arange(3)[:, None] == 1, start.b, np.inf)
    options = {"steps": 40, "batch": 50}
    together = online.train(
        start, pairs, rngs=streams(3), rate=rates, offset=offsets, bounds=(low, high), jobs=2, **options
    )
    for r, rng in enumerate(streams(3)):
        alone = online.train(
            start[[r]], pairs[r], rngs=[rng], rate=rates[r], offset=offsets[r], bounds=(low[r], high[r]), **options
        )
        np.testing.assert_array_equal(alone.W[0], together.W[r])
        np.testing.assert_array_equal(alone.b[0], together.b[r])
        np.testing.assert_array_equal(alone.losses[0], together.losses[r])
    np.testing.assert_array_equal(together.last.b[1], start.b[1])  # kept for ever
    assert (np.abs(together.last.b - start.b)[[0, 2]] > 0).all()


def test_records_are_the_networks_on_the_way_and_change_nothing():
    start, options = networks(1, 4, 12, dtype=np.float32), {"rate": 2.0, "steps": 30, "batch": 20}
    recorded = online.train(start, pair(), rngs=streams(1), records=[0, 1, 17, 30], **options)
    np.testing.assert_array_equal(recorded.snapshot(0).W, start.W)
    np.testing.assert_array_equal(recorded.snapshot(30).b, recorded.last.b)
    for step in (1, 17):
        short = online.train(start, pair(), rngs=streams(1), **{**options, "steps": step})
        np.testing.assert_array_equal(recorded.snapshot(step).W, short.last.W)
        np.testing.assert_array_equal(recorded.losses[:, :step], short.losses)
    unrecorded = online.train(start, pair(), rngs=streams(1), records=[30], **options)
    np.testing.assert_array_equal(unrecorded.last.W, recorded.last.W)


def test_a_pruned_network_goes_on_with_the_read_out_of_the_whole():
    """Neurons left out are the same as neurons whose weights and biases are nought and stay so."""
    start = networks(1, 6, 12)
    kept = start.pruned([0, 2, 5])
    assert kept.readout == 1 / 6
    x = batches(pair(), stream("pruned"), 1, 40, np.float64)[0]
    rest = start.pruned([1, 3, 4])
    np.testing.assert_allclose(kept.forward(x) + rest.forward(x), start.forward(x), rtol=0, atol=1e-14)
    options = {"rate": 1.0, "steps": 10, "batch": 30, "offset": 0.2}
    run = online.train(kept, pair(), rngs=streams(1), **options)
    W, b, _ = by_autograd(kept, pair(), labels=(1, -1), loss="square", bounds=(None, np.inf), **options)
    np.testing.assert_allclose(run.last.W[0], W, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.last.b[0], b, rtol=0, atol=1e-12)
    assert run.last.readout == 1 / 6
