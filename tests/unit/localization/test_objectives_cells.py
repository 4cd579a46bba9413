"""Filters in the note's objectives, and shape against scale: planted cases, and shortened cells that agree."""

import numpy as np
import pytest

from experiments.localization import dominance, networks, reductions
from experiments.localization.bumps import filters
from experiments.localization.fields import shaping
from shallow.committee import Committee
from shallow.data.nlgp import Batch, Process
from shallow.stats import stream


def test_kurtosis_of_signs_and_of_gaussian_responses():
    W = np.eye(40)[:2]
    signs = filters.kurtosis(stream("signs"), Process(40, 2, np.inf), W, 20_000)
    normal = filters.kurtosis(stream("normal"), Process(40, 2, 0), W, 20_000)
    assert signs == pytest.approx([-2, -2])
    assert np.abs(normal).max() < 5 * (24 / 20_000) ** 0.5
    # a bump that averages independent signs is nearer to a normal variable
    wide = filters.kurtosis(stream("wide"), Process(40, 0.1, np.inf), np.ones((1, 40)), 20_000)
    assert wide[0] == pytest.approx(-2 / 40, abs=0.17)


def test_gaussian_waves_follow_the_arctangent_of_their_ratio():
    found = filters.at_a_point(0, 40, 0.001, pairs=2000)
    law = dominance.at_a_point(found.ratio.values)
    error = np.sqrt(law * (1 - law) / 2000)
    assert (np.abs(found.waves.sel(draw="evaluate") - law) < 4.5 * error).all()
    assert (np.abs(found.waves.sel(draw="evaluate") - (1 - law)) > 4.5 * error).any()
    assert found.lead.sel(rival="gabor over bump") == pytest.approx(
        float(found.lead.sel(rival="gabor") - found.lead.sel(rival="bump")), abs=1e-6
    )


@pytest.mark.parametrize("gain", [0.01, 3.0])
def test_matched_bumps_have_the_ratio_of_their_cosines(gain):
    names, W = filters.ring_filters(gain)
    first, second = (process.spectrum for process in networks.pair(gain))
    ratio = dict(zip(names, dominance.variance_ratio(W, first, second)))
    matched = [name for name in names if name.startswith("bump as")]
    assert len(matched) >= 3
    for name in matched:
        assert ratio[name] == pytest.approx(ratio[name.removeprefix("bump as ")], rel=1e-9)
    assert np.linalg.norm(W, axis=1) == pytest.approx(1)


def test_best_biases_finds_planted_ones():
    rng = stream("biases")
    W, b = rng.standard_normal((3, 5)), np.array([-1.0, 0.5, 2.0])
    x = rng.standard_normal((4000, 5)).astype(np.float32)
    sample = Batch(x, Committee(W[None].astype(np.float32), b[None]).forward(x)[0])
    found = shaping.best_biases(W, np.zeros(3), sample)
    assert found == pytest.approx(b, abs=0.02)
    least, plain = (shaping.loss(Committee(W[None], b[None]), sample) for b in (found, np.zeros(3)))
    assert least < 1e-6 < plain


def test_responses_are_read_at_their_places():
    process, w = Process(8, 1, 1.0), np.arange(8.0)
    still = reductions.responses(stream("read"), process, w, 5)
    assert still == pytest.approx(process.sample(stream("read"), 5) @ w)
    moved = reductions.responses(stream("read"), process, w, 5, moved=True)
    x = process.sample(stream("read"), 5)
    table = np.array([[sample @ np.roll(w, place) for place in range(8)] for sample in x])
    assert np.abs(table - moved[:, None]).min(axis=1) == pytest.approx(0, abs=1e-12)
    assert reductions.responses(stream("read"), process, np.ones(8), 5, moved=True) == pytest.approx(x.sum(axis=1))


def test_events_through_the_sigmoid():
    first, second = np.array([2.0, -1.0, 50.0, 0.5]), np.array([1.0, 3.0, -40.0, -0.5])
    assert reductions.through_sigmoid(first, second, 1.0, -1.0) == (0, 0.5, 0.5)  # erf saturates at 40, and a true tie
    assert reductions.through_sigmoid(first[:1], second[:1], 1.0, 0.0).value == 1
    assert reductions.through_sigmoid(first[1:2], second[1:2], 2.0, 1.0).value == 0


def test_tiled_loss_is_that_of_the_network():
    w, rng = dominance.gabors(40, [2.0], [0])[0, 0], stream("tiled")
    batch = Batch(rng.standard_normal((300, 40)), np.repeat([1.0, -1.0], 150))
    W = np.concatenate([sign * np.stack([np.roll(w, place) for place in range(40)]) for sign in (1, -1)])
    y = Committee(W[None], np.full((1, 80), -1.0)).forward(batch.x)[0]
    assert reductions.tiled_loss(w, -1.0, batch) == pytest.approx(np.var(batch.y - y) / 2, rel=1e-9)


def test_search_reaches_the_extremes_of_the_spectra():
    first, second = networks.pair(0.0)
    found = dominance.extremes(first.spectrum, second.spectrum)
    high, low = reductions.searched_extremes(first, second, reductions.real_modes(40, 20), stream("s"), starts=2)
    assert found.largest * 0.99 < high <= found.largest * (1 + 1e-9)
    assert found.smallest * (1 - 1e-6) <= low < found.smallest * 1.5
    basis = reductions.real_modes(40, 5)
    assert basis @ basis.T == pytest.approx(np.eye(11), abs=1e-12)
