"""The rules on settings and derivations, on planted data for which the answer is known."""

import numpy as np
import pytest
import xarray as xr

from experiments.cyclic_labels.rules import settings

GOOD = {"edges": True, "means": True, "p": 0.5}


@pytest.mark.parametrize(
    ("test", "verdict"),
    [
        (GOOD, "reproduced"),
        (GOOD | {"edges": False}, "contradicted"),
        (GOOD | {"means": False}, "contradicted"),
        (GOOD | {"p": 1e-5}, "contradicted"),
    ],
)
def test_every_count_must_agree(test, verdict):
    assert settings.cl_01({(3, 20): GOOD, (3, 50): test}).verdict == verdict


@pytest.mark.parametrize(
    ("periods", "verdict"),
    [({1: 3, 2: 3}, "reproduced"), ({1: 3, 2: 4}, "contradicted"), ({1: 3, 2: None}, "undecided")],
)
def test_captions_with_another_number_contradict(periods, verdict):
    assert settings.cl_02(periods).verdict == verdict


@pytest.mark.parametrize(
    ("short", "long", "verdict"),
    [(1e-15, 1e-9, "reproduced"), (1e-8, 1e-9, "contradicted"), (1e-15, 1e-2, "contradicted")],
)
def test_short_and_long_runs_must_both_agree(short, long, verdict):
    assert settings.cl_03(short, xr.Dataset({"difference": ("n", [1e-13, long])})).verdict == verdict


def terms(near, *, runs=50, points=100):
    """Runs of `points` points, two fifths near a boundary; of the active fifth, `near` and 0.1 more or less."""
    axes = {"n": [points], "seed": range(runs), "epoch": [100, 500, 1000]}
    active, spread = np.full((1, runs, 3), points // 5), np.resize([0.1, -0.1], runs)[:, None]
    data = {"active": active, "active_near": np.round((near + spread) * active).astype(int)}
    found = xr.Dataset({name: (tuple(axes), values) for name, values in data.items()}, axes)
    return found.assign(points_near=(("n", "seed"), np.full((1, runs), 2 * points // 5)))


@pytest.mark.parametrize(
    ("near", "verdict"), [(0.9, "reproduced"), (0.4, "contradicted"), (0.55, "partly"), (0.6, "undecided")]
)
def test_active_points_near_the_boundaries(near, verdict):
    assert settings.cl_05(terms(near)).verdict == verdict


@pytest.mark.parametrize(
    ("descent", "ascent", "stays", "verdict"),
    [
        (-1, 1, True, "reproduced"),
        (0, 1, True, "contradicted"),  # a minimum
        (-1, -1, True, "contradicted"),
        (-1, 1, False, "contradicted"),
    ],
)
def test_a_saddle_goes_down_and_up_and_holds(descent, ascent, stays, verdict):
    signs = xr.Dataset({"descent": ("seed", [-1.0, descent]), "ascent": ("seed", [1.0, ascent])})
    assert settings.cl_22(signs, stays).verdict == verdict


@pytest.mark.parametrize(
    ("reached", "unchanged", "loss", "verdict"),
    [
        ([True, False], [True, False], 0.0, "reproduced"),
        ([True, True], [True, False], 0.0, "contradicted"),
        ([True, False], [True, False], 0.1, "contradicted"),
        ([False, False], [False, False], 0.0, "undecided"),
    ],
)
def test_only_runs_at_zero_loss_are_asked_to_stand_still(reached, unchanged, loss, verdict):
    factors = {"factor": [0.9, 1.0, 10.0], "seed": [0, 1]}
    flags = {name: ("seed", np.array(values)) for name, values in (("reached", reached), ("unchanged", unchanged))}
    after = xr.Dataset(flags | {"loss": (("factor", "seed"), np.array([[1, 1], [0, 9], [loss, 9]]))}, factors)
    after["loss"] = after.loss.where(after.reached | (after.factor < 1), 9.0)
    assert settings.cl_32(after).verdict == verdict


FORMS = {"form": 1e-15, "rebuilt": 1e-14, "orthonormal": 1e-15, "smallest": -1e-16}
DRIVEN = {"gradient": 1e-15, "speed": 1e-14, "update": 0.0, "residual": 3.0}


@pytest.mark.parametrize(
    ("forms", "driven", "parts"),
    [
        ({}, {}, "reproduced reproduced"),
        ({"form": 1e-3}, {}, "contradicted reproduced"),
        ({"smallest": -1e-3}, {}, "contradicted reproduced"),
        ({}, {"gradient": 1e-3}, "reproduced contradicted"),
        ({}, {"update": 1.0}, "reproduced contradicted"),  # no network rests at a residual
    ],
)
def test_kernel_and_output_gradient_stand_alone(forms, driven, parts):
    found = [xr.Dataset({k: (("epochs", "seed"), [[v]]) for k, v in (base | change).items()})
             for base, change in ((FORMS, forms), (DRIVEN, driven))]  # fmt: skip
    assert " ".join(settings.cl_35(*found).parts.values()) == parts


def ablations(share):
    """50 runs of each variant, half of the reference's with a bump and `share` of those of the narrower network."""
    variants = ["reference", *(variant for setting in settings.OPEN.values() for variant in setting.tried)]
    shares = np.array([share if variant == "width 128" else 0.5 for variant in variants])
    flags = np.arange(50) < 50 * shares[:, None]
    return xr.Dataset(
        {"diverging": (("variant", "points", "seed"), flags[:, None])}, {"variant": variants, "points": [1]}
    )


@pytest.mark.parametrize(("share", "named"), [(1.0, "; width change"), (0.0, "; width change"), (0.5, "none of those")])
def test_an_open_setting_matters_when_a_variant_changes_the_bumps(share, named):
    outcome = settings.cl_55(ablations(share))
    assert outcome.verdict == "answered" and named in outcome.answer
