"""The pages: each is in the table of contents, and built if there is a site."""

import pytest
import references

SITE = references.ROOT / "_build" / "html"


def test_table_of_contents_is_complete():
    assert sorted(references.pages()) == sorted(f"book/{path.stem}" for path in references.BOOK.glob("*.md"))


@pytest.mark.skipif(not (SITE / "index.html").exists(), reason="there is no built site")
@pytest.mark.parametrize("page", references.pages())
def test_page_was_built(page):
    assert "</html>" in (SITE / f"{page}.html").read_text(encoding="utf-8")


def test_no_reference_without_chapter():
    known = {references.reference_of(chapter) for chapter in references.chapters()}
    assert set(references.REFERENCE.glob("*.ipynb")) <= known
