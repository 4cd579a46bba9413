"""The pages: each is in the table of contents, built if there is a site, and free of what belongs to one machine."""

import re

import pytest
import references
from ruamel.yaml import YAML

SITE = references.ROOT / "_build" / "html"
# Folders of one machine, such as a home, where a relative path or a package's name is meant.
MACHINE = re.compile(r"(?<![\w.~/:-])/(home|root|Users|tmp|work|opt|mnt|var|private)/[\w.-]+|\b[A-Z]:\\\w+")
TOC = YAML(typ="safe").load(references.ROOT / "_toc.yml")
PAGES = [TOC["root"], *(page["file"] for part in TOC["parts"] for page in part["chapters"])]


def test_table_of_contents_is_complete():
    assert sorted(PAGES) == sorted(f"book/{path.stem}" for path in references.BOOK.glob("*.md"))


@pytest.mark.parametrize("page", PAGES)
def test_page_exists_and_was_built(page):
    assert (references.ROOT / f"{page}.md").exists()
    if (SITE / "index.html").exists():
        assert "</html>" in (SITE / f"{page}.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_page_names_no_machine(page):
    assert MACHINE.search((references.ROOT / f"{page}.md").read_text(encoding="utf-8")) is None


@pytest.mark.parametrize("chapter", references.chapters(), ids=lambda path: path.stem)
def test_outputs_name_no_machine(chapter):
    for cell in references.merge(chapter).cells:
        assert MACHINE.search(str(cell.outputs)) is None


@pytest.mark.parametrize("text", ["see /home/ada/book", "in /tmp/x", "C:\\Users"])
def test_machine_paths_are_seen(text):
    assert MACHINE.search(text)


@pytest.mark.parametrize("text", ["https://example.org/home/x", "../opt/x", "a/tmp/b", "`records/x`", "w/m, 1/2"])
def test_other_paths_are_not(text):
    assert MACHINE.search(text) is None


def test_no_reference_without_chapter():
    known = {references.reference_of(chapter) for chapter in references.chapters()}
    assert set(references.REFERENCE.glob("*.ipynb")) <= known
