"""Two-layer ReLU networks of the early-alignment program, trained from its own starts, against the library.

The program belongs to the two authors' earlier paper; of the later one no public code was found.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np

from experiments.authors_programs.files import Recording
from shallow.nets import TwoLayer
from shallow.train import minibatch

RUNS = {
    "one_input": ("three_balanced", "stewart_balanced", "stewart_unbalanced", "stewart_dominated"),
    "five_inputs": ("sgd_unbalanced", "sgd_dominated", "gd_balanced"),
}
PARTS = ("x", "y", "steps", "loss_steps")
INPUTS = {"one_input": {f"{run}_{part}" for run in RUNS["one_input"] for part in PARTS}, "five_inputs": {"x", "y"}}
PROGRAM = {name: Recording(f"simplicity_bias_{name}", INPUTS[name]) for name in RUNS}
ALL_RUNS = [(name, run) for name in RUNS for run in RUNS[name]]


def data(name: str, run: str) -> tuple[np.ndarray, np.ndarray]:
    prefix = f"{run}_" if name == "one_input" else ""
    return PROGRAM[name][f"{prefix}x"], PROGRAM[name][f"{prefix}y"]


def steps(name: str, run: str) -> tuple[np.ndarray, np.ndarray]:
    """Steps of the snapshots, and of the losses."""
    program = PROGRAM[name]
    if name == "one_input":
        return program[f"{run}_steps"], program[f"{run}_loss_steps"]
    snapshots = np.array(program.settings["steps"])
    return snapshots, np.arange(0, snapshots[-1], program.settings["loss_every"])


def start(name: str, run: str) -> TwoLayer:
    """The first snapshot; where the program has biases they are weights of an input that is 1."""
    W, a = (PROGRAM[name][f"{run}_{part}"][0] for part in "Wa")
    return TwoLayer(W, np.zeros(len(a)), a)


def batch_size(name: str, run: str) -> int:
    return PROGRAM[name].settings[run].get("batch", len(data(name, run)[0]))


def trained(name: str, run: str, *, slower: float = 1.0, also: Sequence[int] = ()) -> dict[int, TwoLayer]:
    """Networks by step: at the snapshots, at the losses, and where else they are asked for."""
    records = np.unique(np.concatenate([*steps(name, run), np.array(also, dtype=np.int64)]))
    rate = PROGRAM[name].settings[run]["learning_rate"] / slower
    options = {"batch": batch_size(name, run), "rng": np.random.default_rng(7), "records": records, "dtype": np.float64}
    found = minibatch.train(*data(name, run), start(name, run), rate=rate, steps=int(records[-1]), **options)
    return dict(zip(records.tolist(), found.values))


def batches(name: str, run: str) -> np.ndarray:
    """The rows that the loss of every step is taken over; of the whole sample their order does not matter."""
    x, _ = data(name, run)
    return minibatch.Batches(len(x), batch_size(name, run), np.random.default_rng(7)).take(int(steps(name, run)[0][-1]))


@cache
def computed(name: str) -> dict[str, np.ndarray]:
    """The library's value of every output of a file."""
    found = {}
    for run in RUNS[name]:
        (x, y), networks, rows = data(name, run), trained(name, run), batches(name, run)
        snapshots, losses = steps(name, run)
        found[f"{run}_W"] = np.stack([networks[step].W for step in snapshots])
        found[f"{run}_a"] = np.stack([networks[step].v for step in snapshots])
        residuals = [networks[step].forward(x[rows[step]]) - y[rows[step]] for step in losses]
        found[f"{run}_loss"] = np.array([np.mean(residual**2) for residual in residuals])
    return found | ({"batches": batches(name, "sgd_unbalanced")} if name == "five_inputs" else {})
