"""Rules on deep networks and on the open questions (Kothapalli et al. 2024, Section 5.3, Appendices F.6 and H).

A tail is *heavy* if it is heavier than exponential, by :func:`estimators.tail_weight`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from experiments.heavy_tails import (
    deep_nets,
    estimators,
    open_questions,
    shapes,
    steering,
    sweep_rules,
    training_spectra,
)
from experiments.heavy_tails.teacher_student import FEATURES, RATES
from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.spectra import tails
from shallow.stats import Interval

EXPONENTIAL = estimators.exponential_weight()
VGG_LAYERS, RESNET_LAYERS = (2, 4, 7), (5, 8, 10)  # of Figures 33 to 37
LEAST = 50  # eigenvalues, for a largest hundredth to mean something
GUESS = "the setup beyond the learning rate and the steps is our guess, and SVHN is not at hand"


# Deep networks.


def resnets() -> xr.Dataset:
    """The recorded runs of ResNet18 on CIFAR-10, two draws."""
    parts = [records.load(f"heavy_tails/{name}") for name in ("deep_resnet18", "deep_resnet18_again")]
    return xr.concat([part.sel(data=["cifar10"]) for part in parts], "seed")


def weight(found: xr.Dataset, **point) -> Interval:
    """Tail weight of one spectrum, with an interval from resampling its eigenvalues."""
    values = deep_nets.eigenvalues(found, **point)
    return resampled_weight(values, name="/".join(map(str, point.values())))


def resampled_weight(values: np.ndarray, *, name: str, resamples: int = 2000) -> Interval:
    r"""Tail weight of values with its bootstrap interval.

    Of a resample only three order statistics count, and these are drawn directly: its k-th value is that of rank
    $\lceil N U_{(k)} \rceil$, with the order statistics $U_{(k)}$ of N uniform numbers as ratios of sums of Gamma ones.
    """
    ordered, count = np.sort(values), len(values)
    ranks = np.round(np.array([0.5, 0.75, 0.99]) * (count - 1)).astype(int) + 1
    steps = np.diff([0, *ranks, count + 1])
    sums = stats.stream("tail weight", name).gamma(steps, size=(resamples, 4)).cumsum(axis=1)
    middle, quarter, far = ordered[(sums[:, :3] / sums[:, 3:] * count).astype(int)].T
    drawn = (far - middle) / np.maximum(quarter - middle, np.finfo(float).tiny)
    return Interval.from_draws(float(estimators.tail_weight(values)), drawn)


def heavy(found: xr.Dataset, data: str, layer: int, flattening: str) -> bool | None:
    """Whether a layer has a heavy tail after the steps and had none before, in all draws; None for a tiny layer."""
    point = {"data": data, "layer": layer, "flattening": flattening}
    if len(deep_nets.eigenvalues(found, seed=found.seed.values[0], t=0, **point)) < LEAST:
        return None
    after = [weight(found, seed=seed, t=10, **point).exceeds(EXPONENTIAL) for seed in found.seed.values]
    before = [weight(found, seed=seed, t=0, **point).exceeds(EXPONENTIAL) for seed in found.seed.values]
    return claims.all_of(*after, *map(claims.opposite, before))


def listed(found: xr.Dataset, data: str, layers: Sequence[int]) -> str:
    """The verdict on the listed layers in both readings of a kernel as a matrix."""
    flags = {f"{k} {f}": heavy(found, data, k, f) for k in layers for f in found.flattening.values}
    return claims.combine({name: claims.verdict(flag) for name, flag in flags.items()})


def spans(values: xr.DataArray, spec: str) -> str:
    """Smallest and largest of some values, as one range."""
    ends = [format(float(end), spec) for end in (values.min(), values.max())]
    return " to ".join(dict.fromkeys(ends))


def layer_numbers(found: xr.Dataset, data: str, layers: Sequence[int]) -> str:
    """Tail weights, exponents and distances of the listed layers, over both readings and all draws, in words."""
    one = deep_nets.changes(found.sel(data=[data], layer=list(layers)))
    heavier = tail_weights(found.sel(data=[data], layer=list(layers)))
    far = tail_weights(found.sel(data=[data], layer=list(layers)), share=0.05)
    return (
        f"tail weights {spans(heavier.sel(t=0), '.1f')} before and {spans(heavier.sel(t=10), '.0f')} after "
        f"(exponential "
        f"law {EXPONENTIAL:.1f}), at the largest 5 % {spans(far.sel(t=10), '.1f')} "
        f"({estimators.exponential_weight(0.05):.1f}); PL_Alpha_Hill falls by {spans(one.fall, '.2f')}, the spectra of "
        f"start and end differ by {spans(one.distance, '.2f')}"
    )


def tail_weights(found: xr.Dataset, share: float = 0.01) -> xr.DataArray:
    """Tail weight of every spectrum of what :func:`deep_nets.image_network` returns, over its dimensions but k."""
    return xr.apply_ufunc(
        lambda s: estimators.tail_weight(s[np.isfinite(s)] ** 2, share),
        found.singular_values, input_core_dims=[["k"]], vectorize=True,
    )  # fmt: skip


def ht_26(runs: xr.Dataset | None = None) -> Outcome:
    """Figures 6, 33, 34: layers 2, 4 and 7 of VGG11 are heavy-tailed after ten full-batch steps of Adam."""
    runs = records.load("heavy_tails/deep_vgg11") if runs is None else runs
    data = {"a": "cifar10", "b": "mnist"}
    parts = {letter: listed(runs, name, VGG_LAYERS) for letter, name in data.items()}
    texts = [f"({letter}) {layer_numbers(runs, name, VGG_LAYERS)}" for letter, name in data.items()]
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: on both data sets that we have, all three layers have a tail far heavier than "
            "exponential "
            "after ten steps.",
            "contradicted": "No: none of the three layers has a tail heavier than exponential after ten steps.",
            "otherwise": "In part: some of the three layers have a tail heavier than exponential after ten steps.",
        },
        finding=f"{'; '.join(texts)}; {runs.sizes['seed']} draws, both readings of a kernel; {GUESS}",
    )


def ht_27(runs: xr.Dataset | None = None) -> Outcome:
    """Figures 6, 36: layers 5, 8 and 10 of ResNet18 are heavy-tailed after ten full-batch steps of Adam."""
    runs = resnets() if runs is None else runs
    return Outcome(
        parts={"a": listed(runs, "cifar10", RESNET_LAYERS)},
        answer={
            "reproduced": "Yes, on CIFAR-10: all three layers have a tail far heavier than exponential after ten "
            "steps.",
            "contradicted": "No: on CIFAR-10 none of the three layers has a tail heavier than exponential.",
            "otherwise": "In part: on CIFAR-10 some of the three layers have a tail heavier than exponential.",
        },
        finding=f"(a) {layer_numbers(runs, 'cifar10', RESNET_LAYERS)}; {runs.sizes['seed']} draws; {GUESS}",
    )


def ht_28(runs: xr.Dataset | None = None) -> Outcome:
    """Section 5.3: in practical networks heavy tails need neither mini-batches nor convergence."""
    left, share = 1 / 2, 1 / 2
    runs = records.load("heavy_tails/deep_vgg11").sel(data=["cifar10", "mnist"]) if runs is None else runs
    convolutions = [int(layer) for layer in runs.layer.values[:-1]]
    loss = (runs.loss.sel(step=10) / runs.loss.sel(step=0)).stack(run=("seed", "data"))
    ratio = stats.student(loss.values)
    flags = {
        (data, layer): claims.all_of(*(heavy(runs, data, layer, f) for f in runs.flattening.values))
        for data in runs.data.values
        for layer in convolutions
    }
    sure = {data: sum(flags[data, layer] is True for layer in convolutions) for data in runs.data.values}
    enough = all(count >= share * len(convolutions) for count in sure.values())
    holds = claims.all_of(ratio.exceeds(left), enough)
    counts = " and ".join(f"{count} of {len(convolutions)} on {data}" for data, count in sure.items())
    return Outcome(
        verdict=holds,
        answer={
            "reproduced": "Yes: full-batch Adam makes them in ten steps, while the loss is still about where it began.",
            "contradicted": "No: after ten full-batch steps most layers have none, or the loss is already low.",
            "otherwise": "These runs do not say: how far the loss has come is not settled.",
        },
        finding=f"after ten full-batch steps the training loss is {ratio} times its initial value (test accuracy "
        f"{spans(100 * runs.accuracy, '.0f')} %), and convolutions with a tail heavier than exponential in both "
        f"readings "
        f"of a kernel and all draws are {counts}",
        evidence={"loss left": ratio},
    )


# Open questions.


def of_change(ratio: xr.DataArray, name: str) -> Interval:
    """Mean relative change over the draws."""
    return stats.student(ratio.values.ravel() - 1)


def off_by(losses: xr.DataArray, model: str, reference: str = "true") -> Interval:
    """How far the losses (seed) of a surrogate are above the true ones, or another surrogate's: mean over the draws."""
    return stats.student((losses.sel(model=model) / losses.sel(model=reference) - 1).values)


def ht_75(losses: xr.DataArray | None = None) -> Outcome:
    """Appendix H: is the test loss after one step that of Gaussian features with the same linear part?"""
    close, small, large = 0.03, (0.001, 0.01), (0.1, 1.0, 10.0)
    if losses is None:
        losses = records.load("heavy_tails/equivalent_features").loss.sel(rule="Adam code", drop=True)
    found = {
        (f, rate, sample): off_by(losses.sel(features=f, rate=rate, sample=sample), "linear")
        for f in FEATURES
        for rate in (*small, *large)
        for sample in ("train", "test")
    }
    good = {
        f: [one.inside(-close, close) for (g, rate, _), one in found.items() if g == f and rate in small]
        for f in FEATURES
    }
    missed = {
        f: [one.low > close or one.high < -close for (g, rate, _), one in found.items() if g == f and rate in small]
        for f in FEATURES
    }
    outcome = {f: True if all(good[f]) else False if any(missed[f]) else None for f in FEATURES}
    code = {True: "With the program's features yes", False: "With the program's features no"}.get(
        outcome["code"], "With the program's features perhaps"
    )
    text = {True: "with the text's too", False: "with the text's no"}.get(
        outcome["text"], "with the text's the losses scatter too much to say"
    )
    shown = {
        f: ", ".join(
            f"{found[f, rate, 'train']:+.1%} and {found[f, rate, 'test']:+.1%} at {rate:g}" for rate in (0.01, *large)
        )
        for f in FEATURES
    }
    return Outcome(
        verdict="answered",
        answer=f"{code}; {text}.",
        finding="training and test loss of the Gaussian features against the true ones: with the features of the "
        "program "
        f"{shown['code']}; with those of the text {shown['text']}",
        evidence={f"{f}, {sample}, rate {rate:g}": one for (f, rate, sample), one in found.items()},
    )


def effects(runs: xr.Dataset, features: str, sample: str = "wide") -> dict[str, Interval]:
    """How much the test loss changes if spectrum, vectors or size alone is the trained one instead of that of noise.

    Each a geometric mean over the four settings of the other two, relative, over the draws.
    """
    logs = np.log(runs.loss.sel(features=features, sample=sample))
    found = {}
    for factor, (trained, other) in {
        "spectrum": open_questions.SPECTRA, "vectors": open_questions.VECTORS, "size": open_questions.SIZES
    }.items():  # fmt: skip
        change = logs.sel({factor: trained}) - logs.sel({factor: other})
        found[factor] = relative(change.mean([dim for dim in change.dims if dim != "seed"]))
    return found


def relative(logs: xr.DataArray) -> Interval:
    """A mean of logarithms of ratios over the draws as a relative change."""
    one = stats.student(logs.values)
    return Interval(*(float(np.expm1(end)) for end in (one.estimate, one.low, one.high)))


def against(runs: xr.Dataset, features: str, sample: str = "wide", **what: str) -> Interval:
    """Test loss of one student against the untrained one of the same draw."""
    logs = np.log(runs.loss.sel(features=features, sample=sample, **what))
    return relative(logs - np.log(runs.untrained.sel(features=features, sample=sample)))


TRAINED = {"spectrum": "trained", "vectors": "trained", "size": "trained"}


def ht_76(runs: xr.Dataset | None = None) -> Outcome:
    """Appendix H: is a heavy-tailed spectrum needed for the test loss?"""
    runs = records.load("heavy_tails/dissected").sel(rate=1.0) if runs is None else runs
    by = {features: effects(runs, features) for features in FEATURES}
    trained = {features: against(runs, features, **TRAINED) for features in FEATURES}
    flat = {features: against(runs, features, **(TRAINED | {"spectrum": "noise"})) for features in FEATURES}
    only = against(runs, "code", spectrum="noise", vectors="random", size="trained")
    better = by["code"]["spectrum"].below(0)
    bigger = by["code"]["size"].below(0)
    if bigger and not better:
        answer = (
            "No: with the program's features the larger size of the weights lowers the loss, in any spectrum; the tail "
            "itself gains nothing."
        )
    elif better:
        answer = "It helps: with the program's features the trained spectrum by itself lowers the test loss."
    else:
        answer = "No: neither the tail nor the size of the weights clearly lowers the test loss."
    texts = [
        f"features of the {name}: spectrum {one['spectrum']:+.1%}, vectors {one['vectors']:+.1%}, size "
        f"{one['size']:+.1%}; "
        f"the trained student is {trained[features]:+.1%} from the untrained one, with the spectrum of noise "
        f"{flat[features]:+.1%}"
        for features, name, one in ((f, {"code": "program", "text": "text"}[f], by[f]) for f in FEATURES)
    ]
    return Outcome(
        verdict="answered",
        answer=answer,
        finding=f"change of the test loss by each part of the trained weights alone, in {runs.sizes['seed']} draws: "
        f"{'; '.join(texts)}; a student with nothing of training but its size, features of the program: {only:+.1%}",
        evidence={f"{features}, {what}": one for features, found in by.items() for what, one in found.items()},
    )


def outliers(runs: xr.Dataset) -> xr.DataArray:
    """Eigenvalues beyond the edge of the fitted law of noise after one step (teacher, rate, seed)."""
    return xr.apply_ufunc(
        lambda values: training_spectra.outliers(values, 1500, 1000),
        runs.eigenvalues.sel(step=1), input_core_dims=[["k"]], vectorize=True,
    )  # fmt: skip


def exponents(runs: xr.Dataset) -> xr.DataArray:
    """PL_Alpha_Hill after ten steps (teacher, rate, seed)."""
    return xr.apply_ufunc(tails.hill, runs.eigenvalues.sel(step=10), input_core_dims=[["k"]], vectorize=True)


def indices() -> dict[str, int]:
    """Directions of each teacher."""
    return {name: setting.get("indices", 1) for name, setting in open_questions.TEACHERS.items()}


def ht_78(runs: xr.Dataset | None = None) -> Outcome:
    """Appendix H: does a teacher with k directions make k spikes, and a heavier tail later?"""
    runs = records.load("heavy_tails/many_directions") if runs is None else runs
    count, hill = outliers(runs), exponents(runs)
    several = {name: k for name, k in indices().items() if k > 1}
    right = {
        rate: stats.wilson(np.concatenate([count.sel(teacher=t, rate=rate).values == k for t, k in several.items()]))
        for rate in (0.1, 1.0)
    }
    one = bool((count.sel(rate=0.1) == 1).all())
    change = {
        rate: stats.student((hill.sel(teacher="sum of four", rate=rate) - hill.sel(teacher="one", rate=rate)).values)
        for rate in (0.1, 1.0)
    }
    if right[0.1].exceeds(1 / 2) is False and right[1.0].exceeds(1 / 2) is False:
        answer = "No: the first step sees the average direction alone" + (
            " and makes one spike, and later the tail is hardly another." if one else ", whatever their number."
        )
    else:
        answer = "Often: in half of the draws or more the spikes are as many as the teacher's directions."
    return Outcome(
        verdict="answered",
        answer=answer,
        finding="eigenvalues beyond the edge are as many as the directions in "
        + " and ".join(f"{right[rate]} of the draws at rate {rate:g}" for rate in right)
        + f" with several directions; at 0.1 there {'is one for every teacher' if one else 'are other numbers'}; after "
        "ten steps four directions in place of one change PL_Alpha_Hill by "
        + " and ".join(f"{change[rate]:+.3f} at {rate:g}" for rate in change)
        + f" (pure noise {shapes.noise_hill(1500, 1000):.2f})",
        evidence={f"right count, rate {rate:g}": one for rate, one in right.items()}
        | {f"change of the exponent, rate {rate:g}": one for rate, one in change.items()},
    )


def fixed_rates() -> dict[int, xr.Dataset]:
    """Ten steps of Adam at the nine fixed rates, by number of points."""
    names = {2000: "ten_steps_2000", 8000: "ten_steps_8000"}
    return {n: records.load(f"heavy_tails/{name}") for n, name in names.items()}


def against_fixed(steered: xr.Dataset, fixed: xr.Dataset, n: int, features: str) -> tuple[float, Interval]:
    """The fixed rate with the least mean test loss, and how much the steered loss is above it, over the draws."""
    grid = sweep_rules.reading(fixed, "Adam code", features).test.sel(seed=steered.seed, rate=list(RATES))
    best = float(grid.mean("seed").idxmin("rate"))
    return best, of_change(steered.test.sel(n=n, features=features) / grid.sel(rate=best), "steered")


def at_equal_loss(plain: xr.Dataset, pulled: xr.Dataset, features: str) -> Interval:
    """Change of the test loss by a penalty where the first stage has the same loss, over the draws."""
    pairs = [
        steering.compared(plain.sel(seed=seed), pulled.sel(seed=seed)).sel(features=features).values
        for seed in pulled.seed.values
    ]
    return stats.student(np.array([with_it / without - 1 for without, with_it in pairs]))


def ht_79(
    steered: xr.Dataset | None = None,
    fixed: Mapping[int, xr.Dataset] | None = None,
    pulled: xr.Dataset | None = None,
    beside: xr.Dataset | None = None,
) -> Outcome:
    """Appendix H: does it help to steer the rate by the exponent, or to penalise the exponent?"""
    steered = records.load("heavy_tails/controlled") if steered is None else steered
    fixed = fixed_rates() if fixed is None else fixed
    pulled = records.load("heavy_tails/penalty") if pulled is None else pulled
    beside = records.load("heavy_tails/penalty_beside") if beside is None else beside
    above = {(n, f): against_fixed(steered, fixed[n], n, f)[1] for n in fixed for f in FEATURES}
    effect = {
        (target, f): at_equal_loss(beside.sel(strength=0), pulled.sel(target=target), f)
        for target in steering.TARGETS
        for f in FEATURES
    }
    missed = max(abs(pulled.hill.isel(step=-1).sel(target=t) - t).max().item() for t in steering.TARGETS)
    helps = {
        "steering": any(one.below(0) for (_, f), one in above.items() if f == "code"),
        "a penalty": any(one.high < -0.01 for (_, f), one in effect.items() if f == "code"),
    }
    good = " and ".join(name for name, well in helps.items() if well)
    answer = (
        f"With the program's features {good} lowers the test loss."
        if good
        else "No: steering does not beat the best fixed rate; a penalty moves the exponent but hardly the test loss."
    )
    return Outcome(
        parts={"a": "answered", "b": "answered"},
        answer=answer,
        finding="(a) the steered test loss is "
        + " and ".join(
            f"{above[n, 'code']:+.1%} at n = {n} ({above[n, 'text']:+.1%} with the text's features)" for n in fixed
        )
        + f" above that of the best fixed rate; (b) a penalty meets its targets to {missed:.2f} and changes the test "
        "loss at equal loss of the first stage by "
        + ", ".join(f"{effect[t, 'code']:+.2%} (target {t:g})" for t in steering.TARGETS)
        + ", with the features of the text by "
        + ", ".join(f"{effect[t, 'text']:+.1%}" for t in steering.TARGETS),
        evidence={f"steered, n = {n}, {f}": one for (n, f), one in above.items()}
        | {f"target {t:g}, {f}": one for (t, f), one in effect.items()},
    )
