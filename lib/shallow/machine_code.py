"""Where numba keeps machine code: a folder of its own for every state of the sources.

By itself numba looks at the file of a compiled function alone: of a change in another file, whose function it calls,
it sees nothing; and where a process dies between the writing of an index and of the code, an index of the present
source leads to the code of a former one.  In a folder that is named by the sources there is no former code.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from pathlib import Path

LIBRARY = Path(__file__).parent
#: Where the folders are: beside the sources or, where nobody may write there, in the cache of the user.
PLACES = LIBRARY / "__pycache__", Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "shallow")
DAY = 86_400.0  # seconds after which the folder of other sources goes that no process has used
COMPILING = re.compile(rb"numba|compiled|inlined")  # in a file with compiled functions, or what they are made with


def keep() -> None:
    """Have numba keep what it compiles in this process, and in those that it starts, in the folder of these sources.

    It does so by the environment variable NUMBA_CACHE_DIR, and leaves one alone that somebody else has set.  Where no
    place can be written, a warning says so, and the folder is a temporary one, which goes with the process.

    Cost: the reading of all sources, tens of milliseconds.
    """
    places = [place for one in PLACES if (place := Path(os.path.expanduser(one))).is_absolute()]
    if Path(os.environ.get("NUMBA_CACHE_DIR", places[0] / "none")).parent not in places:
        return
    name = f"numba-{_digest(LIBRARY, LIBRARY.parents[1] / 'experiments')}"
    with suppress(OSError):  # without any place numba says so, at the first function that it is to keep
        folder = (next(filter(_is_writable, places), None) or _passing(places)) / name
        os.environ["NUMBA_CACHE_DIR"] = str(folder)
        folder.mkdir(exist_ok=True)
        os.utime(folder)  # it is used
        for other in folder.parent.glob("numba-*"):
            if time.time() - other.stat().st_mtime > DAY:
                shutil.rmtree(other, ignore_errors=True)
    if numba := sys.modules.get("numba"):
        numba.config.reload_config()


def _is_writable(folder: Path) -> bool:
    """Whether files can be written into a folder, which is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _passing(places: list[Path]) -> Path:
    """A folder that goes with this process, and a warning."""
    folder = tempfile.mkdtemp(prefix="shallow-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    said = f"machine code is compiled anew by every process: {' and '.join(map(str, places))} cannot be written"
    warnings.warn(f"{said}; NUMBA_CACHE_DIR names another folder", RuntimeWarning, stacklevel=4)
    return Path(folder)


def _digest(*folders: Path) -> str:
    """Of all files that have to do with compiled functions."""
    files = sorted(file for folder in folders for file in folder.rglob("*.py"))
    contents = [content for file in files if COMPILING.search(content := file.read_bytes())]
    return hashlib.sha256(b"\0".join(contents)).hexdigest()[:12]
