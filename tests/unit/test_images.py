"""Loaders of images on small files in their real formats, parts of a data set, and scaling."""

from http.client import HTTPException
from types import SimpleNamespace

import numpy as np
import pytest

from shallow import extras, stats
from shallow.data import images


@pytest.fixture(autouse=True)
def no_local_folder(monkeypatch):
    monkeypatch.delenv(images.VARIABLE, raising=False)


def arrays(side: int = 32, channels: int = 3, counts: tuple[int, int] = (30, 20)) -> dict[str, np.ndarray]:
    """Random arrays of a data set, sorted by class."""
    rng = np.random.default_rng(0)
    found = {}
    for part, n in zip(("train", "test"), counts, strict=True):
        found[f"x_{part}"] = rng.integers(0, 256, (n, side, side, channels), dtype=np.uint8)
        found[f"y_{part}"] = np.sort(np.arange(n, dtype=np.uint8) % 10)
    return found


def same(found: images.Images, expected: dict[str, np.ndarray]) -> bool:
    return all(np.array_equal(getattr(found, field), array) for field, array in expected.items())


def in_layout(found: images.Images) -> bool:
    labels = found.y_train.dtype == found.y_test.dtype == np.int64
    return labels and all(x.dtype == np.uint8 and x.ndim == 4 for x in (found.x_train, found.x_test))


def test_digits_need_no_network_and_keep_their_grey_levels():
    found = images.load()
    assert found.x_train.shape == (1500, 8, 8, 1) and found.x_test.shape == (297, 8, 8, 1) and in_layout(found)
    assert len(np.unique(found.x_train)) == 17 and found.x_train.max() == 255
    assert set(found.y_train) == set(found.y_test) == set(range(10))


def test_file_and_folder_give_the_same(tmp_path, monkeypatch):
    expected = arrays()
    np.savez(tmp_path / "cifar10.npz", **expected)
    monkeypatch.setattr(extras, "fetch_openml", None)
    assert same(images.load("cifar10", tmp_path / "cifar10.npz"), expected)
    assert same(images.load("cifar10", str(tmp_path)), expected)
    monkeypatch.setenv(images.VARIABLE, str(tmp_path))
    found = images.load("cifar10")
    assert same(found, expected) and in_layout(found)


def test_grey_images_get_an_axis_of_channels(tmp_path):
    expected = arrays(side=28, channels=1)
    np.savez_compressed(tmp_path / "a.npz", **{name: np.squeeze(array) for name, array in expected.items()})
    assert same(images.load("mnist", tmp_path / "a.npz"), expected)


@pytest.mark.parametrize(
    ("name", "remote", "side", "channels"), [("mnist", "mnist_784", 28, 1), ("cifar10", "CIFAR_10", 32, 3)]
)
def test_rows_of_openml_become_images(monkeypatch, tmp_path, name, remote, side, channels):
    """OpenML has a row of numbers per image and labels as text; CIFAR-10 comes by colour planes."""
    expected = arrays(side, channels)
    x = np.concatenate([expected["x_train"], expected["x_test"]])
    y = np.concatenate([expected["y_train"], expected["y_test"]]).astype(int)
    rows = (np.moveaxis(x, 3, 1) if name == "cifar10" else x).reshape(len(x), -1).astype(float)
    labels = y.astype(str).astype(object)

    def fetch(asked, *, version, as_frame):
        assert (asked, version, as_frame) == (remote, 1, False)
        return SimpleNamespace(data=rows, target=labels)

    monkeypatch.setattr(extras, "fetch_openml", fetch)
    monkeypatch.setitem(images._OPENML, name, images._OPENML[name]._replace(tests=20))
    monkeypatch.setenv(images.VARIABLE, str(tmp_path))  # a folder that does not hold the data
    found = images.load(name)
    assert same(found, expected) and in_layout(found)


def test_missing_files_are_named(tmp_path, monkeypatch):
    for path, file in ((tmp_path / "absent.npz", r"absent\.npz"), (tmp_path, r"mnist\.npz")):
        with pytest.raises(FileNotFoundError, match=file):
            images.load("mnist", path)
    monkeypatch.setenv(images.VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="SHALLOW_DATA.*nowhere"):
        images.load("mnist")


@pytest.mark.parametrize("problem", [ValueError("md5 checksum, status 412"), HTTPException(), OSError(101)])
def test_whatever_goes_wrong_with_a_download_says_how_to_do_without(monkeypatch, problem):
    def fetch(*_, **__):
        raise problem

    monkeypatch.delitem(vars(extras), "fetch_openml", raising=False)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    with pytest.raises(ConnectionError, match=r"mnist could not be fetched .*; pass path= with a file mnist\.npz"):
        images.load("mnist")


@pytest.mark.parametrize(
    ("says", "change"),
    [
        ("y_test", {"y_test": None}),
        ("x_train", {"x_train": np.zeros((30, 32, 32, 3))}),
        ("x_train", {"x_train": np.zeros((30, 3, 32, 32), np.uint8)}),
        ("x_train", {"x_train": np.zeros((0, 32, 32, 3), np.uint8)}),
        ("y_train", {"y_train": np.zeros(29, int)}),
        ("y_train", {"y_train": np.full(30, 10)}),
        ("y_train", {"y_train": np.zeros(30)}),
        ("x_test", {"x_test": np.zeros((20, 28, 28, 3), np.uint8)}),
    ],
)
def test_wrong_arrays_are_named_with_their_file(tmp_path, says, change):
    content = {name: array for name, array in (arrays() | change).items() if array is not None}
    np.savez(tmp_path / "a.npz", **content)
    with pytest.raises(ValueError, match=rf"^path.*{says}") as caught:
        images.load("cifar10", tmp_path / "a.npz")
    assert "a.npz" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 cut off"])
def test_broken_files_are_named(tmp_path, content):
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"path.*a\.npz"):
        images.load("mnist", tmp_path / "a.npz")
    np.save(tmp_path / "b.npy", np.zeros(3))
    with pytest.raises(ValueError, match=r"path.*b\.npy"):
        images.load("mnist", tmp_path / "b.npy")


def test_no_flipped_bit_passes_or_ends_in_an_error_of_another_library(tmp_path):
    """Some bits say when a file was written, or by which system."""
    expected = {f"x_{part}": np.zeros((2, 28, 28, 1), np.uint8) for part in ("train", "test")}
    expected |= {f"y_{part}": np.array([3, 7]) for part in ("train", "test")}
    np.savez_compressed(tmp_path / "mnist.npz", **expected)
    content, refused = (tmp_path / "mnist.npz").read_bytes(), 0
    for place in range(len(content)):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        (tmp_path / "mnist.npz").write_bytes(flipped)
        try:
            assert same(images.load("mnist", tmp_path), expected)
        except ValueError as error:
            assert str(error).startswith("path: ") and "mnist.npz" in str(error)
            refused += 1
    assert refused > len(content) / 2


def test_a_part_has_the_classes_in_proportion_and_is_shuffled():
    y = np.sort(np.repeat(np.arange(4), [400, 300, 200, 101]))
    x = np.arange(len(y))
    part, labels = images.subset(x, y, 100, stats.stream("part", 0))
    assert len(set(part)) == 100 and np.array_equal(y[part], labels)
    assert np.abs(np.bincount(labels) - 100 * np.bincount(y) / len(y)).max() < 1
    assert (np.diff(labels) < 0).sum() > 20  # about 35 descents in a random order, 0 in a sorted one
    again, _ = images.subset(x, y, 100, stats.stream("part", 0))
    other, _ = images.subset(x, y, 100, stats.stream("part", 1))
    assert np.array_equal(part, again) and not np.array_equal(part, other)
    whole, _ = images.subset(x, y, len(y), stats.stream("part", 0))
    assert np.array_equal(np.sort(whole), x)


def test_enlarging_repeats_pixels_and_frames_them():
    x = np.random.default_rng(0).integers(1, 256, (3, 8, 8, 1), dtype=np.uint8)
    assert np.array_equal(images.enlarge(x), np.kron(x, np.ones((1, 4, 4, 1), np.uint8)))
    framed = images.enlarge(x, 11)
    assert framed.shape == (3, 11, 11, 1) and framed.sum() == x.sum()
    assert np.array_equal(framed[:, 1:9, 1:9], x)


def test_standardised_training_images_have_mean_zero_and_variance_one():
    content = arrays()
    train, test = content["x_train"], content["x_test"]
    train = (train * [1.0, 0.5, 0.1]).astype(np.uint8)
    scaled, other = images.standardise(train, test)
    assert scaled.shape == (30, 3, 32, 32) and scaled.dtype == other.dtype == np.float32
    assert np.abs(scaled.mean(axis=(0, 2, 3), dtype=float)).max() < 1e-6
    assert np.abs(scaled.std(axis=(0, 2, 3), dtype=float) - 1).max() < 1e-6
    wanted = (test[..., 2] / 255 - train[..., 2].mean() / 255) / (train[..., 2].std() / 255)
    assert np.abs(other[:, 2] - wanted).max() < 1e-4
    assert abs(other.mean()) > 1  # not standardised by itself
