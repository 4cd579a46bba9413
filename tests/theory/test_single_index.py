"""Gaussian moments of a teacher, the floor of an odd student, and the size of the first gradient."""

import numpy as np
import pytest
import torch
from numpy.polynomial import hermite_e

from shallow import nets
from shallow.data import single_index
from shallow.stats import stream
from shallow.train import first_layer, first_step, ridge
from shallow.train.first_layer import GD, Adam


def test_moments_of_relu_and_identity_are_the_closed_forms():
    relu, identity = single_index.moments("relu"), single_index.moments("identity")
    assert (relu.mean, relu.slope, relu.square, relu.even) == pytest.approx((1 / np.sqrt(2 * np.pi), 0.5, 0.5, 0.25))
    assert (identity.mean, identity.slope, identity.square, identity.even) == pytest.approx((0, 1, 1, 0), abs=1e-13)
    assert identity.curved == pytest.approx(0, abs=1e-13) and identity.linear_floor(0.3) == pytest.approx(0.09)


@pytest.mark.parametrize("link", single_index.LINKS)
def test_hermite_coefficients_hold_the_moments(link):
    found, coefficients = single_index.moments(link), single_index.hermite_coefficients(link, 40)
    assert coefficients[:2] == pytest.approx([found.mean, found.slope], abs=1e-13)
    kink = 0.01 if link == "relu" else 1e-6  # the tail of the series: algebraic for a kink
    assert (coefficients**2).sum() == pytest.approx(found.square, abs=kink)
    assert (coefficients[::2] ** 2).sum() == pytest.approx(found.even, abs=kink)
    assert (coefficients[1::2] ** 2).sum() == pytest.approx(found.odd, abs=kink)
    if link != "relu":
        z, weights = hermite_e.hermegauss(150)
        values = single_index.LINKS[link](z) * hermite_e.hermeval(z, [0, 0, 0, 1]) / np.sqrt(6)
        assert coefficients[3] == pytest.approx(weights @ values / np.sqrt(2 * np.pi), abs=1e-10)


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
        losses = (y - prediction) ** 2
        return abs(losses.mean() - floor) / (losses.std() / len(z) ** 0.5)

    odd = (sigma(z) - sigma(-z)) / 2
    assert score(odd, found.odd_floor(rho)) < 4.5
    assert score(found.slope * z, found.linear_floor(rho)) < 4.5 and score(0 * z, found.null_loss(rho)) < 4.5
    for factor, power in ((0.9, 1), (1.1, 1), (1, 3)):  # other odd functions do worse
        assert ((y - factor * np.sign(odd) * np.abs(odd) ** power) ** 2).mean() > found.odd_floor(rho)
    if link == "tanh":
        assert score(odd, found.linear_floor(rho)) > 4.5
    else:
        assert score(odd, rho**2) > 4.5


def test_no_read_out_of_odd_features_gets_below_the_floor():
    """With many points the ridge fit of a student reaches the floor of its teacher from above on new points."""
    for link, close in (("softplus", 0.02), ("tanh", 0.03)):
        teacher = single_index.random_teacher(stream("floor", "teacher"), 5, link=link)
        data = single_index.split(teacher, 20_000, seed=1, test=20_000)
        losses = ridge.evaluate(nets.ntk(stream("floor"), 200, 5), data.probe, data.test, [1e-3])
        floor = single_index.moments(link).odd_floor(0.3)
        assert floor - 0.02 < losses.test[0] < floor + close
    assert single_index.moments("softplus").odd_floor(0.3) - 0.09 > 0.5  # so the floor is not that of the noise


@pytest.mark.parametrize("scaling", [nets.ntk, nets.mean_field])
@pytest.mark.parametrize("link", ["softplus", "tanh", "relu"])
def test_size_of_the_first_gradient(scaling, link):
    """Within five per cent; the twins leave out the sampling noise of the gradient, and the factor of the loss."""
    n, d, h, ratios, twins, of_link = 1000, 500, 750, [], [], single_index.moments(link)
    for seed in range(3):
        teacher = single_index.random_teacher(stream("norm", seed, "teacher"), d, link=link)
        data, student = single_index.split(teacher, n, seed=seed).train, scaling(stream("norm", seed), h, d)
        (gradient,) = first_step.directions(*data, student, [GD()], factor=0.5, dtype=torch.float64).values()
        found = np.linalg.norm(gradient, 2)
        ratios.append(found / first_step.gradient_norm(student, of_link, n, noise=0.3, factor=0.5))
        twins.append(found / first_step.gradient_norm(student, of_link, 10**9, noise=0.3, factor=0.5))
        twins.append(found / first_step.gradient_norm(student, of_link, n, noise=0.3))
    assert np.mean(ratios) == pytest.approx(1, abs=0.05)
    assert all(abs(twin - 1) > 0.1 for twin in twins)


def test_first_step_of_adam_is_the_sign_of_the_gradient():
    teacher = single_index.random_teacher(stream("sign", "teacher"), 100)
    x, y = single_index.split(teacher, 200, seed=0, dtype=np.float64).train
    student = nets.ntk(stream("sign"), 150, 100)
    plain, corrected, literal = GD(), Adam(), Adam(corrected=False)
    found = first_step.directions(x, y, student, [plain, corrected, literal], dtype=torch.float64)
    for rule, size in ((corrected, 1.0), (literal, np.sqrt(10))):
        assert (np.sign(found[rule]) == np.sign(found[plain])).all()
        assert np.median(np.abs(found[rule])) == pytest.approx(size, rel=1e-3)
        assert np.linalg.norm(found[rule]) < size * np.sqrt(student.W.size)
    smallest = np.abs(found[plain]).min()  # epsilon counts where the gradient is not far above it
    assert np.abs(found[corrected]).min() == pytest.approx(smallest / (smallest + 1e-8), rel=1e-6)


def test_bias_correction_changes_the_step_by_a_factor_that_depends_on_time():
    """For gradients far above eps it is (1 - beta1^t) / sqrt(1 - beta2^t); no constant factor will do."""
    rng, W = np.random.default_rng(0), torch.zeros(4, 5, dtype=torch.float64)
    corrected, literal = Adam(), Adam(corrected=False)
    states, ratios = [rule.start(W) for rule in (corrected, literal)], {}
    for t in range(1, 1001):
        gradient = torch.tensor(rng.uniform(1, 2, (4, 5)))
        steps = [rule.direction(gradient.clone(), s, t) for rule, s in zip((corrected, literal), states, strict=True)]
        ratios[t] = steps[1] / steps[0]
        assert ratios[t].numpy() == pytest.approx((1 - 0.9**t) / (1 - 0.999**t) ** 0.5, rel=1e-6)
    assert [round(float(ratios[t].mean()), 2) for t in (1, 2, 5, 10, 100, 1000)] == [3.16, 4.25, 5.80, 6.53, 3.24, 1.26]


def test_students_are_odd_and_of_the_intended_size():
    rng = stream("student")
    x = rng.standard_normal((2000, 200))
    tanh = single_index.moments("tanh")
    for scaling, size in ((nets.ntk, tanh.square), (nets.mean_field, tanh.square / 300)):
        outputs = np.array([scaling(stream("student", seed), 300, 200).forward(x) for seed in range(20)])
        assert np.mean(outputs**2) == pytest.approx(size, rel=0.1)
        student = scaling(stream("student", 0), 300, 200)
        assert np.abs(student.forward(-x) + student.forward(x)).max() < 1e-13
        assert np.std(student.scale * x @ student.W.T) == pytest.approx(1, abs=0.01)
    one, other = (scaling(stream("student", 0), 30, 20) for scaling in (nets.ntk, nets.mean_field))
    assert np.abs(one.forward(x[:, :20]) - 30**0.5 * other.forward(x[:, :20])).max() < 1e-13


def test_descent_lowers_the_loss_and_aligns_with_the_teacher():
    """At a step above the threshold the first singular vector turns to the teacher, at a small one it does not."""
    teacher = single_index.random_teacher(stream("align", "teacher"), 200)
    data, student = single_index.split(teacher, 800, seed=0), nets.ntk(stream("align"), 300, 200)
    norm = first_step.gradient_norm(student, single_index.moments("softplus"), 800, noise=0.3)
    threshold = (300 * 200) ** 0.25 / norm
    rates = [0.1 * threshold, 4 * threshold]
    steps = first_step.students(*data.train, student, [GD()], rates, dtype=torch.float64)
    found = {rate: ridge.similarity(moved.W, teacher.directions) for _, rate, moved in steps}
    assert found[4 * threshold] > 0.4 > 0.25 > found[0.1 * threshold]
    run = first_layer.train(*data.train, student, GD(), rate=1.0, steps=20, dtype=torch.float64)
    assert (np.diff(run.loss) < 0).all()
