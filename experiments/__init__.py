"""What the book runs, a package for each document: cells, recipes of recorded runs, and what serves one argument."""

#: The packages with recorded runs, in the order of the book.
CHAPTERS = ("cyclic_labels", "heavy_tails", "simplicity_bias", "hidden_structure", "localization")
