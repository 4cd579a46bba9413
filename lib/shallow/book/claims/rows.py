"""The ledger as data: documents, rows, and every rule that a ledger file has to keep."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from shallow.book import paths

VERDICTS = ("reproduced", "partly", "contradicted", "corrected", "answered", "undecided", "untested")
RANKS = ("headline", "supporting", "detail")
KINDS = ("statement", "figure", "table", "theorem", "derivation", "open")
# A row ends with its verdict: the file reads as claim, rule, outcome, and comments between rows survive an update.
REQUIRED = ("id", "source", "kind", "rank", "claim", "test", "parameters", "scale", "verdict")
OPTIONAL = ("with", "note", "test_was", "parameters_was", "test_why", "reason")
# What came out, in the order of the file; `page` says where: book/<chapter>/<page>.md, without it book/<chapter>.md.
OUTCOME = ("parts", "answer", "finding", "reading", "reading_why", "page", "cell")
ALLOWED = {"verdict": VERDICTS, "rank": RANKS, "kind": KINDS, "scale": ("live", "recorded")}
WORDS = 25  # of an answer, at most

# A sentence that goes on after its end: "... in 3 of 5 seeds. The control ...".
_SECOND_SENTENCE = re.compile(r"[.!?]\s+[A-Z]")


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
    """One claim: what the document says and where, the rule fixed in advance, and what came out."""

    chapter: str
    id: str
    source: str | list
    kind: str
    rank: str
    claim: str
    test: str
    parameters: str | Mapping[str, Any]
    scale: str
    verdict: str
    under: str | None = None  # the headline that a supporting or detail row belongs to; `with` in the file
    note: str | None = None
    test_was: str | None = None
    parameters_was: str | Mapping[str, Any] | None = None
    test_why: str | None = None
    reason: str | None = None
    parts: Mapping[str, str] = field(default_factory=dict)
    answer: str | None = None
    finding: str | None = None
    reading: str | None = None  # our verdict, where a fair reading differs from the rule's
    reading_why: str | None = None
    page: str | None = None
    cell: str | None = None

    @property
    def place(self) -> str:
        """Where the document says it."""
        return self.source if isinstance(self.source, str) else "; ".join(self.source)

    @property
    def address(self) -> str:
        """The page that decides it: below the book's folder, without suffix."""
        return f"{self.chapter}/{self.page}" if self.page else self.chapter

    @property
    def outcome(self) -> str:
        """The finding, or why there is none."""
        return self.finding or self.reason or ""


def one_sentence(text: str, name: str = "finding") -> str:
    """The text with single spaces; ValueError unless it is one non-empty sentence."""
    plain = " ".join(str(text).split())
    if not plain:
        raise ValueError(f"{name} must be one sentence, got an empty text")
    if _SECOND_SENTENCE.search(plain):
        raise ValueError(f"{name} must be one sentence (join clauses by a semicolon), got {plain!r}")
    return plain


def short(text: str) -> str:
    """The text as :func:`one_sentence`; ValueError unless it has at most WORDS words."""
    if len((plain := one_sentence(text, "answer")).split()) > WORDS:
        raise ValueError(f"answer must have at most {WORDS} words, got {len(plain.split())}: {plain!r}")
    return plain


def check_reading(verdict: str, reading: str | None, why: str | None) -> None:
    """ValueError unless the verdict is one that a rule can give, and a reading another one, with its reason."""
    for name, value in {"verdict": verdict, "reading": reading or verdict}.items():
        if value not in VERDICTS[:-1]:
            raise ValueError(f"{name} must be one of {', '.join(VERDICTS[:-1])}, got {value!r}")
    if bool(reading) != bool(why) or reading == verdict:
        raise ValueError("reading must differ from the verdict and come with reading_why, or both be left out")


def check_parts(parts: Mapping[str, str]) -> None:
    """ValueError unless parts maps letters (or names of readings) to verdicts other than untested."""
    if not isinstance(parts, Mapping) or not parts:
        raise ValueError(f"parts must be a non-empty mapping of letters to verdicts, got {parts!r}")
    for name, verdict in parts.items():
        if not isinstance(name, str) or verdict not in VERDICTS[:-1]:
            raise ValueError(f"part {name!r} must be one of {', '.join(VERDICTS[:-1])}, got {verdict!r}")


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


def rests(folder: Path = paths.CLAIMS) -> dict[str, list[str]]:
    """The recorded runs on which each claim rests: those that its rule loads, as noted when it ran."""
    return json.loads((folder / "records.json").read_text(encoding="utf-8"))


def read(chapter: str, folder: Path = paths.CLAIMS) -> list[Row]:
    """All rows of a chapter, checked; LedgerError lists every fault by file and row."""
    known = documents(folder)
    if chapter not in known:
        raise ValueError(f"chapter must be one of {', '.join(known)}, got {chapter!r}")
    path = folder / f"{chapter}.yml"
    entries = _load(path)
    if faults := list(_faults(entries, known[chapter].prefix)):
        raise LedgerError("\n".join(f"{path.name}: {fault}" for fault in faults))
    return [_row(chapter, entry) for entry in entries]


def _load(path: Path) -> Any:
    try:
        return _Loader(path.read_bytes()).get_single_data()
    except yaml.YAMLError as error:
        raise LedgerError(f"{path.name}: {error}") from error


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML 1.2 by libyaml, seven times faster than by ruamel.yaml, which writes it (:mod:`.update`).

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


def _row(chapter: str, entry: Mapping[str, Any]) -> Row:
    values = {("under" if key == "with" else key): value for key, value in entry.items()}
    for key in ("answer", "finding", "reading_why"):
        if values.get(key):
            values[key] = " ".join(values[key].split())
    return Row(chapter=chapter, **values)


def _faults(entries: Any, prefix: str) -> Iterator[str]:
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
        yield from (f"{name}: {fault}" for fault in (*_faults_of_claim(entry, headlines), *_faults_of_outcome(entry)))


def _faults_of_claim(entry: Mapping[str, Any], headlines: Set[str]) -> Iterator[str]:
    missing = [key for key in REQUIRED if entry.get(key) in (None, "", [], {})]
    yield from (f"`{key}` is missing" for key in missing)
    yield from (f"unknown key {key!r}" for key in entry if key not in REQUIRED + OPTIONAL + OUTCOME)
    for key, allowed in ALLOWED.items():
        if key in entry and entry[key] not in allowed:
            yield f"`{key}` must be one of {', '.join(allowed)}, got {entry[key]!r}"
    if entry.get("with") not in ({None} if entry.get("rank") == "headline" else headlines):
        yield f"`with` must name a headline of this file, in all rows but headlines, got {entry.get('with')!r}"
    if bool(entry.get("test_was") or entry.get("parameters_was")) != bool(entry.get("test_why")):
        yield "a changed rule keeps the old one in `test_was` or `parameters_was` and says in `test_why` what was wrong"


def _faults_of_outcome(entry: Mapping[str, Any]) -> Iterator[str]:
    if list(entry)[-1] != "verdict":
        yield "`verdict` must be the last key of the row"
    if entry.get("verdict") == "untested":
        if not entry.get("reason") or {*OUTCOME} & {*entry}:
            yield f"an untested row has a `reason`, and none of {', '.join(OUTCOME)}"
        return
    if "reason" in entry or entry.get("cell") != str(entry.get("id")).lower():
        yield f"a row with a verdict has `cell: {str(entry.get('id')).lower()}`, and no `reason`"
    try:
        one_sentence(entry.get("finding") or "")
        if "parts" in entry:
            check_parts(entry["parts"])
        if "answer" in entry:
            short(entry["answer"])
        if entry.get("verdict") in VERDICTS:
            check_reading(entry["verdict"], entry.get("reading"), entry.get("reading_why"))
    except ValueError as error:
        yield str(error)
