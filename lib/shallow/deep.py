r"""VGG11 and ResNet18 for images of 32 x 32 pixels, and their weights as matrices.

Both are the usual variants for small images: VGG11 with one classifier layer, ResNet18 with a 3 x 3 stem and no pooling
behind it.  Layers with weights are numbered in forward order from 1, so that the name of a network counts them:

=========  =======================================================================================================
VGG11      1-8 convolutions of 1, 2, 4, 4, 8, 8, 8, 8 times `width` channels, 9 classifier (the original has three)
ResNet18   1 stem, 2-5, 6-9, 10-13, 14-17 convolutions of 1, 2, 4, 8 times `width` channels, 18 classifier
=========  =======================================================================================================

The three 1 x 1 convolutions on shortcuts of ResNet18 are not numbered.  The document "From Spikes to Heavy Tails"
(Figures 6 and 33-37) names layers 2, 4, 7 and 5, 8, 10 without saying how it counts or how the networks are built: both
are our guess.

Batch normalisation has no running statistics: it always normalises by the batch that is passed.  A network is therefore
a pure function of its weights and one batch, and the same in training and evaluation mode.
"""

from __future__ import annotations

import numpy as np

from shallow import checks
from shallow.extras import nn, torch

#: Readings of a convolution's kernel as a matrix, see :func:`weight_matrices`.
FLATTENINGS = ("joined", "positions")
_NORMALISATION = 0.5**0.5  # of the reading "positions"


class Residual(nn.Module):
    r"""Two convolutions beside a shortcut: $\mathrm{ReLU}(C_2\,\mathrm{ReLU}(C_1 x) + S x)$.

    The first convolution has the given stride; S is the identity, or a 1 x 1 convolution where the shape changes.
    """

    def __init__(self, inputs: int, outputs: int, stride: int, batch_norm: bool):
        checks.integers(1, inputs=inputs, outputs=outputs, stride=stride)
        super().__init__()
        self.first = _convolution(inputs, outputs, batch_norm, stride=stride)
        self.second = _convolution(outputs, outputs, batch_norm)
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else _convolution(inputs, outputs, batch_norm, size=1, stride=stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Shape (n, inputs, h, w) to (n, outputs, h / stride, w / stride)."""
        inner = self.second(self.first(x).relu_())
        return inner.add_(self.shortcut(x)).relu_()


def vgg11(
    rng: np.random.Generator,
    classes: int = 10,
    *,
    in_channels: int = 3,
    width: int = 64,
    batch_norm: bool = True,
) -> nn.Sequential:
    r"""VGG11: eight 3 x 3 convolutions with ReLU, maxima over 2 x 2 after layers 1, 2, 4, 6 and 8, one linear layer.

    Args:
        rng: draws the initial weights: PyTorch's default, $U(-1, 1)/\sqrt{\text{fan-in}}$, in forward order.
        classes: outputs.
        in_channels: channels of the images; they have 32 x 32 pixels.
        width: channels of the first layer; 64 in the original.
        batch_norm: batch normalisation between convolution and ReLU; the convolutions then have no bias.

    Returns:
        A network from (n, in_channels, 32, 32) to logits (n, classes), float32, on the CPU.

    Raises:
        ValueError: for sizes that are not positive integers.

    Cost: 0.9 GFLOP per image for a gradient; 9.2 million parameters (width 64).
    """
    checks.generators(rng=rng)
    checks.integers(1, classes=classes, in_channels=in_channels, width=width)
    layers, channels = [], in_channels
    with torch.device("meta"):  # nothing is drawn from PyTorch's global generator
        for factor, pool in ((1, True), (2, True), (4, False), (4, True), (8, False), (8, True), (8, False), (8, True)):
            layers += [_convolution(channels, factor * width, batch_norm), nn.ReLU(inplace=True)]
            layers += [nn.MaxPool2d(2)] if pool else []
            channels = factor * width
        network = nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels, classes))
    return _initialise(network, rng)


def resnet18(
    rng: np.random.Generator,
    classes: int = 10,
    *,
    in_channels: int = 3,
    width: int = 64,
    batch_norm: bool = True,
) -> nn.Sequential:
    """ResNet18: a 3 x 3 stem, eight residual blocks of `width` times 1, 1, 2, 2, 4, 4, 8, 8 channels, a linear layer.

    The third, fifth and seventh block halve the image; the classifier sees the mean over the remaining 4 x 4 pixels.
    Arguments, result and errors are those of :func:`vgg11`; images may have any size from 8 x 8.  With `width` < 8,
    gradients in single precision can crash PyTorch 2.13 on processors without AVX-512.

    Cost: 3.3 GFLOP per image for a gradient; 11.2 million parameters (width 64).
    """
    checks.generators(rng=rng)
    checks.integers(1, classes=classes, in_channels=in_channels, width=width)
    with torch.device("meta"):
        layers = [_convolution(in_channels, width, batch_norm), nn.ReLU(inplace=True)]
        channels = width
        for factor, stride in ((1, 1), (1, 1), (2, 2), (2, 1), (4, 2), (4, 1), (8, 2), (8, 1)):
            layers.append(Residual(channels, factor * width, stride, batch_norm))
            channels = factor * width
        pool = nn.AdaptiveAvgPool2d(1)
        network = nn.Sequential(*layers, pool, nn.Flatten(), nn.Linear(channels, classes))
    return _initialise(network, rng)


def weight_layers(network: nn.Module) -> dict[str, nn.Conv2d | nn.Linear]:
    """Layers with weights in forward order: "layer 1", "layer 2", ...; "shortcut k" joins the output of layer k."""
    found: dict[str, nn.Conv2d | nn.Linear] = {}
    number = 0
    for name, module in network.named_modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            shortcut = "shortcut" in name.split(".")
            number += not shortcut
            found[f"shortcut {number}" if shortcut else f"layer {number}"] = module
    return found


def weight_matrices(network: nn.Module, flattening: str = "joined") -> dict[str, np.ndarray]:
    r"""The weights of every layer of :func:`weight_layers` as matrices, float64, copied.

    A convolution has a kernel $K$ of shape (out, in, k, k).  Flattenings:

    - "joined": one matrix of shape (out, in k k), rows are the filters.
    - "positions": $K_{\cdot\cdot pq}/\sqrt2$ for each position (p, q) of the kernel, shape (k k, out, in), row by row
      of positions.  The factor is the customary one of estimators that pool the spectra of these matrices.

    A linear layer is (out, in) in both.

    Raises:
        ValueError: for an unknown flattening, and weights of a type that NumPy lacks, such as bfloat16.
    """
    checks.one_of(FLATTENINGS, flattening=flattening)
    checks.numbers(**{"network's weights": [one.weight.detach().cpu() for one in weight_layers(network).values()]})
    matrices = {}
    for name, layer in weight_layers(network).items():
        kernel = layer.weight.detach().cpu().numpy().astype(np.float64)
        if kernel.ndim == 4 and flattening == "joined":
            kernel = kernel.reshape(len(kernel), -1)
        elif kernel.ndim == 4:
            kernel = _NORMALISATION * np.moveaxis(kernel.reshape(*kernel.shape[:2], -1), 2, 0)
        matrices[name] = kernel
    return matrices


def singular_values(network: nn.Module, flattening: str = "joined") -> dict[str, np.ndarray]:
    r"""Singular values of the matrices of :func:`weight_matrices`, descending; those of the positions are pooled.

    There are min(out, in k k) values for a joined kernel and k k min(out, in) for its positions.

    Cost: $O(\text{out}^2\,\text{in}\,k^2)$ for a layer; about a second for all of VGG11, two for ResNet18.
    """
    matrices = weight_matrices(network, flattening)
    return {name: np.sort(np.linalg.svd(W, compute_uv=False), axis=None)[::-1].copy() for name, W in matrices.items()}


def _convolution(inputs: int, outputs: int, batch_norm: bool, *, size: int = 3, stride: int = 1) -> nn.Sequential:
    """A convolution that keeps the image's size up to the stride, with normalisation or a bias."""
    layer = nn.Conv2d(inputs, outputs, size, stride=stride, padding=size // 2, bias=not batch_norm)
    return nn.Sequential(layer, *([nn.BatchNorm2d(outputs, track_running_stats=False)] if batch_norm else []))


def _initialise(network: nn.Module, rng: np.random.Generator) -> nn.Module:
    """PyTorch's default initialisation from a numpy generator."""
    network.to_empty(device="cpu").float()
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.reset_parameters()  # scale 1, shift 0
        elif isinstance(module, nn.Conv2d | nn.Linear):
            bound = module.weight[0].numel() ** -0.5
            for parameter in module.parameters():
                draw = rng.uniform(-bound, bound, tuple(parameter.shape))
                parameter.data.copy_(torch.from_numpy(draw))
    return network
