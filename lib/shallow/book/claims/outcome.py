"""What the rule of a claim found: a verdict, an answer in plain words, and the numbers behind both."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from shallow.book.claims.rows import check_parts, check_reading, one_sentence, short
from shallow.stats import Interval


@dataclass(frozen=True)
class Outcome:
    """The outcome of one rule.

    Attributes:
        answer: one plain sentence of at most 25 words, for readers who know nothing of the rule; or such sentences by
            verdict, "otherwise" for those that are not named.
        finding: one sentence with the measured numbers, rounded to their statistical precision.
        verdict: by the rule, or its condition (:func:`verdict`); of a claim with parts theirs combined
            (:func:`combine`), unless it is given.
        parts: the verdicts of the parts, or their conditions, by letter or name.
        evidence: what the rule compared: intervals, numbers or texts by name.
        reading, reading_why: our verdict where a fair reading differs from the rule's, and why.

    Raises:
        ValueError: an unknown verdict, an empty or long answer, several sentences, a reading without a reason, no
            answer for the verdict.
    """

    answer: str | Mapping[str, str]
    finding: str
    verdict: str | bool | None = ""
    parts: Mapping[str, str | bool | None] = field(default_factory=dict)
    evidence: Mapping[str, object] = field(default_factory=dict)
    reading: str | None = None
    reading_why: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "finding", one_sentence(self.finding))
        object.__setattr__(self, "parts", {name: named(one) for name, one in self.parts.items()})
        object.__setattr__(self, "verdict", named(self.verdict) if self.verdict != "" else combine(self.parts))
        if self.parts:
            check_parts(self.parts)
        check_reading(self.verdict, self.reading, self.reading_why)
        if isinstance(answers := self.answer, Mapping):
            if (answer := answers.get(self.verdict, answers.get("otherwise"))) is None:
                raise ValueError(f"answer must have one for {self.verdict!r} or 'otherwise', got {', '.join(answers)}")
            object.__setattr__(self, "answer", answer)
        object.__setattr__(self, "answer", short(self.answer))

    @property
    def numbers(self) -> list[dict]:
        """The evidence as plain data, in order: name, value and, of an interval, low and high."""
        return [one for name, value in self.evidence.items() for one in _numbers(name, value)]


def _numbers(name: str, value: object) -> Iterator[dict]:
    """One entry, or one for each item of a mapping or list, named "widths, 128"."""
    if isinstance(value, Interval):
        yield {"name": name, **{key: _plain(one) for key, one in zip(("value", "low", "high"), vars(value).values())}}
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from _numbers(f"{name}, {key}", one)
    elif isinstance(value, list | tuple | np.ndarray):
        yield from _numbers(name, dict(enumerate(value, start=1)))
    else:
        yield {"name": name, "value": _plain(value)}


def _plain(value: object) -> bool | int | float | str | None:
    """A number to six digits, None for one that is not finite; anything else as its text in one line."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value if isinstance(value, int | None) else " ".join(str(value).split())


def combine(parts: Mapping[str, str]) -> str:
    """The verdict of a claim from those of its parts: theirs if they agree, else partly.

    Contradicted parts beside parts that are all undecided leave nothing of the claim: contradicted.
    """
    check_parts(parts)
    verdicts = set(parts.values())
    if len(verdicts) == 1:
        return verdicts.pop()
    return "contradicted" if verdicts == {"contradicted", "undecided"} else "partly"


def verdict(holds: bool | None) -> str:
    """Of a claim that stands or falls with one condition: None is "undecided"."""
    return "undecided" if holds is None else "reproduced" if holds else "contradicted"


def named(outcome: str | bool | None) -> str:
    """A verdict as it is, a condition by :func:`verdict`."""
    return outcome if isinstance(outcome, str) else verdict(outcome)


def all_of(*conditions: bool | None) -> bool | None:
    """Whether all hold: False if one does not, else None if one is open."""
    return False if any(one is not None and not one for one in conditions) else None if None in conditions else True


def any_of(*conditions: bool | None) -> bool | None:
    """Whether one holds: True if one does, else None if one is open."""
    return True if any(conditions) else None if None in conditions else False


def opposite(condition: bool | None) -> bool | None:
    """Whether a condition fails: None if it is open."""
    return None if condition is None else not condition


def below(interval: Interval, value: float) -> bool | None:
    """Whether a quantity is below a value: None if its interval contains the value."""
    return opposite(interval.exceeds(value))


def within(interval: Interval, low: float, high: float) -> bool | None:
    """Whether a quantity lies between two values: None if its interval leaves that open."""
    return all_of(interval.exceeds(low), below(interval, high))
