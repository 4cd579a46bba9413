"""Spectra of weight matrices: random-matrix laws, tails and shapes."""
