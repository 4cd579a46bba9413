r"""Rules on the two populations and whether they have to balance: LO-08 to LO-11, LO-14 to LO-18.

A neuron is *negative* or *positive* by the sign of its bias at the end, beyond 0.001.  Every number is one for each
trained network, and intervals are Student's over networks: neurons of one network are not independent.  Runs that are
compared with the standard network have its initial weights and batches, so that differences and ratios are paired.
"""

from __future__ import annotations

import itertools

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
GAINS = (0.01, 3.0)
SIGNS = {-1: "negative", 1: "positive"}
#: Arrangements of LO-16 by what they are called here: one population, with or without the constant it lacks.
ALONE = {
    "positive, constant": "plus only, offset",
    "negative, constant": "minus only, offset",
    "positive, none": "plus only",
    "negative, none": "minus only",
}
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


def ring_widths(runs: xr.Dataset, cut: float = 60) -> np.ndarray:
    """Share of the ring that the negative fields of each network occupy, median of 1 / (n IPR), below a frequency."""
    W, of = by_seed(runs, "W"), signs(runs)
    widths = [1 / (W.shape[-1] * fields.inverse_participation_ratio(fields.low_pass(w, cut))) for w in W]
    return np.array([np.median(width[sign < 0]) for width, sign in zip(widths, of, strict=True)])


def smaller_share(runs: xr.Dataset) -> np.ndarray:
    """Share of the neurons in the smaller population of each network (seed,)."""
    return np.minimum((signs(runs) < 0).mean(axis=1), (signs(runs) > 0).mean(axis=1))


def refined_steps() -> tuple[float, float]:
    """How far a step on a ten times finer ring is from the coarse one: at a tenth of the rate, and at the same rate."""
    return tuple(proofs.refined_step(power) for power in (1, 0))


@decides(coarse="localization/gains", fine="localization/fine_ring", steps=refined_steps)
def lo_08(coarse, fine, steps, *, inside, apart):
    """Equation (1) and Practice: a grid in the place of the ring changes nothing essential."""
    runs = [last(each).sel(gain=3.0) for each in (coarse, fine)]
    widths = [ring_widths(each) for each in runs]
    ratio, smaller = student(widths[1] / widths[0]), [student(smaller_share(each)) for each in runs]
    more_than_one = (share.exceeds(1 / networks.WIDTH) for share in smaller)
    return Found(
        claims.all_of(claims.within(ratio, *inside), steps[0] < apart, *more_than_one),
        {"ratio of widths": ratio, "step, rate over ten": steps[0], "step, same rate": steps[1]}
        | {"smaller population": [share.estimate for share in smaller], "of the ring": [each.mean() for each in widths]}
        | {"of the ring, raw weights": ring_widths(runs[1], np.inf).mean()},
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


@decides(runs=STANDARD)
def lo_10(runs, *, most):
    """Section 2, frequency specialisation: slow fields with negative biases, fast ones with positive biases."""
    beyond, right, null = {}, {}, []
    for gain in GAINS:
        one = last(runs).sel(gain=gain)
        pairs = list(zip(by_seed(one, "b"), fields.mean_frequency(by_seed(one, "W")), strict=True))
        beyond[f"g = {gain:g}"], right[f"g = {gain:g}"] = map(
            student, np.transpose([populations.apart(*pair) for pair in pairs])
        )
        null += [dealt_anew(*pair) for pair in pairs]
    return Found(
        claims.all_of(*(share.exceeds(most) for share in (*beyond.values(), *right.values()))),
        {"on the right side of n/4": right, "away from 0": beyond, "at random": np.mean(null)}
        | {"networks": runs.sizes["seed"]},
    )


@decides(runs=STANDARD)
def lo_11(runs, *, between):
    """Section 2: the populations are roughly equal in size."""
    share = {f"g = {gain:g}": shares(last(runs).sel(gain=gain)) for gain in GAINS}
    mean = {name: student(values) for name, values in share.items()}
    return Found(
        claims.all_of(*(claims.within(one, *between) for one in mean.values())),
        {"share": mean, "least and largest share": {name: [v.min(), v.max()] for name, v in share.items()}}
        | {"one half excluded": {name: not one.contains(0.5) for name, one in mean.items()}},
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


@decides(runs=ARRANGED)
def lo_15(runs, *, half, above, agree):
    """Section 2: the balance is arbitrary; Section 1: descent is not guaranteed to minimise the loss."""
    runs = last(runs).sel(gain=3.0)
    starts = {"extreme starts": EXTREME, "moderate starts": MODERATE}
    ways = {name: student(way(runs, shares_).mean(axis=0)) for name, shares_ in starts.items()}
    over = excess(runs)
    worse = claims.any_of(*(one.exceeds(above) for one in over.values()))
    alike = claims.all_of(*(claims.below(one, agree) for one in over.values()))
    return Found(
        {name: claims.below(one, half) for name, one in ways.items()}
        | {"optimiser": True if worse else False if alike else None},
        {"way": ways, "worst start": largest(list(over.values()))}
        | {"moderate starts end at": [shares(runs.sel(network=name)).mean() for name in MODERATE]}
        | {"over the best": {name.removeprefix("begun at "): one.estimate for name, one in over.items()}},
    )


def against(runs: xr.Dataset, name: str, gain: float) -> dict[str, Interval]:
    """An arrangement against the standard network: loss ratio, accuracies, and what they lose, at 0 and refitted."""
    one, free = (runs.sel(gain=gain, network=which) for which in (name, "free"))
    loss, here, refitted = (by_seed(one, key) for key in ("loss", "accuracy", "accuracy_refitted"))
    return {
        "loss": student(loss / by_seed(free, "loss")),
        "lost": student(by_seed(free, "accuracy") - here),
        "lost refitted": student(by_seed(free, "accuracy_refitted") - refitted),
        "accuracy": student(here),
        "refitted": student(refitted),
    }


def keeps(accuracy: np.ndarray, full: np.ndarray, share: float) -> bool | None:
    """Whether networks (seed,) keep more than a share of an accuracy beyond chance."""
    return student((accuracy - 0.5) - share * (full - 0.5)).exceeds(0)


@decides(runs=ARRANGED)
def lo_16(runs, *, kept, dear):
    """Section 2: either population could solve the task on its own."""
    runs, solves, loss, means = last(runs), {}, {}, {}
    full = {gain: by_seed(runs.sel(gain=gain, network="free"), "accuracy") for gain in GAINS}
    for name, network in ALONE.items():
        found = [against(runs, network, gain) for gain in GAINS]
        same = (keeps(by_seed(runs.sel(gain=g, network=network), "accuracy"), full[g], kept) for g in GAINS)
        solves[name] = claims.all_of(*same, *(claims.below(one["loss"], dear) for one in found))
        loss[name] = {f"g = {gain:g}": one["loss"] for gain, one in zip(GAINS, found, strict=True)}
        means[name] = {key: [one[key].estimate for one in found] for key in ("loss", "accuracy")}
    return Found(solves, {"loss": loss, "mean": means, "standard accuracy": [one.mean() for one in full.values()]})


@decides(runs=ARRANGED)
def lo_17(runs, *, dear, lost):
    """Section 2: balancing is not required."""
    runs, names = last(runs), ("clamped 4", "clamped 36", "begun 10", "begun 30")
    found = {name: {f"g = {gain:g}": against(runs, name, gain) for gain in GAINS} for name in names}
    good = {
        name: {
            gain: claims.all_of(claims.below(one["loss"], dear), claims.below(one["lost"], lost))
            for gain, one in by_gain.items()
        }
        for name, by_gain in found.items()
    }

    def both(*names: str) -> str:
        verdicts = {claims.verdict(one) for name in names for one in good[name].values()}
        return verdicts.pop() if len(verdicts) == 1 else "partly"

    many = [(-one["lost"].estimate, -one["lost refitted"].estimate) for one in found["begun 30"].values()]
    ended = [shares(runs.sel(gain=gain, network="begun 30")).mean() * networks.WIDTH for gain in GAINS]
    return Found(
        {"clamped": both("clamped 4", "clamped 36"), "few positive": both("begun 10")}
        | {f"many positive, {gain}": one for gain, one in good["begun 30"].items()},
        {"loss": {name: {gain: one["loss"] for gain, one in by_gain.items()} for name, by_gain in found.items()}}
        | {"accuracy lost": {name: {g: one["lost"] for g, one in by_gain.items()} for name, by_gain in found.items()}}
        | {"mean loss": {name: [one["loss"].estimate for one in found[name].values()] for name in names}}
        | {"stuck": {name: np.mean([stuck(runs, name, gain) for gain in GAINS]) for name in names[:2]}}
        | {"end positive": ended, "accuracy gained": {f"g = {gain:g}": one for gain, one in zip(GAINS, many)}},
    )


def stuck(runs: xr.Dataset, name: str, gain: float) -> float:
    """Mean number of biases that are held at zero."""
    return float(populations.balance(by_seed(runs.sel(network=name, gain=gain), "b")).none.mean())


#: Rows of the comparison of LO-18: an arrangement, or a part cut out of the standard network.
ROWS = {
    "full": ("free", None),
    "positive cut out": (None, "plus"),
    "negative cut out": (None, "minus"),
    "positive trained, constant": ("plus only, offset", None),
    "negative trained, constant": ("minus only, offset", None),
    "positive trained": ("plus only", None),
    "negative trained": ("minus only", None),
}


def row_values(runs: xr.Dataset, measure: str, gain: float) -> dict[str, np.ndarray]:
    """A measure of every row (seed,); the loss of a part that is cut out has its constant refitted."""
    there, cut = runs.sel(gain=gain), "pruned_loss_refitted" if measure == "loss" else f"pruned_{measure}"
    return {
        name: by_seed(there.sel(network=network), measure) if part is None else by_seed(there.sel(part=part), cut)
        for name, (network, part) in ROWS.items()
    }


def ordered(values: dict[str, np.ndarray], lowest: bool = False) -> str:
    """Names from best to worst; '>' where neighbours differ by Student's interval of paired networks, else '='."""
    sign = -1 if lowest else 1
    names = sorted(values, key=lambda name: -sign * values[name].mean())
    ahead = [student(sign * (values[a] - values[b])).exceeds(0) for a, b in itertools.pairwise(names)]
    return " ".join(
        [names[0], *(f"{'>' if more else '='} {name}" for more, name in zip(ahead, names[1:], strict=True))]
    )


@decides(runs=ARRANGED)
def lo_18(runs, *, kept, dear):
    """Section 2, TODO: whether oscillating neurons alone can do the task."""
    runs, can = last(runs), {"cut out": {}, "trained with a constant": {}, "trained without": {}}
    for (label, found), name in zip(
        can.items(), ("positive cut out", "positive trained, constant", "positive trained")
    ):
        for gain in GAINS:
            accuracy, loss = (row_values(runs, measure, gain) for measure in ("accuracy_refitted", "loss"))
            cheap = label == "cut out" or claims.below(student(loss[name] / loss["full"]), dear)
            found[f"g = {gain:g}"] = claims.all_of(keeps(accuracy[name], accuracy["full"], kept), cheap)
    return Found("answered", can | {"order of the areas, g = 3": ordered(row_values(runs, "area", 3.0))})


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
