"""What the chapters are expected to print, and how a chapter is joined with it.

The pages, `book/*.md` and `book/*/*.md`, are the source.  Their outputs live in `tests/reference/`, by the same names:
code cells only, without pictures and widgets, with fixed ids, so that a change of a number is readable in review.

    python tests/references.py [book/chapter.md book/chapter/page.md ...]

executes chapters and rewrites their references and, with them, the verdicts in `book/claims/` (the environment
variable SHALLOW_LEDGER=update tells the ledger to accept what it measures), then the pages that count all claims or
records; without names, all pages.
The test run executes everything once more, without that variable, and compares every cell.  Rounded numbers of
several significant digits may differ by one unit of the last: other processors round other sums.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import jupytext
import nbformat
from jupyter_cache import get_cache
from nbclient import NotebookClient
from nbformat import NotebookNode
from ruamel.yaml import YAML

from shallow.book.claims import rounding, rows

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
REFERENCE = ROOT / "tests" / "reference"
TIMEOUT = 600
COUNTS = re.compile(r"\b(claims|provenance|records)\.(\w*table|overview|recipes)\(")  # all claims, or all records
IGNORED = "nbval-ignore-output"  # the tag of a cell whose outputs nbval does not compare
PICTURES = "image/", "application/papermill.record/image/"  # shown, and kept for another page


class StaleReference(Exception):
    """The stored outputs belong to other cells than those of the chapter."""


def chapters(folder: Path = BOOK) -> list[Path]:
    """The notebooks among the pages of `folder`: Markdown files whose header names a kernel, in name order."""
    return list(filter(is_notebook, rows.pages(folder)))


def pages() -> list[str]:
    """All pages of the table of contents, without suffix, the root first, each chapter before its sections."""
    contents = YAML(typ="safe").load(ROOT / "_toc.yml")
    chapters = [page for part in contents["parts"] for page in part["chapters"]]
    return [contents["root"], *(one["file"] for page in chapters for one in (page, *page.get("sections", [])))]


def name_of(page: Path) -> str:
    """A page below the folder `book`, without suffix: `chapter`, or `chapter/page`."""
    return page.stem if page.parent.name == BOOK.name else f"{page.parent.name}/{page.stem}"


def is_notebook(path: Path) -> bool:
    """Whether a page is executed: its YAML header, if it has one, holds a `kernelspec`."""
    head, _, rest = path.read_text(encoding="utf-8").partition("\n")
    return head.strip() == "---" and "kernelspec:" in rest.partition("\n---")[0]


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def comparable(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """The part of a cell's outputs that two runs must share.

    Left out: pictures, widgets with their placeholder text (their names are random), HTML beside a plain text that says
    more than <an object>, standard error, where progress bars and warnings go, and outputs whose own metadata say
    `nbval-ignore-output`, the tag by which nbval ignores those of a whole cell.  What rests on a picture is printed
    beside it.
    """
    kept = []
    for output in outputs:
        if output.output_type == "stream" and output.name == "stderr":
            continue
        if output.get("metadata", {}).get("nbval-ignore-output"):
            continue
        output = nbformat.from_dict(output)
        if "data" in output:
            if "application/vnd.jupyter.widget-view+json" in output.data:
                continue
            in_words = not output.data.get("text/plain", "<").startswith("<")
            left_out = (*PICTURES, "text/html") if in_words else PICTURES
            output.data = {kind: value for kind, value in output.data.items() if not kind.startswith(left_out)}
            output.metadata = NotebookNode()
            if not output.data:
                continue
        kept.append(output)
    return kept


def settled(outputs: list[NotebookNode], expected: list[NotebookNode]) -> list[NotebookNode]:
    """Outputs whose texts take the last digits of `expected` where these are one unit apart (`claims.rounding`)."""
    outputs = nbformat.from_dict(outputs)
    for output, past in zip(outputs, expected, strict=False):
        for fields, known in ((output, past), (output.get("data", {}), past.get("data", {}))):
            for key in fields.keys() & known.keys():
                if isinstance(fields[key], str) and isinstance(known[key], str):
                    fields[key] = rounding.settled(fields[key], known[key])
    return outputs


def reference_of(chapter: Path, folder: Path = REFERENCE) -> Path:
    return folder / f"{name_of(chapter)}.ipynb"


def execute(chapter: Path, *, update_ledger: bool = False) -> NotebookNode:
    """Run a chapter in its own folder and process; return its reference notebook."""
    notebook = jupytext.read(chapter)
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_name="python3",
        resources={"metadata": {"path": str(chapter.parent)}},
        coalesce_streams=True,  # in how many pieces an output comes is a matter of time
    )
    environment = os.environ | {"SHALLOW_STRICT": "1"} | ({"SHALLOW_LEDGER": "update"} if update_ledger else {})
    client.execute(env=environment)
    reference = nbformat.v4.new_notebook(metadata={"kernelspec": notebook.metadata.kernelspec})
    for number, cell in enumerate(code_cells(notebook)):
        kept = nbformat.v4.new_code_cell(
            cell.source, id=f"cell-{number}", execution_count=number + 1, outputs=comparable(cell.outputs)
        )
        for output in kept.outputs:
            if "execution_count" in output:
                output.execution_count = number + 1
        reference.cells.append(kept)
    return reference


def merge(chapter: Path, folder: Path = REFERENCE) -> NotebookNode:
    """The chapter as a notebook of code cells that carry their expected outputs.

    Raises:
        StaleReference: when there is no reference, or it was made from other cells, or was never executed.
    """
    notebook, stored = jupytext.read(chapter), reference_of(chapter, folder)
    notebook.cells = code_cells(notebook)
    advice = f"run `make references CHAPTERS={BOOK.name}/{name_of(chapter)}.md` and review the difference"
    if not stored.exists():
        raise StaleReference(f"{chapter.name} has no expected outputs: {advice}")
    expected = nbformat.read(stored, as_version=4).cells
    for number, (cell, past) in enumerate(zip(notebook.cells, expected, strict=False)):
        if cell.source != past.source:
            raise StaleReference(f"Cell {number} of {chapter.name} has changed since its outputs were stored: {advice}")
        if past.execution_count is None:  # nbval compares nothing for such a cell
            raise StaleReference(f"Cell {number} of the reference of {chapter.name} was never executed: {advice}")
        cell.outputs, cell.execution_count = past.outputs, past.execution_count
    if len(notebook.cells) != len(expected):
        counts = f"{len(notebook.cells)} cells, its reference {len(expected)}"
        raise StaleReference(f"{chapter.name} has {counts}: {advice}")
    return notebook


def executed(chapter: Path, folder: str) -> list[NotebookNode] | None:
    """The code cells of a chapter with their outputs, from Jupyter Book's cache in `folder`; None if it is not there.

    Raises:
        FileNotFoundError: when there is no cache.
    """
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"SHALLOW_EXECUTED must name a folder that `make book` has filled, got {folder}")
    cache = get_cache(folder)
    try:
        found = cache.match_cache_notebook(jupytext.read(chapter))
    except KeyError:
        return None
    return code_cells(cache.get_cache_bundle(found.pk).nb)


def has_ledger(chapter: Path) -> bool:
    """Whether a page may decide claims: stories, documents' pages and all others show what was decided."""
    name, _, page = name_of(chapter).partition("/")
    return page not in ("index", "document") and (chapter.parents[bool(page)] / "claims" / f"{name}.yml").exists()


def counts_all(chapter: Path) -> bool:
    """Whether what is compared of a page tells of all claims or records: it changes with a chapter it does not name."""
    cells = [cell for cell in code_cells(jupytext.read(chapter)) if IGNORED not in cell.metadata.get("tags", ())]
    return "/" not in name_of(chapter) and any(COUNTS.search(cell.source) for cell in cells)


def main(names: list[str]) -> None:
    """Execute the named chapters and those that count all, or all; rewrite their references."""
    chosen = [Path(name).resolve() for name in names] or chapters()
    chosen += filter(counts_all, chapters())
    for chapter in sorted(dict.fromkeys(chosen), key=has_ledger, reverse=True):
        print(f"{name_of(chapter)} ...", flush=True)
        renew(chapter)


def renew(chapter: Path) -> None:
    """Execute a chapter, which may change the ledger, and rewrite its reference."""
    reference = execute(chapter, update_ledger=True)
    reference_of(chapter).parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(reference, reference_of(chapter))
    print(f"{name_of(chapter)}: {len(reference.cells)} cells -> {reference_of(chapter).relative_to(ROOT)}")


def ruff(*options: str, code: str | None = None) -> str:
    """What ruff says of files, or of a program; empty when it finds nothing."""
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format=concise", *options]
    done = subprocess.run(command, input=code, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.returncode in (0, 1), done.stderr
    return done.stdout if done.returncode else ""


if __name__ == "__main__":
    main(sys.argv[1:])
