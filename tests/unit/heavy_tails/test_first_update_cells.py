"""The first update: cells against direct computation, limit laws against draws, and bad input."""

import numpy as np
import pytest
import torch

from experiments.heavy_tails import gradient_laws, teacher_student
from experiments.heavy_tails.first_update import cells as first_update
from shallow import stats
from shallow.book import sweep
from shallow.spectra import esd, rank_one


@pytest.fixture(scope="module")
def small():
    """The first update with 400 points, d = 200, h = 300, seed 0."""
    return first_update.first_update(0, 400)


@pytest.fixture(scope="module")
def slow():
    """Weights, labels and gradient (c = 1) of the same draw by automatic differentiation in float64."""
    drawn = teacher_student.draw(0, n=400, d=200, h=300)
    x, y, a = (torch.tensor(v, dtype=torch.float64) for v in (*drawn.samples.train, drawn.student.a))
    W = torch.tensor(drawn.student.W, dtype=torch.float64, requires_grad=True)
    output = a @ torch.tanh(W @ x.T / 200**0.5) / 300**0.5
    (gradient,) = torch.autograd.grad(((output - y) ** 2).mean(), W)
    return drawn, (y - output).detach().numpy(), gradient.numpy()


def test_norms_and_signs_are_those_of_the_gradient(small, slow):
    drawn, residual, G = slow
    x, y = (np.asarray(v, dtype=float) for v in drawn.samples.train)
    assert float(small.gradient) == pytest.approx(np.linalg.norm(G, 2), rel=1e-5)
    assert float(small.signs) == pytest.approx(np.linalg.norm(np.sign(G), 2), rel=1e-3)
    for reference, target in (("labels", y), ("residual", residual)):
        A = 2 * gradient_laws.SLOPE / (400 * (200 * 300) ** 0.5) * np.outer(drawn.student.a, x.T @ target)
        one = small.sel(reference=reference)
        assert float(one.differing) == pytest.approx(np.mean(np.sign(A) != np.sign(-G)), abs=1e-4)
        assert float(one.distance) == pytest.approx(np.linalg.norm(G + A, 2) / np.linalg.norm(G, 2), rel=1e-4)
        assert float(one.frobenius_distance) == pytest.approx(np.linalg.norm(G + A), rel=1e-4)
        assert float(one.smallest) == pytest.approx(np.abs(A).min(), rel=1e-2)


def test_adam_by_its_formulas(small, slow):
    G = slow[2]
    by_hand = {"code": G / (np.abs(G) + 1e-8), "text": 0.1 * 0.5 * G / (np.sqrt(0.001) * 0.5 * np.abs(G) + 1e-8)}
    for reading, D in by_hand.items():
        one, nominal = small.sel(reading=reading), 1 if reading == "code" else 0.1 / np.sqrt(0.001)
        assert float(one.frobenius) == pytest.approx(np.linalg.norm(D), rel=1e-5)
        assert float(one.spectral) == pytest.approx(np.linalg.norm(D, 2), rel=1e-5)
        assert float(one.off) == pytest.approx(np.mean(np.abs(np.abs(D) / nominal - 1) > 0.01), abs=1e-4)


def test_limits_of_the_entries_in_mean_field_scaling():
    """Shares of differing signs and the norm of the sign matrix; the twin is the law without private parts."""
    options = {"n": 400, "scaling": "mean-field", "jobs": 1, "progress": False}
    found = sweep.grid(first_update.first_update, {"seed": range(6)}, **options)
    law = gradient_laws.entries(400, 200, strength=1 / 300)
    for reference, wanted in law.differing.items():
        assert float(found.differing.sel(reference=reference).mean()) == pytest.approx(wanted, abs=0.025)
    relative = float(found.signs.mean()) / np.sqrt(200 * 300)
    assert relative == pytest.approx(law.signs, abs=0.03) and relative < 0.95


def planted(theta, overlap, tilt, h=900, d=600):
    """Largest eigenvalue after a planted update whose right vector contains the weights."""
    rng = stats.stream("test planted update", round(100 * theta))
    W, a, other, fresh = (rng.standard_normal(shape) for shape in ((h, d), h, h, d))
    u, v = at_angle(a, other, tilt), at_angle(W.T @ a, fresh, overlap)
    return esd.top(W - theta * np.outer(u, v)).s[0] ** 2


def at_angle(first, second, cosine):
    """The unit vector with that cosine to the first vector in the plane of both."""
    first = first / np.linalg.norm(first)
    second = second - second @ first * first
    return cosine * first + np.sqrt(1 - cosine**2) * second / np.linalg.norm(second)


@pytest.mark.parametrize(("overlap", "tilt"), [(0.5, 1.0), (0.5, 0.8), (0.9, 0.8), (0.0, 0.7)])
def test_an_update_that_contains_the_weights(overlap, tilt):
    """The outlier is where the effective norm puts it; the twin is the norm itself, unless the overlap is zero."""
    d = 600
    for factor in (1.6, 2.5):
        theta = factor * gradient_laws.spike_norm(900, d, overlap=overlap, tilt=tilt)
        square = gradient_laws.effective_square(theta, d, overlap=overlap, tilt=tilt)
        right, wrong = (float(rank_one.spike(norm, 900, d).eigenvalue) for norm in (np.sqrt(square), theta))
        assert planted(theta, overlap, tilt) == pytest.approx(right, rel=0.04)
        assert (overlap == 0) == (wrong == pytest.approx(right, rel=0.08))


def test_spike_norm_inverts_the_effective_norm():
    options = {"overlap": 0.5, "tilt": 0.8}
    edge = (np.sqrt(900) + np.sqrt(600)) ** 2
    for gap in (1.0, 1.05, 2.0):
        theta = gradient_laws.spike_norm(900, 600, gap=gap, **options)
        norm = np.sqrt(gradient_laws.effective_square(theta, 600, **options))
        assert float(rank_one.spike(norm, 900, 600).eigenvalue) == pytest.approx(gap * edge, rel=1e-6)
    assert gradient_laws.spike_norm(900, 600) == pytest.approx(rank_one.threshold(900, 600))


def test_bisected_spikes_are_where_the_full_spectrum_has_them(slow):
    drawn, _, G = slow
    found = first_update.spikes(0, 400, rules=["GD code", "Adam text"], rates=[1.0])
    for rule in found.rule.values:
        D, one = first_update.direction(G, *teacher_student.RULES[rule]), found.sel(rule=rule)
        rate = float(one.threshold)
        gaps = [np.divide(*esd.eigenvalues(drawn.student.W - r * D)[:2]) for r in (rate, rate / 1.02)]
        assert gaps[0] >= 1.05 > gaps[1]
        values = esd.eigenvalues(drawn.student.W - D)[:3]
        assert [float(one.ratio[0]), float(one.second[0])] == pytest.approx(values[:2] / values[1:], rel=1e-5)
