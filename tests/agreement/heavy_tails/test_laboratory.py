"""The laboratory of heavy tails in node against the library: draws, algebra, laws, and training to 1e-9."""

import itertools

import numpy as np
import pytest
from in_node import in_node, node

from experiments.heavy_tails import estimators, gradient_laws, laboratory
from experiments.heavy_tails.route import cells as training_spectra
from shallow import stats
from shallow.book import laboratories
from shallow.data import single_index
from shallow.spectra.marchenko_pastur import MarchenkoPastur

SCRIPTS = ("streams", "algebra", "heavy_tails", "heavy_tails_view")
PRESETS = [chosen for *_, chosen in laboratory.PRESETS]
OTHERS = [
    laboratory.settings(rate=1000.0, update="text", features="text", width=400, seed=2**32 - 1),
    laboratory.settings(optimiser="Adam", rate=0.1, update="text", labels="permuted", seed=3, features="text"),
    laboratory.settings(optimiser="Adam", rate=0.32, student="softplus", width=200, seed=7),
    laboratory.settings(rate=100.0, student="softplus", labels="permuted", features="text", steps=4, seed=1),
    laboratory.settings(optimiser="none", width=200, seed=5),
    laboratory.settings(optimiser="none", width=2000, seed=6),
]
TRAIN = """
const lab = ShallowLab.models.heavy_tails, model = lab.compute(ShallowLab.streams(), ShallowLab.algebra());
return given.map((settings) => {
  const run = model.start(settings), all = [run.values], spectra = [[...run.snapshot().spectrum]];
  while (!run.done) { run.advance(); all.push(run.values); spectra.push([...run.snapshot().spectrum]); }
  const values = Object.fromEntries(lab.columns.map(([key]) => [key, all.map((one) => one[key])]));
  return { values, spectra, python: lab.python(settings), last: lab.length(settings), diverged: run.diverged };
});
"""
TOLERANCE = 1e-9


@pytest.fixture(scope="module")
def runs() -> list:
    """Settings and what node makes of them."""
    chosen = [*PRESETS, *OTHERS]
    return list(zip(chosen, in_node(SCRIPTS, TRAIN, chosen), strict=True))


def apart(page: dict, values: dict, spectra: list) -> float:
    """Largest relative difference of a number, and ten times that of an eigenvalue to the largest one."""
    found = [0.0]
    for name, wanted in values.items():
        if wanted[0] is None:
            assert page["values"][name] == wanted
        else:
            found.append(np.abs(np.divide(page["values"][name], wanted) - 1).max())
    pairs = zip(page["spectra"], spectra, strict=True)
    return float(max(found + [10 * np.abs(np.array(one) - other).max() / other[0] for one, other in pairs]))


@node
def test_every_run_is_the_library_s(runs):
    for chosen, page in runs:
        values, spectra = laboratory.train(chosen)
        assert page["last"] == len(spectra) - 1 and set(page["values"]) == set(values)
        assert apart(page, values, spectra) < TOLERANCE, chosen


@node
@pytest.mark.parametrize("changes", [{"seed": 1}, {"features": "text"}, {"update": "text"}, {"rate": 1.3}])
def test_another_run_is_not(runs, changes):
    """A twin that must differ, in every quantity that it has."""
    assert apart(runs[0][1], *laboratory.train(PRESETS[0] | changes)) > 1e-3


@node
def test_the_lines_shown_as_python_give_the_same_numbers(runs):
    for chosen, page in runs:
        there: dict = {}
        exec(page["python"], there)
        names = {"exponent": "exponents"}
        if chosen["optimiser"] != "none":
            names |= {"train": "train_loss", "test": "test_loss", "similarity": "alignment"}
        values = {name: there[variable] for name, variable in names.items()}
        assert apart(page, values, there["spectra"]) < TOLERANCE, chosen


@node
def test_a_rate_too_large_for_softplus_is_told():
    (page,) = in_node(SCRIPTS, TRAIN, [laboratory.settings(rate=1e200, student="softplus")])
    assert page["diverged"] == 2


@node
def test_normal_draws_permutations_and_named_streams_are_numpy_s():
    """Normal ones to 1e-13, among them all of the tail beyond the widest layer."""
    body = """return given.map((names) => {
      const rng = ShallowLab.streams().named(...names), first = rng.normal(200000);
      return [[...first], rng.permutation(Array.from({ length: 801 }, (_, k) => k)), [...rng.uniform(0, 1, 3)]];
    });"""
    names = [["heavy tails", 0, "teacher"], ["a name of more than fifty-five letters, so that two blocks are hashed"]]
    for given, (first, order, last) in zip(names, in_node(["streams"], body, names), strict=True):
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
    body = """const { eigenvalues, cholesky } = ShallowLab.algebra();
      return given.map((matrix) => {
        const A = Float64Array.from(matrix), shifted = A.slice(), b = Float64Array.from({ length: 40 }, (_, k) => k);
        for (let k = 0; k < 40; k++) shifted[41 * k] += 1;
        return [[...eigenvalues(A, 40)], [...cholesky(shifted, 40)(b)]];
      });"""
    found = in_node(["algebra"], body, [gram.ravel().tolist() for gram in grams])
    for gram, (values, solution) in zip(grams, found, strict=True):
        wanted = np.linalg.eigvalsh(gram)[::-1]
        assert np.abs(values - wanted).max() < 1e-13 * wanted[0]
        assert np.allclose((gram + np.eye(40)) @ solution, np.arange(40), rtol=0, atol=1e-13 * wanted[0] + 1e-12)


@node
def test_the_law_of_noise_is_the_library_s():
    body = """const { noise, density } = ShallowLab.models.heavy_tails;
      return given.map((h) => [noise(h).exponent, noise(h).median, [0.3, 1, 2].map((x) => density(x, h))]);"""
    widths = [100, 200, 300, 400, 1200, 2000]
    for h, (exponent, median, heights) in zip(widths, in_node(SCRIPTS, body, widths), strict=True):
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
    chosen.append(laboratory.settings(rate=400.0, student="softplus"))
    wanted = [laboratory.predicted(one) for one in chosen]
    found = in_node(SCRIPTS, "return given.map(ShallowLab.models.heavy_tails.predicted);", chosen)
    assert [one is None for one in found] == [one is None for one in wanted]
    assert [one for one in found if one] == pytest.approx([one for one in wanted if one], rel=1e-12)
    assert 20 < len([one for one in found if one]) < len(found) / 2


@node
def test_the_controls_offer_what_the_presets_use():
    body = """const found = {};
      for (const control of ShallowLab.models.heavy_tails.controls) found[control.name] = control.options ?? null;
      return [found, given.map(ShallowLab.models.heavy_tails.refuse)];"""
    offered, refused = in_node(SCRIPTS, body, [*PRESETS, laboratory.settings(width=600)])
    assert set(offered) == set(laboratory.settings()) and tuple(offered["rate"]) == laboratory.RATES
    for chosen in PRESETS:
        assert all(options is None or chosen[name] in options for name, options in offered.items())
    assert refused[:-1] == [None] * len(PRESETS) and "too long" in refused[-1]


def test_the_prediction_is_that_of_the_chapter_s_threshold():
    """At the rate at which the law has the spike 5 % above the edge it is predicted there."""
    rate, edge = gradient_laws.spike_rates(800, 200, 300, gap=1.05), MarchenkoPastur(300, 200).edges[1]
    for optimiser in ("GD", "Adam"):
        chosen = laboratory.settings(optimiser=optimiser, rate=rate[optimiser])
        assert laboratory.predicted(chosen) == pytest.approx(1.05 * edge)
        assert laboratory.predicted(chosen | {"rate": 0.8 * rate[optimiser]}) is None
    assert laboratory.first_spike_rate() == min(one for one in laboratory.RATES if one >= rate["GD"])


def test_draws_are_the_chapter_s_before_rounding():
    drawn = laboratory.draw(laboratory.settings(seed=4))
    wanted = laboratory.teacher_student.draw(4, n=800, d=200, h=300)
    for one, other in zip(drawn.samples, wanted.samples, strict=True):
        assert np.array_equal(one.x.astype(np.float32), other.x) and np.array_equal(one.y.astype(np.float32), other.y)
    assert np.array_equal(drawn.student.W.astype(np.float32), wanted.student.W)
    assert np.array_equal(drawn.teacher.directions, wanted.teacher.directions)
    shuffled = laboratory.training_sample(drawn, laboratory.settings(seed=4, labels="permuted"))
    relabelled = training_spectra.relabelled(single_index.Sample(*drawn.samples.train), "permuted", 4)
    assert np.array_equal(shuffled.y, relabelled.y)


def test_what_the_page_carries_is_small():
    presets = laboratory.recorded()
    assert [preset["key"] for preset in presets] == ["adam", "permuted", "spike", "before", "nothing"]
    lab = laboratories.Laboratory("heavy_tails", presets, "", False)
    assert len(lab._repr_html_()) < 40_000
