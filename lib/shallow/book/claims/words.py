"""Sentences of the ledger with gaps for numbers: "bumps are {more, 0.001} more frequent, in {share:.0%} of the runs".

A gap names a number as a rule gives it; numbers in a mapping are named "more, 0.001", those in a list "widths, 1".
After a colon follows a format as Python has it; a truth value reads yes or no.  The name of a whole mapping or list
stands for all in it, joined by ", " or by what follows a bar: ``{widths:.2f| and }``; with ``|to`` their range, "0.12
to 0.33", and with ``|keys`` all with their names, "128: 0.12, 256: 0.33".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

WORDS = 25  # of an answer, at most
_GAP = re.compile(r"\{([^{}]+)\}")
_LIMIT = re.compile(r"\{([a-z_]\w*)((?::[^{}|]*)?(?:\|[^{}]*)?)\}")  # in the words of a rule: other braces are sets
# A sentence that goes on after its end: "... in 3 of 5 seeds. The control ...".
_SECOND_SENTENCE = re.compile(r"[.!?]\s+[A-Z]")


def fill(text: str, numbers: Mapping[str, object], missing: str | None = None) -> str:
    """The text with its gaps filled by numbers, or by `missing`; without it ValueError for one that is not there."""

    def written(gap: re.Match) -> str:
        try:
            return _written(gap[1], numbers)
        except ValueError:
            if missing is None:
                raise
            return missing

    return _GAP.sub(written, text)


def emptied(text: str) -> str:
    """The text with a sign in the place of every gap."""
    return _GAP.sub("-", text)


def fill_limits(rule: str, limits: Mapping[str, object]) -> str:
    """The words of a rule with its limits; ValueError for a name in braces that is none of them."""
    return _LIMIT.sub(lambda gap: _written(gap[1] + gap[2], limits), rule)


def limits_in(rule: str) -> set[str]:
    """The names of the limits in the words of a rule."""
    return {name for name, _ in _LIMIT.findall(rule)}


def flat(numbers: Mapping[str, object]) -> dict[str, object]:
    """All numbers by their names, those in mappings, lists and arrays one by one."""
    found = {}
    for name, value in numbers.items():
        inner = _items(value)
        found |= {str(name): value} if inner is None else flat({f"{name}, {key}": one for key, one in inner.items()})
    return found


def _items(value: object) -> Mapping | None:
    if isinstance(value, Mapping):
        return value
    several = isinstance(value, list | tuple) or isinstance(value, np.ndarray) and value.ndim
    return dict(enumerate(value, start=1)) if several else None


def _written(gap: str, numbers: Mapping[str, object]) -> str:
    named, _, how = gap.partition("|")
    known = dict(_named(numbers))
    name, _, form = (named, "", "") if named in known else named.rpartition(":")
    if name not in known:
        raise ValueError(f"{{{gap}}} must name one of {', '.join(known)}")
    inner = _items(known[name])
    if how == "to":
        ends = sorted(getattr(one, "estimate", one) for one in flat(inner).values())
        return " to ".join(dict.fromkeys(_one(end, form) for end in (ends[0], ends[-1])))
    if how == "keys":
        return ", ".join(f"{key}: {_one(value, form)}" for key, value in flat(inner).items())
    values = [known[name]] if inner is None else flat(inner).values()
    return (how or ", ").join(_one(value, form) for value in values)


def _named(numbers: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """All numbers by their names, and mappings and lists of them by theirs."""
    for name, value in numbers.items():
        yield str(name), value
        if (inner := _items(value)) is not None:
            yield from _named({f"{name}, {key}": one for key, one in inner.items()})


def _one(value: object, form: str) -> str:
    value = value.item() if isinstance(value, np.generic | np.ndarray) else value
    return ("yes" if value else "no") if isinstance(value, bool) else format(value, form)


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
