r"""When neurons gather in two directions and stay there: scale of the start, margin, noise of the batches, sample size.

From the dominated start (8) all neurons with one sign of $a_j$ come together.  A *group* is the neurons of one sign;
a data hyperplane $x_k^\perp$ *cuts* it where some of its neurons are active on $x_k$ and others are not.  A group that
is not cut is one ReLU unit, $\sigma(\langle \beta_\pm, x\rangle)$ up to sign, with $\beta_\pm = \sum a_j w_j$.
Losses are mean squares without 1/2; a step of rate $\eta$ is $2\eta$ units of flow time.  (Section 4.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from experiments.simplicity_bias import two_fits
from experiments.simplicity_bias.transition import cells as transition
from shallow import checks, nets
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import teachers
from shallow.nets import TwoLayer
from shallow.stats import stream
from shallow.train import minibatch

#: Inputs with a margin are Gaussian conditioned on $|x_1| \ge c\|x\|$ with this c, then whitened.
MARGIN = 0.3
#: A neuron is outside if the cosine of its direction to +-beta* is below this.
MAIN = 0.95
#: Rate and batch (0: all samples) by name; the full batch takes a fifth of the rate up to the flow time EARLY.
NOISE = {"rate 0.01": (0.01, 32), "rate 0.001": (0.001, 32), "full batch": (0.05, 0)}
EARLY, FINER = 200.0, 5
#: After the last time the rate is halved so often, at equal intervals of steps; in all DECAY more units of flow time.
HALVINGS, DECAY = 8, 200.0
FRESH = 20_000
SIGNS = (1, -1)


def draw(seed: int, n: int, *, d: int = 5, margin: bool = False) -> tuple[teachers.Sample, teachers.Sample]:
    """A sample of the linear teacher e_1 with noise, and fresh inputs with labels that have none."""
    rng = stream("gathering", "data", seed, n, d)
    c = MARGIN if margin else 0.0
    x, fresh = (teachers.with_margin(rng, size, d, c, whiten=margin) for size in (n, FRESH))
    return teachers.labelled(rng, teachers.first_axis(d), x), teachers.Sample(fresh, fresh[:, 0])


@releases_gil
def gathered(
    seed: int,
    n: int,
    *,
    scale: float,
    noise: str = "full batch",
    margin: bool = False,
    times: Sequence[float],
    width: int = 128,
    d: int = 5,
    per_sample: bool = False,
    decayed: bool = True,
) -> xr.Dataset:
    r"""One run from (8), looked at at the flow times `times` (ascending) and once more when the rate has decayed.

    Times are multiples of n where `per_sample`.

    Returns :func:`look` at every time; by name, the last one "end", DECAY after the last of `times`.  And once:
    ols_train, fits_train, train losses of least squares and of the two fits of $S_\pm$, fits_excess.

    Cost: $O(n m d)$ per step of the full batch.  In float64: float32 rounds parallel neurons apart.
    """
    checks.one_of(NOISE, noise=noise)
    sample, fresh = draw(seed, n, d=d, margin=margin)
    network = nets.dominated(stream("gathering", "network", seed, width, d), width, d, scale)
    (rate, batch), rng = NOISE[noise], stream("gathering", "batches", seed, n, noise)
    options = {"batch": batch or n, "rng": rng}
    ends = [time * n if per_sample else time for time in times]
    found, now = [], 0.0
    for stop in sorted({*ends, EARLY} if batch == 0 and ends[-1] > EARLY else ends):
        used = rate / FINER if batch == 0 and now < EARLY else rate
        steps = round(stop / (2 * used)) - round(now / (2 * used))
        network, now = minibatch.train(*sample, network, rate=used, steps=steps, **options).network, stop
        if stop in ends:
            found.append(look(network, sample, fresh))
    if decayed:
        every = round(DECAY / (4 * rate))
        network = minibatch.train(
            *sample, network, rate=rate / 2, steps=HALVINGS * every, decay=0.5, every=every, **options
        ).network
        found.append(look(network, sample, fresh))
    fits = two_fits.as_network(two_fits.fits(*sample))
    references = {
        "ols_train": transition.least_squares(sample)[1],
        "fits_train": transition.train_loss(fits, sample),
        "fits_excess": transition.train_loss(fits, fresh),
    }
    return (
        xr.concat(found, "time")
        .assign(references)
        .assign_coords(time=[str(time) for time in times] + ["end"] * decayed)
    )


def look(network: TwoLayer, sample: teachers.Sample, fresh: teachers.Sample) -> xr.Dataset:
    r"""What a network is made of; a group's mass is $|a_j|\|w_j\|$, its centre the direction of $\sum |a_j| w_j$.

    Returns:
        train, excess: mean squares; outside: share of the mass with a cosine below 0.95 to $\pm\beta^*$; mass.
        patterns: how many different activation patterns the neurons have on the sample; room: :func:`room`.
    and for either sign of $a_j$:
        radius: largest angle of a neuron to its group's centre, spread: its root mean square by mass; in radians.
        gap: smallest angle of the centre to a data hyperplane; cuts: how many data hyperplanes cut the group.
        room: see :func:`room`.
        resting: train loss of two ReLU units that descend from the groups' sums to rest; away: squared distance in the
        mean over the sample between them and the network.
    """
    x, y = sample
    norms = np.linalg.norm(network.W, axis=1)
    mass, active = np.abs(network.v) * norms, network.W @ x.T > 0
    units = resting(sample, two_fits.sums(network))
    parts = [_group(network, sample, sign * network.v > 0) for sign in SIGNS]
    outputs = network.forward(x)
    return xr.Dataset(
        {
            "train": float(np.mean((outputs - y) ** 2)),
            "excess": transition.train_loss(network, fresh),
            "outside": mass[np.abs(network.W[:, 0]) < MAIN * norms].sum() / mass.sum(),
            "mass": mass.sum(),
            "patterns": len(np.unique(np.packbits(active, axis=1), axis=0)),
            "room": room(network, sample),
            "resting": float(np.mean((units.forward(x) - y) ** 2)),
            "away": float(np.mean((units.forward(x) - outputs) ** 2)),
        }
        | {name: ("sign", [part[name] for part in parts]) for name in parts[0]},
        {"sign": list(SIGNS)},
    )


def _group(network: TwoLayer, sample: teachers.Sample, members: np.ndarray) -> dict[str, float]:
    W, a = network.W[members], np.abs(network.v[members])
    norms = np.linalg.norm(W, axis=1)
    centre, lengths = a @ W, np.linalg.norm(sample.x, axis=1)
    centre = centre / np.linalg.norm(centre)
    angles = 2 * np.arcsin(np.minimum(np.linalg.norm(W / norms[:, None] - centre, axis=1) / 2, 1.0))
    share = (W @ sample.x.T > 0).mean(axis=0)
    return {
        "radius": angles.max(),
        "spread": np.sqrt(np.average(angles**2, weights=a * norms)),
        "gap": np.arcsin(np.abs(sample.x @ centre) / lengths).min(),
        "cuts": float(np.count_nonzero((share > 0) & (share < 1))),
    }


def resting(sample: teachers.Sample, both: np.ndarray, most: int = 200) -> TwoLayer:
    r"""Two ReLU units with sums $\beta_\pm$ (2, d), moved to where their train loss has a minimum.

    On the partition of the sample by the two units the loss is a quadratic; every move goes towards its least-squares
    solution, as far as the loss of the units falls, and the partition is taken anew.
    """
    x, y = sample
    d, signs = x.shape[1], np.array([1.0, -1.0])

    def loss(both: np.ndarray) -> float:
        return float(np.mean((np.maximum(signs * (x @ both.T), 0) @ signs - y) ** 2))

    now = loss(both)
    for _ in range(most):
        active = signs * (x @ both.T) > 0
        fitted = np.linalg.lstsq(np.hstack([active[:, [i]] * x for i in (0, 1)]), y)[0].reshape(2, d)
        tried = [both + 0.5**k * (fitted - both) for k in range(30)]
        losses = [loss(one) for one in tried]
        best = int(np.argmin(losses))
        if losses[best] >= now:
            break
        both, now = tried[best], losses[best]
    return two_fits.as_network(both)


def room(network: TwoLayer, sample: teachers.Sample) -> float:
    r"""How far the flow is from being able to change any pattern: positive only if none will ever change.

    Where no group is cut, $\beta = (\beta_+, \beta_-)$ descends a quadratic with Hessian H and excess E (with 1/2) to
    its least-squares solution $\beta_n$.  With $q = \min_\pm \|\beta_{n\pm}\| - (2E/\lambda_{\min})^{1/2}$, the length
    $\int \|D\| dt$ is at most $U = (2 \lambda_{\max} E)^{1/2} / (\lambda_{\min} q)$, and a state $(w_j, a_j)$ moves by
    at most $e^U - 1$ times its norm.  Returned is $\min_j \ln(1 + \text{distance of } w_j \text{ from the nearest data
    hyperplane} / \|(w_j, a_j)\|) - U$; minus infinity where a group is cut.
    """
    x, y = sample
    hidden = network.W @ x.T
    halves = [hidden[sign * network.v > 0] > 0 for sign in SIGNS]
    if any(len(half) == 0 or (half != half[0]).any() for half in halves):
        return -np.inf
    features = np.hstack([half[0][:, None] * x for half in halves])
    H, both = features.T @ features / len(y), two_fits.sums(network).ravel()
    low, *_, high = np.linalg.eigvalsh(H)
    fitted = np.linalg.lstsq(features, y)[0]
    excess = (both - fitted) @ H @ (both - fitted) / 2
    q = np.linalg.norm(fitted.reshape(2, -1), axis=1).min() - np.sqrt(2 * excess / low)
    if q <= 0:
        return -np.inf
    distances = np.abs(hidden / np.linalg.norm(x, axis=1)).min(axis=1)
    states = np.linalg.norm(np.column_stack([network.W, network.v]), axis=1)
    return float(np.log1p(distances / states).min() - np.sqrt(2 * high * excess) / (low * q))


#: Flow times of the looks; of the search for the largest scale, over n.
TIMES, PER_SAMPLE = [50, 200, 1000, 4000], [0.1, 0.5]
SCALES = [0.0178, 1e-3, 1e-4, 1e-5, 1e-6]
FINE = [float(f"{10.0 ** (-k / 2):.3g}") for k in range(3, 11)]
RECORDS: dict[str, Recipe] = {
    "gathering": Recipe(
        gathered,
        {"n": [1000, 2000], "noise": list(NOISE), "scale": SCALES, "seed": [0, 1, 2]},
        {"times": TIMES},
        "Whether neurons stay in two groups, by scale of the start and noise of the batches, no margin",
        shortened={"times": TIMES[:1], "decayed": False},
    ),
    "gathering_margin": Recipe(
        gathered,
        {"n": [1000], "noise": list(NOISE)[::2], "scale": SCALES[::2], "seed": [0, 1, 2]},
        {"times": TIMES, "margin": True},
        "The same with a margin",
        shortened={"times": TIMES[:1], "decayed": False},
    ),
    "gathering_sizes": Recipe(
        gathered,
        {"n": [250, 500, 1000, 2000, 4000], "scale": FINE, "seed": list(range(6))},
        {"times": PER_SAMPLE, "per_sample": True, "width": 64},
        "The same by scale of the start and sample size, full batch, no margin",
        shortened={"times": PER_SAMPLE[:1], "decayed": False},
    ),
}
