r"""Labelled images: scikit-learn's digits, which need no network, and MNIST and CIFAR-10 by their real loaders.

All come in one layout: images of shape (n, height, width, channels), uint8, one channel for grey and three for red,
green, blue, with labels 0..9.  Data that are not shipped are looked for in this order:

1. the argument `path` of :func:`load`: a file with the arrays ``x_train, y_train, x_test, y_test`` or a folder,
2. the folder named by the environment variable ``SHALLOW_DATA``, if it holds the data,
3. OpenML, through scikit-learn, which keeps what it fetched in its own cache.

A folder holds ``mnist.npz`` and ``cifar10.npz``.  Such files may be sorted by class: take a part of them with
:func:`subset`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shallow import checks
from shallow.display import short

#: Names that :func:`load` knows.
NAMES = ("digits", "mnist", "cifar10")
#: Environment variable that names a folder with local copies.
VARIABLE = "SHALLOW_DATA"
CLASSES = 10
_DIGITS_TRAIN = 1500  # of 1797; neighbours share a writer, so the two parts are cut, not shuffled


class Images(NamedTuple):
    """A data set: images (n, height, width, channels), uint8, and labels (n,), int64 in 0..9, for training and test."""

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray

    __repr__ = short


class _Remote(NamedTuple):
    """A data set at OpenML: a row per image, of which the last `tests` are the test set."""

    name: str
    version: int
    shape: tuple[int, int, int]
    planes: bool  # one colour after the other, instead of one pixel after the other
    tests: int


_OPENML = {
    "mnist": _Remote("mnist_784", 1, (28, 28, 1), False, 10000),
    "cifar10": _Remote("CIFAR_10", 1, (32, 32, 3), True, 10000),
}


def load(name: str = "digits", path: str | os.PathLike | None = None) -> Images:
    """Load a data set in the layout of this module.

    Args:
        name: "digits" (8 x 8, 1500 + 297 images, shipped with scikit-learn), "mnist" (28 x 28, 60000 + 10000) or
            "cifar10" (32 x 32 x 3, 50000 + 10000).
        path: a local .npz file or a folder, see the head of this module.  Files may hold fewer images, of the size of
            the named set, and grey ones without the axis of channels.

    Raises:
        ValueError: for an unknown name, a path where none is needed, or a file that is damaged, holds wrong arrays or
            those of another set, naming the file.
        FileNotFoundError: when there is nothing at the path or in the folder of SHALLOW_DATA, naming it.
        ConnectionError: when the data are not at hand and OpenML cannot be reached, refuses or sends others; says how
            to give a path.

    Cost: local files are read in a second; the first download is 15 MB to 1 GB and takes minutes and some gigabytes.
    """
    checks.one_of(NAMES, name=name)
    if name == "digits":
        if path is not None:
            raise ValueError(f"path must be None for the digits, which scikit-learn ships; got {path}")
        return _digits()
    if path is not None:
        return _read(name, Path(path))
    if os.environ.get(VARIABLE):
        folder = Path(os.environ[VARIABLE])
        if not folder.is_dir():
            raise FileNotFoundError(f"{VARIABLE} must name a folder, but there is none at {folder}")
        if (folder / f"{name}.npz").exists():
            return _read(name, folder)
    return _fetch(name)


def subset(x: np.ndarray, y: np.ndarray, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """`count` of the n images with their labels, in random order, every class in its proportion.

    The share count n_c / n of class c is rounded down or up (largest remainders first) so that the sum is `count`.

    Raises:
        ValueError: when x and y differ in length or count is not in 1..n.
    """
    checks.generators(rng=rng)
    checks.numbers(x=x, y=y)
    x, y = np.asarray(x), np.asarray(y)
    if y.ndim != 1 or len(x) != len(y):
        raise ValueError(f"x and y must have one length, got shapes {x.shape} and {y.shape}")
    checks.integers(1, len(y), count=count)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError(f"y must hold labels, got {checks.given(y)}")
    labels, sizes = np.unique(y, return_counts=True)
    whole, remainder = np.divmod(int(count) * sizes, len(y))
    whole[np.argsort(-remainder, kind="stable")[: count - whole.sum()]] += 1
    chosen = [rng.permutation(np.flatnonzero(y == label))[:k] for label, k in zip(labels, whole, strict=True)]
    order = rng.permutation(np.concatenate(chosen))
    return x[order], y[order]


def enlarge(x: np.ndarray, side: int = 32) -> np.ndarray:
    """Images (n, h, w, c) as (n, side, side, c): pixels repeated as often as they fit, then a black frame.

    Digits of 8 x 8 become 32 x 32 by fourfold pixels, MNIST's 28 x 28 by a frame of two pixels.

    Raises:
        ValueError: when x is not a stack of images, or an image is larger than `side`.
    """
    x = _images("x", x)
    checks.integers(max(x.shape[1:3]), side=side)
    times = side // max(x.shape[1:3])
    x = x.repeat(times, axis=1).repeat(times, axis=2)
    before = [(side - length) // 2 for length in x.shape[1:3]]
    frame = [(b, side - length - b) for b, length in zip(before, x.shape[1:3], strict=True)]
    return np.pad(x, [(0, 0), *frame, (0, 0)])


def standardise(train: np.ndarray, *others: np.ndarray) -> tuple[np.ndarray, ...]:
    r"""Images for a network: $(x/255 - \mu_c)/\sigma_c$ with the channels' mean and deviation over the training images.

    Args:
        train: training images, shape (n, h, w, c), uint8; over them every channel has mean 0 and variance 1.
        others: further images, treated with the numbers of the training images.

    Returns:
        float32 arrays of shape (n, c, h, w), one for each argument.

    Raises:
        ValueError: when an argument is not a stack of uint8 images with the channels of `train`, or a channel of
            `train` is constant.
    """
    train, *others = _images("train", train), *(_images("others", x) for x in others)
    if any(x.shape[3] != train.shape[3] for x in others):
        raise ValueError(f"others must have {train.shape[3]} channels like train, got {[x.shape for x in others]}")
    scaled = train.reshape(-1, train.shape[3]) / 255.0
    mean, deviation = scaled.mean(axis=0), scaled.std(axis=0)
    if not (deviation > 0).all():
        raise ValueError(f"train must vary in every channel, got deviations {deviation}")
    slope, offset = (1 / (255 * deviation)).astype(np.float32), (mean / deviation).astype(np.float32)
    return tuple(np.ascontiguousarray(np.moveaxis(x * slope - offset, 3, 1)) for x in (train, *others))


def _images(name: str, x: np.ndarray) -> np.ndarray:
    checks.numbers(**{name: x})
    x = np.asarray(x)
    if x.ndim != 4 or not x.size or x.dtype != np.uint8:
        raise ValueError(f"{name} must be uint8 of shape (n, height, width, channels), got {x.dtype} {x.shape}")
    return x


def _digits() -> Images:
    """Pixels 0..16 stretched to 0..255."""
    from shallow.extras import load_digits

    found = load_digits()
    x = np.round(found.images * (255 / 16)).astype(np.uint8)[..., None]
    y = found.target.astype(np.int64)
    return Images(x[:_DIGITS_TRAIN], y[:_DIGITS_TRAIN], x[_DIGITS_TRAIN:], y[_DIGITS_TRAIN:])


def _read(name: str, path: Path) -> Images:
    if path.is_dir():
        path = path / f"{name}.npz"
    if not path.is_file():
        raise FileNotFoundError(f"path must lead to the data of {name}, but there is no file {path}")
    try:
        with np.load(path) as file:
            found = {field: file[field] for field in file.files}
    except Exception as error:  # NumPy, zipfile and zlib raise what they like on bytes that are no archive of arrays
        problem = f"path: {path} must be a whole .npz file of plain arrays ({type(error).__name__}: {error})"
        raise ValueError(problem) from error
    if not set(Images._fields) <= set(found):
        raise ValueError(f"path: {path} must hold the arrays {', '.join(Images._fields)}, has {', '.join(found)}")
    return _checked(name, path, *(found[field] for field in Images._fields))


def _fetch(name: str) -> Images:
    from shallow.extras import fetch_openml

    remote = _OPENML[name]
    try:
        found = fetch_openml(remote.name, version=remote.version, as_frame=False)
    except OSError as error:  # urllib's errors among them
        raise ConnectionError(
            f"{name} could not be fetched from OpenML ({error}); pass path= with a file {name}.npz that holds "
            f"{', '.join(Images._fields)}, or name a folder with it in {VARIABLE}"
        ) from error
    h, w, c = remote.shape
    x = np.asarray(found.data).astype(np.uint8)
    x = np.moveaxis(x.reshape(-1, c, h, w), 1, 3) if remote.planes else x.reshape(-1, h, w, c)
    y = np.asarray(found.target).astype(float).astype(np.int64)
    n = len(x) - remote.tests
    return _checked(name, f"OpenML's {remote.name}", x[:n], y[:n], x[n:], y[n:])


def _checked(name: str, source: str | Path, *arrays: np.ndarray) -> Images:
    """The four arrays of a data set in the layout of this module."""
    *sides, channels = _OPENML[name].shape
    found = dict(zip(Images._fields, arrays, strict=True))
    for part in ("train", "test"):
        x, y = found[f"x_{part}"], found[f"y_{part}"]
        x = x[..., None] if x.ndim == 3 else x
        if x.dtype != np.uint8 or x.shape[1:] != (*sides, channels) or not len(x):
            wanted = f"(n, {sides[0]}, {sides[1]}, {channels})"
            raise ValueError(
                f"path: x_{part} of {source} must be uint8 of shape {wanted}, as {name} is, got {x.dtype} {x.shape}"
            )
        if y.shape != x.shape[:1] or y.dtype.kind not in "iu" or not np.isin(y, range(CLASSES)).all():
            raise ValueError(
                f"path: y_{part} of {source} must be {len(x)} integers in 0..9, got {y.dtype} of {checks.given(y)}"
            )
        found |= {f"x_{part}": np.ascontiguousarray(x), f"y_{part}": np.ascontiguousarray(y, dtype=np.int64)}
    return Images(**found)
