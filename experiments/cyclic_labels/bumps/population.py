r"""Whom a lone point concerns: random data of many sizes, the epoch from which one looks, and the steps of the layers.

Bumps are those of :mod:`.cells`, with the step 0.001 or a tenth of it.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.cyclic_labels.bumps import cells as bumps
from experiments.cyclic_labels.theory import poor_cluster
from shallow import nets
from shallow.book.recipes import Recipe, releases_gil
from shallow.data import cyclic
from shallow.kernels import empirical

STARTS = (0, 100, 200, 500, 1000, 2000, 4000)  # epochs from which one looks
SIZES = (10, 15, 20, 25, 30, 40, 50, 60)
RATIOS = (1 / 64, 1 / 16, 1 / 4, 1.0, 4.0, 16.0, 64.0)  # step of the output weights over that of the hidden layer


@releases_gil
def seen(seed: int, refinement: int, *, design: str = "iid", n: int = 50) -> xr.Dataset:
    """The bump of one run (:func:`bumps.slow`), looked at from each of `start` on, the count of each cluster beside it.

    fall is how far the smoothed test loss comes down to its low, from its highest value between `start` and the low;
    ends is the test loss at the last epoch over that at the low.
    """
    curves = bumps.cut(seed, refinement, design=design, n=n)
    test, epoch = bumps.smooth(curves.test_loss.values)[0], curves.epoch.values
    found = []
    for start in STARTS:
        bump = bumps.slow(curves, start=start).isel(seed=0, drop=True)
        low = epoch == bump.low.item()
        before = test[(epoch >= start) & (epoch <= bump.low.item())]
        found.append(bump.assign(fall=before.max() - test[low].item(), ends=test[-1] - test[low].item()))
    count = curves["count"].isel(seed=0, drop=True).rename(cluster="place")
    return xr.concat(found, xr.Variable("start", list(STARTS))).assign(count=count.astype(np.int16))


@releases_gil
def in_error(seed: int, refinement: int, *, design: str) -> xr.Dataset:
    """The bump of one run; its test loss, and the misclassified share of the interval and of each cluster, at `moment`.

    The moments are low and peak of the largest rise, which may be zero, and the end; all is smoothed like the losses.
    """
    curves = bumps.cut(seed, refinement, design=design)
    bump = bumps.slow(curves).isel(seed=0, drop=True)
    at = np.searchsorted(curves.epoch, [bump.low, bump.peak, curves.epoch[-1]])
    by_place = curves.cluster_error.transpose("seed", "epoch", "cluster").values
    data = {
        "test_loss": ("moment", bumps.smooth(curves.test_loss.transpose("seed", "epoch").values)[0, at]),
        "error": ("moment", bumps.smooth(curves.error.transpose("seed", "epoch").values)[0, at]),
        "cluster_error": (("moment", "place"), bumps.smooth(by_place)[0, at]),
    }
    found = xr.Dataset(data, {"moment": ["low", "peak", "end"]}).astype(np.float32)
    return found.merge(bump[["rise", "diverging", "recovers"]])


@releases_gil
def layerwise(seed: int, ratio: float, *, design: str, refinement: int = 10, n: int = 50) -> xr.Dataset:
    r"""One run of poor(5, 1) or even data whose output weights take `ratio` times the step of the hidden layer.

    All steps are then scaled alike so that the largest eigenvalue of the kernel, $\sum_g r_g J_g J_g^\top$, at the
    start is that of equal steps.  Returns the bump with the epoch at which it has recovered, the highest smoothed loss
    of the last cluster and the epoch at which it is back at 1 (:func:`.poor_cluster.poor_loss`), and the test loss at
    the last epoch; left_over, the share of its own pull that the lone point keeps at the start.
    """
    sample = cyclic.sample(n, base=7, seed=seed, design=design)
    network = nets.default(sample.rng, poor_cluster.WIDTH)
    rates = (ratio, 1.0, 1.0)
    largest = [empirical.eigenbasis(empirical.ntk(network, sample.x, rates=one))[0][0] for one in (nets.ALL, rates)]
    rates = tuple(largest[0] / largest[1] * rate for rate in rates)
    curves = bumps.cut(seed, refinement, design=design, n=n, rates=rates)
    centres = poor_cluster.six(n=n)
    kernel = empirical.ntk(network, centres.x, rates=rates)
    data = bumps.slow(curves)[["rise", "low", "peak", "diverging", "recovers"]]
    data = data.assign(recovery=("seed", bumps.recovery(curves)), loss=curves.test_loss[:, -1].drop_vars("epoch"))
    data = data.merge(poor_cluster.poor_loss(curves)[["highest", "highest_epoch", "back"]]).isel(seed=0, drop=True)
    left_over = poor_cluster.extrapolated(kernel, centres.labels, centres.counts).left_over
    return data.assign(left_over=left_over / kernel[-1, -1])


RECORDS: dict[str, Recipe] = {
    "random_data": Recipe(
        seen,
        {"n": list(SIZES), "refinement": [1, 10], "seed": list(range(1000, 1400))},
        about="Bumps in random data of eight sizes, and the points in each cluster",
    ),
    "looked_at_from": Recipe(
        seen,
        {
            "design": ["poor(5,1)", "poor(5,2)", "poor(2,1)", "poor(2,2)", "two_rightmost", "strat"],
            "refinement": [1, 10],
            "seed": list(range(1000, 1200)),
        },
        about="Bumps of six designs, looked at from seven epochs on",
    ),
    "errors": Recipe(
        in_error,
        {
            "design": ["poor(5,1)", "poor(2,1)", "two_rightmost", "strat"],
            "refinement": [1, 10],
            "seed": list(range(1000, 1200)),
        },
        about="Misclassified share of the interval where the test loss is low, at its peak and at the end",
    ),
    "layers": Recipe(
        layerwise,
        {"ratio": list(RATIOS), "design": bumps.TWO_DESIGNS, "seed": list(range(150))},
        about="Bumps when the output weights take other steps than the hidden layer",
    ),
}
