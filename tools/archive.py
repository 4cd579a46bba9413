"""Put the built site into one file that can be read offline: pages, notebooks, data, PDFs, with digests and a README.

    python tools/archive.py     # _build/shallow-book-VERSION.zip; `make archive` builds and prints the site before

Names are sorted, times fixed and rights alike, so that the same site gives the same file.
"""

import hashlib
import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import vendor
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
PACKED = {".nc", ".pdf", ".png", ".woff", ".woff2"}  # compressed already
README = """\
{title}, version {version}

Unpack this file and open index.html in a browser: no server and no network is needed, laboratories included.

  index.html, book/         the pages{pdfs}
  book/claims.json          every claim with its rule, outcome and numbers; claims.csv is the same as a table
  _sources/book/            each page as text (.md) and as a notebook (.ipynb) whose first cell says how to run it
  records/                  the recorded runs: data (.nc) and what made them (.json)
  SHA256SUMS                digests of all files; `sha256sum -c SHA256SUMS` compares them

To run everything again, take the repository: {url}
"""


def files(site: Path) -> list[Path]:
    """What a site consists of, in a fixed order; what the build has left for itself is hidden."""
    found = (file for file in site.rglob("*") if file.is_file())
    return sorted(file for file in found if not any(part.startswith(".") for part in file.relative_to(site).parts))


def on_the_web(site: Path) -> list[str]:
    """Scripts that only load others from the web, which stand there where npm was not at hand."""
    scripts = sorted((site / "_static" / "vendor").rglob("*.js"))
    return [one.name for one in scripts if one.stat().st_size < 2000 and vendor.CDN in one.read_text(encoding="utf-8")]


def write(site: Path, target: Path, about: dict[str, str]) -> None:
    """Write the archive of a site to `target`; `about` has the title, version and url that the README names."""
    contents = {file.relative_to(site).as_posix(): file for file in files(site)}
    pdfs = [name for name in contents if name.endswith(".pdf")]
    readme = README.format(**about, pdfs="".join(f"\n    {name}" for name in pdfs)).encode()
    digests = []
    with ZipFile(target, "w") as archive:
        for name in sorted([*contents, "README.txt"]):
            content = readme if name == "README.txt" else contents[name].read_bytes()
            digests.append(f"{hashlib.sha256(content).hexdigest()}  {name}\n")
            _add(archive, f"{target.stem}/{name}", content)
        _add(archive, f"{target.stem}/SHA256SUMS", "".join(digests).encode())


def _add(archive: ZipFile, name: str, content: bytes) -> None:
    entry = ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.create_system, entry.external_attr = 3, 0o644 << 16  # rights as Unix has them, whatever the system
    entry.compress_type = ZIP_STORED if Path(name).suffix in PACKED else ZIP_DEFLATED
    archive.writestr(entry, content)


def main() -> None:
    """Archive the built site."""
    if not (SITE / "index.html").is_file():
        sys.exit("There is no built site: make book")
    if scripts := on_the_web(SITE):
        sys.exit(f"{', '.join(scripts)} would come from the web. With node installed: make clean archive")
    book = YAML(typ="safe").load(ROOT / "CITATION.cff")
    target = SITE.parent / f"shallow-book-{book['version']}.zip"
    write(SITE, target, {"title": book["title"], "version": str(book["version"]), "url": book["repository-code"]})
    print(f"{target.relative_to(ROOT)}  {target.stat().st_size / 2**20:.1f} MB")


if __name__ == "__main__":
    main()
