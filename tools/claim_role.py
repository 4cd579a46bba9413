"""Claims in prose, as an extension of Sphinx: the role claim shows what became of one and leads to what decides it.

    The bump needs a poor cluster {claim}`CL-14`.

shows "claim CL-14 ✓" behind the sentence, with the symbol of the verdict in the ledger.  A page with such marks says
what they mean below the first of them, and carries the card of each claim, which `previews.js` shows beside a mark
under the pointer, at the focus or on a tap.  The section that decides a claim links back to the sentences that cite it.
A claim that the ledger does not have is a warning, which fails the build.  In JupyterLab the number stands there alone.
"""

import functools
from collections.abc import Callable
from html import escape

from docutils import nodes
from sphinx.util.docutils import SphinxRole
from sphinx.util.osutil import relative_uri

from shallow.book import claims, paths
from shallow.book.claims import display
from shallow.book.claims.display import STYLE
from shallow.book.claims.verdicts import VERDICTS

LEGEND = (
    "A mark gives our verdict on what the <em>document</em> says: {signs}."
    '<span class="claim-pointing"> Point at one, or tap it.</span>'
)


@functools.cache
def _rows() -> dict[str, claims.Row]:
    return {row.id: row for row in claims.everything()}


class Claim(SphinxRole):
    """One claim by its id."""

    def run(self):
        row = _rows().get(self.text)
        if row is None:
            message = self.inliner.reporter.warning(f"the ledger has no claim {self.text!r}", line=self.lineno)
            return [nodes.literal(text=self.text)], [message]
        if row.cell:  # its picture is on the card
            self.env.note_dependency(str(paths.BOOK / f"{row.address}.md"))
        self.env.note_dependency(str(paths.CLAIMS / f"{row.chapter}.yml"))
        word = f"{row.verdict} by the rule, {row.reading} in our reading" if row.reading else row.verdict
        here = _marks(self.env).setdefault(self.env.docname, [])
        here.append((row.id, f"{row.id.lower()}-cited-{len(here) + 1}"))
        link = nodes.reference(
            "",
            f"claim {row.id}\N{NO-BREAK SPACE}",
            internal=True,
            ids=[here[-1][1]],
            refuri=_address(self.env, row),
            reftitle=f"{word}: {row.answer or row.outcome}",
            classes=["claim", f"claim-{row.verdict}"],
        )
        sign = f'<span aria-hidden="true">{STYLE[row.verdict][0]}</span><span class="visually-hidden">{word}</span>'
        link += nodes.raw("", sign, format="html")
        return [link], []


def _address(env, row: claims.Row) -> str:
    """From the page being read to the claim's section, or to its row where nothing has decided it."""
    page = f"{paths.BOOK.name}/{row.address if row.cell else 'claims'}"
    return f"{env.app.builder.get_relative_uri(env.docname, page)}#{row.id.lower()}"


def _marks(env) -> dict[str, list[tuple[str, str]]]:
    """Page -> the claims that it cites, in order, and the labels of the marks."""
    if not hasattr(env, "claim_marks"):
        env.claim_marks = {}
    return env.claim_marks


def _purge(app, env, page: str) -> None:
    _marks(env).pop(page, None)


def _cards(app, doctree, page: str) -> None:
    """Below the first mark of a page the legend, at its end the cards; in the sections of claims the way back."""
    for section in doctree.findall(nodes.section):
        for id in section["ids"]:
            address = functools.partial(app.builder.get_relative_uri, page)
            if id.upper() in _rows() and (back := links(app.env, id.upper(), address)):
                section.insert(1, nodes.raw("", f'<p class="claim-back">Cited in {back}.</p>', format="html"))
    marks = [one for one in doctree.findall(nodes.reference) if "claim" in one.get("classes", ())]
    if not marks:
        return
    cited = dict.fromkeys(id for id, _ in _marks(app.env).get(page, ()))
    block = marks[0]
    while not isinstance(block.parent, nodes.section | nodes.document):
        block = block.parent
    verdicts = {_rows()[id].verdict for id in cited}
    signs = ", ".join(f"{STYLE[verdict][0]} {verdict}" for verdict in VERDICTS if verdict in verdicts)
    legend = f'<p class="claim-legend">{LEGEND.format(signs=signs)}</p>'
    block.parent.insert(block.parent.index(block) + 1, nodes.raw("", legend, format="html"))
    templates = "".join(f'<template data-card="{id}">{_card(app, page, id)}</template>' for id in cited)
    doctree.children[-1] += nodes.raw("", templates, format="html")


def _card(app, page: str, id: str) -> str:
    own = app.builder.get_relative_uri(page, f"{paths.BOOK.name}/claims/{id}")
    images = relative_uri(app.builder.get_target_uri(page), app.builder.imagedir)
    return display.card(_rows()[id], {"its own page": own}, picture(app.env, _rows()[id], images))


def picture(env, row: claims.Row, images: str) -> str:
    """The first picture of the section that decides a claim, from the folder of images; nothing where there is none."""
    name, words = _pictures(env, f"{paths.BOOK.name}/{row.address}").get(row.cell, ("", "")) if row.cell else ("", "")
    return name and f'<img src="{images}/{name}" alt="{escape(words)}" loading="lazy">'


@functools.cache
def _pictures(env, page: str) -> dict[str, tuple[str, str]]:
    """Of each labelled section of a page its first picture: file and words."""
    found = {}
    for image in env.get_doctree(page).findall(nodes.image) if page in env.found_docs else ():
        section = image.parent
        while not isinstance(section, nodes.section | nodes.document):
            section = section.parent
        for label in section["ids"] if image["uri"] in env.images else ():
            found.setdefault(label, (env.images[image["uri"]][1], image.get("alt", "")))
    return found


def links(env, id: str, address: Callable[[str], str]) -> str:
    """Links to the sentences that cite a claim, by page; `address` of a page is where it is."""
    found = []
    for page, marks in sorted(_marks(env).items()):
        if not (labels := [label for one, label in marks if one == id]):
            continue
        first, *others = [f"{address(page)}#{label}" for label in labels]
        more = "".join(f' <a href="{other}">({n})</a>' for n, other in enumerate(others, 2))
        found.append(f'<a href="{first}">{escape(env.titles[page].astext())}</a>{more}')
    return ", ".join(found)


def setup(app) -> dict:
    """Called by Sphinx."""
    app.add_role("claim", Claim())
    app.connect("env-purge-doc", _purge)
    app.connect("doctree-resolved", _cards)
    return {"version": "2", "env_version": 1, "parallel_read_safe": False, "parallel_write_safe": True}
