"""Gaussian moments of a teacher, the floor of an odd student, and the size of the first gradient."""

import numpy as np
import pytest
import torch
from standard_errors import scores

from experiments.heavy_tails.first_update import cells as first_update
from shallow import nets
from shallow.data import single_index
from shallow.stats import stream
from shallow.train import first_layer
from shallow.train.first_layer import GD


def test_moments_of_relu_and_identity_are_the_closed_forms():
    relu, identity = single_index.moments("relu"), single_index.moments("identity")
    assert (relu.mean, relu.slope, relu.square, relu.even) == pytest.approx((1 / np.sqrt(2 * np.pi), 0.5, 0.5, 0.25))
    assert (identity.mean, identity.slope, identity.square, identity.even) == pytest.approx((0, 1, 1, 0), abs=1e-13)
    assert identity.curved == pytest.approx(0, abs=1e-13) and identity.linear_floor(0.3) == pytest.approx(0.09)


def test_softplus_is_half_the_identity_plus_an_even_function():
    softplus, tanh = single_index.moments("softplus"), single_index.moments("tanh")
    assert (softplus.odd, softplus.slope) == pytest.approx((0.25, 0.5)) and tanh.even == 0
    assert softplus.odd_floor(0.3) == pytest.approx(softplus.linear_floor(0.3))  # its odd part is linear
    assert tanh.odd_floor(0.3) == pytest.approx(0.09) and tanh.linear_floor(0.3) > 0.11


@pytest.mark.parametrize("link", ["softplus", "tanh", "relu"])
def test_floor_of_an_odd_student_is_the_loss_of_the_odd_part(link):
    """By a million draws; the twins are the floor without the even part and the best linear predictor."""
    rho, rng = 0.3, np.random.default_rng(5)
    sigma, found = single_index.LINKS[link], single_index.moments(link)
    z = rng.standard_normal(1_000_000)
    y = sigma(z) + rho * rng.standard_normal(len(z))

    def score(prediction, floor):
        return abs(scores((y - prediction) ** 2, floor))

    odd = (sigma(z) - sigma(-z)) / 2
    assert score(odd, found.odd_floor(rho)) < 4.5
    assert score(found.slope * z, found.linear_floor(rho)) < 4.5 and score(0 * z, found.null_loss(rho)) < 4.5
    for factor, power in ((0.9, 1), (1.1, 1), (1, 3)):  # other odd functions do worse
        assert ((y - factor * np.sign(odd) * np.abs(odd) ** power) ** 2).mean() > found.odd_floor(rho)
    assert score(odd, found.linear_floor(rho) if link == "tanh" else rho**2) > 4.5


@pytest.mark.parametrize("scaling", [nets.ntk, nets.mean_field])
@pytest.mark.parametrize("link", ["softplus", "tanh", "relu"])
def test_size_of_the_first_gradient(scaling, link):
    """Within five per cent; the twins leave out the sampling noise of the gradient, and the factor of the loss."""
    n, d, h, ratios, twins, of_link = 1000, 500, 750, [], [], single_index.moments(link)
    for seed in range(3):
        teacher = single_index.random_teacher(stream("norm", seed, "teacher"), d, link=link)
        data, student = single_index.split(teacher, n, seed=seed).train, scaling(stream("norm", seed), h, d)
        (gradient,) = first_layer.directions(*data, student, [GD()], factor=0.5, dtype=torch.float64).values()
        found = np.linalg.norm(gradient, 2)
        ratios.append(found / first_update.gradient_norm(student, of_link, n, noise=0.3, factor=0.5))
        twins.append(found / first_update.gradient_norm(student, of_link, 10**9, noise=0.3, factor=0.5))
        twins.append(found / first_update.gradient_norm(student, of_link, n, noise=0.3))
    assert np.mean(ratios) == pytest.approx(1, abs=0.05)
    assert all(abs(twin - 1) > 0.1 for twin in twins)
