r"""The tangent kernel of a module of PyTorch as it is, whatever its layers, by automatic differentiation.

The slow, general way: for ReLU networks with one output :mod:`shallow.kernels.layered` needs no Jacobian.  Each point
must have an output of its own: what makes it depend on the other points, or on chance, is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shallow import checks

if TYPE_CHECKING:
    import torch

_ENTRIES = 2**25  # of a Jacobian at a time: 256 MB in float64
_POINTS = 256  # at most, since their activations are kept as well
_TRIED = 8  # points for which outputs are compared with those of each point alone
_ROUNDING = 1e-4  # what may differ between two passes, in units of the largest output


def of_torch(
    module: torch.nn.Module,
    x: np.ndarray | torch.Tensor,
    z: np.ndarray | torch.Tensor | None = None,
    *,
    dtype: type = np.float64,
) -> np.ndarray:
    r"""The kernel $K_c(x, z) = \nabla_\theta f_c(x) \cdot \nabla_\theta f_c(z)$ of every output c of a module.

    The parameters are those that require a gradient; a shared one counts once.  The module stays as it is, in its mode
    and on its device; what it computes with is a copy in `dtype`.

    Args:
        module: takes n points along the first axis to a tensor (n,) or (n, C).
        x, z: inputs (n, ...) and (n', ...), whole numbers or up to 1e150; z defaults to x, with an exactly symmetric
            kernel.
        dtype: number type of the computation, numpy.float32 or numpy.float64.

    Returns:
        Shape (n, n') for one output, (C, n, n') for several.

    Raises:
        ValueError: for what is no module, has nothing to train, or does not take the inputs; for outputs of another
            kind or shape, or not finite; where points are normalised by each other (batch normalisation in training
            mode) or outputs are drawn (dropout in training mode), which ``module.eval()`` ends; for code that
            ``torch.func`` cannot differentiate, with its reason.

    Cost: C gradients a point, those of z for every block of x, and 2 C n n' P operations in matrix products for P
    parameters; memory for blocks of at most 256 MB, or C P numbers for one point, and for the activations.
    """
    from shallow.extras import torch

    checks.one_of((np.float32, np.float64), dtype=dtype)
    network = _Network(module, getattr(torch, np.dtype(dtype).name))
    left = network.inputs("x", x)
    right = left if z is None else network.inputs("z", z)
    kernels = np.empty((network.outputs(left[:1]).numel(), len(left), len(right)), dtype)
    size = max(1, min(_POINTS, _ENTRIES // (len(kernels) * network.size)))
    for i in range(0, len(left), size):
        rows = network.jacobian(left[i : i + size])
        for j in range(i if z is None else 0, len(right), size):
            columns = rows if z is None and i == j else network.jacobian(right[j : j + size])
            block = torch.einsum("icp,jcp->cij", rows, columns).cpu().numpy()
            kernels[:, i : i + size, j : j + size] = block
            if z is None:
                kernels[:, j : j + size, i : i + size] = block.swapaxes(1, 2)
    if z is None:  # a block on the diagonal is symmetric to rounding
        kernels = (kernels + kernels.swapaxes(1, 2)) / 2
    if not np.isfinite(kernels).all():
        raise ValueError(f"module must have finite gradients at x and z, got a kernel of {checks.given(kernels)}")
    return kernels[0] if len(kernels) == 1 else kernels


class _Network:
    """A module as a pure function of its parameters and of points."""

    def __init__(self, module: torch.nn.Module, dtype: torch.dtype) -> None:
        from shallow.extras import nn, torch

        if not isinstance(module, nn.Module):
            raise ValueError(f"module must be a torch.nn.Module, got {type(module).__name__}")
        for name, layer in module.named_modules():
            if trouble := _trouble(layer):
                raise ValueError(f"module must be a function of each point, got {name or 'a'} ({trouble})")
        named, self.module, self.dtype = dict(module.named_parameters()), module, dtype
        if any(map(torch.nn.parameter.is_lazy, [*named.values(), *module.buffers()])):
            raise ValueError("module must know its shapes, got lazy layers: call it once")
        self.trained = {name: self.cast(one) for name, one in named.items() if one.requires_grad}
        self.size = sum(one.numel() for one in self.trained.values())
        if not self.size:
            raise ValueError(f"module must have parameters that require a gradient, got {type(module).__name__}")
        if not all(one.isfinite().all() for one in self.trained.values()):
            raise ValueError("module must have finite parameters, got others")
        fixed = {name: one for name, one in named.items() if not one.requires_grad} | dict(module.named_buffers())
        self.fixed = {name: self.cast(one) for name, one in fixed.items()}

    def cast(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor without a gradient, in the number type if it has no whole numbers."""
        return tensor.detach().to(self.dtype) if tensor.is_floating_point() else tensor.detach()

    def function(self, trained: dict[str, torch.Tensor], points: torch.Tensor) -> torch.Tensor:
        from shallow.extras import torch

        fixed = {name: one.clone() for name, one in self.fixed.items()}  # a module may write into its buffers
        return torch.func.functional_call(self.module, fixed | trained, (points,))

    def outputs(self, points: torch.Tensor) -> torch.Tensor:
        from shallow.extras import torch

        with torch.no_grad():
            return self.function(self.trained, points.clone())

    def jacobian(self, points: torch.Tensor) -> torch.Tensor:
        """The gradients of all outputs, shape (points, C, P)."""
        from shallow.extras import torch

        of_one = torch.func.jacrev(lambda trained, point: self.function(trained, point[None]).reshape(-1))
        try:
            parts = torch.func.vmap(of_one, in_dims=(None, 0))(self.trained, points)
        except RuntimeError as error:
            raise ValueError(f"module must be one that torch.func can differentiate, got: {error}") from error
        return torch.cat([part.flatten(2) for part in parts.values()], dim=2)

    def inputs(self, name: str, points: np.ndarray | torch.Tensor) -> torch.Tensor:
        """Inputs as a tensor; refuses what the module does not take, or not point by point."""
        from shallow.extras import torch

        checks.numbers(**{name: points})
        if not (np.ndim(points) and len(points)):
            raise ValueError(f"{name} must be points along the first axis, got shape {np.shape(points)}")
        points = torch.as_tensor(points, device=next(iter(self.trained.values())).device)
        checks.within("[-1e150, 1e150]", **{name: points.cpu().double()})  # the kernel grows with their squares
        points = self.cast(points)
        tried = points[:_TRIED]
        try:
            with torch.random.fork_rng():  # the generator from which a module may draw is left as it was
                once, again = self.outputs(tried), self.outputs(tried)
                alone = [self.outputs(one[None]) for one in tried]
        except Exception as error:  # the module's own code may raise anything
            raise ValueError(f"{name} must be what module takes, got shape {tuple(points.shape)}: {error}") from error
        _refuse(once, len(tried))
        if _differ(once, again):
            raise ValueError("module must be a function, got another output for the same points: try module.eval()")
        if _differ(once, torch.cat(alone)):
            raise ValueError("module must treat every point alone, got other outputs of several: try module.eval()")
        return points


def _refuse(outputs: object, count: int) -> None:
    from shallow.extras import torch

    if not isinstance(outputs, torch.Tensor) or not outputs.is_floating_point():
        given = f"a tensor of {outputs.dtype}" if isinstance(outputs, torch.Tensor) else type(outputs).__name__
        raise ValueError(f"module must give a tensor of real numbers, got {given}")
    if outputs.ndim not in (1, 2) or len(outputs) != count or not outputs.numel():
        raise ValueError(f"module must give outputs (n,) or (n, C), got shape {tuple(outputs.shape)} for n = {count}")
    if not outputs.isfinite().all():
        raise ValueError("module must give finite outputs, got others")


def _differ(first: torch.Tensor, second: torch.Tensor) -> bool:
    return first.shape != second.shape or bool((first - second).abs().max() > _ROUNDING * first.abs().max())


def _trouble(layer: torch.nn.Module) -> str | None:
    """Why a layer is no function of one point, or None."""
    from shallow.extras import nn

    by_batch = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
    drawn = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)
    kind = type(layer).__name__
    if isinstance(layer, by_batch) and layer.running_mean is None:
        return f"{kind} without running statistics, which normalises points by each other"
    if isinstance(layer, by_batch) and layer.training:
        return f"{kind} in training mode, which normalises points by each other: call module.eval()"
    if isinstance(layer, drawn) and layer.training and layer.p > 0:
        return f"{kind} in training mode, which draws: call module.eval()"
    return None
