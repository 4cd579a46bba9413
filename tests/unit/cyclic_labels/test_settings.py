"""The rules on settings and derivations, on planted data for which the answer is known."""

import numpy as np
import pytest
from planted.records import by, often, planted, table, verdicts

from experiments.cyclic_labels.bumps import undersampling
from experiments.cyclic_labels.settings import rules as settings

GOOD = {"edges": True, "means": True, "p": 0.5}
test_every_count_must_agree = verdicts(
    settings.cl_01,
    lambda **change: {(3, 20): GOOD, (3, 50): GOOD | change},
    reproduced=[{}],
    contradicted=[{"edges": False}, {"means": False}, {"p": 1e-5}],
)
test_captions_with_another_number_contradict = verdicts(
    settings.cl_02, lambda second: {1: 3, 2: second}, reproduced=[3], contradicted=[4], undecided=[None]
)
test_short_and_long_runs_must_both_agree = verdicts(
    settings.cl_03,
    lambda short, long: (short, table({"n": range(2)}, difference=[1e-13, long])),
    reproduced=[(1e-15, 1e-9)],
    contradicted=[(1e-8, 1e-9), (1e-15, 1e-2)],
)


def terms(near, runs=50, points=100):
    """Runs of `points` points, two fifths near a boundary; of the active fifth, `near` and 0.1 more or less."""
    seeds = {"n": [points], "seed": range(runs)}
    active, spread = points // 5, np.resize([0.1, -0.1], runs)[:, None]
    found = table(seeds | {"epoch": [100, 500, 1000]}, active=active, active_near=np.round((near + spread) * active))
    return found.astype(int).merge(table(seeds, points_near=2 * points // 5))


test_active_points_near_the_boundaries = verdicts(
    settings.cl_05, terms, reproduced=[0.9], contradicted=[0.4], partly=[0.55], undecided=[0.6]
)
test_a_saddle_goes_down_and_up_and_holds = verdicts(
    settings.cl_22,
    lambda descent, ascent, stays: (table({"seed": range(2)}, descent=[-1.0, descent], ascent=[1.0, ascent]), stays),
    reproduced=[(-1, 1, True)],
    contradicted=[(0, 1, True), (-1, -1, True), (-1, 1, False)],  # the first is a minimum
)


def frozen(reached, unchanged, loss):
    """Runs of two seeds that reach zero loss or do not, stand still or do not, and their losses at three factors."""
    flags = table({"seed": [0, 1]}, reached=reached, unchanged=unchanged)
    after = flags.merge(table({"factor": [0.9, 1.0, 10.0], "seed": [0, 1]}, loss=[[1.0, 1], [0, 9], [loss, 9]]))
    return after.assign(loss=after.loss.where(after.reached | (after.factor < 1), 9.0))


test_only_runs_at_zero_loss_are_asked_to_stand_still = verdicts(
    settings.cl_32,
    frozen,
    reproduced=[([True, False], [True, False], 0.0)],
    contradicted=[([True, True], [True, False], 0.0), ([True, False], [True, False], 0.1)],
    undecided=[([False, False], [False, False], 0.0)],
)


FORMS = {"form": 1e-15, "rebuilt": 1e-14, "orthonormal": 1e-15, "smallest": -1e-16}
DRIVEN = {"gradient": 1e-15, "speed": 1e-14, "update": 0.0, "residual": 3.0}


test_kernel_and_output_gradient_stand_alone = verdicts(
    settings.cl_35,
    lambda **change: tuple(
        table({"epochs": [1], "seed": [0]}, **{name: change.get(name, value) for name, value in base.items()})
        for base in (FORMS, DRIVEN)
    ),
    rr=[{}],
    cr=[{"form": 1e-3}, {"smallest": -1e-3}],
    rc=[{"gradient": 1e-3}, {"update": 1.0}],  # no network rests at a residual
)


def ablations(share):
    """Runs of which half have a bump, or `share` of those of the narrower network."""
    variants = dict.fromkeys(undersampling.ABLATIONS, 0.5) | {"width 128": share}
    return planted("cyclic_labels/bumps/ablations", diverging=often(by(variant=variants), 50))


@pytest.mark.parametrize(("share", "matters"), [(1.0, ["width"]), (0.0, ["width"]), (0.5, [])])
def test_an_open_setting_matters_when_a_variant_changes_the_bumps(share, matters):
    numbers = settings.cl_55(ablations(share)).numbers
    assert [name for name in settings.OPEN if numbers.get(f"matters, {name}")] == matters
    assert numbers["that matter"] == len(matters)
