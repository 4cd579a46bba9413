"""Rules on overlaps of weights and updates: planted data for which a claim is true, and for which it is not."""

import numpy as np
import pytest
import xarray as xr

from experiments.heavy_tails.rules import overlaps as rules

SIDES, K = list(rules.SIDES), 1000


def scatter(shape, size=0.02, seed=0):
    """Factors near one: draws that differ a little."""
    return 1 + size * np.random.default_rng(seed).standard_normal(shape)


def record(multiples, *, seeds=3, **more):
    """Overlaps whose largest entry is a multiple of its level by chance, by pair; further variables as they are."""
    level = np.array([multiples[pair] for pair in multiples])[None, :, None] * rules.LEVEL.values
    values = level * scatter((seeds, len(multiples), 2))
    coords = {"seed": range(seeds), "pair": list(multiples), "side": SIDES}
    return xr.Dataset({"maximum": (("seed", "pair", "side"), values), **more}, coords)


def at_rates(by_rate):
    return xr.concat(by_rate.values(), xr.DataArray(list(by_rate), dims="rate", name="rate"))


def predictions(rates, off, *, rule, fresh=0.0):
    """A record of predictions: measured = (1 + off) predicted on the run's own weights, (1 + fresh) on others."""
    size = np.array([off, fresh])[None, None, None, :, None, None]
    ratios = (1 + size) * scatter((1, 4, len(rates), 2, 2, 3), 0.002)
    dims = ("rule", "seed", "rate", "start", "update", "what")
    coords = {"rule": [rule], "rate": rates, "start": ["own", "fresh"], "update": ["whole", "rank one"]}
    coords |= {"what": ["eigenvalue", "left", "right"]}
    predicted = ("rule", "seed", "rate", "what"), np.ones((1, 4, len(rates), 3))
    return xr.Dataset({"measured": (dims, ratios), "predicted": predicted}, coords)


@pytest.mark.parametrize(
    ("gd", "adam", "fresh", "verdict"),
    [
        (0.02, 0.02, 0.0, "reproduced"),
        (0.3, 0.02, 0.0, "partly"),
        (-0.3, 0.3, 0.0, "contradicted"),
        (0.1, 0.1, 0.0, "undecided"),
        (-0.3, 0.3, 0.05, "undecided"),
    ],
)
def test_theory_of_a_spike(gd, adam, fresh, verdict):
    one = predictions([2000.0, 3000.0], gd, rule="GD code", fresh=fresh)
    assert rules.ht_40(one, predictions([0.1, 1.0], adam, rule="Adam code")).verdict == verdict


def diagonals(first, after):
    """Figure 9: the first entry after one step, and block means of the diagonal after ten in units of chance."""
    values = np.repeat(after, [10, 40, 150, 800])
    one = np.stack([np.r_[first, np.ones(K - 1)], values])[None, :, None, :] / rules.LENGTH.values[:, None]
    one = one * scatter((10, 2, 2, K), 0.05)
    one[:, 0, :, 0] = first * scatter((10, 2), 0.001)
    dims = ("seed", "pair", "side", "k")
    return record({rules.FIRST: 1, rules.LAST: 1}, seeds=10, diagonal=(dims, one), first=(dims[:3], one[..., 0]))


@pytest.mark.parametrize(
    ("first", "after", "parts"),
    [
        (0.99, (300, 80, 20, 4), ("reproduced", "reproduced")),
        (0.5, (300, 80, 20, 4), ("contradicted", "reproduced")),
        (0.99, (1, 1, 1, 1), ("reproduced", "contradicted")),
        (0.99, (300, 80, 20, 40), ("reproduced", "contradicted")),
        (0.9, (300, 80, 20, 4), ("undecided", "reproduced")),
    ],
)
def test_alignment_and_decay(first, after, parts):
    found = rules.ht_41(diagonals(first, after), diagonals(first, after).isel(seed=[0]))
    assert tuple(found.parts.values()) == parts


def spectra(widths, seed):
    """Spectra of noise, widened by log-normal factors."""
    rng = np.random.default_rng(seed)
    noise = np.repeat(4 * np.linalg.svd(rng.standard_normal((375, 250)), compute_uv=False) ** 2, 4)
    return np.array([np.sort(noise * np.exp(w * rng.standard_normal(K)))[::-1] for w in widths])


def runs_of_two(leading, *, told):
    """Runs over the rates of Adam and GD: wider bulks along the rate, and leading overlaps by rate."""
    made = {}
    for name, rates in (("Adam", [0.01, 0.1, 0.2, 0.5, 1.0, 10.0]), ("GD", [1000.0, 2000.0, 3000.0])):
        widths = np.linspace(0, 2, len(rates))
        values = np.stack([spectra(widths, seed) for seed in range(3)], 1)
        chi = np.random.default_rng(3).chisquare(1, (len(rates), 3, 2, K)) / K
        chi[..., :10] = np.asarray(leading)[: len(rates), None, None, None]
        spread = widths[:, None, None] + (0 if told else 5) * np.random.default_rng(4).standard_normal(
            (len(rates), 3, 2)
        )
        dims = ("rate", "seed", "side")
        made[name] = xr.Dataset(
            {"diagonal": ((*dims, "k"), chi), "eigenvalues": (("rate", "seed", "k"), values)}
            | dict.fromkeys(("participation", "off_diagonal", "entropy"), (dims, spread)),
            {"rate": rates, "seed": range(3), "side": SIDES},
        )
    return made


@pytest.mark.parametrize(("sign", "a"), [(1, "reproduced"), (-1, "contradicted")])
def test_leading_overlaps_against_the_bulk(sign, a):
    leading = np.linspace(0.01, 0.05, 6)[::sign]
    found = rules.ht_42(runs_of_two(leading, told=False))
    assert found.parts["a"] == a and found.parts["b"] != "reproduced" and found.parts["c"] == "answered"


@pytest.mark.parametrize(
    ("with_old", "small", "parts"),
    [
        (0.9, 0.9, ("reproduced", "reproduced")),
        (20, 0.9, ("contradicted", "reproduced")),
        (0.9, 20, ("reproduced", "contradicted")),
        (1.5, 0.9, ("undecided", "reproduced")),
    ],
)
def test_outliers_in_mean_field_scaling(with_old, small, parts):
    large = record({rules.BEFORE: with_old, rules.FIRST: 50, rules.LAST: 50})
    runs = at_rates({0.04: large, 5e-5: record({rules.BEFORE: 0.9, rules.FIRST: 0.9, rules.LAST: small})})
    assert tuple(rules.ht_45(runs, runs.isel(seed=[0])).parts.values()) == parts


@pytest.mark.parametrize(
    ("old", "gd", "adam", "large", "verdict"),
    [(0.9, 0.9, 40, 40, "reproduced"), (0.9, 40, 0.9, 0.9, "contradicted"), (0.9, 0.9, 40, 0.9, "partly"),
     (0.9, 0.9, 5, 40, "partly"), (30, 0.9, 40, 40, "contradicted")],
)  # fmt: skip
def test_outliers_after_one_step(old, gd, adam, large, verdict):
    one = {key: record({rules.BEFORE: old, rules.FIRST: after}) for key, after in ((0.1, gd), (2000.0, large))}
    runs = at_rates(one)
    assert rules.ht_51(runs, record({rules.BEFORE: old, rules.FIRST: adam}), runs.isel(seed=[0])).verdict == verdict


def ten_of_gd(change, *, last, right=1.0):
    at, features = [0, 1, 2, 5, 10], ["code", "text"]
    path = 1 + change * np.array(at) / 10 + 0.01 * np.random.default_rng(1).standard_normal((5, 2, 5))
    losses = dict.fromkeys(("train", "test"), (("seed", "features", "at"), path))
    twenty = np.array([1.0, 1 / right]) * np.ones((5, 2, 1)) * scatter((5, 2, 2))
    made = record({rules.FIRST: 30, rules.LAST: last}, seeds=5, twenty=(("seed", "pair", "side"), twenty), **losses)
    made["maximum"] = made.maximum * xr.DataArray([1.0, right], {"side": SIDES}, "side")
    return made.assign_coords(at=at, features=features)


@pytest.mark.parametrize(
    ("change", "last", "right", "verdict"),
    [(-0.1, 3, 0.3, "reproduced"), (0.1, 30, 1.0, "contradicted"), (0.0, 3, 0.3, "partly"), (-0.1, 15, 0.3, "partly")],
)
def test_ten_steps_of_gd(change, last, right, verdict):
    runs = ten_of_gd(change, last=last, right=right)
    assert rules.ht_53(runs, runs.isel(seed=[0])).verdict == verdict


def noisy(*, ratio, widen=0.0, step=0.08):
    """Label noise: the largest overlap for 0.3 over that for 0.7, widening of the spectra, rise of the losses."""
    levels, rng = [0.1, 0.3, 0.5, 0.7], np.random.default_rng(2)
    top = np.exp(np.log(ratio) * (0.7 - np.array(levels)) / 0.4)[:, None] * scatter((4, 5))
    start = spectra([0.0], 0)[0] * np.ones((5, 1))
    values = np.stack([np.sort(start * np.exp(widen * i * rng.standard_normal((5, K))))[:, ::-1] for i in range(4)])
    loss = 1 + step * np.arange(4)[:, None, None, None] + 0.001 * rng.standard_normal((4, 5, 11, 2))
    return xr.Dataset(
        {"maximum": (("noise", "seed", "pair", "side"), top[..., None, None] * np.ones((1, 2)))}
        | {"eigenvalues": (("noise", "seed", "end", "k"), np.repeat(values[:, :, None], 2, 2))}
        | dict.fromkeys(("train", "test"), (("noise", "seed", "at", "features"), loss)),
        {"noise": levels, "seed": range(5), "pair": [rules.LAST], "side": SIDES, "end": [1, 10], "at": range(11),
         "features": ["code", "text"]},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ratio", "widen", "verdict"),
    [(0.5, 0.0, "reproduced"), (0.9, 0.0, "partly"), (0.5, 0.5, "partly"), (0.95, 0.5, "contradicted")],
)
def test_label_noise_in_spectrum_and_overlaps(ratio, widen, verdict):
    assert rules.ht_55(noisy(ratio=ratio, widen=widen)).verdict == verdict


@pytest.mark.parametrize(("step", "verdict"), [(0.08, "reproduced"), (-0.08, "contradicted")])
def test_losses_rise_with_label_noise(step, verdict):
    assert rules.ht_56(noisy(ratio=0.5, step=step)).verdict == verdict
