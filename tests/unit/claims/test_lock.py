"""The lock on the rules: what changes one in silence is refused, what changes it in the open is not."""

import pytest
import rule_lock
from unit.claims.conftest import LEDGER

from shallow.book.claims.rows import first_rules

RULE = "  rule: slope below 0\n"
OPEN = "  rule: slope below 0.1\n"
CHANGED, WHY = "  changed: it was vague\n", "  changed: it was vague; the slope has an error of 0.1\n"
LAST = LEDGER[LEDGER.index("- id: TO-03") : LEDGER.index("# The end")]


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
        (RULE, OPEN, "TO-02: `rule` has changed: `changed` must say what and why"),
        ("least: 0.25", "least: 0.2", "TO-01: `rule` has changed"),
        ("  parameters: {n: 10}\n", "  parameters: {n: 11}\n", "TO-01: `parameters` has changed"),
        (LAST, "", "TO-03: has gone"),
        ("# Second line", "# Other line", "toy: `head` has changed"),
    ],
)
def test_a_rule_changed_in_silence_is_refused(renewed, capsys, old, new, says):
    assert renewed((old, new)) == (1, set())
    assert says in capsys.readouterr().out


def test_a_rule_changed_in_the_open_is_locked_and_its_first_text_kept(renewed, folder):
    assert renewed((RULE, OPEN), (CHANGED, WHY)) == (0, {"TO-02"})
    assert renewed() == (0, set())
    assert first_rules(folder) == {"TO-02": {"rule": "look", "parameters": "n: 7"}}
    why = ("  limits: {least: 0.25, most: 1/2}\n", "  limits: {least: 0.2, most: 1/2}\n  changed: less will do\n")
    assert renewed(why) == (0, {"TO-01"})
    assert first_rules(folder)["TO-01"] == {"rule": "(a) slope above 0.25, (b) below 1/2; both in {0, 1}"}
    assert renewed(("# The end.", LAST.replace("03", "04"))) == (0, {"TO-04"})


def test_outcome_and_layout_are_no_rule(renewed):
    edits = [
        ("finding: slope {slope:.1f}", "finding: the slope is {slope:.1f}"),
        (RULE, "  rule: slope\n    below 0\n"),
        ("# Head of the file.\n# Second", "# Head of the\n# file.  Second"),
    ]
    assert renewed(*edits) == (0, set())
