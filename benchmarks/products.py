"""Matrix products alone: NumPy's and SciPy's OpenBLAS, PyTorch and JAX, at the sizes of the trainers."""

from functools import partial

import numpy as np
import torch
from scipy.linalg import blas

from benchmarks import timing

#: Rows, terms of a sum, columns.
SIZES = [(32, 64, 64), (500, 100, 500), (2000, 1000, 1500)]


def in_numpy(A, B):
    out = np.empty((len(A), B.shape[1]), A.dtype)
    return partial(np.dot, A, B, out=out)


def in_scipy(A, B):
    """What compiled code calls."""
    product = blas.get_blas_funcs("gemm", (A, B))
    return lambda: product(1.0, B.T, A.T).T


def in_pytorch(A, B):
    A, B = torch.tensor(A), torch.tensor(B)
    out = torch.empty(len(A), B.shape[1], dtype=A.dtype)
    return lambda: torch.mm(A, B, out=out).numpy()


def in_jax(A, B):
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    A, B, product = jnp.asarray(A), jnp.asarray(B), jax.jit(jnp.dot)
    return lambda: np.asarray(product(A, B))


METHODS = {"NumPy": in_numpy, "SciPy": in_scipy, "PyTorch": in_pytorch, "JAX": in_jax}


def measure(rounds: int, threads: int) -> list[dict]:
    """Microseconds of a product by library, size and number type, all equal to rounding."""
    cases = []
    for rows, terms, columns in SIZES:
        for numbers in ("float32", "float64"):
            rng = np.random.default_rng(0)
            A, B = (rng.standard_normal(shape).astype(numbers) for shape in ((rows, terms), (terms, columns)))
            for name, make in timing.available(METHODS).items():
                product = make(A, B)
                assert np.allclose(product(), A @ B, rtol=1e-3, atol=1e-3), name
                row = {"size": [rows, terms, columns], "numbers": numbers, "method": name, "threads": threads}

                def run(times, product=product):
                    for _ in range(times):
                        product()

                times = timing.lasting(run, 0.05)
                cases.append((row, partial(run, times), times))
    return timing.timed(cases, rounds)
