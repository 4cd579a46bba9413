"""Laws of the fresh batches and of the first steps on them; each has a twin that fails on a wrong law."""

import numpy as np
import pytest
from fresh_batches import batches
from standard_errors import scores

from shallow import committee
from shallow.data.nlgp import Process, circulant
from shallow.stats import stream
from shallow.train import online


def deviation(x: np.ndarray, covariance: np.ndarray) -> float:
    """Largest distance of the covariances of samples x (m, n) at all lags from a first row, in standard errors."""
    power = np.abs(np.fft.fft(x, axis=1)) ** 2 / x.shape[1]
    lags = np.fft.ifft(power, axis=1).real[:, : x.shape[1] // 2 + 1]
    return float(np.abs(scores(lags, covariance[: lags.shape[1]])).max())


@pytest.mark.parametrize("gain", [0.01, 3.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_batches_have_the_covariance_of_their_class_and_not_that_of_another_gain(gain, dtype):
    """Batches of many blocks: fresh numbers in each, or the standard error would be too small."""
    pair, other = (tuple(Process(40, xi, g) for xi in (2.0, 1.0)) for g in (gain, 100.0))
    x = batches(pair, stream("laws", "covariance"), 10, 6000, dtype).astype(np.float64)
    for process, wrong, samples in zip(pair, other, (x[:, :3000], x[:, 3000:])):
        samples = samples.reshape(-1, 40)
        assert deviation(samples, process.covariance) < 4.5
        assert deviation(samples, wrong.covariance) > 10
        assert np.abs(samples.mean(axis=0)).max() < 5 / len(samples) ** 0.5


def test_samples_are_independent_within_a_batch_between_classes_and_between_steps():
    """The largest of many correlations of white samples; a class drawn from the other's numbers would show."""
    white = Process(40, 0.3, 3.0)  # the correlation of neighbours is 1e-5
    x = batches((white, white), stream("laws", "independence"), 2, 4000, np.float64)
    parts = np.stack([x[0, :1000], x[0, 1000:2000], x[0, 2000:3000], x[1, :1000], x[1, 2000:3000]])

    def largest(first, second):
        return np.abs(first.T @ second).max() / len(first)

    for i in range(len(parts)):
        for j in range(i):
            assert largest(parts[i], parts[j]) < 5.5 / 1000**0.5
    assert largest(parts[0], np.roll(parts[0], 1, axis=0)) < 5.5 / 1000**0.5
    assert largest(parts[0], parts[0]) > 5.5 / 1000**0.5


@pytest.mark.parametrize("loss", ["square", "absolute"])
def test_the_first_step_of_the_biases_is_that_of_the_closed_form_for_gaussian_data(loss):
    r"""From b = 0: $\Delta b_k = \frac{\eta}{2K} \sqrt{2/\pi}\,[(1 + v_1)^{-1/2} - (1 + v_0)^{-1/2}]$.

    For both losses, as the output is odd in x.  The weights do not move under the absolute one; the square loss holds
    the output itself against them.  The document prints $1/\sqrt\pi$ for
    $\sqrt{2/\pi}$, which is the twin.
    """
    pair = Process(40, 2.0, 0.0), Process(40, 1.0, 0.0)
    start = committee.start([stream("laws", "start")], 60, 40, dtype=np.float64)
    options = {"rate": 60.0, "steps": 1, "batch": 200_000, "loss": loss}
    run = online.train(start, pair, rngs=[stream("laws", "first step")], **options)
    v = [np.einsum("ki,ij,kj->k", start.W[0], circulant(p.covariance), start.W[0]) for p in pair]
    closed = (2 / np.pi) ** 0.5 * 0.5 * ((1 + v[0]) ** -0.5 - (1 + v[1]) ** -0.5)
    found = run.last.b[0]
    assert found @ closed / (closed @ closed) == pytest.approx(1, abs=0.04)
    assert np.corrcoef(found, closed)[0, 1] > 0.99
    printed = closed / 2**0.5
    assert found @ printed / (printed @ printed) > 1.3
    clear = np.abs(closed) > 2e-3
    np.testing.assert_array_equal(found[clear] < 0, (v[0] > v[1])[clear])  # a wider law of class 1: negative
    assert (np.abs(run.last.W - start.W).max() < 5 * 2 / 200_000**0.5) == (loss == "absolute")


def test_odd_neurons_learn_nothing_without_biases_and_much_with_them():
    pair = Process(40, 2.0, 3.0), Process(40, 1.0, 3.0)
    start = committee.start([stream("laws", "start"), stream("laws", "start")], 40, 40)
    bounds = np.array([[0.0], [-np.inf]]), np.array([[0.0], [np.inf]])
    rngs = [stream("laws", "batches") for _ in range(2)]
    run = online.train(start, pair, rngs=rngs, rate=20.0, steps=300, batch=400, bounds=bounds)
    without, learned = run.losses[:, -50:].mean(axis=1)
    assert without > 0.495
    assert learned < 0.44
    assert not run.last.b[0].any()
