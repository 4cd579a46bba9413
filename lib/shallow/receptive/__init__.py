"""Receptive fields on a ring or a torus: their shape, their populations, and the theory of how they arise."""
