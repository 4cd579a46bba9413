"""A page runs again when what it rests on has changed, and not otherwise."""

import page_keys
import pytest

PAGE = "---\nkernelspec: x\n---\n\n```{{code-cell}} ipython3\n:tags: [hide-input]\n\n{}\n```\n"
FILES = {
    "lib/shallow/__init__.py": "",
    "lib/shallow/stats.py": '"""As in "b/run"."""',
    "lib/shallow/spectra.py": "",
    "experiments/__init__.py": 'CHAPTERS = ("a", "b")',
    "requirements.lock": "",
    "book/claims/old.yml": "",
    "book/a/index.md": PAGE.format('ledger = claims.Ledger("a")\nledger.show("AA-01", runs=runs)'),
    "book/a/second.md": PAGE.format("from experiments.a import cells\nfrom experiments.a.room import rules_more"),
    "book/b/index.md": PAGE.format('from experiments.b.cells import run\nrecords.load("b/room/run")'),
    "book/index.md": PAGE.format('records.load("b/room/run")'),
}
for chapter in "ab":
    FILES |= {
        f"experiments/{chapter}/__init__.py": "",
        f"experiments/{chapter}/recorded.py": f"from experiments.{chapter} import cells",
        f"experiments/{chapter}/cells.py": "from shallow import stats",
        f"experiments/{chapter}/room/__init__.py": "",
        f"experiments/{chapter}/room/rules.py": f"import numpy\n\ndef {chapter}{chapter}_01():\n    pass",
        f"experiments/{chapter}/room/rules_more.py": f"def {chapter}{chapter}_02():\n    pass",
        f"records/{chapter}/room/run.json": "{}",
        f"book/claims/{chapter}.yml": "",
        f"book/claims/found/{chapter}.json": "",
    }
PAGES = ["a/index", "a/second", "b/index", "index"]


@pytest.mark.parametrize(
    ("file", "again"),
    [
        ("experiments/a/room/rules.py", ["a/index", "index"]),
        ("experiments/a/room/rules_more.py", ["a/second", "index"]),
        ("experiments/a/cells.py", ["a/index", "a/second", "index"]),
        ("records/b/room/run.json", ["b/index", "index"]),
        ("book/claims/a.yml", ["a/index", "a/second", "index"]),
        ("book/claims/found/b.json", ["b/index", "index"]),
        ("lib/shallow/stats.py", PAGES),
        ("lib/shallow/spectra.py", ["index"]),
        ("requirements.lock", PAGES),
        ("book/a/index.md", []),
    ],
)
def test_pages_that_rest_on_a_file_run_again_when_it_changes(tmp_path, file, again):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    pages = [tmp_path / "book" / f"{page}.md" for page in PAGES]
    before = page_keys.keys(tmp_path, pages)
    (tmp_path / file).write_text(FILES[file] + "\n# changed\n", encoding="utf-8")
    after = page_keys.keys(tmp_path, pages)
    assert [name for name, page in zip(PAGES, pages, strict=True) if before[str(page)] != after[str(page)]] == again
