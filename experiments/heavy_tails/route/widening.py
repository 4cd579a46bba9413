"""What widens the bulk: runs without a leading pair, with whitened inputs, and their nulls.

The *null* of a bulk is the matrix without its leading singular pair, with the entries of every column in a random
order: it keeps the columns' variances and nothing else.  The pair is left out before, since a spike that all columns
share would hide in the null that their other parts are unequal.  Beside it stand the columns made equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np
import torch
import xarray as xr

from experiments.heavy_tails import surgery, teacher_student
from experiments.heavy_tails.first_update import cells as first_update
from experiments.heavy_tails.route import cells as route
from shallow import checks, stats
from shallow.book.recipes import Recipe, releases_gil
from shallow.data.single_index import Sample
from shallow.spectra import esd, marchenko_pastur, nulls, profiles, rank_one, tails

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
FORMS = ("whole", "permuted", "permuted with its spike", "equal columns")


def numbers(values: np.ndarray, h: int, d: int) -> dict[str, float]:
    """Gap, exponent and distance of a spectrum; the largest eigenvalue is left out of the last two."""
    rest = np.asarray(values, dtype=float)[1:]
    distance = marchenko_pastur.fitted_distance(rest, h, d)
    return {"spike_ratio": values[0] / values[1], "hill_excl": tails.hill(rest), "d_mp": distance}


def null(W: np.ndarray, *name: str | int, spike: bool = False) -> np.ndarray:
    """W without its leading singular pair, or with it, and its entries permuted within columns by a named stream."""
    W = W.astype(np.float64)
    if not spike:
        u, s, v = (part[..., 0] for part in esd.top(W))
        W -= s * np.outer(u, v)
    return nulls.permuted_within_columns(W, stats.stream("heavy tails", "within columns", *name))


def forms(W: np.ndarray, *name: str | int) -> xr.Dataset:
    """Numbers (form) of a matrix, of its null, and of it with equal columns, and quantiles of its column variances.

    The quantiles are over their median.  Cost: 1 s at 1500 x 1000.
    """
    matrices = W, null(W, *name), null(W, *name, spike=True), profiles.equalised_columns(W)
    each = [numbers(esd.eigenvalues(one), *W.shape) for one in matrices]
    columns = np.square(W, dtype=np.float64).mean(axis=0)
    found = {key: ("form", [one[key] for one in each]) for key in each[0]}
    spread = np.quantile(columns, QUANTILES) / np.median(columns)
    return xr.Dataset(found | {"columns": ("quantile", spread)}, {"form": list(FORMS), "quantile": list(QUANTILES)})


def small(found: xr.Dataset) -> xr.Dataset:
    """Numbers in single precision, for records."""
    return found.map(lambda one: one.astype(np.float32) if one.dtype == np.float64 else one)


@releases_gil
def cut_out(
    seed: int, *, rate: float, cut: str, first_only: bool = False, steps: int = 10, rule: str = "Adam code", **setting
) -> xr.Dataset:
    """Ten steps with something cut out (:func:`surgery.run`): numbers at every step, and :func:`forms` of the last W.

    Returns gap, exponent, distance (step) of the whole matrix, those of :func:`forms` with the prefix "end_", and
    columns (quantile).  Cost: 7 s at n = 2000.
    """
    trainer = teacher_student.trainer(teacher_student.draw(seed, **setting), rule)
    seen = []
    for now in islice(surgery.run(trainer, rate, cut, first_only=first_only), steps + 1):
        W = now.student.W
        seen.append(numbers(esd.eigenvalues(W), *W.shape))
    found = xr.Dataset({key: ("step", [one[key] for one in seen]) for key in seen[0]}, {"step": range(steps + 1)})
    end = forms(W, seed).rename({name: f"end_{name}" for name in ("spike_ratio", "hill_excl", "d_mp")})
    return small(found.merge(end))


def spread_inputs(x: np.ndarray, power: float) -> np.ndarray:
    r"""Inputs (n, d) whose singular values are those of x to a power: 1 as they are, 0 exactly white.

    The singular vectors stay, and $\|X\|_F^2 = nd$: with power 0, $X^\top X / n = I$.
    """
    U, s, V = esd.singular_vectors(x)
    s = s**power
    s *= np.sqrt(x.size / np.square(s).sum())
    return ((U * s) @ V.T).astype(np.float32)


@releases_gil
def causes(
    seed: int, *, rule: str, rate: float, power: float = 1.0, updates: Sequence[int] = (1, 2, 10), **setting
) -> xr.Dataset:
    r""":func:`forms` of W after some steps, and numbers of single updates, with the inputs of :func:`spread_inputs`.

    The labels are made as ever: those of the teacher at these inputs, with the same errors.

    Returns:
        those of :func:`forms`, of $W_t$ at the end;
        update_hill_excl, update_d_mp (step, of): of the updates of the given steps, ascending, "whole" and "permuted";
            the last one is the last step.

    Cost: 7 s at n = 2000.
    """
    drawn = teacher_student.draw(seed, **setting)
    x, y = drawn.samples.train
    errors = y - drawn.teacher(x)
    x = spread_inputs(x, power) if power != 1 else x
    sample = Sample(x, (drawn.teacher(x) + errors).astype(np.float32))
    trainer = teacher_student.trainer(drawn, rule, sample=sample)
    seen = []
    for t in updates:
        while trainer.taken < t:
            before = trainer.W.numpy().copy()
            trainer.step(rate)
        update = trainer.W.numpy() - before
        both = [numbers(esd.eigenvalues(one), *update.shape) for one in (update, null(update, seed, "update", t))]
        seen.append([[one["hill_excl"], one["d_mp"]] for one in both])
    hill, distance = np.moveaxis(np.array(seen), 2, 0)
    found = forms(trainer.student.W, seed).assign_coords(step=list(updates), of=["whole", "permuted"])
    return small(found.assign({"update_hill_excl": (("step", "of"), hill), "update_d_mp": (("step", "of"), distance)}))


WEIGHTS = ("equal", "residuals", "permuted residuals")


def inverse_root(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    r"""$C^{-1/2}$ for $C = X^\top \operatorname{diag}(w)^2 X$ over its mean eigenvalue, shape (d, d)."""
    weighted = x * weights[:, None]
    values, vectors = np.linalg.eigh(weighted.T @ weighted)
    return (vectors / np.sqrt(values / values.mean())) @ vectors.T


@releases_gil
def whitened(seed: int, *, rule: str, rate: float, weights: str, steps: int = 10, **setting) -> xr.Dataset:
    r""":func:`forms` of W after some steps in which the gradient B X has lost the data's covariance.

    A gradient is $B X$ with $B_{ij} \propto a_i r_j \sigma'(z_{ij})$.  Before the rule sees it, it is multiplied by the
    $C^{-1/2}$ of :func:`inverse_root`, with all points alike ("equal") or each with its residual $r_j$; or with the
    residual of another point ("permuted residuals"), as a control.  Student and labels see the inputs as they are.

    Cost: 10 s at n = 2000.
    """
    checks.one_of(WEIGHTS, weights=weights)
    drawn, rng = teacher_student.draw(seed, **setting), stats.stream("heavy tails", seed, "whitened")
    sample = drawn.samples.train
    x, trainer = sample.x.astype(np.float64), teacher_student.trainer(drawn, rule)
    fixed = inverse_root(x, np.ones(len(x))) if weights == "equal" else None
    for _ in range(steps):
        gradient = trainer.gradient().numpy().astype(np.float64)
        if fixed is None:
            residuals = sample.y - trainer.student.forward(sample.x)
            root = inverse_root(x, residuals if weights == "residuals" else rng.permutation(residuals))
        trainer.update(torch.from_numpy((gradient @ (root if fixed is None else fixed)).astype(np.float32)), rate)
    return small(forms(trainer.student.W, seed))


@releases_gil
def labelled(
    seed: int,
    *,
    rule: str,
    rate: float,
    labels: str,
    records: Sequence[int] = (1, 10),
    threshold: bool = False,
    **setting,
) -> xr.Dataset:
    r"""Numbers (step) of a run on labels of :func:`route.relabelled`, and what the labels do to its first step.

    Also similarity (step) to the teacher; pull, $|X^\top r| / n$ with the residuals r of the untrained student;
    gradient, the spectral norm of the first gradient; and with `threshold` the learning rate at which the first step of
    GD makes a spike.  Cost: 4 n d h operations a step, and 3 s.
    """
    drawn = teacher_student.draw(seed, **setting)
    sample = route.relabelled(drawn.samples.train, labels, seed)
    residual = sample.y - drawn.student.forward(sample.x)
    trainer = teacher_student.trainer(drawn, rule, sample=sample)
    gradient = trainer.gradient().numpy().copy()
    size = {
        "pull": np.linalg.norm(sample.x.T.astype(np.float64) @ residual) / len(residual),
        "gradient": esd.top(gradient).s[0],
    }
    if threshold:
        independent = rank_one.threshold(*gradient.shape) / size["gradient"]
        along = first_update.along(drawn.student.W, gradient)
        size["threshold"] = first_update.bisect(along, independent / 2, 10 * independent)
    seen = []
    for t in records:
        while trainer.taken < t:
            trainer.step(rate)
        student = trainer.student
        similar = teacher_student.read_out.similarity(student.W, drawn.teacher.directions)
        seen.append({**numbers(esd.eigenvalues(student.W), *student.W.shape), "similarity": similar})
    found = {key: ("step", [one[key] for one in seen]) for key in seen[0]}
    return small(xr.Dataset(found | size, {"step": list(records)}))


def falls(record: xr.Dataset, noise: float) -> dict[str, xr.DataArray]:
    """Falls (seed) of the exponent below that of noise: whole and null, with plain and with white inputs."""
    hill = record.hill_excl.astype(float)
    named = {"whole": ("whole", 1.0), "white inputs": ("whole", 0.0)}
    named |= {"null": ("permuted", 1.0), "null, white inputs": ("permuted", 0.0)}
    return {name: noise - hill.sel(form=form, power=power) for name, (form, power) in named.items()}


def shares(record: xr.Dataset, noise: float) -> dict[str, stats.Interval]:
    r"""Parts of the fall F of the exponent, which add up to one: columns, inputs and the rest; Student's intervals.

    With N the fall of the null, and primes for white inputs: N/F, then (F - N - F' + N')/F, and (F' - N')/F.
    """
    whole, white, null, white_null = falls(record, noise).values()
    rest = white - white_null
    found = {"columns": null, "inputs": whole - null - rest, "rest": rest}
    return {name: stats.student((one / whole).values) for name, one in found.items()}


TEN_DRAWS, FIVE, THREE = list(range(10)), list(range(5)), list(range(3))
RECORDS: dict[str, Recipe] = {
    "cut_every": Recipe(
        cut_out,
        {"rate": [1.0, 0.2], "cut": ["nothing", "update", "gradient"], "seed": TEN_DRAWS},
        about="Ten steps of Adam with the leading pair of every gradient or update cut out, and its nulls",
    ),
    "cut_first": Recipe(
        cut_out,
        {"rate": [1.0], "cut": ["update", "gradient"], "seed": TEN_DRAWS},
        {"first_only": True},
        "The same with the leading pair of the first step cut out",
    ),
    "cut_gaps": Recipe(
        cut_out,
        {"cut": ["gradient and gaps"], "seed": TEN_DRAWS},
        {"rate": 1.0},
        "The same with the leading pair of every gradient cut out, and every gap of the weights",
    ),
    "causes_adam": Recipe(
        causes,
        {"power": [1.0, 0.0, 2.0], "seed": TEN_DRAWS},
        {"rule": "Adam code", "rate": 1.0},
        "What the bulk of Adam at 1 rests on: column variances, the inputs' sample covariance, and the rest",
    ),
    "causes_gd": Recipe(
        causes,
        {"rate": [3000.0, 6000.0], "power": [1.0, 0.0], "seed": THREE},
        {"rule": "GD code"},
        "The same for GD",
    ),
    "whitened_adam": Recipe(
        whitened,
        {"weights": list(WEIGHTS), "seed": TEN_DRAWS},
        {"rule": "Adam code", "rate": 1.0},
        "Ten steps of Adam at 1 with the data's covariance taken out of every gradient",
    ),
    "cut_8000": Recipe(
        cut_out,
        {"cut": ["gradient"], "seed": TEN_DRAWS},
        {"rate": 1.0, "n": 8000},
        "Ten steps of Adam at 1 on 8000 points with the leading pair of every gradient cut out",
    ),
    "causes_8000": Recipe(
        causes,
        {"power": [1.0], "seed": TEN_DRAWS},
        {"rule": "Adam code", "rate": 1.0, "n": 8000},
        "What the bulk of Adam at 1 rests on, with 8000 points",
    ),
    "whitened_8000": Recipe(
        whitened,
        {"weights": ["residuals", "permuted residuals"], "seed": TEN_DRAWS},
        {"rule": "Adam code", "rate": 1.0, "n": 8000},
        "Ten steps of Adam at 1 on 8000 points with the data's covariance taken out of every gradient",
    ),
    "labels_near": Recipe(
        labelled,
        {"rate": [1500.0, 1750.0], "labels": ["true", "permuted"], "seed": FIVE},
        {"rule": "GD code", "threshold": True},
        "Ten steps of GD next to the first spike, with true labels and shuffled",
    ),
    "labels_near_8000": Recipe(
        labelled,
        {"rate": [2000.0, 2700.0], "labels": ["true", "permuted"], "seed": THREE},
        {"rule": "GD code", "threshold": True, "n": 8000},
        "The same with 8000 points",
    ),
    "labels_8000": Recipe(
        labelled,
        {"labels": ["true", "permuted"], "seed": TEN_DRAWS},
        {"rule": "Adam code", "rate": 1.0, "n": 8000},
        "Ten steps of Adam at 1 on 8000 points, with true labels and shuffled",
    ),
    "labels_long": Recipe(
        labelled,
        {"labels": ["true", "permuted"], "seed": THREE},
        {"rule": "Adam code", "rate": 0.1, "records": [1, 10, 100, 1000, 6000], "n": 500, "d": 250, "h": 375},
        "Six thousand steps of Adam at 0.1, a quarter of the size, with true labels and shuffled",
        shortened={"records": [1, 10, 100]},
    ),
}


CAUSES = {
    2000: ("heavy_tails/route/causes_adam", "heavy_tails/route/whitened_adam", "heavy_tails/route/cut_every"),
    8000: ("heavy_tails/route/causes_8000", "heavy_tails/route/whitened_8000", "heavy_tails/route/cut_8000"),
}


def left_of_fall(plain: xr.Dataset, whitened: xr.Dataset, cut: xr.Dataset) -> dict[str, stats.Interval]:
    """Share of the fall of the exponent of Adam at 1 that is left after each intervention; the draws are paired.

    With "columns made equal" the columns are scaled after the run; what concerns the gradient is done at every step.
    """
    noise = marchenko_pastur.MarchenkoPastur(1500, 1000).hill
    at_one = cut.sel(rate=1.0) if "rate" in cut.dims else cut
    whole = plain.hill_excl.sel(form="whole", power=1.0)
    own, wrong = (whitened.sel(weights=one).hill_excl for one in ("residuals", "permuted residuals"))
    hills = {
        "nothing": whole,
        "the spike": at_one.sel(cut="gradient").end_hill_excl.sel(form="whole"),
        "unequal columns": plain.hill_excl.sel(form="equal columns", power=1.0),
        "all but the sizes of columns": plain.hill_excl.sel(form="permuted", power=1.0),
        "uneven inputs": own.sel(form="whole"),
        "a wrong cloud": wrong.sel(form="whole"),
        "unequal columns and uneven inputs": own.sel(form="equal columns"),
    }
    fall = noise - whole.astype(float)
    return {name: stats.student(((noise - hill.astype(float)) / fall).values) for name, hill in hills.items()}
