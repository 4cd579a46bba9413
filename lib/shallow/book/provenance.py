"""Recorded runs as a reader meets them: a line where a chapter loads one, and a table of all with where they are used.

    three = provenance.load("chapter/three_periods")

The line and the table say what was computed, at what cost, and whether the code behind it has changed since, and link
the data and the manifest: the site has them in the same place as the repository, so that a link leads there from both.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path

import xarray as xr
from IPython.display import display

from shallow.book import paths, records, verification
from shallow.book.claims.display import Display, to
from shallow.book.claims.rows import everything, pages
from shallow.book.recipes import Recipe

COLUMNS = ["recorded run", "time", "redone", "state"]
# Cost, date and state may change without any result changing: tests leave out an output with this mark.
UNCOMPARED = {"nbval-ignore-output": True}
# A MyST target, with the title of the section if it stands right above one, or the loading of a record.
_MARKS = re.compile(r'^\(([\w-]+)\)=$(?:\n+#+ (.+)$)?|\b(provenance|records)\.load\(\s*(f?"[^"]*")', re.M)


@dataclass(frozen=True)
class Use:
    """A place that loads a record: its page, the nearest MyST target above, and the words of a link there."""

    page: str
    target: str
    title: str

    @property
    def link(self) -> str:
        """From the page being run, with symbols in italics."""
        words = re.sub(r"\$([^$]+)\$", r"<i>\1</i>", escape(self.title))
        anchor = self.target.lower().replace("_", "-")
        return f'<a href="{to(self.page)}#{anchor}">{words}</a>'


def load(name: str) -> xr.Dataset:
    """:func:`shallow.book.records.load`, with a line below the cell: cost of the record, whether it is stale, links.

    Raises:
        KeyError, records.RecordError: as :func:`shallow.book.records.load`.
    """
    dataset = records.load(name)
    display(_line(name), metadata=UNCOMPARED)
    return dataset


def _line(name: str) -> Display:
    """The line of :func:`load` in plain text and in HTML."""
    made, state, renew = records.manifest(name), records.state(name), f"python -m shallow record {name}"
    number = f"{made['cells']} cell" + ("" if made["cells"] == 1 else "s")
    about = f"{number}, computing time {records.duration(made['seconds'])}, {plain(made['date'])}"
    text = f"Recorded run {name}: {about}"
    link = f'<a href="{to("provenance")}#{anchor(name)}">{escape(name.split("/")[-1])}</a>'
    data = f"{download(name, 'data')}, {download(name, 'manifest')}"
    html = f'<small class="record">Recorded run {link} ({data}): {about}'
    if state == "stale":
        note = "STALE: the code behind it has changed since; renew it by"
        box = 'style="border-left:.3em solid #cf222e;padding:.4em .9em;margin:.6em 0"'
        stale = f'<div class="record-stale" {box}><b>{note}</b> <code>{escape(renew)}</code></div>'
        return Display(f"{text}. {note}: {renew}", f"{html}</small>{stale}")
    if state == "confirmed":
        redone = f"{percent(verification.share(name))} of the computing"
        cells = f"{len(verification.redone_cells(name))} of {made['cells']} cells"
        state = f"confirmed: the present code has redone {redone}, {cells}"
    return Display(f"{text}; {state}", f"{html}; {state}</small>")


def download(name: str, what: str, words: str | None = None) -> str:
    """A link from the page being run to the data or the manifest of a record."""
    suffix = {"data": ".nc", "manifest": ".json"}[what]
    return f'<a href="{to(f"../records/{name}", suffix)}" download>{words or what}</a>'


def percent(share: float) -> str:
    """A share as a percentage, to two digits below ten."""
    return f"{100 * share:.2g}%" if 0 < share < 0.1 else f"{share:.0%}"


def plain(text: str) -> str:
    """Text of a manifest as it stands, in Markdown and in HTML: nothing in it is taken as markup."""
    return "".join(one if one.isalnum() or one in " .,:-+/" else f"&#{ord(one)};" for one in text)


def anchor(name: str) -> str:
    """The identifier of a record's row on the page of recorded runs."""
    return "record-" + name.replace("/", "-")


def named(code: str, context: str) -> list[str]:
    """The records that strings of a code name: in full, or by gaps that strings or integers of a context fill."""
    fillings = set(re.findall(r'"(\w+)"|\b(\d+)\b', context))
    words = {one for pair in fillings for one in pair}
    found, known = [], list(records.recipes())
    for text in dict.fromkeys(re.findall(r'"(\w+/[\w/{}.]+)"', code)):
        if "{" not in text:
            found.append(text)  # whether there is such a record or not
            continue
        shape = "".join(r"(\w+)" if part[:1] == "{" else part for part in re.split(r"(\{[^}]*\})", text))
        matches = map(re.compile(shape).fullmatch, known)
        found += [match.string for match in matches if match and words.issuperset(match.groups())]
    return found


def uses(folder: Path = paths.BOOK) -> Mapping[str, list[Use]]:
    """Where pages, and the rules of claims that they report, load each record; those that nothing loads have no key.

    Raises:
        ValueError: for a record that is shown above the first target of its page.
    """
    found, sections = defaultdict(list), {}
    for page in pages(folder):
        place, text = None, page.read_text(encoding="utf-8")
        own = page.relative_to(folder).with_suffix("").as_posix()
        for target, title, how, name in _MARKS.findall(text):
            if target:
                place = sections[target] = Use(own, target, title or target.upper())
            elif place is not None:
                for one in named(name, text):
                    found[one].append(place)
            elif how == "provenance":
                what = name.strip('f"')
                raise ValueError(f"{page.name} loads {what!r} above its first target, so that nothing can link there")
    for row in everything():
        for name in row.records if row.id.lower() in sections else ():
            found[name].append(sections[row.id.lower()])
    return {name: list(dict.fromkeys(places)) for name, places in found.items()}


def table(chapter: str | None = None, folder: Path = paths.BOOK) -> Display:
    """The recorded runs of a chapter, or of the book, one a row, by chapters with their totals; the rest is folded."""
    names = [name for name in records.recipes() if chapter is None or name.startswith(f"{chapter}/")]
    used, made = uses(folder), {}
    for name in names:
        with suppress(records.RecordError):
            made[name] = records.manifest(name)
    head = "".join(f'<th scope="col">{name}</th>' for name in COLUMNS)
    body = ""
    for title, group in itertools.groupby(names, lambda name: name.split("/")[0]):
        own = list(group)
        rows = "".join(_row(name, made.get(name), used.get(name, [])) for name in own)
        body += f"<tbody>{_total(title.replace('_', ' ').capitalize(), own, made)}{rows}</tbody>"
    if chapter is None:
        body += f"<tbody>{_total('All', names, made)}</tbody>"
    html = f'<table class="ledger-records"><thead><tr>{head}</tr></thead>{body}</table>'
    return Display(f"{len(made)} recorded runs", html)


def _total(title: str, names: Sequence[str], made: Mapping[str, dict]) -> str:
    """The row above the records of a chapter, or at the end: how many, their cost and the share that was redone."""
    own = {name: made[name] for name in names if name in made}
    cells, seconds, size = (sum(one[key] for one in own.values()) for key in ("cells", "seconds", "bytes"))
    redone = sum(verification.share(name) * one["seconds"] for name, one in own.items()) / max(seconds, 1e-9)
    number = f"{len(own)} record" + ("" if len(own) == 1 else "s")
    about = f"{number}, {cells} cells, {size / 1e6:.1f} MB"
    first = f'<th scope="rowgroup">{title} <small>{about}</small></th>'
    return f"<tr>{first}<td>{records.duration(seconds)}</td><td>{percent(redone)}</td><td></td></tr>"


def _row(name: str, made: dict | None, used: Sequence[Use]) -> str:
    """One row of the table; a record that is missing or damaged has no cost."""
    recipe, state, terms = records.recipe(name), records.state(name), {}
    time = redone = ""
    if made:
        where = made["processor"] if made["device"] == "cpu" else f"{made['device']}, {made['processor']}"
        terms["cells"] = made["cells"]
        terms["data"] = download(name, "data", f"{made['bytes'] / 1e6:.2f} MB")
        terms["made"] = download(name, "manifest", plain(f"{made['date']}, {where}"))
        time, redone = records.duration(made["seconds"]), percent(verification.share(name))
    terms["used in"] = ", ".join(use.link for use in used) or "<b>not used</b>"
    terms["compared"] = rule(recipe)
    said = {"fresh": "fresh", "confirmed": "confirmed", "stale": "<b>stale</b>"}.get(state)
    wrong = "" if said else f"<p><b>{plain(state)}</b></p>"
    title = f"<code>{name.partition('/')[2]}</code> <span>{escape(recipe.about)}</span>"
    items = "".join(f"<dt>{term}</dt><dd>{text}</dd>" for term, text in terms.items())
    first = f"<details><summary>{title}</summary><dl>{items}</dl></details>{wrong}"
    cells = "".join(f"<td>{one}</td>" for one in (first, time, redone, said or "<b>unusable</b>"))
    return f'<tr id="{anchor(name)}">{cells}</tr>'


def rule(recipe: Recipe) -> str:
    """In words, how a recomputed cell is compared with the stored one."""
    agreement = recipe.agreement
    more = f", or {agreement.absolute:g} absolute" if agreement.absolute else ""
    there = f"{agreement.elsewhere:.2g} deviations" if agreement.elsewhere else f"by {_code(recipe.start)}"
    said = [
        f"{word}: {_code(', '.join(f'{name} = {value}' for name, value in values.items()))}"
        for word, values in {"shortened": recipe.shortened, "elsewhere only": recipe.steady}.items()
        if values
    ]
    if agreement.rounding:
        where = f" where {_code(agreement.eigenvalues)} vanish" if agreement.eigenvalues else ""
        said.append(f"elsewhere not: {_code(', '.join(agreement.rounding))}{where}")
    return "; ".join([f"to {agreement.relative:g}{more}", f"elsewhere {there}", *said])


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"
