"""Rules on variance, losses and initialisation: planted data for which a claim is true, and for which it is not."""

import numpy as np
import pytest
import xarray as xr
from planted.records import table, verdicts

from experiments.cyclic_labels.variance import amplitudes, heatmaps
from experiments.cyclic_labels.variance import rules as variance

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
    variance.cl_30, divisions, cr=[later], cc=[up], rr=[down]
)


def settings(robust):
    """The record of many models with a robust variance robust(n, step)."""
    rng, n, steps = np.random.default_rng(8), np.array([10, 20, 30, 50, 80, 120, 160, 200]), [0.001, 0.003, 0.01]
    axes = {"step": steps, "width": [128, 512], "initial": ["default", "normal"], "n": n}
    R = np.stack([np.broadcast_to(robust(n, step), (2, 2, len(n))) for step in steps])
    groups = table({"group": range(16)} | axes, variance=R * rng.uniform(0.8, 1.25, (16, *R.shape)))
    return groups.merge(table(axes, robust=R)).merge(
        table(axes | {"bound": [0, 1]}, robust_band=R[..., None] * [0.8, 1.25])
    )


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


def grams(kind):
    sizes = len(heatmaps.SIZES)
    if kind == "half":  # the squares of both parts are equal at equal models and functions
        rng = np.random.default_rng(2)
        G = gram((1 + 0.28 * rng.normal(size=(sizes, MODELS, 1))) * (1 + 0.28 * rng.normal(size=(sizes, MODELS, 400))))
    else:
        G = amplitudes.planted(kind, sizes=sizes).values
    pairs = heatmaps.pack(G)
    return table({"base": [0, 1], "n": list(heatmaps.SIZES), "pair": range(pairs.shape[-1])}, gram=pairs)


test_amplitudes_make_the_variance_if_they_were_planted_to = verdicts(
    variance.cl_33, grams, reproduced=["amplitude"], contradicted=["shape"], undecided=["half"]
)


def reduced(alive, error):
    """The record `sum_or_mean` with alive(n, form) and error(n, form) and a little noise."""
    rng, n, seeds = np.random.default_rng(1), [10, 20, 50, 80, 120, 160, 200, 400], range(20)
    forms, widths = ["sum", "mean", "mean, 50 x step"], [128, 512]
    axes = {"form": forms, "width": widths, "n": n, "seed": seeds}

    def values(rule):
        rows = np.array([[rule(size, form) for size in n] for form in forms])[:, None, :, None]
        return rows + 0.01 * rng.standard_normal((3, 2, len(n), len(seeds)))

    return table(axes, alive=values(alive), error=values(error))


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
    loss = (level if linked else np.exp(rng.standard_normal(shape)))[..., None]
    return table(axes | {"model": range(MODELS)}, train_loss=loss, test_loss=loss).merge(packed(axes, f))


test_heatmaps_are_linked_if_they_were_planted_to_be = verdicts(
    variance.cl_17, heatmap_of_models, reproduced=[True], contradicted=[False]
)


@pytest.mark.parametrize(("start", "data"), [(0.1, 1.0), (1.0, 0.1), (1.0, 1.0)])
def test_the_source_of_the_variance(start, data):
    rng, size = np.random.default_rng(4), {"start": start, "data": data, "both": 1.0}
    f = 3 + rng.standard_normal((6, 4, 3, 10, 200)) * np.sqrt(list(size.values()))[:, None, None]
    axes = {"n": range(6), "repetition": range(4), "varied": list(size), "model": range(10), "twin": range(10)}
    found = variance.cl_21(table(axes, gram=gram(f)))
    shares = [found.numbers[f"relative variance, only {kind} varied, over both"] for kind in ("start", "data")]
    assert found.verdict == "answered" and [share.exceeds(0.5) for share in shares] == [start == 1, data == 1]


def moved(near, default):
    axes = {"alpha": [1.0, 0.1], "width": [128, 512], "step": [0.001, 0.01], "seed": range(10)}
    noise = 0.005 * np.random.default_rng(6).standard_normal((2, 2, 10))
    return table(axes, alignment=np.array([default, near])[:, None, None, None] + noise)


test_the_kernel_moves_from_near_zero = verdicts(
    variance.cl_23, moved, reproduced=[(0.5, 0.8)], partly=[(0.5, 0.5)], contradicted=[(0.97, 0.99)]
)


def passage(sign, deviation):
    alpha, rng = np.array([1, 0.5, 0.1]), np.random.default_rng(7)
    start = 100 * alpha[:, None, None] ** sign + rng.uniform(0, 1, (3, 1, 20))
    return table({"alpha": alpha, "step": [0.001], "seed": range(20)}, start=start), deviation


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
    variance.cl_29, initialised, reproduced=[(1.0, 1.0)], corrected=[(0.3, 0.3)], contradicted=[(0.3, 1.0)]
)
