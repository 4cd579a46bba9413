"""What the book runs, a package for each document: cells, recipes of recorded runs, and what serves one argument."""

from pathlib import Path

#: The packages with recorded runs, in name order.
CHAPTERS = tuple(sorted(file.parent.name for file in Path(__file__).parent.glob("*/recorded.py")))
