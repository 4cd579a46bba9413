"""Spectra of weight matrices: eigenvalues, random-matrix laws and tails; of a whole model by :func:`report`."""

from shallow.spectra.layers import Layer, Report, report

__all__ = ["Layer", "Report", "report"]
