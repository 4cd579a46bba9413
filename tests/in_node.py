"""The scripts of the laboratories in node, as the pages load them, and the runs that they make."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from unittest.mock import patch

import matplotlib.pyplot as plt
import numpy as np
import pytest

from shallow.book import laboratories

node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed: nothing runs the page's scripts")

# The records of runs; of diverging ones up to there.  Weights and other arrays are sent as the bits of their numbers.
TRAIN = """
const lab = ShallowLab.models[given.name], model = lab.compute(...lab.needs.map((part) => ShallowLab[part]()));
const bits = (one) => {
  if (ArrayBuffer.isView(one)) return Buffer.from(Float64Array.from(one).buffer).toString("hex");
  return Array.isArray(one) ? one.map(bits) : Object.fromEntries(Object.keys(one).map((key) => [key, bits(one[key])]));
};
return given.chosen.map((settings) => {
  const run = model.start(settings), steps = [], all = [], each = [];
  const note = () => { steps.push(run.epoch); all.push(run.values); each.push(bits(EACH)); };
  note();
  while (!run.done) if (run.advance().values !== all[all.length - 1] && run.diverged === null) note();
  const values = Object.fromEntries(lab.columns.map(([key]) => [key, all.map((one) => one[key])]));
  return { steps, values, each, arrays: bits(run.snapshot()), weights: bits(run.weights()), diverged: run.diverged,
    last: run.epoch, length: lab.length(settings), records: lab.records?.(settings), refused: lab.refuse(settings),
    python: lab.python(settings) };
});
"""


def in_node(name: str, body: str, given=None):
    """What the body of a function of `given` returns, after the scripts of a laboratory; numbers keep their bits."""
    scripts = [str(laboratories.STATIC / script) for script in laboratories.scripts(name)[1:-1]]  # plots, shell
    loaded = "".join(f"require({json.dumps(script)});" for script in scripts)
    call = f"const f = (given) => {{{body}}}; const given = JSON.parse(require('fs').readFileSync(0, 'utf-8'));"
    command = ["node", "-e", f"{loaded}{call}process.stdout.write(JSON.stringify(f(given)))"]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, encoding="utf-8", timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def trained(name: str, chosen: Sequence[dict], each: str = "[]") -> list[dict]:
    """Runs of a laboratory, as `TRAIN` tells them; `each` is an array, or several, of `run` to note at every record."""
    pages = in_node(name, TRAIN.replace("EACH", each), {"name": name, "chosen": list(chosen)})
    return [page | {key: _numbers(page[key]) for key in ("each", "arrays", "weights")} for page in pages]


def _numbers(bits):
    if isinstance(bits, str):
        return np.frombuffer(bytes.fromhex(bits))
    return [*map(_numbers, bits)] if isinstance(bits, list) else {name: _numbers(one) for name, one in bits.items()}


def program(page: dict) -> dict:
    """What is defined after the lines that a laboratory shows as Python, which draw what they found in one figure."""
    defined: dict = {}
    plt.close("all")  # what other tests have left open
    with plt.ioff(), patch.object(plt, "show"):
        exec(page["python"], defined)
        plt.show.assert_called_once_with()
    (drawn,) = map(plt.figure, plt.get_fignums())
    assert all(axes.has_data() and axes.get_xlabel() for axes in drawn.axes)
    drawn.draw_without_rendering()
    plt.close(drawn)
    return defined


def apart(values: dict, others: dict, least: float = 1e-3) -> float:
    """Largest difference of two runs' numbers relative to their size, or to `least` where they are smaller."""
    assert set(values) == set(others)
    pairs = [[np.array(one[name], float) for one in (values, others)] for name in values]  # None is NaN
    assert all(np.array_equal(np.isnan(a), np.isnan(b)) for a, b in pairs)
    return max(np.nanmax(abs(a - b) / np.maximum(np.maximum(abs(a), abs(b)), least), initial=0) for a, b in pairs)
