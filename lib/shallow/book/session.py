"""How a chapter is being run: for the record, as in builds and tests, or by a reader who changes things."""

from __future__ import annotations

import os

LIVE = "SHALLOW_LIVE"


def is_live() -> bool:
    """Whether a reader is at work: SHALLOW_LIVE=1, which `make lab` sets.

    Sliders then draw anew at every move, and a result that is not the ledger's is shown beside it instead of ending
    the run.
    """
    return os.environ.get(LIVE, "0") not in ("", "0")
