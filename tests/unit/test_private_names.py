"""Nothing leans on the private parts of another library, and nothing of another library is replaced."""

import ast
from collections.abc import Iterator

import jupytext
import pytest
import references

FOLDERS = ("lib", "experiments", "benchmarks", "tools", "tests")
OWN = {"shallow", "experiments", "benchmarks", "planted", "unit", "tests"}
OWN |= {path.stem for folder in ("tools", "tests") for path in (references.ROOT / folder).glob("*.py")}
#: What has to be so, by how its name begins, and why.
REASONS = {
    "os._exit": "public and documented, in spite of its name",
}


def chain(node: ast.expr) -> list[str]:
    """A name and the attributes behind it; empty for what begins otherwise."""
    if isinstance(node, ast.Attribute):
        return [*before, node.attr] if (before := chain(node.value)) else []
    return [node.id] if isinstance(node, ast.Name) else []


def is_private(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def foreign(tree: ast.Module) -> dict[str, str]:
    """What the names that a module imports from other libraries stand for."""
    found = {}
    for node in ast.walk(tree):
        source = node.module if isinstance(node, ast.ImportFrom) and not node.level else ""
        for alias in node.names if isinstance(node, ast.Import) or source else ():
            whole = f"{source}.{alias.name}" if source else alias.name
            if whole.partition(".")[0] not in OWN:
                found[alias.asname or alias.name.partition(".")[0]] = whole
    return found


def faults(tree: ast.Module) -> Iterator[str]:
    """Private names of other libraries that a module uses, and attributes of theirs that it sets."""
    known = foreign(tree)
    yield from (whole for whole in known.values() if any(map(is_private, whole.split("."))))
    for node in ast.walk(tree):
        names = chain(node) if isinstance(node, ast.Attribute) else []
        if names and names[0] in known:
            if any(map(is_private, names)):
                yield ".".join([known[names[0]], *names[1:]])
            if isinstance(node.ctx, ast.Store):
                yield f"{'.'.join([known[names[0]], *names[1:]])} = ..."


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_module_uses_what_is_private_to_another_library(folder):
    found = {}
    for path in sorted((references.ROOT / folder).rglob("*.py")):
        for fault in faults(ast.parse(path.read_text(encoding="utf-8"))):
            found.setdefault(fault, path.relative_to(references.ROOT).as_posix())
    assert {fault: place for fault, place in found.items() if not fault.startswith((*REASONS,))} == {}


def test_no_page_does():
    for page in references.chapters():
        cells = "\n".join(cell.source for cell in references.code_cells(jupytext.read(page)))
        assert [*faults(ast.parse(cells))] == [], page
