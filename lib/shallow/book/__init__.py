"""What turns experiments into pages: sweeps, records, their verification, the ledger, figures and sliders."""

from shallow.extras import xarray  # noqa: F401  without the extra `book` this says what to install
