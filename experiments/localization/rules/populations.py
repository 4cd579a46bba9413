r"""Rules on the two populations and whether they have to balance: LO-08 to LO-11, LO-14 to LO-18.

A neuron is *negative* or *positive* by the sign of its bias at the end, beyond 0.001.  Every number is one for each
trained network, and intervals are Student's over networks: neurons of one network are not independent.  Runs that are
compared with the standard network have its initial weights and batches, so that differences and ratios are paired.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache

import numpy as np
import xarray as xr

from experiments.localization import networks, populations, proofs, scores
from shallow import receptive_fields as fields
from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.committee import Committee
from shallow.stats import Interval

GAINS = (0.01, 3.0)
SIGNS = {-1: "negative", 1: "positive"}
#: Arrangements of LO-16 by what they are called here: one population, with or without the constant it lacks.
ALONE = {
    "positive, constant": "plus only, offset", "negative, constant": "minus only, offset",
    "positive, none": "plus only", "negative, none": "minus only",
}  # fmt: skip
#: Arrangements that begin out of balance, by the share of positive biases with which they begin.
EXTREME = {
    "begun at +0.5": 1.0, "begun at -0.5": 0.0, "begun at +2": 1.0, "begun at -2": 0.0, "begun 4": 0.1, "begun 36": 0.9
}  # fmt: skip
MODERATE = {"begun 10": 0.25, "begun 30": 0.75}
#: Starts of the biases at one value, for the remark on the optimiser.
LEVELS = ("free", "begun at +0.5", "begun at -0.5", "begun at +2", "begun at -2")


def last(runs: xr.Dataset) -> xr.Dataset:
    """Runs at their last step."""
    return runs.isel(step=-1)


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


def spans(intervals: Sequence[Interval], spec: str = ".2f") -> str:
    """Several intervals as a range of their estimates."""
    low, high = (format(pick(i.estimate for i in intervals), spec) for pick in (min, max))
    return low if low == high else f"{low} to {high}"


def ring_widths(runs: xr.Dataset, cut: float = 60) -> np.ndarray:
    """Share of the ring that the negative fields of each network occupy, median of 1 / (n IPR), below a frequency."""
    W, of = by_seed(runs, "W"), signs(runs)
    widths = [1 / (W.shape[-1] * fields.inverse_participation_ratio(fields.low_pass(w, cut))) for w in W]
    return np.array([np.median(width[sign < 0]) for width, sign in zip(widths, of, strict=True)])


def smaller_share(runs: xr.Dataset) -> np.ndarray:
    """Share of the neurons in the smaller population of each network (seed,)."""
    return np.minimum((signs(runs) < 0).mean(axis=1), (signs(runs) > 0).mean(axis=1))


def lo_08(
    coarse: xr.Dataset | None = None, fine: xr.Dataset | None = None, steps: tuple[float, float] | None = None
) -> Outcome:
    """Equation (1) and Practice: a grid in the place of the ring changes nothing essential."""
    ratio_off, step_off, one = 0.3, 0.05, 1 / networks.WIDTH
    coarse = last(records.load("localization/gains")).sel(gain=3.0) if coarse is None else coarse
    fine = last(records.load("localization/fine_ring")).sel(gain=3.0) if fine is None else fine
    right, same = (proofs.refined_step(power) for power in (1, 0)) if steps is None else steps
    ratio = student(ring_widths(fine) / ring_widths(coarse))
    least = [student(smaller_share(runs)) for runs in (coarse, fine)]
    raw = student(ring_widths(fine, np.inf))
    return Outcome(
        verdict=claims.all_of(
            claims.within(ratio, 1 - ratio_off, 1 + ratio_off),
            right < step_off,
            *(share.exceeds(one) for share in least),
        ),
        answer={
            "reproduced": "Yes: a ten times finer ring gives the same two populations and bumps nearly as wide, with a "
            "tenth of the weights' rate.",
            "otherwise": "Not in full: on a finer ring the populations or the widths of the fields are others.",
        },
        finding=f"on 40 and 400 pixels the smaller population has {least[0].estimate:.2f} and {least[1].estimate:.2f} "
        f"of the neurons; negative fields occupy {student(ring_widths(coarse)).estimate:.3f} and "
        f"{student(ring_widths(fine)).estimate:.3f} of the ring, ratio {ratio} (raw weights on 400 pixels "
        f"{raw.estimate:.2f}); one step at a tenth of the rate differs by {right:.1%} from the coarse one, at "
        f"the same rate by {same:.0%}",
        evidence={"ratio of widths": ratio, "step, rate over ten": right, "step, same rate": same},
    )


def two_kinds(runs: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of localised slow fields and of spread-out fast ones in each network (seed,)."""
    if "ipr" in runs:
        ipr, frequency = by_seed(runs, "ipr"), by_seed(runs, "mean_frequency")
    else:
        W = by_seed(runs, "W")
        ipr, frequency = fields.inverse_participation_ratio(W), fields.mean_frequency(W)
    slow, fast = (ipr > 0.15) & (frequency < networks.N / 8), (ipr < 0.15) & (frequency > networks.N / 4)
    return slow.sum(axis=1), fast.sum(axis=1)


def lo_09(runs: xr.Dataset | None = None, relu: xr.Dataset | None = None) -> Outcome:
    """Section 2, opening: the sigmoid gives oscillatory and localised fields in one network."""
    enough = 5
    runs = last(records.load("localization/balance")).sel(gain=3.0) if runs is None else runs
    relu = last(records.load("localization/program")).sel(gain=3.0, variant="relu") if relu is None else relu
    slow, fast = (student(count) for count in two_kinds(runs))
    other = [student(count) for count in two_kinds(relu)]
    return Outcome(
        verdict=claims.all_of(slow.exceeds(enough), fast.exceeds(enough)),
        answer={
            "reproduced": "Yes: one erf network has localised and oscillating fields; a ReLU network without biases "
            "has only the localised kind of the two.",
            "otherwise": "No: one of the two kinds of fields is missing.",
        },
        finding=f"erf at g = 3: {slow:.1f} localised slow and {fast:.1f} spread-out fast fields of 40; ReLU without "
        f"biases: {other[0].estimate:.0f} and {other[1].estimate:.0f}",
        evidence={"localised slow fields": slow, "spread-out fast fields": fast},
    )


def apart(b: np.ndarray, frequency: np.ndarray) -> tuple[float, float]:
    """Shares of the neurons of a network with a bias beyond half the median, and on the side of n/4 of their sign."""
    of = populations.population(b)
    right = np.where(of < 0, frequency < networks.N / 4, frequency > networks.N / 4) & (of != 0)
    return float(np.mean(np.abs(b) > np.median(np.abs(b)) / 2)), float(np.mean(right))


def dealt_anew(b: np.ndarray, frequency: np.ndarray, repeats: int = 200) -> float:
    """Mean share on the right side when biases and fields of one network are paired at random."""
    rng = stats.stream("localization", "dealt anew")
    return float(np.mean([apart(rng.permutation(b), frequency)[1] for _ in range(repeats)]))


def lo_10(runs: xr.Dataset | None = None) -> Outcome:
    """Section 2, frequency specialisation: slow fields with negative biases, fast ones with positive biases."""
    most = 0.95
    runs = last(records.load("localization/balance")) if runs is None else runs
    found, null = {}, []
    for gain in GAINS:
        one = runs.sel(gain=gain)
        pairs = list(zip(by_seed(one, "b"), fields.mean_frequency(by_seed(one, "W")), strict=True))
        found[gain] = [student(values) for values in zip(*(apart(*pair) for pair in pairs), strict=True)]
        null += [dealt_anew(*pair) for pair in pairs]
    every = [share for pair in found.values() for share in pair]
    return Outcome(
        verdict=claims.all_of(*(share.exceeds(most) for share in every)),
        answer={
            "reproduced": "Yes: neurons with negative biases have slow fields, those with positive biases fast ones.",
            "otherwise": "No: the sign of the bias does not tell slow fields from fast ones.",
        },
        finding=f"over {runs.sizes['seed']} networks at each gain the share of neurons away from bias 0 is "
        f"{spans([pair[0] for pair in found.values()])}, and on the side of n/4 that belongs to the sign of their bias "
        f"{spans([pair[1] for pair in found.values()], '.3f')} ({np.mean(null):.1f} if biases and fields are paired at "
        "random)",
        evidence={f"on the right side of n/4, g = {gain:g}": pair[1] for gain, pair in found.items()},
    )


def lo_11(runs: xr.Dataset | None = None) -> Outcome:
    """Section 2: the populations are roughly equal in size."""
    low, high = 1 / 3, 2 / 3
    runs = last(records.load("localization/balance")) if runs is None else runs
    share = {gain: shares(runs.sel(gain=gain)) for gain in GAINS}
    mean = {gain: student(values) for gain, values in share.items()}
    equal = {gain: mean[gain].contains(0.5) for gain in GAINS}
    return Outcome(
        verdict=claims.all_of(*(claims.within(one, low, high) for one in mean.values())),
        answer={
            "reproduced": "Yes, roughly: four of ten neurons are positive; exactly equal the sizes are not."
            if not any(equal.values())
            else "Yes, roughly: between a third and two thirds of the neurons are positive.",
            "otherwise": "No: one population has more than twice the neurons of the other.",
        },
        finding="share of positive biases in ten networks: "
        + "; ".join(
            f"{mean[g]:.3f} at g = {g:g} ({share[g].min():.2f} to {share[g].max():.2f}), one half "
            f"{'not ' if equal[g] else ''}excluded"
            for g in GAINS
        ),
        evidence={f"share, g = {gain:g}": one for gain, one in mean.items()},
    )


@cache
def common_biases() -> xr.Dataset:
    """Spread of the biases of ten standard networks, and what common biases change (gain, seed)."""
    runs = last(records.load("localization/balance"))
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


def lo_14(measured: xr.Dataset | None = None) -> Outcome:
    """Equation (3): one bias for each population."""
    spread, moved, changed = 0.1, 0.1, 0.01
    measured = common_biases() if measured is None else measured
    of = {
        name: [student(by_seed(measured.sel(gain=gain), name)) for gain in GAINS]
        for name in (*SIGNS.values(), "moved", "changed")
    }
    spreads = [one for name in SIGNS.values() for one in of[name]]
    widest = max(spreads, key=lambda one: one.estimate)
    return Outcome(
        parts={
            "alike": claims.all_of(*(claims.below(one, spread) for one in spreads)),
            "exchangeable": claims.all_of(
                *(claims.below(one, moved) for one in of["moved"]),
                *(claims.below(one, changed) for one in of["changed"]),
            ),
        },
        answer={
            "reproduced": "Yes: the biases of a population differ by a few percent, and its mean may take their place.",
            "otherwise": "Not in full: the biases of a population differ, or their mean cannot replace them.",
        },
        finding=f"standard deviation of the biases over their mean {spans(spreads, '.3f')} by population and gain, at "
        f"most {widest:.3f}; with the mean in their place the output moves by {spans(of['moved'], '.3f')} of its "
        f"standard deviation and the accuracy by {max(one.estimate for one in of['changed']):.4f} at most",
        evidence={"widest spread": widest, "output moves": max(of["moved"], key=lambda one: one.estimate)},
    )


def way(runs: xr.Dataset, starts: dict[str, float]) -> np.ndarray:
    """How far of the way from the share at the start to the standard network's each network goes (start, seed)."""
    free = shares(runs.sel(network="free"))
    return np.array([(shares(runs.sel(network=name)) - begun) / (free - begun) for name, begun in starts.items()])


def excess(runs: xr.Dataset) -> dict[str, Interval]:
    """Loss of each start of :data:`LEVELS` over that of the best of them, minus one."""
    best = min(LEVELS, key=lambda name: by_seed(runs.sel(network=name), "loss").mean())
    low = by_seed(runs.sel(network=best), "loss")
    return {name: student(by_seed(runs.sel(network=name), "loss") / low - 1) for name in LEVELS}


def lo_15(runs: xr.Dataset | None = None) -> Outcome:
    """Section 2: the balance is arbitrary; Section 1: descent is not guaranteed to minimise the loss."""
    half, above, agree = 0.5, 0.05, 0.02
    runs = last(records.load("localization/arrangements")).sel(gain=3.0) if runs is None else runs
    ways = {name: student(way(runs, starts).mean(axis=0)) for name, starts in
            (("extreme", EXTREME), ("moderate", MODERATE))}  # fmt: skip
    over = excess(runs)
    worse = claims.any_of(*(one.exceeds(above) for one in over.values()))
    alike = claims.all_of(*(claims.below(one, agree) for one in over.values()))
    ends = {name: shares(runs.sel(network=name)).mean() for name in MODERATE}
    return Outcome(
        parts={
            "extreme starts": claims.below(ways["extreme"], half),
            "moderate starts": claims.below(ways["moderate"], half),
            "optimiser": True if worse else False if alike else "undecided",
        },
        answer={
            "partly": "Extreme shares are pulled back, moderate ones nearly stay; and descent does not minimise the "
            "loss.",
            "reproduced": "Yes: any share of positive biases stays as it begins, and starts end at different losses.",
            "contradicted": "No: every share returns to the standard one, and all starts end at one loss.",
            "otherwise": "Open: the runs do not decide whether shares are kept.",
        },
        finding="of the way to the standard share, extreme starts (shares of 0 to 0.1 and 0.9 to 1) go "
        f"{ways['extreme']} and moderate ones (0.25 and 0.75, which end at "
        + " and ".join(f"{value:.2f}" for value in ends.values())
        + f") {ways['moderate']}; loss above the best start: "
        + ", ".join(
            f"{'0' if name == 'free' else name[9:]} {one.estimate:.1%}" for name, one in over.items()
        )
        + f" for biases that begin at these values, the worst {max(over.values(), key=lambda one: one.estimate):.1%}",
        evidence={f"way, {name} starts": one for name, one in ways.items()} | {"worst start": max(
            over.values(), key=lambda one: one.estimate)},
    )  # fmt: skip


def against(runs: xr.Dataset, name: str, gain: float) -> dict[str, Interval]:
    """An arrangement against the standard network: loss ratio, accuracies lost at 0 and refitted, accuracy kept.

    "kept" is accuracy beyond chance minus nine tenths of the standard network's.
    """
    one, free = (runs.sel(gain=gain, network=which) for which in (name, "free"))
    value = {key: (by_seed(one, key), by_seed(free, key)) for key in ("loss", "accuracy", "accuracy_refitted")}
    here, full = value["accuracy"]
    return {
        "loss": student(np.divide(*value["loss"])),
        "lost": student(full - here),
        "lost refitted": student(value["accuracy_refitted"][1] - value["accuracy_refitted"][0]),
        "kept": student((here - 0.5) - 0.9 * (full - 0.5)),
        "accuracy": student(here),
        "refitted": student(value["accuracy_refitted"][0]),
    }


def lo_16(runs: xr.Dataset | None = None) -> Outcome:
    """Section 2: either population could solve the task on its own."""
    dear = 1.1
    runs = last(records.load("localization/arrangements")) if runs is None else runs
    found = {name: [against(runs, network, gain) for gain in GAINS] for name, network in ALONE.items()}
    parts = {
        name: claims.all_of(*(claims.all_of(one["kept"].exceeds(0), claims.below(one["loss"], dear)) for one in both))
        for name, both in found.items()
    }
    losses = {name: " and ".join(f"{one['loss'].estimate:.2f}" for one in both) for name, both in found.items()}
    right = {name: " and ".join(f"{one['accuracy'].estimate:.2f}" for one in both) for name, both in found.items()}
    return Outcome(
        parts=parts,
        answer={
            "partly": "Half: fast neurons alone can, given a constant in the output; slow or localised ones cannot.",
            "reproduced": "Yes: each population alone does as well as both.",
            "contradicted": "No: neither population alone does as well as both.",
            "otherwise": "Open: the runs do not decide it.",
        },
        finding="loss over that of the standard network, with the accuracy at threshold 0 in brackets, at g = 0.01 and "
        "g = 3: "
        + "; ".join(
            f"{name.replace(', ', ' with ').replace('with none', 'without')} {losses[name]} ({right[name]})"
            for name in ALONE
        )
        + "; standard 1 ("
        + " and ".join(f"{by_seed(runs.sel(gain=g, network='free'), 'accuracy').mean():.2f}" for g in GAINS)
        + ")",
        evidence={
            f"loss, {name}, g = {gain:g}": one["loss"]
            for name, both in found.items() for gain, one in zip(GAINS, both, strict=True)
        },
    )  # fmt: skip


def _signed(lost: Interval) -> str:
    """A loss of accuracy as a difference, rounded."""
    return f"{0 - round(lost.estimate, 2):+.2f}"


def as_good(one: dict[str, Interval], lost: str = "lost") -> bool | None:
    """Whether an arrangement has a loss of at most 1.05 of the standard one's and an accuracy at most 0.02 below."""
    return claims.all_of(claims.below(one["loss"], 1.05), claims.below(one[lost], 0.02))


def lo_17(runs: xr.Dataset | None = None) -> Outcome:
    """Section 2: balancing is not required."""
    runs = last(records.load("localization/arrangements")) if runs is None else runs
    found = {
        (name, gain): against(runs, name, gain)
        for name in ("clamped 4", "clamped 36", "begun 10", "begun 30") for gain in GAINS
    }  # fmt: skip

    def both(*names: str) -> str:
        verdicts = {claims.verdict(as_good(found[name, gain])) for name, gain in itertools.product(names, GAINS)}
        return verdicts.pop() if len(verdicts) == 1 else "partly"

    held = {name: np.mean([stuck(runs, name, gain) for gain in GAINS]) for name in ("clamped 4", "clamped 36")}
    left = [shares(runs.sel(gain=gain, network="begun 30")).mean() * networks.WIDTH for gain in GAINS]
    many = [found["begun 30", gain] for gain in GAINS]
    return Outcome(
        parts={
            "clamped": both("clamped 4", "clamped 36"),
            "few positive": both("begun 10"),
            **{f"many positive, g = {gain:g}": as_good(found["begun 30", gain]) for gain in GAINS},
        },
        answer={
            "partly": "In part: too many fast neurons do no harm once the threshold is right; too few of them do.",
            "reproduced": "Yes: networks with unequal populations are as good as the standard one.",
            "contradicted": "No: networks with unequal populations are worse than the standard one.",
            "otherwise": "Open: the runs do not decide it.",
        },
        finding="loss over that of the standard network at g = 0.01 and g = 3: "
        + "; ".join(
            f"{label} {' and '.join(format(found[name, gain]['loss'].estimate, '.2f') for gain in GAINS)}"
            for label, name in (
                ("4 clamped to be positive", "clamped 4"), ("36 clamped", "clamped 36"),
                ("10 begun positive", "begun 10"),
                ("30 begun positive", "begun 30"),
            )
        )
        + f"; of the clamped ones {held['clamped 4']:.0f} and {held['clamped 36']:.0f} are stuck at zero; of the last "
        + " and ".join(f"{count:.0f}" for count in left)
        + " end positive, and their accuracy differs from the standard one's by "
        + " and ".join(f"{_signed(one['lost'])} at threshold 0 ({_signed(one['lost refitted'])} refitted)"
                       for one in many),
        evidence={f"loss, {name}, g = {gain:g}": one["loss"] for (name, gain), one in found.items()}
        | {f"accuracy lost, {name}, g = {gain:g}": one["lost"] for (name, gain), one in found.items()},
    )  # fmt: skip


def stuck(runs: xr.Dataset, name: str, gain: float) -> float:
    """Mean number of biases that are held at zero."""
    return float(populations.balance(by_seed(runs.sel(network=name, gain=gain), "b")).none.mean())


#: Rows of the comparison of LO-18: an arrangement, or a part cut out of the standard network.
ROWS = {
    "full": ("free", None), "positive cut out": (None, "plus"), "negative cut out": (None, "minus"),
    "positive trained, constant": ("plus only, offset", None),
    "negative trained, constant": ("minus only, offset", None),
    "positive trained": ("plus only", None), "negative trained": ("minus only", None),
}  # fmt: skip


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


def lo_18(runs: xr.Dataset | None = None) -> Outcome:
    """Section 2, TODO: whether oscillating neurons alone can do the task."""
    dear = 1.1
    runs = last(records.load("localization/arrangements")) if runs is None else runs
    readings = {
        "cut out": "positive cut out", "trained with a constant": "positive trained, constant",
        "trained without": "positive trained",
    }  # fmt: skip
    can = {}
    for label, name in readings.items():
        for gain in GAINS:
            accuracy, loss = (row_values(runs, measure, gain) for measure in ("accuracy_refitted", "loss"))
            kept = student((accuracy[name] - 0.5) - 0.9 * (accuracy["full"] - 0.5)).exceeds(0)
            cheap = claims.below(student(loss[name] / loss["full"]), dear)
            can[label, gain] = claims.all_of(kept, True if label == "cut out" else cheap)
    said = {True: "yes", False: "no", None: "open"}
    yes = all(can["trained with a constant", gain] for gain in GAINS)
    return Outcome(
        verdict="answered",
        answer="Yes, with a constant in the output: fast neurons alone are then better than both kinds together."
        if yes
        else "Not fully: fast neurons alone do not keep the accuracy and the loss of both kinds.",
        finding="positive neurons alone keep nine tenths of the accuracy at a refitted threshold, and if trained alone "
        "a loss of at most 1.1 times the full one, at g = 0.01 and g = 3: "
        + "; ".join(f"{label} {', '.join(said[can[label, gain]] for gain in GAINS)}" for label in readings)
        + f"; area under the ROC curve at g = 3: {ordered(row_values(runs, 'area', 3.0))}",
        evidence={f"{label}, g = {gain:g}": said[value] for (label, gain), value in can.items()},
    )


VARIANTS = {
    "start": "start cut at two deviations", "counts": "class by a coin", "rate 10": "rate 10", "rate 40": "rate 40",
}  # fmt: skip
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
