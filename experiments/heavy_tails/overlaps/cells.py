r"""Overlaps $O_{ij} = (u_i \cdot u'_j)^2$ of the singular vectors of weights and updates, and their level by chance.

For two independent random orthonormal sets in $\mathbb R^p$ an entry is about $\chi^2_1 / p$: its mean is $1/p$, and
the largest of $b^2$ entries lies near $2 \ln(b^2) / p$.  By itself $\chi^2_1$ spans decades: its logarithm has standard
deviation 2.2 and excess kurtosis 4.

With $M_s = W_{s+1} - W_s$ the update of step s, a *pair* (t, s) stands for the overlaps $O_{ij} = (u_i(W_t) \cdot
u_j(M_s))^2$ of all left singular vectors, and likewise of the right ones.
Source: Kothapalli et al., "From Spikes to Heavy Tails", Appendix C (Definition C.1), D.1, F.1 to F.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
import xarray as xr
from scipy import optimize
from scipy.stats import chi2, entropy, kurtosis

from experiments.heavy_tails import read_out, teacher_student
from experiments.heavy_tails.teacher_student import FEATURES, PYTORCH, RULES, Draw, draw
from shallow import checks, stats
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.display import short
from shallow.spectra import esd, rank_one, tail_laws, tails
from shallow.train import first_layer

SIDES = ("left", "right")
BLOCK = 50  # side of the leading block whose spread is measured


@dataclass(frozen=True)
class Overlap:
    """Squared inner products (b, b') of two sets of orthonormal vectors of length p."""

    matrix: np.ndarray
    length: int

    __repr__ = short

    @property
    def mean_level(self) -> float:
        """Mean entry of random vectors, 1/p."""
        return 1 / self.length

    @property
    def maximum_level(self) -> float:
        r"""Where the largest of the entries lies for random vectors, $2 \ln(b b') / p$."""
        return float(2 * np.log(self.matrix.size) / self.length)

    @cached_property
    def maximum(self) -> float:
        """Largest entry."""
        return float(self.matrix.max())

    @property
    def random(self) -> bool:
        """Criterion RANDOM: the largest entry is at most 1.5 times its level by chance."""
        return self.maximum <= 1.5 * self.maximum_level

    @property
    def outlier(self) -> bool:
        """Criterion OUTLIER: the largest entry is at least 5 times its level by chance."""
        return self.maximum >= 5 * self.maximum_level

    def diagonal_blocks(self, ends: tuple[int, ...] = (10, 50, 200, 1000)) -> np.ndarray:
        """Mean of the diagonal over the indices 1..ends[0], ends[0]+1..ends[1], ..., shape (len(ends),)."""
        diagonal = np.diagonal(self.matrix)
        edges = np.array([0, *ends])
        if edges.dtype.kind != "i" or len(edges) == 1 or (np.diff(edges) <= 0).any() or edges[-1] > len(diagonal):
            raise ValueError(f"ends must ascend from 1 to at most {len(diagonal)}, got {ends}")
        return np.add.reduceat(diagonal[: edges[-1]], edges[:-1]) / np.diff(edges)


def overlap(first: np.ndarray, second: np.ndarray) -> Overlap:
    r"""$O = (U^\top U')^2$ entrywise for orthonormal columns U (p, b), U' (p, b').  Cost: O(p b b')."""
    for name, vectors in (("first", first), ("second", second)):
        norms = np.linalg.norm(esd.as_matrix(name, vectors), axis=0)
        if np.abs(norms - 1).max() > 1e-6:
            raise ValueError(f"{name} must have columns of norm one, got norms {norms.min():.3g} to {norms.max():.3g}")
    if len(first) != len(second):
        raise ValueError(f"first and second must have vectors of one length, got {len(first)} and {len(second)}")
    return Overlap((np.asarray(first, dtype=float).T @ np.asarray(second, dtype=float)) ** 2, len(first))


@dataclass(frozen=True)
class ScaledChiSquare:
    r"""$\chi^2_1$ in units of `scale`, cut below and normalised on $x \ge x_\min$."""

    xmin: float
    scale: float

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Logarithm of the density at x >= xmin, any shape."""
        law = chi2(1, scale=self.scale)
        return law.logpdf(x) - law.logsf(self.xmin)

    @classmethod
    def fit(cls, values: np.ndarray, xmin: float) -> ScaledChiSquare:
        """The scale of largest likelihood for the values from xmin on, between a thousandth and 1000 of their mean."""
        tail = values[values >= xmin]
        centre = np.log(tail.mean())

        def loss(log_scale: float) -> float:
            return -cls(xmin, np.exp(log_scale)).log_density(tail).sum()

        found = optimize.minimize_scalar(loss, bounds=(centre - 7, centre + 7), method="bounded")
        return cls(float(xmin), float(np.exp(found.x)))


class DiagonalTail(NamedTuple):
    """A power law above the cut of smallest distance against a scaled chi-square there, and the kurtosis of the logs.

    Attributes:
        alpha: exponent of the density.
        size: number of values above the cut.
        favours: 1 if the power law is better at p < 0.01 by Vuong's test, -1 if the chi-square is, 0 if neither.
        p: two-sided p-value of the test.
        kurtosis: excess kurtosis of the logarithms, by chance 4.
    """

    alpha: float
    size: int
    favours: int
    p: float
    kurtosis: float


def diagonal_tail(diagonal: np.ndarray) -> DiagonalTail:
    """The tail, of 50 entries or more, of the diagonal of an overlap matrix.  Cost: 2 ms for 1000 entries."""
    values = np.asarray(diagonal, dtype=float)
    values = values[values > 0]
    fit = tails.power_law(values, least=50)
    found = tail_laws.vuong(fit.law, ScaledChiSquare.fit(values, fit.xmin), values)
    return DiagonalTail(fit.alpha, fit.size, found.favours(0.01), found.p, float(kurtosis(np.log(values))))


def weights(drawn: Draw, rule: str, rate: float, steps: int, *, double: bool = False) -> list[np.ndarray]:
    """$W_0, ..., W_T$ of a run, shape (h, d) each."""
    trainer = teacher_student.trainer(drawn, rule, dtype=torch.float64 if double else torch.float32)
    path = [trainer.student.W]
    for _ in range(steps):
        trainer.step(rate)
        path.append(trainer.student.W)
    return path


def participation(numbers: np.ndarray) -> float:
    r"""$(\sum_k o_k)^2 / \sum_k o_k^2$ of numbers $o_k \ge 0$, any shape: between 1 and their count."""
    checks.not_negative(numbers=numbers)
    numbers = np.asarray(numbers, dtype=float)
    if not numbers.any():
        raise ValueError(f"numbers must not all be zero, got {checks.given(numbers)}")
    return float(numbers.sum() ** 2 / (numbers**2).sum())


def spread(found: Overlap) -> dict[str, float]:
    """How far the leading 50 x 50 block of an overlap matrix is spread out, in three ways.

    participation: of its entries; off_diagonal: share of its sum off the diagonal; entropy: of its entries over their
    sum, relative to the largest possible, in [0, 1].
    """
    block = found.matrix[:BLOCK, :BLOCK]
    return {
        "participation": participation(block),
        "off_diagonal": float(1 - np.trace(block) / block.sum()),
        "entropy": float(entropy(block.ravel()) / np.log(block.size)),
    }


@releases_gil
def run(
    seed: int,
    *,
    rule: str,
    rate: float,
    pairs: Sequence[Sequence[int]] = ((1, 0), (10, 9)),
    double: bool = False,
    losses: Sequence[int] = (),
    **setting,
) -> xr.Dataset:
    r"""Overlaps of weights and updates in one run.

    Args:
        pairs: pairs (t, s) of a weight matrix $W_t$ and an update $M_s$.
        double: train in float64, for updates that are not large against the rounding of float32 weights.
        losses: steps at which the ridge losses are taken.

    Returns:
        for every pair and side: maximum, first (entry 1, 1), diagonal (k), twenty (participation of the leading 20 x 20
        block) and the numbers of :func:`spread`;
        eigenvalues (end, k): of $W^\top W$ after the first and the last step; similarity (end);
        norm (end): $s_1$ of the first and the last update;
        train, test (at, features): with `losses`.

    Cost: 0.6 s for every matrix in a pair on one core, beside the steps.
    """
    drawn = draw(seed, **setting)
    steps = max(max(t, s + 1) for t, s in pairs)
    path = weights(drawn, rule, rate, steps, double=double)
    known: dict[tuple[str, int], esd.Triplets] = {}

    def vectors(kind: str, t: int) -> esd.Triplets:
        if (kind, t) not in known:
            matrix = path[t] if kind == "W" else path[t + 1].astype(float) - path[t]
            known[kind, t] = esd.singular_vectors(matrix)
        return known[kind, t]

    rows = []
    for t, s in pairs:
        W, M = vectors("W", t), vectors("M", s)
        rows.append([_numbers(overlap(getattr(W, side), getattr(M, side))) for side in ("U", "V")])
    names = rows[0][0]
    kept = {
        name: (
            ("pair", "side", "k") if name == "diagonal" else ("pair", "side"),
            np.array([[side[name] for side in row] for row in rows]),
        )
        for name in names
    }
    ends = (1, steps)
    spectra = [known["W", t].s ** 2 if ("W", t) in known else esd.eigenvalues(path[t]) for t in ends]
    updates = [esd.top(path[t].astype(float) - path[t - 1]).s[0] for t in ends]
    kept |= {
        "eigenvalues": (("end", "k"), np.array(spectra)),
        "similarity": ("end", [read_out.similarity(path[t], drawn.teacher.directions) for t in ends]),
        "norm": ("end", updates),
    }
    if len(losses):
        found = [teacher_student.losses(replace(drawn.student, W=path[t]), drawn) for t in losses]
        kept |= {name: (("at", "features"), [one[k] for one in found]) for k, name in enumerate(("train", "test"))}
    coords = {"pair": [f"W{t}, M{s}" for t, s in pairs], "side": list(SIDES), "features": list(FEATURES)}
    return xr.Dataset(kept, coords | {"end": list(ends), "at": list(losses)})


def _numbers(found: Overlap) -> dict:
    return {
        "maximum": found.maximum,
        "first": float(found.matrix[0, 0]),
        "diagonal": np.diagonal(found.matrix).astype(np.float32),
        "twenty": participation(found.matrix[:20, :20]),
        **spread(found),
    }


@releases_gil
def drop(seed: int, *, rule: str = "GD code", rate: float = 2000.0, steps: int = 10, **setting) -> xr.Dataset:
    r"""The largest drop of $\lambda_1$ within a run, at step s from $W_s$ to $W_{s+1}$, and the overlaps around it.

    Returns:
        top (step): $\lambda_1(t)$ for t = 0 ... steps;  s: the step of the largest drop;
        second: $s_2(W_s)$;  slope: $u_1^\top M_s v_1$ with the first singular vectors of $W_s$;
        maximum (when): largest $O$ of the left vectors of $W_s$, $W_{s+1}$ with those of $M_s$;
        spread (when): participation number $1 / \sum_k o_k^2$ of $o_k = (u_k \cdot u_1(M_s))^2$, before and after;
        spectra (when, k): eigenvalues before and after.
    """
    path = weights(draw(seed, **setting), rule, rate, steps)
    top = np.array([esd.top(W).s[0] for W in path]) ** 2
    s = int((top[:-1] / top[1:]).argmax())
    before, after = (esd.singular_vectors(path[t]) for t in (s, s + 1))
    difference = path[s + 1].astype(float) - path[s]
    update = esd.singular_vectors(difference)
    found = [overlap(W.U, update.U) for W in (before, after)]
    return xr.Dataset(
        {
            "top": ("step", top),
            "s": ((), s),
            "second": ((), before.s[1]),
            "slope": ((), before.U[:, 0] @ difference @ before.V[:, 0]),
            "maximum": ("when", [one.maximum for one in found]),
            "spread": ("when", [1 / (one.matrix[:, 0] ** 2).sum() for one in found]),
            "spectra": (("when", "k"), np.array([W.s**2 for W in (before, after)])),
        },
        {"step": np.arange(steps + 1), "when": ["before", "after"]},
    )


@releases_gil
def prediction(seed: int, *, rule: str, rates: Sequence[float], **setting) -> xr.Dataset:
    r"""Measured over predicted spike after one step (:func:`rank_one.spike` at $\theta = s_1(M_0)$).

    The prediction assumes an update of rank one that is independent of $W_0$; each assumption is lifted in turn:

    * start: the run's "own" $W_0$, or a "fresh" one, independent of the update and with the same law;
    * update: the "whole" $M_0$, or its leading part "rank one", $s_1 u_1 v_1^\top$.

    Returns:
        theta (rate); measured (rate, start, update, what) and predicted (rate, what) for what in $\lambda_1$ and the
        squared overlaps of the first left and right singular vectors of $W_1$ and $M_0$.

    Cost: one gradient and some ten Lanczos runs of 0.1 s for each rate.
    """
    checks.one_of(RULES, rule=rule)
    drawn, (optimiser, factor) = draw(seed, **setting), RULES[rule]
    train, own = drawn.samples.train, drawn.student.W
    found = first_layer.directions(train.x, train.y, drawn.student, [optimiser], factor=factor, **PYTORCH)
    (direction,) = found.values()
    fresh = stats.stream("heavy tails", seed, "fresh weights").standard_normal(own.shape)
    one = esd.top(-direction)
    u, v = one.U[:, 0], one.V[:, 0]
    thetas = np.array(rates) * one.s[0]
    measured = np.empty((len(rates), 2, 2, 3))
    for i, rate in enumerate(rates):
        parts = (-rate * direction.astype(float), thetas[i] * np.outer(u, v))
        for j, start in enumerate((own, fresh)):
            for k, part in enumerate(parts):
                U, s, V = esd.top(start + part)
                measured[i, j, k] = s[0] ** 2, (U[:, 0] @ u) ** 2, (V[:, 0] @ v) ** 2
    return xr.Dataset(
        {
            "theta": ("rate", thetas),
            "measured": (("rate", "start", "update", "what"), measured),
            "predicted": (("rate", "what"), np.transpose(rank_one.spike(thetas, *own.shape))),
        },
        {
            "rate": list(rates),
            "start": ["own", "fresh"],
            "update": ["whole", "rank one"],
            "what": ["eigenvalue", "left", "right"],
        },
    )


_FIELD = {"rule": "Adam code", "scaling": "mean-field"}
_GD, _ADAM = {"rule": "GD code", "rate": 2000.0}, {"rule": "Adam code", "rate": 1.0}
#: Pair (t, s), whether in float64, and setting of each scatter plot of the document.
PANELS: dict[str, tuple[tuple[int, int], bool, dict]] = {
    "9 first": ((1, 0), False, _ADAM),
    "9 last": ((10, 9), False, _ADAM),
    "12 before": ((0, 0), False, {**_FIELD, "rate": 0.04}),
    "12 after": ((1, 0), False, {**_FIELD, "rate": 0.04}),
    "14 small": ((10, 9), False, {**_FIELD, "rate": 5e-5}),
    "14 large": ((10, 9), False, {**_FIELD, "rate": 0.04}),
    "16 before": ((0, 0), True, {**_GD, "rate": 0.1}),
    "16 after": ((1, 0), True, {**_GD, "rate": 0.1}),
    "17 before": ((0, 0), True, {**_ADAM, "rate": 0.1}),
    "17 after": ((1, 0), True, {**_ADAM, "rate": 0.1}),
    "18 before": ((0, 0), True, _GD),
    "18 after": ((1, 0), True, _GD),
    "21": ((10, 9), False, _GD),
    "25": ((10, 9), False, {**_ADAM, "n": 8000, "noise": 0.3}),
    "26": ((10, 9), False, {**_ADAM, "n": 8000, "noise": 0.7}),
    "27 before": ((5, 5), False, _GD),
    "27 after": ((6, 5), False, _GD),
}


ONE, BOTH, LAST = [[0, 0], [1, 0]], [[1, 0], [10, 9]], [[10, 9]]
SEEDS, FIVE = [0, 1, 2], [0, 1, 2, 3, 4]
TEN_ADAM, FIRST = {"rate": 1.0, "pairs": BOTH}, {"pairs": ONE, "double": True}
TEN_GD = {"rate": 2000.0, "pairs": BOTH, "losses": [0, 1, 2, 5, 10]}
FIELD = {"pairs": [*ONE, *LAST], "scaling": "mean-field"}
ROUGH = Agreement(elsewhere=0.1)  # some singular values are so close that rounding turns their vectors


def _run(rule: str, about: str, seeds: Sequence[int] = SEEDS, rates: Sequence[float] = (), **fixed) -> Recipe:
    """Runs of a rule over seeds, and over learning rates if there are several."""
    axes = ({"rate": rates} if rates else {}) | {"seed": seeds}
    return Recipe(run, axes, {"rule": rule, **fixed}, about, agreement=ROUGH)


RECORDS: dict[str, Recipe] = {
    "overlaps_adam_one": _run("Adam code", "Figure 9: overlaps after one and ten steps of Adam", **TEN_ADAM),
    "overlaps_adam_one_text": _run("Adam text", "Figure 9, Adam without bias correction", [0], **TEN_ADAM),
    "overlaps_adam": Recipe(
        run,
        {"rate": [0.01, 0.1, 0.2, 0.5, 10.0, 100.0], "seed": SEEDS},
        {"rule": "Adam code", "pairs": LAST},
        "Overlaps after ten steps of Adam, other rates",
        agreement=ROUGH,
        steady={"rate": [0.01, 0.1, 0.2, 0.5]},
    ),
    "overlaps_gd": _run("GD code", "Overlaps after ten steps of GD, other rates", rates=[1000.0, 3000.0], pairs=LAST),
    "overlaps_gd_2000": _run("GD code", "Figure 21: losses and overlaps of ten steps of GD", FIVE, **TEN_GD),
    "overlaps_gd_2000_text": _run("GD text", "Figure 21 with the text's loss", [0], **TEN_GD),
    "overlaps_first_gd": _run(
        "GD code", "Figures 16 and 18: overlaps after one step of GD", rates=[0.1, 2000.0], **FIRST
    ),
    "overlaps_first_gd_text": _run("GD text", "Figures 16 and 18 with the text's loss", [0], [0.1, 2000.0], **FIRST),
    "overlaps_first_adam": _run("Adam code", "Figure 17: overlaps after one step of Adam", rate=0.1, **FIRST),
    "overlaps_field": _run(
        "Adam code", "Figures 12 and 14: overlaps of Adam in the mean-field scaling", rates=[5e-5, 0.04], **FIELD
    ),
    "overlaps_field_text": _run(
        "Adam text", "Figures 12 and 14, Adam without bias correction", [0], [5e-5, 0.04], **FIELD
    ),
    "overlaps_adam_one_more": _run(
        "Adam code", "Figure 9: overlaps after one and ten steps of Adam, further draws", list(range(3, 10)), **TEN_ADAM
    ),
    "overlaps_noise_five": Recipe(
        run,
        {"noise": [0.1, 0.3, 0.5, 0.7], "seed": FIVE},
        {"rule": "Adam code", "rate": 1.0, "n": 8000, "pairs": LAST, "losses": list(range(11))},
        "Figures 25, 26 and 28(c): five draws at four levels of label noise, losses after every step",
        agreement=ROUGH,
    ),
    "spike_movement": Recipe(drop, {"seed": FIVE}, {"rule": "GD code"}, "Figure 27: the largest drop of the spike"),
    "prediction_gd": Recipe(
        prediction,
        {"rule": ["GD code", "GD text"], "seed": SEEDS},
        {"rates": [2000.0, 3000.0]},
        "The spike of one step of GD against the theory of a rank-one update",
    ),
    "prediction_adam": Recipe(
        prediction,
        {"rule": ["Adam code", "Adam text"], "seed": SEEDS},
        {"rates": [0.1, 0.2, 1.0]},
        "The spike of one step of Adam against the theory of a rank-one update",
    ),
}
