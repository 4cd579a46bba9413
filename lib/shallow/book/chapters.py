"""A new chapter: its files from the template in tools/chapter, and its entries in the files that list chapters."""

from __future__ import annotations

import json
import keyword
import re
from pathlib import Path

from ruamel.yaml import YAML

from shallow.book import paths
from shallow.book.claims.rows import documents

TEMPLATE = Path("tools") / "chapter"


def new(
    chapter: str,
    *,
    prefix: str | None = None,
    title: str,
    authors: str,
    year: int,
    root: Path = paths.ROOT,
) -> list[Path]:
    """Write a chapter with three claims, a record and a laboratory, all of it an example; the files that were written.

    Args:
        chapter: name of its folders and packages, words joined by underscores.
        prefix: two letters with which the ids of its claims begin; by default the initials, or the first two letters.
        title, authors, year: of the document that it is about.
        root: the repository.

    Raises:
        ValueError: for a name or a prefix that cannot be one, or is taken; nothing is written then.
        ImportError: without copier, which is in the extra `test`.
    """
    initials = "".join(word[:1] for word in chapter.split("_"))
    prefix = prefix or (initials if len(initials) == 2 else chapter[:2]).upper()
    _refuse(chapter, prefix, root)
    try:
        from copier import run_copy
    except ModuleNotFoundError as error:
        raise ImportError("copier is needed for that and not installed: pip install --editable '.[test]'") from error
    name = chapter.replace("_", " ").capitalize()
    entry = {"name": name, "title": title, "authors": authors, "year": year, "published": "Unpublished"}
    entry |= {
        "prefix": prefix,
        "cite": f"{chapter.replace('_', '')}{year}",
        "thesis": "What it claims, in one sentence.",
    }
    data = {key: entry[key] for key in ("name", "prefix", "cite", "title", "authors")}
    data |= {"chapter": chapter, "p": prefix.lower()}
    run_copy(str(root / TEMPLATE), str(root), data=data, defaults=True, quiet=True)
    _enter(chapter, entry, root)
    return _files(chapter, root)


def commands(chapter: str) -> list[list[str]]:
    """What makes a new chapter complete, for Python: its rules are locked, its record is made, its pages are run."""
    own = [f"book/{chapter}/{page}.md" for page in ("silence", "document", "index")]
    return [
        ["tools/rule_lock.py"],
        ["-m", "shallow", "record", f"{chapter}/silence/silenced"],
        ["tests/references.py", *own],
    ]


def _files(chapter: str, root: Path) -> list[Path]:
    """What the template makes of a chapter."""
    folder = root / TEMPLATE / "files"
    made = [file.relative_to(folder).as_posix() for file in sorted(folder.rglob("*")) if file.is_file()]
    return [root / name.replace("[=chapter=]", chapter).removesuffix(".jinja") for name in made]


def _refuse(chapter: str, prefix: str, root: Path) -> None:
    known = documents(root / "book" / "claims")
    if not re.fullmatch(r"[a-z][a-z_]+", chapter) or keyword.iskeyword(chapter):
        raise ValueError(f"chapter must be words of small letters joined by underscores, got {chapter!r}")
    library = "".join(file.read_text(encoding="utf-8") for file in sorted((root / "lib").rglob("*.py")))
    if any(file.exists() for file in _files(chapter, root)) or chapter in known or chapter in library:
        raise ValueError(f"chapter must be a new name, which the library does not use, got {chapter!r}")
    if not re.fullmatch(r"[A-Z]{2}", prefix) or prefix in {one.prefix for one in known.values()}:
        taken = ", ".join(one.prefix for one in known.values())
        raise ValueError(f"prefix must be two capital letters, others than {taken}, got {prefix!r}")


def _enter(chapter: str, entry: dict, root: Path) -> None:
    """The entries of a chapter in the table of contents, the documents and the bibliography."""
    yaml = YAML()
    yaml.preserve_quotes, yaml.width = True, 120
    yaml.indent(mapping=2, sequence=4, offset=2)
    contents = yaml.load(root / "_toc.yml")
    listed = contents["parts"][0]["chapters"]
    document = {"file": f"book/{chapter}/document", "title": "The document"}
    sections = [document, {"file": f"book/{chapter}/silence"}]
    new = {"file": f"book/{chapter}/index", "title": entry["name"], "sections": sections}
    listed.insert(sum("sections" in one for one in listed), new)
    yaml.dump(contents, root / "_toc.yml")
    lines = [f"  {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
    _append(root / "book" / "claims" / "documents.yml", "\n".join([f"{chapter}:", *lines]))
    fields = {"author": entry["authors"], "title": f"{{{entry['title']}}}", "year": entry["year"]}
    lines = [f"  {key} = {{{value}}}," for key, value in fields.items()]
    _append(root / "book" / "references.bib", "\n".join([f"@misc{{{entry['cite']},", *lines, "}"]))


def _append(file: Path, text: str) -> None:
    file.write_text(f"{file.read_text(encoding='utf-8').rstrip()}\n\n{text}\n", encoding="utf-8")
