"""A rule: a function from data and limits to numbers, which decides one claim::

    @decides(runs="<chapter>/<page>/designs")
    def cl_14(runs, *, least, majority):
        more = excess(runs)
        return Found(claims.all_of(more.exceeds(least), ...), {"more": more})

Its words stand in the claim's row, `book/claims/<chapter>.yml`: what the rule is, its limits, the answer, and the
sentence into which the numbers go.  What came out is kept in `book/claims/found/` and written by machines.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from shallow.book import paths, records, session
from shallow.book.claims import verdicts
from shallow.book.claims.rows import Row, documents, read
from shallow.book.claims.words import fill, flat, one_sentence, short

#: Where the data of a rule come from: a recorded run, several of them, or a function that computes them now.
Source = str | tuple[str, ...] | Callable[[], object]
#: What numbers are made of.
PLAIN = str | bool | int | float | np.bool_ | np.integer | np.floating | None


@dataclass(frozen=True)
class Found:
    """What a rule found.

    Attributes:
        decided: the condition that decides, True, False or None (open), or a verdict; or these by part.
        numbers: what the rule compared and what its sentences tell: intervals, numbers or texts by name, or mappings,
            lists and NumPy's arrays of them.
        verdict: of a claim with parts, where they are not combined by :func:`~shallow.book.claims.verdicts.combine`.
    Raises:
        ValueError: a condition or a number is something else; the message has its name.
    """

    decided: Mapping[str, str | bool | None] | str | bool | None
    numbers: Mapping[str, object] = field(default_factory=dict)
    verdict: str | bool | None = ""

    def __post_init__(self) -> None:
        decided = self.decided if isinstance(self.decided, Mapping) else {"decided": self.decided}
        for name, one in [*decided.items(), ("verdict", self.verdict)]:
            verdicts.verdict(one, name)
        if not isinstance(self.numbers, Mapping):
            raise ValueError(f"numbers must be a mapping of names, got {verdicts.given(self.numbers)}")
        for name, one in flat(self.numbers).items():
            if not _is_plain(one):
                raise ValueError(f"number {name!r} must be a number, text or interval, got {verdicts.given(one)}")

    @property
    def parts(self) -> dict[str, str]:
        """The verdicts of the parts."""
        decided = self.decided if isinstance(self.decided, Mapping) else {}
        return {str(name): verdicts.verdict(one) for name, one in decided.items()}


def _is_plain(value: object) -> bool:
    """Whether it is a number or text, or consists of such, as an interval does."""
    return isinstance(value, PLAIN) or is_dataclass(value) and all(map(_is_plain, vars(value).values()))


class Outcome:
    """What a rule found, in the words of its claim's row.

    Attributes:
        row: the claim, with what came out before.   numbers: by name, those in mappings and lists one by one.
        parts, verdict: by the rule.
    Raises:
        ValueError: an unknown verdict.
    """

    def __init__(self, row: Row, found: Found, limits: Mapping[str, object]) -> None:
        self.row, self.numbers, self.parts = row, flat(found.numbers), found.parts
        in_parts, given = isinstance(found.decided, Mapping), found.verdict != ""
        self.verdict = verdicts.combine(self.parts) if in_parts else verdicts.verdict(found.decided)
        self.verdict = verdicts.verdict(found.verdict) if given else self.verdict
        verdicts.check_parts({"": self.verdict})
        self._gaps = {**limits, **found.numbers}

    @property
    def finding(self) -> str:
        """The sentence of the row with the numbers; one that a reader's data lack reads "...", in strict sessions it is
        a ValueError.
        """
        return one_sentence(
            fill(self.row.finding_words, self._gaps, None if session.is_strict() else "\N{HORIZONTAL ELLIPSIS}")
        )

    @property
    def answer(self) -> str | None:
        """The answer of the row, which is about the verdict of the ledger, if any; None where another came out."""
        known = self.row.verdict, dict(self.row.parts)
        same = known in ((self.verdict, self.parts), ("untested", {}))
        return short(fill(self.row.answer_words, self._gaps)) if same and self.row.answer_words else None


class Rule:
    """A function that decides a claim: ``cl_14(runs)`` gives its :class:`Outcome`, ``cl_14()`` that of its own data."""

    def __init__(self, function: Callable[..., Found], sources: Mapping[str, Source]) -> None:
        functools.update_wrapper(self, function)
        self.function, self.sources = function, sources
        self.id = function.__name__.upper().replace("_", "-")
        parameters = inspect.signature(function).parameters.values()
        self.limits = {one.name for one in parameters if one.kind == one.KEYWORD_ONLY}
        if [one.name for one in parameters if one.kind != one.KEYWORD_ONLY] != list(sources):
            raise TypeError(f"decides(...) must name the data of {function.__name__} in their order: {list(sources)}")

    @property
    def records(self) -> list[str]:
        """The names of the recorded runs that the claim rests on."""
        named = [(source,) if isinstance(source, str) else source for source in self.sources.values()]
        return list(dict.fromkeys(name for names in named if isinstance(names, tuple) for name in names))

    def __call__(self, *data: object, **named: object) -> Outcome:
        """Decide by these data, by name or in their order, and by the rule's own sources where none are given."""
        return self.decide(row_of(self.id), *data, **named)

    def decide(self, row: Row, *data: object, **named: object) -> Outcome:
        """Decide by the limits of a row.

        Raises:
            TypeError: for data that the rule does not know.   ValueError: the row has other limits than the function.
        """
        given = inspect.signature(self.function).bind_partial(*data, **named).arguments
        if unknown := given.keys() - self.sources.keys():
            raise TypeError(f"{self.id} is decided by {', '.join(self.sources)}, got {', '.join(sorted(unknown))}")
        if row.limits.keys() != self.limits:
            wanted = ", ".join(sorted(self.limits)) or "none"
            raise ValueError(f"{self.id}: `limits` must be {wanted}, got {', '.join(row.limits) or 'none'}")
        data = {name: given[name] if name in given else load(source) for name, source in self.sources.items()}
        return Outcome(row, self.function(**data, **_numbers(row.limits)), row.limits)


def _numbers(limits: object) -> object:
    """Limits as they are compared: "1/3" is a number."""
    if isinstance(limits, Mapping):
        return {name: _numbers(one) for name, one in limits.items()}
    if isinstance(limits, list):
        return list(map(_numbers, limits))
    fraction = isinstance(limits, str) and re.fullmatch(r"-?\d+/\d+", limits)
    return float(Fraction(limits)) if fraction else limits


def decides(**sources: Source) -> Callable[[Callable[..., Found]], Rule]:
    """Make a function the rule of the claim that it is named after.

    Args:
        sources: its data by parameter: the name of a recorded run, a tuple of such names, of which the function gets
            the datasets, or a function that computes them now.  The limits are its keyword-only parameters.
    """
    return lambda function: Rule(function, sources)


def load(source: Source) -> object:
    """The data of a source."""
    if isinstance(source, str):
        return records.load(source)
    return tuple(map(records.load, source)) if isinstance(source, tuple) else source()


class Rules(Mapping[str, Rule]):
    """The rules of a chapter by the ids of its claims: functions such as ``cl_14``, in `rules.py` of its rooms.

    The text of a module says which rules it holds; it is imported when one of them is asked for.

    Raises:
        ValueError: two functions for one claim.
    """

    def __init__(self, chapter: str, folder: Path = paths.ROOT / "experiments") -> None:
        self.files: dict[str, Path] = {}
        self.folder = folder.parent
        for file in sorted((folder / chapter).glob("*/*.py")):
            for name in re.findall(r"^def ([a-z]{2}_\d\d+)\(", file.read_text(encoding="utf-8"), re.MULTILINE):
                if (id := name.upper().replace("_", "-")) in self.files:
                    raise ValueError(f"{id} must have one rule, got two: in {self.files[id]} and in {file}")
                self.files[id] = file

    def __getitem__(self, id: str) -> Rule:
        module = ".".join(self.files[id].relative_to(self.folder).with_suffix("").parts)
        return getattr(importlib.import_module(module), id.lower().replace("-", "_"))

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.files))

    def __len__(self) -> int:
        return len(self.files)


@functools.cache
def rules(chapter: str) -> Rules:
    """The rules of a chapter."""
    return Rules(chapter)


@functools.cache
def _rows(chapter: str) -> dict[str, Row]:
    return {row.id: row for row in read(chapter)}


def row_of(id: str) -> Row:
    """The row of a claim of any document.  Raises KeyError, which says what ids there are."""
    chapters = {document.prefix: chapter for chapter, document in documents().items()}
    if (prefix := id.partition("-")[0]) not in chapters:
        raise KeyError(f"no claim {id!r}: the claims of this book are {', '.join(f'{p}-01' for p in chapters)}, ...")
    rows = _rows(chapters[prefix])
    if id not in rows:
        raise KeyError(f"no claim {id!r} among {', '.join(rows)}")
    return rows[id]
