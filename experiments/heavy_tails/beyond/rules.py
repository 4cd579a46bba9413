"""Rules on deep networks and on the open questions (Kothapalli et al. 2024, Section 5.3, Appendices F.6 and H).

A tail is *heavy* if without the largest hundredth of the eigenvalues, which may be spikes, the mean excess rises more
over the top per cents than that of an exponential law (:func:`tops.rise`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import xarray as xr

from experiments.heavy_tails import readings_of_sweeps, shapes
from experiments.heavy_tails.beyond import deep_nets, open_questions, steering
from experiments.heavy_tails.readings import gains
from experiments.heavy_tails.readings.cells import exponents
from experiments.heavy_tails.route import cells as training_spectra
from experiments.heavy_tails.teacher_student import FEATURES, RATES
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.spectra import tails, tops
from shallow.stats import Interval

SPIKES = 0.01  # share of the eigenvalues that is left out
EXPONENTIAL = tops.exponential_rise(SPIKES)
VGG, VGG_LAYERS = "heavy_tails/beyond/deep_vgg11", (2, 4, 7)  # the layers of Figures 33 to 37
RESNETS = ("heavy_tails/beyond/deep_resnet18", "heavy_tails/beyond/deep_resnet18_again")
RESNET_LAYERS = (5, 8, 10)
LEAST = 50  # eigenvalues, for a twentieth of them to mean something


# Deep networks.


def heavy(found: xr.Dataset, data: str, layer: int, flattening: str) -> bool | None:
    """Whether a layer has a heavy tail after the steps and had none before, in all draws; None for a tiny layer."""

    def above(seed: int, t: int) -> bool | None:
        values = deep_nets.eigenvalues(found, seed=seed, t=t, data=data, layer=layer, flattening=flattening)
        name = f"{seed}/{t}/{data}/{layer}/{flattening}"
        return (
            None if len(values) < LEAST else tops.rise_interval(values, name=name, without=SPIKES).exceeds(EXPONENTIAL)
        )

    seeds = found.seed.values
    return claims.all_of(*(above(seed, 10) for seed in seeds), *(claims.opposite(above(seed, 0)) for seed in seeds))


def flags(found: xr.Dataset, data: str, layers: Sequence[int]) -> dict[str, bool | None]:
    """Whether some layers are heavy, in both readings of a kernel as a matrix."""
    return {f"{data} {k} {f}": heavy(found, data, k, f) for k in layers for f in found.flattening.values}


def all_heavy(flagged: Mapping[str, bool | None]) -> str:
    """The verdict on some layers."""
    return claims.combine({name: claims.verdict(flag) for name, flag in flagged.items()})


def counts(flagged: Mapping[str, bool | None]) -> dict[str, int]:
    """How many of some layers are heavy for certain, and of how many."""
    return {"sure": list(flagged.values()).count(True), "cases": len(flagged)}


def of_layers(found: xr.Dataset, measure: Callable[[np.ndarray], float]) -> xr.DataArray:
    """A number of every spectrum of what :func:`deep_nets.image_network` returns, over its dimensions but k."""

    def of(singular: np.ndarray) -> float:
        return measure(singular[np.isfinite(singular)] ** 2)

    return xr.apply_ufunc(of, found.singular_values, input_core_dims=[["k"]], vectorize=True)


def hill_at(share: float) -> Callable[[np.ndarray], float]:
    """Hill's exponent from the given share of the largest of some values."""
    return lambda values: float(tails.hill_path(values).alpha[max(round(share * len(values)), 2) - 2])


MEASURES: dict[str, Callable[[np.ndarray], float]] = {
    "rise": partial(tops.rise, without=SPIKES),
    "stretch": tops.stretch,
    "stretch, 5 % left out": lambda values: float(tops.stretch(tops.without_top(values, 0.05))),
    "exponent, top 2 %": hill_at(0.02),
    "exponent, top 5 %": hill_at(0.05),
    "exponent, top 10 %": hill_at(0.10),
}


def ends(values: xr.DataArray) -> list[float]:
    """Smallest and largest of some values."""
    return [float(values.min()), float(values.max())]


def layer_numbers(found: xr.Dataset, data: str, layers: Sequence[int]) -> dict[str, list[float]]:
    """Ends of some layers' numbers after the steps, over both readings and all draws, and of the rise before them.

    "exponent, same norms" is that of a Gaussian matrix with the norms of the rows and columns, kernels joined.
    """
    found = found.sel(data=[data], layer=list(layers))
    changed = deep_nets.changes(found)
    measured = {name: ends(of_layers(found.sel(t=10), measure)) for name, measure in MEASURES.items()}
    return measured | {
        "before": ends(of_layers(found.sel(t=0), MEASURES["rise"])),
        "exponent": ends(changed.hill.sel(t=10, flattening="joined")),
        "exponent, same norms": ends(found.null_hill.sel(null="same norms")),
        "fall": ends(changed.fall),
        "distance": ends(changed.distance),
    }


LAWS = {"exponential": EXPONENTIAL, "stretch, exponential": tops.exponential_stretch()}


@decides(runs=VGG)
def ht_26(runs):
    """Figures 6, 33, 34: layers 2, 4 and 7 of VGG11 are heavy-tailed after ten full-batch steps of Adam."""
    data = {"a": "cifar10", "b": "mnist"}
    seen = {part: flags(runs, name, VGG_LAYERS) for part, name in data.items()}
    return Found(
        {part: all_heavy(each) for part, each in seen.items()},
        {part: layer_numbers(runs, name, VGG_LAYERS) for part, name in data.items()}
        | counts(seen["a"] | seen["b"])
        | LAWS
        | {"draws": runs.sizes["seed"]},
    )


@decides(runs=RESNETS)
def ht_27(runs):
    """Figures 6, 36: layers 5, 8 and 10 of ResNet18 are heavy-tailed after ten full-batch steps of Adam."""
    both = xr.concat([one.sel(data=["cifar10"]) for one in runs], "seed")
    seen = flags(both, "cifar10", RESNET_LAYERS)
    return Found(
        {"a": all_heavy(seen)},
        {"a": layer_numbers(both, "cifar10", RESNET_LAYERS), **counts(seen), **LAWS, "draws": both.sizes["seed"]},
    )


@decides(runs=VGG)
def ht_28(runs, *, left, share):
    """Section 5.3: in practical networks heavy tails need neither mini-batches nor convergence."""
    runs = runs.sel(data=["cifar10", "mnist"])
    convolutions = [int(layer) for layer in runs.layer.values[:-1]]
    loss = (runs.loss.sel(step=10) / runs.loss.sel(step=0)).stack(run=("seed", "data"))
    ratio = stats.student(loss.values)
    found = {data: [claims.all_of(*flags(runs, data, [k]).values()) for k in convolutions] for data in runs.data.values}
    sure = {str(data): each.count(True) for data, each in found.items()}
    enough = all(count >= share * len(convolutions) for count in sure.values())
    return Found(
        claims.all_of(ratio.exceeds(left), enough),
        {
            "loss left": ratio,
            "accuracy": ends(100 * runs.accuracy),
            "heavy": sure,
            "convolutions": len(convolutions),
        },
    )


# Open questions.


@decides(runs="heavy_tails/beyond/equivalent_features")
def ht_75(runs, *, close):
    """Appendix H: is the test loss after one step that of Gaussian features with the same linear part?"""
    losses = runs.loss.sel(rule="Adam code", drop=True)
    off = losses.sel(model="linear") / losses.sel(model="true") - 1
    found = {
        (f, sample, rate): stats.student(off.sel(features=f, rate=rate, sample=sample).values)
        for f in FEATURES
        for rate in (0.001, 0.01, 0.1, 1.0, 10.0)
        for sample in ("train", "test")
    }
    near = {
        f: [claims.within(one, -close, close) for (g, _, rate), one in found.items() if g == f and rate <= 0.01]
        for f in FEATURES
    }
    return Found(
        "answered",
        {f"{f}, {sample}, rate {rate:g}": one for (f, sample, rate), one in found.items()}
        | {f"close up to rate 0.01, {f}": claims.all_of(*flags) for f, flags in near.items()},
    )


def relative(logs: xr.DataArray) -> Interval:
    """A mean of logarithms of ratios over the draws as a relative change."""
    one = stats.student(logs.values)
    return Interval(*(float(np.expm1(end)) for end in (one.estimate, one.low, one.high)))


def effects(runs: xr.Dataset, features: str, sample: str = "wide") -> dict[str, Interval]:
    """How much the test loss changes if spectrum, vectors or size alone is the trained one instead of that of noise.

    Each a geometric mean over the four settings of the other two, relative, over the draws.
    """
    logs, found = np.log(runs.loss.sel(features=features, sample=sample)), {}
    factors = {"spectrum": open_questions.SPECTRA, "vectors": open_questions.VECTORS, "size": open_questions.SIZES}
    for factor, (trained, other) in factors.items():
        change = logs.sel({factor: trained}) - logs.sel({factor: other})
        found[factor] = relative(change.mean([dim for dim in change.dims if dim != "seed"]))
    return found


@decides(runs="heavy_tails/beyond/dissected", tuned=tuple(gains.TUNED.values()), bulk=gains.BULK)
def ht_76(runs, tuned, bulk):
    """Appendix H: is a heavy-tailed spectrum needed for the test loss?"""
    tuned = dict(zip(gains.TUNED, tuned))
    found = {
        (n, run, features, what): gains.effect(one, run, what, features)
        for n, one in tuned.items()
        for run in map(str, one.run.values)
        if run != gains.UNTRAINED
        for features in FEATURES
        for what in gains.EFFECTS
    }
    spectra = {f: [one for (_, _, g, what), one in found.items() if (g, what) == (f, "spectrum")] for f in FEATURES}
    many, best = tuned[8000], {f: gains.best_run(tuned[8000], f) for f in FEATURES}
    return Found(
        "answered",
        {f"{n}, {run}, {f}, {what}": one for (n, run, f, what), one in found.items()}
        | {f"spectrum lowers, {f}": sum(one.below(0) for one in some) for f, some in spectra.items()}
        | {f"spectrum costs, {f}": sum(one.above(0) for one in some) for f, some in spectra.items()}
        | {"runs": len(spectra["code"])}
        | {f"best run, {f}": run for f, run in best.items()}
        | {f"exponent of the best run, {f}": stats.student(many.hill.sel(run=run).values) for f, run in best.items()}
        | {f"bulk, {run}, {f}": gains.of_bulk(bulk, run, f) for run in map(str, bulk.run.values) for f in FEATURES}
        | {f"fixed ridge, {f}": effects(runs.sel(rate=1.0), f) for f in FEATURES}
        | {"draws": [one.sizes["seed"] for one in tuned.values()]},
    )


def outliers(runs: xr.Dataset) -> xr.DataArray:
    """Eigenvalues beyond the edge of the fitted law of noise after one step (teacher, rate, seed)."""

    def count(values: np.ndarray) -> float:
        return training_spectra.outliers(values, 1500, 1000)

    return xr.apply_ufunc(count, runs.eigenvalues.sel(step=1), input_core_dims=[["k"]], vectorize=True)


def indices() -> dict[str, int]:
    """Directions of each teacher."""
    return {name: setting.get("indices", 1) for name, setting in open_questions.TEACHERS.items()}


@decides(runs="heavy_tails/beyond/many_directions")
def ht_78(runs):
    """Appendix H: does a teacher with k directions make k spikes, and a heavier tail later?"""
    count, hill = outliers(runs), exponents(runs.eigenvalues.sel(step=10), tails.hill)
    several = {name: k for name, k in indices().items() if k > 1}
    right, change = {}, {}
    for rate in (0.1, 1.0):
        flags = [count.sel(teacher=teacher, rate=rate).values == k for teacher, k in several.items()]
        more, one = (hill.sel(teacher=teacher, rate=rate).values for teacher in ("sum of four", "one"))
        right[f"rate {rate:g}"], change[f"rate {rate:g}"] = stats.share(np.array(flags)), stats.student(more - one)
    return Found(
        "answered",
        {
            "right count": right,
            "change of the exponent": change,
            "one for every teacher, rate 0.1": bool((count.sel(rate=0.1) == 1).all()),
            "exponent of noise": shapes.noise_hill(1500, 1000),
        },
    )


POINTS = (2000, 8000)


def against_fixed(steered: xr.Dataset, fixed: xr.Dataset, n: int, features: str) -> tuple[float, Interval]:
    """The fixed rate with the least mean test loss, and how much the steered loss is above it, over the draws."""
    grid = readings_of_sweeps.reading(fixed, "Adam code", features).test.sel(seed=steered.seed, rate=list(RATES))
    best = float(grid.mean("seed").idxmin("rate"))
    ratio = steered.test.sel(n=n, features=features) / grid.sel(rate=best)
    return best, stats.student(ratio.values.ravel() - 1)


def at_equal_loss(plain: xr.Dataset, pulled: xr.Dataset, features: str) -> Interval:
    """Change of the test loss by a penalty where the first stage has the same loss, over the draws."""
    pairs = [
        steering.compared(plain.sel(seed=seed), pulled.sel(seed=seed)).sel(features=features).values
        for seed in pulled.seed.values
    ]
    return stats.student(np.array([with_it / without - 1 for without, with_it in pairs]))


@decides(
    steered="heavy_tails/beyond/controlled",
    fixed=tuple(f"heavy_tails/ten_steps_{n}" for n in POINTS),
    pulled="heavy_tails/beyond/penalty",
    beside="heavy_tails/beyond/penalty_beside",
)
def ht_79(steered, fixed, pulled, beside):
    """Appendix H: does it help to steer the rate by the exponent, or to penalise the exponent?"""
    plain = beside.sel(strength=0)
    last = {target: pulled.hill.isel(step=-1).sel(target=target) for target in steering.TARGETS}
    return Found(
        {"a": "answered", "b": "answered"},
        {
            f"steered, n = {n}, {f}": against_fixed(steered, one, n, f)[1]
            for n, one in zip(POINTS, fixed)
            for f in FEATURES
        }
        | {
            f"target {target:g}, {f}": at_equal_loss(plain, pulled.sel(target=target), f)
            for target in steering.TARGETS
            for f in FEATURES
        }
        | {"targets missed by": max(float(abs(hill - target).max()) for target, hill in last.items())},
    )
