"""The laboratory of hidden structure in node against the library: draws, a hundred steps to 1e-9, and whole runs."""

import functools

import numpy as np
import pytest
from in_node import apart, in_node, node, program, trained

from experiments.hidden_structure import hidden_index, laboratory, polynomials, shells
from experiments.hidden_structure.orthants import cells as orthants
from shallow.stats import stream

PRESETS = {key: chosen for key, *_, chosen in laboratory.PRESETS}
#: Short runs of at least a hundred steps: other losses, depths, batches that are not full, frozen layers.
OTHERS = [
    laboratory.settings(dimension=7, points=10, depth=3, width=64, rate=0.001, epochs=10, seed=0),
    laboratory.settings(dimension=3, points=10, depth=5, width=8, rate=0.01, epochs=40, loss="logit", networks=20),
    laboratory.settings(dimension=2, points=25, depth=2, width=16, rate=0.03, epochs=60, seed=2**32 - 1),
    laboratory.settings(dimension=4, points=25, depth=4, width=32, rate=0.0003, epochs=10, seed=3),
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
    """The same for the presets, of the twenty networks, which take half a minute, for an eighth of the time."""
    chosen = [one | ({"epochs": 10} if key == "twenty" else {}) for key, one in PRESETS.items()]
    runs = [laboratory.train(one) if key == "twenty" else run_of(key) for key, one in zip(PRESETS, chosen)]
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
@pytest.mark.parametrize("changes", [{"seed": 1}, {"rate": 0.01}, {"points": 50}, {"depth": 2, "width": 8}])
def test_another_run_is_not(presets, changes):
    """A twin that must differ."""
    (_, page, _), *_ = presets
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
        const { train, test, empty, v } = draw(one.seed, one);
        return { empty: empty ?? null, v: v ? [...v] : null, parts: [train, test].map(({ x, y }) => [[...x], [...y]]) };
      });"""
    for chosen, page in zip(OTHERS, in_node("hidden_structure", body, OTHERS), strict=True):
        if chosen["experiment"] == "empty orthant":
            task = laboratory.shell_task(chosen["seed"], dimension=chosen["dimension"], per_class=chosen["points"])
            assert page["empty"] == task.empty
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
    shells_shown = {"loss": "loss", "empty": "empty", "others": "others"}
    polynomials_shown = {"loss": "loss", "aligned": "aligned", "largest": "largest", "fit": "fit_of_bulk"}
    for chosen, page, _ in others:
        there, names = program(page), shells_shown if chosen["experiment"] == "empty orthant" else polynomials_shown
        assert {name for name, curve in page["values"].items() if curve[-1] is not None} == set(names)
        for name, variable in names.items():
            curve = page["values"][name][1:] if name == "loss" else page["values"][name]
            assert np.allclose(curve, there[variable], rtol=TOLERANCE, atol=1e-12), (chosen, name)


def test_presets_do_what_their_notes_say():
    found, plane, cubic, six, frozen = map(run_of, ("found", "plane", "cubic", "six", "frozen"))
    empty = np.array(found.values["empty"])
    assert round(empty[-1], 2) == 0.94 and (np.diff(empty > 0.95) != 0).sum() > 5
    assert plane.values["empty"][-1] == 0.5 and plane.values["others"][-1] > 0.99
    assert cubic.values["aligned"][1] > 1 / 3 and six.values["aligned"][1] < 0.02
    assert six.values["fit"][-1] > 0.9 and frozen.values["fit"][-1] < 0.05


def test_of_all_seeds_as_many_end_so_as_the_notes_say():
    notes = {key: note for key, *_, note, _ in laboratory.PRESETS}
    each = run_of("twenty").arrays["each"]
    fives = each.reshape(-1, 5).mean(axis=1)
    chance, right = (abs(each - 0.5) <= laboratory.CHANCE).sum(), (each >= laboratory.FOUND).sum()
    assert f"{chance} end at chance" in notes["twenty"] and right == 3 and "three above 90 %" in notes["twenty"]
    assert f"from {fives.min():.2f} to {fives.max():.2f}" in notes["twenty"]
    plane = laboratory.train(PRESETS["plane"] | {"networks": 20})
    assert (plane.arrays["each"] == 0.5).sum() == 20 and plane.values["others"][-1] > 0.99
    ends = {
        key: [laboratory.train(PRESETS[key] | {"seed": seed}).values for seed in range(1, 11)]
        for key in ("cubic", "six", "frozen")
    }
    assert all(one["aligned"][1] > 1 / 3 for one in ends["cubic"])
    assert all(one["aligned"][1] < 0.02 and one["fit"][-1] > 0.9 for one in ends["six"])
    assert all(one["fit"][-1] < 0.05 for one in ends["frozen"])


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
