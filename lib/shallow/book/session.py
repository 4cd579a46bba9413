"""How a page is being run: strictly, as in builds and tests, or by a reader who changes things."""

from __future__ import annotations

import os


def is_strict() -> bool:
    """Whether SHALLOW_STRICT=1 is in the environment, as builds and tests put it there.

    A result that is not the ledger's is an error then, and sliders are pictures that need no kernel.  Anywhere else (in
    JupyterLab, in VS Code, on Binder) such a result is shown beside the ledger's, and sliders draw anew at every move.
    """
    return os.environ.get("SHALLOW_STRICT", "0") not in ("", "0")
