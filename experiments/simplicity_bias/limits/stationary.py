"""The end of a run with decaying steps: a stationary point of the training loss, and a stable one?  (Appendix A.2)"""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear
from scipy.sparse.linalg import LinearOperator, eigsh

from shallow.data.teachers import Sample
from shallow.nets import TwoLayer
from shallow.stats import stream


def gradient_norm(network: TwoLayer, sample: Sample, touching: float = 0.0) -> float:
    r"""Norm of the smallest subgradient of the mean square $\frac1n \sum_k r_k^2$ in all weights.

    A sample with $|\langle w_j, x_k\rangle| \le$ `touching` $\|w_j\| \|x_k\|$ may be active for neuron j to any share
    in [0, 1]: for every neuron, bounded least squares finds the shares that make
    $\frac2n a_j \sum_k s_{jk} r_k x_k$ smallest.  With 0 it is the gradient with ReLU'(0) = 0.

    Cost: O(n m d), and one small bounded least-squares problem for every neuron that touches a hyperplane.
    """
    x, y = sample
    hidden = x @ network.W.T
    near = np.abs(hidden) <= touching * np.linalg.norm(x, axis=1)[:, None] * np.linalg.norm(network.W, axis=1)
    near &= touching > 0
    pull = 2 / len(y) * (np.maximum(hidden, 0) @ network.v - y)
    fixed = ((hidden > 0) & ~near).T @ (pull[:, None] * x)
    for j in np.flatnonzero(near.any(axis=0)):
        free = (pull[:, None] * x)[near[:, j]].T
        fixed[j] += free @ lsq_linear(free, -fixed[j], bounds=(0, 1)).x
    return float(np.hypot(np.linalg.norm(network.v[:, None] * fixed), np.linalg.norm(np.maximum(hidden, 0).T @ pull)))


def sharpness(network: TwoLayer, sample: Sample) -> float:
    r"""Largest eigenvalue of the Hessian of the mean square on the present activation pattern, by Lanczos iteration.

    With residuals r and active sets held fixed,
    $H u = \frac2n \big(J^\top J u + \sum_k r_k \nabla^2 f(x_k)\,u\big)$; the second part couples each $w_j$ with its
    own $a_j$ only.  Cost: O(n m d) for each of some tens of products.
    """
    x, y = sample
    m, d = network.W.shape
    hidden = x @ network.W.T
    active = (hidden > 0).astype(float)
    hidden = np.maximum(hidden, 0)
    pull = active.T @ (2 / len(y) * (hidden @ network.v - y)[:, None] * x)  # (m, d)

    def product(u: np.ndarray) -> np.ndarray:
        U, b = u[: m * d].reshape(m, d), u[m * d :]
        change = 2 / len(y) * ((active * (x @ U.T)) @ network.v + hidden @ b)  # 2 J u / n, shape (n,)
        W = network.v[:, None] * (active.T @ (change[:, None] * x)) + b[:, None] * pull
        return np.concatenate([W.ravel(), hidden.T @ change + (U * pull).sum(axis=1)])

    size = m * (d + 1)
    start = stream("simplicity bias", "Lanczos", size).standard_normal(size)
    operator = LinearOperator((size, size), matvec=product, dtype=float)
    return float(eigsh(operator, k=1, which="LA", v0=start, tol=1e-4, return_eigenvectors=False)[0])
