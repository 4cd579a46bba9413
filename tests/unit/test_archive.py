"""The site in one file: whole, with digests that hold, the same for the same site, and never one that needs the web."""

import hashlib
import os
import re
from zipfile import ZipFile

import archive
import pytest
import vendor

ABOUT = {"title": "A book", "version": "1.2", "url": "https://example.org/book"}
PAGES = {
    "index.html": b"<p>Text</p>" * 100,
    "_sources/book/a.ipynb": b"{}",
    "book/a/a.pdf": b"%PDF",
    "book/claims.json": b"[]",
    "records/run.nc": bytes(range(256)),
    "_static/vendor/whole.js": b"let a = 1;",
}


@pytest.fixture
def site(tmp_path):
    for name, content in {**PAGES, ".buildinfo": b"of the build", "_static/.cache/x": b""}.items():
        file = tmp_path / "html" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return tmp_path / "html"


def test_the_archive_holds_the_site_and_its_digests(site, tmp_path):
    archive.write(site, tmp_path / "book-1.zip", ABOUT)
    with ZipFile(tmp_path / "book-1.zip") as made:
        content = {name.removeprefix("book-1/"): made.read(name) for name in made.namelist()}
    digests = content.pop("SHA256SUMS").decode()
    assert digests == "".join(f"{hashlib.sha256(content[name]).hexdigest()}  {name}\n" for name in sorted(content))
    readme = content.pop("README.txt").decode()
    assert content == PAGES
    assert "A book, version 1.2" in readme and ABOUT["url"] in readme and "book/a/a.pdf" in readme
    named = set(re.findall(r"^  (\S+)", readme, flags=re.MULTILINE)) - {"SHA256SUMS"}
    assert all(any(name.startswith(part.rstrip(",")) for name in PAGES) for part in named) and len(named) == 4


def test_the_same_site_gives_the_same_file(site, tmp_path):
    made = []
    for time in (1e9, 1.5e9):
        for file in site.rglob("*"):
            os.utime(file, (time, time))
        archive.write(site, tmp_path / "book.zip", ABOUT)
        made.append((tmp_path / "book.zip").read_bytes())
        (site / "index.html").chmod(0o600)
    assert made[0] == made[1]
    with ZipFile(tmp_path / "book.zip") as last:
        assert {entry.date_time for entry in last.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_scripts_that_come_from_the_web_are_named(site):
    assert archive.on_the_web(site) == []
    (site / "_static" / "vendor" / "loader.js").write_text(f'load("{vendor.CDN}/x.js")', encoding="utf-8")
    assert archive.on_the_web(site) == ["loader.js"]
