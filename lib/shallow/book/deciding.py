"""Deciding one claim in a terminal: `python -m shallow claim CL-14`."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from shallow.book import paths, records, verification
from shallow.book.claims.display import STYLE, parameters
from shallow.book.claims.ledger import OUTCOME, differences, with_outcome
from shallow.book.claims.rows import Row
from shallow.book.claims.rules import Outcome, rules
from shallow.extras import click

CELLS = 2  # of each record, to be recomputed
NAME = 13  # columns of the names on the left of the terminal


def show(row: Row, *, anew: bool = False) -> bool:
    """Decide a claim by its rule and print it; whether the ledger says the same, and no recomputed cell differs.

    Raises ValueError for a claim without a rule, and for one whose rule finds no conditions and plain numbers.
    """
    if (rule := rules(row.chapter).get(row.id)) is None:
        raise ValueError(f"it has no rule, a function in experiments/{row.chapter}/<page>/rules.py")
    agree = recomputed(rule.records) if anew else True
    outcome = rule.decide(row)
    new, against = compared(outcome)
    click.echo(described(new, outcome.numbers, against) + "\n")
    return agree and against is None


def compared(outcome: Outcome) -> tuple[Row, Row | None]:
    """The row with its outcome, in words if it has some; and as it is in the ledger, if that says something else."""
    row, words = outcome.row, outcome.row.finding_words
    new = with_outcome(row, outcome) if words else replace(row, verdict=outcome.verdict, parts=outcome.parts)
    return new, row if differences(new, row) else None


def missing(row: Row) -> str:
    """What has to be done about the words of an outcome; nothing where the row has them."""
    names = "`finding`" if row.answer_words else "`answer` and `finding`"
    where = f"in the place of `reason` in its row of book/claims/{row.chapter}.yml"
    return "" if row.finding_words else f"put {names} {where}"


def reread(new: Row, ledger: Row) -> list[str]:
    """What has to be read again, if a verdict, of the claim or of a part, is not the ledger's; one line or none."""
    now, old = (
        {"verdict": row.verdict} | {f"({name})": one for name, one in row.parts.items()} for row in (new, ledger)
    )
    flipped = [f"{one} {now.get(one)}, was {old.get(one)}" for one in old | now if now.get(one) != old.get(one)]
    if not flipped or ledger.verdict == "untested":
        return []
    return [f"{'; '.join(flipped)}: read `answer` of {new.id} in book/claims/{new.chapter}.yml again"]


def recomputed(names: Sequence[str]) -> bool:
    """Recompute some cells of records and print whether they agree; whether none differs."""
    said, agree = [], True
    with click.progressbar(names, label="recomputing", file=sys.stderr) as bar:
        for name in bar:
            try:
                done = verification.verify(name, CELLS)
                said.append(f"{name}: {len(done)} of {records.manifest(name)['cells']} cells recomputed, all agree")
            except (records.RecordError, verification.Unavailable) as problem:
                said.append(str(problem))
                agree &= isinstance(problem, verification.Unavailable)
    click.echo("\n".join([*said, ""] if said else ["the rule rests on no record: all is computed now\n"]))
    return agree


def described(row: Row, numbers: Mapping[str, object], against: Row | None = None) -> str:
    """The claim with its outcome in a row, what the rule compared, and what another row, the ledger's, says instead."""
    lines = [f"{row.id}  {row.place}", ""]
    terms = {"Claim": row.claim, "Rule": row.rule, "Parameters": parameters(row.parameters)}
    for name, text in terms.items():
        lines += _term(name, [text])
    if numbers:
        width = min(60, max(map(len, numbers)))
        lines += _term("Numbers", [f"{name:{width}}  {_plain(value)}" for name, value in numbers.items()])
    parts = ", ".join(f"({name}) {verdict}" for name, verdict in row.parts.items())
    found = {
        "Verdict": f"{STYLE[row.verdict][0]} {row.verdict} by the rule{f': {parts}' if parts else ''}",
        "Our reading": f"{STYLE[row.reading][0]} {row.reading}: {row.reading_why}" if row.reading else None,
        "Answer": row.answer,
        "Finding": row.finding,
        "Missing": missing(row),
        "Page": _page(row) if row.cell else None,
    }
    for name, text in found.items():
        lines += _term(name, [text]) if text else []
    return "\n".join([*lines, *_ledger(row, against)])


def _page(row: Row) -> str:
    """Where its section is."""
    if (paths.BOOK / f"{row.address}.md").exists():
        return f"book/{row.address}.md#{row.cell}"
    return f"none yet: its section stands below the label ({row.cell})="


def _ledger(row: Row, against: Row | None) -> Iterator[str]:
    if against is None:
        yield from _term("Ledger", ["says the same"])
    else:
        said = {key: one for key in OUTCOME[1:] if (one := getattr(against, key)) and one != getattr(row, key)}
        yield from _term("Ledger", [f"says {against.verdict}", *(f"{key}: {_plain(one)}" for key, one in said.items())])
        yield from _term("Read again", reread(row, against))


def _plain(value: object) -> str:
    """A number to three digits; anything else, such as an interval, as it writes itself, in one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(item)}" for name, item in value.items())
    return f"{value:.3g}" if isinstance(value, float) else " ".join(str(value).split())


def _term(name: str, paragraphs: Sequence[str]) -> Iterator[str]:
    """Paragraphs beside their name, folded to the terminal; what does not fit hangs a little."""
    columns = min(100, max(60, shutil.get_terminal_size((100, 24)).columns))
    first = f"{name:{NAME}}  "
    for text in paragraphs:
        folded = textwrap.wrap(text, columns - len(first), subsequent_indent="  " if len(paragraphs) > 1 else "")
        for line in folded or [""]:
            yield first + line
            first = " " * len(first)
