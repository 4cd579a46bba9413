"""`pyproject.toml` and `requirements.lock` describe one environment."""

import re
import tomllib
from importlib import metadata

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from references import ROOT
from ruamel.yaml import YAML

from shallow import extras

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NAME, EXTRAS = PROJECT["project"]["name"], PROJECT["project"]["optional-dependencies"]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
LOCKED = [Requirement(line.rstrip(" \\")) for line in LOCK.splitlines() if line[:1].isalnum()]


def pins(**environment: str) -> dict[str, list[str]]:
    """The locked versions of each distribution in the given environment, by default in this one."""
    versions = {}
    for entry in LOCKED:
        if entry.marker is None or entry.marker.evaluate({**default_environment(), **environment}):
            versions.setdefault(canonicalize_name(entry.name), []).append(str(entry.specifier).removeprefix("=="))
    return versions


def asked_for() -> list[Requirement]:
    """Every requirement of pyproject.toml, of the package itself, its extras and the installation."""
    groups = (PROJECT["project"]["dependencies"], *EXTRAS.values(), *PROJECT["dependency-groups"].values())
    every = [Requirement(line) for group in groups for line in group]
    return [requirement for requirement in every if requirement.name != NAME]


@pytest.mark.parametrize("python", ["3.11.0", "3.13.0"])
@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_the_lock_has_one_version_of_every_requirement_within_its_range(python, system):
    locked = pins(python_full_version=python, python_version=python.rpartition(".")[0], sys_platform=system)
    assert [name for name, versions in locked.items() if len(versions) > 1] == []
    requirements = asked_for()
    assert len(requirements) > 20
    for requirement in requirements:
        (version,) = locked[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement}: the lock has {version}"


def test_the_extras_that_errors_name_bring_what_they_say():
    for module, extra in extras._EXTRA.items():
        library = module.partition(".")[0]
        assert extras._NAMES.get(library, library) in [Requirement(line).name for line in EXTRAS[extra]], module


def test_the_lock_has_a_checksum_of_everything_that_is_one_file_everywhere_and_no_address():
    assert "://" not in LOCK and "index" not in LOCK
    bare = re.findall(r"^([a-z][^=]*)==[^\\\n]*\n", LOCK, flags=re.MULTILINE)
    assert bare == ["torch"]  # its builds for CPU and CUDA have one version and different files


def test_one_version_number():
    citation = YAML(typ="safe").load(ROOT / "CITATION.cff")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version = PROJECT["project"]["version"]
    assert str(citation["version"]) == version == metadata.version(NAME)
    assert f"## {version} " in changelog
