"""Axe finds nothing that is a serious hindrance on any page."""

import json
import tarfile

import pytest
import references
import vendor

NPM = references.ROOT / "_build" / "npm"
# What axe calls these is a hindrance for somebody: nothing of it may be on a page.
SERIOUS = ("serious", "critical")
# The theme's own doing, on every page alike: (rule, part of the faulty element).
OF_THE_THEME = (
    ("label-content-name-mismatch", "search-button__button"),
    ("label-content-name-mismatch", "theme-switch-button"),
    ("label-content-name-mismatch", "Toggle hidden content"),
    ("aria-required-children", "citation-list"),
)


@pytest.fixture(scope="session")
def axe(available) -> str:
    """The source of axe-core in the version that `package.json` pins, fetched once into _build/npm."""
    wanted = json.loads((references.ROOT / "package.json").read_text(encoding="utf-8"))["testing"]["axe-core"]
    source = NPM / f"axe-{wanted['version']}.js"
    if not source.exists():
        NPM.mkdir(parents=True, exist_ok=True)
        archive = vendor.fetch("axe-core", wanted["version"], wanted["integrity"], NPM)
        with tarfile.open(archive) as tar:
            source.write_bytes(tar.extractfile("package/axe.min.js").read())
        archive.unlink()
    return source.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*references.pages(), "book/claims/CL-14"])
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
