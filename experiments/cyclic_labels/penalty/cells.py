"""Regularisation: the gradient penalty in one dimension, and what it and weight decay do to a run.

Source: Bowman (2025), Section 2 and the beginning of Section 3.
"""

from __future__ import annotations

import numpy as np
import torch
import xarray as xr

from experiments.cyclic_labels import loss_curves, oracle
from experiments.cyclic_labels.bumps import cells as bumps
from experiments.cyclic_labels.bumps import mechanism
from experiments.cyclic_labels.loss_curves import EPOCHS, GRID
from shallow import checks, nets, stats
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import cyclic
from shallow.nets import TwoLayer
from shallow.train import univariate
from shallow.train.run import schedule


def slopes(network: TwoLayer, x: np.ndarray) -> np.ndarray:
    r"""$S(x) = f'(x) = \sum_k v_k w_k \mathbb 1[w_k x + b_k > 0]$ at x of shape (n,), computed densely in O(n m)."""
    w = network.W[:, 0]
    return (np.outer(x, w) + network.b > 0) @ (network.v * w)


def penalty_gradient(network: TwoLayer, x: np.ndarray, agop: float) -> dict[str, np.ndarray]:
    r"""Gradient of $\lambda\,\mathrm{Tr}\,G = \frac{\lambda}{n} \sum_i S_i^2$ in W, b and v, each of shape (m,).

    $\partial_{v_k} = w_k A_k$, $\partial_{w_k} = v_k A_k$, $\partial_{b_k} = 0$ with
    $A_k = \frac{2\lambda}{n} \sum_i S_i \mathbb 1[w_k x_i + b_k > 0]$.
    """
    w = network.W[:, 0]
    pull = 2 * agop / len(x) * slopes(network, x) @ (np.outer(x, w) + network.b > 0)
    return {"W": network.v * pull, "b": np.zeros(network.width), "v": w * pull}


def step_gradient(network: TwoLayer, x: np.ndarray, y: np.ndarray, agop: float = 0.0) -> dict[str, np.ndarray]:
    """Gradient of the whole objective as the trainer has it: minus what one step of size 1 adds to W, b and v."""
    after = univariate.train(x, y, network, step=1.0, epochs=1, agop=agop).network
    return {name: (getattr(network, name) - getattr(after, name)).ravel() for name in ("W", "b", "v")}


@releases_gil
def penalty_identities(seed: int, *, width: int, agop: float, n: int = 50, step: float = 0.001) -> xr.Dataset:
    """Largest deviations from automatic differentiation, relative to the largest true value (or 1).

    At epochs 0 and 1000: trace and eigenvalue (outer-product form of G, and its only eigenvalue, against the mean
    squared slope), slope (the sum over active neurons), running (the trainer's slope), difference (central differences
    on the grid, away from kinks).  After 1 and 50 steps: gradient (closed form), step (what the penalty adds to one
    step of the trainer), bias (largest entry of the bias part).
    """
    sample = cyclic.sample(n, seed=seed)
    initial = nets.default(sample.rng, width)

    def network(epochs: int) -> TwoLayer:
        return univariate.train(sample.x, sample.y, initial, step=step, epochs=epochs, agop=agop).network

    slope = [_slope_deviations(network(epochs), sample.x, sample.y) for epochs in (0, 1000)]
    gradient = [_gradient_deviations(network(epochs), sample.x, sample.y, agop) for epochs in (1, 50)]
    return _scalars({name: max(one[name] for one in pair) for pair in (slope, gradient) for name in pair[0]})


def _deviation(got: np.ndarray, wanted: np.ndarray) -> float:
    wanted = np.asarray(wanted)
    return float(np.abs(got - wanted).max() / max(1.0, np.abs(wanted).max()))


def _slope_deviations(network: TwoLayer, x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    inputs = torch.tensor(x[:, None], requires_grad=True)
    (true,) = torch.autograd.grad(oracle.forward(oracle.tensors(network), inputs).sum(), inputs)
    jacobians = true.numpy()  # (n, 1): the Jacobian of f at each point
    outer = jacobians.T @ jacobians / len(x)
    mean_square = (slopes(network, x) ** 2).mean()
    running = univariate.train(x, y, network, step=1.0, epochs=0).slopes[0]
    h = 1e-5
    kinks = -network.b / network.W[:, 0]
    clear = np.abs(GRID[:, None] - kinks).min(axis=1) > 2 * h
    central = (network.forward(GRID + h) - network.forward(GRID - h)) / (2 * h)
    return {
        "trace": _deviation(mean_square, np.trace(outer)),
        "eigenvalue": _deviation(np.linalg.eigvalsh(outer), np.trace(outer)),
        "slope": _deviation(slopes(network, x), jacobians[:, 0]),
        "running": _deviation(running, jacobians[:, 0]),
        "difference": _deviation(central[clear], slopes(network, GRID)[clear]),
    }


def _gradient_deviations(network: TwoLayer, x: np.ndarray, y: np.ndarray, agop: float) -> dict[str, float]:
    parameters = oracle.tensors(network)
    inputs = torch.tensor(x[:, None], requires_grad=True)
    (slope,) = torch.autograd.grad(oracle.forward(parameters, inputs).sum(), inputs, create_graph=True)
    penalty = agop * (slope**2).sum() / len(x)
    true = torch.autograd.grad(penalty, parameters, materialize_grads=True)
    true = {name: g.numpy().ravel() for name, g in zip("Wbv", true, strict=True)}
    closed = penalty_gradient(network, x, agop)
    plain, penalised = step_gradient(network, x, y), step_gradient(network, x, y, agop)
    return {
        "gradient": max(_deviation(closed[name], true[name]) for name in "Wbv"),
        "step": max(_deviation(penalised[name] - plain[name], true[name]) for name in "Wbv"),
        "bias": float(max(np.abs(true["b"]).max(), np.abs(penalised["b"] - plain["b"]).max())),
    }


@releases_gil
def after_zero(
    seed: int, *, step: float, agop: float, n: int = 50, width: int = 512, epochs: int = 50_000
) -> xr.Dataset:
    """What happens after the first epoch of zero training hinge, in the iid design; all NaN if the run diverges.

    From the test_loss there (mean hinge on the grid) count fall, to its lowest later record (every 100 epochs), and
    change, to the last epoch; still is the share of the later records with zero hinge.  These are NaN if the hinge is
    never zero; least is the lowest recorded training hinge (summed).
    """
    sample = cyclic.sample(n, base=7, seed=seed)
    initial, _ = loss_curves.start(sample.rng, width)
    result = dict.fromkeys(("zero_epoch", "test_loss", "fall", "change", "still", "least"), np.nan)

    def train(epochs: int, records: np.ndarray) -> univariate.Run:
        options = dict(step=step, epochs=epochs, records=records, grid=GRID, agop=agop)
        return univariate.train(sample.x, sample.y, initial, **options)

    try:
        whole = train(epochs, schedule(100, epochs))
    except univariate.Diverged:
        return _scalars(result)
    result["least"] = whole.loss.min()
    if whole.zero_epoch is not None:
        there = train(whole.zero_epoch, [whole.zero_epoch])
        at_zero = loss_curves.hinge(there.predictions[0]).mean()
        later = whole.epochs >= whole.zero_epoch
        losses = loss_curves.hinge(whole.predictions[later]).mean(axis=-1)
        result |= {
            "zero_epoch": whole.zero_epoch,
            "test_loss": at_zero,
            "fall": at_zero - min(at_zero, losses.min()),
            "change": losses[-1] - at_zero,
            "still": (whole.loss[later] == 0).mean(),
        }
    return _scalars(result)


def _scalars(values: dict[str, float]) -> xr.Dataset:
    return xr.Dataset({name: ((), float(value)) for name, value in values.items()})


@releases_gil
def switched_on(
    seed: int, *, step: float, agop: float, n: int = 50, width: int = 512, epochs: int = EPOCHS
) -> xr.Dataset:
    """A run of the iid design without penalty to zero hinge, gone on from there with one.

    fall and change are those of :func:`after_zero`, highest is the largest summed training hinge; NaN if zero is not
    reached within 20,000 epochs.
    """
    sample = cyclic.sample(n, base=7, seed=seed)
    initial, _ = loss_curves.start(sample.rng, width)
    fitted = univariate.train(sample.x, sample.y, initial, step=step, epochs=EPOCHS, records=[EPOCHS])
    if fitted.zero_epoch is None:
        return _scalars(dict.fromkeys(("fall", "change", "highest"), np.nan))
    options = dict(step=step, epochs=epochs, records=schedule(100, epochs), grid=GRID, agop=agop)
    after = univariate.train(sample.x, sample.y, fitted.network, **options)
    loss = loss_curves.hinge(after.predictions).mean(axis=-1)
    return _scalars({"fall": loss[0] - loss.min(), "change": loss[-1] - loss[0], "highest": after.loss.max()})


@releases_gil
def decayed_after_fit(
    seed: int, n: int, decay: float, *, since: str, step: float = 0.01, width: int = 512, epochs: int = 50_000
) -> xr.Dataset:
    """What weight decay does to a network whose training hinge has been zero; all NaN if it never is in 20,000 epochs.

    The decay acts since the "start", or since the "fit" alone.  Of the fitted network (fitted is its epoch, loss, error
    and height, the root mean square of f, are those on the grid) and of the later records, every 100 epochs: the lowest
    loss and the error and height there, the lowest error, the last loss, error and height, and the highest summed
    training hinge.  scaled is the loss of the fitted function brought to the height at the lowest loss: what comes of
    shrinking alone.  gap is the smallest distance between training points of opposite labels.
    """
    checks.one_of(("start", "fit"), since=since)
    sample = cyclic.sample(n, base=7, seed=seed)
    network, _ = loss_curves.start(sample.rng, width)
    opposite = np.diff(sample.x)[np.diff(sample.y) != 0]
    found = dict.fromkeys(AFTER_FIT, np.nan) | {"gap": opposite.min(initial=np.inf)}
    options = dict(step=step, grid=GRID)
    fit = univariate.train(
        sample.x, sample.y, network, epochs=EPOCHS, records=100, decay=decay if since == "start" else 0, **options
    )
    zero = np.flatnonzero(fit.loss == 0)
    if not zero.size:
        return _scalars(found)
    fitted = fit.epochs[zero[0]]
    if since == "start":
        run = univariate.train(
            sample.x, sample.y, network, epochs=int(fitted) + epochs, records=100, decay=decay, **options
        )
        later = run.epochs >= fitted
    else:
        run = univariate.train(sample.x, sample.y, fit.network, epochs=epochs, records=100, decay=decay, **options)
        later = run.epochs >= 0
    f = run.predictions[later]
    losses, errors = loss_curves.hinge(f).mean(axis=1), (np.sign(f) != cyclic.labels(GRID)).mean(axis=1)
    heights, lowest = np.sqrt((f**2).mean(axis=1)), losses.argmin()
    return _scalars(
        found
        | {"fitted": fitted, "loss": losses[0], "error": errors[0], "height": heights[0]}
        | {"lowest": losses[lowest], "error_there": errors[lowest], "height_there": heights[lowest]}
        | {"least_error": errors.min(), "last_loss": losses[-1], "last_error": errors[-1], "last_height": heights[-1]}
        | {"highest": run.loss[later].max()}
        | {"scaled": loss_curves.hinge(f[0] * heights[lowest] / heights[0]).mean()}
    )


AFTER_FIT = (
    *("fitted", "loss", "error", "height", "lowest", "error_there", "height_there"),
    *("least_error", "last_loss", "last_error", "last_height", "highest", "scaled"),
)


@releases_gil
def ended(seed: int, *, design: str, step: float, agop: float) -> xr.Dataset:
    """The bump of a run of n = 50 points at width 512, and where it ends."""
    trained = loss_curves.run(seed, design=design, step=step, agop=agop)
    bump = bumps.slow(trained.expand_dims(seed=[seed])).isel(seed=0, drop=True)[["rise", "diverging", "recovers"]]
    return xr.merge([bump, trained[["train_loss", "test_loss", "trace"]].isel(epoch=-1, drop=True)])


@releases_gil
def odd(seed: int, *, n: int, step: float, agop: float) -> xr.Dataset:
    """Whether the test loss of a run on n random points rises while the training loss falls, and comes down again."""
    trained = loss_curves.run(seed, n=n, step=step, agop=agop)
    bump = bumps.slow(trained.expand_dims(seed=[seed])).isel(seed=0, drop=True)[["rise", "recovers"]]
    return bump.assign(smooth=((), bumps.is_smooth(trained)))


@releases_gil
def decayed(seed: int, *, design: str, step: float, decay: float) -> xr.Dataset:
    """The bump of a run with weight decay (see :func:`bumps.slow`), and its last losses and error, all as numbers."""
    trained = loss_curves.run(seed, design=design, step=step, decay=decay)
    bump = bumps.slow(trained.expand_dims(seed=[seed])).isel(seed=0, drop=True)
    last = trained[["train_loss", "test_loss", "error"]].isel(epoch=-1, drop=True)
    return xr.merge([bump.astype(float), last])


def effects(penalised: xr.Dataset, plain: xr.Dataset, *, name: str) -> dict[str, stats.Interval]:
    r"""Effects of a penalty on :func:`ended` of the same seeds, in the three senses of "outcome".

    performance: mean difference of the final test loss in standard deviations (over seeds) of the plain runs; dynamics:
    difference of the fractions of diverging bumps; function: geometric mean of the ratios of the final
    $\mathrm{Tr}\,G$.  Pairs with a diverged run are dropped.
    """
    finite = np.isfinite(penalised.test_loss) & np.isfinite(plain.test_loss)
    penalised, plain = penalised.isel(seed=finite.values), plain.isel(seed=finite.values)
    loss = [each.test_loss.values for each in (penalised, plain)]
    diverging = [each.diverging.values for each in (penalised, plain)]
    trace = [np.log(each.trace.values) for each in (penalised, plain)]
    spread = loss[1].std(ddof=1)
    ratio = stats.paired(*trace, name=f"{name}/function")
    return {
        "performance": stats.paired(loss[0] / spread, loss[1] / spread, name=f"{name}/performance"),
        "dynamics": stats.paired(*diverging, name=f"{name}/dynamics"),
        "function": stats.Interval(*np.exp([ratio.estimate, ratio.low, ratio.high]).tolist()),
    }


STEPS, FIFTY, MANY = [0.001, 0.01], list(range(50)), list(range(200))
RECORDS: dict[str, Recipe] = {
    "penalty": Recipe(
        ended,
        {
            "agop": [0.0, 1e-12, 0.0001, 0.001, 0.01, 0.1],
            "design": ["iid", "two_rightmost"],
            "step": STEPS,
            "seed": MANY,
        },
        about="Bumps and ends of runs without and with a gradient penalty of five strengths",
    ),
    "odd_curves": Recipe(
        odd,
        {"agop": [0.0, 0.001], "n": [20, 50], "step": STEPS, "seed": MANY},
        about="Odd curves of the test loss on random data, smooth and jagged, without and with the gradient penalty",
    ),
    "penalty_after_zero": Recipe(
        after_zero,
        {"step": STEPS, "agop": [0.0, 0.001, 0.01, 0.1], "seed": FIFTY},
        {"n": 50, "width": 512, "epochs": 50_000},
        "Test loss after the first zero of the training hinge, with and without the gradient penalty",
    ),
    "penalty_switched_on": Recipe(
        switched_on,
        {"agop": [0.001, 0.01, 0.1], "seed": FIFTY},
        {"step": 0.01},
        "Fitted networks trained on with the gradient penalty",
    ),
    "weight_decay": Recipe(
        decayed,
        {"design": ["poor(5,1)", "iid"], "step": STEPS, "decay": [0.0, 1e-4, 1e-3, 1e-2], "seed": MANY},
        about="Bumps and final losses with weight decay",
    ),
    "decay_after_fit": Recipe(
        decayed_after_fit,
        {"since": ["start", "fit"], "n": [10, 20, 30, 40, 50], "decay": [1e-4, 1e-3, 1e-2], "seed": MANY},
        about="Fitted networks trained on with weight decay: loss, error and height",
    ),
    "slope_shares": Recipe(
        mechanism.energies,
        {"agop": [0.0, 0.001], "design": ["poor(5,1)", "two_rightmost", "strat"], "seed": FIFTY},
        about="Where the squared slope lives at the moments of a bump, without and with the gradient penalty",
    ),
}
