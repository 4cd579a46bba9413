"""How the claims on cyclic labels are decided: a function for each, `cl_14` for CL-14, in the modules by topic."""

from experiments.deciding import Rules

RULES = Rules(__name__, __path__)
__getattr__ = RULES.named
