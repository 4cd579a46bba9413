"""The distribution: its wheel, in an environment with NumPy, SciPy and numba alone, runs the examples of README.md."""

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from email import message_from_bytes
from importlib.metadata import distribution
from pathlib import Path

import pytest
from references import ROOT

NUMERICS = ("numpy", "scipy", "numba", "llvmlite")
SECTION = re.search(r"^## Use the library\n(.*?)^## ", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)[1]
EXAMPLES = re.findall(r"^```python\n(.*?)^```", SECTION, flags=re.MULTILINE | re.DOTALL) or [""]  # none is a failure
BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    """The wheel of this checkout, built from a copy."""
    copy, built = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("built")
    for name in ("lib", "experiments"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    subprocess.run([sys.executable, "-c", BUILD, built], cwd=copy, check=True, capture_output=True)
    return zipfile.ZipFile(*built.glob("*.whl"))


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory) -> Path:
    """Python in a new environment that holds the wheel and links to the libraries of NUMERICS."""
    folder = tmp_path_factory.mktemp("env")
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    wheel.extractall(packages)
    for name in NUMERICS:
        files = distribution(name).files
        for part in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            (packages / part).symlink_to(distribution(name).locate_file(part))
    return folder / "bin" / "python"


def test_the_distribution_needs_numpy_scipy_and_numba_alone(wheel):
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = message_from_bytes(wheel.read(name))
    needs = [re.match(r"[\w-]+", text)[0] for text in metadata.get_all("Requires-Dist") if "extra ==" not in text]
    assert (metadata["Name"], sorted(needs)) == ("shallow-book", ["numba", "numpy", "scipy"])


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_print_what_they_say(python, tmp_path, example):
    said = re.findall(r"^print\(.*\)  # (.*)$", example, flags=re.MULTILINE)
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run([python, "-c", example], cwd=tmp_path, env=bare, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == said != []
