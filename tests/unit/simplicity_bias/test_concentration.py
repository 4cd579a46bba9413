"""The rules on concentration, on planted deviations for which the answer is known."""

import numpy as np
import pytest
from planted.records import by, planted, table, verdicts

from experiments.simplicity_bias.concentration import cells, planar, rules
from shallow.stats import stream

SIZES = [100, 1000, 10_000, 100_000]


def drawn(level, count=100, spread=0.1, name=""):
    """Positive samples around a level."""
    return level * np.exp(spread * stream("planted", name, str(level)).standard_normal(count))


def falling(power, count=100, spread=0.1, factor=1.0):
    """Samples by n that fall like a power of it, or like the bound."""
    levels = [np.sqrt(np.log(n) / n) if power == "bound" else factor * n**power for n in SIZES]
    return np.array([drawn(level, count, spread) for level in levels])


def suprema(power, count=100, spread=0.1):
    """Deviations of both laws of the noise; those of infinite variance always fall like n^-0.3."""
    axes = {"freedom": [0, 1.5], "n": SIZES, "draw": range(count)}
    found = table(axes, deviation=[falling(power, count, spread), falling(-0.3)[:, :count]])
    return found, found.sel(n=[], freedom=0)


# faster than asked contradicts no upper bound
test_the_rate_of_theorem_1 = verdicts(
    rules.sb_06, suprema, reproduced=[-0.5, "bound"], contradicted=[-0.25], undecided=[(-0.425, 5, 0.5), -0.65]
)


def in_dimensions(power_of_d, power_of_n=-0.5, off=0.0):
    """Twenty samples of both teachers by dimension and number of points, as in the three records."""
    axes = {"kind": ["linear", "relu"], "d": [2, 5, 10, 20], "n": [1000, 10_000, 100_000]}
    levels = [
        [[drawn(d**power_of_d * n**power_of_n, 20, name=f"{kind}{d}{n}") for n in axes["n"]] for d in axes["d"]]
        for kind in axes["kind"]
    ]
    samples = table(axes | {"seed": range(20)}, deviation=levels)
    return samples.isel(seed=slice(5)), samples.isel(seed=slice(5, None)), samples.sel(kind="linear"), off


test_dimension_labels_and_samples = verdicts(
    rules.sb_07, in_dimensions, rrr=[0.5, (0.5, -0.6)], ccr=[(2.0, -0.5, 1e-3)], rrc=[(0.5, -0.3)]
)


def linear_model(power, moment, spread):
    """Deviations like a power of d, and second moments over their formula."""
    axes = {"d": [2, 20], "n": [1000, 10_000], "seed": range(100)}
    samples = [[drawn(d**power * n**-0.5, name=f"{d}{n}") for n in axes["n"]] for d in axes["d"]]
    blocks = moment + spread * np.resize([-1, 1], 20)  # a mean with an interval of about half the spread
    moments = planted("simplicity_bias/concentration/second_moments", {"d": [2]}, ratio=blocks)
    return table(axes, deviation=samples), moments


test_order_in_the_linear_model = verdicts(
    rules.sb_54,
    linear_model,
    reproduced=[(0.5, 1, 0.002)],
    contradicted=[(2.0, 1, 0.002), (0.5, 1.05, 0.02)],
    undecided=[(0.5, 1, 0.04)],
)


def proof(ratio=1.0, patterns=0, operator=0.9, scaled=1.0):
    """Quantities of the proof in 500 samples, all as they should be for the defaults."""
    signed = np.exp(0.1 * stream("planted signs").standard_normal((1, 2, 10, 50)))
    columns = {"process": ratio * signed, "signed": signed, "scaled": scaled, "operator": operator, "frobenius": 0.9}
    columns["patterns"] = by(n={n: planar.cover(n, 2) + patterns for n in (5, 20)})
    return planted("simplicity_bias/concentration/links", {"d": [2], "n": [5, 20]}, **columns)


test_the_steps_of_the_proof = verdicts(
    rules.sb_47,
    proof,
    rrrr=[{}],
    crrr=[{"ratio": 2.5}],
    rcrr=[{"patterns": 1}],
    rrcr=[{"operator": 1.1}],
    rrrc=[{"scaled": 9}],
)


def at_the_rays(off):
    return planted("simplicity_bias/concentration/rays", arcs=1.0, sets=1.0 + off)


test_sets_at_the_rays = verdicts(rules.sb_48, at_the_rays, reproduced=[0.0], contradicted=[1e-4])


def tailed(scale=lambda n: 1.0, power=1.0):
    """n sup^2 / V with an exponential tail (power 1) or a heavier one, and Z_n that never exceeds its level."""
    axes = {"noise": ["Gaussian", "Student 5", "Student 2.5"], "n": [50, 100, 300, 1000, 3000]}
    squares = [
        [
            scale(n)
            * stream("planted tail", noise, n).exponential(1.0, (20, 1000)) ** power
            * (4 + 2 * cells.variance(noise))
            / n
            for n in axes["n"]
        ]
        for noise in axes["noise"]
    ]
    return planted(rules.TAILS, deviation=np.sqrt(squares), above=0)


test_the_tail_bound = verdicts(
    rules.sb_49, tailed, rr=[{}], cr=[{"scale": lambda n: (n / 100) ** 0.8}], rc=[{"power": 3.0}]
)
test_rarely_over_the_bound = verdicts(
    rules.sb_50,
    tailed,
    reproduced=[{"scale": lambda n: (n / 50) ** -0.1}],
    contradicted=[{"scale": lambda n: n / 50}],
    undecided=[{}, {"power": 3.0}],  # exactly 1/n, and a heavier tail
)


def extremes(distance, n, deviation=1e-3):
    """Largest distances (n, draw) of one teacher, all samples with the same deviation."""
    axes = {"kind": ["linear"], "n": n, "block": [0], "draw": range(distance.shape[1])}
    return table(axes, distance=distance[:, None], deviation=deviation)


test_extremal_vectors_come_close = verdicts(
    rules.sb_09,
    lambda *change: extremes(falling(*change), SIZES),
    reproduced=[(-0.5, 1000, 0.1, 2.0)],
    contradicted=[(-0.1, 1000, 0.1, 0.5)],
    undecided=[(-0.5, 100, 0.1, 2.0)],  # a hundred cannot show one per cent
)


def near_the_limits(distance, delta):
    one = extremes(np.full((1, 50), distance), [100])
    return one, (one,), {("linear", 0.3): delta}


test_the_constant_of_proposition_1 = verdicts(
    rules.sb_51,
    near_the_limits,
    reproduced=[(0.01, 1.0)],
    contradicted=[(0.4, 1.0), (0.01, 0.0)],
    undecided=[(0.01, 1e-9)],
)


def test_cells_return_what_the_rules_read():
    found = planar.extremes(0, 100, "relu", draws=3)
    assert (found.distance >= 0).all() and (found.deviation > 0).all() and set(found.dims) == {"draw"}
    assert (planar.rays(0, 20, "linear", draws=3).sets > 0).all()
    assert planar.links(0, 3, 10, draws=2).patterns == planar.cover(10, 3)
    assert planar.suprema(0, 100, draws=2).deviation.shape == (2,)
    assert planar.separation("linear", 0.1) == np.inf
    assert 0 < planar.separation("relu", 0.05, 2001) <= planar.separation("relu", 0.3, 2001)


@pytest.mark.parametrize("noise", ["Gaussian", "Student 5"])
def test_variance_of_the_noise(noise):
    draws = cells.disturbance(stream("variance of noise"), noise, 400_000)
    assert cells.variance(noise) == pytest.approx(draws.var(), rel=0.05)
