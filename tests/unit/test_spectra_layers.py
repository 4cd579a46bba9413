"""A model's layers beside noise and four nulls: each explains what it was planted for, alone or with another cause."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

from shallow.book.layer_report import spectra
from shallow.spectra import Layer, esd, layers, marchenko_pastur, nulls, report, tails, weights

H, D = 300, 200
RNG = np.random.default_rng(11)
NOISE = RNG.standard_normal((H, D))
U, _, V = np.linalg.svd(NOISE, full_matrices=False)
#: Matrices whose low exponents have one cause each.
CAUSES = {
    "entries": RNG.standard_t(1.5, (H, D)),
    "columns": NOISE * np.exp(RNG.standard_normal(D)),
    "rows": NOISE * np.exp(RNG.standard_normal((H, 1))),
    "structure": (U * np.exp(1.5 * np.sort(RNG.standard_normal(D)))) @ V,
}


@pytest.fixture(scope="module")
def found() -> dict[str, Layer]:
    return {layer.name: layer for layer in report({"noise": NOISE} | CAUSES).layers}


def explained(layer: Layer, null: str) -> float:
    """The share of the distance from noise that a null has alone, or that is lost when the matrix is balanced."""
    share = (layer.hill_noise - getattr(layer, null)) / (layer.hill_noise - layer.hill)
    return 1 - share if null == "balanced" else share


def test_noise_is_within_its_scatter_and_what_was_planted_is_not(found):
    assert abs(found["noise"].hill_units) < 3 and abs(found["noise"].ks_units) < 3
    assert found["noise"].outliers == 0
    assert all(found[name].hill_units < -10 for name in CAUSES)


@pytest.mark.parametrize(
    ("cause", "high"),
    [
        ("entries", {"shuffled", "within_columns", "lengths", "balanced"}),
        ("columns", {"within_columns", "lengths", "balanced"}),
        ("rows", {"lengths", "balanced"}),
        ("structure", set()),
    ],
)
def test_nulls_explain_what_they_keep(found, cause, high):
    shares = {null: explained(found[cause], null) for null in ("shuffled", "within_columns", "lengths", "balanced")}
    assert {null for null, share in shares.items() if share > 0.7} == high


def test_of_two_causes_one_alone_has_most_of_the_distance_and_takes_little_of_it_away():
    """An exponent saturates: lengths over structure look weak to `balanced`, and `lengths` sees them."""
    W = CAUSES["structure"] * np.exp(0.6 * RNG.standard_normal((H, 1))) * np.exp(0.6 * RNG.standard_normal(D))
    (layer,) = report({"both": W}).layers
    assert explained(layer, "lengths") > 0.6 and explained(layer, "balanced") < 0.25


def test_a_layer_has_its_rank_among_the_draws_of_noise(found):
    """The exponent that chooses its cut scatters so much that no matrix is three units below, but many by rank."""
    assert (found["structure"].hill_below, found["structure"].ks_below) == (0, 0)
    assert found["structure"].ks_units > -3 > found["structure"].hill_units
    null = nulls.noise(H, D, tails.hill)
    assert found["noise"].hill_below == np.mean(null.draws < found["noise"].hill)
    assert len(null.draws) == 20 and null.draws.mean() == pytest.approx(null.mean)


def test_a_spike_is_one_outlier_and_does_not_depend_on_scale():
    spiked = NOISE + 0.3
    small, large = (report({"w": unit * spiked}).layers[0] for unit in (1e-3, 1e3))
    assert (small.outliers, large.outliers) == (1, 1)
    assert small.hill == pytest.approx(large.hill, rel=1e-9)
    assert small.frobenius == pytest.approx(1e-6 * large.frobenius)


def test_exponents_and_norms_are_those_of_the_eigenvalues(found):
    values = esd.eigenvalues(CAUSES["rows"])
    layer = found["rows"]
    assert layer.hill == pytest.approx(tails.hill(values), rel=1e-9)
    assert layer.ks == pytest.approx(tails.scan(values).alpha, rel=1e-9)
    assert layer.frobenius == pytest.approx(np.linalg.norm(CAUSES["rows"]))
    assert layer.spectral == pytest.approx(np.linalg.norm(CAUSES["rows"], 2))
    assert layer.stable_rank == pytest.approx(esd.stable_rank(values))


def test_slices_are_compared_with_as_many_matrices_of_noise():
    kernel = np.random.default_rng(3).standard_normal((48, 32, 3, 3))
    flat, slices = report({"conv": kernel}).layers
    assert (flat.h, flat.d, flat.matrices, slices.h, slices.d, slices.matrices) == (48, 288, 1, 48, 32, 9)
    assert slices.rank == 9 * 32 and max(abs(flat.hill_units), abs(slices.hill_units)) < 4
    alone = nulls.noise(48, 32)
    assert slices.hill_scatter < 0.6 * alone.scatter  # nine matrices scatter less than one


BROKEN = {
    "nan": (np.where(np.arange(D) == 3, np.nan, NOISE), "300 entries are NaN or infinite"),
    "zero": (0 * NOISE, "all zero"),
    "tiny": (NOISE[:6, :6], "too small"),
    "one row": (NOISE[:1].repeat(2, 0)[:1], "too small"),
    "low rank": (NOISE[:, :20] @ NOISE[:20], "rank 20 of 200"),
    "orthogonal": (U, "equal"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_not_as_usual_is_said_in_the_row(name):
    W, note = BROKEN[name]
    (layer,) = report({"w": W}).layers
    assert note in layer.notes
    assert np.isfinite(layer.hill) == (name == "low rank")


def test_other_arrays_are_left_out_with_a_reason():
    model = {"bias": np.zeros(4), "indices": np.ones((4, 4), int), "empty": np.ones((0, 3)), "w": NOISE[:20, :20]}
    whole = report(model)
    assert [layer.name for layer in whole.layers] == ["w"]
    assert whole.skipped == {"bias": "a vector", "indices": "numbers of type int64", "empty": "empty"}
    assert report(model, only="b*").skipped == {"bias": "a vector"} and not report(model, only="b*").layers


def test_the_state_of_an_optimiser_is_no_layer():
    model = {"optimizer": {"state": {"0": {"exp_avg": NOISE}}}, "model": {"optimus": NOISE[:20, :20]}}
    found = report(model)
    assert [layer.name for layer in found.layers] == ["model.optimus"]
    assert found.skipped == {"optimizer.state.0.exp_avg": "state of an optimiser"}


def test_threads_change_no_number():
    alone, together = (report({"noise": NOISE} | CAUSES, threads=threads) for threads in (1, 3))
    for one, other in zip(alone.layers, together.layers, strict=True):
        assert (one.name, one.notes) == (other.name, other.notes)
        assert one.hill == pytest.approx(other.hill, rel=1e-9) and one.shuffled == pytest.approx(other.shuffled)
    with pytest.raises(ValueError, match="^threads must"):
        report({}, threads=0)


def test_arrays_are_read_one_after_the_other():
    """A model need not fit into memory: nothing is read long before it is used."""
    read = []
    arrays = weights.Weights([str(k) for k in range(8)], lambda name: read.append(name) or NOISE[:30, :20])
    for count, (name, _, _) in enumerate(layers.each(arrays)):
        assert name == str(count) and len(read) <= count + 2


def test_files_hold_the_table_and_null_for_what_is_missing(tmp_path):
    whole = report({"w": NOISE, "zero": 0 * NOISE, "bias": np.zeros(3)})
    whole.to_csv(tmp_path / "a.csv")
    whole.to_json(tmp_path / "a.json")
    with open(tmp_path / "a.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    stored = json.loads((tmp_path / "a.json").read_text())
    assert float(rows[0]["hill"]) == whole.layers[0].hill == stored["layers"][0]["hill"]
    assert rows[1]["hill"] == "" and stored["layers"][1]["hill"] is None and rows[1]["notes"] == "all zero"
    assert stored["skipped"] == {"bias": "a vector"} and "eigenvalues" not in rows[0]
    assert len(whole.table().splitlines()) == 3


def test_the_command_writes_a_table_files_and_pictures(tmp_path):
    np.savez(tmp_path / "a.npz", noise=NOISE[:60, :40], zero=np.zeros((4, 4)), bias=np.zeros(3))
    options = [f"--{name}={tmp_path / file}" for name, file in (("csv", "a.csv"), ("json", "a.json"))]
    options += [f"--picture={tmp_path / 'a.png'}", f"--layers={tmp_path / 'each'}"]
    done = CliRunner().invoke(spectra, [str(tmp_path / "a.npz"), *options])
    assert done.exit_code == 0, done.output
    assert "60 x 40" in done.stdout and "all zero" in done.stdout
    assert {path.name for path in (tmp_path / "each").iterdir()} == {"noise.matrix.png", "zero.matrix.png"}
    assert all((tmp_path / f"a.{ending}").stat().st_size > 100 for ending in ("csv", "json", "png"))
    (tmp_path / "b.npz").write_bytes(b"nothing")
    refused = CliRunner().invoke(spectra, [str(tmp_path / "b.npz")])
    assert refused.exit_code == 1 and "model must" in refused.output


def test_noise_of_a_shape_is_the_law_for_large_sizes_and_not_for_small_ones():
    large, small = nulls.noise(600, 400), nulls.noise(205, 32, draws=100)
    assert float(large.mean) == pytest.approx(marchenko_pastur.MarchenkoPastur(600, 400).hill, abs=0.02)
    assert float(small.mean) - marchenko_pastur.MarchenkoPastur(205, 32).hill > 2 * float(small.scatter) / np.sqrt(100)
    drawn = [tails.hill(esd.eigenvalues(RNG.standard_normal((205, 32)))) for _ in range(200)]
    assert abs(np.mean(drawn) - small.mean) < 4 * small.scatter / np.sqrt(60)
    assert np.std(drawn) == pytest.approx(float(small.scatter), rel=0.3)


def test_noise_of_lengths_has_them_and_nothing_else():
    W = NOISE * np.exp(RNG.standard_normal((H, 1))) * np.exp(RNG.standard_normal(D)) + 2
    rows, columns = np.square(W).sum(axis=1), np.square(W).sum(axis=0)
    standard = nulls.lengths(W, np.random.default_rng(0)) / np.sqrt(np.outer(rows, columns) / rows.sum())
    assert standard == pytest.approx(np.random.default_rng(0).standard_normal((H, D)))
    W[4], W[:, 7] = 0, 0
    zeros = nulls.lengths(1e200 * W, np.random.default_rng(0))
    assert np.isfinite(zeros).all() and not zeros[4].any() and not zeros[:, 7].any()
    assert not nulls.lengths(0 * W, np.random.default_rng(0)).any()


def test_shuffled_and_balanced_matrices_keep_what_they_should():
    W = CAUSES["rows"] * np.exp(RNG.standard_normal(D))
    assert np.array_equal(np.sort(nulls.shuffled(W, np.random.default_rng(0)), axis=None), np.sort(W, axis=None))
    even = nulls.balanced(W)
    squares = np.square(even)
    assert squares.mean(axis=0) == pytest.approx(np.full(D, np.square(W).mean()), rel=1e-6)
    assert squares.mean(axis=1) == pytest.approx(np.full(H, np.square(W).mean()), rel=1e-6)
    ratio = np.log(even / W)
    assert np.allclose(ratio - ratio[:1] - ratio[:, :1] + ratio[0, 0], 0, atol=1e-9)  # rows times columns
    W[4], W[:, 7] = 0, 0
    assert np.isfinite(nulls.balanced(W)).all()


def test_resolved_eigenvalues_are_the_eigenvalues_and_zero_below_rounding():
    W = RNG.standard_normal((60, 60))
    assert esd.resolved(W) == pytest.approx(esd.eigenvalues(W), rel=1e-6)
    low = W[:, :5] @ W[:5]
    assert (esd.resolved(low) > 0).sum() == 5
