"""The ledger as pages: documents and counts at a glance, the table of all claims, and single claims elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from shallow.book import paths
from shallow.book.claims import display
from shallow.book.claims.display import HEAD, STYLE, Display, badge, cell_link, counts, rule, tally
from shallow.book.claims.rows import KINDS, RANKS, Document, Row, documents, read
from shallow.book.claims.verdicts import VERDICTS


def overview(folder: Path = paths.CLAIMS) -> Display:
    """What each document claims, in a sentence, who wrote it, and a bar of its claims by verdict."""
    chapters = _chapters(folder)
    rows = [row for own in chapters.values() for row in own]
    body = "".join(
        f'<tr><th scope="row"><a href="{display.to(document.paper)}">{escape(document.name)}</a></th>'
        f"<td>{escape(document.thesis)} <small>{escape(_published(document))}</small></td><td>{_bar(own)}</td></tr>"
        for document, own in chapters.items()
    )
    foot = f'<tr><th scope="row">All</th><td>{len(rows)} claims</td><td>{_bar(rows)}</td></tr>'
    head = "".join(f'<th scope="col">{name}</th>' for name in ("Chapter", "What the document claims", "What was found"))
    legend = "".join(badge(verdict) for verdict, number in counts(rows).items() if number)
    html = (
        f'<table class="ledger-overview"><thead><tr>{head}</tr></thead><tbody>{body}{foot}</tbody></table>'
        f'<p class="ledger-legend">{legend}</p>'
    )
    text = [f"{document.name}: {_sum(own)}\n    {document.thesis}" for document, own in chapters.items()]
    return Display("\n".join([*text, f"All: {_sum(rows)}"]), html)


def _published(document: Document) -> str:
    return f"{document.title}. {document.authors}, {document.year}. {document.published}."


def _bar(rows: Sequence[Row]) -> str:
    """Numbers of claims on the colours of their verdicts, each as wide as its share, but wide enough to be read."""
    parts = "".join(
        f'<span style="flex-grow:{number};background:{STYLE[verdict][1]}" title="{number} {verdict}">'
        f"{STYLE[verdict][0]}&nbsp;{number}</span>"
        for verdict, number in counts(rows).items()
        if number
    )
    return f'<div class="ledger-bar" role="img" aria-label="{tally(rows)}">{parts}</div>{display.otherwise(rows)}'


def counts_table(folder: Path = paths.CLAIMS) -> Display:
    """How many claims of each chapter have each verdict, with totals: a verdict a row, a chapter a column."""
    chapters = _chapters(folder)
    rows = [row for own in chapters.values() for row in own]
    columns = [*chapters.values(), rows]
    names = [
        f'<a href="{display.to("claims")}#{document.chapter}">{escape(document.name)}</a>' for document in chapters
    ]
    head = "".join(f'<th scope="col">{name}</th>' for name in ("", *names, "All"))
    own = [*(f"&chapter={document.chapter}" for document in chapters), ""]
    body = [
        _counts_row(
            badge(verdict), [counts(column)[verdict] for column in columns], [f"verdict={verdict}{one}" for one in own]
        )
        for verdict in VERDICTS
    ]
    if any(others := [sum(row.reading is not None for row in column) for column in columns]):
        body.append(_counts_row("read otherwise", others))
    body.append(_counts_row("claims", [len(column) for column in columns]))
    text = [f"{document.name}: {_sum(own)}" for document, own in chapters.items()] + [f"All: {_sum(rows)}"]
    html = f'<table class="ledger-counts"><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'
    return Display("\n".join(text), html)


def _counts_row(label: str, numbers: Sequence[int], views: Sequence[str] = ()) -> str:
    """A row of numbers, those that are not 0 linked to what they count, where `views` of the ledger are given."""
    shown = [f'<a href="{display.to("claims")}#{view}">{n}</a>' for n, view in zip(numbers, views)] or numbers
    cells = "".join(
        f"<td>{one}</td>" if number else '<td class="ledger-zero">0</td>'
        for number, one in zip(numbers, shown, strict=True)
    )
    return f'<tr><th scope="row">{label}</th>{cells}</tr>'


def _chapters(folder: Path) -> dict[Document, list[Row]]:
    return {document: read(chapter, folder) for chapter, document in documents(folder).items()}


def _sum(rows: Sequence[Row]) -> str:
    return f"{len(rows)} claims, {tally(rows)}"


def table(folder: Path = paths.CLAIMS) -> Display:
    """All claims, one row each, grouped by chapter; ledger.js adds filters."""
    chapters = _chapters(folder)
    words = {"verdict": VERDICTS, "rank": RANKS, "kind": KINDS}
    data = " ".join(f'data-{field}="{" ".join(values)}"' for field, values in words.items())
    groups = "".join(_group(document, rows) for document, rows in chapters.items())
    html = f'<table class="ledger" id="ledger" {data}><thead>{HEAD}</thead>{groups}</table>'
    return Display(f"{sum(map(len, chapters.values()))} claims of {len(chapters)} documents", html)


def _group(document: Document, rows: Sequence[Row]) -> str:
    head = (
        f'<tr class="ledger-group" id="{document.chapter}"><th colspan="3" scope="rowgroup">'
        f"<span>{escape(document.name)}</span> <small>{len(rows)} claims</small></th></tr>"
    )
    return f"<tbody>{head}{''.join(_table_row(document, row) for row in rows)}</tbody>"


def _table_row(document: Document, row: Row) -> str:
    """One claim; the attributes are what ledger.js filters by."""
    fields = {"chapter": row.chapter, "verdict": row.verdict, "rank": row.rank, "kind": row.kind}
    data = " ".join(f'data-{field}="{value}"' for field, value in fields.items())
    about = f"document-{document.chapter.replace('_', '-')}"
    return (
        f'<tr id="{row.id.lower()}" {data}><td>{cell_link(row)} <br>{badge(row.verdict)}'
        f"<small>{row.rank}</small><small>{row.kind}</small>"
        f'<small><a href="{display.to(f"claims/{row.id}")}">cite, rerun</a></small></td>'
        f'<td><a class="ledger-place" href="#{about}">{escape(row.place)}</a> {escape(row.claim)}'
        f"{rule(row, 'Rule')}</td>"
        f"<td>{display.outcome(row)}</td></tr>"
    )
