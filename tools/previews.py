"""Previews of what the links of a page lead to, as an extension of Sphinx; `previews.js` shows them beside the links.

Figures, equations, statements, exercises, works cited and the beginnings of sections are taken from the pages as they
were built, and a page carries those that its own text refers to: no preview needs a network, or the other page.  The
pages that are lists of links have none.
"""

import functools
import os
import re
from html import unescape
from pathlib import Path

LISTS = re.compile(r"book/(claims|provenance|library)\b")
LINK = re.compile(r'<a class="reference internal" href="([^"#]*)#([^"]+)"')
PREVIEWS = re.compile(r'<template data-preview="[^"]*">.*?</template>\n', re.S)
HEADING = re.compile(
    r'<(?:section|span)\b[^>]*>(?:</span>|<span id="[^"]*">)*<h([1-6])>(.*?)</h\1>(.*?)<(?:/section|h[1-6])\b', re.S
)
PARAGRAPH = re.compile(r'(?<=\n)<p>(?!<span class="caption-number).*?</p>', re.S)  # none of a table or a list
# Marks of links, links themselves, labels and lines of data: a preview is read, and has nothing to follow.
LEFT_OUT = re.compile(
    r'<a class="headerlink".*?</a>|</?a\b[^>]*>| (?:id|role)="[^"]*"|<span class="figure-data">.*?</span>', re.S
)


def element(page: str, start: int) -> str:
    """The element of a page whose tag begins at `start`, to its end."""
    name = re.match(r"<(\w+)", page[start:])[1]
    depth = 0
    for tag in re.compile(rf"<(/?){name}\b").finditer(page, start):
        depth += -1 if tag[1] else 1
        if not depth:
            return page[start : page.index(">", tag.start()) + 1]
    raise ValueError(f"an element {name} has no end")


def preview(page: str, label: str) -> str | None:
    """What a built page has at a label; of a section its heading and its first paragraph."""
    found = re.search(rf'<(\w+)\b[^<>]* id="{re.escape(label)}"', page)
    if found is None:
        return None
    if found[1] in ("section", "span"):
        section = HEADING.match(page, found.start())
        paragraph = section and PARAGRAPH.search(section[3])
        shown = paragraph and f'<p class="preview-title">{section[2]}</p>{paragraph[0]}'
    else:
        shown = element(page, found.start()) if found[1] in ("div", "figure", "p") else None
    return shown and LEFT_OUT.sub("", shown)


def templates(page: Path, text: str, read) -> str:
    """The previews of a page, one for each address that its text links to; `read` gives the text of a file."""
    article = text[text.find("<article") : text.find("</article>")]
    shown = []
    for address, label in dict.fromkeys(LINK.findall(article)):
        target = Path(os.path.normpath(page.parent / unescape(address))) if address else page
        if target.is_file() and (found := preview(read(target), label)):
            up = os.path.relpath(target.parent, page.parent)
            found = found if up == "." else found.replace(' src="', f' src="{up}/')
            shown.append(f'<template data-preview="{address}#{label}">{found}</template>\n')
    return "".join(shown)


def _finished(app, problem) -> None:
    if problem or app.builder.format != "html":
        return
    site = Path(app.outdir)
    read = functools.cache(lambda file: PREVIEWS.sub("", file.read_text(encoding="utf-8")))
    for page in sorted(site.glob("book/**/*.html")):
        if not LISTS.match(page.relative_to(site).as_posix()):
            text = read(page)
            new = text.replace("</article>", templates(page, text, read) + "</article>")
            if new != page.read_text(encoding="utf-8"):
                page.write_text(new, encoding="utf-8")


def setup(app) -> dict:
    """Called by Sphinx."""
    app.add_js_file("previews.js", defer="defer")
    app.connect("build-finished", _finished)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
