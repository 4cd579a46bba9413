r"""Limit laws of the first gradient: what its entries share, their signs, and when the first step makes a spike.

For n, d and h that grow at fixed ratios, and with $\kappa = |a|^2 / h$, $\mu = \mathbb E \tanh'(z)$ and
$v = \operatorname{Var} \tanh'(z)$, the entries of the negative gradient are (chapter "Heavy tails")

.. math:: -G_{ik} \approx \frac{2 c s}{\sqrt{h d}}\,a_i\,(\mu\,t_k + \nu\,e_{ik}), \qquad
   t_k \sim N(0, \tau_y^2 + \tau_f^2), \quad e_{ik} \sim N(0, 1),

with $t_k$ shared by all rows and $e_{ik}$ private, independent of each other.  The labels and the student's own output
contribute $\tau_y^2 = \mu_*^2 + \frac dn \mathbb E y^2$ and $\tau_f^2 = \kappa(\mu^2 + \frac dn \mathbb E \tanh^2)$;
the private part has $\nu^2 = \frac dn v\,(\mathbb E y^2 + \kappa\,\mathbb E \tanh^2)$.  No part vanishes against
another unless n grows faster than d.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import integrate, optimize, special

from shallow import checks, stats
from shallow.data.single_index import expectation, moments
from shallow.spectra import rank_one
from shallow.spectra.marchenko_pastur import MarchenkoPastur

#: Mean and variance of tanh'(z).
SLOPE = moments("tanh").slope
SLOPE_VARIANCE = float(expectation(lambda z: np.cosh(z) ** -4.0)) - SLOPE**2


@dataclass(frozen=True)
class Entries:
    r"""Variances of the parts of an entry, in the units of the module's formula.

    Attributes:
        labels: $\mu^2 \tau_y^2$, shared by all rows, from the labels.
        output: $\mu^2 \tau_f^2$, shared by all rows, from the student's output.
        private: $\nu^2$.
        weights: $\mu^4 \kappa$, the part of `output` along the weights themselves, $\mu^2 W^\top a / \sqrt{hd}$.
    """

    labels: float
    output: float
    private: float
    weights: float

    @property
    def shared(self) -> float:
        """Variance of what the rows share."""
        return self.labels + self.output

    @property
    def correlation(self) -> float:
        r"""$\rho$ of two entries of one column, up to the signs of $a_i$."""
        return self.shared / (self.shared + self.private)

    @property
    def differing(self) -> dict[str, float]:
        r"""Share of entries of -G whose sign is not that of A, by what A is built from.

        It is $\frac1\pi \arctan$ of the ratio of the standard deviations of what A leaves out and of what it contains.
        """
        left_out = {"labels": (self.output + self.private) / self.labels, "residual": self.private / self.shared}
        return {name: float(np.arctan(np.sqrt(ratio)) / np.pi) for name, ratio in left_out.items()}

    @property
    def distance(self) -> dict[str, float]:
        r"""Limit of $\|G + A\|_2 / \|G\|_2$ by what A is built from."""
        return {"labels": float(np.sqrt(self.output / self.shared)), "residual": 0.0}

    @property
    def signs(self) -> float:
        r"""Limit of $\|\operatorname{sign} G\|_2 / \sqrt{hd} = \sqrt{\frac2\pi \arcsin \rho}$, below one."""
        return float(np.sqrt(2 / np.pi * np.arcsin(self.correlation)))

    @property
    def overlap(self) -> dict[str, float]:
        r"""Cosine between the right singular vector of the update and $W^\top a$, by optimiser."""
        of_gradient = np.sqrt(self.weights / self.shared)
        of_signs = of_gradient * np.sqrt(2 / np.pi * self.correlation) / self.signs
        return {"GD": float(of_gradient), "Adam": float(of_signs)}

    def frobenius(self, tiny: float) -> float:
        r"""Limit of $\|D\|_F / \sqrt{hd}$ for Adam's direction $G / (|G| + \epsilon)$.

        .. math:: \Bigl(\mathbb E \frac{u^2}{(u + \delta)^2}\Bigr)^{1/2}, \qquad u = |a z|, \quad a, z \sim N(0, 1) ;

        `tiny` is $\epsilon$ over $2 c s / \sqrt{hd}$.
        """
        delta = tiny / np.sqrt(self.shared + self.private)

        def integrand(u: float) -> float:  # u has the density 2 K_0(u) / pi
            return 2 / np.pi * special.k0(u) * (u / (u + delta)) ** 2

        pieces = np.unique([0.0, delta, 1.0, 40.0])
        return float(np.sqrt(sum(integrate.quad(integrand, *ends)[0] for ends in pairwise(pieces))))


def entries(n: int, d: int, *, link: str = "softplus", noise: float = 0.3, strength: float = 1.0) -> Entries:
    r"""The variances for n points in d dimensions; `strength` is $\kappa$, in mean-field scaling $1/h$."""
    teacher, tanh = moments(link), moments("tanh")
    square = teacher.null_loss(noise)
    return Entries(
        labels=SLOPE**2 * (teacher.slope**2 + d / n * square),
        output=SLOPE**2 * strength * (SLOPE**2 + d / n * tanh.square),
        private=SLOPE_VARIANCE * d / n * (square + strength * tanh.square),
        weights=SLOPE**4 * strength,
    )


#: Cosine between the left singular vector of the update and a: that of a and sign(a) for Adam.
TILT = {"GD": 1.0, "Adam": float(np.sqrt(2 / np.pi))}


def effective_square(theta: float, d: int, *, overlap: float, tilt: float) -> float:
    r"""Square of the norm of an independent rank-one update that has the outlier of $W - \theta\,u v^\top$.

    W has independent standard normal entries.  With a unit vector $\hat a$ independent of W, c = $u \cdot \hat a$ and
    $v = \alpha W^\top \hat a / \sqrt d + \sqrt{1 - \alpha^2}\,v_\perp$ the update takes back a part of W:

    .. math:: \theta_e^2 = \tfrac12 \theta^2 - c\,\alpha \sqrt d\,\theta
       + \theta \sqrt{\tfrac14 \theta^2 - c\,\alpha \sqrt d\,\theta + \alpha^2 d} .

    `overlap` and `tilt` are $\alpha$ and c; with c = 1 the result is $\theta^2 - 2 \alpha \sqrt d\,\theta$.
    """
    along = overlap * np.sqrt(d)
    return theta**2 / 2 - tilt * along * theta + theta * np.sqrt(theta**2 / 4 - tilt * along * theta + along**2)


def spike_norm(h: int, d: int, *, overlap: float = 0.0, tilt: float = 1.0, gap: float = 1.0) -> float:
    r"""Norm $\theta$ of the update at which $\lambda_1$ is `gap` times the bulk's edge; gap 1 is the transition."""
    checks.within("[0, 1]", overlap=overlap, tilt=tilt)
    checks.within("[1, inf)", gap=gap)
    law = MarchenkoPastur(h, d)
    wanted = rank_one.threshold(h, d) if gap == 1 else float(rank_one.strength(gap * law.edges[1], h, d))
    high = wanted + 2 * overlap * np.sqrt(d)

    def excess(theta: float) -> float:
        return effective_square(theta, d, overlap=overlap, tilt=tilt) - wanted**2

    return float(optimize.brentq(excess, wanted / 2, high + 1))


def spike_rates(n: int, d: int, h: int, *, gap: float = 1.0, correlated: bool = True, **teacher) -> dict[str, float]:
    r"""Predicted learning rate of the first spike by optimiser, in the reading of the document's code.

    `gap` is that of :func:`spike_norm`, `teacher` link and noise of :func:`entries`.  Unless `correlated`, it is not
    counted that the update contains the weights: the transition of Baik, Ben Arous and Péché for an independent update.
    """
    found = entries(n, d, **teacher)
    norms = {"GD": 2 * np.sqrt(found.shared / d), "Adam": found.signs * np.sqrt(h * d)}
    rates = {}
    for name, norm in norms.items():
        overlap = found.overlap[name] if correlated else 0.0
        rates[name] = float(spike_norm(h, d, overlap=overlap, tilt=TILT[name], gap=gap) / norm)
    return rates


# Other activations than tanh.


def activation(name: str) -> tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]:
    r"""An activation with $\mathbb E \sigma(z) = 0$ and its derivative: "tanh", "centred softplus" or "quadratic".

    The first is odd; the second, $\ln(1 + e^z)$ less its mean, and the third, $z + z^2 - 1$, are not.
    """
    checks.one_of(("tanh", "centred softplus", "quadratic"), activation=name)
    if name == "tanh":
        return np.tanh, lambda z: np.cosh(z) ** -2.0
    if name == "quadratic":
        return lambda z: z + z**2 - 1, lambda z: 1 + 2 * z
    mean = moments("softplus").mean
    return lambda z: np.logaddexp(0, z) - mean, special.expit


def entries_with(name: str, n: int, d: int, *, link: str = "softplus", noise: float = 0.3) -> Entries:
    r"""The variances of :func:`entries` for a student with another :func:`activation`, in NTK scaling.

    With $\mu = \mathbb E \sigma'(z)$ and $\mu_2 = \mathbb E \sigma''(z) = \mathbb E[z \sigma'(z)]$ the private part is

    .. math:: \nu^2 = \tfrac dn \operatorname{Var} \sigma'(z)\,(\mathbb E y^2 + \mathbb E \sigma^2)
       + (\mu_2\,\mathbb E y)^2 .

    Its second term, absent for odd $\sigma$, is the part $\mu_2\,\mathbb E y\;W_{ik}$ along the weight itself.  It does
    not vanish with the number of points.
    """
    sigma, slope = activation(name)
    size, mean, second, curve = (
        float(expectation(f)) for f in (lambda z: sigma(z) ** 2, slope, lambda z: slope(z) ** 2, lambda z: z * slope(z))
    )
    teacher = moments(link)
    square = teacher.null_loss(noise)
    return Entries(
        labels=mean**2 * (teacher.slope**2 + d / n * square),
        output=mean**2 * (mean**2 + d / n * size),
        private=(second - mean**2) * d / n * (square + size) + (curve * teacher.mean) ** 2,
        weights=mean**4,
    )


def measured_entries(seed: int, name: str, *, n: int, d: int, h: int, noise: float = 0.3) -> dict[str, float]:
    r"""What :func:`entries_with` predicts, measured on the first gradient of one draw with a softplus teacher.

    Returns shared and private, the variances of the parts of $-\sqrt h\,d\,G_{ik} / 2 c a_i$; labels and residual, the
    shares of entries of -G whose sign is not that of $a_i (X^\top t)_k$ with the labels or the residual as t; signs,
    $\|\operatorname{sign} G\|_2 / \sqrt{hd}$; weights, the mean product of an entry and its weight $W_{ik}$.

    Cost: 4 n d h operations, 0.2 s at n = 1000, d = 500, h = 600.
    """
    rng, (sigma, slope) = stats.stream("measured entries", name, n, d, h, seed), activation(name)
    W, a, direction = rng.standard_normal((h, d)), rng.standard_normal(h), rng.standard_normal(d)
    x = rng.standard_normal((n, d))
    y = np.logaddexp(0, x @ direction / np.linalg.norm(direction)) + noise * rng.standard_normal(n)
    z = W @ x.T / d**0.5
    residual = y - a @ sigma(z) / h**0.5
    found = d**0.5 * (residual * slope(z)) @ x / n
    signs, private = np.sign(found), float(found.var(axis=0, ddof=1).mean())
    return {
        "shared": float(found.mean(axis=0).var()) - private / h,
        "private": private,
        "labels": float(np.mean(signs != np.sign(y @ x))),
        "residual": float(np.mean(signs != np.sign(residual @ x))),
        "signs": float(np.linalg.norm(signs, 2)) / (h * d) ** 0.5,
        "weights": float((found * W).mean()),
    }
