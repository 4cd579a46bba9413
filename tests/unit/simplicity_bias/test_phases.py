"""The rules on the phases of the proof of Theorem 2, on planted data for which the answer is known."""

import numpy as np
import pytest
from planted.records import by, planted, verdicts

from experiments.simplicity_bias.phases import rules

SCALE = by(scale={scale: scale for scale in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)})
STEP = by(step={step: step for step in (0.1, 0.05, 0.025, 0.0125)})


def jitter(seeds):
    """A factor by draw, near one."""
    return by(seed={seed: np.exp(0.01 * np.sin(seed)) for seed in range(seeds)})


def run(name, seeds, **columns):
    """A recorded run with these numbers, of the first draws."""
    return planted(f"simplicity_bias/phases/phases_{name}", {"seed": range(seeds)}, **columns)


def early(turn=1.3, growth=0.7, power=2.0, law=0.01, name="early"):
    """Early alignment: the growth over lambda^(-1/4), the power of the misalignment, the error of the tanh law."""
    by_draw, ratio = jitter(8), growth * SCALE ** (-1 / 4)
    columns = {"turn": turn * by_draw, "misaligned": by_draw * SCALE**power, "unbalanced": by_draw * SCALE**0.5}
    return run(name, 8, ratio=ratio, tanh=law, loss=1.0, **columns)


test_directions_before_norms = verdicts(
    rules.sb_04, early, reproduced=[{}], contradicted=[{"turn": 0.3}, {"growth": 3.0}], undecided=[{"growth": 1.5}]
)
test_lemma_3 = verdicts(
    rules.sb_53,
    lambda fine=2.5, **changed: (early(**changed), early(power=fine, name="early_fine")),
    reproduced=[{}, {"power": 0.5}],
    contradicted=[{"power": 0.1}, {"fine": 0.0}, {"growth": 1.5}],
    undecided=[{"law": 0.2}],
)


def cones(late=0, spread=0.0, seeds=40):
    """Changes of patterns in the runs with many points and with few, and the spread at the end."""
    spread = np.append(np.linspace(1.0, 0.1, 19), spread)
    return run("cones", seeds, late=by(n={20: 3, 100: 3, 1000: late, 10_000: late}), spread=spread)


test_one_neuron_per_sign = verdicts(
    rules.sb_33,
    cones,
    reproduced=[{}],
    contradicted=[{"late": 2}],
    undecided=[{"spread": 0.2}, {"seeds": 10}],  # too few runs for 95 %
)


def drift(power=1.0, flips=0, error=1e-14):
    return run("drift", 5, drift=jitter(5) * STEP**power, flips=flips), error


test_lemma_2 = verdicts(
    rules.sb_52,
    drift,
    reproduced=[{}],
    contradicted=[{"power": 0.0}],
    undecided=[{"power": 1.5}, {"flips": 1}, {"error": 1e-6}],
)


#: Two draws in which nothing happens, two in which it does.
HALF = by(seed={0: 0.0, 1: 0.0, 2: 1.0, 3: 1.0})


# where neurons have left their cones the systems may differ
test_lemma_4 = verdicts(
    rules.sb_56,
    lambda gap, late: run("decoupling", 4, gap=gap, late=late, stopping=[1.0, 2.0]),
    reproduced=[(1e-14, 0), (1e-14 + 0.1 * HALF, 5 * HALF)],
    contradicted=[(1e-3, 0)],
)


def test_lemma_4_needs_runs_that_stay():
    with pytest.raises(ValueError, match="^pairs must have"):
        rules.sb_56(run("decoupling", 4, gap=1e-14, late=1, stopping=1.0))


def grown(slope=1.0, curve=0.0, power=2.0, inside=True, rising=True, error=1e-12, lasting=2.0, seeds=40):
    """Slow growth with a time of the given slope, and a curvature; fast growth of a duration by scale."""
    by_draw, logs = jitter(seeds), -np.log(SCALE)
    slow = by_draw * (2 + slope * logs + curve * logs**2)
    columns = {"slow": slow, "fast": slow + lasting, "spread": by_draw * SCALE**power, "inside": inside}
    return run("growth", seeds, norm=1.0, rising=rising, aggregate=error, pairs=1e-14, turning=0.0, **columns)


test_lemma_5 = verdicts(
    rules.sb_57,
    grown,
    reproduced=[{}, {"inside": SCALE < 0.05}],  # the lemma is for small scales
    contradicted=[{"slope": 0.0, "curve": 0.5}, {"inside": False}, {"inside": SCALE > 2e-5}],
    undecided=[{"slope": 1.6}, {"power": 0.2}, {"seeds": 12}],
)
test_lemma_6 = verdicts(
    rules.sb_58,
    grown,
    reproduced=[{}],
    contradicted=[{"error": 1e-3}, {"inside": False}],
    undecided=[{"rising": False}, {"lasting": -0.5 * np.log(SCALE)}],
)
test_the_inequality = verdicts(
    rules.sb_60,
    lambda near: run("domination", 3, path=1.5, near=near, outside=1.0),
    reproduced=[1.0],
    contradicted=[0.9],
)


def converged(rate=1.1, away=1e-13, seeds=40):
    return run("convergence", seeds, slope=-rate, promised=1.0, path=1e-13, away=away)


test_lemma_7 = verdicts(
    rules.sb_61,
    converged,
    reproduced=[{}],
    contradicted=[{"rate": -0.1}],
    undecided=[{"rate": 0.5}, {"away": 1e-3}, {"seeds": 5}],
)
