"""Third-party scripts: what is pinned is what is installed, and what a page without npm accepts from elsewhere."""

import json
import re
import tarfile
from pathlib import Path

import pytest
import vendor
from references import ROOT

PACKAGE = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
NAMES = sorted(PACKAGE["vendor"])
SCRIPT = "console.log(1);\n"


def entry(name: str, folder: Path) -> Path:
    """Where the script that a package is loaded by is installed."""
    want = PACKAGE["vendor"][name]
    return folder / want.get("into", "") / want["entry"]


@pytest.mark.skipif(not (vendor.VENDOR / ".installed").exists(), reason="npm has installed no scripts")
@pytest.mark.parametrize("name", NAMES)
def test_the_pinned_script_is_the_installed_one(name):
    content = entry(name, vendor.VENDOR).read_bytes()
    assert vendor.checksum(content, "sha384") == PACKAGE["vendor"][name]["entry_integrity"]


def test_checksums_are_those_of_npm_and_browsers():
    """The example of the W3C's recommendation on Subresource Integrity."""
    known = "sha384-H8BRh8j48O9oYatfu5AZzq6A9RINhZO5H16dQZngK7T62em8MUt1FLm52t+eX6xO"
    assert vendor.checksum(b"alert('Hello, world.');", "sha384") == known


@pytest.mark.parametrize("name", NAMES)
def test_without_npm_a_page_accepts_that_script_only(name, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(vendor, "VENDOR", tmp_path)
    monkeypatch.setattr(vendor.shutil, "which", lambda _: None)
    assert vendor.main() == 0 and "from a CDN" in capsys.readouterr().out
    loader = entry(name, tmp_path).read_text(encoding="utf-8")
    want, version = PACKAGE["vendor"][name], PACKAGE["dependencies"][name]
    source = f"https://cdn.jsdelivr.net/npm/{name}@{version}/{want['strip']}{want['entry']}"
    options = dict(re.findall(r'(src|integrity|crossOrigin): "([^"]*)"', loader))
    assert options == {"src": source, "integrity": want["entry_integrity"], "crossOrigin": "anonymous"}
    assert not (tmp_path / ".installed").exists()


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A package of one script, delivered by a planted npm; returns the installation with the hash that is pinned."""
    (tmp_path / "a.js").write_text(SCRIPT, encoding="utf-8")
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as archive:
        archive.add(tmp_path / "a.js", "package/dist/a.js")
    monkeypatch.setattr(vendor, "ROOT", tmp_path)
    monkeypatch.setattr(vendor, "VENDOR", tmp_path / "vendor")
    monkeypatch.setattr(vendor.shutil, "which", lambda _: "/usr/bin/npm")
    monkeypatch.setattr(vendor, "fetch", lambda *_: tmp_path / "a.tgz")

    def install(pinned: str) -> int:
        want = {"integrity": "", "files": ".*", "strip": "dist/", "entry": "a.js", "entry_integrity": pinned}
        content = {"dependencies": {"a": "1.0.0"}, "vendor": {"a": want}}
        (tmp_path / "package.json").write_text(json.dumps(content), encoding="utf-8")
        return vendor.main()

    return install


def test_an_installed_script_has_to_be_the_pinned_one(planted, tmp_path):
    found = vendor.checksum(SCRIPT.encode(), "sha384")
    assert planted(found) == 0 and (tmp_path / "vendor" / ".installed").exists()
    with pytest.raises(ValueError, match=re.escape(f"a@1.0.0: a.js has {found}, but package.json says sha384-other")):
        planted("sha384-other")
    assert not (tmp_path / "vendor" / ".installed").exists()
