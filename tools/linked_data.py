"""The book, its chapters and its claims in the words of schema.org, for the heads of their pages (JSON-LD).

A claim's page has two things: the Claim, which is the document's, and the ClaimReview, which is ours.
"""

import json
from collections.abc import Sequence

CONTEXT = "https://schema.org"
#: Kinds of documents, by their entry in BibTeX.
DOCUMENTS = {"techreport": "Report", "misc": "CreativeWork"}


def script(data: Sequence[dict]) -> str:
    """Things as an element of a page's head, in which nothing can end it early."""
    text = json.dumps({"@context": CONTEXT, "@graph": list(data)}, ensure_ascii=False, indent=1)
    return f'<script type="application/ld+json">\n{text.replace("<", chr(92) + "u003c")}\n</script>'


def _where(page: str, base: str, here: str) -> str:
    """Address of a page of the book, or from the page `here` of it where the book is published nowhere."""
    if base:
        return f"{base.rstrip('/')}/{page}.html"
    return f"{'../' * here.count('/')}{page}.html"


def _without_nothing(thing: dict) -> dict:
    return {key: value for key, value in thing.items() if value not in (None, "", [], {})}


def _people(names: Sequence[str]) -> list[dict]:
    """Persons, and of a name that is in one piece an organisation."""
    return [
        {"@type": "Person", "name": " ".join(reversed(name.split(", ")))}
        if ", " in name
        else {"@type": "Organization", "name": name}
        for name in names
    ]


def _document(work) -> dict:
    """What a chapter is about."""
    preprint = work.doi and work.kind == "misc"
    return _without_nothing(
        {
            "@type": "ScholarlyArticle" if preprint else DOCUMENTS.get(work.kind, "CreativeWork"),
            "name": work.title,
            "author": [] if work.authors == ("Anonymous",) else _people(work.authors),
            "datePublished": work.date,
            "description": work.note,
            "identifier": f"doi:{work.doi}" if work.doi else "",
            "sameAs": f"https://doi.org/{work.doi}" if work.doi else "",
        }
    )


def _ours(work, settings: dict, base: str) -> dict:
    """What is said of everything in the book."""
    return {
        "url": _where(work.page, base, work.page),
        "author": _people(work.authors),
        "publisher": _people(work.authors)[0],
        "datePublished": work.date,
        "inLanguage": "en",
        "license": f"https://spdx.org/licenses/{settings['license']}.html",
        "version": str(settings["version"]),
    }


def _whole(work, base: str) -> dict:
    return {"@type": "Book", "name": work.whole, "url": _where("book/index", base, work.page)}


def book(work, settings: dict, titles: dict[str, str], base: str) -> list[dict]:
    """The book, with the titles of its chapters by page, and its ledger."""
    parts = [
        {"@type": "ScholarlyArticle", "headline": title, "url": _where(page, base, work.page)}
        for page, title in titles.items()
    ]
    file = {"@type": "DataDownload", "encodingFormat": "application/json"}
    ledger = {
        "@type": "Dataset",
        "name": "The ledger of claims",
        "description": "What the documents of the book say, by which rule each claim is decided, and what came out.",
        "url": _where("book/claims", base, work.page),
        "distribution": file | {"contentUrl": _where("book/claims", base, work.page).removesuffix("html") + "json"},
    }
    about = {"sameAs": settings["repository-code"], "hasPart": [*parts, ledger]}
    return [{"@type": "Book", "name": work.title} | _ours(work, settings, base) | about]


def chapter(work, documents: Sequence, settings: dict, base: str, changed: str) -> list[dict]:
    """A chapter, the documents that it reruns, and the day of its last change."""
    about = {"headline": work.title, "name": work.title, "dateModified": changed}
    about |= {"isPartOf": _whole(work, base), "isBasedOn": [_document(one) for one in documents]}
    return [_without_nothing({"@type": "ScholarlyArticle"} | _ours(work, settings, base) | about)]


def claim(work, one: dict, document, records: dict[str, dict], settings: dict, base: str) -> list[dict]:
    """A claim of a document, and the book's review of it, from an entry of the ledger."""
    ratings = [{"@type": "Rating", "alternateName": one["verdict"], "ratingExplanation": one["finding"]}]
    if one["reading"]:
        ratings[0]["reviewAspect"] = "by the rule"
        why = {"ratingExplanation": one["reading_why"], "reviewAspect": "in our reading"}
        ratings.append({"@type": "Rating", "alternateName": one["reading"]} | why)
    said = {
        "@type": "Claim",
        "@id": "#claim",
        "name": one["id"],
        "text": one["claim"],
        "author": _document(document).get("author"),
        "datePublished": document.date,
        "appearance": _document(document) | {"description": one["source"]},
    }
    review = {
        "@type": "ClaimReview",
        "@id": "#review",
        "identifier": one["id"],
        "claimReviewed": one["claim"],
        "itemReviewed": {"@id": "#claim"},
        "reviewRating": ratings if one["reading"] else ratings[0],
        "reviewBody": one["answer"] or one["finding"],
        "isPartOf": _whole(work, base),
        "isBasedOn": [_record(name, records[name], base, work.page) for name in one["records"]],
    }
    return [_without_nothing(said), _without_nothing(review | _ours(work, settings, base))]


def _record(name: str, made: dict, base: str, here: str) -> dict:
    """A recorded run, with the digest of its data."""
    data = _where(f"records/{name}", base, here).removesuffix("html") + "nc"
    file = {"@type": "DataDownload", "contentUrl": data, "encodingFormat": "application/x-netcdf"}
    about = {"@type": "Dataset", "name": name, "dateCreated": made["date"]}
    return about | {"distribution": file | {"sha256": made["sha256"], "contentSize": f"{made['bytes']} B"}}
