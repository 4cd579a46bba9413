"""Laws of receptive fields: noise levels, uniform centres, losses at the start, and the flow of biases and weights."""

import numpy as np
import pytest
from scipy.special import erf

from experiments.localization import gaussian_flow, populations, starting_loss
from shallow import stats
from shallow.data import nlgp
from shallow.receptive import fields

PIXELS = 40


def classes(gain, normalisation="unit"):
    return [nlgp.Process(PIXELS, xi, gain, normalisation) for xi in (2.0, 1.0)]


def covariances(gain=0.0):
    return [nlgp.circulant(process.covariance) for process in classes(gain)]


def weights(rng, neurons):
    return rng.standard_normal((neurons, PIXELS)) * (2 / (PIXELS + neurons)) ** 0.5


# Noise.


@pytest.mark.parametrize("shape, cut", [((40,), np.inf), ((40,), 5), ((6, 5), np.inf), ((6, 5), 1.5)])
def test_localisation_of_noise(shape, cut):
    """Mean and deviation over random fields; the values without the constraint of the norm are wrong."""
    W = stats.stream("test noise level", *shape, cut).standard_normal((10_000, *shape))
    found = fields.inverse_participation_ratio(fields.low_pass(W, cut, len(shape)), len(shape))
    law = fields.noise_level(shape, cut)
    assert found.mean() == pytest.approx(law.mean, abs=4 * law.deviation / 100)
    assert found.std() == pytest.approx(law.deviation, rel=0.06)
    assert found.mean() != pytest.approx(3 / found[0].size / np.prod(shape), abs=4 * law.deviation / 100)
    assert fields.noise_level(shape, 0) == pytest.approx((1 / np.prod(shape), 0), abs=1e-8)  # constants


def test_frequencies_of_noise():
    W = stats.stream("test noise frequency").standard_normal((10_000, PIXELS))
    assert fields.mean_frequency(W).mean() == pytest.approx(PIXELS / 4, abs=0.05)
    assert fields.low_share(W, 2).mean() == pytest.approx(5 / PIXELS, abs=0.003)
    assert fields.low_share(W, 2).mean() != pytest.approx(3 / 21, abs=0.003)  # indices of rfft instead of modes


def test_uniform_centres_pass_and_clustered_ones_fail():
    rng = stats.stream("test rayleigh")
    uniform = np.array([populations.rayleigh(x, PIXELS) for x in rng.uniform(0, PIXELS, (4000, 20))])
    clustered = [populations.rayleigh(x, PIXELS) for x in rng.normal(7, PIXELS / 6, (200, 20))]
    for level in (0.01, 0.05, 0.3):
        assert (uniform < level).mean() == pytest.approx(level, abs=4 * (level / 4000) ** 0.5)
    assert np.median(clustered) < 0.01


# The loss at the start.


@pytest.mark.parametrize("activation", starting_loss.ACTIVATIONS)
@pytest.mark.parametrize("neurons", [1, 8])
@pytest.mark.parametrize("gain, normalisation", [(0.01, "unit"), (3.0, "raw"), (np.inf, "mismatched")])
def test_average_over_the_weights(activation, neurons, gain, normalisation):
    """A network drawn for every sample; twice as many neurons, or relu outputs without cross terms, are wrong."""
    rng = stats.stream("test starting loss", activation, neurons, gain)
    variance, count = 0.05, 6000
    sigma, labels = {
        "erf": (lambda h: erf(h / 2**0.5), (1, -1)),
        "relu": (lambda h: np.maximum(h, 0), (1, 0)),
    }[activation]
    errors, norms = [], []
    for process, label in zip(classes(gain, normalisation), labels):
        x = process.sample(rng, count)
        w = rng.standard_normal((count, neurons, PIXELS)) * variance**0.5
        errors.append((sigma(np.einsum("mkn,mn->mk", w, x)).mean(axis=1) - label) ** 2)
        norms.append((x**2).sum(axis=1))
    slow, error = np.mean(errors) / 2, np.hypot(*np.std(errors, axis=1)) / 4 / count**0.5
    found = starting_loss.averaged(activation, *norms, neurons=neurons, variance=variance)
    assert found.loss == pytest.approx(slow, abs=4 * error)
    assert found.error < 0.3 * error if gain < np.inf else found.error < 1e-12
    more = starting_loss.averaged(activation, *norms, neurons=2 * neurons, variance=variance)
    assert more.loss != pytest.approx(slow, abs=4 * error)
    if activation == "relu" and neurons > 1:
        cross = (1 - 1 / neurons) / (8 * np.pi) * variance * (norms[0].mean() + norms[1].mean())
        assert found.loss - cross != pytest.approx(slow, abs=4 * error)


@pytest.mark.parametrize("activation", starting_loss.ACTIVATIONS)
def test_gaussian_average_needs_no_samples(activation):
    """Against sampled norms, against networks of known loss, and below the limit of a sphere (Jensen)."""
    rng = stats.stream("test gaussian loss", activation)
    spectra, neurons, variance = [process.spectrum for process in classes(0.0)], 5, 2 / 45
    exact = starting_loss.averaged_gaussian(activation, *spectra, neurons=neurons, variance=variance)
    norms = [(process.sample(rng, 20_000) ** 2).sum(axis=1) for process in classes(0.0)]
    sampled = starting_loss.averaged(activation, *norms, neurons=neurons, variance=variance)
    assert sampled.loss == pytest.approx(exact, abs=4 * sampled.error) and sampled.error < 1e-3
    losses = [starting_loss.of_network(activation, weights(rng, neurons), *covariances()) for _ in range(1000)]
    assert np.mean(losses) == pytest.approx(exact, abs=4 * np.std(losses) / 1000**0.5)
    sphere = starting_loss.averaged(activation, PIXELS, PIXELS, neurons=neurons, variance=variance)
    if activation == "erf":
        assert exact < sphere.loss - 4 * sampled.error
    else:  # here the norm enters with a negative sign
        assert exact > sphere.loss + 4 * sampled.error
    independent = starting_loss.averaged_gaussian(
        activation, np.ones(40), np.ones(40), neurons=neurons, variance=variance
    )
    assert abs(independent - exact) > 4 * sampled.error  # the spectrum matters


def test_mean_norm_of_gaussian_data():
    """The leading order, and the exact value for independent pixels, that of the chi distribution."""
    spectrum = classes(0.0)[0].spectrum

    def mean_norm(eigenvalues):  # from the term of the loss that is linear in it
        K, n = 1, eigenvalues.sum()
        loss = starting_loss.averaged_gaussian("relu", eigenvalues, eigenvalues, neurons=K, variance=1.0)
        return (1 + n - 4 * loss) * (np.pi / 2) ** 0.5

    assert mean_norm(np.ones(2)) == pytest.approx((np.pi / 2) ** 0.5, abs=1e-9)
    assert mean_norm(np.array([3.0])) == pytest.approx((6 / np.pi) ** 0.5, abs=1e-9)
    shrunk = mean_norm(spectrum) / PIXELS**0.5
    assert shrunk == pytest.approx(1 - (spectrum**2).sum() / (4 * PIXELS**2), abs=1e-3) and shrunk < 0.99


def test_relu_loss_falls_with_the_gain_through_the_norm_alone():
    """Exactly so at unit variance: samples scaled to one norm show no change; erf hardly changes with 40 neurons."""
    rng = stats.stream("test falls")
    latent = [process.latent(rng, 20_000) for process in classes(1.0)]
    norms = {
        gain: [(process.observed(z) ** 2).sum(axis=1) for process, z in zip(classes(gain), latent)]
        for gain in (0.01, 1.0, 100.0)
    }
    relu, one, many = (
        [starting_loss.averaged(name, *norms[gain], neurons=K, variance=2 / (40 + K)).loss for gain in norms]
        for name, K in (("relu", 40), ("erf", 1), ("erf", 40))
    )
    assert relu[0] - relu[1] > 1e-4 and relu[1] - relu[2] > 1e-4 and 0.01 < 1 - relu[2] / relu[0] < 0.05
    assert np.ptp(many) < 1e-3 * many[0] < np.ptp(one) < 0.01 * one[0]
    assert relu[2] == pytest.approx(0.1344, abs=5e-4) and one[2] == pytest.approx(0.7299, abs=5e-4)


# The flow.


def test_the_derivative_of_the_activation_has_its_own_constant():
    """At v = 0 the gradient is sigma'(b)/K: sqrt(2/pi), not the 1/sqrt(pi) of equation (32)."""
    b, step = np.array([-2.0, -0.3, 0.0, 0.3, 1.0]), 1e-5
    found = gaussian_flow.mean_gradient(np.zeros((5, 3)), b, np.eye(3)).b * 5
    differences = (erf((b + step) / 2**0.5) - erf((b - step) / 2**0.5)) / (2 * step)
    assert found == pytest.approx(differences, abs=1e-8)
    assert found / 2**0.5 != pytest.approx(differences, rel=0.1)


def test_biases_move_first_and_by_the_variances():
    """From zero the weights rest; a bias becomes negative where the slow class has more variance, and is not free."""
    rng = stats.stream("test first signs")
    W, sigma = weights(rng, 200), covariances()
    start = gaussian_flow.velocity(W, np.zeros(200), *sigma)
    signs = gaussian_flow.first_signs(W, *sigma)
    assert not start.W.any() and (np.sign(start.b) == signs).all() and 0.2 < (signs > 0).mean() < 0.8
    assert (gaussian_flow.first_signs(W, *sigma[::-1]) == -signs).all()
    end = gaussian_flow.integrate(W, np.zeros(200), *sigma, [100 * 200.0])
    assert (np.sign(end.b[-1]) == signs).all()
    low = fields.mean_frequency(end.W[-1]) < PIXELS / 4
    assert low[signs < 0].mean() > 0.95 and low[signs > 0].mean() < 0.05  # specialised; at the start they are not
    assert (fields.mean_frequency(W) < PIXELS / 4)[signs < 0].mean() < 0.9


def test_flow_is_the_mean_of_training():
    """Fresh batches and a small step: the coupled flow fits, the absolute loss and a forgotten prior do not."""
    rng = stats.stream("test training")
    K, steps, rate, half = 10, 100, 2.0, 1000
    W, sigma = weights(rng, K), covariances()
    w, b = W.copy(), np.zeros(K)
    slow, fast = classes(0.0)
    for _ in range(steps):
        x, y = nlgp.minibatch(rng, slow, fast, half)
        h = x @ w.T + b
        push = ((erf(h / 2**0.5).mean(axis=1) - y)[:, None] * (2 / np.pi) ** 0.5 * np.exp(-(h**2) / 2)) / (K * len(x))
        w, b = w - rate * push.T @ x, b - rate * push.sum(axis=0)
    flow = gaussian_flow.integrate(W, np.zeros(K), *sigma, [rate * steps, 2 * rate * steps], coupled=True)
    absolute = gaussian_flow.integrate(W, np.zeros(K), *sigma, [rate * steps])

    def error(found):
        return np.linalg.norm(found - b) / np.linalg.norm(b)

    assert error(flow.b[0]) < 0.15 and error(flow.b[1]) > 0.5 and error(absolute.b[0]) > 0.2
    assert np.linalg.norm(flow.W[0] - w) < 0.15 * np.linalg.norm(w) < 0.5 * np.linalg.norm(flow.W[1] - w)


def test_loss_falls_along_its_flow():
    """And equals the loss on samples; the flow of the other loss does not have its slope."""
    rng = stats.stream("test loss falls")
    W, sigma = weights(rng, 20), covariances()
    times = np.linspace(0, 2e4, 30)
    flow = gaussian_flow.integrate(W, np.zeros(20), *sigma, times, coupled=True)
    losses = np.array([gaussian_flow.loss(w, b, *sigma) for w, b in zip(flow.W, flow.b)])
    assert (np.diff(losses) < 0).all() and losses[0] > 0.5 and losses[-1] < 0.36
    x, y = nlgp.minibatch(rng, *classes(0.0), 20_000)
    sampled = (erf((x @ flow.W[-1].T + flow.b[-1]) / 2**0.5).mean(axis=1) - y) ** 2 / 2
    assert losses[-1] == pytest.approx(sampled.mean(), abs=4 * sampled.std() / 200)
    step, w, b = 1e-3, flow.W[5], flow.b[5]
    slopes = []
    for coupled in (False, True):
        move = gaussian_flow.velocity(w, b, *sigma, coupled=coupled)
        ahead, behind = (gaussian_flow.loss(w + s * move.W, b + s * move.b, *sigma) for s in (step, -step))
        slopes.append((behind - ahead) / (2 * step) / ((move.W**2).sum() + (move.b**2).sum()))
    assert slopes[1] == pytest.approx(1, abs=1e-6) and slopes[0] != pytest.approx(1, abs=0.05)
