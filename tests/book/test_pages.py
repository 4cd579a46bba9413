"""Every page is in the table of contents, and every reference belongs to a chapter."""

import references

from shallow.book.claims import rows


def test_table_of_contents_is_complete():
    assert sorted(references.pages()) == sorted(f"book/{references.name_of(path)}" for path in rows.pages())


def test_no_reference_without_chapter():
    known = {references.reference_of(chapter) for chapter in references.chapters()}
    assert set(references.REFERENCE.rglob("*.ipynb")) <= known
