"""The rules on tiling and on the averages over the ring, on planted networks."""

import numpy as np
import pytest
import xarray as xr
from planted.records import over_seeds, verdicts

from experiments.localization.tiling import cells as ring_average
from experiments.localization.tiling import rules
from shallow.data import nlgp

N = 40
D = nlgp.ring_distance(N)
BUMP, FAST = 5 * np.exp(-((D / 2) ** 2)), 2 * np.cos(2 * np.pi * 17 * D / N)


def tiled(alike=True, seeds=3, reach=N, flipped=0.5, crowding=1.0):
    """Networks of shifts of a slow and a fast field, or of random fields; biases -5 and +4."""
    shifts = [int(reach * (k / N) ** crowding) for k in range(N)]
    fields = np.array([np.roll(shape, shift) for shape in (BUMP, FAST) for shift in shifts])
    W = fields if alike else np.random.default_rng(0).standard_normal((seeds, *fields.shape))
    W = np.ones((seeds, 1, 1)) * W * np.where(np.arange(2 * N)[:, None] % 10 >= 10 * flipped, 1, -1)
    b = np.tile(np.repeat([-5.0, 4.0], N), (seeds, 1))
    return xr.Dataset({"W": (("seed", "neuron", "pixel"), W), "b": (("seed", "neuron"), b)}, {"seed": range(seeds)})


def both(first, second=None):
    return xr.concat([first, first if second is None else second], "gain").assign_coords(gain=[0.01, 3.0])


test_fields_are_copies = verdicts(
    rules.lo_19,
    lambda change: (change, change),
    rrrr=[both(tiled())],
    cccc=[both(tiled(alike=False))],
    ccrr=[both(tiled(alike=False), tiled())],
)
test_centres_cover_the_ring = verdicts(
    rules.lo_20,
    tiled,
    reproduced=[{}, {"reach": 32}, {"flipped": 0.4}, {"flipped": 0.6}, {"crowding": 2.3}],  # a gap of 9 pixels
    undecided=[{"reach": 31}],
    contradicted=[{"reach": 15}, {"reach": 30}, {"flipped": 0.2}, {"flipped": 0.8}, {"crowding": 3.0}],
)


def test_centres_more_even_than_chance():
    assert rules.covering(tiled())["by chance"] == pytest.approx(1 / np.sum(1 / np.arange(1, N + 1)))


def measured(scatter=0.01, **errors):
    """Formulas whose relative errors are given by form and weights, such as five_halves; 0.2 else."""
    kinds = "template", "mean", "own", "five", "corrected"
    labels = dict(gain=[0.01, 3.0], form=list(ring_average.FORMS), weights=list(ring_average.WEIGHTS))
    found = {}
    for name, prefix, usual in (("error", "", 0.2), ("correlation", "r_", 0.97), ("lost", "lost_", 0.0)):
        rows = [[errors.get(f"{prefix}{kind}_{of}", usual) for of in labels["weights"]] for kind in kinds]
        found[name] = over_seeds([rows, rows], *labels, around=np.linspace(-1, 1, 4), scatter=scatter, **labels)
    return xr.Dataset(found | {"bound": errors.get("bound", 0.5)})


@pytest.fixture(autouse=True)
def measured_already(monkeypatch):
    monkeypatch.setattr(ring_average, "measured", lambda runs: runs)


LARGE = {"template_shares": 0.4, "template_halves": 0.5}
test_a_ring_average = verdicts(
    lambda *runs: rules.lo_21(runs),
    lambda narrow, wide: tuple(measured(**errors) for errors in (narrow, {}, wide)),
    rrrr=[(LARGE, {})],
    rrcc=[(LARGE, {"template_halves": 0.45})],
    cccc=[(LARGE, {"template_halves": 0.45, "template_shares": 0.36})],
    ccrr=[(LARGE, {"r_template_shares": 0.8}), ({"template_shares": 0.1, "template_halves": 0.5}, {})],
    rruu=[(LARGE, {"template_halves": 0.33, "scatter": 0.02})],
)
test_equation_5 = verdicts(
    rules.lo_24,
    measured,
    reproduced=[{}],
    corrected=[{"five_halves": 2.5}, {"lost_five_halves": 0.4}],
    contradicted=[{"five_halves": 2.5, "bound": 1.5}],
    undecided=[{"five_halves": 1 / 3}],
)


def test_equation_4_is_exact_for_tiled_networks():
    errors = rules.tiled_networks()
    assert rules.lo_22(errors).verdict == "reproduced"
    assert errors["uneven, halves"] > 0.1
    assert errors["lopsided, convolution"] > 0.01
    assert rules.lo_22(errors | {"equal": 0.01}).verdict == "contradicted"


@pytest.mark.parametrize(
    ("share", "trained", "part"),
    [(0.0, 0.0, "corrected"), (0.95, 0.95, "reproduced"), (0.95, 0.1, "contradicted"), (0.9, 0.95, "undecided")],
)
def test_the_term_that_is_kept(share, trained, part, monkeypatch):
    monkeypatch.setattr(rules, "carried_in_networks", lambda runs: runs.carried.values)
    normals = over_seeds(np.full((3, 3), share), "bias", "s", scatter=0.01).values.T
    runs = xr.Dataset({"carried": over_seeds([trained, trained], "gain", scatter=0.01)})
    outcome = rules.lo_23(rules.dropped_terms(), normals, runs)
    assert outcome.parts == {"negative biases": "corrected", "positive biases": part}


def test_shares_of_the_variance():
    h = np.random.default_rng(0).standard_normal(10_000)
    assert rules.carried(-3.0, 5 * h) > 0.9
    assert rules.carried(3.0, 5 * h) < 0.1


def formulas(*parts):
    W, b = (np.concatenate([part[name].values[0] for part in parts]) for name in ("W", "b"))
    processes = nlgp.Process(N, 2.0, 3.0), nlgp.Process(N, 1.0, 3.0)
    batch = nlgp.minibatch(np.random.default_rng(1), *processes, 200)
    return ring_average.compared(W, b, batch.x, batch.y)


def test_formulas_of_a_tiled_network():
    found = formulas(tiled(flipped=0.0), tiled(flipped=1.0))
    for form in ("(4), template", "(4), mean", "(4), own"):
        assert float(found.error.sel(form=form, weights="halves")) < 1e-6
    assert float(found.error.sel(form="(5), own", weights="halves")) > 1
    assert float(found.bound) <= 1
    assert abs(float(found.lost.sel(form="corrected, own", weights="halves"))) < 0.01


def test_unequal_shares_need_the_true_ones():
    even = [tiled(flipped=flipped) for flipped in (0.0, 1.0)]
    found = formulas(*even, *(half.isel(neuron=slice(N)) for half in even))
    assert float(found.error.sel(form="(4), own", weights="shares")) < 1e-6
    assert float(found.error.sel(form="(4), own", weights="halves")) > 0.3


def test_a_mean_of_unlike_fields_is_short():
    W = np.random.default_rng(0).standard_normal((30, N))
    found, norm = ring_average.templates(W), np.linalg.norm(W, axis=1).mean()
    assert np.linalg.norm(found["mean"]) < 0.7 * norm
    assert np.linalg.norm(found["template"]) == pytest.approx(norm)


def test_independent_centres_are_near():
    assert ring_average.independent(40, draws=5) < 40**-0.5
