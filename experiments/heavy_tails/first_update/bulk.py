r"""The bulk after the first step of Adam as a law: independent entries with a profile of variances of the columns.

Adam moves every entry of column k by $\eta$ times a sign.  Given what the rows share in that column, $\mu t_k$ with
$t_k \sim N(0, \tau^2)$, the sign has the mean $\operatorname{erf}(\mu t_k / \sqrt 2 \nu)$, up to that of $a_i$: these
means are the spike.  What is left has the variance $\eta^2 (1 - \operatorname{erf}^2)$ (prop-ht-first-bulk).

The private parts of one row are made of the same n inputs.  Given these, the signs of columns k and l have the
covariance $g_k g_l C_{kl}$ with C the correlations of the columns of $\operatorname{diag}(r) X$, r the residuals, and
$g_k = 2 \varphi(\mu t_k / \nu)$: the matrix of covariances takes the place of the profile.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from scipy import special, stats

from experiments.heavy_tails import gradient_laws, teacher_student
from experiments.heavy_tails.route.widening import small
from shallow.book.recipes import Recipe, releases_gil
from shallow.spectra import esd, marchenko_pastur, tails
from shallow.spectra.profiles import ProfileLaw


def law(rate: float, n: int, d: int, h: int) -> ProfileLaw:
    """The law of the bulk of W after one step of the code's Adam; no parameter is fitted."""
    found = gradient_laws.entries(n, d)
    normal = stats.norm.ppf((np.arange(d) + 0.5) / d)
    return ProfileLaw(h, 1 + rate**2 * unshared(normal * np.sqrt(found.shared / found.private)))


def law_of_inputs(rate: float, drawn: teacher_student.Draw) -> ProfileLaw:
    """The law given the inputs and labels of a draw, on which it looks; still nothing of the update is used."""
    x, y = drawn.samples.train
    weighted = x.astype(np.float64) * (y - drawn.student.forward(x))[:, None]
    found, (h, d) = gradient_laws.entries(*x.shape), drawn.student.W.shape
    ratio = gradient_laws.SLOPE * weighted.sum(axis=0) * d**0.5 / len(x) / found.private**0.5
    inner = 2 * stats.norm.pdf(ratio)
    lengths = np.sqrt(np.square(weighted).sum(axis=0)) / inner
    covariances = weighted.T @ weighted / np.outer(lengths, lengths)
    covariances[np.diag_indices(d)] = unshared(ratio)
    return ProfileLaw(h, 1 + rate**2 * np.linalg.eigvalsh(covariances))


def unshared(ratio: np.ndarray) -> np.ndarray:
    r"""Variance of a sign with the mean $\operatorname{erf}(x / \sqrt 2)$, where x is what is shared over $\nu$."""
    return 1 - special.erf(ratio / np.sqrt(2)) ** 2


@releases_gil
def first_bulk(seed: int, *, rates: Sequence[float], n: int = 2000, d: int = 1000, h: int = 1500):
    r"""The bulk after one step beside its law, at several learning rates from one gradient.

    Returns a Dataset over rate:
        hill: the exponent without $\lambda_1$; noise, the distance from the Marchenko-Pastur law that fits best;
        distance, law_hill, second: of the bulk from :func:`law`, the exponent of that, $\lambda_2$ over its upper end;
        inputs_distance, inputs_law_hill, inputs_second: the same of :func:`law_of_inputs`;
        spread, law_spread: from the 5 % to the 95 % quantile of the variances within the columns of
            $\operatorname{diag}(\operatorname{sign} a) W$, and of those of the law.

    Cost: 4 s a rate at n = 2000.
    """
    drawn, found = teacher_student.draw(seed, n=n, d=d, h=h), []
    for rate, student in zip(rates, teacher_student.after_one_step(drawn, "Adam code", rates), strict=True):
        bulk, expected, given = esd.eigenvalues(student.W)[1:], law(rate, n, d, h), law_of_inputs(rate, drawn)
        signed = student.W * np.sign(student.a)[:, None]
        found.append(
            {
                "hill": tails.hill(bulk),
                "law_hill": expected.hill,
                "distance": expected.distance(bulk),
                "noise": marchenko_pastur.fitted_distance(bulk, h, d),
                "second": bulk[0] / expected.edge,
                "inputs_distance": given.distance(bulk),
                "inputs_law_hill": given.hill,
                "inputs_second": bulk[0] / given.edge,
                "spread": float(np.ptp(np.quantile(signed.var(axis=0), (0.05, 0.95)))),
                "law_spread": float(np.ptp(np.quantile(expected.variances, (0.05, 0.95)))),
            }
        )
    return small(xr.Dataset({key: ("rate", [one[key] for one in found]) for key in found[0]}, {"rate": list(rates)}))


TEN = {"seed": list(range(10))}
RECORDS: dict[str, Recipe] = {
    "first_bulk": Recipe(
        first_bulk,
        TEN,
        {"rates": [0.5, 1.0, 3.0, 10.0, 100.0]},
        "The bulk after one step of Adam beside its law",
    ),
    "first_bulk_8000": Recipe(
        first_bulk,
        {"seed": list(range(5))},
        {"rates": [1.0, 10.0], "n": 8000},
        "The same with 8000 points",
    ),
}
