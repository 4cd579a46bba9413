"""VGG11 and ResNet18 after ten full-batch Adam steps on images: spectra of their layers.

The document (Section 5.3, Appendix F.6) gives the learning rate, the steps and the layers; nearly everything else is a
guess of this book and stands in the arguments of :func:`image_network`.  Spectra before and after are compared in two
readings of a convolution as a matrix, see :func:`shallow.deep.weight_matrices`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import numpy as np
import torch
import xarray as xr
from torch import nn

from experiments.heavy_tails import shapes
from experiments.heavy_tails.exponents.tail_fits import same_norms
from shallow import checks, deep
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.data import images as data_sets
from shallow.spectra import esd, marchenko_pastur, tails
from shallow.stats import stream
from shallow.train import accumulated

Layer = TypeVar("Layer")
NETWORKS = {"VGG11": deep.vgg11, "ResNet18": deep.resnet18}
#: Matrices that keep something of the trained weights, but not how they are arranged.
NULLS = ("same norms", "shuffled")
STEPS, RATE = 10, 0.01
#: Least changes of the rule: fall of PL_Alpha_Hill, and distance of the spectra in units of their medians.
FALL, DISTANCE = 0.2, 0.1


class Sample(NamedTuple):
    """Images for a network: x (n, c, 32, 32) and x_test, float32, labels y (n,) and y_test, and a checksum of them."""

    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    checksum: int


def draw(seed: int, data: str, count: int) -> Sample:
    """`count` training and half as many test images, classes in their proportions, 32 x 32 pixels, standardised.

    The checksum, 48 bits of a SHA-256 hash of the pixels and labels, tells other copies of the data.
    """
    found = data_sets.load(data)
    x, y = data_sets.subset(found.x_train, found.y_train, count, stream("training images", data, seed))
    x_test, y_test = data_sets.subset(found.x_test, found.y_test, count // 2, stream("test images", data, seed))
    digest = hashlib.sha256()
    for array in (x, y, x_test, y_test):
        digest.update(np.ascontiguousarray(array).tobytes())
    x, x_test = data_sets.standardise(data_sets.enlarge(x), data_sets.enlarge(x_test))
    return Sample(x, y, x_test, y_test, int(digest.hexdigest()[:12], 16))


@releases_gil
def image_network(
    seed: int,
    *,
    network: str,
    data: str,
    images: Mapping[str, int],
    micro_batch: int,
    batch_norm: bool = True,
    steps: int = STEPS,
    rate: float = RATE,
) -> xr.Dataset:
    r"""Train a deep network by full-batch Adam, and the spectra of its numbered layers before and after.

    Args:
        images: number of training images for each data set; half as many are for testing.
        micro_batch: images that are normalised together.

    Returns:
        singular_values (flattening, layer, t, k): descending, t = 0 and `steps`, filled up with NaN;
        kernel (layer, size): number of outputs, of inputs and of positions of the kernel;
        movement (layer): $\|W_t - W_0\|_F / \|W_0\|_F$;
        null_hill (null, layer): PL_Alpha_Hill after the steps of the matrices of `NULLS` in the reading "joined": a
            Gaussian matrix with the norms of the rows and columns, and the entries in random order;
        loss (step): before every step and after the last;
        accuracy: on the test images, normalised by themselves in pieces of `micro_batch`;
        checksum: see :func:`draw`.

    Cost: with 2000 images 3.2 minutes for VGG11 and 12 for ResNet18 on one core.
    """
    checks.one_of(NETWORKS, network=network)
    checks.one_of(images, data=data)
    sample = draw(seed, data, images[data])
    rng = stream("image network", network, seed)
    initial = NETWORKS[network](rng, in_channels=sample.x.shape[1], batch_norm=batch_norm)
    run = accumulated.train(
        sample.x, sample.y, initial, step=rate, steps=steps, measure=spectra, micro_batch=micro_batch
    )
    layers = numbered(deep.weight_layers(run.network))
    before, after = numbered(deep.weight_matrices(initial)), numbered(deep.weight_matrices(run.network))
    return xr.Dataset(
        {
            "singular_values": (("flattening", "layer", "t", "k"), _padded(run.values)),
            "kernel": (("layer", "size"), [_sizes(layer) for layer in layers.values()]),
            "movement": ("layer", [_relative(before[name], after[name]) for name in after]),
            "null_hill": (("null", "layer"), np.transpose([_null_hills(W, rng) for W in after.values()])),
            "loss": ("step", run.loss),
            "accuracy": accuracy(run.network, sample.x_test, sample.y_test, micro_batch),
            "checksum": sample.checksum,
        },
        {
            "flattening": list(deep.FLATTENINGS),
            "layer": np.arange(1, len(after) + 1),
            "t": run.steps,
            "size": ["out", "in", "positions"],
            "null": list(NULLS),
            "step": np.arange(steps + 1),
        },
    )


def numbered(layers: Mapping[str, Layer]) -> dict[str, Layer]:
    """Of a mapping by the names of :func:`shallow.deep.weight_layers` that of the layers not on shortcuts."""
    return {name: layer for name, layer in layers.items() if name.startswith("layer ")}


def spectra(network: nn.Module) -> dict[str, np.ndarray]:
    """Singular values of every numbered layer in every flattening, by "flattening/layer"."""
    return {
        f"{flattening}/{name}": values
        for flattening in deep.FLATTENINGS
        for name, values in numbered(deep.singular_values(network, flattening)).items()
    }


def accuracy(network: nn.Module, x: np.ndarray, y: np.ndarray, micro_batch: int) -> float:
    """Share of the images (n, c, h, w) whose largest output is their label, passed in pieces of `micro_batch`."""
    pieces = -(-len(y) // micro_batch)
    with torch.no_grad():
        outputs = [network(part).argmax(dim=1) for part in torch.from_numpy(x).tensor_split(pieces)]
    return float((torch.cat(outputs).numpy() == y).mean())


def _padded(measures: list[dict[str, np.ndarray]]) -> np.ndarray:
    """Singular values as one array (flattening, layer, record, k), with NaN behind the shorter ones."""
    longest = max(map(len, measures[0].values()))
    filled = np.full((len(measures), len(measures[0]), longest), np.nan)
    for t, found in enumerate(measures):
        for i, values in enumerate(found.values()):
            filled[t, i, : len(values)] = values
    return np.moveaxis(filled.reshape(len(measures), len(deep.FLATTENINGS), -1, longest), 0, 2)


def _sizes(layer: nn.Module) -> list[int]:
    return [*layer.weight.shape[:2], layer.weight[0, 0].numel()]


def _relative(before: np.ndarray, after: np.ndarray) -> float:
    return float(np.linalg.norm(after - before) / np.linalg.norm(before))


def _null_hills(W: np.ndarray, rng: np.random.Generator) -> list[float]:
    """PL_Alpha_Hill of the matrices of `NULLS` made from W."""
    shuffled = rng.permuted(W.ravel()).reshape(W.shape)
    return [tails.hill(values) for values in (same_norms(W, rng), esd.eigenvalues(shuffled))]


def changes(found: xr.Dataset) -> xr.Dataset:
    """Shapes of the spectra of eigenvalues, the squared singular values, of what :func:`image_network` returns.

    Returns:
        hill (..., t): PL_Alpha_Hill;
        noise: its population value for Gaussian matrices of this shape;
        distance: Kolmogorov-Smirnov distance of the first and the last spectrum, each in units of its median;
        to_noise (..., t): smallest such distance to a Marchenko-Pastur law of the shape, in any scale;
        share (..., t): of the largest eigenvalue in the sum;
        fall: of `hill` from the first to the last time;
        heavy: the rule, a fall of `FALL` and a distance of `DISTANCE` or more.

    Cost: 10 ms a spectrum.
    """
    hill, to_noise, share, noise, distance = xr.apply_ufunc(
        _change,
        found.singular_values,
        found.kernel,
        found.flattening,
        input_core_dims=[["t", "k"], ["size"], []],
        output_core_dims=[["t"], ["t"], ["t"], [], []],
        vectorize=True,
    )
    fall = hill.isel(t=0, drop=True) - hill.isel(t=-1, drop=True)
    measured = {"hill": hill, "noise": noise, "distance": distance, "to_noise": to_noise, "share": share, "fall": fall}
    return xr.Dataset(measured | {"heavy": heavy(fall, distance)})


def heavy(fall: xr.DataArray, distance: xr.DataArray) -> xr.DataArray:
    """The rule for a layer: the exponent falls by `FALL` or more, and the spectrum is `DISTANCE` or more away."""
    return (fall >= FALL) & (distance >= DISTANCE)


def eigenvalues(found: xr.Dataset, **point) -> np.ndarray:
    """The squared singular values at one point of all dimensions but k, without what they are filled up with."""
    values = found.singular_values.sel(point).values
    return values[np.isfinite(values)] ** 2


def matrix_shape(kernel: np.ndarray, flattening: str) -> tuple[int, int]:
    """Shape of the matrices of a layer whose kernel has the sizes (out, in, positions)."""
    out, inputs, positions = map(int, kernel)
    return (out, inputs * positions) if flattening == "joined" else (out, inputs)


def _change(singular: np.ndarray, kernel: np.ndarray, flattening: str) -> tuple:
    """The first five of :func:`changes` for singular values (t, k)."""
    shape, matrices = matrix_shape(kernel, flattening), 1 if flattening == "joined" else int(kernel[2])
    values = [row[np.isfinite(row)] ** 2 for row in singular]
    return (
        np.array([tails.hill(one) for one in values]),
        np.array([marchenko_pastur.fitted_distance(one, *shape, matrices=matrices) for one in values]),
        np.array([one.max() / one.sum() for one in values]),
        shapes.noise_hill(*shape),
        shapes.median_distance(values[0], values[-1]),
    )


RECORDS: dict[str, Recipe] = {
    "deep_vgg11": Recipe(
        image_network,
        {"seed": [0, 1], "data": ["digits", "cifar10", "mnist"]},
        {"network": "VGG11", "images": {"digits": 40, "cifar10": 2000, "mnist": 2000}, "micro_batch": 2000},
        "Figures 6, 33 and 34: VGG11 after ten steps",
        # On another processor the losses of forty digits agree to 1e-7 before the first step, to 2 % after five.
        agreement=Agreement(elsewhere=0.1, rounding=("loss", "null_hill")),
    ),
    "deep_resnet18": Recipe(
        image_network,
        {"seed": [0], "data": ["digits", "cifar10"]},
        {"network": "ResNet18", "images": {"digits": 20, "cifar10": 2000}, "micro_batch": 100},
        "Figures 6 and 36: ResNet18 after ten steps",
        # On another processor the first steps of Adam on twenty digits lead to losses that differ by a tenth.
        agreement=Agreement(elsewhere=0.05, rounding=("loss", "null_hill", "singular_values")),
    ),
    "deep_resnet18_again": Recipe(
        image_network,
        {"seed": [1], "data": ["cifar10"]},
        {"network": "ResNet18", "images": {"cifar10": 2000}, "micro_batch": 100},
        "Figures 6 and 36: another draw of ResNet18",
    ),
}
