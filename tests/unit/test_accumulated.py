"""Bad input to the trainer of deep networks, and what becomes of its checkpoint when writing or reading fails."""

import os

import numpy as np
import pytest
import torch

from shallow import deep, stats
from shallow.train import accumulated
from shallow.train.univariate import Diverged

RNG = stats.stream("accumulated", "unit")
NETWORK = deep.resnet18(RNG, 3, in_channels=1, width=2)
X, Y = RNG.normal(size=(4, 1, 8, 8)), np.array([0, 1, 2, 1])


def train(**change):
    options = dict(x=X, y=Y, network=NETWORK, steps=2, micro_batch=2) | change
    return accumulated.train(options.pop("x"), options.pop("y"), options.pop("network"), **options)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("x", X[0]),
        ("x", X[:0]),
        ("x", X.astype(int)),
        ("x", np.full_like(X, np.nan)),
        ("y", Y[:3]),
        ("y", Y.astype(float)),
        ("y", Y - 1),
        ("network", torch.nn.Sequential(torch.nn.BatchNorm2d(1), torch.nn.Flatten(), torch.nn.Linear(64, 3))),
        ("step", 0.0),
        ("step", np.inf),
        ("steps", 0),
        ("steps", 2.0),
        ("micro_batch", 0),
        ("records", []),
        ("records", [0, 3]),
        ("records", [1, 0]),
        ("records", [0.5]),
    ],
)
def test_bad_input_names_the_argument(argument, value):
    with pytest.raises(ValueError, match=f"^{argument} must"):
        train(**{argument: value})


def test_divergence_is_told_with_its_step():
    with pytest.raises(Diverged) as caught:
        train(step=1e30, steps=10, network=deep.resnet18(RNG, 3, in_channels=1, width=2, batch_norm=False))
    assert caught.value.epoch >= 1


@pytest.mark.parametrize(
    "change", [{"step": 0.02}, {"steps": 3}, {"micro_batch": 4}, {"x": 2 * X}, {"y": Y[::-1]}, {"records": [2]}]
)
def test_checkpoint_of_another_run_is_refused(tmp_path, change):
    path = tmp_path / "run.pt"
    train(checkpoint=path)
    with pytest.raises(ValueError, match=r"checkpoint .*run\.pt belongs to another run"):
        train(checkpoint=path, **change)


@pytest.mark.parametrize("content", [b"", b"something else", None])
def test_broken_checkpoint_is_named(tmp_path, content):
    path = tmp_path / "run.pt"
    train(checkpoint=path)
    path.write_bytes(path.read_bytes()[:1000] if content is None else content)
    with pytest.raises(ValueError, match=r"checkpoint must .*run\.pt"):
        train(checkpoint=path)


@pytest.mark.parametrize("where", ["torch.save", "os.replace"])
def test_failure_while_writing_leaves_the_last_checkpoint_whole(tmp_path, monkeypatch, where):
    path, calls = tmp_path / "run.pt", []
    original = {"torch.save": torch.save, "os.replace": os.replace}[where]

    def fails_at_the_second(content, target):
        calls.append(target)
        if len(calls) != 2:
            return original(content, target)
        if where == "torch.save":
            target.write_bytes(b"half of it")
        raise OSError("no space left on device")

    monkeypatch.setattr(where, fails_at_the_second)
    with pytest.raises(OSError, match="no space"):
        train(checkpoint=path)
    assert list(tmp_path.iterdir()) == [path]
    resumed = train(checkpoint=path)
    assert len(calls) == 3  # the first step was not done again
    assert np.array_equal(resumed.loss, train().loss)


def test_progress_line_counts_images(capfd):
    train(progress=True)
    assert "8/8" in capfd.readouterr().err
    train(progress=False)
    assert capfd.readouterr().err == ""
