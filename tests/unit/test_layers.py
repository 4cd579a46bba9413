"""Who may import whom: numerics, then the book's machinery, then experiments; numerics and experiments never draw."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from references import ROOT

# A module stands in the layer of its longest prefix here and may import from its own and from those above the line.
LAYERS = [
    "shallow.checks shallow.display",
    "shallow.stats shallow.data shallow.nets shallow.mlp shallow.deep shallow.committee",
    "shallow.train shallow.kernels shallow.spectra shallow.alignment shallow.receptive_fields",
    "shallow.book shallow.__main__",
    "experiments",
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer.split()}
DRAWING = {"matplotlib", "ipywidgets", "IPython", "PIL"}


def rank(module: str) -> int | None:
    """The layer of a module."""
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
    """Every broken rule, as a sentence."""
    trees = modules(root)
    arrows: dict[str, set[str]] = {name: set() for name in trees}
    broken = [f"{name} has no layer" for name in trees if name != "shallow" and rank(name) is None]
    for name, tree in trees.items():
        for target in imports(tree, set(trees)):
            if target.startswith("."):
                broken.append(f"{name} imports by a relative name, {target}")
            elif target.partition(".")[0] in DRAWING and not name.startswith("shallow.book"):
                broken.append(f"{name} imports {target}")
            elif target in trees:
                arrows[name].add(target)
                if name == "shallow" or (rank(target) or 0) > (rank(name) or 0):
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
    named = [
        f"{path.name}: {chapter}"
        for path in sorted((ROOT / "lib" / "shallow").rglob("*.py"))
        for chapter in chapters
        if chapter in path.read_text(encoding="utf-8")
    ]
    assert len(chapters) >= 5 and named == []


@pytest.mark.parametrize(
    ("module", "source", "says"),
    [
        ("lib/shallow/nets.py", "from shallow.train import plain", "shallow.nets imports shallow.train.plain, which"),
        ("lib/shallow/nets.py", "def f():\n    from . import sweep", "shallow.nets imports by a relative name"),
        ("lib/shallow/book/sweep.py", "from experiments.cells import run", "shallow.book.sweep imports experiments.ce"),
        ("lib/shallow/kernels/a.py", "import matplotlib.pyplot as plt", "shallow.kernels.a imports matplotlib"),
        ("lib/shallow/helpers.py", "", "shallow.helpers has no layer"),
        ("lib/shallow/data/cyclic.py", "from shallow import nets", "imports run in a circle"),
    ],
)
def test_each_broken_rule_is_seen(tmp_path, module, source, says):
    empty = ["__init__.py", "train/plain.py", "data/cyclic.py", "book/sweep.py", "kernels/a.py"]
    files = dict.fromkeys(empty, "") | {"nets.py": "from shallow.data import cyclic"}
    files = {f"lib/shallow/{name}": text for name, text in files.items()}
    files["experiments/cells.py"] = "from shallow.train import plain"
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert violations(tmp_path) == []
    (tmp_path / module).write_text(source, encoding="utf-8")
    assert any(sentence.startswith(says) for sentence in violations(tmp_path))
