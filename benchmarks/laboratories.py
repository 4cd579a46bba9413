"""The run with which each laboratory opens: the page's scripts, the library, and a plain PyTorch loop.

The page and the library draw the same data, train from the same start, and measure what the laboratory shows; agreement
tests hold them to each other.  The scripts run in node, on the engine of Chromium, in a process that has run them once.
The loop is what a tutorial would write, in double precision like the others; it measures nothing on the way, and of a
long run it takes the first `TIMED` steps, whose time is multiplied.
"""

import importlib
import json
import math
import subprocess
import time
from collections.abc import Callable
from types import ModuleType

import torch
from torch.nn import functional

from experiments import CHAPTERS
from experiments.cyclic_labels.loss_curves import EPOCHS, start
from experiments.localization import networks
from shallow import mlp
from shallow.book import laboratories
from shallow.data import cyclic
from shallow.data.nlgp import eigenvalues
from shallow.stats import stream

TIMED = 2000
IN_NODE = """
const given = JSON.parse(require('fs').readFileSync(0, 'utf-8'));
for (const file of given.files) require(file);
const lab = ShallowLab.models[given.chapter], model = lab.compute(...lab.needs.map((part) => ShallowLab[part]()));
const seconds = () => {
  const began = performance.now(), run = model.start(given.settings);
  while (!run.done) run.advance();
  return (performance.now() - began) / 1000;
};
seconds();
process.stdout.write(JSON.stringify(seconds()));
"""


def page(chapter: str, chosen: dict) -> float:
    """Seconds of a run by the page's scripts."""
    files = [str(laboratories.STATIC / name) for name in laboratories.scripts(chapter)[1:-1]]  # without plots and shell
    given = {"files": files, "chapter": chapter, "settings": chosen}
    done = subprocess.run(
        ["node", "-e", IN_NODE], input=json.dumps(given), capture_output=True, encoding="utf-8", check=True
    )
    return float(done.stdout)


def library(chapter: str, chosen: dict) -> float:
    """Seconds of the same run by the library."""
    laboratory, began = importlib.import_module(f"experiments.{chapter}.laboratory"), time.perf_counter()
    run = laboratory.train(chosen)
    if chapter == "cyclic_labels":
        laboratory.losses(chosen, run[1])
    elif chapter == "localization":
        laboratory.measured(run)
    return time.perf_counter() - began


def loop(chapter: str, chosen: dict) -> float:
    """Seconds of the steps alone by `backward()` and `torch.optim`."""
    laboratory = importlib.import_module(f"experiments.{chapter}.laboratory")
    parameters, loss, descend, steps = globals()[f"_{chapter}"](laboratory, chosen)
    parameters = [torch.tensor(one, dtype=torch.float64, requires_grad=True) for one in parameters]
    descent, began = descend(parameters), time.perf_counter()
    for _ in range(timed := min(steps, TIMED)):
        descent.zero_grad()
        loss(*parameters).backward()
        descent.step()
    seconds = (time.perf_counter() - began) * steps / timed
    assert math.isfinite(loss(*parameters).item())
    return seconds


Problem = tuple[list, Callable, Callable, int]  # parameters at the start, their loss, their optimiser, and steps


def _cyclic_labels(laboratory: ModuleType, chosen: dict) -> Problem:
    sample = cyclic.from_counts([chosen[name] for name in laboratory.CLUSTERS], seed=chosen["seed"])
    network, _ = start(sample.rng, chosen["width"])
    x, y = torch.tensor(sample.x)[:, None], torch.tensor(sample.y)

    def loss(W, b, v):
        return torch.relu(1 - y * (torch.relu(x @ W.T + b) @ v)).sum()

    return [network.W, network.b, network.v], loss, lambda p: torch.optim.SGD(p, lr=chosen["step"]), EPOCHS


def _heavy_tails(laboratory: ModuleType, chosen: dict) -> Problem:
    drawn = laboratory.draw(chosen)
    x, y, a = map(torch.tensor, (*laboratory.training_sample(drawn, chosen), drawn.student.a))
    scale, size = drawn.student.scale, len(a) ** 0.5

    def loss(W):
        return functional.mse_loss(torch.tanh(scale * (x @ W.T)) @ a / size, y)

    return [drawn.student.W], loss, lambda p: torch.optim.Adam(p, lr=chosen["rate"]), chosen["steps"]


def _simplicity_bias(laboratory: ModuleType, chosen: dict) -> Problem:
    drawn = laboratory.draw(chosen)
    x, y = torch.tensor(drawn.x), torch.tensor(drawn.y)

    def loss(W, v):
        return functional.mse_loss(torch.relu(x @ W.T) @ v, y)

    return [drawn.network.W, drawn.network.v], loss, lambda p: torch.optim.SGD(p, lr=chosen["rate"]), chosen["steps"]


def _hidden_structure(laboratory: ModuleType, chosen: dict) -> Problem:
    sizes = {"dimension": chosen["dimension"], "per_class": chosen["points"]}
    points = laboratory.shell_task(chosen["seed"], **sizes).train
    x, y = torch.tensor(points.x), torch.tensor(points.label, dtype=torch.float64)
    widths = (chosen["dimension"], *[chosen["width"]] * chosen["depth"], 1)
    network = mlp.default([stream("benchmark", "laboratory")], widths)
    batches, steps = [], chosen["epochs"] * -(-len(y) // laboratory.BATCH)

    def loss(*parameters):
        if not batches:
            batches.extend(torch.randperm(len(y)).split(laboratory.BATCH))
        rows = batches.pop()
        *hidden, (v, c) = zip(parameters[::2], parameters[1::2], strict=True)
        output = x[rows]
        for W, b in hidden:
            output = torch.relu(output @ W.T + b)
        output = output @ v.T + c
        return functional.binary_cross_entropy(torch.sigmoid(output[:, 0]), y[rows])

    layers = zip(network.weights, network.biases, strict=True)
    parameters = [one[0] for layer in layers for one in layer]
    return parameters, loss, lambda p: torch.optim.Adam(p, lr=chosen["rate"]), steps


def _localization(laboratory: ModuleType, chosen: dict) -> Problem:
    gain, half, pixels = chosen["gain"], int(chosen["batch"]) // 2, networks.N
    scale = math.sqrt(math.pi / 2 / math.asin(2 * gain**2 / (1 + 2 * gain**2)))  # of erf(g z) for variance one
    network, _ = laboratory.start(chosen)
    spectra = [eigenvalues(process.kernel).clip(0)[: pixels // 2 + 1] for process in laboratory.pair(chosen)]
    roots = [torch.tensor(values**0.5) for values in spectra]
    y = torch.ones(2 * half, dtype=torch.float64)
    y[half:] = -1

    def loss(W, b):
        white = torch.randn(2, half, pixels, dtype=torch.float64)
        latent = [torch.fft.irfft(torch.fft.rfft(part) * root, n=pixels) for part, root in zip(white, roots)]
        x = scale * torch.erf(gain * torch.cat(latent))
        return (torch.erf((x @ W.T + b) / math.sqrt(2)).mean(dim=1) - y).square().mean() / 2

    return [network.W[0], network.b[0]], loss, lambda p: torch.optim.SGD(p, lr=chosen["rate"]), chosen["steps"]


WAYS = {"page": page, "library": library, "PyTorch loop": loop}


def measure(rounds: int, threads: int) -> list[dict]:
    """Seconds of the run with which each laboratory opens by each way, one time per round, after one not counted."""
    rows, settings = [], {}
    for chapter in (one for one in CHAPTERS if f"_{one}" in globals()):  # whose steps are written out above
        module = importlib.import_module(f"experiments.{chapter}.laboratory")
        opening = getattr(module, "OPENING", module.PRESETS[0][0])
        _, label, *_, settings[chapter] = next(one for one in module.PRESETS if one[0] == opening)
        rows += [{"chapter": chapter, "preset": label, "way": way, "times": []} for way in WAYS]
    for number in range(rounds + 1):
        for row in rows:
            seconds = WAYS[row["way"]](row["chapter"], settings[row["chapter"]])
            row["times"] += [float(f"{seconds:.4g}")] * bool(number)
    return rows
