"""Execute the pages that are not yet in Jupyter Book's cache, as many at a time as there are cores, the longest first.

    python tools/execute.py CACHE PAGE.md ...

Jupyter Book executes one page after the other, and a page keeps one core and a bit busy.  It takes from its cache what
it finds there, by the cells alone: pages that rest on other code, records or claims than when they ran go first.  A
page that fails here is executed again by the build, which reports the error.
"""

import json
import os
import sys
from multiprocessing import Pool
from pathlib import Path

import page_keys
from jupyter_cache import get_cache
from jupyter_cache.executors import load_executor
from jupyter_cache.executors.basic import ExecutionWorkerLocalMProc, ProcessData

TIMEOUT = 600  # seconds for a cell, as in _config.yml
MYST = {"name": "myst_nb_md", "type": "plugin"}


def main(folder: str, pages: list[str]) -> None:
    """Put the pages with their outputs into the cache in `folder`."""
    os.environ["SHALLOW_STRICT"] = "1"
    cache = get_cache(folder)
    staged = [cache.add_nb_to_project(str(Path(page).resolve()), read_data=MYST).pk for page in pages]
    present, kept = page_keys.keys(Path(__file__).parents[1], pages), Path(folder, "keys.json")
    former = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    for page, pk in zip(pages, staged, strict=True):
        if present[page] != former.get(page) and (record := cache.get_cached_project_nb(pk)):
            cache.remove_cache(record.pk)
    kept.write_text(json.dumps(former | present), encoding="utf-8")
    due = load_executor("local-parallel", cache).get_records(None, staged, clear_tracebacks=True)
    due.sort(key=lambda record: Path(record.uri).stat().st_size, reverse=True)
    tasks = [ProcessData(record.pk, record.uri, cache, TIMEOUT, False) for record in due]
    with Pool() as pool:  # one task at a time: the executor of jupyter-cache hands them out in bunches
        done = pool.map(ExecutionWorkerLocalMProc(), tasks, chunksize=1)
    print(f"Executed {[status for status, _ in done].count(0)} of {len(done)} pages in parallel")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
