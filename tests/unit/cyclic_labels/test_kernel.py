"""Rules on the kernel's modes, on planted data for which the claim is true and for which it is false."""

import numpy as np
import pytest
import xarray as xr
from planted.records import table, verdicts

from experiments.cyclic_labels.kernel import modes
from experiments.cyclic_labels.kernel import rules as kernel

WIDTHS, SEEDS = [128, 512, 8192], 20
RNG = np.random.default_rng(0)
MODE = {"mode": modes.NUMBERS}


def noisy(values, *shape, scale=0.02):
    """Values broadcast to the shape, each with a little noise of its own."""
    return np.broadcast_to(values, shape) * (1 + scale * RNG.normal(size=shape))


def per_width(value):
    """A number for each of the three widths, shaped to vary along the first of three axes."""
    return np.reshape(np.broadcast_to(value, 3), (3, 1, 1))


def regime(cosine, size) -> xr.Dataset:
    subspace = noisy(per_width(cosine), 3, 3, 10, scale=0.002)
    axes = {"width": WIDTHS, "step": list(kernel.STEPS), "seed": range(10)}
    return table(axes, subspace=subspace, null_subspace=1.0, step_eigenvalue=noisy(per_width(size), 3, 3, 10))


test_regime = verdicts(
    kernel.cl_34,
    regime,
    reproduced=[(0.98, 1.0)],
    partly=[(0.98, [1, 1, 5])],
    contradicted=[(0.80, [1, 5, 5])],
    undecided=[(0.95, 1.0)],
)


def summary(**fields) -> xr.Dataset:
    """Recorded runs at one width; a field is given for its own axis and repeated over step, design and seed."""
    steps, designs = [0.0001, 0.001, 0.01], ["iid", "strat", "two_rightmost"]
    axes, found = {"step": steps, "design": designs, "seed": range(SEEDS)}, []
    for name, values in fields.items():
        own = {"captured": {"leading": range(1, 16)}, "participation": {}}.get(name, MODE)
        found.append(table(axes | own, **{name: noisy(np.asarray(values, float), 3, 3, SEEDS, *np.shape(values))}))
    return xr.merge(found).assign_attrs(n=50)


def summaries(runs) -> tuple[xr.Dataset, xr.Dataset]:
    """The two records of summaries from runs by width."""
    narrow = xr.concat([runs[m] for m in WIDTHS[:2]], xr.Variable("width", WIDTHS[:2]))
    return narrow, runs[8192]


#: A record of bumps in which seed 0 is the one to draw.
FIRST = table({"width": WIDTHS[:2], "step": [0.001], "seed": range(3)}, recovers=True)
test_order_of_decay = verdicts(
    kernel.cl_36,
    lambda times: (summaries(dict.fromkeys(WIDTHS, summary(decay=times, decay_mean=100 * modes.NUMBERS))),),
    reproduced=[100 * modes.NUMBERS],
    contradicted=[100 * modes.NUMBERS[::-1]],
)


def spectra(share, enough) -> xr.Dataset:
    axes = {"initial": ["default", "normal"], "width": [32, *WIDTHS], "n": [20, 50, 100, 200], "seed": range(SEEDS)}
    share = np.array(share) + 0.002 * RNG.normal(size=(2, 4, 4, SEEDS, 1)) * [1, -1]
    return table(axes | {"mode": [1, 2]}, share=share).merge(table(axes, enough=np.resize(enough, SEEDS)))


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


def signal(changes, share):
    axes = {"width": WIDTHS, "design": ["iid", "strat"], "seed": range(SEEDS)}
    ranks = axes | {"epoch": [0, 100], "rank": range(1, 9)}
    return table(axes | MODE, changes=list(changes)).merge(table(ranks, share=noisy(share, 3, 2, SEEDS, 2, 8)))


LOW = [0, 0, 0.3, 0.3, 0.2, 0.1, 0.1, 0]
test_alignment = verdicts(
    kernel.cl_40,
    signal,
    reproduced=[(range(8), [0.5, 0.3, 0.05, 0.05, 0.05, 0.05, 0, 0])],
    partly=[(range(8), LOW)],
    contradicted=[(range(8)[::-1], LOW)],
)


@pytest.mark.parametrize(("wide", "expected"), [(5, "reproduced"), (10, "contradicted")])
def test_compression(wide, expected):
    captured = np.linspace(0, 1, 15)
    found = {m: summary(captured=captured, participation=wide if m == 8192 else 10) for m in WIDTHS}
    outcome = kernel.cl_41(summaries(found))
    assert outcome.verdict == expected and outcome.parts["a"] == "answered"
    assert outcome.numbers["share in five modes, 128"].below(0.8)


def noise(rate, change):
    axes = {"width": WIDTHS, "step": [0.001 * 4.0**k for k in range(-3, 4)], "seed": range(10)}
    flips = np.reshape([[rate(m, k) for k in range(7)] for m in WIDTHS], (3, 7, 1, 1))
    found = table(axes | MODE, flips=noisy(flips, 3, 7, 10, 8))
    return found.merge(table(axes, **{x: noisy(per_width(change), 3, 7, 10) for x in ("flip", "move", "top_share")}))


test_oscillation = verdicts(
    kernel.cl_46,
    noise,
    corrected=[(lambda m, k: 20 + 5 * k + 2.5 * np.log2(m / 128), 1)],  # a function of eta lambda_1 alone
    reproduced=[(lambda m, k: 10 * np.log2(m / 64) * (1 - 0.05 * k), WIDTHS)],
    contradicted=[(lambda m, k: 10 * (m / 128) * (1 + 0.1 * k), WIDTHS)],
)


def group(before, rise, *, own_extra=0.0, runs=24, seed=0) -> xr.Dataset:
    """Runs of which two thirds have a bump; their first mode changes by `own_extra` more in their own windows."""
    rng, bump = np.random.default_rng(seed), np.arange(runs) % 3 != 2
    size = np.broadcast_to(np.stack([np.broadcast_to(before, 8), np.broadcast_to(rise, 8)]), (runs, runs, 2, 8))
    size = size * (1 + 0.05 * rng.normal(size=size.shape))
    size[np.arange(runs), np.arange(runs), 1, 0] += own_extra
    size[~bump] = np.nan
    axes = {"window": range(runs), "run": range(runs), "phase": list(modes.PHASES)} | MODE
    return table(axes, size=size).merge(table({"run": range(runs)}, bump=bump, recovers=bump))


def recorded(make) -> xr.Dataset:
    """The record of windows: make(half, k) in the first and the fresh seeds of each design and width."""
    groups = [[[make(half, 2 * w + d) for half in range(2)] for d in range(2)] for w in range(2)]
    axes = {"width": WIDTHS[:2], "design": ["two_rightmost", "poor(5,1)"], "first": [0, 50]}
    return xr.combine_nested(groups, list(axes)).assign_coords(axes)


def of_halves(*extra):
    return recorded(lambda half, k: group(1, 1, own_extra=extra[half], seed=k + 9 * half))


test_bump_and_modes = verdicts(
    kernel.cl_37, of_halves, reproduced=[(0.5, 0.5)], contradicted=[(0.0, 0.0)], undecided=[(0.5, -0.5)]
)


@pytest.mark.parametrize(
    ("final", "late", "expected"),
    [(0.1, 1, "reproduced"), (2.0, [9, 1, 1, 1, 1, 1, 1, 1], "partly")],
)
def test_figure_8(final, late, expected):
    fields = {"start": 2.0, "final": final, "late_rms": late}
    axes = {"width": [128], "design": ["two_rightmost"], "seed": range(SEEDS)} | MODE
    drawn = table(axes, **{name: noisy(value, 1, 1, SEEDS, 8) for name, value in fields.items()})
    outcome = kernel.cl_42(drawn.assign_attrs(n=50), FIRST)
    assert outcome.verdict == expected
    assert outcome.parts["decays"] == ("reproduced" if expected == "reproduced" else "contradicted")


FOUR, FIVE = np.array([1, 1, 1, 1, 0, 0, 0, 0]), np.array([0, 0, 0, 0, 1, 0, 0, 0])


test_mode_five = verdicts(
    kernel.cl_43,
    lambda before, rise: (recorded(lambda half, k: group(before, rise)), FIRST),
    reproduced=[(FOUR + 2 * FIVE, 0.2 * FOUR + 2 * FIVE)],
    partly=[(0.2 * FOUR + 2 * FIVE, 0.2 * FOUR + 2 * FIVE)],
    contradicted=[(FOUR + 2 * FIVE, FOUR + 0.2 * FIVE)],
)


def noises(early, late, quiet):
    runs = summary(early_std=early, late_std=[late] * 8, late_rms=[late] * 8, quiet=quiet)
    return runs.expand_dims(width=[512]), FIRST


LARGE, NOISY = [3, 3, 1, 1, 1, 1, 1, 1], [9, 1, 1, 1, 1, 1, 1, 1]
test_figure_9 = verdicts(
    kernel.cl_44,
    noises,
    rr=[(LARGE, 0.3, [1, 1, 9, 1, 1, 1, 1, 1])],
    rp=[(LARGE, 0.3, NOISY)],
    cc=[([0.1, 0.1, 1, 1, 1, 1, 1, 1], 2.0, NOISY)],
)


def by_size(flips, quiet):
    return (summaries({m: summary(flips=[flips[m == 8192]] * 8, quiet=[quiet[m == 8192]] * 8) for m in WIDTHS}),)


test_figure_10 = verdicts(
    kernel.cl_45,
    by_size,
    reproduced=[((20, 90), (5000, 500))],
    partly=[((20, 90), (500, 5000))],
    contradicted=[((90, 20), (500, 5000))],
)


@pytest.mark.parametrize("rho", [0.8, -0.2])
def test_residuals(rho):
    axes = {"width": [128, 512], "design": ["iid", "two_rightmost"], "seed": range(SEEDS)} | MODE
    outcome = kernel.cl_54(table(axes, agreement=noisy(rho, 2, 2, SEEDS, 8)))
    assert outcome.verdict == "answered"
    assert [each.exceeds(0.5) for each in outcome.numbers.values()] == 4 * [rho > 0.5]
