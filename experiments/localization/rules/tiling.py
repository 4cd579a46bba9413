r"""Rules on tiling and the averages over the ring: LO-19 to LO-24.

Two fields are as similar as their largest absolute correlation over all shifts.  (4) and (5) are judged as they are
printed, with equal halves of the two populations, and with the true shares.  Every number is one for each trained
network, and intervals are Student's over networks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import xarray as xr
from scipy import special

from experiments.localization import networks, populations, ring_average
from experiments.localization.rules.populations import GAINS, SIGNS, by_seed, last, signs, spans, student
from shallow import receptive_fields as fields
from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.data import nlgp
from shallow.stats import Interval

WIDTHS = (20, 40, 100)
CUT = 20  # highest frequency kept of a field on 400 pixels: the highest of the ring of 40


def similarity(W: np.ndarray) -> tuple[float, float]:
    """Medians over pairs of fields of the similarity, and of the cosine of the amplitude spectra."""
    matrices = populations.match(W).similarity, populations.spectral_similarity(W)
    return tuple(float(np.median(populations.pairs(values))) for values in matrices)


def similarities(runs: xr.Dataset, cut: float = np.inf) -> dict[str, np.ndarray]:
    """:func:`similarity` of the fields of either population of every network (seed, 2), below a frequency."""
    pairs = list(zip(fields.low_pass(by_seed(runs, "W"), cut), signs(runs), strict=True))
    return {name: np.array([similarity(W[of == sign]) for W, of in pairs]) for sign, name in SIGNS.items()}


@cache
def noise() -> tuple[float, float]:
    """:func:`similarity` of sixty fields of white noise on 40 pixels."""
    return similarity(stats.stream("localization", "noise fields").standard_normal((60, networks.N)))


def lo_19(runs: xr.Dataset | None = None, fine: xr.Dataset | None = None) -> Outcome:
    """Section 2, Tiling: within a population fields differ by shift and sign only."""
    copies = 0.9
    runs = last(records.load("localization/balance")) if runs is None else runs
    fine = last(records.load("localization/fine_ring")).sel(gain=3.0) if fine is None else fine
    found = {
        (name, gain): [student(column) for column in values.T]
        for gain in GAINS for name, values in similarities(runs.sel(gain=gain)).items()
    }  # fmt: skip
    large = {name: student(values[:, 0]) for name, values in similarities(fine, CUT).items()}
    return Outcome(
        parts={f"{name}, g = {gain:g}": one[0].exceeds(copies) for (name, gain), one in found.items()},
        answer={
            "partly": "Only the bumps: localised fields are copies of one shape, long waves and fast fields are not.",
            "reproduced": "Yes: the fields of a population are copies of one another.",
            "contradicted": "No: the fields of neither population are copies of one another.",
            "otherwise": "Open: the runs do not decide it.",
        },
        finding="median similarity up to shift and sign (cosine of the amplitude spectra): "
        + "; ".join(
            f"{name} at g = {gain:g} {one[0]:.2f} ({one[1].estimate:.2f})" for (name, gain), one in found.items()
        )
        + f"; white noise {noise()[0]:.2f} ({noise()[1]:.2f}); on 400 pixels at g = 3 negative "
        f"{large['negative'].estimate:.2f}, positive {large['positive'].estimate:.2f} in the same frequencies",
        evidence={f"similarity, {name}, g = {gain:g}": one[0] for (name, gain), one in found.items()},
    )


def covering(runs: xr.Dataset) -> dict[str, np.ndarray]:
    """Of the centres of the negative fields of every network: the largest gap in pixels, this over the mean of as many
    independent uniform centres, the share of positive peaks, and Rayleigh's p; (seed,) each."""
    n, rows = runs.sizes["pixel"], []
    for W, of in zip(by_seed(runs, "W"), signs(runs), strict=True):
        chosen = W[of < 0]
        places, m = fields.centre(chosen).position, len(chosen)
        gap = populations.largest_gap(places, n)
        chance = n / m * np.sum(1 / np.arange(1, m + 1))
        rows.append([gap, gap / chance, np.mean(fields.peak_sign(chosen) > 0), populations.rayleigh(places, n)])
    return dict(zip(("gap", "by chance", "peaks", "p"), np.array(rows).T, strict=True))


def lo_20(runs: xr.Dataset | None = None) -> Outcome:
    """Section 2, Tiling: centres cover the ring, both signs alike."""
    level, low, high = 0.01, 0.3, 0.7
    runs = last(records.load("localization/tiling")) if runs is None else runs
    found = covering(runs)
    gap, chance, peaks = (student(found[name]) for name in ("gap", "by chance", "peaks"))
    p = stats.holm(found["p"]).min()
    return Outcome(
        verdict=claims.all_of(
            claims.below(gap, runs.sizes["pixel"] / 4), claims.within(peaks, low, high), bool(p >= level)
        ),
        answer={
            "reproduced": "Yes: the bumps cover the ring more evenly than chance would, and both signs are equally "
            "frequent.",
            "otherwise": "No: the bumps leave a part of the ring out, or one sign prevails.",
        },
        finding=f"largest gap between the centres of the negative fields {gap:.1f} of {runs.sizes['pixel']} pixels, "
        f"{chance:.2f} of that of as many independent centres; share of positive peaks {peaks}; Rayleigh's test of "
        f"uniformity rejects in {int((stats.holm(found['p']) < level).sum())} of {len(found['p'])} networks",
        evidence={"largest gap": gap, "over that of independent centres": chance, "positive peaks": peaks},
    )


@cache
def by_width() -> dict[int, xr.Dataset]:
    """What the formulas say for networks of each width."""
    return {width: ring_average.record(f"localization/widths_{width}") for width in WIDTHS}


@cache
def standard() -> xr.Dataset:
    """What the formulas say for ten standard networks."""
    return ring_average.record("localization/balance")


def of(measured: xr.Dataset, form: str, weights: str, gain: float, name: str = "error") -> np.ndarray:
    """One measure of a formula (seed,)."""
    return measured[name].sel(form=form, weights=weights, gain=gain).values


def close(measured: Mapping[int, xr.Dataset], form: str, weights: str, gain: float) -> bool | None:
    """Whether a formula is near to wide networks, and does not get worse from the narrow to the wide ones."""
    narrow, wide = measured[min(measured)], measured[max(measured)]
    correlation, error = (student(of(wide, form, weights, gain, name)) for name in ("correlation", "error"))
    growth = student(of(wide, form, weights, gain) - of(narrow, form, weights, gain))
    return claims.all_of(
        correlation.exceeds(0.9), claims.below(error, 1 / 3), None if growth.exceeds(0) is None else growth.high < 0
    )


def lo_21(measured: Mapping[int, xr.Dataset] | None = None) -> Outcome:
    """Section 2, Tiling, equation (4): many neurons are an average over the ring."""
    measured = by_width() if measured is None else measured
    forms = {("shares", "true shares"), ("halves", "as printed")}
    wide, narrow = measured[max(measured)], measured[min(measured)]

    def error(form: str, weights: str, gain: float, at: xr.Dataset = wide) -> Interval:
        return student(of(at, form, weights, gain))

    def said(form: str, weights: str) -> str:
        return " and ".join(
            f"{error(form, weights, gain):.2f} ({error(form, weights, gain, narrow).estimate:.2f})" for gain in GAINS
        )

    least = min((student(of(wide, "(4), template", "shares", gain, "correlation")) for gain in GAINS),
                key=lambda one: one.estimate)  # fmt: skip
    return Outcome(
        parts={
            f"{label}, g = {gain:g}": close(measured, "(4), template", weights, gain)
            for weights, label in sorted(forms, reverse=True) for gain in GAINS
        },
        answer={
            "reproduced": "Yes: a hundred neurons are close to an average over the ring with one field per population.",
            "partly": "Yes with the true shares of the populations; with equal halves, as printed, a constant is off.",
            "contradicted": "No: a hundred neurons are not close to an average over the ring.",
            "otherwise": "Open: the runs do not decide it.",
        },
        finding=f"K = {max(measured)}, error over the standard deviation of the output at g = 0.01 and g = 3 (in "
        f"brackets K = {min(measured)}): one template and true shares {said('(4), template', 'shares')}, correlation "
        f"{least.estimate:.2f} or more; as printed, with equal halves, {said('(4), template', 'halves')}; with every "
        f"neuron's own average and true shares {said('(4), own', 'shares')}; with the unstretched mean field and true "
        f"shares {said('(4), mean', 'shares')}",
        evidence={
            f"error, {label}, g = {gain:g}": error("(4), template", weights, gain)
            for weights, label in sorted(forms, reverse=True) for gain in GAINS
        },
    )  # fmt: skip


@cache
def tiled_networks() -> dict[str, float]:
    """Largest differences of tiled networks from (4): equal populations, two to three, and a lopsided template."""
    d, n = nlgp.ring_distance(networks.N), networks.N
    shapes, biases = [5 * np.exp(-((d / 2) ** 2)), 2 * np.cos(2 * np.pi * 17 * d / n)], [-5.0, 4.0]
    lopsided = [shapes[0] * np.where(np.arange(n) < n // 2, 1.0, -0.3), shapes[1]]
    uneven = ring_average.tiled(shapes, biases, (3, 2))
    return {
        "equal": ring_average.tiled(shapes, biases)["halves"],
        "uneven, halves": uneven["halves"],
        "uneven, shares": uneven["shares"],
        "lopsided, correlation": ring_average.tiled(lopsided, biases)["halves"],
        "lopsided, convolution": ring_average.tiled(lopsided, biases, written="convolution")["halves"],
    }


def lo_22(errors: Mapping[str, float] | None = None) -> Outcome:
    """Equation (4) from (3)."""
    equal = 1e-6
    errors = tiled_networks() if errors is None else errors
    same = {name: bool(value < equal) for name, value in errors.items()}
    word = {True: "less than 1e-6", False: "more than 1e-6"}
    return Outcome(
        verdict=same["equal"],
        answer={
            "reproduced": "Yes: for equal populations whose fields take every place with both signs, (4) is exact.",
            "contradicted": "No: even for such a network (4) is not exact.",
        },
        finding=f"for all shifts and both signs of a bump and a cosine (3) and (4) differ by {word[same['equal']]}; "
        f"with three negative neurons to two positive ones by {errors['uneven, halves']:.2f} as printed and "
        f"{word[same['uneven, shares']]} with the true shares; for a lopsided template by "
        f"{errors['lopsided, convolution']:.2f} with a convolution and {word[same['lopsided, correlation']]} with a "
        "correlation",
    )


@cache
def dropped_terms() -> dict[str, dict[str, float]]:
    """Of erf and of a logistic sigmoid, where |h| + b > 1, b in [-6, 0]: the largest modulus of the dropped term, that
    for b at most -1, and its limit for large |h|."""
    b, h = np.meshgrid(np.linspace(-6, 0, 61), np.linspace(0, 15, 151), indexing="ij")
    where = h + b > 1
    found = {}
    for name, value in (("erf", special.erf((b - h) / 2**0.5)), ("logistic", special.expit(b - h))):
        size = np.abs(value)
        found[name] = {
            "largest": float(size[where].max()),
            "beyond": float(size[where & (b <= -1)].max()),
            "limit": float(value[h > 10].mean()),
        }
    return found


def carried(b: float, h: np.ndarray) -> float:
    r"""Share of the variance of $\sigma(b + |h|) + \sigma(b - |h|)$ that the first term carries: covariance over it."""
    kept, other = (special.erf((b + sign * np.abs(h)) / 2**0.5) for sign in (1, -1))
    return float(np.cov(kept, kept + other)[0, 1] / np.var(kept + other, ddof=1))


BIASES, DEVIATIONS = (1, 2, 4), (2, 5, 10)


@cache
def carried_by_normals(seeds: int = 3) -> np.ndarray:
    """:func:`carried` for h ~ N(0, s^2), three biases and three s (seed, bias, s)."""
    h = [stats.stream("localization", "folded", seed).standard_normal(100_000) for seed in range(seeds)]
    return np.array([[[carried(b, s * z) for s in DEVIATIONS] for b in BIASES] for z in h])


@cache
def carried_in_networks() -> np.ndarray:
    """Largest :func:`carried` among the positive neurons of each standard network, on 2000 points (gain, seed)."""
    runs = last(records.load("localization/balance"))
    rows = []
    for gain in GAINS:
        rows.append([])
        for seed in runs.seed.values:
            one = runs.sel(gain=gain, seed=seed)
            W, b = one.W.values, one.b.values
            x = ring_average.inputs(seed, gain).x
            rows[-1].append(max(carried(float(bias), x @ w) for w, bias in zip(W, b) if bias > populations.DEAD_ZONE))
    return np.array(rows)


def _percent(shares: Sequence[Interval]) -> str:
    """Estimates of shares as a range, as measured."""
    low, high = (f"{round(100 * pick(one.estimate for one in shares)) + 0:d}" for pick in (min, max))
    return f"{low}%" if low == high else f"{low} to {high}%"


def lo_23(normals: np.ndarray | None = None, trained: np.ndarray | None = None) -> Outcome:
    """The sentence before equation (5): the smaller of the two terms is negligible; the same for positive biases."""
    small, most = 0.05, 0.9
    terms = dropped_terms()
    normals = carried_by_normals() if normals is None else normals
    trained = carried_in_networks() if trained is None else trained
    by_case = [student(column) for column in normals.reshape(len(normals), -1).T]
    networks_ = [student(row) for row in trained]
    carries = [one.exceeds(most) for one in (*by_case, *networks_)]
    return Outcome(
        parts={
            "negative biases": "corrected" if terms["erf"]["largest"] >= small else "reproduced",
            "positive biases": "corrected"
            if all(one is not None and not one for one in carries)
            else claims.all_of(*carries),
        },
        answer={
            "corrected": "Not quite: the dropped term is minus one, not zero; and for positive biases it is the other "
            "term that varies.",
            "otherwise": "In part: one of the two terms may be dropped for one sign of the bias.",
        },
        finding=f"where |h| + b > 1 the dropped term is up to {terms['erf']['largest']:.2f} in modulus for erf, with "
        f"the limit {terms['erf']['limit']:.0f}, and up to {terms['logistic']['largest']:.2f} for a logistic sigmoid, "
        f"with the limit {terms['logistic']['limit']:.0f} ({terms['logistic']['beyond']:.2f} for b below -1); for "
        f"b > 0 the term kept carries {_percent(by_case)} of the variance for normal h, and at most "
        f"{_percent(networks_)} in trained networks: the other one carries all of it, or more",
        evidence={"most carried, normal h": max(by_case, key=lambda one: one.estimate),
                  "most carried, trained": max(networks_, key=lambda one: one.estimate)},
    )  # fmt: skip


def holds(measured: xr.Dataset, form: str, weights: str) -> bool | None:
    """Whether a formula passes the rule of (5) at both gains."""
    error, lost = 1 / 3, 0.02
    return claims.all_of(
        *(
            claims.all_of(
                claims.below(student(of(measured, form, weights, gain)), error),
                claims.within(student(of(measured, form, weights, gain, "lost")), -1, lost),
            )
            for gain in GAINS
        )
    )


def lo_24(measured: xr.Dataset | None = None) -> Outcome:
    """Equation (5) and its prefactor."""
    rounding = 1.001
    measured = standard() if measured is None else measured
    printed, proved = holds(measured, "(5), own", "halves"), bool(measured.bound.max() <= rounding)

    def said(form: str, weights: str) -> str:
        return spans([student(of(measured, form, weights, gain)) for gain in GAINS])

    lost = [student(of(measured, "(5), own", "halves", gain, "lost")) for gain in GAINS]
    return Outcome(
        verdict="corrected" if printed is False and proved else claims.verdict(printed),
        answer={
            "corrected": "No, but it can be put right: the prefactor is a quarter, and positive biases need the other "
            "term.",
            "reproduced": "Yes: the printed formula is close to the network.",
            "otherwise": "No: the printed formula is far from the network.",
        },
        finding=f"error over the standard deviation of the output: (5) as printed {said('(5), own', 'halves')} with "
        f"{spans(lost)} of the accuracy lost, with true shares {said('(5), own', 'shares')}; corrected with equal "
        f"halves {said('corrected, own', 'halves')}, corrected with true shares {said('corrected, own', 'shares')}, as "
        f"(4) itself, from which it differs by {'less' if proved else 'more'} than the proved bound",
        evidence={
            f"error of (5) as printed, g = {gain:g}": student(of(measured, "(5), own", "halves", gain))
            for gain in GAINS
        },
    )
