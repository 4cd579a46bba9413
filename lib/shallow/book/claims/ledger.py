"""Deciding claims and holding every report to the ledger."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from shallow.book import paths, session
from shallow.book.claims import display, update
from shallow.book.claims.display import Display, Report
from shallow.book.claims.outcome import Outcome, combine
from shallow.book.claims.rounding import settled
from shallow.book.claims.rows import OUTCOME, VERDICTS, Row, documents, one_sentence, read


class LedgerMismatch(Exception):
    """What a cell computed is not what the ledger says."""


def decide(*, reproduced: bool, contradicted: bool = False, otherwise: str = "partly") -> str:
    """The verdict of one rule from its two conditions.

    Both conditions are written down before the run. When neither holds the outcome is `otherwise`: "partly", or
    "undecided" where the ledger's rule says so. ValueError if both hold: the rule contradicts itself.
    """
    for name, value in {"reproduced": reproduced, "contradicted": contradicted}.items():
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name} must be a single truth value, got {value!r}")
    if otherwise not in ("partly", "undecided"):
        raise ValueError(f"otherwise must be 'partly' or 'undecided', got {otherwise!r}")
    if reproduced and contradicted:
        raise ValueError("reproduced and contradicted both hold: the two conditions of a rule must exclude each other")
    if reproduced:
        return "reproduced"
    return "contradicted" if contradicted else otherwise


def lettered(flags: Mapping[str, bool]) -> dict[str, str]:
    """The verdicts of lettered criteria of which each either holds or does not."""
    plain = {letter: np.asarray(holds).item() for letter, holds in flags.items()}
    return {letter: decide(reproduced=holds, contradicted=not holds) for letter, holds in plain.items()}


class Ledger:
    """The claims of one chapter: shown before the run, held against what the run found.

    Args:
        chapter: stem of book/<chapter>.md and book/claims/<chapter>.yml.
        folder: the ledger's folder, by default the book's.
    Raises:
        ValueError: there is no such chapter.
        LedgerError: the file breaks a rule; the message names file and row.
    """

    def __init__(self, chapter: str, folder: Path = paths.CLAIMS) -> None:
        self.rows = {row.id: row for row in read(chapter, folder)}
        self.document = documents(folder)[chapter]
        self.path = folder / f"{chapter}.yml"

    def __getitem__(self, id: str) -> Row:
        """The row of a claim; KeyError names the nearest ids."""
        if id not in self.rows:
            near = difflib.get_close_matches(str(id).upper(), self.rows, n=3, cutoff=0.5)
            hint = f"; near it: {', '.join(near)}" if near else ""
            raise KeyError(f"{self.path.name} has no claim {id!r}{hint}")
        return self.rows[id]

    def row(self, id: str, outcome: Outcome) -> Row:
        """The row of a claim with another outcome in it."""
        fields = {key: value for key, value in vars(outcome).items() if key != "evidence"}
        return replace(self[id], **fields, cell=id.lower(), reason=None)

    def card(self) -> Display:
        """The head of a chapter: the document, the counts by verdict, its headline claims with their verdicts."""
        return display.card(self.document, list(self.rows.values()))

    def claim(self, *ids: str) -> Display:
        """What the ledger says before the run: the claim and its place, the rule, the parameters."""
        return display.statements([self[id] for id in ids])

    def report(
        self, id: str, outcome: Outcome | str | Mapping[str, str], *, finding: str = "", verdict: str | None = None
    ) -> Report:
        """Hold an outcome against the ledger and show it; last expression of the cell that decides the claim.

        Where it differs from the row, by more than the last of several digits, what the ledger says is shown below it:
        a reader may have changed a parameter.  In a strict session (:mod:`shallow.book.session`) that is an error, and
        with SHALLOW_LEDGER=update in the environment the row is rewritten instead.

        Args:
            id: the claim, "CL-14".
            outcome: what its rule found; or its verdict, or those of its parts, {"a": ..., "b": ...}, see `combine`.
            finding: without an Outcome: one sentence, measured numbers rounded to their statistical precision.
            verdict: of a claim with parts whose test combines them in a way of its own.
        Raises:
            LedgerMismatch: in a strict session, when verdict, parts, finding, answer or reading differ from the row.
            KeyError: no such claim.   ValueError: an unknown verdict, an empty finding.
        """
        row, numbers = self[id], outcome.numbers if isinstance(outcome, Outcome) else ()
        if not isinstance(outcome, Outcome):
            found = replace(row, **self._decided(id, outcome, finding, verdict), cell=id.lower(), reason=None)
        elif finding or verdict:
            raise ValueError(f"{id}: finding and verdict are those of the Outcome, and cannot be given beside it")
        else:
            found = self.row(id, outcome)
        if os.environ.get("SHALLOW_LEDGER") == "update":
            self.rows[id] = found
            update.write(self.path, found)
        elif different := differences(found, row):
            if session.is_strict():
                raise LedgerMismatch(_mismatch(found, row, different, self.path))
            return Report(found, row, numbers)
        return Report(found, numbers=numbers)

    def _decided(self, id: str, outcome: str | Mapping[str, str], finding: str, verdict: str | None) -> dict:
        """Verdict, parts and finding of a claim whose cell gives them one by one."""
        if not isinstance(outcome, str):
            combined = combine(outcome)
            parts, verdict = dict(outcome), verdict or combined
        elif verdict is None:
            parts, verdict = {}, outcome
        else:
            raise ValueError(f"verdict={verdict!r} is for claims with parts, {id} was given {outcome!r} alone")
        if verdict not in VERDICTS[:-1]:
            allowed, where = ", ".join(VERDICTS[:-1]), self.path.name
            reason = f"why a claim is untested is written into {where}"
            raise ValueError(f"{id}: a verdict is one of {allowed}, got {verdict!r} ({reason})")
        return {"verdict": verdict, "parts": parts, "finding": one_sentence(finding)}

    def lines(self, *reports: Report) -> Display:
        """Detail claims as a compact table, one line each."""
        return display.lines(reports)


def differences(found: Row, row: Row) -> list[str]:
    """The keys by which two outcomes differ, the last of several digits of numbers in a text aside."""

    def differs(key: str) -> bool:
        new, old = (update.plain(getattr(one, key)) for one in (found, row))
        return (settled(new, old) if isinstance(new, str) and isinstance(old, str) else new) != old

    return list(filter(differs, ("verdict", *OUTCOME)))


def _mismatch(found: Row, row: Row, different: list[str], path: Path) -> str:
    """What differs, as the text of an error."""
    lines = [f"{row.id}: what this cell computed is not what {path.name} says."]
    for key in different:
        lines += [f"  {key}", f"    cell    {getattr(found, key) or '-'}", f"    ledger  {getattr(row, key) or '-'}"]
    lines.append("Find out why before accepting it; `make references` writes what the cells compute into the ledger.")
    return "\n".join(lines)
