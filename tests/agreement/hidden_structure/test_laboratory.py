"""The laboratory of hidden structure in node against the library: draws, a hundred steps to 1e-9, and whole runs."""

import functools

import numpy as np
import pytest
from in_node import in_node, node

from experiments.hidden_structure import hidden_index, laboratory, polynomials, shells
from experiments.hidden_structure.orthants import cells as orthants
from shallow.book import laboratories
from shallow.stats import stream

SCRIPTS = ("streams", "algebra", "perceptrons", "hidden_structure", "hidden_structure_view")
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
TRAIN = """
const lab = ShallowLab.models.hidden_structure;
const model = lab.compute(ShallowLab.streams(), ShallowLab.algebra(), ShallowLab.perceptrons());
return given.map((settings) => {
  const run = model.start(settings), all = [run.values], theta = [run.weights().map((one) => [...one])];
  while (!run.done) {
    if (run.advance().values === all[all.length - 1]) continue;
    all.push(run.values);
    if (settings.every || run.done) theta.push(run.weights().map((one) => [...one]));
  }
  const values = Object.fromEntries(lab.columns.map(([key]) => [key, all.map((one) => one[key])]));
  const arrays = Object.fromEntries(Object.entries(run.snapshot()).map(([key, one]) => [key, [...one]]));
  return { values, theta, arrays, python: lab.python(settings), refused: lab.refuse(settings), last: run.epoch };
});
"""
#: For all numbers after a hundred steps or more; at the end of the presets the loss, and all that it leads to, is as
#: near, the weights have drifted by up to 2e-10.
TOLERANCE, LEAST, DRIFT = 1e-9, 1e-3, 1e-8


@functools.cache
def trained(key: str) -> laboratory.Trained:
    """The run of a preset by the library."""
    return laboratory.train(PRESETS[key])


@pytest.fixture(scope="module")
def others() -> list[tuple]:
    """Settings of the short runs, what node makes of them, and what the library does."""
    pages = in_node(SCRIPTS, TRAIN, [one | {"every": True} for one in OTHERS])
    return list(zip(OTHERS, pages, map(laboratory.train, OTHERS), strict=True))


@pytest.fixture(scope="module")
def presets() -> list[tuple]:
    """The same for the presets, of the twenty networks, which take half a minute, for an eighth of the time."""
    chosen = [one | ({"epochs": 10} if key == "twenty" else {}) for key, one in PRESETS.items()]
    runs = [laboratory.train(one) if key == "twenty" else trained(key) for key, one in zip(PRESETS, chosen)]
    return list(zip(chosen, in_node(SCRIPTS, TRAIN, chosen), runs, strict=True))


def apart(page: dict, values: dict) -> float:
    """Largest difference of a number relative to its size, or to `LEAST` where it is smaller."""
    assert set(page["values"]) == set(values)
    pairs = [[np.array(one[name], float) for one in (page["values"], values)] for name in values]  # None is NaN
    assert all((np.isnan(a) == np.isnan(b)).all() for a, b in pairs)
    return max(np.nan_to_num(abs(a - b) / np.maximum(np.maximum(abs(a), abs(b)), LEAST)).max() for a, b in pairs)


def drift(theta: list, networks: list) -> float:
    """Largest difference of a parameter of networks at one moment."""
    return max(np.abs(np.array(one) - now.parameters[0]).max() for one, now in zip(theta, networks, strict=True))


@node
def test_a_hundred_steps_and_more_are_the_library_s(others):
    for chosen, page, run in others:
        assert apart(page, run.values) < TOLERANCE, chosen
        for epoch in range(chosen["epochs"] + 1):
            assert drift(page["theta"][epoch], [one[epoch] for one in run.networks]) < TOLERANCE, (chosen, epoch)


@node
def test_the_presets_are_the_library_s_to_the_end(presets):
    for chosen, page, run in presets:
        assert apart(page, run.values) < TOLERANCE, chosen
        assert drift(page["theta"][-1], [one[-1] for one in run.networks]) < DRIFT, chosen
        assert set(page["arrays"]) == set(run.arrays)
        for name, array in run.arrays.items():
            assert np.allclose(page["arrays"][name], array, rtol=0, atol=1e-6), name
        assert page["refused"] is None and page["last"] == chosen["epochs"]


@node
@pytest.mark.parametrize("changes", [{"seed": 1}, {"rate": 0.01}, {"points": 50}, {"depth": 2, "width": 8}])
def test_another_run_is_not(presets, changes):
    """A twin that must differ."""
    (_, page, _), *_ = presets
    assert apart(page, laboratory.train(PRESETS["found"] | changes).values) > 1e-3


@node
def test_starts_and_points_are_the_library_s(others):
    """Initial weights are uniform draws, whose bound may differ in its last bit; points come from normal draws."""
    for _, page, run in others:
        assert drift(page["theta"][0], [one[0] for one in run.networks]) <= 2**-53
    body = """const model = ShallowLab.models.hidden_structure.compute(
        ShallowLab.streams(), ShallowLab.algebra(), ShallowLab.perceptrons());
      return given.map((one) => {
        const draw = model[one.experiment === "empty orthant" ? "orthants" : "hidden"];
        const { train, test, empty, v } = draw(one.seed, one);
        return { empty: empty ?? null, v: v ? [...v] : null, parts: [train, test].map(({ x, y }) => [[...x], [...y]]) };
      });"""
    for chosen, page in zip(OTHERS, in_node(SCRIPTS, body, OTHERS), strict=True):
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
    for chosen, page, _ in others:
        there: dict = {}
        exec(page["python"], there)
        shelled = chosen["experiment"] == "empty orthant"
        names = {"loss": "loss"} | (
            {"empty": "empty", "others": "others"}
            if shelled
            else {"aligned": "aligned", "largest": "largest", "fit": "fit_of_bulk"}
        )
        assert {name for name, curve in page["values"].items() if curve[-1] is not None} == set(names)
        for name, variable in names.items():
            curve = page["values"][name][1:] if name == "loss" else page["values"][name]
            assert np.allclose(curve, there[variable], rtol=TOLERANCE, atol=1e-12), (chosen, name)


def test_presets_do_what_their_notes_say():
    found, plane, cubic, six, frozen = map(trained, ("found", "plane", "cubic", "six", "frozen"))
    empty = np.array(found.values["empty"])
    assert round(empty[-1], 2) == 0.94 and (np.diff(empty > 0.95) != 0).sum() > 5
    assert plane.values["empty"][-1] == 0.5 and plane.values["others"][-1] > 0.99
    assert cubic.values["aligned"][1] > 1 / 3 and six.values["aligned"][1] < 0.02
    assert six.values["fit"][-1] > 0.9 and frozen.values["fit"][-1] < 0.05


def test_of_all_seeds_as_many_end_so_as_the_notes_say():
    notes = {key: note for key, _, note, _ in laboratory.PRESETS}
    each = trained("twenty").arrays["each"]
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
def test_the_controls_offer_what_the_presets_use_and_refuse_what_takes_too_long():
    body = """const { controls, refuse } = ShallowLab.models.hidden_structure;
      return [Object.fromEntries(controls.map((one) => [one.name, one.options ?? null])), given.map(refuse)];"""
    book = laboratory.settings(dimension=7, depth=3, width=64, epochs=500)
    offered, refused = in_node(SCRIPTS, body, [book, book | {"networks": 20}, *PRESETS.values(), *OTHERS])
    assert set(offered) == set(laboratory.settings()) and tuple(offered["first"]) == tuple(laboratory.FIRST)
    for chosen in [*PRESETS.values(), *OTHERS]:
        assert all(name == "seed" or chosen[name] in options for name, options in offered.items())
    assert refused[1].startswith("This would take about ") and set(refused[:1] + refused[2:]) == {None}


@node
def test_integers_below_a_power_of_two_are_numpy_s():
    body = """return given.map((bits) => {
      const rng = ShallowLab.streams().named("a", "stream");
      return [rng.bits(bits), rng.bits(bits), ...rng.uniform(0, 1, 1), rng.bits(bits)];
    });"""
    rngs = {bits: stream("a", "stream") for bits in range(1, 8)}
    wanted = [[r.integers(2**b), r.integers(2**b), r.uniform(), r.integers(2**b)] for b, r in rngs.items()]
    assert in_node(["streams"], body, list(rngs)) == wanted


@node
def test_a_rate_too_large_is_told():
    body = TRAIN.replace("python: lab.python(settings)", "diverged: run.diverged")
    (page,) = in_node(SCRIPTS, body, [laboratory.settings(dimension=2, points=10, rate=1e308, epochs=10)])
    assert 0 < page["diverged"] <= 10


def test_what_the_page_carries_is_small(monkeypatch):
    runs = {str(chosen): trained(key) for key, chosen in PRESETS.items()}  # those of other tests are used again
    monkeypatch.setattr(laboratory, "train", lambda chosen: runs[str(chosen)])
    presets = laboratory.recorded()
    assert [preset["key"] for preset in presets] == list(PRESETS)
    assert len(laboratories.Laboratory("hidden_structure", presets, "", False)._repr_html_()) < 90_000
