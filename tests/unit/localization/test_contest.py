"""Laws of one covariance, what objectives say of a family of filters, and the statements, on planted data."""

import numpy as np
import pytest
import xarray as xr
from planted.records import table

from experiments.localization import networks
from experiments.localization.bumps import contest, forecasts, laws, one_neuron
from shallow.data.nlgp import circulant
from shallow.stats import Interval


@pytest.mark.parametrize("law", [*laws.TAILS, *laws.OTHERS])
def test_all_laws_have_one_covariance(law):
    process = laws.process(law, 0.5, 2.0)
    x = process.sample(np.random.default_rng(0), 40_000)
    matrix = circulant(laws.process("light", 0.5, 2.0).covariance)
    np.testing.assert_allclose(x.T @ x / len(x), matrix, atol=0.06)
    pixel = (x**4).mean() / (x**2).mean() ** 2 - 3
    heavy = {"heavy": 3.4, "sparse": 11.0, "radial": 3.0}
    assert pixel > 1 if law in heavy else pixel < 0.05


def test_elliptical_data_have_the_kurtosis_of_their_size_in_every_response():
    x = laws.process("radial", 0.5, 2.0).sample(np.random.default_rng(0), 100_000)
    h = x @ contest.family()[[0, 6, 12]].T
    np.testing.assert_allclose((h**4).mean(axis=0) / (h**2).mean(axis=0) ** 2 - 3, 3, atol=0.5)


def test_other_laws_are_refused():
    for make in (lambda: laws.process("odd", 1.0, 2.0), lambda: laws.Mixed(laws.process("light", 1.0, 2.0), "odd")):
        with pytest.raises(ValueError, match="law"):
            make()


class Fixed:
    """A class with one set of samples."""

    shape = (networks.N,)

    def __init__(self, x):
        self.x = x

    def sample(self, rng, count, dtype, *, out):
        out[:] = self.x


def test_a_step_goes_down_the_gradient():
    rng = np.random.default_rng(0)
    x, y, start = rng.standard_normal((20, 40)), np.repeat([1.0, -1.0], 10), networks.starts([0], dtype=np.float64)
    W, b = laws.descend(start, (Fixed(x[:10]), Fixed(x[10:])), rng, rate=1.0, steps=[1], batch=20)

    def loss(change):
        fields = start.W[0].copy()
        fields[3, 5] += change
        return ((contest.erf(x @ fields.T + start.b[0]).mean(axis=1) - y) ** 2).mean() / 2

    assert start.W[0, 3, 5] - W[0, 3, 5] == pytest.approx((loss(1e-4) - loss(-1e-4)) / 2e-4, rel=1e-3)
    assert np.abs(b[0]).max() > 0


def test_the_plain_descent_learns_what_the_compiled_one_learns():
    pair, steps = laws.pair("light/light", 3.0), [600]
    plain = laws.descend(networks.starts([0]), pair, np.random.default_rng(0), rate=20.0, steps=steps)
    fast = contest.train("light/light", 3.0, 0, steps)
    ratios = [contest.medians(W[0], b[0])["ipr"][1] for W, b in (plain, fast)]
    np.testing.assert_allclose(ratios[0], ratios[1], atol=0.06)


def test_tiles_and_their_scrambled_twins():
    copies = contest.tiles(8)
    np.testing.assert_allclose(copies[:, 0], contest.family(), atol=1e-12)
    np.testing.assert_allclose(copies[6, 2], np.roll(copies[6, 0], 10), atol=1e-12)
    np.testing.assert_allclose(copies[6, 1], -np.roll(copies[6, 0], 5), atol=1e-12)
    other = contest.scrambled(copies, np.random.default_rng(0))
    np.testing.assert_allclose(other @ other.swapaxes(1, 2), copies @ copies.swapaxes(1, 2), atol=1e-10)
    ratio = [(one[6, 0] ** 4).sum() for one in (copies, other)]
    assert ratio[1] < 0.5 * ratio[0]


def test_terms_of_the_loss():
    """A filter that tells the classes apart, one that does not, and a population of nothing beside the right output."""
    x = np.random.default_rng(0).standard_normal((40_000, 40))
    x[:20_000, 0] *= 4
    found = contest.linear_term(x, np.eye(40)[:2])
    brute = max(
        (contest.erf(x[:20_000, 0] + b).mean() - contest.erf(x[20_000:, 0] + b).mean()) for b in np.linspace(-6, 0, 61)
    )
    assert found[0] == pytest.approx(brute, abs=0.01) and found[1] == pytest.approx(0, abs=0.02)
    y = np.repeat([1.0, -1.0], 20_000)
    assert contest.whole_loss(x, y, y + 0.5, np.eye(40)[:1] * 0, 2) == pytest.approx(0.125)
    found = [contest.whole_loss(x, y, 0 * y + 0.25, np.eye(40)[[place]], 2) for place in (0, 1)]
    tried = [((0.25 + contest.erf(x[:, 0] + b) / 2 - y) ** 2).mean() / 2 for b in np.linspace(-6, -0.1, 60)]
    assert found[0] == pytest.approx(min(tried), abs=0.002) and found[0] < found[1]


def test_medians_of_populations():
    W = np.stack([np.eye(40)[0], np.ones(40) / 2, np.ones(40)]).astype(np.float32)
    found = {name: one[1] for name, one in contest.medians(W, np.array([-1.0, 2.0, 3.0])).items()}
    np.testing.assert_allclose(found["ipr"], [1, 1 / 40])
    assert found["neurons"].tolist() == [1, 2] and found["bias"].tolist() == [-1, 2.5]
    assert np.isnan(contest.medians(W, np.ones(3))["ipr"][1][0])


def test_cells_are_whole():
    found = contest.network("Gaussian/radial", 0.5, 0, steps=[100, 120], samples=2000)
    assert found.sizes == {"step": 2, "sign": 2, "filter": 18, "pixel": 40}
    assert (found.neurons.sum("sign") <= 40).all() and np.isfinite(found.tiled).all()
    objective = contest.in_objective("heavy/light", 1.0, 0, pairs=5000)
    assert objective.lead[0] == 0 and objective.lead[forecasts.BUMP] < 0


def test_without_negative_neurons_there_is_nothing_to_replace():
    x = np.random.default_rng(0).standard_normal((20, 40)).astype(np.float32)
    found = contest.populations_of(np.eye(40, dtype=np.float32), np.ones(40), x, np.random.default_rng(0))
    assert np.isnan(found["tiled"][1]).all() and np.isfinite(found["tested"])


AXES = {"pair": ["light/light", "heavy/light"], "gain": [0.5, 1.0], "seed": [0, 1, 2]}


def planted(best=7, moved=0.001):
    """Networks: local in the first pair; the filter `best` is preferred, and moved phases lose so much."""
    far = np.abs(np.arange(18) - best) / 100
    runs = table(AXES | {"sign": [-1, 1]}, ipr=0.06)
    runs["ipr"] = runs.ipr + xr.DataArray([0.3, 0.0], dims="pair") + xr.DataArray([0.001, 0, -0.001], dims="seed")
    curves = table(AXES | {"filter": list(contest.FAMILY)}, linear=-far, tiled=far, scrambled=far + moved)
    return runs.merge(curves)


def test_forecasts_and_sides():
    runs = planted()
    learned = forecasts.intervals(runs.ipr.sel(sign=-1))
    assert [forecasts.side(one) for one in learned.values()] == ["local"] * 2 + ["not local"] * 2
    assert forecasts.side(Interval(0.1, 0.05, 0.15)) == "undecided"
    for name in ("linear", "tiled"):
        np.testing.assert_allclose(forecasts.preferred(runs, name), forecasts.concentration()[7])
    np.testing.assert_allclose(forecasts.phases(runs), 0.001)
    right = {cell: 0.4 if cell[0] == "light/light" else 0.03 for cell in learned}
    assert forecasts.agreement(right, learned) == (4, 4)
    assert forecasts.agreement({cell: 0.46 - one for cell, one in right.items()}, learned) == (0, 4)
    assert forecasts.agreement(right, learned, bar=0) == (2, 4)


def test_rows_of_objectives():
    axes = AXES | {"filter": list(contest.FAMILY)}
    ratio = 2 - 0.01 * np.arange(18)
    values = table(axes, value=0.6, select=0.6, lead=0.02, lead_error=0.001, ratio=ratio)
    kurtosis = np.zeros((2, 2, 1, 1, 18))
    kurtosis[0, 0, ..., forecasts.BUMP], kurtosis[0, 1, ..., forecasts.BUMP] = -1.5, -0.5
    both = table(
        {"pair": AXES["pair"], "class": [1, 0], **{k: axes[k] for k in ("gain", "seed", "filter")}}, kurtosis=kurtosis
    )
    objective = values.merge(both)
    assert (forecasts.beyond_variance(objective) > 0).all()
    assert len(forecasts.other_rows(objective, planted(), 0.5)) == 2


def test_a_gaussian_class_leaves_one_neuron_nothing_to_win_by_phases_and_light_against_heavy_tails_does():
    ratios = {
        pair: forecasts.in_phase(one_neuron.wins(pair, 3.0, 0, steps=[100], samples=8000)).item()
        for pair in ("Gaussian/Gaussian", "light/heavy", "heavy/light")
    }
    assert ratios["Gaussian/Gaussian"] == pytest.approx(1, abs=0.1)
    assert ratios["light/heavy"] > 1.2 and ratios["heavy/light"] < 0.9


def test_rows_of_one_neuron_put_every_task_on_its_side():
    """Two tasks, one local and one not, of which a neuron wins twice as much and half as much in phase."""
    won = np.ones((2, 1, 3, len(contest.FAMILY)))
    neurons = table(
        {"pair": ["light/heavy", "heavy/light"], "gain": [1.0], "seed": range(3), "filter": list(contest.FAMILY)},
        in_phase=won * np.array([2, 0.5])[:, None, None, None],
        out_of_phase=won,
    )
    ipr = np.array([0.5, 0.03])[:, None, None, None] * np.array([0.99, 1, 1.01])[:, None]
    axes = {"pair": neurons.pair.values, "gain": [1.0], "seed": range(3), "sign": [-1]}
    rows = forecasts.rows_of_one_neuron([neurons], [table(axes, ipr=ipr)])
    assert rows[0] == ["0.7", "2.000 to 2.000", "0.500 to 0.500"] and len(rows) == 14
