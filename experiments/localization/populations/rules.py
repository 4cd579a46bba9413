r"""Rules on the two populations and whether they have to balance: LO-08 to LO-11, LO-14 and LO-15.

A neuron is *negative* or *positive* by the sign of its bias at the end, beyond 0.001.  Every number is one for each
trained network, and intervals are Student's over networks: neurons of one network are not independent.  Runs that are
compared with the standard network have its initial weights and batches, so that differences and ratios are paired.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.localization import networks, scores
from experiments.localization.populations import cells as populations
from experiments.localization.theory import cells as proofs
from shallow import receptive_fields as fields
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.committee import Committee
from shallow.stats import Interval

STANDARD, ARRANGED = "localization/balance", "localization/populations/arrangements"
OUTPUTS, RINGS = "localization/populations/outputs", "localization/populations/rings"
GAINS = (0.01, 3.0)
SIGNS = {-1: "negative", 1: "positive"}
#: Arrangements that begin out of balance, by the share of positive biases with which they begin.
EXTREME = {
    "begun at +0.5": 1.0,
    "begun at -0.5": 0.0,
    "begun at +2": 1.0,
    "begun at -2": 0.0,
    "begun 4": 0.1,
    "begun 36": 0.9,
}
MODERATE = {"begun 10": 0.25, "begun 30": 0.75}
#: Outputs with a trained constant that begin out of balance, by the same.
CONSTANT = {"begun 0": 0.0, "begun 10": 0.25, "begun 30": 0.75, "begun 40": 1.0}
#: The rings of 400 pixels: with the two rates that the grid asks for, and with one.
FINE = ("400", "400, one rate 2", "400, one rate 20")
#: Starts of the biases at one value, for the remark on the optimiser.
LEVELS = ("free", "begun at +0.5", "begun at -0.5", "begun at +2", "begun at -2")


def last(runs: xr.Dataset) -> xr.Dataset:
    """Runs at their last step, if they have several."""
    return runs.isel(step=-1, missing_dims="ignore")


def by_seed(runs: xr.Dataset, name: str) -> np.ndarray:
    """A variable (seed, ...), seeds first."""
    return runs[name].transpose("seed", ...).values


def signs(runs: xr.Dataset) -> np.ndarray:
    """Population of every neuron (seed, neuron)."""
    return populations.population(by_seed(runs, "b"))


def shares(runs: xr.Dataset) -> np.ndarray:
    """Share of positive biases of every network (seed,)."""
    return populations.balance(by_seed(runs, "b")).share


def student(values: np.ndarray) -> Interval:
    """Student's interval over networks."""
    return stats.student(np.asarray(values, dtype=float).round(12))


def smaller_share(runs: xr.Dataset) -> np.ndarray:
    """Share of the neurons in the smaller population of each network (seed,)."""
    return np.minimum((signs(runs) < 0).mean(axis=1), (signs(runs) > 0).mean(axis=1))


def refined_steps() -> tuple[float, float]:
    """How far a step on a ten times finer ring is from the coarse one: at a tenth of the rate, and at the same rate."""
    return tuple(proofs.refined_step(power) for power in (1, 0))


def finer(runs: xr.Dataset, gain: float, width: str = "width") -> dict[str, dict[str, Interval]]:
    """Every ring of the record over the one of 40 pixels: widths of negative fields, and smaller shares."""
    there = last(runs).sel(gain=gain)
    measures = {"width": lambda one: by_seed(one.sel(side="minus"), width), "share": smaller_share}
    coarse = {name: measure(there.sel(ring="40")) for name, measure in measures.items()}
    return {
        ring: {name: student(measure(there.sel(ring=ring)) / coarse[name]) for name, measure in measures.items()}
        for ring in there.ring.values[1:]
    }


@decides(runs=RINGS, steps=refined_steps)
def lo_08(runs, steps, *, inside, apart):
    """Equation (1) and Practice: a grid in the place of the ring changes nothing essential."""
    found = {f"g = {gain:g}": finer(runs, gain) for gain in GAINS}
    two_rates = [one for rings in found.values() for one in rings["400"].values()]
    coarse, fine = (last(runs).sel(gain=3.0, ring=ring, side="minus") for ring in ("40", "400"))
    return Found(
        claims.all_of(*(claims.within(one, *inside) for one in two_rates), steps[0] < apart),
        {"step, rate over ten": steps[0], "step, same rate": steps[1], "over 40 pixels": found}
        | {"up to 20 cycles": {f"g = {gain:g}": finer(runs, gain, "slow_width")["400"]["width"] for gain in GAINS}}
        | {"of the ring": [by_seed(one, "width").mean() for one in (coarse, fine)]}
        | {
            "energy above 60": {
                ring: float(last(runs).fast.sel(gain=3.0, ring=ring, side="minus").mean()) for ring in FINE
            }
        },
    )


def two_kinds(runs: xr.Dataset, local: float) -> list[Interval]:
    """Numbers of localised slow fields and of spread-out fast ones in a network."""
    if "ipr" in runs:
        ipr, frequency = by_seed(runs, "ipr"), by_seed(runs, "mean_frequency")
    else:
        W = by_seed(runs, "W")
        ipr, frequency = fields.inverse_participation_ratio(W), fields.mean_frequency(W)
    slow, fast = (ipr > local) & (frequency < networks.N / 8), (ipr < local) & (frequency > networks.N / 4)
    return [student(kind.sum(axis=1)) for kind in (slow, fast)]


@decides(runs=STANDARD, relu="localization/populations/program")
def lo_09(runs, relu, *, local, enough):
    """Section 2, opening: the sigmoid gives oscillatory and localised fields in one network."""
    slow, fast = two_kinds(last(runs).sel(gain=3.0), local)
    other = two_kinds(last(relu).sel(gain=3.0, variant="relu"), local)
    return Found(
        claims.all_of(slow.exceeds(enough), fast.exceeds(enough)),
        {"localised slow fields": slow, "spread-out fast fields": fast, "ReLU": [one.estimate for one in other]},
    )


def dealt_anew(b: np.ndarray, frequency: np.ndarray, repeats: int = 200) -> float:
    """Mean share on the right side when biases and fields of one network are paired at random."""
    rng = stats.stream("localization", "dealt anew")
    return float(np.mean([populations.apart(rng.permutation(b), frequency)[1] for _ in range(repeats)]))


@decides(runs=STANDARD, outputs=OUTPUTS)
def lo_10(runs, outputs, *, most):
    """Section 2, frequency specialisation: slow fields with negative biases, fast ones with positive biases."""
    beyond, right, null = {}, {}, []
    for gain in GAINS:
        one = last(runs).sel(gain=gain)
        pairs = list(zip(by_seed(one, "b"), fields.mean_frequency(by_seed(one, "W")), strict=True))
        beyond[f"g = {gain:g}"], right[f"g = {gain:g}"] = map(
            student, np.transpose([populations.apart(*pair) for pair in pairs])
        )
        null += [dealt_anew(*pair) for pair in pairs]
    logistic = {name: sorted_out(outputs, "logistic", name) for name in ("right", "away")}
    read_out = sorted_out(outputs, "read-out", "right")

    def above(*groups: dict[str, Interval]) -> bool | None:
        return claims.all_of(*(share.exceeds(most) for group in groups for share in group.values()))

    return Found(
        {"erf": above(beyond, right), "logistic": above(*logistic.values())},
        {"on the right side of n/4": right, "away from 0": beyond, "at random": np.mean(null)}
        | {"networks": runs.sizes["seed"], "logistic": logistic, "trained read-out": read_out},
    )


def sorted_out(outputs: xr.Dataset, output: str, share: str) -> dict[str, Interval]:
    """A share of the neurons of each network, `right` or `away`, by gain."""
    return {f"g = {gain:g}": student(by_seed(last(outputs).sel(output=output, gain=gain), share)) for gain in GAINS}


@decides(runs=STANDARD, rings=RINGS)
def lo_11(runs, rings, *, between):
    """Section 2: the populations are roughly equal in size."""
    share = {f"g = {gain:g}": shares(last(runs).sel(gain=gain)) for gain in GAINS}
    mean = {name: student(values) for name, values in share.items()}
    fine = {
        ring: {f"g = {gain:g}": student(shares(last(rings).sel(gain=gain, ring=ring))) for gain in GAINS}
        for ring in rings.ring.values
    }

    def rough(means: dict[str, Interval]) -> bool | None:
        return claims.all_of(*(claims.within(one, *between) for one in means.values()))

    return Found(
        {"n = 40": rough(mean), "n = 400": rough(fine["400"])},
        {"share": mean, "least and largest share": {name: [v.min(), v.max()] for name, v in share.items()}}
        | {"one half excluded": {name: not one.contains(0.5) for name, one in mean.items()}, "rings": fine},
    )


def common_biases(runs: xr.Dataset) -> xr.Dataset:
    """Spread of the biases of standard networks, and what common biases change (gain, seed)."""
    rows = [[common(runs.sel(gain=gain, seed=seed), seed, gain) for seed in runs.seed.values] for gain in GAINS]
    table = {key: (("gain", "seed"), [[one[key] for one in row] for row in rows]) for key in rows[0][0]}
    return xr.Dataset(table, {"gain": list(GAINS), "seed": runs.seed.values})


def common(run: xr.Dataset, seed: int, gain: float) -> dict[str, float]:
    """Deviation of the biases over their mean by population; what their means change in output and accuracy."""
    W, b = run.W.values, run.b.values
    given, of, means = scores.points(int(seed), networks.pair(gain)), populations.population(b), b.copy()
    for sign in SIGNS:
        means[of == sign] = b[of == sign].mean()
    old, new = Committee(np.stack([W, W]), np.stack([b, means])).forward(given.x)
    accuracy = [float(np.mean((output > 0) == (given.y > 0))) for output in (old, new)]
    spread = {name: float(b[of == s].std() / abs(b[of == s].mean())) for s, name in SIGNS.items()}
    moved = float(np.sqrt(np.mean((new - old) ** 2)) / old.std())
    return {**spread, "moved": moved, "changed": abs(accuracy[1] - accuracy[0])}


@decides(runs=STANDARD)
def lo_14(runs, *, spread, moved, changed):
    """Equation (3): one bias for each population."""
    measured = common_biases(last(runs))
    of = {
        name: {f"g = {gain:g}": student(by_seed(measured.sel(gain=gain), name)) for gain in GAINS}
        for name in (*SIGNS.values(), "moved", "changed")
    }
    spreads = [one for name in SIGNS.values() for one in of[name].values()]
    moves, changes = list(of["moved"].values()), list(of["changed"].values())
    return Found(
        {
            "alike": claims.all_of(*(claims.below(one, spread) for one in spreads)),
            "exchangeable": claims.all_of(
                *(claims.below(one, moved) for one in moves), *(claims.below(one, changed) for one in changes)
            ),
        },
        {"widest spread": largest(spreads), "output moves": largest(moves), "accuracy": largest(changes).estimate}
        | {"deviation over mean": {name: of[name] for name in SIGNS.values()}, "output moves by": of["moved"]},
    )


def largest(intervals: list[Interval]) -> Interval:
    """The interval with the largest estimate."""
    return max(intervals, key=lambda one: one.estimate)


def way(runs: xr.Dataset, starts: dict[str, float]) -> np.ndarray:
    """How far of the way from the share at the start to the standard network's each network goes (start, seed)."""
    free = shares(runs.sel(network="free"))
    return np.array([(shares(runs.sel(network=name)) - begun) / (free - begun) for name, begun in starts.items()])


def excess(runs: xr.Dataset) -> dict[str, Interval]:
    """Loss of each start of :data:`LEVELS` over that of the best of them, minus one."""
    best = min(LEVELS, key=lambda name: by_seed(runs.sel(network=name), "loss").mean())
    low = by_seed(runs.sel(network=best), "loss")
    return {name: student(by_seed(runs.sel(network=name), "loss") / low - 1) for name in LEVELS}


def constant_way(runs: xr.Dataset, outputs: xr.Dataset) -> dict[str, Interval]:
    """The same with a trained constant, on the way to the share of the network whose biases begin at 0 with one."""
    count = last(outputs).sel(gain=3.0, side="plus")["count"] / networks.WIDTH
    goal = by_seed(count.sel(output="constant").to_dataset(name="share"), "share")
    ends = {name: by_seed(count.sel(output=name).to_dataset(name="share"), "share") for name in CONSTANT}
    return {name: student((ends[name] - begun) / (goal - begun)) for name, begun in CONSTANT.items()}


@decides(runs=ARRANGED, outputs=OUTPUTS)
def lo_15(runs, outputs, *, half, above, agree):
    """Section 2: the balance is arbitrary; Section 1: descent is not guaranteed to minimise the loss."""
    runs = last(runs).sel(gain=3.0)
    starts = {"extreme starts": EXTREME, "a quarter": {"begun 10": 0.25}, "three quarters": {"begun 30": 0.75}}
    ways = {name: student(way(runs, shares_).mean(axis=0)) for name, shares_ in starts.items()}
    over = excess(runs)
    worse = claims.any_of(*(one.exceeds(above) for one in over.values()))
    alike = claims.all_of(*(claims.below(one, agree) for one in over.values()))
    return Found(
        {name: claims.below(one, half) for name, one in ways.items()}
        | {"optimiser": True if worse else False if alike else None},
        {"way": ways, "worst start": largest(list(over.values())), "with a constant": constant_way(runs, outputs)}
        | {"moderate starts end at": [shares(runs.sel(network=name)).mean() * networks.WIDTH for name in MODERATE]}
        | {"over the best": {name.removeprefix("begun at "): one.estimate for name, one in over.items()}},
    )


VARIANTS = {
    "start": "start cut at two deviations",
    "counts": "class by a coin",
    "rate 10": "rate 10",
    "rate 40": "rate 40",
}
MEASURES = ("share", "ratio", "loss", "accuracy")


def variant_measures(runs: xr.Dataset) -> dict[str, np.ndarray]:
    """Share of positive biases, median participation ratio of negative fields, loss and accuracy; (seed,) each."""
    ipr, of = by_seed(runs, "ipr"), signs(runs)
    ratio = np.array([np.median(values[sign < 0]) for values, sign in zip(ipr, of, strict=True)])
    return {"share": shares(runs), "ratio": ratio, "loss": by_seed(runs, "loss"), "accuracy": by_seed(runs, "accuracy")}


def program_differences(runs: xr.Dataset, gain: float) -> dict[str, dict[str, Interval]]:
    """What a variant of the program changes against the standard network, by variant and measure."""
    there = runs.sel(gain=gain)
    standard = variant_measures(there.sel(variant="standard"))
    return {
        label: {key: student(value - standard[key]) for key, value in variant_measures(there.sel(variant=name)).items()}
        for name, label in VARIANTS.items()
    }


#: What a table of outputs tells of every one, in its order.
TOLD = ("right", "ipr", "loss", "accuracy", "accuracy_refitted")


def output_measures(outputs: xr.Dataset, output: str, gain: float) -> dict[str, Interval]:
    """Numbers of positive neurons, their share on the right side of n/4, IPR of negative fields, and scores."""
    one = last(outputs).sel(output=output, gain=gain)
    columns = {"plus": one["count"].sel(side="plus"), **{name: one[name] for name in TOLD}}
    columns["ipr"] = one.ipr.sel(side="minus")
    return {name: student(values.values) for name, values in columns.items()}


def resting(outputs: xr.Dataset, output: str, gain: float, side: str) -> dict[str, Interval]:
    r"""Of an output: $|b|/b_*$, what the formula says, how far the two are apart, and the covariance left out.

    Over the networks whose population has three neurons or more, if there are three.
    """
    one = last(outputs).sel(output=output, gain=gain, side=side)
    one = one.where(one["count"] >= 3, drop=True)
    apart = one.crossing - one.gaussian
    told = {"measured": one.crossing, "formula": one.gaussian, "apart": apart, "covariance": one.error}
    told |= {"bound": one.bound, "sampled": one.sampled}
    return {
        name: student(values.values) for name, values in told.items() if np.isfinite(values).sum() == len(values) > 2
    }


def ties(outputs: xr.Dataset, output: str, gain: float) -> dict[str, float]:
    """Correlation over networks of the number of negative neurons with their bias and localisation, and deviations."""
    one = last(outputs).sel(output=output, gain=gain, side="minus")
    return {
        name: (float(np.corrcoef(one["count"], one[name])[0, 1]), float(one[name].std(ddof=1)))
        for name in ("crossing", "ipr")
    }
