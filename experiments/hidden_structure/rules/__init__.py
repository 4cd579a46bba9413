"""How the claims on hidden structure are decided: a function for each, `hs_14` for HS-14, in the modules by topic."""

from experiments.deciding import Rules

RULES = Rules(__name__, __path__)
__getattr__ = RULES.named
