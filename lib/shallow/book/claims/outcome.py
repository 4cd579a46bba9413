"""What the rule of a claim found: a verdict, an answer in plain words, and the numbers behind both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shallow.book.claims.rows import VERDICTS, check_parts, one_sentence

WORDS = 25  # of an answer, at most


@dataclass(frozen=True)
class Outcome:
    """The outcome of one rule.

    Attributes:
        answer: one plain sentence of at most 25 words, for readers who know nothing of the rule.
        finding: one sentence with the measured numbers, rounded to their statistical precision.
        verdict: by the rule; of a claim with parts theirs combined (:func:`combine`), unless it is given.
        parts: the verdicts of the parts, by letter or name.
        evidence: what the rule compared: intervals, numbers or texts by name.
        reading, reading_why: our verdict where a fair reading differs from the rule's, and why.

    Raises:
        ValueError: an unknown verdict, an empty or long answer, several sentences, a reading without a reason.
    """

    answer: str
    finding: str
    verdict: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)
    evidence: Mapping[str, object] = field(default_factory=dict)
    reading: str | None = None
    reading_why: str | None = None

    def __post_init__(self) -> None:
        for name in ("answer", "finding"):
            object.__setattr__(self, name, one_sentence(getattr(self, name)))
        if len(self.answer.split()) > WORDS:
            raise ValueError(f"answer must have at most {WORDS} words, got {len(self.answer.split())}: {self.answer!r}")
        if not self.verdict:
            object.__setattr__(self, "verdict", combine(self.parts))
        for name in ("verdict", "reading"):
            if (value := getattr(self, name)) not in (*VERDICTS[:-1], *([None] if name == "reading" else [])):
                raise ValueError(f"{name} must be one of {', '.join(VERDICTS[:-1])}, got {value!r}")
        if bool(self.reading) != bool(self.reading_why) or self.reading == self.verdict:
            raise ValueError("reading must differ from the verdict and come with reading_why, or both be left out")


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


def all_of(*conditions: bool | None) -> bool | None:
    """Whether all hold: False if one does not, else None if one is open."""
    return False if any(one is False for one in conditions) else None if None in conditions else True


def any_of(*conditions: bool | None) -> bool | None:
    """Whether one holds: True if one does, else None if one is open."""
    return True if any(one is True for one in conditions) else None if None in conditions else False
