r"""Rules on tiling and the averages over the ring: LO-19 to LO-24.

Two fields are as similar as their largest absolute correlation over all shifts.  (4) and (5) are judged as they are
printed, with equal halves of the two populations, and with the true shares.  Every number is one for each trained
network, and intervals are Student's over networks.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy import special

from experiments.localization import networks
from experiments.localization.populations import cells as populations
from experiments.localization.populations.rules import GAINS, SIGNS, STANDARD, by_seed, last, signs, student
from experiments.localization.tiling import cells as ring_average
from shallow import receptive_fields as fields
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.data import nlgp
from shallow.stats import Interval

WIDTHS = (20, 40, 100)
EQUAL, BOUND = 1e-6, 1.001  # of two outputs, and of a difference over its proved bound
CUT = 20  # highest frequency kept of a field on 400 pixels: the highest of the ring of 40


def similarity(W: np.ndarray) -> tuple[float, float]:
    """Medians over pairs of fields of the similarity, and of the cosine of the amplitude spectra."""
    matrices = populations.match(W).similarity, populations.spectral_similarity(W)
    return tuple(float(np.median(populations.pairs(values))) for values in matrices)


def similarities(runs: xr.Dataset, cut: float = np.inf) -> dict[str, np.ndarray]:
    """:func:`similarity` of the fields of either population of every network (seed, 2), below a frequency."""
    pairs = list(zip(fields.low_pass(by_seed(runs, "W"), cut), signs(runs), strict=True))
    return {name: np.array([similarity(W[of == sign]) for W, of in pairs]) for sign, name in SIGNS.items()}


def noise() -> tuple[float, float]:
    """:func:`similarity` of sixty fields of white noise on 40 pixels."""
    return similarity(stats.stream("localization", "noise fields").standard_normal((60, networks.N)))


@decides(runs=STANDARD, fine="localization/fine_ring")
def lo_19(runs, fine, *, copies):
    """Section 2, Tiling: within a population fields differ by shift and sign only."""
    found = {
        f"{name}, g = {gain:g}": [student(column) for column in values.T]
        for gain in GAINS
        for name, values in similarities(last(runs).sel(gain=gain)).items()
    }
    large = similarities(last(fine).sel(gain=3.0), CUT)
    return Found(
        {name: similar.exceeds(copies) for name, (similar, _) in found.items()},
        {"similarity": {name: similar for name, (similar, _) in found.items()}}
        | {"spectra": {name: spectra.estimate for name, (_, spectra) in found.items()}, "noise": noise()}
        | {"400 pixels": {name: values[:, 0].mean() for name, values in large.items()}},
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


@decides(runs="localization/tiling")
def lo_20(runs, *, level, peaks):
    """Section 2, Tiling: centres cover the ring, both signs alike."""
    found = covering(last(runs))
    gap, chance, positive = (student(found[name]) for name in ("gap", "by chance", "peaks"))
    p = stats.holm(found["p"])
    return Found(
        claims.all_of(
            claims.below(gap, runs.sizes["pixel"] / 4), claims.within(positive, *peaks), bool(p.min() >= level)
        ),
        {"largest gap": gap, "over that of independent centres": chance, "positive peaks": positive}
        | {"rejected": int((p < level).sum()), "networks": len(p)},
    )


def of(measured: xr.Dataset, form: str, weights: str, gain: float, name: str = "error") -> np.ndarray:
    """One measure of a formula (seed,)."""
    return measured[name].sel(form=form, weights=weights, gain=gain).values


@decides(runs=tuple(f"localization/widths_{width}" for width in WIDTHS))
def lo_21(runs, *, correlation, error):
    """Section 2, Tiling, equation (4): many neurons are an average over the ring."""
    narrow, usual, wide = (ring_average.measured(last(one)) for one in runs)
    weights = {"true shares": "shares", "as printed": "halves"}

    def close(weights: str, gain: float) -> bool | None:
        near, off = (student(of(wide, "(4), template", weights, gain, name)) for name in ("correlation", "error"))
        growth = student(of(wide, "(4), template", weights, gain) - of(narrow, "(4), template", weights, gain))
        return claims.all_of(near.exceeds(correlation), claims.below(off, error), claims.below(growth, 0))

    def errors(form: str, weights: str) -> dict[str, object]:
        large, small = ([student(of(one, form, weights, gain)) for gain in GAINS] for one in (wide, narrow))
        return {f"g = {g:g}": one for g, one in zip(GAINS, large)} | {"narrow": [one.estimate for one in small]}

    return Found(
        {f"{label}, g = {gain:g}": close(which, gain) for label, which in weights.items() for gain in GAINS},
        {"error": {label: errors("(4), template", which) for label, which in weights.items()}}
        | {"own averages": errors("(4), own", "shares"), "unstretched": errors("(4), mean", "shares")}
        | {"K = 40": {f"g = {g:g}": student(of(usual, "(4), template", "shares", g)) for g in GAINS}}
        | {"least correlation": min(of(wide, "(4), template", "shares", g, "correlation").mean() for g in GAINS)},
    )


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


@decides(errors=tiled_networks)
def lo_22(errors):
    """Equation (4) from (3)."""
    same = {name: bool(errors[name] < EQUAL) for name in ("equal", "uneven, shares", "lopsided, correlation")}
    off = {name: errors[name] for name in ("uneven, halves", "lopsided, convolution")}
    return Found(same["equal"], {"differs by less than 1e-6": same} | off)


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


def carried_by_normals(seeds: int = 3) -> np.ndarray:
    """:func:`carried` for h ~ N(0, s^2), three biases and three s (seed, bias, s)."""
    h = [stats.stream("localization", "folded", seed).standard_normal(100_000) for seed in range(seeds)]
    return np.array([[[carried(b, s * z) for s in DEVIATIONS] for b in BIASES] for z in h])


def carried_in_networks(runs: xr.Dataset) -> np.ndarray:
    """Largest :func:`carried` among the positive neurons of each standard network, on 2000 points (gain, seed)."""
    rows = []
    for gain in GAINS:
        rows.append([])
        for seed in runs.seed.values:
            one = runs.sel(gain=gain, seed=seed)
            W, b = one.W.values, one.b.values
            x = ring_average.inputs(seed, gain).x
            rows[-1].append(max(carried(float(bias), x @ w) for w, bias in zip(W, b) if bias > populations.DEAD_ZONE))
    return np.array(rows)


def _ends(intervals: list[Interval]) -> list[Interval]:
    return [pick(intervals, key=lambda one: one.estimate) for pick in (min, max)]


@decides(terms=dropped_terms, normals=carried_by_normals, runs=STANDARD)
def lo_23(terms, normals, runs, *, small, most):
    """The sentence before equation (5): the smaller of the two terms is negligible; the same for positive biases."""
    cases = {"normal h": normals.reshape(len(normals), -1).T, "trained": carried_in_networks(last(runs))}
    found = {name: [student(row) for row in rows] for name, rows in cases.items()}
    carries = [one.exceeds(most) for several in found.values() for one in several]
    none = all(one is not None and not one for one in carries)
    return Found(
        {
            "negative biases": "corrected" if terms["erf"]["largest"] >= small else "reproduced",
            "positive biases": "corrected" if none else claims.all_of(*carries),
        },
        {"most carried": {name: _ends(several)[1] for name, several in found.items()}}
        | {"percent carried": {name: [100 * end.estimate for end in _ends(several)] for name, several in found.items()}}
        | {"dropped term": terms},
    )


@decides(runs=STANDARD)
def lo_24(runs, *, error, lost):
    """Equation (5) and its prefactor."""
    measured = ring_average.measured(last(runs))

    def each(form: str, weights: str, name: str = "error") -> dict[str, Interval]:
        return {f"g = {gain:g}": student(of(measured, form, weights, gain, name)) for gain in GAINS}

    printed, lose = each("(5), own", "halves"), each("(5), own", "halves", "lost")
    holds = claims.all_of(
        *(claims.below(one, error) for one in printed.values()),
        *(claims.within(one, -1, lost) for one in lose.values()),
    )
    proved = bool(measured.bound.max() <= BOUND)
    return Found(
        "corrected" if holds is False and proved else claims.verdict(holds),
        {"error of (5) as printed": printed, "accuracy lost": lose, "within the proved bound": proved}
        | {"error of (5), true shares": each("(5), own", "shares")}
        | {f"error corrected, {weights}": each("corrected, own", weights) for weights in ring_average.WEIGHTS},
    )
