"""The rules on the note's probabilities (6) to (14), on planted data."""

import numpy as np
import pytest
import xarray as xr

from experiments.localization import objectives
from experiments.localization.rules import objectives as rules

WOBBLE = np.array([-1.0, 0.0, 1.0])


def over_seeds(values, dims, scatter=0.001, **coordinates):
    """Values with a last axis of three seeds that scatter a little."""
    values = np.asarray(values, float)[..., None] + scatter * WOBBLE
    return xr.DataArray(values, {**coordinates, "seed": [0, 1, 2]}, (*dims, "seed"))


@pytest.mark.parametrize(
    ("values", "answer"), [((0.7, 0.93), "0.70 at gain 0.01 and 0.93 at gain 3"), ((0.97, 0.99), "At every gain")]
)
def test_near_one_is_an_ideal(values, answer):
    found = rules.lo_27(over_seeds(values, ["gain"], gain=[0.01, 3.0]))
    assert found.verdict == "answered" and answer in found.answer


def on_average(average, point, gap=0.0, error=0.001):
    """Records of a constant, a bump and a matched pair; values of (6) and (9) by gain, and the lead of the pair."""
    names = ["constant", "bump 2", "cosine 2", "bump as cosine 2"]
    values = np.zeros((2, 3, 4))
    values[:, :, :2], values[:, :, 2] = np.asarray(average)[:, None, :], 0.5
    values[:, :, 3] = 0.5 + np.broadcast_to(gap, 2)[:, None]
    points = np.zeros((2, 3, 4))
    points[:, :, :2] = np.asarray(point)[:, None, :]
    lead = values[..., :, None] - values[..., None, :]
    axes = ("gain", "seed", "filter")
    return xr.Dataset(
        {
            "average": (axes, values),
            "point": (axes, points),
            "lead": ((*axes, "rival"), lead),
            "lead_error": ((*axes, "rival"), np.full(lead.shape, error)),
        },
        {"gain": [0.01, 3.0], "seed": [0, 1, 2], "filter": names, "rival": names},
    )


FLAT = [[0.7, 0.6], [0.7, 0.6]]


@pytest.mark.parametrize(
    ("gap", "error", "verdict"),
    [
        (0.0, 0.001, "reproduced"),
        (0.2, 0.001, "contradicted"),
        (-0.2, 0.001, "contradicted"),
        ((0.2, 0.0), 0.001, "partly"),
        (0.03, 0.001, "partly"),
        (0.05, 0.01, "undecided"),
    ],
)
def test_equal_ratio_and_equal_probability(gap, error, verdict):
    assert rules.lo_28(on_average(FLAT, FLAT, gap, error)).verdict == verdict


@pytest.mark.parametrize(
    ("average", "point", "wave", "verdict"),
    [
        ([[0.7, 0.6], [0.6, 0.7]], [[0.7, 0.6], [0.6, 0.7]], (0.6, 0.6), "reproduced"),
        ([[0.6, 0.7], [0.6, 0.7]], [[0.7, 0.6], [0.6, 0.7]], (0.6, 0.6), "contradicted"),
        ([[0.7, 0.6], [0.6, 0.7]], [[0.7, 0.6], [0.6, 0.7]], (0.6, 0.66), "contradicted"),
        ([[0.70, 0.71], [0.6, 0.7]], [[0.7, 0.6], [0.6, 0.7]], (0.6, 0.6), "partly"),
    ],
)
def test_the_best_filter_of_both_problems(average, point, wave, verdict):
    assert rules.lo_29(on_average(average, point), wave).verdict == verdict


def test_rivals_are_chosen_by_the_other_seeds():
    runs = on_average([[0.6, 0.7], [0.6, 0.7]], [[0.7, 0.6], [0.7, 0.6]])
    runs["average"][0, 0, 0] = 0.75  # one lucky draw of the constant
    runs["lead"][0, 0] = runs.average[0, 0].values[:, None] - runs.average[0, 0].values[None, :]
    point, ring, lead = rules.rivals(runs.isel(gain=0))
    assert (point, ring) == ("constant", "bump 2")
    assert lead.estimate == pytest.approx((-0.05 + 0.1 + 0.1) / 3)


def followed(spread=0.065, loss=0.37, scatter=0.001):
    """Planted bumps, waves and random starts: IPR .28 at the start and `spread` at the end."""
    begins, gains = ["random", "bumps", "waves"], [0.01, 3.0]
    values = np.full((3, 2, 3, 2), 0.3)
    values[1, 0, :, 0], values[1, 0, :, 1] = 0.28, spread + scatter * WOBBLE
    losses = np.full((3, 2, 3, 2), 0.37) * (1 + 1e-4 * WOBBLE[:, None])
    losses[1] = loss
    axes = ("begin", "gain", "seed", "step")
    return xr.Dataset(
        {"spread": (axes, values), "low": (axes, 0 * values + 0.8), "loss": (axes, losses)},
        {"begin": begins, "gain": gains, "seed": [0, 1, 2], "step": [0, 4000]},
    )


@pytest.mark.parametrize(
    ("change", "verdict", "answer"),
    [
        ({}, "answered", "The single place"),
        ({"spread": 0.25}, "answered", "Not the single place"),
        ({"loss": 0.45}, "answered", "Not the single place"),
        ({"spread": 0.099, "scatter": 0.005}, "undecided", "Not the single place"),
    ],
)
def test_what_training_follows(change, verdict, answer):
    found = rules.lo_30(followed(**change))
    assert found.verdict == verdict and found.answer.startswith(answer)


def passages(differ=0, moved=0.0, squares=True, scatter=0.001):
    return xr.Dataset(
        {
            "differ": ("seed", [differ, 0, 0]),
            "tied": ("seed", [0.1, 0.0, 0.0]),
            "moved": over_seeds([[moved, 0.0]], ["gain", "filter"], scatter),
            "squares": ("seed", [squares, True, True]),
        }
    )


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({}, ["reproduced"] * 3),
        ({"differ": 5}, ["contradicted", "reproduced", "reproduced"]),
        ({"moved": 0.05}, ["reproduced", "contradicted", "reproduced"]),
        ({"scatter": 0.02}, ["reproduced", "undecided", "reproduced"]),
        ({"squares": False}, ["reproduced", "reproduced", "contradicted"]),
    ],
)
def test_the_steps_to_ten(change, parts):
    assert list(rules.lo_31(passages(**change)).parts.values()) == parts


def at_a_point(bump, error=0.001):
    """Leads of a bump over the constant by gain; the constant has the largest variance ratio."""
    gains = [0.01, 1.0, 3.0, 100.0]
    lead = np.asarray(bump, float)[:, None, None] * np.ones((4, 3, 1))
    return xr.Dataset(
        {
            "lead": (("gain", "seed", "rival"), lead),
            "lead_error": (("gain", "seed", "rival"), np.full(lead.shape, error)),
            "ratio": (("gain", "seed", "mode"), np.full((4, 3, 2), 2.0)),
            "gabor_ratio": (("gain", "seed", "width", "carrier"), np.full((4, 3, 1, 1), 1.5)),
        },
        {"gain": gains, "seed": [0, 1, 2], "rival": ["bump"]},
    )


@pytest.mark.parametrize(
    ("bump", "error", "verdict"),
    [
        ([0, 0, 0, 0], 0.001, "reproduced"),
        ([0, 0.02, 0.04, 0.05], 0.001, "partly"),
        ([0.02, 0.02, 0.04, 0.05], 0.001, "contradicted"),
        ([0, 0.01, 0, 0], 0.001, "partly"),
        ([0.01, 0.01, 0.01, 0.01], 0.005, "undecided"),
    ],
)
def test_the_variance_ratio_as_the_aim(bump, error, verdict):
    assert rules.lo_33(at_a_point(bump, error)).verdict == verdict


def trained(negative, positive, scatter=0.01):
    """Networks that miss these shares of what (9) offers, by gain."""
    value = over_seeds(np.transpose([negative, positive]), ["gain", "sign"], 0.0, gain=[0.01, 3.0], sign=[-1, 1])
    best = xr.full_like(value, 0.7).where(value.sign < 0, 0.1)
    left = value + scatter * xr.DataArray(WOBBLE, {"seed": [0, 1, 2]})
    runs = {"best": best, "value": best - left * (best - 0.5), "start": best - 0.9 * (best - 0.5)}
    return xr.Dataset(runs)


@pytest.mark.parametrize(
    ("negative", "positive", "parts"),
    [
        ((0.05, 0.1), (0.1, 0.1), ["reproduced", "reproduced"]),
        ((0.05, 0.5), (0.1, 0.1), ["contradicted", "reproduced"]),
        ((0.05, 0.25), (0.1, 0.1), ["undecided", "reproduced"]),
        ((0.5, 0.5), (0.5, 0.4), ["contradicted", "contradicted"]),
    ],
)
def test_learned_fields_against_the_best(negative, positive, parts):
    assert list(rules.lo_34(trained(negative, positive)).parts.values()) == parts


def chain(line=0.0, drawn=0.0, integral=0.0, pairs=1_000_000):
    """Integrals by case; errors of a line, of the draws and of the last line."""
    law = np.array([0.7, 0.2])
    value = law[:, None] * np.ones(3)
    value[0, 1] += line
    return xr.Dataset(
        {
            "value": (("case", "line"), value),
            "wins": ("case", np.round((law + drawn) * pairs).astype(int)),
            "pairs": pairs,
            "integral": ("ratio", law + integral),
            "closed": ("ratio", law),
        },
        {"case": ["a", "b"], "line": [1, 2, 3], "ratio": [1.0, 2.0]},
    )


def normal(variance=1.0, distance=0.004, scatter=0.001):
    return xr.Dataset(
        {
            "variance": over_seeds([variance, 1.0], ["filter"], scatter),
            "distance": over_seeds([distance, 0.004], ["filter"], scatter),
        }
    )


@pytest.mark.parametrize(
    ("law", "lines", "parts"),
    [
        ({}, {}, ["reproduced", "reproduced"]),
        ({"variance": 1.1}, {}, ["contradicted", "reproduced"]),
        ({"distance": 0.03}, {}, ["contradicted", "reproduced"]),
        ({"scatter": 0.02}, {}, ["undecided", "reproduced"]),
        ({}, {"line": 1e-3}, ["reproduced", "contradicted"]),
        ({}, {"drawn": 0.02}, ["reproduced", "contradicted"]),
        ({}, {"drawn": 0.005}, ["reproduced", "undecided"]),
    ],
)
def test_the_gaussian_chain(law, lines, parts):
    assert list(rules.lo_38(normal(**law), chain(**lines)).parts.values()) == parts


@pytest.mark.parametrize(
    ("change", "verdict"),
    [({}, "answered"), ({"integral": 1e-6}, "contradicted"), ({"drawn": 0.02}, "contradicted"),
     ({"pairs": 1000}, "undecided")],
)  # fmt: skip
def test_the_closed_form(change, verdict):
    assert rules.lo_39(chain(**change)).verdict == verdict


def ends(beyond=0.0):
    """Predicted extremes, and a search that goes beyond the smallest."""
    axes = ("case", "end")
    return xr.Dataset(
        {
            "mode": (axes, [[0, 20]]),
            "predicted": (axes, [[0.6, 0.02]]),
            "found": (axes, [[0.6 - 1e-9, 0.021 - beyond]]),
        },
        {"case": ["n = 40"], "end": ["largest", "smallest"]},
    )


def test_a_search_stays_within_the_extremes():
    assert rules.lo_40(ends()).verdict == "answered"
    assert rules.lo_40(ends(beyond=0.002)).verdict == "contradicted"


@pytest.mark.parametrize(
    ("differ", "parts"), [((0, 0), ["reproduced"] * 3), ((0, 50), ["reproduced", "contradicted", "contradicted"])]
)
def test_the_polar_form(differ, parts):
    draws = xr.Dataset(
        {"differ": (("form", "gain", "seed"), np.reshape(differ, (2, 1, 1))), "pairs": 10_000},
        {"form": ["(11)", "(12)"], "gain": [3.0], "seed": [0]},
    )
    assert list(rules.lo_41(draws).parts.values()) == parts


@pytest.mark.parametrize(
    ("compared", "scatter", "verdict"),
    [((0, 0), 0.001, "reproduced"), ((0.05, 0.05), 0.001, "contradicted"), ((0, 0.05), 0.001, "partly"),
     ((0.01, 0), 0.005, "undecided")],
)  # fmt: skip
def test_parallel_and_orthogonal_as_a_trade_off(compared, scatter, verdict):
    values = [[0, value, 0.04, 0.5] for value in compared]
    choices = list(objectives.CHOICES)
    draws = xr.Dataset({"behind": over_seeds(values, ["gain", "choice"], scatter, gain=[0.01, 3.0], choice=choices)})
    assert rules.lo_42(draws).verdict == verdict


@pytest.mark.parametrize(
    ("change", "verdict", "parts"),
    [
        ({}, "reproduced", ["reproduced", "answered", "answered"]),
        ({"apart": 0.1}, "contradicted", ["contradicted", "answered", "answered"]),
        ({"gaussian": 0.1}, "reproduced", ["reproduced", "undecided", "answered"]),
        ({"beyond": 0.002}, "reproduced", ["reproduced", "answered", "undecided"]),
    ],
)
def test_the_fourier_form(change, verdict, parts):
    given = {"apart": 0.0, "gaussian": 0.0, "beyond": 0.0} | change
    moduli = over_seeds([[given["gaussian"]], [-0.19], [-0.2]], ["gain", "pair"], gain=[0.01, 3.0, 100.0])
    zeros = ("gain", np.zeros(3))
    draws = xr.Dataset({"apart": given["apart"], "differ": zeros, "off": zeros, "moduli": moduli})
    found = rules.lo_43(draws, ends(given["beyond"]))
    assert found.verdict == verdict and list(found.parts.values()) == parts


def test_rows_of_tables():
    rows = rules.missed_rows(trained((0.05, 0.25), (0.1, 0.1)))
    assert [row[:2] for row in rows] == [
        ["negative", "0.01"],
        ["negative", "3"],
        ["positive", "0.01"],
        ["positive", "3"],
    ]
    assert rows[0][2:] == ["0.520", "0.690", "0.700", "0.05 [0.03, 0.07]"]
    dips = xr.Dataset(
        {
            "missed": over_seeds([0.25, 0.14], ["shape"], shape=["whole", "cut"]),
            "loss": over_seeds([0.39, 0.40], ["shape"], shape=["whole", "cut"]),
        }
    )
    assert rules.dip_rows(dips)[1][-1] == "-0.010 [-0.010, -0.010]"
