"""Libraries that numerics use here and there: imported where they are used, and named where they are missing.

``from shallow.extras import torch`` is ``import torch`` with an error that says what to install; such a line counts as
little for the fingerprint of a recorded run (:mod:`shallow.book.fingerprint`) as the import that it stands for.
NumPy, SciPy and numba are always there.
"""

from __future__ import annotations

import functools
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

#: What can be imported from here, and where it is.
SOURCES = {
    "torch": "torch",
    "nn": "torch.nn",
    "LinearSVC": "sklearn.svm:LinearSVC",
    "SVC": "sklearn.svm:SVC",
    "SVR": "sklearn.svm:SVR",
    "ConvergenceWarning": "sklearn.exceptions:ConvergenceWarning",
    "fetch_openml": "sklearn.datasets:fetch_openml",
    "load_digits": "sklearn.datasets:load_digits",
    "threadpool_info": "threadpoolctl:threadpool_info",
    "threadpool_limits": "threadpoolctl:threadpool_limits",
    "click": "click",
    "cpu_count": "joblib:cpu_count",
    "xarray": "xarray",
    "onnx": "onnx",
    "numpy_helper": "onnx.numpy_helper",
    "DecodeError": "google.protobuf.message:DecodeError",
    "safe_open": "safetensors:safe_open",
    "SafetensorError": "safetensors:SafetensorError",
    "ml_dtypes": "ml_dtypes",
}
#: Module -> the extra of the distribution that brings it; all others are in the extra `book`.
_EXTRA = {"torch": "torch", "torch.nn": "torch", "sklearn.datasets": "images"}
_EXTRA |= dict.fromkeys(("sklearn.svm", "sklearn.exceptions"), "machines")
_EXTRA |= dict.fromkeys(("onnx", "onnx.numpy_helper", "google.protobuf.message"), "onnx")
_EXTRA |= dict.fromkeys(("safetensors", "ml_dtypes"), "safetensors")
_NAMES = {"sklearn": "scikit-learn", "ml_dtypes": "ml-dtypes", "google": "onnx"}


def __getattr__(name: str) -> Any:
    if name == "loaded_torch":  # before torch is loaded nothing can be an object of it
        return sys.modules.get("torch") or SimpleNamespace(Generator=())
    if name not in SOURCES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = SOURCES[name].partition(":")[0]
    package = module.partition(".")[0]
    try:
        found = pkgutil.resolve_name(SOURCES[name])
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        if package == "threadpoolctl":
            return list if name == "threadpool_info" else _unlimited
        library = _NAMES.get(package, package)
        command = f"pip install 'shallow-book[{_EXTRA.get(module, 'book')}]'"
        raise ImportError(f"{library} is needed for that and not installed: {command}", name=package) from None
    if name == "fetch_openml":
        found = _with_one_error(found)
    globals()[name] = found  # so that the next import is a plain look-up
    return found


def _with_one_error(fetch: Callable) -> Callable:
    """A function that downloads, with an OSError for all that goes wrong.

    scikit-learn has a ValueError for a wrong digest and for status 412, http and zlib have errors of their own.
    """

    @functools.wraps(fetch)
    def fetch_or_say(*args: Any, **kwargs: Any) -> Any:
        try:
            return fetch(*args, **kwargs)
        except ImportError:
            raise
        except Exception as error:
            raise OSError(f"{type(error).__name__}: {error}") from error

    return fetch_or_say


@contextmanager
def _unlimited(limits: int, user_api: str | None = None) -> Iterator[None]:
    """In the place of threadpool_limits: results are the same to rounding, several threads get in each other's way."""
    message = "threadpoolctl is not installed, so BLAS uses all cores in every thread; OMP_NUM_THREADS=1 prevents it"
    warnings.warn(message, RuntimeWarning, stacklevel=4)
    yield
