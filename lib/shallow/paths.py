"""Where the repository keeps what is not code; the library is installed from it in editable mode."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
CLAIMS = BOOK / "claims"
RECORDS = ROOT / "records"
