"""The laboratory of localised receptive fields in node against the library: samples, a hundred steps, whole runs."""

import numpy as np
import pytest
from in_node import apart, in_node, node, program, trained
from scipy import special

from experiments.localization import laboratory, networks
from experiments.localization.bumps import laws
from experiments.localization.populations import outputs
from experiments.localization.populations.cells import population
from shallow import receptive_fields
from shallow.book import records
from shallow.data import nlgp
from shallow.stats import stream
from shallow.train import online, vector_math
from shallow.train.whole_committee import Machine

PRESETS = {key: chosen for key, *_, chosen in laboratory.PRESETS}
BOTH = {"slow_tails": "Gaussian", "fast_tails": "Gaussian"}
OTHERS = [
    laboratory.settings(steps=100, batch="1000"),
    laboratory.settings(steps=100, batch="1000", slow_tails="heavy", fast_tails="heavy", gain=1, constant="-0.5"),
    laboratory.settings(steps=500, batch="40", width=8, rate=5, biases="from ±1/2", positive=0.25, seed=2**32 - 1),
    laboratory.settings(steps=500, batch="40", width=60, rate=10, gain=0.01, slow=1, fast=2, **BOTH),
    laboratory.settings(steps=500, batch="40", width=20, biases="held to signs", positive=0.75, slow=1.5, fast=0.5),
    laboratory.settings(steps=100, batch="1000", constant="trained", biases="held to signs", positive=1, gain=0.01),
    laboratory.settings(steps=500, batch="40", constant="trained", biases="from ±1/2", positive=0.9, width=20, rate=5),
]
#: Every pair of tails, at two gains.
NINE = [
    laboratory.settings(steps=100, batch="40", width=8, rate=4, slow_tails=slow, fast_tails=fast, gain=gain)
    for slow in laboratory.TAILS
    for fast in laboratory.TAILS
    for gain in (0.5, 3)
]
#: Differences of weights and biases in the first hundred steps and at the end; of numbers relative to their size.
FIRST, END, TOLERANCE = 1e-12, 1e-9, 1e-9


def pages(chosen: list[dict]) -> list[dict]:
    return trained("localization", chosen, each="run.weights()")


@pytest.fixture(scope="module")
def runs() -> list:
    """Settings, what node makes of them, and the library's run: the presets and the other settings."""
    chosen = [*PRESETS.values(), *OTHERS, *NINE]
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
    "changes",
    [{"seed": 1}, {"rate": 20.1}, {"gain": 3.1}, {"slow": 2.01}, {"fast_tails": "Gaussian"}, {"constant": "trained"}],
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
    lines = [*PRESETS].index("negative") - 2
    for _, page, run in [runs[0], *runs[lines : -len(NINE)], runs[-4]]:
        there = program(page)
        assert np.array_equal(there["W"], run.last.W[0]) and np.array_equal(there["b"], run.last.b[0])
        assert apart(there["values"], page["values"]) < TOLERANCE
        assert there.get("c") == there["values"]["c"][-1]


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
            assert end["frequency_plus"] > 14 > 5 > end["frequency_minus"] and min(end["minus"], end["plus"]) > 7
    for key in ("two", "constant", "negative"):
        assert 0.3 < found[key]["ipr_minus"] < 0.36
    for key in ("waves", "gaussian", "unmade"):
        assert found[key]["ipr_minus"] < noise and found[key]["frequency_minus"] < 2
    for key in ("standard_half", "bumps_without_light"):
        assert 1.8 * noise < found[key]["ipr_minus"] < 2.4 * noise
    both = laboratory.settings(gain=0.5, steps=4000, seed=seed, **BOTH)
    assert found["unmade"]["ipr_minus"] < 0.85 * ends(laboratory.train(both))["ipr_minus"]
    assert found["negative"]["minus"] == 40 and found["constant"]["minus"] > found["two"]["minus"]


NOTES = {key: note for key, _, _, note, _ in laboratory.PRESETS}


@pytest.mark.parametrize(
    ("key", "words"),
    [("gaussian", "ratio is {:.2f}, that"), ("standard_half", "is {:.2f} here"), ("unmade", "{:.2f} here")]
    + [("bumps_without_light", "{:.2f} here"), ("constant", "{minus} to {plus} here")],
)
def test_numbers_of_the_notes_are_those_of_the_runs(key, words):
    end = ends(laboratory.train(PRESETS[key]))
    assert words.format(end["ipr_minus"], **end) in NOTES[key]


@pytest.mark.parametrize(
    ("key", "pair", "words"),
    [
        ("standard_half", "light/light", "{:.2f} in the book's ten networks"),
        ("bumps_without_light", "Gaussian/heavy", "{:.2f} in the book's ten networks"),
        ("unmade", "Gaussian/light", "{:.2f} here and in the book's ten networks"),
    ],
)
def test_numbers_of_the_book_are_those_of_the_contest(key, pair, words):
    contest = records.load("localization/bumps/contest").isel(step=-1)
    assert words.format(float(contest.ipr.sel(pair=pair, gain=0.5, sign=-1).mean())) in NOTES[key]


def test_numbers_of_the_constant_are_those_of_the_book():
    trained = records.load("localization/populations/outputs").isel(step=-1).sel(output="constant", gain=3.0)
    minus = trained.sel(side="minus")
    said = f"{int(minus['count'].min())} to {int(minus['count'].max())} negative ones in the book's ten networks"
    (ratio,) = {f"all with bumps of the ratio {value:.2f}" for value in minus.ipr.values}
    assert said in NOTES["constant"] and ratio in NOTES["constant"]


@pytest.mark.parametrize(("constant", "least", "most"), [("trained", 36, 36), ("none", 15, 24)])
def test_a_share_of_the_populations_stays_where_there_is_a_constant(constant, least, most):
    for seed in range(3):
        chosen = laboratory.settings(biases="from ±1/2", positive=0.9, constant=constant, seed=seed)
        assert least <= ends(laboratory.train(chosen))["plus"] <= most


def test_the_classes_are_those_of_the_contest():
    for chosen in NINE:
        pair = f"{chosen['slow_tails']}/{chosen['fast_tails']}"
        assert laboratory.pair(chosen) == laws.pair(pair, chosen["gain"])


def test_a_trained_constant_is_the_book_s():
    """In float32, as the record of learned outputs; a hundred steps, before roundings grow."""
    run = laboratory.train(laboratory.settings(constant="trained", batch="1000"), steps=100)
    (book,) = outputs.trained(outputs.OUTPUTS["constant"], 0, 3.0, [100])
    assert np.abs(book.W - run.last.W[0]).max() < 1e-4 and np.abs(book.b - run.last.b[0]).max() < 1e-4
    assert abs(book.c - run.c[-1]) < 1e-5 < abs(book.c)


def test_losses_of_drawn_batches_are_those_of_training():
    """Without a constant, where training keeps them; the batches of 600 are drawn in unequal blocks."""
    chosen = laboratory.settings(batch="600", gain=1, fast_tails="heavy", slow_tails="Gaussian", width=8)
    network, _ = laboratory.start(chosen)
    classes, name = laboratory.pair(chosen), ("localization", "batches", 0)
    run = online.train(network, classes, rngs=[stream(*name)], rate=5, steps=20, batch=600, records=range(21))
    machines = [Machine(W, b, np.ones(8)) for W, b in zip(run.W[0][:-1], run.b[0][:-1], strict=True)]
    found = laboratory.batch_losses(machines, classes, stream(*name), 600)
    assert np.allclose(found, run.losses[0], rtol=1e-12, atol=0)
    assert np.abs(found[1:] - laboratory.batch_losses(machines[1:], classes, stream(*name), 600)).max() > 1e-3


@node
def test_biases_held_to_both_signs_beside_a_trained_constant_are_refused():
    chosen = laboratory.settings(biases="held to signs", constant="trained")
    one_sign, alone = chosen | {"positive": 1}, chosen | {"constant": "0.5"}
    equal = laboratory.settings(fast=2)
    refuse = "return given.map(ShallowLab.models.localization.refuse);"
    given = [chosen, one_sign, alone, equal, equal | {"fast_tails": "heavy"}]
    both, *others = in_node("localization", refuse, given)
    assert "one sign" in both and others == [None, None, "The classes are equal: there is nothing to learn.", None]
    with pytest.raises(ValueError, match="positive must be 0 or 1"):
        laboratory.train(chosen)
