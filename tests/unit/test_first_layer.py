"""Teachers, students and the trainer of the first layer: number types, divergence, and how samples are drawn."""

import numpy as np
import pytest
import torch

from shallow.data import single_index
from shallow.data.single_index import Teacher
from shallow.nets import Student
from shallow.stats import stream
from shallow.train import first_layer
from shallow.train.first_layer import GD, Adam
from shallow.train.run import Diverged

X, Y, STUDENT = np.ones((3, 2)), np.arange(3.0), Student(np.ones((4, 2)), np.ones(4), 1.0)
SINGLE = Student(STUDENT.W.astype(np.float32), STUDENT.a, 1.0)


def test_weights_that_are_not_finite_are_reported_with_the_step():
    at_rest = Student(0 * SINGLE.W, STUDENT.a, 1.0)
    with pytest.raises(Diverged, match="epoch 1") as caught:
        first_layer.train(1e10 * X, Y + 1, at_rest, GD(), rate=1e30, steps=3, records=[0, 1, 2])
    assert caught.value.epoch == 1


def test_input_is_not_changed_and_single_precision_is_kept():
    before = X.copy(), Y.copy(), SINGLE.W.copy()
    run = first_layer.train(X, Y, SINGLE, Adam(), rate=0.1, steps=2, normalise="after")
    for old, new in zip(before, (X, Y, SINGLE.W), strict=True):
        assert (old == new).all()
    assert run.network.W.dtype == run.network.a.dtype == SINGLE.W.dtype == np.float32
    assert run.network.features(X).dtype == run.network.forward(X).dtype == np.float32
    assert Student([[1, 2]], [1], 1).features([[0, 0]]).dtype == np.float64


@pytest.mark.parametrize(
    "call",
    [
        lambda student, **options: first_layer.Trainer(X, Y, student, GD(), **options).gradient().numpy(),
        lambda student, **options: first_layer.train(X, Y, student, GD(), rate=0.1, steps=1, **options).network.W,
        lambda student, **options: first_layer.directions(X, Y, student, [GD()], **options)[GD()],
        lambda student, **options: next(first_layer.students(X, Y, student, [GD()], [0.1], **options))[2].W,
    ],
)
def test_a_student_in_double_precision_is_not_computed_in_single_precision(call):
    said = "^dtype must be torch.float64 for a student in float64, got torch.float32"
    for options in ({}, {"dtype": torch.float32}):
        with pytest.raises(ValueError, match=said):
            call(STUDENT, **options)
    assert call(STUDENT, dtype=torch.float64).dtype == np.float64
    assert call(SINGLE).dtype == np.float32 and call(SINGLE, dtype=torch.float64).dtype == np.float64


def test_samples_of_one_seed_are_nested_and_share_their_errors():
    teacher = single_index.random_teacher(stream("nested"), 6)
    small, large = (single_index.split(teacher, n, seed=3, dtype=np.float64) for n in (10, 25))
    quiet, loud = (single_index.split(teacher, 10, seed=3, noise=rho, dtype=np.float64) for rho in (0.0, 0.6))
    for part in ("train", "probe"):
        assert (getattr(large, part).x[:10] == getattr(small, part).x).all()
        assert (getattr(large, part).y[:10] == getattr(small, part).y).all()
    assert (large.test.x == small.test.x).all() and small.test.x.shape == (200, 6)
    assert (quiet.train.y == teacher(quiet.train.x)).all()
    assert np.abs((loud.train.y - quiet.train.y) - 2 * (small.train.y - quiet.train.y)).max() < 1e-14
    rounded = single_index.split(teacher, 10, seed=3)
    assert rounded.train.x.dtype == rounded.train.y.dtype == np.float32
    assert (rounded.train.y == small.train.y.astype(np.float32)).all()
    parts = [*small, *single_index.split(teacher, 10, seed=4, dtype=np.float64)]
    assert len({float(part.x[0, 0]) for part in parts}) == len({float(part.y[0]) for part in parts}) == 6


def test_teachers_of_several_directions():
    for seed in range(8):
        one, three = (single_index.random_teacher(stream("several", seed), 8, indices=k) for k in (1, 3))
        drawn = stream("several", seed).standard_normal((3, 8))
        assert np.abs(one.directions[0] - drawn[0] / np.linalg.norm(drawn[0])).max() < 1e-14
        assert np.abs(one.directions[0] - three.directions[0]).max() < 1e-14
        assert np.abs(three.directions @ three.directions.T - np.eye(3)).max() < 1e-14
        assert (np.einsum("kd,kd->k", three.directions, drawn) > 0).all()
    x = np.random.default_rng(0).standard_normal((5, 8))
    z = x @ three.directions.T
    assert three(x) == pytest.approx(np.log1p(np.exp(z)).sum(axis=1))
    product = Teacher(three.directions[:2], "identity", "product")
    assert product(x) == pytest.approx(z[:, 0] * z[:, 1])
