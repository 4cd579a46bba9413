"""The closed-form limits of the kernel: mean, rate of convergence, spectrum, each with a twin that has to fail."""

import numpy as np
import pytest
from standard_errors import scores

from experiments.cyclic_labels.theory import wide_kernels
from shallow import nets
from shallow.kernels import empirical

X = np.linspace(-0.5, 0.5, 11)
INITIALISATIONS = {"default": (nets.default, wide_kernels.uniform), "normal": (nets.normal, wide_kernels.gaussian)}


def deviations(draw, expected, widths, seeds=60) -> list[float]:
    """Root mean square over seeds of the relative Frobenius distance of K to its expectation, by width."""
    found = []
    for m in widths:
        kernels = np.array([empirical.ntk(draw(np.random.default_rng([7, m, s]), m), X) for s in range(seeds)])
        distances = np.linalg.norm(kernels - expected.at(m), axis=(1, 2)) / np.linalg.norm(expected.at(m))
        found.append(np.mean(distances**2) ** 0.5)
    return found


def slope(widths, errors) -> float:
    return float(np.polyfit(np.log(widths), np.log(errors), 1)[0])


@pytest.mark.parametrize("name", INITIALISATIONS)
def test_mean_kernel_is_exact_at_small_width(name):
    """E K = m C + D holds at every width; z-scores over 20,000 networks of 4 neurons, for both parts."""
    draw, limit = INITIALISATIONS[name]
    parts = [empirical.blocks(draw(np.random.default_rng([1, s]), 4), X) for s in range(20_000)]
    for found, expected in (
        (np.array([p.output for p in parts]), 4 * limit(X).output),
        (np.array([p.weights + p.biases for p in parts]), limit(X).hidden),
    ):
        assert np.abs(scores(found, expected)).max() < 4.5 < np.abs(scores(found, 1.05 * expected)).max()


@pytest.mark.parametrize("name", INITIALISATIONS)
def test_distance_to_the_limit_falls_as_one_over_root_width(name):
    draw, limit = INITIALISATIONS[name]
    widths = [64, 256, 1024, 4096]
    assert slope(widths, deviations(draw, limit(X), widths)) == pytest.approx(-0.5, abs=0.06)


def test_a_wrong_limit_does_not_show_the_law():
    """The same law, held against the limit of other weights: the distance stops falling."""
    widths = [64, 256, 1024, 4096]
    right = wide_kernels.uniform(X)
    flat = wide_kernels.Parts((1 + np.outer(X, X)) / 6.6, right.hidden)
    assert slope(widths, deviations(nets.default, flat, widths)) > -0.35


def test_cubic_part_is_seen_beyond_the_affine_functions():
    """Orthogonal to 1 and x the wide kernel has the cubic part alone; the twin has another power of the distance."""
    affine, m = np.stack([np.ones_like(X), X], axis=1), 200_000
    kernel = empirical.ntk(nets.default(np.random.default_rng(0), m), X) / m
    distance = np.abs(X[:, None] - X)
    found, cubic, linear = (empirical.without(k, affine) for k in (kernel, distance**3 / 96, -distance / 960))
    assert np.linalg.norm(found - cubic) < 0.05 * np.linalg.norm(cubic)
    assert np.linalg.norm(found - linear) > 0.5 * np.linalg.norm(linear)


def test_spectrum_beyond_the_affine_functions_is_that_of_a_beam():
    def beyond(x):
        weights = np.polynomial.legendre.leggauss(len(x))[1] / 2
        root = np.sqrt(weights)[:, None]
        weighted = root * wide_kernels.uniform(x).output * root.T
        scaled = empirical.without(weighted, root * np.stack([np.ones_like(x), x], 1))
        return scaled / (root * root.T)

    beam = wide_kernels.beam_eigenvalues(6)
    assert wide_kernels.spectrum(beyond, 6).values == pytest.approx(beam, rel=1e-4)
    assert wide_kernels.beam_eigenvalues(500).sum() == pytest.approx(1 / 3360, rel=1e-6)
    whole = wide_kernels.spectrum(lambda x: wide_kernels.uniform(x).output, 8).values
    assert (whole[2:] <= beam).all() and (whole[2:6] >= beam[2:]).all()  # interlacing
    assert whole.sum() == pytest.approx(13 / 72, rel=1e-4)
    assert not np.allclose(1 / (np.arange(1, 7) * np.pi) ** 4 / 8, beam, rtol=0.3)  # a string instead of a beam


def test_quadrature_has_converged():
    coarse, fine = (wide_kernels.spectrum(lambda x: wide_kernels.uniform(x).output, 8, nodes=n) for n in (200, 400))
    assert coarse.values == pytest.approx(fine.values, rel=1e-5)
    changes = (np.diff(np.sign(fine.functions), axis=0) != 0).sum(axis=0)
    assert changes.tolist() == list(range(8))
    assert (fine.functions**2 * fine.weights[:, None]).sum(axis=0) == pytest.approx(1)
