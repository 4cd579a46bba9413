r"""Why a poor cluster is first misfitted: the flow of the summed hinge with a fixed kernel, solved exactly.

Training points sit at k places, $n_j$ of them at $x_j$ with the label $y_j$.  With a fixed kernel the gradient flow
from a function $f_0$ is $f = f_0 + \sum_j \alpha_j y_j K(\cdot, x_j)$ with

.. math:: \dot\alpha_j = n_j s_j, \qquad s_j = 1 \text{ for } y_j f(x_j) < 1, \quad 0 \text{ for } y_j f(x_j) > 1,

and, where margins are 1, the shares $s_j \in [0, 1]$ of least speed.  It is piecewise linear.  Time is step times
epoch.  The chapter's page on theory proves what is computed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.optimize import lsq_linear

from experiments.cyclic_labels import loss_curves
from experiments.cyclic_labels.bumps import cells as bumps
from experiments.cyclic_labels.loss_curves import EPOCHS, GRID
from experiments.cyclic_labels.theory import wide_kernels
from shallow import checks, nets
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import cyclic
from shallow.display import short
from shallow.kernels import empirical
from shallow.train import univariate

POOR, WIDTH = 5, 512  # the cluster with few points; the width of the networks
CLOSE = 1e-9  # margins and shares so near to a bound are at it
REFINED = 10  # networks with small steps take a tenth of the step and ten times as many


@dataclass(frozen=True)
class Flow:
    """A solution up to zero loss, or to the time at which it was stopped; linear between its E corners."""

    times: np.ndarray  # of the corners (E,), the first 0
    coefficients: np.ndarray  # alpha there (E, k)
    margins: np.ndarray  # y f at the places there (E, k)
    acting: np.ndarray  # share of the points of each place that act from each corner on (E, k)

    __repr__ = short

    def at(self, times: np.ndarray) -> np.ndarray:
        """alpha at the times, shape (len(times), k); after the last corner it stays."""
        return np.stack([np.interp(times, self.times, alpha) for alpha in self.coefficients.T], axis=-1)


def flow(
    kernel: np.ndarray,
    labels: np.ndarray,
    counts: np.ndarray,
    *,
    start: np.ndarray | float = 0.0,
    until: float = np.inf,
) -> Flow:
    """The gradient flow of the summed hinge with a fixed kernel (k, k), corner by corner, from the margins `start`.

    It stops at the time `until`, by default at zero loss.  Labels are -1 or +1, counts the numbers of points n_j > 0.
    Cost: a bounded least-squares problem per corner; about 80 corners and 40 ms for fifty places.

    Example: two places with one kernel value between them; both rise, the one with two points first.

    >>> flow(np.array([[1.0, -0.5], [-0.5, 1.0]]), np.array([1, 1]), np.array([2, 1])).times.round(3)
    array([0.   , 0.667, 2.   ])
    """
    checks.array(("k", "k"), kernel=kernel)
    checks.array((len(kernel),), labels=labels, counts=counts)
    checks.positive(counts=counts)
    signed = kernel * np.outer(labels, labels)
    values, vectors = np.linalg.eigh(signed)
    root = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T * counts  # |root @ s| is the speed of f
    time, alpha, margins = 0.0, np.zeros(len(counts)), np.broadcast_to(start, len(counts)).astype(float)
    at, corners = margins == 1, []
    while True:
        share = _least_speed(root, margins, at)
        velocity = signed @ (counts * share)
        velocity[at & (share > CLOSE) & (share < 1 - CLOSE)] = 0  # they slide along the margin
        corners.append((time, alpha, margins, share))
        wait = _until_next(margins, velocity, at)
        if not time + wait < until:
            if np.isfinite(until):
                rest = until - time
                corners.append((until, alpha + rest * counts * share, margins + rest * velocity, share))
            return Flow(*map(np.array, zip(*corners, strict=True)))
        time, alpha, margins = time + wait, alpha + wait * counts * share, margins + wait * velocity
        at = np.abs(margins - 1) < CLOSE
        margins = np.where(at, 1.0, margins)


def _least_speed(root: np.ndarray, margins: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Shares that act: 1 below the margin, 0 above, and at it those in [0, 1] for which f moves least."""
    share = np.where(at, 0.0, margins < 1).astype(float)
    if at.any():
        share[at] = lsq_linear(root[:, at], -root @ share, (0, 1), method="bvls", tol=1e-14, max_iter=1000).x
    return share


def _until_next(margins: np.ndarray, velocity: np.ndarray, at: np.ndarray) -> float:
    """Time until the next margin is 1, infinite if nothing moves towards it."""
    towards = np.where(margins < 1, velocity, -velocity) > 1e-12 * np.abs(velocity).max()
    wait = np.full(len(margins), np.inf)
    np.divide(1 - margins, velocity, out=wait, where=towards & ~at)
    return wait.min()


@dataclass(frozen=True)
class Extrapolated:
    """The place * that is fitted last, when all others, R, are at the margin."""

    weights: np.ndarray  # omega = K_RR^-1 K_R*, shape (k - 1,), by which the kernel extrapolates to it
    margin: float  # e = y_* omega . y_R, its margin for the function that fits the others alone
    left_over: float  # sigma = K_** - K_*R omega, what it keeps of its own pull
    acting: np.ndarray  # -omega_j y_j y_* n_* / n_j, the shares of the others that act, shape (k - 1,)
    end: float  # (1 - e) / (n_* sigma), when it is fitted and the loss is zero
    gradient_share: float  # 1 / (1 + sum_j |omega_j|), its share in the 1-norm of the output gradient
    pull_share: float  # K_** / (2 K_** - sigma), its own pull over own pull and push of the others

    __repr__ = short


def extrapolated(kernel: np.ndarray, labels: np.ndarray, counts: np.ndarray) -> Extrapolated:
    r"""What the last place does once the others are at the margin: its margin is $e + n_\star \sigma t$ at time t.

    This holds if all :attr:`Extrapolated.acting` are in [0, 1].  Arguments as in :func:`flow`.
    """
    checks.array(("k", "k"), kernel=kernel)
    checks.array((len(kernel),), labels=labels, counts=counts)
    weights = np.linalg.lstsq(kernel[:-1, :-1], kernel[:-1, -1], rcond=1e-12)[0]
    margin = float(labels[-1] * weights @ labels[:-1])
    own, left_over = float(kernel[-1, -1]), float(kernel[-1, -1] - kernel[-1, :-1] @ weights)
    return Extrapolated(
        weights=weights,
        margin=margin,
        left_over=left_over,
        acting=-weights * labels[:-1] * labels[-1] * counts[-1] / counts[:-1],
        end=(1 - margin) / (counts[-1] * left_over),
        gradient_share=float(1 / (1 + np.abs(weights).sum())),
        pull_share=own / (2 * own - left_over),
    )


@dataclass(frozen=True)
class Standing:
    """What moves the last place on one piece of a flow."""

    speed: float  # of its margin
    still: float  # n°, the number of its points with which that would be zero

    __repr__ = short


def levers(places: Places, path: Flow, piece: int, z: np.ndarray | None = None) -> np.ndarray:
    r"""What the points of each place add to the speed of f at z between the corners `piece` and `piece` + 1.

    With the places S at the margin, the others in U below it and $\tilde K = K - K_{\cdot S} K_{SS}^{-1} K_{S\cdot}$,
    these are $n_j y_j \tilde K(x_j, z)$ for j in U and 0 for all others; shape (k, len(z)), at the places by default.
    All are 0 at S, and f moves at their sum.
    """
    act = path.acting[piece]
    margin, below = (act > CLOSE) & (act < 1 - CLOSE), act >= 1 - CLOSE
    inner, kernel = places.kernel()[:, margin], places.kernel(z)
    held = kernel - inner @ np.linalg.lstsq(inner[margin], kernel[margin], rcond=1e-12)[0]
    return (places.counts * places.labels * below)[:, None] * held


def standing(places: Places, path: Flow, piece: int) -> Standing:
    """How the last place moves between the corners `piece` and `piece` + 1, while its points act, by :func:`levers`."""
    push = places.labels[-1] * levers(places, path, piece)[:, -1]
    return Standing(float(push.sum()), float(-push[:-1].sum() / push[-1] * places.counts[-1]))


def longest(path: Flow) -> int:
    """The longest piece before the last place is at its worst."""
    return int(np.diff(path.times[: path.margins[:, -1].argmin() + 1]).argmax())


@dataclass(frozen=True)
class Places:
    """Places, their labels and numbers of points (k,), with a kernel and a function to start from.

    They are those of the network's output weights; without one, the mean kernel of networks of width 512, and 0.
    """

    x: np.ndarray
    labels: np.ndarray
    counts: np.ndarray
    network: nets.TwoLayer | None = None
    periods: int = 3

    __repr__ = short

    def kernel(self, z: np.ndarray | None = None) -> np.ndarray:
        """The kernel between the places and z (the places by default), shape (k, len(z))."""
        if self.network is None:
            return wide_kernels.uniform(self.x, z).at(WIDTH)
        return empirical.conjugate(self.network, self.x, z)

    def start(self, z: np.ndarray) -> np.ndarray:
        """The function at the start, shape (len(z),)."""
        return np.zeros(len(z)) if self.network is None else self.network.forward(z)

    def solve(self, **options) -> Flow:
        """:func:`flow` of these places."""
        return flow(self.kernel(), self.labels, self.counts, start=self.labels * self.start(self.x), **options)


def three(points: int = 1, rich: int = 10) -> Places:
    """The centres of the last three clusters: `rich` points each at two of them and `points` at the last."""
    x = (np.arange(3, 6) + 0.5) / 6 - 0.5
    return Places(x, cyclic.labels(x), np.array([rich, rich, points]))


def six(points: int = 1, n: int = 50, *, at: float = 0.5) -> Places:
    """The centres of all six clusters with the numbers of points of the design poor(5, points).

    The last place is at the share `at` of its cluster, from its border with the others on.
    """
    x = (np.array([0.5, 1.5, 2.5, 3.5, 4.5, 5 + at])) / 6 - 0.5
    counts = np.bincount(cyclic.design_clusters(f"poor({POOR},{points})", n), minlength=6)
    return Places(x, cyclic.labels(x), counts)


def sampled(
    seed: int,
    points: int = 1,
    n: int = 50,
    *,
    cluster: int = POOR,
    periods: int = 3,
    initial: str = "default",
    width: int = WIDTH,
) -> Places:
    """The training points of a run of poor(cluster, points), each at its own place, and its network."""
    sample = cyclic.sample(n, periods=periods, base=7, seed=seed, design=f"poor({cluster},{points})")
    network = loss_curves.INITIALISATIONS[initial](sample.rng, width)
    return Places(sample.x, sample.y, np.ones(n, dtype=int), network, periods)


def curves(places: Places, *, epochs: int = EPOCHS, every: int = 100, step: float = bumps.STEP) -> xr.Dataset:
    """The exact flow as loss curves like those of :func:`loss_curves.run`: train_loss, test_loss, cluster_loss.

    The test points are those of the grid in clusters that hold training points; cluster_loss is NaN elsewhere.
    """
    records = np.arange(0, epochs + 1, every)
    alpha = places.solve(until=step * epochs).at(step * records) * places.labels
    periods = places.periods
    there = np.isin(cyclic.clusters(GRID, periods), cyclic.clusters(places.x, periods))
    losses = np.full((len(records), len(GRID)), np.nan)
    losses[:, there] = loss_curves.hinge(places.start(GRID) + alpha @ places.kernel(GRID), periods)[:, there]
    margins = places.labels * (places.start(places.x) + alpha @ places.kernel())
    data = {
        "train_loss": ("epoch", (1 - margins).clip(min=0) @ places.counts),
        "test_loss": ("epoch", losses[:, there].mean(axis=1)),
        "cluster_loss": (("epoch", "cluster"), loss_curves.by_cluster(losses, periods)),
    }
    return xr.Dataset(data, {"epoch": records, "cluster": np.arange(2 * periods)})


@releases_gil
def exact(seed: int, *, points: int = 1) -> xr.Dataset:
    """:func:`curves` of one run: what its network with a frozen hidden layer does in the limit of small steps."""
    return curves(sampled(seed, points))


#: Options of :func:`sampled` that differ from the reference: the last of six clusters, the default start, 512 neurons.
EXACT: dict[str, dict] = {
    "reference": {},
    "cluster 4": {"cluster": 4},
    "cluster 2": {"cluster": 2},
    "two periods": {"cluster": 3, "periods": 2, "n": 33},
    "four periods": {"cluster": 7, "periods": 4, "n": 67},
    "width 128": {"width": 128},
    "width 2048": {"width": 2048},
    "Gaussian": {"initial": "normal"},
}


@releases_gil
def exact_bump(seed: int, variant: str, points: int) -> xr.Dataset:
    """Bump (:func:`bumps.slow`) and :func:`poor_loss` of the exact flow of one :func:`sampled` data set of `EXACT`."""
    checks.one_of(EXACT, variant=variant)
    options = EXACT[variant]
    curve = curves(sampled(seed, points, **options)).expand_dims(seed=[seed])
    found = bumps.slow(curve)[["low", "peak", "recovers"]]
    return found.merge(poor_loss(curve, options.get("cluster", POOR))).isel(seed=0, drop=True)


@releases_gil
def slowly(seed: int, *, points: int = 1, train: str = "all") -> xr.Dataset:
    """A run of poor(5, points) with a tenth of the step and ten times the epochs, which are counted in tens."""
    options = dict(step=bumps.STEP / REFINED, epochs=REFINED * EPOCHS, every=REFINED * bumps.INTERVAL)
    run = loss_curves.run(seed, design=f"poor({POOR},{points})", train=train, **options)
    run = run[["train_loss", "test_loss", "cluster_loss"]]
    return run.assign_coords(epoch=run.epoch // REFINED)


@releases_gil
def at_reference(seed: int, *, points: int = 1) -> xr.Dataset:
    """The loss curves of a run of poor(5, points) with the step 0.001, trained in full."""
    return loss_curves.run(seed, design=f"poor({POOR},{points})")[["train_loss", "test_loss", "cluster_loss"]]


def poor_loss(runs: xr.Dataset, cluster: int = POOR) -> xr.Dataset:
    """How the loss of the poor cluster goes up and down, and the mean test loss with it, over `seed`.

    highest is its largest smoothed loss, back the epoch after that at which it is 1 again (infinite for never); rise
    and diverging are those of the mean test loss, see :func:`bumps.slow`.  Runs have records every 100 epochs.
    """
    epoch = runs.epoch.values
    loss = bumps.smooth(runs.cluster_loss.transpose("seed", "epoch", "cluster").values)[..., cluster]
    top, late = loss.argmax(axis=1), np.arange(len(epoch))
    after = (late >= top[:, None]) & (loss <= 1)
    found = {
        "highest": loss.max(axis=1),
        "highest_epoch": epoch[top].astype(float),
        "back": np.where(after.any(axis=1), epoch[after.argmax(axis=1)], np.inf),
    }
    bump = bumps.slow(runs)[["rise", "diverging"]]
    return bump.assign({name: ("seed", values) for name, values in found.items()})


@releases_gil
def neighbours(seed: int, *, points: int = 1) -> xr.Dataset:
    """Mean output in the poor cluster where its smoothed loss is highest, and that of the line through its neighbours.

    The straight line goes through the means of f over the two clusters before it.
    """
    run = loss_curves.run(seed, design=f"poor({POOR},{points})", keep=("predictions",))
    top = int(bumps.smooth(run.cluster_loss.values[None])[0, :, POOR].argmax())
    means = loss_curves.by_cluster(run.predictions.values[top])
    return xr.Dataset({"output": ((), means[POOR]), "line": ((), 2 * means[POOR - 1] - means[POOR - 2])})


@releases_gil
def balance(seed: int, *, points: int = 1, epochs: int = 8000, window: int = 500) -> xr.Dataset:
    r"""What moves the poor cluster in a run of poor(5, points): its own points against all others, step 0.001.

    In a step the margin at a point z changes by $-\eta\,y \sum_i K(z, x_i)\,g_i$ to first order.  Here g is averaged
    over all epochs of a window, since it changes its sign within a few, and the tangent kernel over records in it.
    velocity is the change of the mean margin that is seen; a window is named by its last epoch.
    """
    sample = sampled(seed, points)
    z, parts = GRID[cyclic.clusters(GRID) == POOR][4::8], 5  # records in a window
    options = dict(step=bumps.STEP, epochs=epochs, records=window // parts, grid=z)
    options |= dict(keep_parameters=True, keep_gradients=True)
    run = univariate.train(sample.x, sample.labels, sample.network, **options)
    sign = cyclic.labels(z) / len(z)
    pulls = np.stack([sign @ empirical.ntk(nets.TwoLayer(*p), z, sample.x) for p in run.parameters])
    kernel = np.stack([pulls[parts * w : parts * (w + 1) + 1].mean(axis=0) for w in range(epochs // window)])
    g = run.gradients.reshape(-1, window, sample.x.size).mean(axis=1)
    own = cyclic.clusters(sample.x) == POOR
    margin = (run.predictions @ sign)[::parts]
    data = {
        "own": ("window", -(kernel * g)[:, own].sum(axis=1)),
        "others": ("window", -(kernel * g)[:, ~own].sum(axis=1)),
        "velocity": ("window", np.diff(margin) / (bumps.STEP * window)),
    }
    return xr.Dataset(data, {"window": window * np.arange(1, epochs // window + 1)})


@releases_gil
def left_over(seed: int, *, epochs: Sequence[int], points: int = 1) -> xr.Dataset:
    r"""$\sigma$ of the last cluster's centre, given the others, with the tangent kernel of a run as it trains."""
    world, centres = sampled(seed, points), six(points)
    options = dict(step=bumps.STEP, epochs=max(epochs), records=list(epochs), keep_parameters=True)
    run = univariate.train(world.x, world.labels, world.network, **options)
    kernels = [empirical.ntk(nets.TwoLayer(*parameters), centres.x) for parameters in run.parameters]
    values = [extrapolated(kernel, centres.labels, centres.counts).left_over for kernel in kernels]
    return xr.Dataset({"left_over": ("epoch", values)}, {"epoch": list(epochs)})


def train(
    places: Places, *, every: int, step: float = 1e-4, epochs: int | None = None, frozen: bool = True
) -> tuple[Flow, np.ndarray, np.ndarray]:
    """The same places with a real network, from f = 0: an antisymmetric one, by default with a frozen hidden layer.

    It trains by default until the flow is at zero loss and a tenth more.  Returns the exact flow with the network's own
    kernel at the start, the times of the records (R,) and the margins at the places there (R, k).
    """
    x, y = (np.repeat(values, places.counts) for values in (places.x, places.labels))
    network = nets.antisymmetric(nets.default(np.random.default_rng(0), WIDTH))
    rates = (nets.ANTISYMMETRIC[0], 0.0, 0.0) if frozen else nets.ANTISYMMETRIC
    predicted = flow(empirical.ntk(network, places.x, rates=rates), places.labels, places.counts)
    epochs = int(1.1 * predicted.times[-1] / step) if epochs is None else epochs
    run = univariate.train(x, y, network, step=step, epochs=epochs, records=every, rates=rates)
    first = np.cumsum(places.counts) - places.counts
    return predicted, run.epochs * step, (run.outputs * y)[:, first]


RECORDS: dict[str, Recipe] = {
    "exact_paths": Recipe(
        exact_bump,
        {"variant": list(EXACT), "points": [1, 2, 3, 5], "seed": list(range(200))},
        about="Bumps of the exact flow with a fixed kernel, by the number of points in the poor cluster",
    ),
}
