"""A package with recorded runs of its own, so that tests can interrupt, break and corrupt them."""
