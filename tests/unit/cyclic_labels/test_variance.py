"""Rules on variance, losses and initialisation: planted data for which a claim is true, and for which it is not."""

import numpy as np
import pytest
import xarray as xr
from planted.records import by, planted, scatter, table, verdicts

from experiments.cyclic_labels import loss_curves
from experiments.cyclic_labels.variance import amplitudes, heatmaps, heights, loss_reduction
from experiments.cyclic_labels.variance import rules as variance
from shallow.data import cyclic

PAGE = "cyclic_labels/variance"
MODELS, FUNCTIONS, EPOCHS = 8, 12, np.arange(0, 2001, 100)
MEASURES = ("variance", "relative", "sign_variance", "robust")


def gram(f):
    return f @ f.swapaxes(-1, -2) / f.shape[-1]


def packed(axes, f):
    pairs = heatmaps.pack(gram(f))
    return table(axes | {"pair": range(pairs.shape[-1])}, gram=pairs)


def heatmap(scale, *, train=lambda n, t: n / (1 + t), test=lambda n, t: 1 / (1 + t), n=range(10, 60), bases=2):
    """A heatmap record of random functions with amplitude scale(n, t), and losses by formula."""
    rng, n = np.random.default_rng(5), np.asarray(n)
    at, t = n[:, None], EPOCHS[None, :]
    f = rng.standard_normal((bases, len(n), len(EPOCHS), MODELS, FUNCTIONS)) * scale(at, t)[..., None, None]
    V, axes = f.var(axis=3).mean(axis=-1), {"base": range(bases), "n": n}
    loss = {"train_loss": train(at, t), "test_loss": test(at, t)}
    series = table(axes | {"epoch": EPOCHS}, **loss, **dict.fromkeys(MEASURES, V))
    errors = {"final_error": rng.uniform(0.1, 0.2, (*V.shape[:2], MODELS)), "zero_epoch": np.nan}
    return series.merge(table(axes | {"model": range(MODELS)}, **errors)).merge(packed(axes, f[:, :, -1]))


def test_ratios_of_variances():
    base = heatmap(lambda n, t: 1 + 0 * n * t, bases=1).isel(base=0)
    double = base.assign(gram=4 * base.gram)
    paired = heatmaps.ratio(double, base, name="test", paired=True)
    assert np.allclose([paired.low, paired.estimate, paired.high], 4)
    loose = heatmaps.ratio(double, base, name="test", paired=False)
    assert loose.low < 3.9 and loose.high > 4.1 and np.isclose(loose.estimate, 4)
    same = heatmaps.ratio(double, base, name="test", paired=True, of="error")
    assert np.allclose([same.low, same.estimate, same.high], 1)


def up(n, t):
    return (1 + t) * n


def down(n, t):
    return 1 / (n * (1 + t))


def later(n, t):
    return (1 + t) / n


@pytest.mark.parametrize(("scale", "verdict"), [(up, "reproduced"), (later, "partly"), (down, "contradicted")])
def test_growth_is_seen_where_it_was_planted(scale, verdict):
    assert variance.cl_19(heatmap(scale)).verdict == verdict
    near = variance.cl_18(heatmap(scale, bases=1), heatmap(scale), heatmap(scale, n=heatmaps.SIZES, bases=1))
    trends = [near.numbers[f"set 1: {name}"].above(0.5) for name in ("median ρ(V, epoch)", "ρ(V(T), n)")]
    assert near.verdict == "answered" and trends == [scale is not down, scale is up]
    assert near.numbers["V over default, factor 0.1"].contains(1)


@pytest.mark.parametrize(
    ("train", "test", "verdict"),
    [(down, down, "reproduced"), (down, up, "partly"), (up, up, "contradicted")],
)
def test_losses_fall_where_they_were_planted_to(train, test, verdict):
    record = heatmap(up, train=train, test=test)
    assert variance.cl_20(record).verdict == verdict
    assert variance.cl_27(record, heatmap(up)).parts == {"a": "reproduced", "b": verdict}


def test_a_share_of_falling_sizes_at_the_threshold_is_undecided():
    nearly = heatmap(up, test=lambda n, t: np.where(n < 15, up(n, t), down(n, t)))
    assert variance.cl_27(nearly, heatmap(up)).parts == {"a": "reproduced", "b": "undecided"}
    assert variance.cl_20(nearly).verdict == "partly"


def divisions(divided):
    steps = heatmap(divided, n=heatmaps.SIZES).expand_dims(step_times_n=[0.5, 0.1])
    return heatmap(up), steps


test_the_missing_division_is_the_cause_if_the_growth_goes_with_it = verdicts(
    variance.cl_30, divisions, reproduced=[later, down], contradicted=[up]
)


def settings(robust):
    """The record of many models with a robust variance robust(n, step)."""
    rng, n = np.random.default_rng(8), np.array(heatmaps.EIGHT_SIZES)
    R = np.stack([np.broadcast_to(robust(n, step), (2, 2, len(n))) for step in (0.001, 0.003, 0.01)])
    groups = R[..., None] * rng.uniform(0.8, 1.25, (*R.shape, 16))
    name = f"{PAGE}/growth_of_many_models"
    return planted(name, robust=R, robust_band=R[..., None] * [0.8, 1.25], variance=groups)


test_growth_in_every_setting = verdicts(
    variance.cl_31,
    settings,
    reproduced=[lambda n, step: 1.0 * n],
    partly=[lambda n, step: n ** (-1.0 if step == 0.001 else 1.0)],
    contradicted=[lambda n, step: n ** (1.0 if step == 0.01 else -1.0)],
)


def test_growth_that_outliers_at_few_points_undo_is_seen_from_thirty_on():
    found = settings(lambda n, step: 1.0 * n)
    hidden = xr.where((found.n < 30) & (found.step == 0.001), 1e5 / found.n, found.variance)
    outcome = variance.cl_31(found.assign(variance=hidden))
    assert outcome.parts == {"ten models": "partly", "robust variance": "reproduced"}
    assert outcome.numbers["rises from 30 on"] > 0.9


def parts(size, shape):
    """Functions of which the amplitudes, or the shapes at one amplitude, have a relative deviation."""
    rng, sizes = np.random.default_rng(2), len(heatmaps.SIZES)
    f = 1 + shape * rng.normal(size=(sizes, MODELS, 400))
    f /= np.sqrt((f**2).mean(axis=-1, keepdims=True))
    return (1 + size * rng.normal(size=(sizes, MODELS, 1))) * f


def amplitudes_of(size, shape, heights):
    """Functions as :func:`parts` has them, and a record in which heights make that share of the relative variance."""
    name = f"{PAGE}/heights"
    shares = {"signs": 1 - heights, "heights": heights, "levels": heights, "relative": 1.0}
    noise = {one: share * (1 + scatter(name, "power", 0.01)) for one, share in shares.items()}
    return packed({"base": [0, 1], "n": list(heatmaps.SIZES)}, parts(size, shape)), planted(name, **noise)


test_amplitudes_make_the_variance_if_they_were_planted_to = verdicts(
    variance.cl_33,
    amplitudes_of,
    rr=[(0.4, 0.0, 0.9)],
    cr=[(0.0, 0.3, 0.9)],
    pr=[(0.28, 0.28, 0.9)],  # the squares of both parts are equal
    pc=[(0.28, 0.28, 0.3)],
)


def test_levelled_parts_of_functions_that_differ_in_one_thing():
    labels = cyclic.labels(loss_curves.GRID)
    rng = np.random.default_rng(1)
    tall = rng.uniform(0.5, 1.5, (20, 6))[:, cyclic.clusters(loss_curves.GRID)] * labels
    found = heights.parts(tall)
    assert found["heights"] == pytest.approx(found["relative"]) and found["levels"] == pytest.approx(found["relative"])
    assert found["signs"] == found["sign"] == 0 < found["equal"] < found["relative"]
    signs = rng.choice([-1.0, 1.0], (20, 1)) * labels
    found = heights.parts(signs)
    assert found["signs"] == pytest.approx(found["relative"]) and found["heights"] == pytest.approx(0, abs=1e-12)


def test_points_are_moved_away_within_their_clusters():
    x = np.sort(np.random.default_rng(2).uniform(-0.5, 0.5, 500))
    borders, centres = cyclic.boundaries(), (np.arange(6) + 0.5) / 6 - 0.5
    for how, lines, others in (("away from borders", borders, centres), ("away from centres", centres, borders)):
        moved = heights.placed(x, how)
        assert np.array_equal(cyclic.clusters(moved), cyclic.clusters(x)) and (np.diff(moved) > 0).all()
        assert np.abs(moved[:, None] - lines).min() >= heights.DISTANCE - 1e-12 > np.abs(moved[:, None] - others).min()
    gaps = heights.across(x)
    assert (gaps > 0).all() and (heights.across(heights.placed(x, "away from borders")) >= 2 * heights.DISTANCE).all()
    assert np.isinf(heights.across(x[cyclic.clusters(x) != 2])[1:3]).all()


def test_amplitudes_of_planted_functions():
    one_shape, one_size = (
        amplitudes.amplitudes(xr.DataArray(gram(parts(*of)), dims=("n", "model", "twin")), name="parts")
        for of in ((0.4, 0.0), (0.0, 0.3))
    )
    assert one_shape.removed.low > 0.99 and one_shape.spread.above(0.2)
    assert one_size.removed.high < 0.01 and one_size.spread.high < 0.01


def reduced(alive, error):
    """The record `sum_or_mean` with alive(n, form) and error(n, form) and a little noise."""
    n, name = by(n={size: size for size in (10, 20, 50, 80, 120, 160, 200, 400)}), f"{PAGE}/sum_or_mean"

    def values(rule):
        forms = xr.Variable("form", list(loss_reduction.FORMS))
        return xr.concat([rule(n, form) + 0 * n for form in forms.values], forms) + scatter(name, "error", 0.01)

    return planted(name, alive=values(alive), error=values(error))


def suffers(n, form):
    return 1 - 0.002 * n * (form == "sum")


def worse(same, larger):
    added = {"mean": same, "mean, 50 x step": larger, "sum": 0}
    return reduced(suffers, lambda n, form: 0.3 + added[form])


test_the_mean_is_worse_if_it_was_planted_to_be = verdicts(
    variance.cl_04, worse, reproduced=[(0.2, 0.1)], partly=[(0.2, -0.1)], contradicted=[(-0.1, -0.1)]
)
test_large_sets_break_training_if_neurons_die = verdicts(
    variance.cl_06,
    lambda alive, hurt: reduced(alive, lambda n, form: 0.1 + hurt * (form == "sum")),
    reproduced=[(suffers, 0.2)],
    partly=[(lambda n, form: 1 - 0.002 * n, 0.2)],
    contradicted=[(lambda n, form: 0.5 + 0.001 * n, 0.0)],
)


def heatmap_of_models(linked):
    rng, axes = np.random.default_rng(3), {"n": np.arange(10, 40), "epoch": np.arange(0, 10_001, 500)}
    shape = tuple(map(len, axes.values()))
    level = np.exp(rng.standard_normal(shape))
    f = rng.standard_normal((*shape, MODELS, 60)) * np.sqrt(level)[..., None, None]
    noise = np.exp(rng.standard_normal((2, *shape)))[..., None]
    loss = {"train_loss": level[..., None] if linked else noise[0], "test_loss": noise[1]}
    return table(axes | {"model": range(MODELS)}, **loss).merge(packed(axes, f))


@pytest.mark.parametrize("linked", [True, False])
def test_heatmaps_are_linked_if_they_were_planted_to_be(linked):
    found = variance.cl_17(heatmap_of_models(linked))
    trained = [interval.above(0.8) for name, interval in found.numbers.items() if "train" in name]
    tested = [interval.inside(-0.2, 0.2) for name, interval in found.numbers.items() if "test" in name]
    assert found.verdict == "answered" and trained == 4 * [linked] and tested == 4 * [True]


@pytest.mark.parametrize(("start", "data"), [(0.1, 1.0), (1.0, 0.1), (1.0, 1.0)])
def test_the_source_of_the_variance(start, data):
    f = 3 + np.random.default_rng(4).standard_normal((8, 5, 3, 10, 200)) * np.sqrt([start, data, 1.0])[:, None, None]
    found = variance.cl_21(planted(f"{PAGE}/sources", gram=gram(f)))
    shares = [found.numbers[f"relative variance, only {kind} varied, over both"] for kind in ("start", "data")]
    assert found.verdict == "answered" and [share.exceeds(0.5) for share in shares] == [start == 1, data == 1]


def moved(near, default):
    name = f"{PAGE}/kernel_from_near_zero"
    return planted(name, alignment=by(alpha={1.0: default, 0.1: near}) + scatter(name, "alignment", 0.005))


test_the_kernel_moves_from_near_zero = verdicts(
    variance.cl_23, moved, reproduced=[(0.5, 0.8)], partly=[(0.5, 0.5)], contradicted=[(0.97, 0.99)]
)


def passage(sign, deviation):
    alpha, name = by(alpha={a: a for a in (1, 0.5, 0.25, 0.1, 0.03, 0.01)}), f"{PAGE}/passage"
    return planted(name, {"step": [0.001]}, start=100 * alpha**sign + scatter(name, "start", 0.3)), deviation


test_small_parameters_start_late = verdicts(
    variance.cl_24, passage, reproduced=[(-1, 1e-15)], partly=[(1, 1e-15)], contradicted=[(-1, 1e-3)]
)


@pytest.mark.parametrize(
    ("output", "folded", "verdict"), [(0.0, 0.0, "reproduced"), (0.1, 0.0, "partly"), (0.1, 0.1, "contradicted")]
)
def test_doubling_is_exact_or_it_is_not(output, folded, verdict):
    kernel = 1.0 if verdict == "contradicted" else 0.0
    doubling = table({"activation": ["relu", "softplus"]}, output=[output, 0.0], kernel=[kernel, 0.0])
    assert variance.cl_25(doubling, xr.Dataset({"difference": folded})).verdict == verdict
    found = variance.cl_26(doubling)
    assert found.verdict == "answered" and found.numbers["exact with ReLU"] == (verdict == "reproduced")


@pytest.mark.parametrize(("scale", "verdict"), [(up, "reproduced"), (down, "partly")])
def test_antisymmetric_heatmaps(scale, verdict):
    asi = heatmap(lambda n, t: scale(n, t) * (t > 0), train=lambda n, t: np.where(t == 0, MODELS * n, n / (1.0 + t)))
    assert variance.cl_28(asi, 0.0).verdict == verdict
    assert variance.cl_28(asi, 1e-3).parts["a"] == "contradicted"


def initialised(asi, matched):
    sizes = {"plain": 1.0, "wide": 1.0, "step": 0.3, "scale": 1.0, "antisymmetric": asi, "matched": matched}

    def network(size):
        record = heatmap(lambda n, t: np.sqrt(size) * up(n, t), n=heatmaps.SIZES, bases=1).isel(base=0)
        return record.assign(final_error=size * record.final_error)

    by_network = xr.concat(map(network, sizes.values()), xr.Variable("network", list(sizes)))
    return ((by_network.isel(network=slice(3)), by_network.isel(network=slice(3, None))),)


test_antisymmetry_against_plain_and_matched_networks = verdicts(
    variance.cl_29, initialised, reproduced=[(1.0, 1.0)], partly=[(0.3, 0.3), (0.3, 1.0)]
)


@pytest.mark.parametrize(("matched", "verdict"), [(0.3, "corrected"), (1.0, "contradicted")])
def test_functions_that_are_less_tall_disagree_as_much(matched, verdict):
    found = variance.cl_29(*initialised(0.3, matched))
    assert found.parts == {"relative": "reproduced", "variance": verdict, "error": verdict}
