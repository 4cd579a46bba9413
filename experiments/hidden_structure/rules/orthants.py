"""Rules on networks in the orthant that they have never seen: HS-08 to 11, 14, 17, 63 to 65.

*Empty* is the accuracy in the empty orthant, *elsewhere* the mean accuracy over the populated ones.  Intervals over
runs are Student's, of shares of runs Wilson's.  The networks of a run have the same data at every depth, so means over
depths are taken run by run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import xarray as xr
from scipy import stats as scipy_stats

from experiments.hidden_structure import authors, orthant_statistics, orthants, shells
from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.stats import Interval

CHANCE, ABOVE, LEARNED = 0.55, 0.6, 0.75  # accuracy in the empty orthant: at chance up to, above it from, learned from
SHALLOW, DEEP = (1, 2, 3), (4, 5)


@cache
def load(name: str) -> xr.Dataset:
    """A record, read once."""
    return records.load(name)


@cache
def last(name: str) -> xr.Dataset:
    """The last weights of a record of networks on orthants."""
    return records.load(f"hidden_structure/{name}").sel(moment="last")


def by_width() -> dict[int, xr.Dataset]:
    """Networks by depth, at the rate 1e-3 without weight decay: accuracies, match and size by width and run.

    All are stopped by the mean over the validation points, those of the document's own width too.
    """
    own, found = last("orthants_by_points"), {}
    names = ["empty", "others", "match", "parameters"]
    for depth, (width, *protocol) in orthants.AUTHORS.items():
        parts = [last(f"orthant_widths_{depth}")[names]]
        if depth == 3:
            parts.append(last("orthant_width_256")[names])
        if protocol == [1e-3, 0.0]:
            some = own[names].sel(depth=depth, run=parts[0].run, drop=True)
            parts.append(some.expand_dims(width=[width]).transpose("width", ...))
        found[depth] = xr.concat(parts, "width", join="outer").sortby("width")
    return found


def networks_of_all_sizes() -> xr.Dataset:
    """The same as one list of networks: empty, parameters, run and depth (network)."""
    every = [
        found[["empty", "parameters"]].stack(network=("width", "run")).dropna("network").reset_index("network")
        for found in by_width().values()
    ]
    depth = np.repeat(list(orthants.AUTHORS), [one.sizes["network"] for one in every])
    listed = xr.concat([one.drop_vars("width") for one in every], "network")
    return listed.assign(run=("network", listed.run.values), depth=("network", depth))


def listed(values: Sequence[object], spec: str = "") -> str:
    """As in "14, 9, 17"."""
    return ", ".join(format(value, spec) for value in values)


def over_depths(values: xr.DataArray, depths: Sequence[int] = SHALLOW) -> Interval:
    """Mean over depths and runs; the interval is that of the means of the runs, which share their data."""
    return stats.student(values.sel(depth=list(depths)).mean("depth").values)


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


def hs_08(found: xr.Dataset | None = None) -> Outcome:
    """Figure 1, Section 4.1: shells in every orthant but one; and folding solves the unseen one."""
    error, margin = 1e-6, 2.0
    found = shells_measured() if found is None else found
    right = (found.off <= error) & (found.miscounted == 0) & (found.astray == 0)
    everywhere = found.accuracy == 1
    nearest = float(found.nearest)
    return Outcome(
        parts={"a": bool(right.all()), "b": bool(everywhere.all()) and nearest >= margin},
        answer={
            "reproduced": "Yes: the data are as described, and one threshold on the folded radius is right everywhere, "
            "also in the empty orthant.",
            "otherwise": "No: the data, or what folding does to them, are not as described.",
        },
        finding="radii, orthants and counts are as stated in "
        f"{int(right.sum())} of {right.size} dimensions; one threshold of the folded radius is right for all test "
        f"points in {int(everywhere.sum())} of {everywhere.size} orthants, and no further point comes nearer to a "
        f"coordinate plane than {nearest:.1f}",
        evidence={"largest error of a radius": float(found.off.max()), "nearest to a plane": nearest},
    )


# The networks of Table 1.


def hs_09(runs: xr.Dataset | None = None) -> Outcome:
    """Section 4.2.1: one to three layers are consistent between the populated orthants; spread, and the worst one."""
    spread, worst, most = 0.06, 0.7, 0.5
    runs = last("orthants") if runs is None else runs
    small = runs.sel(depth=list(SHALLOW))
    spreads = {d: stats.student(small.spread.sel(depth=d).values) for d in SHALLOW}
    good = small.worst >= worst
    shares = {d: stats.wilson(good.sel(depth=d).values) for d in SHALLOW}
    binomial = np.sqrt(small.others * (1 - small.others) / 200).mean("run")
    return Outcome(
        verdict=claims.all_of(
            *(claims.below(one, spread) for one in spreads.values()), *(one.exceeds(most) for one in shares.values())
        ),
        answer={
            "reproduced": "Yes: accuracy differs little between the populated orthants, though about twice as much as "
            "chance alone would give.",
            "contradicted": "No: with one to three layers some populated orthants are much worse than others.",
            "otherwise": "It is not clear that accuracy differs little between the populated orthants at every depth.",
        },
        finding=f"standard deviation over the populated orthants {listed(spreads.values(), '.3f')} at 1, 2, 3 layers "
        f"(200 points alone would give {listed(binomial.values, '.3f')}); the worst one has at least {worst:g} in "
        f"{listed(good.sum('run').values)} of {small.sizes['run']} runs",
        evidence={"spread": spreads, "worst orthant good": shares},
    )


def hs_10(runs: xr.Dataset | None = None) -> Outcome:
    """Section 4.2.1: one to three layers are mostly above chance and a little worse there, four and five at chance."""
    most, gaps, chance, good = 0.5, (0.0, 0.25), 0.75, 0.85
    runs = last("orthants") if runs is None else runs
    empty, others = runs.empty, runs.others
    above, low = empty > ABOVE, empty <= CHANCE
    gap = others - empty
    known, lost = over_depths(above.astype(float)), over_depths(gap)
    at_chance = {d: stats.wilson(low.sel(depth=d).values) for d in DEEP}
    elsewhere = {d: stats.student(others.sel(depth=d).values) for d in DEEP}
    each = {d: stats.wilson(above.sel(depth=d).values) for d in SHALLOW}
    loss = {d: stats.student(gap.sel(depth=d).values) for d in SHALLOW}
    parts = {"a": known.exceeds(most), "b": claims.within(lost, *gaps)} | {
        letter: claims.all_of(at_chance[d].exceeds(chance), elsewhere[d].exceeds(good))
        for letter, d in zip("cd", DEEP, strict=True)
    }
    n, some, none = runs.sizes["run"], above.sel(depth=list(SHALLOW)).sum("run"), low.sel(depth=list(DEEP)).sum("run")
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: networks of one to three layers mostly know something of the unseen orthant, those of "
            "four and five guess.",
            "contradicted": "No: neither half of the sentence holds.",
            "otherwise": "In part: up to three layers most networks beat chance there; five guess; of four layers most "
            "do, some do not.",
        },
        finding=f"above {ABOVE:g} in the empty orthant are {listed(some.values)} of {n} networks with 1, 2, 3 layers, "
        f"a share of {known}; they lose {lost} there against the other orthants; at chance are {listed(none.values)} "
        f"of {n} with 4, 5 layers, whose accuracy elsewhere is {listed(elsewhere.values(), '.3f')}",
        evidence={"share above chance by depth": each, "lost by depth": loss, "share at chance": at_chance},
    )


def spearman(sizes: xr.Dataset) -> Interval:
    """Rank correlation of empty with parameters over networks; bootstrap over the runs, whose networks share data."""
    runs, size, empty = sizes.run.values, sizes.parameters.values, sizes.empty.values
    rows = {run: np.flatnonzero(runs == run) for run in np.unique(runs)}
    rng, names = stats.stream("orthants", "size and accuracy"), list(rows)
    picks = (np.concatenate([rows[names[i]] for i in rng.integers(0, len(names), len(names))]) for _ in range(500))
    draws = [stats.rank_correlation(size[pick], empty[pick]) for pick in picks]
    return Interval.from_draws(stats.rank_correlation(size, empty), np.array(draws))


def hs_11(runs: xr.Dataset | None = None, sizes: xr.Dataset | None = None) -> Outcome:
    """Section 4.2.1: chance at four and five layers comes of too many parameters; two things that this predicts."""
    larger, falls = 0.02, -0.3
    runs = last("orthants") if runs is None else runs
    sizes = networks_of_all_sizes() if sizes is None else sizes
    gap = runs.train - runs.others
    more = {d: stats.student((gap.sel(depth=d) - gap.sel(depth=3)).values) for d in DEEP}  # paired: the same data
    rho = spearman(sizes)
    wrong = claims.any_of(*(claims.below(one, 0) for one in more.values()))
    fits = claims.all_of(*(one.exceeds(larger) for one in more.values()))
    parts = {
        "a": "contradicted" if wrong else claims.verdict(fits or None),
        "b": "contradicted" if rho.above(0) else claims.verdict(claims.below(rho, falls) or None),
    }
    return Outcome(
        verdict="contradicted" if "contradicted" in parts.values() else claims.verdict(
            True if set(parts.values()) == {"reproduced"} else None),
        parts=parts,
        answer={
            "reproduced": "Yes: the deeper networks overfit more, and more parameters mean less accuracy in the unseen "
            "orthant.",
            "contradicted": "No: networks with more parameters know more of the unseen orthant, and five layers "
            "overfit less than three.",
            "otherwise": "The runs do not decide whether an excess of parameters is the cause.",
        },
        finding="the gap between training and test accuracy exceeds that of three layers by "
        f"{more[4]:.3f} with four and by {more[5]:.3f} with five; over {sizes.sizes['network']} networks of "
        f"{int(sizes.parameters.min())} to {int(sizes.parameters.max()):,} parameters their number has the rank "
        f"correlation {rho} with the accuracy in the empty orthant",
        evidence={"gap beyond three layers": more, "rank correlation": rho},
    )  # fmt: skip


def at_common_configurations() -> dict[str, dict[int, xr.Dataset]]:
    """Networks of all depths at one width and rate, by the name of the configuration, then by depth."""
    sizes, slow, own = by_width(), last("orthant_slow_rate"), last("orthants_by_points")
    found = {f"{m} / 1e-3": {d: sizes[d].sel(width=m).dropna("run") for d in orthants.AUTHORS} for m in (32, 64, 128)}
    found["128 / 1e-4"] = {d: slow.sel(depth=d) if d < 5 else own.sel(depth=d) for d in orthants.AUTHORS}
    return found


def reach(values: np.ndarray) -> float:
    """How far a printed mean of five may lie from the mean of our runs: at least 0.02."""
    half = scipy_stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) * (1 / 5 + 1 / len(values)) ** 0.5
    return float(max(0.02, half))


def hs_14(runs: xr.Dataset | None = None) -> Outcome:
    """Table 1, rows of the networks: both means of five runs within what ours allow, depth by depth."""
    runs = last("orthants") if runs is None else runs
    ours = {(d, name): runs[name].sel(depth=d).values for d in authors.DEPTHS for name in authors.COLUMNS}
    printed = {(d, name): authors.TABLE_1["network"][d][name][0] for d, name in ours}
    agree = {key: orthant_statistics.agrees(values, printed[key]) for key, values in ours.items()}
    parts = {
        letter: all(agree[d, name] for name in authors.COLUMNS)
        for letter, d in zip("abcde", authors.DEPTHS, strict=True)
    }
    means = [f"{ours[d, 'empty'].mean():.3f} / {ours[d, 'others'].mean():.4f}" for d in authors.DEPTHS]
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: every printed mean is one that five of our runs might have; in the empty orthant that "
            "says little.",
            "contradicted": "No: no row of the table is what five of our runs might give.",
            "otherwise": "In part: most printed means are ones that five of our runs might have.",
        },
        finding=f"means of {runs.sizes['run']} runs in the empty orthant / elsewhere are {'; '.join(means)} at 1 to 5 "
        "layers; printed means of five may differ from them by "
        f"{listed([reach(ours[d, 'empty']) for d in authors.DEPTHS], '.2f')} in the empty orthant and by at most "
        f"{max(reach(ours[d, 'others']) for d in authors.DEPTHS):.3f} elsewhere, and "
        f"{sum(agree.values())} of {len(agree)} do not differ by more",
        evidence={f"{d} layers": all(agree[d, name] for name in authors.COLUMNS) for d in authors.DEPTHS},
    )


def printed_entries(runs: xr.Dataset) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Values of our runs (run, entry) and printed half-widths (entry,) of the entries that have one, by table.

    Args:
        runs: by depth, run and moment; others and empty at the last, match by label.
    """
    final = runs.sel(moment="last")
    first = [
        (final[name].sel(depth=d).values, half)
        for d, row in authors.TABLE_1["network"].items() for name, (_, half) in row.items() if half > 0
    ]  # fmt: skip
    second = [
        (runs.match.sel(depth=d, label=label, moment=moment).values, half)
        for (d, label, moment), (_, half) in authors.TABLE_2.items() if half > 0
    ]  # fmt: skip
    return {
        table: (np.stack([values for values, _ in entries], axis=1), np.array([half for _, half in entries]))
        for table, entries in (("Table 1", first), ("Table 2", second))
    }


def ratios(values: np.ndarray, half_widths: np.ndarray) -> np.ndarray:
    """Student's half-width of five runs, by the deviation of ours, over the printed one, for every entry."""
    student = scipy_stats.t.ppf(0.975, orthant_statistics.PRINTED_RUNS - 1) * values.std(axis=0, ddof=1)
    return student / orthant_statistics.PRINTED_RUNS**0.5 / half_widths


def hs_17(runs: xr.Dataset | None = None) -> Outcome:
    """Captions of Tables 1 and 2: printed half-widths are 95 % intervals; how many means of five they cover."""
    enough, few = 0.8, 0.5
    runs = load("hidden_structure/orthants") if runs is None else runs
    entries = printed_entries(runs)
    covered = {name: orthant_statistics.median_coverage(*entry, name=name) for name, entry in entries.items()}
    wide = {name: ratios(*entry) for name, entry in entries.items()}
    parts = {
        letter: "contradicted" if one.below(few) else claims.verdict(one.exceeds(enough) or None)
        for letter, one in zip("ab", covered.values(), strict=True)
    }
    first, second = wide.values()
    return Outcome(
        parts=parts,
        answer={
            "contradicted": "No: they are intervals over points, which one network answers alike, far too narrow for "
            "means of five runs.",
            "reproduced": "Yes: the printed intervals cover about as many means of five runs as they should.",
            "otherwise": "Not all of the printed intervals are too narrow for means of five runs.",
        },
        finding=f"the printed half-widths cover {covered['Table 1']:.0%} (Table 1) and {covered['Table 2']:.0%} "
        "(Table 2) of the means of five of our runs in the median entry; Student's half-width of five runs is "
        f"{first.min():.0f} to {first.max():.0f} times the printed one in Table 1 and {second.min():.1f} to "
        f"{second.max():.0f} times in Table 2",
        evidence={"covered": covered},
    )


# Questions that the document leaves open.


def hs_63(fewer: xr.Dataset | None = None) -> Outcome:
    """Section 4.1: data of the neighbours, or the symmetry?  All seven neighbours empty against seven orthants."""
    clear, same = 0.15, 0.05
    fewer = last("orthant_neighbours") if fewer is None else fewer
    empty = fewer.empty.sel(removed=7)
    near, far = (empty.sel(kind=kind).values for kind in ("neighbours", "random"))
    lost = stats.student(far - near)  # paired: the same run
    neighbours, everywhere = lost.exceeds(clear), claims.within(lost, -same, same)
    return Outcome(
        verdict="answered" if neighbours or everywhere else "undecided",
        answer={
            "answered": "The neighbours: without all seven of them the networks know nothing of the empty orthant."
            if neighbours
            else "The symmetry: it makes no difference whether the neighbours are there.",
            "undecided": "The runs do not decide whether the neighbours matter more than other orthants.",
        },
        finding=f"without all seven neighbours the accuracy in the empty orthant is {stats.student(near)}, without "
        f"seven orthants at random {stats.student(far)}; the difference in the same run is {lost}",
        evidence={"lost": lost, "at chance without the neighbours": stats.wilson(near <= CHANCE)},
    )


def by_populated_neighbours(record: xr.Dataset) -> xr.DataArray:
    """Accuracy of each empty orthant by its number of populated neighbours: mean over them, NaN where there is none.

    Args:
        record: accuracy and populated, with dimensions of which the last is orthant.

    Returns:
        The same dimensions, with `neighbours` from 0 to 7 in the place of orthant.
    """
    near = np.stack([shells.neighbours(k) for k in range(record.sizes["orthant"])])
    populated = record.populated.transpose(..., "orthant").values.astype(bool)
    held = populated[..., near].sum(axis=-1)
    accuracy = record.accuracy.transpose(*record.populated.transpose(..., "orthant").dims).values
    counts = np.arange(near.shape[1] + 1)
    means = []
    for count in counts:
        chosen = ~populated & (held == count)
        total = np.where(chosen, accuracy, 0).sum(axis=-1)
        means.append(np.divide(total, n := chosen.sum(axis=-1), out=np.full(n.shape, np.nan), where=n > 0))
    dims = record.populated.transpose(..., "orthant").dims[:-1]
    coords = {dim: record[dim] for dim in dims}
    return xr.DataArray(np.stack(means, axis=-1), dims=(*dims, "neighbours"), coords=coords | {"neighbours": counts})


def with_few() -> xr.Dataset:
    """Accuracies in the orthant with few points, 0 to 50 of each class, and elsewhere: depth, points and run."""
    few, sizes = last("orthant_sparse")[["empty", "others"]], by_width()
    none = [
        sizes[int(d)][["empty", "others"]].sel(width=64, run=few.run).drop_vars("width").assign_coords(depth=d)
        for d in few.depth.values
    ]
    return xr.concat([xr.concat(none, "depth").expand_dims(points=[0]), few], "points")


def relative(few: xr.Dataset) -> dict[int, Interval]:
    """Accuracy in the orthant with few points over that elsewhere, by their number; mean over depths, run by run."""
    share = (few.empty / few.others).mean("depth")
    return {int(n): stats.student(share.sel(points=n).values) for n in few.points.values}


def of_empty(many: xr.Dataset) -> dict[int, Interval]:
    """Mean accuracy over the empty orthants by their number."""
    accuracy = many.accuracy.where(many.populated == 0).mean("orthant")
    return {int(k): stats.student(accuracy.sel(emptied=k).values) for k in many.emptied.values}


def hs_64(few: xr.Dataset | None = None, many: xr.Dataset | None = None) -> Outcome:
    """Section 4.1: (a) how many points an orthant needs; (b) how many orthants may be empty."""
    dense = 0.9
    few = with_few() if few is None else few
    many = last("orthant_many_empty") if many is None else many
    shares, means = relative(few), of_empty(many)
    enough = min((n for n in shares if all(one.above(dense) for m, one in shares.items() if m >= n)), default=None)
    better = max((k for k, one in means.items() if one.above(CHANCE)), default=None)
    short = min((k for k, one in means.items() if one.below(LEARNED)), default=None)
    return Outcome(
        parts={
            "a": "undecided" if enough is None else "answered",
            "b": "answered" if better and short else "undecided",
        },
        answer={
            "answered": f"From {enough} points of each class an orthant is like a full one; from {short} empty "
            "orthants on, each is learned less often.",
            "otherwise": "The runs leave open how many points, or how many orthants, it takes.",
        },
        finding="accuracy in the orthant over that elsewhere, mean of 1, 3 and 5 layers: "
        + ", ".join(f"{share} with {n}" for n, share in shares.items())
        + " points of each class; mean accuracy over the empty orthants "
        + listed([f"{one} with {k}" for k, one in means.items()])
        + " of them",
        evidence={"points that suffice": enough, "above chance up to": better, "below 0.75 from": short},
    )


def hs_65(crossed: xr.Dataset | None = None, nudged: xr.DataArray | None = None) -> Outcome:
    """Table 1: start, data or the choice of the orthant?  Two-way shares, and runs that differ in their last bit.

    Args:
        crossed: empty by depth, data and start.
        nudged: empty by depth, run and nudge, of which the first is the run itself.
    """
    large, small = 0.6, 0.3
    crossed = last("orthant_crossed") if crossed is None else crossed
    nudged = with_nudges() if nudged is None else nudged
    depths = [int(d) for d in crossed.depth.values]
    shares = {
        d: orthant_statistics.variance_shares(crossed.empty.sel(depth=d).values, name=f"HS-65 {d}") for d in depths
    }
    bit = {d: within_share(nudged.sel(depth=d).values) for d in depths}
    parts, said = {}, []
    for d, share in shares.items():
        name = "1 layer" if d == 1 else f"{d} layers"
        start, versions = share["columns"], nudged.sel(depth=d)
        clear = start.above(large) or start.below(small) or bit[d].above(small)
        parts[name] = "answered" if clear else "undecided"
        said.append(f"{name}: initialisation {start:.0%} of the variance, data {share['rows']:.0%}, both together "
                    f"{share['rest']:.0%}")  # fmt: skip
        said[-1] += f"; the last bit of one training point {bit[d]:.0%}, by which {mixed_runs(versions)} of "
        said[-1] += f"{versions.sizes['run']} networks both learn and fail to"
    rounding = any(one.above(small) for one in bit.values())
    words = (
        "None of them alone: with the same data, start and orthant, the last bit of one input changes whether a "
        "network learns."
    )
    return Outcome(
        parts=parts,
        answer={
            "answered": words if rounding else "One of them does more than the others.",
            "otherwise": words if rounding else "None of them alone, as far as the runs go.",
        },
        finding="; ".join(said),
        evidence={"share of the last bit": bit},
    )


def with_nudges() -> xr.DataArray:
    """Empty by depth, run and nudge of the runs of which one training point was moved; nudge 0 is the run itself."""
    moved = last("orthant_nudged").empty
    own = last("orthants").empty.sel(depth=moved.depth, run=moved.run)
    return xr.concat([own.expand_dims(nudge=[0]), moved], "nudge").transpose("depth", "run", "nudge")


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


# What the page adds.


def window(sizes: Mapping[int, xr.Dataset] | None = None, depth: int = 3) -> dict[int, Interval]:
    """Share of networks of a depth that learn the empty orthant, by width."""
    found = (by_width() if sizes is None else sizes)[depth]
    return {
        int(m): stats.wilson((found.empty.sel(width=m).dropna("run") >= LEARNED).values) for m in found.width.values
    }


def stopping() -> dict[int, tuple[Interval, Interval, Interval, int]]:
    """By depth what the document's stopping changes: epochs, empty and elsewhere, and how many runs stop together."""
    names = ["empty", "others", "epochs"]
    ours, points = last("orthants")[names], last("orthants_by_points")[names]
    change = ours - points
    return {
        int(d): (
            *(stats.student(change[name].sel(depth=d).values) for name in ("epochs", "empty", "others")),
            int((change.epochs.sel(depth=d) == 0).sum()),
        )
        for d in ours.depth.values
    }


def selection(record: xr.Dataset) -> dict[str, object]:
    """What the accuracy after ten epochs says of the end, over configurations; means over the runs.

    Returns:
        final, empty: its rank correlations with the final validation accuracy and with the empty orthant; idle: how
        many configurations are then within 0.48 to 0.52; winners: (width, rate, decay) of each run.
    """
    early, end = record.selection, record.sel(moment="last")
    ten, final, empty = (one.mean("run").values.ravel() for one in (early, end.held_out, end.empty))
    winners = [early.sel(run=run).stack(c=("width", "rate", "decay")).idxmax("c").item() for run in early.run.values]
    return {
        "final": stats.spearman(ten, final, name="HS-67"),
        "empty": stats.spearman(ten, empty, name="HS-67 E"),
        "idle": int(((ten >= 0.48) & (ten <= 0.52)).sum()),
        "winners": [(int(width), float(rate), float(decay)) for width, rate, decay in winners],
    }
