"""Who may import whom in `lib/shallow`: arrows point to lower layers only, and numerics never draw.

The table below is the architecture.  A new module must be given a layer here before anything may import it.
"""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from references import ROOT

LIBRARY = ROOT / "lib" / "shallow"
LAYERS = [
    {"checks", "data", "nets", "mlp", "deep", "committee", "losses", "stats", "paths", "representation", "session"},
    {"train", "kernels", "spectra", "geometry", "receptive"},
    {"experiments"},
    {"canonical_code", "fingerprint", "store", "sweep", "records", "recording", "verification"},
    {"claims", "provenance", "figures", "sliders"},
    {"__main__"},
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
DRAWING = {"matplotlib", "ipywidgets", "IPython", "PIL"}
MAY_DRAW = LAYERS[RANK["claims"]]


def modules(library: Path) -> dict[str, ast.Module]:
    """Dotted name relative to the package -> syntax tree; a package's own name stands for its `__init__`."""
    parsed = {}
    for path in sorted(library.rglob("*.py")):
        parts = path.relative_to(library).with_suffix("").parts
        parsed[".".join(part for part in parts if part != "__init__")] = ast.parse(path.read_text(encoding="utf-8"))
    return parsed


def imports(name: str, tree: ast.Module, known: set[str], *, package: bool) -> Iterator[str]:
    """Absolute dotted names that a module imports anywhere, also inside functions."""
    home = ["shallow", *(name.split(".") if name else [])]
    if not package:
        home = home[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = home[: len(home) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:  # `from shallow import data` names a module, `from shallow.data import grid` not
                whole = f"{source}.{alias.name}"
                yield whole if whole.removeprefix("shallow.") in known else source


def violations(library: Path) -> list[str]:
    """Every broken rule, as a sentence."""
    trees = modules(library)
    arrows: dict[str, set[str]] = {name: set() for name in trees}
    broken = []
    for name, tree in trees.items():
        top = name.partition(".")[0]
        if name and top not in RANK:
            broken.append(f"{name} has no layer")
            continue
        package = (library / name.replace(".", "/")).is_dir()
        for target in imports(name, tree, set(trees), package=package):
            root, _, inner = target.partition(".")
            if root in DRAWING and top not in MAY_DRAW:
                broken.append(f"{name or 'shallow'} imports {root}")
            if root != "shallow" or not inner:
                continue
            arrows[name].add(inner)
            if not name:
                broken.append(f"shallow itself imports {inner}")
            elif RANK.get(inner.partition(".")[0], 99) > RANK[top]:
                broken.append(f"{name} imports {inner}, which lies above it")
    try:
        TopologicalSorter({name: targets - {name} for name, targets in arrows.items()}).prepare()
    except CycleError as error:
        broken.append("imports run in a circle: " + " -> ".join(error.args[1]))
    return broken


def test_library_keeps_its_layers():
    assert (LIBRARY / "__init__.py").exists()
    assert violations(LIBRARY) == []


@pytest.mark.parametrize(
    ("module", "source", "says"),
    [
        ("nets.py", "from shallow.train import oracle", "nets imports shallow.train.oracle"),
        ("nets.py", "def f():\n    from . import sweep", "nets imports sweep, which lies above it"),
        ("train/oracle.py", "from ..experiments.cells import run", "train.oracle imports experiments.cells"),
        ("kernels/empirical.py", "import matplotlib.pyplot as plt", "kernels.empirical imports matplotlib"),
        ("helpers.py", "", "helpers has no layer"),
        ("data/cyclic.py", "from shallow import nets", "imports run in a circle"),
    ],
)
def test_each_broken_rule_is_seen(tmp_path, module, source, says):
    files = {"__init__.py": "", "nets.py": "from shallow.data import cyclic", "sweep.py": "", "train/oracle.py": ""}
    files |= {"data/cyclic.py": "", "experiments/cells.py": "from shallow.train import oracle", "kernels/a.py": ""}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert violations(tmp_path) == []
    (tmp_path / module).write_text(source, encoding="utf-8")
    found = violations(tmp_path)
    assert any(sentence.startswith(says.replace("shallow.", "")) for sentence in found), found
