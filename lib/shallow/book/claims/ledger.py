"""The ledger of a chapter: its claims, decided by what a page holds and held to what came out before."""

from __future__ import annotations

import difflib
import os
from dataclasses import replace
from pathlib import Path

from IPython.display import display as show_in_page

from shallow.book import paths, session
from shallow.book.claims import display, found
from shallow.book.claims.display import Report
from shallow.book.claims.rounding import settled
from shallow.book.claims.rows import Row, read
from shallow.book.claims.rules import Outcome, Rule, rules

#: What came out of a claim, in words.
OUTCOME = ("verdict", "parts", "answer", "finding")


class LedgerMismatch(Exception):
    """What a cell computed is not what the ledger says."""


class Ledger:
    """The claims of one chapter.

    Args:
        chapter: stem of book/claims/<chapter>.yml.
        folder: the ledger's folder, by default the book's.
    Raises:
        ValueError: there is no such chapter.
        LedgerError: the file breaks a rule; the message names file and row.
    """

    def __init__(self, chapter: str, folder: Path = paths.CLAIMS) -> None:
        self.rows = {row.id: row for row in read(chapter, folder)}
        self.chapter, self.folder = chapter, folder

    def __getitem__(self, id: str) -> Row:
        """The row of a claim; KeyError names the nearest ids."""
        if id not in self.rows:
            near = difflib.get_close_matches(str(id).upper(), self.rows, n=3, cutoff=0.5)
            hint = f"; near it: {', '.join(near)}" if near else ""
            raise KeyError(f"{self.chapter}.yml has no claim {id!r}{hint}")
        return self.rows[id]

    def show(self, *ids: str, **data: object) -> None:
        """Decide claims and show each with its rule and what came out: one in a box, several as lines of a table.

        Where something else comes out than the ledger says, by more than the last of several digits, both are shown: a
        reader may have changed a parameter.  In a strict session (:mod:`shallow.book.session`) that is an error, and
        with SHALLOW_LEDGER=update in the environment the ledger's outcome is written anew.

        Args:
            ids: the claims, "CL-14".
            data: what the page holds of the data of their rules, by the names that `@decides` gives them; what is not
                given is loaded.
        Raises:
            LedgerMismatch: in a strict session.   KeyError: no such claim.
            ValueError: no claim, or data that none of their rules asks for.
        """
        deciding = {id: self._rule(id) for id in ids}
        known = {name for rule in deciding.values() for name in rule.sources}
        if not ids or data.keys() - known:
            raise ValueError(f"show needs claims, and of data only {', '.join(sorted(known))}; got {', '.join(data)}")
        reports = [
            self._report(rule.decide(self[id], **{name: data[name] for name in rule.sources if name in data}), rule)
            for id, rule in deciding.items()
        ]
        show_in_page(display.box(reports[0]) if len(ids) == 1 else display.lines(reports))

    def _rule(self, id: str) -> Rule:
        self[id]
        return rules(self.chapter)[id]

    def _report(self, outcome: Outcome, rule: Rule) -> Report:
        row = outcome.row
        new = with_outcome(row, outcome)
        if os.environ.get("SHALLOW_LEDGER") == "update":
            found.write(self.chapter, self.folder, row.id, found.entry(outcome, rule.records))
        elif different := differences(new, row):
            if session.is_strict():
                raise LedgerMismatch(_mismatch(new, row, different))
            return Report(new, row)
        return Report(new)


def with_outcome(row: Row, outcome: Outcome) -> Row:
    """A row with another outcome in it."""
    return replace(row, **{key: getattr(outcome, key) for key in OUTCOME})


def differences(new: Row, row: Row) -> list[str]:
    """The keys by which two outcomes differ, the last of several digits of numbers in a text aside."""

    def differs(key: str) -> bool:
        one, other = (getattr(each, key) or None for each in (new, row))
        return (settled(one, other) if isinstance(one, str) and isinstance(other, str) else one) != other

    return list(filter(differs, OUTCOME))


def _mismatch(new: Row, row: Row, different: list[str]) -> str:
    """What differs, as the text of an error."""
    lines = [f"{row.id}: what this cell computed is not what the ledger says."]
    for key in different:
        lines += [f"  {key}", f"    cell    {getattr(new, key) or '-'}", f"    ledger  {getattr(row, key) or '-'}"]
    lines.append("Find out why before accepting it; `make references` writes what the cells compute into the ledger.")
    return "\n".join(lines)
