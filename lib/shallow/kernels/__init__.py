"""Tangent kernels of finite and infinitely wide networks; ridge regression and support vector machines on kernels."""
