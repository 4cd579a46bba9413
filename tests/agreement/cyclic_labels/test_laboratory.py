"""The laboratory's scripts in node against the library: streams, samples, losses and weights to the last bit."""

import json
import re

import matplotlib
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from in_node import in_node, node, program, trained

from experiments.cyclic_labels import drawing, laboratory
from experiments.cyclic_labels.bumps import cells as bumps
from shallow.book import laboratories
from shallow.data import cyclic
from shallow.nets import TwoLayer
from shallow.train import univariate

matplotlib.use("agg")

PRESETS = {key: chosen for key, *_, chosen in laboratory.PRESETS}


def anywhere(rng: np.random.Generator) -> laboratory.Settings:
    """Settings from everywhere in the laboratory's ranges."""
    counts = tuple(int(count) for count in rng.integers(0, 21, 6))
    return laboratory.settings(
        counts if any(counts) else (1, 0, 0, 0, 0, 0),
        step=float(rng.choice([0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1])),
        loss=str(rng.choice(["sum", "mean"])),
        width=int(rng.choice([32, 64, 128, 256, 512, 1024])),
        initial=str(rng.choice(list(laboratory.INITIAL))),
        seed=int(rng.integers(0, 2**32)),
    )


# Beyond the random ones: a single point, the most of everything, and a step, not offered, with which training diverges.
OTHERS = [
    laboratory.settings((0, 0, 0, 0, 0, 1)),
    laboratory.settings((20, 20, 20, 20, 20, 20), step=0.1, width=1024),
    laboratory.settings((2, 0, 0, 2, 0, 1), step=1e200),
    laboratory.settings((8, 8, 8, 8, 8, 8), moved="3:0.25,40:-0.4"),
]
ANYWHERE = [anywhere(rng) for rng in [np.random.default_rng(0)] for _ in range(50)]


@pytest.fixture(scope="module")
def runs() -> list:
    """Settings and what node makes of them, in the order presets, others, anywhere."""
    chosen = [*PRESETS.values(), *OTHERS, *ANYWHERE]
    return list(zip(chosen, trained("cyclic_labels", chosen), strict=True))


def bits(network: TwoLayer) -> bytes:
    return b"".join(group.tobytes() for group in (network.W[:, 0], network.b, network.v))


def slow_bump(curves: dict, step: float) -> dict | None:
    """The bump by the chapter's definition, in steps, in the form of the page's script; from 500 epochs' time on."""
    data = {f"{name}_loss": (("seed", "epoch"), np.array([curves[name]])) for name in ("train", "test")}
    data["cluster_loss"] = (("seed", "epoch", "cluster"), np.zeros((1, len(curves["test"]), 6)))
    steps = np.arange(len(curves["test"])) * bumps.INTERVAL
    start = max(1, int(bumps.START * bumps.STEP / step / bumps.INTERVAL + 0.5)) * bumps.INTERVAL
    found = bumps.slow(xr.Dataset(data, {"seed": [0], "epoch": steps}), start=start).isel(seed=0)
    if not found.bump:
        return None
    return {name: found[name].item() for name in ("low", "peak", "diverging", "recovers")} | {
        "height": found["rise"].item()
    }


@node
def test_every_run_is_the_library_s_to_the_last_bit(runs):
    for chosen, page in runs:
        try:
            sample, run = laboratory.train(chosen)
        except univariate.Diverged as failure:
            assert page["diverged"] == failure.epoch
            continue
        wanted = {"x": sample.x, "y": sample.y, "f": run.predictions[-1], "outputs": run.outputs[-1]}
        for name, value in (wanted | laboratory.losses(chosen, run)).items():
            assert np.array_equal((page["arrays"] | page["values"])[name], value), (name, chosen)
        assert b"".join(page["weights"]) == bits(run.network) and page["diverged"] is None
    assert [chosen["step"] for chosen, page in runs if page["diverged"] is not None] == [1e200]
    assert any(page["values"]["train"][-1] == 0 for _, page in runs)


@node
def test_the_bump_is_that_of_the_chapter_s_definition(runs):
    finite = [(page["values"], chosen) for chosen, page in runs if page["diverged"] is None]
    bump = "return given.map(([values, settings]) => ShallowLab.models.cyclic_labels.bump(values, settings));"
    found = in_node("cyclic_labels", bump, finite)
    assert found == [slow_bump(curves, chosen["step"]) for curves, chosen in finite]
    assert 10 < sum(bump is not None for bump in found) < len(finite)


@node
def test_the_lines_shown_as_python_give_the_same_bits(runs):
    """Those of the presets and of a few others; they are a whole program."""
    for _, page in [run for run in runs if run[1]["diverged"] is None][:12]:
        there = program(page)
        assert all(there[f"{name}_loss"].tolist() == curve for name, curve in page["values"].items())
        assert bits(there["run"].network) == b"".join(page["weights"])


@node
def test_streams_are_numpy_s():
    seeds = [[0], [7, 50, 3], [7, 50, 2**32 - 1], [2**32], [1, 2, 3, 4, 5, 6], [2**53 - 1, 0, 12]]
    body = "return given.map((seeds) => [...ShallowLab.streams().generator(seeds).uniform(-0.5, 2, 1000)]);"
    for given_seeds, drawn in zip(seeds, in_node("cyclic_labels", body, seeds), strict=True):
        assert np.array_equal(np.random.default_rng(given_seeds).uniform(-0.5, 2, 1000), drawn)


def test_what_is_computed_uses_nothing_that_rounds_in_its_own_way():
    source = re.split(
        r"ShallowLab\.models",
        (laboratories.STATIC / "lab" / "cyclic_labels.js").read_text(encoding="utf-8").split("*/")[1],
    )[0]
    used = set(re.findall(r"\bMath\.(\w+)", source))
    assert used <= {"abs", "ceil", "floor", "max", "min", "sqrt"} and "**" not in source


@pytest.mark.parametrize("design", ["strat", "poor(5,1)", "poor(2,3)", "poor(0,0)", "two_rightmost"])
def test_counts_of_a_design_give_its_sample(design):
    for seed in range(5):
        wanted = cyclic.sample(50, base=7, seed=seed, design=design)
        counts = np.bincount(cyclic.clusters(wanted.x), minlength=6)
        found = cyclic.from_counts(counts, base=7, seed=seed)
        assert np.array_equal(found.x, wanted.x) and np.array_equal(found.y, wanted.y)
        assert found.rng.uniform() == wanted.rng.uniform()


@given(st.lists(st.integers(0, 20), min_size=3, max_size=3), st.lists(st.integers(0, 20), min_size=3, max_size=3))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_every_cluster_gets_its_points(left, right):
    counts = [*left, *right]
    if any(counts):
        sample = cyclic.from_counts(counts)
        assert np.bincount(cyclic.clusters(sample.x), minlength=6).tolist() == counts


@pytest.mark.parametrize("counts", [[], [0, 0], [1, 2, 3], [1, -1], [0.5, 2]])
def test_counts_that_are_none_are_refused(counts):
    with pytest.raises(ValueError, match="counts must"):
        cyclic.from_counts(counts)


def test_the_seed_is_that_of_the_highest_bump():
    curves = []
    for seed in range(10):
        chosen = PRESETS["poor"] | {"seed": seed}
        found = laboratory.losses(chosen, laboratory.train(chosen)[1])
        curves.append(slow_bump(found, chosen["step"]) or {"recovers": False, "height": 0.0})
    assert max(range(10), key=lambda seed: curves[seed]["recovers"] * curves[seed]["height"]) == laboratory.SEED


def test_what_the_page_carries_is_exact_and_cannot_end_early():
    presets = laboratory.recorded()
    lab = laboratories.show("cyclic_labels", presets, picture=drawing.first_preset(), alt="A <plot>.", inline=False)
    assert repr(lab) == "Laboratory(cyclic_labels: poor, balanced, small_step, mean, antisymmetric)"
    page = lab._repr_html_()
    data = re.search(r'<script type="application/json">(.*?)</script>', page)[1]
    assert json.loads(data) == {"name": "cyclic_labels", "presets": json.loads(json.dumps(presets))}
    assert 'alt="A &lt;plot&gt;."' in page and page.count("<script") == 1 and len(page) < 200_000
    hostile = laboratories.Laboratory("x", [{"key": "</script>"}], "", False)
    assert hostile._repr_html_().count("</script>") == 1


def test_scripts_stand_in_the_output_unless_a_page_is_built(monkeypatch, tmp_path):
    presets, shown = [{"key": "a"}], []
    for strict in ("0", "1"):
        monkeypatch.setenv("SHALLOW_STRICT", strict)
        shown.append(laboratories.show("cyclic_labels", presets, picture=drawing.first_preset(), alt="A plot."))
    assert [lab.inline for lab in shown] == [True, False]
    monkeypatch.setattr(laboratories, "STATIC", tmp_path)
    assert "make book" in shown[0]._repr_html_()
    for name in (*laboratories.STYLES, *laboratories.scripts("cyclic_labels")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"/* {name} */", encoding="utf-8")
    assert re.findall(r"<script>/\* (\S+) \*/", shown[0]._repr_html_()) == [*laboratories.scripts("cyclic_labels")]
