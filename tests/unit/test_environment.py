"""`pyproject.toml` and `environment.yml` describe the same environment, and this is it."""

import re
import tomllib
from importlib import metadata

from references import ROOT
from ruamel.yaml import YAML

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONDA = YAML(typ="safe").load(ROOT / "environment.yml")["dependencies"]
PINNED = re.compile(r"([A-Za-z0-9_.-]+)(?:\[[a-z,]+\])?==([0-9][0-9a-z.]*)")


def requirements(*extras: str) -> list[str]:
    """The requirements of the package and of the named extras."""
    return PROJECT["dependencies"] + [line for extra in extras for line in PROJECT["optional-dependencies"][extra]]


def test_same_pins_and_python():
    pip = next(entry["pip"] for entry in CONDA if isinstance(entry, dict))
    assert sorted(line for line in pip if not line.startswith("--")) == sorted(requirements("test", "lab"))
    tested = next(entry for entry in CONDA if str(entry).startswith("python=")).removeprefix("python=")
    assert PROJECT["requires-python"] == f">={tested}"


def test_every_requirement_is_an_exact_pin():
    lines = requirements("test", "lab", "cluster", "bench")
    assert [line for line in lines if not PINNED.fullmatch(line)] == []


def test_one_version_number():
    citation = YAML(typ="safe").load(ROOT / "CITATION.cff")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert str(citation["version"]) == PROJECT["version"] == metadata.version("shallow")
    assert f"## {PROJECT['version']} " in changelog
