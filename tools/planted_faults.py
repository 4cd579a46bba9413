"""Plant plausible faults in a copy of the tree, one at a time, and note which check is the first to find each.

    python tools/planted_faults.py              # those that `tools/planted_faults.json` has no outcome of
    python tools/planted_faults.py ddof leak    # these, again

The faults were chosen before any was run.  For each the checks are run that `make test` has for its place, quick ones
first, until one fails: the unit, agreement and theory tests that import the changed module, or else those of modules
that do (of the ledger and the pages: their own tests); the claim that hangs on it; a redone cell of three records that
have become stale, those with the cheapest cells; the page that shows it.  The check that failed is run again without
the fault, and must pass.  Seconds are those of computing.  The page "How far to trust it" shows the outcomes.
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
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUTCOMES = Path(__file__).with_suffix(".json")
LIMIT = 900  # seconds that one check may last
FIRST = 3  # test files that are tried before the others
NUMBERS = "tests/book/test_numbers.py"
LEDGER = ("tests/book/test_ledger.py", "tests/unit/claims", "tests/unit/test_claims_data.py")


@dataclass(frozen=True)
class Fault:
    """A fault to plant.

    Attributes:
        name, what: a short name, and the fault in words.
        file: where, below the root.
        old, new: text there, which must occur once (in the ledger: in the row of the claim), and what takes its place;
            of a record a variable, and what becomes of the number at `point`: an expression in x.
        claim, page: a claim that hangs on it, and the page that shows it if it is not the claim's.
        tests: those of its place, beside those that import its module.
        point: of the number of a record.   sealed: the manifests are made to fit: checksum, fingerprint.
    """

    name: str
    what: str
    file: str
    old: str
    new: str
    claim: str = ""
    page: str = ""
    tests: tuple[str, ...] = ()
    point: dict | None = None
    sealed: bool = False


TRAIN, KERNELS, BUMPS = "lib/shallow/train/", "lib/shallow/kernels/", "experiments/cyclic_labels/bumps/"
DESIGNS = "records/cyclic_labels/bumps/designs.nc"
POINT = {"design": "iid", "step": 0.001, "seed": 17}
HEIGHT = Fault(
    "height",
    "what counts as a bump is 20 % higher",
    BUMPS + "cells.py",
    "RISE, SPIKE = 0.05, 0.2",
    "RISE, SPIKE = 0.06, 0.2",
    "CL-14",
)
NUMBER = Fault(
    "number", "one number of a record is changed", DESIGNS, "rise", "1.5 * x + 0.1", "CL-14", tests=LEDGER, point=POINT
)
FAULTS = (
    # Numerics.
    Fault(
        "sign",
        "the gradient of the biases has the wrong sign",
        TRAIN + "prefix_sums.py",
        "bk = bk * keep_b - rate_b * vk * g0",
        "bk = bk * keep_b + rate_b * vk * g0",
        "CL-02",
    ),
    Fault(
        "guard",
        "Adam's small constant stands under the root",
        TRAIN + "backpropagation.py",
        "step * m / (np.sqrt(s) * correction + guard)",
        "step * m / np.sqrt(s * correction**2 + guard)",
        "HS-01",
    ),
    Fault(
        "schedule",
        "the learning rate decays one step too early",
        TRAIN + "first_layer.py",
        "trainer.step(rate * decay**t)",
        "trainer.step(rate * decay ** (t + 1))",
        "HT-01",
    ),
    Fault(
        "transposed",
        "a matrix of eigenvectors is transposed",
        KERNELS + "ridge.py",
        "self._vectors.T @ y",
        "self._vectors @ y",
    ),
    Fault(
        "penalty",
        "for more features than points the ridge penalty is not multiplied by the points",
        KERNELS + "ridge.py",
        "solve(self._gram, self._y, penalty * n)",
        "solve(self._gram, self._y, penalty)",
        "HT-23",
    ),
    Fault(
        "dead units",
        "in a tangent kernel units that are off pass gradients on",
        KERNELS + "layered.py",
        "* (h[layer - 1] > 0)",
        "* (h[layer - 1] >= 0)",
    ),
    Fault(
        "ddof",
        "Student's interval has the standard deviation of a population",
        "lib/shallow/stats.py",
        "values.std(ddof=1)",
        "values.std(ddof=0)",
        "LO-10",
    ),
    Fault(
        "cut",
        "the exponent of a tail begins one value below the median",
        "lib/shallow/spectra/tails.py",
        "_logs(values[len(values) // 2 :])",
        "_logs(values[len(values) // 2 - 1 :])",
        "HT-23",
    ),
    Fault(
        "ratio",
        "the law of noise takes d/h, also where the matrix is wider than high",
        "lib/shallow/spectra/marchenko_pastur.py",
        "return min(self.h, self.d) / max(self.h, self.d)",
        "return self.d / self.h",
        "HT-03",
    ),
    Fault(
        "noise",
        "label noise has its variance as standard deviation",
        "lib/shallow/data/teachers.py",
        "noise**0.5 * rng",
        "noise * rng",
        "SB-27",
    ),
    Fault(
        "labels",
        "all labels of the square wave are flipped",
        "lib/shallow/data/cyclic.py",
        "1.0 - 2.0 * np.mod(half_period, 2)",
        "2.0 * np.mod(half_period, 2) - 1.0",
        "CL-01",
    ),
    Fault(
        "degrees",
        "an angle is in degrees where radians are needed",
        "lib/shallow/alignment.py",
        "angle = 2 * np.arctan2(apart, together)",
        "angle = np.degrees(2 * np.arctan2(apart, together))",
    ),
    # Experiments and rules.
    Fault(
        "axes",
        "rows and columns of a 2 x 2 table of losses are swapped",
        "experiments/heavy_tails/teacher_student.py",
        "[one.test[0] for one in found]])",
        "[one.test[0] for one in found]]).T",
        "HT-59",
    ),
    Fault(
        "leak",
        "the test loss is measured on the points of the fit",
        "experiments/heavy_tails/read_out.py",
        "mean_square(unseen, test.y, weights)",
        "mean_square(fitted, probe.y, weights)",
        "HT-23",
    ),
    Fault(
        "seed",
        "all replicates share one draw of the data",
        "experiments/simplicity_bias/transition/cells.py",
        '"data", teacher, d, n, seed)',
        '"data", teacher, d, n)',
        "SB-34",
    ),
    Fault(
        "first record",
        "bumps are looked for one record too late",
        BUMPS + "cells.py",
        "np.flatnonzero(runs.epoch >= START)",
        "np.flatnonzero(runs.epoch > START)",
        "CL-14",
    ),
    HEIGHT,
    Fault(
        "epochs",
        "recorded losses are those of the epoch after",
        "experiments/hidden_structure/orthants/cells.py",
        "[curve[0, e - 1] if e <= curve.shape[1]",
        "[curve[0, e] if e < curve.shape[1]",
        "HS-10",
    ),
    Fault(
        "threshold",
        "a rule's threshold is 20 % higher",
        "book/claims/cyclic_labels.yml",
        "limits: {least: 0.2,",
        "limits: {least: 0.24,",
        "CL-14",
        tests=LEDGER,
    ),
    Fault(
        "no interval",
        "a rule compares the estimate, not its interval",
        BUMPS + "rules.py",
        "found.exceeds(majority) for step, found in all_six",
        "found.estimate > majority for step, found in all_six",
        "CL-13",
    ),
    Fault(
        "wrong record",
        "a rule loads the runs of another sample size",
        "experiments/heavy_tails/exponents/rules.py",
        "@decides(runs=SWEEP, text=",
        '@decides(runs="heavy_tails/ten_steps_8000", text=',
        "HT-02",
    ),
    Fault(
        "figure",
        "a figure draws the test loss without the noise",
        "experiments/simplicity_bias/drawing.py",
        "assign(test=ends.excess + NOISE",
        "assign(test=ends.excess",
        "SB-34",
        "book/simplicity_bias/index.md",
    ),
    Fault(
        "laboratory",
        "a laboratory starts from smaller output weights",
        "book/_static/lab/cyclic_labels.js",
        "v = v.map((value) => value / Math.sqrt(width));",
        "v = v.map((value) => value / width);",
        tests=("tests/agreement/test_laboratory.py",),
    ),
    # Records.
    NUMBER,
    Fault(
        "sealed flag",
        "one flag of a record is changed, with its checksum",
        DESIGNS,
        "diverging",
        "x == 0",
        "CL-14",
        tests=LEDGER,
        point=POINT | {"design": "poor(5,1)"},
        sealed=True,
    ),
    replace(NUMBER, name="sealed number", what="one number of a record is changed, with its checksum", sealed=True),
    replace(
        HEIGHT,
        name="declared fresh",
        sealed=True,
        what="what counts as a bump is 20 % higher, and stale records are declared fresh by hand",
    ),
    # The ledger and the pages.
    Fault(
        "verdict",
        "a verdict is changed by hand",
        "book/claims/found/localization.json",
        '"verdict": "reproduced"',
        '"verdict": "contradicted"',
        "LO-10",
        tests=LEDGER,
    ),
    Fault(
        "finding",
        "a number of a finding is changed by hand",
        "book/claims/found/simplicity_bias.json",
        "0.99 times that",
        "0.89 times that",
        "SB-27",
        tests=LEDGER,
    ),
    Fault(
        "rule in words",
        "the words of a rule are changed, its code is not",
        "book/claims/cyclic_labels.yml",
        "over seeds, exceeds {least}",
        "over seeds, exceeds 0.1",
        "CL-14",
        tests=LEDGER,
    ),
    Fault(
        "prose",
        "a number in the sentences of a paper is changed",
        "book/heavy_tails/index.md",
        "descent 1442, measured",
        "descent 1542, measured",
        "HT-12",
        "book/heavy_tails/index.md",
        ("tests/book/test_ledger.py", "tests/book/test_pages.py", NUMBERS),
    ),
)


def copied(tree: Path) -> None:
    """What git knows of this tree, and new files that it does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)


def environment(tree: Path, cache: Path | None = None) -> dict[str, str]:
    """That of a command on the copy; `cache`: where compiled code is kept, for faults in what is compiled."""
    roots = (tree / "lib", tree, os.environ.get("PYTHONPATH", ""))
    own = {"PYTHONPATH": os.pathsep.join(filter(None, map(str, roots))), "OMP_NUM_THREADS": "1", "SHALLOW_STRICT": "1"}
    own |= {"IPYTHONDIR": str(tree / ".ipython"), "MPLCONFIGDIR": str(tree / ".matplotlib")}
    return os.environ | own | ({"NUMBA_CACHE_DIR": str(cache)} if cache else {})


def changed(fault: Fault, text: str) -> str:
    """The text of a file with the fault in it; ValueError if it no longer fits."""
    heads = {".yml": ("- id: ", ""), ".json": ('"', '": {')}.get(Path(fault.file).suffix)
    row = heads and re.search(rf"^{heads[0]}{fault.claim}{heads[1]}\n.*?(?=^{heads[0]}|\Z)", text, re.M | re.S)
    part = row[0] if row else text
    if part.count(fault.old) != 1:
        raise ValueError(f"{fault.file} must hold {fault.old!r} once, has it {part.count(fault.old)} times")
    return text.replace(part, part.replace(fault.old, fault.new))


def forged(fault: Fault, file: Path) -> bytes:
    """The data of a record with one number changed."""
    import xarray as xr

    dataset = xr.load_dataset(file, engine="h5netcdf")
    number = dataset[fault.old].loc[fault.point]
    dataset[fault.old].loc[fault.point] = eval(fault.new, {"x": number})
    return bytes(dataset.to_netcdf(engine="h5netcdf"))


FIT = """
from shallow.book import fingerprint, records
for name in filter(records.is_stale, records.recipes()):
    records.write(name, records.manifest(name) | {"fingerprint": fingerprint.of(records.recipe(name).cell)})
"""


def plant(fault: Fault, tree: Path) -> None:
    file = tree / fault.file
    if not fault.point:
        file.write_text(changed(fault, file.read_text(encoding="utf-8")), encoding="utf-8")
        if fault.sealed:
            subprocess.run([sys.executable, "-c", FIT], cwd=tree, env=environment(tree), check=True)
        return
    content, manifest = forged(fault, file), file.with_suffix(".json")
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


def tests_of(fault: Fault, tree: Path) -> list[str]:
    """Test files that import the module of a fault, or else a module that does; those first that say its name, then
    those that say most often in which function it is; its own at the end."""
    if not fault.file.endswith(".py"):
        return list(fault.tests)
    suites = [tree / "tests" / folder for folder in ("unit", "agreement", "theory")]
    files = [file for suite in suites for file in suite.rglob("test_*.py")]
    names = {module(fault.file)}
    if not any(names & imports(file) for file in files):
        sources = [file for folder in ("lib", "experiments") for file in (tree / folder).rglob("*.py")]
        names = {module(str(file.relative_to(tree))) for file in sources if names & imports(file)}
    above = (ROOT / fault.file).read_text(encoding="utf-8").partition(fault.old)[0]
    around = re.findall(r"^ *(?:def|class) ([a-z]\w*)", above, re.MULTILINE)[-1:]

    def order(file: Path) -> tuple:
        words = re.findall(r"\w+", file.read_text(encoding="utf-8"))
        return Path(fault.file).stem not in file.stem, -sum(map(words.count, around)), str(file)

    found = [str(file.relative_to(tree)) for file in sorted(files, key=order) if names & imports(file)]
    return [*found, *fault.tests]


def module(file: str) -> str:
    """The dotted name of a Python file of the tree."""
    return file.removeprefix("lib/").removesuffix(".py").replace("/", ".")


def page_of(fault: Fault) -> str:
    """The page that shows a fault in an experiment, a record or the ledger."""
    from shallow.book import claims

    if fault.page or not fault.claim or fault.file.startswith("lib/"):
        return fault.page
    return next(f"book/{row.address}.md" for row in claims.everything() if row.id == fault.claim)


STALE = """
import json
from shallow.book import records
found = {n: float(records.expected_seconds(n).min()) for n in records.recipes() if records.is_stale(n)}
print(json.dumps(sorted(found, key=found.get)[:3]))
"""


def checks(fault: Fault, tree: Path, cache: Path | None) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The stage and the command of what is tried on a planted fault, in this order."""
    pytest, files = (sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--tb=line"), tests_of(fault, tree)
    for some in filter(None, (files[:FIRST], files[FIRST:])):
        yield "tests", (*pytest, *some)
    if fault.claim:
        yield "claim", (sys.executable, "-m", "shallow", "claim", fault.claim)
    names = [fault.file.removeprefix("records/").removesuffix(".nc")] if fault.point else []
    if fault.file.endswith(".py"):
        done = subprocess.run(
            [sys.executable, "-c", STALE], cwd=tree, env=environment(tree, cache), capture_output=True
        )
        names = json.loads(done.stdout) if done.returncode == 0 else []
    for name in names:
        code = f"from shallow.book import verification; verification.verify({name!r}, limit=15.0)"
        yield "record", (sys.executable, "-c", code, name)
    if page := page_of(fault):
        yield "page", (*pytest, page)


def failed(stage: str, command: Sequence[str], tree: Path, cache: Path | None = None) -> str | None:
    """The test or command that fails, if one does; one that is late does not."""
    process = subprocess.Popen(
        command,
        cwd=tree,
        env=environment(tree, cache),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
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
    compiled = fault.file.startswith(TRAIN) or (
        fault.file.endswith(".py") and "njit" in (ROOT / fault.file).read_text("utf-8")
    )
    cache = Path(tempfile.mkdtemp(dir=tree.parent)) if compiled else None
    outcome = {"name": fault.name, "what": fault.what, "file": fault.file, "by": None, "stage": None, "seconds": 0.0}
    outcome["date"] = datetime.now(UTC).date().isoformat()
    try:
        plant(fault, tree)
        began = spent()
        for stage, command in checks(fault, tree, cache):
            by = failed(stage, command, tree, cache)
            outcome["seconds"] = round(spent() - began, 1)
            if by:
                restore(fault, tree)
                if failed(stage, (*command[:7], by) if stage in ("tests", "page") else command, tree):
                    raise RuntimeError(f"{by} fails without the fault too")
                return outcome | {"by": by, "stage": stage}
        return outcome
    finally:
        restore(fault, tree)
        shutil.rmtree(cache or "", ignore_errors=True)


def main(names: Sequence[str]) -> int:
    """Try the named faults again, or all that have no outcome yet."""
    known = {fault.name: fault for fault in FAULTS}
    if unknown := set(names) - set(known):
        sys.exit(f"no fault {', '.join(unknown)}; there are {', '.join(known)}")
    outcomes = (
        {one["name"]: one for one in json.loads(OUTCOMES.read_text(encoding="utf-8"))} if OUTCOMES.exists() else {}
    )
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
