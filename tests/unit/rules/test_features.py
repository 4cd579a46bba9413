"""The rules on what makes a bump and on features, on planted data for which the answer is known."""

import numpy as np
import pytest
import xarray as xr

from experiments.cyclic_labels.rules import features

SEEDS, POINTS = 40, [0, 1, 2, 3, 5, 8]
seed = np.arange(SEEDS)


def dissected(parts=1.0, passed=0.0, own=0.0, rest=10.0):
    """Planted runs of three designs, of which the last ten have no bump; kinks gain `own` and `rest` at borders."""
    names, nothing = ["poor(5,1)", "poor(2,1)", "two_rightmost"], seed >= 30
    rng = np.random.default_rng(0)
    numbers = {"low": 1000.0, "share_peak": 0.1, "parts": seed < 30 * parts, "passed": seed < 30 * passed}
    data = {name: np.where(nothing, np.nan, value) * np.ones((3, SEEDS)) for name, value in numbers.items()}
    weight = rng.normal(size=(3, SEEDS, 2, 5))
    borders = {"poor(5,1)": [4], "poor(2,1)": [1, 2]}
    for d, design in enumerate(names[:2]):
        weight[d, :, 1] += np.where(np.isin(np.arange(5), borders[design]), own, rest)
    dims = ("design", "seed")
    found = {name: (dims, values) for name, values in data.items()}
    found |= dict.fromkeys(("kink_weight", "even_kink_weight"), ((*dims, "moment", "boundary"), weight))
    return xr.Dataset(found, {"design": names, "seed": seed, "moment": ["peak", "T"]})


@pytest.mark.parametrize(
    ("parts", "passed", "answer"),
    [(1.0, 0.9, "Yes"), (0.9, 0.0, "Half"), (0.1, 1.0, "No"), (0.5, 0.5, "No")],
)
def test_both_halves_of_the_mechanism_are_needed(parts, passed, answer):
    outcome = features.cl_47(dissected(parts, passed))
    assert outcome.verdict == "answered" and outcome.answer.startswith(answer)


@pytest.mark.parametrize(
    ("own", "rest", "answer"), [(10, 0, "Yes"), (0, 10, "No"), (5, 5, "Not clearly"), (-5, -10, "Not clearly")]
)
def test_where_kinks_gather(own, rest, answer):
    assert features.cl_50(dissected(own=own, rest=rest)).answer.startswith(answer)


def ablations(falling=True, even=0.0, size=True):
    """Two variants in which bumps get rarer with the points, or do not; and balanced runs with a fraction of bumps."""
    shares = np.array([1, 0.8, 0.4, 0.2, 0.1, 0.0]) if falling else np.full(6, 0.5)
    flags = np.broadcast_to(seed < SEEDS * shares[:, None], (2, 6, SEEDS))
    rise = np.random.default_rng(0).random(flags.shape) - (np.array(POINTS)[:, None] if size else 0)
    dims, names = ("variant", "points", "seed"), ["reference", "width 128"]
    data = {"diverging": flags, "recovers": flags, "rise": rise, "low": 0 * rise, "recovery": rise}
    runs = xr.Dataset({k: (dims, v) for k, v in data.items()}, {"variant": names, "points": POINTS, "seed": seed})
    balanced = np.broadcast_to(seed < even * SEEDS, (2, SEEDS))
    return runs, xr.Dataset({"diverging": (("variant", "seed"), balanced)}, {"variant": names, "seed": seed})


@pytest.fixture(scope="module")
def random():
    rng = np.random.default_rng(1)
    numbers = {"smallest": rng.integers(0, 5, (2, SEEDS)), "rise": rng.random((2, SEEDS))}
    return xr.Dataset({k: (("n", "seed"), v) for k, v in numbers.items()}, {"n": [20, 50], "seed": seed})


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ({}, "Yes: one point makes bumps whatever else is changed, and more points make them rarer, lower and shorter"),
        ({"size": False}, "Yes: one point makes bumps whatever else is changed, and more points make them rarer; how"),
        ({"even": 0.8}, "In 0 of 2 settings"),
        ({"falling": False}, "In 0 of 2 settings"),
    ],
)
def test_dose_and_response(options, answer, random):
    outcome = features.cl_48(*ablations(**options), random)
    assert outcome.verdict == "answered" and outcome.answer.startswith(answer)


def layers(fixed, even, behind, later):
    """Runs of three trainings with given fractions of bumps on fixed features, and losses above the full network's."""
    names, designs = ["all", "output", "hidden"], ["poor(5,1)", "strat"]
    share = np.array([[0.7, 0.0], [fixed, even], [0.0, 0.0]])
    noise = 0.1 * np.random.default_rng(0).random((3, 2, SEEDS, 1))
    loss = noise + np.array([0.2, 0.2 + behind, 1.0])[:, None, None, None]
    dims = ("train", "design", "seed")
    data = {"diverging": (dims, seed < SEEDS * share[..., None]), "test_loss": ((*dims, "epoch"), loss)}
    runs = xr.Dataset(data, {"train": names, "design": designs, "seed": seed}).expand_dims(step=[0.001])
    last = {"loss": loss[1, :, :, 0] - behind + later, "diverging": np.broadcast_to(seed < 10, (2, SEEDS))}
    longer = {name: (("design", "seed"), values) for name, values in last.items()}
    return runs, xr.Dataset(longer, {"design": designs, "seed": seed})


@pytest.mark.parametrize(
    ("planted", "answer"),
    [
        ((0.3, 0.0, 0.5, 0.0), "The rise does not need features; at this step they make it more frequent and the"),
        (
            (0.7, 0.0, 0.0, 0.0),
            "The rise does not need features; it is about as frequent with them",
        ),
        ((0.0, 0.0, 0.5, 0.5), "Whether the rise needs features is open"),
        ((0.1, 0.6, 0.5, 0.5), "Without features there is no rise"),
    ],
)
def test_whether_the_bump_needs_features(planted, answer):
    assert features.cl_49(*layers(*planted)).answer.startswith(answer)


def imbalance(bumps, errors):
    """Runs in which bumps and errors fall with the points or do not, by what is trained."""
    points, trains = POINTS[1:], ["output", "all"]
    shares = {True: np.array([0.9, 0.6, 0.3, 0.1, 0.0]), False: np.full(5, 0.4)}
    flags = np.stack([seed < SEEDS * shares[b][:, None] for b in bumps])
    error = np.stack([shares[e][:, None] + 0.1 * np.random.default_rng(0).random((5, SEEDS)) for e in errors])
    dims, data = ("train", "points", "seed"), {"diverging": flags, "cosine": 0.5 + 0.1 * error}
    found = xr.Dataset({k: (dims, v) for k, v in data.items()}, {"train": trains, "points": points, "seed": seed})
    return found.assign(cluster_error=found.diverging.copy(data=error).expand_dims(cluster=[5]))


@pytest.mark.parametrize(
    ("bumps", "errors", "answer"),
    [
        ((True, True), (True, True), "Yes"),
        ((False, True), (True, True), "In the error yes"),
        ((True, True), (False, True), "Not clearly"),
    ],
)
def test_random_features_beside_the_network(bumps, errors, answer):
    found = imbalance(bumps, errors).expand_dims(step=[0.001, 0.01], horizon=[20_000])
    assert features.cl_51(found).answer.startswith(answer)
