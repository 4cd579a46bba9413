r"""A limit of training taken apart: which neurons make it, and what it has beyond two ReLU units.

Training from small weights on labels $y = \langle\beta^*, x\rangle + \eta$ is stopped at two early moments, the end of
early alignment (:func:`transition.early_step`), and the first time at which the train loss is within a tenth of that of
least squares, when the linear estimator has been *learned*.  Neurons are tagged at
either moment and followed.  Eight settings tell apart what might keep the limit from being two ReLU units: the start,
inputs near the hyperplane orthogonal to $\beta^*$, and the noise of the batches.  (Sections 3-5.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import xarray as xr

from experiments.simplicity_bias import two_fits
from experiments.simplicity_bias.transition import cells as transition
from shallow import alignment, checks, clusters, gaussian_loss, nets
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import teachers
from shallow.nets import TwoLayer
from shallow.stats import stream
from shallow.train import minibatch

#: Inputs with a margin are Gaussian conditioned on $|x_1| \ge c\|x\|$ with this c, then whitened.
MARGIN = 0.3
#: A neuron is unaligned if the cosine of its direction to +-D_n is below the first, an outlying component of the limit
#: if the cosine to +-beta* is below the second.
ALIGNED, MAIN = 0.9, 0.95
TOLERANCES = (0.02, 0.05, 0.1)


class Setting(NamedTuple):
    """Start, "gaussian" (Appendix A.1) or "dominated" (eq. 8); inputs with or without margin; rate; batch (0: all)."""

    start: str = "gaussian"
    margin: bool = False
    rate: float = 0.01
    batch: int = 32


SETTINGS = {
    "Figure 1": Setting(),
    "(8)": Setting(start="dominated"),
    "margin": Setting(margin=True),
    "(8), margin": Setting(start="dominated", margin=True),
    "rate / 10": Setting(rate=0.001),
    "(8), rate / 10": Setting(start="dominated", rate=0.001),
    "full batch": Setting(rate=0.1, batch=0),
    "(8), full batch": Setting(start="dominated", rate=0.1, batch=0),
}


@releases_gil
def anatomy(seed: int, *, setting: str, n: int, times: Sequence[float], width: int = 1008, d: int = 5) -> xr.Dataset:
    r"""One run followed to the flow times `times` (ascending), $t = 2 \cdot \mathrm{rate} \cdot \mathrm{steps}$.

    Returns, with mass $|a_j|\|w_j\|$ and losses the mean square without 1/2, at every time:
        train, excess: losses of the network; excess is exact for Gaussian inputs, else over 50000 points;
        mass, outside: the whole mass, and the share of it further than cosine 0.95 from $\pm\beta^*$;
        number (also by tolerance): clusters that carry 99 % of the mass; effective_width: their participation ratio;
        kept, kept_unweighted (by moment and tolerance): :func:`clusters.purity` of the clusters of the moment, by mass
            at the time and by number of neurons;
        share (by moment): share of the mass of the neurons that were unaligned at the moment;
        without (by moment): train loss when the neurons that were unaligned at the moment are removed and the two main
            components refitted; without_random: when as many neurons drawn at random are;
        top, top_random: share of the 5 % of samples that gain most in what the neurons removed ("learnt") gain.
    And once: ols_train, ols_excess, halves_train, halves_excess; by moment unaligned (share of the neurons),
    moment_time, and number_then (also by tolerance).
    """
    checks.one_of(SETTINGS, setting=setting)
    chosen, teacher = SETTINGS[setting], teachers.first_axis(d)
    sample, fresh = _data(seed, n, d, margin=chosen.margin)
    deviation, rng = transition.deviation(width), stream("anatomy", "start", seed, width, d)
    if chosen.start == "gaussian":
        network = nets.small(rng, width, d, deviation)
    else:
        network = nets.dominated(rng, width, d, deviation * width**0.5)
    excess = _risk(teacher, fresh)
    rng = stream("anatomy", "batches", seed, n, setting)
    references = {
        "ols": teachers.linear(np.linalg.lstsq(*sample)[0]),
        "halves": two_fits.as_network(two_fits.fits(*sample)),
    }
    losses = {
        f"{name}_{kind}": of(fit)
        for name, fit in references.items()
        for kind, of in (("train", lambda fit: transition.train_loss(fit, sample)), ("excess", excess))
    }
    run = _Flow(sample, network, chosen, rng)
    moments = _moments(run, deviation, 1.1 * losses["ols_train"])
    early = [[clusters.find(network, tolerance) for tolerance in TOLERANCES] for network, _ in moments.values()]
    tags = {name: unaligned(network, sample) for name, (network, _) in moments.items()}
    random = {name: rng.permutation(tag) for name, tag in tags.items()}
    found = []
    for time in times:
        run.proceed(time)
        now = _measures(run.network, sample, early, tags, random)
        found.append(now.assign(excess=excess(run.network)))
    once = xr.Dataset(
        losses
        | {
            "unaligned": ("moment", [tag.mean() for tag in tags.values()]),
            "moment_time": ("moment", [time for _, time in moments.values()]),
            "number_then": (("moment", "tolerance"), [[float(groups.number()) for groups in row] for row in early]),
        }
    )
    return xr.merge([xr.concat(found, "time"), once]).assign_coords(
        time=list(times), moment=list(tags), tolerance=list(TOLERANCES)
    )


def _data(seed: int, n: int, d: int, *, margin: bool) -> tuple[teachers.Sample, np.ndarray | None]:
    """The sample, the same for all settings of one input law, and fresh inputs where Gaussian formulas do not hold."""
    if not margin:
        return transition.drawn(seed, n, d=d)[1], None
    rng = stream("anatomy", "data", seed, n, d)
    draws = [teachers.with_margin(rng, size, d, MARGIN, whiten=True) for size in (n, 50_000)]
    return teachers.labelled(rng, teachers.first_axis(d), draws[0]), draws[1]


class _Flow:
    """A network under mini-batch descent, asked for at increasing flow times."""

    def __init__(self, sample: teachers.Sample, network: TwoLayer, setting: Setting, rng: np.random.Generator):
        self.sample, self.network, self.rate, self.taken = sample, network, setting.rate, 0
        self.options = {"rate": setting.rate, "batch": setting.batch or len(sample.y), "rng": rng, "dtype": np.float32}

    def proceed(self, time: float) -> None:
        steps = round(time / (2 * self.rate)) - self.taken
        if steps > 0:
            self.network = minibatch.train(*self.sample, self.network, steps=steps, **self.options).network
            self.taken += steps


def _moments(run: _Flow, deviation: float, enough: float) -> dict[str, tuple[TwoLayer, float]]:
    """Network and flow time at the end of early alignment, and at the first whole time with a loss below `enough`."""
    tau = 2 * run.rate * transition.early_step(run.sample, deviation, run.rate)
    run.proceed(tau)
    found = {"aligned": (run.network, tau)}
    time = np.ceil(tau)
    while True:
        run.proceed(time)
        if transition.train_loss(run.network, run.sample) < enough:
            return found | {"learnt": (run.network, time)}
        if time > 100 * tau:
            raise RuntimeError(f"the linear estimator was not learned up to the time {time}")
        time += 1.0


def unaligned(network: TwoLayer, sample: teachers.Sample) -> np.ndarray:
    r"""Whether $|\cos\angle(w_j, D_n(w_j))|$ is below 0.9, shape (m,)."""
    pull = alignment.vector(*sample, network.W)
    sizes = np.linalg.norm(network.W, axis=1) * np.linalg.norm(pull, axis=1)
    return np.abs(np.sum(network.W * pull, axis=1)) < ALIGNED * sizes


def _measures(
    network: TwoLayer,
    sample: teachers.Sample,
    early: list[list[clusters.Clusters]],
    tags: dict[str, np.ndarray],
    random: dict[str, np.ndarray],
) -> xr.Dataset:
    norms = np.linalg.norm(network.W, axis=1)
    mass = np.abs(network.v) * norms
    now = [clusters.find(network, tolerance) for tolerance in TOLERANCES]
    kept, unweighted = (
        [[clusters.purity(old.labels, new.labels, weight) for old, new in zip(row, now)] for row in early]
        for weight in (mass, np.ones_like(mass))
    )
    without, without_random = (
        [float(np.mean(without_neurons(network, sample, tag) ** 2)) for tag in chosen.values()]
        for chosen in (tags, random)
    )
    return xr.Dataset(
        {
            "train": transition.train_loss(network, sample),
            "mass": mass.sum(),
            "outside": mass[np.abs(network.W[:, 0]) < MAIN * norms].sum() / mass.sum(),
            "number": ("tolerance", [float(groups.number()) for groups in now]),
            "effective_width": ("tolerance", [groups.effective_width for groups in now]),
            "kept": (("moment", "tolerance"), kept),
            "kept_unweighted": (("moment", "tolerance"), unweighted),
            "share": ("moment", [mass[tag].sum() / mass.sum() for tag in tags.values()]),
            "without": ("moment", without),
            "without_random": ("moment", without_random),
            "top": top_share(network, sample, tags["learnt"]),
            "top_random": top_share(network, sample, random["learnt"]),
        }
    )


def without_neurons(network: TwoLayer, sample: teachers.Sample, removed: np.ndarray) -> np.ndarray:
    r"""Residuals without some neurons and with the two main components refitted, shape (n,).

    Refitting adds $\langle\delta_\pm, x\rangle \mathbf 1\{\pm\langle x, \beta^*\rangle > 0\}$ to the neurons that stay,
    with vectors $\delta_\pm$ by least squares.
    """
    rest = TwoLayer(network.W[~removed], network.b[~removed], network.v[~removed])
    residual = sample.y - rest.forward(sample.x)
    above = (sample.x[:, :1] > 0).astype(float)
    features = np.hstack([above * sample.x, (1 - above) * sample.x])
    return residual - features @ np.linalg.lstsq(features, residual)[0]


def top_share(network: TwoLayer, sample: teachers.Sample, tag: np.ndarray, share: float = 0.05) -> float:
    """What the samples that gain most by the tagged neurons have of all the square error gained; 0 without gain."""
    gain = np.sort(without_neurons(network, sample, tag) ** 2 - (network.forward(sample.x) - sample.y) ** 2)[::-1]
    whole = gain.sum()
    return float(gain[: round(share * len(gain))].sum() / whole) if tag.any() and whole > 0 else 0.0


def _risk(teacher: TwoLayer, x: np.ndarray | None) -> Callable[[TwoLayer], float]:
    """Excess risk over the inputs x, or exactly over Gaussian ones."""
    if x is None:
        return lambda network: gaussian_loss.excess_risk(network, teacher)
    labels = teacher.forward(x)
    return lambda network: float(np.mean((network.forward(x) - labels) ** 2))


#: Flow times at which the runs are looked at, two to a decade.
TIMES = [20, 63, 200, 632, 2000]
_runs = partial(Recipe, anatomy, shortened={"times": [20]})
RECORDS: dict[str, Recipe] = {
    "anatomy": _runs(
        {"setting": list(SETTINGS)[:4], "n": [2000, 5000, 10_000], "seed": [0, 1, 2]},
        {"times": TIMES},
        "Limits taken apart, with and without what Theorem 2 assumes",
    ),
    "anatomy_noise": _runs(
        {"setting": list(SETTINGS)[4:], "n": [2000], "seed": [0, 1, 2]},
        {"times": TIMES[:-1]},
        "The same with a tenth of the rate, and with the full batch",
    ),
}
