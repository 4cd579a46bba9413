"""The slow and obvious trainer that tests trust: one network at a time, torch.autograd, float64."""

from __future__ import annotations

import numpy as np
import torch

from shallow.nets import ALL, TwoLayer


def forward(parameters: tuple[torch.Tensor, ...], x: torch.Tensor) -> torch.Tensor:
    r"""$f(x) = \mathrm{ReLU}(x W^\top + b)\,v$ for parameters (W, b, v) and x of shape (n, d); shape (n,)."""
    W, b, v = parameters
    return torch.relu(x @ W.T + b) @ v


def tensors(network: TwoLayer) -> tuple[torch.Tensor, ...]:
    """(W, b, v) of a network as float64 leaves that require gradients."""
    return tuple(torch.tensor(p, dtype=torch.float64, requires_grad=True) for p in (network.W, network.b, network.v))


def jacobian(network: TwoLayer, x: np.ndarray) -> dict[str, np.ndarray]:
    r"""$J_{ij} = \partial f(x_i) / \partial \theta_j$ by group: "W" (n, m d), "b" and "v" (n, m).

    Cost: O(n m d) time and memory.
    """
    x = torch.tensor(np.asarray(x, dtype=float).reshape(len(x), -1))
    parameters = tuple(torch.tensor(p) for p in (network.W, network.b, network.v))
    of_one = torch.func.grad(lambda parameters, point: forward(parameters, point[None])[0])
    groups = torch.func.vmap(of_one, in_dims=(None, 0))(parameters, x)
    return {name: J.reshape(len(x), -1).numpy() for name, J in zip(("W", "b", "v"), groups, strict=True)}


def objective(
    parameters: tuple[torch.Tensor, ...], x: torch.Tensor, y: torch.Tensor, agop: float = 0.0, reduction: str = "sum"
) -> torch.Tensor:
    r"""Hinge loss plus $\lambda\,\mathrm{Tr}\,G$, with $f'$ by automatic differentiation (Bowman 2025, eq. 3)."""
    x = x.detach().requires_grad_(agop > 0)
    f = forward(parameters, x)
    hinge = torch.relu(1 - y * f)  # relu, not clamp: derivative 0 at a margin of exactly 1
    value = hinge.sum() if reduction == "sum" else hinge.mean()
    if agop > 0:
        (slope,) = torch.autograd.grad(f.sum(), x, create_graph=True)
        value = value + agop * (slope**2).sum() / len(x)
    return value


def train(
    x: np.ndarray,
    y: np.ndarray,
    network: TwoLayer,
    *,
    step: float,
    epochs: int,
    rates: tuple[float, float, float] = ALL,
    agop: float = 0.0,
    decay: float = 0.0,
    reduction: str = "sum",
) -> TwoLayer:
    """Full-batch gradient descent with the options of :func:`shallow.train.univariate.train`; x is (n,) or (n, d).

    Cost: O(n m d) per epoch plus the overhead of autograd, about 0.2 ms.
    """
    x = torch.tensor(np.asarray(x, dtype=float).reshape(len(x), -1))
    y = torch.tensor(np.asarray(y, dtype=float))
    parameters = tensors(network)
    of_group = (rates[1], rates[2], rates[0])
    for _ in range(epochs):
        gradients = torch.autograd.grad(objective(parameters, x, y, agop, reduction), parameters, allow_unused=True)
        with torch.no_grad():
            for p, gradient, rate in zip(parameters, gradients, of_group, strict=True):
                if rate > 0:
                    p.mul_(1 - step * decay)
                    if gradient is not None:
                        p.sub_(step * rate * gradient)
    return TwoLayer(*(p.detach().numpy() for p in parameters))
