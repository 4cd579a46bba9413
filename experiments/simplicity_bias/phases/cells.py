r"""The phases of a run in the setting of Theorem 2: slow growth, fast growth, convergence; for both output signs.

For the neurons of one sign and the half sample $S_\pm$ that they see, $q = \sum a_j^2$, $\beta = \sum a_j w_j$,
$u_j = w_j / a_j$, $H = \frac1n X_\pm^\top X_\pm$, $D = H\beta_n$ with the least-squares fit $\beta_n$, and the excess
loss $E = \tfrac12 (\beta - \beta_n)^\top H (\beta - \beta_n)$.  Slow growth ends when $q = \epsilon_2$, at $t_2$, fast
growth when $\|\beta - \beta_n\| = \epsilon_3$, at $t_3$.  (Appendix E.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from experiments.simplicity_bias import early_alignment, two_fits
from experiments.simplicity_bias.phases import decoupling
from shallow import alignment
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.nets import TwoLayer
from shallow.stats import stream
from shallow.train import flow

SLOW, FAST, NEAR = 0.1, 0.05, 0.05
SIGNS = (1, -1)
#: Rounding of the excess loss: it is fitted above.
FLOOR = 1e-20


class Half(NamedTuple):
    """Half a sample and its least squares: x (n', d), y (n',), H (d, d) and D (d,) with 1/n, fit (d,), least loss."""

    x: np.ndarray
    y: np.ndarray
    H: np.ndarray
    D: np.ndarray
    fit: np.ndarray
    least: float


def half(x: np.ndarray, y: np.ndarray, sign: int) -> Half:
    r"""The half sample $\pm x_{k1} > 0$; loss and moments are divided by the number of all points."""
    kept, n = sign * x[:, 0] > 0, len(y)
    x, y = x[kept], y[kept]
    H, D = x.T @ x / n, y @ x / n
    fit = np.linalg.solve(H, D)
    return Half(x, y, H, D, fit, float(np.sum((x @ fit - y) ** 2)) / (2 * n))


@releases_gil
def growth(
    seed: int, n: int, *, scale: float, whiten: bool, time: float = 48.0, step: float = two_fits.STEP
) -> xr.Dataset:
    r"""Slow and fast growth in one run; every variable for both signs.

    Returns:
        norm: $\|D\|$; share: $m_\pm / m$; slow, fast: $t_2$ and $t_3$, to two steps.
        spread: $\max_{ij} |1 - \langle u_i, u_j\rangle|$ at $t_2$.
        pairs, aggregate: relative errors of the pairwise identity (30) and of $\dot\beta = M H (\beta_n - \beta)$ up to
            $t_3$.
        rising: whether no $|a_j|$ decreases between $t_2$ and $t_3$; turning: $\|\beta - \beta_n\|$ when the first does
            after $t_2$ (0 if none does).
        inside: whether from the alignment time on no pattern changes and all neurons have that of their half.
    """
    x, y, network, _ = two_fits.draw(seed, n, scale=scale, whiten=whiten, fresh=1, both_signs=True)
    run = flow.train(x, y, network, step=step, steps=two_fits.steps_of(time, step), records=2)
    calm = not (run.changes * step > two_fits.alignment_time(x, y, scale)).any()
    found = [_growth_of(half(x, y, sign), run, sign * network.v > 0, x, y) for sign in SIGNS]
    names = ("norm", "share", "slow", "fast", "spread", "pairs", "aggregate", "rising", "turning")
    columns = {name: ("sign", np.array(column)) for name, column in zip(names, zip(*found))}
    final = run.network.W @ x.T > 0
    own = np.sign(network.v)[:, None] * x[:, 0] > 0
    inside = [calm and np.array_equal(final[rows], own[rows]) for rows in (network.v > 0, network.v < 0)]
    return xr.Dataset(columns | {"inside": ("sign", np.array(inside))}, {"sign": list(SIGNS)})


def _growth_of(part: Half, run: flow.Run, members: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple:
    W, v = run.W[:, members], run.v[:, members]
    beta, q = np.einsum("tj,tjd->td", v, W), np.sum(v**2, axis=1)
    away = np.linalg.norm(beta - part.fit, axis=1)
    t2 = int(np.argmax(q >= SLOW))
    t3 = t2 + int(np.argmax(away[t2:] <= FAST))
    u = W[t2] / v[t2, :, None]
    shortfall = 1 - np.sum(u**2, axis=1)
    apart = np.sum((u[:, None] - u) ** 2, axis=2)
    spread = np.abs(shortfall[:, None] + shortfall + apart).max() / 2
    looks = np.unique(np.linspace(t2, t3, 20).astype(int))
    states = (TwoLayer(run.W[t], np.zeros(run.W.shape[1]), run.v[t]) for t in looks)
    errors = np.max([_identities(state, members, part, x, y) for state in states], axis=0)
    falls = np.flatnonzero((np.diff(np.abs(v[t2:]), axis=0) < 0).any(axis=1))
    turning = away[t2 + falls[0]] if len(falls) else 0.0
    rising = not len(falls) or t2 + falls[0] >= t3
    times = two_fits.STEP * run.steps[[t2, t3]]
    return np.linalg.norm(part.D), members.mean(), *times, spread, *errors, rising, turning


def _identities(state: TwoLayer, members: np.ndarray, part: Half, x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Relative errors of (30) and (35) at a state, with the gradients of the whole network."""
    W, a = state.W[members], state.v[members]
    g = alignment.vector(x, y - state.forward(x), W)
    dW, da = a[:, None] * g, np.sum(W * g, axis=1)
    u = W / a[:, None]
    du = dW / a[:, None] - da[:, None] * u / a[:, None]
    D = part.H @ (part.fit - a @ W)
    left = du @ u.T + u @ du.T
    scale = np.abs(u @ D).max()  # of the right-hand side before its small factor
    right = np.add.outer(u @ D, u @ D) * (1 - u @ u.T)
    M = np.sum(a**2) * np.eye(len(D)) + W.T @ W
    flow_of_beta = da @ W + a @ dW
    return np.abs(left - right).max() / scale, np.linalg.norm(flow_of_beta - M @ D) / np.linalg.norm(M @ D)


@releases_gil
def convergence(
    seed: int,
    n: int,
    *,
    whiten: bool,
    scale: float = two_fits.SCALE,
    horizons: Sequence[float] = (400.0, 800.0),
    step: float = two_fits.STEP,
) -> xr.Dataset:
    r"""The last phase, for both signs.

    Returns:
        slope: of $\ln E$ in time, fitted after $t_3$ where $E > 10^{-20}$; promised: $\mu = 2\lambda_{\min}(H) q(t_3)$;
        local: twice the smallest eigenvalue of $M H$ at the end, the slope that linearisation gives;
        path (horizon): length of the path of all weights over the second half of each horizon;
        away (horizon): $\|\beta - \beta_n\|$ at its end.
    """
    x, y, network, _ = two_fits.draw(seed, n, scale=scale, whiten=whiten, fresh=1, both_signs=True)
    steps = [two_fits.steps_of(time, step) for time in horizons]
    halves = [np.linspace(end // 2, end, 20).astype(int) for end in steps]
    looks = np.unique(np.concatenate([np.arange(0, two_fits.steps_of(80.0, step), 8), *halves]))
    run = flow.train(x, y, network, step=step, steps=steps[-1], records=looks)
    Z = np.concatenate([run.W, run.v[:, :, None]], axis=2)
    moved = np.sqrt(np.sum(np.diff(Z, axis=0) ** 2, axis=(1, 2)))
    late = [(looks[:-1] >= end // 2) & (looks[1:] <= end) for end in steps]
    columns = {"path": ("horizon", np.array([moved[rows].sum() for rows in late]))}
    found = [_convergence_of(half(x, y, sign), run, sign * network.v > 0, step) for sign in SIGNS]
    *rates, away = map(np.array, zip(*found))
    columns |= {name: ("sign", rate) for name, rate in zip(("slope", "promised", "local"), rates)}
    columns["away"] = ("sign", "horizon"), away[:, np.searchsorted(looks, steps)]
    return xr.Dataset(columns, {"sign": list(SIGNS), "horizon": list(horizons)})


def _distance(W: np.ndarray, v: np.ndarray, part: Half) -> tuple[np.ndarray, np.ndarray]:
    r"""$\|\beta - \beta_n\|$ and the excess loss E at states (p, m, d), (p, m) of the neurons of one sign."""
    gap = np.einsum("tj,tjd->td", v, W) - part.fit
    return np.linalg.norm(gap, axis=1), np.einsum("td,de,te->t", gap, part.H, gap) / 2


def _convergence_of(part: Half, run: flow.Run, members: np.ndarray, step: float) -> tuple:
    W, v = run.W[:, members], run.v[:, members]
    away, excess = _distance(W, v, part)
    start = int(np.argmax(away <= FAST))
    rows = (np.arange(len(excess)) >= start) & (excess > FLOOR)
    slope = np.polyfit(run.steps[rows] * step, np.log(excess[rows]), 1)[0]
    M = np.sum(v[-1] ** 2) * np.eye(len(part.D)) + W[-1].T @ W[-1]
    local = 2 * np.linalg.eigvals(M @ part.H).real.min()
    return slope, 2 * np.linalg.eigvalsh(part.H)[0] * np.sum(v[start] ** 2), local, away


@releases_gil
def gradient_domination(
    seed: int, n: int, *, whiten: bool, points: int = 1000, scale: float = two_fits.SCALE, step: float = two_fits.STEP
) -> xr.Dataset:
    r"""The inequality (45), $\|\nabla L_\pm\|^2 \ge 2\lambda_{\min}(H)\, q\, (L_\pm - L_\pm^*)$, for both signs.

    The gradient is that of $L_\pm$ with its ReLUs.  Random states: the last one with every weight changed by a factor
    $1 + s\xi$ and a part $s \|w_j\| \xi$, s between 0.001 and 1; kept within 0.05 of the fit and in the cone.

    path: the smallest left over right side along the run after $t_3$ (while E > 1e-20); near: the same at `points`
    random states inside; outside: the share of random states that break it when every $w_j$ is replaced by $-w_j$, so
    that no neuron is in its cone.
    """
    x, y, network, _ = two_fits.draw(seed, n, scale=scale, whiten=whiten, fresh=1, both_signs=True)
    run = flow.train(x, y, network, step=step, steps=two_fits.steps_of(80.0, step), records=8)
    found = []
    for sign in SIGNS:
        part, members, rng = half(x, y, sign), sign * network.v > 0, stream("domination", seed, n, sign)
        W, v = run.W[:, members], run.v[:, members]
        away, excess = _distance(W, v, part)
        late = (away <= FAST) & (excess > FLOOR)
        along = _ratios(W[late], v[late], part, n, excess[late])
        near_W, near_v = _around(rng, W[-1], v[-1], part, points)
        outside = _ratios(-near_W[:50], near_v[:50], part, n)
        found.append((along.min(), _ratios(near_W, near_v, part, n).min(), (outside < 1).mean()))
    columns = {name: ("sign", np.array(column)) for name, column in zip(("path", "near", "outside"), zip(*found))}
    return xr.Dataset(columns, {"sign": list(SIGNS)})


def _around(
    rng: np.random.Generator, W: np.ndarray, v: np.ndarray, part: Half, points: int
) -> tuple[np.ndarray, np.ndarray]:
    """Random states around (W, v) within NEAR of the fit and in its cone: (points, m, d) and (points, m)."""
    kept: list[tuple[np.ndarray, np.ndarray]] = []
    while sum(len(states) for _, states in kept) < points:
        s = 10 ** rng.uniform(-3, 0, (200, 1))
        new_v = v * (1 + s * rng.standard_normal((200, len(v))))
        shifts = np.linalg.norm(W, axis=1)[:, None] * rng.standard_normal((200, *W.shape))
        new_W = W + s[:, :, None] * shifts
        near = _distance(new_W, new_v, part)[0] <= NEAR
        near &= (v * new_v > 0).all(axis=1)
        new_W, new_v = new_W[near], new_v[near]
        inside = (new_W @ part.x.T > 0).all(axis=(1, 2))
        kept.append((new_W[inside], new_v[inside]))
    return tuple(np.concatenate(states)[:points] for states in zip(*kept))


def _ratios(W: np.ndarray, v: np.ndarray, part: Half, n: int, excess: np.ndarray | None = None) -> np.ndarray:
    """Left side over right side of (45) at states (p, m, d), (p, m); excess losses (p,) from the losses by default."""
    square, rest = np.empty(len(v)), np.empty(len(v))
    for i, (w, a) in enumerate(zip(W, v)):
        pre = part.x @ w.T
        residual = part.y - np.maximum(pre, 0) @ a
        pull = ((pre > 0) * residual[:, None]).T @ part.x / n
        square[i] = np.sum((a[:, None] * pull) ** 2) + np.sum(np.sum(w * pull, axis=1) ** 2)
        rest[i] = residual @ residual / (2 * n) - part.least
    excess = rest if excess is None else excess
    return square / (2 * np.linalg.eigvalsh(part.H)[0] * np.sum(v**2, axis=1) * excess)


def certificate(seed: int, n: int, *, whiten: bool, directions: int = 500) -> xr.Dataset:
    r"""Whether a sample meets the conditions of the propositions, worst of both signs.

    Returns:
        margin: $c' = \min_k \langle s_k x_k, D\rangle / \|x_k\|\|D\|$ with $s_k = \mathrm{sign}(x_{k1})$.
        deviation: $\delta$, the largest $\|D_n(w) - D\| / \|D\|$ over random directions: a lower bound.
        room: left minus right side of the condition that no neuron leaves its cone, over $\|D\| \sin\bar\theta$; the
            angle is the largest that the margin allows.
    """
    x, y, _, _ = two_fits.draw(seed, n, whiten=whiten, fresh=1)
    w = stream("certificate", seed, n).standard_normal((directions, x.shape[1]))
    pulls = ((w @ x.T > 0) * y) @ x / n
    found = []
    for sign in SIGNS:
        part = half(x, y, sign)
        size = np.linalg.norm(part.D)
        D = part.D / size
        margin = (np.sign(x[:, 0]) * (x @ D) / np.linalg.norm(x, axis=1)).min()
        angle = np.arctan(max(margin, 0.0))
        across = np.linalg.svd(D[None])[2][1:]  # an orthonormal basis of the complement of D
        along, mixed = D @ part.H @ D, np.linalg.norm(across @ part.H @ D)
        spread = max(0.0, along - np.linalg.eigvalsh(across @ part.H @ across.T)[0])
        largest = size / max(along * np.cos(angle) - 2 * mixed * np.sin(angle), 1e-300)
        room = size * np.sin(angle) - largest * (spread * np.sin(angle) * np.cos(angle) + mixed)
        deviation = np.linalg.norm(pulls - part.D, axis=1).max() / size
        found.append((margin, -deviation, room / (size * np.sin(angle)) if angle > 0 else -1.0))
    margin, deviation, room = np.min(found, axis=0)
    return xr.Dataset({"margin": margin, "deviation": -deviation, "room": room})


@releases_gil
def graded(seed: int, *, scale: float, whiten: bool) -> xr.Dataset:
    """:func:`early_alignment.under_margin` with steps that begin with a hundredth of the scale, n = 1000."""
    return early_alignment.under_margin(seed, 1000, scale=scale, whiten=whiten, first=scale / 100)


LAWS, DRAWS, MORE = {"whiten": [False, True]}, {"seed": range(20)}, {"seed": range(40)}
SCALES = {"scale": [1e-1, 1e-2, 1e-3, 1e-4, 1e-5]}
RECORDS: dict[str, Recipe] = {
    "phases_growth": Recipe(
        growth,
        SCALES | LAWS | MORE,
        {"n": 1000},
        "Slow and fast growth in the setting of Theorem 2, by scale",
        agreement=Agreement(rounding=("pairs", "aggregate")),
    ),
    "phases_early": Recipe(
        early_alignment.under_margin,
        SCALES | {"n": [1000, 10_000]} | LAWS | DRAWS,
        about="Early alignment in the setting of Theorem 2, by scale and sample size",
    ),
    "phases_early_fine": Recipe(graded, SCALES | LAWS | DRAWS, about="The same with steps that resolve the turn"),
    "phases_convergence": Recipe(
        convergence,
        {"n": [1000, 10_000]} | LAWS | MORE,
        about="The last phase: decay of the loss, length of the path",
        agreement=Agreement(rounding=("path", "away")),
    ),
    "phases_domination": Recipe(
        gradient_domination,
        {"n": [100, 1000]} | LAWS | {"seed": range(5)},
        about="The inequality (45) along runs and at random states",
    ),
    "phases_cones": Recipe(
        decoupling.cones,
        {"n": [20, 100, 1000, 10_000]} | LAWS | MORE,
        {"records": 20},
        "Whether neurons stay in their cones after early alignment",
    ),
    "phases_drift": Recipe(
        decoupling.drift,
        {"step": [0.1, 0.05, 0.025, 0.0125], "seed": range(10)},
        {"n": 1000},
        "What finite steps do to the balance of the weights",
    ),
    "phases_decoupling": Recipe(
        decoupling.decoupling, {"n": [100, 1000]} | LAWS | DRAWS, about="The descent against two decoupled systems"
    ),
}
