r"""Weight decay under six rules of training: which of them keep weights from decaying, alone and in networks.

A decay is *coupled* where it is added to the gradient before the rule divides it by its running size, as PyTorch's
AdaDelta, RMSprop and Adam do, and *decoupled* where it shrinks the weights beside the rule, as in AdamW.  To a weight w
alone a coupled decay is the loss $\lambda w^2 / 2$.  Near zero, below their floors, all rules are gradient descent, and
leave it beyond that descent's edge (:data:`EDGES`).  Then weights alternate, at a size for which :func:`resting` has
the law.  AdaDelta's weight alone is a map without scale, :class:`Ratios`.

What was expected of the networks before the run: at decays 3 and 10 AdaDelta flips nearly all signs with every batch,
at the size of :func:`.weight_decay.law` within a tenth, and below 2 not; RMSprop and Adam flip most, at the size of
:func:`resting` within a half, from decay 1 on, where the decay outweighs the data; the decoupled rules and SGD flip
less than half at every decay, though divided gradients of the data may keep AdamW's weights from zero.  Refuted if a
decoupled rule or SGD flips most signs while its weights are finite, or a coupled rule at decay 10 does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
import xarray as xr

from experiments.hidden_structure import hidden_index, polynomials
from experiments.hidden_structure.polynomials import BATCH, Problem
from shallow import checks
from shallow.book.recipes import Agreement, Recipe
from shallow.mlp import Stack
from shallow.stats import stream


class Decoupled(torch.optim.Adadelta):
    """AdaDelta, at its default rate 1, that multiplies weights by 1 - rate decay before its step, as AdamW does."""

    def __init__(self, parameters, decay: float):
        super().__init__(parameters)
        self.kept = 1 - self.defaults["lr"] * decay

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.mul_(self.kept)
        return super().step(closure)


#: PyTorch's rules with the defaults of everything but the decay.
RULES: dict[str, Callable[[Sequence[torch.Tensor], float], torch.optim.Optimizer]] = {
    "AdaDelta": lambda p, decay: torch.optim.Adadelta(p, weight_decay=decay),
    "RMSprop": lambda p, decay: torch.optim.RMSprop(p, weight_decay=decay),
    "Adam": lambda p, decay: torch.optim.Adam(p, weight_decay=decay),
    "AdaDelta, decoupled": Decoupled,
    "AdamW": lambda p, decay: torch.optim.AdamW(p, weight_decay=decay),
    "SGD": lambda p, decay: torch.optim.SGD(p, weight_decay=decay),
}
DECAYS = (0.0, 1e-4, 1e-2, 0.1, 1.0, 3.0, 10.0)
ALONE = 32  # neurons whose weights are followed without data
DIVERGED = 1e30  # a weight of this size
GUARD = 1e-8  # PyTorch's floor of RMSprop and Adam
#: Rate, and memory of the gradients, of the two rules whose alternating weights rest at one size.
RESTING = {"RMSprop": (1e-2, 0.0), "Adam": (1e-3, 0.9)}
#: Decays from which on a weight alone leaves zero, at the default rates.
EDGES = {rule: 2 * GUARD * (1 + memory) / (1 - memory) / rate for rule, (rate, memory) in RESTING.items()}
EDGES |= {"AdaDelta": 2.0, "AdaDelta, decoupled": 2.0, "AdamW": 2e3, "SGD": 2e3}


def alone(rule: str, weights: np.ndarray, steps: int, decay: float) -> Iterator[np.ndarray]:
    """Weights after each of the steps with no gradient but the decay's, of one array that changes."""
    _known(rule, RULES)
    checks.integers(1, steps=steps)
    checks.not_negative(decay=decay)
    w = torch.from_numpy(np.array(weights)).requires_grad_()
    w.grad, optimiser = torch.zeros_like(w), RULES[rule]([w], decay)
    for _ in range(steps):
        optimiser.step()
        yield w.detach().numpy()


def resting(rule: str, decay: float) -> float:
    r"""Size $\frac\eta2 \frac{1 - \beta}{1 + \beta} - \epsilon/\lambda$ of the two-cycle, 0 where it is not positive.

    With w alternating between $\pm a$ the mean of the gradients alternates between $\pm \lambda a (1 - \beta) / (1 +
    \beta)$, the root of the mean of their squares is $\lambda a$, and a step is 2 a long.
    """
    _known(rule, RESTING)
    checks.positive(decay=decay)
    rate, memory = RESTING[rule]
    return max(0.0, rate / 2 * (1 - memory) / (1 + memory) - GUARD / decay)


def multipliers(memory: float, square_memory: float, step: float = 1e-6) -> np.ndarray:
    r"""Sizes, ascending, of the multipliers of the two-cycle of Adam, of RMSprop for no memory; by central differences.

    Without floor, at $\eta = \lambda = 1$, in w, the mean of the gradients and that of their squares, of which the
    first two are reflected after every step.
    """
    checks.within("[0, 1)", memory=memory, square_memory=square_memory)

    def moved(w: float, mean: float, square: float) -> np.ndarray:
        mean, square = memory * mean + (1 - memory) * w, square_memory * square + (1 - square_memory) * w**2
        return np.array([mean / square**0.5 - w, -mean, square])

    damped = (1 - memory) / (1 + memory)
    cycle = damped / 2 * np.array([1, -damped, damped / 2])
    columns = [(moved(*cycle + d) - moved(*cycle - d)) / (2 * d.sum()) for d in step * np.diag(cycle)]
    return np.sort(np.abs(np.linalg.eigvals(np.transpose(columns))))


class Ratios(NamedTuple):
    r"""AdaDelta's weight alone before a step, $w \leftarrow (1 - 2k)\, w$, with $K = \eta\lambda/2$.

    `half` is $k = K \sqrt{(S + \epsilon)/(G + \epsilon)}$, `share` the logarithm of $p = g^2/(G + \epsilon)$, and
    `floor` is $e = \epsilon/(G + \epsilon)$, with the gradient g of this step in G but its move not in S.
    """

    half: np.ndarray
    share: np.ndarray
    floor: np.ndarray


def later(now: Ratios, product: float, keep: float) -> Ratios:
    r"""The next step's, from $k'^2 = k^2 (\nu + (1 - \nu)(p + e K^2/k^2))/D$, $D = \nu + (1 - \nu)((1 - 2k)^2 p + e)$.

    So $k'^2 - k^2$ has the sign of $4k (1 - k)\, p + (K^2/k^2 - 1)\, e$.  `product` is $\eta \lambda$.
    """
    k, new = now.half, (1 - keep) * np.exp(now.share)
    shrunk, floor = (1 - 2 * k) ** 2, (1 - keep) * now.floor
    over = keep + new * shrunk + floor
    half = np.sqrt(((keep + new) * k**2 + floor * (product / 2) ** 2) / over)
    return Ratios(half, now.share + np.log(shrunk) - np.log(over), now.floor / over)


def arrival(product: float, keep: float, *, starts: int = 2000, decades: float = 6.0, waits: float = 400) -> xr.Dataset:
    r"""Do weights reach the two-cycle from everywhere?  AdaDelta's map from states over many decades.

    Args:
        product, keep: $\eta \lambda$ and $\nu$.
        starts, decades: so many states, in which $w^2/\epsilon$ and the running means over their values on the cycle
            lie log-uniformly between $10^{\pm d}$, d the decades.
        waits: steps, in units of $1/(1 - \nu)$.

    Returns:
        Over `means`, drawn or zero at the start: shares `arrived`, whose k and p are within 0.05 of one at the end, and
        `zero`, with $e > 0.99$; `median` and `last`, the steps after which the former are there for good.

    Cost: 0.1 ms a step.
    """
    checks.positive(product=product, waits=waits)
    checks.within("(0, 1)", keep=keep)
    rng, steps = stream("hs", "decay arrival"), round(waits / (1 - keep))
    squares, moves, over = (10 ** rng.uniform(-decades, decades, starts) for _ in range(3))
    rows = []
    for drawn in (1, 0):
        now, there = ratios(squares * drawn, moves * drawn, 1 / over, product, keep), np.zeros(starts, int)
        for step in range(1, steps + 1):
            now = later(now, product, keep)
            there[(np.abs(now.half - 1) > 0.05) | (np.abs(np.exp(now.share) - 1) > 0.05)] = step
        arrived = there < steps
        after = [np.median(there[arrived]), there[arrived].max()] if arrived.any() else [np.nan, np.nan]
        rows.append([arrived.mean(), np.mean(now.floor > 0.99), *after])
    found = zip(("arrived", "zero", "median", "last"), np.transpose(rows))
    return xr.Dataset({name: ("means", values) for name, values in found}, {"means": ["drawn", "zero"]})


def ratios(squares: np.ndarray, moves: np.ndarray, floor: np.ndarray, product: float, keep: float) -> Ratios:
    """Of the state of :class:`experiments.hidden_structure.theory.proofs_decay.State`, at rate 1."""
    low = floor / product**2
    over = keep * squares + 1 - keep + low
    return Ratios(np.sqrt((moves + floor / 4) / over), -np.log(over), low / over)


def _known(rule: str, among: Sequence[str]) -> None:
    if rule not in among:
        raise ValueError(f"rule must be one of {', '.join(among)}: {rule!r}")


def batches(task: Problem, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Numbers of the points of one batch after another, without end, as in the document's training."""
    train = task.rows["train"]
    while True:
        order = rng.permutation(len(train))
        yield from (train[order[first : first + BATCH]] for first in range(0, len(order), BATCH))


def trained(rule: str, start: Stack, task: Problem, decay: float, rng: np.random.Generator) -> Iterator[Stack]:
    """The network after each step, of one array that changes: absolute loss, batches of 32, in PyTorch."""
    _known(rule, RULES)
    checks.not_negative(decay=decay)
    now = Stack(start.parameters.copy(), start.widths)
    W, a = (torch.from_numpy(one[0]).requires_grad_() for one in now.weights)
    b, c = (torch.from_numpy(one[0]).requires_grad_() for one in now.biases)
    optimiser = RULES[rule]([W, b, a, c], decay)
    x, y = (torch.from_numpy(np.asarray(one, np.float32)) for one in (task.x, task.y))
    for rows in batches(task, rng):
        outputs = torch.relu(x[rows] @ W.T + b) @ a[0] + c
        optimiser.zero_grad()
        (outputs - y[rows]).abs().mean().backward()
        optimiser.step()
        yield now


def network(run: int, rule: str, decay: float, *, epochs: int = 20, size: int = hidden_index.SIZE) -> xr.Dataset:
    """The author's network of degree 8, 256 neurons, independent inputs, under a rule and a decay.

    Returns:
        Over `pull`, of the first layer as the network trains it, and of some of its neurons that start with the same
        weights but have no gradient except the decay's, in double precision; over the steps of the last epoch: `size`,
        root mean square of the weights, and `flips`, the share that changes its sign in a step; infinite and NaN after
        divergence.  Of the network at the end: `aligned`, the share of turned neurons; `r2`, the claims' R_c on the
        test points; `deviation` of the outputs there.

    Cost: about 4 s.
    """
    checks.integers(1, epochs=epochs)
    task = polynomials.problem("independent", 8, run, size=size)
    start = polynomials.initial("independent", task.x.shape[1], polynomials.SETTINGS["independent"][8].width, run)
    rng = stream("hidden structure", "independent", "batches", run)
    epoch, first = -(-len(task.rows["train"]) // BATCH), start.weights[0][0]
    layers, free = np.empty((epoch, *first.shape), first.dtype), np.empty((epoch, ALONE, first.shape[1]))
    path = trained(rule, start, task, decay, rng)
    lone = alone(rule, first[:ALONE].astype(np.float64), epochs * epoch, decay)
    for step, (weights, now) in enumerate(zip(lone, path)):  # in this order, as the path has no end
        layers[step % epoch], free[step % epoch] = now.weights[0][0], weights
    outputs, test = now.forward(task.x)[0], task.rows["test"]
    norm = float(np.median(np.linalg.norm(first, axis=1)))
    seen = np.transpose([_seen(layers), _seen(free)])
    found = {name: ("pull", values) for name, values in zip(("size", "flips"), seen)}
    return xr.Dataset(found, {"pull": ["data and decay", "decay alone"]}).assign(
        aligned=polynomials.directions(now, task.direction, norm)["aligned"],
        r2=polynomials.fits(outputs, task.v, task.y, task.rows).r2.sel(part="test", range="bulk").item(),
        deviation=float(outputs[test].std()),
    )


def _seen(layers: np.ndarray) -> tuple[float, float]:
    """Size and share of changes of sign a step, of layers (step, m, p); infinite and NaN after divergence."""
    if not (np.abs(layers) < DIVERGED).all():
        return np.inf, np.nan
    signs = np.sign(layers)
    return float(np.sqrt(np.mean(layers.astype(float) ** 2))), float(np.mean(signs[1:] * signs[:-1] < 0))


def grown(product: float, keep: float, waits: float = 200) -> float:
    r"""Gain of $w^2$ a step over the law's $\frac\epsilon4 (\eta^2 - 4/\lambda^2)$ in the last half of the steps.

    Means are zero and $w^2 = \epsilon$ at the start; `waits` as for :func:`arrival`, whose map it follows.
    """
    checks.within("(2, inf)", product=product)
    checks.within("(0, 1)", keep=keep)
    half = round(waits / (1 - keep) / 2)
    now, sizes = ratios(*np.array([[0.0], [0.0], [1.0]]), product, keep), []
    for step in range(2 * half + 1):
        if step % half == 0:
            sizes.append((np.exp(now.share) / now.floor).item() / product**2)  # w^2 over the floor, at rate 1
        now = later(now, product, keep)
    return (sizes[2] - sizes[1]) / half / ((1 - 4 / product**2) / 4)


RECORDS: dict[str, Recipe] = {
    "decay_optimisers": Recipe(
        network,
        {"rule": list(RULES), "decay": list(DECAYS), "run": list(range(5))},
        about="The author's network of degree 8 after 20 epochs of six rules of training at seven weight decays",
        replicates="run",
        agreement=Agreement(elsewhere=0.1),
        shortened={"epochs": 1},
    ),
    "decay_adam": Recipe(
        network,
        {"rule": ["Adam"], "decay": [0.01, 1.0, 10.0], "run": list(range(5))},
        {"epochs": 60},
        "Adam of the record decay_optimisers for 60 epochs, as its mean of squares forgets in 1,000 steps",
        replicates="run",
        agreement=Agreement(elsewhere=0.1),
        shortened={"epochs": 1},
    ),
    "decay_arrival": Recipe(
        arrival,
        {"product": [1.5, 1.8, 2.2, 3.0, 10.0, 100.0], "keep": [0.5, 0.7, 0.9, 0.99, 0.999]},
        {"starts": 500},
        "Weights under AdaDelta and decay alone, from 500 states over twelve decades: do they reach the cycle?",
        replicates="product",
    ),
}
