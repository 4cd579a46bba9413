"""Plant plausible faults in a copy of the tree, one at a time, and note which check is the first to find each.

    python tools/planted_faults.py              # those that `book/planted_faults.json` has no outcome of
    python tools/planted_faults.py ddof leak    # these, again

The faults below were chosen before any of them was run.  For each the checks are run that `make test` has for the place
it is in, the quick ones first, until one fails: the unit, agreement and theory tests that import the changed module, or
else those of the modules that do (of the ledger and the pages: their own tests); the claims that hang on it; a redone
cell of three records that have become stale, those with the cheapest cells; the page that shows it.  The check that
failed is run once more without the fault, and must pass.  The outcome is written after each fault, so that an
interrupted run goes on where it stopped.  Seconds are those of computing, since a machine may be busy.  The page "How
far to trust it" shows the outcomes.
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUTCOMES = ROOT / "book" / "planted_faults.json"
LIMIT = 900  # seconds that one check may last
FIRST = 3  # test files that are tried before the others
LEDGER = ("tests/book/test_ledger.py", "tests/unit/claims", "tests/unit/test_claims_data.py")


@dataclass(frozen=True)
class Fault:
    """A fault to plant.

    Attributes:
        name, what: a short name, and the fault in words.
        file: where, below the root.
        change: text there, which must occur once, and what takes its place; or a function of the tree.
        claims, page: claims that hang on it, and the page that shows it.
        tests: those of its place, where it is not in a module that tests import.
    """

    name: str
    what: str
    file: str
    change: tuple[str, str] | Callable[[Path], None]
    claims: tuple[str, ...] = ()
    page: str = ""
    tests: tuple[str, ...] = ()


# Faults in records and in the ledger, as functions of the tree.


def forged(name: str, variable: str, point: dict, value: Callable, *, sealed: bool) -> Callable[[Path], None]:
    """Change one number of a record; `sealed`: with the checksum of the changed file in the manifest."""

    def plant(tree: Path) -> None:
        import xarray as xr

        data, manifest = (tree / "records" / f"{name}.{suffix}" for suffix in ("nc", "json"))
        dataset = xr.load_dataset(data, engine="h5netcdf")
        dataset[variable].loc[point] = value(dataset[variable].loc[point])
        content = bytes(dataset.to_netcdf(engine="h5netcdf"))
        data.write_bytes(content)
        if sealed:
            said = json.loads(manifest.read_text(encoding="utf-8"))
            said |= {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
            manifest.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")

    return plant


def declared_fresh(file: str, old: str, new: str) -> Callable[[Path], None]:
    """Change the code, and write its new fingerprint into the manifests of all records that this makes stale."""

    def plant(tree: Path) -> None:
        replace(tree / file, old, new)
        code = (
            "from shallow.book import fingerprint, records\n"
            "for name in filter(records.is_stale, records.recipes()):\n"
            "    new = fingerprint.of(records.recipe(name).cell)\n"
            "    records.write(name, records.manifest(name) | {'fingerprint': new})\n"
        )
        subprocess.run([sys.executable, "-c", code], cwd=tree, env=environment(tree), check=True)

    return plant


def in_row(id: str, old: str, new: str) -> Callable[[Path], None]:
    """Change a text in one row of the ledger."""

    def plant(tree: Path) -> None:
        for file in (tree / "book" / "claims").glob("*.yml"):
            text = file.read_text(encoding="utf-8")
            if found := re.search(rf"^- id: {id}\n.*?(?=^- id:|\Z)", text, re.MULTILINE | re.DOTALL):
                if found[0].count(old) != 1:
                    raise ValueError(f"{id} must hold {old!r} once, has it {found[0].count(old)} times")
                file.write_text(text.replace(found[0], found[0].replace(old, new)), encoding="utf-8")

    return plant


_STEP_13 = (
    "claims.verdict(found.exceeds(1 / 2)) for step, found in all_six",
    "claims.verdict(found.estimate > 1 / 2) for step, found in all_six",
)
FAULTS = (
    # Numerics.
    Fault(
        "sign", "the gradient of the biases has the wrong sign", "lib/shallow/train/prefix_sums.py",
        ("bk = bk * keep_b - rate_b * vk * g0", "bk = bk * keep_b + rate_b * vk * g0"), ("CL-02",),
    ),
    Fault(
        "guard", "Adam's small constant stands under the root", "lib/shallow/train/backpropagation.py",
        ("step * m / (np.sqrt(s) * correction + guard)", "step * m / np.sqrt(s * correction**2 + guard)"), ("HS-01",),
    ),
    Fault(
        "schedule", "the learning rate decays one step too early", "lib/shallow/train/first_layer.py",
        ("trainer.step(rate * decay**t)", "trainer.step(rate * decay ** (t + 1))"), ("HT-01",),
    ),
    Fault(
        "transposed", "a matrix of eigenvectors is transposed", "lib/shallow/kernels/ridge.py",
        ("self._vectors.T @ y", "self._vectors @ y"),
    ),
    Fault(
        "penalty", "for more features than points the ridge penalty is not multiplied by the points",
        "lib/shallow/kernels/ridge.py",
        ("solve(self._gram, self._y, penalty * n)", "solve(self._gram, self._y, penalty)"), ("HT-23",),
    ),
    Fault(
        "dead units", "in a tangent kernel units that are off pass gradients on", "lib/shallow/kernels/layered.py",
        ("* (h[layer - 1] > 0)", "* (h[layer - 1] >= 0)"),
    ),
    Fault(
        "ddof", "Student's interval has the standard deviation of a population", "lib/shallow/stats.py",
        ("values.std(ddof=1)", "values.std(ddof=0)"), ("LO-10",),
    ),
    Fault(
        "cut", "the exponent of a tail begins one value below the median", "lib/shallow/spectra/tails.py",
        ("_logs(values[len(values) // 2 :])", "_logs(values[len(values) // 2 - 1 :])"), ("HT-23",),
    ),
    Fault(
        "ratio", "the law of noise takes d/h, also where the matrix is wider than high",
        "lib/shallow/spectra/marchenko_pastur.py",
        ("return min(self.h, self.d) / max(self.h, self.d)", "return self.d / self.h"), ("HT-03",),
    ),
    Fault(
        "noise", "label noise has its variance as standard deviation", "lib/shallow/data/teachers.py",
        ("noise**0.5 * rng", "noise * rng"), ("SB-27",),
    ),
    Fault(
        "labels", "all labels of the square wave are flipped", "lib/shallow/data/cyclic.py",
        ("1.0 - 2.0 * np.mod(half_period, 2)", "2.0 * np.mod(half_period, 2) - 1.0"), ("CL-01",),
    ),
    Fault(
        "degrees", "an angle is in degrees where radians are needed", "lib/shallow/alignment.py",
        ("angle = 2 * np.arctan2(apart, together)", "angle = np.degrees(2 * np.arctan2(apart, together))"),
    ),
    # Experiments and rules.
    Fault(
        "axes", "rows and columns of a 2 x 2 table of losses are swapped", "experiments/heavy_tails/teacher_student.py",
        ("[one.test[0] for one in found]])", "[one.test[0] for one in found]]).T"), ("HT-59",),
        "book/heavy_tails/rates.md",
    ),
    Fault(
        "leak", "the test loss is measured on the points of the fit", "experiments/heavy_tails/read_out.py",
        ("mean_square(unseen, test.y, weights)", "mean_square(fitted, probe.y, weights)"), ("HT-23",),
    ),
    Fault(
        "seed", "all replicates share one draw of the data", "experiments/simplicity_bias/transition.py",
        ('stream("simplicity bias", "data", teacher, d, n, seed)', 'stream("simplicity bias", "data", teacher, d, n)'),
        ("SB-34",), "book/simplicity_bias/transition.md",
    ),
    Fault(
        "first record", "bumps are looked for one record too late", "experiments/cyclic_labels/bumps.py",
        ("np.flatnonzero(runs.epoch >= START)", "np.flatnonzero(runs.epoch > START)"), ("CL-14",),
        "book/cyclic_labels/bumps.md",
    ),
    Fault(
        "height", "what counts as a bump is 20 % higher", "experiments/cyclic_labels/bumps.py",
        ("RISE, SPIKE = 0.05, 0.2", "RISE, SPIKE = 0.06, 0.2"), ("CL-14",), "book/cyclic_labels/bumps.md",
    ),
    Fault(
        "epochs", "recorded losses are those of the epoch after", "experiments/hidden_structure/orthants.py",
        ("[curve[0, e - 1] if e <= curve.shape[1]", "[curve[0, e] if e < curve.shape[1]"), ("HS-10",),
        "book/hidden_structure/orthants.md",
    ),
    Fault(
        "threshold", "a rule's threshold is 20 % higher", "experiments/cyclic_labels/rules/bumps.py",
        ("least, majority = 0.2, 1 / 2", "least, majority = 0.24, 1 / 2"), ("CL-14",), "book/cyclic_labels/bumps.md",
    ),
    Fault(
        "no interval", "a rule compares the estimate, not its interval", "experiments/cyclic_labels/rules/bumps.py",
        _STEP_13, ("CL-13",), "book/cyclic_labels/bumps.md",
    ),
    Fault(
        "wrong record", "a rule loads the runs of another sample size", "experiments/heavy_tails/rules/exponents.py",
        ('load("heavy_tails/ten_steps_2000") if runs', 'load("heavy_tails/ten_steps_8000") if runs'),
        ("HT-02",), "book/heavy_tails/exponents.md",
    ),
    Fault(
        "figure", "a figure draws the test loss without the noise", "experiments/simplicity_bias/drawing.py",
        ("assign(test=ends.excess + NOISE", "assign(test=ends.excess"), ("SB-34",), "book/simplicity_bias/index.md",
    ),
    Fault(
        "laboratory", "a laboratory starts from smaller output weights", "book/_static/lab/cyclic_labels.js",
        ("v = v.map((value) => value / Math.sqrt(width));", "v = v.map((value) => value / width);"),
        tests=("tests/agreement/test_laboratory.py",),
    ),
    # Records.
    Fault(
        "number", "one number of a record is changed", "records/cyclic_labels/designs.nc",
        forged("cyclic_labels/designs", "rise", {"design": "iid", "step": 0.001, "seed": 17}, lambda x: 1.5 * x + 0.1,
               sealed=False),
        ("CL-14",), "book/cyclic_labels/bumps.md", LEDGER,
    ),
    Fault(
        "sealed flag", "one flag of a record is changed, with its checksum", "records/cyclic_labels/designs.nc",
        forged("cyclic_labels/designs", "diverging", {"design": "poor(5,1)", "step": 0.001, "seed": 17},
               lambda x: x == 0, sealed=True),
        ("CL-14",), "book/cyclic_labels/bumps.md", LEDGER,
    ),
    Fault(
        "sealed number", "one number of a record is changed, with its checksum", "records/cyclic_labels/designs.nc",
        forged("cyclic_labels/designs", "rise", {"design": "iid", "step": 0.001, "seed": 17}, lambda x: 1.5 * x + 0.1,
               sealed=True),
        ("CL-14",), "book/cyclic_labels/bumps.md", LEDGER,
    ),
    Fault(
        "declared fresh", "what counts as a bump is 20 % higher, and stale records are declared fresh by hand",
        "experiments/cyclic_labels/bumps.py",
        declared_fresh("experiments/cyclic_labels/bumps.py", "RISE, SPIKE = 0.05, 0.2", "RISE, SPIKE = 0.06, 0.2"),
        ("CL-14",), "book/cyclic_labels/bumps.md",
    ),
    # The ledger and the pages.
    Fault(
        "verdict", "a verdict is changed by hand", "book/claims/localization.yml",
        in_row("LO-10", "verdict: reproduced", "verdict: contradicted"), ("LO-10",), "book/localization/populations.md",
        LEDGER,
    ),
    Fault(
        "finding", "a number of a finding is changed by hand", "book/claims/simplicity_bias.yml",
        in_row("SB-27", "0.99 times that", "0.89 times that"), ("SB-27",), "book/simplicity_bias/theorem_2.md", LEDGER,
    ),
    Fault(
        "rule in words", "the words of a rule are changed, its code is not", "book/claims/cyclic_labels.yml",
        in_row("CL-14", "over seeds, exceeds 0.2", "over seeds, exceeds 0.1"), ("CL-14",),
        "book/cyclic_labels/bumps.md", LEDGER,
    ),
    Fault(
        "prose", "a number in the sentences of a paper is changed", "book/heavy_tails/index.md",
        ("(1442 against", "(1542 against"), ("HT-12",), "book/heavy_tails/index.md",
        ("tests/book/test_ledger.py", "tests/book/test_pages.py"),
    ),
)  # fmt: skip


# The tree.


def copied(target: Path) -> None:
    """What git knows of this tree, and new files that it does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def environment(tree: Path, cache: Path | None = None) -> dict[str, str]:
    """That of a command on the copy; `cache`: where compiled code is kept, for faults in what is compiled."""
    roots = (tree / "lib", tree, os.environ.get("PYTHONPATH", ""))
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, map(str, roots))), "OMP_NUM_THREADS": "1"}
    paths |= {"IPYTHONDIR": str(tree / ".ipython"), "MPLCONFIGDIR": str(tree / ".matplotlib"), "SHALLOW_STRICT": "1"}
    return os.environ | paths | ({"NUMBA_CACHE_DIR": str(cache)} if cache else {})


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    if text.count(old) != 1:
        raise ValueError(f"{file.name} must hold {old!r} once, has it {text.count(old)} times")
    file.write_text(text.replace(old, new), encoding="utf-8")


def plant(fault: Fault, tree: Path) -> None:
    """ValueError if the fault no longer fits the tree."""
    if callable(fault.change):
        fault.change(tree)
    else:
        replace(tree / fault.file, *fault.change)


def restore(fault: Fault, tree: Path) -> None:
    """The tree as it was: the file of the fault, and all manifests."""
    shutil.copy2(ROOT / fault.file, tree / fault.file)
    for file in (ROOT / "records").rglob("*.json"):
        shutil.copy2(file, tree / file.relative_to(ROOT))


# Checks.


@dataclass(frozen=True)
class Check:
    """A command on the tree, and of which stage it is."""

    stage: str
    command: tuple[str, ...]


def module(file: str) -> str:
    """The dotted name of a Python file of the tree."""
    return file.removeprefix("lib/").removesuffix(".py").replace("/", ".")


def imports(file: Path) -> set[str]:
    """Dotted names that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return found


def changed(fault: Fault) -> set[str]:
    """The functions and classes around the place of a fault in a Python file."""
    text = (ROOT / fault.file).read_text(encoding="utf-8")
    if callable(fault.change) or fault.change[0] not in text:
        return set()
    line = text[: text.index(fault.change[0])].count("\n") + 1
    kinds = (ast.FunctionDef, ast.ClassDef)
    around = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    return {node.name for node in around if node.lineno <= line <= node.end_lineno and node.name[0] != "_"}


def tests_of(fault: Fault) -> list[str]:
    """Test files that import the module of a fault, or else a module that does; those first that say its name, then
    those that say the function's most often."""
    if fault.tests or not fault.file.endswith(".py"):
        return list(fault.tests)
    files = [
        file for folder in ("unit", "agreement", "theory") for file in (ROOT / "tests" / folder).rglob("test_*.py")
    ]
    names = {module(fault.file)}
    if not any(names & imports(file) for file in files):
        sources = [file for folder in ("lib", "experiments") for file in (ROOT / folder).rglob("*.py")]
        names = {module(str(file.relative_to(ROOT))) for file in sources if names & imports(file)}
    functions, stem = changed(fault), Path(fault.file).stem

    def order(file: Path) -> tuple:
        words = re.findall(r"\w+", file.read_text(encoding="utf-8"))
        return stem not in file.stem, -sum(map(words.count, functions)), str(file)

    return [str(file.relative_to(ROOT)) for file in sorted(files, key=order) if names & imports(file)]


def stale(tree: Path, cache: Path | None) -> list[str]:
    """The three stale records with the cheapest cells."""
    code = (
        "import json\nfrom shallow.book import records\n"
        "found = {n: float(records.expected_seconds(n).min()) for n in records.recipes() if records.is_stale(n)}\n"
        "print(json.dumps(sorted(found, key=found.get)[:3]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tree, env=environment(tree, cache), capture_output=True)
    return json.loads(done.stdout) if done.returncode == 0 else []


def checks(fault: Fault, tree: Path, cache: Path | None) -> Iterator[Check]:
    """What is tried on a planted fault, in this order."""
    python, pytest = (sys.executable,), (sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--tb=line")
    files = tests_of(fault)
    for some in filter(None, (files[:FIRST], files[FIRST:])):
        yield Check("tests", (*pytest, *some))
    for id in fault.claims:
        yield Check("claim", (*python, "-m", "shallow", "claim", id))
    record = fault.file.removeprefix("records/").removesuffix(".nc") if fault.file.startswith("records/") else None
    for name in [record] if record else stale(tree, cache) if fault.file.endswith(".py") else []:
        code = f"from shallow.book import verification; verification.verify({name!r}, limit=15.0)"
        yield Check("record", (*python, "-c", code, name))
    if fault.page:
        yield Check("page", (*pytest, fault.page))


def spent() -> float:
    """Seconds of computing of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def failed(check: Check, tree: Path, cache: Path | None) -> tuple[bool, str, str]:
    """Whether a check fails, the test or command that did, and the end of what it wrote; one that is late does not."""
    process = subprocess.Popen(
        check.command, cwd=tree, env=environment(tree, cache), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    )  # fmt: skip
    try:
        said, _ = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return False, "", "late"
    first = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", said, re.MULTILINE)
    by = (
        first[1]
        if first
        else f"python -m shallow {'verify' if check.stage == 'record' else 'claim'} {check.command[-1]}"
    )
    return process.returncode not in (0, 5), by, said[-600:]  # 5: no test was collected


def tried(fault: Fault, tree: Path) -> dict:
    """Plant one fault, run its checks until one fails, and take it out again."""
    compiled = fault.file.endswith(".py") and "njit" in (ROOT / fault.file).read_text(encoding="utf-8")
    compiled |= fault.file.startswith("lib/shallow/train/")
    cache = Path(tempfile.mkdtemp(dir=tree.parent)) if compiled else None
    outcome = {"name": fault.name, "what": fault.what, "file": fault.file, "by": None, "stage": None, "seconds": 0.0}
    late = []
    try:
        plant(fault, tree)
        began = spent()
        for check in checks(fault, tree, cache):
            fails, by, end = failed(check, tree, cache)
            outcome["seconds"] = round(spent() - began, 1)
            late += [check.stage] if end == "late" else []
            if fails:
                restore(fault, tree)
                alone = (*check.command[:7], by) if check.stage in ("tests", "page") else check.command
                if failed(Check(check.stage, alone), tree, None)[0]:
                    raise RuntimeError(f"{by} fails without the fault too:\n{end}")
                return outcome | {"by": by, "stage": check.stage} | ({"late": late} if late else {})
    finally:
        restore(fault, tree)
        if cache:
            shutil.rmtree(cache, ignore_errors=True)
    return outcome | ({"late": late} if late else {})


def main(names: list[str]) -> int:
    """Try the named faults again, or all that have no outcome yet."""
    known = [fault.name for fault in FAULTS]
    if unknown := set(names) - set(known):
        sys.exit(f"no fault {', '.join(unknown)}; there are {', '.join(known)}")
    stored = json.loads(OUTCOMES.read_text(encoding="utf-8")) if OUTCOMES.exists() else []
    outcomes = {one["name"]: one for one in stored if one["name"] in known}
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder).resolve() / "tree"
        copied(tree)
        for fault in FAULTS:
            if fault.name not in names if names else fault.name in outcomes:
                continue
            try:
                outcome = tried(fault, tree) | {"date": datetime.now(UTC).date().isoformat()}
            except (ValueError, RuntimeError) as problem:
                wrong += 1
                print(f"{fault.name}: {problem}", flush=True)
                continue
            if "note" in outcomes.get(fault.name, {}):
                outcome["note"] = outcomes[fault.name]["note"]
            outcomes[fault.name] = outcome
            print(f"{fault.name}: {outcome['by'] or 'NOT FOUND'}, {outcome['seconds']} s", flush=True)
            ordered = [outcomes[name] for name in known if name in outcomes]
            OUTCOMES.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
