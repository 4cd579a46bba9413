"""The rules on the way from a spike to a wide bulk, on planted data for which the answer is known."""

import numpy as np
import pytest
import xarray as xr

from experiments.heavy_tails.rules import route

NOISE = route.NOISE
JITTER = np.array([-0.001, 0, 0.001])  # of three draws


def along(steps, **curves):
    """A table over three draws and the steps; every draw has the curve, shifted a little."""
    table = {name: (("seed", "step"), (1 + JITTER[:, None]) * np.array(curve, float)) for name, curve in curves.items()}
    return xr.Dataset(table, {"seed": [0, 1, 2], "step": list(steps)})


def passing(gaps=(1.01, 7, 4, 2, 1.5), distances=(0.003, 0.003, 0.02, 0.04, 0.06)):
    """A run from noise over a spike to a wider bulk, at steps 0, 1, 5, 10 and 50."""
    hill = NOISE - 5 * (np.array(distances) - 0.003)
    table = along([0, 1, 5, 10, 50], spike_ratio=gaps, d_mp=distances, hill_excl=hill)
    return table.assign(single_spike=table.spike_ratio > 1.05)


def crossing(step, distance=0.02):
    """Flags of a widened bulk from a step on."""
    table = along([0, 25, 50, 75, 100], d_mp=[distance] * 5)
    return table.assign(ht_onset=(table.step >= step) & (table.seed >= 0))


@pytest.mark.parametrize(
    ("adam", "on", "part", "verdict"),
    [
        (passing(), crossing(50), "b, bulk", "reproduced"),
        (passing(), crossing(50), "d, Adam", "reproduced"),
        (passing(gaps=(1.01, 1.02, 4, 2, 1.5)), crossing(50), "a", "contradicted"),
        (passing(distances=(0.003, 0.003, 0.04, 0.02, 0.06)), crossing(50), "b, bulk", "contradicted"),
        (passing(gaps=(1.01, 7, 2, 4, 1.5)), crossing(50), "b, spike", "contradicted"),  # a swing
        (passing(), crossing(50), "c", "reproduced"),
        (passing(), crossing(25), "c", "contradicted"),  # too early
        (passing(), crossing(1000), "c", "contradicted"),  # never
        (passing(), crossing(1000, distance=0.046), "c", "undecided"),  # by a hair
        (passing(gaps=(1.01, 7, 4, 2, 9)), crossing(50), "d, Adam", "contradicted"),
    ],
)
def test_the_stages_of_the_route_are_told_apart(adam, on, part, verdict):
    assert route.ht_19(adam, passing(), on).parts[part] == verdict


def test_the_whole_route():
    assert route.ht_19(passing(), passing(), crossing(50)).answer.startswith("Yes")


def counts(small, full):
    """Outliers at two rates: the given numbers for batches of 50, 200 and for the full batch at the first, 1 else."""
    values = np.ones((3, 2, 3, 2), int)
    values[:2, 0], values[2, 0] = np.array(small)[:, None, None], full
    coords = {"batch": [50, 200, 2000], "rate": [0.1, 1.0], "seed": [0, 1, 2], "step": [1, 10]}
    return xr.DataArray(values, coords, list(coords))


@pytest.mark.parametrize(
    ("small", "full", "verdict"),
    [((3, 3), 1, "reproduced"), ((3, 1), 1, "partly"), ((1, 1), 1, "contradicted"), ((3, 3), 3, "contradicted")],
)
def test_spikes_of_small_batches(small, full, verdict):
    parts = route.ht_20(counts(small, full)).parts
    assert parts == {"rate 0.1": verdict, "rate 1": "contradicted"}


def ended(wide, single=True, similar=0.4):
    """Three draws after 1 and 10 steps: wide at the end or not, one spike at the start or not."""
    hill, away = (NOISE - 0.5, 0.13) if wide else (NOISE - 0.1, 0.02)
    table = along([1, 10], hill_excl=[NOISE, hill], d_mp=[0.003, away], similarity=[similar, similar])
    return table.assign(single_spike=("seed", [single] * 3))


@pytest.mark.parametrize(
    ("true", "false", "parts"),
    [
        (ended(True), ended(False), {"a": "reproduced", "b": "reproduced"}),
        (ended(True), ended(True), {"a": "reproduced", "b": "contradicted"}),
        (ended(True, single=False), ended(True), {"a": "contradicted", "b": "contradicted"}),
        (ended(True, similar=0.1), ended(False), {"a": "contradicted", "b": "reproduced"}),
        (ended(False), ended(False), {"a": "undecided", "b": "undecided"}),
    ],
)
def test_whether_labels_matter(true, false, parts):
    true, false = (one.expand_dims(run=["Adam 1"]) for one in (true, false))
    labels = xr.concat([true, false, false], "labels").assign_coords(labels=["true", "permuted", "Gaussian"])
    assert route.ht_29(true, labels).parts == parts


@pytest.mark.parametrize(("loss", "verdict"), [(5.0, "reproduced"), (0.02, "contradicted")])
def test_early_or_late(loss, verdict):
    course = along(range(4), loss=[1, 2, loss, 1])
    course = course.assign(ht=(course.step >= 2) & (course.seed >= 0))
    assert route.ht_30(course, late=0.01).verdict == verdict


def spreading(paid):
    """Steps 1 to 10 in which the others gain 100 and the largest eigenvalue loses a share of that."""
    steps = np.linspace(0, 1, 10)
    return along(range(1, 11), largest=1000 - 100 * paid * steps, rest=5000 + 100 * steps)


def cut(ratio):
    """Exponents that fall by 0.5 in the whole run and by a share of that with the spikes cut out."""
    falls = {"nothing": 1, "first": 1, "every": ratio}
    found = [along([0, 10], hill_excl=[NOISE, NOISE - 0.5 * f]) for f in falls.values()]
    return xr.concat(found, "cut").assign_coords(cut=list(falls)).expand_dims(rate=[1.0])


@pytest.mark.parametrize(
    ("paid", "ratio", "verdict"), [(0.9, 0.1, "reproduced"), (0.05, 1.0, "contradicted"), (0.9, 1.0, "partly")]
)
def test_whether_the_spike_feeds_the_bulk(paid, ratio, verdict, monkeypatch):
    monkeypatch.setattr("experiments.heavy_tails.rules.route.share_paid", lambda table: paid * (1 + JITTER))
    outcome = route.ht_31({"Adam 1": spreading(paid)}, cut(ratio))
    assert outcome.verdict == verdict
    assert set(outcome.parts) == {"budget, Adam 1", "no spikes, Adam 1"}


@pytest.mark.parametrize("paid", [0.05, 0.8])
def test_the_budget_of_the_trace(paid):
    np.testing.assert_allclose(route.share_paid(spreading(paid)), paid, rtol=1e-6)


def collapse(factor=12.0, step=5, after=0.3, spread=8.0):
    """Fifteen draws of a collapse of the largest eigenvalue by a factor, with overlaps before and after."""
    wobble = 1 + 0.02 * np.linspace(-1, 1, 15)
    top = np.full((15, 11), 1000.0)
    top[:, step + 1 :] = (1000 / factor / wobble)[:, None]
    pairs = {"maximum": np.outer(wobble, [0.9, after]), "spread": np.outer(wobble, [1.3, 1.3 * spread])}
    pairs["spread"][:, 1] *= wobble
    table = {name: (("seed", "when"), values) for name, values in pairs.items()}
    table |= {"top": (("seed", "step"), top), "s": ("seed", [step] * 15), "slope": ("seed", -300.0 * wobble)}
    table |= {"second": ("seed", 110 * wobble), "spectra": (("seed", "when", "k"), np.full((15, 2, 1), 1e5))}
    return xr.Dataset(table, {"step": range(11), "when": ["before", "after"]})


@pytest.mark.parametrize(
    ("planted", "part", "verdict"),
    [
        (collapse(), "a, tenfold", "reproduced"),
        (collapse(factor=4), "a, tenfold", "contradicted"),
        (collapse(), "a, when", "reproduced"),
        (collapse(step=7), "a, when", "contradicted"),
        (collapse(), "b", "reproduced"),
        (collapse(after=0.95), "b", "contradicted"),
        (collapse(), "c", "reproduced"),
        (collapse(spread=1.1), "c", "contradicted"),
    ],
)
def test_the_collapse_of_the_spike(planted, part, verdict):
    assert route.ht_57(planted).parts[part] == verdict
