"""The rules on concentration, on planted deviations for which the answer is known."""

import numpy as np
import pytest
import xarray as xr

from experiments.simplicity_bias import planar
from experiments.simplicity_bias.rules import concentration as rules
from shallow.stats import Interval, stream

SIZES = (100, 1000, 10_000, 100_000)


def drawn(level, count=100, spread=0.1, name=""):
    """Positive samples around a level."""
    return level * np.exp(spread * stream("planted", name, str(level)).standard_normal(count))


def falling(power, sizes=SIZES, factor=1.0):
    return {n: drawn(factor * n**power) for n in sizes}


def as_bound(sizes=SIZES):
    """Samples that fall exactly like the bound."""
    return {n: drawn(np.sqrt(np.log(n) / n)) for n in sizes}


@pytest.mark.parametrize(
    ("samples", "verdict"),
    [
        (falling(-0.5), "reproduced"),
        (as_bound(), "reproduced"),
        (falling(-0.25), "contradicted"),
        ({n: drawn(n**-0.425, 5, 0.5) for n in SIZES}, "undecided"),
        (falling(-0.65), "undecided"),  # faster than asked contradicts no upper bound
    ],
)
def test_the_rate_of_theorem_1(samples, verdict):
    assert rules.sb_06(samples, falling(-0.3)).verdict == verdict


def in_dimensions(power_of_d, power_of_n=-0.5):
    return {
        (kind, d, n): drawn(d**power_of_d * n**power_of_n, 20, name=f"{kind}{d}{n}")
        for kind in ("linear", "relu") for d in (2, 5, 10, 20) for n in (1000, 10_000, 100_000)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("samples", "off", "parts"),
    [
        (in_dimensions(0.5), 0, "reproduced reproduced reproduced"),
        (in_dimensions(0.5, -0.6), 0, "reproduced reproduced reproduced"),
        (in_dimensions(2.0), 1e-3, "contradicted contradicted reproduced"),
        (in_dimensions(0.5, -0.3), 0, "reproduced reproduced contradicted"),
    ],
)
def test_dimension_labels_and_samples(samples, off, parts):
    assert list(rules.sb_07(samples, off).parts.values()) == parts.split()


@pytest.mark.parametrize(
    ("power", "moment", "verdict"),
    [
        (0.5, Interval(1, 0.999, 1.001), "reproduced"),
        (2.0, Interval(1, 0.999, 1.001), "contradicted"),
        (0.5, Interval(1.05, 1.04, 1.06), "contradicted"),
        (0.5, Interval(1, 0.98, 1.02), "undecided"),
    ],
)
def test_order_in_the_linear_model(power, moment, verdict):
    samples = {(d, n): drawn(d**power * n**-0.5, name=f"{d}{n}") for d in (2, 20) for n in (1000, 10_000)}
    assert rules.sb_54(samples, {2: moment}).verdict == verdict


def proof(ratio=1.0, patterns=0, operator=0.9, scaled=1.0):
    """Quantities of the proof in 500 samples, all as they should be for the defaults."""
    shape, coords = (1, 2, 10, 50), {"d": [2], "n": [5, 20]}
    dims = ["d", "n", "block", "draw"]
    signed = np.exp(0.1 * stream("planted signs").standard_normal(shape))
    counts = np.array([planar.cover(n, 2) for n in (5, 20)], float)[None, :, None] + np.full((1, 2, 10), patterns)
    return xr.Dataset(
        {
            "process": (dims, ratio * signed), "signed": (dims, signed), "scaled": (dims, np.full(shape, scaled)),
            "patterns": (dims[:3], counts), "operator": (dims[:3], np.full((1, 2, 10), operator)),
            "frobenius": (dims[:3], np.full((1, 2, 10), 0.9)),
        },
        coords,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "wrong"),
    [
        (proof(), ""),
        (proof(ratio=2.5), "a"),
        (proof(patterns=1), "b"),
        (proof(operator=1.1), "c"),
        (proof(scaled=9), "d"),
    ],
)
def test_the_steps_of_the_proof(found, wrong):
    parts = rules.sb_47(found).parts
    assert parts == {name: "contradicted" if name == wrong else "reproduced" for name in "abcd"}


@pytest.mark.parametrize(("excess", "verdict"), [(0.0, "reproduced"), (1e-4, "contradicted")])
def test_sets_at_the_rays(excess, verdict):
    arcs = np.ones((3, 2, 5))
    found = xr.Dataset(
        {"arcs": (("kind", "n", "draw"), arcs), "sets": (("kind", "n", "draw"), arcs + excess)},
        {"kind": ["linear", "relu", "mirrored"]},
    )
    assert rules.sb_48(found).verdict == verdict


def tailed(scale=lambda n: 1.0, power=1.0, sizes=(50, 100, 300, 1000, 3000)):
    """n sup^2 / V with an exponential tail (power 1) or a heavier one, and Z_n that never exceeds its level."""
    found = {}
    for noise in ("Gaussian", "Student 5", "Student 2.5"):
        for n in sizes:
            values = stream("planted tail", noise, n).exponential(1.0, (20, 1000)) ** power
            found[noise, n] = scale(n) * values, np.zeros((20, 1000), bool)
    return found


@pytest.mark.parametrize(
    ("samples", "parts"),
    [
        (tailed(), ["reproduced", "reproduced"]),
        (tailed(lambda n: (n / 100) ** 0.8), ["contradicted", "reproduced"]),
        (tailed(power=3.0), ["reproduced", "contradicted"]),
    ],
)
def test_the_tail_bound(samples, parts):
    assert list(rules.sb_49(samples).parts.values()) == parts


@pytest.mark.parametrize(
    ("samples", "verdict"),
    [
        (tailed(lambda n: (n / 50) ** -0.1), "reproduced"),
        (tailed(lambda n: n / 50), "contradicted"),
        (tailed(), "undecided"),  # exactly 1/n
        (tailed(power=3.0), "undecided"),
    ],
)
def test_rarely_over_the_bound(samples, verdict):
    assert rules.sb_50(samples).verdict == verdict


@pytest.mark.parametrize(
    ("samples", "verdict"),
    [
        ({n: drawn(2 * n**-0.5, 1000) for n in SIZES}, "reproduced"),
        ({n: drawn(0.5 * n**-0.1, 1000) for n in SIZES}, "contradicted"),
        ({n: drawn(2 * n**-0.5, 100) for n in SIZES}, "undecided"),  # a hundred cannot show one per cent
    ],
)
def test_extremal_vectors_come_close(samples, verdict):
    assert rules.sb_09(samples).verdict == verdict


@pytest.mark.parametrize(
    ("distance", "delta", "verdict"),
    [(0.01, 1.0, "reproduced"), (0.4, 1.0, "contradicted"), (0.01, 1e-9, "undecided"), (0.01, 0.0, "contradicted")],
)
def test_the_constant_of_proposition_1(distance, delta, verdict):
    one = xr.Dataset({"distance": ("sample", np.full(50, distance)), "deviation": ("sample", np.full(50, 1e-3))})
    assert rules.sb_51({"linear": {100: one}}, {("linear", 0.3): delta}).verdict == verdict


def test_cells_return_what_the_rules_read():
    found = planar.extremes(0, 100, "relu", draws=3)
    assert (found.distance >= 0).all() and (found.deviation > 0).all() and set(found.dims) == {"draw"}
    assert (planar.rays(0, 20, "linear", draws=3).sets > 0).all()
    assert planar.links(0, 3, 10, draws=2).patterns == planar.cover(10, 3)
    assert planar.suprema(0, 100, draws=2).deviation.shape == (2,)
    assert planar.separation("linear", 0.1) == np.inf
    assert 0 < planar.separation("relu", 0.05, 2001) <= planar.separation("relu", 0.3, 2001)
