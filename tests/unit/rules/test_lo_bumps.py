"""The rules on mean squares, on the constant and its rivals, and what is measured of the twins, on planted data."""

import numpy as np
import pytest
import xarray as xr

from experiments.localization.rules import bumps as rules
from shallow.stats import Interval

WOBBLE = np.array([-1.0, 0.0, 1.0])


def over_seeds(values, dims, scatter=0.001, **coordinates):
    """Values with a last axis of three seeds that scatter a little."""
    values = np.asarray(values, float)[..., None] + scatter * WOBBLE
    return xr.DataArray(values, {**coordinates, "seed": [0, 1, 2]}, (*dims, "seed"))


@pytest.mark.parametrize(
    ("apart", "scatter", "beyond", "parts"),
    [
        (0.0, 0.001, -1e-9, ["reproduced", "reproduced"]),
        (0.1, 0.001, -1e-9, ["contradicted", "reproduced"]),
        (0.0, 0.05, -1e-9, ["undecided", "reproduced"]),
        (0.0, 0.001, 1e-3, ["reproduced", "contradicted"]),
    ],
)
def test_mean_squares_and_the_leading_eigenvector(apart, scatter, beyond, parts):
    found = rules.lo_44(over_seeds([[apart, 0.0]], ["gain", "filter"], scatter), xr.DataArray([-1e-9, beyond]))
    assert list(found.parts.values()) == parts


@pytest.mark.parametrize(
    ("changed", "other", "behind", "parts"),
    [
        (0, 20, 0.25, ["reproduced", "reproduced"]),
        (0, 11, 0.25, ["partly", "reproduced"]),
        (7, 20, 0.25, ["contradicted", "reproduced"]),
        (0, 20, 0.0, ["reproduced", "contradicted"]),
        (0, 20, 0.02, ["reproduced", "undecided"]),
    ],
)
def test_norms_and_the_difference(changed, other, behind, parts):
    axes = ("lengths", "objective")
    modes = xr.Dataset(
        {"mode": (axes, [[0, 0], [other, 20]]), "value": (axes, [[0.6, 0.6], [0.7, 0.97]])},
        {"lengths": ["(2, 1)", "(1, 2)"]},
    )
    cases = over_seeds([0.25, behind], ["case"], case=["one", "two"])
    assert list(rules.lo_45(changed, modes, cases).parts.values()) == parts


@pytest.mark.parametrize(
    ("leaders", "verdict", "reading"),
    [
        ([0, 0, 0], "reproduced", None),
        ([0, 11, 12], "partly", "reproduced"),
        ([3, 0, 12], "partly", None),
        ([3, 11, 12], "contradicted", None),
    ],
)
def test_the_leading_mode(leaders, verdict, reading):
    modes = xr.DataArray(np.array(leaders)[:, None], {"case": ["(2, 1)", "(1, 2)", "oscillating"], "gain": [0.0]})
    found = rules.lo_46(modes)
    assert (found.verdict, found.reading) == (verdict, reading)


@pytest.mark.parametrize(
    ("shares", "scatter", "verdict"),
    [
        ((0.94, 0.42), 0.01, "partly"),
        ((0.5, 0.4), 0.01, "reproduced"),
        ((0.9, 0.9), 0.01, "contradicted"),
        ((0.7, 0.7), 0.01, "undecided"),
    ],
)
def test_the_inconsistency(shares, scatter, verdict):
    assert rules.lo_48(over_seeds(shares, ["gain"], scatter, gain=[0.01, 3.0])).verdict == verdict


def test_low_shares_are_those_of_negative_biases():
    waves = np.cos(2 * np.pi * np.outer([1, 1, 8, 8], np.arange(40)) / 40)
    b = np.array([-1.0, -1.0, 1.0, 1.0])
    runs = xr.Dataset(
        {"W": (("gain", "seed", "neuron", "pixel"), np.stack([[waves, waves[::-1]]])),
         "b": (("gain", "seed", "neuron"), np.stack([[b, b]]))},
        {"gain": [3.0], "seed": [0, 1]},
    )  # fmt: skip
    np.testing.assert_allclose(rules.low_shares(runs).values, [[1.0, 0.0]], atol=1e-9)


GAINS = (0.01, 0.3, 1.0, 3.0, 100.0)


def rings(bump, carrier=0.0, cosine=-0.002, fine=None, error=0.0005):
    """Leads over the constant by gain on both rings."""
    found = {}
    for n, lead in ((40, bump), (400, bump if fine is None else fine)):
        lead = np.asarray(lead, float)
        table = np.stack([lead, lead + carrier, np.full(5, cosine), np.full(5, carrier)], axis=-1)
        table = np.broadcast_to(table[:, None], (5, 3, 4))
        axes = ("gain", "seed", "rival")
        found[n] = xr.Dataset(
            {"lead": (axes, table), "lead_error": (axes, np.full(table.shape, error))},
            {"gain": list(GAINS), "seed": [0, 1, 2], "rival": ["bump", "gabor", "cosine", "gabor over bump"]},
        )
    return found


RISING = (-0.002, -0.001, 0.014, 0.042, 0.055)


@pytest.mark.parametrize(
    ("change", "verdict", "answer"),
    [
        ({"bump": RISING}, "answered", "Gaussian data only"),
        ({"bump": (0,) * 5}, "answered", "at every gain"),
        ({"bump": (0.05,) * 5}, "answered", "not good"),
        ({"bump": (0,) * 5, "cosine": 0.05}, "answered", "not good"),
        ({"bump": RISING, "error": 0.01}, "undecided", "Open"),
        ({"bump": RISING, "fine": (0, 0, 0, 0, 0)}, "undecided", "Open"),
    ],
)
def test_how_well_the_constant_does(change, verdict, answer):
    found = rules.lo_49(rings(**change))
    assert found.verdict == verdict and answer in found.answer


@pytest.mark.parametrize(
    ("change", "verdict", "answer"),
    [
        ({"bump": RISING}, "answered", "from gain 1 on: there a bump beats the constant; a carrier adds nothing"),
        ({"bump": RISING, "carrier": 0.02}, "answered", "a carrier helps"),
        ({"bump": (0,) * 5}, "answered", "No"),
        ({"bump": (-0.1,) * 5}, "answered", "No"),
        ({"bump": RISING, "error": 0.01}, "undecided", "Open"),
    ],
)
def test_whether_bumps_are_better(change, verdict, answer):
    found = rules.lo_50(rings(**change))
    assert found.verdict == verdict and answer in found.answer


@pytest.mark.parametrize(
    ("lead", "word"),
    [((0.01, 0.006, 0.014), "better"), ((0, -0.004, 0.004), "equal"), ((-0.01, -0.02, -0.006), "worse"),
     ((0.005, 0.001, 0.009), "undecided")],
)  # fmt: skip
def test_words_for_a_lead(lead, word):
    assert rules.compared(Interval(*lead)) == word


def test_leads_of_the_twins():
    axes = ("tails", "gain", "seed", "width")
    lead = np.zeros((2, 1, 2, 3))
    lead[0, ..., 1:], lead[1, ..., 1:] = 0.04, -0.05
    law = np.broadcast_to([0.6, 0.57, 0.58], lead.shape)
    runs = xr.Dataset(
        {"lead": (axes, lead), "lead_error": (axes, np.full(lead.shape, 0.001)), "law": (axes, law)},
        {"tails": ["light", "heavy"], "gain": [3.0], "width": [0.0, 1.0, 2.0]},
    )
    found = rules.twin_leads(runs, 3.0)
    assert found["light"][0].above(0) and found["heavy"][0].below(0)
    assert [round(one.estimate, 3) for one in found["Gaussian"]] == [-0.03, -0.02]


def test_localisation_is_the_median_of_one_sign():
    W = np.zeros((2, 3, 40))
    W[:, :2, 0], W[:, 2] = 1.0, 1.0
    b = np.array([[-1.0, -1.0, 1.0]] * 2)
    np.testing.assert_allclose(rules.localisation(W, b), 1.0)
    np.testing.assert_allclose(rules.localisation(W, b, 1), 1 / 40)


def test_training_by_tails_and_on_the_torus():
    W = np.zeros((1, 2, 4, 4, 4))
    W[..., :2, 0, 0], W[..., 2:, :, :] = 1.0, 1.0
    W[..., 2:, ::2, :] = -1.0
    b = np.array([[[-1.0, -1.0, 1.0, 1.0]] * 2])
    torus = xr.Dataset(
        {"W": (("gain", "seed", "neuron", "row", "column"), W), "b": (("gain", "seed", "neuron"), b)},
        {"gain": [3.0], "seed": [0, 1]},
    )
    found = rules.on_torus(torus)
    assert found.share.values.tolist() == [[0.5, 0.5]]
    np.testing.assert_allclose(found.ipr.sel(gain=3.0, seed=0).values, [1.0, 1 / 16])
    np.testing.assert_allclose(found.frequency.sel(gain=3.0, seed=0, sign=1), 2.0)
    ring = xr.Dataset(
        {"W": (("gain", "seed", "neuron", "pixel"), W.reshape(1, 2, 4, 16)), "b": (("gain", "seed", "neuron"), b)},
        {"gain": [3.0], "seed": [0, 1]},
    )
    tails = xr.concat([ring, ring.assign(W=ring.W * 0 + 1)], xr.DataArray(["light", "heavy"], dims="tails"))
    by_tails = rules.tails_of_training(tails, ring)
    assert [by_tails[name][1][0].estimate for name in ("light", "Gaussian", "heavy")] == [1.0, 1.0, 1 / 16]


def test_rows_of_tables():
    runs = rings(RISING)
    for one in runs.values():
        one["best"] = (("gain", "seed", "rival"), np.full((5, 3, 4), 4))
    rows = rules.lead_rows(runs)
    assert len(rows) == 10
    assert rows[2] == ["40", "1", "1.6", "0.014 [0.013, 0.015]", "better", "0.0000 [-0.0006, 0.0006]", "equal"]
