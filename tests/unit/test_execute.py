"""Pages executed in parallel before the build: each once, with its outputs in the cache that the build reads."""

import json
import os
import subprocess
import sys

from jupyter_cache import get_cache
from references import ROOT

CHAPTER = """---
jupytext: {{text_representation: {{extension: .md, format_name: myst}}}}
kernelspec: {{display_name: Python 3, language: python, name: python3}}
---

```{{code-cell}} ipython3
{code}
```
"""
STRICT = "import os; print('strict:', os.environ['SHALLOW_STRICT'])"


def outputs(cache) -> list[str]:
    """What the last cells of the kept pages have printed."""
    return sorted(cache.get_cache_bundle(one.pk).nb.cells[-1].outputs[0].text for one in cache.list_cache_records())


def test_chapters_are_executed_once_and_kept(tmp_path):
    """A good chapter is kept with its output, one that raises is not, and a second call repeats that one only."""
    chapters = []
    for name, code in (("sum", "print(19 + 23)"), ("strict", STRICT), ("error", "1 / 0")):
        (tmp_path / f"{name}.md").write_text(CHAPTER.format(code=code), encoding="utf-8")
        chapters.append(str(tmp_path / f"{name}.md"))
    environment = {name: value for name, value in os.environ.items() if name != "SHALLOW_STRICT"}
    for repetition in ("2 of 3", "0 of 1", "0 of 1"):
        command = [sys.executable, ROOT / "tools" / "execute.py", tmp_path / "cache", *chapters]
        said = subprocess.run(command, env=environment, check=True, capture_output=True, encoding="utf-8").stdout
        assert f"Executed {repetition} pages" in said
    cache = get_cache(str(tmp_path / "cache"))
    assert outputs(cache) == ["42\n", "strict: 1\n"]
    assert set(json.loads((tmp_path / "cache" / "complete.json").read_text(encoding="utf-8"))) == set(chapters[:2])
    said = subprocess.run([*command[:3], *chapters[:2]], check=True, capture_output=True, encoding="utf-8").stdout
    assert "as they were" in said
