"""The ledger as pages: counts by chapter and verdict, and the table of all claims."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from shallow import paths
from shallow.claims.display import Display, badge, cell_link, parts_list, rule, tally
from shallow.claims.ledger import counts, everything
from shallow.claims.rows import KINDS, RANKS, VERDICTS, Document, Row, documents


def counts_table(folder: Path = paths.CLAIMS) -> Display:
    """How many claims of each chapter have each verdict, with totals."""
    rows, known = everything(folder), documents(folder)
    lines = [(document.name, document.chapter, counts([row for row in rows if row.chapter == document.chapter]))
             for document in known.values()]
    lines.append(("All", None, counts(rows)))
    text = "\n".join(f"{name}: {sum(found.values())} claims, {tally(found)}" for name, _, found in lines)
    head = "".join(f"<th>{badge(verdict)}</th>" for verdict in VERDICTS)
    body = "".join(_counts_row(name, chapter, found) for name, chapter, found in lines)
    table = (f'<table class="ledger-counts"><thead><tr><th>Chapter</th><th>claims</th>{head}</tr></thead>'
             f"<tbody>{body}</tbody></table>")
    return Display(text, table)


def _counts_row(name: str, chapter: str | None, found: dict[str, int]) -> str:
    label = f'<a href="claims.html#{chapter}">{escape(name)}</a>' if chapter else escape(name)
    cells = "".join(f"<td>{number or '·'}</td>" for number in found.values())
    return f"<tr><th>{label}</th><td>{sum(found.values())}</td>{cells}</tr>"


def table(folder: Path = paths.CLAIMS) -> Display:
    """All claims, one row each, grouped by chapter; ledger.js adds filters and other groupings."""
    rows, known = everything(folder), documents(folder)
    groups = "".join(_group(document, [row for row in rows if row.chapter == document.chapter])
                     for document in known.values())
    head = "<tr><th>Claim</th><th>What the document says, and where</th><th>What we found</th></tr>"
    words = {"verdict": VERDICTS, "rank": RANKS, "kind": KINDS}
    data = " ".join(f'data-{field}="{" ".join(values)}"' for field, values in words.items())
    html = f'<table class="ledger" id="ledger" {data}><thead>{head}</thead>{groups}</table>'
    return Display(f"{len(rows)} claims of {len(known)} documents", html)


def _group(document: Document, rows: Sequence[Row]) -> str:
    head = (
        f'<tr class="ledger-group" id="{document.chapter}"><th colspan="3" scope="rowgroup">'
        f"<span>{escape(document.name)}</span> <small>{len(rows)} claims</small></th></tr>"
    )
    return f"<tbody>{head}{''.join(_table_row(document, row) for row in rows)}</tbody>"


def _table_row(document: Document, row: Row) -> str:
    """One claim; the attributes are what ledger.js filters by."""
    place = f'<a class="ledger-place" href="#document-{document.chapter.replace("_", "-")}">{escape(row.place)}</a>'
    return (
        f'<tr id="{row.id.lower()}" data-chapter="{row.chapter}" data-verdict="{row.verdict}" data-rank="{row.rank}"'
        f' data-kind="{row.kind}"><td>{cell_link(row, f"{row.chapter}.html")} {badge(row.verdict)}'
        f"<small>{row.rank} · {row.kind}</small></td><td>{place} {escape(row.claim)}{rule(row, 'Rule')}</td>"
        f"<td>{escape(row.outcome)}{parts_list(row.parts)}</td></tr>"
    )
