"""How conditions become verdicts: True, False, or None where an interval leaves it open."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping

import numpy as np

from shallow.stats import Interval

VERDICTS = ("reproduced", "partly", "contradicted", "corrected", "answered", "undecided", "untested")


def check_parts(parts: Mapping[str, str]) -> None:
    """ValueError unless parts maps letters (or names of readings) to verdicts other than untested."""
    if not isinstance(parts, Mapping) or not parts:
        raise ValueError(f"parts must be a non-empty mapping of letters to verdicts, got {parts!r}")
    for name, verdict in parts.items():
        if not isinstance(name, str) or verdict not in VERDICTS[:-1]:
            raise ValueError(f"part {name!r} must be one of {', '.join(VERDICTS[:-1])}, got {verdict!r}")


def combine(parts: Mapping[str, str]) -> str:
    """The verdict of a claim from those of its parts: theirs if they agree, else partly.

    Contradicted parts beside parts that are all undecided leave nothing of the claim: contradicted.
    """
    check_parts(parts)
    verdicts = set(parts.values())
    if len(verdicts) == 1:
        return verdicts.pop()
    return "contradicted" if verdicts == {"contradicted", "undecided"} else "partly"


def verdict(holds: str | bool | None, name: str = "holds") -> str:
    """Of a claim that stands or falls with one condition: None is "undecided"; a verdict stays as it is.

    Raises ValueError, with the name of the condition, for anything else, such as a number.
    """
    if isinstance(holds, str):
        return holds
    if not isinstance(holds, bool | np.bool_ | None):
        raise ValueError(f"condition {name!r} must be True, False, None or a verdict, got {given(holds)}")
    return "undecided" if holds is None else "reproduced" if holds else "contradicted"


def given(value: object) -> str:
    """What a message says of something that is not allowed: the beginning of its text, in one line."""
    return textwrap.shorten(repr(value), 60)


def all_of(*conditions: bool | None) -> bool | None:
    """Whether all hold: False if one does not, else None if one is open; ValueError for what is no condition."""
    refuse_numbers(conditions)
    return False if any(one is not None and not one for one in conditions) else None if None in conditions else True


def any_of(*conditions: bool | None) -> bool | None:
    """Whether one holds: True if one does, else None if one is open; ValueError for what is no condition."""
    refuse_numbers(conditions)
    return True if any(conditions) else None if None in conditions else False


def opposite(condition: bool | None) -> bool | None:
    """Whether a condition fails: None if it is open; ValueError for what is no condition."""
    refuse_numbers([condition])
    return None if condition is None else not condition


def refuse_numbers(conditions: Iterable[object]) -> None:
    """ValueError for a condition that is none, such as a number."""
    for one in conditions:
        if not isinstance(one, bool | np.bool_ | None):
            raise ValueError(f"condition must be True, False or None, got {given(one)}")


def below(interval: Interval, value: float) -> bool | None:
    """Whether a quantity is below a value: None if its interval contains the value."""
    return opposite(interval.exceeds(value))


def within(interval: Interval, low: float, high: float) -> bool | None:
    """Whether a quantity lies between two values: None if its interval leaves that open."""
    return all_of(interval.exceeds(low), below(interval, high))
