"""What the pages on localised receptive fields draw several times."""

from __future__ import annotations
