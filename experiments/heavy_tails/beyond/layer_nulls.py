"""Listed layers of deep networks beside matrices that keep their column variances, or their row variances, alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from experiments.heavy_tails.beyond import deep_nets
from shallow import checks, deep
from shallow.book.recipes import Agreement, Recipe, releases_gil
from shallow.spectra import esd, nulls
from shallow.stats import stream
from shallow.train import accumulated

#: A trained layer, its entries permuted within the columns (one for every input weight), within the rows, and at will.
KINDS = ("trained", "within columns", "within rows", "all entries")


@releases_gil
def permuted_layers(
    seed: int, *, network: str, data: str, images: Mapping[str, int], micro_batch: int, layers: Sequence[int]
) -> xr.Dataset:
    """Spectra of some layers after the training of :func:`deep_nets.image_network`, and of their permuted matrices.

    Returns:
        eigenvalues (kind, layer, k): kernels joined, descending, float32, filled up with NaN, for the :data:`KINDS`.

    Cost: that of :func:`deep_nets.image_network`, 3 minutes for VGG11.
    """
    checks.one_of(deep_nets.NETWORKS, network=network)
    sample, rng = deep_nets.draw(seed, data, images[data]), stream("image network", network, seed)
    initial = deep_nets.NETWORKS[network](rng, in_channels=sample.x.shape[1], batch_norm=True)
    run = accumulated.train(
        sample.x, sample.y, initial, step=deep_nets.RATE, steps=deep_nets.STEPS, micro_batch=micro_batch
    )
    matrices = deep_nets.numbered(deep.weight_matrices(run.network))
    chosen = [matrices[f"layer {k}"] for k in layers]
    found = np.full((len(KINDS), len(chosen), max(min(W.shape) for W in chosen)), np.nan, dtype=np.float32)
    for j, (layer, W) in enumerate(zip(layers, chosen)):
        for i, one in enumerate(of_kinds(W, stream("permuted layer", network, data, seed, layer))):
            values = esd.eigenvalues(one)
            found[i, j, : len(values)] = values
    return xr.Dataset({"eigenvalues": (("kind", "layer", "k"), found)}, {"kind": list(KINDS), "layer": list(layers)})


def of_kinds(W: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """W (h, d) and its three permuted matrices, in the order of :data:`KINDS`."""
    return [
        W,
        nulls.permuted_within_columns(W, rng),
        nulls.permuted_within_columns(W.T, rng).T,
        rng.permuted(W.ravel()).reshape(W.shape),
    ]


RECORDS: dict[str, Recipe] = {
    "layers_permuted": Recipe(
        permuted_layers,
        {"seed": [0, 1], "data": ["cifar10", "mnist"]},
        {"network": "VGG11", "images": {"cifar10": 2000, "mnist": 2000}, "micro_batch": 2000, "layers": [2, 4, 7]},
        "Figures 6, 33 and 34: layers of VGG11 beside their permuted matrices",
        agreement=Agreement(elsewhere=0.1),
    ),
}
