"""The laboratory of simplicity bias in node against the library: draws, extremal vectors, and training to 1e-12."""

import numpy as np
import pytest
from in_node import apart, in_node, node, program, trained

from experiments.simplicity_bias import laboratory, two_fits
from shallow import stats
from shallow.data import teachers
from shallow.train.run import log_spaced

PRESETS = {key: chosen for key, *_, chosen in laboratory.PRESETS}
OTHERS = [
    laboratory.settings(n=100, batch="32", margin=0.0, start="Gaussian", scale=0.01, noise=0.25, steps=1000),
    laboratory.settings(n=20, batch="1", width=512, seed=2**32 - 1, rate=0.01, steps=1000),
    laboratory.settings(n=15, margin=0.5, start="Gaussian", scale=1.0, noise=0.0, steps=3000, rate=0.1),
    laboratory.settings(n=5, batch="8", margin=0.1, scale=1e-6, width=2, steps=3000, seed=4),
]
SAMPLE = """const model = ShallowLab.models.simplicity_bias.compute(ShallowLab.streams(), ShallowLab.plane());
return given.map((one) => model.sample(one)).map((data) => [[...data.x], [...data.y], model.references(data)]);"""
TOLERANCE = 1e-12


@pytest.fixture(scope="module")
def pages() -> list[dict]:
    """What node makes of the presets and the other settings."""
    return trained("simplicity_bias", [*PRESETS.values(), *OTHERS])


@pytest.fixture(scope="module")
def runs(pages) -> list:
    """Settings, what node makes of them, and what the library does: numbers and the last network."""
    chosen = [*PRESETS.values(), *OTHERS]
    return [(one, page, *laboratory.train(one)) for one, page in zip(chosen, pages, strict=True)]


@node
def test_every_run_is_the_library_s(runs):
    for chosen, page, values, network in runs:
        assert page["steps"] == page["records"] == log_spaced(chosen["steps"], laboratory.DECADE).tolist()
        assert apart(page["values"], values) < TOLERANCE and page["diverged"] is None, chosen
        for found, wanted in zip(page["weights"], (network.W, network.v), strict=True):
            assert np.abs(found - wanted.ravel()).max() < TOLERANCE


@node
@pytest.mark.parametrize("changes", [{"seed": 1}, {"rate": 0.051}, {"scale": 0.101}, {"noise": 0.1}, {"margin": 0.1}])
def test_another_run_is_not(pages, changes):
    """A twin that must differ."""
    assert apart(pages[0]["values"], laboratory.train(PRESETS["many"] | changes)[0]) > 1e-4


@node
def test_points_and_references_are_the_library_s():
    chosen = [*PRESETS.values(), *OTHERS]
    for one, (x, y, references) in zip(chosen, in_node("simplicity_bias", SAMPLE, chosen), strict=True):
        drawn = laboratory.draw(one)
        assert np.abs(np.reshape(x, (-1, 2)) - drawn.x).max() < 1e-13
        assert np.abs(y - drawn.y).max() < 1e-13
        for found, wanted in zip(references, laboratory.references(drawn, one), strict=True):
            assert found == pytest.approx(wanted, rel=1e-10, abs=1e-14)


@node
def test_extremal_vectors_are_the_library_s():
    """Small samples, which have several, and the page's largest."""
    chosen = [laboratory.settings(n=n, margin=0.0, seed=seed) for n in (3, 5, 8, 20, 100) for seed in range(8)]
    chosen.append(laboratory.settings(n=5000, margin=0.0))
    body = """const plane = ShallowLab.plane();
      const model = ShallowLab.models.simplicity_bias.compute(ShallowLab.streams(), plane);
      return given.map((one) => plane.extremal(model.sample(one)).map(({ x, y, sign }) => [x, y, sign]));"""
    counts = []
    for one, found in zip(chosen, in_node("simplicity_bias", body, chosen), strict=True):
        wanted = laboratory.directions(laboratory.draw(one))
        assert len(found) == len(wanted), one
        assert np.allclose(sorted(found), sorted(wanted), rtol=0, atol=1e-10), one
        counts.append(len(wanted))
    assert max(counts) >= 6


@node
def test_the_lines_shown_as_python_give_the_same_numbers(runs):
    for _, page, values, _ in [runs[1], runs[4], *runs[-4:]]:
        there, names = program(page), {"train": "train_loss", "test": "test_loss"}
        assert apart(page["values"], {name: there[names.get(name, name)] for name in values}) < TOLERANCE


def test_presets_follow_their_rule_and_say_what_happens(runs):
    """The rule is written at the presets; every other candidate that it names fails."""
    ends = {key: {name: curve[-1] for name, curve in run[2].items()} for key, run in zip(PRESETS, runs)}
    left = {key: ends[key]["train"] / of(key, "train") for key in PRESETS}
    hundredth = teachers.NOISE / 100
    assert ends["many"]["distance"] < 1e-12
    assert ends["large"]["distance"] > two_fits.CLOSE and 0.75 < left["large"] < 0.85
    assert ends["few"]["train"] < hundredth and ends["few"]["test"] > 4 * of("few", "test")
    assert {key: one["groups"] for key, one in ends.items()} == {
        "many": 2,
        "few": 2,
        "large": 15,
        "cut": 5,
        "tight": 2,
        "batches": 4,
        "held": 2,
    }
    assert laboratory.train(PRESETS["batches"] | {"batch": "32"})[0]["groups"][-1] == 2
    for n in laboratory.POINTS[2:]:
        steps = 1000 if n > 30 else 100_000  # with many points the loss stands near the noise long before
        assert laboratory.train(laboratory.settings(n=n, steps=steps))[0]["train"][-1] > hundredth


def of(key: str, loss: str) -> float:
    """That loss of least squares in a preset."""
    return laboratory.references(laboratory.draw(PRESETS[key]), PRESETS[key])[0][loss]


@pytest.mark.parametrize(
    ("key", "count"), [("many", 10), ("few", 7), ("cut", 3), ("tight", 7), ("batches", 4), ("held", 10)]
)
def test_of_ten_seeds_as_many_end_so_as_the_notes_say(key, count):
    """As two neurons, or with four points without a training loss."""
    runs = [laboratory.train(PRESETS[key] | {"seed": seed})[0] for seed in range(10)]
    ends = [run["train"][-1] < teachers.NOISE / 100 if key == "few" else run["groups"][-1] == 2 for run in runs]
    (said,) = (note for name, _, _, note, _ in laboratory.PRESETS if name == key)
    assert sum(ends) == count and f"{'all' if count == 10 else count} of 10 seeds" in said


@node
def test_the_plot_has_the_number_of_neurons_and_the_loss_over_that_of_least_squares(runs):
    """By their logarithms; where there is no noise least squares leave no loss, and there is no ratio."""
    body = """const { data, y } = ShallowLab.models.simplicity_bias.panels[1];
      return given.map((view) => [data(view), y.range(view)]);"""
    views = [
        {"settings": one, "epochs": page["steps"], "values": page["values"], "live": False, "book": None}
        for one, page, *_ in runs
    ]
    for ((_, neurons, ratio, two, *books), (low, high)), (one, _, values, _) in zip(
        in_node("simplicity_bias", body, views), runs, strict=True
    ):
        least, fits = (found["train"] for found in laboratory.references(laboratory.draw(one), one))
        assert neurons == pytest.approx(np.log10(values["groups"])) and max(neurons) < high
        assert {value for curve in books for value in curve} == {None}
        if one["noise"] == 0:
            assert {*ratio, *two} == {None}
            continue
        assert two == pytest.approx([np.log10(fits / least)] * len(two), abs=1e-9)
        assert np.power(10, ratio) == pytest.approx(np.divide(values["train"], least), abs=1e-12)
        assert -6 <= low <= max(min(ratio), -6) and max(ratio) < high


@node
def test_permutations_and_choices_in_a_row_are_numpy_s():
    """Halves of 64-bit numbers that one call leaves are used by the next."""
    body = """const rng = ShallowLab.streams().named("a", "stream"), points = [...Array(7).keys()];
      return [rng.permutation(points), rng.either([-1, 1], 5), rng.permutation(points), [...rng.uniform(0, 1, 2)],
        rng.permutation(points)];"""
    rng = stats.stream("a", "stream")
    wanted = [rng.permutation(7), rng.choice([-1, 1], 5), rng.permutation(7), rng.uniform(size=2), rng.permutation(7)]
    assert in_node("simplicity_bias", body, None) == [one.tolist() for one in wanted]


def test_draws_are_those_of_the_two_fits():
    for margin in (0.0, 0.3):
        x, y, network, _ = two_fits.draw(5, 50, d=2, m=8, scale=0.1, c=margin, whiten=False, fresh=1)
        drawn = laboratory.draw(laboratory.settings(n=50, width=8, seed=5, margin=margin))
        assert np.array_equal(drawn.x, x) and np.array_equal(drawn.y, y)
        assert np.array_equal(drawn.network.W, network.W) and np.array_equal(drawn.network.v, network.v)


def test_the_test_loss_is_that_of_fresh_points():
    chosen = PRESETS["large"]
    _, _, start, fresh = two_fits.draw(0, 10, d=2, m=64, scale=1.0, whiten=False, fresh=400_000)
    errors = (start.forward(fresh) - fresh[:, 0]) ** 2
    standard_error = errors.std() / len(errors) ** 0.5
    wanted = laboratory.test_loss(start, chosen["margin"], chosen["noise"]) - chosen["noise"]
    assert abs(errors.mean() - wanted) < 4 * standard_error < 0.02
