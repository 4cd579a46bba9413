"""Experiments of the chapter on hidden structure: shells in orthants, and polynomials of a hidden direction."""
