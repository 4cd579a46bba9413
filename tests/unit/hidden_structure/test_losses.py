"""Neurons under other losses: a step is PyTorch's, and the run with the absolute loss is that of the other records."""

import numpy as np
import pytest
import torch

from experiments.hidden_structure.alignment import losses
from shallow.book import records
from shallow.stats import stream

TORCH = {
    "absolute": torch.nn.L1Loss(),
    "Huber": torch.nn.HuberLoss(delta=0.7),
    "squared": lambda f, y: torch.nn.functional.mse_loss(f, y) / 2,
}


@pytest.mark.parametrize("loss", losses.SLOPES)
def test_steps_are_those_of_pytorch(loss):
    rng = stream("test losses", loss)
    theta = 0.3 * rng.standard_normal(losses.COMMON.width * 5 + 1).astype(np.float32)
    x, y = rng.standard_normal((40, 3)).astype(np.float32), rng.standard_normal(40).astype(np.float32)
    parts = [torch.tensor(part.copy(), requires_grad=True) for part in losses._parts(theta, 3)]
    optimiser = torch.optim.Adadelta(parts, lr=1.0)
    moments = np.zeros((2, len(theta)), np.float32)
    for batch in (np.arange(32), np.arange(8, 40)):
        losses._step(theta, moments, (x, y, np.float32(0.7)), batch, loss)
        W, b, a, c = parts
        optimiser.zero_grad()
        TORCH[loss](torch.relu(torch.tensor(x[batch]) @ W.T + b) @ a + c, torch.tensor(y[batch])).backward()
        optimiser.step()
    expected = np.concatenate([part.detach().numpy().ravel() for part in parts])
    np.testing.assert_allclose(theta, expected, atol=2e-6)


def test_the_absolute_loss_turns_as_the_other_records_say():
    linear = records.load("hidden_structure/alignment/no_linear_part").path_aligned.sel(linear=False)
    for run in (1, 2):
        (first, _) = losses.turning(run, "degree 5, no linear part", "absolute", 100, steps=1000).steps.values
        epoch = int(np.argmax(linear.sel(run=run).values >= losses.SHARES[0]))
        assert abs(np.ceil(first / 250) - epoch) <= 1


def test_what_is_not_offered_is_refused():
    for options in ({"target": "degree 7"}, {"loss": "hinge"}, {"inputs": 0}):
        given = {"target": "degree 6", "loss": "squared", "inputs": 10} | options
        with pytest.raises(ValueError, match=next(iter(options))):
            losses.turning(0, **given)
