"""The rules on mean-field scaling, on planted runs for which the answer is known, and on such that break one part."""

import numpy as np
import pytest
import xarray as xr

from experiments.heavy_tails.rules import mean_field
from shallow import stats
from shallow.spectra.marchenko_pastur import MarchenkoPastur

SIZES, SEEDS = [1000, 2000, 4000], 5
NOISE = MarchenkoPastur(1500, 1000).quantile((np.arange(150) + 0.5) / 150)[::-1]
WIDE = NOISE * np.exp(np.linspace(3, 0, 150))


def jitter(*shape, size=1e-3):
    """Factors near one, the same at every call."""
    return 1 + size * stats.stream("planted", "mean-field", *shape).standard_normal(shape)


def updates(edge=1.0, frobenius=1.0, spectral=0.36, spike=2.0, power=0.5):
    """Planted norms of first updates, and spikes of GD: factors of W0's edge, of Adam's norms, and powers of h."""
    n = np.array(SIZES)
    h, d = 3 * n / 4, n / 2
    start = np.stack([edge * (1 + (h / d) ** 0.5), h**0.5], -1)
    adam = start * np.stack([spectral * (h * d) ** 0.5, frobenius * d**0.5], -1)
    direction = np.stack([adam / 1e3, adam, 3 * adam], 1)
    ratio = np.broadcast_to(np.array([spike, 1.01])[None, None], (len(n), SEEDS, 2))
    noise = jitter(len(n), SEEDS)
    return xr.Dataset(
        {
            "start": (("n", "seed", "norm"), start[:, None] * noise[..., None]),
            "direction": (("n", "seed", "rule", "norm"), direction[:, None] * noise[..., None, None]),
            "ratio": (("n", "seed", "reading"), ratio * noise[..., None]),
            "second": (("n", "seed", "reading"), 1.01 * noise[..., None] * np.ones(2)),
            "threshold": (("n", "seed"), (h**power)[:, None] * noise),
        },
        {
            "n": n, "seed": range(SEEDS), "norm": ["spectral", "Frobenius"], "reading": ["code", "text"],
            "rule": ["GD code", "Adam code", "Adam text"],
        },
    )  # fmt: skip


def test_corollary_with_constant_ratios():
    outcome = mean_field.ht_43(updates())
    assert outcome.verdict == "reproduced" and "all is the same" in outcome.finding


@pytest.mark.parametrize(
    ("change", "part"),
    [({"edge": 1.1}, "a"), ({"frobenius": np.array([1, 1, 0.8])}, "b"), ({"spectral": np.array([0.3, 0.4, 0.5])}, "c")],
)
def test_corollary_with_other_norms(change, part):
    outcome = mean_field.ht_43(updates(**change))
    assert outcome.parts[part] == "contradicted" and outcome.verdict == "partly"


@pytest.mark.parametrize(
    ("change", "verdict"),
    [({}, "reproduced"), ({"spike": 1.01}, "contradicted"), ({"power": 1.5}, "contradicted"),
     ({"power": 1.1}, "undecided")],
)  # fmt: skip
def test_rates_of_order_h(change, verdict):
    outcome = mean_field.ht_46(updates(**change))
    assert outcome.verdict == verdict
    assert outcome.evidence["power of h"].estimate == pytest.approx(change.get("power", 0.5), abs=1e-2)


def spiked(bulk, spike):
    """A bulk whose largest eigenvalue is so many times the second."""
    return np.concatenate([[spike * bulk[1]], bulk[1:]])


def spectra(gd=2.0, quiet=1.01, loud=WIDE, twin=3.0, far=100.0):
    """Planted spectra: gaps of GD at 100, of Adam at its smallest rate, bulk at 0.04, gaps of both scalings."""
    noise = jitter(SEEDS, size=1e-4)

    def runs(dims, values, **coordinates):
        data = np.array(values)[..., None, :, :] * noise[:, None, None]
        return xr.DataArray(data, coordinates | {"seed": range(SEEDS)}, [*dims, "seed", "step", "k"])

    still, out = spiked(NOISE, 1.01), spiked(NOISE, 100.0)
    of_gd = [[still, spiked(NOISE, gap)] for gap in (1.01, 1.01, gd, 100.0)]
    of_adam = [[still, spiked(NOISE, quiet), spiked(NOISE, quiet)], [still, out, spiked(loud, 100.0)]]
    both = [
        [[still, still, still], *([still, spiked(NOISE, gap), spiked(WIDE, gap)] for _ in range(3))]
        for gap in (twin, far)
    ]
    steps = {"step": [0, 1, 10]}
    found = {}
    for reading in ("code", "text"):
        found[f"GD {reading}"] = runs(["rate"], of_gd, rate=[0.1, 1.0, 100.0, 2000.0], step=[0, 1])
        found[f"Adam {reading}"] = runs(["rate"], of_adam, rate=[0.00005, 0.04], **steps)
        twins = runs(["scaling", "rate"], both, scaling=["ntk", "mean-field"], rate=mean_field.TWINS, **steps)
        found[f"twins {reading}"] = twins
    return found


@pytest.mark.parametrize(
    ("change", "failing", "answer"),
    [
        ({}, "", "unlike in NTK scaling"),
        ({"far": 4.0}, "", "as predicted."),
        ({"gd": 1.01}, "a", "In part"),
        ({"quiet": 1.5}, "b c", "In part"),
        ({"loud": NOISE}, "c", "In part"),
        ({"far": 1.01}, "d", "In part"),
    ],
)
def test_spectra_in_mean_field_scaling(change, failing, answer):
    outcome = mean_field.ht_44(spectra(**change))
    assert " ".join(name for name, verdict in outcome.parts.items() if verdict == "contradicted") == failing
    assert answer in outcome.answer and "all is the same" in outcome.finding


@pytest.mark.parametrize(
    ("gains", "verdict", "answer"),
    [((0.05, 0.06), "reproduced", "Yes"), ((0.05, -0.06), "partly", "In part"), ((-0.1, -0.1), "contradicted", "No")],
)
def test_one_step_against_the_initial_features(gains, verdict, answer):
    students = ["untrained", "GD code", "Adam code", "GD text", "Adam text"]
    level = 1 - np.array([0, *gains, *gains])[None, :, None, None] + np.array([0.2, 0])
    test = level * jitter(SEEDS, 1, 1, 1) * np.ones((SEEDS, 5, 2, 2))
    found = xr.Dataset(
        {"test": (("seed", "student", "features", "penalty"), test), "ideal": ("seed", 0.5 * jitter(SEEDS))},
        {"seed": range(SEEDS), "student": students, "features": ["code", "text"], "penalty": [0.1, 1.0]},
    )
    outcome = mean_field.ht_47(found)
    assert outcome.verdict == verdict and outcome.answer.startswith(answer)
