"""The laboratory of hidden structure in node against the library: draws, a hundred steps to 1e-9, and whole runs."""

import functools

import numpy as np
import pytest
from in_node import apart, in_node, node, program, trained
from scipy.special import expit

from experiments.hidden_structure import hidden_index, laboratory, polynomials, shells
from experiments.hidden_structure.orthants import cells as orthants
from shallow.stats import stream

PRESETS = {key: chosen for key, *_, chosen in laboratory.PRESETS}
#: Short runs of at least a hundred steps: other losses, depths, orthants, batches that are not full, frozen layers.
OTHERS = [
    laboratory.settings(dimension=7, points=10, depth=3, width=64, rate=0.001, epochs=10, seed=0),
    laboratory.settings(
        dimension=3,
        points=10,
        depth=5,
        width=8,
        rate=0.01,
        epochs=40,
        loss="logit",
        networks=10,
        removed="as many others",
    ),
    laboratory.settings(dimension=2, points=25, depth=2, width=16, rate=0.03, epochs=60, seed=2**32 - 1),
    laboratory.settings(
        dimension=4, points=25, depth=4, width=32, rate=0.0003, epochs=10, seed=3, removed="its neighbours"
    ),
    laboratory.polynomial(inputs=100, samples=2000, degree=8, width=64, epochs=10),
    laboratory.polynomial(inputs=20, samples=1000, degree=5, width=256, epochs=10, first="no epoch", seed=5),
    laboratory.polynomial(inputs=20, samples=1000, degree=7, width=8, epochs=20, first="5 epochs"),
    laboratory.polynomial(inputs=20, samples=2000, degree=4, width=32, epochs=10, first="10 epochs", seed=0),
]
#: For all numbers after a hundred steps or more; at the end of the presets the loss, and all that it leads to, is as
#: near, the weights have drifted by up to 2e-10.
TOLERANCE, DRIFT = 1e-9, 1e-8


@functools.cache
def run_of(key: str) -> laboratory.Trained:
    """The run of a preset by the library."""
    return laboratory.train(PRESETS[key])


@pytest.fixture(scope="module")
def others() -> list[tuple]:
    """Settings of the short runs, what node makes of them, and what the library does."""
    pages = trained("hidden_structure", OTHERS, each="run.weights()")
    return list(zip(OTHERS, pages, map(laboratory.train, OTHERS), strict=True))


@pytest.fixture(scope="module")
def presets() -> list[tuple]:
    """The same for the presets, of those of ten networks for a quarter of the time."""
    chosen = [one | ({"epochs": 10} if one["networks"] > 1 else {}) for one in PRESETS.values()]
    runs = [run_of(key) if one == PRESETS[key] else laboratory.train(one) for key, one in zip(PRESETS, chosen)]
    return list(zip(chosen, trained("hidden_structure", chosen), runs, strict=True))


def drift(theta: list, networks: list) -> float:
    """Largest difference of a parameter of networks at one moment."""
    return max(np.abs(one - now.parameters[0]).max() for one, now in zip(theta, networks, strict=True))


@node
def test_a_hundred_steps_and_more_are_the_library_s(others):
    for chosen, page, run in others:
        assert apart(page["values"], run.values) < TOLERANCE, chosen
        for epoch in range(chosen["epochs"] + 1):
            assert drift(page["each"][epoch], [one[epoch] for one in run.networks]) < TOLERANCE, (chosen, epoch)


@node
def test_the_presets_are_the_library_s_to_the_end(presets):
    for chosen, page, run in presets:
        assert apart(page["values"], run.values) < TOLERANCE, chosen
        assert drift(page["weights"], [one[-1] for one in run.networks]) < DRIFT, chosen
        assert set(page["arrays"]) == set(run.arrays)
        for name, array in run.arrays.items():
            assert np.allclose(page["arrays"][name], array, rtol=0, atol=1e-6), name
        assert page["refused"] is None and page["last"] == chosen["epochs"]


@node
@pytest.mark.parametrize("changes", [{"seed": 1}, {"rate": 0.01}, {"removed": "as many others"}])
def test_another_run_is_not(presets, changes):
    """A twin that must differ."""
    page = next(page for chosen, page, _ in presets if chosen == PRESETS["found"])
    assert apart(page["values"], laboratory.train(PRESETS["found"] | changes).values) > 1e-3


@node
def test_starts_and_points_are_the_library_s(others):
    """Initial weights are uniform draws, whose bound may differ in its last bit; points come from normal draws."""
    for _, page, run in others:
        assert drift(page["each"][0], [one[0] for one in run.networks]) <= 2**-53
    body = """const model = ShallowLab.models.hidden_structure.compute(
        ShallowLab.streams(), ShallowLab.algebra(), ShallowLab.perceptrons());
      return given.map((one) => {
        const draw = model[one.experiment === "empty orthant" ? "orthants" : "hidden"];
        const { train, test, empty, v } = draw(one.seed, one), shelled = one.experiment === "empty orthant";
        const gone = shelled ? model.without(one.seed, one) : null;
        const parts = [train, test].map(({ x, y }) => [[...x], [...y]]);
        return { empty: empty ?? null, gone, v: v ? [...v] : null, parts };
      });"""
    for chosen, page in zip(OTHERS, in_node("hidden_structure", body, OTHERS), strict=True):
        if chosen["experiment"] == "empty orthant":
            sizes = {"dimension": chosen["dimension"], "per_class": chosen["points"], "removed": chosen["removed"]}
            task = laboratory.shell_task(chosen["seed"], **sizes)
            assert page["empty"] == task.empty and sorted(page["gone"]) == sorted(task.without)
            wanted = [(task.train.x, task.train.label), (task.test.x, task.test.label)]
        else:
            task = laboratory.polynomial_task(
                chosen["seed"], **{name: chosen[name] for name in ("degree", "inputs", "samples")}
            )
            wanted = [(task.x[task.rows[part]], task.y[task.rows[part]]) for part in ("train", "test")]
            assert np.abs(page["v"] - task.v[task.rows["test"]]).max() < 1e-13
        for (x, y), (there, labels) in zip(page["parts"], wanted, strict=True):
            assert np.abs(np.reshape(x, there.shape) - there).max() < 1e-13
            assert np.abs(y - labels).max() < 1e-9  # up to a hundred at degree 8


@node
def test_the_lines_shown_as_python_give_the_same_numbers(others):
    shells_shown = {name: name for name in ("loss", "empty", "near", "others")}
    polynomials_shown = {name: name for name in ("loss", "aligned", "direction", "absolute", "square")}
    polynomials_shown["fit"] = "in_the_middle"
    for chosen, page, _ in others:
        there, names = program(page), shells_shown if chosen["experiment"] == "empty orthant" else polynomials_shown
        assert {name for name, curve in page["values"].items() if curve[-1] is not None} == set(names)
        for name, variable in names.items():
            curve = page["values"][name][1:] if name == "loss" else page["values"][name]
            assert np.allclose(curve, there[variable], rtol=TOLERANCE, atol=1e-12), (chosen, name)


def first(values: list[float], least: float = 0.5) -> int:
    """The epoch from which on values have once reached a level, here one that they reach."""
    assert max(values) >= least
    return int(np.argmax(np.array(values) >= least))


def test_presets_do_what_their_notes_say():
    notes = {key: note for key, *_, note, _ in laboratory.PRESETS}
    found, seven, frozen, eight = (run_of(key).values for key in ("found", "seven", "frozen", "eight"))
    assert f"{found['empty'][-1]:.0%}, elsewhere {found['others'][-1]:.0%}" == "92%, elsewhere 90%"
    assert "92 % of the empty orthant, elsewhere on 90 %" in notes["found"]
    assert f"{seven['direction'][10]:.0%}" == "86%" and abs(seven["fit"][10]) < 0.02
    assert (first(seven["direction"]), first(seven["fit"])) == (5, 23) and "at epochs 5 and 23" in notes["seven"]
    assert f"{frozen['fit'][-1]:.0%}" == "4%" and frozen["direction"][-1] == frozen["direction"][10]
    assert frozen["direction"][:11] == seven["direction"][:11]
    assert f"{seven['fit'][-1]:.0%}" == "99%" and "it explains 99 %" in notes["frozen"]
    asked = next(ask for key, _, ask, *_ in laboratory.PRESETS if key == "eight")
    assert f"{-eight['square'][20]:.0%}" == "59%" and "59 % above" in asked
    assert [f"{eight[name][k]:.0%}" for name, k in (("fit", -1), ("direction", 20), ("absolute", 20))] == [
        "98%",
        "97%",
        "26%",
    ]
    assert all(part in notes["eight"] for part in ("98 %", "97 %", "26 %"))
    end = run_of("eight").arrays  # few points carry the squares
    miss = np.abs(end["f"] - hidden_index.polynomial(8)(end["v"]))
    middle = np.abs(end["v"]) <= 1
    assert middle.mean() > 0.95 and (miss[middle] ** 2).sum() < 0.05 * (miss**2).sum()


def test_of_all_seeds_as_many_end_so_as_the_notes_say():
    ends = {key: run_of(key).arrays["each"] for key in ("ten", "neighbours", "others")}
    counts = {
        key: ((each >= laboratory.LEARNED).sum(), (each <= 0.5 + laboratory.CHANCE).sum()) for key, each in ends.items()
    }
    assert counts == {"ten": (6, 1), "neighbours": (0, 10), "others": (5, 2)} and f"{ends['ten'].mean():.0%}" == "77%"
    plane = laboratory.train(PRESETS["plane"] | {"networks": 10})
    assert (plane.arrays["each"] == 0.5).all() and plane.values["others"][-1] > 0.99
    across = np.hypot(*(laboratory.tile(3, 2) - shells.CENTRE).T)
    tiles = plane.arrays["tiles"].reshape(10, -1)
    assert (tiles[:, across <= 2] > 50).all()  # outer class on both shells
    runs = {
        key: [laboratory.train(PRESETS[key] | {"seed": seed}).values for seed in range(1, 11)]
        for key in ("seven", "frozen")
    }
    assert all(first(one["direction"]) < first(one["fit"]) for one in runs["seven"])
    assert max(one["fit"][-1] for one in runs["frozen"]) < 0.15


def test_the_plane_and_the_tiles_are_where_they_should_be():
    """All points of a tile are in its orthant, and on the plane of the map; centres of shells are at their places."""
    empty, dimension = 0b011010, 6
    points, tile = laboratory.plane(empty, dimension), laboratory.tile(empty, dimension)
    assert set(shells.index(tile)) == {empty} and len({*shells.index(points)}) == 4
    assert np.array_equal(points[:, 2:], np.tile(shells.CENTRE * shells.signs(empty, dimension)[2:], (len(points), 1)))
    assert np.array_equal(tile[0, 2:], points[0, 2:]) and np.allclose(tile.mean(axis=0), 4 * shells.signs(empty, 6))
    assert np.abs(points[:, :2]).max() < laboratory.SIDE and points[1, 0] > points[0, 0]
    assert np.allclose(points[0, :2], -points[-1, :2])
    net = laboratory.train(laboratory.settings(dimension=2, points=10, width=8, epochs=10))
    wanted = 100 * expit(net.networks[0][-1].forward(laboratory.plane(0, 2))[0])
    assert np.array_equal(net.arrays["map"], wanted)


def test_the_emptied_orthants_are_neighbours_or_none_of_them():
    for removed, count in zip(laboratory.REMOVED, (0, 6, 6), strict=True):
        task = laboratory.shell_task(5, dimension=6, per_class=10, removed=removed)
        further = set(task.without[1:])
        assert task.without[0] == task.empty and len(further) == count and task.empty not in further
        assert not further & set(task.train.orthant) and set(task.train.orthant) | set(task.without) == set(range(64))
        assert further <= set(shells.neighbours(task.empty, 6)) or removed == "as many others"
        assert not further & set(shells.neighbours(task.empty, 6)) or removed == "its neighbours"
    with pytest.raises(ValueError, match="removed must be one of"):
        laboratory.shell_task(5, dimension=6, per_class=10, removed="all")


def test_the_curve_and_the_scores_are_what_they_are_called():
    """A first layer along the hidden direction holds the polynomial; one across it, or a constant, nothing."""
    task = laboratory.polynomial_task(3, degree=6, inputs=20, samples=2000)
    v, y = (array[task.rows["test"]] for array in (task.v, task.y))
    u = np.full(20, 20**-0.5)
    across = np.array([1.0, -1.0] * 10) / 20**0.5
    weights = np.outer([3.0, -1.0, 0.5], u) + np.outer([0.1, 0.2, 0.1], across)
    assert abs(laboratory.main_direction(weights) @ u) > 0.99
    held = [laboratory.explained(laboratory.best_curve(task, e), v, y)["fit"] for e in (u, -u, across)]
    assert held[0] == pytest.approx(held[1], abs=1e-9) and held[0] > 0.999 and held[2] < 0.05
    constant = laboratory.explained(np.full(len(v), np.median(y)), v, y)
    assert constant["absolute"] == pytest.approx(0) and constant["square"] <= 0
    assert laboratory.explained(y, v, y) == {"fit": 1, "absolute": 1, "square": 1}


def test_with_the_book_s_size_data_and_starts_are_the_book_s():
    """Points, split and batches; initial weights before they are rounded to single precision."""
    task, ours = shells.draw(3), laboratory.shell_task(3, dimension=7, per_class=100)
    assert ours.empty == task.empty[0] and np.array_equal(ours.train.x, task.train.x)
    inside = [there[there.orthant == ours.empty] for there in (ours.test, task.test)]
    assert np.array_equal(inside[0].x, inside[1].x)
    start = laboratory.train(laboratory.settings(seed=3, depth=3, width=64, dimension=7, points=10, epochs=10))
    assert np.array_equal(start.networks[0][0].parameters.astype(np.float32), orthants.untrained(3, 3, 64).parameters)
    drawn, problem = (
        polynomials.problem("independent", 3, 2),
        laboratory.polynomial_task(2, degree=3, inputs=100, samples=hidden_index.SIZE),
    )
    assert np.array_equal(drawn.x, problem.x) and np.array_equal(drawn.rows["train"], problem.rows["train"])
    assert np.array_equal(drawn.y, problem.y)


@node
def test_integers_below_a_power_of_two_are_numpy_s():
    body = """return given.map((bits) => {
      const rng = ShallowLab.streams().named("a", "stream");
      return [rng.bits(bits), rng.bits(bits), ...rng.uniform(0, 1, 1), rng.bits(bits)];
    });"""
    rngs = {bits: stream("a", "stream") for bits in range(1, 8)}
    wanted = [[r.integers(2**b), r.integers(2**b), r.uniform(), r.integers(2**b)] for b, r in rngs.items()]
    assert in_node("hidden_structure", body, list(rngs)) == wanted
