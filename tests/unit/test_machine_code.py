"""Compiled functions run by the present sources, whatever has happened to what was kept of former ones."""

import ast
import inspect
import os
import pkgutil
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from numba.core.dispatcher import Dispatcher

import experiments
import shallow
from shallow import machine_code

CALLEE = "import numba\n\n\n@numba.njit(cache=True)\ndef one():\n    return {value}\n"
CALLER = "import numba\nfrom experiments.callee import one\n\n@numba.njit(cache=True)\ndef twice(): return 2 * one()\n"


@pytest.fixture
def copy(tmp_path) -> Path:
    """A library that compiles nothing, and experiments in two files that do."""
    (tmp_path / "lib" / "shallow").mkdir(parents=True)
    (tmp_path / "experiments").mkdir()
    shutil.copy(machine_code.__file__, tmp_path / "lib" / "shallow")
    shutil.copy(shallow.__file__, tmp_path / "lib" / "shallow")
    (tmp_path / "experiments" / "caller.py").write_text(CALLER)
    return tmp_path


def twice(copy: Path, value: int) -> str:
    """What a new process says of the compiled function, after an edit of the one that it calls."""
    (copy / "experiments" / "callee.py").write_text(CALLEE.format(value=value))
    said, folder, _ = run(copy, "from experiments.caller import twice; print(twice())")
    assert folder.parent == copy / "lib" / "shallow" / "__pycache__"
    return said


def run(copy: Path, code: str, **changed: str) -> tuple[str, Path, str]:
    """What a new process prints, where its machine code is, and its warnings."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"} | changed
    environment["PYTHONPATH"] = f"{copy / 'lib'}:{copy}"
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # or Python itself misses an edit of the same second and size
    code = f"import shallow, os; {code}; print(os.environ['NUMBA_CACHE_DIR'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=copy, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said, folder = done.stdout.split()
    return said, Path(folder), done.stderr


def kept(copy: Path, ending: str) -> list[Path]:
    return sorted(copy.rglob(f"*.{ending}"))


def test_an_edit_of_another_file_is_noticed(copy):
    assert twice(copy, 1) == "2"
    assert twice(copy, 3) == "6" and len(kept(copy, "nbc")) == 4
    assert twice(copy, 1) == "2" and len(kept(copy, "nbc")) == 4  # that of the first time


def test_folders_that_nobody_uses_go(copy):
    twice(copy, 1)
    (old,) = (copy / "lib" / "shallow" / "__pycache__").glob("numba-*")
    for long_ago in (0.5, 1.5):
        os.utime(old, (old.stat().st_mtime - long_ago * machine_code.DAY,) * 2)
        twice(copy, 2)
        assert old.exists() == (long_ago < 1)


def test_where_nothing_can_be_written_the_code_is_temporary_and_that_is_said_once(copy):
    """Files stand where folders would, since root can write everywhere."""
    for folder in (copy / "lib" / "shallow", copy / "experiments"):
        (folder / "__pycache__").touch()
    (copy / "experiments" / "callee.py").write_text(CALLEE.format(value=1))
    home = {"HOME": str(copy / "home"), "XDG_CACHE_HOME": ""}
    code = "from experiments.caller import twice; print(twice())"
    assert run(copy, code, **home) == ("2", kept(copy, "nbc")[0].parents[1], "")
    assert (copy / "home" / ".cache" / "shallow").is_dir()
    home["HOME"] = str(copy / "lib" / "shallow" / "__init__.py")
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', 'import shallow; {code}'], check=True)"
    said, folder, warned = run(copy, child, **home)
    assert said == "2" and not folder.exists() and warned.count("RuntimeWarning: machine code") == 1


def test_all_files_with_compiled_functions_count():
    """And those from which such a function takes another, or a constant."""
    found = set()
    for package in (shallow, experiments):
        for name in (module.name for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")):
            if not name.startswith(("shallow.book", "shallow.__main__")):
                module = import_module(name)
                functions = [one.py_func for one in vars(module).values() if isinstance(one, Dispatcher)]
                used = {part for one in functions if one.__module__ == name for part in one.__code__.co_names}
                found |= {module.__file__, *imported(module, used)} if used else set()
    assert len(found) > 12
    assert [file for file in found if not machine_code.COMPILING.search(Path(file).read_bytes())] == []


def imported(module, names: set[str]) -> list[str]:
    """The files of this project from which a module imports any of the names."""
    statements = [one for one in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(one, ast.ImportFrom)]
    own = [one for one in statements if (one.module or "").partition(".")[0] in ("shallow", "experiments")]
    origins = {(alias.asname or alias.name): (one.module, alias.name) for one in own for alias in one.names}
    there = [origins[name] for name in names & origins.keys()]
    found = [sys.modules.get(f"{origin}.{name}", sys.modules[origin]) for origin, name in there]
    return [one.__file__ for one in found]
