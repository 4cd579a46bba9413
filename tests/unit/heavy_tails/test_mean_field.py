"""The rules on mean-field scaling, on planted runs for which the answer is known, and on such that break one part."""

import numpy as np
import pytest
from planted.records import by, planted, scatter, verdicts

from experiments.heavy_tails.one_step import rules_mean_field as mean_field
from shallow import stats
from shallow.spectra.marchenko_pastur import MarchenkoPastur

ROOM = "heavy_tails/variants/"
NOISE = MarchenkoPastur(1500, 1000).quantile((np.arange(150) + 0.5) / 150)[::-1]
WIDE = NOISE * np.exp(np.linspace(3, 0, 150))


def jitter(*shape, size=1e-3):
    """Factors near one, the same at every call."""
    return 1 + size * stats.stream("planted", "mean-field", *shape).standard_normal(shape)


def updates(edge=1.0, frobenius=1.0, spectral=0.36, spike=2.0, power=0.5):
    """Norms of first updates, and spikes of GD: factors of W0's edge, of Adam's norms, and powers of h."""
    n = np.array([1000, 2000, 4000])
    h, d, noise = 3 * n / 4, n / 2, jitter(3, 3, size=3e-4)[..., None]
    start = np.stack([edge * (1 + (h / d) ** 0.5), h**0.5], -1)[:, None]
    adam = start[:, 0] * np.stack([spectral * (h * d) ** 0.5, frobenius * d**0.5], -1)
    direction = np.stack([adam / 1e3, adam, 3 * adam], 1)[:, None] * noise[..., None]
    of_gd = {"ratio": [spike, 1.01] * noise, "second": 1.01 * noise, "threshold": (h**power)[:, None] * noise[..., 0]}
    return planted(f"{ROOM}mean_field_sizes", {"n": n}, start=start * noise, direction=direction, **of_gd)


@pytest.mark.parametrize(
    ("change", "failing"),
    [
        ({}, ""),
        ({"edge": 1.1}, "a"),
        ({"frobenius": np.array([1, 1, 0.8])}, "b"),
        ({"spectral": np.array([0.3, 0.4, 0.5])}, "c"),
    ],
)
def test_corollary_holds_with_constant_ratios(change, failing):
    outcome = mean_field.ht_43((updates(**change),))
    assert outcome.verdict == ("partly" if failing else "reproduced")
    assert [outcome.parts[name] == "contradicted" for name in "abc"] == [name == failing for name in "abc"]
    assert [name for name in "abc" if outcome.numbers[f"text, {name}"] != "holds"] == list(failing)


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "reproduced"),
        ({"spike": 1.01}, "contradicted"),
        ({"power": 1.5}, "contradicted"),
        ({"power": 1.1}, "undecided"),
    ],
)
def test_rates_of_order_h(change, verdict):
    outcome = mean_field.ht_46((updates(**change),))
    assert outcome.verdict == verdict
    assert outcome.numbers["power of h"].estimate == pytest.approx(change.get("power", 0.5), abs=1e-2)


def spiked(bulk, spike):
    """A bulk whose largest eigenvalue is so many times the second."""
    return np.concatenate([[spike * bulk[1]], bulk[1:]])


def spectra(gd=2.0, quiet=1.01, loud=WIDE, twin=3.0, far=100.0):
    """Spectra of GD, of Adam, and of Adam in both scalings, the same in both readings.

    Given are the gaps of GD at 100 and of Adam at its smallest rate, the bulk at 0.04, the gaps of both scalings.
    """

    def runs(name, values, **places):
        values = np.array(values)[..., None, :, :] * jitter(3, size=1e-4)[:, None, None]
        return planted(ROOM + name, places | {"k": slice(150)}, eigenvalues=values)

    still, out = spiked(NOISE, 1.01), spiked(NOISE, 100.0)
    of_gd = [[still, spiked(NOISE, gap)] for gap in (1.01, 1.01, gd, 100.0)]
    of_adam = [[still, spiked(NOISE, quiet), spiked(NOISE, quiet)], [still, out, spiked(loud, 100.0)]]
    both = [[[still] * 3, *[[still, spiked(NOISE, gap), spiked(WIDE, gap)]] * 3] for gap in (twin, far)]
    adam = runs("mean_field", of_adam, rate=[0.00005, 0.04])
    return (runs("mean_field_gd", of_gd),), adam, [runs("two_scalings", both)] * 2


@pytest.mark.parametrize(
    ("change", "failing"),
    [
        ({}, ""),
        ({"far": 4.0}, ""),
        ({"gd": 1.01}, "a"),
        ({"quiet": 1.5}, "b c"),
        ({"loud": NOISE}, "c"),
        ({"far": 1.01}, "d"),
    ],
)
def test_spectra_in_mean_field_scaling(change, failing):
    outcome = mean_field.ht_44(*spectra(**change))
    assert " ".join(name for name, verdict in outcome.parts.items() if verdict == "contradicted") == failing
    assert [name for name in "abcd" if outcome.numbers[f"text, {name}"] == "fails"] == failing.split()


def readouts(*gains):
    """Losses of GD and Adam that are lower than those of the initial features by gains, at two penalties."""
    name, rules = f"{ROOM}mean_field_readouts", ("GD code", "GD text", "Adam code", "Adam text")
    level = 1 - by(student={"untrained": 0.0} | dict(zip(rules, np.repeat(gains, 2))))
    noise = 1 + scatter(name, "ideal", 1e-3)
    test = (level + by(penalty={0.1: 0.2, 1.0: 0.0})) * noise
    return planted(name, {"penalty": [0.1, 1.0]}, test=test, ideal=0.5 * noise)


test_one_step_against_the_initial_features = verdicts(
    mean_field.ht_47, readouts, rr=[(0.05, 0.06)], rc=[(0.05, -0.06)], cc=[(-0.1, -0.1)]
)


def test_the_text_is_told_beside_the_code():
    numbers = mean_field.ht_47(readouts((0.05, -0.06))).numbers
    assert (numbers["text, GD"], numbers["text, Adam"]) == ("holds", "fails")
