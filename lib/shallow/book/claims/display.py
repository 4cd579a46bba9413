"""How the ledger looks in a chapter: plain text for the tests, boxes and tables for readers.

Colours and symbols stand next to the word of the verdict, so that nothing depends on colour. The inline styles are the
few that a box needs where book/_static/ledger.css is not loaded, in JupyterLab; the sheet does the rest.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from shallow.book import paths
from shallow.book.claims.rows import Row
from shallow.book.claims.verdicts import VERDICTS

# Symbol and colour of each verdict; white text on any of the colours has a contrast of at least 4.5.
STYLE = {
    "reproduced": ("✓", "#1a7f37"),
    "partly": ("◐", "#8a5a00"),
    "contradicted": ("✗", "#cf222e"),
    "corrected": ("✎", "#8250df"),
    "answered": ("➜", "#0969da"),
    "undecided": ("?", "#57606a"),
    "untested": ("○", "#6e7781"),
}
HEAD = "<tr><th>Claim</th><th>What the document says, and where</th><th>What we found</th></tr>"


@dataclass(frozen=True)
class Display:
    """Something with a plain text and an HTML form; both are made when the cell runs."""

    text: str
    html: str = field(repr=False)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html


@dataclass(frozen=True)
class Report:
    """What a cell found for one claim, as a row of the ledger; and the row that is there, if it says something else."""

    row: Row
    against: Row | None = None

    def __repr__(self) -> str:
        ledger = f"\nThe ledger says: {Report(self.against)}" if self.against else ""
        return in_a_line(self.row) + ledger


def said(row: Row) -> str:
    """What came out: the answer, then verdict, parts and reading, and the finding folded; or without an answer both."""
    verdict = f"{badge(row.verdict)}{parts_list(row.parts)}"
    if not row.answer:
        return f"{verdict}<div>{escape(row.outcome)}</div>"
    answer = f'<b class="ledger-answer">{escape(row.answer)}</b>'
    return f"{answer}<div>by the rule: {verdict}{reading(row)}</div>{in_numbers(row)}"


def card(row: Row, links: Mapping[str, str], picture: str = "") -> str:
    """A claim at a glance: what they say, what became of it, what we found, the number that decides, and links."""
    found = f'<p><span class="card-who">We found:</span> {escape(row.answer or row.outcome)}</p>'
    to = "".join(f'<a href="{escape(address)}">{escape(name)}</a>' for name, address in links.items())
    return (
        f'<p><b>{row.id}</b> <span class="card-who">They say</span> '
        f'<span class="ledger-place">({escape(row.place)})</span>: {escape(row.claim)}</p>'
        f"<p>{badge(row.verdict)}{parts_list(row.parts)}</p>{reading(row)}{found}"
        f"{deciding(row)}{picture}<p>{to}<code>python -m shallow claim {row.id}</code></p>"
    )


def deciding(row: Row) -> str:
    """The first number that the rule compared, one with an interval where there is any, in a line."""
    numbers = sorted(row.numbers.items(), key=lambda one: not isinstance(one[1], list))
    for name, value in numbers:
        values = value if isinstance(value, list) else [value]
        if all(isinstance(one, int | float) and not isinstance(one, bool) for one in values):
            middle, *ends = written(value)
            interval = f" [{', '.join(ends)}]" if ends else ""
            return f'<p class="card-number">{escape(name)}: {middle}{interval}</p>'
    return ""


def written(value: object) -> list[str]:
    """What a rule found, for readers: with an interval to two digits of its width, a number alone to three digits."""
    if not isinstance(value, list):
        return [_digits(value)]
    ends = [float(one) for one in value if one is not None]
    width = max(ends, default=0) - min(ends, default=0)
    decimals = max(0, 1 - math.floor(math.log10(width))) if 0 < width < math.inf else None
    return [_digits(one if one is None else float(one), decimals) for one in value]


def _digits(value: object, decimals: int | None = None) -> str:
    if value is None or isinstance(value, bool):
        return {None: "-", True: "yes", False: "no"}[value]
    if not isinstance(value, float) or not math.isfinite(value):
        return str(value)
    if decimals is None:
        decimals = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    if decimals > 6:
        return f"{value:.3g}"
    text = f"{value:,.{decimals}f}" if abs(value) >= 10_000 else f"{value:.{decimals}f}"
    return text if float(text.replace(",", "")) else text.removeprefix("-")


def box(report: Report) -> Display:
    """A claim, where the document makes it, what came out, and its rule folded."""
    row = report.row
    about = f'class="ledger-verdict" data-decided="{row.id} {row.verdict}" {bar(row.verdict)}'
    claim = f'<span class="ledger-place">{escape(row.place)}</span><div>{escape(row.claim)}</div>'
    html = f"<div {about}>{id_link(row)} {claim}{said(row)}{instead(report)}{rule(row)}</div>"
    return Display(in_words(report), html)


def in_words(report: Report) -> str:
    """The claim, where the document makes it, and what came out, as plain text."""
    row = report.row
    return f"{row.id} ({row.place}): {row.claim}\n{report!r}"


def in_a_line(row: Row) -> str:
    """Number, verdict with its parts, our reading where it is another one, answer and finding, as plain text."""
    parts = ", ".join(f"{name} {verdict}" for name, verdict in row.parts.items())
    read = f"our reading: {row.reading}, {row.reading_why}" if row.reading else None
    said = (row.id, f"{row.verdict} ({parts})" if parts else row.verdict, read, row.answer, row.outcome)
    return " · ".join(filter(None, said))


def reading(row: Row) -> str:
    """Our reading with its reason, where it is not the rule's verdict."""
    if not row.reading:
        return ""
    why = escape(row.reading_why or "")
    return f'<div class="ledger-reading">our reading: {badge(row.reading)}<span>{why}</span></div>'


def in_numbers(row: Row) -> str:
    """The finding, folded."""
    return f'<details class="ledger-numbers"><summary>In numbers</summary>{escape(row.outcome)}</details>'


def outcome(row: Row) -> str:
    """What came out, for the last column of a table: the answer, and the finding folded; or the finding alone."""
    said = escape(row.answer or row.outcome) + parts_list(row.parts) + reading(row)
    return said + in_numbers(row) if row.answer else said


def instead(report: Report) -> str:
    """What the ledger says, below a report that says something else."""
    return f"<div>The ledger says: {said(report.against)}</div>" if report.against else ""


def badge(verdict: str) -> str:
    """The verdict as a symbol and a word on its colour."""
    symbol, colour = STYLE[verdict]
    return (
        f'<span class="ledger-badge" style="background:{colour};color:#fff;padding:.1em .55em;border-radius:.8em;'
        f'white-space:nowrap;font-size:.85em;font-weight:600">{symbol}&nbsp;{verdict}</span> '
    )


def bar(verdict: str) -> str:
    """Attributes of a box with a bar in the verdict's colour."""
    return f'style="border-left:.3em solid {STYLE[verdict][1]};padding:.4em .9em;margin:.6em 0"'


def to(page: str, suffix: str = ".html") -> str:
    """The relative address of a page of the book, such as "claims", from the page being run: it runs in its folder."""
    here = Path.cwd()
    up = "../" * len(here.relative_to(paths.BOOK).parts) if here.is_relative_to(paths.BOOK) else ""
    return f"{up}{page}{suffix}"


def id_link(row: Row) -> str:
    """The claim's id, linked to its own page."""
    return f'<a class="ledger-id" href="{to(f"claims/{row.id}")}"><b>{row.id}</b></a>'


def parts_list(parts: Mapping[str, str]) -> str:
    """The verdicts of the parts: (a) reproduced, (b) partly."""
    if not parts:
        return ""
    items = ", ".join(f"({escape(name)})&nbsp;{STYLE[verdict][0]}&nbsp;{verdict}" for name, verdict in parts.items())
    return f' <span class="ledger-parts">{items}</span>'


def parameters(given: object) -> str:
    """Parameters as one line, whether the ledger gives them as text or as a mapping."""
    if not isinstance(given, Mapping):
        return str(given or "")
    return "; ".join(f"{key}: {_plain(value)}" for key, value in given.items())


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(item)}" for key, item in value.items())
    return ", ".join(map(_plain, value)) if isinstance(value, list) else str(value)


def rule(row: Row, summary: str = "How it is decided") -> str:
    """The :func:`rule_terms`, folded."""
    return f'<details class="ledger-rule"><summary>{summary}</summary>{rule_terms(row)}</details>'


def rule_terms(row: Row, first: Mapping[str, object] | None = None) -> str:
    """The rule with its parameters, and what was changed in the open; with the first ones, where they are given."""
    terms = [
        ("Rule", row.rule),
        ("Parameters", parameters(row.parameters)),
        ("Rests on", "recorded runs" if row.records else "runs of this page"),
        ("Note", row.note),
        ("The rule was", (first or {}).get("rule")),
        ("The parameters were", parameters((first or {}).get("parameters"))),
        ("Why it was changed", row.changed),
    ]
    items = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in terms if text)
    return f"<dl>{items}</dl>"


def lines(reports: Sequence[Report]) -> Display:
    """A compact table with one line for each report."""
    body = "".join(
        f'<tr data-decided="{row.id} {row.verdict}"><td>{id_link(row)} <br>{badge(row.verdict)}</td>'
        f'<td><span class="ledger-place">{escape(row.place)}</span> {escape(row.claim)}{rule(row)}</td>'
        f"<td>{outcome(row)}{instead(report)}</td></tr>"
        for report in reports
        for row in [report.row]
    )
    table = f'<table class="ledger ledger-lines"><thead>{HEAD}</thead><tbody>{body}</tbody></table>'
    return Display("\n".join(map(in_words, reports)), table)


def counts(rows: Sequence[Row]) -> dict[str, int]:
    """How many rows have each verdict, in the fixed order of VERDICTS, zeros included."""
    found = Counter(row.verdict for row in rows)
    return {verdict: found[verdict] for verdict in VERDICTS}


def tally(rows: Sequence[Row]) -> str:
    """Counts by verdict in words, verdicts without a claim left out, and how many we read otherwise."""
    numbers = {**counts(rows), "read otherwise": sum(row.reading is not None for row in rows)}
    return ", ".join(f"{number} {words}" for words, number in numbers.items() if number)


def otherwise(rows: Sequence[Row]) -> str:
    """How many claims we read in another way than the rule, if there are any."""
    number = sum(row.reading is not None for row in rows)
    return f' <small class="ledger-otherwise">{number} read otherwise</small>' if number else ""


def cell_link(row: Row) -> str:
    """The claim's id, linked to the cell that decides it, plain where there is none."""
    if row.cell is None:
        return f'<span class="ledger-id"><b>{row.id}</b></span>'
    return f'<a class="ledger-id" href="{to(row.address)}#{row.cell}"><b>{row.id}</b></a>'
