"""The rules on sweeps over learning rates: planted sweeps that meet every letter, and changes that must break one."""

import numpy as np
import pytest
import xarray as xr
from sklearn.linear_model import Ridge

from experiments.heavy_tails import rate_sweeps, shapes, sweep_rules, teacher_student
from experiments.heavy_tails.sweep_rules import GRID

SEEDS, RATES, NOISE = [0, 1, 2, 3, 4], [0.0, *GRID], 2.449
SHIFT = xr.DataArray([-0.002, -0.001, 0.0, 0.001, 0.002], {"seed": SEEDS}, "seed")


def sweep(**curves):
    """A sweep with the given seed means over untrained and nine rates, and a little noise that all rates share."""
    return xr.Dataset(
        {name: SHIFT + xr.DataArray(values, {"rate": RATES}, "rate").astype(float) for name, values in curves.items()}
    )


def at(curve, **changes):
    """A copy of a curve with other values at some positions, p3=... for the third."""
    return [changes.get(f"p{k}", value) for k, value in enumerate(curve)]


def broken(found):
    """The letters that do not hold."""
    return {letter for letter, holds in found.items() if not holds}


#           0    .001  .01   .1    1    10   100  1000  2000  3000
ADAM = {
    "hill": [2.45, 2.45, 2.40, 2.30, 2.10, 2.05, 2.07, 1.70, 1.60, 1.50],
    "ks": [20.0, 20.0, 15.0, 9.0, 4.0, 3.0, 2.0, 1.90, 1.80, 1.70],
    "test": [1.00, 1.00, 0.95, 0.90, 0.80, 0.85, 0.90, 1.10, 1.20, 1.30],
    "train": [0.90, 0.89, 0.85, 0.80, 0.70, 0.65, 0.66, 0.50, 0.40, 0.30],
    "alignment": [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.055, 0.07, 0.08, 0.09],
    "change": [0.0, 0.001, 0.10, 0.20, 0.30, 0.40, 0.50, 0.60, 0.70, 0.80],
    "spike_ratio": [1.01, 1.01, 1.20, 1.50, 2.00, 3.00, 4.00, 5.00, 6.00, 7.00],
}
GD = {
    "hill": [2.45, 2.45, 2.45, 2.45, 2.45, 2.45, 2.45, 2.44, 2.30, 2.10],
    "ks": [20.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0, 19.0, 15.0, 9.0],
    "test": [1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 0.99, 0.95, 0.90],
    "train": [0.90, 0.90, 0.90, 0.90, 0.90, 0.90, 0.90, 0.89, 0.85, 0.80],
    "alignment": [0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.02, 0.03, 0.04],
    "change": [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.02, 0.10, 0.20],
}
LEVEL = np.linspace(0.05, 0.5, 10)
ONE_STEP = {
    "test": [1.0, 1, 0.9, 0.8, 0.7, 0.75, 0.8, 0.9, 1, 1.2],
    "train": [1.0, 1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2],
    "alignment": 1 + LEVEL,
    "similarity": LEVEL,
}
VALLEY, STEEP = [1, 1, 0.95, 0.9, 0.8, 0.9, 1, 1.1, 1.2, 1.3], [1] * 7 + [0.9, 0.7, 0.6]
LATE, EARLY = [0] * 7 + [0.1, 0.3, 0.4], [0, 0, 0.05, 0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2]
FALLING = np.linspace(2.4, 1.8, 10)
NORMALISED = {
    "hill": FALLING,
    "hill_excl": FALLING,
    "ks": FALLING + 1,
    "d_mp": [0, 0.01, *[0.1] * 8],
    "test": np.linspace(1, 0.8, 10),
    "change": [0, 0.001, *[0.5] * 8],
}
PLAIN = NORMALISED | {"hill": np.linspace(2.45, 1.9, 10), "test": [1, 1.1, 1.1, *np.linspace(0.95, 0.8, 7)]}


def benign(adam, gd):
    return sweep_rules.benign(sweep(**adam), sweep_rules.pooled({"Adam": sweep(**adam), "GD": sweep(**gd)}))


def one_step_shape(adam, gd):
    gd = {"test": STEEP, "train": STEEP, "alignment": LATE, "similarity": LATE} | gd
    adam = {"test": VALLEY, "train": VALLEY, "alignment": EARLY, "similarity": EARLY} | adam
    return sweep_rules.one_step_shape(sweep(**gd), sweep(**adam))


OF_ONE = {
    "very_heavy": (ADAM, sweep_rules.very_heavy),
    "large_gd": (GD, sweep_rules.large_gd),
    "same_trend": (ADAM, sweep_rules.same_trend),
    "one_step_losses": (ONE_STEP, sweep_rules.one_step_losses),
    "normalisation": (NORMALISED, lambda one: sweep_rules.normalisation(one, sweep(**PLAIN), NOISE)),
}


@pytest.mark.parametrize(
    ("rule", "changed", "letters"),
    [
        *((rule, {}, set()) for rule in OF_ONE),
        ("very_heavy", {"hill": at(ADAM["hill"], p5=1.95)}, {"a"}),
        ("very_heavy", {"ks": at(ADAM["ks"], p5=4.5)}, {"b"}),
        ("very_heavy", {"hill": at(ADAM["hill"], p7=1.85)}, {"c"}),
        ("very_heavy", {"test": at(ADAM["test"], p9=0.82)}, {"d"}),
        ("large_gd", {"train": at(GD["train"], p8=0.95)}, {"a, training"}),
        ("large_gd", {"test": at(GD["test"], p7=1.1)}, {"a, test"}),
        ("large_gd", {"alignment": at(GD["alignment"], p9=0.02)}, {"a, alignment"}),
        ("large_gd", {"hill": at(GD["hill"], p7=2.46)}, {"b"}),
        ("same_trend", {"hill": at(ADAM["hill"], p6=2.09)}, {"PL_Alpha_Hill does not rise"}),  # by more than 0.03
        ("same_trend", {"ks": at(ADAM["ks"], p5=4.1)}, {"PL_Alpha_KS does not rise"}),
        ("same_trend", {"ks": ADAM["ks"][::-1]}, {"correlated", "PL_Alpha_KS does not rise"}),
        ("one_step_losses", {"similarity": at(LEVEL, p1=0.2)}, {"b"}),
        ("one_step_losses", {"test": at(ONE_STEP["test"], p2=1.1)}, {"c"}),
        ("one_step_losses", {"test": at(ONE_STEP["test"], p5=0.7)}, {"d, test"}),
        ("one_step_losses", {"train": at(ONE_STEP["train"], p8=0.7)}, {"d, training"}),
        ("one_step_losses", {"test": at(ONE_STEP["test"], p9=0.71)}, {"e"}),
        ("normalisation", {"d_mp": [0, 0.01, 0.1, 0.1, 0.1, 0.01, 0.1, 0.1, 0.1, 0.1]}, {"a", "c"}),
        ("normalisation", {"test": at(NORMALISED["test"], p5=1.2)}, {"b", "c"}),
        ("normalisation", {"hill": np.full(10, 2.46), "ks": np.linspace(3, 4, 10)}, {"d", "e", "f"}),
        ("normalisation", {"ks": np.linspace(3, 4, 10)}, {"e"}),
        ("normalisation", {"test": [1.5, *np.linspace(0.8, 1.4, 9)]}, {"f"}),  # the other sign of the correlation
    ],
)
def test_letters_of_one_sweep(rule, changed, letters):
    planted, of = OF_ONE[rule]
    assert broken(of(sweep(**planted | changed))) == letters


@pytest.mark.parametrize(
    ("rule", "adam", "gd", "letters"),
    [
        (benign, ADAM, GD, ""),
        (benign, ADAM | {"hill": at(ADAM["hill"], p4=1.9)}, GD, "a"),
        (benign, ADAM | {"test": at(ADAM["test"], p4=0.92)}, GD, "b"),
        (benign, ADAM | {"hill": at(ADAM["hill"], p3=2.42)}, GD, "b"),
        (benign, ADAM | {"test": at(ADAM["test"], p7=0.5, p8=0.5, p9=0.5)}, GD, "c"),  # good outside the range
        (benign, ADAM | {"hill": [1.5] * 10}, GD | {"hill": [1.5] * 10}, "abc"),  # no run inside
        (one_step_shape, {}, {}, ""),
        (one_step_shape, {}, {"test": at(STEEP, p6=0.9)}, "a"),  # falls before the jump
        (one_step_shape, {}, {"train": np.full(10, 1.0)}, "a"),
        (one_step_shape, {"test": np.linspace(1, 0.5, 10)}, {}, "a"),  # no interior optimum
        (one_step_shape, {}, {"similarity": EARLY}, "b"),
    ],
)
def test_letters_of_two_optimisers(rule, adam, gd, letters):
    assert broken(rule(adam, gd)) == set(letters)


JUMP = np.array([1.0, *[1.0] * 6, 0.8, 0.2, 0.1])  # next to nothing up to 100, a fifth of it at 1000


@pytest.mark.parametrize(
    ("values", "jumps"),
    [
        (JUMP, True),
        (at(JUMP, p6=0.9), False),  # an eighth of it at 100 already
        (at(JUMP, p7=0.5), False),  # more than half at 1000
        (2 - JUMP, False),  # the other way
    ],
)
def test_a_jump_is_one_between_100_and_2000(values, jumps):
    values = sweep(test=values).test
    assert sweep_rules.jump(values, sign=-1) == sweep_rules.jump(-values, sign=1) == jumps


def test_a_jump_is_one_in_four_of_five_seeds():
    deep = sweep(test=np.where(JUMP < 0.5, JUMP - 4, JUMP)).test  # so that the mean falls whatever a few seeds do
    for against, jumps in ((1, True), (2, False)):
        assert sweep_rules.jump(deep.where(deep.seed >= against, 2 - sweep(test=JUMP).test), sign=-1) == jumps


def test_onsets_need_a_tail_of_both_kinds_and_then_a_loss():
    there, useful = sweep_rules.onsets(sweep(**NORMALISED), NOISE)
    assert there == useful == GRID[1:] and sweep_rules.onset_rate(sweep(**NORMALISED), NOISE) == 0.01
    useful = sweep_rules.onsets(sweep(**NORMALISED | {"test": at(np.ones(10), p5=1.1)}), NOISE)[1]
    assert useful == [rate for rate in GRID[1:] if rate != 10]
    assert sweep_rules.onsets(sweep(**NORMALISED | {"hill_excl": np.full(10, 2.42)}), NOISE) == ([], [])
    gap = sweep(**NORMALISED | {"d_mp": at(NORMALISED["d_mp"], p8=0.01)})
    assert sweep_rules.onset_rate(gap, NOISE) is None  # not an interval that reaches the largest rate


def test_pooled_runs_are_paired_with_the_untrained_student_of_their_draw():
    adam = sweep(**ADAM)
    adam["test"] = adam.test * (1 + adam.seed)  # a common factor for each draw, which the gain does not see
    found = sweep_rules.pooled({"Adam": adam, "GD": sweep(**GD)})
    assert found.sizes["run"] == 2 * 5 * 9 and int(found.unchanged.sum()) == 5 * (1 + 6)
    one = found.unstack("run").sel(optimiser="Adam", rate=1)
    assert np.allclose(one.gain, -0.2, atol=0.01) and one.test.max() > 4 * one.test.min()


def spectra(factors, tilt):
    """400 eigenvalues a rate: log-uniform, times a factor for each rate, stretched by `tilt` at the rate 1000."""
    quantiles = np.linspace(1, 0, 400)
    logs = np.array([np.log(f) + quantiles * (tilt if rate == 1000 else 1) for rate, f in zip(RATES, factors)])
    eigenvalues = np.exp(logs)
    eigenvalues[:, 0] *= 10
    values = np.broadcast_to(eigenvalues, (5, *eigenvalues.shape))
    return xr.DataArray(values, {"seed": SEEDS, "rate": RATES}, ["seed", "rate", "k"])


def test_spectra_that_differ_in_scale_and_at_1000_in_shape():
    """Scales 1, 20, 400 apart; the same with equal scales, equal shapes, no lift by the spike and no wider gap."""
    factors, curves = [1, 1, 1, 1, 1, 20, 400, 8000, 8000, 8000], {k: ADAM[k] for k in ("hill", "spike_ratio")}
    good = sweep(**curves, hill_excl=np.add(ADAM["hill"], 0.06)).assign(eigenvalues=spectra(factors, 3))
    for changed, letters in (
        ({}, ""),
        ({"eigenvalues": spectra([1] * 10, 3)}, "a"),
        ({"hill_excl": good.hill}, "b"),
        ({"spike_ratio": 1 / good.spike_ratio}, "c"),
        ({"eigenvalues": spectra(factors, 1)}, "d"),
    ):
        assert broken(sweep_rules.spectra_differ(good.assign(changed))) == set(letters)


def test_bulk_distances_see_neither_scale_nor_the_largest_eigenvalue():
    eigenvalues = spectra([1, 1, 1, 1, 1, 20, 400, 1, 1, 1], 3).copy()
    eigenvalues.loc[{"rate": 10, "k": 0}] *= 50
    found = sweep_rules.bulk_distances(xr.Dataset({"eigenvalues": eigenvalues}), [10.0, 100.0, 1000.0]).mean("seed")
    assert found.sel(rate=[10, 100]).max() < 0.01 and found.sel(rate=1000) > 0.2


def test_falls_and_rises_are_held_against_their_standard_errors_if_there_are_any():
    noisy = sweep(**GD)
    noisy["ks"] = noisy.ks + xr.where(noisy.rate == 3000, 3000 * SHIFT * 5, 0)
    assert not sweep_rules.large_gd(noisy)["b"]
    rising = sweep(**ADAM | {"ks": at(ADAM["ks"], p5=4.1)})
    scattered = rising.assign(ks=rising.ks + xr.where(rising.rate == 10, 500 * SHIFT, 0))
    assert broken(sweep_rules.same_trend(scattered)) == set()
    one, other = (sweep(**curves).isel(seed=[0]) for curves in (GD, GD | {"ks": at(GD["ks"], p9=21)}))
    assert sweep_rules.large_gd(one)["b"] and not sweep_rules.large_gd(other)["b"]


def test_alike_compares_orders_on_the_seeds_that_both_have():
    squared = {name: np.square(ADAM[name]) for name in ("train", "test", "alignment", "hill")}
    assert min(sweep_rules.alike(sweep(**ADAM), sweep(**squared)).values()) > 0.99
    assert sweep_rules.alike(sweep(**ADAM), sweep(**ADAM | {"test": ADAM["test"][::-1]}))["test"] < 0.8
    more = sweep(**ADAM)
    more["test"] = more.test + xr.where(more.seed == 4, -100 * more.test, 0)
    assert sweep_rules.alike(more, sweep(**ADAM))["test"] < 0
    assert sweep_rules.alike(more, sweep(**ADAM).isel(seed=[0, 1]))["test"] > 0.99


def test_fewer_points_letters():
    few = sweep(hill=[1.8] * 10, spike_ratio=[4.0] * 10)
    many = sweep(hill=[1.9] * 10, spike_ratio=[1.02] * 10)
    assert broken(sweep_rules.fewer_points(few, many)) == set()
    assert "a" in broken(sweep_rules.fewer_points(many, few))
    assert broken(sweep_rules.fewer_points(few.assign(spike_ratio=few.spike_ratio * 0.7), many)) == {"b, literal"}
    assert "b, direction" in broken(sweep_rules.fewer_points(few, many * 3))


def test_the_best_rate_is_that_of_the_lowest_mean_test_loss_and_not_of_the_untrained_student():
    one, other = sweep(test=VALLEY, train=np.full(10, 0.5)), sweep(test=[0, *[0.85] * 9], train=np.full(10, 0.6))
    found = sweep_rules.best({"one": one, "other": other})
    assert (found.name, found.rate) == ("one", 1.0)
    assert found.gap == pytest.approx(0.3) and found.test == pytest.approx(0.8)


def points(test, train):
    """Sweeps at 500 to 8000 points with given losses at rate 1, and 1.0 and 0.5 untrained."""
    return {
        n: sweep(test=at(np.full(10, 1.0), p4=t), train=at(np.full(10, 0.5), p4=s))
        for n, t, s in zip((500, 2000, 4000, 8000), test, train)
    }


@pytest.mark.parametrize(
    ("test", "train", "letters"),
    [
        ((1.5, 1.2, 1.1, 0.9), (0.1, 0.2, 0.3, 0.4), ""),
        ((1.5, 0.93, 1.1, 0.9), (0.1, 0.2, 0.3, 0.4), "ab"),  # less than 5 % better, and no rise at 2000
        ((1.5, 1.2, 1.1, 0.9), (0.1, 0.2, 0.05, 0.4), "b"),  # the gap at 4000 is the larger one
    ],
)
def test_more_points(test, train, letters):
    assert broken(sweep_rules.more_points(points(test, train))) == set(letters)


def test_more_points_compares_the_draws_that_all_sizes_have_and_overfitting_needs_four_of_five():
    by_n = points((1.5, 1.2, 1.1, 0.9), (0.1, 0.2, 0.3, 0.4))
    for spoiled, overfits in (([4], True), ([3, 4], False)):
        hit = by_n[2000].seed.isin(spoiled) & (by_n[2000].rate == 1)
        found = by_n[2000].assign(test=by_n[2000].test.where(~hit, -5.0))
        assert sweep_rules.overfits(found, 1.0) == overfits
        assert "a" in broken(sweep_rules.more_points(by_n | {2000: found}))
    fewer = by_n[4000].sel(seed=[0, 1, 2])
    assert "a" not in broken(sweep_rules.more_points(by_n | {2000: found, 4000: fewer}))


@pytest.mark.parametrize(
    ("test", "train", "letters"),
    [
        ([0.7, 0.8, 0.9, 1.0], [0.1, 0.4, 0.6, 0.8], set()),
        ([1.2, 0.8, 0.9, 1.0], [0.1, 0.4, 0.6, 0.8], {"a, test"}),
        ([0.7, 0.8, 0.9, 0.85], [0.1, 0.4, 0.6, 0.8], {"b"}),  # 0.1 is better than 0.01
        ([0.7, 0.8, 0.9, 1.0], [0.4, 0.4, 0.6, 0.6], {"b"}),  # the gap shrinks
    ],
)
def test_smaller_penalties(test, train, letters):
    """Losses at every rate for the ridge constants 1e-4, ..., 1e-1."""
    one = xr.Dataset({"test": ("penalty", test), "train": ("penalty", train)}, {"penalty": [1e-4, 1e-3, 1e-2, 1e-1]})
    assert broken(sweep_rules.smaller_penalties(one.expand_dims(seed=SEEDS, rate=RATES))) == letters


def test_rates_by_their_exponent():
    """The one nearest to two, and those in the benign range that changed the spectrum and won something."""
    hill = at(np.full(10, 2.4), p5=1.95)
    assert sweep_rules.at_two(sweep(hill=hill, test=VALLEY)) == (10.0, pytest.approx(0.9 / 0.8 - 1))
    shaped = NORMALISED | {"hill": [2.45, 2.45, 2.3, 2.2, 2.1, 1.9, 1.8, 1.8, 1.8, 1.8]}
    assert sweep_rules.benign_rates(sweep(**shaped)) == [0.01, 0.1, 1.0]
    worse = shaped | {"test": at(NORMALISED["test"], p3=1.2)}
    assert sweep_rules.benign_rates(sweep(**worse)) == [0.01, 1.0]
    assert sweep_rules.benign_rates(sweep(**shaped | {"change": np.full(10, 0.007)})) == []


def test_a_shaped_sweep_holds_a_record_and_the_shapes_of_its_spectra():
    """From a record of two rules; the shapes are those of the rule that was asked for."""
    rng = np.random.default_rng(0)
    dims = {"rule": ["GD code", "Adam code"], "rate": [0.0, 1.0], "seed": [0, 1]}
    values = np.sort(rng.pareto(2, (2, 2, 2, 40)) + 1)[..., ::-1]
    losses = rng.random((2, 2, 2, 2, 1))
    record = xr.Dataset(
        {"eigenvalues": ((*dims, "k"), values), "test": ((*dims, "features", "penalty"), losses)},
        dims | {"features": list(teacher_student.FEATURES), "penalty": [teacher_student.PENALTY]},
    )
    found = sweep_rules.shaped(record, shapes.shape_table(record.eigenvalues, 60, 40), "Adam code", "text")
    assert found.test.sel(seed=1, rate=0).item() == losses[1, 0, 1, 1, 0] and found.hill.dims == ("seed", "rate")
    other = shapes.shape_table(record.eigenvalues.sel(rule="GD code"), 60, 40)
    assert not np.allclose(found.hill, other.hill.transpose("seed", "rate"))


def test_read_outs_with_a_mean_are_those_of_scikit_learn():
    small = dict(n=40, d=10, h=15, test=20)
    found = rate_sweeps.one_step_variants(0, rules=["GD code"], rates=[1.0], **small).sel(rule="GD code", rate=0.0)
    drawn = teacher_student.draw(0, **small)
    probe, test = drawn.samples.probe, drawn.samples.test
    for features in teacher_student.FEATURES:
        scale = teacher_student.evaluation_scale(drawn.student, features)
        fitted, unseen = (drawn.student.features(part.x, scale).astype(float) for part in (probe, test))
        constant = np.sqrt(np.mean(fitted**2))
        machine = Ridge(alpha=teacher_student.PENALTY / 15 * len(probe.y), fit_intercept=False)
        machine.fit(fitted, probe.y - probe.y.mean())
        centred = np.mean((machine.predict(unseen) + probe.y.mean() - test.y) ** 2)
        wide, wide_unseen = (np.column_stack([Z, np.full(len(Z), constant)]) for Z in (fitted, unseen))
        beside = np.mean((machine.fit(wide, probe.y).predict(wide_unseen) - test.y) ** 2)
        losses = found.test.sel(features=features)
        assert losses.sel(variant="centred") == pytest.approx(centred, rel=1e-5)
        assert losses.sel(variant="intercept") == pytest.approx(beside, rel=1e-5)
