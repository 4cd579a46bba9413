"""The site as a whole: every internal link leads somewhere, every claim is decided where its row says."""

from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from browser.conftest import SITE

from shallow.book import claims


class Anchors(HTMLParser):
    """The ids of a page, and the addresses that it links to or is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids |= {found[name] for name in ("id", "name") if found.get(name)}
        self.links |= {found[name] for name in ("href", "src") if found.get(name)}


def test_internal_links_and_anchors_resolve(available):
    files = [file for file in SITE.rglob("*.html") if "_static" not in file.parts]  # there are templates of the theme
    pages = {file.relative_to(SITE).as_posix(): Anchors(file.read_text(encoding="utf-8")) for file in files}
    lost = []
    for name, page in pages.items():
        for link in page.links:
            parts = urlsplit(urljoin(name, link))
            if parts.scheme or parts.netloc or link == "#":
                continue
            target = unquote(parts.path)
            if target in pages:
                if "=" in parts.fragment:  # a view of the ledger
                    continue
                if parts.fragment and unquote(parts.fragment) not in pages[target].ids | {""}:
                    lost.append((name, link))
            elif not (SITE / target).exists():
                lost.append((name, link))
    assert len(pages) > 8 and lost == []


@pytest.mark.parametrize("chapter", claims.documents())
def test_every_claim_is_decided_on_its_page(available, chapter):
    """There the place that its number leads to, and a box or a line with its verdict: a cell may forget to show it."""
    tested = [row for row in claims.rows.read(chapter) if row.cell]
    files = {row.address: SITE / "book" / f"{row.address}.html" for row in tested}
    pages = {name: file.read_text(encoding="utf-8") if file.exists() else "" for name, file in files.items()}
    marks = {row.id: (f'id="{row.cell}"', f'data-decided="{row.id} {row.verdict}"') for row in tested}
    assert [row.id for row in tested if not all(mark in pages[row.address] for mark in marks[row.id])] == []
