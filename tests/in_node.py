"""The scripts of the laboratories in node, as the pages load them."""

import json
import shutil
import subprocess
from collections.abc import Sequence

import pytest

from shallow.book import laboratories

LAB = laboratories.STATIC / "lab"
node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed: nothing runs the page's scripts")


def in_node(scripts: Sequence[str], body: str, given) -> list:
    """What the body of a function of `given` returns, after the scripts named; numbers keep their bits."""
    loaded = "".join(f"require({json.dumps(str(LAB / name))});" for name in scripts)
    call = f"const f = (given) => {{{body}}}; const given = JSON.parse(require('fs').readFileSync(0, 'utf-8'));"
    command = ["node", "-e", f"{loaded}{call}process.stdout.write(JSON.stringify(f(given)))"]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, encoding="utf-8", timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
