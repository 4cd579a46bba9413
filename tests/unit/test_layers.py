"""Who may import whom: numerics, then the book's machinery, then experiments; numerics and experiments never draw.

A module `drawing` of an experiment does nothing else, for the pages alone: no other module imports it.
"""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from references import ROOT

# A module stands in the layer of its longest prefix here and may import from its own and from those above the line.
LAYERS = [
    "shallow.machine_code shallow.checks shallow.display shallow.extras shallow.scaling",
    "shallow.stats shallow.data shallow.nets shallow.mlp shallow.deep shallow.committee",
    "shallow.train shallow.kernels shallow.spectra shallow.alignment shallow.clusters shallow.gaussian_loss "
    "shallow.receptive_fields",
    "shallow.book shallow.__main__",
    "experiments",
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer.split()}
DRAWING = {"matplotlib", "ipywidgets", "IPython", "PIL"}


def rank(module: str) -> int | None:
    """The layer of a module; what draws for an experiment lies above all."""
    if module.startswith("experiments.") and module.endswith((".drawing", "_drawing")):
        return len(LAYERS)
    return RANK.get(module) if "." not in module or module in RANK else rank(module.rpartition(".")[0])


def modules(root: Path) -> dict[str, ast.Module]:
    """Dotted name -> syntax tree of all modules of `lib/shallow` and `experiments`."""
    found = {}
    for base, package in ((root / "lib", "shallow"), (root, "experiments")):
        for path in sorted((base / package).rglob("*.py")):
            name = ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")
            found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imports(tree: ast.Module, known: set[str]) -> Iterator[str]:
    """Absolute dotted names that a module imports anywhere, also inside functions; relative imports as ".name"."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = "." * node.level + (node.module or "")
            for alias in node.names:  # `from shallow import data` names a module, `from shallow.data import grid` not
                yield whole if (whole := f"{source}.{alias.name}") in known else source


def violations(root: Path) -> list[str]:
    trees = modules(root)
    arrows: dict[str, set[str]] = {name: set() for name in trees}
    broken = [f"{name} has no layer" for name in trees if name != "shallow" and rank(name) is None]
    for name, tree in trees.items():
        draws = name.startswith("shallow.book") or rank(name) == len(LAYERS)
        for target in imports(tree, set(trees)):
            if target.startswith("."):
                broken.append(f"{name} imports by a relative name, {target}")
            elif target.partition(".")[0] in DRAWING and not draws:
                broken.append(f"{name} imports {target}")
            elif target in trees:
                arrows[name].add(target)
                if (name == "shallow" and rank(target)) or (rank(target) or 0) > (rank(name) or 0):
                    broken.append(f"{name} imports {target}, which lies above it")
    try:
        TopologicalSorter({name: targets - {name} for name, targets in arrows.items()}).prepare()
    except CycleError as error:
        broken.append("imports run in a circle: " + " -> ".join(error.args[1]))
    return broken


def test_the_layers_are_kept():
    assert violations(ROOT) == []


def test_the_library_names_no_chapter():
    chapters = [path.name for path in (ROOT / "experiments").iterdir() if (path / "__init__.py").exists()]
    library = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "lib" / "shallow").rglob("*.py")}
    named = [(name, chapter) for name, text in library.items() for chapter in chapters if chapter in text]
    assert len(chapters) >= 5 and named == []
