"""Small cases of the cells behind the records on the shapes of fields and on the signs of biases."""

import numpy as np
import pytest

from experiments.localization.beginning import signs
from experiments.localization.fields import shapes, shaping


def test_cells_of_a_few_steps():
    run = shapes.grown(0, 3.0, steps=20)
    assert run.noise.max() < 1e-6
    assert float(run.cosine.isel(step=-1).min()) == pytest.approx(1)
    assert run.power.sum("k").values == pytest.approx(1)
    fine = shapes.grown(0, 3.0, finer=10, steps=10, whole=False)
    assert 0.5 < float(fine.noise.median()) < 0.9
    assert "power" not in fine
    found = shapes.fitted(0, 3.0, steps=[5])
    assert found.of.values.tolist() == ["noise", "start", "step 5"]
    assert (found.gabor >= found.bump - 1e-6).all()


def test_scaling_a_bump_changes_the_loss_and_not_the_probability():
    found = shaping.scaled(0, pairs=500, points=400)
    assert int(found.differ.sum()) == 0
    assert np.ptp(found.point.values, axis=-1).max() == 0
    assert (found.loss.isel(norm=-1) < found.loss.isel(norm=0)).all()


def test_altered_networks_of_a_few_steps():
    frozen = signs.altered(0, 3.0, "no bias", steps=[5])
    assert not frozen.b.values.any()
    given, exchanged = (signs.altered(0, 3.0, change, steps=[30]).b.values for change in ("none", "exchanged"))
    assert np.corrcoef(given.ravel(), exchanged.ravel())[0, 1] < -0.9
