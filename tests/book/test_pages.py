"""Every page is in the table of contents, and every reference belongs to a chapter."""

import references


def test_table_of_contents_is_complete():
    assert sorted(references.pages()) == sorted(f"book/{path.stem}" for path in references.BOOK.glob("*.md"))


def test_no_reference_without_chapter():
    known = {references.reference_of(chapter) for chapter in references.chapters()}
    assert set(references.REFERENCE.glob("*.ipynb")) <= known
