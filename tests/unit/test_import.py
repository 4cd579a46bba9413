"""The numerics by themselves: with NumPy, SciPy and numba they can be imported and run, and say what else is needed."""

import json
import os
import subprocess
import sys

import pytest
from references import ROOT

from shallow import extras
from shallow.book import records

#: Modules that are written in PyTorch throughout.
IN_TORCH = {"shallow.deep", "shallow.kernels.layered", "shallow.train.accumulated", "shallow.train.first_layer"}
TORCH, MACHINES, IMAGES, BOOK = (
    f"pip install 'shallow-book[{extra}]'" for extra in ("torch", "machines", "images", "book")
)
#: What needs more, and what its error must name.
CALLS = {
    "from shallow.data.nlgp import Process; Process(40, 2.0, 1.0).sample(rng, 3)": TORCH,
    "from shallow.kernels import machines; machines.hinge(np.eye(2), np.array([-1.0, 1.0]), 1.0)": MACHINES,
    "from shallow.data import images; images.load()": IMAGES,
    "import shallow.book.figures": BOOK,
    "import shallow.__main__": BOOK,
}
PROBE = """
import importlib, json, pkgutil, sys

class Nothing:
    "Finds nothing but the standard library and what a bare installation brings."
    allowed = sys.stdlib_module_names | {"numpy", "scipy", "numba", "llvmlite", "shallow"}

    def find_spec(self, name, path=None, target=None):
        package = name.partition(".")[0]
        if package not in self.allowed and not package.startswith("_sysconfigdata"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Nothing())
import numpy as np
import shallow

found, rng = {}, np.random.default_rng(0)
names = [module.name for module in pkgutil.walk_packages(shallow.__path__, "shallow.", onerror=lambda name: None)]
numerics = [f"import {name}" for name in names if not name.startswith(("shallow.book", "shallow.__main__"))]
for statement in numerics + json.loads(sys.argv[1]):
    try:
        exec(statement)
        found[statement] = ""
    except Exception as error:
        found[statement] = f"{type(error).__name__}: {error}"
print(json.dumps(found))
"""


def run(code: str, *arguments: str) -> subprocess.CompletedProcess:
    """Python in a process of its own, with the library of this checkout."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "lib"), "PYTHONWARNINGS": "default"}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True)


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    """Statement -> the error that it ends with, empty for none; all modules of the numerics, and CALLS."""
    return json.loads(run(PROBE, json.dumps(list(CALLS))).stdout)


def test_the_numerics_are_imported_without_any_other_library(found):
    modules = {statement.removeprefix("import "): error for statement, error in found.items() if statement not in CALLS}
    assert len(modules) > 35
    assert {name for name, error in modules.items() if error} == IN_TORCH
    assert all(error.startswith("ImportError: torch") and TORCH in error for error in map(modules.get, IN_TORCH))


@pytest.mark.parametrize("call", CALLS)
def test_what_needs_more_says_what_to_install(found, call):
    assert found[call].startswith("ImportError: ") and CALLS[call] in found[call]


def test_a_library_without_the_book_says_where_the_records_are(monkeypatch):
    monkeypatch.setitem(sys.modules, "experiments", None)
    with pytest.raises(ImportError, match=r"need a clone of the book.*--editable '\.\[book\]'"):
        records.recipe("cyclic_labels/bumps/designs")


def test_torch_is_loaded_by_nobody_who_does_not_need_it():
    code = "import shallow.mlp, shallow.data.images, shallow.data.nlgp, shallow.kernels.machines, shallow.__main__, sys"
    assert run(f"{code}; print({{'torch', 'sklearn'}} & set(sys.modules))").stdout == "set()\n"


def test_systems_without_what_posix_or_linux_has():
    run("import os, sys; sys.modules['fcntl'] = None; vars(os).pop('sched_getaffinity', 0); import shallow.__main__")


def test_without_threadpoolctl_nothing_is_limited_and_that_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)  # cannot be imported
    monkeypatch.delitem(vars(extras), "threadpool_limits", raising=False)
    from shallow.extras import threadpool_limits

    with pytest.warns(RuntimeWarning, match="threadpoolctl is not installed"), threadpool_limits(1, user_api="blas"):
        pass
