"""Rules on networks in the orthant that they have never seen: HS-08 to 11, 14, 17, 63 to 65.

*Empty* is the accuracy in the empty orthant, *elsewhere* the mean accuracy over the populated ones.  Intervals over
runs are Student's, of shares of runs Wilson's.  The networks of a run have the same data at every depth, so means over
depths are taken run by run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from scipy import stats as scipy_stats

from experiments.hidden_structure import authors, shells
from experiments.hidden_structure.orthants import cells as orthants
from experiments.hidden_structure.orthants import orthant_statistics
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.stats import Interval

CHANCE, LEARNED = 0.55, 0.75  # accuracy in the empty orthant: at chance up to, learned from
SHALLOW, DEEP = [1, 2, 3], [4, 5]
NETWORKS = "hidden_structure/orthants/orthants"  # twenty runs of the document's configurations
#: What :func:`by_width` puts together: other widths by depth, more units at three layers, the document's own widths.
WIDTHS = (
    *(f"hidden_structure/orthants/orthant_widths_{depth}" for depth in orthants.AUTHORS),
    "hidden_structure/orthants/orthant_width_256",
    "hidden_structure/orthants/orthants_by_points",
)


def by_width(widths: Sequence[xr.Dataset]) -> dict[int, xr.Dataset]:
    """Networks by depth, at the rate 1e-3 without weight decay: accuracies, match and size by width and run.

    All are stopped by the mean over the validation points, those of the document's own width too.

    Args:
        widths: the records of WIDTHS, in their order.
    """
    names = ["empty", "others", "match", "parameters"]
    *swept, wide, own = (record[names].sel(moment="last") for record in widths)
    found = {}
    for (depth, (width, *protocol)), one in zip(orthants.AUTHORS.items(), swept, strict=True):
        parts = [one, wide] if depth == 3 else [one]
        if protocol == [1e-3, 0.0]:
            some = own.sel(depth=depth, run=one.run, drop=True)
            parts.append(some.expand_dims(width=[width]).transpose("width", ...))
        found[depth] = xr.concat(parts, "width", join="outer").sortby("width")
    return found


# The data.


def shells_measured() -> xr.Dataset:
    """The data of 2, 3 and 7 dimensions, and how one threshold of the folded radius does in seven.

    Returns:
        By dimension: off, largest error of a radius; miscounted, orthants and classes with another number of points
        than asked for; astray, points outside their orthant.  accuracy (orthant) of the threshold; nearest, the
        smallest coordinate of 100,096 further points.
    """
    rows = []
    for dimension in (2, 3, shells.DIMENSION):
        rng = stats.stream("hidden structure", "figure 1", dimension)
        counts = shells.all_but(int(rng.integers(2**dimension)), dimension=dimension)
        points = shells.sample(rng, counts)
        found = np.linalg.norm(points.x - shells.CENTRE * shells.signs(points.orthant, dimension), axis=1)
        held = np.bincount(2 * points.orthant + points.label, minlength=2 * len(counts)).reshape(-1, 2)
        off = np.abs(found - np.array(shells.RADII)[points.label]).max()
        rows.append([off, (held != counts[:, None]).sum(), (shells.index(points.x) != points.orthant).sum()])
    test = shells.draw("figure 1").test
    more = shells.sample(stats.stream("hidden structure", "more points"), np.full(2**shells.DIMENSION, 391))
    columns = zip(("off", "miscounted", "astray"), np.array(rows).T, strict=True)
    return xr.Dataset(
        {name: ("dimension", column) for name, column in columns}
        | {"accuracy": ("orthant", shells.by_orthant((shells.radius(test.x) > 1.5) == test.label, test))}
        | {"nearest": np.abs(more.x).min()},
        {"dimension": [2, 3, shells.DIMENSION]},
    )


@decides(data=shells_measured)
def hs_08(data, *, margin):
    """Figure 1, Section 4.1: shells in every orthant but one; and folding solves the unseen one."""
    right = (data.off <= 1e-6) & (data.miscounted == 0) & (data.astray == 0)
    everywhere, nearest = data.accuracy == 1, float(data.nearest)
    return Found(
        {"a": bool(right.all()), "b": bool(everywhere.all()) and nearest >= margin},
        {"largest error of a radius": float(data.off.max()), "nearest to a plane": nearest}
        | {"as stated": int(right.sum()), "dimensions": right.size}
        | {"solved": int(everywhere.sum()), "orthants": everywhere.size},
    )


# The networks of Table 1.


@decides(runs=NETWORKS)
def hs_09(runs, *, even, worst, majority):
    """Section 4.2.1: one to three layers are consistent between the populated orthants; spread, and the worst one."""
    small = runs.sel(depth=SHALLOW, moment="last")
    good = small.worst >= worst
    spread = {d: stats.student(small.spread.sel(depth=d).values) for d in SHALLOW}
    shares = {d: stats.share(good.sel(depth=d)) for d in SHALLOW}
    binomial = np.sqrt(small.others * (1 - small.others) / 200).mean("run")
    return Found(
        claims.all_of(
            *(claims.below(one, even) for one in spread.values()), *(one.exceeds(majority) for one in shares.values())
        ),
        {"spread": spread, "worst orthant good": shares, "by points": binomial.values}
        | {"good": good.sum("run").values, "runs": good.sizes["run"]},
    )


@decides(runs=NETWORKS)
def hs_10(runs, *, above, majority, slight, chance, mostly, good):
    """Section 4.2.1: one to three layers are mostly above chance and a little worse there, four and five at chance."""
    empty, others = (runs[name].sel(moment="last") for name in ("empty", "others"))
    knows, low, gap = empty > above, empty <= chance, others - empty
    known, lost = (stats.student(flags.sel(depth=SHALLOW).mean("depth").values) for flags in (knows, gap))
    at_chance = {d: stats.share(low.sel(depth=d)) for d in DEEP}
    elsewhere = {d: stats.student(others.sel(depth=d).values) for d in DEEP}
    deep = {d: claims.all_of(at_chance[d].exceeds(mostly), elsewhere[d].exceeds(good)) for d in DEEP}
    return Found(
        {"a": known.exceeds(majority), "b": claims.within(lost, 0, slight), "c": deep[4], "d": deep[5]},
        {
            "share above chance by depth": {d: stats.share(knows.sel(depth=d)) for d in SHALLOW},
            "lost by depth": {d: stats.student(gap.sel(depth=d).values) for d in SHALLOW},
            "share at chance": at_chance,
            "share above chance": known,
            "lost": lost,
            "elsewhere": elsewhere,
            "above chance": knows.sel(depth=SHALLOW).sum("run").values,
            "at chance": low.sel(depth=DEEP).sum("run").values,
            "runs": low.sizes["run"],
        },
    )


def networks_of_all_sizes(sizes: Mapping[int, xr.Dataset]) -> xr.Dataset:
    """The networks of :func:`by_width` as one list: empty, parameters and run (network)."""
    every = (one[["empty", "parameters"]].stack(network=("width", "run")).dropna("network") for one in sizes.values())
    return xr.concat([one.reset_index("network").drop_vars("width") for one in every], "network")


def size_and_accuracy(networks: xr.Dataset) -> Interval:
    """Rank correlation of empty with parameters over networks; bootstrap over the sizes and over the runs.

    Networks of one size share it, and those of one run their data: both are drawn again, with replacement.
    """
    runs, size, empty = networks.run.values, networks.parameters.values, networks.empty.values
    rng = stats.stream("orthants", "size and accuracy")
    sizes, all_runs = np.unique(size), np.unique(runs)
    cells = {(s, r): np.flatnonzero((size == s) & (runs == r)) for s in sizes for r in all_runs}
    draws = []
    for _ in range(500):
        of_size, of_run = (rng.choice(values, len(values)) for values in (sizes, all_runs))
        pick = np.concatenate([cells[s, r] for s in of_size for r in of_run])
        draws.append(stats.rank_correlation(size[pick], empty[pick]))
    return Interval.from_draws(stats.rank_correlation(size, empty), np.array(draws))


@decides(runs=NETWORKS, widths=WIDTHS)
def hs_11(runs, widths, *, larger, falls):
    """Section 4.2.1: chance at four and five layers comes of too many parameters; two things that this predicts."""
    gap = (runs.train - runs.others).sel(moment="last")
    networks = networks_of_all_sizes(by_width(widths))
    more = {d: stats.student((gap.sel(depth=d) - gap.sel(depth=3)).values) for d in DEEP}  # paired: the same data
    rho = size_and_accuracy(networks)
    wrong = claims.any_of(*(claims.below(one, 0) for one in more.values()))
    fits = claims.all_of(*(one.exceeds(larger) for one in more.values()))
    parts = {
        "a": False if wrong else fits or None,
        "b": False if rho.above(0) else claims.below(rho, falls) or None,
    }
    return Found(
        parts,
        {"gap beyond three layers": more, "rank correlation": rho, "networks": networks.sizes["network"]}
        | {"fewest": int(networks.parameters.min()), "most": int(networks.parameters.max())},
        verdict=claims.all_of(*parts.values()),
    )


def at_common_configurations(widths: Sequence[xr.Dataset], slow: xr.Dataset) -> dict[str, dict[int, xr.Dataset]]:
    """Networks of all depths at one width and rate, by the name of the configuration, then by depth.

    Args:
        widths: the records of WIDTHS.   slow: orthant_slow_rate.
    """
    sizes, slow, own = by_width(widths), slow.sel(moment="last"), widths[-1].sel(moment="last")
    found = {f"{m} / 1e-3": {d: sizes[d].sel(width=m).dropna("run") for d in orthants.AUTHORS} for m in (32, 64, 128)}
    found["128 / 1e-4"] = {d: slow.sel(depth=d) if d < 5 else own.sel(depth=d) for d in orthants.AUTHORS}
    return found


@decides(runs=NETWORKS)
def hs_14(runs, *, sharp):
    """Table 1, rows of the networks: both means of five runs within what ours allow, depth by depth."""
    last = runs.sel(moment="last")
    ours = {d: {name: last[name].sel(depth=d).values for name in authors.COLUMNS} for d in authors.DEPTHS}
    agree = {
        d: [orthant_statistics.agrees(row[name], authors.TABLE_1["network"][d][name][0]) for name in row]
        for d, row in ours.items()
    }
    reach = {d: {name: orthant_statistics.reach(values) for name, values in row.items()} for d, row in ours.items()}
    told = {d: all(agree[d]) and (max(reach[d].values()) <= sharp or None) for d in ours}
    return Found(
        dict(zip("abcde", told.values(), strict=True)),
        {f"{d} layers": all(row) for d, row in agree.items()}
        | {"mean": {d: {name: values.mean() for name, values in row.items()} for d, row in ours.items()}}
        | {"reach": {name: [row[name] for row in reach.values()] for name in authors.COLUMNS}}
        | {"largest reach": max(row["others"] for row in reach.values())}
        | {"agreeing": sum(map(sum, agree.values())), "printed": sum(map(len, agree.values()))}
        | {"runs": last.sizes["run"]},
    )


def printed_entries(runs: xr.Dataset) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Values of our runs (run, entry) and printed half-widths (entry,) of the entries that have one, by table."""
    final = runs.sel(moment="last")
    first = [
        (final[name].sel(depth=d), half)
        for d, row in authors.TABLE_1["network"].items()
        for name, (_, half) in row.items()
    ]
    second = [
        (runs.match.sel(depth=d, label=label, moment=moment), half)
        for (d, label, moment), (_, half) in authors.TABLE_2.items()
    ]
    return {
        table: tuple(map(np.array, zip(*((one.values, half) for one, half in entries if half > 0), strict=True)))
        for table, entries in (("Table 1", first), ("Table 2", second))
    }


@decides(runs=NETWORKS)
def hs_17(runs, *, enough, few):
    """Captions of Tables 1 and 2: printed half-widths are 95 % intervals; how many means of five they cover."""
    covered, wider = {}, {}
    five = orthant_statistics.PRINTED_RUNS
    for table, (values, half_widths) in printed_entries(runs).items():
        covered[table] = orthant_statistics.median_coverage(values.T, half_widths, name=table)
        student = scipy_stats.t.ppf(0.975, five - 1) * values.std(axis=1, ddof=1) / five**0.5
        wider[table] = [(student / half_widths).min(), (student / half_widths).max()]
    parts = {
        letter: False if one.below(few) else one.exceeds(enough) or None
        for letter, one in zip("ab", covered.values(), strict=True)
    }
    return Found(parts, {"covered": covered, "wider": wider})


# Questions that the document leaves open.


@decides(fewer="hidden_structure/orthants/orthant_neighbours")
def hs_63(fewer, *, clear, same):
    """Section 4.1: data of the neighbours, or the symmetry?  All seven neighbours empty against seven orthants."""
    empty = fewer.empty.sel(removed=7, moment="last")
    near, far = (empty.sel(kind=kind).values for kind in ("neighbours", "random"))
    lost = stats.student(far - near)  # paired: the same run
    return Found(
        "answered" if lost.exceeds(clear) or claims.within(lost, -same, same) else None,
        {"lost": lost, "at chance without the neighbours": stats.share(near <= CHANCE)}
        | {"without neighbours": stats.student(near), "without others": stats.student(far)},
    )


def with_few(sparse: xr.Dataset, sizes: Mapping[int, xr.Dataset]) -> xr.Dataset:
    """Accuracies in the orthant with few points, 0 to 50 of each class, and elsewhere: depth, points and run."""
    few = sparse[["empty", "others"]].sel(moment="last")
    none = [sizes[int(d)][["empty", "others"]].sel(width=64, run=few.run).drop_vars("width") for d in few.depth.values]
    return xr.concat([xr.concat(none, few.depth).expand_dims(points=[0]), few], "points")


def relative(few: xr.Dataset) -> dict[int, Interval]:
    """Accuracy in the orthant with few points over that elsewhere, by their number; mean over depths, run by run."""
    share = (few.empty / few.others).mean("depth")
    return {int(n): stats.student(share.sel(points=n).values) for n in few.points.values}


def of_empty(many: xr.Dataset) -> dict[int, Interval]:
    """Mean accuracy over the empty orthants by their number."""
    accuracy = many.accuracy.where(many.populated == 0).mean("orthant")
    return {int(k): stats.student(accuracy.sel(emptied=k).values) for k in many.emptied.values}


@decides(
    sparse="hidden_structure/orthants/orthant_sparse",
    many="hidden_structure/orthants/orthant_many_empty",
    widths=WIDTHS,
)
def hs_64(sparse, many, widths, *, dense, chance, learned):
    """Section 4.1: (a) how many points an orthant needs; (b) how many orthants may be empty."""
    shares, means = relative(with_few(sparse, by_width(widths))), of_empty(many.sel(moment="last"))
    enough = min((n for n in shares if all(one.above(dense) for m, one in shares.items() if m >= n)), default=None)
    better = max((k for k, one in means.items() if one.above(chance)), default=None)
    short = min((k for k in means if all(one.below(learned) for m, one in means.items() if m >= k)), default=None)
    return Found(
        {"a": None if enough is None else "answered", "b": "answered" if better and short else None},
        {"points that suffice": enough, "above chance up to": better, "below 0.75 from": short}
        | {"with points": shares, "with empty": means, "enough": enough, "short": short},
    )


def with_nudges(nudged: xr.Dataset, runs: xr.Dataset) -> xr.DataArray:
    """Empty by depth, run and nudge of the runs of which one training point was moved; nudge 0 is the run itself."""
    moved, own = (record.empty.sel(moment="last") for record in (nudged, runs))
    own = own.sel(depth=moved.depth, run=moved.run).expand_dims(nudge=[0])
    return xr.concat([own, moved], "nudge").transpose("depth", "run", "nudge")


def within_share(table: np.ndarray) -> Interval:
    r"""Share of the variance within the rows of a table (row, replicate), in a one-way random-effects model.

    With the ratio F of the mean squares between and within, and k replicates, it is $1 - (F - 1)/(F + k - 1)$, at most
    1; its ends put $F / F_{0.975}$ and $F / F_{0.025}$ in the place of F (Fisher's law).
    """
    rows, k = table.shape
    within = table.var(axis=1, ddof=1).mean()
    ratio = k * table.mean(axis=1).var(ddof=1) / within
    law = scipy_stats.f(rows - 1, rows * (k - 1))
    share = [1 - max(0.0, (f - 1) / (f + k - 1)) for f in (ratio, ratio / law.ppf(0.025), ratio / law.ppf(0.975))]
    return Interval(*map(float, share))


def mixed_runs(nudged: xr.DataArray) -> int:
    """Runs of which some versions have learned the empty orthant and others have not."""
    learned = nudged >= LEARNED
    return int((learned.any("nudge") & ~learned.all("nudge")).sum())


@decides(
    crossed="hidden_structure/orthants/orthant_crossed",
    nudged="hidden_structure/orthants/orthant_nudged",
    runs=NETWORKS,
)
def hs_65(crossed, nudged, runs, *, large, small):
    """Table 1: start, data or the choice of the orthant?  Two-way shares, and runs that differ in their last bit."""
    versions, parts, shares, bit = with_nudges(nudged, runs), {}, {}, {}
    for d in crossed.depth.values.tolist():
        table = crossed.empty.sel(depth=d, moment="last").values
        shares[d] = orthant_statistics.variance_shares(table, name=f"HS-65 {d}")
        bit[d] = within_share(versions.sel(depth=d).values)
        start = shares[d]["columns"]
        clear = start.above(large) or start.below(small) or bit[d].above(small)
        parts["1 layer" if d == 1 else f"{d} layers"] = "answered" if clear else None
    return Found(
        parts,
        {"share of the last bit": bit, "share": shares, "versions": versions.sizes["run"]}
        | {"mixed": {d: mixed_runs(versions.sel(depth=d)) for d in shares}},
    )
