"""Rules on the kernel's modes, on planted data for which the claim is true and for which it is false."""

import numpy as np
import pytest
import xarray as xr

from experiments.cyclic_labels import modes
from experiments.cyclic_labels.rules import kernel, projections

WIDTHS, SEEDS = [128, 512, 8192], 20
RNG = np.random.default_rng(0)
ROOT = np.sqrt(50)


def noisy(values, *shape, scale=0.02):
    """Values broadcast to the shape, each with a little noise of its own."""
    return np.broadcast_to(values, shape) * (1 + scale * RNG.normal(size=shape))


def per_width(value):
    """A number for each of the three widths, shaped to vary along the first of three axes."""
    return np.reshape(np.broadcast_to(value, 3), (3, 1, 1))


def regime(cosine, size) -> xr.Dataset:
    shape, dims = (3, 3, 10), ("width", "step", "seed")
    data = {"subspace": noisy(per_width(cosine), *shape, scale=0.002), "null_subspace": np.ones(shape)}
    data["step_eigenvalue"] = noisy(per_width(size), *shape)
    return xr.Dataset({k: (dims, v) for k, v in data.items()}, {"width": WIDTHS, "step": list(kernel.STEPS)})


@pytest.mark.parametrize(
    ("cosine", "size", "expected"),
    [
        (0.98, 1.0, "reproduced"),
        (0.98, [1, 1, 5], "partly"),
        (0.80, [1, 5, 5], "contradicted"),
        (0.95, 1.0, "undecided"),
    ],
)
def test_regime(cosine, size, expected):
    assert kernel.cl_34(regime(cosine, size)).verdict == expected


def summary(**fields) -> xr.Dataset:
    """Recorded runs at one width; a field is given for its own axis and repeated over step, design and seed."""
    steps, designs = [0.0001, 0.001, 0.01], ["iid", "strat", "two_rightmost"]
    found = xr.Dataset(coords={"step": steps, "design": designs, "mode": modes.NUMBERS, "leading": range(1, 16)})
    for name, values in fields.items():
        own = {"captured": ("leading",), "participation": ()}.get(name, ("mode",))
        values = noisy(np.asarray(values, dtype=float), 3, 3, SEEDS, *np.shape(values))
        found[name] = (("step", "design", "seed", *own), values)
    return found.assign_attrs(n=50)


@pytest.mark.parametrize(
    ("times", "expected"),
    [(100 * modes.NUMBERS, "reproduced"), (100 * modes.NUMBERS[::-1], "contradicted")],
)
def test_order_of_decay(times, expected):
    runs = summary(decay=times, decay_mean=100 * modes.NUMBERS)
    assert kernel.cl_36(dict.fromkeys(WIDTHS, runs)).verdict == expected


def spectra(share, enough) -> xr.Dataset:
    axes = {"initial": ["default", "normal"], "width": [32, *WIDTHS], "n": [20, 50, 100, 200], "seed": range(SEEDS)}
    shape = tuple(map(len, axes.values()))
    values = np.broadcast_to(np.array(share), (*shape, 2)) + 0.002 * RNG.normal(size=(*shape, 1)) * [1, -1]
    many = np.broadcast_to(np.resize(enough, SEEDS), shape)
    return xr.Dataset({"share": ((*axes, "mode"), values), "enough": (tuple(axes), many)}, axes | {"mode": [1, 2]})


@pytest.mark.parametrize(
    ("share", "enough", "dominant", "threshold"),
    [
        ([0.93, 0.06], [2], "reproduced", "reproduced"),
        ([0.40, 0.30], [6, 7], "contradicted", "contradicted"),
        ([0.93, 0.06], [4], "reproduced", "partly"),
    ],
)
def test_spectrum(share, enough, dominant, threshold):
    planted = spectra(share, enough)
    assert kernel.cl_39(planted).verdict == dominant
    assert kernel.cl_38(planted).verdict == threshold


@pytest.mark.parametrize(
    ("changes", "share", "expected"),
    [
        (range(8), [0.5, 0.3, 0.05, 0.05, 0.05, 0.05, 0, 0], "reproduced"),
        (range(8), [0, 0, 0.3, 0.3, 0.2, 0.1, 0.1, 0], "partly"),
        (range(8)[::-1], [0, 0, 0.3, 0.3, 0.2, 0.1, 0.1, 0], "contradicted"),
    ],
)
def test_alignment(changes, share, expected):
    designs = ["iid", "strat"]
    data = {
        "changes": (("design", "seed", "mode"), np.broadcast_to(list(changes), (2, SEEDS, 8))),
        "share": (("design", "seed", "epoch", "rank"), noisy(share, 2, SEEDS, 2, 8)),
    }
    signal = xr.Dataset(data, {"design": designs, "epoch": [0, 100], "mode": modes.NUMBERS})
    assert kernel.cl_40(dict.fromkeys(WIDTHS, signal)).verdict == expected


@pytest.mark.parametrize(("wide", "expected"), [(5, "reproduced"), (10, "contradicted")])
def test_compression(wide, expected):
    captured = np.linspace(0, 1, 15)
    found = {m: summary(captured=captured, participation=wide if m == 8192 else 10) for m in WIDTHS}
    outcome = kernel.cl_41(found)
    assert outcome.verdict == expected and outcome.parts["a"] == "answered" and "do not carry" in outcome.answer


@pytest.mark.parametrize(
    ("rate", "change", "expected"),
    [
        (lambda m, k: 20 + 5 * k + 2.5 * np.log2(m / 128), 1, "corrected"),  # a function of eta lambda_1 alone
        (lambda m, k: 10 * np.log2(m / 64) * (1 - 0.05 * k), WIDTHS, "reproduced"),
        (lambda m, k: 10 * (m / 128) * (1 + 0.1 * k), WIDTHS, "contradicted"),
    ],
)
def test_oscillation(rate, change, expected):
    flips = [[rate(m, k) for k in range(7)] for m in WIDTHS]
    steps = [0.001 * 4.0**k for k in range(-3, 4)]
    data = {"flips": (("width", "step", "seed", "mode"), noisy(np.reshape(flips, (3, 7, 1, 1)), 3, 7, 10, 8))}
    for name in ("flip", "move", "top_share"):
        data[name] = (("width", "step", "seed"), noisy(per_width(change), 3, 7, 10))
    noise = xr.Dataset(data, {"width": WIDTHS, "step": steps, "mode": modes.NUMBERS})
    assert kernel.cl_46(noise).verdict == expected


def group(before, rise, *, own_extra=0.0, runs=24, seed=0) -> xr.Dataset:
    """Runs of which two thirds have a bump; their first mode changes by `own_extra` more in their own windows."""
    rng, bump = np.random.default_rng(seed), np.arange(runs) % 3 != 2
    size = np.broadcast_to(np.stack([np.broadcast_to(before, 8), np.broadcast_to(rise, 8)]), (runs, runs, 2, 8))
    size = size * (1 + 0.05 * rng.normal(size=size.shape))
    size[np.arange(runs), np.arange(runs), 1, 0] += own_extra
    size[~bump] = np.nan
    data = {"size": (("window", "run", "phase", "mode"), size), "bump": ("run", bump), "recovers": ("run", bump)}
    return xr.Dataset(data, {"run": range(runs), "phase": list(modes.PHASES), "mode": modes.NUMBERS})


@pytest.mark.parametrize(
    ("first", "fresh", "expected"),
    [(0.5, 0.5, "reproduced"), (0.0, 0.0, "contradicted"), (0.5, -0.5, "undecided")],
)
def test_bump_and_modes(first, fresh, expected):
    pairs = {
        f"setting {k}": (group(1, 1, own_extra=first, seed=k), group(1, 1, own_extra=fresh, seed=k + 9)) for k in (1, 2)
    }
    assert projections.cl_37(pairs).verdict == expected


@pytest.mark.parametrize(
    ("final", "late", "expected"),
    [(0.1, 1, "reproduced"), (2.0, [9, 1, 1, 1, 1, 1, 1, 1], "partly")],
)
def test_figure_8(final, late, expected):
    shape = (SEEDS, 8)
    fields = {"start": 2.0, "final": final, "late_rms": late}
    data = {name: (("seed", "mode"), noisy(value, *shape)) for name, value in fields.items()}
    outcome = projections.cl_42(xr.Dataset(data, {"mode": modes.NUMBERS}, {"n": 50}), drawn=0)
    assert outcome.verdict == expected
    assert outcome.parts["decays"] == ("reproduced" if expected == "reproduced" else "contradicted")


FOUR, FIVE = np.array([1, 1, 1, 1, 0, 0, 0, 0]), np.array([0, 0, 0, 0, 1, 0, 0, 0])


@pytest.mark.parametrize(
    ("before", "rise", "expected"),
    [
        (FOUR + 2 * FIVE, 0.2 * FOUR + 2 * FIVE, "reproduced"),
        (0.2 * FOUR + 2 * FIVE, 0.2 * FOUR + 2 * FIVE, "partly"),
        (FOUR + 2 * FIVE, FOUR + 0.2 * FIVE, "contradicted"),
    ],
)
def test_mode_five(before, rise, expected):
    assert projections.cl_43(group(before, rise), drawn=0).verdict == expected


@pytest.mark.parametrize(
    ("early", "late", "quiet", "expected"),
    [
        ([3, 3, 1, 1, 1, 1, 1, 1], 0.3, [1, 1, 9, 1, 1, 1, 1, 1], {"a": "reproduced", "b": "reproduced"}),
        ([3, 3, 1, 1, 1, 1, 1, 1], 0.3, [9, 1, 1, 1, 1, 1, 1, 1], {"a": "reproduced", "b": "partly"}),
        ([0.1, 0.1, 1, 1, 1, 1, 1, 1], 2.0, [9, 1, 1, 1, 1, 1, 1, 1], {"a": "contradicted", "b": "contradicted"}),
    ],
)
def test_figure_9(early, late, quiet, expected):
    runs = summary(early_std=early, late_std=[late] * 8, late_rms=[late] * 8, quiet=quiet)
    outcome = projections.cl_44(runs.sel(step=0.001, design="iid"), drawn=0)
    assert outcome.parts == expected


@pytest.mark.parametrize(
    ("flips", "quiet", "expected"),
    [((20, 90), (5000, 500), "reproduced"), ((20, 90), (500, 5000), "partly"), ((90, 20), (500, 5000), "contradicted")],
)
def test_figure_10(flips, quiet, expected):
    found = {m: summary(flips=[flips[m == 8192]] * 8, quiet=[quiet[m == 8192]] * 8) for m in WIDTHS}
    assert projections.cl_45(found).verdict == expected


@pytest.mark.parametrize(("rho", "word"), [(0.8, "Yes"), (-0.2, "No")])
def test_residuals(rho, word):
    values = noisy(rho, 2, 2, SEEDS, 8)
    coordinates = {"width": [128, 512], "design": ["iid", "two_rightmost"], "mode": modes.NUMBERS}
    ends = xr.Dataset({"agreement": (("width", "design", "seed", "mode"), values)}, coordinates)
    outcome = projections.cl_54(ends)
    assert outcome.verdict == "answered" and outcome.answer.startswith(word)
