"""Cells of the chapter "Localization": networks that tell two nonlinear Gaussian processes apart."""
