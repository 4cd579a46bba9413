r"""Filters against each other: the note's objectives (6) and (9) over families of filters, and for learned fields.

Families on a ring of n points: waves $\cos(2\pi k d/n)$, k = 0 the constant; bumps $e^{-d^2/a^2}$; Gabor functions
$\cos(2\pi k d/n)\,e^{-d^2/a^2}$, all of norm 1.  Widths are in proportion to n.
Filters are chosen on one draw of pairs and judged on another.
Source: note on localized receptive fields, Section 2, equations (6), (9) and "Difference in means".
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy import optimize

from experiments.localization import dominance, networks
from experiments.localization.dominance import gabors
from experiments.localization.populations.cells import population
from shallow.book.recipes import Recipe
from shallow.data.nlgp import Process
from shallow.stats import stream

GAINS = [0.01, 0.3, 1.0, 3.0, 100.0]
SEEDS = [0, 1, 2]
#: Widths at n = 40 and carriers, in cycles per ring, of the grid of Gabor functions; integers up to 20 for waves.
WIDTHS, CARRIERS = np.geomspace(0.7, 10.0, 14), np.arange(41) / 2
#: Norms and biases among which every filter finds its best in (6).
NORMS, BIASES = (0.5, 1.0, 2.0, 4.0, 8.0), tuple(np.linspace(0.0, -8.0, 12))


def waves(n: int) -> np.ndarray:
    """The constant and cosines up to 20 cycles per ring, shape (21, n)."""
    return gabors(n, [np.inf], np.arange(21))[0]


def grid(n: int) -> np.ndarray:
    """Gabor functions of all widths and carriers, shape (14, 41, n); carrier 0 has the bumps."""
    return gabors(n, WIDTHS * n / 40, CARRIERS)


def kurtosis(rng: np.random.Generator, process: Process, W: np.ndarray, samples: int) -> np.ndarray:
    """Excess kurtosis of the responses of filters (F, n) over samples, shape (F,)."""
    second, fourth = np.zeros(len(W)), np.zeros(len(W))
    for _ in range(-(-samples // 10_000)):
        squares = (process.sample(rng, 10_000) @ W.T) ** 2
        second += squares.sum(axis=0)
        fourth += (squares**2).sum(axis=0)
    count = 10_000 * -(-samples // 10_000)
    return fourth / count / (second / count) ** 2 - 3


def at_a_point(seed: int, n: int, gain: float, *, pairs: int = 100_000) -> xr.Dataset:
    r"""(9) of all families on two draws of pairs, and what the best bump and Gabor function gain on the constant.

    Returns:
        waves, gabors: values of (9); ratio, gabor_ratio: exact variance ratios $R(w)$; kurtosis, wave_kurtosis: excess
            kurtosis of the responses of bumps and of waves;
        lead, lead_error: advantage over the constant of the bump, the Gabor function and the cosine chosen on the first
            draw, and of that Gabor function over that bump, on the pairs of the second, with standard error;
        best: number of the chosen one in its family (a Gabor function: flattened).

    Cost: 4 F n operations per pair and draw for 595 filters; 6 s at n = 40 with 100,000 pairs.
    """
    first, second = networks.pair(gain, n, tuple(xi * n / networks.N for xi in networks.LENGTHS))
    fields = np.concatenate([waves(n), grid(n).reshape(-1, n)])
    rngs = {draw: stream("localization", "pairs", seed, n, draw) for draw in ("select", "evaluate", "kurtosis")}
    select, outcomes = (
        dominance.outcomes_at_a_point(rngs[draw], first, second, fields, pairs) for draw in ("select", "evaluate")
    )
    values = np.stack([dominance.probability(draw).value for draw in (select, outcomes)])
    ratio = dominance.variance_ratio(fields, first.spectrum, second.spectrum)
    bumps = 21 + np.arange(len(WIDTHS)) * len(CARRIERS)
    families = {"bump": bumps, "gabor": np.arange(21, len(fields)), "cosine": np.arange(1, 21)}
    best = {name: rows[values[0, rows].argmax()] for name, rows in families.items()}
    duels = {name: (row, 0) for name, row in best.items()} | {"gabor over bump": (best["gabor"], best["bump"])}
    leads = [dominance.advantage(outcomes[row], outcomes[rival]) for row, rival in duels.values()]
    heavy = np.stack(
        [kurtosis(rngs["kurtosis"], process, fields[np.r_[:21, bumps]], pairs) for process in (first, second)]
    )
    shape = (len(WIDTHS), len(CARRIERS))
    return xr.Dataset(
        {
            "waves": (("draw", "mode"), values[:, :21].astype(np.float32)),
            "gabors": (("draw", "width", "carrier"), values[:, 21:].reshape(2, *shape).astype(np.float32)),
            "ratio": ("mode", ratio[:21]),
            "gabor_ratio": (("width", "carrier"), ratio[21:].reshape(shape)),
            "wave_kurtosis": (("class", "mode"), heavy[:, :21]),
            "kurtosis": (("class", "width"), heavy[:, 21:]),
            "lead": ("rival", [float(lead.value) for lead in leads]),
            "lead_error": ("rival", [float(lead.error) for lead in leads]),
            "best": ("rival", [int(np.flatnonzero(families[name] == best[name])[0]) for name in families] + [-1]),
        },
        {
            "draw": ["select", "evaluate"],
            "mode": np.arange(21),
            "width": WIDTHS,
            "carrier": CARRIERS,
            "class": [1, 0],
            "rival": list(duels),
        },
    )


def ring_filters(gain: float) -> tuple[list[str], np.ndarray]:
    r"""Names and fields (F, 40) of the filters compared in (6): waves, bumps, Gabor functions and matched bumps.

    The bump "as cosine k" has the variance ratio of the cosine of k cycles, for those k for which there is one of a
    width between 1 and 6.
    """
    first, second = (process.spectrum for process in networks.pair(gain))
    widths = {f"bump {a:.2g}": a for a in WIDTHS}

    def excess(width: float, k: int) -> float:
        return float(dominance.variance_ratio(gabors(40, [width], [0])[0, 0], first, second) - first[k] / second[k])

    for k in range(1, 7):
        if excess(1.0, k) < 0 < excess(6.0, k):
            widths[f"bump as cosine {k}"] = optimize.brentq(excess, 1.0, 6.0, args=(k,))
    gabor = gabors(40, [3.0, 5.0, 8.0], [1.0, 2.0, 3.0])
    names = ["constant", *(f"cosine {k}" for k in range(1, 21)), *widths]
    names += [f"gabor {a} {k}" for a in (3, 5, 8) for k in (1, 2, 3)]
    return names, np.concatenate([waves(40), gabors(40, list(widths.values()), [0])[:, 0], gabor.reshape(-1, 40)])


def on_average(seed: int, gain: float, *, pairs: int = 20_000, count: int | None = None) -> xr.Dataset:
    """(6) of the first `count` filters, each with the norm and the bias that suit it best, and (9) of the same.

    Norm and bias are chosen on a draw of half as many pairs; lead is the advantage in (6) over every other filter on
    the pairs of the second, and (9) has pairs of its own.

    Cost: 1.2 us for each of the 60 settings of a filter and pair of the first draw; 40 s for 48 filters.
    """
    first, second = networks.pair(gain)
    names, fields = ring_filters(gain)
    names, fields = names[:count], fields[:count]
    rngs = {part: stream("localization", "rings", seed, part) for part in ("select", "evaluate", "point")}
    draws = {"select": rngs["select"], "evaluate": rngs["evaluate"], "pairs": (pairs // 2, pairs)}
    tuned = dominance.tuned_on_average(first, second, fields, NORMS, BIASES, **draws)
    average = dominance.probability(tuned.outcomes)
    lead = dominance.advantage(tuned.outcomes[:, None], tuned.outcomes)
    point = dominance.probability(dominance.outcomes_at_a_point(rngs["point"], first, second, fields, 5 * pairs))
    return xr.Dataset(
        {
            "average": ("filter", average.value),
            "average_error": ("filter", average.error),
            "norm": ("filter", tuned.scale),
            "bias": ("filter", tuned.bias),
            "lead": (("filter", "rival"), lead.value.astype(np.float32)),
            "lead_error": (("filter", "rival"), lead.error.astype(np.float32)),
            "point": ("filter", point.value),
            "point_error": ("filter", point.error),
            "ratio": ("filter", dominance.variance_ratio(fields, first.spectrum, second.spectrum)),
        },
        {"filter": names, "rival": names},
    )


def learned(seed: int, gain: float, *, steps: int = 4000, pairs: int = 100_000) -> xr.Dataset:
    r"""(9) of the fields of a standard network before and after training, against the best filters of the families.

    Returns:
        by the sign of the bias, value and start: means of (9) over the fields after and before training; best: the
            largest value of all families for negative biases and the smallest for positive ones, chosen on one draw and
            judged, as all values, on another; kind: 0 if that is a wave, 1 a bump, 2 another Gabor function;
        ratio: mean of $\frac2\pi\arctan\sqrt R$ over the trained fields, R the exact variance ratio; neurons: how many.

    Cost: 10 s with 100,000 pairs.
    """
    first, second = networks.pair(gain)
    run = networks.train([seed], [gain], steps=steps, records=[0])
    fields = np.concatenate([waves(40), grid(40).reshape(-1, 40)])
    rngs = [stream("localization", "learned", seed, part) for part in ("select", "evaluate")]
    select = dominance.probability(dominance.outcomes_at_a_point(rngs[0], first, second, fields, pairs)).value
    chosen = [select.argmax(), select.argmin()]
    trained, signs = run.last.W[0], population(run.last.b[0])
    stack = np.concatenate([fields[chosen], run.W[0, 0], trained])
    values = dominance.probability(dominance.outcomes_at_a_point(rngs[1], first, second, stack, pairs)).value
    begun, ended = values[2:].reshape(2, -1)
    law = dominance.at_a_point(dominance.variance_ratio(trained, first.spectrum, second.spectrum))
    members = [signs == sign for sign in (-1, 1)]
    return xr.Dataset(
        {
            "value": ("sign", [ended[rows].mean() for rows in members]),
            "start": ("sign", [begun[rows].mean() for rows in members]),
            "best": ("sign", values[:2]),
            "kind": ("sign", [_kind(row) for row in chosen]),
            "ratio": ("sign", [law[rows].mean() for rows in members]),
            "neurons": ("sign", [int(rows.sum()) for rows in members]),
        },
        {"sign": [-1, 1]},
    )


def _kind(row: int) -> int:
    return 0 if row < 21 else 1 if (row - 21) % len(CARRIERS) == 0 else 2


# Records.

RECORDS: dict[str, Recipe] = {
    "filters_at_a_point": Recipe(
        at_a_point,
        {"n": [40], "gain": GAINS, "seed": SEEDS},
        about="Objective (9) over waves, bumps and Gabor functions, 40 points",
    ),
    "filters_at_a_point_400": Recipe(
        at_a_point,
        {"n": [400], "gain": GAINS, "seed": SEEDS},
        {"pairs": 30_000},
        "Objective (9) over waves, bumps and Gabor functions, 400 points",
    ),
    "filters_on_average": Recipe(
        on_average,
        {"gain": [0.01, 3.0], "seed": SEEDS},
        about="Objectives (6) and (9) of filters, each with its best norm and bias in (6)",
        shortened={"count": 4},
    ),
    "learned_filters": Recipe(
        learned,
        {"gain": [0.01, 1.0, 3.0, 100.0], "seed": SEEDS},
        about="Learned fields in (9) against the best filters of all families",
    ),
}
