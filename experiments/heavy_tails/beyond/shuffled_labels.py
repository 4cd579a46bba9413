"""The deep networks of :mod:`.deep_nets` on labels in random order: do their exponents fall all the same?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from experiments.heavy_tails.beyond import deep_nets
from shallow import checks, deep
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.spectra import tails
from shallow.stats import stream
from shallow.train import accumulated


@releases_gil
def shuffled(seed: int, *, network: str, data: str, images: Mapping[str, int], micro_batch: int) -> xr.Dataset:
    """The run of :func:`.deep_nets.image_network` with the same images and first weights, the labels permuted.

    Returns:
        singular_values (layer, k): of the joined matrices after the steps, descending, filled up with NaN;
        hill (layer, t): their exponents before and after, PL_Alpha_Hill;
        loss (step): before every step and after the last.

    Cost: that of the run with true labels.
    """
    checks.one_of(deep_nets.NETWORKS, network=network)
    checks.one_of(images, data=data)
    sample = deep_nets.draw(seed, data, images[data])
    initial = deep_nets.NETWORKS[network](stream("image network", network, seed), in_channels=sample.x.shape[1])
    y = stream("shuffled labels", data, seed).permutation(sample.y)
    options = {"step": deep_nets.RATE, "steps": deep_nets.STEPS, "measure": _joined, "micro_batch": micro_batch}
    run = accumulated.train(sample.x, y, initial, **options)
    first, *_, last = run.values
    values = np.full((len(last), max(map(len, last.values()))), np.nan)
    for row, found in zip(values, last.values(), strict=True):
        row[: len(found)] = found
    hills = [[tails.hill(found**2) for found in one.values()] for one in (first, last)]
    return xr.Dataset(
        {"singular_values": (("layer", "k"), values), "hill": (("t", "layer"), hills), "loss": ("step", run.loss)},
        {"layer": np.arange(1, len(last) + 1), "t": [0, deep_nets.STEPS]},
    )


def _joined(network) -> dict[str, np.ndarray]:
    return deep_nets.numbered(deep.singular_values(network, "joined"))


def exponents(true: xr.Dataset, runs: xr.Dataset, layers: Sequence[int], data: str) -> xr.DataArray:
    """Exponents (of, seed, layer) before the steps, and after them with true and with shuffled labels."""
    hill = runs.hill.sel(data=data, layer=list(layers)).transpose("t", "seed", "layer").astype(float)
    point = {"data": data, "t": deep_nets.STEPS, "flattening": "joined"}
    ends = [
        [tails.hill(deep_nets.eigenvalues(true, seed=s, layer=k, **point)) for k in layers] for s in hill.seed.values
    ]
    found = np.stack([hill.sel(t=0), ends, hill.sel(t=deep_nets.STEPS)])
    coords = {"of": ["before", "true", "shuffled"], "seed": hill.seed, "layer": hill.layer}
    return xr.DataArray(found, coords, ("of", "seed", "layer"))


def share_of_fall(found: xr.DataArray) -> xr.DataArray:
    """Fall of the :func:`exponents` with shuffled labels over that with true ones (seed, layer)."""
    return (found.sel(of="before") - found.sel(of="shuffled")) / (found.sel(of="before") - found.sel(of="true"))


RECORDS: dict[str, Recipe] = {
    "shuffled_vgg11": Recipe(
        shuffled,
        {"seed": [0, 1], "data": ["digits", "cifar10", "mnist"]},
        {"network": "VGG11", "images": {"digits": 40, "cifar10": 2000, "mnist": 2000}, "micro_batch": 2000},
        "VGG11 after ten steps on shuffled labels",
        agreement=Agreement(elsewhere=0.1, rounding=("loss", "hill", "singular_values")),
    ),
    "shuffled_resnet18": Recipe(
        shuffled,
        {"seed": [0, 1], "data": ["cifar10"]},
        {"network": "ResNet18", "images": {"cifar10": 2000}, "micro_batch": 100},
        "ResNet18 after ten steps on shuffled labels",
        agreement=Agreement(elsewhere=0.1, rounding=("loss", "hill", "singular_values")),
    ),
}
