"""Change an operator or a number of the library or of an experiment, one at a time: does a test notice?

    python tools/mutants.py                           # those of the sample that `tools/mutants.json` has no outcome of
    python tools/mutants.py lib/shallow/stats.py ...  # the survivors of these files, again

The sample is fixed by the sources: of each file the lines with the lowest hashes, as many as is its share of all lines
that can be changed.  Left out is what can change no result: messages, annotations, decorators, how numbers are
stored, tolerances below 1e-6.  A mutant is tried in a copy of the tree.  The tests of its module run as for a planted
fault (`planted_faults.tests_of`), until one fails, which must pass without the change; what takes too long or crashes
has failed.  A mutant of an experiment that they let live is noticed if a record is no longer of this code or these
settings, else by the claim of the rule in which it is, or by the page that shows it.

Survivors have a reason, which is written into their outcome by hand: "equal", why no result can change, or "missing",
why no test notices one that does.  The page "How far to trust it" shows the outcomes.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from planted_faults import ROOT, Fault, copied, environment, failed, tests_of

OUTCOMES = Path(__file__).with_suffix(".json")
TREE = ROOT / "_build" / "mutants"  # the copy
LIBRARY = "alignment clusters committee deep gaussian_loss mlp nets receptive_fields stats data kernels spectra train"
COUNTS = {"lib": 400, "experiments": 100}
SECONDS = (120, 600)  # of computing, for the first two test files and for the others
LIMITS = ("bash", "-c", 'ulimit -t $0 -v 16000000; exec "$@"')
CLAIM = (sys.executable, "-m", "shallow", "claim")

EXCHANGED = {"<": ("<=", ">"), "<=": ("<", ">="), ">": (">=", "<"), ">=": (">", "<="), "==": ("!=",), "!=": ("==",)}
EXCHANGED |= {"is": ("is not",), "is not": ("is",), "in": ("not in",), "not in": ("in",), "+": "-", "-": "+", "*": "/"}
EXCHANGED |= {"/": "*", "//": "/", "%": ("//",), "**": "*", "&": "|", "|": "&", "and": ("or",), "or": ("and",)}
PAIRS = "min max, argmin argmax, minimum maximum, nanmin nanmax, idxmin idxmax, any all, any_of all_of, mean sum"
PAIRS += ", zeros ones, erf erfc, sin cos, sinh cosh, floor ceil, exceeds below, above below, cdf sf, left right"
PAIRS = dict(pair.split() for pair in f"{PAIRS}, positive not_negative".split(", "))
NAMES = {new: old for old, new in PAIRS.items()} | PAIRS
DROPPED = ("abs", "sqrt", "sort", "sorted", "square", "exp", "cumsum")  # np.abs(x) becomes x
STORAGE = ("check_finite", "overwrite_a", "overwrite_b", "copy", "dtype", "cache", "nogil", "strict")
QUIET = ("isinstance", "njit", "print", "warn")


class Mutant(NamedTuple):
    """A line of a file, as it is and as it becomes, without the indentation."""

    file: str
    old: str
    new: str


def parts(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree that can change a result."""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if is_text or (isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"):
        return
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr) or getattr(node, "name", "") == "__repr__":
        return
    if getattr(node, "arg", "") in STORAGE or called(node) in QUIET:
        return
    yield node
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns", "decorator_list", "bases"):
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, ast.AST):
                    yield from parts(one)


def called(node: ast.AST) -> str:
    """The last name of a function that a node calls."""
    return getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""


def exchanged(left: ast.AST, right: ast.AST, text: list[bytes]) -> Iterator[tuple[int, int, int, str]]:
    """Other operators between two nodes of a line."""
    if left.end_lineno == right.lineno:
        start, end = left.end_col_offset, right.col_offset
        between = text[right.lineno - 1][start:end].decode()
        token = re.search(r"is not|not in|[<>=!]=|[^\s()=]+", between)[0]
        for new in EXCHANGED.get(token, ()):
            yield right.lineno, start, end, between.replace(token, new, 1)


def numbers(value: object) -> list[str]:
    """What stands in place of a constant."""
    if isinstance(value, bool):
        return [str(not value)]
    if isinstance(value, int):
        return [str(new) for new in sorted({value + 1, max(value - 1, 0)} - {value})]
    if isinstance(value, float):
        return [repr(2 * value or 1.0)] if abs(value) >= 1e-6 or value == 0 else []
    if isinstance(value, str) and re.fullmatch(r"[\[(][^,(]+, [^,]+[\])]", value):  # an interval
        other = str.maketrans("[(])", "([)]")
        ends = value[0].translate(other) + value[1:], value[:-1] + value[-1].translate(other)
        return [f'"{new}"' for new, bound in zip(ends, value.split(",")) if "inf" not in bound]
    return [f'"{NAMES[value]}"'] if isinstance(value, str) and value in NAMES else []


def edits(node: ast.AST, text: list[bytes]) -> Iterator[tuple[int, int, int, str]]:
    """What can be written in place of a node or of a part of it: number of the line, first and last byte, new text."""

    def whole(node: ast.AST, new: str) -> list[tuple]:
        return [(node.lineno, node.col_offset, node.end_col_offset, new)] * (node.lineno == node.end_lineno)

    def said(node: ast.AST) -> str:
        return text[node.lineno - 1][node.col_offset : node.end_col_offset].decode()

    match node:
        case ast.Compare():
            for operands in zip([node.left, *node.comparators], node.comparators):
                yield from exchanged(*operands, text)
        case ast.BoolOp():
            yield from exchanged(*node.values[:2], text)
        case ast.BinOp(left=ast.List() | ast.Tuple() | ast.JoinedStr()) | ast.BinOp(right=ast.List() | ast.Tuple()):
            pass
        case ast.BinOp(op=ast.BitOr(), left=left) if not isinstance(left, ast.Compare):  # of dictionaries or types
            pass
        case ast.BinOp():
            yield from exchanged(node.left, node.right, text)
        case ast.AugAssign(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
            yield from exchanged(node.target, node.value, text)
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield from whole(node, said(node.operand))
        case ast.Constant():
            for new in numbers(node.value):
                yield from whole(node, new)
        case ast.Return(value=ast.BinOp(op=ast.Mult() | ast.Div() | ast.Sub())):
            yield from whole(node.value, f"-({said(node.value)})")
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            if not isinstance(test, ast.Compare | ast.UnaryOp):
                yield from whole(test, f"not ({said(test)})")
        case ast.Expr() if said(node).startswith("checks."):
            yield from whole(node, "pass")
        case ast.Call() if (name := called(node)) in NAMES:
            yield from whole(node.func, said(node.func).removesuffix(name) + NAMES[name])
        case ast.Call(args=[one]) if said(node.func) in (name, f"np.{name}", f"math.{name}") and name in DROPPED:
            yield from whole(node, f"({said(one)})")


def mutants(file: str, text: str) -> dict[Mutant, int]:
    """All mutants of a file, with the number of the line; of two equal lines the first."""
    lines, found = [line.encode() for line in text.splitlines()], {}
    for node in parts(ast.parse(text)):
        for number, start, end, new in edits(node, lines):
            line = lines[number - 1]
            changed = (line[:start] + new.encode() + line[end:]).decode()
            found.setdefault(Mutant(file, line.decode().strip(), changed.strip()), number)
    return found


def changed(mutant: Mutant, text: str) -> str:
    """The text of a file with a mutant in it."""
    lines = text.splitlines(keepends=True)
    place = mutants(mutant.file, text)[mutant] - 1
    lines[place] = lines[place].replace(mutant.old, mutant.new)
    return "".join(lines)


def sources(kind: str) -> list[str]:
    """The files that are changed: of the library, or of the experiments."""
    files = [file for name in LIBRARY.split() for file in (ROOT / "lib" / "shallow").glob(f"{name}/*.py")]
    files += [ROOT / "lib" / "shallow" / f"{name}.py" for name in LIBRARY.split()]
    if kind == "experiments":
        files = [file for file in (ROOT / kind).glob("*/**/*.py") if file.stem not in ("drawing", "laboratory")]
    return sorted(
        str(file.relative_to(ROOT)) for file in files if file.exists() and "authors_programs" not in file.parts
    )


def sample(kind: str) -> list[Mutant]:
    """One mutant a line, of each file its share, in the order of their hashes."""
    by_file = []
    for file in sources(kind):
        lines = {}
        for mutant in mutants(file, (ROOT / file).read_text(encoding="utf-8")):
            hashed = (hashlib.sha256("\0".join(mutant).encode()).hexdigest(), mutant)
            lines[mutant.old] = min(lines.get(mutant.old, hashed), hashed)
        by_file.append(sorted(lines.values()))
    all_lines = sum(map(len, by_file))
    found, before = [], 0
    for lines in by_file:
        first, last = (COUNTS[kind] * count // all_lines for count in (before, before + len(lines)))
        found, before = found + lines[: last - first], before + len(lines)
    return [mutant for _, mutant in sorted(found)]


MADE = """
import json
from shallow.book import fingerprint, records
made = {name: [fingerprint.of(one.cell), records.specification(one)] for name, one in records.recipes().items()}
print(json.dumps(made, default=str))
"""


def made() -> dict[str, list]:
    """The fingerprint of the code of each record, and its specification; none, if they cannot be imported."""
    done = subprocess.run([sys.executable, "-c", MADE], cwd=TREE, env=environment(TREE), capture_output=True)
    return json.loads(done.stdout) if done.returncode == 0 else {}


def tests(files: Sequence[str], seconds: int) -> tuple[str, ...]:
    """The command that runs some test files until one fails, or all seconds are spent."""
    return (*LIMITS, str(seconds), sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--tb=line", *files)


def noticed(mutant: Mutant, files: Sequence[str], before: dict[str, list]) -> tuple[str | None, str | None]:
    """The stage at which the mutant in the copy is noticed, and by what."""
    for some, seconds in zip((files[:2], files[2:]), SECONDS):
        if by := some and failed("tests", tests(some, seconds), TREE):
            return ("tests", by) if by.startswith("tests") else ("ended", some[0])
    if mutant.file.startswith("experiments"):
        now = made()
        if other := [name for name, one in before.items() if now.get(name) != one]:
            return "record", other[0]
        for name in re.findall(r"^def ([a-z]{2}_\d+)", above(mutant), re.MULTILINE)[-1:]:
            claim = name.upper().replace("_", "-")
            if failed("claim", (*CLAIM, claim), TREE):
                return "claim", claim
        page = Path("book", *Path(mutant.file).parts[1:3]).with_suffix(".md")
        if (TREE / page).exists() and failed("page", tests([str(page)], SECONDS[1]), TREE):
            return "page", str(page)
    return None, None


def above(mutant: Mutant) -> str:
    """The text of its file down to its line."""
    return (ROOT / mutant.file).read_text(encoding="utf-8").partition(mutant.old)[0]


def tried(mutant: Mutant, before: dict[str, list], sound: set[str]) -> dict:
    """The outcome of one mutant: what notices it at which stage, how many test files reach it, and seconds."""
    file, began = TREE / mutant.file, time.monotonic()
    files = tests_of(Fault("", "", mutant.file, old=mutant.old), TREE)
    text, stamp = file.read_text(encoding="utf-8"), file.stat()
    try:
        file.write_text(changed(mutant, text), encoding="utf-8")
        stage, by = noticed(mutant, files, before)
    finally:
        file.write_text(text, encoding="utf-8")
        os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    seconds = round(time.monotonic() - began, 1)
    if stage == "tests" and by not in sound and failed("tests", tests([by], SECONDS[1]), TREE):
        raise RuntimeError(f"{by} fails without the change too")
    sound.add(by)
    return mutant._asdict() | {"by": by, "stage": stage, "files": len(files), "seconds": seconds}


def main(names: Sequence[str]) -> int:
    """Try what has no outcome yet, or the survivors of some files."""
    shutil.rmtree(TREE, ignore_errors=True)
    copied(TREE)
    chosen = [mutant for kind in COUNTS for mutant in sample(kind)]
    old = json.loads(OUTCOMES.read_text(encoding="utf-8")) if OUTCOMES.exists() else []
    outcomes = {Mutant(one["file"], one["old"], one["new"]): one for one in old}
    before, sound, wrong = made(), set(), 0
    again = [mutant for mutant in chosen if mutant.file in names and mutant in outcomes and not outcomes[mutant]["by"]]
    for mutant in again if names else [mutant for mutant in chosen if mutant not in outcomes]:
        try:
            found = tried(mutant, before, sound)
        except RuntimeError as problem:
            wrong += 1
            print(f"{mutant.file}: {mutant.old} -> {mutant.new}: {problem}", flush=True)
            continue
        reasons = {key: text for key, text in outcomes.get(mutant, {}).items() if key in ("equal", "missing")}
        outcomes[mutant] = found | (reasons if not found["by"] else {})
        print(f"{found['by'] or 'SURVIVED'}, {found['seconds']} s: {mutant.old}  ->  {mutant.new}", flush=True)
        lines = ",\n".join(json.dumps(outcomes[one], ensure_ascii=False) for one in chosen if one in outcomes)
        OUTCOMES.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
