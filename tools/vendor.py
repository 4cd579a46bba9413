"""Install the pages' third-party scripts from npm into book/_static/vendor.

`package.json` pins each package by version and by the SHA-512 of its archive, says which files the pages need, and pins
the one that they load by its SHA-384.  Only those archives are fetched (`npm pack`), not what the packages depend on.
Without npm the folder receives small scripts that load the same files from a CDN, where a browser checks them against
the same SHA-384: the pages then work, but not offline.
"""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENDOR = ROOT / "book" / "_static" / "vendor"
CDN = "https://cdn.jsdelivr.net/npm"
LOADER = """\
// npm was not at hand when this page was built: load the script from a CDN.
document.head.append(Object.assign(document.createElement("script"), {{
  src: "{base}{entry}",
  integrity: "{integrity}",
  crossOrigin: "anonymous",
}}));
"""
STYLE_LOADER = """\
document.head.append(Object.assign(document.createElement("link"), {{
  rel: "stylesheet",
  href: "{base}{style}",
  integrity: "{style_integrity}",
  crossOrigin: "anonymous",
}}));
"""


def checksum(content: bytes, kind: str) -> str:
    """A checksum as npm and browsers write it: its kind and its bytes in base 64."""
    return f"{kind}-{base64.b64encode(hashlib.new(kind, content).digest()).decode()}"


def fetch(name: str, version: str, integrity: str, folder: Path) -> Path:
    """Download one package archive with npm; raise ValueError when its checksum is not the pinned one."""
    command = ["npm", "pack", "--json", "--loglevel=error", f"--pack-destination={folder}", f"{name}@{version}"]
    made = subprocess.run(command, cwd=folder, check=True, capture_output=True, encoding="utf-8")
    # Some versions of npm print the name of a scoped archive with its slash; on disk it has a dash.
    archive = folder / json.loads(made.stdout)[0]["filename"].replace("@", "").replace("/", "-")
    digest = checksum(archive.read_bytes(), "sha512")
    if digest != integrity:
        raise ValueError(f"{name}@{version}: checksum {digest}, but package.json says {integrity}")
    return archive


def extract(archive: Path, files: str, strip: str, target: Path) -> int:
    """Copy the archive's members that match the pattern `files` into `target`; return how many there were."""
    count = 0
    with tarfile.open(archive) as tar:
        for member in tar:
            name = member.name.removeprefix("package/")
            if member.isfile() and re.fullmatch(files, name):
                path = target / name.removeprefix(strip)
                path.parent.mkdir(parents=True, exist_ok=True)
                with tar.extractfile(member) as source, open(path, "wb") as copy:
                    shutil.copyfileobj(source, copy)
                count += 1
    return count


def install(name: str, version: str, want: dict[str, str], target: Path) -> int:
    """Copy the files of a package into `target`; raise ValueError when the one that pages load is not as pinned."""
    with tempfile.TemporaryDirectory() as folder:
        archive = fetch(name, version, want["integrity"], Path(folder))
        count = extract(archive, want["files"], want["strip"], target)
    found, pinned = checksum((target / want["entry"]).read_bytes(), "sha384"), want["entry_integrity"]
    if found != pinned:
        raise ValueError(f"{name}@{version}: {want['entry']} has {found}, but package.json says {pinned}")
    return count


def load_from_cdn(name: str, version: str, want: dict[str, str], target: Path) -> None:
    """Write a script into `target` that loads the package's own, and its style sheet if it has one, from a CDN."""
    target.mkdir(parents=True, exist_ok=True)
    base = f"{CDN}/{name}@{version}/{want['strip']}"
    loader = LOADER.format(base=base, entry=want["entry"], integrity=want["entry_integrity"])
    if "style" in want:
        # The pages ask for the style sheet by its name as well.
        (target / want["style"]).write_text(f"/* {want['entry']} loads {name}'s own. */\n", encoding="utf-8")
        loader = STYLE_LOADER.format(base=base, **want) + loader
    (target / want["entry"]).write_text(loader, encoding="utf-8")


def main() -> int:
    """Install every package; the stamp `.installed` is written only when npm delivered them all."""
    package = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
    shutil.rmtree(VENDOR, ignore_errors=True)
    VENDOR.mkdir(parents=True)
    npm = shutil.which("npm")
    if npm is None:
        print("npm is not installed (apt install npm, brew install node): pages will load these scripts from a CDN.")
    for name, want in package["vendor"].items():
        version, target = package["dependencies"][name], VENDOR / want.get("into", "")
        if npm is None:
            load_from_cdn(name, version, want, target)
        else:
            print(f"{name} {version}: {install(name, version, want, target)} files")
    if npm is not None:
        (VENDOR / ".installed").touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
