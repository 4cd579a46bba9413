"""Machines at the document's moments, runs from changed starts, targets without signal, machines on frozen layers."""

import numpy as np
import pytest

from experiments.hidden_structure import hidden_index, polynomials
from experiments.hidden_structure.alignment import alignment_moments
from experiments.hidden_structure.alignment.kernel_paths import END
from experiments.hidden_structure.frozen import cells as frozen_machines

SMALL = {"size": 400}


def test_moments_hold_what_the_pictures_need():
    options = {"points": 200, "chosen_on": 40, "shown": 30, "epochs": 3, "penalties": (1e-2, 1.0)}
    found = alignment_moments.moments(1, 5, at=(0, 2), **options, **SMALL)
    assert found.moment.values.tolist() == [0, 2, END] and int(found.epochs) == 3
    assert int(found.is_test.sum()) == 40 and found.sizes["point"] == 70
    task = polynomials.problem("independent", 5, 1, **SMALL)
    rows = np.concatenate([task.rows["test"], task.rows["train"][:30]])
    np.testing.assert_array_equal(found.y, task.y[rows])
    r = np.corrcoef(found.prediction.sel(moment=END)[:40], found.final[:40])[0, 1]
    assert abs(float(found.r.sel(moment=END)) - r) < 1e-12
    np.testing.assert_array_equal(found.network_r2.sel(moment=END), found.final_r2)
    assert found.cosine.shape == (3, 256) and float(found.largest_cosine.sel(moment=0)) < 0.5


def test_moments_shortened_are_those_of_the_whole():
    options = {"points": 100, "chosen_on": 40, "shown": 10, "epochs": 3, "penalties": (1.0,)}
    whole = alignment_moments.moments(1, 5, at=(0, 2), **options, **SMALL)
    short = alignment_moments.moments(1, 5, at=(0, 2), whole=False, **options, **SMALL)
    for name in short.data_vars:
        np.testing.assert_array_equal(short[name], whole[name].sel(moment=[0, 2]))


def test_a_changed_copy_begins_as_the_plain_run():
    options = {"early": 20, "whole": False} | SMALL
    plain, same, changed = (
        polynomials.network(1, 5, **options),
        *(alignment_moments.perturbed(1, 5, k, **options) for k in (0, 3)),
    )
    assert plain.identical(same)
    gap = np.abs(plain.path_validation - changed.path_validation).values[1:]
    assert 0 < gap.max() < 1e-4


def test_without_sign_takes_the_signal_and_keeps_the_variance():
    v = hidden_index.published("independent").v[:2000]
    y = hidden_index.polynomial(5)(v)
    changed = alignment_moments.without_sign(v, y)
    assert abs(np.mean(np.sign(changed) * v)) < 1e-3 < abs(np.mean(np.sign(y) * v))
    assert changed.std() == pytest.approx(y.std())
    assert alignment_moments.unsigned(1, early=1, whole=False, **SMALL).path_aligned.shape == (2,)


def test_the_output_machine_knows_the_frozen_features_alone():
    """A polynomial that is nearly a line is fitted by random features, an even one is not."""
    line, even = (
        frozen_machines.output_machine(1, "stop-first", degree=d, penalties=(0.1, 10.0), size=1000) for d in (3, 6)
    )
    quality = [float(one.r2.sel(part="test", range="bulk")) for one in (line, even)]
    assert quality[0] > 0.8 > 0.2 > quality[1]
    assert float(line.cv) == float(line.errors.min()) and float(line.C) in (0.1, 10.0)
