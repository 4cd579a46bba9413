"""The laboratory of localised receptive fields in node against the library: samples, a hundred steps, whole runs."""

import numpy as np
import pytest
from in_node import apart, in_node, node, program, trained
from scipy import special

from experiments.localization import laboratory, networks
from experiments.localization.populations.cells import population
from shallow import receptive_fields
from shallow.data import nlgp
from shallow.stats import stream
from shallow.train import vector_math

PRESETS = {key: chosen for key, *_, chosen in laboratory.PRESETS}
OTHERS = [
    laboratory.settings(steps=100, batch="1000"),
    laboratory.settings(steps=100, batch="1000", kind="heavy-tailed twin", gain=1, offset=-0.5),
    laboratory.settings(steps=500, batch="40", width=8, rate=5, biases="from ±1/2", positive=0.25, seed=2**32 - 1),
    laboratory.settings(steps=500, batch="40", kind="Gaussian twin", gain=0.01, slow=1, fast=2, width=60, rate=10),
    laboratory.settings(steps=500, batch="40", width=20, biases="held to signs", positive=0.75, slow=1.5, fast=0.5),
]
#: Differences of weights and biases in the first hundred steps and at the end; of numbers relative to their size.
FIRST, END, TOLERANCE = 1e-12, 1e-9, 1e-9


def pages(chosen: list[dict]) -> list[dict]:
    return trained("localization", chosen, each="run.weights()")


@pytest.fixture(scope="module")
def runs() -> list:
    """Settings, what node makes of them, and the library's run: the presets and the other settings."""
    chosen = [*PRESETS.values(), *OTHERS]
    return [(one, page, laboratory.train(one)) for one, page in zip(chosen, pages(chosen), strict=True)]


def weights_apart(page: dict, run) -> np.ndarray:
    """Largest difference of a weight or a bias at every record."""
    W, b = map(np.array, zip(*page["each"], strict=True))
    W = W.reshape(run.W[0].shape)
    return np.maximum(np.abs(W - run.W[0]).max(axis=(1, 2)), np.abs(b - run.b[0]).max(axis=1))


@node
def test_every_run_is_the_library_s(runs):
    for chosen, page, run in runs:
        assert page["steps"] == page["records"] == run.steps.tolist() and page["length"] == chosen["steps"]
        found = weights_apart(page, run)
        assert found[run.steps <= 100].max() < FIRST and found.max() < END, chosen
        assert apart(page["values"], laboratory.measured(run)) < TOLERANCE and page["diverged"] is None


@node
def test_longer_correlations_cost_digits():
    """Waves with eigenvalues near rounding: the library's have fewer digits."""
    chosen = laboratory.settings(slow=3, fast=2.5, steps=100)
    (page,) = pages([chosen])
    assert weights_apart(page, laboratory.train(chosen)).max() < 1e-9


@node
@pytest.mark.parametrize(
    "changes", [{"seed": 1}, {"rate": 20.1}, {"gain": 3.1}, {"slow": 2.01}, {"kind": "Gaussian twin"}]
)
def test_another_run_is_not(runs, changes):
    """A twin that must differ."""
    page = runs[0][1]
    assert weights_apart(page, laboratory.train(PRESETS["two"] | changes))[-1] > 1e-4


@node
def test_functions_and_normal_numbers_are_the_library_s():
    x = np.concatenate([np.linspace(-12, 12, 9996), [0.0, 1e-300, -1e-9, 8.5]])
    body = """const rng = ShallowLab.streams().named("a", "stream");
      const { erf, erfi, normals, GROUP } = ShallowLab.vectors();
      const slopes = new Float64Array(given.length), value = erf(Float64Array.from(given), slopes);
      const bounded = Float64Array.from(given, (x) => x * 3.5 / 12), fill = normals(rng);
      const first = fill(new Float64Array(3 * GROUP), 2 * GROUP + 1), second = fill(new Float64Array(GROUP), 1);
      return [[...value], [...slopes], [...erfi(bounded)], [...first], [...second]];"""
    value, slope, imaginary, *drawn = map(np.array, in_node("localization", body, x.tolist()))
    assert np.abs(value - special.erf(x / 2**0.5)).max() < 2e-14
    assert np.abs(slope - np.sqrt(2 / np.pi) * np.exp(-(x**2) / 2)).max() < 2e-14
    library = np.array([vector_math.erf_and_slope(np.float64)(one) for one in x])
    assert np.abs(value - library[:, 0]).max() < 2e-15 and np.abs(slope - library[:, 1]).max() < 2e-15
    assert np.allclose(imaginary, special.erfi(x * 3.5 / 12), rtol=2e-14, atol=0)
    wanted = np.empty(4 * vector_math.GROUP)
    vector_math.normals(np.float64)(vector_math.lanes(stream("a", "stream")), wanted)
    assert np.abs(np.concatenate(drawn) - wanted).max() < 5e-15


@node
def test_the_lines_shown_as_python_give_the_same_network(runs):
    for _, page, run in [runs[0], runs[3], *runs[5:]]:
        there = program(page)
        assert np.array_equal(there["W"], run.last.W[0]) and np.array_equal(there["b"], run.last.b[0])
        assert apart(there["values"], page["values"]) < TOLERANCE


def test_the_book_s_own_setting_is_the_book_s_network():
    """In float32, as the chapter trains; a hundred steps, before roundings grow."""
    chosen = laboratory.settings(batch="1000")
    run = laboratory.train(chosen, steps=100)
    book = networks.train([0], [3.0], steps=100)
    assert np.abs(book.last.W - run.last.W).max() < 1e-4 and np.abs(book.last.b - run.last.b).max() < 1e-4


def test_the_gaussian_twin_has_the_covariance_and_is_gaussian():
    for process in networks.pair(3.0):
        twin = laboratory.GaussianTwin.of(process)
        (root,) = twin.roots
        assert np.allclose(root.T @ root, nlgp.circulant(process.covariance), rtol=0, atol=1e-12)
        assert np.array_equal(twin.covariance, process.covariance) and twin.excess_kurtosis == 0
        x = twin.sample(np.random.default_rng(0), 20_000)
        assert np.abs(x.T @ x / len(x) - nlgp.circulant(process.covariance)).max() < 0.05
        assert abs((x**4).mean() - 3) < 0.1
        plain = nlgp.Process(40, process.xi, 0.0)  # the same order of the waves
        assert np.allclose(laboratory.GaussianTwin.of(plain).roots, plain.roots, rtol=0, atol=1e-14)


def ends(run) -> dict[str, float]:
    """Medians over the fields of each sign at the end."""
    W, b = run.last.W[0], run.last.b[0]
    minus, plus = W[population(b) < 0], W[population(b) > 0]
    found = {"minus": len(minus), "plus": len(plus)}
    for name, fields in (("minus", minus), ("plus", plus)):
        if len(fields):
            found[f"ipr_{name}"] = np.median(receptive_fields.inverse_participation_ratio(fields))
            found[f"frequency_{name}"] = np.median(receptive_fields.mean_frequency(fields))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_the_presets_end_as_their_notes_say(seed):
    noise = receptive_fields.noise_level(40).mean
    found = {key: ends(laboratory.train(chosen | {"seed": seed})) for key, chosen in PRESETS.items()}
    for key, end in found.items():
        if key != "negative":
            assert end["frequency_plus"] > 14 > 5 > end["frequency_minus"] and min(end["minus"], end["plus"]) > 10
    for key in ("two", "signs", "negative"):
        assert 0.3 < found[key]["ipr_minus"] < 0.36
    for key in ("waves", "gaussian"):
        assert found[key]["ipr_minus"] < noise and found[key]["frequency_minus"] < 2
    assert found["heavy"]["ipr_minus"] < 0.9 * found["gaussian"]["ipr_minus"] and found["heavy"]["frequency_minus"] < 2
    assert found["signs"]["ipr_plus"] > found["two"]["ipr_plus"]
    assert found["negative"]["minus"] == 40
