"""Rules on normalised weights and decaying rates: planted data for which a claim is true, and for which it is not."""

import numpy as np
import pytest
import xarray as xr
from planted.records import letters, planted, verdicts

from experiments.heavy_tails.teacher_student import PENALTY
from experiments.heavy_tails.variants import rules
from experiments.heavy_tails.variants.rules import GRID

NOISE = rules.NOISE
NONE = {"seed": slice(0, 0)}  # no further draws


def draws(mean, seeds=3, size=0.005, seed=0):
    """Numbers that differ a little from draw to draw, along a new last axis."""
    mean = np.asarray(mean, float)[..., None]
    return mean + size * np.random.default_rng(seed).standard_normal((*mean.shape[:-1], seeds))


def fits(alpha, first=1.0, cut=0.19):
    columns = {"alpha": alpha, "size": np.full(len(alpha), 60), "scan": alpha}
    columns |= {"first": draws(first, len(alpha), 0.001), "cut": draws(cut, len(alpha), 0.001)}
    return xr.Dataset({name: ("seed", np.asarray(values)) for name, values in columns.items()})


def very_heavy(gd, cut=0.1, adam=1.59):
    of_gd, of_adam = fits(gd, cut=cut).expand_dims(rule=["GD code", "GD text"]), fits(draws(adam))
    return of_gd, fits(gd).isel(NONE), of_adam.expand_dims(rule=["Adam code"])


test_exponents_below_two = verdicts(
    rules.ht_32,
    very_heavy,
    rrrr=[(draws(1.58),)],
    cccc=[(draws(2.5), 0.5, 2.5)],
    uruu=[(np.array([1.6, 1.6, 1.6, 1.6, 2.3]), 0.2)],
    urur=[(np.array([1.5, 2.1, 1.6]),)],
)


def test_fits_of_a_power_law_find_its_exponent():
    pareto = (1 - np.random.default_rng(0).uniform(size=(3, 500))) ** -1.25  # exponent 1.8 of the density
    found = rules.fits(xr.Dataset({"eigenvalues": (("step", "seed", "k"), pareto[None])}, {"step": [10]}))
    assert np.abs(found.alpha - 1.8).max() < 0.15 and (found["first"] > 0.8).all()


def decaying(*restless):
    t, size = np.arange(1, 11), [0.2 if decay in restless else 0.0 for decay in rules.DECAYS]
    curves = np.moveaxis(draws(1 - 0.01 * t + np.outer(size, np.sin(2 * t)), 3, 0.01), -1, 1)[..., None]
    return ((planted("heavy_tails/variants/decay_curves_more", train=curves, test=curves),),)


test_unrest_of_loss_curves = verdicts(
    rules.ht_61, decaying, reproduced=[(0.6, 0.8)], contradicted=[(0.2, 0.4)], undecided=[()]
)


def normalised(drift):
    W = np.random.default_rng(0).standard_normal((30, 20))
    W *= 600**0.5 / np.linalg.norm(W)
    scales = {"before": 2, "after": 1}
    return {(name, when): (np.ones(5) + drift, W * k) for name in rules.RUNS for when, k in scales.items()}


test_norm_of_normalised_weights = verdicts(rules.ht_62, normalised, reproduced=[0.0], contradicted=[0.01])


def after_64(gd, adam, wider):
    """Bulks with normalised weights at the large rates, as (exponent, distance), and how much wider they are."""
    found = {}
    for name, rate, bulk in (("GD", 2000.0, gd), ("Adam", 1.0, adam), ("text", 1.0, adam)):
        table = np.array([[(NOISE, 0.003)] * 2, [(2.2, 0.06), bulk]])  # rate, normalise
        spread = 0.5 + np.array([[0.0, 0.0], [0.0, wider]])
        values = {"hill_excl": table[..., 0], "d_mp": table[..., 1], "above": spread, "whole": 2 * spread}
        coordinates = {"rate": [0.1, rate], "normalise": [False, True]}
        columns = {key: ((*coordinates, "seed"), draws(v, size=0.001)) for key, v in values.items()}
        found[name] = xr.Dataset(columns, coordinates)
    return tuple(found.values())


test_bulks_after_64_steps = verdicts(
    rules.ht_63,
    after_64,
    rr=[((1.9, 0.15), (1.6, 0.2), 0.2)],
    ur=[((1.9, 0.09), (1.6, 0.2), 0.2)],
    cc=[((NOISE, 0.003), (1.6, 0.2), -0.2)],
)


def sweep(hill, ks, test, *, d_mp, seeds=5, seed=0):
    """A record over the learning rates: exponents, distances and test losses by rate, untrained first."""
    columns = {"hill": hill, "hill_excl": hill, "ks": ks, "d_mp": d_mp, "test": test}
    found = xr.Dataset(
        {k: (("rate", "seed"), draws(v, seeds, 0.002, seed + i)) for i, (k, v) in enumerate(columns.items())},
        {"rate": [0.0, *GRID], "seed": range(seeds)},
    )
    return found.expand_dims(rule=["Adam code"], features=["code", "text"], penalty=[PENALTY])


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
)
def test_sweep_with_normalised_weights(one, plain, parts):
    normalised, plain = sweep(*one[:3], d_mp=one[3]), sweep(*plain[:3], d_mp=plain[3], seed=20)
    found = letters(rules.ht_64((normalised,), plain))
    assert found[: len(parts.rstrip("?"))] == parts.rstrip("?")


def scheduled(ratios, bulk, effects):
    """Records of ten steps with normalised weights and without: numbers by decay, effects of both on the exponent.

    ratios: of the two largest eigenvalues; bulk: exponent without the largest; effects: of normalising, of a decay.
    """
    table = {"spike_ratio": ratios, "hill_excl": bulk, "d_mp": NOISE - np.asarray(bulk)}
    ended = xr.Dataset(
        {k: (("decay", "seed"), draws(v, size=0.002, seed=i)) for i, (k, v) in enumerate(table.items())},
        {"decay": rules.DECAYS},
    ).reindex(decay=[1.0, *rules.DECAYS], fill_value=1.0)
    start = ended.assign(hill_excl=xr.full_like(ended.hill_excl, 0) + draws(NOISE, size=0.002, seed=3))
    hill = 2.0 + effects[0] * np.array([0, 1])[:, None] + effects[1] * (np.array([1.0, *rules.DECAYS]) == 0.4)
    plain, normalised = (
        xr.concat([start, ended], xr.DataArray([0, 10], dims="step", name="step"))
        .assign(hill=(("decay", "seed"), values))
        .expand_dims(rule=["Adam code"])
        for values in draws(hill)
    )
    for one in (plain, normalised):
        one["hill"] = one.hill.expand_dims(step=one.step)
    return normalised, normalised.sel(rule="Adam code", decay=[0.8]).isel(NONE), plain


test_schedules = verdicts(
    rules.ht_65,
    scheduled,
    rr=[((60, 15, 3, 1.01), (2.3, 2.2, 2.0, 1.8), (-0.1, 0.5))],
    uc=[((60, 15, 3, 1.05), (2.3, 2.2, 2.0, 1.8), (-0.1, 0.0))],
    cr=[((3, 15, 60, 70), (2.3, 2.2, 2.0, 1.8), (-0.1, 0.5))],
)
