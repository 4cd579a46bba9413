"""How to cite the book, its chapters and its claims, as an extension of Sphinx.

The first page and each chapter get, in their heads, what reference managers read (`citation_*`), and in their headers
a button *Cite*, which works without scripts.  Beside each page lie its entries for BibTeX and RIS; those of a chapter
or claim have the document that it is about as a second one.
`claims_data.py` gives the pages of claims the same.

Addresses are whole where `html_baseurl` says where the book is published, and relative to their page where not.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import history
from pybtex.database import Person, parse_file
from pybtex.richtext import Text
from ruamel.yaml import YAML
from sphinx_external_toc.parsing import parse_toc_yaml

from shallow.book import claims, paths

#: What BibTeX would take for a command.
LATEX = str.maketrans(
    {sign: rf"\{sign}" for sign in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)
RIS = {"book": "BOOK", "incollection": "CHAP", "misc": "GEN", "techreport": "RPRT"}


@dataclass(frozen=True)
class Work:
    """What is cited: the book, a part of it, or a document that it reruns."""

    key: str
    kind: str  # of its entry in BibTeX
    title: str
    authors: tuple[str, ...]  # "Family, Given", or a name alone
    date: str  # a year, or a day in ISO format
    page: str = ""  # of the book, such as book/heavy_tails/index
    whole: str = ""  # title of the book that it is a part of
    note: str = ""
    doi: str = ""

    @property
    def year(self) -> str:
        """Of its publication."""
        return self.date[:4]


@functools.cache
def settings() -> dict:
    """What `CITATION.cff` says of the book."""
    return YAML(typ="safe").load(paths.ROOT / "CITATION.cff")


def book() -> Work:
    """The book as a whole."""
    about = settings()
    names = [one.get("name") or f"{one['family-names']}, {one['given-names']}" for one in about["authors"]]
    date = str(about["date-released"])
    note = f"version {about['version']}"
    return Work(f"shallow{date[:4]}", "book", about["title"], tuple(names), date, f"{paths.BOOK.name}/index", note=note)


def part(name: str, kind: str, title: str, page: str) -> Work:
    """A chapter or a claim of the book."""
    whole = book()
    key = f"{whole.key}{name.lower().replace('_', '').replace('-', '')}"
    return Work(key, kind, title, whole.authors, whole.date, page, whole.title, whole.note)


def claim(id: str, text: str) -> Work:
    """A claim, by its id and what the document says."""
    return part(id, "misc", f"Claim {id}: {text.rstrip('.')}", f"{paths.BOOK.name}/claims/{id}")


@functools.cache
def document(chapter: str) -> Work:
    """The document of a chapter, from the bibliography."""
    key = claims.documents()[chapter].cite
    entry = parse_file(paths.BOOK / "references.bib", bib_format="bibtex").entries[key]
    known = {name: str(Text.from_latex(value)) for name, value in entry.fields.items()}
    notes = [known[name] for name in ("type", "institution", "howpublished", "note") if name in known]
    if "eprint" in known:
        notes.append(f"{known['archiveprefix']}:{known['eprint']}")
    names = tuple(map(_name, entry.persons["author"]))
    return Work(key, entry.type, known["title"], names, known["year"], note="; ".join(notes), doi=known.get("doi", ""))


def _name(person: Person) -> str:
    family, given = person.prelast_names + person.last_names, person.first_names + person.middle_names
    return str(Text.from_latex(", ".join(" ".join(names) for names in (family, given) if names)))


def address(page: str, base: str) -> str:
    """Where a page of the book is published, or nothing if that is not known."""
    return f"{base.rstrip('/')}/{page}.html" if base else ""


def _place(work: Work, base: str) -> tuple[str, str]:
    """Address and note of a work: of a book that is published nowhere the repository, and the page in words."""
    if not work.page:
        return (f"https://doi.org/{work.doi}" if work.doi else ""), work.note
    if base:
        return address(work.page, base), work.note
    return settings()["repository-code"], f"{work.note}, page {work.page}.html" if work.whole else work.note


def reference(work: Work, base: str) -> str:
    """A part of the book, or all of it, as a sentence of a bibliography."""
    inside = f"Claim {work.page.rpartition('/')[2]}. " if work.kind == "misc" else f"Chapter: {work.title}. "
    parts = f"{', '.join(work.authors)} ({work.year})", f"{work.whole or work.title}, {work.note}"
    where = address(work.page, base) or ", page ".join(
        [settings()["repository-code"], *([f"{work.page}.html"] if work.whole else [])]
    )
    return f"{'. '.join(parts)}. {inside if work.whole else ''}{where}"


def bibtex(works: Sequence[Work], base: str = "") -> str:
    """Works as entries for BibTeX, their titles in the capitals that they have."""
    return "\n".join(_entry(work, *_place(work, base)) for work in works)


def _entry(work: Work, url: str, note: str) -> str:
    whole = {"incollection": "booktitle", "misc": "howpublished"}.get(work.kind, "series")
    names = (name.translate(LATEX) for name in work.authors)
    fields = {
        "author": " and ".join(name if ", " in name else f"{{{name}}}" for name in names),
        "title": f"{{{work.title.translate(LATEX)}}}",
        whole: work.whole.translate(LATEX),
        "year": work.year,
        "note": note.translate(LATEX),
        "doi": work.doi,
        "url": url,
    }
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items() if value)
    return f"@{work.kind}{{{work.key},\n{lines}\n}}\n"


def ris(works: Sequence[Work], base: str = "") -> str:
    """Works in the format RIS, for reference managers."""
    lines = []
    for work in works:
        url, note = _place(work, base)
        fields = [("TY", RIS.get(work.kind, "GEN")), *(("AU", name) for name in work.authors), ("TI", work.title)]
        fields += [("T2", work.whole), ("PY", work.year), ("N1", note), ("DO", work.doi), ("UR", url)]
        lines += [f"{tag}  - {value}" for tag, value in fields if value] + ["ER  - ", ""]
    return "\r\n".join(lines)


def write(works: Sequence[Work], site: Path, base: str = "") -> None:
    """Put the entries of the first work, with those of the others, beside its page of a site."""
    file = site / works[0].page
    file.parent.mkdir(parents=True, exist_ok=True)
    file.with_suffix(".bib").write_text(bibtex(works, base), encoding="utf-8")
    file.with_suffix(".ris").write_text(ris(works, base), encoding="utf-8", newline="")


def links(work: Work) -> str:
    """Links from the page of a work to its entries."""
    name = work.page.rpartition("/")[2]
    kinds = (("bib", "BibTeX"), ("ris", "RIS"))
    return " · ".join(f'<a href="{name}.{end}" download="{work.key}.{end}">{what}</a>' for end, what in kinds)


def head(work: Work, base: str = "") -> str:
    """What the head of a work's page says of it to machines."""
    here = address(work.page, base) or f"{work.page.rpartition('/')[2]}.html"
    tags = [("title", work.title), *(("author", name) for name in work.authors)]
    tags += [("publication_date", work.date.replace("-", "/")), ("language", "en")]
    tags += [("inbook_title", work.whole), ("fulltext_html_url", here)]
    return "\n".join(f'<meta name="citation_{name}" content="{escape(value)}">' for name, value in tags if value)


def panel(works: Sequence[Work], base: str, changed: str) -> dict[str, str]:
    """What the button *Cite* of a page shows (book/_templates/cite.html)."""
    return {
        "name": "chapter" if works[0].whole else "book",
        "page": works[0].page,
        "reference": reference(works[0], base),
        "bibtex": bibtex(works, base),
        "links": links(works[0]),
        "repository": settings()["repository-code"],
        "changed": changed,
    }


def chapters(app) -> dict[str, list[str]]:
    """Page of each chapter -> the names of the documents that it is about."""
    of_page = {f"{paths.BOOK.name}/{one.paper}": name for name, one in claims.documents().items()}
    site_map = parse_toc_yaml(Path(app.srcdir, app.config.external_toc_path))
    pages = map(str, site_map.root.subtrees[0].items)
    return {page: [of_page[page]] if page in of_page else list(claims.documents()) for page in pages}


def _page(app, page, template, context, doctree) -> None:
    about, whole = chapters(app), book()
    if page != whole.page and page not in about:
        return
    base, changed = app.config.html_baseurl, app.env.metadata[page].get("changed", "")
    works = [whole]
    if page != whole.page:
        documents = [document(name) for name in about[page]]
        name = about[page][0] if len(documents) == 1 else page.rpartition("/")[2]
        works = [part(name, "incollection", app.env.titles[page].astext(), page), *documents]
    write(works, Path(app.outdir), base)
    context["metatags"] += head(works[0], base)
    context["cite"] = panel(works, base, history.in_words(changed) if changed else "")


def setup(app) -> dict:
    """Called by Sphinx."""
    app.add_css_file("cite.css")
    app.connect("html-page-context", _page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
