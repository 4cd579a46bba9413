"""The rules on the first update of Adam, on planted data for which the answer is known."""

import numpy as np
import pytest
from planted.records import by, planted, scatter, verdicts

from experiments.heavy_tails.first_update import cells, rules

ROOM = "heavy_tails/first_update/"
TABLE, WIDE, SPIKES = f"{ROOM}first_update_table_2", f"{ROOM}first_update_fixed_width", f"{ROOM}sign_spikes"


def near(name, variable, scale=0.002, seed=0):
    """Factors near one, as draws differ."""
    return 1 + scatter(name, variable, scale, seed)


def norms(name, width=None, *, power=1.0, norm=0.82, share=0.68):
    """Norms of the first update: the spectral one is `norm` (hd)^(power / 2), `share` of the other squared."""
    signs, spectral, frobenius = (near(name, "signs", scale, seed) for seed, scale in enumerate((0.002, 0.002, 1e-4)))
    h, d = (by(n={n: cells.sizes(n, width)[side] for n in signs.n.values.tolist()}) for side in "hd")
    signs, factors = norm * (h * d) ** (power / 2) * signs, by(reading={"code": 1.0, "text": 10**0.5})
    start = {"start_spectral": (h**0.5 + d**0.5) * spectral, "start_frobenius": (h * d) ** 0.5 * frobenius}
    return planted(name, signs=signs, spectral=factors * signs, frobenius=factors * signs / share**0.5, **start)


def growing(row_share=None, **given):
    return norms(WIDE, 1500, **given), norms(TABLE, **given | ({"share": row_share} if row_share else {}))


test_growth_of_the_norms = verdicts(
    rules.ht_15,
    growing,
    rrr=[{}],
    ccc=[{"power": 0.8, "row_share": 0.3}],
    rrc=[{"share": 0.4, "norm": 0.63}],
    rcr=[{"norm": 0.2}],  # a share that the rule only compares with 1/2
)


def spikes(power=-0.5, gap=100.0, small=1.01):
    """Thresholds of the spike that go as h^power, and gaps at a rate of one and at small rates."""
    by_h = by(n={n: 0.055 * (n / 2000) ** power for n in (1000, 2000, 3000, 4000)})
    gaps = [small, small, gap, gap] * near(SPIKES, "ratio", 0.01)
    return planted(SPIKES, threshold=by_h * near(SPIKES, "threshold", 0.01), ratio=gaps)


test_scales_of_the_learning_rate = verdicts(
    rules.ht_16,
    lambda norm=0.82, **given: (norms(TABLE, norm=norm), spikes(**given)),
    rrrrcr=[{}],
    rrcrrr=[{"norm": 33.0}],  # forty times as large: 0.01 is a rate between the scales, other ratios are too large
    rrcrcr=[{"power": -0.2}],
    rrurcr=[{"power": -0.4}],
    rrrccc=[{"gap": 1.01, "small": 1.1}],
)


test_straight_lines_of_figure_8 = verdicts(
    rules.ht_39,
    lambda power, printed: (norms(TABLE, power=power), printed),
    rrr=[(1.0, rules.TABLE_2)],
    ccc=[(0.7, rules.TABLE_2[:-1] + [(8000, 6000, 4001)])],
)


def teachers(**factors):
    """Thresholds and norms of a first spike: with other links, and with the usual one."""
    base, link, factors = f"{ROOM}first_spike", f"{ROOM}first_spike_links", {"threshold": 1.0, "norm": 1.0} | factors
    usual = {name: near(base, name, 0.01, seed) for seed, name in enumerate(factors)}
    other = {name: factors[name] * one * near(link, name, 0.01, 2) for name, one in usual.items()}
    return planted(link, **other), planted(base, **usual)


test_other_teachers = verdicts(
    rules.ht_69,
    teachers,
    reproduced=[{}],
    contradicted=[{"threshold": 2.0}, {"norm": 1.3}],
    undecided=[{"threshold": 1.5}],
)


def test_ridge_and_rank_hold_and_fail_where_they_are_planted_to():
    assert rules.ht_04(np.array([[1e-3, 1e-12]])).verdict == "contradicted"
    slack, rows = np.array([[1, 0.0], [3, 1.2]]), norms(TABLE, norm=0.82, share=0.6724)
    assert rules.ht_38(slack, rows).parts == dict(a="reproduced", b="reproduced", c="contradicted")
    whole = norms(TABLE, norm=1.02, share=1.0)
    assert rules.ht_38(np.array([[2, -0.1]]), whole).parts["a"] == "contradicted"
    assert rules.ht_38(slack, whole).parts["c"] == "reproduced"


SMALL = cells.taken_apart(n=12, d=5, h=6)


@pytest.mark.parametrize(
    ("sign", "seen", "verdict", "parts"),
    [
        (1.0, np.positive, "reproduced", "reproduced reproduced"),
        (-1.0, np.positive, "corrected", "corrected reproduced"),
        (2.0, np.positive, "partly", "contradicted reproduced"),
        (-3.0, np.positive, "partly", "contradicted reproduced"),
        (-1.0, np.abs, "partly", "corrected contradicted"),  # an update without the signs
    ],
)
def test_sign_of_the_printed_gradient(sign, seen, verdict, parts):
    first = cells.base_directions(n=40, d=20, h=30)
    first["direction"] = seen(first.direction)
    outcome = rules.ht_14(SMALL.assign(printed=sign * SMALL.gradient), first)
    assert (outcome.verdict, " ".join(outcome.parts.values())) == (verdict, parts)


def test_split_of_the_gradient_and_its_failure():
    assert rules.ht_34(SMALL).verdict == "corrected"
    assert rules.ht_34(SMALL.assign(centred=2 * SMALL.centred)).parts["a"] == "contradicted"
    assert rules.ht_33().parts == {"a": "reproduced", "b": "contradicted", "c": "reproduced"}


def lemma(distance, differing, miss=1e8):
    """Errors of the rank-one matrix, shares of other signs, and sides of (24) over n = 1000 to 8000."""
    curves = {"distance": distance, "differing": differing}
    curves |= {"frobenius_distance": [1e-2] * 4, "smallest": [1e-4 / miss] * 4}
    by_n = {name: by(n=dict(zip((1000, 2000, 4000, 8000), curve))) for name, curve in curves.items()}
    return planted(WIDE, **{name: one * near(WIDE, name, 0.02, k) for k, (name, one) in enumerate(by_n.items())})


def errors(distance, at_many):
    name = f"{ROOM}many_points"
    return lemma(distance, [0.2] * 4), planted(name, distance=at_many * near(name, "distance"))


test_lemma_on_the_rank_one_matrix = verdicts(
    rules.ht_35,
    errors,
    reproduced=[([0.6, 0.4, 0.3, 0.2], 0.05)],
    contradicted=[([0.65] * 4, 0.77)],
    partly=[([0.65] * 4, 0.3)],  # within the bound where it says something, but no smaller
)


FALLING = [0.1, 0.05, 0.02, 0.005]
test_lemma_on_the_signs = verdicts(
    rules.ht_36,
    lambda shares, miss=1e8: lemma([0.6] * 4, shares, miss),
    cc=[([0.25] * 4,)],
    rc=[(FALLING,)],
    uc=[([0.1, 0.08, 0.05, 0.03],)],
    rr=[(FALLING, 1e-5)],  # all entries of A above 1/2
)


ZEROS = ("rank_one", "gradient_float32", "gradient_float64", "smallest")
test_zeros_are_counted = verdicts(
    rules.ht_37,
    lambda count: planted(f"{ROOM}exact_zeros", {"seed": [0, 1]}, **dict.fromkeys(ZEROS, [0, count])),
    reproduced=[0],
    contradicted=[2],
)


def test_implication_of_equation_25_holds_above_one_half_only():
    assert rules.counterexample(0.51) is None
    for least in (1e-9, 0.01, 0.49):
        g = rules.counterexample(least)
        assert g < 0 and (g - least) ** 2 < least / 2


def test_signs_as_the_limit_of_the_update():
    found = cells.sign_spikes(0, 600, rates=[1.0], tolerance=0.01)
    assert 0.05 < float(found.threshold) < 1 and float(found.ratio[0]) > 1.05
    with pytest.raises(ValueError, match="multiple of 128"):
        cells.many_points(0, 1000)
    assert 0.5 < float(cells.many_points(0, 4096, width=60, chunk=2048).distance) < 1.1
