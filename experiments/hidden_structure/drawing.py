"""What the pages on symmetry and hidden directions draw several times."""

from __future__ import annotations
