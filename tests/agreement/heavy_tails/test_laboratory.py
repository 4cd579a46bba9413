"""The laboratory of heavy tails in node against the library: draws, algebra, laws, and training to 1e-9."""

import dataclasses
import itertools
import re

import numpy as np
import pytest
import torch
from in_node import apart, in_node, node, program, trained

from experiments.heavy_tails import estimators, gradient_laws, laboratory, read_out
from experiments.heavy_tails.route import cells as training_spectra
from shallow import stats
from shallow.data import single_index
from shallow.spectra.marchenko_pastur import MarchenkoPastur
from shallow.train import first_layer

PRESETS = [laboratory.opening(), *(chosen for key, *_, chosen in laboratory.PRESETS if key != laboratory.OPENING)]
OTHERS = [
    laboratory.settings(rate=1000.0, update="text", features="text", width=400, seed=2**32 - 1),
    laboratory.settings(optimiser="Adam", rate=0.1, update="text", labels="permuted", seed=3, features="text"),
    laboratory.settings(optimiser="Adam", rate=0.32, student="softplus", width=200, seed=7),
    laboratory.settings(rate=100.0, student="softplus", labels="permuted", features="text", steps=4, seed=1),
    laboratory.settings(optimiser="Adam", rate=0.5, cut="gradient", update="text", seed=8),
    laboratory.settings(optimiser="Adam", rate=0.32, cut="update", student="softplus", steps=5, seed=9),
    laboratory.settings(rate=1000.0, cut="update", steps=4, seed=10),
    laboratory.settings(optimiser="none", width=200, seed=5),
    laboratory.settings(optimiser="none", width=2000, seed=6),
]
TOLERANCE = 1e-9


@pytest.fixture(scope="module")
def runs() -> list:
    """Settings and what node makes of them, with the spectra."""
    chosen = [*PRESETS, *OTHERS]
    return list(zip(chosen, trained("heavy_tails", chosen, each="run.snapshot().spectrum"), strict=True))


def differ(page: dict, values: dict, spectra: list) -> float:
    """Largest relative difference of a number, and ten times that of an eigenvalue to the largest one."""
    pairs = zip(page["each"], spectra, strict=True)
    return max(apart(page["values"], values, 1e-300), *(10 * np.abs(a - b).max() / b[0] for a, b in pairs))


@node
def test_every_run_is_the_library_s(runs):
    for chosen, page in runs:
        values, spectra = laboratory.train(chosen)
        assert page["length"] == len(spectra) - 1
        assert differ(page, values, spectra) < TOLERANCE, chosen


@node
@pytest.mark.parametrize(
    "changes", [{"seed": 1}, {"features": "text"}, {"update": "text"}, {"rate": 1.3}, {"cut": "update"}]
)
def test_another_run_is_not(runs, changes):
    """A twin that must differ, in every quantity that it has."""
    assert differ(runs[0][1], *laboratory.train(PRESETS[0] | changes)) > 1e-3


@node
def test_the_lines_shown_as_python_give_the_same_numbers(runs):
    for chosen, page in runs:
        there, names = program(page), {"exponent": "exponents", "null": "null_exponents"}
        if chosen["optimiser"] != "none":
            names |= {"train": "train_loss", "test": "test_loss", "penalty": "ridge", "similarity": "alignment"}
        shown = page | {"values": {name: page["values"][name] for name in names}}
        values = {name: there[variable] for name, variable in names.items()}
        assert differ(shown, values, there["spectra"]) < TOLERANCE, chosen


@node
def test_normal_draws_permutations_and_named_streams_are_numpy_s():
    """Normal ones to 1e-13, among them all of the tail beyond the widest layer."""
    body = """return given.map((names) => {
      const rng = ShallowLab.streams().named(...names), first = rng.normal(200000);
      return [[...first], rng.permutation(Array.from({ length: 801 }, (_, k) => k)), [...rng.uniform(0, 1, 3)]];
    });"""
    names = [["heavy tails", 0, "teacher"], ["a name of more than fifty-five letters, so that two blocks are hashed"]]
    for given, (first, order, last) in zip(names, in_node("heavy_tails", body, names), strict=True):
        rng = stats.stream(*given)
        wanted = rng.standard_normal(200_000)
        assert np.abs(np.array(first) / wanted - 1).max() < 1e-13 and np.abs(wanted).max() > 4
        assert order == rng.permutation(801).tolist() and last == rng.uniform(size=3).tolist()


@node
def test_eigenvalues_and_solutions_are_numpy_s():
    rng = np.random.default_rng(0)
    noise, low = rng.standard_normal((3, 60, 40)), rng.standard_normal((40, 4))
    spiked = noise[0] + 1e4 * np.outer(np.ones(60), rng.standard_normal(40))
    grams = [*(one.T @ one for one in (*noise, spiked)), low @ low.T, np.eye(40), np.diag(np.arange(40.0))]
    body = """const { eigenvalues, cholesky, shifted } = ShallowLab.algebra();
      return given.map((matrix) => {
        const A = Float64Array.from(matrix), plus = A.slice(), b = Float64Array.from({ length: 40 }, (_, k) => k);
        for (let k = 0; k < 40; k++) plus[41 * k] += 1;
        const solved = [cholesky(plus, 40)(b), shifted(A.slice(), 40, b)(1)];
        return [[...eigenvalues(A, 40)], ...solved.map((one) => [...one])];
      });"""
    found = in_node("heavy_tails", body, [gram.ravel().tolist() for gram in grams])
    for gram, (values, *solutions) in zip(grams, found, strict=True):
        wanted = np.linalg.eigvalsh(gram)[::-1]
        assert np.abs(values - wanted).max() < 1e-13 * wanted[0]
        for solution in solutions:
            assert np.allclose((gram + np.eye(40)) @ solution, np.arange(40), rtol=0, atol=1e-13 * wanted[0] + 1e-12)


@node
def test_the_law_of_noise_is_the_library_s():
    body = """const { noise, density } = ShallowLab.models.heavy_tails;
      return given.map((h) => [noise(h).exponent, noise(h).median, [0.3, 1, 2].map((x) => density(x, h))]);"""
    widths = [100, 200, 300, 400, 1200, 2000]
    for h, (exponent, median, heights) in zip(widths, in_node("heavy_tails", body, widths), strict=True):
        law = MarchenkoPastur(h, 200)
        assert exponent == pytest.approx(float(estimators.noise_exponent(h, 200, 0.5)), abs=1e-9)
        assert exponent == pytest.approx(law.hill, abs=1e-8)
        assert median == pytest.approx(float(law.quantile(0.5)) / law.scale, abs=1e-12)
        assert heights == pytest.approx(law.scale * law.density(law.scale * np.array([0.3, 1, 2])), abs=1e-12)


@node
def test_the_predicted_spike_is_the_library_s():
    axes = (("GD", "Adam", "none"), (0.01, 1.0, 400.0), ("true", "permuted"), ("code", "text"), (200, 300), (0, 1, 10))
    names = ("optimiser", "rate", "labels", "update", "width", "steps")
    chosen = [laboratory.settings(**dict(zip(names, one, strict=True))) for one in itertools.product(*axes)]
    chosen += [laboratory.settings(rate=400.0, student="softplus"), laboratory.settings(rate=400.0, cut="update")]
    wanted = [laboratory.predicted(one) for one in chosen]
    found = in_node("heavy_tails", "return given.map(ShallowLab.models.heavy_tails.predicted);", chosen)
    assert [one is None for one in found] == [one is None for one in wanted]
    assert [one for one in found if one] == pytest.approx([one for one in wanted if one], rel=1e-12)
    assert 20 < len([one for one in found if one]) < len(found) / 2


def test_the_prediction_is_that_of_the_chapter_s_threshold():
    """At the rate at which the law has the spike 5 % above the edge it is predicted there."""
    rate, edge = gradient_laws.spike_rates(800, 200, 300, gap=1.05), MarchenkoPastur(300, 200).edges[1]
    for optimiser in ("GD", "Adam"):
        chosen = laboratory.settings(optimiser=optimiser, rate=rate[optimiser])
        assert laboratory.predicted(chosen) == pytest.approx(1.05 * edge)
        assert laboratory.predicted(chosen | {"rate": 0.8 * rate[optimiser]}) is None


def test_without_a_cut_a_step_is_the_trainer_s_and_a_cut_takes_the_largest_pair():
    drawn = laboratory.draw(laboratory.settings(seed=2))

    def moved(cut: str | None, optimiser: str = "Adam code") -> np.ndarray:
        rule, factor = laboratory.teacher_student.RULES[optimiser]
        trainer = first_layer.Trainer(*drawn.samples.train, drawn.student, rule, factor=factor, dtype=torch.float64)
        trainer.step(0.5) if cut is None else laboratory.step(trainer, 0.5, cut)
        return (trainer.student.W - drawn.student.W) / 0.5

    whole, update, gradient = (moved(cut) for cut in (None, "update", "gradient"))
    assert np.array_equal(whole, moved("nothing"))
    s = np.linalg.svd(whole, compute_uv=False)
    assert np.allclose(np.linalg.svd(update, compute_uv=False)[:-1], s[1:], atol=1e-9) and s[0] > 5 * s[1]
    assert np.median(np.abs(gradient)) == pytest.approx(1, abs=1e-3)  # each entry moves by the rate still
    assert np.linalg.norm(gradient, 2) < s[0] / 5
    assert np.allclose(moved("gradient", "GD code"), moved("update", "GD code"), rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="cut"):
        laboratory.step(None, 0.5, "weights")


def test_the_ridge_constant_is_tuned_on_points_of_its_own():
    drawn = laboratory.draw(laboratory.settings(seed=1))
    samples, start = drawn.samples, drawn.student
    found = laboratory.tuned(start, samples, start.scale)
    several = read_out.evaluate(
        start,
        samples.probe,
        single_index.Sample(*(one[400:] for one in samples.test)),
        laboratory.PENALTIES,
        scale=start.scale,
    )
    best = list(laboratory.PENALTIES).index(found["penalty"])
    assert found["test"] == pytest.approx(several.test[best]) and found["train"] == pytest.approx(several.train[best])
    assert 0 < best < 40 and several.test.min() * (1 - 1e-9) <= found["test"] < several.test.min() * 1.02
    larger = dataclasses.replace(start, W=3 * start.W)  # the same features where tanh is linear
    small = [laboratory.tuned(one, samples, 1e-4)["test"] for one in (start, larger)]
    assert small[0] == pytest.approx(small[1], rel=0.01)


@pytest.fixture(scope="module")
def ten_draws() -> dict[str, list[dict]]:
    """The numbers at the ends of the presets that tell a loss, of the seeds 0 to 9."""
    told = {key: chosen for key, _, _, note, chosen in laboratory.PRESETS if "test loss" in note}
    return {
        key: [
            {name: (one[0], one[-1]) for name, one in laboratory.train(chosen | {"seed": seed})[0].items()}
            for seed in range(10)
        ]
        for key, chosen in told.items()
    }


def test_the_notes_say_what_ten_draws_have(ten_draws):
    notes = {key: note for key, _, _, note, _ in laboratory.PRESETS}
    for key, draws in ten_draws.items():
        gain = 100 * np.array([1 - one["test"][1] / one["test"][0] for one in draws])
        word, size = re.search(r"test loss (falls|rises) by (.*) % \(mean of ten draws\)", notes[key]).groups()
        assert word == ("falls" if gain.mean() > 0 else "rises") and f"{abs(gain.mean()):.1f}" == size
        assert abs(gain.mean()) > 2.3 * gain.std(ddof=1) / 10**0.5


def test_draws_are_the_chapter_s_before_rounding():
    drawn = laboratory.draw(laboratory.settings(seed=4))
    wanted = laboratory.teacher_student.draw(4, n=800, d=200, h=300, test=1600)
    for one, other in zip(drawn.samples, wanted.samples, strict=True):
        assert np.array_equal(one.x.astype(np.float32), other.x) and np.array_equal(one.y.astype(np.float32), other.y)
    assert np.array_equal(drawn.student.W.astype(np.float32), wanted.student.W)
    assert np.array_equal(drawn.teacher.directions, wanted.teacher.directions)
    shuffled = laboratory.training_sample(drawn, laboratory.settings(seed=4, labels="permuted"))
    relabelled = training_spectra.relabelled(single_index.Sample(*drawn.samples.train), "permuted", 4)
    assert np.array_equal(shuffled.y, relabelled.y)
