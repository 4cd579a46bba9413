"""Tangent kernels of modules of PyTorch against the library's own, and against gradients one at a time."""

import numpy as np
import pytest
import torch
from torch import nn

from shallow import deep, mlp, nets, stats
from shallow.kernels import empirical, layered, modules, of_torch, plain

STACK = mlp.default([stats.stream("modules")], (5, 16, 16, 1), dtype=np.float64)
POINTS = stats.stream("modules", "points").standard_normal((13, 5))


def as_module(stack: mlp.Stack) -> nn.Sequential:
    """The first network of a stack as a module of PyTorch."""
    layers = []
    for W, b in zip(*stack.network(0)):
        linear = nn.utils.skip_init(nn.Linear, *W.shape[::-1], dtype=torch.float64)
        linear.weight.data, linear.bias.data = torch.tensor(W), torch.tensor(b)
        layers += [linear, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def one_by_one(module: nn.Module, x: torch.Tensor) -> np.ndarray:
    """The kernels (C, n, n) from the gradient of every output at every point."""
    parameters = [one for one in module.parameters() if one.requires_grad]
    jacobian = []
    for point in x:
        outputs = module(point[None]).reshape(-1)
        gradients = [torch.autograd.grad(f, parameters, retain_graph=True, materialize_grads=True) for f in outputs]
        jacobian.append([torch.cat([part.flatten() for part in one]).double().numpy() for one in gradients])
    return np.einsum("icp,jcp->cij", jacobian, jacobian)


def test_kernel_of_a_perceptron_is_that_of_its_arrays(monkeypatch):
    module, x, z = as_module(STACK), POINTS, POINTS[:4] + 0.1
    np.testing.assert_allclose(of_torch(module, x, z), plain.ntk(STACK, x, z)[0], rtol=1e-12)
    monkeypatch.setattr(modules, "_POINTS", 5)  # three blocks, the last of them shorter
    kernel = of_torch(module, x)
    np.testing.assert_allclose(kernel, layered.ntk(*STACK.network(0), x), rtol=1e-12)
    assert np.array_equal(kernel, kernel.T) and kernel.shape == (13, 13)
    np.testing.assert_allclose(of_torch(module, x, z), plain.ntk(STACK, x, z)[0], rtol=1e-12)
    assert of_torch(module.float(), x, dtype=np.float32).dtype == np.float32


def test_kernel_of_two_layers_is_the_closed_form():
    network = nets.default(stats.stream("modules", "two"), 30, 5)
    module = nn.Sequential(nn.Linear(5, 30), nn.ReLU(), nn.Linear(30, 1, bias=False)).double()
    for parameter, values in zip(module.parameters(), (network.W, network.b, network.v[None]), strict=True):
        parameter.data = torch.tensor(values)
    np.testing.assert_allclose(of_torch(module, POINTS), empirical.ntk(network, POINTS), rtol=1e-12)
    module[2].weight.requires_grad = False  # a frozen layer has no part
    frozen = empirical.ntk(network, POINTS, rates=(0.0, 1.0, 1.0))
    np.testing.assert_allclose(of_torch(module, POINTS), frozen, rtol=1e-12)


class Words(nn.Module):
    """Embedding and read-out share their weights; the input is whole numbers; a buffer counts the calls."""

    def __init__(self):
        super().__init__()
        self.embedding, self.out = nn.Embedding(7, 4), nn.Linear(4, 7)
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
        self.out.weight = self.embedding.weight
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls += 1
        h = self.embedding(x)
        return self.out(self.attention(h, h, h)[0].mean(dim=1))


def convolution() -> nn.Module:
    """A convolution whose normalisation has seen data, in evaluation mode."""
    layers = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten()
    module = nn.Sequential(*layers, nn.Dropout(0.5), nn.Linear(12, 3))
    module(torch.randn(20, 2, 6, 6))
    return module.eval()


@pytest.mark.parametrize(
    ("build", "draw"),
    [(convolution, lambda: torch.randn(4, 2, 6, 6)), (Words, lambda: torch.randint(7, (4, 5)))],
)
def test_kernels_of_other_modules_are_those_of_plain_gradients(build, draw):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module, x = build().double(), draw()
        state = {name: one.clone() for name, one in module.state_dict().items()}
        generator = torch.random.get_rng_state()
        kernels = of_torch(module, x)
        assert torch.equal(torch.random.get_rng_state(), generator)
    assert all(torch.equal(one, state[name]) for name, one in module.state_dict().items())
    x = x.double() if x.is_floating_point() else x
    np.testing.assert_allclose(kernels, one_by_one(module, x), rtol=1e-10, atol=1e-12)
    assert len(kernels) == (3 if build is convolution else 7)


class Given(nn.Module):
    """A linear layer, and a function of its output and input."""

    def __init__(self, function):
        super().__init__()
        self.linear, self.function = nn.Linear(5, 3), function

    def forward(self, x):
        return self.function(self.linear(x), x)


REFUSED = {
    "training mode, which draws": nn.Sequential(nn.Linear(5, 1), nn.Dropout(0.1)),
    "training mode, which normalises": nn.Sequential(nn.Linear(5, 3), nn.BatchNorm1d(3)),
    "without running statistics": nn.Sequential(nn.Linear(5, 3), nn.BatchNorm1d(3, track_running_stats=False)).eval(),
    "parameters that require a gradient": nn.ReLU(),
    "lazy layers": nn.LazyLinear(3),
    "got tuple": Given(lambda f, x: (f, x)),
    "of torch.complex": Given(lambda f, x: torch.complex(f, f)),
    r"shape \(8, 3, 1\)": Given(lambda f, x: f[..., None]),
    "finite outputs": Given(lambda f, x: f / 0),
    "another output for the same points": Given(lambda f, x: f + torch.rand_like(f)),
    "treat every point alone": Given(lambda f, x: f - f.mean(dim=0)),
    "torch.func can differentiate": Given(lambda f, x: f if (0 * f == 0).all() else -f),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_has_no_kernel_is_refused_with_the_reason(why):
    with pytest.raises(ValueError, match=f"^module must .*{why}"):
        of_torch(REFUSED[why], POINTS)


def test_bad_arguments_are_named():
    module = as_module(STACK)
    for name, arguments in {
        "module": (STACK, POINTS),
        "x": (module, POINTS[:, 1:]),
        "z": (module, POINTS, 1.0),
    }.items():
        with pytest.raises(ValueError, match=f"^{name} must"):
            of_torch(*arguments)
    module[0].weight.data[0, 0] = np.nan
    with pytest.raises(ValueError, match="^module must have finite"):
        of_torch(module, POINTS)


@pytest.mark.parametrize("function", [plain.ntk, empirical.ntk, empirical.blocks, layered.ntk, layered.diagonal])
def test_functions_of_arrays_name_what_takes_a_module(function):
    with pytest.raises(ValueError, match=r"^(networks|network|weights) must .* shallow\.kernels\.of_torch"):
        function(as_module(STACK), POINTS)


def test_deep_networks_normalise_by_the_batch():
    network = deep.vgg11(stats.stream("modules", "vgg"), width=2)
    with pytest.raises(ValueError, match="normalises points by each other"):
        of_torch(network, np.zeros((2, 3, 32, 32)))
