"""Rules on ten steps and on what the exponents measure (Kothapalli et al. 2024, Sections 1, 3.2, 5, Appendices G, H).

A *wide bulk* is what the criteria of :mod:`experiments.heavy_tails.shapes` measure.  A *tail* is a matter of the top
per cents without a spike: it is heavier than exponential if their mean excess rises (:func:`tops.rise` above 1).  The
*stretch* of a spectrum, :func:`tops.stretch`, is a ratio of quantiles and no tail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr

from experiments.heavy_tails import estimators, shapes
from experiments.heavy_tails.exponents import tail_fits
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.spectra import esd, tails, tops
from shallow.spectra.marchenko_pastur import MarchenkoPastur
from shallow.stats import Interval

NOISE = MarchenkoPastur(1500, 1000)  # the law of the initial spectrum
EXPONENTIAL = tops.exponential_stretch()
FIGURE_1 = {"a": ("GD", 2000.0), "b": ("Adam", 0.5)}
ESTIMATES = {"hill": "PL_Alpha_Hill", "ks": "PL_Alpha_KS"}
SWEEP = "heavy_tails/ten_steps_2000"
LAWS = "heavy_tails/exponents/exponents_of_laws"
FITS = tuple(f"heavy_tails/exponents/{name}" for name in ("tail_fits", "tail_fits_long", "tail_fits_8000"))


def over_draws(runs: xr.Dataset, rule: str, rate: float, measure: Callable[[np.ndarray], float]) -> Interval:
    """A positive number of the spectra of a rule at a rate: geometric mean over the draws, with Student's interval."""
    spectra = runs.eigenvalues.sel(rule=rule, rate=rate).transpose("seed", "k").values
    return stats.geometric(np.array([measure(values) for values in spectra]))


def stretch(runs: xr.Dataset, rule: str, rate: float) -> Interval:
    """The :func:`tops.stretch` of the spectra of a rule at a rate, over the draws."""
    return over_draws(runs, rule, rate, tops.stretch)


def tail_rise(runs: xr.Dataset, rule: str, rate: float) -> Interval:
    """The :func:`tops.rise` of the spectra of a rule at a rate without a spike, over the draws."""
    return over_draws(runs, rule, rate, lambda values: tops.rise(tail_fits.without_spike(values)))


def bulks(runs: xr.Dataset, rule: str, rate: float) -> tuple[Interval, Interval]:
    """How far the exponent without the largest eigenvalue is below noise, and the bulk from its law; over the draws."""
    spectra = runs.eigenvalues.sel(rule=rule, rate=rate).transpose("seed", "k").values.astype(float)
    seen = [shapes.shape(values, NOISE.h, NOISE.d) for values in spectra]
    return (
        stats.student(np.array([NOISE.hill - one.hill_excl for one in seen])),
        stats.student(np.array([one.d_mp for one in seen])),
    )


@decides(runs="heavy_tails/figure_1")
def ht_01(runs):
    """Figure 1: ten steps of GD at 2000 and of Adam at 0.5 make the spectrum heavy-tailed."""
    parts, found = {}, {}
    for part, (name, rate) in FIGURE_1.items():
        after, before = (tail_rise(runs, f"{name} code", at) for at in (rate, 0.0))
        fall, distance = bulks(runs, f"{name} code", rate)
        parts[part] = claims.all_of(after.exceeds(1), claims.opposite(before.exceeds(1)))
        found[name] = {"rise": after, "text": tail_rise(runs, f"{name} text", rate), "before": before}
        found[name] |= {"stretch": stretch(runs, f"{name} code", rate)}
        found[name] |= {"exponent": NOISE.hill - fall.estimate, "distance": distance}
    laws = {"stretch, exponential": EXPONENTIAL, "stretch, noise": estimators.population_stretch("MP 1.5")}
    return Found(parts, found | laws | {"exponent of noise": NOISE.hill})


def threshold(flags: dict[float, bool | None]) -> tuple[bool | None, float | None]:
    """Whether conditions hold from some rate on and for none below, and that rate; None where one is open."""
    rates = sorted(flags)
    held = [flags[rate] for rate in rates]
    if None in held:
        return None, None
    split = any(held) and held == sorted(held)
    return split, rates[held.index(True)] if split else None


def onsets(runs: xr.Dataset, rule: str, onset: float) -> dict[float, bool | None]:
    """At which rates ten steps have widened the bulk."""
    found = {float(rate): bulks(runs, rule, rate) for rate in runs.rate.values if rate > 0}
    return {rate: claims.all_of(*(one.exceeds(onset) for one in pair)) for rate, pair in found.items()}


@decides(runs=SWEEP, text="heavy_tails/ten_steps_2000_text")
def ht_02(runs, text, *, onset):
    """Section 1: for both optimisers a rate above which several steps give a heavy-tailed spectrum, and not below."""
    holds, found = [], {}
    for name in ("GD", "Adam"):
        split, first = threshold(onsets(runs, f"{name} code", onset))
        rates = [float(rate) for rate in runs.rate.values if rate > 0]
        fall, distance = bulks(runs, f"{name} code", first or max(rates))
        rises = {rate: tail_rise(runs, f"{name} code", rate) for rate in rates}
        in_text = threshold(onsets(text, f"{name} text", onset))[1]
        holds.append(split)
        found[name] = {"fall": fall, "distance": distance, "onset": first or np.inf}
        found[name] |= {"most rise": max(rises.values(), key=lambda one: one.estimate)}
        found[name] |= {"onset in the text": in_text or np.inf}
    return Found(claims.all_of(*holds), found)


@decides(runs=SWEEP)
def ht_03(runs, *, close, units, near):
    """Section 1, Intuition: the initial spectrum follows the Marchenko-Pastur law."""
    values = runs.eigenvalues.sel(rule="GD code", rate=0).transpose("seed", "k").values.astype(float)
    distance = stats.student(np.array([NOISE.distance(one) for one in values]))
    hill = stats.student(np.array([tails.hill(one) for one in values]))
    h, d = np.sqrt(NOISE.h), np.sqrt(NOISE.d)
    lower_unit = (h - d) * (1 / d - 1 / h) ** (1 / 3)  # of the fluctuations of the smallest eigenvalue
    below = float((NOISE.edges[0] - values.min()) / lower_unit)
    above = float((values.max() - NOISE.edges[1]) / NOISE.tracy_widom_unit)
    return Found(
        claims.all_of(
            claims.below(distance, close),
            max(below, above) <= units,
            claims.within(hill, NOISE.hill - near, NOISE.hill + near),
        ),
        {"distance": distance, "PL_Alpha_Hill": hill, "PL_Alpha_Hill of the law": NOISE.hill}
        | {"smallest": values.min(), "largest": values.max(), "edges": NOISE.edges}
        | {"units below": below, "units above": above},
    )


@decides(drawn=LAWS)
def ht_06(drawn):
    """Sections 3.2 and 5.2: a smaller exponent means a heavier tail."""
    drawn = drawn.isel(seed=slice(20))
    parts, found, ends, ordered = {}, {}, {}, {}
    for name, title in ESTIMATES.items():
        mean = {
            str(law): stats.bootstrap(drawn[name].sel(law=law).values, name=f"{law} {name}") for law in drawn.law.values
        }
        lowest = min((mean[law] for law in estimators.TAIL_FREE), key=lambda one: one.estimate)
        highest = max((mean[law] for law in estimators.PARETO), key=lambda one: one.estimate)
        parts[title] = True if lowest.low > highest.high else False if lowest.high < highest.low else None
        found[title], ends[title] = mean, {"highest of power laws": highest, "lowest of others": lowest}
        ordered[title] = bool((np.diff([mean[law].estimate for law in estimators.PARETO]) > 0).all())
    return Found(parts, found | {"ends": ends, "power laws in order": ordered})


FAR = 2.0  # a gap that nobody would overlook
MOVES = {"W x 10": {"scale": 10}, "W x 1000": {"scale": 1000}, "top x 10": {"top": 10}, "top x 100": {"top": 100}}
POSITIONS = {
    n: (f"heavy_tails/spike_position_{n}", f"heavy_tails/exponents/spike_position_{n}_more") for n in (2000, 8000)
}


def changes(spectra: xr.DataArray) -> dict[tuple[float, str], np.ndarray]:
    """Relative changes of both exponents of spectra (rate, k), by rate and move."""
    found = {}
    for rate in spectra.rate.values:
        values = spectra.sel(rate=rate).values
        before = np.array(estimators.moved(values))
        for name, move in MOVES.items():
            found[float(rate), name] = np.array(estimators.moved(values, **move)) / before - 1
    return found


def reactions(runs: xr.Dataset) -> xr.Dataset:
    """By draw and rate: the gap, and the relative change of PL_Alpha_KS when the largest eigenvalue grows by 5 %."""
    spectra = runs.eigenvalues.sel(rule="Adam code").transpose("seed", "rate", "k")
    step = 1.05**0.5
    both = np.array([[estimators.moved(v, top=top)[1] for top in (1, step)] for v in spectra.values.reshape(-1, 1000)])
    change = np.abs(both[:, 1] / both[:, 0] - 1).reshape(spectra.shape[:2])
    gap = spectra.values[..., 0] / spectra.values[..., 1]
    dims = ("seed", "rate")
    ks = both[:, 0].reshape(change.shape)
    return xr.Dataset({"change": (dims, change), "gap": (dims, gap), "ks": (dims, ks)}, {d: spectra[d] for d in dims})


def by_gap(seen: Sequence[xr.Dataset]) -> Interval:
    """Rank correlation of the gap and the reaction of PL_Alpha_KS over the spectra of a draw, mean over the draws."""
    gap, change = (
        np.concatenate([one[name].transpose("seed", "rate").values for one in seen], axis=1)
        for name in ("gap", "change")
    )
    return stats.student(np.array([stats.rank_correlation(*pair) for pair in zip(gap, change)]))


def positions(runs: Sequence[xr.Dataset]) -> xr.Dataset:
    """Runs on the position of the spike, their draws put together."""
    return xr.concat([one.sel(rule=["Adam code"]) for one in runs], "seed")


@decides(few=POSITIONS[2000], many=POSITIONS[8000])
def ht_70(few, many, *, least):
    """Appendix G: the exponents depend on the scale of the singular values; PL_Alpha_KS on a spike at the edge."""
    few, many = positions(few), positions(many)
    changed = changes(few.eigenvalues.sel(rule="Adam code", seed=0, rate=[0.1, 1.0, 10.0]))
    scaled = max(np.abs(change).max() for (_, move), change in changed.items() if move.startswith("W"))
    spike = np.max([np.abs(change) for (_, move), change in changed.items() if move.startswith("top")], axis=0)
    seen = [reactions(one) for one in (few, many)]
    link = by_gap(seen)
    gap, change = (np.concatenate([one[name].values.ravel() for one in seen]) for name in ("gap", "change"))
    near, far = change[gap < shapes.SPIKE_RATIO], change[gap >= FAR]
    return Found(
        {"a": bool(scaled > least), "b": claims.below(link, 0)},
        {
            "rank correlation of gap and reaction": link,
            "a common factor": scaled,
            "the largest value": dict(zip(ESTIMATES.values(), spike)),
            "spectra": len(gap),
            "near": {"gap": shapes.SPIKE_RATIO, "spectra": len(near), "median": np.median(near)},
            "far": {"gap": FAR, "spectra": len(far), "median": np.median(far)},
        },
    )


PARETO = ("Pareto 1.5", "Pareto 2", "Pareto 3")


def controls(pure: xr.Dataset, mixed: xr.Dataset) -> xr.Dataset:
    """Both exponents of samples of three power laws, pure and half replaced by noise, and of noise."""
    mixed = mixed.sel(law=list(PARETO)).assign_coords(law=[f"{law}, half noise" for law in PARETO])
    return xr.concat([pure.sel(law=[*PARETO, "MP 1.5"]), mixed], "law")


def scatter(pairs: np.ndarray, name: str) -> Interval:
    """Standard deviation of PL_Alpha_KS over that of PL_Alpha_Hill, of draws (n, 2), by bootstrap."""

    def ratio(values: np.ndarray, axis: int) -> np.ndarray:
        spread = values.std(axis=axis, ddof=1)
        return spread[..., 1] / spread[..., 0]

    return stats.bootstrap(pairs, ratio, name=f"scatter/{name}", resamples=500)


def scatter_of_runs(fits: xr.Dataset) -> np.ndarray:
    """Standard deviation over the draws of PL_Alpha_KS over that of PL_Alpha_Hill, by run of trained students."""

    def exponents(values: np.ndarray) -> np.ndarray:
        return np.array(estimators.moved(np.sort(values)[::-1]))

    spectra, dims = fits.eigenvalues.sel(reading="code"), {"input_core_dims": [["k"]], "output_core_dims": [["one"]]}
    spread = xr.apply_ufunc(exponents, spectra, **dims, vectorize=True).std("seed", ddof=1)
    return (spread.isel(one=1) / spread.isel(one=0)).values


@decides(pure=LAWS, mixed="heavy_tails/exponents/exponents_half_noise", fits=FITS[0])
def ht_73(pure, mixed, fits, *, errors, twice):
    """Appendix H: the Hill estimate is biased, the KS estimate has the larger variance."""
    drawn, off, ratio = controls(pure, mixed), {}, {}
    for law in map(str, drawn.law.values):
        one = drawn.sel(law=law)
        ratio[law] = scatter(np.column_stack([one.hill.values, one.ks.values]), law)
        if law.startswith("Pareto"):
            truth, hill = float(law.split(",")[0].split()[1]), one.hill.values
            off[law] = abs(hill.mean() - truth) / (hill.std(ddof=1) / len(hill) ** 0.5)
    half = [law for law in off if law not in PARETO]
    of_runs = scatter_of_runs(fits)
    trained = stats.geometric(of_runs)
    return Found(
        {
            "bias": all(off[law] > errors for law in half),
            "variance, synthetic": claims.combine({k: claims.verdict(one.exceeds(twice)) for k, one in ratio.items()}),
            "variance, trained": trained.exceeds(twice),
        },
        {
            "scatter": ratio,
            "log scatter, trained": stats.student(np.log(of_runs)),
            "scatter on trained weights": trained,
        }
        | {"scatter of pure laws": [ratio[law].estimate for law in PARETO]}
        | {"scatter with half noise": [ratio[law].estimate for law in half]}
        | {"scatter of noise at least": ratio["MP 1.5"].low}
        | {"off with half noise": [off[law] for law in half], "pure laws off at most": max(off[law] for law in PARETO)},
    )


def of_code(fits: Sequence[xr.Dataset]) -> list[xr.Dataset]:
    """Fits in the reading of the code, where there are several readings."""
    return [one.sel(reading="code") if "reading" in one.dims else one for one in fits]


def kinds_of_tail(found: xr.Dataset) -> dict[str, int]:
    """How many spectra of a group a law describes, by each fit and test of :mod:`tail_fits`; and how many rise."""
    rest = found.sel(spectrum="without spike")
    lost = tail_fits.beaten(rest)
    spectra = found.eigenvalues.transpose(..., "k").values
    rises = [tops.rise(tail_fits.without_spike(np.sort(one)[::-1])) for one in spectra.reshape(-1, spectra.shape[-1])]
    return {
        "spectra": int(found.tail_power.size),
        "power law": int(tail_fits.supported(found.sel(spectrum="all")).sum()),
        "power law without spike": int(tail_fits.supported(rest).sum()),
        "log-normal better": int(lost.sel(alternative="log-normal").sum()),
        "exponential better": int(lost.sel(alternative="exponential").sum()),
        "widened noise nearer": int((found.tail_profile < found.tail_power).sum()),
        "excess rises": int(np.sum(np.array(rises) > 1)),
    }


@decides(fits=FITS)
def ht_80(fits):
    """Sections 5.1 and 5.2: are the spectra that are called heavy-tailed power laws?"""
    fits = of_code(fits)
    counts = [kinds_of_tail(found) for found in fits]
    total = {name: sum(one[name] for one in counts) for name in counts[0]}
    distances = np.concatenate([found.profile_distance.values.ravel() for found in fits])
    share = stats.wilson(total["power law without spike"], total["spectra"])
    return Found("answered", {"power law without the spike": share, **total, "distance": np.median(distances)})


def unequal_rows(rng: np.random.Generator, spread: float = 1.25) -> np.ndarray:
    """Spectrum of a Gaussian matrix of the document's shape whose rows have independent log-normal variances."""
    variance = np.exp(spread * rng.standard_normal(NOISE.h))
    return esd.eigenvalues(np.sqrt(variance)[:, None] * rng.standard_normal((NOISE.h, NOISE.d)))
