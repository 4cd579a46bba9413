"""The run with which each laboratory opens, by the page's scripts and by the library.

Both draw the same data, train from the same start, and measure what the laboratory shows; agreement tests hold them to
each other.  The scripts run in node, on the engine of Chromium, in a process that has run them once.
"""

import importlib
import json
import subprocess
import time

from experiments import CHAPTERS
from shallow.book import laboratories, paths

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


WAYS = {"page": page, "library": library}


def measure(rounds: int, threads: int) -> list[dict]:
    """Seconds of the run with which each laboratory opens by each way, one time per round, after one not counted."""
    rows, settings = [], {}
    for chapter in (one for one in CHAPTERS if (paths.ROOT / "experiments" / one / "laboratory.py").exists()):
        module = importlib.import_module(f"experiments.{chapter}.laboratory")
        opening = getattr(module, "OPENING", module.PRESETS[0][0])
        _, label, *_, settings[chapter] = next(one for one in module.PRESETS if one[0] == opening)
        rows += [{"chapter": chapter, "preset": label, "way": way, "times": []} for way in WAYS]
    for number in range(rounds + 1):
        for row in rows:
            seconds = WAYS[row["way"]](row["chapter"], settings[row["chapter"]])
            row["times"] += [float(f"{seconds:.4g}")] * bool(number)
    return rows
