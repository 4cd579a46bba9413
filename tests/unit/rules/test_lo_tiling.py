"""The rules on tiling and on the averages over the ring, on planted networks."""

import numpy as np
import pytest
import xarray as xr

from experiments.localization import ring_average
from experiments.localization.rules import tiling as rules
from shallow.data import nlgp

N = 40
D = nlgp.ring_distance(N)
BUMP, FAST, WAVE = 5 * np.exp(-((D / 2) ** 2)), 2 * np.cos(2 * np.pi * 17 * D / N), 2 * np.cos(2 * np.pi * D / N)


def tiled(slow=BUMP, fast=FAST, alike=True, copies=1, seeds=3, reach=N, flipped=0.5, counts=(N, N)):
    """Networks of shifts of a slow and a fast field, or of random fields; biases -5 and +4."""
    rng, found = np.random.default_rng(0), []
    for _ in range(seeds):
        rows, b = [], []
        for shape, bias, count in ((slow, -5.0, counts[0]), (fast, 4.0, counts[1])):
            for k in range(count * copies):
                w = np.roll(shape, k * reach // N % N) if alike else rng.standard_normal(N)
                rows.append(w * (1 if k % 10 >= 10 * flipped else -1))
                b.append(bias)
        found.append((np.array(rows), np.array(b)))
    W, b = (np.array(part) for part in zip(*found))
    return xr.Dataset({"W": (("seed", "neuron", "pixel"), W), "b": (("seed", "neuron"), b)}, {"seed": range(seeds)})


def both(first, second=None):
    """Runs at both gains."""
    return xr.concat([first, first if second is None else second], "gain").assign_coords(gain=[0.01, 3.0])


COPIES, OTHERS = ("reproduced",) * 4, ("contradicted",) * 4


@pytest.mark.parametrize(
    ("runs", "parts"),
    [
        (both(tiled()), COPIES),
        (both(tiled(alike=False)), OTHERS),
        (both(tiled(alike=False), tiled()), ("contradicted", "contradicted", "reproduced", "reproduced")),
    ],
)
def test_fields_are_copies(runs, parts):
    outcome = rules.lo_19(runs, runs.sel(gain=3.0))
    assert tuple(outcome.parts.values()) == parts


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "reproduced"),
        ({"reach": 15}, "contradicted"),
        ({"flipped": 0.1}, "contradicted"),
    ],
)
def test_centres_cover_the_ring(change, verdict):
    assert rules.lo_20(tiled(**change)).verdict == verdict


def test_centres_more_even_than_chance():
    assert rules.covering(tiled())["by chance"] == pytest.approx(1 / np.sum(1 / np.arange(1, N + 1)))


def measured(seeds=4, scatter=0.01, **errors):
    """Formulas whose relative errors are given by form and weights, such as five_halves; 0.2 else."""
    names = {
        (form, weights): f"{kind}_{weights}"
        for form, kind in FORM_NAMES.items()
        for weights in rules.ring_average.WEIGHTS
    }
    spread = scatter * np.linspace(-1, 1, seeds)

    def table(usual, prefix=""):
        values = np.empty((2, seeds, len(ring_average.FORMS), len(ring_average.WEIGHTS)))
        for (form, weights), name in names.items():
            at = ring_average.FORMS.index(form), ring_average.WEIGHTS.index(weights)
            values[:, :, at[0], at[1]] = errors.get(prefix + name, usual) + spread
        return ("gain", "seed", "form", "weights"), values

    return xr.Dataset(
        {
            "error": table(0.2), "correlation": table(0.97, "r_"), "lost": table(0.0, "lost_"),
            "bound": (("gain", "seed"), np.full((2, seeds), errors.get("bound", 0.5))),
        },
        {"gain": [0.01, 3.0], "form": list(ring_average.FORMS), "weights": list(ring_average.WEIGHTS)},
    )  # fmt: skip


FORM_NAMES = {
    "(4), template": "template", "(4), mean": "mean", "(4), field": "field", "(4), own": "own", "(5), own": "five",
    "corrected, own": "corrected",
}  # fmt: skip
LARGE = {"template_shares": 0.4, "template_halves": 0.5}


@pytest.mark.parametrize(
    ("narrow", "wide", "verdict", "parts"),
    [
        (LARGE, {}, "reproduced", ("reproduced", "reproduced")),
        (LARGE, {"template_halves": 0.45}, "partly", ("reproduced", "contradicted")),
        (LARGE, {"template_halves": 0.45, "template_shares": 0.36}, "contradicted", ("contradicted", "contradicted")),
        (LARGE, {"r_template_shares": 0.8}, "partly", ("contradicted", "reproduced")),
        ({"template_shares": 0.1, "template_halves": 0.5}, {}, "partly", ("contradicted", "reproduced")),
        (LARGE, {"template_halves": 0.33, "scatter": 0.02}, "partly", ("reproduced", "undecided")),
    ],
)
def test_a_ring_average(narrow, wide, verdict, parts):
    outcome = rules.lo_21({20: measured(**narrow), 100: measured(**wide)})
    assert outcome.verdict == verdict
    assert tuple(outcome.parts.values())[::2] == parts


def test_equation_4_is_exact_for_tiled_networks():
    errors = rules.tiled_networks()
    assert rules.lo_22().verdict == "reproduced"
    assert errors["uneven, halves"] > 0.1
    assert errors["lopsided, convolution"] > 0.01
    assert rules.lo_22(errors | {"equal": 0.01}).verdict == "contradicted"


@pytest.mark.parametrize(
    ("share", "trained", "part"),
    [(0.0, 0.0, "corrected"), (0.95, 0.95, "reproduced"), (0.95, 0.1, "contradicted"), (0.9, 0.95, "undecided")],
)
def test_the_term_that_is_kept(share, trained, part):
    scatter = np.array([-0.01, 0.0, 0.01])
    outcome = rules.lo_23(share + scatter[:, None, None] * np.ones((1, 3, 3)), trained + np.tile(scatter, (2, 1)))
    assert outcome.parts == {"negative biases": "corrected", "positive biases": part}


def test_shares_of_the_variance():
    h = np.random.default_rng(0).standard_normal(10_000)
    assert rules.carried(-3.0, 5 * h) > 0.9
    assert rules.carried(3.0, 5 * h) < 0.1


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "reproduced"),
        ({"five_halves": 2.5}, "corrected"),
        ({"lost_five_halves": 0.4}, "corrected"),
        ({"five_halves": 2.5, "bound": 1.5}, "contradicted"),
        ({"five_halves": 1 / 3}, "undecided"),
    ],
)
def test_equation_5(change, verdict):
    assert rules.lo_24(measured(**change)).verdict == verdict


# The formulas on networks that meet their assumptions, and on one that does not.


def inputs():
    batch = nlgp.minibatch(np.random.default_rng(1), nlgp.Process(N, 2.0, 3.0), nlgp.Process(N, 1.0, 3.0), 200)
    return batch.x, batch.y


def formulas(runs):
    one = runs.isel(seed=0)
    return ring_average.compared(one.W.values, one.b.values, *inputs())


def test_formulas_of_a_tiled_network():
    even = xr.concat([tiled(flipped=0.0), tiled(flipped=1.0)], "neuron")
    found = formulas(even)
    for form in ("(4), template", "(4), mean", "(4), field", "(4), own"):
        assert float(found.error.sel(form=form, weights="halves")) < 1e-6
    assert float(found.error.sel(form="(5), own", weights="halves")) > 1
    assert float(found.bound) <= 1
    assert abs(float(found.lost.sel(form="corrected, own", weights="halves"))) < 0.01


def test_unequal_shares_need_the_true_ones():
    half = tiled(flipped=0.0)
    slow = half.isel(neuron=slice(0, N))
    even = xr.concat([half, tiled(flipped=1.0), slow, slow.assign(W=-slow.W)], "neuron")
    found = formulas(even)
    assert float(found.error.sel(form="(4), own", weights="shares")) < 1e-6
    assert float(found.error.sel(form="(4), own", weights="halves")) > 0.3


def test_a_mean_of_unlike_fields_is_short():
    W = np.random.default_rng(0).standard_normal((30, N))
    found, norm = ring_average.templates(W), np.linalg.norm(W, axis=1).mean()
    assert np.linalg.norm(found["mean"]) < 0.7 * norm
    assert np.linalg.norm(found["template"]) == pytest.approx(norm)
    assert any(np.array_equal(found["field"], w) for w in W)


def test_independent_centres_are_near():
    assert ring_average.independent(40, draws=5) < 40**-0.5
