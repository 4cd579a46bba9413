"""A reader who changes a parameter is told what no longer holds; a build or a test stops there."""

import pytest
from IPython.core.interactiveshell import InteractiveShell

from shallow.book import session

CELL = """
def check(width):
    assert width > 100 and not width % 2
    return "checked"

said = check({width})
"""


@pytest.fixture
def shell():
    return InteractiveShell()


def test_a_reader_sees_what_does_not_hold_and_the_cell_goes_on(shell, monkeypatch, capsys):
    monkeypatch.delenv("SHALLOW_STRICT", raising=False)
    for _ in range(2):  # as when the first cell is run again
        session.soften(shell)
    shell.run_cell(CELL.format(width=102)).raise_error()
    assert capsys.readouterr().out == ""
    shell.run_cell(CELL.format(width=64)).raise_error()
    assert capsys.readouterr().out == "With these parameters it does not hold that width > 100 and (not width % 2)\n"
    assert shell.user_ns["said"] == "checked"
    with pytest.raises(ZeroDivisionError):  # what is wrong whatever the parameters are
        shell.run_cell("assert 1 / 0").raise_error()


def test_a_build_stops(shell, monkeypatch):
    monkeypatch.setenv("SHALLOW_STRICT", "1")
    session.soften(shell)
    with pytest.raises(AssertionError):
        shell.run_cell(CELL.format(width=64)).raise_error()
