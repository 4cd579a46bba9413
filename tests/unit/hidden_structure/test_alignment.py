"""The rules on units that turn to the hidden direction and on tangent kernels beside them, on planted data."""

import numpy as np
import pytest
import xarray as xr
from planted.records import table, verdicts

from experiments.hidden_structure.alignment import output_of_v, rules
from experiments.hidden_structure.alignment.kernel_paths import END
from experiments.hidden_structure.runs import NEVER, first_epoch, middle

JITTER = np.linspace(-0.01, 0.01, 10)
EPOCHS, RUN = np.arange(61), {"run": range(10)}
PLACES = {"part": ["train", "test"], "range": ["all", "bulk"]}


def turning(when, axes=None, runs=10, after=0.1, **more):
    """Runs, over some axes, whose share of aligned units steps up at an epoch, and more of what is on their way."""
    path = np.where(np.asarray(when, float)[..., None, None] + np.zeros((runs, 1)) <= EPOCHS, after, 0.0)
    return table((axes or {}) | {"run": range(runs), "epoch": EPOCHS}, path_aligned=path, **more)


def ten(when, end=0.2, near=0.0, first=None, gone=0.0):
    """The record of ten runs at degrees 3 to 7: epoch of alignment by degree; shares aligned and near after one.

    `gone`: share of the units that have vanished in the end; those that are left are aligned by `end`.
    """
    axes = {"degree": [3, 4, 5, 6, 7]}
    found = turning(when, axes, path_near=(EPOCHS >= 1) * (near + JITTER[:, None] / 10))
    if first is not None:
        found.path_aligned.loc[{"epoch": 1}] = first
    return found.merge(table(axes | RUN, aligned=end, near=0.1, collapsed=gone))


EARLY = (1, 5, 1, 5, 2)
test_odd_degrees_align_before_even_ones = verdicts(
    rules.hs_31,
    lambda when=EARLY, fourth=5, end=0.2, gone=0.0: (ten(when, end, gone=gone), turning(fourth)),
    rrr=[{}],
    rcr=[{"when": (1, 5, 1, 5, 4)}],
    rrc=[{"when": (1, 5, 1, 2, 2)}, {"fourth": 20}],
    crr=[{"end": 0.0}, {"end": 1.0, "gone": 0.99}],
    rcc=[{"when": (1, 5, 1, 5, 5)}],  # no later than an odd degree
)


def interventions(moved=1, plain=5, without=9, bare=1, five=1):
    turned = turning([[1, 4], [1, 5]], {"direction": ["ones", "random"], "degree": [3, 6]})
    shifted, linear = turning([plain, moved], {"shift": [0.0, 0.3]}), turning([five, bare], {"linear": [True, False]})
    return shifted, linear, turning(without), turned


test_an_even_target_has_no_linear_signal = verdicts(
    rules.hs_32,
    interventions,
    reproduced=[{}],
    partly=[
        {"moved": 5},
        {"without": 2},
        {"without": 2, "bare": 9},  # what the loss does not see is no signal
        {"plain": 1},  # nothing to be explained
    ],
    contradicted=[{"moved": 5, "without": 1}],
)


def kernels(F=2, r=2, fit=2, network=9, last=12):
    """Machines after each epoch: when units align, and when r, the kernel's Rc and the network's Rc have risen."""
    moments = {"run": range(5), "moment": [*range(last + 1), END]}
    step = [np.where(np.arange(last + 1) >= when, 0.9, 0.0) for when in (r, fit, network)]
    r, fit, network = (np.append(one, 0.95) + np.linspace(0, 0.01, 5)[:, None] for one in step)
    found = turning(F, runs=5, path_mean_cosine=0.1 + 0.01 * EPOCHS).merge(table(moments, r=r))
    found = found.merge(table(PLACES | moments, ntk_r2=fit))
    return found.merge(table({"range": ["all", "bulk"]} | moments, network_r2=network))


LATE = {"F": 10, "r": 3}
test_units_and_kernel_jump_together_at_degree_7_only = verdicts(
    rules.hs_40,
    lambda seven, eleven, tied: (kernels(**seven), kernels(**eleven), kernels(**tied), kernels()),
    reproduced=[({}, LATE, LATE), ({"r": 3, "fit": 3}, LATE, LATE), ({}, {"F": 50}, LATE)],  # never is not together
    partly=[
        ({"r": 6}, LATE, LATE),
        ({}, {}, LATE),
        ({}, LATE, {}),  # apart at another degree only, not with the correlation
        ({"F": 7, "r": 7, "fit": 7}, LATE, LATE),  # together, but not in the second epoch
    ],
    contradicted=[({"r": 6}, {}, {})],
)


def test_the_kernel_leads_the_network():
    paths = kernels(fit=3, network=9)
    assert rules.lead(paths).estimate == 6 and abs(rules.ahead(paths, 4).estimate - 0.9) < 1e-9
    assert rules.rising(paths.r.sel(moment=range(13)), 2.0).tolist() == [rules.NEVER] * 5


def steady(kind, late):
    """Degree 11: all measures rise evenly, or the kernel's in one step, or hardly; and when it and degree 7 align."""
    paths = kernels(F=16, last=20)
    if kind == "even":
        ramp = xr.DataArray(np.append(np.arange(21), 21) / 30, dims="moment")
        paths = paths.assign(r=paths.r * 0 + ramp, ntk_r2=paths.ntk_r2 * 0 + ramp)
    if kind == "none":
        paths = paths.assign(r=paths.r * 0, ntk_r2=paths.ntk_r2 * 0)
    if kind == "late":
        paths = paths.assign(path_mean_cosine=xr.where(paths.epoch >= 10, 0.5, 0.1).broadcast_like(paths.path_aligned))
    return turning(late), turning(2), paths


test_degree_11_improves_late_and_evenly = verdicts(
    rules.hs_41,
    steady,
    rrr=[("even", 16)],
    rrc=[("step", 16)],
    ruc=[("none", 16)],
    rcc=[("late", 16)],
    crr=[("even", 5), ("even", 40)],  # hardly later than degree 7; far later than epoch 16
)
test_degree_3_after_one_epoch = verdicts(
    rules.hs_55,
    lambda first, near: ten(EARLY, first=first + JITTER, near=near),
    rr=[(0.4, 0.2)],
    rc=[(0.4, 0.03)],
    cc=[(0.01, 0.0)],
    ru=[(0.4, 0.1)],
)
test_degree_6_aligns_later = verdicts(
    rules.hs_56,
    lambda when, end: ten((1, 5, 1, when, 2), end),
    reproduced=[(5, 0.1)],
    contradicted=[(1, 0.1), (5, 0.0)],
)


def pictures(moments, *, r, fit, largest=0.3, near=0.2, network=0.95, first_r=None, agree=True):
    v, run = np.linspace(-2, 2, 60), np.arange(5)[:, None]
    axes, points = {"run": range(5), "moment": moments}, {"point": range(60)}
    r = np.array(r) + 1e-3 * run
    if first_r is not None:
        r[1:, 1] = first_r
    said = np.where(np.abs(v) <= 1, v if agree else v**2, -v if agree else v)
    found = table(axes, r=r, largest_cosine=largest, near=near, aligned=0.3)
    found = found.merge(table(PLACES | axes, ntk_r2=np.array(fit) + 1e-3 * run**2))
    found = found.merge(table(axes | points, prediction=said))
    found = found.merge(table({"run": range(5), "range": PLACES["range"]}, final_r2=network))
    return found.merge(table({"run": range(5)} | points, final=v, v=v, is_test=True))


def seventh(r=(0.0, 0.7, 0.8, 0.99), fit=(0.0, 0.5, 0.8, 0.98), F=0.12, **more):
    paths = table(RUN | {"epoch": EPOCHS}, path_aligned=np.where(EPOCHS >= 2, F, 0.0) + JITTER[:, None] / 2)
    return pictures([0, 2, 3, END], r=r, fit=fit, **more), paths


test_figures_10_to_12 = verdicts(
    rules.hs_57,
    seventh,
    rrrr=[{}],
    rrcr=[{"r": (0.0, 0.1, 0.8, 0.99)}],
    rrur=[{"first_r": 0.1}],  # the first run has it, the others a little later
    crrr=[{"largest": 0.6}],
    rcrr=[{"F": 0.03}],
    rurr=[{"F": 0.08}],
    rrrc=[{"near": 0.01}, {"fit": (0.0, 0.5, 0.8, 0.7)}],
)


def eleventh(r=(0.1, 0.5, 0.5, 0.5, 0.9), fit=(0.0, 0.4, 0.4, 0.4, 0.9), at_16=0.04, at_6=0.0, turned=False, **more):
    F = np.interp(EPOCHS, [0, 6, 16, 60], [0, at_6, at_16, 0.1]) * (1 + 30 * (-1) ** turned * JITTER[:, None])
    paths = table(RUN | {"epoch": EPOCHS}, path_aligned=F, path_mean_cosine=0.08 + 0.002 * EPOCHS)
    return pictures([0, 14, 16, 18, END], r=r, fit=fit, **more), paths


test_figures_14_to_16 = verdicts(
    rules.hs_59,
    eleventh,
    rrrr=[{}],
    rrcr=[{"r": (0.1, 0.2, 0.5, 0.8, 0.9)}],
    rrur=[{"r": (0.1, 0.5, 0.5, 0.65, 0.9)}],
    rurr=[{"at_16": 0.01}, {"at_16": 0.01, "turned": True}],  # the first run has less; it has more
    crrr=[{"fit": (0.9, 0.9, 0.9, 0.9, 0.9)}],
    rcrr=[{"at_6": 0.03}, {"at_16": 0.3}],
    rrrc=[{"network": 0.3}, {"agree": False}],
)


def test_the_end_is_compared_where_most_points_are():
    """Beyond |v| = 1 the planted machine says the opposite of its network."""
    moments, _ = eleventh()
    assert np.allclose(rules.near_correlation(moments, END), 1)
    constant = moments.assign(prediction=moments.prediction * 0)
    assert (rules.near_correlation(constant, END) == 0).all()


def test_when_copies_part():
    path = np.ones((1, 3, 61))
    path[0, 1, 7:] = 1.02
    copies = table({"degree": [6], "copy": [0, 1, 2], "epoch": EPOCHS}, path_validation=path)
    assert rules.apart(copies).values.tolist() == [[7, rules.NEVER]]


def test_first_epochs_and_their_middle():
    path = xr.DataArray([[0.0, 0.1, 0.3], [0.0, 0.0, 0.01]], dims=("run", "epoch"), coords={"epoch": [0, 1, 4]})
    assert first_epoch(path, 0.2).values.tolist() == [4, NEVER]
    assert middle([1, 2, NEVER]) == "2 (1 to never)"


def test_share_of_the_output_that_is_a_function_of_v():
    rng = np.random.default_rng(0)
    v, other = rng.uniform(-1, 1, 2000), rng.normal(size=2000)
    of_v = np.sin(5 * v) / np.sin(5 * v).std()
    assert output_of_v.share_of(v, of_v) > 0.999
    assert abs(output_of_v.share_of(v, other)) < 0.02
    assert output_of_v.share_of(v, of_v + other) == pytest.approx(0.5, abs=0.05)
