"""Rules on variance, losses and initialisation: planted data for which a claim is true, and for which it is not."""

import numpy as np
import pytest
import xarray as xr

from experiments.cyclic_labels import amplitudes, heatmaps
from experiments.cyclic_labels.rules import initialisation, variance

MODELS, FUNCTIONS, EPOCHS = 8, 12, np.arange(0, 2001, 100)


def gram(f):
    return f @ f.swapaxes(-1, -2) / f.shape[-1]


def heatmap(scale, *, train=lambda n, t: n / (1 + t), test=lambda n, t: 1 / (1 + t), n=range(10, 60), bases=2):
    """A heatmap record of random functions with amplitude scale(n, t), and losses by formula."""
    rng, n = np.random.default_rng(5), np.asarray(n)
    at, t = n[:, None], EPOCHS[None, :]
    f = rng.standard_normal((bases, len(n), len(EPOCHS), MODELS, FUNCTIONS)) * scale(at, t)[..., None, None]
    V, series, models = f.var(axis=3).mean(axis=-1), ("base", "n", "epoch"), ("base", "n", "model")
    loss = {
        f"{k}_loss": (series, np.broadcast_to(each(at, t), V.shape)) for k, each in (("train", train), ("test", test))
    }
    data = loss | {
        "variance": (series, V), "relative": (series, V), "sign_variance": (series, V), "robust": (series, V),
        "gram": (("base", "n", "pair"), heatmaps.pack(gram(f[:, :, -1]))),
        "final_error": (models, rng.uniform(0.1, 0.2, V.shape[:2] + (MODELS,))),
        "zero_epoch": (models, np.full(V.shape[:2] + (MODELS,), np.nan)),
    }  # fmt: skip
    return xr.Dataset(data, {"base": range(bases), "n": n, "epoch": EPOCHS})


def up(n, t):
    return (1 + t) * n


def down(n, t):
    return 1 / (n * (1 + t))


def later(n, t):
    return (1 + t) / n


@pytest.mark.parametrize(("scale", "verdict"), [(up, "reproduced"), (later, "partly"), (down, "contradicted")])
def test_growth_is_seen_where_it_was_planted(scale, verdict):
    assert variance.cl_19(heatmap(scale)).verdict == verdict
    found = initialisation.cl_18(heatmap(scale, bases=1), heatmap(scale), heatmap(scale, n=heatmaps.SIZES, bases=1))
    assert found.verdict == "answered" and ("same" in found.answer) == (verdict == "reproduced")


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


@pytest.mark.parametrize(
    ("divided", "parts"),
    [
        (later, {"a": "contradicted", "b": "reproduced"}),
        (up, {"a": "contradicted", "b": "contradicted"}),
        (down, {"a": "reproduced", "b": "reproduced"}),
    ],
)
def test_the_missing_division_is_the_cause_if_the_growth_goes_with_it(divided, parts):
    steps = xr.concat([heatmap(divided, n=heatmaps.SIZES)] * 2, xr.DataArray([0.5, 0.1], dims="step_times_n"))
    assert variance.cl_30(heatmap(up), steps.assign_coords(step_times_n=[0.5, 0.1])).parts == parts


def settings(robust):
    """The record of many models with a robust variance robust(n, step)."""
    rng, n, steps = np.random.default_rng(8), np.array([10, 20, 30, 50, 80, 120, 160, 200]), [0.001, 0.003, 0.01]
    axes = {"step": steps, "width": [128, 512], "initial": ["default", "normal"], "n": n}
    R = np.stack([np.broadcast_to(robust(n, step), (2, 2, len(n))) for step in steps])
    data = {"robust": (tuple(axes), R), "robust_band": ((*axes, "bound"), R[..., None] * [0.8, 1.25])}
    return xr.Dataset(data | {"variance": (("group", *axes), R * rng.uniform(0.8, 1.25, (16, *R.shape)))}, axes)


@pytest.mark.parametrize(
    ("robust", "verdict"),
    [
        (lambda n, step: 1.0 * n, "reproduced"),
        (lambda n, step: n ** (-1.0 if step == 0.001 else 1.0), "partly"),
        (lambda n, step: n ** (1.0 if step == 0.01 else -1.0), "contradicted"),
    ],
)
def test_growth_in_every_setting(robust, verdict):
    assert variance.cl_31(settings(robust)).verdict == verdict


def test_growth_that_outliers_at_few_points_undo_is_read_as_growth():
    found = settings(lambda n, step: 1.0 * n)
    hidden = xr.where((found.n < 30) & (found.step == 0.001), 1e5 / found.n, found.variance)
    outcome = variance.cl_31(found.assign(variance=hidden))
    assert outcome.parts == {"ten models": "partly", "robust variance": "reproduced"}
    assert outcome.reading == "reproduced"


@pytest.mark.parametrize(
    ("kind", "verdict"), [("amplitude", "reproduced"), ("shape", "contradicted"), ("half", "undecided")]
)
def test_amplitudes_make_the_variance_if_they_were_planted_to(kind, verdict):
    sizes = len(heatmaps.SIZES)
    if kind == "half":  # the squares of both parts are equal at equal models and functions
        rng = np.random.default_rng(2)
        f = (1 + 0.28 * rng.normal(size=(sizes, MODELS, 1))) * (1 + 0.28 * rng.normal(size=(sizes, MODELS, 400)))
        G = gram(f)
    else:
        G = amplitudes.planted(kind, sizes=sizes).values
    found = variance.cl_33(xr.Dataset({"gram": (("base", "n", "pair"), np.stack([heatmaps.pack(G)] * 2))},
                                      {"base": [0, 1], "n": list(heatmaps.SIZES)}))  # fmt: skip
    assert found.verdict == verdict
    assert (found.reading == "partly") == (verdict == "undecided")


def reduced(alive, error):
    """The record `sum_or_mean` with alive(n, form) and error(n, form) and a little noise."""
    rng, n, seeds = np.random.default_rng(1), [10, 20, 50, 80, 120, 160, 200, 400], range(20)
    forms, widths = ["sum", "mean", "mean, 50 x step"], [128, 512]
    axes = {"form": forms, "width": widths, "n": n, "seed": seeds}

    def values(rule):
        rows = np.array([[rule(size, form) for size in n] for form in forms])[:, None, :, None]
        return tuple(axes), rows + 0.01 * rng.standard_normal((3, 2, len(n), len(seeds)))

    return xr.Dataset({"alive": values(alive), "error": values(error)}, axes)


def suffers(n, form):
    return 1 - 0.002 * n * (form == "sum")


@pytest.mark.parametrize(
    ("worse", "verdict"),
    [((0.2, 0.1), "reproduced"), ((0.2, -0.1), "partly"), ((-0.1, -0.1), "contradicted")],
)
def test_the_mean_is_worse_if_it_was_planted_to_be(worse, verdict):
    added = dict(zip(("mean", "mean, 50 x step"), worse), sum=0)
    assert variance.cl_04(reduced(suffers, lambda n, form: 0.3 + added[form])).verdict == verdict


@pytest.mark.parametrize(
    ("alive", "verdict"),
    [
        (suffers, "reproduced"),
        (lambda n, form: 1 - 0.002 * n, "partly"),
        (lambda n, form: 0.5 + 0.001 * n, "contradicted"),
    ],
)
def test_large_sets_break_training_if_neurons_die(alive, verdict):
    hurt = 0.2 if verdict != "contradicted" else 0.0
    assert variance.cl_06(reduced(alive, lambda n, form: 0.1 + hurt * (form == "sum"))).verdict == verdict


@pytest.mark.parametrize("linked", [True, False])
def test_heatmaps_are_linked_if_they_were_planted_to_be(linked):
    rng, n, epochs = np.random.default_rng(3), np.arange(10, 40), np.arange(0, 10_001, 500)
    shape = (len(n), len(epochs), MODELS)
    level = np.exp(rng.standard_normal(shape[:2]))
    f = rng.standard_normal((*shape, 60)) * np.sqrt(level)[..., None, None]
    loss = (level if linked else np.exp(rng.standard_normal(shape[:2])))[..., None] * np.ones(shape)
    cells = ("n", "epoch", "model")
    record = {
        "gram": (cells[:2] + ("pair",), heatmaps.pack(gram(f))),
        "train_loss": (cells, loss),
        "test_loss": (cells, loss),
    }
    found = variance.cl_17(xr.Dataset(record, {"n": n, "epoch": epochs}))
    assert found.verdict == ("reproduced" if linked else "contradicted")


@pytest.mark.parametrize(("start", "data", "word"), [(0.1, 1.0, "No"), (1.0, 0.1, "Yes"), (1.0, 1.0, "Both")])
def test_the_source_of_the_variance(start, data, word):
    rng, size = np.random.default_rng(4), {"start": start, "data": data, "both": 1.0}
    f = 3 + rng.standard_normal((6, 4, 3, 10, 200)) * np.sqrt(list(size.values()))[:, None, None]
    grams = xr.Dataset(
        {"gram": (("n", "repetition", "varied", "model", "twin"), gram(f))},
        {"n": range(6), "repetition": range(4), "varied": list(size)},
    )
    found = initialisation.cl_21(grams)
    assert found.verdict == "answered" and found.answer.startswith(word)


@pytest.mark.parametrize(
    ("near", "default", "verdict"),
    [(0.5, 0.8, "reproduced"), (0.5, 0.5, "partly"), (0.97, 0.99, "contradicted")],
)
def test_the_kernel_moves_from_near_zero(near, default, verdict):
    rng = np.random.default_rng(6)
    axes = {"alpha": [1.0, 0.1], "width": [128, 512], "step": [0.001, 0.01], "seed": range(10)}
    base = np.array([default, near])[:, None, None, None]
    noise = np.broadcast_to(0.005 * rng.standard_normal((2, 2, 10)), (2, 2, 2, 10))
    moved = xr.Dataset({"alignment": (tuple(axes), base + noise)}, axes)
    assert initialisation.cl_23(moved).verdict == verdict


@pytest.mark.parametrize(
    ("sign", "deviation", "verdict"),
    [(-1, 1e-15, "reproduced"), (1, 1e-15, "partly"), (-1, 1e-3, "contradicted")],
)
def test_small_parameters_start_late(sign, deviation, verdict):
    alpha, rng = np.array([1, 0.5, 0.1]), np.random.default_rng(7)
    start = 100 * alpha[:, None, None] ** sign + rng.uniform(0, 1, (3, 1, 20))
    passage = xr.Dataset({"start": (("alpha", "step", "seed"), start)}, {"alpha": alpha, "step": [0.001]})
    assert initialisation.cl_24(passage, deviation).verdict == verdict


@pytest.mark.parametrize(
    ("output", "folded", "verdict"), [(0.0, 0.0, "reproduced"), (0.1, 0.0, "partly"), (0.1, 0.1, "contradicted")]
)
def test_doubling_is_exact_or_it_is_not(output, folded, verdict):
    activations = {"activation": ["relu", "softplus"]}
    kernel = 1.0 if verdict == "contradicted" else 0.0
    doubling = xr.Dataset(
        {"output": ("activation", [output, 0.0]), "kernel": ("activation", [kernel, 0.0])}, activations
    )
    assert initialisation.cl_25(doubling, xr.Dataset({"difference": folded})).verdict == verdict
    found = initialisation.cl_26(doubling)
    assert found.verdict == "answered" and found.answer.startswith("No" if verdict == "reproduced" else "Yes")


@pytest.mark.parametrize(("scale", "verdict"), [(up, "reproduced"), (down, "partly")])
def test_antisymmetric_heatmaps(scale, verdict):
    asi = heatmap(lambda n, t: scale(n, t) * (t > 0), train=lambda n, t: np.where(t == 0, MODELS * n, n / (1.0 + t)))
    assert initialisation.cl_28(asi, 0.0).verdict == verdict
    assert initialisation.cl_28(asi, 1e-3).parts["a"] == "contradicted"


@pytest.mark.parametrize(
    ("asi", "matched", "verdict"),
    [(1.0, 1.0, "reproduced"), (0.3, 0.3, "corrected"), (0.3, 1.0, "contradicted")],
)
def test_antisymmetry_against_plain_and_matched_networks(asi, matched, verdict):
    def network(size, error=1.0):
        record = heatmap(lambda n, t: np.sqrt(size) * up(n, t), n=heatmaps.SIZES, bases=1).isel(base=0)
        return record.assign(final_error=error * record.final_error)

    sizes = {"plain": 1.0, "wide": 1.0, "step": 0.3, "scale": 1.0, "antisymmetric": asi, "matched": matched}
    assert initialisation.cl_29({name: network(size, size) for name, size in sizes.items()}).verdict == verdict
