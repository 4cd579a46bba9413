"""The tool that reads what the tests have executed: on a planted package, with and without what it looks for."""

import os
import subprocess
import sys

import coverage_report
import pytest

PLANTED = {
    "__init__.py": "",
    "plain.py": """def half(x):
    if x < 0:
        raise ValueError(
            f"x must not be negative, got {x}"
        )
    return x / 2
""",
    "fast/__init__.py": "",
    "fast/core.py": """import numba
from numba import njit

quick = numba.njit(error_model="numpy")


@njit
def doubled(x):
    if x < 0:
        raise ValueError("Python never comes here")
    return 2 * x


@quick
def shifted(x):
    return doubled(x) + 1


def _written_out(x):
    return x + 2


again = numba.njit(_written_out)
""",
    "fast/other.py": """from planted.fast.core import quick, shifted


def factory(step):
    @quick
    def moved(x):
        return shifted(x) + step

    return moved


def called(x):
    return factory(3)(x)
""",
}


@pytest.fixture
def executed(tmp_path, capsys):
    """Run a script over the planted package, and the tool over what it executed; returns status and text."""
    library = tmp_path / "planted"
    for name, text in PLANTED.items():
        (library / name).parent.mkdir(parents=True, exist_ok=True)
        (library / name).write_text(text, encoding="utf-8")

    def run(script: str, *options: str) -> tuple[int, str]:
        (tmp_path / "script.py").write_text(script, encoding="utf-8")
        command = [sys.executable, "-m", "coverage", "run", f"--source={library}", "script.py"]
        # The variable belongs to a run of coverage that this test may be part of.
        environment = {name: value for name, value in os.environ.items() if name != "COVERAGE_FILE"}
        subprocess.run(command, cwd=tmp_path, env=environment, check=True)
        status = coverage_report.main([str(tmp_path / ".coverage"), f"--library={library}", *options])
        return status, capsys.readouterr().out

    return run


EVERYTHING = """
import planted.fast.other as other
import planted.plain as plain
plain.half(2), other.called(1)
try:
    plain.half(-1)
except ValueError:
    pass
"""


def rows(text: str) -> dict[str, list[str]]:
    """The table of a report: lines, executed, percent and compiled by subpackage."""
    lines = [line.split() for line in text.splitlines()[1:5]]
    return {line[0]: line[1:] for line in lines if len(line) == 5}


def test_everything_executed_and_every_error_seen(executed):
    status, text = executed(EVERYTHING)
    assert status == 0, text
    assert rows(text) == {
        "fast": ["16", "16", "100.0", "6"],
        "modules": ["4", "4", "100.0", "0"],
        "together": ["20", "20", "100.0", "6"],
    }
    assert "compiles, not counted: 6." in text and "no test has seen: 0." in text and "Fewer" not in text


def test_an_error_that_was_never_raised_is_named(executed):
    status, text = executed(EVERYTHING.replace("half(-1)", "half(1)"), "--least=90")
    assert status == 1 and "Fewer" not in text
    assert "no test has seen: 1.\n  planted/plain.py:3: raise ValueError(\n" in text


def test_too_few_lines_are_too_few(executed):
    script = EVERYTHING.replace(", other.called(1)", "")
    status, text = executed(script, "--least=81")
    assert status == 1 and "Fewer than 81 % of the lines are executed." in text and "no test has seen: 0." in text
    status, text = executed(script, "--least=80")
    assert status == 0 and rows(text)["together"][:3] == ["20", "16", "80.0"]


def test_a_module_that_is_never_imported_counts(executed):
    status, text = executed("import planted.plain as plain\nplain.half(2)\n", "--least=50")
    assert status == 1 and "Fewer than 50 %" in text and rows(text)["fast"][1] == "0"


def test_no_data_are_no_success(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        coverage_report.main([str(tmp_path / ".coverage")])
    assert ended.value.code == 2 and "there is no file" in capsys.readouterr().err


def test_a_compiler_is_known_by_the_name_that_another_module_gave_it():
    shown = PLANTED["fast/other.py"].splitlines()
    assert coverage_report.read(PLANTED["fast/other.py"]).compiled == frozenset()
    found = coverage_report.read(PLANTED["fast/other.py"], {"quick"}).compiled
    assert [shown[line - 1].strip() for line in found] == ["return shifted(x) + step"]
