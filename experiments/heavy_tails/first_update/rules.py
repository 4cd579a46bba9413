r"""Rules on the first update of Adam: norms (HT-15, 16, 39, 69), the gradient and its signs (HT-04, 14, 33 to 38).

Kothapalli et al., equations 6, 8, 9, Section 4.2, Appendix B.  The theorem is about the limit $\epsilon \to 0$, in
which the update is $b \operatorname{sign}(G)$, b = 1 with bias correction (the code) and
$b = (1 - \beta_1) / \sqrt{1 - \beta_2} = \sqrt{10}$ without (the text).  Rules on norms also look at the program's
$\epsilon = 10^{-8}$; intervals are Student's, over draws.  The document's $G_0$ is minus the gradient G, and A is the
rank-one matrix that is to have its signs.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy import special

from experiments.heavy_tails import gradient_laws
from experiments.heavy_tails.first_update import cells as first_update
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.data import single_index
from shallow.stats import Interval

WIDTH = 1500
FACTORS = {"code": 1.0, "text": 0.1 / 0.001**0.5}  # b
GAP = 1.05  # largest eigenvalue over the second: a spike
#: n, h and d of the rows of Table 2 as they are printed.
TABLE_2 = [(1000, 750, 500), (2000, 1500, 1000), (3000, 2250, 1500), (4000, 3000, 2000)]
TABLE_2 += [(5000, 3750, 2500), (6000, 4500, 3000), (7000, 5250, 3500), (8000, 6000, 4000)]
FIXED_WIDTH = "heavy_tails/first_update/first_update_fixed_width"  # width 1500 and d = n/2, in both scalings
ROWS = "heavy_tails/first_update/first_update_table_2"


# Norms.


def root_size(runs: xr.Dataset, width: int | None = None) -> xr.DataArray:
    r"""$\sqrt{hd}$ by n."""
    found = [first_update.sizes(int(n), width) for n in runs.n.values]
    return xr.DataArray([np.sqrt(one["h"] * one["d"]) for one in found], {"n": runs.n.values}, "n")


def over_draws(values: xr.DataArray) -> list[Interval]:
    """Interval at each size of values (n, seed)."""
    return [stats.student(one) for one in values.transpose("n", "seed").values]


def slope(norm: xr.DataArray, size: xr.DataArray) -> Interval:
    """Log-log slope of a norm (n, seed) against a size (n), fitted to each draw."""
    return stats.student(np.polyfit(np.log(size), np.log(norm.transpose("n", "seed").values), 1)[0])


def along_line(values: xr.DataArray, size: xr.DataArray) -> Interval:
    """Change of values (n, seed) along the least-squares line from the smallest size to the largest, by draw."""
    lines = np.polyfit(size, values.transpose("n", "seed").values, 1)
    return stats.student(lines[0] * float(size.max() - size.min()))


def variation(ratio: xr.DataArray) -> Interval:
    """Largest value over the sizes divided by the smallest, of values (n, seed)."""
    return stats.student((ratio.max("n") / ratio.min("n")).values)


def from_first_to_last(values: xr.DataArray) -> Interval:
    """Value at the last size over that at the first."""
    return stats.student((values.isel(n=-1) / values.isel(n=0)).values)


@decides(runs=FIXED_WIDTH, rows=ROWS)
def ht_15(runs, rows, *, frobenius, spread, spectral, least, kept, share, fall):
    """Theorem 4.1: both norms grow like the root of hd, and one singular value has most of the update."""
    runs = runs.sel(scaling="ntk")
    size, found = root_size(runs, WIDTH), runs.sel(reading="code")
    relative = {name: found[name] / size for name in ("frobenius", "spectral")}
    slopes = {name: slope(found[name], size) for name in relative}
    norms, varies = over_draws(relative["spectral"]), variation(relative["frobenius"])
    shares = [(one.spectral / one.frobenius) ** 2 for one in (found, rows.sel(reading="code"))]
    changes = [along_line(shares[0], size), along_line(shares[1], root_size(rows))]
    parts = {
        "a": claims.all_of(claims.within(slopes["frobenius"], *frobenius), claims.below(varies, spread)),
        "b": claims.all_of(
            claims.within(slopes["spectral"], *spectral),
            *(one.exceeds(least) for one in norms),
            from_first_to_last(relative["spectral"]).exceeds(kept),
        ),
        "c": claims.all_of(
            *(one.exceeds(share) for each in shares for one in over_draws(each)),
            *(one.exceeds(fall) for one in changes),
        ),
    }
    return Found(
        parts,
        {
            "slope": slopes | {"spectral, eps to 0": slope(runs.signs, size)},
            "slope in the text's reading": slope(runs.frobenius.sel(reading="text"), size),
            "Frobenius norm over √(hd), largest over smallest": varies,
            "change of the share at width 1500": changes[0],
            "change of the share over Table 2": changes[1],
            "spectral norm over √(hd)": [one.estimate for one in norms],
            "share": np.concatenate([one.mean("seed").values for one in shares]),
            "predicted share": gradient_laws.entries(2, 1).signs ** 2,
        },
    )


def scales(rows: xr.Dataset, n: int = 2000) -> dict[str, Interval]:
    """Learning rates at which update (eps = 0, bias correction) and weights have equal norms, by norm."""
    one = rows.sel(n=n)
    entries = first_update.sizes(n)["h"] * first_update.sizes(n)["d"]
    return {
        "spectral": stats.student(one.start_spectral / one.signs),
        "frobenius": stats.student(one.start_frobenius / entries**0.5),
    }


def comparable(ratio: xr.DataArray, order: list[float]) -> list[bool | None]:
    """Whether norms with this ratio (n, seed) are of one order, at each size and in both readings."""
    pairs = [(one, factor) for one in over_draws(ratio) for factor in FACTORS.values()]
    return [claims.within(one, *(end / factor for end in order)) for one, factor in pairs]


@decides(rows=ROWS, spikes="heavy_tails/first_update/sign_spikes")
def ht_16(rows, spikes, *, edge, entries, order, varies, varies_spectral, power):
    """Corollary 4.2 and Section 5.1: which learning rates make the update as large as the weights; eps to 0."""
    rate, base, rows = 0.01, 2000, rows.sel(n=spikes.n)
    size = root_size(rows)
    widths = size * 1.5**0.5  # h = 1.5 d
    spectral = stats.student((rows.start_spectral / (widths**0.5 + (widths / 1.5) ** 0.5)).values.ravel())
    frobenius = stats.student((rows.start_frobenius / size).values.ravel())
    b, c = size / rows.start_frobenius, rows.signs / rows.start_spectral / widths**0.5
    found, equal = slope(spikes.threshold, widths), scales(rows, base)
    large = spikes.ratio.sel(rate=1.0)
    small = [spikes.ratio.sel(rate=rate * b, method="nearest").sel(n=base) for b in FACTORS.values()]
    parts = {
        "a": claims.all_of(claims.within(spectral, *edge), claims.within(frobenius, *entries)),
        "b": claims.all_of(*comparable(b, order), claims.below(variation(b), varies)),
        "c": claims.all_of(
            *comparable(c, order), claims.below(variation(c), varies_spectral), claims.within(found, *power)
        ),
        "d": claims.all_of(*(one.exceeds(GAP) for one in over_draws(large))),
        "e": claims.all_of(claims.below(equal["spectral"], rate), equal["frobenius"].exceeds(rate)),
        "f": claims.all_of(*(claims.below(stats.student(gap.values), GAP) for gap in small)),
    }
    return Found(
        parts,
        {
            "power of the first spike": found,
            "equal norms": equal,
            "equal norms in the text's reading": {k: one.estimate / FACTORS["text"] for k, one in equal.items()},
            "largest over smallest ratio of the norms": {"b": variation(b), "c": variation(c)},
            "norm of the weights over its order, spectral": spectral,
            "Frobenius": frobenius,
            "gap at 1 at least": float(large.min()),
            "runs": large.size,
            "gap at 0.01 at most": max(float(gap.max()) for gap in small),
        },
    )


def line(norm: xr.DataArray, size: xr.DataArray) -> dict[str, Interval]:
    """Slope, intercept over the largest value, and 1 - R² of the least-squares lines of a norm (n, seed), by draw."""
    values, x = norm.transpose("n", "seed").values, size.values
    slopes, intercepts = np.polyfit(x, values, 1)
    rest = values - np.outer(x, slopes) - intercepts
    lost = (rest**2).sum(axis=0) / ((values - values.mean(axis=0)) ** 2).sum(axis=0)
    found = {"slope": slopes, "intercept": np.abs(intercepts) / values.max(axis=0), "lost": lost}
    return {name: stats.student(one) for name, one in found.items()}


@decides(rows=ROWS, printed=lambda: TABLE_2)
def ht_39(rows, printed, *, lost, intercept, lost_spectral, intercept_spectral):
    """Figure 8 and Table 2: are both norms linear in the root of hd?"""
    size, norms = root_size(rows), ("frobenius", "spectral")
    fits, text = ({name: line(rows[name].sel(reading=one), size) for name in norms} for one in ("code", "text"))
    limits = {"frobenius": (lost, intercept), "spectral": (lost_spectral, intercept_spectral)}
    straight = {
        name: claims.all_of(
            claims.below(fits[name]["lost"], limits[name][0]), claims.below(fits[name]["intercept"], limits[name][1])
        )
        for name in norms
    }
    sizes = [tuple(first_update.sizes(int(n))[key] for key in "nhd") for n in rows.n.values]
    estimates = {
        f"{what}, {name}, {reading}": one.estimate
        for reading, found in (("code", fits), ("text", text))
        for name, fit in found.items()
        for what, one in fit.items()
    }
    return Found(
        {"a": straight["frobenius"], "b": straight["spectral"], "c": sizes == list(printed)},
        {f"{what}, {name}": one for name, fit in fits.items() for what, one in fit.items()}
        | {"mean": estimates, "slope for eps to 0": line(rows.signs, size)["slope"].estimate},
    )


@decides(others="heavy_tails/first_update/first_spike_links", base="heavy_tails/first_update/first_spike")
def ht_69(others, base, *, factor, part):
    """Appendix F.5: does the teacher's activation change the learning rate of the first spike?"""
    base, most = base.sel(seed=others.seed), {"threshold": factor, "norm": 1 + part}
    ratios, alike = {}, {}
    for rule in ("Adam code", "Adam text"):
        found = {name: (others[name].sel(link="tanh") / base[name]).sel(rule=rule).values for name in most}
        ratios[rule] = {name: stats.geometric(one) for name, one in found.items()}
        alike[rule] = claims.all_of(*(claims.within(ratios[rule][k], 1 / one, one) for k, one in most.items()))
    rates = {name: float(others.threshold.sel(link=name, rule="Adam code").mean()) for name in ("tanh", "relu")}
    rates["softplus"] = float(base.threshold.sel(rule="Adam code").mean())
    law = {name: gradient_laws.spike_rates(2000, 1000, 1500, gap=GAP, link=name)["Adam"] for name in rates}
    return Found(
        alike["Adam code"],
        {f"{name}, tanh over softplus, {rule}": one for rule, pair in ratios.items() for name, one in pair.items()}
        | {"rate": rates, "predicted rate": law, "alike in the text's reading": alike["Adam text"]},
    )


# The first gradient and its signs.

VARIANTS = {  # what stands in A, and the scaling of the student
    "as stated": {"scaling": "ntk", "reference": "labels"},
    "residual in A": {"scaling": "ntk", "reference": "residual"},
    "mean-field scaling": {"scaling": "mean-field", "reference": "labels"},
}


def ridge_errors() -> np.ndarray:
    """Errors of the closed form of the objective (6), at three sizes and two penalties (rows).

    The first is its relative gradient, the second the relative difference of the h x h and n x n forms.  The features Z
    have the shape (h, n), and the matrix that is inverted is Z Z' + penalty n / h.
    """
    found = []
    for h, n in ((60, 40), (40, 60), (200, 150)):
        for penalty in (0.01, 1.0):
            rng = stats.stream("heavy tails ridge", h, n)
            Z, y = rng.standard_normal((h, n)), rng.standard_normal(n)
            shift, norm = penalty * n / h, np.linalg.norm
            a = np.linalg.solve(Z @ Z.T + shift * np.eye(h), Z @ y)
            dual = Z @ np.linalg.solve(Z.T @ Z + shift * np.eye(n), y)
            gradient = -2 / n * Z @ (y - Z.T @ a) + 2 * penalty / h * a
            found.append((norm(gradient) / norm(2 / n * Z @ y), norm(a - dual) / norm(a)))
    return np.array(found)


@decides(errors=ridge_errors)
def ht_04(errors):
    """Equation (6): the closed form of the ridge solution."""
    gradient, forms = errors.max(axis=0)
    return Found(bool(gradient < 1e-10 and forms < 1e-8))


def ratio(one: np.ndarray, other: np.ndarray) -> float:
    """The number by which `other` is to be multiplied to give `one`; NaN if there is none."""
    found = float(np.vdot(one, other) / np.vdot(other, other))
    return found if np.allclose(one, found * other, rtol=0, atol=1e-10 * np.abs(one).max()) else float("nan")


@decides(small=first_update.taken_apart, first=first_update.base_directions)
def ht_14(small, first, *, near):
    """Equations (8) and (9): the gradient, and the first update as its signs, for eps to 0."""
    printed = ratio(small.printed.values, small.gradient.values)
    medians = np.abs(first.direction).median(("i", "k"))
    factors = xr.DataArray(list(FACTORS.values()), {"reading": list(FACTORS)}, "reading")
    same = bool((np.sign(first.direction.sel(eps=0.0)) == np.sign(first.gradient)).all())
    exact = bool((np.abs(medians.sel(eps=0.0) / factors - 1) <= near).all())
    off = (np.abs(np.abs(first.direction.sel(eps=1e-8)) / factors - 1) > 0.01).mean(("i", "k"))
    parts = {
        "a": True if abs(printed - 1) < 1e-9 else "corrected" if abs(printed + 1) < 1e-9 else False,
        "b": same and exact,
    }
    return Found(
        parts,
        {
            "equation (8) over the gradient": printed,
            "medians": {(r, e): f"{float(medians.sel(reading=r, eps=e)):.3f}" for r in FACTORS for e in (0.0, 1e-8)},
            "off": {r: float(off.sel(reading=r)) for r in FACTORS},
        },
        verdict="corrected" if parts == {"a": "corrected", "b": True} else "",
    )


@decides()
def ht_33():
    """Assumptions B.2 and B.3, equations (12) to (19): moments and derivatives of tanh, bounds on the teacher."""
    z = np.linspace(-8, 8, 400_001)
    tanh, softplus = np.tanh(z), np.logaddexp(0, z)
    derivatives = (1 - tanh**2, -2 * tanh * (1 - tanh**2), (1 - tanh**2) * (6 * tanh**2 - 2))
    largest = [float(np.abs(one).max()) for one in derivatives]
    mean, first, bound = (
        float(single_index.expectation(one))
        for one in (np.tanh, lambda z: z * np.tanh(z), lambda z: np.where(z < 0, 1.0, 1.0 + z) ** 2)
    )
    square = float(single_index.moments("softplus").square)
    bounded = special.expit(z).max() <= 1 and (softplus < np.where(z < 0, 1.0, 1.0 + z)).all()
    return Found(
        {
            "a": abs(mean) <= 1e-12 and first > 0,
            "b": max(largest) <= 1 + 1e-9,
            "c": bool(bounded and abs(bound - 1.5 - np.sqrt(2 / np.pi)) < 1e-3 and 0 < square < bound),
        },
        {"E z tanh(z)": first, "derivatives": largest, "E softplus²": square, "bound": bound},
    )


@decides(small=first_update.taken_apart)
def ht_34(small):
    """Equation (20) and Stein's identity."""
    rest = small.rank_one + small.centred - small.output + small.gradient
    error = float(np.abs(rest).max() / np.abs(small.gradient).max())
    links = {
        "tanh": (np.tanh, lambda z: np.cosh(z) ** -2.0),
        "softplus": (lambda z: np.logaddexp(0, z) - single_index.moments("softplus").mean, special.expit),
        "erf": (special.erf, lambda z: 2 / np.sqrt(np.pi) * np.exp(-(z**2))),
    }
    gaps = [
        abs(float(single_index.expectation(lambda z, s=sigma: z * s(z)) - single_index.expectation(derivative)))
        for sigma, derivative in links.values()
    ]
    rank = int(np.linalg.matrix_rank(small.rank_one.values))
    parts = {"a": "corrected" if error < 1e-10 and rank == 1 else False, "b": max(gaps) < 1e-10}
    return Found(parts, {"rank": rank}, verdict="corrected" if parts == {"a": "corrected", "b": True} else "")


def lemma_bound(n) -> np.ndarray:
    r"""The bound of Lemma B.4 on the relative error, $2 \log^2(n) / \sqrt n$."""
    return 2 * np.log(n) ** 2 / np.sqrt(n)


@decides(runs=FIXED_WIDTH, many="heavy_tails/first_update/many_points")
def ht_35(runs, many, *, fall):
    """Lemma B.4: is the first gradient nearly the rank-one matrix A?"""
    errors = {name: runs.distance.sel(chosen) for name, chosen in VARIANTS.items()}
    falls, largest = from_first_to_last(errors["as stated"]), int(many.n.max())
    last, bound = stats.student(many.distance.sel(n=largest).values), float(lemma_bound(largest))
    return Found(
        {"a": claims.below(last, bound), "b": claims.below(falls, fall)},
        {f"relative error at n = {largest}": last, "its factor from n = 1000 to 8000": falls}
        | {name: one.isel(n=[0, -1]).mean("seed").values for name, one in errors.items()}
        | {"largest": largest, "relative error there": last, "bound": bound}
        | {f"limit at d = n/{points}": gradient_laws.entries(points, 1).distance["labels"] for points in (2, 128)},
    )


def counterexample(least: float) -> float | None:
    r"""A number g < 0 with $(g - a)^2 < a/2$ for a = `least`, which the step to (25) excludes, or None."""
    g = -1e-3 * least
    return g if (g - least) ** 2 < least / 2 else None


@decides(runs=FIXED_WIDTH)
def ht_36(runs, *, few, many, part):
    """Lemma B.5 and equations (23) to (25): do the first gradient and A have the same signs?"""
    stated = runs.sel(VARIANTS["as stated"])
    first, last = (stats.student(stated.differing.isel(n=k).values) for k in (0, -1))
    fallen = from_first_to_last(stated.differing)
    # the record has c = 1 in the loss, the document c = 1/2; the left side has the square of a gradient
    sides = np.log10(stated.frobenius_distance**2 / stated.smallest).transpose("n", "seed")
    miss = over_draws(sides)
    agree = claims.below(last, few) and claims.below(fallen, 1)
    differ = claims.any_of(last.exceeds(many), fallen.exceeds(part))
    broken = [counterexample(float(one)) is not None for one in stated.smallest.values.ravel()]
    return Found(
        {
            "a": True if agree else False if differ else None,
            "b": claims.all_of(not any(broken), claims.any_of(*(claims.below(one, 0) for one in miss))),
        },
        {"share of signs at n = 1000": first, "at n = 8000": last, "share": last.estimate}
        | {f"log10 of left over right side of (24), n = {int(n)}": one for n, one in zip(runs.n, miss)}
        | {name: float(runs.differing.sel(chosen).isel(n=-1).mean("seed")) for name, chosen in VARIANTS.items()}
        | {"orders": [float(sides.min()), float(sides.max())]}
        | {"predicted limit": gradient_laws.entries(2, 1).differing["labels"]},
    )


@decides(zeros="heavy_tails/first_update/exact_zeros")
def ht_37(zeros):
    """Proposition B.6: A has no entry that is exactly zero."""
    names = ("rank_one", "gradient_float32", "gradient_float64")
    count = {name: int(zeros[name].sum()) for name in names}
    return Found(
        count["rank_one"] == 0,
        {"zeros": count, "draws": zeros.seed.size, "smallest": float(zeros.smallest.min())},
    )


def rank_slack(draws: int = 500) -> np.ndarray:
    r"""Rank of random matrices, and how far it is above $\sqrt{hd} / \|\operatorname{sign}\|_2$; shape (draws, 2)."""
    rng, found = stats.stream("heavy tails sign rank"), []
    for _ in range(draws):
        (h, d), rank = rng.integers(5, 61, 2), int(rng.integers(1, 11))
        rank = min(rank, h, d)
        signs = np.sign(rng.standard_normal((h, rank)) @ rng.standard_normal((rank, d)))
        found.append((rank, rank - np.sqrt(h * d) / np.linalg.norm(signs, 2)))
    return np.array(found)


@decides(slack=rank_slack, rows=ROWS)
def ht_38(slack, rows, *, near, least):
    """Lemma B.9 and equations (31) to (34): rank and signs, the two norms, and the step between them."""
    rows = rows.isel(n=slice(4))
    relative, signs = rows.frobenius / root_size(rows), rows.signs / root_size(rows)
    norms = over_draws(signs)
    nominal = {name: float((relative.sel(reading=name).mean("seed") / b).min()) for name, b in FACTORS.items()}
    parts = {
        "a": bool(slack[:, 1].min() > -1e-9 and np.abs(slack[slack[:, 0] == 1, 1]).max(initial=0) < 1e-9),
        "b": claims.all_of(
            *(claims.within(one, 1 - near, 1 + near) for one in over_draws(relative.sel(reading="code"))),
            *(claims.within(one, least, 1) for one in norms),
        ),
        "c": claims.all_of(*(claims.opposite(claims.below(one, 1)) for one in norms)),
    }
    return Found(
        parts,
        {f"norm of sign(G) over √(hd), n = {int(n)}": one for n, one in zip(rows.n, norms)}
        | {"norms of sign(G)": [float(signs.min()), float(signs.max())], "least Frobenius norm": nominal}
        | {"cases": len(slack), "held": int((slack[:, 1] > -1e-9).sum())},
    )
