"""Bad input to teachers, students, the trainer of the first layer and the read-out; and how samples are drawn."""

import numpy as np
import pytest
import torch

from shallow import nets
from shallow.data import single_index
from shallow.data.single_index import Teacher
from shallow.nets import Student
from shallow.stats import stream
from shallow.train import first_layer, first_step
from shallow.train.first_layer import GD, Adam
from shallow.train.run import Diverged

X, Y, STUDENT = np.ones((3, 2)), np.arange(3.0), Student(np.ones((4, 2)), np.ones(4), 1.0)
SINGLE = Student(STUDENT.W.astype(np.float32), STUDENT.a, 1.0)
TEACHER = Teacher(np.eye(3)[0])


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    "argument, call",
    [
        ("directions", lambda: Teacher(np.ones(3))),
        ("directions", lambda: Teacher([[1.0, 0], [0.6, 0.8]])),
        ("directions", lambda: Teacher(np.full(3, np.nan))),
        ("link", lambda: Teacher(np.eye(3)[0], "gelu")),
        ("combine", lambda: Teacher(np.eye(3)[0], "tanh", "mean")),
        ("x", lambda: TEACHER(np.ones((2, 2)))),
        ("x", lambda: TEACHER(np.ones(3))),
        ("inputs", lambda: single_index.random_teacher(rng(), 0)),
        ("indices", lambda: single_index.random_teacher(rng(), 3, indices=1.0)),
        ("indices", lambda: single_index.random_teacher(rng(), 3, indices=4)),
        ("link", lambda: single_index.random_teacher(rng(), 3, link="step")),
        ("n", lambda: single_index.split(TEACHER, 0, seed=0)),
        ("n", lambda: single_index.split(TEACHER, 2.5, seed=0)),
        ("test", lambda: single_index.split(TEACHER, 2, seed=0, test=0)),
        ("noise", lambda: single_index.split(TEACHER, 2, seed=0, noise=-0.1)),
        ("noise", lambda: single_index.split(TEACHER, 2, seed=0, noise=np.nan)),
        ("dtype", lambda: single_index.split(TEACHER, 2, seed=0, dtype=np.float16)),
        ("link", lambda: single_index.moments("sine")),
        ("link", lambda: single_index.hermite_coefficients("sine", 3)),
        ("degree", lambda: single_index.hermite_coefficients("tanh", 41)),
        ("degree", lambda: single_index.hermite_coefficients("tanh", -1)),
        ("noise", lambda: single_index.moments("tanh").odd_floor(-1.0)),
        ("W, a", lambda: Student(np.ones(4), np.ones(4), 1.0)),
        ("W, a", lambda: Student(np.ones((4, 2)), np.ones(3), 1.0)),
        ("W", lambda: Student(np.full((4, 2), np.inf), np.ones(4), 1.0)),
        ("a", lambda: Student(np.ones((4, 2)), np.full(4, np.nan), 1.0)),
        ("scale", lambda: Student(np.ones((4, 2)), np.ones(4), 0.0)),
        ("scale", lambda: STUDENT.features(X, scale=-1.0)),
        ("x", lambda: STUDENT.features(np.ones((3, 3)))),
        ("x", lambda: STUDENT.forward(np.ones(2))),
        ("width", lambda: nets.ntk(rng(), 0, 2)),
        ("inputs", lambda: nets.mean_field(rng(), 2, 0)),
        ("beta1", lambda: Adam(beta1=1.0)),
        ("beta2", lambda: Adam(beta2=-0.1)),
        ("eps", lambda: Adam(eps=-1e-8)),
        ("rates", lambda: next(first_step.students(X, Y, STUDENT, [GD()], [1.0, 0.0]))),
        ("x", lambda: first_step.directions(X[:, :1], Y, STUDENT, [GD()])),
    ],
)
def test_bad_input_is_named(argument, call):
    with pytest.raises(ValueError, match=rf"^{argument} must"):
        call()


@pytest.mark.parametrize(
    "argument, change",
    [
        ("x", {"x": X[:, :1]}),
        ("x", {"x": X[0]}),
        ("x", {"x": np.empty((0, 2)), "y": np.empty(0)}),
        ("x", {"x": np.full((3, 2), np.nan)}),
        ("y", {"y": Y[:2]}),
        ("y", {"y": np.full(3, np.inf)}),
        ("rule", {"rule": "adam"}),
        ("rate", {"rate": 0.0}),
        ("rate", {"rate": np.inf}),
        ("steps", {"steps": -1}),
        ("steps", {"steps": 1.5}),
        ("decay", {"decay": 0.0}),
        ("factor", {"factor": -1.0}),
        ("normalise", {"normalise": "always"}),
        ("records", {"records": [0, 6]}),
        ("records", {"records": [2, 1]}),
        ("records", {"records": []}),
        ("records", {"records": [0.5]}),
        ("records", {"records": 3}),
        ("dtype", {"dtype": torch.float16}),
        ("interval", {"interval": 0}),
    ],
    ids=str,
)
def test_bad_input_to_the_trainer_is_named(argument, change):
    options = {"x": X, "y": Y, "student": STUDENT, "rule": GD(), "rate": 0.1, "steps": 5} | change
    with pytest.raises(ValueError, match=rf"^{argument} must"):
        first_layer.train(**options)


def test_weights_that_are_not_finite_are_reported_with_the_step():
    with pytest.raises(Diverged, match="epoch 2") as caught:
        first_layer.train(X, Y, SINGLE, Adam(corrected=False), rate=1e38, steps=3, records=[0, 1, 2])
    assert caught.value.epoch == 2


def test_input_is_not_changed_and_single_precision_is_kept():
    before = X.copy(), Y.copy(), SINGLE.W.copy()
    run = first_layer.train(X, Y, SINGLE, Adam(), rate=0.1, steps=2, normalise="after")
    for old, new in zip(before, (X, Y, SINGLE.W), strict=True):
        assert (old == new).all()
    assert run.student.W.dtype == run.student.a.dtype == SINGLE.W.dtype == np.float32
    assert run.student.features(X).dtype == run.student.forward(X).dtype == np.float32
    assert Student([[1, 2]], [1], 1).features([[0, 0]]).dtype == np.float64


@pytest.mark.parametrize(
    "call",
    [
        lambda student, **options: first_layer.Trainer(X, Y, student, GD(), **options).gradient().numpy(),
        lambda student, **options: first_layer.train(X, Y, student, GD(), rate=0.1, steps=1, **options).student.W,
        lambda student, **options: first_step.directions(X, Y, student, [GD()], **options)[GD()],
        lambda student, **options: next(first_step.students(X, Y, student, [GD()], [0.1], **options))[2].W,
    ],
)
def test_a_student_in_double_precision_is_not_computed_in_single_precision(call):
    said = "^dtype must be torch.float64 for a student in float64, got torch.float32"
    for options in ({}, {"dtype": torch.float32}):
        with pytest.raises(ValueError, match=said):
            call(STUDENT, **options)
    assert call(STUDENT, dtype=torch.float64).dtype == np.float64
    assert call(SINGLE).dtype == np.float32 and call(SINGLE, dtype=torch.float64).dtype == np.float64


def test_progress_is_shown_when_asked_for(capsys):
    first_layer.train(X, Y, SINGLE, GD(), rate=0.1, steps=2)
    assert capsys.readouterr().err == ""
    first_layer.train(X, Y, SINGLE, GD(), rate=0.1, steps=2, progress=True)
    assert "2/2" in capsys.readouterr().err


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
    x = rng().standard_normal((5, 8))
    z = x @ three.directions.T
    assert three(x) == pytest.approx(np.log1p(np.exp(z)).sum(axis=1))
    product = Teacher(three.directions[:2], "identity", "product")
    assert product(x) == pytest.approx(z[:, 0] * z[:, 1])
