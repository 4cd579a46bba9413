"""Models as arrays: every kind of file, modules and dictionaries; nothing is unpickled, what is damaged is named."""

from __future__ import annotations

import importlib
import pickle
import sys

import numpy as np
import pytest
import torch
from planted.forge import Crafted
from torch import nn

from shallow import extras
from shallow.spectra import weights

rng = np.random.default_rng(7)
ARRAYS = {
    "first.weight": rng.standard_normal((6, 4)).astype(np.float32),
    "first.bias": np.zeros(6, np.float32),
    "second.weight": rng.standard_normal((5, 6, 3)),
}


def tensors() -> dict[str, torch.Tensor]:
    return {name: torch.tensor(array) for name, array in ARRAYS.items()}


def as_npz(path):
    np.savez(path, **ARRAYS)


def as_pt(path):
    torch.save({"state": {"first": {"weight": tensors()["first.weight"]}}, "step": 3} | {"rest": tensors()}, path)


def as_old_pt(path):
    torch.save(tensors(), path, _use_new_zipfile_serialization=False)


def as_safetensors(path):
    importlib.import_module("safetensors.numpy").save_file(ARRAYS, path)


def as_onnx(path):
    from onnx import TensorProto, helper, numpy_helper, save

    first, bias, second = (numpy_helper.from_array(array, name) for name, array in ARRAYS.items())
    inner = helper.make_graph([helper.make_node("Constant", [], ["second.weight"], value=second)], "inner", [], [])
    nodes = [
        helper.make_node("Constant", [], ["first.bias"], value=bias),
        helper.make_node("If", ["condition"], ["y"], then_branch=inner, else_branch=helper.make_graph([], "e", [], [])),
    ]
    value = helper.make_tensor_value_info("condition", TensorProto.BOOL, [1])
    save(helper.make_model(helper.make_graph(nodes, "outer", [value], [], [first])), path)


FILES = {"a.npz": as_npz, "old.pth": as_old_pt, "a.safetensors": as_safetensors, "a.onnx": as_onnx}


def read(model) -> dict[str, np.ndarray]:
    with weights.opened(model) as found:
        return {name: found.read(name) for name in found.names}


def same(found: dict[str, np.ndarray]) -> bool:
    return set(found) == set(ARRAYS) and all(np.array_equal(found[name], ARRAYS[name]) for name in ARRAYS)


@pytest.mark.parametrize("name", FILES)
def test_every_kind_of_file_gives_the_same_arrays(tmp_path, name):
    FILES[name](tmp_path / name)
    assert same(read(tmp_path / name)) and same(read(str(tmp_path / name)))


def test_nested_dictionaries_have_names_with_points(tmp_path):
    as_pt(tmp_path / "a.pt")
    found = read(tmp_path / "a.pt")
    assert set(found) == {"state.first.weight", *(f"rest.{name}" for name in ARRAYS)}
    assert same(read(ARRAYS)) and same(read({"first": {"weight": ARRAYS["first.weight"]}} | {**tensors()}))


def test_modules_are_read_as_they_are_on_any_type():
    module = nn.Sequential(nn.Linear(4, 6), nn.Conv1d(6, 5, 3)).to(torch.bfloat16)
    found = read(module)
    assert list(found) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert found["0.weight"].dtype == np.float32 and found["1.weight"].shape == (5, 6, 3)
    assert np.array_equal(found["0.weight"], module[0].weight.detach().float().numpy())


def test_bfloat16_in_safetensors_comes_as_float32(tmp_path):
    kept = tensors()["first.weight"].bfloat16()
    importlib.import_module("safetensors.torch").save_file({"w": kept}, tmp_path / "a.safetensors")
    found = read(tmp_path / "a.safetensors")["w"]
    assert found.dtype == np.float32 and np.array_equal(found, kept.float().numpy())


def test_nothing_is_unpickled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"w": Crafted()}, tmp_path / "a.pt")
    np.savez(tmp_path / "a.npz", w=np.array([Crafted()], dtype=object))
    (tmp_path / "b.pt").write_bytes(pickle.dumps({"w": Crafted()}))
    torch.save(nn.Linear(2, 2), tmp_path / "module.pt")
    for name in ("a.pt", "a.npz", "b.pt", "module.pt"):
        with pytest.raises(ValueError, match="^model must hold"):
            read(tmp_path / name)
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("ending", weights.ENDINGS)
def test_damaged_and_missing_files_are_named(tmp_path, ending):
    path = tmp_path / f"damaged{ending}"
    with pytest.raises(FileNotFoundError, match="^model .*damaged"):
        read(path)
    for content in (b"", b"no model at all, but some words in a file"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="^model must .*damaged"):
            read(path)


@pytest.mark.parametrize("model", [3, None, [np.eye(3)], np.eye(3), "a.gguf", "folder"])
def test_what_is_no_model_is_refused(model):
    with pytest.raises(ValueError, match="^model must be"):
        read(model)


@pytest.mark.parametrize(("name", "library"), [("a.onnx", "onnx"), ("a.safetensors", "safetensors"), ("a.pt", "torch")])
def test_a_missing_library_is_named_with_what_to_install(tmp_path, monkeypatch, name, library):
    (tmp_path / name).write_bytes(b"")
    for known in [known for known in sys.modules if known.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, known)
    monkeypatch.setitem(sys.modules, library, None)
    for known in ("onnx", "numpy_helper", "safe_open", "SafetensorError", "torch"):
        monkeypatch.delitem(vars(extras), known, raising=False)
    with pytest.raises(ImportError, match=rf"^{library} is needed.*shallow-book\[{library}\]"):
        read(tmp_path / name)


def test_a_convolution_is_read_as_one_matrix_and_position_by_position():
    kernel = rng.standard_normal((5, 4, 3, 2))
    flat, slices = weights.readings(kernel)
    assert (flat.name, flat.matrices.shape, slices.name, slices.matrices.shape) == (
        "flat",
        (1, 5, 24),
        "slices",
        (6, 5, 4),
    )
    assert np.array_equal(flat.matrices[0, 2], kernel[2].ravel())
    assert np.array_equal(slices.matrices[2 * 1 + 1], kernel[:, :, 1, 1])


@pytest.mark.parametrize(
    ("shape", "known"),
    [
        ((3, 4), {"matrix": (1, 3, 4)}),
        ((3, 4, 1, 1), {"matrix": (1, 3, 4)}),
        ((1, 3, 4), {"matrix": (1, 3, 4)}),
        ((8, 1, 3, 3), {"flat": (1, 8, 9)}),
        ((8,), {}),
        ((), {}),
        ((0, 3), {}),
    ],
)
def test_readings_by_shape(shape, known):
    assert {one.name: one.matrices.shape for one in weights.readings(np.ones(shape, np.float32))} == known
