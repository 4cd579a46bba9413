"""Along a run of Theorem 2: balancedness (Lemma 2), two decoupled systems (Lemma 4, eq. 23), cones, and waiting."""

from __future__ import annotations

import numba
import numpy as np
import xarray as xr

from experiments.simplicity_bias import two_fits
from shallow.book.recipes import releases_gil
from shallow.nets import TwoLayer
from shallow.train import flow


def balance(W: np.ndarray, v: np.ndarray) -> np.ndarray:
    r"""$a_j^2 - \|w_j\|^2$ for W of shape (..., m, d) and v of shape (..., m)."""
    return v**2 - (W**2).sum(axis=-1)


@releases_gil
def drift(seed: int, n: int, step: float, *, time: float = two_fits.TIME, **setting) -> xr.Dataset:
    r"""How far Lemma 2 fails with a finite step: $\max_j |\Delta(a_j^2 - \|w_j\|^2)|$, and output weights that flip."""
    x, y, network, _ = two_fits.draw(seed, n, **setting)
    end = flow.train(x, y, network, step=step, steps=two_fits.steps_of(time, step)).network
    moved = balance(end.W, end.v) - balance(network.W, network.v)
    return xr.Dataset({"drift": ((), np.abs(moved).max()), "flips": ((), (np.sign(end.v) != np.sign(network.v)).sum())})


def one_step_gap(seed: int, n: int, m: int, d: int, step: float) -> float:
    r"""Largest difference of $\Delta(a_j^2 - \|w_j\|^2)$ in one step from $\eta^2(\langle w, D\rangle^2 - a^2\|D\|^2)$.

    At weights of order one, D by its definition.
    """
    x, y, network, _ = two_fits.draw(seed, n, d=d, m=m, scale=m**0.5)
    after = flow.train(x, y, network, step=step, steps=1).network
    residual = y - network.forward(x)
    D = ((x @ network.W.T > 0) * residual[:, None]).T @ x / n
    told = step**2 * ((network.W * D).sum(axis=1) ** 2 - network.v**2 * (D**2).sum(axis=1))
    return float(np.abs(balance(after.W, after.v) - balance(network.W, network.v) - told).max())


def decoupled(x: np.ndarray, y: np.ndarray, network: TwoLayer, *, step: float, records: np.ndarray) -> np.ndarray:
    r"""Equation (23) by steps: neurons with $\pm a_j > 0$ see the residuals of $S_\pm$ alone, through their own sum.

    $\dot w_j = a_j D_\pm$ and $\dot a_j = \langle w_j, D_\pm\rangle$ with $D_\pm = \frac1n \sum_{k \in S_\pm} (y_k -
    \langle\beta_\pm, x_k\rangle) x_k$.  Returns the states (W, v) at the recorded steps, shape (R, m, d + 1).
    """
    W, v, kept, t = network.W.copy(), network.v.copy(), [], 0
    systems = [
        (sign * v > 0, x[half].T @ x[half] / len(y), x[half].T @ y[half] / len(y))
        for sign, half in ((1, x[:, 0] > 0), (-1, x[:, 0] < 0))
    ]
    for until in records:
        for rows, H, h in systems:
            W[rows], v[rows] = _system(W[rows], v[rows], H, h, step, until - t)
        kept.append(np.column_stack([W, v]))
        t = until
    return np.array(kept)


@numba.njit(cache=True, nogil=True)
def _system(W, v, H, h, step, steps):
    """The neurons of one sign after `steps` steps; W (m, d), v (m,), H (d, d) and h (d,)."""
    for _ in range(steps):
        D = h - H @ (v @ W)
        W, v = W + step * np.outer(v, D), v + step * W @ D
    return W, v


@releases_gil
def decoupling(seed: int, n: int, *, time: float = two_fits.TIME, parts: int = 20, **setting) -> xr.Dataset:
    r"""The full descent and the two decoupled systems from the state at the alignment time $\tau$ on.

    gap: largest difference of parameters after $\tau$, relative to the largest parameter; late: patterns that changed
    then; stopping: flow time at which $\sum_{\pm a_j > 0} a_j^2$ reaches one half.
    """
    x, y, network, _ = two_fits.draw(seed, n, **setting)
    step, last = two_fits.STEP, two_fits.steps_of(time)
    start = int(np.ceil(two_fits.alignment_time(x, y, setting.get("scale", two_fits.SCALE)) / step))
    fine = np.arange(start, min(start + two_fits.steps_of(60), last))
    records = np.unique(np.concatenate([[0], fine, np.linspace(start, last, parts, dtype=int)]))
    run = flow.train(x, y, network, step=step, steps=last, records=records)
    after = records >= start
    begin = TwoLayer(run.W[after][0], network.b, run.v[after][0])
    alone = decoupled(x, y, begin, step=step, records=records[after] - start)
    full = np.concatenate([run.W, run.v[..., None]], axis=-1)[after]
    mass = np.stack([np.where(sign * run.v > 0, run.v**2, 0.0).sum(axis=1) for sign in (1, -1)])
    return xr.Dataset(
        {
            "gap": ((), np.abs(full - alone).max() / np.abs(full).max()),
            "late": ((), run.changed[run.changes > start].sum()),
            "stopping": ("sign", records[(mass >= 0.5).argmax(axis=1)] * step),
        }
    )


@releases_gil
def cones(seed: int, n: int, *, time: float = two_fits.TIME, records: int = 40, **setting) -> xr.Dataset:
    r"""How parallel the neurons of one sign become, and whether they leave their cone (Section 4.2).

    spread: $\max (1 - \langle w_i/a_i, w_j/a_j\rangle)$ over pairs with $a_i a_j > 0$; outside: neurons that are not
    active on exactly their half sample; late: patterns that changed.  The time counts from the alignment time $\tau$.
    """
    x, y, network, _ = two_fits.draw(seed, n, **setting)
    tau = int(np.ceil(two_fits.alignment_time(x, y, setting.get("scale", two_fits.SCALE)) / two_fits.STEP))
    later = np.unique(np.append(0, np.geomspace(1, two_fits.steps_of(time), records).astype(int)))
    run = flow.train(x, y, network, step=two_fits.STEP, steps=tau + later[-1], records=tau + later)
    spread, outside = np.full(len(later), -np.inf), np.zeros(len(later), dtype=int)
    for r, (W, v) in enumerate(zip(run.W, run.v)):
        for sign in (1, -1):
            rows = sign * v > 0
            u = W[rows] / v[rows, None]
            spread[r] = max(spread[r], (1 - u @ u.T).max(initial=-np.inf))
            outside[r] += ((W[rows] @ x.T > 0) != (sign * x[:, 0] > 0)).any(axis=1).sum()
    found = {"spread": ("time", spread), "outside": ("time", outside), "late": run.changed[run.changes > tau].sum()}
    return xr.Dataset(found, {"time": later * two_fits.STEP})


@releases_gil
def waiting(seed: int, n: int, *, times: np.ndarray, **setting) -> xr.Dataset:
    """Distance from the two fits on the training inputs, loss and excess risk at flow times from 0 on."""
    x, y, network, fresh = two_fits.draw(seed, n, **setting)
    target = two_fits.as_network(two_fits.fits(x, y))
    records = np.unique(np.append(0, np.round(np.asarray(times) / two_fits.STEP).astype(int)))
    run = flow.train(x, y, network, step=two_fits.STEP, steps=int(records[-1]), records=records)
    networks = [TwoLayer(W, network.b, v) for W, v in zip(run.W, run.v)]
    return xr.Dataset(
        {
            "distance": ("time", [two_fits.distance(one, target, x) for one in networks]),
            "loss": ("time", 2 * run.loss),
            "excess": ("time", [((one.forward(fresh) - fresh[:, 0]) ** 2).mean() for one in networks]),
        },
        {"time": records * two_fits.STEP},
    )
