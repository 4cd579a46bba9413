"""The ledger as data and a page for each claim, as an extension of Sphinx.

When all pages are written, the site gets, beside the page of claims,

    book/claims.json, book/claims.csv   every claim with its rule, outcome, numbers and records
    book/claims.schema.json             what is in them
    book/claims.json.sha256             the digest of the first, as `sha256sum` writes it
    book/claims/CL-14.html              one claim to be cited: it links its section, its paper, its records
    records/                            the recorded runs at their places in the repository, copied
    digests.txt                         of all records and rules; `sha256sum -c` reads it at the root of the repository

The numbers are those of `book/claims/found/`, to which every cell that decides a claim is held.
"""

import contextlib
import csv
import filecmp
import hashlib
import io
import json
import shutil
from pathlib import Path

import citation
import claim_role
from fingerprint import fingerprint, walk
from history import last_changes
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from shallow.book import claims, paths
from shallow.book.claims import display
from shallow.book.claims.rows import first_rules
from shallow.book.claims.rules import rules

SOURCES = ["lib", "experiments", "records", "book/claims"]

TEMPLATES = Environment(loader=FileSystemLoader(paths.BOOK / "_templates"), autoescape=True, keep_trailing_newline=True)


def numbers(row: claims.Row) -> list[dict]:
    """What the rule found, a number an entry; an interval with its ends."""
    return [
        {"name": name} | (dict(zip(("value", "low", "high"), value)) if isinstance(value, list) else {"value": value})
        for name, value in row.numbers.items()
    ]


def manifests() -> dict[str, dict]:
    """What is said of each recorded run, by name."""
    found = {}
    for file in sorted(paths.RECORDS.glob("*/**/*.json")):
        name, made = file.relative_to(paths.RECORDS).with_suffix("").as_posix(), json.loads(file.read_text("utf-8"))
        address = {"data": f"../records/{name}.nc", "manifest": f"../records/{name}.json"}
        found[name] = address | {key: made[key] for key in ("sha256", "bytes", "date")}
    return found


def sources() -> str:
    """A hash over what decides the claims, the same in every clone."""
    with contextlib.chdir(paths.ROOT):
        return fingerprint(SOURCES)


def date() -> str:
    """The day of the last change of what decides the claims; without git that of the release."""
    changes = last_changes(paths.ROOT, *SOURCES).values()
    return max((changed.split()[1] for changed in changes), default=str(citation.settings()["date-released"]))


def digests() -> str:
    """Digests of all records and rules, a line a file, by places in the repository."""
    functions = {file for chapter in claims.documents() for file in rules(chapter).files.values()}
    files = [*walk(paths.ROOT / "records"), *walk(paths.CLAIMS), *functions]
    places = sorted(file.relative_to(paths.ROOT).as_posix() for file in files)
    return "".join(f"{hashlib.sha256((paths.ROOT / place).read_bytes()).hexdigest()}  {place}\n" for place in places)


def entry(row: claims.Row, first: dict, version: str) -> dict:
    """A claim as data; the schema says what each key means."""
    return {
        "id": row.id,
        "document": row.chapter,
        "source": row.place,
        "kind": row.kind,
        "rank": row.rank,
        "claim": row.claim,
        "rule": row.rule,
        "parameters": display.parameters(row.parameters),
        "rule_was": first.get("rule"),
        "parameters_was": display.parameters(first.get("parameters")) or None,
        "rule_why": row.changed,
        "verdict": row.verdict,
        "parts": dict(row.parts),
        "reading": row.reading,
        "reading_why": row.reading_why,
        "answer": row.answer,
        "finding": row.outcome,
        "numbers": numbers(row),
        "records": list(row.records),
        "page": f"{row.address}.html#{row.cell}" if row.cell else None,
        "address": f"claims/{row.id}.html",
        "rerun": f"python -m shallow claim {row.id}",
        "version": version,
    }


def table(entries: list[dict]) -> str:
    """Claims as CSV: a text as it is, nothing for None, lists and mappings as JSON."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(entries[0]), lineterminator="\n")
    writer.writeheader()
    for one in entries:
        nested = {key: value for key, value in one.items() if isinstance(value, list | dict)}
        writer.writerow(one | {key: json.dumps(value, ensure_ascii=False) for key, value in nested.items()})
    return out.getvalue()


def page(row: claims.Row, one: dict, first: dict, around: list[str], work: citation.Work, base: str, env=None) -> str:
    """The page of a claim."""
    function = rules(row.chapter).files.get(row.id)
    markup = {
        "head": citation.head(work, base),
        "badge": display.badge(row.verdict),
        "rule": display.rule_terms(row, first),
        "parts": display.parts_list(row.parts),
        "reading": display.reading(row),
        "entries": citation.links(work),
        "figure": claim_role.picture(env, row, "../../_images") if env else "",
        "cited": claim_role.links(env, row.id, "../../{}.html".format) if env else "",
    }
    return TEMPLATES.get_template("claim.html").render(
        {name: Markup(text) for name, text in markup.items()},
        row=row,
        work=work,
        document=claims.documents()[row.chapter],
        page=one["page"],
        around=around,
        numbers=[(name, [*display.written(value), "", ""][:3]) for name, value in row.numbers.items()],
        function=function and function.relative_to(paths.ROOT).as_posix(),
        repository=citation.settings()["repository-code"],
        reference=citation.reference(work, base),
    )


def write(site: Path, base: str = "", env=None) -> list[dict]:
    """Write data and pages into a built site, whose own address is `base` where it has one; returns the claims.

    The environment of Sphinx, if given, says which sentences cite a claim.
    """
    book = citation.settings()
    documents, rows = claims.documents(), claims.everything()
    first = first_rules()
    entries = [entry(row, first.get(row.id, {}), str(book["version"])) for row in rows]
    whole = {
        "$schema": "claims.schema.json",
        "title": book["title"],
        "version": str(book["version"]),
        "date": date(),
        "sources": sources(),
        "license": book["license"],
        "repository": book["repository-code"],
        "documents": {
            chapter: {key: getattr(one, key) for key in ("title", "authors", "year", "published")}
            | {"paper": f"{one.paper}.html"}
            for chapter, one in documents.items()
        },
        "records": manifests(),
        "claims": entries,
    }
    folder = site / "book"
    (folder / "claims").mkdir(parents=True, exist_ok=True)
    written = (json.dumps(whole, ensure_ascii=False, indent=1) + "\n").encode()
    (folder / "claims.json").write_bytes(written)
    digest = f"{hashlib.sha256(written).hexdigest()}  claims.json\n"
    (folder / "claims.json.sha256").write_text(digest, encoding="utf-8")
    (folder / "claims.csv").write_text(table(entries), encoding="utf-8")
    shutil.copyfile(paths.CLAIMS / "claims.schema.json", folder / "claims.schema.json")
    for number, (row, one) in enumerate(zip(rows, entries, strict=True)):
        around = [near.id for near in rows[max(number - 1, 0) : number + 2] if near.chapter == row.chapter]
        work, about = citation.claim(row.id, row.claim), citation.document(row.chapter)
        citation.write([work, about], site, base)
        text = page(row, one, first.get(row.id, {}), around, work, base, env)
        (folder / one["address"]).write_text(text, encoding="utf-8")
    return entries


def copy_records(site: Path) -> None:
    """Put the recorded runs into a site, those that it has not yet."""
    for source in sorted(file for suffix in ("nc", "json") for file in paths.RECORDS.glob(f"*/**/*.{suffix}")):
        target = site / "records" / source.relative_to(paths.RECORDS)
        if not (target.exists() and filecmp.cmp(source, target)):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def _finish(app, problem) -> None:
    if problem is None and app.builder.format == "html":
        write(Path(app.outdir), app.config.html_baseurl, app.env)
        copy_records(Path(app.outdir))
        Path(app.outdir, "digests.txt").write_text(digests(), encoding="utf-8")


def setup(app) -> dict:
    """Called by Sphinx."""
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
