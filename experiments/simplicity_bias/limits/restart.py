"""After the end: what further training does to a network of Figure 1 whose rate has decayed  (Appendix A.2, Figure 2)

The restart of Figure 2 stops when its rate is nearly zero, where any loss stands still.  Two continuations ask whether
the point itself is at rest: descent on the full batch at the largest rate that is safe, and as many steps again as the
whole run had, at a tenth of its rate.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from experiments.simplicity_bias.limits import stationary
from experiments.simplicity_bias.transition import cells as transition
from shallow import gaussian_loss
from shallow.book.recipes import Recipe, releases_gil
from shallow.nets import TwoLayer
from shallow.stats import stream
from shallow.train import minibatch

PRESENT = 1000
CORNER = 1e-4  # a neuron lies on a data hyperplane if the sine of its angle to it is at most this


@releases_gil
def continued(
    seed: int,
    n: int,
    *,
    width: int = transition.NARROW,
    steps: int = transition.STEPS,
    decayed: int = 2_000_000,
    full: Sequence[int] = (1000, 5000, 15_000, 50_000),
    slow: Sequence[int] = (1_000_000, 2_000_000, 4_000_000, 8_000_000),
) -> xr.Dataset:
    r"""The run of Figure 2 again, and on from its end in two ways.

    Args:
        full: steps of descent on the full batch, in float64, at the rate one over the :func:`stationary.sharpness` of
            the end (half of the largest stable one), at which to look.
        slow: mini-batch steps at a tenth of the rate of Figure 1 at which to look; none: the run up to a thousand steps
            alone, by which it is recognised.

    Returns train loss, :func:`stationary.gradient_norm` and sharpness at the restart, at the end of the decayed steps,
    and after the full batch (moment); and losses along the two continuations.
    """
    target, sample, start = transition.drawn(seed, n, width=width)
    rng = stream("simplicity bias", "batches", 5, n, width, seed)
    options = {"batch": min(transition.BATCH, n), "rng": rng, "dtype": np.float32}

    def losses(network: TwoLayer) -> tuple[float, float]:
        return transition.train_loss(network, sample), gaussian_loss.excess_risk(network, target)

    last = steps if slow else PRESENT + 1
    path = minibatch.train(*sample, start, rate=transition.RATE, steps=last, records=[PRESENT, last], **options)
    train, excess = losses(path.values[0])
    found = xr.Dataset({"train": ("step", [train]), "excess": ("step", [excess])}, {"step": [PRESENT]})
    if not slow:
        return found
    options |= {"rate": transition.RATE, "decay": 0.85, "every": 50_000}
    end = minibatch.train(*sample, path.network, steps=decayed, **options).network
    rate = 1 / stationary.sharpness(end, sample)
    after = minibatch.train(
        *sample,
        end,
        rate=rate,
        steps=full[-1],
        records=full,
        batch=n,
        rng=stream("simplicity bias", "full batch"),
        dtype=np.float64,
    )
    options |= {"rate": transition.RATE / 10, "decay": 1.0}
    on = minibatch.train(*sample, end, steps=slow[-1], records=slow, measure=losses, **options)
    moments = [path.network, end, after.network]
    return found.assign(
        loss=("moment", [transition.train_loss(one, sample) for one in moments]),
        gradient=("moment", [stationary.gradient_norm(one, sample, CORNER) for one in moments]),
        sharpness=("moment", [stationary.sharpness(one, sample) for one in moments]),
        full_loss=("full", [transition.train_loss(one, sample) for one in after.values]),
        full_rate=rate,
        slow_loss=("slow", [value[0] for value in on.values]),
        slow_excess=("slow", [value[1] for value in on.values]),
    ).assign_coords(moment=["restart", "end", "after"], full=list(full), slow=list(slow))


RECORDS: dict[str, Recipe] = {
    "continued": Recipe(
        continued,
        {"n": [2000, 1000], "seed": [0, 1, 2]},
        about="Figure 2 continued: the full batch, and 8 million steps at a tenth of the rate",
        shortened={"slow": ()},
    ),
}
