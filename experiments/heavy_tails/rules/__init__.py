"""How the claims on heavy tails are decided: a function for each, `ht_14` for HT-14, in the modules by topic."""

from experiments.deciding import Rules

RULES = Rules(__name__, __path__)
__getattr__ = RULES.named
