"""Tangent kernels of finite and infinitely wide networks; ridge regression and support vector machines on kernels."""

from shallow.kernels.modules import of_torch

__all__ = ["of_torch"]
