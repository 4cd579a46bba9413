"""Take a claim from its row to its outcome, as far as what is there allows, and say what is left.

    python tools/claim.py CL-56

In this order: the rule's words are locked; the records that it rests on are there; the rule decides, and its first
verdict is kept; the page that holds the claim's section is run, with the pages that count all claims, and what the
tests expect of them is written anew.  It goes on where it stopped, and can be repeated.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import rule_lock

from shallow.book import deciding, paths, records
from shallow.book.claims import LedgerError, found
from shallow.book.claims.rows import Row
from shallow.book.claims.rules import Rule, row_of, rules


class Left(Exception):
    """What has to be done before it can go on, in words."""


def main(id: str) -> int:
    """Take a claim as far as it goes; 0 if it has its outcome and its page."""
    try:
        row = read(id)
        lock(row)
        rule = rule_of(row)
        changed = decide(row, rule)
        page = page_of(row)
    except Left as problem:
        print(f"\n{id}: what is left\n- {problem}\n- then `make claim ID={id}` again")
        return 1
    status = subprocess.run([sys.executable, "tests/references.py", page], cwd=paths.ROOT).returncode
    if status == 0:
        print("\n".join([f"\n{id}: what is left", *(f"- {one}" for one in [*changed, *left(row, rule)])]))
    return status


def read(id: str) -> Row:
    """The row of a claim."""
    try:
        return row_of(id)
    except LedgerError as fault:
        raise Left(f"mend the ledger:\n{fault}") from fault
    except KeyError as unknown:
        raise Left(f"write its row into book/claims/<chapter>.yml ({unknown.args[0]})") from unknown


def lock(row: Row) -> None:
    """Renew the lock of the rules, in which the claim's then is."""
    known = row.id in rule_lock.read()
    if rule_lock.main():
        raise Left("say in `changed` of the rows above what was changed and why")
    print(f"{row.id}: its rule is locked{'' if known else ', and was not; commit the row and the lock now'}")


def rule_of(row: Row) -> Rule:
    """The claim's function, all of whose records are there."""
    name = row.id.lower().replace("-", "_")
    if row.id not in rules(row.chapter):
        raise Left(f"write the function {name} into experiments/{row.chapter}/<page>/rules.py")
    rule = rules(row.chapter)[row.id]
    for record in rule.records:
        try:
            state = records.state(record)
        except KeyError as unknown:
            raise Left(f"declare the record: {unknown.args[0]}") from unknown
        if state not in ("fresh", "confirmed"):
            raise Left(f"compute what it rests on, which is {state}: .venv/bin/python -m shallow record {record}")
    return rule


def decide(row: Row, rule: Rule) -> list[str]:
    """Decide the claim, print it, and keep the outcome, with the first verdict if there was none.

    Returns what has to be read again, if another verdict came out than before.
    """
    try:
        outcome = rule.decide(row)
        new, against = deciding.compared(outcome)
    except (TypeError, ValueError, KeyError) as problem:
        raise Left(f"mend rule or row: {problem}") from problem
    print(f"\n{deciding.described(new, outcome.numbers, against)}\n")
    if words := deciding.missing(row):
        raise Left(words)
    found.write(row.chapter, paths.CLAIMS, row.id, found.entry(outcome, rule.records))
    return deciding.reread(new, row)


def page_of(row: Row) -> str:
    """The page with the claim's section, and a cell that shows it."""
    page = paths.BOOK / f"{row.address}.md"
    if not (row.page and page.exists()):
        raise Left(f"write its section on an evidence page of the chapter, below the label ({row.id.lower()})=")
    if not re.search(rf'ledger\.show\([^)]*"{row.id}"', page.read_text(encoding="utf-8")):
        raise Left(f'show it there: a cell of book/{row.address}.md with ledger.show("{row.id}", ...)')
    return f"book/{row.address}.md"


def left(row: Row, rule: Rule) -> Iterator[str]:
    """What no program does."""
    mark, name = f"{{claim}}`{row.id}`", rule.__name__
    pages = [paths.BOOK / row.chapter / f"{page}.md" for page in ("document", "index")]
    if not any(mark in page.read_text(encoding="utf-8") for page in pages if page.exists()):
        yield f"give it its place in book/{row.chapter}/document.md: {mark}"
    tests = (paths.ROOT / "tests" / "unit" / row.chapter).glob("*.py")
    if not any(re.search(rf"\b{name}\b", file.read_text(encoding="utf-8")) for file in tests):
        yield f"try {name} on planted data in tests/unit/{row.chapter}/, for which it is true and for which it is false"
    yield "look at the difference (git diff), and commit it"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1].upper()))
