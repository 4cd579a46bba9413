"""The rules on frozen first layers and on the hidden coordinate as input, on planted data."""

import numpy as np
from planted.records import table, verdicts

from experiments.hidden_structure.frozen import cells, rules

JITTER = np.linspace(-0.01, 0.01, 10)
DEGREES, FREEZES, WARMUPS = [3, 4, 5, 6, 7], list(rules.FREEZES), [0, 1, 2, 3, 5, 8, 12, 20]


def fits(levels, coordinates, *, mse=1.0, **more):
    """Ten runs whose r2 is a level (over some axes, before run) in every range, and mse that goes with it."""
    axes = coordinates | {"run": range(10), "part": ["test"], "range": ["all", "bulk", "tail"]}
    r2 = (np.asarray(levels, float)[..., None] + JITTER)[..., None, None]
    return table(axes, r2=r2, mse=(np.asarray(mse, float)[..., None] * (1 + JITTER))[..., None, None], **more)


def modes(odd=(0.99, 0.9, 0.9), even=0.0, last=None):
    """Rc by degree and mode; `last` is that of first-last at degree 5."""
    levels = np.array([[odd[0]] * 3, [even] * 3, [odd[1]] * 3, [even] * 3, [odd[2]] * 3])
    if last is not None:
        levels[2, 1] = last
    return fits(levels, {"degree": DEGREES, "mode": FREEZES})


test_one_epoch_is_enough_for_odd_degrees = verdicts(
    rules.hs_36,
    modes,
    rrrr=[{}],
    rprr=[{"last": 0.5}],
    rurr=[{"last": 0.8}],
    rrcr=[{"odd": (0.99, 0.9, 0.0)}],
    rrrc=[{"even": 0.9}],
    cccc=[{"odd": (0.1, 0.1, 0.1), "even": 0.9}],
)


def given(learnt=0.9, end=0.0, spread=0.1, straight=0.2, eighteen=0.9):
    levels = [learnt] * 9 + [eighteen, end, end]
    return fits(levels, {"degree": list(range(9, 21))}, spread=spread, straight=straight)


test_given_v_up_to_18_and_then_a_line = verdicts(
    rules.hs_38,
    given,
    rrr=[{"spread": 0.05}, {"spread": 0.9, "straight": 0.99}],  # also a line that is steep
    rrc=[{"spread": 0.2}, {"spread": 0.9}, {"end": 0.9, "spread": 0.05}],  # small waves; waves; a fit
    crr=[{"learnt": 0.2, "spread": 0.05}],
    ccr=[{"eighteen": 0.2, "spread": 0.05}],
    urr=[{"learnt": 0.5, "spread": 0.05}],
)


def heights(*tops):
    axes = zip(tops, (range(9, 21), range(3, 10), range(9, 21), range(6, 11)), strict=True)
    return tuple(fits([0.95 if d <= top else 0.1 for d in degrees], {"degree": degrees}) for top, degrees in axes)


test_degrees_gained_by_knowing_v = verdicts(
    rules.hs_39, heights, reproduced=[(18, 7, 20, 8)], contradicted=[(10, 9, 20, 8)], undecided=[(18, 7, 10, 8)]
)


def test_the_highest_degree_and_the_highest_possible():
    levels = fits([0.95, 0.8, 0.1], {"degree": [6, 7, 8]})
    assert rules.highest(levels, fit=0.8, majority=0.5) == (6, 7)


def third(frozen_mse=0.02, own=0.02, tangent=0.02, gaussian=0.1, quality=0.99, last=None, width=512):
    """Degree 3: frozen runs, regular ones, tangent machines and Gaussian ones; last: cv of first-last."""
    three = {"degree": [3]}
    frozen = fits(np.full((1, 3), quality), three | {"mode": FREEZES}, mse=frozen_mse, trainable=width + 1)
    regular = fits([0.999], three, mse=0.002, trainable=102 * width + 1)
    frozen, regular = (one.assign(trainable=one.trainable[..., 0, 0]) for one in (frozen, regular))
    by_mode = three | {"machine": ["network", "last"], "mode": FREEZES}
    machines = fits(np.full((1, 2, 3), quality), by_mode, mse=[[own], [tangent]] * np.ones(3))
    cv = np.array([tangent, tangent if last is None else last, tangent])[:, None]
    both = three | {"machine": ["last", "gaussian"]}
    free = fits(np.full((1, 2), 0.9), both).merge(table(both | {"run": range(10)}, cv=[[0.002], [gaussian]]))
    return frozen, regular, machines.merge(table(by_mode | {"run": range(10)}, cv=cv)), free


test_degree_3_with_a_frozen_first_layer = verdicts(
    rules.hs_52,
    third,
    rrrr=[{}],
    crrr=[{"frozen_mse": 0.001}, {"quality": 0.5}],
    rcrr=[{"tangent": 0.06}],
    rrcr=[{"last": 0.2}],
    rrrc=[{"width": 1024}],  # more than one parameter for ten points
)


def sixth(lost=0.6, quality=0.0, rival=0.5, tangent=0.58, r2=0.1):
    six, runs = {"degree": [6]}, {"run": range(10)}
    frozen = fits(np.full((1, 3), quality), six | {"mode": FREEZES}, mse=lost)
    machines = table({"mode": ["stop-first", "first-last"]} | runs, cv=tangent)
    gaussian = fits([r2], six, mse=rival, spread=0.3).merge(table(six | runs, cv=rival + JITTER))
    return frozen, fits([0.98], six, mse=0.01), machines, gaussian


test_degree_6_with_a_frozen_first_layer = verdicts(
    rules.hs_53,
    sixth,
    rrr=[{}],
    crr=[{"lost": 0.05, "rival": 0.04}, {"quality": 0.5}],
    rcr=[{"tangent": 0.4}, {"rival": 0.7}],
    rrc=[{"r2": 0.6}],
    rur=[{"tangent": 0.5}],
)


def warmed(three=(0.1, 0.99), when=5, cause=True):
    """Rc by degree and warm-up: degree 6 fits from an epoch on, with its alignment or without."""
    levels = np.array([[three[0]] + [three[1]] * 7, np.where(np.array(WARMUPS) >= when, 0.9, 0.0)])
    axes = {"degree": [3, 6], "warmup": WARMUPS}
    aligned = (np.arange(21) / 100 * cause)[:, None] + 0.001 * (JITTER if cause else np.sin(7 * JITTER * 100))
    paths = table(axes | {"epoch": range(21), "run": range(10)}, path_aligned=aligned)
    return fits(levels, axes, mse=1.0 - levels).merge(paths)


#: By the parts for degrees 6 and 3.
test_alignment_at_the_freeze_decides = verdicts(
    rules.hs_54, warmed, rr=[{}], rc=[{"three": (0.98, 0.99)}], cr=[{"when": 30}, {"when": 0}, {"cause": False}]
)


def test_the_output_machine_knows_the_frozen_features_alone():
    """A polynomial that is nearly a line is fitted by random features, an even one is not."""
    line, even = (cells.output_machine(1, "stop-first", degree=d, penalties=(0.1, 10.0), size=1000) for d in (3, 6))
    quality = [float(one.r2.sel(part="test", range="bulk")) for one in (line, even)]
    assert quality[0] > 0.8 > 0.2 > quality[1]
    assert float(line.cv) == float(line.errors.min()) and float(line.C) in (0.1, 10.0)
