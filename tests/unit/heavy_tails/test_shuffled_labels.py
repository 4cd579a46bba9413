"""Deep networks on shuffled labels: they begin as those with true labels do, and a share of a fall is what it says."""

import numpy as np
import pytest

from experiments.heavy_tails.beyond import deep_nets, shuffled_labels
from shallow.book import records
from shallow.spectra import tails

TRUE, SHUFFLED = "heavy_tails/beyond/deep_vgg11", "heavy_tails/beyond/shuffled_vgg11"


@pytest.mark.parametrize(
    ("network", "data", "seed"), [("vgg11", "cifar10", 1), ("vgg11", "mnist", 1), ("resnet18", "cifar10", 0)]
)
def test_both_begin_with_the_same_weights(network, data, seed):
    true, runs = (records.load(f"heavy_tails/beyond/{name}_{network}") for name in ("deep", "shuffled"))
    point = {"seed": seed, "data": data, "t": 0, "flattening": "joined"}
    first = [tails.hill(deep_nets.eigenvalues(true, layer=k, **point)) for k in true.layer.values]
    np.testing.assert_allclose(runs.hill.sel(seed=seed, data=data, t=0), first, rtol=1e-4)


def test_the_share_of_a_fall_is_one_for_the_same_ends_and_zero_without_a_fall():
    true, runs = records.load(TRUE), records.load(SHUFFLED).copy(deep=True)
    found = shuffled_labels.exponents(true, runs, (2, 4), "mnist")
    place = {"data": "mnist", "layer": [2, 4], "t": deep_nets.STEPS}
    for end, share in (("true", 1), ("before", 0)):
        runs["hill"].loc[place] = found.sel(of=end).transpose("seed", "layer").values
        planted = shuffled_labels.exponents(true, runs, (2, 4), "mnist")
        np.testing.assert_allclose(shuffled_labels.share_of_fall(planted), share, atol=1e-5)


def test_unknown_data_are_refused():
    with pytest.raises(ValueError, match="data must be"):
        shuffled_labels.shuffled(0, network="VGG11", data="svhn", images={"digits": 40}, micro_batch=40)
