r"""Rules on one population alone and on networks out of balance: LO-16 to LO-18.

A population that has a constant in its output is compared with a full network that learns one too; one without, with
the standard network.  All networks of a seed have its initial weights, batches and test points, so that differences and
ratios are paired.
"""

from __future__ import annotations

import itertools

import numpy as np
import xarray as xr

from experiments.localization import networks
from experiments.localization.populations import cells as populations
from experiments.localization.populations.rules import ARRANGED, GAINS, OUTPUTS, by_seed, last, shares, student
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.stats import Interval

#: One population alone: with a trained constant, in the record of outputs, or with none, in that of arrangements.
ALONE = {
    "positive, constant": "plus",
    "negative, constant": "minus",
    "positive, none": "plus only",
    "negative, none": "minus only",
}


def compared(runs: xr.Dataset, outputs: xr.Dataset, name: str, gain: float) -> tuple[xr.Dataset, xr.Dataset]:
    """The runs of an entry of :data:`ALONE`, or of any output or arrangement, and of the full network beside it."""
    if name in outputs.output.values:
        return outputs.sel(gain=gain, output=name), outputs.sel(gain=gain, output="constant")
    return runs.sel(gain=gain, network=name), runs.sel(gain=gain, network="free")


def against(one: xr.Dataset, full: xr.Dataset) -> dict[str, Interval]:
    """Networks against full ones: loss ratio, accuracies, and what they lose, at 0 and refitted."""
    loss, here, refitted = (by_seed(one, key) for key in ("loss", "accuracy", "accuracy_refitted"))
    return {
        "loss": student(loss / by_seed(full, "loss")),
        "lost": student(by_seed(full, "accuracy") - here),
        "lost refitted": student(by_seed(full, "accuracy_refitted") - refitted),
        "accuracy": student(here),
        "refitted": student(refitted),
    }


def keeps(accuracy: np.ndarray, full: np.ndarray, share: float) -> bool | None:
    """Whether networks (seed,) keep more than a share of an accuracy beyond chance."""
    return student((accuracy - 0.5) - share * (full - 0.5)).exceeds(0)


@decides(runs=ARRANGED, outputs=OUTPUTS)
def lo_16(runs, outputs, *, kept, dear):
    """Section 2: either population could solve the task on its own."""
    runs, outputs, solves, loss, means = last(runs), last(outputs), {}, {}, {}
    for name, network in ALONE.items():
        pairs = [compared(runs, outputs, network, gain) for gain in GAINS]
        found = [against(*pair) for pair in pairs]
        same = (keeps(*(by_seed(each, "accuracy") for each in pair), kept) for pair in pairs)
        solves[name] = claims.all_of(*same, *(claims.below(one["loss"], dear) for one in found))
        loss[name] = {f"g = {gain:g}": one["loss"] for gain, one in zip(GAINS, found, strict=True)}
        means[name] = {key: [one[key].estimate for one in found] for key in ("loss", "accuracy")}
    few = [against(*compared(runs, outputs, "plus, 17", gain)) for gain in GAINS]
    full = {
        name: [by_seed(compared(runs, outputs, network, gain)[1], "accuracy").mean() for gain in GAINS]
        for name, network in (("standard", "free"), ("constant", "plus"))
    }
    return Found(
        solves,
        {"loss": loss, "mean": means, "full": full}
        | {"seventeen": {key: [one[key].estimate for one in few] for key in ("loss", "accuracy")}},
    )


@decides(runs=ARRANGED)
def lo_17(runs, *, dear, lost):
    """Section 2: balancing is not required."""
    runs, names = last(runs), ("clamped 4", "clamped 36", "begun 10", "begun 30")
    found = {
        name: {
            f"g = {gain:g}": against(*(runs.sel(gain=gain, network=one) for one in (name, "free"))) for gain in GAINS
        }
        for name in names
    }
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


#: Rows of the comparison of LO-18: an arrangement, or a part cut out of the standard network.  With outputs the
#: constants are trained, and the full network has one, too.
ROWS = {
    "full": ("free", None),
    "positive cut out": (None, "plus"),
    "negative cut out": (None, "minus"),
    "positive trained, constant": ("plus only, offset", None),
    "negative trained, constant": ("minus only, offset", None),
    "positive trained": ("plus only", None),
    "negative trained": ("minus only", None),
}


#: The rows of :func:`row_values` with a trained constant.
TRAINED = {
    "full, constant": "constant",
    "positive trained, constant": "plus",
    "17 positive, constant": "plus, 17",
    "negative trained, constant": "minus",
}


def row_values(runs: xr.Dataset, measure: str, gain: float, outputs: xr.Dataset | None = None) -> dict[str, np.ndarray]:
    """A measure of every row (seed,); the loss of a part that is cut out has its constant refitted."""
    there, cut = runs.sel(gain=gain), "pruned_loss_refitted" if measure == "loss" else f"pruned_{measure}"
    values = {
        name: by_seed(there.sel(network=network), measure) if part is None else by_seed(there.sel(part=part), cut)
        for name, (network, part) in ROWS.items()
    }
    if outputs is None:
        return values
    common = outputs.sel(gain=gain, seed=runs.seed)
    values |= {name: by_seed(common.sel(output=output), measure) for name, output in TRAINED.items()}
    return {name: values[name] for name in [*TRAINED, *values]}  # those with a constant first, no name twice


def ordered(values: dict[str, np.ndarray], lowest: bool = False) -> str:
    """Names from best to worst; '>' where neighbours differ by Student's interval of paired networks, else '='."""
    sign = -1 if lowest else 1
    names = sorted(values, key=lambda name: -sign * values[name].mean())
    ahead = [student(sign * (values[a] - values[b])).exceeds(0) for a, b in itertools.pairwise(names)]
    return " ".join(
        [names[0], *(f"{'>' if more else '='} {name}" for more, name in zip(ahead, names[1:], strict=True))]
    )


@decides(runs=ARRANGED, outputs=OUTPUTS)
def lo_18(runs, outputs, *, kept, dear):
    """Section 2, TODO: whether oscillating neurons alone can do the task."""
    runs, outputs = last(runs), last(outputs)
    can = {"cut out": {}, "trained with a constant": {}, "trained without": {}}
    for gain in GAINS:
        accuracy, loss = (row_values(runs, measure, gain) for measure in ("accuracy_refitted", "loss"))
        can["cut out"][f"g = {gain:g}"] = keeps(accuracy["positive cut out"], accuracy["full"], kept)
        for label, name in (("trained with a constant", "plus"), ("trained without", "plus only")):
            one, full = compared(runs, outputs, name, gain)
            cheap = claims.below(against(one, full)["loss"], dear)
            same = keeps(by_seed(one, "accuracy_refitted"), by_seed(full, "accuracy_refitted"), kept)
            can[label][f"g = {gain:g}"] = claims.all_of(same, cheap)
    areas = row_values(runs, "area", 3.0, outputs)
    return Found("answered", can | {"order of the areas, g = 3": ordered(areas)})
