"""What comes from outside is data, never code; and the library leaves nothing behind outside its clone."""

import os
import re
import subprocess
import sys

import jupytext
import numpy as np
import pytest
import references
from planted.forge import Crafted

from shallow.data import images

# Whoever writes the file that these read decides what the process does.
UNPICKLING = ["pickle", "_pickle", "cloudpickle", "dill", "marshal", "shelve", "joblib.load", "torch.load"]
UNPICKLING += ["pandas.read_pickle", "yaml.load", "yaml.unsafe_load"]
BANNED = ", ".join(f'"{name}" = {{msg = "it runs what a file says"}}' for name in UNPICKLING)
BAN = ("--isolated", "--select=TID251", f"--config=lint.flake8-tidy-imports.banned-api = {{{BANNED}}}")
FOLDERS = ("lib", "experiments", "benchmarks", "tools")


def test_nothing_is_unpickled():
    """Neither by a module nor by a cell of a page."""
    assert "TID251" in references.ruff(*BAN, "-", code="from joblib import load\nload('f')")  # the ban is understood
    assert references.ruff(*BAN, *FOLDERS) == ""
    paths = [path for folder in FOLDERS for path in (references.ROOT / folder).rglob("*.py")]
    sources = [path.read_text(encoding="utf-8") for path in paths]
    cells = [cell.source for path in references.chapters() for cell in references.code_cells(jupytext.read(path))]
    assert len(cells) > 500 and references.ruff(*BAN, "-", code="\n".join(cells)) == ""
    assert re.findall(r"allow_pickle=(?!False)|weights_only=(?!True)", "\n".join(sources + cells)) == []


def test_a_crafted_file_of_images_is_refused_and_runs_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("mnist.npz", x_train=np.array([Crafted()], dtype=object))
    with pytest.raises(ValueError, match=r"mnist\.npz must be a whole \.npz file of plain arrays"):
        images.load("mnist", tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["mnist.npz"]


def test_a_command_leaves_nothing_but_a_cache_in_the_home_of_its_user(tmp_path):
    """Nor in the folder for temporary files, nor where it is called; matplotlib keeps its list of fonts."""
    folders = {name: tmp_path / name for name in ("HOME", "TMPDIR", "here")}
    for folder in folders.values():
        folder.mkdir()
    elsewhere = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "MPLCONFIGDIR"))}
    elsewhere |= {name: str(folder) for name, folder in folders.items()}
    command = [sys.executable, "-m", "shallow", "claim", "CL-14"]
    said = subprocess.run(
        command, cwd=folders["here"], env=elsewhere, capture_output=True, encoding="utf-8", check=True
    )
    assert "CL-14" in said.stdout
    left = [path for folder in folders.values() for path in folder.rglob("*") if path.is_file()]
    assert [path for path in left if path.parent.name not in ("matplotlib", ".matplotlib")] == []
