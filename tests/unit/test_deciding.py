"""A claim decided from the command line: its records recomputed, its outcome beside the ledger's."""

import re
import shutil
from dataclasses import replace

import pytest
from click.testing import CliRunner, Result
from planted.forge import NAME

from shallow import __main__ as main_module
from shallow import stats
from shallow.__main__ import main
from shallow.book import deciding, records, verification
from shallow.book.claims import Found, LedgerError, decides
from shallow.book.claims.rules import row_of

ROW = row_of("CL-14")
NUMBERS = {"fraction of runs": stats.Interval(0.52, 0.34, 0.70), "runs": 50, "level": 0.12345}


def claim(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["claim", *arguments], prog_name="python -m shallow")


def squeezed(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture
def ruled(recorded, monkeypatch):
    """CL-14 has a rule of one planted record, which leaves all open."""

    @decides(runs=NAME)
    def cl_14(runs, *, least, majority):
        assert runs.sizes
        return Found({"step 0.001": None, "step 0.01": None}, dict.fromkeys(ROW.numbers, 0.5) | NUMBERS)

    monkeypatch.setattr(deciding, "rules", lambda chapter: {"CL-14": cl_14})


def test_a_decided_claim_is_printed_whole_beside_the_ledger(ruled, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    result = claim("cl-14")
    said = squeezed(result.stdout)
    for piece in (ROW.id, ROW.place, ROW.claim, ROW.rule, "bumps in 0.5 of the runs", f"book/{ROW.address}.md#cl-14"):
        assert squeezed(piece) in said
    assert "? undecided by the rule: (step 0.001) undecided" in said
    assert re.search(r"fraction of runs +0\.52 \[0\.34, 0\.70\]\n +runs +50\n +level +0\.123\n", result.stdout)
    assert max(map(len, result.stdout.splitlines())) <= 100
    assert result.exit_code == 1 and f"Ledger says {ROW.verdict}" in said and squeezed(ROW.finding) in said


def test_another_verdict_asks_for_its_answer_to_be_read_again(ruled):
    said = squeezed(claim("CL-14").stdout)
    assert f"Read again verdict undecided, was {ROW.verdict}; (" in said
    assert "read `answer` of CL-14 in book/claims/cyclic_labels.yml again" in said
    assert ROW.verdict != "undecided" and deciding.reread(ROW, ROW) == []


def test_an_open_claim_shows_its_numbers_before_it_asks_for_words(ruled, monkeypatch):
    untold = {"answer_words": None, "finding_words": "", "verdict": "untested", "parts": {}, "answer": None}
    row = replace(ROW, reason="Not yet run.", finding=None, **untold)
    monkeypatch.setattr(main_module, "row_of", lambda id: row)
    result = claim("CL-14")
    said = squeezed(result.stdout)
    wanted = ["level 0.123", "(step 0.001) undecided", "Missing put `answer` and `finding` in", "says untested"]
    places = [said.index(piece) for piece in wanted]
    assert result.exit_code == 1 and places == sorted(places)
    assert "cyclic_labels.yml" in said and "Finding" not in said and "Read again" not in said
    assert deciding.missing(replace(row, answer_words="Yes.")).startswith("put `finding` in")


def test_a_claim_that_the_ledger_has_so():
    result = claim("CL-14")
    assert result.exit_code == 0 and "Ledger says the same" in squeezed(result.stdout)


def test_the_records_of_a_rule_are_recomputed_first(ruled, monkeypatch):
    monkeypatch.setattr(deciding, "differences", lambda found, row: [])
    result = claim("CL-14", "--anew")
    assert result.exit_code == 0 and result.stdout.startswith(f"{NAME}: 2 of 3 cells recomputed, all agree\n")
    assert result.stdout.index("cells recomputed") < result.stdout.index("Verdict")

    def differs(name, cells):
        raise records.RecordError(f"record {name!r} differs")

    monkeypatch.setattr(verification, "verify", differs)
    assert claim("CL-14", "--anew").exit_code == 1 and "differs" in claim("CL-14", "--anew").stdout


def test_what_is_damaged_or_cannot_be_written_is_one_line(ruled, recorded):
    shutil.rmtree(recorded.parent / ".cells", ignore_errors=True)
    (recorded.parent / ".cells").touch()
    noted = CliRunner().invoke(main, ["verify", NAME, "--confirm"])
    assert noted.exit_code == 1 and noted.stderr.startswith("Error: ") and ".cells" in noted.stderr
    (recorded / "quick.nc").unlink()
    result = claim("CL-14")
    assert result.exit_code == 1 and result.stderr.startswith("Error: ") and f"record {NAME}" in result.stderr


def test_a_faulty_ledger_or_rule_is_one_line(ruled, monkeypatch):
    @decides(runs=lambda: 1)
    def cl_14(runs, *, least, majority):
        return Found({"step 0.001": 0.3})

    for found, says in (({"CL-14": cl_14}, "condition 'step 0.001' must be"), ({}, "it has no rule, a function in")):
        monkeypatch.setattr(deciding, "rules", lambda chapter, found=found: found)
        result = claim("CL-14")
        assert result.exit_code == 1 and result.stderr.startswith(f"Error: CL-14: {says}")

    def faulty(id):
        raise LedgerError("toy.yml: TO-01: `kind` must be one of statement")

    monkeypatch.setattr(main_module, "row_of", faulty)
    result = claim("CL-14")
    assert result.exit_code == 1 and result.stderr == "Error: toy.yml: TO-01: `kind` must be one of statement\n"


@pytest.mark.parametrize(("id", "says"), [("CL-99", "CL-55"), ("XX-01", "CL-01, HS-01"), ("nonsense", "CL-01")])
def test_an_unknown_claim_names_known_ones(id, says):
    result = claim("CL-14", id)
    assert result.exit_code == 2 and id.upper() in result.stderr and says in result.stderr and not result.stdout
