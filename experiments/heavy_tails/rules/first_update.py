r"""Rules on the norms of the first update of Adam (Kothapalli et al., Section 4.2, Appendix B.2): HT-15, 16, 39, 69.

The theorem is about the limit $\epsilon \to 0$, in which the update is $b \operatorname{sign}(G)$, b = 1 with bias
correction (the code) and $b = (1 - \beta_1) / \sqrt{1 - \beta_2} = \sqrt{10}$ without (the text).  Rules on norms also
look at the program's $\epsilon = 10^{-8}$; intervals are Student's, over draws.
"""

from __future__ import annotations

import functools

import numpy as np
import xarray as xr

from experiments.heavy_tails import first_update, gradient_laws
from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.stats import Interval

WIDTH = 1500
FACTORS = {"code": 1.0, "text": 0.1 / 0.001**0.5}  # b
GAP = 1.05  # largest eigenvalue over the second: a spike
#: n, h and d of the rows of Table 2 as they are printed.
TABLE_2 = [(1000, 750, 500), (2000, 1500, 1000), (3000, 2250, 1500), (4000, 3000, 2000)]
TABLE_2 += [(5000, 3750, 2500), (6000, 4500, 3000), (7000, 5250, 3500), (8000, 6000, 4000)]


@functools.cache
def fixed_width() -> xr.Dataset:
    """The recorded first updates at width 1500 and d = n/2, in both scalings."""
    return records.load("heavy_tails/first_update_fixed_width").transpose("n", "seed", ...)


@functools.cache
def table_2() -> xr.Dataset:
    """The recorded first updates at the sizes of Table 2."""
    return records.load("heavy_tails/first_update_table_2").transpose("n", "seed", ...)


@functools.cache
def sign_spikes() -> xr.Dataset:
    """The recorded steps along sign(G) at the first four rows of Table 2."""
    return records.load("heavy_tails/sign_spikes").transpose("n", "seed", ...)


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


def change(values: xr.DataArray, size: xr.DataArray) -> Interval:
    """Change of values (n, seed) along the least-squares line from the smallest size to the largest, by draw."""
    lines = np.polyfit(size, values.transpose("n", "seed").values, 1)
    return stats.student(lines[0] * float(size.max() - size.min()))


def span(values) -> str:
    """Smallest and largest of some numbers as text."""
    return f"{np.min(values):.2f} to {np.max(values):.2f}"


def ht_15(runs: xr.Dataset | None = None, rows: xr.Dataset | None = None) -> Outcome:
    """Theorem 4.1: both norms grow like the root of hd, and one singular value has most of the update."""
    runs, rows = fixed_width() if runs is None else runs, table_2() if rows is None else rows
    runs = runs.sel(scaling="ntk")
    size, found = root_size(runs, WIDTH), runs.sel(reading="code")
    slopes = {name: slope(found[name], size) for name in ("frobenius", "spectral")}
    relative = {name: over_draws(found[name] / size) for name in slopes}
    spread = stats.student((found.frobenius / size).max("n") / (found.frobenius / size).min("n"))
    shares = {"width": (found.spectral / found.frobenius) ** 2}
    shares["rows"] = ((rows.spectral / rows.frobenius) ** 2).sel(reading="code")
    changes = [change(shares["width"], size), change(shares["rows"], root_size(rows))]
    falls = stats.student((found.spectral / size).isel(n=-1) / (found.spectral / size).isel(n=0))
    parts = {
        "a": claims.all_of(claims.within(slopes["frobenius"], 0.97, 1.03), claims.below(spread, 1.03)),
        "b": claims.all_of(
            claims.within(slopes["spectral"], 0.95, 1.05),
            *(one.exceeds(0.3) for one in relative["spectral"]),
            falls.exceeds(0.95),
        ),
        "c": claims.all_of(
            *(one.exceeds(0.5) for share in shares.values() for one in over_draws(share)),
            *(one.exceeds(-0.02) for one in changes),
        ),
    }
    limit = slope(runs.signs, size)
    text = slope(runs.frobenius.sel(reading="text"), size)
    means = np.concatenate([share.mean("seed").values for share in shares.values()])
    law = gradient_laws.entries(2, 1).signs
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: both norms of Adam's first update grow like the root of its number of entries, and one "
            "singular value holds two thirds of it.",
            "contradicted": "No: the norms of Adam's first update do not grow like the root of its number of entries.",
            "otherwise": "In part: not all of both norms and the share of the first singular value do what is claimed.",
        },
        finding=f"with the program's ε the slopes against √(hd) are {slopes['frobenius']:.3f} (Frobenius) and "
        f"{slopes['spectral']:.3f} (spectral), the spectral norm is "
        f"{span([one.estimate for one in relative['spectral']])} of √(hd), and the first singular value holds "
        f"{span(means)} of the squared norm (predicted {law**2:.2f}); for ε to 0 the first slope is 1 exactly, the "
        f"second {limit:.3f}, in both readings; in the text's formula ε = 1e-8 would make the first {text:.3f}",
        evidence={f"slope, {name}": one for name, one in slopes.items()}
        | {"slope, spectral, eps to 0": limit, "Frobenius norm over √(hd), largest over smallest": spread}
        | {"change of the share at width 1500": changes[0], "change of the share over Table 2": changes[1]},
    )  # fmt: skip


def scales(rows: xr.Dataset, n: int = 2000) -> dict[str, Interval]:
    """Learning rates at which update (eps = 0, bias correction) and weights have equal norms, by norm."""
    one = rows.sel(n=n)
    entries = first_update.sizes(n)["h"] * first_update.sizes(n)["d"]
    return {
        "spectral": stats.student(one.start_spectral / one.signs),
        "frobenius": stats.student(one.start_frobenius / entries**0.5),
    }


def ht_16(rows: xr.Dataset | None = None, spikes: xr.Dataset | None = None) -> Outcome:
    """Corollary 4.2 and Section 5.1: which learning rates make the update as large as the weights; eps to 0."""
    rate, base = 0.01, 2000
    spikes = sign_spikes() if spikes is None else spikes
    rows = (table_2() if rows is None else rows).sel(n=spikes.n)
    widths = root_size(rows) * 1.5**0.5  # h = 1.5 d
    edge = widths**0.5 + (widths / 1.5) ** 0.5
    start = [stats.student(one.values.ravel()) for one in (
        rows.start_spectral / edge, rows.start_frobenius / root_size(rows),
    )]  # fmt: skip
    b, c = root_size(rows) / rows.start_frobenius, rows.signs / rows.start_spectral / widths**0.5
    power, equal = slope(spikes.threshold, widths), scales(rows, base)
    gaps = {
        name: spikes.ratio.sel(rate=rate * factor, method="nearest").sel(n=base) for name, factor in FACTORS.items()
    }
    large = spikes.ratio.sel(rate=1.0)
    parts = {
        "a": claims.all_of(claims.within(start[0], 0.98, 1.01), claims.within(start[1], 0.995, 1.005)),
        "b": claims.all_of(*comparable(b), claims.below(variation(b), 1.05)),
        "c": claims.all_of(*comparable(c), claims.below(variation(c), 1.1), claims.within(power, -0.6, -0.4)),
        "d": claims.all_of(*(one.exceeds(GAP) for one in over_draws(large))),
        "e": claims.all_of(claims.below(equal["spectral"], rate), equal["frobenius"].exceeds(rate)),
        "f": claims.all_of(*(claims.below(stats.student(gap.values), GAP) for gap in gaps.values())),
    }
    text = {name: one.estimate / FACTORS["text"] for name, one in equal.items()}
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: the two scales are as stated, a rate of one makes a spike, and 0.01 lies between the "
            "scales and makes none.",
            "partly": "The scales of the learning rate are right and a rate of one makes a spike; but 0.01 lies below "
            "both scales, not between them."
            if parts["e"] is False and all(parts[k] for k in "abcd")
            else "In part: not all of the stated scales and of what they explain hold.",
            "otherwise": "No: the norms of update and weights do not compare as stated.",
        },
        finding=f"in the base setting update and weights have equal spectral norms at η = {equal['spectral']:.4f} and "
        f"equal Frobenius norms at {equal['frobenius']:.3f} ({text['spectral']:.3f} and {text['frobenius']:.2f} in the "
        f"text's reading), so that 0.01 is {position(rate, equal)}; the rate of the first spike goes as h^p with p = "
        f"{power}; λ1/λ2 is {float(large.min()):.0f} or more in all {large.size} runs at η = 1 and "
        f"{max(float(gap.max()) for gap in gaps.values()):.3f} or less at 0.01",
        evidence={"power of the first spike": power}
        | {f"equal norms, {name}": one for name, one in equal.items()}
        | {f"largest over smallest ratio of the norms, {name}": variation(one) for name, one in (("b", b), ("c", c))}
        | {"norm of the weights over its order, spectral": start[0], "Frobenius": start[1]},
    )


def comparable(ratio: xr.DataArray) -> list[bool | None]:
    """Whether norms with this ratio (n, seed) are within a factor of ten, at each size and in both readings."""
    pairs = [(one, factor) for one in over_draws(ratio) for factor in FACTORS.values()]
    return [claims.within(one, 0.1 / factor, 10 / factor) for one, factor in pairs]


def variation(ratio: xr.DataArray) -> Interval:
    """Largest value over the sizes divided by the smallest, of values (n, seed)."""
    return stats.student((ratio.max("n") / ratio.min("n")).values)


def position(rate: float, equal: dict[str, Interval]) -> str:
    """Where a learning rate lies, in words."""
    places = [one.exceeds(rate) for one in equal.values()]
    return {
        (True, True): "below both and not between them", (False, True): "between them", (False, False): "above both"
    }.get(tuple(places), "too close to one of them to say")  # fmt: skip


def line(norm: xr.DataArray, size: xr.DataArray) -> dict[str, Interval]:
    """Slope, intercept over the largest value, and 1 - R² of the least-squares lines of a norm (n, seed), by draw."""
    values, x = norm.transpose("n", "seed").values, size.values
    slopes, intercepts = np.polyfit(x, values, 1)
    rest = values - np.outer(x, slopes) - intercepts
    lost = (rest**2).sum(axis=0) / ((values - values.mean(axis=0)) ** 2).sum(axis=0)
    found = {"slope": slopes, "intercept": np.abs(intercepts) / values.max(axis=0), "lost": lost}
    return {name: stats.student(one) for name, one in found.items()}


def ht_39(rows: xr.Dataset | None = None, printed: list[tuple[int, int, int]] = TABLE_2) -> Outcome:
    """Figure 8 and Table 2: are both norms linear in the root of hd?"""
    rows = table_2() if rows is None else rows
    size = root_size(rows)
    fits = {name: line(rows[name].sel(reading="code"), size) for name in ("frobenius", "spectral")}
    text = {name: line(rows[name].sel(reading="text"), size) for name in fits}
    first, second, limit = *fits.values(), line(rows.signs, size)
    straight = {
        name: claims.all_of(claims.below(fits[name]["lost"], lost), claims.below(fits[name]["intercept"], intercept))
        for name, lost, intercept in (("frobenius", 0.001, 0.02), ("spectral", 0.002, 0.03))
    }
    sizes = [tuple(first_update.sizes(int(n))[key] for key in "nhd") for n in rows.n.values]
    return Outcome(
        parts={"a": straight["frobenius"], "b": straight["spectral"], "c": sizes == list(printed)},
        answer={
            "reproduced": "Yes: over the eight sizes both norms of Adam's first update lie on straight lines through "
            "zero.",
            "contradicted": "No: neither norm is a straight line in the root of the number of entries.",
            "otherwise": "In part: not both norms lie on straight lines at the printed sizes.",
        },
        finding=f"slopes {first['slope']:.3f} (Frobenius, 1 - R² = {first['lost'].estimate:.0e}) and "
        f"{second['slope']:.3f} (spectral, {second['lost'].estimate:.0e}) with intercepts of "
        f"{first['intercept'].estimate:.1%} and {second['intercept'].estimate:.1%} of the largest value; for ε to 0 "
        f"the slopes are 1 and {limit['slope'].estimate:.3f}, times √10 in the text's reading, where ε = 1e-8 would "
        f"bend them (slopes {text['frobenius']['slope'].estimate:.2f} and {text['spectral']['slope'].estimate:.2f}, "
        f"intercepts {text['frobenius']['intercept'].estimate:.0%} and {text['spectral']['intercept'].estimate:.0%})",
        evidence={f"{what}, {name}": one for name, fit in fits.items() for what, one in fit.items()},
    )


def ht_69(others: xr.Dataset | None = None, base: xr.Dataset | None = None) -> Outcome:
    """Appendix F.5: does the teacher's activation change the learning rate of the first spike?"""
    factor, part = 1.5, 1.1
    others = records.load("heavy_tails/first_spike_links") if others is None else others
    base = records.load("heavy_tails/first_spike") if base is None else base
    base = base.sel(seed=others.seed)
    ratios = {
        (rule, name): stats.student(np.log(others[name] / base[name]).sel(link="tanh", rule=rule).values)
        for rule in ("Adam code", "Adam text") for name in ("threshold", "norm")
    }  # fmt: skip
    alike = {
        rule: claims.all_of(
            *(claims.within(ratios[rule, name], -np.log(most), np.log(most))
              for name, most in (("threshold", factor), ("norm", part)))
        )
        for rule in ("Adam code", "Adam text")
    }  # fmt: skip
    rates = {name: float(others.threshold.sel(link=name, rule="Adam code").mean()) for name in ("tanh", "relu")}
    rates["softplus"] = float(base.threshold.sel(rule="Adam code").mean())
    law = {
        name: gradient_laws.spike_rates(2000, 1000, 1500, gap=GAP, link=name)["Adam"] for name in rates
    }  # fmt: skip
    listed = ", ".join(f"{name} {rate:.3f} (predicted {law[name]:.3f})" for name, rate in rates.items())
    shown = {key: Interval(*np.exp([one.estimate, one.low, one.high])) for key, one in ratios.items()}
    return Outcome(
        verdict=alike["Adam code"],
        answer={
            "reproduced": "Yes: with a softplus, tanh or ReLU teacher Adam's first spike comes at nearly the same "
            "learning rate.",
            "contradicted": "No: the teacher's activation changes the learning rate of the first spike.",
            "otherwise": "Not settled: the learning rates of the first spike are too uncertain to compare.",
        },
        finding=f"mean learning rate of the first spike by teacher: {listed}; tanh over softplus is "
        f"{shown['Adam code', 'threshold']} for that rate and {shown['Adam code', 'norm']} for the norm of the update; "
        f"text reading: {'the same' if len(set(alike.values())) == 1 else claims.verdict(alike['Adam text'])}",
        evidence={f"{name}, tanh over softplus, {rule}": one for (rule, name), one in shown.items()},
    )
