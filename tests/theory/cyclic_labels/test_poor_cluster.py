"""The flow of the summed hinge with a fixed kernel, solved corner by corner, and the place that is fitted last."""

import itertools

import numpy as np
import pytest

from experiments.cyclic_labels.bumps import cells as bumps
from experiments.cyclic_labels.bumps import lever
from experiments.cyclic_labels.theory import poor_cluster
from experiments.cyclic_labels.theory.poor_cluster import Places, extrapolated, flow
from shallow import nets, stats
from shallow.data import cyclic

THREE, SIX = poor_cluster.three(), poor_cluster.six()


def fifty(seed=0):
    return poor_cluster.sampled(seed)


def descend(places, step, epochs):
    """Gradient descent on the coefficients from alpha = 0: coefficients and margins of shape (epochs, k)."""
    signed = places.kernel() * np.outer(places.labels, places.labels)
    start = places.labels * places.start(places.x)
    alpha, kept = np.zeros(len(places.x)), []
    for _ in range(epochs):
        kept.append(alpha)
        alpha = alpha + step * places.counts * (start + signed @ alpha < 1)
    return np.array(kept), start + np.array(kept) @ signed


@pytest.mark.parametrize("places, until", [(THREE, 0.3), (SIX, 0.3), (fifty(), 0.05)])
def test_descent_approaches_the_flow_as_the_step_falls(places, until):
    def distance(step, world=places):
        alpha, margins = descend(places, step, int(until / step))
        exact = world.solve().at(step * np.arange(len(alpha)))
        return np.abs((alpha - exact) @ (places.kernel() * np.outer(places.labels, places.labels))).max()

    coarse, fine = distance(2e-5), distance(2e-6)
    assert fine < 0.2 * coarse < 0.02
    other = Places(places.x, places.labels, 1.1 * places.counts, places.network)  # the twin: other numbers of points
    assert distance(2e-6, other) > 20 * fine


def test_flow_that_is_stopped_is_the_beginning_of_the_whole():
    whole, times = SIX.solve(), np.linspace(0, 15, 7)
    assert SIX.solve(until=15).at(times) == pytest.approx(whole.at(times))
    assert SIX.solve(until=15).times[-1] == 15 < whole.times[-1]


@pytest.mark.parametrize("places", [THREE, SIX, fifty(1)])
def test_training_loss_is_convex_and_falls_to_zero_at_ever_lower_speed(places):
    solved = places.solve()
    loss = (1 - solved.margins).clip(min=0) @ places.counts
    slopes = np.diff(loss) / np.diff(solved.times)
    assert (slopes < 0).all() and (np.diff(slopes) > -1e-6 * np.abs(slopes[:-1])).all()
    assert loss[-1] == pytest.approx(0, abs=1e-6)
    signed = places.kernel() * np.outer(places.labels, places.labels)
    moving = places.counts * solved.acting[:-1]
    assert -slopes == pytest.approx(np.einsum("ei,ij,ej->e", moving, signed, moving), rel=1e-4)  # dL/dt = -speed^2


@pytest.mark.parametrize("places", [THREE, SIX, poor_cluster.three(points=2, rich=20)])
def test_last_place_follows_the_closed_form(places):
    solved, last = places.solve(), extrapolated(places.kernel(), places.labels, places.counts)
    assert solved.times[-1] == pytest.approx(last.end)
    assert solved.acting[-2] == pytest.approx([*last.acting, 1])
    turn = solved.times[-2]
    assert solved.margins[-2, -1] == pytest.approx(last.margin + places.counts[-1] * last.left_over * turn)
    own = places.counts[-1] * places.kernel()[-1, -1]
    push = own - places.counts[-1] * last.left_over
    assert last.pull_share == pytest.approx(own / (own + push))
    acting = places.counts * solved.acting[-2]
    assert last.gradient_share == pytest.approx(acting[-1] / acting.sum())
    without_the_others = (1 - solved.margins[-2, -1]) / own  # the twin: nobody pushing back
    assert without_the_others < 0.01 * (last.end - turn)


def test_mean_loss_of_three_places_rises_and_that_of_two_hardly():
    def mean(places):
        return (1 - places.solve().margins).clip(min=0).mean(axis=1)

    three = mean(THREE)
    assert three[2] > three[1] + 0.5 and three[0] == 1 and three[-1] == pytest.approx(0)
    two = mean(Places(THREE.x[1:], THREE.labels[1:], THREE.counts[1:]))
    assert two.max() < 1.05 and len(two) == 3


def test_straight_line_where_the_affine_part_of_the_kernel_is_large():
    affine = 1e6 * (1 + np.outer(THREE.x, THREE.x))
    last = extrapolated(affine + THREE.kernel(), THREE.labels, THREE.counts)
    assert last.weights == pytest.approx([-1, 2], abs=1e-3) and last.margin == pytest.approx(-3, abs=1e-3)
    cubic = np.abs(THREE.x[:, None] - THREE.x) ** 3 / 96
    last = extrapolated(1e3 * (1 + np.outer(THREE.x, THREE.x)) + cubic, THREE.labels, THREE.counts)
    assert last.left_over == pytest.approx((1 / 6) ** 3 / 12, rel=1e-3)  # l^3 / 12 at the distance l = 1/6


def test_frozen_network_follows_the_flow_up_to_its_step():
    places = poor_cluster.three(points=2, rich=10)
    errors = []
    for step in (2e-4, 5e-5):
        solved, time, margins = poor_cluster.train(places, step=step, every=50, epochs=int(1 / step))
        expected = np.stack([np.interp(time, solved.times, m) for m in solved.margins.T], axis=-1)
        errors.append(np.abs(margins - expected).max())
    assert errors[1] < 0.5 * errors[0] < 0.2


def test_curves_of_the_flow_are_those_of_a_frozen_network_with_small_steps():
    exact, trained = (
        each.expand_dims(seed=[3]) for each in (poor_cluster.exact(3), poor_cluster.slowly(3, train="output"))
    )
    assert np.abs(exact.test_loss - trained.test_loss).max() < 0.05
    assert np.abs(exact.cluster_loss - trained.cluster_loss).max() < 0.2
    other = poor_cluster.exact(4).test_loss  # the twin: another run
    assert np.abs(other - trained.test_loss).max() > 0.1


def test_pull_and_push_add_up_to_what_is_seen():
    found = poor_cluster.balance(0, epochs=2000)
    assert (found.own > 50).all() and np.abs(found.own + found.others - found.velocity).max() < 0.1 * found.own.min()


def test_summary_of_planted_losses():
    epoch = np.arange(0, 20_001, 100)
    up = 1 + 2 * np.minimum(epoch / 4000, 1)
    loss = np.where(epoch <= 4000, up, np.maximum(3 - 4 * (epoch - 4000) / 16_000, 0.0))
    curves = poor_cluster.curves(THREE).expand_dims(seed=[0])
    planted = curves.assign(cluster_loss=curves.cluster_loss * 0 + loss[None, :, None])
    found = poor_cluster.poor_loss(planted)
    assert float(found.highest[0]) == pytest.approx(3, abs=0.2)
    assert float(found.highest_epoch[0]) == pytest.approx(4000, abs=bumps.INTERVAL * bumps.WINDOW / 2)
    assert float(found.back[0]) == pytest.approx(12_000, abs=bumps.INTERVAL)
    still = poor_cluster.poor_loss(planted.assign(cluster_loss=planted.cluster_loss * 0 + up[None, :, None]))
    assert np.isinf(still.back[0])


@pytest.mark.parametrize("labels, counts", [([1, -1], [1, 1, 1]), ([1, -1, 1], [1, 0, 1])])
def test_impossible_input_is_refused(labels, counts):
    with pytest.raises(ValueError, match="labels|counts"):
        flow(np.eye(3), np.array(labels), np.array(counts))


def test_a_start_above_the_margin_moves_only_if_it_is_pushed():
    kernel = np.array([[1.0, 0.5], [0.5, 1.0]])
    apart = flow(np.eye(2), np.array([1, -1]), np.array([1, 1]), start=np.array([2.0, 0.0]))
    assert apart.margins[-1].tolist() == [2, 1]
    pushed = flow(kernel, np.array([1, -1]), np.array([1, 1]), start=np.array([1.2, 0.0]))
    assert pushed.margins[-1] == pytest.approx([1, 1]) and pushed.times[-1] > 1


def test_many_places_draw_no_warning_and_end_fitted():
    rng = stats.stream("places")
    x = np.sort(rng.uniform(-0.5, 0.5, 12))
    network = nets.default(rng, 2000)
    solved = Places(x, cyclic.labels(x), rng.integers(1, 5, 12), network).solve()
    assert (solved.margins[-1] > 1 - 1e-6).all()


@pytest.mark.parametrize("points", [1, 2, 3])
def test_on_a_piece_the_last_place_moves_as_what_the_margins_leave_of_the_kernel_says(points):
    places = poor_cluster.six(points)
    path = places.solve()
    piece = poor_cluster.longest(path)
    leg = poor_cluster.standing(places, path, piece)
    seen = np.diff(path.margins[piece : piece + 2, -1]) / np.diff(path.times[piece : piece + 2])
    np.testing.assert_allclose(leg.speed, seen, rtol=1e-9)
    assert (leg.still > points) == (seen.item() < 0)
    nothing = poor_cluster.Flow(path.times, path.coefficients, path.margins, np.ones_like(path.acting))
    assert abs(poor_cluster.standing(places, nothing, piece).speed - seen) > 1  # the twin: no place is at its margin


def test_the_push_of_the_others_grows_with_the_arm_and_the_hold_of_the_lone_point_with_its_square():
    pushes = []
    for at in (0.1, 0.9):
        places = poor_cluster.six(at=at)
        path = places.solve()
        levers = poor_cluster.levers(places, path, poor_cluster.longest(path))
        held = np.abs(levers).sum(axis=0) < 1e-9
        assert held.tolist() == [True, False, False, False, True, False]  # the outer places of its neighbours' label
        pushes.append((levers[:-1, -1].sum(), levers[-1, -1]))
    others, own = np.divide(*reversed(pushes))
    arms = (0.9 + 0.5) / (0.1 + 0.5)
    assert others == pytest.approx(arms, rel=0.02) and own == pytest.approx(arms**2, rel=0.15)
    assert own != pytest.approx(arms, rel=0.5)


def test_the_exact_path_climbs_less_the_longer_the_arm_and_only_where_enough_points_lift():
    by_place = [lever.exact_climb(poor_cluster.six(at=at)) for at in lever.AT]
    assert by_place == sorted(by_place, reverse=True)
    climbs = {key: lever.exact_climb(lever.exact_lifted(*key)) for key in itertools.product((8, 10, 12, 14), (1, 2))}
    assert climbs[8, 1] == climbs[8, 2] == 0 and climbs[10, 1] > bumps.RISE > climbs[10, 2]
    assert climbs[12, 2] > climbs[14, 2] > bumps.RISE
