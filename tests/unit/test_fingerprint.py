"""The fingerprint of a function changes with what the code that it uses computes, and with nothing else."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from shallow.book import fingerprint

CELLS = '''
"""Cells."""
import numpy as np
from scipy.ndimage import median_filter
from mimic import constants as c, tools as t
from mimic.tools import scaled, unused
from mimic.deep import inner

TABLE = {"scaled": lambda x: scaled(x)}

@t.marked
def cell(seed):
    """What it does."""
    return TABLE["scaled"](inner.value(seed)) + c.LARGE + median_filter(np.ones(3), 3)

def neighbour(seed):
    return unused(seed)
'''
FILES = {
    "__init__.py": "",
    "cells.py": CELLS,
    "constants.py": "LARGE = 5\nSMALL, TINY = 1, 2\n",
    "tools.py": """
import warnings
from dataclasses import dataclass
from mimic import checks
from mimic.factor import FACTOR
from shallow import checks as refuse

class Diverged(RuntimeError): pass

@dataclass
class Pair:
    left: int = 1
    right: int = 2
    def __post_init__(self):
        if self.left < 0:
            raise ValueError(f"left must not be negative, got {self.left}")

def marked(f): return f

def scaled(x: float, power=1, unused=0) -> float:
    checks.positive(x=x)
    refuse.finite(x=x)
    if x > 10:
        raise Diverged(f"at {x}")
    warnings.warn("slow")
    return FACTOR * x**power + Pair().left

def unused(x): return x
""",
    "checks.py": """
def positive(**numbers):
    for name, value in numbers.items():
        if value <= 0:
            raise ValueError(f"{name} must be positive, got {value}")
""",
    "factor.py": "FACTOR: float = 2\nOTHER = 3\n",
    "deep/__init__.py": "",
    "deep/inner.py": """
import numpy as np
np.setbufsize(8192)
def value(seed):
    total = [helper for helper in [helper(seed)]]
    try:
        if seed == 7: raise ValueError("seven")
    except ValueError:
        return 0
    return total[0] + _recursive(seed)
def helper(seed): return seed
def _recursive(n): return n and _recursive(n - 1)
""",
}


@pytest.fixture
def mimic(tmp_path, monkeypatch):
    """A small package; the result writes files of it anew and returns the fingerprint of its cell."""
    folder = tmp_path / "mimic"

    def write(files):
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")

    write(FILES)
    monkeypatch.syspath_prepend(str(tmp_path))
    from mimic import cells

    def changed(name="__init__.py", old="", new="", more=None):
        assert old in FILES[name]
        write(FILES | {name: FILES[name].replace(old, new) if old else FILES[name]} | (more or {}))
        fingerprint._library.cache_clear()  # as another process
        return fingerprint.of(cells.cell)

    yield changed
    for name in [name for name in sys.modules if name.partition(".")[0] == "mimic"]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("cells.py", "inner.value(seed)", "inner.value(seed + 1)"),  # the cell itself
        ("cells.py", "lambda x: scaled(x)", "lambda x: -scaled(x)"),  # a table that it reads
        ("cells.py", "def cell(seed)", "def cell(seed, n=1)"),  # its parameters
        ("tools.py", "FACTOR * x**power", "FACTOR + x**power"),  # an operator in a function imported by name
        ("tools.py", "power=1", "power=2"),  # a default
        ("tools.py", "left: int = 1", "left: int = 3"),  # a default of a field
        ("tools.py", "left: int = 1\n    right: int = 2", "right: int = 2\n    left: int = 1"),  # order of fields
        ("factor.py", "FACTOR: float = 2", "FACTOR: float = 3"),  # a constant two imports away
        ("tools.py", "def marked(f): return f", "def marked(f): return print or f"),  # its decorator
        ("tools.py", "refuse.finite(x=x)", "print(x)"),
        ("tools.py", "x > 10", "x > 11"),  # what raises an exception that may be caught
        ("deep/inner.py", "def helper(seed): return seed", "def helper(seed): return 2 * seed"),  # through a submodule
        ("deep/inner.py", "[helper(seed)]", "[_recursive(seed)]"),  # another callee of the same form
        ("deep/inner.py", "n and _recursive(n - 1)", "n and _recursive(n - 2)"),  # recursion
        ("deep/inner.py", "seed == 7", "seed == 8"),  # a refusal that is caught
        ("deep/inner.py", "8192", "4096"),  # a statement that runs at import
        ("constants.py", "LARGE = 5", "LARGE = 6"),  # a module under another name
        ("tools.py", "    if x > 10:", "    import decimal\n    if x > 10:"),  # an import that may run code
        ("cells.py", "import numpy as np", "import numpy.ma as np"),  # another library under the same name
        ("cells.py", "import median_filter", "import minimum_filter as median_filter"),  # another function of it
    ],
)
def test_code_in_use_counts(mimic, name, old, new):
    before = mimic()
    assert mimic(name, old, new) != before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("cells.py", "What it does.", "What it really does."),
        ("cells.py", "return unused(seed)", "return unused(seed) + 1"),
        ("cells.py", "from mimic import constants as c, tools as t", "from mimic import tools as t, constants as c"),
        ("tools.py", "def unused(x): return x", "def unused(x): return -x"),
        ("tools.py", "x: float, power=1, unused=0) -> float", "x, power: int = 1, unused=0)"),  # annotations
        ("factor.py", "OTHER = 3", "OTHER = 4\n\n\nANOTHER = 5"),
        ("factor.py", "OTHER = 3", "if TYPE_CHECKING: import decimal"),
        ("tools.py", "    refuse.finite(x=x)\n", "    refuse.positive(x=x)\n    refuse.numbers(x=x)\n"),
        ("tools.py", "def scaled(x", "@refuse.no_module\ndef scaled(x"),
        ("tools.py", "import warnings", "import warnings\nfrom shallow.extras import torch"),
    ],
)
def test_words_and_code_not_in_use_do_not_count(mimic, name, old, new):
    before = mimic()
    assert mimic(name, old, new) == before


def test_moved_and_renamed_code_is_the_same(mimic):
    before = mimic()
    files = {
        "lower/__init__.py": "",
        "lower/core.py": FILES["deep/inner.py"].replace("_recursive(", "_again(").replace("value(", "worth("),
        "multiples.py": FILES["tools.py"].replace("scaled", "multiple"),
        "tools.py": "from mimic.multiples import marked\n",
    }
    moves = {
        "from mimic.deep import inner": "from mimic.lower import core",
        "inner.value": "core.worth",
        "from mimic.tools import scaled, unused": "from mimic.multiples import multiple as scaled, unused",
    }
    cells = CELLS
    for old, new in moves.items():
        cells = cells.replace(old, new)
    assert mimic("cells.py", CELLS, cells, more=files) == before


@pytest.mark.parametrize("line", ["from .deep import inner", "import mimic.deep.inner"])
def test_an_import_that_cannot_be_followed_is_refused(mimic, line):
    with pytest.raises(ValueError, match=rf"mimic.cells must import as in `from package import module`, got '{line}'"):
        mimic("cells.py", "from mimic.deep import inner", line)


def test_threads_that_ask_at_once_get_one_answer(mimic):
    """Workers with several threads compute cells side by side, and each asks first."""
    wanted = mimic()
    from mimic import cells

    for _ in range(20):
        fingerprint._library.cache_clear()
        with ThreadPoolExecutor(4) as pool:
            assert {*pool.map(lambda _: fingerprint.of(cells.cell), range(8))} == {wanted}
