"""The distribution: its wheel, in an environment with NumPy, SciPy and numba alone, runs the examples of README.md."""

import ast
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
BUILD = "import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])(sys.argv[2])"


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> dict[str, zipfile.ZipFile]:
    """The wheel of this checkout, and what an editable installation unpacks, built from a copy."""
    copy, found = tmp_path_factory.mktemp("copy"), {}
    for name in ("lib", "experiments"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    for name in ("wheel", "editable"):
        folder = tmp_path_factory.mktemp(name)
        subprocess.run(
            [sys.executable, "-c", BUILD, f"build_{name}", folder], cwd=copy, check=True, capture_output=True
        )
        found[name] = zipfile.ZipFile(*folder.glob("*.whl"))
    return found


@pytest.fixture(scope="module")
def wheel(built) -> zipfile.ZipFile:
    return built["wheel"]


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


def test_the_wheel_holds_the_typed_library_and_only_the_editable_one_the_experiments(wheel, built):
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"shallow"}
    assert {"shallow/py.typed", "shallow/book/claims/rules.py", "shallow/book/book.mplstyle"} <= set(wheel.namelist())
    (finder,) = (name for name in built["editable"].namelist() if name.endswith("finder.py"))
    (mapping,) = re.findall(rb"^MAPPING.* = (.*)$", built["editable"].read(finder), re.M)
    assert ast.literal_eval(mapping.decode()).keys() == {"shallow", "experiments"}


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_print_what_they_say(python, tmp_path, example):
    said = re.findall(r"^print\(.*\)  # (.*)$", example, flags=re.MULTILINE)
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run([python, "-c", example], cwd=tmp_path, env=bare, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == said != []
