"""Execute the chapters that are not yet in Jupyter Book's cache, as many at a time as there are cores.

    python tools/execute.py CACHE CHAPTER.md ...

Jupyter Book executes one chapter after the other, and a chapter keeps one core and a bit busy.  It takes from its cache
what it finds there; a chapter that fails here is executed again by the build, which reports the error.
"""

import os
import sys
from pathlib import Path

from jupyter_cache import get_cache
from jupyter_cache.executors import load_executor

TIMEOUT = 600  # seconds for a cell, as in _config.yml
MYST = {"name": "myst_nb_md", "type": "plugin"}


def main(folder: str, chapters: list[str]) -> None:
    """Put the chapters with their outputs into the cache in `folder`."""
    os.environ["SHALLOW_STRICT"] = "1"
    cache = get_cache(folder)
    staged = [cache.add_nb_to_project(str(Path(chapter).resolve()), read_data=MYST) for chapter in chapters]
    found = load_executor("local-parallel", cache).run_and_cache(
        filter_pks=[record.pk for record in staged], timeout=TIMEOUT
    )
    print(f"Executed {len(found.succeeded)} of {len(found.all())} chapters in parallel")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
