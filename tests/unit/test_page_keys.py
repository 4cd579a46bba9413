"""A page runs again when what it rests on has changed, and not otherwise."""

import page_keys
import pytest

PAGE = "---\nkernelspec: x\n---\n\n```{{code-cell}} ipython3\n:tags: [hide-input]\n\n{}\n```\n"
FILES = {
    "lib/shallow/__init__.py": "",
    "lib/shallow/stats.py": "",
    "lib/shallow/spectra.py": "",
    "experiments/__init__.py": "",
    "experiments/deciding.py": "",
    "requirements.lock": "",
    "book/claims/old.yml": "",
    "book/a/index.md": PAGE.format("from experiments.a.rules import first\nfirst.a_01()"),
    "book/a/second.md": PAGE.format("from experiments.a import cells, rules\nrules.a_02()"),
    "book/b/index.md": PAGE.format('from experiments.b.cells import run\nrecords.load("b/run")'),
    "book/index.md": PAGE.format('records.load("b/run")'),
}
for chapter in "ab":
    FILES |= {
        f"experiments/{chapter}/__init__.py": "",
        f"experiments/{chapter}/recorded.py": f"from experiments.{chapter} import cells",
        f"experiments/{chapter}/cells.py": "from shallow import stats",
        f"experiments/{chapter}/rules/__init__.py": "from experiments.deciding import Rules",
        f"experiments/{chapter}/rules/first.py": "import numpy",
        f"experiments/{chapter}/rules/second.py": "",
        f"records/{chapter}/run.json": "{}",
        f"book/claims/{chapter}.yml": "",
    }
PAGES = ["a/index", "a/second", "b/index", "index"]


@pytest.mark.parametrize(
    ("file", "again"),
    [
        ("experiments/a/rules/first.py", ["a/index", "a/second", "index"]),
        ("experiments/a/rules/second.py", ["a/second", "index"]),
        ("experiments/a/cells.py", ["a/index", "a/second", "index"]),
        ("records/b/run.json", ["b/index", "index"]),
        ("book/claims/b.yml", ["b/index", "index"]),
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
