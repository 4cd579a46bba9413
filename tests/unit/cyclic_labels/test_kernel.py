"""Rules on the kernel's modes, on planted data for which the claim is true and for which it is false."""

import numpy as np
import pytest
import xarray as xr
from planted.records import planted, scatter, verdicts

from experiments.cyclic_labels.kernel import modes
from experiments.cyclic_labels.kernel import rules as kernel

PAGE, WIDTHS = "cyclic_labels/kernel", [128, 512, 8192]
RNG = np.random.default_rng(0)


def noisy(values, *shape, scale=0.02):
    """Values broadcast to the shape, each with a little noise of its own."""
    return np.broadcast_to(values, shape) * (1 + scale * RNG.normal(size=shape))


def per_width(value):
    """A number for each of the three widths, shaped to vary along the first of three axes."""
    return np.reshape(np.broadcast_to(value, 3), (3, 1, 1))


def regime(cosine, size) -> xr.Dataset:
    near, far = noisy(per_width(cosine), 3, 3, 10, scale=0.002), noisy(per_width(size), 3, 3, 10)
    return planted(f"{PAGE}/kernel_regime", subspace=near, null_subspace=1.0, step_eigenvalue=far)


test_regime = verdicts(
    kernel.cl_34,
    regime,
    reproduced=[(0.98, 1.0)],
    partly=[(0.98, [1, 1, 5])],
    contradicted=[(0.80, [1, 5, 5])],
    undecided=[(0.95, 1.0)],
)


def summaries(narrow, wide=None) -> tuple[xr.Dataset, ...]:
    """The two records of summaries with these fields, given for their own axis; those at width 8192 may differ."""

    def record(name, fields):
        noise = {one: 1 + scatter(name, one, 0.02, seed) for seed, one in enumerate(fields)}
        found = {one: noise[one] * np.asarray(values, float) for one, values in fields.items()}
        return planted(name, **found).assign_attrs(n=50)

    return record(f"{PAGE}/modes", narrow), record(f"{PAGE}/modes_wide", wide or narrow)


#: A record of bumps in which seed 0 is the one to draw.
FIRST = planted(f"{PAGE}/bumps_by_width", recovers=True)
test_order_of_decay = verdicts(
    kernel.cl_36,
    lambda times: (summaries({"decay": times, "decay_mean": 100 * modes.NUMBERS}),),
    reproduced=[100 * modes.NUMBERS],
    contradicted=[100 * modes.NUMBERS[::-1]],
)


def spectra(share, enough) -> xr.Dataset:
    share = np.array(share) + 0.002 * RNG.normal(size=(2, 5, 4, 50, 1)) * [1, -1]
    return planted(f"{PAGE}/spectra", {"mode": [1, 2]}, share=share, enough=np.resize(enough, 50))


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
    share = noisy(share, 3, 2, 20, 2, 8)
    return planted(f"{PAGE}/early_signal", {"rank": range(1, 9)}, changes=list(changes), share=share)


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
    found = summaries({"captured": np.linspace(0, 1, 15), "participation": 10})
    early = planted(f"{PAGE}/early_swings", participation=noisy(np.reshape([10, 10, wide], (3, 1, 1, 1)), 3, 2, 2, 50))
    outcome = kernel.cl_41(found, early)
    assert outcome.verdict == expected and outcome.parts["a"] == "answered"
    assert outcome.numbers["share in five modes, 128"].below(0.8)


def noise(rate, change):
    flips = noisy(np.reshape([[rate(m, k) for k in range(7)] for m in WIDTHS], (3, 7, 1, 1)), 3, 7, 10, 8)
    changes = {name: noisy(per_width(change), 3, 7, 10) for name in ("flip", "move", "top_share")}
    return planted(f"{PAGE}/sensitivity", flips=flips, **changes)


test_oscillation = verdicts(
    kernel.cl_46,
    noise,
    corrected=[(lambda m, k: 20 + 5 * k + 2.5 * np.log2(m / 128), 1)],  # a function of eta lambda_1 alone
    reproduced=[(lambda m, k: 10 * np.log2(m / 64) * (1 - 0.05 * k), WIDTHS)],
    contradicted=[(lambda m, k: 10 * (m / 128) * (1 + 0.1 * k), WIDTHS)],
)


def windows(before, rise, *own) -> xr.Dataset:
    """The sizes of runs of which two thirds have a bump, before it and while it rises.

    The first mode changes by `own` more in the own windows of the first and of the fresh seeds.
    """
    some = np.arange(24)
    bump, noise = some % 3 != 2, 0.05 * RNG.normal(size=(2, 2, 2, 24, 24, 2, 8))
    size = np.stack([np.broadcast_to(before, 8), np.broadcast_to(rise, 8)]) * (1 + noise)
    size[:, :, :, some, some, 1, 0] += np.reshape(own, (2, 1))
    size[:, :, :, ~bump] = np.nan
    return planted(f"{PAGE}/bump_windows", {"run": some, "window": some}, size=size, bump=bump, recovers=bump)


test_bump_and_modes = verdicts(
    kernel.cl_37,
    lambda *own: windows(1, 1, *own),
    reproduced=[(0.5, 0.5)],
    contradicted=[(0.0, 0.0)],
    undecided=[(0.5, -0.5)],
)


def figure_8(final, late):
    fields = {"start": 2.0, "final": final, "late_rms": late}
    noise = {name: noisy(value, 2, 2, 200, 8) for name, value in fields.items()}
    return planted(f"{PAGE}/projection_ends", **noise).assign_attrs(n=50), FIRST


LARGE, NOISY = [3, 3, 1, 1, 1, 1, 1, 1], [9, 1, 1, 1, 1, 1, 1, 1]
test_figure_8 = verdicts(kernel.cl_42, figure_8, rrr=[(0.1, 1)], rcc=[(2.0, NOISY)])
FOUR, FIVE = np.array([1, 1, 1, 1, 0, 0, 0, 0]), np.array([0, 0, 0, 0, 1, 0, 0, 0])


test_mode_five = verdicts(
    kernel.cl_43,
    lambda before, rise: (windows(before, rise, 0, 0), FIRST),
    reproduced=[(FOUR + 2 * FIVE, 0.2 * FOUR + 2 * FIVE)],
    partly=[(0.2 * FOUR + 2 * FIVE, 0.2 * FOUR + 2 * FIVE)],
    contradicted=[(FOUR + 2 * FIVE, FOUR + 0.2 * FIVE)],
)


def noises(early, late, quiet):
    return summaries({"early_std": early, "late_std": late, "late_rms": late, "quiet": quiet})[0], FIRST


test_figure_9 = verdicts(
    kernel.cl_44,
    noises,
    rr=[(LARGE, 0.3, [1, 1, 9, 1, 1, 1, 1, 1])],
    rp=[(LARGE, 0.3, NOISY)],
    cc=[([0.1, 0.1, 1, 1, 1, 1, 1, 1], 2.0, NOISY)],
)


def by_size(swings, quiet):
    far = noisy(np.reshape([swings[0], swings[0], swings[1]], (3, 1, 1, 1, 1)), 3, 2, 2, 50, 8)
    return summaries(*({"quiet": late} for late in quiet)), planted(f"{PAGE}/early_swings", swing=far)


test_figure_10 = verdicts(
    kernel.cl_45,
    by_size,
    reproduced=[((0.2, 0.9), (5000, 500))],
    partly=[((0.2, 0.9), (500, 5000))],
    contradicted=[((0.9, 0.2), (500, 5000))],
)


@pytest.mark.parametrize("rho", [0.8, -0.2])
def test_residuals(rho):
    outcome = kernel.cl_54(planted(f"{PAGE}/projection_ends", agreement=noisy(rho, 2, 2, 200, 8)))
    assert outcome.verdict == "answered"
    assert [each.exceeds(0.5) for each in outcome.numbers.values()] == 4 * [rho > 0.5]
