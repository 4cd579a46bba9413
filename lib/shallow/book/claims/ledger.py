"""Deciding claims and holding every report to the ledger."""

from __future__ import annotations

import difflib
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from shallow.book import paths, session
from shallow.book.claims import display, store
from shallow.book.claims.display import Display, Report
from shallow.book.claims.rounding import settled
from shallow.book.claims.rows import VERDICTS, Row, check_parts, documents, one_sentence, read

UPDATE = "SHALLOW_LEDGER"  # set to "update" by `make references`


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


def combine(parts: Mapping[str, str]) -> str:
    """The verdict of a claim from those of its parts: theirs if they agree, else partly.

    Contradicted parts beside parts that are all undecided leave nothing of the claim: contradicted.
    """
    check_parts(parts)
    verdicts = set(parts.values())
    if len(verdicts) == 1:
        return verdicts.pop()
    return "contradicted" if verdicts == {"contradicted", "undecided"} else "partly"


def everything(folder: Path = paths.CLAIMS) -> list[Row]:
    """Every row of every document, in the order of the book."""
    return [row for chapter in documents(folder) for row in read(chapter, folder)]


def counts(rows: list[Row]) -> dict[str, int]:
    """How many rows have each verdict, in the fixed order of VERDICTS, zeros included."""
    found = Counter(row.verdict for row in rows)
    return {verdict: found[verdict] for verdict in VERDICTS}


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
        self.rows = {row.id: row for row in read(chapter, Path(folder))}
        self.document = documents(Path(folder))[chapter]
        self.path = Path(folder) / f"{chapter}.yml"

    def __getitem__(self, id: str) -> Row:
        """The row of a claim; KeyError names the nearest ids."""
        if id not in self.rows:
            near = difflib.get_close_matches(str(id).upper(), self.rows, n=3, cutoff=0.5)
            hint = f"; near it: {', '.join(near)}" if near else ""
            raise KeyError(f"{self.path.name} has no claim {id!r}{hint}")
        return self.rows[id]

    def counts(self) -> dict[str, int]:
        """How many rows have each verdict, in the fixed order of VERDICTS, zeros included."""
        return counts(list(self.rows.values()))

    def card(self) -> Display:
        """The head of a chapter: the document, the counts by verdict, its headline claims with their verdicts."""
        return display.card(self.document, list(self.rows.values()), self.counts())

    def claim(self, *ids: str) -> Display:
        """What the ledger says before the run: the claim and its place, the rule, the parameters."""
        return display.statements([self[id] for id in ids])

    def report(self, id: str, outcome: str | Mapping[str, str], *, finding: str, verdict: str | None = None) -> Report:
        """Hold an outcome against the ledger and show it; last expression of the cell that decides the claim.

        Args:
            id: the claim, "CL-14".
            outcome: its verdict, or the verdicts of its parts, {"a": ..., "b": ...}, combined by `combine`.
            finding: one sentence, measured numbers rounded to their statistical precision.
            verdict: of a claim with parts whose test combines them in a way of its own.
        Raises:
            LedgerMismatch: verdict, parts or finding differ from the row, by more than the last of several digits.
            KeyError: no such claim.   ValueError: an unknown verdict, an empty finding.
        With SHALLOW_LEDGER=update in the environment the row is rewritten instead of compared.  In a live session,
        where a reader may have changed a parameter, what the ledger says is shown below the outcome instead of raised.
        """
        row = self[id]
        if not isinstance(outcome, str):
            combined = combine(outcome)
            parts, verdict = dict(outcome), verdict or combined
        elif verdict is None:
            parts, verdict = {}, outcome
        else:
            raise ValueError(f"verdict={verdict!r} is for claims with parts, {id} was given {outcome!r} alone")
        if verdict not in VERDICTS[:-1]:
            allowed = ", ".join(VERDICTS[:-1])
            raise ValueError(
                f"{id}: a verdict is one of {allowed}, got {verdict!r}"
                f" (why a claim is untested is written into {self.path.name})"
            )
        report = Report(row, verdict, parts, one_sentence(finding))
        if os.environ.get(UPDATE) == "update":
            self.rows[id] = report.as_row()
            store.write(self.path, self.rows[id])
        elif different := _different(report, row):
            if not session.is_live():
                raise LedgerMismatch(_mismatch(report, row, different, self.path))
            report = replace(report, against=Report(row, row.verdict, row.parts, row.finding or ""))
        return report

    def lines(self, *reports: Report) -> Display:
        """Detail claims as a compact table, one line each."""
        return display.lines(reports)


def _different(report: Report, row: Row) -> list[str]:
    """Which of verdict, parts and finding differ, the last of several digits in the finding aside."""
    same = {"verdict": report.verdict == row.verdict, "parts": report.parts == dict(row.parts)}
    same["finding"] = settled(report.finding, row.finding or "") == (row.finding or "")
    return [key for key, equal in same.items() if not equal]


def _mismatch(report: Report, row: Row, different: list[str], path: Path) -> str:
    """What differs, as the text of an error."""
    lines = [f"{row.id}: what this cell computed is not what {path.name} says."]
    for key in different:
        found, stored = getattr(report, key), getattr(row, key)
        stored = dict(stored) if key == "parts" else stored
        lines += [f"  {key}", f"    cell    {found or '-'}", f"    ledger  {stored or '-'}"]
    lines.append("Find out why before accepting it; `make references` writes what the cells compute into the ledger.")
    return "\n".join(lines)
