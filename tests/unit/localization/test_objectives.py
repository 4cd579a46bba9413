"""The rules on the note's probabilities (6) to (14), on planted data."""

import numpy as np
import pytest
import xarray as xr
from planted.records import cases, over_seeds, planted, table, verdicts

from experiments.localization.objectives import cells as objectives
from experiments.localization.objectives import rules


@pytest.mark.parametrize("values", [(0.7, 0.93), (0.97, 0.99)])
def test_near_one_is_an_ideal(values, monkeypatch):
    monkeypatch.setattr(objectives, "learned", lambda runs: runs)
    found = rules.lo_27(over_seeds(values, "gain", gain=[0.01, 3.0]).expand_dims(step=[0]))
    assert found.verdict == "answered"
    assert (found.numbers["mean, 0.01"], found.numbers["mean, 3"]) == pytest.approx(values)


def on_average(average, point, gap=0.0, error=0.001):
    """Records of a constant, a bump and a matched pair; values of (6) and (9) by gain, and the lead of the pair."""
    names = ["constant", "bump 2.4", "cosine 2", "bump as cosine 2"]
    values = np.column_stack([average, [0.5, 0.5], 0.5 + np.broadcast_to(gap, 2)])[:, None]
    points, leads = np.column_stack([point, np.zeros((2, 2))])[:, None], values[..., :, None] - values[..., None, :]
    sel = {"filter": names, "rival": names}
    return planted(rules.ON_AVERAGE, sel, average=values, point=points, lead=leads, lead_error=error)


FLAT, TURNED = [[0.7, 0.6], [0.7, 0.6]], [[0.7, 0.6], [0.6, 0.7]]
test_equal_ratio_and_equal_probability = verdicts(
    rules.lo_28,
    lambda gap, error=0.001: on_average(FLAT, FLAT, gap, error),
    answered=[(0.0,), (0.2,), (-0.2,), ((0.2, 0.0),), (0.03,)],
    undecided=[(0.05, 0.01)],
)
test_the_best_filter_of_both_problems = verdicts(
    rules.lo_29,
    lambda average, wave=0.6: (on_average(average, TURNED), (0.6, wave)),
    reproduced=[(TURNED,)],
    contradicted=[([[0.6, 0.7], [0.6, 0.7]],), (TURNED, 0.66)],
    partly=[([[0.70, 0.71], [0.6, 0.7]],)],
)


def test_rivals_are_chosen_by_the_other_seeds():
    runs = on_average([[0.6, 0.7], [0.6, 0.7]], FLAT)
    runs["average"][0, 0, 0] = 0.75  # one lucky draw of the constant
    runs["lead"][0, 0] = runs.average[0, 0].values[:, None] - runs.average[0, 0].values[None, :]
    point, ring, lead = rules.rivals(runs.isel(gain=0))
    assert (point, ring) == ("constant", "bump 2.4")
    assert lead.estimate == pytest.approx((-0.05 + 0.1 + 0.1) / 3)


def followed(spread=0.065, loss=0.37, scatter=0.001):
    """Planted bumps, waves and random starts: IPR .28 at the start and `spread` at the end."""
    spreads, losses = np.full((3, 2, 3, 2), 0.3), 0.37 * (1 + over_seeds(np.zeros((3, 2, 2)), *"abc", scatter=1e-4))
    spreads[1, 0, :, 0], spreads[1, 0, :, 1] = 0.28, over_seeds(spread, scatter=scatter)
    losses[1] = loss
    sel = {"step": [0, 4000]}
    return planted(
        "localization/fields/planted_fields", sel, spread=spreads, low=0.8, loss=losses.values.swapaxes(2, 3)
    )


@pytest.mark.parametrize(
    ("change", "verdict", "leaves"),
    [
        ({}, "answered", True),
        ({"spread": 0.25}, "answered", False),
        ({"loss": 0.45}, "answered", False),
        ({"spread": 0.099, "scatter": 0.005}, "undecided", None),
    ],
)
def test_what_training_follows(change, verdict, leaves):
    found = rules.lo_30(followed(**change))
    assert (found.verdict, found.numbers["leaves the bumps"]) == (verdict, leaves)


def passages(differ=0, moved=0.0, squares=True, scatter=0.001):
    draws = table({"seed": range(3)}, differ=[differ, 0, 0], tied=[0.1, 0.0, 0.0], squares=[squares, True, True])
    return draws.assign(moved=over_seeds([[moved, 0.0]], "gain", "filter", scatter=scatter))


test_the_steps_to_ten = verdicts(
    rules.lo_31,
    passages,
    rrr=[{}],
    crr=[{"differ": 5}],
    rcr=[{"moved": 0.05}],
    rur=[{"scatter": 0.02}],
    rrc=[{"squares": False}],
)


@cases(
    {
        "reproduced": [([0, 0, 0, 0, 0], 0.001)],
        "partly": [([0, 0, 0.02, 0.04, 0.05], 0.001), ([0, 0, 0.01, 0, 0], 0.001)],
        "contradicted": [([0.02, 0, 0.02, 0.04, 0.05], 0.001)],
        "undecided": [([0.01, 0.01, 0.01, 0.01, 0.01], 0.005)],
    }
)
def test_the_variance_ratio_as_the_aim(change, outcome):
    """Leads of a bump over the constant by gain; the constant has the largest variance ratio."""
    bump, error = change
    columns = {"lead": np.reshape(bump, (5, 1, 1)), "lead_error": error, "ratio": 2.0, "gabor_ratio": 1.5}
    found = rules.lo_33(planted("localization/bumps/filters_at_a_point", **columns))
    assert found.verdict == outcome and found.numbers["the constant has the largest variance ratio"]


def trained(negative, positive):
    """Networks that miss these shares of what (9) offers, by gain."""
    shares = over_seeds(np.transpose([negative, positive]), "gain", "sign", scatter=0.01)
    left, best = shares.values.swapaxes(1, 2), np.array([0.7, 0.1])
    columns = {"best": best, "value": best - left * (best - 0.5), "start": best - 0.9 * (best - 0.5)}
    runs = planted("localization/bumps/learned_filters", {"gain": [0.01, 3.0]}, **columns)
    return runs, runs.sel(gain=[3.0])


test_learned_fields_against_the_best = verdicts(
    rules.lo_34,
    trained,
    rr=[((0.05, 0.1), (0.1, 0.1))],
    cr=[((0.05, 0.5), (0.1, 0.1))],
    ur=[((0.05, 0.25), (0.1, 0.1))],
    cc=[((0.5, 0.5), (0.5, 0.4))],
)


def chain(line=0.0, drawn=0.0, integral=0.0, pairs=1_000_000):
    """Integrals by case; errors of a line, of the draws and of the last line."""
    law = np.array([0.7, 0.2])
    found = table({"case": ["a", "b"], "line": [1, 2, 3]}, value=law[:, None] + line * np.outer([1, 0], [0, 1, 0]))
    wins = ("case", np.round((law + drawn) * pairs).astype(int))
    return found.assign(wins=wins, pairs=pairs, integral=("ratio", law + integral), closed=("ratio", law))


def normal(variance=1.0, distance=0.004, scatter=0.001):
    firsts = {"variance": [variance, 1.0], "distance": [distance, 0.004]}
    return xr.Dataset({name: over_seeds(values, "filter", scatter=scatter) for name, values in firsts.items()})


test_the_gaussian_chain = verdicts(
    rules.lo_38,
    lambda one, other: (normal(**one), chain(**other)),
    rr=[({}, {})],
    cr=[({"variance": 1.1}, {}), ({"distance": 0.03}, {})],
    ur=[({"scatter": 0.02}, {})],
    rc=[({}, {"line": 1e-3}), ({}, {"drawn": 0.02})],
    ru=[({}, {"drawn": 0.005})],
)
test_the_closed_form = verdicts(
    rules.lo_39, chain, answered=[{}], contradicted=[{"integral": 1e-6}, {"drawn": 0.02}], undecided=[{"pairs": 1000}]
)


def ends(beyond=0.0):
    """Predicted extremes, and a search that goes beyond the smallest."""
    axes, found = {"case": ["n = 40"], "end": ["largest", "smallest"]}, [0.6 - 1e-9, 0.021 - beyond]
    return table(axes, mode=[0, 20], predicted=[0.6, 0.02], found=found)


test_a_search_stays_within_the_extremes = verdicts(rules.lo_40, ends, answered=[0], contradicted=[0.002])
test_the_polar_form = verdicts(
    rules.lo_41,
    lambda *differ: table({"form": ["(11)", "(12)"]}, differ=differ).expand_dims(["gain", "seed"]).assign(pairs=1e4),
    rrr=[(0, 0)],
    rcc=[(0, 50)],
)


def behind(compared, scatter=0.001, norms=(0.2, 0.02)):
    """How far filters chosen by cosines are behind, by gain for those that compare them, and how norms fluctuate."""
    labels = {"gain": [0.01, 3.0], "choice": list(objectives.CHOICES)}
    values = over_seeds([[0, one, 0.02, 0.04, 0.5] for one in compared], *labels, scatter=scatter, **labels)
    return xr.Dataset({"behind": values, "norms": over_seeds(norms, "gain", scatter=0.001, gain=labels["gain"])})


test_parallel_and_orthogonal_as_a_trade_off = verdicts(
    rules.lo_42,
    behind,
    reproduced=[((0, 0),), ((0, 0.05),)],  # where all norms are alike nothing could fail, and nothing is decided
    contradicted=[((0.05, 0.05),), ((0.05, 0),)],
    partly=[((0, 0.05), 0.001, (0.2, 0.2))],
    undecided=[((0.01, 0), 0.005)],
)


def fourier(apart=0.0, gaussian=0.0, beyond=0.0):
    moduli = over_seeds([[gaussian], [-0.19], [-0.2]], "gain", "pair", gain=[0.01, 3.0, 100.0])
    draws = table({"gain": moduli.gain.values}, differ=0.0, off=0.0)
    return draws.assign(apart=apart, moduli=moduli), ends(beyond)


test_the_fourier_form = verdicts(
    rules.lo_43,
    fourier,
    raa=[{}],
    caa=[{"apart": 0.1}],
    rua=[{"gaussian": 0.1}],
    rau=[{"beyond": 0.002}],
    reproduced=[{}, {"gaussian": 0.1}, {"beyond": 0.002}],
    contradicted=[{"apart": 0.1}],
)
