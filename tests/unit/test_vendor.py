"""Third-party scripts: what a page that was built without npm accepts from elsewhere is what is pinned."""

import json
import re

import pytest
import vendor
from references import ROOT

PACKAGE = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
NAMES = sorted(PACKAGE["vendor"])


@pytest.mark.parametrize("name", NAMES)
def test_without_npm_a_page_accepts_that_script_only(name, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(vendor, "VENDOR", tmp_path)
    monkeypatch.setattr(vendor.shutil, "which", lambda _: None)
    assert vendor.main() == 0 and "from a CDN" in capsys.readouterr().out
    want, version = PACKAGE["vendor"][name], PACKAGE["dependencies"][name]
    loader = (tmp_path / want.get("into", "") / want["entry"]).read_text(encoding="utf-8")
    source = f"https://cdn.jsdelivr.net/npm/{name}@{version}/{want['strip']}{want['entry']}"
    options = dict(re.findall(r'(src|integrity|crossOrigin): "([^"]*)"', loader))
    assert options == {"src": source, "integrity": want["entry_integrity"], "crossOrigin": "anonymous"}
    assert not (tmp_path / ".installed").exists()
