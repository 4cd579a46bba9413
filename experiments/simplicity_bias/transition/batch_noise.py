r"""Does the noise of batches move the threshold?  Rates and batches at equal flow time, with one common finish.

Descent on batches of B at rate $\eta$ is the gradient flow with a noise of size about $\eta / B$.  All settings share
data and initial network, draw by draw, and the flow time T.  At a constant rate the noise holds the loss up.  So every
run ends with the same stretch of full batches, and what is then left unfitted is what the network can no longer fit.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray as xr

from experiments.simplicity_bias.transition import cells as transition
from shallow.book.recipes import Recipe, releases_gil
from shallow.stats import stream
from shallow.train import minibatch

#: Flow time $T = 2 \eta \cdot$ steps of the runs, and those at which they are looked at.
TIME, TIMES = 20_000.0, (100.0, 1000.0, 5000.0, 20_000.0)
#: The common finish: full batches at this rate for this flow time.
FINISH_RATE, FINISH = 0.02, 1000.0


@releases_gil
def run(seed: int, n: int, rate: float, batch: int, *, width: int = 256, d: int = 5, time: float = TIME) -> xr.Dataset:
    r"""One run at a constant rate for a flow time, then the finish; a batch of n or more is the full batch.

    Returns :func:`.transition.measures` at :data:`TIMES` (dimension time), and `ols`; of a run of whole length also
    `settled_*`, after the finish.
    Cost: 0.1 microseconds per step and sample of a batch at width 256 and d = 5 on one core.
    """
    target, sample, start = transition.drawn(seed, n, d=d, width=width)
    times = np.array([t for t in TIMES if t <= time])
    steps = np.round(times / (2 * rate)).astype(int)

    def train(network, rate, steps, size, name, records):
        return minibatch.train(
            *sample,
            network,
            rate=rate,
            steps=int(steps),
            batch=min(size, n),
            rng=stream("simplicity bias", name, d, n, width, seed),
            records=records,
            measure=lambda network: transition.measures(network, sample, target),
            dtype=np.float32,
        )

    path = train(start, rate, steps[-1], batch, "batches", steps.tolist())
    found = {name: ("time", [value[name] for value in path.values]) for name in path.values[0]}
    found["ols"] = transition.least_squares(sample)[1]
    if time == TIME:
        finish = round(FINISH / (2 * FINISH_RATE))
        settled = train(path.network, FINISH_RATE, finish, n, "finish", [finish]).values[0]
        found |= {f"settled_{name}": value for name, value in settled.items()}
    return xr.Dataset(found, {"time": times})


#: Sizes around both thresholds, and two draws at all of them; further draws at two sizes.
SIZES, SEEDS = [100, 150, 225, 340, 500, 750, 1000], [0, 1]
FEW = {"n": [340, 500], "seed": [2, 3, 4, 5]}
#: Larger than every sample: the full batch.
FULL = 1_000_000
_runs = partial(Recipe, run, shortened={"time": 100.0})

RECORDS: dict[str, Recipe] = {
    "batch_noise": _runs(
        {"rate": [0.04, 0.01], "batch": [8, 32, 128], "n": SIZES, "seed": SEEDS},
        about="Two rates and three batches at equal flow time, 256 neurons, then a finish on full batches",
    ),
    "batch_noise_full": _runs(
        {"rate": [0.04], "batch": [FULL], "n": SIZES, "seed": SEEDS},
        about="The same without noise: the full batch",
    ),
    "batch_noise_flow": _runs(
        {"rate": [0.01], "batch": [FULL], "n": SIZES[1:-1], "seed": SEEDS},
        about="The full batch at a quarter of the rate, whose steps are nearer to a flow",
    ),
    "batch_noise_slow": _runs(
        {"rate": [0.0025], "batch": [8], "n": SIZES, "seed": SEEDS},
        about="The same at a third rate, with the rate over the batch of 0.04 and 128, and of 0.01 and 32",
    ),
    "batch_noise_draws": _runs(
        {"rate": [0.01], "batch": [8, 32, FULL]} | FEW, about="Further draws at two sizes: with noise and without"
    ),
    "batch_noise_draws_full": _runs(
        {"rate": [0.04], "batch": [FULL]} | FEW, about="Further draws at two sizes: the full batch at a large rate"
    ),
}
