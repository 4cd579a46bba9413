"""Deciding one claim: its rule by its id, the records that this rests on, and all of it in a terminal.

`python -m shallow claim CL-14` calls :func:`row` and :func:`show`; `python -m experiments.deciding [CL-14 ...]` notes
which records the rules load, of these claims or of all, in `book/claims/records.json`, in three minutes.
"""

from __future__ import annotations

import functools
import importlib
import json
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from experiments import CHAPTERS
from shallow.book import claims, paths, records, verification
from shallow.book.claims import Ledger, Outcome, Row
from shallow.book.claims.display import STYLE, parameters
from shallow.book.claims.rows import OUTCOME, rests

Rule = Callable[..., Outcome]
CELLS = 2  # of each record, to be recomputed
NAME = 13  # columns of the names on the left of the terminal


class Rules(Mapping[str, Rule]):
    """The rules of a chapter by the ids of its claims: functions ``cl_14``, in the modules of its package ``rules``.

    The text of a module says which rules it holds; it is imported when one of them is asked for.

    Args:
        package: the package's ``__name__``.   path: its ``__path__``.
    Raises:
        ValueError: two functions for one claim.
    """

    def __init__(self, package: str, path: Iterable[str]) -> None:
        self.modules: dict[str, str] = {}
        self.files: dict[str, Path] = {}
        for file in sorted(file for folder in path for file in Path(folder).glob("*.py")):
            for prefix, number in re.findall(
                r"^def ([a-z]{2})_(\d\d+)\(", file.read_text(encoding="utf-8"), re.MULTILINE
            ):
                if (id := f"{prefix.upper()}-{number}") in self.modules:
                    raise ValueError(f"{id} must have one rule, got two: in {self.modules[id]} and in {file.name}")
                self.modules[id], self.files[id] = f"{package}.{file.stem}", file

    def __getitem__(self, id: str) -> Rule:
        return getattr(importlib.import_module(self.modules[id]), id.lower().replace("-", "_"))

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.modules))

    def __len__(self) -> int:
        return len(self.modules)

    def named(self, name: str) -> Rule:
        """The rule by the name of its function, for ``rules.cl_14``.  Raises AttributeError."""
        if (id := name.upper().replace("_", "-")) not in self.modules:
            raise AttributeError(f"no rule {name!r}; there are {', '.join(self)}")
        return self[id]


def rules(chapter: str) -> Mapping[str, Rule]:
    """The rules of a chapter; none where it has no package of them."""
    package = f"experiments.{chapter}.rules"
    try:
        return importlib.import_module(package).RULES
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        return {}


def run(rule: Rule) -> tuple[Outcome, list[str]]:
    """What a rule finds, and the names of the records that it loads, in their order: loaders that cache forget."""
    for module in [module for name, module in sys.modules.items() if name.startswith("experiments.")]:
        for thing in vars(module).values():
            if isinstance(thing, functools._lru_cache_wrapper):
                thing.cache_clear()
    with _watched() as names:
        return rule(), names


@contextmanager
def _watched() -> Iterator[list[str]]:
    """The names of the records that are loaded within the block."""
    names, load = [], records.load

    def noted(name: str):
        names.append(name) if name not in names else None
        return load(name)

    records.load = noted
    try:
        yield names
    finally:
        records.load = load


def row(id: str) -> Row:
    """The row of a claim of any document, upper or lower case.  Raises KeyError, which names near ids."""
    prefixes = {document.prefix: chapter for chapter, document in claims.documents().items()}
    prefix = id.upper().partition("-")[0]
    if prefix not in prefixes:
        raise KeyError(
            f"no claim {id!r}: the claims of this book are {', '.join(f'{one}-01' for one in prefixes)}, ..."
        )
    return Ledger(prefixes[prefix])[id.upper()]


def show(row: Row, *, anew: bool = False) -> bool:
    """Decide a claim by its rule and print it; whether the ledger says the same, and no recomputed cell differs.

    Where the claim has no rule as a function yet, what the ledger says is printed.
    """
    if (rule := rules(row.chapter).get(row.id)) is None:
        click.echo(described(row) + "\n")
        return True
    outcome, names = run(rule) if anew else (rule(), [])
    agree = recomputed(names) if anew else True
    found = Ledger(row.chapter).row(row.id, outcome)
    different = claims.differences(found, row)
    click.echo(described(found, outcome.evidence, row if different else None) + "\n")
    return agree and not different


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


def described(row: Row, evidence: Mapping[str, object] | None = None, against: Row | None = None) -> str:
    """The claim with its outcome in a row, what the rule compared, and what another row, the ledger's, says instead.

    Without evidence the outcome is the ledger's own.
    """
    lines = [f"{row.id}  {row.place}", ""]
    terms = {"Claim": row.claim, "Rule": row.test, "Parameters": parameters(row.parameters)}
    for name, text in terms.items():
        lines += _term(name, [text])
    if evidence:
        width = max(map(len, evidence))
        lines += _term("Evidence", [f"{name:{width}}  {_plain(value)}" for name, value in evidence.items()])
    parts = ", ".join(f"({name}) {verdict}" for name, verdict in row.parts.items())
    found = {
        "Verdict": f"{STYLE[row.verdict][0]} {row.verdict} by the rule{f': {parts}' if parts else ''}",
        "Our reading": f"{STYLE[row.reading][0]} {row.reading}: {row.reading_why}" if row.reading else None,
        "Answer": row.answer,
        "Finding": row.outcome,
        "Page": f"book/{row.address}.md#{row.cell}" if row.cell else None,
    }
    for name, text in found.items():
        lines += _term(name, [text]) if text else []
    return "\n".join([*lines, *_ledger(row, evidence, against)])


def _ledger(row: Row, evidence: Mapping | None, against: Row | None) -> Iterator[str]:
    if evidence is None:
        yield from _term("Ledger", ["this is what it says: a cell of the page decides the claim"])
    elif against is None:
        yield from _term("Ledger", ["says the same"])
    else:
        said = {key: getattr(against, key) for key in OUTCOME if getattr(against, key) != getattr(row, key)}
        yield from _term("Ledger", [f"says {against.verdict}", *(f"{key}: {_plain(said[key] or '-')}" for key in said)])


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


def note(ids: Sequence[str] = ()) -> None:
    """Write which records the rules of claims load when they run; of all claims, without ids."""
    found = rests() if ids else {}
    for chapter in CHAPTERS:
        for id, rule in rules(chapter).items():
            if id in ids or not ids:
                found[id] = sorted(run(rule)[1])
    text = json.dumps(dict(sorted(found.items())), indent=1) + "\n"
    (paths.CLAIMS / "records.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    note(sys.argv[1:])
