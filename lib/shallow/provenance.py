"""Recorded runs as a reader meets them: a line where a chapter loads one, and a table of all with where they are used.

    three = provenance.load("cyclic_labels/heatmap_three_periods")

The line and the table say what was computed, at what cost, and whether the code behind it has changed since.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from html import escape
from pathlib import Path

import xarray as xr
from IPython.display import Markdown, display

from shallow import figures, paths, records
from shallow.claims.display import Display
from shallow.experiments import Band, Exact

PAGE = "provenance.html"
COLUMNS = ["record", "what it is", "cells", "time", "MB", "made", "state", "used in", "compared"]
# Cost, date and state may change without any result changing: tests leave out an output with this mark.
UNCOMPARED = {"nbval-ignore-output": True}
# A MyST target, with the title of the section if it stands right above one, or the loading of a record.
_MARKS = re.compile(r'^\(([\w-]+)\)=$(?:\n+#+ (.+)$)?|\bprovenance\.load\(\s*"([^"]*)"', re.MULTILINE)


@dataclass(frozen=True)
class Use:
    """A place that loads a record: the chapter, its nearest MyST target above, and the words of a link there."""

    chapter: str
    target: str
    title: str

    @property
    def link(self) -> str:
        """As MyST Markdown."""
        return f"[{self.title}](#{self.target})"


def load(name: str) -> xr.Dataset:
    """:func:`records.load`, with a line below the cell: the record with a link, its cost, and whether it is stale.

    Raises:
        KeyError, records.RecordError: as :func:`records.load`.
    """
    dataset = records.load(name)
    display(_line(name), metadata=UNCOMPARED)
    return dataset


def _line(name: str) -> Display:
    """The line of :func:`load` in plain text and in HTML."""
    made, renew = records.manifest(name), f"python -m shallow record {name}"
    number = f"{made['cells']} cell" + ("" if made["cells"] == 1 else "s")
    about = f"{number}, computing time {duration(made['seconds'])}, {made['date']}"
    text = f"Recorded run {name}: {about}"
    link = f'<a href="{PAGE}#{anchor(name)}">{escape(name.split("/")[-1])}</a>'
    html = f'<small class="record">Recorded run {link}: {about}'
    if not records.is_stale(name):
        state = _agreement(made) if records.state(name) == "confirmed" else "fresh"
        return Display(f"{text}; {state}", f"{html}; {state}</small>")
    note = "STALE: the code behind it has changed since; renew it by"
    box = 'style="border-left:.3em solid #cf222e;padding:.4em .9em;margin:.6em 0"'
    return Display(
        f"{text}. {note}: {renew}",
        f'{html}</small><div class="record-stale" {box}><b>{note}</b> <code>{escape(renew)}</code></div>',
    )


def _agreement(made: dict) -> str:
    """In words, which comparison confirmed a record after its code had changed."""
    note = made["confirmed"]
    return f"confirmed for changed code by {note['cells']} of {made['cells']} cells, {note['date']}"


def duration(seconds: float) -> str:
    """Hours, minutes and seconds, h:mm:ss."""
    return str(timedelta(seconds=round(seconds)))


def anchor(name: str) -> str:
    """The identifier of a record's row on the page of recorded runs."""
    return "record-" + name.replace("/", "-")


def uses(folder: Path = paths.BOOK) -> Mapping[str, list[Use]]:
    """Where the chapters load each record, in the order of the text; records that no chapter loads have no key.

    Raises:
        ValueError: for a record that is loaded above the first target of its chapter.
    """
    found = defaultdict(list)
    for chapter in sorted(folder.glob("*.md")):
        place = None
        for target, title, name in _MARKS.findall(chapter.read_text(encoding="utf-8")):
            if target:
                place = Use(chapter.stem, target, title or target.upper())
            elif place is None:
                raise ValueError(
                    f"{chapter.name} loads {name!r} above its first target, so that nothing can link there"
                )
            elif place not in found[name]:
                found[name].append(place)
    return dict(found)


def table(chapter: str | None = None, folder: Path = paths.BOOK) -> Markdown:
    """The recorded runs of a chapter, or of the book with a line of totals, one a row.

    Raises ValueError for a chapter without recorded runs.
    """
    names = [name for name in records.recipes() if chapter is None or name.startswith(f"{chapter}/")]
    if not names:
        raise ValueError(f"chapter must be one of {', '.join(records.CHAPTERS)}, got {chapter!r}")
    used = uses(folder)
    rows = [_row(name, used.get(name, []), short=chapter is not None) for name in names]
    if chapter is None:
        made = list(_manifests(names).values())
        cells, seconds, size = (sum(one[key] for one in made) for key in ("cells", "seconds", "bytes"))
        rows.append([f"**all {len(made)}**", "", cells, duration(seconds), f"{size / 1e6:.1f}", "", "", "", ""])
    return figures.table(COLUMNS, rows)


def _manifests(names: list[str]) -> dict[str, dict]:
    """The manifests of those records that have one."""
    found = {}
    for name in names:
        with suppress(records.RecordError):
            found[name] = records.manifest(name)
    return found


def _row(name: str, used: list[Use], *, short: bool) -> list[object]:
    """One row of the table; a record that is missing has no cost."""
    recipe, state = records.recipe(name), records.state(name)
    shown = {"fresh": "fresh", "confirmed": "fresh, by confirmation"}.get(state, f"**{state}**")
    cost = ["", "", "", ""]
    if made := _manifests([name]).get(name):
        where = made["processor"] if made["device"] == "cpu" else f"{made['device']}, {made['processor']}"
        cost = [made["cells"], duration(made["seconds"]), f"{made['bytes'] / 1e6:.2f}", f"{made['date']}, {where}"]
    title = name.split("/")[-1] if short else name
    return [
        f'<span id="{anchor(name)}"></span>`{title}`',
        recipe.about,
        *cost,
        shown,
        ", ".join(use.link for use in used) or "**not used**",
        rule(recipe.agreement),
    ]


def rule(agreement: Exact | Band) -> str:
    """In words, how a recomputed cell is compared with the stored one."""
    match agreement:
        case Band(over, confidence):
            return f"in the {confidence:.1%} prediction interval of the replicates (`{over}`)"
        case Exact(relative, absolute, elsewhere):
            more = f", or {absolute:g} absolute" if absolute else ""
            here = f"exact to {relative:g}{more}"
            if elsewhere is None:
                return here
            there = rule(elsewhere) if isinstance(elsewhere, Band) else f"to {elsewhere:g}"
            return f"{here}; {there} on another processor"
