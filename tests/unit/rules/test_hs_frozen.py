"""The rules on frozen first layers and on the hidden coordinate as input, on planted data."""

import numpy as np
import pytest
import xarray as xr

from experiments.hidden_structure.rules import frozen as rules
from experiments.hidden_structure.rules import runs as shares

RANGES = ["all", "bulk", "tail"]
JITTER = np.linspace(-0.01, 0.01, 10)


def fits(levels, coordinates, *, mse=1.0, jitter=JITTER, **more):
    """Runs whose r2 is a level (over some axes, before run) in every range, and mse that goes with it."""
    levels = np.asarray(levels, float)
    spread = levels[..., None] + jitter
    names = (*coordinates, "run")
    values = np.broadcast_to(spread[..., None, None], (*spread.shape, 1, 3))
    errors = np.broadcast_to((np.asarray(mse, float)[..., None] * (1 + jitter))[..., None, None], values.shape)
    dims = (*names, "part", "range")
    data = {"r2": (dims, values), "mse": (dims, errors)} | {name: (dims, one * values**0) for name, one in more.items()}
    return xr.Dataset(data, coordinates | {"run": range(len(jitter)), "part": ["test"], "range": RANGES})


DEGREES = [3, 4, 5, 6, 7]


def modes(odd=(0.99, 0.9, 0.9), even=0.0, last=None):
    """Rc by degree and mode; `last` is that of first-last at degree 5."""
    table = np.array([[odd[0]] * 3, [even] * 3, [odd[1]] * 3, [even] * 3, [odd[2]] * 3])
    if last is not None:
        table[2, 1] = last
    return fits(table, {"degree": DEGREES, "mode": list(rules.FREEZES)})


@pytest.mark.parametrize(
    ("change", "verdict", "fifth"),
    [
        ({}, "reproduced", "reproduced"),
        ({"last": 0.5}, "partly", "partly"),
        ({"last": 0.8}, "partly", "undecided"),
        ({"odd": (0.1, 0.1, 0.1), "even": 0.9}, "contradicted", "contradicted"),
        ({"odd": (0.99, 0.9, 0.0)}, "partly", "reproduced"),
        ({"even": 0.9}, "partly", "reproduced"),
    ],
)
def test_one_epoch_is_enough_for_odd_degrees(change, verdict, fifth):
    found = rules.hs_36(modes(**change))
    assert found.verdict == verdict and found.parts["degree 5"] == fifth


def given(learnt=0.9, end=0.0, spread=0.1, straight=0.2, eighteen=0.9):
    levels = [learnt] * 9 + [eighteen, end, end]
    return fits(levels, {"degree": list(range(9, 21))}, spread=spread, straight=straight)


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({}, "rrr"),
        ({"spread": 0.9, "straight": 0.99}, "rrr"),  # a line, and steep
        ({"spread": 0.9}, "rrc"),  # waves
        ({"end": 0.9}, "rrc"),
        ({"learnt": 0.2}, "crr"),
        ({"eighteen": 0.2}, "ccr"),
        ({"learnt": 0.5}, "urr"),
    ],
)
def test_given_v_up_to_18_and_then_a_line(change, parts):
    assert "".join(part[0] for part in rules.hs_38(given(**change)).parts.values()) == parts


def heights(top, degrees):
    return fits([0.95 if d <= top else 0.1 for d in degrees], {"degree": degrees})


@pytest.mark.parametrize(
    ("tops", "verdict"),
    [((18, 7, 20, 8), "reproduced"), ((10, 9, 20, 8), "contradicted"), ((18, 7, 10, 8), "undecided")],
)
def test_degrees_gained_by_knowing_v(tops, verdict):
    axes = (range(9, 21), range(3, 10), range(9, 21), range(6, 11))
    assert rules.hs_39(*(heights(top, list(axis)) for top, axis in zip(tops, axes, strict=True))).verdict == verdict


def test_the_highest_degree_and_the_highest_possible():
    levels = fits([0.95, 0.8, 0.1], {"degree": [6, 7, 8]})
    assert rules.highest(levels) == (6, 7)


def third(frozen_mse=0.02, own=0.02, tangent=0.02, gaussian=0.1, quality=0.99, last=None, width=512):
    """Degree 3: frozen runs, regular ones, tangent machines and Gaussian ones; last: cv of first-last."""
    frozen = fits(
        np.full((1, 3), quality), {"degree": [3], "mode": list(rules.FREEZES)}, mse=np.full((1, 3), frozen_mse)
    )
    frozen = frozen.assign(trainable=(("degree", "mode", "run"), np.full((1, 3, 10), width + 1)))
    regular = fits([0.999], {"degree": [3]}, mse=[0.002])
    regular = regular.assign(trainable=(("degree", "run"), np.full((1, 10), 102 * width + 1)))
    axes = {"degree": [3], "machine": ["network", "last"], "mode": list(rules.FREEZES)}
    machines = fits(np.full((1, 2, 3), quality), axes, mse=np.array([[[own] * 3, [tangent] * 3]]))
    cv = np.full((1, 2, 3, 10), tangent)
    cv[:, :, 1] = tangent if last is None else last
    free = fits(np.full((1, 2), 0.9), {"degree": [3], "machine": ["last", "gaussian"]})
    free = free.assign(cv=(("degree", "machine", "run"), np.stack([[np.full(10, 0.002), np.full(10, gaussian)]])))
    return frozen, regular, machines.assign(cv=(("degree", "machine", "mode", "run"), cv)), free


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({}, "rrrr"),
        ({"frozen_mse": 0.001}, "crrr"),
        ({"quality": 0.5}, "crrr"),
        ({"tangent": 0.06}, "rcrr"),
        ({"last": 0.2}, "rrcr"),
        ({"width": 1024}, "rrrc"),  # more than one parameter for ten points
    ],
)
def test_degree_3_with_a_frozen_first_layer(change, parts):
    assert "".join(part[0] for part in rules.hs_52(*third(**change)).parts.values()) == parts


def sixth(lost=0.6, quality=0.0, rival=0.5, tangent=0.58, r2=0.1):
    frozen = fits(np.full((1, 3), quality), {"degree": [6], "mode": list(rules.FREEZES)}, mse=np.full((1, 3), lost))
    machines = xr.Dataset({"cv": (("mode", "run"), np.full((2, 10), tangent))}, {"mode": ["stop-first", "first-last"]})
    gaussian = fits([r2], {"degree": [6]}, mse=[rival], spread=0.3)
    gaussian = gaussian.assign(cv=(("degree", "run"), rival + JITTER[None]))
    return frozen, fits([0.98], {"degree": [6]}, mse=[0.01]), machines.assign_coords(run=range(10)), gaussian


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({}, "rrr"),
        ({"lost": 0.05, "rival": 0.04}, "crr"),
        ({"quality": 0.5}, "crr"),
        ({"tangent": 0.4}, "rcr"),
        ({"rival": 0.7}, "rcr"),
        ({"r2": 0.6}, "rrc"),
        ({"tangent": 0.5}, "rur"),
    ],
)
def test_degree_6_with_a_frozen_first_layer(change, parts):
    assert "".join(part[0] for part in rules.hs_53(*sixth(**change)).parts.values()) == parts


WARMUPS = [0, 1, 2, 3, 5, 8, 12, 20]


def warmed(three=(0.1, 0.99), when=5, cause=True):
    """Rc by degree and warm-up: degree 6 fits from an epoch on, with its alignment or without."""
    after = np.array(WARMUPS) >= when
    levels = np.array([[three[0]] + [three[1]] * 7, np.where(after, 0.9, 0.0)])
    runs = fits(levels, {"degree": [3, 6], "warmup": WARMUPS}, mse=1.0 - levels)
    epoch = np.arange(21)
    aligned = (epoch / 100 * cause)[:, None] + 0.001 * (JITTER if cause else np.sin(7 * JITTER * 100))
    values = np.broadcast_to(aligned, (2, len(WARMUPS), 21, 10))
    return runs.assign(path_aligned=(("degree", "warmup", "epoch", "run"), values), epoch=epoch)


@pytest.mark.parametrize(
    ("change", "sixth_part", "third_part"),
    [
        ({}, "reproduced", "reproduced"),
        ({"three": (0.98, 0.99)}, "reproduced", "contradicted"),
        ({"when": 30}, "contradicted", "reproduced"),
        ({"when": 0}, "contradicted", "reproduced"),
        ({"cause": False}, "contradicted", "reproduced"),
    ],
)
def test_alignment_at_the_freeze_decides(change, sixth_part, third_part):
    assert rules.hs_54(warmed(**change)).parts == {"degree 6": sixth_part, "degree 3": third_part}


def test_shares_of_runs_are_compared_with_one_half():
    assert shares.most(np.arange(10) < 9) is True and shares.most(np.arange(10) < 1) is False
    assert shares.most(np.arange(10) < 7) is None and shares.count(np.arange(10) < 7) == "7 of 10"


def test_first_epochs_and_their_middle():
    path = xr.DataArray([[0.0, 0.1, 0.3], [0.0, 0.0, 0.01]], dims=("run", "epoch"), coords={"epoch": [0, 1, 4]})
    assert shares.first_epoch(path, 0.2).values.tolist() == [4, shares.NEVER]
    assert shares.middle([1, 2, shares.NEVER]) == "2 (1 to never)"
