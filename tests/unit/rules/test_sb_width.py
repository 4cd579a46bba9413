"""The rules on the width that is left, on planted data for which the answer is known."""

import numpy as np
import pytest
import torch
import xarray as xr

from experiments.simplicity_bias import omnidirectionality
from experiments.simplicity_bias.rules import width as rules

SEEDS = range(5)


def early(orthogonal, gaussian, many=2.0):
    """Clusters of five draws at n = d and n = 100 d in three dimensions."""
    values = np.empty((3, 4, 5))
    for place, (number, spread) in enumerate((orthogonal, gaussian, (many, 1.0), (many, 1.0))):
        values[:, place] = number * spread ** np.linspace(-1, 1, 5)
    coords = {"d": [5, 20, 50], "ratio": ["orthogonal", "1", "2", "100"], "seed": SEEDS}
    return xr.DataArray(values, coords, list(coords))


@pytest.mark.parametrize(
    ("gaussian", "verdict"),
    [((20, 1.2), "reproduced"), ((5, 3.0), "undecided"), ((1, 1.2), "contradicted"), ((4, 1.1), "undecided")],
)
def test_clusters_of_few_data(gaussian, verdict):
    parts = rules.sb_14(early((500, 1.1), gaussian)).parts
    assert set(map(parts.get, ("orthogonal, d = 20", "orthogonal, d = 50"))) == {"reproduced"}
    assert parts["Gaussian, d = 50"] == verdict


def converged(power, spread=1.05):
    """Clusters that grow like a power of the dimension, five draws."""
    d = np.array([5, 10, 20, 40])
    values = np.empty((3, 4, 5))
    values[:] = 2 * (d[:, None] / 5.0) ** power * spread ** np.linspace(-1, 1, 5)
    coords = {"kappa": [1, 2, 5], "d": d, "seed": SEEDS}
    table = {name: (list(coords), values) for name in ("number", "effective_width")}
    return xr.Dataset(table | {"loss": (list(coords), np.full(values.shape, 1e-9))}, coords)


@pytest.mark.parametrize(
    ("power", "spread", "answer"),
    [(1.0, 1.05, "Supported"), (0.1, 1.05, "Not supported"), (0.5, 1.05, "Consistent"), (1.0, 6.0, "Consistent")],
)
def test_the_exponent_of_the_clusters(power, spread, answer):
    outcome = rules.sb_15(converged(power, spread))
    assert outcome.verdict == "answered" and outcome.answer.startswith(answer)


def widths(relu, gelu):
    """Largest gaps of six draws, falling with the width by given slopes, the same from every start."""
    m = np.array([2**k for k in range(10, 17)])
    values = np.empty((2, 3, 1, 7, 6, 2))
    for place, slope in enumerate((relu, gelu)):
        draws = slope + np.linspace(-0.02, 0.02, 6)
        values[place] = ((m[:, None] / 1024.0) ** draws)[..., None]
    coords = {"activation": ["relu", "gelu"], "initialisation": ["gaussian", "dominated", "equation 8"]}
    coords |= {"n": [20], "m": m, "seed": range(6), "time": [5.0, 20.0]}
    return xr.DataArray(values, coords, list(coords))


@pytest.mark.parametrize(
    ("relu", "gelu", "verdict"),
    [
        (0.0, -0.8, "reproduced"),
        (-0.8, 0.0, "contradicted"),
        (-0.8, -0.8, "partly"),  # both keep all directions
        (0.0, 0.0, "partly"),  # both lose some
        (-0.076, -0.8, "partly"),  # by a hair: one half is undecided
    ],
)
def test_who_loses_directions(relu, gelu, verdict):
    assert rules.sb_25(widths(relu, gelu)).verdict == verdict


def test_a_hair_is_undecided():
    parts = rules.sb_25(widths(-0.076, -0.3)).parts
    assert set(parts.values()) == {"undecided"}


def test_draws_that_were_not_made_are_left_out():
    found = widths(0.0, -0.8)
    found[:, 2, :, :, 3:] = np.nan
    assert len(rules.slopes(found, "relu", "equation 8", 5.0)) == 3
    assert len(rules.slopes(found, "relu", "gaussian", 5.0)) == 6
    assert rules.sb_25(found).verdict == "reproduced"


def ratios_off(scale, start, n=20, flow_time=4.0, step=0.01):
    r"""Largest distance of w_j / a_j of GeLU neurons from tanh(|D| t) D / |D|, D the pull of the linear network."""
    sample, W, a = omnidirectionality._draw(0, n, 64, scale, start)
    x, y, W, a = (torch.from_numpy(part) for part in (*sample, W, a))
    for _ in range(round(flow_time / step)):
        omnidirectionality._step(x, y, W, a, step, "gelu")
    D = sample.y @ sample.x / (2 * n)
    size = np.linalg.norm(D)
    return np.abs(W.numpy() / a.numpy()[:, None] - np.tanh(size * flow_time) * D / size).max()


def test_from_start_8_a_smooth_network_loses_its_directions():
    discretised = ratios_off(1e-5, "equation 8")
    assert discretised < 2e-3  # of the steps
    assert ratios_off(1e-2, "equation 8") > 2 * ratios_off(1e-3, "equation 8")
    assert ratios_off(1e-5, "dominated") > 0.1
