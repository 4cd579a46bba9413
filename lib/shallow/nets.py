r"""Two-layer networks and their initialisations.

ReLU networks $f(x) = \sum_k v_k\,\mathrm{ReLU}(w_k \cdot x + b_k)$ with all parameters trained, and the tanh *student*
$f(x) = h^{-1/2} a^\top \tanh(s W x)$ whose first layer is trained.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shallow import checks
from shallow.display import short

#: Step of each parameter group relative to the nominal step: (v, W, b).
ALL, OUTPUT_ONLY, HIDDEN_ONLY = (1.0, 1.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 1.0)
#: The folded antisymmetric network of :func:`antisymmetric` moves its output weights at half the step.
ANTISYMMETRIC = (0.5, 1.0, 1.0)


@dataclass(frozen=True)
class TwoLayer:
    r"""Parameters of $f(x) = \sum_{k=1}^m v_k\,\mathrm{ReLU}(w_k \cdot x + b_k)$, all float64.

    Attributes:
        W: input weights, shape (m, d); a vector of shape (m,) is taken as (m, 1).
        b: hidden biases, shape (m,).
        v: output weights, shape (m,).

    Raises:
        ValueError: when shapes do not fit or a parameter is not finite.
    """

    W: np.ndarray
    b: np.ndarray
    v: np.ndarray

    __repr__ = short

    def __post_init__(self) -> None:
        checks.numbers(W=self.W, b=self.b, v=self.v)
        for name in ("W", "b", "v"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        if self.W.ndim == 1:
            object.__setattr__(self, "W", self.W[:, None])
        checks.array((None, None), W=self.W)
        checks.array((len(self.W),), b=self.b, v=self.v)

    @property
    def width(self) -> int:
        """Number m of hidden neurons."""
        return len(self.v)

    def forward(self, x: np.ndarray) -> np.ndarray:
        """f at x of shape (n,) or (n, d), computed densely; shape (n,), cost O(n m d)."""
        checks.numbers(x=x)
        x = np.asarray(x, dtype=np.float64)
        x = x[:, None] if x.ndim == 1 else x
        checks.shape((None, self.W.shape[1]), x=x)
        return np.maximum(x @ self.W.T + self.b, 0.0) @ self.v


def default(rng: np.random.Generator, width: int, inputs: int = 1) -> TwoLayer:
    r"""PyTorch's default: $w, b \sim U(-1, 1)/\sqrt d$, $v \sim U(-1, 1)/\sqrt m$, drawn in the order w, b, v.

    >>> network = default(np.random.default_rng(0), 100)
    >>> network
    TwoLayer(W=float64[100,1], b=float64[100], v=float64[100])
    >>> network.forward([-0.5, 0.0, 0.5]).round(3)
    array([0.333, 0.435, 0.478])
    """
    checks.generators(rng=rng)
    checks.integers(1, width=width, inputs=inputs)
    w, b, v = (rng.uniform(-1, 1, shape) for shape in ((width, inputs), width, width))
    return TwoLayer(w / np.sqrt(inputs), b / np.sqrt(inputs), v / np.sqrt(width))


def normal(rng: np.random.Generator, width: int) -> TwoLayer:
    r"""Gaussian variant for one input: $w, b \sim N(0, 1)$, $v \sim N(0, 1)/\sqrt m$, drawn in the order w, b, v."""
    checks.generators(rng=rng)
    checks.integers(1, width=width)
    w, b, v = (rng.standard_normal(width) for _ in range(3))
    return TwoLayer(w, b, v / np.sqrt(width))


def small(rng: np.random.Generator, width: int, inputs: int, deviation: float) -> TwoLayer:
    r"""Every component of W and v drawn from $N(0, s^2)$, no biases; W first.

    Source: Boursier and Flammarion, "Simplicity bias and optimization threshold", Appendix A.1.
    """
    checks.generators(rng=rng)
    checks.integers(1, width=width, inputs=inputs)
    checks.positive(deviation=deviation)
    W = deviation * rng.standard_normal((width, inputs))
    return TwoLayer(W, np.zeros(width), deviation * rng.standard_normal(width))


def dominated(rng: np.random.Generator, width: int, inputs: int, scale: float) -> TwoLayer:
    r"""$v_j = \pm\lambda/\sqrt m$ and $w_j = \lambda^2 \tilde w_j/\sqrt m$, $\tilde w_j$ uniform in the unit ball.

    No biases; the output weights dominate, $\|w_j\| \le \lambda |v_j|$.  W is drawn first, then the signs.
    Source: Boursier and Flammarion, eq. (8); the power of $\lambda$ in $w_j$ is a reconstruction.
    """
    checks.generators(rng=rng)
    checks.integers(1, width=width, inputs=inputs)
    checks.within("(0, 1e150]", scale=scale)
    W = rng.standard_normal((width, inputs))
    W *= (rng.uniform(size=width) ** (1 / inputs) / np.linalg.norm(W, axis=1))[:, None]
    signs = rng.choice([-1.0, 1.0], width)
    return TwoLayer(scale**2 / width**0.5 * W, np.zeros(width), scale / width**0.5 * signs)


def scaled(network: TwoLayer, factor: float) -> TwoLayer:
    r"""All parameters times $\alpha$; the function is then $\alpha^2 f$ because $f$ is homogeneous of degree two."""
    checks.finite(factor=factor)
    return TwoLayer(factor * network.W, factor * network.b, factor * network.v)


def antisymmetric(network: TwoLayer) -> TwoLayer:
    r"""Antisymmetric doubling $h = (f(\cdot;\theta) - f(\cdot;\theta')) / \sqrt2$ with $\theta'(0) = \theta(0)$.

    Returned *folded*, as one plain network of width 2m with output weights $u = \pm v/\sqrt2$.  A step $\eta$ on v is a
    step $\eta/2$ on u, so it has to be trained with ``rates=nets.ANTISYMMETRIC``.  Source: Zhang et al. (2020).
    """
    half = network.v / np.sqrt(2)
    return TwoLayer(np.tile(network.W, (2, 1)), np.tile(network.b, 2), np.concatenate([half, -half]))


def with_output(network: TwoLayer, v: np.ndarray) -> TwoLayer:
    """The same hidden layer with other output weights v, shape (m,)."""
    return replace(network, v=v)


@dataclass(frozen=True)
class Student:
    r"""The tanh student $f(x) = h^{-1/2}\,a^\top \tanh(s W x)$, without biases and hence odd in x.

    Source: Kothapalli et al., "From Spikes to Heavy Tails", eq. (2) and (37).

    Attributes:
        W: input weights, shape (h, d); float32 or float64.
        a: output weights, shape (h,); taken to the number type of W.
        scale: s, the factor of the pre-activations: $d^{-1/2}$ in NTK scaling, 1 in mean-field scaling.

    Raises:
        ValueError: when shapes do not fit, a parameter is not finite or the scale is not positive.
    """

    W: np.ndarray
    a: np.ndarray
    scale: float

    __repr__ = short

    def __post_init__(self) -> None:
        checks.numbers(W=self.W, a=self.a)
        dtype = np.float32 if getattr(self.W, "dtype", None) == np.float32 else np.float64
        for name in ("W", "a"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=dtype))
        checks.array((None, None), W=self.W)
        checks.array((len(self.W),), a=self.a)
        checks.positive(scale=self.scale)

    def features(self, x: np.ndarray, scale: float | None = None) -> np.ndarray:
        r"""$Z = h^{-1/2} \tanh(s\,x W^\top)$ for x of shape (n, d), in the number type of W; shape (n, h).

        Args:
            scale: another s.  The document's public code evaluates its student with the scale applied twice, that is
                with ``scale=student.scale**2``.

        Cost: 2 n d h operations in a matrix product.
        """
        checks.numbers(x=x)
        x = np.asarray(x, dtype=self.W.dtype)
        checks.shape((None, self.W.shape[1]), x=x)
        scale = self.scale if scale is None else scale
        checks.positive(scale=scale)
        hidden = x @ self.W.T
        hidden *= scale
        np.tanh(hidden, out=hidden)
        hidden /= len(self.a) ** 0.5
        return hidden

    def forward(self, x: np.ndarray) -> np.ndarray:
        """f at x of shape (n, d); shape (n,)."""
        return self.features(x) @ self.a


@dataclass(frozen=True)
class SoftplusStudent(Student):
    r"""A student with another activation, $f(x) = h^{-1/2}\,a^\top \operatorname{softplus}(s W x)$; not odd.

    Parameters as for :class:`Student`.  Its trainer is :class:`shallow.train.first_layer.SoftplusTrainer`.

    >>> plain = ntk(np.random.default_rng(0), 3, 2)
    >>> SoftplusStudent(plain.W, plain.a, plain.scale).features(np.zeros((1, 2))).round(3)  # ln 2 / sqrt 3
    array([[0.4, 0.4, 0.4]])
    """

    __repr__ = short

    def features(self, x: np.ndarray, scale: float | None = None) -> np.ndarray:
        r"""$Z = h^{-1/2} \operatorname{softplus}(s\,x W^\top)$, with $\operatorname{softplus}(z) = \ln(1 + e^z)$.

        Arguments, shapes and errors as for :meth:`Student.features`.
        """
        checks.numbers(x=x)
        x = np.asarray(x, dtype=self.W.dtype)
        checks.shape((None, self.W.shape[1]), x=x)
        scale = self.scale if scale is None else scale
        checks.positive(scale=scale)
        hidden = x @ self.W.T
        hidden *= scale
        np.logaddexp(hidden, hidden.dtype.type(0), out=hidden)
        hidden /= len(self.a) ** 0.5
        return hidden


def ntk(rng: np.random.Generator, width: int, inputs: int) -> Student:
    r"""Student in NTK scaling: $W_{ij}, a_i \sim N(0, 1)$ and $s = d^{-1/2}$; W is drawn first (eq. 2)."""
    checks.generators(rng=rng)
    checks.integers(1, width=width, inputs=inputs)
    return Student(rng.standard_normal((width, inputs)), rng.standard_normal(width), inputs**-0.5)


def mean_field(rng: np.random.Generator, width: int, inputs: int) -> Student:
    r"""Student in mean-field scaling: $W_{ij} \sim N(0, 1/d)$, $a_i \sim N(0, 1/h)$ and $s = 1$ (eq. 37).

    The draws are those of :func:`ntk`: from one state of the generator both have the same pre-activations, and the
    outputs differ by the factor $h^{-1/2}$.
    """
    checks.generators(rng=rng)
    student = ntk(rng, width, inputs)
    return Student(student.W / inputs**0.5, student.a / width**0.5, 1.0)
