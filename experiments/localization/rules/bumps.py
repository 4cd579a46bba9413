r"""Rules on mean squares, the constant and its rivals: LO-44, LO-45, LO-46, LO-48, LO-49, LO-50; and the twins.

Intervals as in :mod:`.objectives`: over the seeds, or over all pairs of the draws.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import xarray as xr

from experiments.localization import filters, mean_squares, networks, populations
from experiments.localization.rules.data import all_within, farthest
from experiments.localization.rules.objectives import pooled
from shallow import receptive_fields as fields
from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.stats import Interval

load = cache(lambda name: records.load(name))  # looked up when called, so that a call can be watched

EQUAL = 0.005  # in (9)


def lo_44(apart: xr.DataArray | None = None, beyond: xr.DataArray | None = None) -> Outcome:
    """The identity for the mean squares (a), and the leading eigenvector as the maximum (b).

    Args:
        apart: sample difference of the mean squares minus its form, over their sum (gain, filter, seed).
        beyond: how far a search goes beyond the leading eigenvalue.
    """
    margin, slack = 0.03, 1e-8
    apart = mean_squares.forms() if apart is None else apart
    beyond = mean_squares.beyond() if beyond is None else beyond
    worst, most = farthest(apart), float(beyond.max())
    return Outcome(
        parts={"a": all_within(apart, -margin, margin), "b": most <= slack},
        answer={
            "reproduced": "Yes: mean squares are quadratic forms of the covariances, and the leading eigenvector "
            "maximises their difference.",
            "contradicted": "No: neither the identity nor the maximum is right.",
            "otherwise": "In part: the identity, or the maximum at the leading eigenvector, is not right.",
        },
        finding=f"(a) sample differences of mean squares miss the quadratic form by at most {worst:.3f} of the sum of "
        f"the two, over {apart.sizes['gain'] * apart.sizes['filter']} cases; (b) a search goes "
        f"{'nowhere' if most <= slack else 'somewhere'} beyond the leading eigenvalue by more than 1e-8",
        evidence={"missed, farthest": f"{worst:.4f}"},
    )


def lo_45(changed: int | None = None, modes: xr.Dataset | None = None, behind: xr.DataArray | None = None) -> Outcome:
    """The norm does not matter and may be fixed (a); the difference in means is another problem than (10) (b).

    Args:
        changed: pairs on which (10) changes with the norm.
        modes: mode (lengths, objective), the best for the difference and for the ratio; value, in (9).
        behind: (case, seed), in (9), of the best in the difference.
    """
    gap = 0.02
    changed = mean_squares.scaled() if changed is None else changed
    modes = mean_squares.best_modes() if modes is None else modes
    behind = mean_squares.behind() if behind is None else behind
    agree = [bool((one == one[0]).all()) for one in modes.mode.values]
    found = {str(case): stats.student(behind.sel(case=case).values) for case in behind.case.values}
    texts = "; ".join(
        f"{lengths}: k = {' and '.join(map(str, modes.mode.sel(lengths=lengths).values))}"
        for lengths in modes.lengths.values
    )
    other, own = (float(modes.value.isel(lengths=-1, objective=i)) for i in (0, 1))
    losses = " and ".join(f"{one:.3f} for {case}" for case, one in found.items())
    return Outcome(
        parts={
            "a": "contradicted" if changed else "reproduced" if all(agree) else "partly",
            "b": claims.all_of(*(one.exceeds(gap) for one in found.values())),
        },
        answer={
            "reproduced": "Yes: the norm may be fixed, and the difference of mean squares is another problem than the "
            "probability.",
            "contradicted": "No: the norm changes the probability, and the two problems are one.",
            "otherwise": "Yes, with a condition: at fixed norm difference and ratio agree only if the first class is "
            "the slow one.",
        },
        finding=f"(a) (10) changes with the norm on {changed} pairs, and at norm 1 difference and ratio are largest at "
        f"{texts}; (b) the best in the difference is behind the best in (10) by {losses}, the latter exactly "
        f"{other:.4f} against {own:.4f}",
        evidence={f"behind, {case}": f"{one:.4f}" for case, one in found.items()},
    )


def lo_46(leaders: xr.DataArray | None = None) -> Outcome:
    """The leading eigenvector of K1 - K0 is the constant.

    Args:
        leaders: frequency of the leading eigenvector (case, gain), the note's kinds of classes first.
    """
    leaders = mean_squares.leaders() if leaders is None else leaders
    constant = (leaders == 0).all("gain")
    own = [str(case) for case in leaders.case.values if case not in ("(1, 2)", "oscillating")]
    holds, all_own = bool(constant.all()), bool(constant.sel(case=own).all())
    others = "; ".join(
        f"{case}: k = {', '.join(map(str, sorted(set(leaders.sel(case=case).values.tolist()))))}"
        for case in leaders.case.values
        if not bool(constant.sel(case=case))
    )
    leads = [str(case) for case in leaders.case.values if bool(constant.sel(case=case))]
    why = "the note's first class has the longer length scale and its correlations do not oscillate; there it is right"
    return Outcome(
        verdict=True if holds else False if not constant.any() else "partly",
        answer={
            "reproduced": "Yes: the constant is the leading eigenvector in all cases that were tried.",
            "contradicted": "No: the constant leads in none of the cases.",
            "otherwise": "Yes for the note's classes; not if the first class is the fast one, or if correlations "
            "oscillate.",
        },
        finding=f"the constant leads at all four gains for {', '.join(leads) or 'no case'}"
        + (f", and does not for {others}" if others else ""),
        evidence={f"leading mode, {case}": str(leaders.sel(case=case).values.tolist()) for case in leaders.case.values},
        reading="reproduced" if all_own and not holds else None,
        reading_why=why if all_own and not holds else None,
    )


def low_shares(runs: xr.Dataset, cut: int = 2) -> xr.DataArray:
    """Share of the energy of negative fields in modes up to a frequency, mean over these fields (gain, seed)."""
    negative = populations.population(runs.b.values) == -1
    shares = fields.low_share(runs.W.values, cut)
    means = np.where(negative, shares, 0).sum(axis=-1) / negative.sum(axis=-1)
    return xr.DataArray(means, {"gain": runs.gain, "seed": runs.seed})


def lo_48(shares: xr.DataArray | None = None) -> Outcome:
    """The constant is inconsistent with the fields that training finds.

    Args:
        shares: of the energy of negative fields in modes up to 2 (gain, seed).
    """
    low = 0.7
    shares = low_shares(load("localization/balance").isel(step=-1)) if shares is None else shares
    found = {float(g): stats.student(shares.sel(gain=g).values) for g in shares.gain.values}
    return Outcome(
        parts={f"g = {g:g}": claims.below(one, low) for g, one in found.items()},
        answer={
            "reproduced": "Yes: the learned fields are not near the constant at any gain.",
            "contradicted": "No: the learned fields are long waves, which fits a flat optimum.",
            "otherwise": "Only on data far from Gaussian: on nearly Gaussian data the learned fields are long waves, "
            "which fits.",
        },
        finding="share of the energy of negative fields in modes up to 2, white noise 0.125: "
        + ", ".join(f"{one} at g = {g:g}" for g, one in found.items()),
        evidence={f"share, g = {g:g}": f"{one:.3f}" for g, one in found.items()},
    )


def compared(lead: Interval) -> str:
    """Better, equal, worse or undecided, by the margin :data:`EQUAL`."""
    if lead.above(EQUAL):
        return "better"
    return "worse" if lead.below(-EQUAL) else "equal" if lead.inside(-EQUAL, EQUAL) else "undecided"


def leads(runs: xr.Dataset, rival: str) -> dict[float, Interval]:
    """Of one ring: leads in (9) by gain over all pairs; of "gabor over bump" over the bump, else over the constant."""
    of = {float(g): runs.sel(gain=g, rival=rival) for g in runs.gain.values}
    return {g: pooled(one.lead, one.lead_error) for g, one in of.items()}


def rings() -> dict[int, xr.Dataset]:
    """The records of (9) on 40 and on 400 points."""
    names = {40: "localization/filters_at_a_point", 400: "localization/filters_at_a_point_400"}
    return {n: load(name).isel(n=0, drop=True) for n, name in names.items()}


def lo_49(runs: dict[int, xr.Dataset] | None = None) -> Outcome:
    """The announced test: how the constant does in (9) against the best filter of all families.

    Args:
        runs: lead, lead_error (gain, seed, rival) by the number of points.
    """
    near, gains = 0.01, (0.01, 1.0, 3.0, 100.0)
    runs = rings() if runs is None else runs
    behind = {
        (n, g): max(leads(one, "gabor")[g], leads(one, "cosine")[g], key=lambda lead: lead.estimate)
        for n, one in runs.items()
        for g in gains
    }
    near_by = {
        (n, g): claims.all_of(*(claims.below(leads(runs[n], family)[g], near) for family in ("gabor", "cosine")))
        for n, g in behind
    }
    settled = all(near_by[n, g] is not None for n, g in near_by if n == 40)
    agree = all(near_by[400, g] in (None, near_by[40, g]) for g in gains)
    well = [g for g in gains if near_by[40, g]]
    listed = "; ".join(f"n = {n}: {', '.join(f'{behind[n, g]:.3f}' for g in gains)}" for n in runs)
    return Outcome(
        verdict="answered" if settled and agree else "undecided",
        answer=(
            "The constant is as good as any filter at every gain."
            if len(well) == len(gains)
            else "It is not good at any gain: other filters are clearly ahead."
            if not well
            else "The constant is among the best filters on nearly Gaussian data only, and falls behind as the gain "
            "grows."
        )
        if settled and agree
        else "Open: too few pairs, or the two rings differ.",
        finding=f"the best filter of all families leads the constant in (9), at g = 0.01, 1, 3, 100, by {listed}",
        evidence={f"lead over the constant, n = {n}, g = {g:g}": f"{one:.4f}" for (n, g), one in behind.items()},
    )


def lo_50(runs: dict[int, xr.Dataset] | None = None) -> Outcome:
    """The question whether Gabor functions are better, and whether they need their carrier.

    Args:
        runs: lead, lead_error (gain, seed, rival) by the number of points.
    """
    runs = rings() if runs is None else runs
    bump, carrier = ({n: leads(one, rival) for n, one in runs.items()} for rival in ("bump", "gabor over bump"))
    words = {g: compared(lead) for g, lead in bump[40].items()}
    better = [g for g, word in words.items() if word == "better"]
    settled = "undecided" not in words.values()
    no_carrier = all(compared(lead) == "equal" for one in carrier.values() for lead in one.values())
    most = max((lead for one in carrier.values() for lead in one.values()), key=lambda lead: lead.high)
    listed = "; ".join(f"n = {n}: " + ", ".join(f"{lead:.3f}" for lead in one.values()) for n, one in bump.items())
    gains = ", ".join(f"{g:g}" for g in bump[40])
    carried = "a carrier adds nothing" if no_carrier else "a carrier helps somewhere"
    return Outcome(
        verdict="answered" if settled else "undecided",
        answer=f"Yes, from gain {better[0]:g} on: there a bump beats the constant; {carried}."
        if settled and better
        else "No: localised filters do not beat the constant."
        if settled
        else "Open: too few pairs to tell the filters apart.",
        finding=f"lead of the best bump over the constant in (9) at g = {gains}: {listed}; the best Gabor function "
        f"leads the best bump by no more than {most.high:.4f} by its interval",
        evidence={f"bump over constant, n = {n}, g = {g:g}": f"{lead:.4f}, {compared(lead)}"
                  for n, one in bump.items() for g, lead in one.items()}
        | {f"Gabor over bump, n = {n}, g = {g:g}": f"{lead:.4f}, {compared(lead)}"
           for n, one in carrier.items() for g, lead in one.items()},
    )  # fmt: skip


# Twins: no claims of the note, but what the page says.


def twin_leads(runs: xr.Dataset, gain: float) -> dict[str, list[Interval]]:
    """Leads in (9) of bumps, by width, over the constant: measured for light and heavy tails, exact for the Gaussian.

    Args:
        runs: lead, lead_error (tails, gain, seed, width), law (tails, gain, seed, width).
    """
    one = runs.sel(gain=gain).isel(width=slice(1, None))
    found = {
        tails: [pooled(*(one[name].sel(tails=tails, width=w) for name in ("lead", "lead_error"))) for w in one.width]
        for tails in ("light", "heavy")
    }
    law = runs.law.sel(gain=gain, tails="light").isel(seed=0).values.astype(float)
    return found | {"Gaussian": [Interval(*[value - law[0]] * 3) for value in law[1:]]}


def localisation(W: np.ndarray, b: np.ndarray, sign: int = -1) -> np.ndarray:
    """Median inverse participation ratio of the fields with one sign of the bias, for networks (..., K, n)."""
    ratio, chosen = fields.inverse_participation_ratio(W), populations.population(b) == sign
    return np.nanmedian(np.where(chosen, ratio, np.nan), axis=-1)


def tails_of_training(tails: xr.Dataset, gaussian: xr.Dataset, sign: int = -1) -> dict[str, tuple[np.ndarray, list]]:
    """Gains and intervals of :func:`localisation` over networks by "light", "Gaussian" and "heavy".

    Args:
        tails: W (tails, gain, seed, neuron, pixel), b; gaussian: the same without tails.
    """
    kinds = {"light": tails.sel(tails="light"), "Gaussian": gaussian, "heavy": tails.sel(tails="heavy")}
    found = {}
    for name, runs in kinds.items():
        by_gain = [runs.sel(gain=g).transpose("seed", "neuron", "pixel") for g in runs.gain.values]
        medians = [stats.student(localisation(one.W.values, one.b.values, sign)) for one in by_gain]
        found[name] = (runs.gain.values, medians)
    return found


def on_torus(runs: xr.Dataset) -> xr.Dataset:
    """Share of positive biases (gain, seed), and medians over each population (sign, gain, seed) on the torus.

    Args:
        runs: W (gain, seed, neuron, row, column), b (gain, seed, neuron).
    """
    W, signs = runs.W.values, populations.population(runs.b.values)
    measures = {"ipr": fields.inverse_participation_ratio(W, 2), "frequency": fields.mean_frequency(W, 2)}
    medians = {
        name: [np.nanmedian(np.where(signs == sign, value, np.nan), axis=-1) for sign in (-1, 1)]
        for name, value in measures.items()
    }
    axes = ("gain", "seed")
    return xr.Dataset(
        {"share": (axes, (signs == 1).mean(axis=-1))}
        | {name: (("sign", *axes), np.array(values)) for name, values in medians.items()},
        {"sign": [-1, 1], "gain": runs.gain, "seed": runs.seed},
    )


# Rows of tables.


def lead_rows(runs: dict[int, xr.Dataset]) -> list[list[str]]:
    """By ring and gain: width of the chosen bumps, their lead over the constant, and that of a carrier, in words."""
    rows = []
    for n, one in runs.items():
        bump, carrier = (leads(one, rival) for rival in ("bump", "gabor over bump"))
        for gain in bump:
            chosen = filters.WIDTHS[one.best.sel(gain=gain, rival="bump").values].round(1)
            width = " to ".join(f"{value:g}" for value in sorted({chosen.min(), chosen.max()}))
            over = [f"{bump[gain]:.3f}", compared(bump[gain]), f"{carrier[gain]:.4f}", compared(carrier[gain])]
            rows.append([str(n), f"{gain:g}", width, *over])
    return rows


def twin_rows(runs: xr.Dataset, width: float) -> list[list[str]]:
    """By gain: excess kurtosis of a pixel with light and heavy tails, and leads over the constant of one bump."""
    place, rows = int(np.abs(filters.WIDTHS - width).argmin()), []
    for gain in map(float, runs.gain.values):
        found = twin_leads(runs, gain)
        pixels = [networks.pair(gain, tails=tails)[0].excess_kurtosis for tails in ("light", "heavy")]
        measured = {tails: f"{found[tails][place]:.3f}" for tails in ("light", "heavy")}
        exact = f"{found['Gaussian'][place].estimate:.3f}"
        rows.append([f"{gain:g}", *(f"{one:.2f}" for one in pixels), measured["light"], exact, measured["heavy"]])
    return rows


def torus_rows(runs: xr.Dataset) -> list[list[str]]:
    """By gain: share of positive biases; inverse participation ratio and frequency of negative and positive fields."""
    found, rows = on_torus(runs), []
    for gain in found.gain.values:
        one = found.sel(gain=gain)
        cells = [f"{stats.student(one.share.values):.2f}"]
        for sign in (-1, 1):
            cells.append(f"{stats.student(one.ipr.sel(sign=sign).values):.3f}")
            cells.append(f"{stats.student(one.frequency.sel(sign=sign).values):.1f}")
        rows.append([f"{gain:g}", *cells])
    return rows
