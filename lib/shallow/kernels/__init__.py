"""Kernels of finite networks."""
