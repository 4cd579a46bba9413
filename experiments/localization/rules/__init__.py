"""How the claims on localised receptive fields are decided: a function for each, `lo_14` for LO-14, by topic."""

from experiments.deciding import Rules

RULES = Rules(__name__, __path__)
__getattr__ = RULES.named
