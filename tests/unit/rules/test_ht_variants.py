"""Rules on normalised weights and decaying rates: planted data for which a claim is true, and for which it is not."""

import numpy as np
import pytest
import xarray as xr

from experiments.heavy_tails.rules import variants as rules
from experiments.heavy_tails.rules.variants import GRID

NOISE = rules.NOISE


def draws(mean, seeds=3, size=0.005, seed=0):
    """Numbers that differ a little from draw to draw, along a new last axis."""
    mean = np.asarray(mean, float)[..., None]
    return mean + size * np.random.default_rng(seed).standard_normal((*mean.shape[:-1], seeds))


def fits(alpha, first=1.0, cut=0.19):
    columns = {"alpha": alpha, "size": np.full(len(alpha), 60), "scan": alpha}
    columns |= {"first": draws(first, len(alpha), 0.001), "cut": draws(cut, len(alpha), 0.001)}
    return xr.Dataset({name: ("seed", np.asarray(values)) for name, values in columns.items()})


@pytest.mark.parametrize(
    ("gd", "adam", "cut", "parts"),
    [
        (draws(1.58), draws(1.59), 0.1, "rrrr"),
        (draws(2.5), draws(2.5), 0.5, "cccc"),
        (np.array([1.6, 1.6, 1.6, 1.6, 2.3]), draws(1.59), 0.2, "uruu"),
        (np.array([1.5, 2.1, 1.6]), draws(1.59), 0.1, "urur"),
    ],
)
def test_exponents_below_two(gd, adam, cut, parts):
    found = rules.ht_32({"GD": fits(gd, cut=cut), "Adam": fits(adam), "text": fits(gd)})
    assert "".join(one[0] for one in found.parts.values()) == parts
    assert ("jumps" in found.answer) == (gd.min() < 2 < gd.max())


def test_fits_of_a_power_law_find_its_exponent():
    pareto = (1 - np.random.default_rng(0).uniform(size=(3, 500))) ** -1.25  # exponent 1.8 of the density
    found = rules.fits(xr.DataArray(pareto, dims=("seed", "k")))
    assert np.abs(found.alpha - 1.8).max() < 0.15 and (found["first"] > 0.8).all()


@pytest.mark.parametrize(
    ("restless", "verdict"), [((0.6, 0.8), "reproduced"), ((0.2, 0.4), "contradicted"), ((), "undecided")]
)
def test_unrest_of_loss_curves(restless, verdict):
    t = np.arange(1, 11)
    size = np.array([0.2 if decay in restless else 0.0 for decay in rules.DECAYS])
    curves = 1 - 0.01 * t + size[:, None] * np.sin(2 * t)
    curves = draws(curves, 5, 0.01)[..., None] * np.ones(2)
    data = dict.fromkeys(("train", "test"), (("decay", "step", "seed", "features"), curves))
    runs = xr.Dataset(data, {"decay": rules.DECAYS, "seed": range(5), "features": ["code", "text"]})
    assert rules.ht_61(runs).verdict == verdict


@pytest.mark.parametrize(("drift", "verdict"), [(0.0, "reproduced"), (0.01, "contradicted")])
def test_norm_of_normalised_weights(drift, verdict):
    rng = np.random.default_rng(0)
    W = rng.standard_normal((30, 20))
    W *= 600**0.5 / np.linalg.norm(W)
    runs = {
        (name, when): (np.ones(5) + drift, W * (2 if when == "before" else 1))
        for name in rules.RUNS
        for when in ("before", "after")
    }
    assert rules.ht_62(runs).verdict == verdict


def after_64(gd, adam, wider):
    """Bulks with normalised weights at the large rates, as (exponent, distance), and how much wider they are."""
    found = {}
    for name, rate, bulk in (("GD", 2000.0, gd), ("Adam", 1.0, adam), ("text", 1.0, adam)):
        table = np.array([[(NOISE, 0.003)] * 2, [(2.2, 0.06), bulk]])  # rate, normalise
        spread = 0.5 + np.array([[0.0, 0.0], [0.0, wider]])
        values = {"hill_excl": table[..., 0], "d_mp": table[..., 1], "above": spread, "whole": 2 * spread}
        found[name] = xr.Dataset(
            {
                key: (("rate", "normalise", "seed"), draws(v, size=0.001, seed=i))
                for i, (key, v) in enumerate(values.items())
            },
            {"rate": [0.1, rate], "normalise": [False, True]},
        )
    return found


@pytest.mark.parametrize(
    ("gd", "adam", "wider", "parts"),
    [
        ((1.9, 0.15), (1.6, 0.2), 0.2, ("reproduced", "reproduced")),
        ((1.9, 0.09), (1.6, 0.2), 0.2, ("undecided", "reproduced")),
        ((NOISE, 0.003), (1.6, 0.2), -0.2, ("contradicted", "contradicted")),
    ],
)
def test_bulks_after_64_steps(gd, adam, wider, parts):
    assert tuple(rules.ht_63(after_64(gd, adam, wider)).parts.values()) == parts


def sweep(hill, ks, test, *, d_mp, seeds=5, seed=0):
    """A sweep over the learning rates: exponents, distances and test losses by rate, untrained first."""
    columns = {"hill": hill, "hill_excl": hill, "ks": ks, "d_mp": d_mp, "test": test}
    return xr.Dataset(
        {k: (("rate", "seed"), draws(v, seeds, 0.002, seed + i)) for i, (k, v) in enumerate(columns.items())},
        {"rate": [0.0, *GRID], "seed": range(seeds)},
    )


FALLING = np.array([NOISE, 2.44, 2.2, 2.1, 1.9, 1.8, 1.7, 1.6, 1.6, 1.6])
WIDER = np.array([0, 0, 0.1, 0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2])
GOOD = np.array([1, 0.98, 0.96, 0.94, 0.92, 0.9, 0.88, 1.2, 1.3, 1.4])
WORSE = np.r_[GOOD[:4], 1.1 * GOOD[4:]]
FLAT = np.full(10, NOISE)


@pytest.mark.parametrize(
    ("one", "plain", "parts"),
    [
        ((FALLING, 10 * FALLING, GOOD, WIDER), (FALLING + 0.2, FALLING, WORSE, WIDER), "rrrrrrr"),
        ((FLAT, -FALLING, 2 - GOOD, 0 * WIDER), (FALLING, FALLING, GOOD, WIDER), "cccccc?"),
        ((FALLING, 10 * FALLING, np.ones(10), WIDER), (FALLING, FALLING, np.ones(10), WIDER), "rruur??"),
    ],
)  # fmt: skip
def test_sweep_with_normalised_weights(one, plain, parts):
    sweeps = {"with": sweep(*one[:3], d_mp=one[3]), "without": sweep(*plain[:3], d_mp=plain[3], seed=20)}
    found = "".join(verdict[0] for verdict in rules.ht_64(sweeps, sweeps).parts.values())
    assert found[: len(parts.rstrip("?"))] == parts.rstrip("?")


def scheduled(ratios, bulk):
    """Schedules by decay: ratio of the two largest eigenvalues, and exponent without the largest."""
    table = {"spike_ratio": ratios, "hill_excl": bulk, "d_mp": NOISE - np.asarray(bulk), "start": [NOISE] * 4}
    return xr.Dataset(
        {k: (("decay", "seed"), draws(v, size=0.002, seed=i)) for i, (k, v) in enumerate(table.items())},
        {"decay": rules.DECAYS},
    )


def designed(normalisation, decay):
    values = 2.0 + np.array([[0, decay], [normalisation, normalisation + decay]])
    return xr.DataArray(
        draws(values), {"normalise": [False, True], "decay": [1.0, 0.4]}, ("normalise", "decay", "seed")
    )


@pytest.mark.parametrize(
    ("ratios", "bulk", "effects", "parts"),
    [
        ((60, 15, 3, 1.01), (2.3, 2.2, 2.0, 1.8), (-0.1, 0.5), ("reproduced", "reproduced")),
        ((60, 15, 3, 1.05), (2.3, 2.2, 2.0, 1.8), (-0.1, 0.0), ("undecided", "contradicted")),
        ((3, 15, 60, 70), (2.3, 2.2, 2.0, 1.8), (-0.1, 0.5), ("contradicted", "reproduced")),
    ],
)
def test_schedules(ratios, bulk, effects, parts):
    assert tuple(rules.ht_65(scheduled(ratios, bulk), designed(*effects)).parts.values()) == parts
