"""Bumps in the limit of small steps: the same training time, cut into finer and finer steps."""

from __future__ import annotations

import xarray as xr

from experiments.cyclic_labels import bumps
from experiments.cyclic_labels.runs import EPOCHS, run
from shallow import nets
from shallow.book.recipes import releases_gil
from shallow.data import cyclic
from shallow.kernels import empirical

STEP = 0.001


@releases_gil
def refined(seed: int, design: str, refinement: int, *, n: int = 50, width: int = 512) -> xr.Dataset:
    r"""Bump and spike of one run with step $\eta/k$ and $kT$ epochs, $\eta = 0.001$, k the refinement.

    Training time $\eta t$ and the times of the records are the same for every k, and epochs are counted in units of the
    unrefined step, so that the definitions of :mod:`bumps` apply unchanged.

    Returns a Dataset of scalars: rise, low, peak, diverging, recovers and cluster of the slow bump; spike;
    stability $= \eta\lambda_1/k$ with the top eigenvalue of the tangent kernel at initialisation.

    Cost: k times that of an ordinary run.
    """
    step, epochs, every = STEP / refinement, EPOCHS * refinement, 100 * refinement
    curves = run(seed, design=design, step=step, n=n, width=width, epochs=epochs, every=every)
    curves = curves.assign_coords(epoch=curves.epoch // refinement).expand_dims(seed=[seed])
    found = bumps.slow(curves).assign(spike=bumps.spikes(curves).spike).squeeze("seed", drop=True)
    data = cyclic.sample(n, base=7, seed=seed, design=design)
    values, _ = empirical.eigenbasis(empirical.ntk(nets.default(data.rng, width), data.x))
    return found.assign(stability=step * values[0])
