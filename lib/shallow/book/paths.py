"""Where the repository keeps what is not code; the library is installed from it in editable mode."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BOOK = ROOT / "book"
CLAIMS = BOOK / "claims"
#: Recorded runs; the environment variable SHALLOW_RECORDS puts them elsewhere, for example on a larger disk.
RECORDS = Path(os.environ.get("SHALLOW_RECORDS", ROOT / "records"))
