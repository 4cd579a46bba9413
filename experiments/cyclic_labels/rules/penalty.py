"""Rules on the gradient penalty and weight decay (Bowman 2025, Sections 2 and 3; the last question of Section 6)."""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.cyclic_labels import bumps, mechanism, regularisation
from shallow import stats
from shallow.book import claims, records, sweep
from shallow.book.claims import Outcome
from shallow.stats import Interval

STEPS = (0.001, 0.01)
DESIGNS = ("iid", "two_rightmost")
STRENGTH = 0.001  # of the document's penalty
SAMPLES = (20, 50)  # CL-09: points of the random data sets; the document does not say how many
STRENGTHS = (0.001, 0.01, 0.1)
FALL, GROKS = 0.05, 0.1  # CL-07: by how much the test loss falls after zero, and in which fraction of the runs
EXACT, DIFFERENCES = 1e-12, 1e-6  # CL-08: automatic differentiation, central differences
LITTLE = {"performance": (-0.5, 0.5), "dynamics": (-0.2, 0.2), "function": (0.8, 1.25)}  # CL-10
DECAYS, PREVENTED = (1e-4, 1e-3), 0.5  # CL-11: a decay prevents if it leaves less than this share of the bumps
SHARES = ("grid", "points")


def cl_07(after: xr.Dataset | None = None, switched: xr.Dataset | None = None) -> Outcome:
    """Section 2: does the test loss fall long after the training loss has reached zero?

    after, switched: the records `penalty_after_zero` and `penalty_switched_on`; the second is told, not judged.
    """
    after = records.load("cyclic_labels/penalty_after_zero") if after is None else after
    switched = records.load("cyclic_labels/penalty_switched_on") if switched is None else switched
    strengths, count = (0.0, *STRENGTHS), len(STEPS) * after.sizes["seed"]
    falls = {
        (step, agop): stats.wilson(after.fall.sel(step=step, agop=agop).values > FALL)
        for step in STEPS
        for agop in strengths
    }
    penalised = [fraction for (_, agop), fraction in falls.items() if agop]
    zeros = {agop: int(np.isfinite(after.zero_epoch.sel(agop=agop)).sum()) for agop in strengths}
    rarely = sum(zeros[agop] for agop in STRENGTHS) < 0.1 * len(STRENGTHS) * count
    answer = {
        False: "No: without the penalty nothing moves at zero training loss, and with it runs "
        + ("hardly ever get there." if rarely else "do not improve there."),
        None: "These runs do not settle whether the test loss can fall after the training loss has reached zero.",
        True: "Yes: with the penalty the test loss of some runs falls after the training loss has reached zero.",
    }
    later = {agop: switched.fall.sel(agop=agop).dropna("seed").values > FALL for agop in STRENGTHS}
    return Outcome(
        verdict="answered",
        answer=answer[claims.any_of(*(fraction.exceeds(GROKS) for fraction in penalised))],
        finding=f"test loss falls by {FALL} after zero hinge in at most "
        f"{max(penalised, key=lambda fraction: fraction.estimate)} of the penalised runs at any λ and step; zero hinge "
        f"is reached by {zeros[0.0]} of {count} runs without penalty and by {_listed(zeros)} with λ = "
        f"{', '.join(map(str, STRENGTHS))}; with the penalty switched on at zero it falls so at some time in "
        f"{_listed({agop: flags.sum() for agop, flags in later.items()})} of {len(later[STRENGTH])}",
        evidence={f"runs that fall, step {s}, λ = {a:g}": fraction for (s, a), fraction in falls.items()}
        | {f"runs that reach zero, λ = {agop:g}": number for agop, number in zeros.items()}
        | {f"runs that fall, switched on, λ = {a:g}": stats.wilson(flags) for a, flags in later.items()},
    )


def _listed(values: dict[float, object]) -> str:
    return ", ".join(str(values[agop]) for agop in STRENGTHS)


def identities() -> dict[str, float]:
    """Largest deviation of each of :func:`regularisation.penalty_identities` over strengths, widths and seeds."""
    axes = {"agop": [0.001, 0.1], "width": [128, 512], "seed": range(5)}
    return {name: float(error.max()) for name, error in sweep.grid(regularisation.penalty_identities, axes).items()}


def cl_08(worst: dict[str, float] | None = None) -> Outcome:
    """Sections 2.1 and 2.2: the trace is the mean squared slope, and penalising it adds one term to the gradient.

    worst: deviations as of :func:`identities`.
    """
    worst = identities() if worst is None else worst
    parts = {
        "a": max(worst["trace"], worst["eigenvalue"]) < EXACT,
        "b": max(worst["slope"], worst["running"]) < EXACT and worst["difference"] < DIFFERENCES,
        "c": max(worst["gradient"], worst["step"]) < EXACT and worst["bias"] == 0,
    }
    names = {"a": "trace", "b": "slopes", "c": "gradient"}
    wrong = [names[part] for part, holds in parts.items() if not holds]
    return Outcome(
        parts={part: claims.verdict(holds) for part, holds in parts.items()},
        answer=f"No: the formula for the {' and the '.join(wrong)} is not what differentiation gives."
        if wrong
        else "Yes: with one input the penalty is the mean squared slope at the data, and it leaves the biases alone.",
        finding=f"differ from automatic differentiation: {', '.join(wrong)}"
        if wrong
        else "trace, slopes and gradient agree with automatic differentiation to 1e-12, central differences to 1e-6, "
        "and the bias part is exactly zero",
        evidence={f"deviation of {name}": f"{value:.1e}" for name, value in worst.items()},
    )


def cl_09(curves: xr.Dataset | None = None) -> Outcome:
    """Section 2.3: with the penalty, some runs have a test loss that rises while the training loss falls, and returns.

    curves: the record `odd_curves`.
    """
    curves = records.load("cyclic_labels/odd_curves") if curves is None else curves
    share = {
        (name, n, step, agop): stats.wilson(curves[name].sel(n=n, step=step, agop=agop).values > 0)
        for name in ("smooth", "recovers")
        for n in SAMPLES
        for step in STEPS
        for agop in (STRENGTH, 0.0)
    }
    some = any(share["smooth", n, step, STRENGTH].estimate > 0 for n in SAMPLES for step in STEPS)
    listed = {
        (name, agop, step): "; ".join(str(share[name, n, step, agop]) for n in SAMPLES) for name, _, step, agop in share
    }
    small, large = STEPS
    few, many = (_one_in(share["smooth", n, small, STRENGTH].estimate) for n in SAMPLES)
    return Outcome(
        verdict=claims.verdict(some),
        answer=f"Yes: of runs with {SAMPLES[0]} random points {few} shows such a curve without jumps, with "
        f"{SAMPLES[1]} points {many}."
        if some
        else "No: none of the runs on random data shows such a curve without jumps.",
        finding=f"smooth diverging bumps that recover, runs with n = {SAMPLES[0]} and {SAMPLES[1]}: with λ = "
        f"{STRENGTH} {listed['smooth', STRENGTH, small]} at step {small} and {listed['smooth', STRENGTH, large]} at "
        f"step {large}, without penalty {listed['smooth', 0.0, small]} at step {small}; jagged ones included, with λ = "
        f"{STRENGTH}, {listed['recovers', STRENGTH, small]} and {listed['recovers', STRENGTH, large]}",
        evidence={f"{name}, n = {n}, step {step}, λ = {a:g}": value for (name, n, step, a), value in share.items()},
    )


def _one_in(share: float) -> str:
    """A share in words: about one in twelve."""
    return f"about one in {1 / share:.0f}" if share else "none"


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


def within(interval: Interval, low: float, high: float) -> bool | None:
    """Whether a quantity lies in [low, high]: None if its interval reaches over an end."""
    if interval.inside(low, high):
        return True
    return False if interval.above(high) or interval.below(low) else None


def cl_10(ends: xr.Dataset | None = None) -> Outcome:
    """Section 3: the penalty has little effect on the outcome of the model.

    ends: the record `penalty`.
    """
    ends = records.load("cyclic_labels/penalty") if ends is None else ends
    effect = penalty_effects(ends, STRENGTH)
    little = {
        part: claims.all_of(*(within(each[part], *bounds) for each in effect.values()))
        for part, bounds in LITTLE.items()
    }
    parts = {part: claims.verdict(holds) for part, holds in little.items()}
    changed = [part for part, holds in little.items() if holds is False]
    open_ = [part for part, holds in little.items() if holds is None]
    words = {"performance": "the test loss", "dynamics": "the number of bumps", "function": "the function's slopes"}
    listed = {part: "; ".join(str(each[part]) for each in effect.values()) for part in LITTLE}
    return Outcome(
        verdict="contradicted" if "performance" in changed else claims.combine(parts),
        parts=parts,
        answer=_little(words, changed, open_),
        finding=f"iid, two_rightmost at step {STEPS[0]}, then at {STEPS[1]}: final test loss changes by "
        f"{listed['performance']} s.d.; fraction of bumps by {listed['dynamics']}; mean f'² falls to "
        f"{listed['function']} of its value",
        evidence={f"{part}, {d}, step {s}": each[part] for part in LITTLE for (d, s), each in effect.items()},
    )


def _little(words: dict[str, str], changed: list[str], open_: list[str]) -> str:
    """The answer to CL-10 from the parts that change, and those whose interval contains the limit of "little"."""
    kept = [words[part] for part in words if part not in changed + open_]
    said = [f"changes {' and '.join(words[part] for part in changed)}"] if changed else []
    said += [f"barely changes {' and '.join(kept)}"] if kept else []
    said += [f"changes {' and '.join(words[part] for part in open_)} moderately at most"] if open_ else []
    return f"A penalty of {STRENGTH} {' and '.join(filter(None, [', '.join(said[:-1]), said[-1]]))}."


def cl_11(decayed: xr.Dataset | None = None) -> Outcome:
    """Section 3: weight decay, too, does not prevent odd runs.

    decayed: the record `weight_decay`.
    """
    decayed = records.load("cyclic_labels/weight_decay") if decayed is None else decayed
    cases = [(design, step) for step in STEPS for design in ("poor(5,1)", "iid")]
    bumps_of = {case: decayed.diverging.sel(design=case[0], step=case[1]) for case in cases}
    left = {(*case, decay): _left(found, decay, case) for case, found in bumps_of.items() for decay in DECAYS}
    holds = {step: claims.all_of(*(each.exceeds(0) for key, each in left.items() if key[1] == step)) for step in STEPS}
    share = {
        (*case, decay): stats.wilson(found.sel(decay=decay).values > 0)
        for case, found in bumps_of.items()
        for decay in (0.0, *DECAYS)
    }
    answer = {
        True: "Yes: with weight decay of up to 0.001, odd runs stay more than half as frequent as without it.",
        None: "Mostly: no weight decay clearly halves the number of odd runs, but in some settings they are too "
        "rare to tell.",
        False: "No: in some settings weight decay makes odd runs less than half as frequent.",
    }
    return Outcome(
        parts={f"step {step}": claims.verdict(flag) for step, flag in holds.items()},
        answer=answer[claims.all_of(*holds.values())],
        finding="; ".join(
            f"{design} at step {step}: fraction of bumps {share[design, step, 0.0]} without decay, "
            + " and ".join(f"{share[design, step, decay]} with {decay:g}" for decay in DECAYS)
            for design, step in cases
        ),
        evidence={f"left over half, {d}, step {s}, decay {mu:g}": each for (d, s, mu), each in left.items()},
    )


def _left(diverging: xr.DataArray, decay: float, case: tuple[str, float]) -> Interval:
    """Fraction of runs with a bump under decay minus half that without, paired over seeds."""
    with_decay, without = (diverging.sel(decay=mu).values.astype(float) for mu in (decay, 0.0))
    return stats.bootstrap(with_decay - PREVENTED * without, name=f"decay/{case}/{decay}")


def share_of(shares: xr.DataArray, design: str, *, name: str) -> tuple[xr.DataArray, Interval, Interval]:
    """Where the squared slope lives: the poor clusters' mean share by `moment`, its change from peak to T, and that
    minus the largest change of another cluster.

    shares: (seed, moment, cluster), NaN in runs without a recovering bump; strat counts the poor cluster of poor(5,1).
    """
    poor = list(mechanism.POOR["poor(5,1)" if design == "strat" else design])
    shares = shares.dropna("seed")
    change = (shares.sel(moment="T") - shares.sel(moment="peak")).transpose("cluster", "seed").values
    own, others = change[poor].sum(axis=0), np.delete(change, poor, axis=0).max(axis=0)
    level = shares.sel(cluster=poor).sum("cluster").mean("seed")
    return level, stats.bootstrap(own, name=name), stats.bootstrap(own - others, name=f"{name}/others")


def cl_52(shares: xr.Dataset | None = None) -> Outcome:
    """Section 6: does the gradient outer product move to the undersampled region when the test loss improves?

    shares: the record `slope_shares`.
    """
    shares = records.load("cyclic_labels/slope_shares") if shares is None else shares
    moved = {
        (design, agop, place): share_of(
            shares[f"energy_{place}"].sel(design=design, agop=agop), design, name=f"{design}/{agop}/{place}"
        )[1:]
        for agop in (0.0, STRENGTH)
        for design in ("poor(5,1)", "two_rightmost")
        for place in SHARES
    }
    rises = [claims.all_of(own.exceeds(0), more.exceeds(0)) for own, more in moved.values()]
    supported = True if all(rises) else False if claims.any_of(*rises) is False else None
    answer = {
        True: "Yes: while the test loss recovers, the poor cluster's share of the squared slope grows, and more than "
        "any other's.",
        None: "Not in general: in some settings at most does the poor cluster's share of the squared slope grow ahead "
        "of the others'.",
        False: "No: while the test loss recovers, the poor cluster's share of the squared slope does not grow ahead of "
        "the others'.",
    }
    edge, two = (moved[design, 0.0, "grid"][0] for design in ("poor(5,1)", "two_rightmost"))
    return Outcome(
        verdict="answered",
        answer=answer[supported],
        finding=f"from peak to T the poor cluster's share of f′² on the grid changes by {edge} (poor(5,1)) and {two} "
        f"(two_rightmost); it rises, and more than the others', in {sum(r is True for r in rises)} of {len(rises)} "
        "cases",
        evidence={f"change, {d}, λ = {a:g}, {p}": own for (d, a, p), (own, _) in moved.items()},
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
        gain = [each.true_share.isel(epoch=-1).sel(seed=seeds) - each.true_share.sel(seed=seeds, epoch=peak)
                for each in (poor, even)]  # fmt: skip
        gains[int(inputs)] = stats.paired(*(g.values for g in gain), name=f"noise/{inputs}") if len(seeds) > 1 else None
    return gains


def cl_53(noise: xr.Dataset | None = None) -> Outcome:
    """Section 6: does the comparison with the image experiment of the cited paper carry over?

    noise: the record `noise_coordinates`.
    """
    noise = records.load("cyclic_labels/noise_coordinates") if noise is None else noise
    gains = noise_gains(noise)
    supported = claims.all_of(*(None if gain is None else gain.exceeds(0) for gain in gains.values()))
    texts = [f"{gain or 'too few bumps'} (d = {inputs})" for inputs, gain in gains.items()]
    return Outcome(
        verdict="answered",
        answer="In part: one input has no directions, but among noise inputs the true one gains weight after the bump "
        "of a poor cluster."
        if supported
        else "No: one input has no directions, and with noise inputs added the true one does not consistently gain "
        "weight after the bump.",
        finding="one input has no directions; with noise inputs the true direction's share gains after the peak, poor "
        f"minus strat, {', '.join(texts)}",
        evidence={f"gain, d = {inputs}": gain or "too few bumps" for inputs, gain in gains.items()},
    )
