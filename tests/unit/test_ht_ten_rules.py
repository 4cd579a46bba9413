"""The rules on ten steps: planted sweeps that meet every letter, and changes of them that must not."""

import numpy as np
import pytest
import xarray as xr

from experiments.heavy_tails import runs, sweeps, ten_rules

SEEDS, RATES = [0, 1, 2, 3, 4], [0.0, *runs.RATES]
SHIFT = xr.DataArray([-0.002, -0.001, 0.0, 0.001, 0.002], {"seed": SEEDS}, "seed")


def sweep(**curves):
    """A sweep with the given seed means over untrained and nine rates, and a little noise that all rates share."""
    return xr.Dataset(
        {name: xr.DataArray(values, {"rate": RATES}, "rate").astype(float) + SHIFT for name, values in curves.items()}
    )


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


def at(curve, **changes):
    """A copy of a curve with other values at some positions, p3=... for the third."""
    return [changes.get(f"p{k}", value) for k, value in enumerate(curve)]


def benign(adam, gd):
    return ten_rules.benign(sweep(**adam), ten_rules.pooled({"Adam": sweep(**adam), "GD": sweep(**gd)}))


def test_lower_end_needs_an_interval_that_reaches_the_largest_rate():
    flags = xr.DataArray([False, True, True], {"rate": [1, 10, 100]}, "rate")
    assert ten_rules.lower_end(flags) == 10 and ten_rules.lower_end(flags.isel(rate=[2, 0, 1])) == 10
    assert ten_rules.lower_end(flags & False) is None
    assert ten_rules.lower_end(flags & (flags.rate < 50)) is None


def test_onset_rate_needs_both_a_lower_exponent_and_a_distance():
    away = [0.0, 0.0, 0.0, 0.0, 0.06, 0.07, 0.08, 0.2, 0.3, 0.4]
    assert ten_rules.onset_rate(sweep(hill_excl=ADAM["hill"], d_mp=away), 2.449) == 1
    assert ten_rules.onset_rate(sweep(hill_excl=[2.45] * 10, d_mp=away), 2.449) is None
    assert ten_rules.onset_rate(sweep(hill_excl=ADAM["hill"], d_mp=at(away, p8=0.01)), 2.449) is None


def test_pooled_runs_are_paired_with_the_untrained_student_of_their_draw():
    adam = sweep(**ADAM)
    adam["test"] = adam.test * (1 + adam.seed)  # a common factor for each draw, which the gain does not see
    found = ten_rules.pooled({"Adam": adam, "GD": sweep(**GD)})
    assert found.sizes["run"] == 2 * 5 * 9 and int(found.unchanged.sum()) == 5 * (1 + 6)
    one = found.unstack("run").sel(optimiser="Adam", rate=1)
    assert np.allclose(one.gain, -0.2, atol=0.01) and one.test.max() > 4 * one.test.min()
    assert not found.unstack("run").sel(optimiser="Adam", rate=1000).inside.any()


def test_benign_range_holds_where_planted_and_each_letter_can_fail():
    assert all(benign(ADAM, GD).values())
    assert not benign(ADAM | {"hill": at(ADAM["hill"], p4=1.9)}, GD)["a"]
    assert not benign(ADAM | {"test": at(ADAM["test"], p4=0.92)}, GD)["b"]
    assert not benign(ADAM | {"hill": at(ADAM["hill"], p3=2.42)}, GD)["b"]
    good_outside = ADAM | {"test": at(ADAM["test"], p7=0.5, p8=0.5, p9=0.5)}
    assert not benign(good_outside, GD)["c"]
    backwards = ADAM | {"test": at(ADAM["test"], p2=0.5, p3=0.6, p4=0.9, p5=0.95, p6=0.95)}
    assert not benign(backwards, GD | {"test": [1.0] * 10})["c"]


def test_lower_is_better_has_no_value_without_runs_inside():
    found = ten_rules.pooled({"Adam": sweep(**ADAM | {"hill": [1.5] * 10})})
    assert np.isnan(ten_rules.lower_is_better(found))
    assert not ten_rules.benign(sweep(**ADAM), found)["c"]


@pytest.mark.parametrize(
    ("letter", "curve", "values"),
    [
        ("a", "hill", at(ADAM["hill"], p5=1.95)),
        ("b", "ks", at(ADAM["ks"], p5=4.5)),
        ("c", "hill", at(ADAM["hill"], p7=1.85)),
        ("d", "test", at(ADAM["test"], p9=0.82)),
    ],
)
def test_very_heavy_letters(letter, curve, values):
    assert all(ten_rules.very_heavy(sweep(**ADAM)).values())
    assert [k for k, ok in ten_rules.very_heavy(sweep(**ADAM | {curve: values})).items() if not ok] == [letter]


def spectra(factors, tilt):
    """A sweep of 400 eigenvalues: log-uniform, times a factor for each rate, stretched by `tilt` at the rate 1000."""
    quantiles = np.linspace(1, 0, 400)
    logs = np.array([np.log(f) + quantiles * (tilt if rate == 1000 else 1) for rate, f in zip(RATES, factors)])
    eigenvalues = np.exp(logs)
    eigenvalues[:, 0] *= 10
    values = np.broadcast_to(eigenvalues, (5, *eigenvalues.shape))
    return xr.DataArray(values, {"seed": SEEDS, "rate": RATES}, ["seed", "rate", "k"])


def test_spectra_that_differ_in_scale_and_at_1000_in_shape():
    """Scales 1, 20, 400 apart; the same with equal scales, equal shapes, no lift by the spike and no wider gap."""
    factors, curves = [1, 1, 1, 1, 1, 20, 400, 8000, 8000, 8000], {k: ADAM[k] for k in ("hill", "spike_ratio")}
    lifted = sweep(**curves, hill_excl=[value + 0.06 for value in ADAM["hill"]])
    good = lifted.assign(eigenvalues=spectra(factors, 3))
    assert all(ten_rules.spectra_differ(good).values())
    assert not ten_rules.spectra_differ(good.assign(eigenvalues=spectra([1] * 10, 3)))["a"]
    assert not ten_rules.spectra_differ(good.assign(hill_excl=good.hill))["b"]
    assert not ten_rules.spectra_differ(good.assign(spike_ratio=1 / good.spike_ratio))["c"]
    assert not ten_rules.spectra_differ(good.assign(eigenvalues=spectra(factors, 1)))["d"]


def test_bulk_distances_see_neither_scale_nor_the_largest_eigenvalue():
    eigenvalues = spectra([1, 1, 1, 1, 1, 20, 400, 1, 1, 1], 3).copy()
    eigenvalues.loc[{"rate": 10, "k": 0}] *= 50
    found = ten_rules.bulk_distances(xr.Dataset({"eigenvalues": eigenvalues}), [10.0, 100.0, 1000.0]).mean("seed")
    assert found.sel(rate=[10, 100]).max() < 0.01 and found.sel(rate=1000) > 0.2


@pytest.mark.parametrize(
    ("letter", "curve", "values"),
    [
        ("a, training", "train", at(GD["train"], p8=0.95)),
        ("a, test", "test", at(GD["test"], p7=1.1)),
        ("a, alignment", "alignment", at(GD["alignment"], p9=0.02)),
        ("b", "hill", at(GD["hill"], p7=2.46)),
    ],
)
def test_large_gd_letters(letter, curve, values):
    assert all(ten_rules.large_gd(sweep(**GD)).values())
    assert [k for k, ok in ten_rules.large_gd(sweep(**GD | {curve: values})).items() if not ok] == [letter]


def test_large_gd_wants_a_fall_beyond_three_standard_errors():
    noisy = sweep(**GD)
    noisy["ks"] = noisy.ks + xr.where(noisy.rate == 3000, 3000 * SHIFT * 5, 0)
    assert not ten_rules.large_gd(noisy)["b"]


def test_of_a_single_seed_the_sign_decides():
    """No scatter is known, and no letter may fail for that."""
    one, other = sweep(**GD).isel(seed=[0]), sweep(**GD | {"ks": at(GD["ks"], p9=21)}).isel(seed=[0])
    assert ten_rules.standard_error(one.ks.sel(rate=0)) == 0
    assert ten_rules.large_gd(one)["b"] and not ten_rules.large_gd(other)["b"]
    assert all(ten_rules.same_trend(sweep(**ADAM).isel(seed=[0])).values())


def test_tighter_asks_each_correlation():
    adam = ten_rules.with_training_loss(sweep(**ADAM))
    assert adam["alignment"] < -0.9 and adam["hill"] > 0.9
    gd = dict.fromkeys(adam, 0.5)
    assert all(ten_rules.tighter(adam, gd).values())
    assert ten_rules.tighter(adam, gd | {"ks": -1.0})["ks"] is False
    assert ten_rules.tighter(adam | {"hill": 0.7}, gd)["hill"] is False


def test_alike_compares_orders_only():
    squared = {name: list(np.square(ADAM[name])) for name in ("train", "test", "alignment", "hill")}
    assert min(ten_rules.alike(sweep(**ADAM), sweep(**squared)).values()) > 0.99
    assert ten_rules.alike(sweep(**ADAM), sweep(**ADAM | {"test": ADAM["test"][::-1]}))["test"] < 0.8


def test_alike_uses_the_seeds_that_both_have():
    """A seed that only one sweep has, of quite another size, does not count."""
    more = sweep(**ADAM)
    more["test"] = more.test + xr.where(more.seed == 4, -100 * more.test, 0)
    assert ten_rules.alike(more, sweep(**ADAM))["test"] < 0
    assert ten_rules.alike(more, sweep(**ADAM).isel(seed=[0, 1]))["test"] > 0.99


def test_fewer_points_letters():
    few = sweep(hill=[1.8] * 10, spike_ratio=[4.0] * 10)
    many = sweep(hill=[1.9] * 10, spike_ratio=[1.02] * 10)
    assert all(ten_rules.fewer_points(few, many).values())
    assert not ten_rules.fewer_points(many, few)["a"]
    assert not ten_rules.fewer_points(few.assign(spike_ratio=few.spike_ratio / 2), many)["b, literal"]
    assert not ten_rules.fewer_points(few, many * 3)["b, direction"]


def test_same_trend_allows_small_rises_of_the_exponents():
    """0.03 in PL_Alpha_Hill and a standard error in PL_Alpha_KS, and no more."""
    assert all(ten_rules.same_trend(sweep(**ADAM)).values())
    higher = ten_rules.same_trend(sweep(**ADAM | {"hill": at(ADAM["hill"], p6=2.09)}))
    assert not higher["PL_Alpha_Hill does not rise"] and higher["PL_Alpha_KS does not rise"]
    rising = sweep(**ADAM | {"ks": at(ADAM["ks"], p5=4.1)})
    assert not ten_rules.same_trend(rising)["PL_Alpha_KS does not rise"]
    scattered = rising.assign(ks=rising.ks + xr.where(rising.rate == 10, 500 * SHIFT, 0))
    assert ten_rules.same_trend(scattered)["PL_Alpha_KS does not rise"]
    assert not ten_rules.same_trend(sweep(**ADAM | {"ks": ADAM["ks"][::-1]}))["correlated"]


def test_a_sweep_holds_a_record_and_the_shapes_of_its_spectra():
    """From a record of two rules; the shapes are those of the rule that was asked for."""
    rng = np.random.default_rng(0)
    dims = {"rule": ["GD code", "Adam code"], "rate": [0.0, 1.0], "seed": [0, 1]}
    values = np.sort(rng.pareto(2, (2, 2, 2, 40)) + 1)[..., ::-1]
    losses = rng.random((2, 2, 2, 2, 1))
    outer = (*dims, "features", "penalty")
    record = xr.Dataset(
        {"eigenvalues": ((*dims, "k"), values), "test": (outer, losses)},
        dims | {"features": list(runs.FEATURES), "penalty": [runs.PENALTY]},
    )
    found = ten_rules.sweep_of(record, sweeps.shape_table(record.eigenvalues, 60, 40), "Adam code", "text")
    assert found.test.sel(seed=1, rate=0).item() == losses[1, 0, 1, 1, 0] and found.hill.dims == ("seed", "rate")
    other = sweeps.shape_table(record.eigenvalues.sel(rule="GD code"), 60, 40)
    assert not np.allclose(found.hill, other.hill.transpose("seed", "rate"))
