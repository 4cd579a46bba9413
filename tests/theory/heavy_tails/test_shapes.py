"""Each shape criterion on a planted spectrum that meets it and on a close one that does not."""

import numpy as np
import pytest
from scipy.stats import norm

from experiments.heavy_tails import shapes
from shallow.spectra import esd, rank_one, tails

H, D = 600, 400


def random_matrix(seed: int) -> np.ndarray:
    return np.random.default_rng([seed, 0]).standard_normal((H, D))


def planted(seed: int, *thetas: float) -> np.ndarray:
    """Eigenvalues of a random matrix with rank-one updates of the given norms."""
    rng, W = np.random.default_rng([seed, 1]), random_matrix(seed)
    U, V = (np.linalg.qr(rng.standard_normal((n, max(len(thetas), 1))))[0] for n in (H, D))
    for k, theta in enumerate(thetas):
        W = W + theta * np.outer(U[:, k], V[:, k])
    return esd.eigenvalues(W)


def pareto_spectrum(seed: int, alpha: float) -> np.ndarray:
    return 100 * np.exp(np.random.default_rng([seed, 2]).standard_exponential(D) / (alpha - 1))


@pytest.mark.parametrize("seed", range(3))
def test_random_matrix_has_no_shape(seed):
    values = planted(seed)
    found = shapes.shape(values, H, D, initial=values)
    assert not (found.spike or found.single_spike or found.ht_onset or found.ht or found.bimodal)
    assert found.unchanged and found.change == 0
    assert found.hill == pytest.approx(found.hill_mp, abs=0.05)
    assert found.d_mp == found.d_mp_full < 0.02
    assert found.stable_rank == pytest.approx(values.sum() / values[0])


@pytest.mark.parametrize("seed", range(3))
def test_spikes_are_counted(seed):
    threshold = rank_one.threshold(H, D)
    one, two = shapes.shape(planted(seed, 3 * threshold), H, D), shapes.shape(planted(seed, 5e2, 3e2), H, D)
    assert one.spike and one.single_spike and not one.ht_onset
    assert two.spike and not two.single_spike
    assert not shapes.shape(planted(seed, 0.7 * threshold), H, D).spike
    assert one.d_mp == one.d_mp_excl < 0.02
    assert one.hill_excl == tails.hill(planted(seed, 3 * threshold)[1:])


@pytest.mark.parametrize(("alpha", "onset", "ht"), [(1.8, True, True), (2.1, True, True), (2.6, False, False)])
@pytest.mark.parametrize("seed", range(3))
def test_heavy_tails_are_told_by_exponent_and_distance(alpha, onset, ht, seed):
    found = shapes.shape(pareto_spectrum(seed, alpha), H, D)
    assert (found.ht_onset, found.ht) == (onset, ht)
    assert found.d_mp >= 0.1  # the distance alone would call all of them heavy tailed


def test_both_halves_of_the_heavy_tail_criteria_are_needed():
    """Numbers at and just beyond each threshold, exactly as the criteria are written."""
    base = shapes.shape(planted(0), H, D)
    for drop, distance, onset, ht in [
        (0.05, 0.05, True, False),
        (0.049, 0.5, False, False),
        (0.5, 0.049, False, False),
        (0.2, 0.1, True, True),
        (0.199, 0.5, True, False),
        (0.5, 0.099, True, False),
    ]:
        numbers = vars(base) | dict(hill_mp=3.0, hill_excl=3.0 - drop - 1e-12, d_mp_full=distance)
        found = shapes.Shape(**numbers)
        assert (found.ht_onset, found.ht) == (onset, ht)
        other = shapes.Shape(**(numbers | dict(spike_ratio=1.05, d_mp_full=0.0, d_mp_excl=distance)))
        assert (other.ht_onset, other.ht) == (onset, ht)  # with a spike the distance without it counts
    for first, second, spike, single in [
        (1.05, 1.049, True, True),
        (1.05, 1.05, True, False),
        (1.0499, 1.0, False, False),
    ]:
        found = shapes.Shape(**(vars(base) | dict(spike_ratio=first, second_ratio=second)))
        assert (found.spike, found.single_spike) == (spike, single)


def test_unchanged_looks_at_99_percent_of_the_eigenvalues():
    initial = planted(0)
    for place, factor, unchanged in [(0, 1.0099, True), (0, 1.0101, False), (395, 0.98, False), (396, 0.5, True)]:
        values = initial.copy()
        values[place] *= factor
        assert shapes.shape(values, H, D, initial=initial).unchanged is unchanged
    assert shapes.change(1.02 * initial, initial) == pytest.approx(0.02)


def bumps(*parts: tuple[float, float, int]) -> np.ndarray:
    """Normal quantiles with the given centres, deviations and numbers: as regular as eigenvalues."""
    return np.concatenate([centre + width * norm.ppf((np.arange(n) + 0.5) / n) for centre, width, n in parts])


@pytest.mark.parametrize(
    ("parts", "bimodal"),
    [
        ([(0, 1, 1000)], False),
        ([(0, 1, 500), (1.8, 1, 500)], False),  # two equal normal laws have one maximum up to two deviations
        ([(0, 1, 500), (3.2, 1, 500)], True),
        ([(0, 1, 940), (8, 0.3, 60)], True),
        ([(0, 1, 960), (8, 0.3, 40)], False),  # 4 % of the values
        ([(0, 1, 999), (1e6, 0, 1)], False),  # a lone spike
        ([(0, 1, 470), (4, 1, 470), (1e5, 1, 60)], True),
        ([(0, 1, 940), (20, 1, 30), (40, 1, 30)], True),  # the far group counts as one where it has 6 % together
    ],
    ids=str,
)
@pytest.mark.parametrize("scale", [1.0, 1e-5])
def test_modes_are_counted_by_valley_and_mass(parts, bimodal, scale):
    values = scale * np.random.default_rng(0).permutation(bumps(*parts))
    found = shapes.modes(values)
    assert found.bimodal is bimodal
    assert found.bandwidth == pytest.approx(shapes.silverman(values) / 2)
    assert len(found.places) == len(found.masses) and min(found.masses) >= 0.05


def test_median_distance_ignores_the_scale_and_sees_the_shape():
    values = np.linspace(1, 5, 101)
    assert shapes.median_distance(8 * values, values) == 0 and shapes.median_distance(values**3, values) > 0.2
