"""Rules on the gradient penalty and weight decay (Bowman 2025, Sections 2 and 3; the last question of Section 6)."""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.cyclic_labels.bumps import cells as bumps
from experiments.cyclic_labels.bumps import mechanism
from experiments.cyclic_labels.penalty import cells as regularisation
from shallow import stats
from shallow.book import claims, sweep
from shallow.book.claims import Found, decides
from shallow.stats import Interval

STEPS = (0.001, 0.01)
DESIGNS = ("iid", "two_rightmost")
STRENGTH = 0.001  # of the document's penalty
STRENGTHS = (0.001, 0.01, 0.1)
SAMPLES = (20, 50)  # CL-09: points of the random data sets; the document does not say how many
DECAYS = (1e-4, 1e-3)  # CL-11


@decides(after="cyclic_labels/penalty/penalty_after_zero", switched="cyclic_labels/penalty/penalty_switched_on")
def cl_07(after, switched, *, least):
    """Section 2: does the test loss fall long after the training loss has reached zero?

    The runs with the penalty switched on are told, not judged.
    """
    falls = {
        (step, agop): stats.share(after.fall.sel(step=step, agop=agop) > least)
        for step in STEPS
        for agop in (0.0, *STRENGTHS)
    }
    zeros = np.isfinite(after.zero_epoch)
    later = {agop: switched.fall.sel(agop=agop).dropna("seed").values > least for agop in STRENGTHS}
    return Found(
        "answered",
        {f"runs that fall, step {s}, λ = {a:g}": fraction for (s, a), fraction in falls.items()}
        | {f"runs that reach zero, λ = {a:g}": int(zeros.sel(agop=a).sum()) for a in (0.0, *STRENGTHS)}
        | {f"runs that fall, switched on, λ = {a:g}": stats.wilson(flags) for a, flags in later.items()}
        | {"most": max((found for (_, a), found in falls.items() if a), key=lambda found: found.estimate)}
        | {"runs": len(STEPS) * after.sizes["seed"], "switched on": later[STRENGTH].size}
        | {"fall switched on": [int(flags.sum()) for flags in later.values()]},
    )


def identities() -> dict[str, float]:
    """Largest deviation of each of :func:`regularisation.penalty_identities` over strengths, widths and seeds."""
    axes = {"agop": [0.001, 0.1], "width": [128, 512], "seed": range(5)}
    return {name: float(error.max()) for name, error in sweep.grid(regularisation.penalty_identities, axes).items()}


@decides(worst=identities)
def cl_08(worst, *, exact, differences):
    """Sections 2.1 and 2.2: the trace is the mean squared slope, and penalising it adds one term to the gradient."""
    return Found(
        {
            "a": max(worst["trace"], worst["eigenvalue"]) < exact,
            "b": max(worst["slope"], worst["running"]) < exact and worst["difference"] < differences,
            "c": max(worst["gradient"], worst["step"]) < exact and worst["bias"] == 0,
        },
        {f"deviation of {name}": value for name, value in worst.items()},
    )


@decides(curves="cyclic_labels/penalty/odd_curves")
def cl_09(curves):
    """Section 2.3: with the penalty, the test loss of some runs rises while the training loss falls, and returns."""
    share = {
        f"{name}, n = {n}, step {step}, λ = {agop:g}": stats.share(curves[name].sel(n=n, step=step, agop=agop) > 0)
        for name in ("smooth", "recovers")
        for n in SAMPLES
        for step in STEPS
        for agop in (STRENGTH, 0.0)
    }
    few = share[f"smooth, n = {SAMPLES[0]}, step {STEPS[0]}, λ = {STRENGTH}"].estimate
    return Found(
        bool((curves.smooth.sel(agop=STRENGTH, n=list(SAMPLES), step=list(STEPS)) > 0).any()),
        share | {"one in": 1 / few if few else np.inf},
    )


def penalty_effects(ends: xr.Dataset, agop: float) -> dict[tuple[str, float], dict[str, Interval]]:
    """:func:`regularisation.effects` of a penalty against none, by design and step."""
    return {
        (design, step): regularisation.effects(
            *(ends.sel(design=design, step=step, agop=strength) for strength in (agop, 0.0)),
            name=f"agop/{design}/{step}/{agop}",
        )
        for step in STEPS
        for design in DESIGNS
    }


@decides(ends="cyclic_labels/penalty/penalty")
def cl_10(ends, *, performance, dynamics, function):
    """Section 3: the penalty has little effect on the outcome of the model."""
    effect = penalty_effects(ends, STRENGTH)
    bands = {"performance": performance, "dynamics": dynamics, "function": function}
    little = {
        part: claims.all_of(*(claims.within(each[part], *band) for each in effect.values()))
        for part, band in bands.items()
    }
    return Found(
        little,
        {part: {f"{d}, step {s}": each[part] for (d, s), each in effect.items()} for part in bands},
        "contradicted" if little["performance"] is False else "",
    )


@decides(decayed="cyclic_labels/penalty/weight_decay")
def cl_11(decayed, *, half):
    """Section 3: weight decay, too, does not prevent odd runs."""
    parts, left, share = {}, {}, {}
    for step in STEPS:
        for design in ("poor(5,1)", "iid"):
            bump, case = decayed.diverging.sel(design=design, step=step), (design, step)
            runs = {decay: bump.sel(decay=decay).values.astype(float) for decay in (0.0, *DECAYS)}
            share |= {f"bumps, {design}, step {step}, decay {decay:g}": stats.share(f) for decay, f in runs.items()}
            for decay in DECAYS:
                less = runs[decay] - half * runs[0.0]
                left[step, design, decay] = stats.bootstrap(less, name=f"decay/{case}/{decay}")
        holds = (value.exceeds(0) for key, value in left.items() if key[0] == step)
        parts[f"step {step}"] = claims.all_of(*holds)
    return Found(
        parts, {f"left over half, {d}, step {s}, decay {mu:g}": each for (s, d, mu), each in left.items()} | share
    )


def moved(shares: xr.DataArray, design: str, *, name: str) -> tuple[Interval, Interval]:
    """Change of the poor clusters' share of the squared slope from peak to T, and that minus the largest change of
    another cluster.

    shares: (seed, moment, cluster), NaN in runs without a recovering bump.
    """
    poor, shares = list(mechanism.POOR[design]), shares.dropna("seed")
    change = (shares.sel(moment="T") - shares.sel(moment="peak")).transpose("cluster", "seed").values
    own, others = change[poor].sum(axis=0), np.delete(change, poor, axis=0).max(axis=0)
    return stats.bootstrap(own, name=name), stats.bootstrap(own - others, name=f"{name}/others")


@decides(shares="cyclic_labels/penalty/slope_shares")
def cl_52(shares):
    """Section 6: does the gradient outer product move to the undersampled region when the test loss improves?"""
    found = {}
    for agop in (0.0, STRENGTH):
        for design in ("poor(5,1)", "two_rightmost"):
            for place in ("grid", "points"):
                share = shares[f"energy_{place}"].sel(design=design, agop=agop)
                found[f"{design}, λ = {agop:g}, {place}"] = moved(share, design, name=f"{design}/{agop}/{place}")
    return Found(
        "answered",
        {"change": {name: own for name, (own, _) in found.items()}, "cases": len(found)}
        | {"rises": sum(own.above(0) and more.above(0) for own, more in found.values())},
    )


def noise_gains(noise: xr.Dataset) -> dict[int, Interval | None]:
    """Gain of the true direction's share of the AGOP trace from the peak of the bump to the end, poor minus balanced.

    noise: the record `noise_coordinates`.  Returns by number of inputs an interval over the runs of poor(5,4) with a
    diverging bump, each paired with the balanced run of its seed at the same epochs; None with fewer than two.
    """
    gains = {}
    for inputs in noise.inputs.values:
        poor, even = (noise.sel(inputs=inputs, design=design) for design in ("poor(5,4)", "strat"))
        found = bumps.slow(poor)
        seeds, peak = found.seed[found.diverging], found.peak[found.diverging]
        mine, theirs = (
            (each.true_share.isel(epoch=-1).sel(seed=seeds) - each.true_share.sel(seed=seeds, epoch=peak)).values
            for each in (poor, even)
        )
        gains[int(inputs)] = stats.paired(mine, theirs, name=f"noise/{inputs}") if len(seeds) > 1 else None
    return gains


@decides(noise="cyclic_labels/bumps/noise_coordinates")
def cl_53(noise):
    """Section 6: does the comparison with the image experiment of the cited paper carry over?"""
    return Found(
        "answered", {f"gain, d = {inputs}": gain or "too few bumps" for inputs, gain in noise_gains(noise).items()}
    )
