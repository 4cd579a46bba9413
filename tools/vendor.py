"""Install the pages' third-party scripts from npm into book/_static/vendor.

`package.json` pins each package by version and by the SHA-512 of its archive, and says which files the pages need.
Only those two archives are fetched (`npm pack`), not what the packages depend on.  Without npm the folder receives
one-line scripts that load the same versions from a CDN: the pages then work, but not offline.
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
// npm was not at hand when this page was built: load the script, and the icons of the widgets, from a CDN.
if ("{entry}" === "embed.js") window.__jupyter_widgets_assets_path__ = "{base}";
document.head.append(Object.assign(document.createElement("script"), {{ src: "{base}{entry}" }}));
"""


def fetch(name: str, version: str, integrity: str, folder: Path) -> Path:
    """Download one package archive with npm; raise ValueError when its checksum is not the pinned one."""
    command = ["npm", "pack", "--json", "--loglevel=error", f"--pack-destination={folder}", f"{name}@{version}"]
    made = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    # Some versions of npm print the name of a scoped archive with its slash; on disk it has a dash.
    archive = folder / json.loads(made.stdout)[0]["filename"].replace("@", "").replace("/", "-")
    digest = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
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


def main() -> int:
    """Install every package; the stamp `.installed` is written only when npm delivered them all."""
    package = json.loads((ROOT / "package.json").read_text())
    shutil.rmtree(VENDOR, ignore_errors=True)
    VENDOR.mkdir(parents=True)
    npm = shutil.which("npm")
    if npm is None:
        print("npm is not installed: the pages will load MathJax and the widget manager from a CDN.")
    for name, want in package["vendor"].items():
        version, target = package["dependencies"][name], VENDOR / want.get("into", "")
        if npm is None:
            target.mkdir(parents=True, exist_ok=True)
            base = f"{CDN}/{name}@{version}/{want['strip']}"
            (target / want["entry"]).write_text(LOADER.format(base=base, entry=want["entry"]))
            continue
        with tempfile.TemporaryDirectory() as folder:
            archive = fetch(name, version, want["integrity"], Path(folder))
            print(f"{name} {version}: {extract(archive, want['files'], want['strip'], target)} files")
    if npm is not None:
        (VENDOR / ".installed").touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
