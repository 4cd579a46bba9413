r"""The transition from interpolation to least squares: mini-batch runs from a small start, behind Figures 1 to 3.

The document gives the dimension, the teacher and the law of the data; width, initial variance, batch, learning rate,
budget and noise level are lost (Appendix A.1), and what stands here as a default is a plausible value, not the
authors'.  Every one of them is a parameter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import partial

import numpy as np
import xarray as xr

from shallow import alignment, checks, clusters, gaussian_loss, nets
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import teachers
from shallow.nets import TwoLayer
from shallow.stats import stream
from shallow.train import minibatch

#: Unsourced settings of Figure 1.
WIDTH, NARROW, BATCH, RATE, STEPS = 10_000, 1008, 32, 0.01, 8_000_000
#: Steps at which every run is looked at.
SNAPSHOTS = (
    0,
    100,
    300,
    1000,
    3000,
    10_000,
    30_000,
    100_000,
    200_000,
    300_000,
    500_000,
    1_000_000,
    2_000_000,
    4_000_000,
    6_000_000,
    8_000_000,
    16_000_000,
    32_000_000,
)
#: Flow times at which runs of different rates are compared.
TIMES = (10.0, 100.0, 1e3, 3e3, 1e4, 2e4, 4e4, 8e4)
#: The end of early alignment is taken at the flow time EPSILON ln(1/s) / |D_n(beta*)|, s the initial deviation.
EPSILON = 1 / 3
TOLERANCES = (0.02, 0.05, 0.1)
HEAVIEST = 128  # clusters that are kept of a final network


def deviation(width: int) -> float:
    r"""The initial standard deviation of Figure 1, $\sqrt{10^{-5}/\sqrt m}$ (unsourced)."""
    return (1e-5 / width**0.5) ** 0.5


def teacher_of(kind: str, d: int) -> TwoLayer:
    """The linear teacher e_1 ("linear"), or the draw of a 5-ReLU teacher whose number stands in the name ("relu 0")."""
    name, _, draw = kind.partition(" ")
    if name == "linear" and not draw:
        return teachers.first_axis(d)
    if name != "relu" or not draw.isdigit():
        raise ValueError(f"teacher must be 'linear' or 'relu K' with a number K, got {kind!r}")
    return teachers.relu(stream("simplicity bias", "teacher", int(draw)), 5, d)


def drawn(
    seed: int, n: int, *, d: int = 5, teacher: str = "linear", width: int = NARROW, scale: float | None = None
) -> tuple[TwoLayer, teachers.Sample, TwoLayer]:
    """Teacher, sample and initial network of a run; data and initialisation are drawn anew for every n and seed."""
    target = teacher_of(teacher, d)
    sample = teachers.gaussian(stream("simplicity bias", "data", teacher, d, n, seed), target, n)
    rng = stream("simplicity bias", "initialisation", d, n, width, seed)
    return target, sample, nets.small(rng, width, d, deviation(width) if scale is None else scale)


def train_loss(network: TwoLayer, sample: teachers.Sample) -> float:
    """Mean square on the whole sample, without the factor 1/2; in blocks, for any width."""
    rows = max(1, 2_000_000 // network.width)
    squares = [
        np.sum((network.forward(sample.x[i : i + rows]) - sample.y[i : i + rows]) ** 2)
        for i in range(0, len(sample.y), rows)
    ]
    return float(np.sum(squares) / len(sample.y))


def least_squares(sample: teachers.Sample) -> tuple[np.ndarray, float]:
    """Ordinary least squares without intercept: coefficients (d,) and its training loss."""
    beta, *_ = np.linalg.lstsq(sample.x, sample.y, rcond=None)
    return beta, float(np.mean((sample.x @ beta - sample.y) ** 2))


def measures(network: TwoLayer, sample: teachers.Sample, target: TwoLayer) -> dict[str, float]:
    r"""What is recorded at every snapshot.

    train: mean square on the training sample; excess: population risk above the noise, exact;
    clusters, effective_width: of the mass $|a_j|\|w_j\|$ over directions, caps of 0.05 rad;
    outside: share of the mass with $|\cos\angle(w_j, e_1)| < 0.95$; mass: its sum.
    """
    found = clusters.find(network)
    cosine = np.abs(network.W[:, 0]) / np.maximum(np.linalg.norm(network.W, axis=1), 1e-300)
    return {
        "train": train_loss(network, sample),
        "excess": gaussian_loss.excess_risk(network, target),
        "clusters": float(found.number()),
        "effective_width": found.effective_width,
        "outside": float(found.mass[cosine < 0.95].sum() / found.mass.sum()),
        "mass": float(found.mass.sum()),
    }


@releases_gil
def run(
    seed: int,
    n: int,
    *,
    teacher: str = "linear",
    d: int = 5,
    width: int = NARROW,
    scale: float | None = None,
    rate: float = RATE,
    batch: int = BATCH,
    steps: int = STEPS,
    snapshots: Sequence[int] = SNAPSHOTS,
    decayed: int = 0,
    anatomy: bool = False,
    keep: bool = False,
) -> xr.Dataset:
    r"""One run of Figure 1 or 3, and of Figure 2 if `decayed` is positive.

    Args:
        scale: standard deviation of every initial weight; by default :func:`deviation` of the width.
        batch: samples in a batch; n or more is the full batch.
        snapshots: those up to `steps`, and `steps` itself, are recorded.
        decayed: further steps from the final point, with the rate multiplied by 0.85 every 50,000 (Figure 2).

    Returns the :func:`measures` by step; `ols` and `ols_excess`, training loss and excess risk of least squares on the
    same data; with `decayed`, `decayed_train` every 50,000 steps from the restart on, and the measures of the end as
    `decayed_*`; with `anatomy`, what :func:`dissect` finds; with `keep`, the final `weights`, w and then a, float32.

    Cost: 10 microseconds per step at width 1008, d = 5 and batch 32 on one core, 95 at width 10,000.
    """
    target, sample, start = drawn(seed, n, d=d, teacher=teacher, width=width, scale=scale)
    rng = stream("simplicity bias", "batches", d, n, width, seed)
    early = early_step(sample, deviation(width) if scale is None else scale, rate)
    shown = sorted({*(s for s in snapshots if s <= steps), steps})
    kept: dict[int, TwoLayer] = {}

    def look(network: TwoLayer) -> dict[str, float]:
        step = recorded[len(kept)]
        kept[step] = network if step in (early, steps) else None
        return measures(network, sample, target) if step in shown else {}

    recorded = sorted({*shown, *([early] if early <= steps else [])})
    options = {"batch": min(batch, n), "rng": rng, "dtype": np.float32}
    path = minibatch.train(sample.x, sample.y, start, rate=rate, steps=steps, records=recorded, measure=look, **options)
    values = [value for value in path.values if value]
    found = xr.Dataset({name: ("step", [v[name] for v in values]) for name in values[0]}, {"step": shown})
    beta, ols = least_squares(sample)
    found = found.assign(ols=ols, ols_excess=gaussian_loss.excess_risk(teachers.linear(beta), target))
    if anatomy:
        found = found.merge(dissect(kept[early], kept[steps], sample))
    if decayed:
        found = found.merge(_decay(path.network, sample, target, decayed, rate, options))
    if keep:
        weights = np.column_stack([path.network.W, path.network.v]).astype(np.float32)
        found = found.assign(weights=(("neuron", "coordinate"), weights))
    return found


@releases_gil
def at_equal_time(seed: int, n: int, *, rate: float, time: float = 2e4, **setting) -> xr.Dataset:
    r""":func:`run` up to a flow time $T = 2\eta \cdot$ steps, for any rate; dimension time in the place of step."""
    times = np.array([t for t in TIMES if t <= time])
    steps = np.round(times / (2 * rate)).astype(int)
    found = run(seed, n, rate=rate, steps=int(steps[-1]), snapshots=steps.tolist(), **setting)
    return found.rename(step="time").assign_coords(time=times)


def early_step(sample: teachers.Sample, scale: float, rate: float) -> int:
    r"""The step at which early alignment ends: flow time $\varepsilon \ln(1/s) / \|D_n(\beta^*)\|$ over $2\eta$."""
    pull = np.linalg.norm(alignment.vector(sample.x, sample.y, np.eye(sample.x.shape[1])[0]))
    return max(1, round(EPSILON * np.log(1 / scale) / pull / (2 * rate)))


def dissect(early: TwoLayer, late: TwoLayer, sample: teachers.Sample) -> xr.Dataset:
    r"""What the final network is made of, in terms of what early alignment left.

    Returns:
        purity: share of the late mass (or of the neurons) that its early cluster keeps together;
        early_clusters, late_clusters: clusters that carry 99 % of the mass;
        unaligned: share of the neurons with $|\cos\angle(w_j, D_n(w_j))| < 0.9$ at the end of early alignment;
        heaviest: the :data:`HEAVIEST` clusters of 0.02 rad of the final network among the neurons that were aligned
        then, and among the others: w and then a, float32; kept: share of each part's mass that they carry.
    """
    d = sample.x.shape[1]
    both = [[clusters.find(network, tolerance) for tolerance in TOLERANCES] for network in (early, late)]
    mass = both[1][0].mass
    weights = {"mass": mass, "neurons": np.ones(len(mass))}
    purity = [
        [clusters.purity(first.labels, last.labels, weight) for weight in weights.values()]
        for first, last in zip(*both, strict=True)
    ]
    aligned = alignment_cosine(early, sample) >= 0.9
    heaviest, kept = np.zeros((2, HEAVIEST, d + 1), np.float32), np.zeros(2)
    for part, chosen in enumerate((aligned, ~aligned)):
        if mass[chosen].sum() > 0:
            network = TwoLayer(late.W[chosen], late.b[chosen], late.v[chosen])
            found = clusters.find(network, TOLERANCES[0])
            merged = clusters.condensed(network, found)
            rows = np.column_stack([merged.W, merged.v])[:HEAVIEST]
            heaviest[part, : len(rows)] = rows
            kept[part] = found.masses[:HEAVIEST].sum() / found.masses.sum()
    return xr.Dataset(
        {
            "purity": (("tolerance", "weight"), purity),
            "early_clusters": ("tolerance", [float(one.number()) for one in both[0]]),
            "late_clusters": ("tolerance", [float(one.number()) for one in both[1]]),
            "unaligned": float(np.mean(~aligned)),
            "heaviest": (("part", "cluster", "coordinate"), heaviest),
            "kept": ("part", kept),
            "share": ("part", [mass[chosen].sum() / mass.sum() for chosen in (aligned, ~aligned)]),
        },
        {"tolerance": list(TOLERANCES), "weight": list(weights), "part": ["aligned", "unaligned"]},
    )


def alignment_cosine(network: TwoLayer, sample: teachers.Sample) -> np.ndarray:
    r"""$|\cos\angle(w_j, D_n(w_j))|$ of every neuron, shape (m,); in blocks, O(m n d)."""
    blocks = np.array_split(network.W, max(1, network.width * len(sample.y) // 4_000_000))
    pulls = np.concatenate([alignment.vector(sample.x, sample.y, block) for block in blocks])
    norms = np.linalg.norm(network.W, axis=1) * np.linalg.norm(pulls, axis=1)
    return np.abs(np.sum(network.W * pulls, axis=1)) / np.maximum(norms, 1e-300)


def _decay(start: TwoLayer, sample, target, steps: int, rate: float, options: dict) -> xr.Dataset:
    """Figure 2: the restart with a decaying rate."""
    shown = np.unique(np.append(np.arange(0, steps, 50_000), steps))
    path = minibatch.train(
        sample.x,
        sample.y,
        start,
        rate=rate,
        steps=steps,
        decay=0.85,
        every=50_000,
        records=shown,
        measure=lambda network: train_loss(network, sample),
        **options,
    )
    end = {
        f"decayed_{name}": value for name, value in measures(path.network, sample, target).items() if name != "train"
    }
    return xr.Dataset({"decayed_train": ("restart", path.values)} | end, {"restart": shown})


# Where interpolation is lost.  Two definitions, because the text mixes them: n_int, where the network stops to
# interpolate, and n_half, where it has come half of the way to least squares (Section 5, Appendix A.3; levels ours).


@dataclass(frozen=True)
class Bounds:
    """A positive number that is known (`low` and `high` are equal), or only bounded; a text says which of the two."""

    low: float
    high: float

    def __format__(self, spec: str) -> str:
        low, high = (format(value, spec or ".1f") for value in (self.low, self.high))
        if np.isinf(self.high):
            return f"at least {low}"
        return low if self.low == self.high else f"{low} to {high}" if self.low else f"at most {high}"

    def __str__(self) -> str:
        return format(self, "")

    def over(self, other: Bounds) -> Bounds:
        """The quotient of two."""
        with np.errstate(divide="ignore"):
            return Bounds(float(np.divide(self.low, other.high)), float(np.divide(self.high, other.low)))

    def factor(self) -> Bounds:
        """The change that a quotient stands for, in either direction: at least 1."""
        lowest = max(self.low, 1 / self.high, 1.0)
        return Bounds(lowest, max(self.high, 1 / self.low if self.low else np.inf, lowest))


def crossing(n: np.ndarray, excess: np.ndarray) -> Bounds:
    r"""The n at which a quantity known at ascending sample sizes first becomes positive.

    Between the last n with a value of at most 0 and the first with a positive one, n is interpolated linearly in
    $\log n$.  If the first value is positive already, it lies in [0, first n]; if none is, in [last n, infinity].
    """
    checks.array(("sizes",), n=n, excess=excess)
    checks.positive(n=n)
    n, excess = np.asarray(n, dtype=float), np.asarray(excess, dtype=float)
    if (np.diff(n) <= 0).any():
        raise ValueError(f"n must be ascending, got {n}")
    if not (excess > 0).any():
        return Bounds(float(n[-1]), np.inf)
    i = int(np.argmax(excess > 0))
    if i == 0:
        return Bounds(0.0, float(n[0]))
    share = -excess[i - 1] / (excess[i] - excess[i - 1])
    place = float(np.exp((1 - share) * np.log(n[i - 1]) + share * np.log(n[i])))
    return Bounds(place, place)


def thresholds(final: xr.Dataset, noise: float = teachers.NOISE) -> xr.Dataset:
    r"""`interpolation` ($n_{int}$, train > noise / 10) and `half` ($n_{half}$, train > OLS train / 2) by replicate.

    Each with a dimension `bound`, "low" and "high", as a :class:`Bounds` have.

    Args:
        final: variables train and ols with a dimension n, and others (seed, teacher, ...), at one step.
    """
    levels = {"interpolation": xr.full_like(final.ols, noise / 10), "half": final.ols / 2}
    found = {
        name: xr.apply_ufunc(
            lambda values: np.array(astuple(crossing(final.n.values, values))),
            final.train - level,
            input_core_dims=[["n"]],
            output_core_dims=[["bound"]],
            vectorize=True,
        )
        for name, level in levels.items()
    }
    return xr.Dataset(found).assign_coords(bound=["low", "high"])


def known(found: xr.DataArray) -> xr.DataArray:
    """Thresholds that the sizes that were run determine, NaN for those of which they only give a bound."""
    low, high = (found.sel(bound=name, drop=True) for name in ("low", "high"))
    return low.where(low == high)


#: Sample sizes of Figure 1 (the document's are lost), and the narrow network's further ones.
SIZES = [100, 200, 350, 500, 750, 1000, 1250, 1500, 2000, 3000, 5000, 10_000]
#: Sample sizes in three dimensions.
SIZES_3 = [17, 34, 68, 135, 270, 540, 1080]
SEEDS = [0, 1, 2]
#: A cell is verified by the first thousand steps of the same run, in a second at most.
SHORT = {"steps": 1000, "anatomy": False, "decayed": 0, "keep": False}
_runs = partial(Recipe, run, shortened=SHORT)
_at_equal_time = partial(Recipe, at_equal_time, shortened={"time": 10.0})
#: Sizes and seed of the runs with other settings.
AROUND = {"n": [350, 500, 750, 1000, 1500, 2000, 3000, 5000], "seed": [0]}

RECORDS: dict[str, Recipe] = {
    "figure_1": _runs(
        {"n": SIZES, "seed": [0]},
        {"width": WIDTH, "anatomy": True},
        "Figure 1 at full scale: 10,000 neurons, 8 million steps",
    ),
    "figure_1_narrow": _runs(
        {"n": [30, 50, *SIZES, 30_000], "seed": SEEDS},
        {"width": NARROW, "anatomy": True, "keep": True, "decayed": 2_000_000},
        "Figures 1 and 2 with 1008 neurons: 8 million steps, then 2 million with a decaying rate",
    ),
    "dimension_3": _runs({"n": SIZES_3, "seed": SEEDS}, {"d": 3}, "The threshold in dimension 3"),
    "scales": _runs(
        {"scale": [1e-6, 1e-2, NARROW**-0.5], "n": [*AROUND["n"], 10_000], "seed": [0]},
        {"steps": 2_000_000},
        "Sensitivity to the initial scale",
    ),
    "rates": _at_equal_time(
        {"rate": [0.05, 0.003, 0.001]} | AROUND, about="Sensitivity to the learning rate at equal flow time"
    ),
    "batches": _at_equal_time(
        {"batch": [8, 128]} | AROUND, {"rate": 0.01}, "Sensitivity to the batch at equal flow time"
    ),
    "full_batch": _at_equal_time(
        {"n": [500, 1000, 2000, 5000], "seed": [0]},
        {"rate": 0.05, "batch": 1_000_000},
        "Full-batch descent at the flow time of the mini-batch runs",
    ),
    "small_rates": _at_equal_time(
        {"rate": [0.05, 0.003, 0.001], "n": [2000], "seed": [0]},
        {"time": 8e4},
        "Small learning rates above the threshold, to four times the flow time",
    ),
    "widths": _runs({"width": [100, 300, 1000, 3000], "seed": SEEDS}, {"n": 5000}, "The width at 5000 points"),
    "late": _runs(
        {"n": [5000, 10_000], "seed": [0]}, {"steps": 32_000_000}, "Four times the steps above the threshold"
    ),
}
