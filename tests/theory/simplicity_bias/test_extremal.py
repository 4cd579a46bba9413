"""Laws of extremal vectors and of their limits, each with a twin that must fail."""

import numpy as np
import pytest
from standard_errors import scores

from experiments.simplicity_bias.extremal import cells as extremal
from experiments.simplicity_bias.extremal import infinite_sample
from shallow import alignment, stats
from shallow.data import teachers


def linear_sample(n, seed, d=2, noise=teachers.NOISE):
    return teachers.gaussian(stats.stream("laws", d, n, seed), teachers.first_axis(d), n, noise)


@pytest.mark.parametrize("d", [2, 5])
def test_the_alignment_function_is_continuous_with_gradient_the_alignment_vector(d):
    x, y = linear_sample(50, 0, d)
    rng = stats.stream("gradient", d)
    w, u = rng.standard_normal((2, d))
    step = 1e-6
    slope = (alignment.function(x, y, w + step * u) - alignment.function(x, y, w - step * u)) / (2 * step)
    assert slope == pytest.approx(u @ alignment.vector(x, y, w), abs=1e-6)
    edge = w - x[0] * (w @ x[0]) / (x[0] @ x[0])
    sides = edge + 1e-9 * np.array([[1.0], [-1.0]]) * x[0]
    assert abs(np.diff(alignment.function(x, y, sides))[0]) < 1e-7
    assert np.linalg.norm(np.diff(alignment.vector(x, y, sides), axis=0)) > 1e-3  # the vector does jump


@pytest.mark.parametrize("n", [20, 200])
def test_on_the_circle_maxima_and_minima_alternate(n):
    """Extremal vectors are the turning points of G on the circle: equally many of each, an even number."""
    proper = [extremal.circle(*linear_sample(n, seed)) for seed in range(50)]
    proper = [found for found in proper if found.kinds.all()]
    assert len(proper) > 40 and all(len(found) % 2 == 0 for found in proper)
    assert any((found.zeros == 0).sum() % 2 for found in proper)  # false of the open arcs alone


@pytest.mark.parametrize("noise", [0.01, 0.09, 1.0])
def test_the_mean_number_of_extremal_vectors_of_many_points(noise):
    """2 + 4 sigma / pi in the plane; without the factor 2 / ||beta|| of the curvature the law would be wrong."""
    counts = np.array([len(extremal.circle(*linear_sample(2000, seed, noise=noise))) for seed in range(300)])
    assert abs(scores(counts, 2 + 4 * noise**0.5 / np.pi)) < 4
    assert noise < 0.05 or abs(scores(counts, 2 + 2 * noise**0.5 / np.pi)) > 4


@pytest.mark.parametrize("k", [2, 3, 5, 8])
def test_solutions_in_the_plane_alternate_and_are_at_most_4k_plus_2(k):
    for seed in range(20):
        found = infinite_sample.on_circle(teachers.relu(stats.stream("bound", k, seed), k, 2))
        assert len(found) <= 4 * k + 2 and found.indices.sum() == 0 and found.proper == len(found)


@pytest.mark.parametrize("d", [3, 5])
def test_the_indices_of_the_solutions_add_up_to_the_euler_characteristic(d):
    for seed in range(5):
        teacher = teachers.relu(stats.stream("euler", d, seed), 4, d)
        starts = stats.stream("euler starts", d, seed).standard_normal((400, d))
        found = infinite_sample.newton(teacher, starts)
        assert found.indices.sum() == 2
        assert infinite_sample.newton(teacher, found.directions[:1]).indices.sum() != 2  # one solution alone fails
