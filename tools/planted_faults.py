"""Plant the faults of `planted_faults.yml` in a copy of the tree, one at a time: which check is the first to find each?

    python tools/planted_faults.py              # those that `tools/planted_faults.json` has no outcome of
    python tools/planted_faults.py ddof leak    # these, again

For each the checks are run that `make test` has for its place, quick ones first, until one fails: the unit, agreement
and theory tests that import the changed module, or else those of modules that do (of the ledger and the pages: their
own tests); the claim that hangs on it; a redone cell of three records that have become stale, those with the cheapest
cells; the page that shows it.  The check that failed is run again without the fault, and must pass.  Seconds are those
of computing.  The page "How far to trust it" shows the outcomes.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import xarray as xr
from ruamel.yaml import YAML

from shallow.book import claims

ROOT = Path(__file__).resolve().parents[1]
OUTCOMES = Path(__file__).with_suffix(".json")
LIMIT = 900  # seconds that one check may last
FIRST = 3  # test files that are tried before the others
LEDGER = ("tests/book/test_ledger.py", "tests/unit/claims", "tests/unit/test_claims_data.py")


@dataclass(frozen=True)
class Fault:
    """A fault to plant; the head of the table says what its fields are."""

    name: str
    what: str
    file: str
    claim: str = ""
    old: str = ""
    new: str = ""
    page: str = ""
    tests: Sequence[str] = ()
    point: dict | None = None
    sealed: bool = False

    @classmethod
    def read(cls, entry: dict) -> Fault:
        """From an entry of the table."""
        (name, what), (_, at), *rest = entry.items()
        return cls(name, what, *at, **dict(rest))


FAULTS = [*map(Fault.read, YAML(typ="safe").load(Path(__file__).with_suffix(".yml")))]


def copied(tree: Path) -> None:
    """What git knows of this tree, and new files that it does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)


def environment(tree: Path) -> dict[str, str]:
    """That of a command on the copy, which keeps machine code of its own (`shallow.machine_code`)."""
    roots = (tree / "lib", tree, os.environ.get("PYTHONPATH", ""))
    own = {"PYTHONPATH": os.pathsep.join(filter(None, map(str, roots))), "OMP_NUM_THREADS": "1", "SHALLOW_STRICT": "1"}
    own |= {name: str(tree / ".kept" / name) for name in ("IPYTHONDIR", "MPLCONFIGDIR")}
    return {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"} | own


def changed(fault: Fault, text: str) -> str:
    """The text of a file with the fault in it; ValueError if it no longer fits."""
    heads = {".yml": ("- id: ", ""), ".json": ('"', '": {')}.get(Path(fault.file).suffix)
    row = heads and re.search(rf"^{heads[0]}{fault.claim}{heads[1]}\n.*?(?=^{heads[0]}|\Z)", text, re.M | re.S)
    part = row[0] if row else text
    if part.count(fault.old) != 1:
        raise ValueError(f"{fault.file} must hold {fault.old!r} once, has it {part.count(fault.old)} times")
    return text.replace(part, part.replace(fault.old, fault.new))


FIT = """
from shallow.book import fingerprint, records
for name in filter(records.is_stale, records.recipes()):
    records.write(name, records.manifest(name) | {"fingerprint": fingerprint.of(records.recipe(name).cell)})
"""


def plant(fault: Fault, tree: Path) -> None:
    """Put a fault into a file, or into the number of a record."""
    file = tree / fault.file
    if not fault.point:
        file.write_text(changed(fault, file.read_text(encoding="utf-8")), encoding="utf-8")
        if fault.sealed:
            subprocess.run([sys.executable, "-c", FIT], cwd=tree, env=environment(tree), check=True)
        return
    dataset = xr.load_dataset(file, engine="h5netcdf")
    numbers = dataset[fault.old].loc
    numbers[fault.point] = eval(fault.new, {"x": numbers[fault.point]})
    content, manifest = bytes(dataset.to_netcdf(engine="h5netcdf")), file.with_suffix(".json")
    file.write_bytes(content)
    if fault.sealed:
        seal = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        said = json.loads(manifest.read_text(encoding="utf-8")) | seal
        manifest.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")


def restore(fault: Fault, tree: Path) -> None:
    """The tree as it was: the file of the fault, and all manifests."""
    for file in (ROOT / fault.file, *(ROOT / "records").rglob("*.json")):
        shutil.copy2(file, tree / file.relative_to(ROOT))


def imports(file: Path) -> set[str]:
    """Dotted names that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return found


def reached(test: Path, tree: Path) -> set[str]:
    """What a test file imports, and what the tables and helpers of tests do that are among it."""
    found = imports(test)
    helpers = (tree / "tests" / f"{name.replace('.', '/')}.py" for name in found)
    return found.union(*(imports(file) for file in helpers if file.is_file()))


def tests_of(fault: Fault, tree: Path) -> list[str]:
    """Test files that import the module of a fault, or else a module that does; those first that say its name, then
    those that say most often in which function it is; its own at the end."""
    if not fault.file.endswith(".py"):
        return [*(LEDGER if fault.file.startswith(("book/claims/", "records/")) else fault.tests)]
    suites = [tree / "tests" / folder for folder in ("unit", "agreement", "theory")]
    files = {file: reached(file, tree) for suite in suites for file in suite.rglob("test_*.py")}
    names = {module(fault.file)}
    if not any(names & imported for imported in files.values()):
        sources = [file for folder in ("lib", "experiments") for file in (tree / folder).rglob("*.py")]
        names = {module(str(file.relative_to(tree))) for file in sources if names & imports(file)}
    above = (ROOT / fault.file).read_text(encoding="utf-8").partition(fault.old)[0]
    around = re.findall(r"^ *(?:def|class) ([a-z]\w*)", above, re.MULTILINE)[-1:]

    def order(file: Path) -> tuple:
        words = re.findall(r"\w+", file.read_text(encoding="utf-8"))
        return Path(fault.file).stem not in file.stem, -sum(map(words.count, around)), str(file)

    found = [str(file.relative_to(tree)) for file in sorted(files, key=order) if names & files[file]]
    return [*found, *fault.tests]


def module(file: str) -> str:
    """The dotted name of a Python file of the tree."""
    return file.removeprefix("lib/").removesuffix(".py").replace("/", ".")


STALE = """
import json
from shallow.book import records
found = {n: float(records.expected_seconds(n).min()) for n in records.recipes() if records.is_stale(n)}
print(json.dumps(sorted(found, key=found.get)[:3]))
"""


def checks(fault: Fault, tree: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The stage and the command of what is tried on a planted fault, in this order."""
    pytest, files = (sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--tb=line"), tests_of(fault, tree)
    for some in filter(None, (files[:FIRST], files[FIRST:])):
        yield "tests", (*pytest, *some)
    if fault.claim:
        yield "claim", (sys.executable, "-m", "shallow", "claim", fault.claim)
    names = [fault.file.removeprefix("records/").removesuffix(".nc")] if fault.point else []
    if fault.file.endswith(".py"):
        done = subprocess.run([sys.executable, "-c", STALE], cwd=tree, env=environment(tree), capture_output=True)
        names = json.loads(done.stdout) if done.returncode == 0 else []
    for name in names:
        code = f"from shallow.book import verification; verification.verify({name!r}, limit=15.0)"
        yield "record", (sys.executable, "-c", code, name)
    if fault.page:
        yield "page", (*pytest, fault.page)
    elif fault.claim and not fault.file.startswith("lib/"):
        yield "page", (*pytest, *(f"book/{row.address}.md" for row in claims.everything() if row.id == fault.claim))


def failed(stage: str, command: Sequence[str], tree: Path) -> str | None:
    """The test or command that fails, if one does; one that is late does not."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = subprocess.Popen(command, cwd=tree, env=environment(tree), start_new_session=True, **pipes)
    try:
        said = process.communicate(timeout=LIMIT)[0].decode()
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None
    if process.returncode in (0, 5):  # 5: no test was collected
        return None
    first = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", said, re.MULTILINE)
    return first[1] if first else f"python -m shallow {'verify' if stage == 'record' else 'claim'} {command[-1]}"


def spent() -> float:
    """Seconds of computing of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def tried(fault: Fault, tree: Path) -> dict:
    """Plant one fault, run its checks until one fails, and take it out again."""
    outcome = {"name": fault.name, "what": fault.what, "file": fault.file, "by": None, "stage": None, "seconds": 0.0}
    outcome["date"] = datetime.now(UTC).date().isoformat()
    try:
        plant(fault, tree)
        began = spent()
        for stage, command in checks(fault, tree):
            by = failed(stage, command, tree)
            outcome["seconds"] = round(spent() - began, 1)
            if by:
                restore(fault, tree)
                if failed(stage, (*command[:7], by) if stage in ("tests", "page") else command, tree):
                    raise RuntimeError(f"{by} fails without the fault too")
                return outcome | {"by": by, "stage": stage}
        return outcome
    finally:
        restore(fault, tree)


def main(names: Sequence[str]) -> int:
    """Try the named faults again, or all that have no outcome yet."""
    known = {fault.name: fault for fault in FAULTS}
    if unknown := set(names) - set(known):
        sys.exit(f"no fault {', '.join(unknown)}; there are {', '.join(known)}")
    outcomes = {one["name"]: one for one in json.loads(OUTCOMES.read_text(encoding="utf-8"))}
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder).resolve() / "tree"
        copied(tree)
        for name in names or [name for name in known if name not in outcomes]:
            try:
                found = tried(known[name], tree)
            except (ValueError, RuntimeError) as problem:
                wrong += 1
                print(f"{name}: {problem}", flush=True)
                continue
            outcomes[name] = found | {key: outcomes[name][key] for key in ("note",) if key in outcomes.get(name, {})}
            print(f"{name}: {found['by'] or 'NOT FOUND'}, {found['seconds']} s", flush=True)
            lines = ",\n".join(json.dumps(outcomes[name]) for name in known if name in outcomes)
            OUTCOMES.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
