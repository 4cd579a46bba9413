r"""The bounds on the deviation $\sup_w \|D_n(w) - D(w)\|$ with explicit constants: Theorems 1 and 3, Corollary 1.

For the linear model $y = \langle x, e_1\rangle + \eta$ with inputs $N(0, I_d)$; proofs on the chapter's page of proofs.
V is $\mathbb E[y^2\|x\|^2] = (d + 2) + d\sigma^2$ and P the number of activation patterns, :func:`planar.cover`.
"""

from __future__ import annotations

from functools import cache
from math import log, sqrt

import numpy as np

from experiments.simplicity_bias.concentration.planar import cover
from shallow import stats
from shallow.data import teachers


def second_moment(d: int) -> float:
    r"""$V = (d + 2) + d\sigma^2$."""
    return d + 2 + d * teachers.NOISE


def plain(n: int, d: int) -> float:
    r"""Theorem 1: $2\sqrt{\frac{8 \log(2P)}{3n} V}$, a bound of the mean deviation."""
    return 2 * sqrt(8 * log(2 * cover(n, d)) / (3 * n) * second_moment(d))


def refined(n: int, d: int) -> float:
    r"""Theorem 1 refined: $\frac{2}{\sqrt n}\sqrt{2 \log 2\, V + 4 \log P\; \mathbb E\Lambda_n}$."""
    return 2 * sqrt((2 * log(2) * second_moment(d) + 4 * log(cover(n, d)) * largest_eigenvalue(n, d)) / n)


@cache
def largest_eigenvalue(n: int, d: int, draws: int = 10) -> float:
    r"""$\mathbb E\Lambda_n$: mean of the largest eigenvalue of $\frac1n\sum_k y_k^2 x_k x_k^\top$."""
    rng, found = stats.stream("weighted second moments", d, n), []
    for _ in range(draws):
        x, y = teachers.gaussian(rng, teachers.first_axis(d), n)
        found.append(np.linalg.eigvalsh((x.T * y**2) @ x / n)[-1])
    return float(np.mean(found))
