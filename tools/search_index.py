"""What the search looks through, as an extension of Sphinx: every section, term, function and claim with its text.

When all pages are written, the site gets `search_sections.js`, which only the page of the search loads.  It holds the
words that a reader sees, not code, frames or folded rules, so that results are sections and excerpts need no further
file: they are there over file:// too.  `_static/search.js` looks through it.
"""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

from shallow.book import claims, paths

FILE = "search_sections.js"
# What is not text of the page, by class, tag or id, with all that it contains; claims come from their own pages.
LEFT_OUT = {
    "cell_input", "cite-panel", "collapsed", "expanded", "copybtn", "headerlink", "claim-back", "claim-legend",
    "figure-data", "#ledger", "ledger-rule", "record", "shallow-lab", "visually-hidden", "viewcode-link",
    "script", "style", "template", "noscript",
}  # fmt: skip
INLINE = {"a", "abbr", "b", "button", "code", "em", "i", "span", "strong", "sub", "sup"}
VOID = {"br", "col", "hr", "img", "input", "link", "meta", "wbr"}
HEADING = re.compile("h[1-6]")
# TeX as a line of text: names without backslashes, nothing of braces and of what sets a formula.
TEX = re.compile(r"\\[()\[\],;!]|\\(?:left|right|mathbb|mathbf|mathcal|mathrm|operatorname|text)\b|[{}]|\\(?=[A-Za-z])")


class Sections(HTMLParser):
    """The parts of an article: for each heading, defined term and documented name its anchor, title and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.parts: list[list[str]] = []
        self._in_article = False
        self._left_out: list[str] = []  # open elements of the tag that is left out
        self._section = ""
        self._titled = ""  # the tag whose text is a title
        self.feed(text)
        self.parts = [[anchor, *map(plain, both)] for anchor, *both in self.parts]

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        classes = set((found.get("class") or "").split())
        names = {tag, f"#{found.get('id')}", *classes}
        if tag == "article":
            self._in_article = True
        elif self._left_out:
            self._left_out += [tag] * (tag == self._left_out[0])
        elif self._in_article and tag not in VOID and names & LEFT_OUT:
            self._left_out = [tag]
        elif self._in_article:
            self._begin(tag, found.get("id"), "sig" in classes)

    def _begin(self, tag: str, id: str | None, documented: bool) -> None:
        self.handle_data("" if tag in INLINE else " ")
        if tag == "section":
            self._section = id or ""
        elif HEADING.fullmatch(tag):
            self._titled = tag
            self.parts.append([self._section if self.parts else "", "", ""])
        elif tag == "dt" and id:
            self._titled = "" if documented else tag
            self.parts.append([id, id if documented else "", ""])

    def handle_endtag(self, tag):
        if tag == "article":
            self._in_article = False
        elif self._left_out:
            self._left_out = self._left_out[tag == self._left_out[0] :]
        elif tag == self._titled:
            self._titled = ""
        else:
            self.handle_data("" if tag in INLINE else " ")

    def handle_data(self, data):
        if self._in_article and self.parts and not self._left_out:
            self.parts[-1][1 if self._titled else 2] += data


def plain(text: str) -> str:
    """Text in one line, with formulas as they can be read there."""
    return " ".join(TEX.sub("", text).split())


def of_claims() -> list[list[str]]:
    """The claims' own pages."""
    return [
        [f"claims/{row.id}.html", f"{row.id}: {row.answer or row.claim}", plain(f"{row.claim} {row.outcome}")]
        for row in claims.everything()
    ]


def sections(site: Path, names: list[str]) -> list[dict]:
    """Of each page of a built site its address, title and parts; the claims stand under the page that lists them."""
    found = []
    for name in names:
        parts = Sections((site / f"{name}.html").read_text(encoding="utf-8")).parts
        if name == f"{paths.BOOK.name}/claims":
            parts += of_claims()
        if parts:
            found.append({"page": f"{name}.html", "title": parts[0][1], "parts": parts})
    return found


def _finish(app, problem) -> None:
    if problem is None and app.builder.format == "html":
        found = json.dumps(sections(Path(app.outdir), sorted(app.env.found_docs)), ensure_ascii=False)
        Path(app.outdir, FILE).write_text(f"window.searchSections = {found};\n", encoding="utf-8")


def setup(app) -> dict:
    """Called by Sphinx."""
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
