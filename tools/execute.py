"""Execute the pages that are not in Jupyter Book's cache, as many at a time as this process has cores, longest first.

    python tools/execute.py CACHE PAGE.md ...

Jupyter Book executes one page after the other, and a page keeps one core and a bit busy.  It takes from its cache what
it finds there, by the cells alone: pages that rest on other code, records or claims than when they ran go first.  Only
those are looked at that have changed, or what they rest on has, since they were complete.  A page that fails here is
executed again by the build, which reports the error.
"""

import json
import os
import sys
from multiprocessing import Pool
from pathlib import Path

import fingerprint
import page_keys
from jupyter_cache import get_cache
from jupyter_cache.executors import load_executor
from jupyter_cache.executors.basic import ExecutionWorkerLocalMProc, ProcessData

from shallow.extras import cpu_count

TIMEOUT = 600  # seconds for a cell, as in _config.yml
MYST = {"name": "myst_nb_md", "type": "plugin"}


def main(folder: str, pages: list[str]) -> None:
    """Put the pages with their outputs into the cache in `folder`."""
    os.environ["SHALLOW_STRICT"] = "1"
    rests_on, complete = Kept(folder, "keys.json"), Kept(folder, "complete.json")
    present = page_keys.keys(Path(__file__).parents[1], pages)
    whole = {page: present[page] + fingerprint.fingerprint([page]) for page in pages}
    changed = [page for page in pages if complete.get(page) != whole[page]]
    if not changed:
        return print("All pages are as they were executed")
    cache = get_cache(folder)
    staged = [cache.add_nb_to_project(str(Path(page).resolve()), read_data=MYST).pk for page in changed]
    for page, pk in zip(changed, staged, strict=True):
        if present[page] != rests_on.get(page) and (record := cache.get_cached_project_nb(pk)):
            cache.remove_cache(record.pk)
    rests_on.add(present)
    due = load_executor("local-parallel", cache).get_records(None, staged, clear_tracebacks=True)
    due.sort(key=lambda record: Path(record.uri).stat().st_size, reverse=True)
    tasks = [ProcessData(record.pk, record.uri, cache, TIMEOUT, False) for record in due]
    with Pool(cpu_count()) as pool:  # one task at a time: the executor of jupyter-cache hands them out in bunches
        done = pool.map(ExecutionWorkerLocalMProc(), tasks, chunksize=1)
    failed = {uri for status, uri in done if status != 0}
    complete.add({page: whole[page] for page in changed if str(Path(page).resolve()) not in failed})
    print(f"Executed {len(done) - len(failed)} of {len(done)} pages in parallel")


class Kept(dict):
    """What earlier calls have written into a file of the cache."""

    def __init__(self, folder: str, name: str) -> None:
        self.file = Path(folder, name)
        super().__init__(json.loads(self.file.read_text(encoding="utf-8")) if self.file.exists() else {})

    def add(self, entries: dict[str, str]) -> None:
        """Write them down with the others."""
        self.update(entries)
        self.file.write_text(json.dumps(self), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
