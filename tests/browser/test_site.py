"""The site as a whole: every internal link leads somewhere, pages are light, and axe finds no serious fault."""

import importlib.util
import json
import tarfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest
import references

SITE = references.ROOT / "_build" / "html"
HEAVIEST = 3e6  # bytes of a page itself; a chapter carries its figures and slider frames
NPM = references.ROOT / "_build" / "npm"
# What axe calls these is a hindrance for somebody: nothing of it may be on a page.
SERIOUS = ("serious", "critical")
# The theme's own doing, on every page alike: (rule, part of the faulty element).
OF_THE_THEME = (
    ("label-content-name-mismatch", "search-button__button"),
    ("label-content-name-mismatch", "theme-switch-button"),
)

every_page = pytest.mark.parametrize("name", references.pages())


class Anchors(HTMLParser):
    """The ids of a page and the addresses it links to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and found.get("href"):
            self.links.add(found["href"])


def test_internal_links_and_anchors_resolve(available):
    pages = {file.relative_to(SITE).as_posix(): Anchors(file.read_text()) for file in SITE.rglob("*.html")}
    lost = []
    for name, page in pages.items():
        for link in page.links:
            parts = urlsplit(urljoin(name, link))
            if parts.scheme or parts.netloc or link == "#":
                continue
            target = unquote(parts.path)
            if target in pages:
                if parts.fragment and unquote(parts.fragment) not in pages[target].ids | {""}:
                    lost.append((name, link))
            elif not (SITE / target).exists():
                lost.append((name, link))
    assert len(pages) > 8 and lost == []


@every_page
def test_a_page_is_light(available, name):
    assert (SITE / f"{name}.html").stat().st_size <= HEAVIEST


@pytest.fixture(scope="session")
def axe(available) -> str:
    """The source of axe-core in the version that `package.json` pins, fetched once into _build/npm."""
    wanted = json.loads((references.ROOT / "package.json").read_text())["testing"]["axe-core"]
    source = NPM / f"axe-{wanted['version']}.js"
    if not source.exists():
        spec = importlib.util.spec_from_file_location("vendor", references.ROOT / "tools" / "vendor.py")
        vendor = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(vendor)
        NPM.mkdir(parents=True, exist_ok=True)
        archive = vendor.fetch("axe-core", wanted["version"], wanted["integrity"], NPM)
        with tarfile.open(archive) as tar:
            source.write_bytes(tar.extractfile("package/axe.min.js").read())
        Path(archive).unlink()
    return source.read_text()


@every_page
def test_axe_finds_nothing_serious(page, site, axe, name):
    page.goto(f"{site}/{name}.html")
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    faults = [
        (fault["id"], node["html"][:160])
        for fault in found["violations"]
        if fault["impact"] in SERIOUS
        for node in fault["nodes"]
        if not any(fault["id"] == rule and part in node["html"] for rule, part in OF_THE_THEME)
    ]
    assert found["passes"] and faults == [], f"{len(faults)} faults, the first: {faults[:8]}"
