"""Deep networks against the same networks written out as one formula, and their weight matrices against loops."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from shallow import deep, stats

BUILD = {"vgg11": deep.vgg11, "resnet18": deep.resnet18}
SIDE = {"vgg11": 32, "resnet18": 16}


def draw(name: str, batch_norm: bool, **options):
    """A narrow float64 network with normalisations that do something, and images for it."""
    rng = stats.stream("deep", name)
    network = BUILD[name](rng, width=3, in_channels=2, classes=4, batch_norm=batch_norm, **options).double()
    for layer in network.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.weight.data = torch.from_numpy(rng.uniform(0.5, 2, layer.num_features))
            layer.bias.data = torch.from_numpy(rng.uniform(-1, 1, layer.num_features))
    return network, torch.from_numpy(rng.normal(size=(5, 2, SIDE[name], SIDE[name])))


def convolve(layer, x: torch.Tensor, after: dict, stride: int = 1) -> torch.Tensor:
    """Convolution by its definition, normalised by the batch if a normalisation follows the layer."""
    weight, size = layer.weight, layer.weight.shape[-1]
    patches = functional.unfold(x, size, padding=size // 2, stride=stride)
    side = -(-x.shape[-1] // stride)
    z = (weight.reshape(len(weight), -1) @ patches).reshape(len(x), len(weight), side, side)
    norm = after.get(layer)
    if norm is None:
        return z + layer.bias[:, None, None]
    mean, variance = z.mean(dim=(0, 2, 3), keepdim=True), z.var(dim=(0, 2, 3), keepdim=True, unbiased=False)
    return (z - mean) / (variance + 1e-5).sqrt() * norm.weight[:, None, None] + norm.bias[:, None, None]


def written_out(name: str, network, x: torch.Tensor) -> torch.Tensor:
    """The network as a formula in its numbered layers."""
    layers = deep.weight_layers(network)
    modules = [m for m in network.modules() if isinstance(m, torch.nn.Conv2d | torch.nn.BatchNorm2d)]
    after = {a: b for a, b in zip(modules, modules[1:], strict=False) if isinstance(b, torch.nn.BatchNorm2d)}
    if name == "vgg11":
        for k in range(1, 9):
            x = convolve(layers[f"layer {k}"], x, after).relu()
            if k in (1, 2, 4, 6, 8):
                x = x.unflatten(3, (-1, 2)).unflatten(2, (-1, 2)).amax(dim=(3, 5))
        return x.flatten(1) @ layers["layer 9"].weight.T + layers["layer 9"].bias
    x = convolve(layers["layer 1"], x, after).relu()
    for k in range(2, 18, 2):
        stride = 2 if k in (6, 10, 14) else 1
        inner = convolve(layers[f"layer {k}"], x, after, stride).relu()
        inner = convolve(layers[f"layer {k + 1}"], inner, after)
        x = (inner + (convolve(layers[f"shortcut {k + 1}"], x, after, 2) if stride == 2 else x)).relu()
    return x.mean(dim=(2, 3)) @ layers["layer 18"].weight.T + layers["layer 18"].bias


@pytest.mark.parametrize("batch_norm", [True, False])
@pytest.mark.parametrize("name", BUILD)
def test_network_is_its_formula(name, batch_norm):
    network, x = draw(name, batch_norm)
    found, expected = network(x), written_out(name, network, x)
    assert found.shape == (5, 4)
    assert (found - expected).abs().max() < 1e-10 * expected.abs().max()
    assert torch.equal(found, network.eval()(x))  # no difference between training and evaluation


@pytest.mark.parametrize(
    ("name", "batch_norm", "published"),
    [("vgg11", False, 9_225_610), ("vgg11", True, 9_228_362), ("resnet18", True, 11_173_962)],
)
def test_number_of_parameters_is_the_published_one(name, batch_norm, published):
    network = BUILD[name](stats.stream("count"), batch_norm=batch_norm)
    assert sum(p.numel() for p in network.parameters()) == published
    assert deep.weight_matrices(network)["layer 8"].shape == {"vgg11": (512, 4608), "resnet18": (128, 1152)}[name]


def looped(kernel: np.ndarray, flattening: str) -> np.ndarray:
    """The matrices of a convolution, entry by entry."""
    outputs, inputs, k, _ = kernel.shape
    joined, positions = np.empty((outputs, inputs * k * k)), np.empty((k * k, outputs, inputs))
    for o, i, p, q in np.ndindex(kernel.shape):
        joined[o, (i * k + p) * k + q] = kernel[o, i, p, q]
        positions[p * k + q, o, i] = kernel[o, i, p, q] * np.sqrt(1 / 2)
    return joined if flattening == "joined" else positions


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("flattening", deep.FLATTENINGS)
@pytest.mark.parametrize("name", BUILD)
def test_matrices_and_their_singular_values(name, flattening, channels_last):
    network, _ = draw(name, True)
    if channels_last:
        network = network.to(memory_format=torch.channels_last)
    matrices, values = deep.weight_matrices(network, flattening), deep.singular_values(network, flattening)
    assert list(matrices) == list(values) == list(deep.weight_layers(network))
    for key, layer in deep.weight_layers(network).items():
        weight = layer.weight.detach().numpy()
        expected = looped(weight, flattening) if weight.ndim == 4 else weight
        assert np.array_equal(matrices[key], expected)
        stack = expected if expected.ndim == 3 else expected[None]
        grams = [W @ W.T if W.shape[0] <= W.shape[1] else W.T @ W for W in stack]
        squares = np.sort(np.concatenate([np.linalg.eigvalsh(gram) for gram in grams]))[::-1]
        assert values[key].shape == squares.shape and values[key].flags.c_contiguous
        assert np.abs(values[key] ** 2 - squares).max() < 1e-12 * squares[0]
    before = matrices["layer 1"].copy()
    deep.weight_layers(network)["layer 1"].weight.data.zero_()
    assert np.array_equal(matrices["layer 1"], before)  # a copy
    with pytest.raises(ValueError, match="^network's weights must"):
        deep.weight_matrices(network.bfloat16())


@pytest.mark.parametrize("name", BUILD)
def test_initial_weights_have_the_default_law_and_come_from_the_generator(name):
    state = torch.random.get_rng_state()
    network = BUILD[name](stats.stream("law", 0), width=16)
    assert torch.equal(state, torch.random.get_rng_state())
    for layer in deep.weight_layers(network).values():
        entries = layer.weight.detach().numpy().ravel() * np.sqrt(layer.weight[0].numel())
        assert np.abs(entries).max() <= 1 + 1e-6
        assert abs(entries.var() * 3 - 1) < 6 / np.sqrt(len(entries))  # U(-1, 1): variance 1/3, within 5 deviations
    first, again, other = (
        BUILD[name](stats.stream("law", seed), width=16)(torch.ones(2, 3, 32, 32)) for seed in (0, 0, 1)
    )
    assert torch.equal(first, again) and not torch.equal(first, other)
