"""Rules on overlaps of weights and updates: planted data for which a claim is true, and for which it is not."""

import numpy as np
import pytest
import xarray as xr
from planted.records import by, planted, scatter, verdicts

from experiments.heavy_tails.overlaps import rules, scatters

ROOM, K = "heavy_tails/overlaps/", 1000


def near(name, variable, size=0.02):
    """Factors near one: draws that differ a little."""
    return 1 + scatter(name, variable, size)


def maxima(name, multiples):
    """Overlaps whose largest entry is a multiple of its level by chance, along the rates, if any, and the pairs."""
    level = np.array(multiples)[..., None, :, None] * rules.LEVEL.values
    return planted(ROOM + name, maximum=level * near(ROOM + name, "maximum"))


def predictions(name, off, fresh=0.0):
    """Measured = (1 + off) predicted on the run's own weights, (1 + fresh) on others."""
    ratios = (1 + by(start={"own": off, "fresh": fresh})) * near(ROOM + name, "measured", 0.002)
    return planted(ROOM + name, measured=ratios, predicted=1.0)


test_theory_of_a_spike = verdicts(
    rules.ht_40,
    lambda gd, adam, fresh=0.0: (predictions("prediction_gd", gd, fresh), predictions("prediction_adam", adam)),
    reproduced=[(0.02, 0.02)],
    partly=[(0.3, 0.02)],
    contradicted=[(-0.3, 0.3)],
    undecided=[(0.1, 0.1), (-0.3, 0.3, 0.05)],
)


def diagonals(first, after):
    """Figure 9: the first entry after one step, and block means of the diagonal after ten in units of chance."""
    name = f"{ROOM}overlaps_adam_one_more"
    values = np.stack([np.r_[first, np.ones(K - 1)], np.repeat(after, [10, 40, 150, 800])])
    one = values[:, None] / rules.LENGTH.values[:, None] * near(name, "diagonal", 0.05).values
    one[:, 0, :, 0] = first * near(name, "first", 0.001)[:, 0]
    runs = planted(name, diagonal=one, first=one[..., 0])
    return (runs,), runs.isel(seed=[0])


test_alignment_and_decay = verdicts(
    rules.ht_41,
    diagonals,
    rr=[(0.99, (300, 80, 20, 4))],
    cr=[(0.5, (300, 80, 20, 4))],
    rc=[(0.99, (1, 1, 1, 1)), (0.99, (300, 80, 20, 40))],
    ur=[(0.9, (300, 80, 20, 4))],
)


def spectra(widths, seed):
    """Spectra of noise, widened by log-normal factors."""
    rng = np.random.default_rng(seed)
    noise = np.repeat(4 * np.linalg.svd(rng.standard_normal((375, 250)), compute_uv=False) ** 2, 4)
    return np.array([np.sort(noise * np.exp(w * rng.standard_normal(K)))[::-1] for w in widths])


def runs_of_two(leading):
    """Records of Adam at one and at the other rates, and of GD at 2000 and at the others.

    The bulk is wider along the rate, of which the measures of spread say nothing; leading: overlaps by rate.
    """
    made = []
    for name, rates in (("Adam", [0.01, 0.1, 0.2, 0.5, 1.0, 10.0]), ("GD", [1000.0, 2000.0, 3000.0])):
        widths = np.linspace(0, 2, len(rates))
        values = np.stack([spectra(widths, seed) for seed in range(3)], 1)
        chi = np.random.default_rng(3).chisquare(1, (len(rates), 3, 2, K)) / K
        chi[..., :10] = np.asarray(leading)[: len(rates), None, None, None]
        other = np.random.default_rng(4).standard_normal((len(rates), 3, 2))
        spread = ("rate", "seed", "side"), widths[:, None, None] + 5 * other
        runs = xr.Dataset(
            {"diagonal": ((*spread[0], "k"), chi), "eigenvalues": (("rate", "seed", "k"), values)}
            | dict.fromkeys(("participation", "off_diagonal", "entropy"), spread),
            {"rate": rates, "seed": range(3), "side": list(rules.SIDES)},
        ).expand_dims(pair=[rules.LAST], end=[10])
        own = {"Adam": 1.0, "GD": 2000.0}[name]
        made += [runs.sel(rate=own, drop=True), runs.sel(rate=runs.rate != own)]
    return made


@pytest.mark.parametrize(("sign", "a"), [(1, "reproduced"), (-1, "contradicted")])
def test_leading_overlaps_against_the_bulk(sign, a):
    leading = np.linspace(0.01, 0.05, 6)[::sign]
    found = rules.ht_42(*runs_of_two(leading))
    assert found.parts["a"] == a and found.parts["b"] != "reproduced" and found.parts["c"] == "answered"


def with_text(name, multiples):
    runs = maxima(name, multiples)
    return runs, runs.isel(seed=[0])


test_outliers_in_mean_field_scaling = verdicts(
    rules.ht_45,
    lambda with_old, small: with_text("overlaps_field", [[0.9, 0.9, small], [with_old, 50, 50]]),
    rr=[(0.9, 0.9)],
    cr=[(20, 0.9)],
    rc=[(0.9, 20)],
    ur=[(1.5, 0.9)],
)


def first_steps(old, gd, adam, large):
    runs, text = with_text("overlaps_first_gd", [[old, gd], [old, large]])
    return runs, maxima("overlaps_first_adam", [old, adam]), text


test_outliers_after_one_step = verdicts(
    rules.ht_51,
    first_steps,
    rrr=[(0.9, 0.9, 40, 40)],
    ccc=[(0.9, 40, 0.9, 0.9), (30, 0.9, 40, 40)],
    rrc=[(0.9, 0.9, 40, 0.9)],
    rur=[(0.9, 0.9, 5, 40)],
)


def ten_of_gd(change, last, right):
    """Ten steps of GD at 2000: change of the losses, multiple after ten steps, right over left side."""
    name = f"{ROOM}overlaps_gd_2000"
    top = by(pair={rules.FIRST: 30, rules.LAST: last}) * rules.LEVEL * by(side={"left": 1.0, "right": right})
    twenty = by(side={"left": 1.0, "right": 1 / right}) * near(name, "twenty")
    course = f"{ROOM}gd_2000_course"
    path = 1 + by(at={at: change * at / 10 for at in range(11)}) + scatter(course, "train", 0.01)
    runs = planted(name, maximum=top * near(name, "maximum"), twenty=twenty)
    return runs, planted(course, train=path, test=path), runs.isel(seed=[0])


test_ten_steps_of_gd = verdicts(
    rules.ht_53,
    ten_of_gd,
    reproduced=[(-0.1, 3, 0.3)],
    contradicted=[(0.1, 30, 1.0)],
    partly=[(0.0, 3, 0.3), (-0.1, 15, 0.3)],
)


def test_the_largest_entries_are_found_where_they_lie():
    matrix = np.random.default_rng(0).random((30, 40))
    matrix[3, 7], matrix[20, 0] = 5, 4
    values, places = scatters.top(matrix, 10)
    assert values[:2].tolist() == [5, 4] and (np.diff(values) <= 0).all()
    assert places[:, :2].T.tolist() == [[4, 8], [21, 1]]
    assert np.array_equal(matrix[places[0] - 1, places[1] - 1], values)


def test_a_course_begins_at_the_start_and_has_every_step():
    size = {"n": 60, "d": 30, "h": 40, "test": 50}
    found = scatters.course(0, rule="GD code", rate=5.0, steps=3, **size)
    shorter = scatters.course(0, rule="GD code", rate=5.0, steps=1, **size)
    assert found["at"].values.tolist() == [0, 1, 2, 3]
    assert np.allclose(found.test[:2], shorter.test)


def noisy(ratio=0.5, widen=0.0, step=0.08):
    """Label noise: the largest overlap for 0.3 over that for 0.7, widening of the spectra, rise of the losses."""
    rng = np.random.default_rng(2)
    top = np.exp(np.log(ratio) * np.array([0.6, 0.4, 0.2, 0]) / 0.4)[:, None] * (1 + 0.02 * rng.standard_normal((4, 5)))
    start = spectra([0.0], 0)[0] * np.ones((5, 1))
    values = np.stack([np.sort(start * np.exp(widen * i * rng.standard_normal((5, K))))[:, ::-1] for i in range(4)])
    loss = 1 + step * np.arange(4)[:, None, None, None] + 0.001 * rng.standard_normal((4, 5, 11, 2))
    spectrum = {"maximum": top[..., None, None], "eigenvalues": values[:, :, None]}
    return planted(f"{ROOM}overlaps_noise_five", **spectrum, train=loss, test=loss)


test_label_noise_in_spectrum_and_overlaps = verdicts(
    rules.ht_55, noisy, reproduced=[(0.5,)], partly=[(0.9,), (0.5, 0.5)], contradicted=[(0.95, 0.5)]
)


test_losses_rise_with_label_noise = verdicts(
    rules.ht_56, noisy, reproduced=[{"step": 0.08}], contradicted=[{"step": -0.08}]
)
