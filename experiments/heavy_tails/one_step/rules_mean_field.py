"""Rules on a student in mean-field scaling (Appendix D; Figures 10, 11 and 13): HT-43, HT-44, HT-46 and HT-47.

Means over draws are compared with their thresholds by Student's interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from experiments.heavy_tails import shapes
from experiments.heavy_tails.long_runs.rules import of_draws
from experiments.heavy_tails.one_step.rules import gap, mean, moved, single_spike, told
from experiments.heavy_tails.shapes import SPIKE_RATIO
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.spectra import marchenko_pastur, tails
from shallow.stats import Interval

WIDTH, INPUTS = 1500, 1000
NOISE = shapes.noise_hill(WIDTH, INPUTS)
QUIET, LOUD = 0.00005, 0.04  # learning rates of Adam
TWINS = [0.0016, 0.1, 1.0, 10.0]
READINGS = ("code", "text")
#: First updates at the sizes of Table 2, :func:`scaling.first_step_of_gd`.
SIZES = ("heavy_tails/variants/mean_field_sizes", "heavy_tails/variants/mean_field_sizes_more")
GD = ("heavy_tails/variants/mean_field_gd", "heavy_tails/variants/mean_field_gd_more")
BOTH_SCALINGS = ("heavy_tails/variants/two_scalings", "heavy_tails/variants/two_scalings_text")


def spectra(gd: Sequence[xr.Dataset], adam: xr.Dataset, twins: Sequence[xr.Dataset]) -> dict[str, xr.DataArray]:
    """Eigenvalues (rate, seed, step, k) by optimiser and reading, and of "twins", Adam in both scalings.

    gd: runs of both readings, then more of the code's; twins: of the code's Adam, then of the text's.
    """
    code = xr.concat([one.eigenvalues.sel(rule="GD code", drop=True) for one in gd], "seed")
    found = {"GD code": code, "GD text": gd[0].eigenvalues.sel(rule="GD text")}
    found |= {f"Adam {reading}": adam.eigenvalues.sel(rule=f"Adam {reading}") for reading in READINGS}
    return found | {f"twins {reading}": one.eigenvalues.isel(rule=0) for reading, one in zip(READINGS, twins)}


@decides(sizes=SIZES)
def ht_43(sizes, *, edge, length, order, by_length, by_edge):
    """Corollary D.1: norms of the start, and the learning rates at which the first update has the same."""
    found = xr.concat(sizes, "seed")
    h, d = 3 * found.n / 4, found.n / 2
    start = {"spectral": 1 + (h / d) ** 0.5, "Frobenius": h**0.5}
    start = {norm: found.start.sel(norm=norm) / one for norm, one in start.items()}
    rate = {"Frobenius": d**-0.5, "spectral": (h * d) ** -0.5}
    ratio = {
        (rule, norm): one * (found.direction / found.start).sel(rule=f"Adam {rule}", norm=norm)
        for rule in READINGS
        for norm, one in rate.items()
    }
    whole = [
        claims.within(mean(start[norm].sel(n=n)), *limits)
        for norm, limits in {"spectral": edge, "Frobenius": length}.items()
        for n in found.n.values
    ]

    def holds(rule: str) -> dict[str, bool | None]:
        return {
            "a": claims.all_of(*whole),
            "b": balanced(ratio[rule, "Frobenius"], order, by_length),
            "c": balanced(ratio[rule, "spectral"], order, by_edge),
        }

    ends = [int(found.n[0]), int(found.n[-1])]
    return Found(
        holds("code"),
        {
            f"{norm} norm of Adam's first update over that of the start, {n} points": mean(ratio["code", norm].sel(n=n))
            for norm in rate
            for n in ends
        }
        | {"text": told(holds("text"))},
    )


def balanced(ratio: xr.DataArray, order: Sequence[float], spread: float) -> bool | None:
    """Whether ratios (n, seed) are of the order one at each size, and their means differ by a small share over sizes.

    The factor between the sizes with the largest and the least mean has an interval of paired draws.
    """
    inside = [claims.within(mean(ratio.sel(n=n)), *order) for n in ratio.n.values]
    by_size = ratio.mean("seed")
    extremes = ratio.sel(n=by_size.idxmax()) / ratio.sel(n=by_size.idxmin())
    return claims.all_of(*inside, claims.below(mean(extremes), 1 + spread))


@decides(gd=GD, adam="heavy_tails/variants/mean_field", twins=BOTH_SCALINGS)
def ht_44(gd, adam, twins, *, close, quiet, calm, steeper, wide):
    """Figures 10, 11 and 13: spike and wide bulk in mean-field scaling, and the same runs in both scalings."""
    found = spectra(gd, adam, twins)
    least = {"exponent": NOISE - steeper, "distance": wide}

    def holds(reading: str) -> dict[str, bool | None]:
        gd, adam, twins = (found[f"{name} {reading}"] for name in ("GD", "Adam", "twins"))
        last = adam.sel(step=10)
        ends = adam.sel(rate=QUIET, step=[10, 0]).transpose("seed", ...).values
        at_rest = xr.DataArray([shapes.median_distance(*pair) for pair in ends], dims="seed")
        return {
            "a": claims.all_of(
                *(claims.below(mean(moved(gd.sel(rate=rate), 1, "step")), close) for rate in (0.1, 1.0)),
                single_spike(gd.sel(rate=100.0, step=1)),
                mean(gap(gd.sel(rate=2000.0, step=1))).exceeds(SPIKE_RATIO),
            ),
            "b": claims.all_of(
                claims.below(mean(moved(adam.sel(rate=QUIET), 1, "step")), quiet),
                single_spike(adam.sel(step=1, rate=LOUD)),
            ),
            "c": claims.all_of(
                claims.below(mean(at_rest), calm),
                claims.below(mean(gap(last.sel(rate=QUIET))), SPIKE_RATIO),
                is_wide(wide_bulk(last.sel(rate=LOUD)), least),
            ),
            "d": same_classes(twins, close, least),
        }

    one, both = found["GD code"].sel(rate=100, step=1), found["twins code"].sel(step=10)
    bulk = wide_bulk(found["Adam code"].sel(rate=LOUD, step=10))
    return Found(
        holds("code"),
        {"GD at 100, first over second": mean(gap(one)), "noise": NOISE, "text": told(holds("text"))}
        | {f"Adam at {LOUD}, ten steps, {name}": each for name, each in bulk.items()}
        | {
            f"first over second after ten steps at {rate}, {name}": mean(gap(both.sel(scaling=name, rate=rate)))
            for name in ("ntk", "mean-field")
            for rate in (0.1, 1.0)
        },
    )


def same_classes(twins: xr.DataArray, close: float, least: Mapping[str, float]) -> bool | None:
    """Whether the spectra of both scalings are of one class at every rate, after one and after ten steps."""
    places = [(rate, step) for rate in TWINS for step in (1, 10)]
    classes = (
        [shape_class(twins.sel(scaling=name, rate=rate), step, close, least) for rate, step in places]
        for name in ("ntk", "mean-field")
    )
    return claims.all_of(*(None if None in (*one, *other) else one == other for one, other in zip(*classes)))


def wide_bulk(eigenvalues: xr.DataArray) -> dict[str, Interval]:
    """PL_Alpha_Hill without the largest eigenvalue, and distance from a Marchenko-Pastur law, of spectra (seed, k).

    For the distance the largest eigenvalue is left out if it stands apart.
    """
    spectra = eigenvalues.transpose("seed", "k").values.astype(float)
    kept = [values[int(values[0] >= SPIKE_RATIO * values[1]) :] for values in spectra]
    distances = [marchenko_pastur.fitted_distance(values, WIDTH, INPUTS) for values in kept]
    exponents = [tails.hill(values[1:]) for values in spectra]
    return {"exponent": of_draws(np.array(exponents)), "distance": of_draws(np.array(distances))}


def is_wide(bulk: Mapping[str, Interval], least: Mapping[str, float]) -> bool | None:
    """The criterion for a wide bulk: an exponent below, and a distance from noise above, what is asked at least."""
    return claims.all_of(claims.below(bulk["exponent"], least["exponent"]), bulk["distance"].exceeds(least["distance"]))


def shape_class(eigenvalues: xr.DataArray, step: int, close: float, least: Mapping[str, float]) -> tuple:
    """Whether spectra (seed, step, k) are unchanged, have a spike, have a wide bulk; None where the draws leave it."""
    after = eigenvalues.sel(step=step)
    return (
        claims.below(of_draws(moved(eigenvalues, step, "step").values), close),
        of_draws(gap(after).values).exceeds(SPIKE_RATIO),
        is_wide(wide_bulk(after), least),
    )


@decides(sizes=SIZES)
def ht_46(sizes, *, steepest):
    """Appendix D.1: a learning rate of order h is large enough for GD's spike."""
    found = xr.concat(sizes, "seed")
    rows = [int(n) for n in found.n.values]
    logs = np.log([3 * n / 4 for n in rows]), np.log(found.threshold.transpose("n", "seed").values)
    slope = stats.student(np.polyfit(*logs, 1)[0])  # of the first spike, by draw
    gaps = {reading: {n: mean(found.ratio.sel(reading=reading, n=n)) for n in rows} for reading in READINGS}
    single = [claims.below(mean(found.second.sel(reading="code", n=n)), SPIKE_RATIO) for n in rows]
    spiked = [each.exceeds(SPIKE_RATIO) for each in gaps["code"].values()]
    return Found(
        claims.all_of(*spiked, *single, claims.below(slope, steepest)),
        {"power of h": slope, "power": slope.estimate}
        | {f"first over second, h = {3 * n // 4}": each for n, each in gaps["code"].items()}
        | {"h with a spike in the text": [3 * n // 4 for n, each in gaps["text"].items() if each.exceeds(SPIKE_RATIO)]},
    )


@decides(found="heavy_tails/variants/mean_field_readouts")
def ht_47(found):
    """Appendix D, note on the kernel lower bound: one step with a spike beats the initial features."""
    best = found.test.min("penalty")

    def gain(features: str, student: str) -> Interval:
        one = best.sel(features=features)
        return mean(one.sel(student="untrained") - one.sel(student=student))

    names = ("GD", "Adam")
    gains = {name: gain("code", f"{name} code") for name in names}
    left = {name: mean(best.sel(features="code", student=f"{name} code") - found.ideal) for name in names}
    return Found(
        {name: each.exceeds(0) for name, each in gains.items()},
        {"gain": gains}
        | {"still above the best linear predictor": left}
        | {"text": told({name: gain("text", f"{name} text").exceeds(0) for name in names})},
    )
