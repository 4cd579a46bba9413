"""The shape of receptive fields on a ring or a torus."""
