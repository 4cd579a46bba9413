r"""Which leak moves the threshold: start, margin and noise of the batches changed one at a time, over the sample size.

Theorem 2 has a margin, a dominated start and exact steps, and ends at two neurons.  Figure 1 has none of the three.
Here each is given back alone, at the width, the scale and the flow time of the others; all settings of one law of the
inputs share their data, draw by draw.  After the flow time all runs end with the finish of :mod:`.batch_noise`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import xarray as xr

from experiments.simplicity_bias import two_fits
from experiments.simplicity_bias.limits import anatomy
from experiments.simplicity_bias.transition import batch_noise
from experiments.simplicity_bias.transition import cells as transition
from shallow import checks, nets
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import teachers
from shallow.nets import TwoLayer
from shallow.stats import stream
from shallow.train import minibatch

#: Inputs with a margin are Gaussian conditioned on $|x_1| \ge c\|x\|$ with this c, then whitened.
MARGIN = 0.3
#: Scale of the smaller dominated start.
SMALL = 1e-5
#: Flow time $T = 2 \eta \cdot$ steps, and the times of the looks; rate and batch (0: all samples) by name.
TIME, TIMES = 5000.0, (100.0, 1000.0, 5000.0)
STEPS = {"batches of 32": (0.01, 32), "exact steps": (0.02, 0)}
#: Up to the first look, while neurons turn, exact steps are finer by this factor.
FINER = 4


class Setting(NamedTuple):
    r"""Start: "gaussian" (Appendix A.1) or "dominated" (eq. 8); its scale $\lambda$ (0: Figure 1's); margin or not."""

    start: str
    scale: float = 0.0
    margin: bool = False


SETTINGS = {
    "Figure 1": Setting("gaussian"),
    "margin": Setting("gaussian", margin=True),
    "(8)": Setting("dominated"),
    "(8), small": Setting("dominated", SMALL),
    "(8), margin": Setting("dominated", margin=True),
}


def drawn(seed: int, n: int, setting: Setting, *, width: int, d: int) -> tuple[TwoLayer, teachers.Sample, TwoLayer]:
    """Teacher, sample and start of a run; the sample depends on the margin alone, directions not on the scale."""
    target, sample, network = transition.drawn(seed, n, d=d, width=width)
    if setting.margin:
        rng = stream("leaks", "data", seed, n, d)
        sample = teachers.labelled(rng, target, teachers.with_margin(rng, n, d, MARGIN, whiten=True))
    if setting.start == "dominated":
        scale = setting.scale or transition.deviation(width) * width**0.5
        network = nets.dominated(stream("leaks", "start", seed, width, d), width, d, scale)
    return target, sample, network


@releases_gil
def run(seed: int, n: int, *, setting: str, steps: str, width: int = 256, d: int = 5, time: float = TIME) -> xr.Dataset:
    r"""One run at a constant rate for a flow time, then the finish.

    Returns, at :data:`TIMES` and as `settled_*` after the finish: train, mean square on the sample, and outside, share
    of the mass $|a_j|\|w_j\|$ with a cosine below 0.95 to $\pm\beta^*$; and `ols`, train loss of least squares.
    Cost: 0.4 microseconds per step and sample of a batch on one core.  In float64, as float32 rounds parallel
    neurons apart.
    """
    checks.one_of(SETTINGS, setting=setting)
    checks.one_of(STEPS, steps=steps)
    target, sample, network = drawn(seed, n, SETTINGS[setting], width=width, d=d)
    rate, batch = STEPS[steps]
    times = [t for t in TIMES if t <= time]
    rng = stream("leaks", "batches", d, n, width, seed)

    def look(network: TwoLayer) -> dict[str, float]:
        found = transition.measures(network, sample, target)
        return {name: found[name] for name in ("train", "outside")}

    def train(network: TwoLayer, rate: float, batch: int, time: float) -> TwoLayer:
        options = {"rate": rate, "steps": round(time / (2 * rate)), "batch": min(batch or n, n), "rng": rng}
        return minibatch.train(*sample, network, **options).network

    path, now = [], 0.0
    for stop in times:
        network = train(network, rate if now or batch else rate / FINER, batch, stop - now)
        path.append(look(network))
        now = stop
    found = {name: ("time", [value[name] for value in path]) for name in path[0]}
    found["ols"] = transition.least_squares(sample)[1]
    if now == TIME:
        settled = look(train(network, batch_noise.FINISH_RATE, 0, batch_noise.FINISH))
        found |= {f"settled_{name}": value for name, value in settled.items()}
    return xr.Dataset(found, {"time": times})


def of_two_fits(runs: xr.Dataset, setting: str, *, width: int = 256, d: int = 5) -> xr.DataArray:
    """Training loss of the two fits over that of least squares on the samples of a setting, mean over the draws."""
    shares = []
    for n in runs.n.values:
        samples = [drawn(int(seed), int(n), SETTINGS[setting], width=width, d=d)[1] for seed in runs.seed.values]
        both = [two_fits.as_network(two_fits.fits(*sample)) for sample in samples]
        losses = [transition.train_loss(fit, sample) for fit, sample in zip(both, samples, strict=True)]
        least = [transition.least_squares(sample)[1] for sample in samples]
        shares.append(np.mean(np.divide(losses, least)))
    return xr.DataArray(shares, {"n": runs.n}, ["n"])


#: Which neurons are taken away, and when: those unaligned at the end of early alignment, as many at random then, and
#: those unaligned when the linear function has been learned.
REMOVED = ("none", "late", "random", "last")


@releases_gil
def culled(
    seed: int, n: int, *, setting: str, removed: str, width: int = 256, d: int = 5, time: float = TIME
) -> xr.Dataset:
    r"""A run with batches of 32 of which some neurons are taken away early; then it goes on without them.

    Time and finish are those of :func:`run`.

    Returns, after the finish: train and outside, as :func:`run`; share, that of the neurons taken away; and `ols`.
    """
    checks.one_of(SETTINGS, setting=setting)
    checks.one_of(REMOVED, removed=removed)
    rate, batch = STEPS["batches of 32"]
    target, sample, network = drawn(seed, n, SETTINGS[setting], width=width, d=d)
    ols, rng = transition.least_squares(sample)[1], stream("leaks", "batches", d, n, width, seed)

    def train(network: TwoLayer, rate: float, batch: int, steps: int) -> TwoLayer:
        return minibatch.train(*sample, network, rate=rate, steps=steps, batch=min(batch, n), rng=rng).network

    taken = transition.early_step(sample, transition.deviation(width), rate)
    network = train(network, rate, batch, taken)
    while removed == "last" and transition.train_loss(network, sample) > 1.1 * ols and 2 * rate * taken < time:
        network, taken = train(network, rate, batch, round(1 / (2 * rate))), taken + round(1 / (2 * rate))
    tag = anatomy.unaligned(network, sample) if removed != "none" else np.zeros(width, dtype=bool)
    if removed == "random":
        tag = stream("leaks", "random", n, seed).permutation(tag)
    network = TwoLayer(network.W[~tag], network.b[~tag], network.v[~tag])
    network = train(network, rate, batch, max(0, round(time / (2 * rate)) - taken))
    if time == TIME:
        network = train(network, batch_noise.FINISH_RATE, n, round(batch_noise.FINISH / (2 * batch_noise.FINISH_RATE)))
    found = transition.measures(network, sample, target)
    return xr.Dataset({name: found[name] for name in ("train", "outside")} | {"share": tag.mean(), "ols": ols})


SIZES = [30, 50, 75, 110, 160, 250, 375, 560]
BATCHES, MORE = list(STEPS)[:1], list(range(3, 10))
RECORDS: dict[str, Recipe] = {
    "leaks": Recipe(
        run,
        {"setting": list(SETTINGS), "steps": list(STEPS), "n": SIZES, "seed": [0, 1, 2]},
        about="Start, margin and noise of the batches one at a time, 256 neurons, then a finish on full batches",
        shortened={"time": 100.0},
    ),
    "leaks_culled": Recipe(
        culled,
        {"setting": list(SETTINGS)[:2], "removed": list(REMOVED), "n": SIZES[3:7], "seed": [0, 1, 2]},
        about="The same with neurons taken away early that have turned too late, or as many others",
        shortened={"time": 100.0},
    ),
    "leaks_draws": Recipe(
        run,
        {"setting": list(SETTINGS), "steps": BATCHES, "n": SIZES, "seed": MORE},
        about="Start and margin one at a time, with batches: seven further draws",
        shortened={"time": 100.0},
    ),
    "leaks_culled_draws": Recipe(
        culled,
        {"setting": list(SETTINGS)[:2], "removed": list(REMOVED)[1:3], "n": SIZES[3:7], "seed": MORE},
        about="Neurons taken away early that have turned too late, or as many others: seven further draws",
        shortened={"time": 100.0},
    ),
}
#: Records of the same runs with batches, of further draws.
DRAWS = ("simplicity_bias/transition/leaks", "simplicity_bias/transition/leaks_draws")


def joined(runs: Iterable[xr.Dataset]) -> xr.Dataset:
    """The draws of several records, of what all have."""
    return xr.concat(list(runs), "seed", join="inner")
