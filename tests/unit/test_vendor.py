"""Third-party scripts: what is pinned is what is installed, and what a page without npm accepts from elsewhere."""

import json
import re
from pathlib import Path

import pytest
import vendor
from references import ROOT

PACKAGE = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
NAMES = sorted(PACKAGE["vendor"])


def entry(name: str, folder: Path) -> Path:
    """Where the script that a package is loaded by is installed."""
    want = PACKAGE["vendor"][name]
    return folder / want.get("into", "") / want["entry"]


@pytest.mark.skipif(not (vendor.VENDOR / ".installed").exists(), reason="npm has installed no scripts")
@pytest.mark.parametrize("name", NAMES)
def test_the_pinned_script_is_the_installed_one(name):
    content = entry(name, vendor.VENDOR).read_bytes()
    assert vendor.checksum(content, "sha384") == PACKAGE["vendor"][name]["entry_integrity"]


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
