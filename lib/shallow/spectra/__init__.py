"""Spectra of weight matrices: eigenvalues, random-matrix laws and tails."""
