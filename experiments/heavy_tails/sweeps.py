r"""What the sweeps over learning rates say: shapes of their spectra, and the rules on losses and alignments.

A *sweep* here is a Dataset with dimensions seed and rate (and k for eigenvalues) of one rule and one reading of the
features; rate 0 is the untrained student, so that every change is paired with the same draw.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from experiments.heavy_tails import shapes
from experiments.heavy_tails.runs import FEATURES, PENALTY, RATES, RULES, draw, evaluation_scale
from shallow import stats
from shallow.book.recipes import releases_gil
from shallow.nets import Student
from shallow.train import first_step
from shallow.train.ridge import Ridge, mean_square

SHAPE_FIELDS = (
    "spike_ratio",
    "second_ratio",
    "hill",
    "hill_excl",
    "ks",
    "ks_excl",
    "d_mp",
    "change",
    "spike",
    "single_spike",
    "ht_onset",
    "ht",
    "bimodal",
)
SMALL, LARGE = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0], [10.0, 100.0, 1000.0, 2000.0, 3000.0]


def shape_table(eigenvalues: xr.DataArray, h: int = 1500, d: int = 1000, *, initial: str = "rate") -> xr.Dataset:
    """The shape (:func:`shapes.shape`) of every spectrum, against that at the first value of the dimension `initial`.

    Args:
        eigenvalues: dimension k and any others, `initial` among them.

    Returns the variables `SHAPE_FIELDS` over the other dimensions.  Cost: 6 ms for each spectrum of 1000.
    """
    spectra = eigenvalues.transpose(..., initial, "k")
    values, outer = spectra.values.astype(float), spectra.dims[:-1]
    found = {name: np.empty(values.shape[:-1]) for name in SHAPE_FIELDS}
    for place in np.ndindex(values.shape[:-1]):
        one = shapes.shape(values[place], h, d, initial=values[(*place[:-1], 0)])
        for name in SHAPE_FIELDS:
            found[name][place] = getattr(one, name)
    kinds = {name: bool for name in SHAPE_FIELDS if name in ("spike", "single_spike", "ht_onset", "ht", "bimodal")}
    variables = {name: (outer, array.astype(kinds.get(name, float))) for name, array in found.items()}
    return xr.Dataset(variables, {name: spectra[name] for name in outer})


def in_most(flags: xr.DataArray, least: float = 0.8) -> bool:
    """Whether a condition holds in 4 of 5 seeds, or the same share of fewer."""
    return bool(flags.mean("seed") >= least)


def jump(values: xr.DataArray, *, sign: int) -> bool:
    """The rule on a jump at rate 2000 (Figure 3, GD): next to nothing up to 100, less than half of it at 1000.

    Args:
        values: (seed, rate), rate 0 untrained.
        sign: -1 for a quantity that falls, 1 for one that rises.
    """
    change = values - values.sel(rate=0)
    mean = np.abs(change.mean("seed"))
    at = float(mean.sel(rate=2000))
    below = bool((mean.sel(rate=SMALL) <= 0.05 * at).all())
    return below and float(mean.sel(rate=1000)) <= 0.5 * at and in_most(sign * change.sel(rate=2000) > 0)


def monotone(values: xr.DataArray, rates: Sequence[float], *, sign: int) -> bool:
    """Whether the means over seeds strictly rise (sign 1) or fall (sign -1) along the rates."""
    return bool((sign * np.diff(values.mean("seed").sel(rate=list(rates))) > 0).all())


def one_step_losses(sweep: xr.Dataset) -> dict[str, bool]:
    """The letters of the claim on losses after one Adam step: (b), (c), (d) for test and for training, (e)."""
    test, train = sweep.test, sweep.train
    mean = {name: sweep[name].mean("seed") for name in ("test", "train", "alignment", "similarity")}
    at_init = {name: float(values.sel(rate=0)) for name, values in mean.items()}
    small = {name: float(values.sel(rate=0.001)) for name, values in mean.items()}
    best = mean["test"].sel(rate=mean["test"].rate > 0)
    where, least = float(best.idxmin()), float(best.min())
    return {
        "b": abs(small["test"] / at_init["test"] - 1) <= 0.01
        and abs(small["alignment"] / at_init["alignment"] - 1) <= 0.05
        and small["similarity"] <= 0.1,
        "c": monotone(test, [0.001, 0.01, 0.1, 1], sign=-1)
        and float(mean["test"].sel(rate=1)) <= 0.98 * at_init["test"]
        and in_most(test.sel(rate=1) < test.sel(rate=0.01)),
        "d, test": all(in_most(test.sel(rate=rate) > test.sel(rate=1)) for rate in (10, 100)),
        "d, training": all(in_most(train.sel(rate=rate) < train.sel(rate=1)) for rate in LARGE),
        "e": 0.001 < where < 100 and float(mean["test"].sel(rate=3000)) >= 1.05 * least,
    }


def paired_change(sweep: xr.Dataset, rate: float, *, of: str, name: str) -> stats.Interval:
    """Mean relative change of a quantity at a rate against the untrained student, with its interval over seeds."""
    relative = sweep[of].sel(rate=rate) / sweep[of].sel(rate=0) - 1
    return stats.bootstrap(relative.values, name=name)


def rank(values: xr.DataArray, others: xr.DataArray) -> float:
    """Spearman's rank correlation of two curves over the rates, of seed means, without the untrained student."""
    first, second = (array.mean("seed").sel(rate=array.rate > 0) for array in (values, others))
    return stats.rank_correlation(first.values, second.values)


def reading(record: xr.Dataset, rule: str, features: str = "code") -> xr.Dataset:
    """One rule and one reading of the features of a sweep, at the document's ridge constant."""
    if features not in FEATURES:
        raise ValueError(f"features must be one of {', '.join(FEATURES)}, got {features!r}")
    return record.sel(rule=rule, features=features, penalty=PENALTY).transpose("seed", "rate", ...)


@releases_gil
def one_step_variants(
    seed: int, *, rules: Sequence[str] = ("GD code", "Adam code"), rates: Sequence[float] = RATES, **setting
) -> xr.Dataset:
    """Ridge losses after one step for a student that need not fit the mean of the labels by odd features.

    Variants: "centred", labels minus the mean of the probe labels; "intercept", a constant column beside the features,
    as large as the features of a neuron.  The first stage is trained as ever.  Returns train and test over (rule, rate,
    variant, features), rate 0 untrained.
    """
    drawn = draw(seed, **setting)
    train = drawn.samples.train
    untrained = _variants(drawn.student, drawn)
    rows = []
    for name in rules:
        rule, factor = RULES[name]
        moved = first_step.students(train.x, train.y, drawn.student, [rule], rates, factor=factor)
        rows.append(xr.concat([untrained, *(_variants(student, drawn) for *_, student in moved)], "rate"))
    return xr.concat(rows, "rule").assign_coords(rule=list(rules), rate=[0.0, *rates])


def _variants(student: Student, drawn) -> xr.Dataset:
    """Losses of one student by variant and reading of the features."""
    probe, test = drawn.samples.probe, drawn.samples.test
    mean = probe.y.mean()
    width = len(student.a)
    found = np.empty((2, 2, len(FEATURES)))  # loss, variant, features
    for k, features in enumerate(FEATURES):
        scale = evaluation_scale(student, features)
        fitted, unseen = (student.features(part.x, scale) for part in (probe, test))
        constant = np.sqrt(np.mean(fitted**2))
        beside = [np.column_stack([Z, np.full(len(Z), constant)]) for Z in (fitted, unseen)]
        for v, ((Z, Z_test), shift) in enumerate((((fitted, unseen), mean), (beside, 0.0))):
            weights = Ridge(Z, probe.y - shift).weights(PENALTY / width)
            found[:, v, k] = mean_square(Z, probe.y - shift, weights), mean_square(Z_test, test.y - shift, weights)
    dims = ("variant", "features")
    coordinates = {"variant": ["centred", "intercept"], "features": list(FEATURES)}
    return xr.Dataset({"train": (dims, found[0]), "test": (dims, found[1])}, coordinates)
