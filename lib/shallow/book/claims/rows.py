"""The ledger as data: documents, rows, and every rule that a ledger file has to keep."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from shallow.book import paths
from shallow.book.claims import found, words
from shallow.book.claims.verdicts import VERDICTS

RANKS = ("headline", "supporting", "detail")
KINDS = ("statement", "figure", "table", "theorem", "derivation", "open")
REQUIRED = ("id", "source", "kind", "rank", "claim", "rule", "parameters")
#: `changed` says how and why the rule is not the first one, which is kept in first_rules.json.
OPTIONAL = ("with", "note", "changed", "limits", "answer", "finding", "reading", "reading_why", "reason")
ALLOWED = {"rank": RANKS, "kind": KINDS}


class LedgerError(ValueError):
    """A ledger file breaks a rule; the message names the file and every row at fault."""


@dataclass(frozen=True)
class Document:
    """What a chapter is about: the document, and how to cite it."""

    chapter: str  # the file's stem: book/claims/<chapter>.yml
    paper: str  # its page: chapter, or chapter/index where the chapter is a folder of pages
    name: str  # the chapter's title
    title: str
    authors: str
    year: int
    published: str  # kind of document and where it appeared
    prefix: str  # of the ids of its claims
    cite: str  # key in book/references.bib
    thesis: str  # what it claims, in one sentence


@dataclass(frozen=True)
class Row:
    """One claim: what the document says and where, the rule fixed in advance, its words, and what came out."""

    chapter: str
    id: str
    source: str | list
    kind: str
    rank: str
    claim: str
    rule: str  # in words, with its limits
    parameters: str | Mapping[str, Any]
    under: str | None = None  # the headline that a supporting or detail row belongs to; `with` in the file
    note: str | None = None
    changed: str | None = None
    limits: Mapping[str, Any] = field(default_factory=dict)  # numbers; fractions, 1/3, as texts
    answer_words: str | None = None  # with gaps for numbers, see :mod:`.words`; `answer` in the file
    finding_words: str = ""
    reading: str | None = None  # our verdict, where a fair reading differs from the rule's
    reading_why: str | None = None
    reason: str | None = None  # why it is untested
    verdict: str = "untested"
    first: str | None = None  # the verdict when it was decided for the first time
    parts: Mapping[str, str] = field(default_factory=dict)
    answer: str | None = None
    finding: str | None = None
    numbers: Mapping[str, Any] = field(default_factory=dict)
    records: Sequence[str] = ()  # the recorded runs on which it rests
    page: str | None = None  # of the chapter's folder: the one with the claim's label

    @property
    def place(self) -> str:
        """Where the document says it."""
        return self.source if isinstance(self.source, str) else "; ".join(self.source)

    @property
    def address(self) -> str:
        """The page that decides it: below the book's folder, without suffix."""
        return f"{self.chapter}/{self.page}" if self.page else self.chapter

    @property
    def cell(self) -> str | None:
        """The label of the section that decides it; None while it is untested."""
        return None if self.verdict == "untested" else self.id.lower()

    @property
    def outcome(self) -> str:
        """The finding, or why there is none."""
        return self.finding or self.reason or ""


def check_reading(verdict: str, reading: str | None, why: str | None) -> None:
    """ValueError unless a reading is a verdict, another one than the rule's, and comes with its reason."""
    if reading and reading not in VERDICTS[:-1]:
        raise ValueError(f"reading must be one of {', '.join(VERDICTS[:-1])}, got {reading!r}")
    if bool(reading) != bool(why) or reading == verdict:
        raise ValueError("reading must differ from the verdict and come with reading_why, or both be left out")


def documents(folder: Path = paths.CLAIMS) -> dict[str, Document]:
    """The documents of the book in its order, by chapter."""
    entries = _load(folder / "documents.yml").items()
    folders = {page.parent.name for page in pages(folder.parent) if page.parent != folder.parent}
    papers = {chapter: f"{chapter}/index" if chapter in folders else chapter for chapter, _ in entries}
    return {chapter: Document(chapter=chapter, paper=papers[chapter], **entry) for chapter, entry in entries}


def pages(book: Path = paths.BOOK) -> list[Path]:
    """The Markdown files of the book and of its folders in name order; JupyterLab's copies are in hidden ones."""
    return sorted([*book.glob("*.md"), *book.glob("[!.]*/*.md")])


def everything(folder: Path = paths.CLAIMS) -> list[Row]:
    """Every row of every document, in the order of the book."""
    return [row for chapter in documents(folder) for row in read(chapter, folder)]


def first_rules(folder: Path = paths.CLAIMS) -> dict[str, dict]:
    """What was fixed before the first run, of the claims whose rule or parameters were changed since."""
    return json.loads((folder / "first_rules.json").read_text(encoding="utf-8"))


def read(chapter: str, folder: Path = paths.CLAIMS) -> list[Row]:
    """All rows of a chapter, checked, with what came out; LedgerError lists every fault by file and row."""
    known = documents(folder)
    if chapter not in known:
        raise ValueError(f"chapter must be one of {', '.join(known)}, got {chapter!r}")
    path, outcomes = folder / f"{chapter}.yml", found.read(chapter, folder)
    entries = _load(path)
    if faults := list(_faults(entries, known[chapter].prefix, outcomes)):
        raise LedgerError("\n".join(f"{path.name}: {fault}" for fault in faults))
    places = _labels(chapter, folder.parent)
    return [_row(chapter, entry, outcomes.get(entry["id"], {}), places) for entry in entries]


def _labels(chapter: str, book: Path) -> dict[str, str]:
    """The page of a chapter's folder that holds the section of each claim, by its label."""
    places: dict[str, str] = {}
    for page in sorted((book / chapter).glob("*.md")):
        for label in re.findall(r"^\(([a-z]{2}-\d\d+)\)=$", page.read_text(encoding="utf-8"), re.MULTILINE):
            if label in places:
                raise LedgerError(f"label ({label})= must stand once, got it in {places[label]}.md and in {page.name}")
            places[label] = page.stem
    return places


def _load(path: Path) -> Any:
    try:
        return _Loader(path.read_bytes()).get_single_data()
    except yaml.YAMLError as error:
        raise LedgerError(f"{path.name}: {error}") from error


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML 1.2 by libyaml, seven times faster than by ruamel.yaml.

    As there `yes` and `1:30` are texts, 1e-5 is a number, and a key given twice is an error.
    """

    yaml_implicit_resolvers: dict = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"duplicate key {key.value!r}", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


for _tag, _first, _pattern in (
    ("null", ["", "~", "n"], r"|~|null"),
    ("bool", "tf", r"true|false"),
    ("int", "-+0123456789", r"[-+]?(0|[1-9]\d*)"),
    ("float", "-+.0123456789", r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?|[-+]?\.inf|\.nan"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})$"), _first)


def _row(chapter: str, entry: Mapping[str, Any], outcome: Mapping[str, Any], places: Mapping[str, str]) -> Row:
    names = {"with": "under", "answer": "answer_words", "finding": "finding_words"}
    values = {names.get(key, key): value for key, value in entry.items()}
    values["rule"] = words.fill_limits(values["rule"], values.get("limits", {}))
    return Row(chapter=chapter, **values, **outcome, page=places.get(entry["id"].lower()))


def _faults(entries: Any, prefix: str, outcomes: Mapping[str, Mapping]) -> Iterator[str]:
    """Every broken rule of a ledger file, in words that name the row."""
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        yield "must be a list of rows"
        return
    counts = Counter(entry.get("id") for entry in entries)
    headlines = {entry.get("id") for entry in entries if entry.get("rank") == "headline"}
    for number, entry in enumerate(entries, start=1):
        name = entry.get("id", f"row {number}")
        if not re.fullmatch(rf"{prefix}-\d\d+", str(name)) or counts[name] > 1:
            yield f"{name}: `id` must read {prefix}-01, {prefix}-02, ..., each once"
        own = (*_faults_of_claim(entry, headlines), *_faults_of_words(entry, outcomes.get(name, {})))
        yield from (f"{name}: {fault}" for fault in own)


def _faults_of_claim(entry: Mapping[str, Any], headlines: Set[str]) -> Iterator[str]:
    missing = [key for key in REQUIRED if entry.get(key) in (None, "", [], {})]
    yield from (f"`{key}` is missing" for key in missing)
    yield from (f"unknown key {key!r}" for key in entry if key not in REQUIRED + OPTIONAL)
    for key, allowed in ALLOWED.items():
        if key in entry and entry[key] not in allowed:
            yield f"`{key}` must be one of {', '.join(allowed)}, got {entry[key]!r}"
    if entry.get("with") not in ({None} if entry.get("rank") == "headline" else headlines):
        yield f"`with` must name a headline of this file, in all rows but headlines, got {entry.get('with')!r}"


def _faults_of_words(entry: Mapping[str, Any], outcome: Mapping[str, Any]) -> Iterator[str]:
    limits = entry.get("limits", {})
    named = words.limits_in(str(entry.get("rule", "")))
    if not isinstance(limits, Mapping) or named != limits.keys():
        yield f"`rule` must name its limits in braces, {', '.join(limits) or 'none'}, got {', '.join(named) or 'none'}"
    if bool(entry.get("finding")) == bool(entry.get("reason")):
        yield "a row has a `finding`, or while it is untested a `reason`"
        return
    try:
        if "finding" in entry:
            words.one_sentence(entry["finding"])
        if "answer" in entry:
            words.short(words.emptied(entry["answer"]))
        check_reading(outcome.get("verdict", ""), entry.get("reading"), entry.get("reading_why"))
    except ValueError as error:
        yield str(error)
