"""The book on a machine that has never seen it: what the README promises, done as it says, and what it costs.

    python tools/stranger.py [--folder FOLDER] [--keep VARIABLE ...]

Clones what is committed here into an empty folder, with an empty home and none of this shell's variables but PATH and
those that are kept by name (a proxy, a certificate), runs the two commands, and prints their times and the sizes of
what they leave behind.  Needs nothing but Python, git, make and node; exit status 1 if a command fails.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = (("make", "book"), ("make", "test"))
LEFT_BEHIND = (".venv", "_build/html", "records", ".git", ".")


def size(folder: Path) -> float:
    """Megabytes in all files below a folder, links not followed."""
    return sum(file.lstat().st_size for file in folder.rglob("*") if not file.is_dir()) / 1e6


def visit(folder: Path, keep: list[str]) -> bool:
    """Clone, run both commands, report; whether both succeeded."""
    clone, home = folder / "book", folder / "home"
    home.mkdir(parents=True)
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    environment |= {name: os.environ[name] for name in keep}
    subprocess.run(["git", "clone", "--quiet", "--no-local", str(ROOT), str(clone)], check=True, env=environment)
    results = []
    for command in COMMANDS:
        began = time.perf_counter()
        status = subprocess.run(command, cwd=clone, env=environment).returncode
        results.append((" ".join(command), status, (time.perf_counter() - began) / 60))
    print()
    for command, status, minutes in results:
        print(f"{command:12} {'green' if status == 0 else f'failed with status {status}'} after {minutes:.1f} minutes")
    for name in LEFT_BEHIND:
        print(f"{name:12} {size(clone / name):8.0f} MB")
    return all(status == 0 for _, status, _ in results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, help="an empty or new folder, kept; a temporary one by default")
    parser.add_argument("--keep", nargs="*", default=[], metavar="VARIABLE", help="variables that are passed on")
    options = parser.parse_args()
    missing = [name for name in options.keep if name not in os.environ]
    if missing:
        parser.error(f"--keep names variables that are not set: {', '.join(missing)}")
    if options.folder is None:
        with tempfile.TemporaryDirectory() as folder:
            sys.exit(not visit(Path(folder), options.keep))
    if options.folder.exists() and any(options.folder.iterdir()):
        parser.error(f"--folder must be empty or new, got {options.folder} with something in it")
    sys.exit(not visit(options.folder, options.keep))


if __name__ == "__main__":
    main()
