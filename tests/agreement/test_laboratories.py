"""What every laboratory does, in node: it offers what its presets use, refuses, tells of divergence, and is small."""

import importlib

import pytest
from in_node import in_node, node, trained

from experiments import CHAPTERS
from experiments.heavy_tails import laboratory as heavy
from experiments.hidden_structure import laboratory as hidden
from experiments.localization import laboratory as local
from experiments.simplicity_bias import laboratory as bias
from shallow.book import laboratories, paths
from shallow.train.run import log_spaced

BOOK = hidden.settings(dimension=7, depth=3, width=64, epochs=500)
LABORATORIES = [name for name in CHAPTERS if (paths.ROOT / "experiments" / name / "laboratory.py").exists()]
#: The options that a laboratory lists too.
OFFERED = {
    "heavy_tails": {"rate": heavy.RATES},
    "hidden_structure": {"first": (*hidden.FIRST,)},
    "localization": {"gain": local.GAINS, "width": local.WIDTHS, "rate": local.RATES, "positive": local.SHARES},
    "simplicity_bias": {"n": bias.POINTS, "scale": bias.SCALES[::-1]},
}


def presets(name: str) -> dict[str, dict]:
    found = importlib.import_module(f"experiments.{name}.laboratory").PRESETS
    return {key: chosen for key, *_, chosen in found}


@node
@pytest.mark.parametrize("name", [one for one in LABORATORIES if one != "cyclic_labels"])
def test_the_controls_offer_what_the_presets_use(name):
    body = f"""const {{ controls, refuse }} = ShallowLab.models.{name};
      return [Object.fromEntries(controls.map((one) => [one.name, one.options ?? null])), given.map(refuse)];"""
    chosen = presets(name).values()
    offered, refused = in_node(name, body, [*chosen])
    assert all(set(offered) == set(one) for one in chosen) and refused == [None] * len(chosen)
    assert {key: tuple(offered[key]) for key in OFFERED.get(name, {})} == OFFERED.get(name, {})
    numbers = {"seed"} if name != "heavy_tails" else {key for key, options in offered.items() if options is None}
    assert all(one[key] in offered[key] for one in chosen for key in set(offered) - numbers)


@node
@pytest.mark.parametrize(
    ("name", "chosen", "why"),
    [
        ("heavy_tails", heavy.settings(width=600), "a step takes too long"),
        ("hidden_structure", BOOK | {"networks": 10}, "This would take about "),
        ("hidden_structure", BOOK, None),
    ],
)
def test_what_takes_too_long_is_refused(name, chosen, why):
    (found,) = in_node(name, f"return given.map(ShallowLab.models.{name}.refuse);", [chosen])
    assert found is None if why is None else why in found


@node
@pytest.mark.parametrize("name", LABORATORIES)
def test_seconds_are_known_before_a_long_run(name):
    """Ten networks take long, and a hundred epochs; a model without training takes no time, others some."""
    chosen = presets(name)
    found = dict(zip(chosen, in_node(name, f"return given.map(ShallowLab.models.{name}.seconds);", [*chosen.values()])))
    untrained, long = {"before", "nothing"} & set(chosen), {"ten", "neighbours", "others", "eight"} & set(chosen)
    assert {key for key, seconds in found.items() if seconds == 0} == untrained and min(found.values()) >= 0
    assert {key for key, seconds in found.items() if seconds > 5} == long


@node
@pytest.mark.parametrize("name", LABORATORIES)
def test_everything_that_is_painted_and_chosen_has_words(name):
    body = f"""const {{ controls, panels }} = ShallowLab.models.{name}, title = ({{ title }}) => title;
      return [controls.filter(({{ help }}) => !help).map(({{ name }}) => name),
        panels.filter(({{ tells }}) => !tells).map(title),
        panels.filter(({{ draw, under, key }}) => (draw || under) && !key).map(title)];"""
    assert in_node(name, body) == [[], [], []]


@node
@pytest.mark.parametrize(
    ("name", "chosen", "least", "most"),
    [
        ("heavy_tails", heavy.settings(rate=1e200, student="softplus"), 2, 2),
        ("hidden_structure", hidden.settings(dimension=2, points=10, rate=1e308, epochs=10), 1, 10),
        ("simplicity_bias", bias.settings(rate=100.0, steps=1000), 1, 1000),
    ],
)
def test_a_rate_too_large_is_told(name, chosen, least, most):
    (page,) = trained(name, [chosen])
    assert least <= page["diverged"] <= most


#: Characters of a laboratory in its page; others may have as many as the largest.
SIZES = {"cyclic_labels": 200_000, "heavy_tails": 45_000, "hidden_structure": 120_000, "localization": 130_000}
SIZES |= {"simplicity_bias": 60_000}


@pytest.mark.parametrize("name", LABORATORIES)
def test_what_the_page_carries_is_small(name):
    carried = importlib.import_module(f"experiments.{name}.laboratory").recorded()
    assert [preset["key"] for preset in carried] == list(presets(name))
    assert len(laboratories.Laboratory(name, carried, "", False)._repr_html_()) < SIZES.get(name, 200_000)
    if name == "localization":
        assert len(carried[0]["run"]["values"]["loss"]) == len(log_spaced(1000, local.DECADE))
