r"""Classes of one covariance and other laws: tails of either class, linear processes and elliptical data.

All laws of a class have exactly the covariance of the note's process $\operatorname{erf}(gZ)$ of its length scale and
gain: *light*, that process; *Gaussian* and *heavy*, its twins; *signs* and *sparse*, the linear processes
$\Sigma^{1/2}\epsilon$ with independent innovations, random signs (excess kurtosis -2) or 0 except for one in ten
(excess kurtosis 27); *sphere* and *radial*, elliptical data $r\,\Sigma^{1/2} z$ with a normal z and a random size r,
$r = \sqrt n/|z|$ (the lightest tails that elliptical data can have: excess kurtosis $-6/(n + 2)$ of every response) or
$r^2$ exponential (3).  Two laws by name are a pair, "slow/fast".
Goes beyond the note on localized receptive fields; elliptical data are those of Lufkin, Saxe and Grant 2024.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import fft

from experiments.localization import networks
from experiments.localization.laboratory import GaussianTwin
from shallow import checks
from shallow.committee import Committee
from shallow.data.nlgp import Process, circulant, minibatch

TAILS = ("light", "Gaussian", "heavy")
OTHERS = ("signs", "sparse", "sphere", "radial")
SPARSE = 0.1  # share of the innovations that are not 0


@dataclass(frozen=True)
class Mixed:
    """Linear and elliptical data with the covariance of a process on a ring; law is one of `OTHERS`."""

    like: Process
    law: str

    def __post_init__(self) -> None:
        checks.one_of(OTHERS, law=self.law)

    @property
    def shape(self) -> tuple[int, ...]:
        """Points of the ring."""
        return self.like.shape

    @property
    def spectrum(self) -> np.ndarray:
        """Eigenvalues of the covariance, in the FFT's order."""
        return self.like.spectrum

    @cached_property
    def root(self) -> np.ndarray:
        r"""The symmetric root $\Sigma^{1/2}$, shape (n, n)."""
        return circulant(fft.ifft(np.sqrt(np.maximum(self.spectrum, 0))).real)

    def sample(
        self, rng: np.random.Generator, count: int, dtype: type = np.float64, *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Independent samples, shape (count, n); arguments of :meth:`shallow.data.nlgp.Process.sample`."""
        z = rng.standard_normal((count, *self.shape), dtype=dtype)
        if self.law == "signs":
            z = np.sign(z)
        elif self.law == "sparse":
            z *= (rng.random(z.shape, dtype=dtype) < SPARSE) / dtype(SPARSE**0.5)
        elif self.law == "sphere":
            z *= (self.shape[0] / (z**2).sum(axis=1, keepdims=True)) ** 0.5
        else:
            z *= np.sqrt(rng.standard_exponential((count, 1), dtype=dtype))
        return np.matmul(z, self.root.astype(dtype), out=out)


def process(law: str, gain: float, xi: float) -> Process | Mixed:
    """A class of this law with the covariance of the light-tailed process of the gain and length scale."""
    checks.one_of((*TAILS, *OTHERS), law=law)
    like = Process(networks.N, xi, gain, tails="heavy" if law == "heavy" else "light")
    if law in OTHERS:
        return Mixed(like, law)
    return GaussianTwin.of(like) if law == "Gaussian" else like


def pair(laws: str, gain: float) -> tuple[Process | Mixed, Process | Mixed]:
    """The classes of "slow/fast", with the standard length scales."""
    return tuple(process(law, gain, xi) for law, xi in zip(laws.split("/"), networks.LENGTHS, strict=True))


def descend(
    start: Committee,
    classes: tuple[Mixed, Mixed],
    rng: np.random.Generator,
    *,
    rate: float,
    steps: list[int],
    batch: int = 1000,
) -> tuple[np.ndarray, np.ndarray]:
    r"""What :func:`shallow.train.online.train` does with the squared loss, for one erf network and any classes.

    Returns:
        W (steps, K, n) and b (steps, K) at ascending steps.

    Cost: 1 ms a step for forty neurons and pixels.
    """
    from shallow.extras import torch

    W, b, K, half = start.W[0].copy(), start.b[0].copy(), start.width, batch // 2
    kept = []
    for t in range(steps[-1]):
        x, y = minibatch(rng, *classes, half, np.float32)
        z = x @ W.T + b
        residual = torch.erf(torch.from_numpy(z * np.float32(0.5**0.5))).numpy().mean(axis=1) - y
        slope = torch.exp(torch.from_numpy(-(z**2) / 2)).numpy() * np.float32((2 / np.pi) ** 0.5)
        pull = slope * (residual / (K * batch))[:, None]
        W -= np.float32(rate) * (pull.T @ x)
        b -= np.float32(rate) * pull.sum(axis=0)
        if t + 1 in steps:
            kept.append((W.copy(), b.copy()))
    return tuple(map(np.stack, zip(*kept, strict=True)))
