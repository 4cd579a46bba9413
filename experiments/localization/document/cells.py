"""Networks for the figures that the note announces and does not show: those of the record of arrangements, drawn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.localization import networks
from experiments.localization.populations.arrangements import arrangements
from shallow.committee import Committee
from shallow.stats import stream
from shallow.train import online


def arranged(names: Sequence[str], gain: float, *, seed: int = 0, steps: int = 4000) -> Committee:
    """Networks of the record `localization/populations/arrangements` at its last step, one for each name.

    Args:
        names: of :func:`experiments.localization.populations.arrangements.arrangements`.

    Cost: 0.2 ms for a step of each.
    """
    known = arrangements()
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"names must be arrangements, got {', '.join(unknown)}; allowed are {', '.join(known)}")
    cases = [known[name] for name in names]
    start = Committee(networks.starts([seed]).W[[0] * len(cases)], np.stack([case.start for case in cases]))
    return online.train(
        start,
        networks.pair(gain),
        rngs=[stream("localization", "batches", seed) for _ in cases],
        rate=networks.WIDTH / 2,
        steps=steps,
        offset=np.array([case.offset for case in cases]),
        bounds=tuple(np.stack([getattr(case, end) for case in cases]) for end in ("low", "high")),
    ).last
