"""The lock on the rules: what changes one in silence is refused, what changes it in the open is not."""

import pytest
import rule_lock
from unit.claims.conftest import LEDGER

RULE = "  test: slope below 0\n"
OPEN = "  test: slope below 0.1\n  test_was: slope below 0\n  test_why: the slope has an error of 0.1\n"
LAST = LEDGER[LEDGER.index("- id: TO-03") : LEDGER.index("# The end")]
PARAMETERS = "  parameters: {n: 10}\n"


@pytest.fixture
def renewed(folder, tmp_path):
    """Lock the planted ledger, edit it, and renew the lock: returns exit status and the ids whose entries changed."""
    lock = tmp_path / "rules.json"

    def renew(*edits: tuple[str, str]) -> tuple[int, set[str]]:
        if not lock.exists():
            assert rule_lock.main(folder, lock) == 0
        text, before = (folder / "toy.yml").read_text(encoding="utf-8"), rule_lock.read(lock)
        for old, new in edits:
            assert text.count(old) == 1
            text = text.replace(old, new)
        (folder / "toy.yml").write_text(text, encoding="utf-8")
        status, after = rule_lock.main(folder, lock), rule_lock.read(lock)
        return status, {name for name in before | after if before.get(name) != after.get(name)}

    return renew


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (RULE, "  test: slope below 0.1\n", "TO-02: `test` has changed: `test_was` must hold the text that was fixed"),
        (RULE, OPEN.replace("was: slope below 0", "was: slope is low"), "TO-02: `test` has changed"),
        (RULE, OPEN.replace("  test_why: the slope has an error of 0.1\n", ""), "TO-02: a changed rule keeps"),
        (RULE, OPEN.replace("the slope has an error of 0.1", "''"), "TO-02: a changed rule keeps"),
        (RULE, RULE + "  test_was: slope below 1\n  test_why: why not\n", "TO-02: `test_was` is not what it was"),
        (PARAMETERS, "  parameters: {n: 11}\n", "TO-01: `parameters` has changed"),
        (LAST, "", "TO-03: has gone"),
        ("# Second line", "# Other line", "toy: `head` has changed"),
    ],
)
def test_a_rule_changed_in_silence_is_refused(renewed, capsys, old, new, says):
    assert renewed((old, new)) == (1, set())
    assert says in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        (RULE, OPEN, "TO-02"),
        (PARAMETERS, "  parameters: {n: 11}\n  parameters_was: {n: 10}\n  test_why: 10 are too few\n", "TO-01"),
        ("# The end.", LAST.replace("03", "04"), "TO-04"),
    ],
    ids=["rule", "parameters", "another row"],
)
def test_a_rule_changed_in_the_open_is_locked(renewed, old, new, name):
    assert renewed((old, new)) == (0, {name})
    assert renewed() == (0, set())


def test_outcome_and_layout_are_no_rule(renewed):
    edits = [
        ("finding: slope 0.1 [0.0, 0.2]", "finding: slope 0.3 [0.2, 0.4]"),
        ("  test: slope below 0\n", "  test: >-\n    slope\n    below 0\n"),
        ("# Head of the file.\n# Second", "# Head of the\n# file.  Second"),
        ("# A comment between rows.\n", ""),
    ]
    assert renewed(*edits) == (0, set())
