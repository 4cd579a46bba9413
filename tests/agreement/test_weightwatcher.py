"""The report of a model's layers beside the numbers of WeightWatcher and powerlaw for the same matrices.

The values were computed by WeightWatcher 0.7.7, with powerlaw 2.0.0 and PyTorch 2.13.0, on a module with the matrices
below as weights of `nn.Linear` and `nn.Conv2d` layers of these names, in float64:
`WeightWatcher(model=module).analyze(mp_fit=True, min_evals=10, svd_method="accurate")`.  It computes in float32, takes
convolutions position by position, and halves their eigenvalues.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import powerlaw
import pytest

from shallow.spectra import Layer, report, tails


class Known(NamedTuple):
    """Columns of WeightWatcher's table."""

    alpha: float
    D: float
    xmin: float
    num_pl_spikes: int
    stable_rank: float
    norm: float
    spectral_norm: float


KNOWN = {
    "noise": Known(8.346786535795, 0.12716909235, 703.79618544, 19, 61.6014266861, 60616.9002267, 984.0177977629),
    "rows": Known(3.000267065022, 0.09311615779, 783.98481425, 42, 27.2544684682, 95680.0146727, 3510.6175563139),
    "heavy": Known(4.046920427358, 0.08664713264, 1646.7118416, 32, 12.2280488455, 180925.8160599, 14795.9677251358),
    "spiked": Known(4.229412793486, 0.09536851881, 533.62673166, 41, 11.1015443467, 66094.4345225, 5953.6252307449),
    "kernel": Known(8.015653822822, 0.07044149755, 252.80758810, 39, 141.9023882030, 54668.1387598, 385.2517174100),
}


@pytest.fixture(scope="module")
def found() -> dict[str, Layer]:
    rng = np.random.default_rng(50)
    noise = rng.standard_normal((300, 200))
    rows = noise * np.exp(0.5 * rng.standard_normal((300, 1)))
    model = {"noise": noise, "rows": rows, "heavy": rng.standard_t(3, (300, 200)), "spiked": noise + 0.3}
    model["kernel"] = rng.standard_t(4, (96, 64, 3, 3))
    return {layer.name: layer for layer in report(model).layers if layer.reading != "flat"}


@pytest.mark.parametrize("name", KNOWN)
def test_the_power_law_is_weightwatchers_and_powerlaws(found, name):
    known, values = KNOWN[name], found[name].eigenvalues
    halved = 2 if found[name].reading == "slices" else 1
    fit = tails.power_law(values)
    assert (fit.alpha, fit.distance) == pytest.approx((known.alpha, known.D), rel=1e-6)
    assert fit.xmin == pytest.approx(halved * known.xmin, rel=1e-6)
    assert fit.size == known.num_pl_spikes
    package = powerlaw.Fit(values, verbose=0, parameter_ranges={"alpha": [1, None]})
    assert (package.alpha, package.xmin, package.D) == pytest.approx((fit.alpha, fit.xmin, fit.distance), rel=1e-8)
    assert found[name].ks == pytest.approx(known.alpha, rel=1e-6)  # without ties the authors' scan is that fit


@pytest.mark.parametrize("name", KNOWN)
def test_norms_and_stable_rank_are_weightwatchers(found, name):
    known, layer = KNOWN[name], found[name]
    halved = 2 if layer.reading == "slices" else 1
    assert layer.frobenius**2 == pytest.approx(halved * known.norm, rel=1e-6)
    assert layer.spectral**2 == pytest.approx(halved * known.spectral_norm, rel=1e-6)
    assert (layer.frobenius / layer.spectral) ** 2 == pytest.approx(known.stable_rank, rel=1e-6)
