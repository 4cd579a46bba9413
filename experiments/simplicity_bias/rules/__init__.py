"""How the claims on simplicity bias are decided: a function for each, `sb_14` for SB-14, in the modules by topic."""

from experiments.deciding import Rules

RULES = Rules(__name__, __path__)
__getattr__ = RULES.named
