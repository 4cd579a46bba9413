"""The weights of a model as arrays, read one at a time, and the matrices as which a weight can be read.

A model is a file, a torch module, or a dictionary of arrays.  Files are those of safetensors, NumPy (.npz), PyTorch
(.pt, .pth, .bin: dictionaries of tensors) and ONNX.  Nothing is unpickled: a file that would run code is refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shallow import checks
from shallow.display import short


class Weights(NamedTuple):
    """The arrays of a model: their names, and what reads one of them."""

    names: Collection[str]
    read: Callable[[str], np.ndarray]


class Reading(NamedTuple):
    """A weight as matrices of one shape: name of the reading and the matrices, (k, h, d)."""

    name: str
    matrices: np.ndarray

    __repr__ = short


@contextmanager
def opened(model: Any) -> Iterator[Weights]:
    """The arrays of a model, each read when it is asked for.

    Args:
        model: path of a .safetensors, .npz, .pt, .pth, .bin or .onnx file; a torch module, or anything else with a
            `state_dict`; a dictionary, nested or not, of arrays or tensors.

    Yields:
        Names in the order of the model, those of nested dictionaries joined by points; and a function from a name to
        the array.  Numbers that NumPy lacks, such as bfloat16, come as float32.

    Raises:
        ValueError: for another kind of model or file, one that is damaged, and one that holds pickled objects.
        FileNotFoundError: if there is no file.
        ImportError: without the library that reads the file: torch, onnx or safetensors; names what to install.

    Cost: an array in memory at a time, but for ONNX files without external data, which are read whole.
    """
    if hasattr(model, "state_dict"):
        model = model.state_dict()
    with ExitStack() as stack:
        if isinstance(model, Mapping):
            arrays = dict(_leaves(model))
            yield Weights(arrays, lambda name: as_array(arrays[name]))
            return
        if not isinstance(model, str | os.PathLike):
            raise ValueError(f"model must be a path, a torch module or a dictionary of arrays, got {model!r:.80}")
        path = Path(model)
        if path.suffix not in _OPENERS:
            raise ValueError(f"model must be a file that ends in {', '.join(_OPENERS)}, got {path.name}")
        if not path.is_file():
            raise FileNotFoundError(f"model must be a file, but there is none at {path}")
        yield _OPENERS[path.suffix](path, stack)


def readings(array: np.ndarray) -> list[Reading]:
    r"""The matrices as which a weight can be read; none for vectors.

    Axes are those of PyTorch and ONNX, (out, in, positions ...); leading and trailing axes of length one are dropped.

    ============  ==============================================================================================
    "matrix"      of two axes
    "flat"        of three or more: one matrix (out, in k), whose rows are filters; k is the number of positions
    "slices"      likewise: k matrices (out, in), one for each position, unless out or in is one
    ============  ==============================================================================================

    float64, copied.
    """
    checks.numbers(array=array)
    array = np.asarray(array)
    while array.ndim > 2 and 1 in (array.shape[0], array.shape[-1]):
        array = array[0] if array.shape[0] == 1 else array[..., 0]
    if array.ndim < 2 or array.size == 0:
        return []
    array = array.astype(np.float64)
    if array.ndim == 2:
        return [Reading("matrix", array[None])]
    found = [Reading("flat", array.reshape(1, len(array), -1))]
    if min(array.shape[:2]) > 1:
        slices = np.moveaxis(array.reshape(*array.shape[:2], -1), -1, 0)
        found.append(Reading("slices", np.ascontiguousarray(slices)))
    return found


def as_array(value: Any) -> np.ndarray:
    """An array or a tensor as an array; floating types that NumPy lacks as float32."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if value.is_floating_point() and value.element_size() < 4:  # bfloat16 and the types of eight bits
            value = value.float()
        return value.numpy()
    array = np.asarray(value)
    return array if array.dtype.kind in "biufc" or array.dtype.names else _widened(array)


def _widened(array: np.ndarray) -> np.ndarray:
    """Types that another library adds to NumPy, such as bfloat16, as float32; what is no number stays as it is."""
    try:
        return array.astype(np.float32) if array.dtype.kind == "V" else array
    except (TypeError, ValueError):
        return array


def _leaves(tree: Mapping, above: str = "") -> Iterator[tuple[str, Any]]:
    """The arrays and tensors of a nested dictionary, by names joined with points."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{above}{key}.")
        elif hasattr(value, "shape") and hasattr(value, "dtype"):
            yield f"{above}{key}", value


def _numpy(path: Path, stack: ExitStack) -> Weights:
    try:
        arrays = stack.enter_context(np.load(path, allow_pickle=False))
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(f"model must be an archive of NumPy arrays, got {path.name}: {error}") from error

    def read(name: str) -> np.ndarray:
        try:
            return as_array(arrays[name])
        except ValueError as error:  # of objects
            raise ValueError(f"model must hold arrays of numbers, got {name} in {path.name}: {error}") from error

    return Weights(arrays.files, read)


def _torch(path: Path, stack: ExitStack) -> Weights:
    from shallow.extras import torch

    try:
        try:
            tree = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        except RuntimeError:  # files from before PyTorch 1.6 cannot be mapped
            tree = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file ends in any kind of error
        why = str(error).partition("\n")[0] or type(error).__name__
        raise ValueError(f"model must hold tensors alone, as a state_dict() does, got {path.name}: {why}") from error
    if not isinstance(tree, Mapping):
        raise ValueError(f"model must hold a dictionary of tensors, got {type(tree).__name__} in {path.name}")
    tensors = dict(_leaves(tree))
    return Weights(tensors, lambda name: as_array(tensors[name]))


def _safetensors(path: Path, stack: ExitStack) -> Weights:
    from shallow.extras import SafetensorError, ml_dtypes, safe_open  # noqa: F401  ml_dtypes adds bfloat16 to NumPy

    try:
        file = stack.enter_context(safe_open(path, framework="numpy"))
    except SafetensorError as error:
        raise ValueError(f"model must be a file of safetensors, got {path.name}: {error}") from error
    return Weights(file.keys(), lambda name: as_array(file.get_tensor(name)))


def _onnx(path: Path, stack: ExitStack) -> Weights:
    """Initialisers and constants, those of branches and loops too; external data are read when asked for."""
    from shallow.extras import DecodeError, numpy_helper, onnx

    try:
        found = onnx.load(path, load_external_data=False)
    except DecodeError as error:
        raise ValueError(f"model must be a file of ONNX, got {path.name}: {error}") from error
    if not found.HasField("graph"):  # nothing at all is a message too
        raise ValueError(f"model must be a file of ONNX, got {path.name}, in which there is no graph")
    tensors = dict(_constants(found.graph))
    return Weights(tensors, lambda name: as_array(numpy_helper.to_array(tensors[name], str(path.parent))))


def _constants(graph: Any) -> Iterator[tuple[str, Any]]:
    yield from ((one.name, one) for one in graph.initializer)
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.name == "value":
                yield node.output[0], attribute.t
            for inner in (attribute.g, *attribute.graphs):
                yield from _constants(inner)


_OPENERS: dict[str, Callable[[Path, ExitStack], Weights]] = {
    ".safetensors": _safetensors,
    ".npz": _numpy,
    ".pt": _torch,
    ".pth": _torch,
    ".bin": _torch,
    ".onnx": _onnx,
}
#: Endings of files that can be read.
ENDINGS = tuple(_OPENERS)
