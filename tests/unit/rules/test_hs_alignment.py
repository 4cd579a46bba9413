"""The rules on units that turn to the hidden direction and on tangent kernels beside them, on planted data."""

import numpy as np
import pytest
import xarray as xr

from experiments.hidden_structure.kernel_paths import END
from experiments.hidden_structure.rules import alignment as rules

RUNS = 10
JITTER = np.linspace(-0.01, 0.01, RUNS)
EPOCHS = np.arange(61)


def turning(when, runs=RUNS, before=0.0, after=0.1, epochs=EPOCHS):
    """Shares of aligned units (..., run, epoch) that step up at an epoch, in each run later by its number modulo 2."""
    when = np.asarray(when, float)[..., None, None] + np.zeros((runs, 1))
    return np.where(epochs >= when, after, before)


def ten(when, end=0.2, near=0.1, first_near=0.0, first=None):
    """The record of ten runs at degrees 3 to 7: epoch of alignment by degree."""
    path = turning(when)
    if first is not None:
        path[..., 1] = first
    axes = {"degree": [3, 4, 5, 6, 7], "run": range(RUNS), "epoch": EPOCHS}
    close = np.where(EPOCHS >= 1, first_near, 0.0) + np.zeros_like(path)
    columns = {
        "path_aligned": (("degree", "run", "epoch"), path),
        "path_near": (("degree", "run", "epoch"), close + (EPOCHS >= 1) * JITTER[:, None] / 10),
        "aligned": (("degree", "run"), np.full((5, RUNS), end)),
        "near": (("degree", "run"), np.full((5, RUNS), near)),
    }
    return xr.Dataset(columns, axes)


def many(when, **more):
    path = turning(when, **more)
    return xr.Dataset({"path_aligned": (("run", "epoch"), path)}, {"run": range(path.shape[0]), "epoch": EPOCHS})


@pytest.mark.parametrize(
    ("when", "fourth", "end", "parts"),
    [
        ((1, 5, 1, 5, 2), 5, 0.2, "rrr"),
        ((1, 5, 1, 5, 4), 5, 0.2, "rcr"),
        ((1, 5, 1, 2, 2), 5, 0.2, "rrc"),
        ((1, 5, 1, 5, 2), 20, 0.2, "rrc"),
        ((1, 5, 1, 5, 2), 5, 0.0, "crr"),
        ((1, 5, 1, 5, 5), 5, 0.2, "rcc"),  # no later than an odd degree
    ],
)
def test_odd_degrees_align_before_even_ones(when, fourth, end, parts):
    found = rules.hs_31(ten(when, end=end), many(fourth)).parts
    assert "".join(part[0] for part in found.values()) == parts


def interventions(moved=1, plain=5, without=9, bare=1, five=1):
    shift = xr.Dataset(
        {"path_aligned": (("shift", "run", "epoch"), turning([plain, moved]))}, {"shift": [0.0, 0.3], "epoch": EPOCHS}
    )
    linear = xr.Dataset(
        {"path_aligned": (("linear", "run", "epoch"), turning([five, bare]))},
        {"linear": [True, False], "epoch": EPOCHS},
    )
    turned = xr.Dataset(
        {"path_aligned": (("direction", "degree", "run", "epoch"), turning([[1, 4], [1, 5]]))},
        {"direction": ["ones", "random"], "degree": [3, 6], "epoch": EPOCHS},
    )
    return shift, linear, many(without), turned


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "reproduced"),
        ({"moved": 5}, "partly"),
        ({"without": 2}, "partly"),
        ({"without": 2, "bare": 9}, "partly"),  # what the loss does not see is no signal
        ({"moved": 5, "without": 1}, "contradicted"),
        ({"plain": 1}, "partly"),  # nothing to be explained
    ],
)
def test_an_even_target_has_no_linear_signal(change, verdict):
    assert rules.hs_32(*interventions(**change)).verdict == verdict


def kernels(F=2, r=2, fit=2, network=9, runs=5, last=12, case=0.0):
    """Machines after each epoch: when units align, and when r, the kernel's Rc and the network's Rc have risen."""
    moments = [*range(last + 1), END]
    step = [np.where(np.arange(last + 1) >= when, 0.9, 0.0) for when in (r, fit, network)]
    r, fit, network = (np.append(one, 0.95) + np.linspace(0, 0.01, runs)[:, None] for one in step)
    ranges = {"range": ["all", "bulk"], "part": ["train", "test"]}
    wide = np.broadcast_to(fit[:, None, None], (runs, 2, 2, last + 2))
    columns = {
        "path_aligned": (("run", "epoch"), turning(F, runs)),
        "path_mean_cosine": (("run", "epoch"), 0.1 + 0.01 * EPOCHS + np.zeros((runs, 1))),
        "r": (("run", "moment"), r - case),
        "ntk_r2": (("run", "part", "range", "moment"), wide),
        "network_r2": (("run", "range", "moment"), np.broadcast_to(network[:, None], (runs, 2, last + 2))),
    }
    return xr.Dataset(columns, {"run": range(runs), "moment": moments, "epoch": EPOCHS} | ranges)


@pytest.mark.parametrize(
    ("seven", "eleven", "verdict"),
    [
        ({}, {"F": 10, "r": 3}, "reproduced"),
        ({"r": 3, "fit": 3}, {"F": 10, "r": 3}, "reproduced"),
        ({"r": 6}, {"F": 10, "r": 3}, "partly"),
        ({}, {}, "partly"),  # no difference between the two
        ({"F": 7, "r": 7, "fit": 7}, {"F": 10, "r": 3}, "partly"),  # together, but not in the second epoch
        ({"r": 6}, {}, "contradicted"),
        ({}, {"F": 50}, "reproduced"),  # units that never align are not together with anything
    ],
)
def test_units_and_kernel_jump_together_at_degree_7_only(seven, eleven, verdict):
    assert rules.hs_40(kernels(**seven), kernels(**eleven), kernels(), kernels()).verdict == verdict


def test_the_kernel_leads_the_network():
    paths = kernels(fit=3, network=9)
    assert rules.lead(paths).estimate == 6 and abs(rules.ahead(paths, 4).estimate - 0.9) < 1e-9
    assert rules.rising(paths.r.sel(moment=range(13)), 2.0).tolist() == [rules.NEVER] * 5


def test_changes_of_two_series_in_a_run_and_between_runs():
    paths = kernels(F=4, r=4)
    own, others = rules.linked(paths)
    assert np.allclose(own, 1) and np.allclose(others, 1)
    apart = kernels(F=4, r=9)
    assert (rules.linked(apart)[0] < 0.2).all()


def steady(kind):
    """Degree 11: all measures rise evenly, or the kernel's in one step."""
    paths = kernels(F=16, last=20)
    ramp = np.append(np.arange(21), 21)[None] / 30 + np.zeros((5, 1))
    if kind == "even":
        paths = paths.assign(r=(("run", "moment"), ramp))
        paths = paths.assign(ntk_r2=paths.ntk_r2 * 0 + xr.DataArray(ramp, dims=("run", "moment")))
    if kind == "none":
        paths = paths.assign(r=paths.r * 0, ntk_r2=paths.ntk_r2 * 0)
    if kind == "late":
        jump = np.where(EPOCHS >= 10, 0.5, 0.1) + np.zeros((5, 1))
        paths = paths.assign(path_mean_cosine=(("run", "epoch"), jump))
    return paths


@pytest.mark.parametrize(
    ("kind", "late", "parts"),
    [
        ("even", 16, "rrr"),
        ("step", 16, "rrc"),
        ("none", 16, "ruc"),
        ("late", 16, "rcc"),
        ("even", 5, "crr"),  # hardly later than degree 7
        ("even", 40, "crr"),  # far later than epoch 16
    ],
)
def test_degree_11_improves_late_and_evenly(kind, late, parts):
    eleven = many(late)
    found = rules.hs_41(eleven, many(2), steady(kind)).parts
    assert "".join(part[0] for part in found.values()) == parts


@pytest.mark.parametrize(
    ("first", "close", "parts"),
    [(0.4, 0.2, "rr"), (0.4, 0.03, "rc"), (0.01, 0.0, "cc"), (0.4, 0.1, "ru")],
)
def test_degree_3_after_one_epoch(first, close, parts):
    found = rules.hs_55(ten((1, 5, 1, 5, 2), first=first + JITTER, first_near=close)).parts
    assert "".join(part[0] for part in found.values()) == parts


@pytest.mark.parametrize(
    ("when", "end", "verdict"), [(5, 0.1, "reproduced"), (1, 0.1, "contradicted"), (5, 0.0, "contradicted")]
)
def test_degree_6_aligns_later(when, end, verdict):
    assert rules.hs_56(ten((1, 5, 1, when, 2), end=end)).verdict == verdict


def pictures(moments, *, r, fit, largest=0.3, near=0.2, aligned=0.3, network=0.95, runs=5, first_r=None, agree=True):
    """Machines on all points at some moments; r and Rc by moment."""
    points = 60
    v = np.linspace(-2, 2, points)
    axes = {"run": range(runs), "moment": moments, "part": ["train", "test"], "range": ["all", "bulk"]}
    r, fit = np.tile(np.array(r, float), (runs, 1)), np.tile(np.array(fit, float), (runs, 1))
    r += 1e-3 * np.arange(runs)[:, None]
    fit += 1e-3 * np.arange(runs)[:, None] ** 2
    if first_r is not None:
        r[1:, 1] = first_r
    size = (runs, len(moments))
    said = np.where(np.abs(v) <= 1, v, -v) if agree else np.where(np.abs(v) <= 1, v**2, v)
    columns = {
        "r": (("run", "moment"), r),
        "ntk_r2": (("run", "part", "range", "moment"), np.broadcast_to(fit[:, None, None], (runs, 2, 2, len(moments)))),
        "largest_cosine": (("run", "moment"), np.full(size, largest)),
        "near": (("run", "moment"), np.full(size, near)),
        "aligned": (("run", "moment"), np.full(size, aligned)),
        "final_r2": (("run", "range"), np.full((runs, 2), network)),
        "prediction": (("run", "moment", "point"), np.broadcast_to(said, (*size, points))),
        "final": (("run", "point"), np.broadcast_to(v, (runs, points))),
        "v": (("run", "point"), np.broadcast_to(v, (runs, points))),
        "is_test": (("run", "point"), np.ones((runs, points), bool)),
    }
    return xr.Dataset(columns, axes)


def seventh(r=(0.0, 0.7, 0.8, 0.99), fit=(0.0, 0.5, 0.8, 0.98), F=0.12, **more):
    paths = xr.Dataset(
        {"path_aligned": (("run", "epoch"), np.tile(np.where(EPOCHS >= 2, F, 0.0), (RUNS, 1)) + JITTER[:, None] / 2)},
        {"run": range(RUNS), "epoch": EPOCHS},
    )
    return pictures([0, 2, 3, END], r=r, fit=fit, **more), paths


@pytest.mark.parametrize(
    ("change", "parts", "reading"),
    [
        ({}, "rrrr", None),
        ({"r": (0.0, 0.1, 0.8, 0.99)}, "rrcr", None),
        ({"first_r": 0.1}, "rrur", "reproduced"),  # the run with the document's start has it, the others a little later
        ({"largest": 0.6}, "crrr", None),
        ({"F": 0.03}, "rcrr", None),
        ({"F": 0.08}, "rurr", None),
        ({"near": 0.01}, "rrrc", None),
        ({"fit": (0.0, 0.5, 0.8, 0.7)}, "rrrc", None),
    ],
)
def test_figures_10_to_12(change, parts, reading):
    found = rules.hs_57(*seventh(**change))
    assert "".join(part[0] for part in found.parts.values()) == parts and found.reading == reading


def eleventh(r=(0.1, 0.5, 0.5, 0.5, 0.9), fit=(0.0, 0.4, 0.4, 0.4, 0.9), at_16=0.04, at_6=0.0, turned=False, **more):
    F = np.interp(EPOCHS, [0, 6, 16, 60], [0, at_6, at_16, 0.1]) + np.zeros((RUNS, 1))
    F = F * (1 + 30 * (-1) ** turned * JITTER[:, None])
    cosine = 0.08 + 0.002 * EPOCHS + np.zeros((RUNS, 1))
    columns = {"path_aligned": (("run", "epoch"), F), "path_mean_cosine": (("run", "epoch"), cosine)}
    paths = xr.Dataset(columns, {"run": range(RUNS), "epoch": EPOCHS})
    return pictures([0, 14, 16, 18, END], r=r, fit=fit, **more), paths


@pytest.mark.parametrize(
    ("change", "parts", "reading"),
    [
        ({}, "rrrr", None),
        ({"r": (0.1, 0.2, 0.5, 0.8, 0.9)}, "rrcr", None),
        ({"r": (0.1, 0.5, 0.5, 0.65, 0.9)}, "rrur", None),
        ({"at_16": 0.01}, "rurr", None),  # the first run has less
        ({"at_16": 0.01, "turned": True}, "rurr", "reproduced"),  # the first run has more
        ({"fit": (0.9, 0.9, 0.9, 0.9, 0.9)}, "crrr", None),
        ({"at_6": 0.03}, "rcrr", None),
        ({"at_16": 0.3}, "rcrr", None),
        ({"network": 0.3}, "rrrc", None),
        ({"agree": False}, "rrrc", None),
    ],
)
def test_figures_14_to_16(change, parts, reading):
    found = rules.hs_59(*eleventh(**change))
    assert "".join(part[0] for part in found.parts.values()) == parts and found.reading == reading


def test_the_end_is_compared_where_most_points_are():
    """Beyond |v| = 1 the planted machine says the opposite of its network."""
    moments, _ = eleventh()
    assert np.allclose(rules.near_correlation(moments, END), 1)
    constant = moments.assign(prediction=moments.prediction * 0)
    assert (rules.near_correlation(constant, END) == 0).all()


def test_when_copies_part():
    path = np.ones((1, 3, 61))
    path[0, 1, 7:] = 1.02
    copies = xr.Dataset({"path_validation": (("degree", "copy", "epoch"), path)})
    copies = copies.assign_coords(degree=[6], copy=[0, 1, 2], epoch=EPOCHS)
    assert rules.apart(copies).values.tolist() == [[7, rules.NEVER]]
