"""Deep networks on images: what the cell returns, and how spectra before and after are compared."""

from functools import partial

import numpy as np
import pytest
import torch
import xarray as xr

from experiments.heavy_tails.beyond import deep_nets
from shallow import deep
from shallow.spectra import tails
from shallow.stats import stream

OPTIONS = {"network": "VGG11", "data": "digits", "images": {"digits": 30}, "micro_batch": 30}


@pytest.fixture(scope="module")
def narrow():
    """One step of networks of eight channels, by name; with fewer PyTorch 2.13 writes past its memory on AVX2."""
    with pytest.MonkeyPatch.context() as patch:
        for name, build in deep_nets.NETWORKS.items():
            patch.setitem(deep_nets.NETWORKS, name, partial(build, width=8))
        return {name: deep_nets.image_network(0, **OPTIONS | {"network": name}, steps=1) for name in deep_nets.NETWORKS}


def planted(before, after, flattening="joined", kernel=(100, 200, 1)):
    """What `changes` takes: two spectra of one layer."""
    return xr.Dataset(
        {
            "singular_values": (("flattening", "layer", "t", "k"), np.sqrt([[[before, after]]])),
            "kernel": (("layer", "size"), [list(kernel)]),
        },
        {"flattening": [flattening], "layer": [1], "t": [0, 10]},
    )


def noise(name, shape=(100, 200)):
    """Eigenvalues of a Gaussian matrix."""
    return np.linalg.svd(stream("deep nets test", name).standard_normal(shape), compute_uv=False) ** 2


@pytest.mark.parametrize("name", ["VGG11", "ResNet18"])
def test_first_spectra_are_those_of_the_initial_network(name, narrow):
    """Computed once more from the weights; shortcuts are left out, and short spectra end in NaN."""
    found, network = narrow[name], deep_nets.NETWORKS[name](stream("image network", name, 0), in_channels=1, width=8)
    for flattening in deep.FLATTENINGS:
        values = deep_nets.numbered(deep.singular_values(network, flattening))
        assert len(values) == found.sizes["layer"]
        for layer, kept in enumerate(values.values(), start=1):
            stored = found.singular_values.sel(flattening=flattening, layer=layer, t=0).values
            assert np.array_equal(stored[: len(kept)], kept) and np.isnan(stored[len(kept) :]).all()


def test_training_is_that_of_the_full_batch(narrow):
    """The first loss by hand: mean cross-entropy of the initial network on all images at once."""
    sample = deep_nets.draw(0, "digits", 30)
    network = deep.vgg11(stream("image network", "VGG11", 0), in_channels=1, width=8)
    expected = torch.nn.functional.cross_entropy(network(torch.tensor(sample.x)), torch.tensor(sample.y)).item()
    assert narrow["VGG11"].loss.sel(step=0).item() == pytest.approx(expected, rel=1e-5)
    assert narrow["VGG11"].checksum.item() == sample.checksum


def test_a_power_law_is_heavy_and_noise_in_other_units_is_not():
    before = noise(0)
    pareto = stream("deep nets test", "pareto").pareto(1.0, 100) + 1
    found = deep_nets.changes(planted(before, pareto))
    assert found.heavy.item() and found.distance.item() > 0.1 and found.to_noise.sel(t=10).item() > 0.1
    same = deep_nets.changes(planted(before, 4 * before))
    assert not same.heavy.item() and same.fall.item() == pytest.approx(0) and same.distance.item() == 0


def test_neither_condition_of_the_rule_is_enough():
    """Other noise of the same shape has no fall; a few spikes lower the exponent without moving the bulk."""
    before = noise(0)
    spiked = np.r_[before[:5] * 100, before[5:]]
    found = deep_nets.changes(planted(before, spiked))
    assert found.fall.item() > deep_nets.FALL and not found.heavy.item()
    square = deep_nets.changes(planted(noise(1, (100, 100)), before))
    assert square.distance.item() > deep_nets.DISTANCE and not square.heavy.item()


@pytest.mark.parametrize("flattening", deep.FLATTENINGS)
def test_noise_is_that_of_the_shape_in_the_reading(flattening):
    """Gaussian kernels of 60 x 40 at four positions, against the population value for another shape as well."""
    kernel = stream("deep nets test", "kernel").standard_normal((60, 40, 4))
    matrices = [kernel.reshape(60, 160)] if flattening == "joined" else np.moveaxis(kernel, 2, 0)
    values = np.concatenate([np.linalg.svd(W, compute_uv=False) for W in matrices]) ** 2
    found = deep_nets.changes(planted(values, values, flattening, kernel.shape))
    assert found.noise.item() == pytest.approx(tails.hill(values), rel=0.05)
    assert found.to_noise.sel(t=0).item() < 0.05
    wrong = deep_nets.changes(planted(values, values, flattening, (60, 240, 4)))
    assert abs(wrong.noise.item() / tails.hill(values) - 1) > 0.15


def test_nulls_forget_what_is_not_in_norms_or_entries():
    """Correlated rows have a low exponent that neither null keeps; unequal rows are kept by the first alone."""
    rng = stream("deep nets test", "nulls")
    correlated = rng.standard_normal((150, 300)) @ (rng.standard_normal((300, 300)) / (1 + np.arange(300))[:, None])
    unequal = rng.standard_normal((150, 300)) * np.exp(rng.standard_normal(150))[:, None]
    of_correlated, of_unequal = (deep_nets._null_hills(W, stream("nulls")) for W in (correlated, unequal))
    exponents = [tails.hill(np.linalg.svd(W, compute_uv=False) ** 2) for W in (correlated, unequal)]
    assert min(of_correlated) > exponents[0] + 0.5
    assert of_unequal[0] == pytest.approx(exponents[1], rel=0.15) and of_unequal[1] > exponents[1] + 0.3
