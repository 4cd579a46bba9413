"""The ledger as data and a page for each claim, as an extension of Sphinx.

When all pages are written, the site gets, beside the page of claims,

    book/claims.json, book/claims.csv   every claim with its rule, outcome, numbers and records
    book/claims.schema.json             what is in them
    book/claims/CL-14.html              one claim to be cited: it links its section, its paper, its records
    records/                            the recorded runs at their places in the repository, copied

The numbers are those of `book/claims/found/`, to which every cell that decides a claim is held.
"""

import contextlib
import csv
import filecmp
import io
import json
import shutil
from collections.abc import Sequence
from html import escape
from pathlib import Path

import claim_role
from fingerprint import fingerprint
from ruamel.yaml import YAML

from shallow.book import claims, paths
from shallow.book.claims import display
from shallow.book.claims.rows import first_rules
from shallow.book.claims.rules import rules

SOURCES = ["lib", "experiments", "records", "book/claims"]

PAGE = """\
<!DOCTYPE html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{id}: {verdict} - {title}</title>
<script>
document.documentElement.dataset.theme = localStorage.getItem("theme")
  || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
</script>
{styles}
</head>
<body class="claim-page">
<main class="bd-article">
<nav aria-label="Claims">{neighbours}</nav>
<h1>{id} {badge}</h1>
{answer}
<h2>The claim</h2>
<p>{claim} <span class="ledger-place">({source})</span></p>
<h2>How it is decided</h2>
<div class="ledger-rule">{rule}</div>
<h2>What came out</h2>
<p>{badge}{parts}</p>
{reading}
<p>{finding}</p>
{numbers}
<h2>Evidence</h2>
<ul>{evidence}</ul>
<h2>Cite</h2>
<p id="cite">{cite}</p>
<h2>Run again</h2>
<pre id="rerun">{rerun}
{rerun} --anew   # recomputes cells of the recorded runs first</pre>
</main>
</body>
</html>
"""


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
        writer.writerow(
            {
                key: json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
                for key, value in one.items()
            }
        )
    return out.getvalue()


def reference(book: dict, id: str, address: str) -> str:
    """How to cite a claim of the book that `CITATION.cff` describes."""
    authors = ", ".join(one.get("name") or f"{one['given-names']} {one['family-names']}" for one in book["authors"])
    year, title, version = book["date-released"].year, book["title"], book["version"]
    return f"{authors} ({year}). {title}, version {version}. Claim {id}. {address}"


def page(
    row: claims.Row,
    one: dict,
    first: dict,
    document: claims.Document,
    around: list[str],
    cite: str,
    repository: str,
    cited: Sequence[str],
) -> str:
    """The page of a claim: complete without scripts, for a browser, a printer and a search engine."""
    styles = ["styles/theme.css", "styles/pydata-sphinx-theme.css", "styles/sphinx-book-theme.css", "style.css"]
    neighbours = [f'<a href="{id}.html">{id}</a>' if id != row.id else f"<b>{id}</b>" for id in around]
    neighbours += [
        f'<a href="../claims.html#{row.id.lower()}">all claims</a>',
        f'<a href="../{document.paper}.html">{escape(document.name)}</a>',
        '<a href="../index.html">the book</a>',
    ]
    where = f"{document.title}, {document.authors}, {document.year}; {one['source']}"
    return PAGE.format(
        id=row.id,
        verdict=row.verdict,
        title=escape(cite.partition(". ")[2].partition(",")[0]),
        styles="\n".join(f'<link rel="stylesheet" href="../../_static/{name}">' for name in [*styles, "ledger.css"]),
        neighbours=" · ".join(neighbours),
        badge=display.badge(row.verdict),
        answer=f'<p><b class="ledger-answer">{escape(row.answer)}</b></p>' if row.answer else "",
        claim=escape(row.claim),
        source=escape(where),
        rule=display.rule_terms(row, first),
        parts=display.parts_list(row.parts),
        reading=display.reading(row),
        finding=escape(row.outcome),
        numbers=_numbers(one["numbers"]),
        evidence="".join(f"<li>{link}</li>" for link in [*_evidence(row, one, document, repository), *cited]),
        cite=escape(cite),
        rerun=one["rerun"],
    )


def _numbers(numbers: list[dict]) -> str:
    """What the rule compared, as a table."""
    if not numbers:
        return ""
    body = "".join(
        f'<tr><th scope="row">{escape(one["name"])}</th>'
        + "".join(f"<td>{escape(_written(one[key])) if key in one else ''}</td>" for key in ("value", "low", "high"))
        + "</tr>"
        for one in numbers
    )
    names = ("What the rule compared", "value", "from", "to (95 %)")
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    return f'<table class="claim-numbers"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _written(value: object) -> str:
    """A value for readers: numbers to four digits."""
    if value is None or isinstance(value, bool):
        return {None: "-", True: "yes", False: "no"}[value]
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _evidence(row: claims.Row, one: dict, document: claims.Document, repository: str) -> list[str]:
    """Links to the section that decides a claim, the paper, the rule as a function and the recorded runs."""
    links = [f'<a href="../{document.paper}.html">The paper: {escape(document.name)}</a>']
    if one["page"]:
        links.insert(0, f'<a href="../{one["page"]}">The section that decides it</a>')
    if file := rules(row.chapter).files.get(row.id):
        name, place = row.id.lower().replace("-", "_"), file.relative_to(paths.ROOT).as_posix()
        links.append(f'The rule as a function: <a href="{repository}/blob/main/{place}">{name} in {place}</a>')
    for record in one["records"]:
        anchor = f"../provenance.html#record-{record.replace('/', '-')}"
        files = (("data", "nc"), ("manifest", "json"))
        data = ", ".join(f'<a href="../../records/{record}.{suffix}" download>{what}</a>' for what, suffix in files)
        links.append(f'Recorded run <a href="{anchor}">{record}</a> ({data})')
    return [*links, 'As data: <a href="../claims.json" download>JSON</a>, <a href="../claims.csv" download>CSV</a>']


def write(site: Path, base: str = "", env=None) -> list[dict]:
    """Write data and pages into a built site, whose own address is `base` where it has one; returns the claims.

    The environment of Sphinx, if given, says which sentences cite a claim.
    """
    book = YAML(typ="safe").load(paths.ROOT / "CITATION.cff")
    documents, rows = claims.documents(), claims.everything()
    first = first_rules()
    entries = [entry(row, first.get(row.id, {}), str(book["version"])) for row in rows]
    whole = {
        "$schema": "claims.schema.json",
        "title": book["title"],
        "version": str(book["version"]),
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
    (folder / "claims.json").write_text(json.dumps(whole, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    (folder / "claims.csv").write_text(table(entries), encoding="utf-8")
    shutil.copyfile(paths.CLAIMS / "claims.schema.json", folder / "claims.schema.json")
    for number, (row, one) in enumerate(zip(rows, entries, strict=True)):
        around = [near.id for near in rows[max(number - 1, 0) : number + 2] if near.chapter == row.chapter]
        address = f"{base.rstrip('/')}/book/{one['address']}"
        address = address if base else f"{book['repository-code']}, page book/{one['address']}"
        cite = reference(book, row.id, address)
        cited = [
            f"Cited in {links}" for links in [env and claim_role.links(env, row.id, "../../{}.html".format)] if links
        ]
        about = row, one, first.get(row.id, {}), documents[row.chapter], around, cite
        text = page(*about, book["repository-code"], cited)
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


def setup(app) -> dict:
    """Called by Sphinx."""
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
