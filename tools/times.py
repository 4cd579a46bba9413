"""Where the time went: pages of the last build and files of the last test run, the dearest first.

python tools/times.py _build
"""

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

from jupyter_cache import get_cache

SHOWN = 12


def pages(folder: Path) -> Counter:
    """Seconds that each page took in its kernel, of those in the cache of the build."""
    records = get_cache(folder / ".jupyter_cache").list_cache_records()
    return Counter({"/".join(Path(one.uri).parts[-2:]): one.data.get("execution_seconds", 0) for one in records})


def tests(report: Path) -> Counter:
    """Seconds by the file of a test, with its fixtures, from a report of pytest."""
    spent = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        spent[case.get("classname", "").rpartition(".")[2] or case.get("name")] += float(case.get("time", 0))
    return spent


def shown(title: str, spent: Counter) -> str:
    """The sum and the largest parts."""
    lines = [f"{seconds:7.1f}  {name}" for name, seconds in spent.most_common(SHOWN)]
    return "\n".join([f"{title}: {spent.total():.0f} s in {len(spent)}", *lines])


if __name__ == "__main__":
    root = Path(sys.argv[1])
    print(shown("Pages, in their kernels", pages(root)))
    for file in sorted(root.glob("tests-*.xml")):
        print("\n" + shown(f"Tests, {file.stem.partition('-')[2]}", tests(file)))
