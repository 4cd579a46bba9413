"""Cells of the chapter on simplicity bias.

Sections and equations are those of Boursier and Flammarion, "Simplicity bias and optimization threshold in two-layer
ReLU networks".
"""
