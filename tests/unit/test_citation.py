"""How the book is cited: entries that other programs read, and heads of pages that say what the ledger says."""

import hashlib
import json
import re

import citation
import claims_data
import pdf
import pytest
from pybtex.database import parse_string

from shallow.book import claims, paths

BASE = "https://example.org/book-of/"
HARD = r"50 % & <b> of $x_1$ #2 ~ {a} \ ^"
CHAPTER = citation.part("heavy_tails", "incollection", HARD, "book/heavy_tails/index")
PREPRINT = citation.document("heavy_tails")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site with the ledger, published at BASE, and the entries of its data."""
    folder = tmp_path_factory.mktemp("site")
    claims_data.write(folder, BASE)
    return folder


def test_bibtex_gives_back_what_was_put_in():
    text = citation.bibtex([CHAPTER, PREPRINT], BASE)
    ours, theirs = parse_string(text, "bibtex").entries.values()
    escaped = r"{50 \% \& <b> of \$x\_1\$ \#2 \textasciitilde{} \{a\} \textbackslash{} \textasciicircum{}}"
    assert (ours.key, ours.type, ours.fields["title"]) == ("shallow2026heavytails", "incollection", escaped)
    assert ours.fields["booktitle"] == citation.settings()["title"]
    assert ours.fields["url"] == f"{BASE}book/heavy_tails/index.html"
    assert [str(person) for person in theirs.persons["author"]] == list(PREPRINT.authors)
    assert theirs.fields["doi"] == PREPRINT.doi == "10.48550/arXiv.2406.04657"
    nowhere = parse_string(citation.bibtex([CHAPTER]), "bibtex").entries[ours.key].fields
    assert nowhere["url"] == citation.settings()["repository-code"] and r"heavy\_tails/index.html" in nowhere["note"]


def test_ris_has_its_tags_in_their_form():
    lines = citation.ris([CHAPTER, PREPRINT], BASE).split("\r\n")
    assert all(re.fullmatch(r"[A-Z][A-Z0-9]  - .*", line) for line in lines if line)
    assert [line for line in lines if line[:2] in ("TY", "ER")] == ["TY  - CHAP", "ER  - ", "TY  - GEN", "ER  - "]
    assert f"TI  - {HARD}" in lines and f"UR  - {BASE}book/heavy_tails/index.html" in lines
    assert [line[6:] for line in lines if line.startswith("AU")][1:] == list(PREPRINT.authors)


@pytest.mark.parametrize("chapter", claims.documents())
def test_documents_are_those_of_the_chapters(chapter):
    """The bibliography and the list of documents agree, up to the case of titles and the order of names."""
    work, row = citation.document(chapter), claims.documents()[chapter]
    assert row.title.lower().startswith(work.title.lower()) and work.year == str(row.year)
    assert all(name.partition(",")[0] in row.authors for name in work.authors)


def test_a_head_is_whole_where_the_book_is_published_and_relative_where_not():
    text = citation.head(CHAPTER, BASE)
    tags = dict(re.findall('<meta name="([^"]+)" content="([^"]*)">', text))
    assert tags["citation_fulltext_html_url"] == f"{BASE}book/heavy_tails/index.html"
    assert re.fullmatch(r"\d{4}/\d\d/\d\d", tags["citation_publication_date"])
    assert tags["citation_title"] == "50 % &amp; &lt;b&gt; of $x_1$ #2 ~ {a} \\ ^"
    assert 'name="citation_fulltext_html_url" content="index.html"' in citation.head(CHAPTER)


@pytest.mark.parametrize(("base", "file"), [("", "toy.pdf"), (BASE, f"{BASE}book/heavy_tails/toy.pdf")])
def test_a_page_that_has_been_printed_names_its_pdf(base, file):
    text = pdf.linked(citation.head(CHAPTER, base), "toy.pdf")
    assert f'<meta name="citation_pdf_url" content="{file}">' in text and pdf.linked(text, "toy.pdf") == text


def test_every_claim_s_bibtex_can_be_read(site):
    texts = [file.read_text(encoding="utf-8").split("\n\n") for file in (site / "book" / "claims").glob("*.bib")]
    ours = parse_string("\n".join(first for first, _ in texts), "bibtex").entries
    theirs = parse_string("\n".join({second for _, second in texts}), "bibtex").entries
    assert {entry.fields["title"].split(":")[0] for entry in ours.values()} == {
        f"{{Claim {row.id}" for row in claims.everything()
    }
    assert set(theirs) == {one.cite for one in claims.documents().values()}


def test_the_ledger_s_data_have_their_digest_beside_them_and_a_date(site):
    data = (site / "book" / "claims.json").read_bytes()
    digest = (site / "book" / "claims.json.sha256").read_text(encoding="utf-8")
    assert digest == f"{hashlib.sha256(data).hexdigest()}  claims.json\n"
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", json.loads(data)["date"])


def test_one_file_has_the_digests_of_all_records_and_rules():
    lines = [line.split("  ") for line in claims_data.digests().splitlines()]
    named = [place for _, place in lines]
    assert named == sorted(set(named))
    assert all(hashlib.sha256((paths.ROOT / place).read_bytes()).hexdigest() == digest for digest, place in lines)
    records = {f"records/{name}.{end}" for name in claims_data.manifests() for end in ("nc", "json")}
    rows = {f"book/claims/{name}.yml" for name in claims.documents()}
    assert records | rows | {"book/claims/first_rules.json"} <= set(named)
    assert "experiments/cyclic_labels/bumps/rules.py" in named
