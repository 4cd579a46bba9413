"""The fingerprint of a function changes with the code that it uses, and with nothing else."""

import sys

import pytest
from shallow import fingerprint
from shallow.experiments.cyclic_labels.ensembles import ensemble

CELLS = '''
"""Cells."""
import numpy as np
from mimic import constants as c, tools as t
from mimic.tools import scaled, unused
from mimic.deep import inner

TABLE = {"scaled": lambda x: scaled(x)}

@t.marked
def cell(seed):
    """What it does."""
    return TABLE["scaled"](inner.value(seed)) + c.LARGE

def neighbour(seed):
    return unused(seed)
'''
FILES = {
    "__init__.py": "",
    "cells.py": CELLS,
    "constants.py": "LARGE = 5\n",
    "tools.py": """
from mimic.factor import FACTOR
def marked(f): return f
def scaled(x): return FACTOR * x
def unused(x): return x
""",
    "factor.py": "FACTOR: float = 2\nOTHER = 3\n",
    "deep/__init__.py": "",
    "deep/inner.py": """
import numpy as np
np.setbufsize(8192)
def value(seed): return helper(seed)
def helper(seed): return seed
""",
}


@pytest.fixture
def mimic(tmp_path, monkeypatch):
    """A small package; the result writes a file of it anew and returns the fingerprint of its cell."""
    for name, text in FILES.items():
        (tmp_path / "mimic" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mimic" / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    from mimic import cells

    def changed(name="__init__.py", old="", new="", *, of=cells.cell):
        assert old in FILES[name]
        (tmp_path / "mimic" / name).write_text(FILES[name].replace(old, new) if old else FILES[name])
        return fingerprint.of(of)

    yield changed
    for name in [name for name in sys.modules if name.partition(".")[0] == "mimic"]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("cells.py", "inner.value(seed)", "inner.value(seed + 1)"),  # the cell itself
        ("cells.py", "lambda x: scaled(x)", "lambda x: -scaled(x)"),  # a table that it reads
        ("tools.py", "FACTOR * x", "FACTOR * x + 1"),  # a function imported by name
        ("factor.py", "FACTOR: float = 2", "FACTOR: float = 3"),  # a constant two imports away
        ("tools.py", "def marked(f): return f", "def marked(f): return print or f"),  # its decorator
        ("deep/inner.py", "def helper(seed): return seed", "def helper(seed): return 2 * seed"),  # through a submodule
        ("deep/inner.py", "8192", "4096"),  # a statement that runs at import
        ("constants.py", "LARGE = 5", "LARGE = 6"),  # a module under another name
    ],
)
def test_code_in_use_counts(mimic, name, old, new):
    before = mimic()
    assert mimic(name, old, new) != before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("cells.py", "What it does.", "What it really does."),
        ("cells.py", "import numpy as np", "import numpy as np  # numbers"),
        ("cells.py", "return unused(seed)", "return unused(seed) + 1"),
        ("tools.py", "def unused(x): return x", "def unused(x): return -x"),
        ("factor.py", "OTHER = 3", "OTHER = 4\n\n\nANOTHER = 5"),
    ],
)
def test_words_layout_and_code_not_in_use_do_not_count(mimic, name, old, new):
    before = mimic()
    assert mimic(name, old, new) == before


@pytest.mark.parametrize("line", ["from .deep import inner", "import mimic.deep.inner"])
def test_an_import_that_cannot_be_followed_is_refused(mimic, line):
    with pytest.raises(ValueError, match=rf"mimic.cells must import as in `from package import module`, got '{line}'"):
        mimic("cells.py", "from mimic.deep import inner", line)


def test_a_function_without_a_source_is_refused():
    def local():
        return 0

    with pytest.raises(ValueError, match="top level of a module, got .*local"):
        fingerprint.of(local)


@pytest.mark.parametrize(("change", "counts"), [(b"\nEPOCHS = 1\n", False), (b"\n# a comment\n", False)])
def test_an_addition_to_the_trainer_does_not_count(monkeypatch, change, counts):
    from shallow.train import univariate

    before, read = fingerprint.of(ensemble), fingerprint.Path.read_bytes
    changed = fingerprint.Path(univariate.__file__)
    monkeypatch.setattr(fingerprint.Path, "read_bytes", lambda p: read(p) + (change if p == changed else b""))
    assert (fingerprint.of(ensemble) != before) == counts


def test_a_changed_trainer_counts_for_a_cell_that_calls_it_indirectly(monkeypatch):
    from shallow.train import prefix_sums

    before, read = fingerprint.of(ensemble), fingerprint.Path.read_bytes
    changed = fingerprint.Path(prefix_sums.__file__)

    def altered(path):
        return (
            read(path).replace(b"def hinge_loss(y, values):", b"def hinge_loss(y, values, more=0):")
            if path == changed
            else read(path)
        )

    monkeypatch.setattr(fingerprint.Path, "read_bytes", altered)
    assert fingerprint.of(ensemble) != before
