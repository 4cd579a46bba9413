"""Rules on a student in mean-field scaling (Appendix D; Figures 10, 11 and 13): HT-43, HT-44, HT-46 and HT-47.

Means over draws are compared with their thresholds by Student's interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import xarray as xr

from experiments.heavy_tails import shapes
from experiments.heavy_tails.rules.one_step import gap, mean, single_spike, with_text
from experiments.heavy_tails.shapes import SPIKE_RATIO
from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.spectra import marchenko_pastur, tails
from shallow.stats import Interval

WIDTH, INPUTS = 1500, 1000
QUIET, LOUD = 0.00005, 0.04  # learning rates of Adam
TWINS = [0.0016, 0.1, 1.0, 10.0]
READINGS = ("code", "text")


@cache
def spectra() -> dict[str, xr.DataArray]:
    """Eigenvalues (rate, seed, step, k) by optimiser and reading, and of "twins", Adam in both scalings."""
    gd, more, adam, twins, twins_text = (
        records.load("heavy_tails/mean_field_gd"),
        records.load("heavy_tails/mean_field_gd_more"),
        records.load("heavy_tails/mean_field"),
        records.load("heavy_tails/two_scalings"),
        records.load("heavy_tails/two_scalings_text"),
    )
    both = xr.concat([one.eigenvalues.sel(rule="GD code", drop=True) for one in (gd, more)], "seed")
    found = {"GD code": both, "GD text": gd.eigenvalues.sel(rule="GD text")}
    found |= {name: adam.eigenvalues.sel(rule=name) for name in ("Adam code", "Adam text")}
    found |= {"twins code": twins.eigenvalues.isel(rule=0), "twins text": twins_text.eigenvalues.isel(rule=0)}
    return found


@cache
def sizes() -> xr.Dataset:
    """First updates at the sizes of Table 2, :func:`scaling.first_step_of_gd`."""
    first, more = records.load("heavy_tails/mean_field_sizes"), records.load("heavy_tails/mean_field_sizes_more")
    return xr.concat([first, more], "seed")


def ht_43(found: xr.Dataset | None = None) -> Outcome:
    """Corollary D.1: norms of the start, and the learning rates at which the first update has the same."""
    found = sizes() if found is None else found
    h, d = 3 * found.n / 4, found.n / 2
    start = {
        "spectral": found.start.sel(norm="spectral") / (1 + (h / d) ** 0.5),
        "Frobenius": found.start.sel(norm="Frobenius") / h**0.5,
    }
    whole = {"spectral": (0.98, 1.01), "Frobenius": (0.995, 1.005)}
    rate = {"Frobenius": d**-0.5, "spectral": (h * d) ** -0.5}
    ratio = {
        (rule, norm): rate[norm] * (found.direction / found.start).sel(rule=f"Adam {rule}", norm=norm)
        for rule in ("code", "text") for norm in rate
    }  # fmt: skip

    def decided(rule: str) -> dict[str, bool | None]:
        return {
            "a": claims.all_of(*(
                claims.within(mean(start[norm].sel(n=n)), *limits)
                for norm, limits in whole.items() for n in found.n.values
            )),
            "b": balanced(ratio[rule, "Frobenius"], 1.05),
            "c": balanced(ratio[rule, "spectral"], 1.10),
        }  # fmt: skip

    evidence = {
        f"{norm} norm of Adam's first update over that of the start, {n} points": mean(ratio["code", norm].sel(n=n))
        for norm in rate for n in (int(found.n[0]), int(found.n[-1]))
    }  # fmt: skip
    first, last, first_spectral, last_spectral = evidence.values()
    return Outcome(
        parts=decided("code"),
        answer={
            "reproduced": "Yes: at these rates Adam's first update is as large as the weights, in each norm, at every "
            "size.",
            "contradicted": "No: the norms do not scale so.",
            "otherwise": "In part: some of these norms scale as stated.",
        },
        finding=f"from {int(found.n[0])} to {int(found.n[-1])} points the first update of Adam over the weights is "
        f"{first:.3f} to {last:.3f} in Frobenius norm at 1/sqrt(d), and {first_spectral:.3f} to {last_spectral:.3f} in "
        f"spectral norm at 1/sqrt(hd); {with_text(decided('code'), decided('text'))}, where ε = 1e-8 shrinks the "
        "update of larger students",
        evidence=evidence,
    )


def balanced(ratio: xr.DataArray, spread: float) -> bool | None:
    """Whether ratios (n, seed) lie in [0.1, 10] at each size, and their means at two sizes differ by a factor at most.

    The factor between the sizes with the largest and the least mean has an interval of paired draws.
    """
    sizes = ratio.n.values
    inside = [claims.within(mean(ratio.sel(n=n)), 0.1, 10) for n in sizes]
    by_size = ratio.mean("seed")
    extremes = ratio.sel(n=by_size.idxmax()) / ratio.sel(n=by_size.idxmin())
    return claims.all_of(*inside, claims.below(mean(extremes), spread))


def ht_44(found: Mapping[str, xr.DataArray] | None = None) -> Outcome:
    """Figures 10, 11 and 13: spike and wide bulk in mean-field scaling, and the same runs in both scalings."""
    found = spectra() if found is None else found
    gd, adam = found["GD code"], found["Adam code"]
    parts, text = (
        carried_over(*(found[f"{name} {reading}"] for name in ("GD", "Adam", "twins"))) for reading in READINGS
    )
    bulk = wide_bulk(adam.sel(rate=LOUD, step=10))
    twins = gap(found["twins code"].sel(step=10))
    apart = {
        (name, rate): mean(twins.sel(scaling=name, rate=rate)) for name in ("ntk", "mean-field") for rate in (0.1, 1.0)
    }
    of_gd = mean(gap(gd.sel(rate=100, step=1)))
    farther = apart["mean-field", 1.0].low > 2 * apart["ntk", 1.0].high
    remote = "; but after ten steps the spike is still far outside, unlike in NTK scaling" if farther else ""
    return Outcome(
        parts=parts,
        answer={
            "reproduced": f"Yes: spike and wide bulk appear at rates scaled as predicted{remote}.",
            "contradicted": "No: neither spike nor wide bulk carry over.",
            "otherwise": "In part: some of the spectra carry over to the other scaling.",
        },
        finding=f"the largest eigenvalue is {of_gd} times the second after GD at 100; after ten steps of Adam at "
        f"{LOUD} the exponent without it is {bulk['exponent']:.3f} (noise {shapes.noise_hill(WIDTH, INPUTS):.2f}) and "
        f"the bulk {bulk['distance']:.3f} from a Marchenko-Pastur law (limit 0.10); in equal units the classes agree, "
        f"but after ten steps at 0.1 and 1 the largest eigenvalue is {apart['mean-field', 0.1]:.0f} and "
        f"{apart['mean-field', 1.0]:.0f} times the second, against {apart['ntk', 0.1]:.1f} and {apart['ntk', 1.0]:.1f} "
        f"in NTK scaling; {with_text(parts, text)}",
        evidence={"GD at 100, first over second": of_gd}
        | {f"Adam at {LOUD}, ten steps, {name}": each for name, each in bulk.items()}
        | {f"first over second after ten steps at {rate}, {name}": each for (name, rate), each in apart.items()},
    )


def carried_over(gd: xr.DataArray, adam: xr.DataArray, twins: xr.DataArray) -> dict[str, bool | None]:
    """The parts of HT-44 for the spectra of one reading; of a single draw the numbers themselves are compared."""
    small, quiet, calm = 0.01, 0.02, 0.02
    first, last = adam.sel(step=1), adam.sel(step=10)
    at_rest = xr.DataArray(
        [shapes.median_distance(*pair) for pair in adam.sel(rate=QUIET, step=[10, 0]).transpose("seed", ...).values],
        dims="seed",
    )
    classes = [
        shape_class(twins.sel(scaling=name, rate=rate), step) for name in ("ntk", "mean-field")
        for rate in TWINS for step in (1, 10)
    ]  # fmt: skip
    half = len(classes) // 2
    alike = [
        None if None in (*one, *other) else one == other for one, other in zip(classes[:half], classes[half:])
    ]  # fmt: skip
    return {
        "a": claims.all_of(
            *(claims.below(mean(moved(gd.sel(rate=rate), 1)), small) for rate in (0.1, 1.0)),
            single_spike(gd.sel(rate=100.0, step=1)),
            mean(gap(gd.sel(rate=2000.0, step=1))).exceeds(SPIKE_RATIO),
        ),
        "b": claims.all_of(
            claims.below(mean(moved(adam.sel(rate=QUIET), 1)), quiet), single_spike(first.sel(rate=LOUD))
        ),
        "c": claims.all_of(
            claims.below(mean(at_rest), calm),
            claims.below(mean(gap(last.sel(rate=QUIET))), SPIKE_RATIO),
            is_wide(wide_bulk(last.sel(rate=LOUD))),
        ),
        "d": claims.all_of(*alike),
    }  # fmt: skip


def moved(eigenvalues: xr.DataArray, step: int) -> xr.DataArray:
    """Largest relative change of the first 99 % of the eigenvalues (seed, step, k) from the start, by draw."""
    pairs = eigenvalues.sel(step=[0, step]).transpose("seed", "step", "k").values
    return xr.DataArray([shapes.change(last, first) for first, last in pairs.astype(float)], dims="seed")


def wide_bulk(eigenvalues: xr.DataArray) -> dict[str, Interval]:
    """PL_Alpha_Hill without the largest eigenvalue, and distance from a Marchenko-Pastur law, of spectra (seed, k).

    For the distance the largest eigenvalue is left out if it stands apart.
    """
    spectra = eigenvalues.transpose("seed", "k").values.astype(float)
    kept = [values[int(values[0] >= SPIKE_RATIO * values[1]) :] for values in spectra]
    distances = [marchenko_pastur.fitted_distance(values, WIDTH, INPUTS) for values in kept]
    exponents = [tails.hill(values[1:]) for values in spectra]
    return {"exponent": over_draws(np.array(exponents)), "distance": over_draws(np.array(distances))}


def over_draws(values: np.ndarray) -> Interval:
    """Student's interval of values by draw, or the value itself of a single draw."""
    return stats.student(values) if len(values) > 1 else Interval(*[float(values[0])] * 3)


def is_wide(bulk: Mapping[str, Interval]) -> bool | None:
    """The criterion for a wide bulk: exponent 0.20 or more below that of noise, distance 0.10 or more."""
    limit = shapes.noise_hill(WIDTH, INPUTS) - 0.20
    return claims.all_of(claims.below(bulk["exponent"], limit), bulk["distance"].exceeds(0.10))


def shape_class(eigenvalues: xr.DataArray, step: int) -> tuple[bool | None, bool | None, bool | None]:
    """Whether spectra (seed, step, k) are unchanged, have a spike, have a wide bulk; None where the draws leave it."""
    after = eigenvalues.sel(step=step)
    return (
        claims.below(over_draws(moved(eigenvalues, step).values), 0.01),
        over_draws(gap(after).values).exceeds(SPIKE_RATIO),
        is_wide(wide_bulk(after)),
    )


def ht_46(found: xr.Dataset | None = None) -> Outcome:
    """Appendix D.1: a learning rate of order h is large enough for GD's spike."""
    found = sizes() if found is None else found
    steepest = 1.1
    slope = slope_of_threshold(found)
    gaps = {reading: {n: mean(found.ratio.sel(reading=reading, n=n)) for n in found.n.values} for reading in READINGS}
    second = {n: mean(found.second.sel(reading="code", n=n)) for n in found.n.values}
    spiked = [each.exceeds(SPIKE_RATIO) for each in gaps["code"].values()]
    single = [claims.below(each, SPIKE_RATIO) for each in second.values()]
    rows = found.n.values
    text = {int(n): each.exceeds(SPIKE_RATIO) for n, each in gaps["text"].items()}
    seen = [str(3 * n // 4) for n, holds in text.items() if holds]
    return Outcome(
        verdict=claims.all_of(*spiked, *single, claims.below(slope, steepest)),
        answer={
            "reproduced": "Yes: a rate of order h makes the spike at every size; the rate needed grows only like h to "
            f"the power {slope.estimate:.1f}.",
            "contradicted": "No: at a rate of order h the spike is missing at some size, or needs more as h grows.",
            "otherwise": "Probably: at some size the spike does not clearly stand apart.",
        },
        finding=f"at h/15 the largest eigenvalue is {gaps['code'][rows[0]]} times the second at h = {3 * rows[0] // 4} "
        f"and {gaps['code'][rows[-1]]} times at h = {3 * rows[-1] // 4}; the rate of the first spike grows like h to "
        f"the power {slope}; with the loss of the text there is a spike at {'h = ' + ', '.join(seen) if seen else 'no'}"
        f"{' only' if seen else ' size'}",
        evidence={"power of h": slope}
        | {f"first over second, h = {3 * int(n) // 4}": each for n, each in gaps["code"].items()},
    )  # fmt: skip


def slope_of_threshold(found: xr.Dataset) -> Interval:
    """Slope of the logarithm of GD's first spike against that of h, by draw."""
    h = np.log(3 * found.n.values / 4)
    return stats.student(np.polyfit(h, np.log(found.threshold.transpose("n", "seed").values), 1)[0])


def ht_47(found: xr.Dataset | None = None) -> Outcome:
    """Appendix D, note on the kernel lower bound: one step with a spike beats the initial features."""
    found = records.load("heavy_tails/mean_field_readouts") if found is None else found
    best = found.test.min("penalty")

    def gain(features: str, student: str) -> Interval:
        one = best.sel(features=features)
        return mean(one.sel(student="untrained") - one.sel(student=student))

    gains = {name: gain("code", f"{name} code") for name in ("GD", "Adam")}
    left = {name: mean(best.sel(features="code", student=f"{name} code") - found.ideal) for name in ("GD", "Adam")}
    linear = "; a linear predictor could still do better" if all(each.above(0) for each in left.values()) else ""
    parts = {name: each.exceeds(0) for name, each in gains.items()}
    text = {name: gain("text", f"{name} text").exceeds(0) for name in gains}
    return Outcome(
        parts=parts,
        answer={
            "reproduced": f"Yes: with the best ridge, one such step beats the initial features{linear}.",
            "contradicted": "No: one such step does not beat the initial features.",
            "otherwise": "In part: the step of one optimiser clearly beats the initial features, that of the other "
            "not.",
        },
        finding=f"at the best ridge constant one step lowers the test loss by {gains['GD']:.3f} (GD at 100) and "
        f"{gains['Adam']:.3f} (Adam at 0.04) on the same draws; the best linear predictor of the population is another "
        f"{left['GD']:.3f} and {left['Adam']:.3f} lower; {with_text(parts, text, 'features and optimisers')}",
        evidence={f"gain, {name}": each for name, each in gains.items()}
        | {f"still above the best linear predictor, {name}": each for name, each in left.items()},
    )  # fmt: skip
