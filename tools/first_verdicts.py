"""Write `book/claims/first_verdicts.json`: the verdict that each claim got when it was decided for the first time.

    python tools/first_verdicts.py

reads the ledgers of all commits, which takes a minute and needs the whole history.  The page "How far to trust it"
compares these verdicts with today's.
"""

import json
import subprocess

from ruamel.yaml import YAML

from shallow.book import claims, paths

FILE = paths.CLAIMS / "first_verdicts.json"


def git(*words: str) -> str:
    """What git prints, in the repository."""
    done = subprocess.run(["git", *words], cwd=paths.ROOT, capture_output=True, encoding="utf-8", check=True)
    return done.stdout


def first_verdicts() -> dict[str, str]:
    """The first verdict of every claim that a commit of the ledger has decided."""
    found: dict[str, str] = {}
    for commit in git("log", "--reverse", "--topo-order", "--format=%h", "--", str(paths.CLAIMS)).split():
        names = git("ls-tree", "--name-only", f"{commit}:book/claims").split()
        for chapter in claims.documents().keys() & {name.removesuffix(".yml") for name in names}:
            for row in YAML(typ="safe").load(git("show", f"{commit}:book/claims/{chapter}.yml")):
                if row["verdict"] != "untested":
                    found.setdefault(row["id"], row["verdict"])
    return found


if __name__ == "__main__":
    first = first_verdicts()
    lists = {one: sorted(name for name in first if first[name] == one) for one in claims.VERDICTS[:-1]}
    lines = ",\n".join(f"  {json.dumps(one)}: {json.dumps(names)}" for one, names in lists.items())
    FILE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    print({one: len(names) for one, names in lists.items()}, "->", FILE.relative_to(paths.ROOT))
