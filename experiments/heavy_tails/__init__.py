"""Experiments of the chapter on heavy-tailed weight spectra (Kothapalli et al., "From Spikes to Heavy Tails")."""
