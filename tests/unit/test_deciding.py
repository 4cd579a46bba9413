"""A claim decided from the command line: its rule found, its records recomputed, its outcome beside the ledger's."""

import json
import re
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner, Result
from planted.forge import NAME

from experiments import deciding
from shallow import stats
from shallow.__main__ import main
from shallow.book import claims, records, verification
from shallow.book.claims.rows import rests

ROW = claims.Ledger("cyclic_labels")["CL-14"]
FOUND = claims.Outcome(
    answer="One point is enough.",
    finding="fraction 0.52 [0.34, 0.70]",
    verdict="undecided",
    evidence={"fraction of runs": stats.Interval(0.52, 0.34, 0.70), "runs": 50, "level": 0.12345},
    reading="reproduced",
    reading_why="the interval is wide",
)
DEFINED = "def {}():\n    return 7\n"


def claim(*arguments: str) -> Result:
    """One call of the command."""
    return CliRunner().invoke(main, ["claim", *arguments], prog_name="python -m shallow")


def squeezed(text: str) -> str:
    """The words of a text."""
    return " ".join(text.split())


@pytest.fixture
def ruled(recorded, monkeypatch):
    """CL-14 has a rule of one planted record; returns the folder of the records."""

    def cl_14() -> claims.Outcome:
        assert records.load(NAME).sizes
        return FOUND

    monkeypatch.setattr(deciding, "rules", lambda chapter: {"CL-14": cl_14} if chapter == ROW.chapter else {})
    return recorded


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of rules in two modules, of which one cannot be imported."""
    folder = tmp_path / "planted_rules"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "good.py").write_text(DEFINED.format("cl_14") + DEFINED.format("helper_14"), encoding="utf-8")
    (folder / "slow.py").write_text("1 / 0\n" + DEFINED.format("cl_15"), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def test_rules_are_found_by_name_and_imported_when_asked_for(package):
    rules = deciding.Rules("planted_rules", [package])
    assert list(rules) == ["CL-14", "CL-15"] and "CL-16" not in rules
    assert rules["CL-14"]() == rules.named("cl_14")() == 7
    with pytest.raises(ZeroDivisionError):
        rules["CL-15"]
    with pytest.raises(AttributeError, match="no rule 'cl_16'; there are CL-14, CL-15"):
        rules.named("cl_16")
    (package / "other.py").write_text(DEFINED.format("cl_14"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"CL-14 must have one rule, got two: in planted_rules\.good and in other\.py"):
        deciding.Rules("planted_rules", [package])


def test_a_decided_claim_is_printed_whole_beside_the_ledger(ruled):
    result = claim("cl-14")
    said = squeezed(result.stdout)
    for piece in (ROW.id, ROW.place, ROW.claim, ROW.test, FOUND.answer, FOUND.finding, f"book/{ROW.address}.md#cl-14"):
        assert squeezed(piece) in said
    assert "? undecided by the rule" in said and "✓ reproduced: the interval is wide" in said
    assert re.search(
        r"fraction of runs  0\.52 \[0\.34, 0\.70\]\n +runs              50\n +level             0\.123\n", result.stdout
    )
    assert max(map(len, result.stdout.splitlines())) <= 100
    assert result.exit_code == 1 and f"Ledger says {ROW.verdict}" in said and squeezed(ROW.finding) in said


def test_a_claim_that_the_ledger_has_so(ruled, monkeypatch):
    monkeypatch.setattr(deciding, "row", lambda id: claims.Ledger("cyclic_labels").row(id, FOUND))
    result = claim("CL-14")
    assert result.exit_code == 0 and "Ledger says the same" in squeezed(result.stdout)


def test_the_records_of_a_rule_are_recomputed_first(ruled, monkeypatch):
    monkeypatch.setattr(deciding.claims, "differences", lambda found, row: [])
    result = claim("CL-14", "--anew")
    assert result.exit_code == 0 and result.stdout.startswith(f"{NAME}: 2 of 3 cells recomputed, all agree\n")
    assert result.stdout.index("cells recomputed") < result.stdout.index("Verdict")

    def differs(name, cells):
        raise records.RecordError(f"record {name!r} differs")

    monkeypatch.setattr(verification, "verify", differs)
    assert claim("CL-14", "--anew").exit_code == 1 and "differs" in claim("CL-14", "--anew").stdout


def test_a_rule_of_no_record_and_a_claim_without_a_function(ruled, monkeypatch):
    result = claim("lo-13", "--anew")
    assert (
        result.exit_code == 0
        and "book/localization/beginning.md#lo-13" in result.stdout
        and "a cell of the page" in result.stdout
    )
    monkeypatch.setattr(deciding, "rules", lambda chapter: {"CL-14": lambda: FOUND})
    assert "rests on no record" in claim("CL-14", "--anew").stdout


@pytest.mark.parametrize(("id", "says"), [("CL-99", "near it: CL-"), ("XX-01", "CL-01, HS-01"), ("nonsense", "CL-01")])
def test_an_unknown_claim_names_near_ones(id, says):
    result = claim("CL-14", id)
    assert result.exit_code == 2 and id in result.stderr and says in result.stderr and not result.stdout


def test_loaders_that_cache_are_asked_again(recorded):
    """Each run of a rule says on which records it rests."""
    cached = deciding.functools.cache(lambda: records.load(NAME))
    deciding.cached = cached
    try:
        assert [deciding.run(lambda: cached())[1] for _ in range(2)] == [[NAME], [NAME]]
    finally:
        del deciding.cached
    assert records.load.__name__ == "load"


def test_every_rule_decides_a_claim_of_its_document():
    for chapter in claims.documents():
        assert set(deciding.rules(chapter)) <= set(claims.Ledger(chapter).rows)


def test_it_is_noted_on_which_records_each_claim_rests():
    """Of every claim; and each day other rules run and load what is noted."""
    noted = rests()
    everything = {id: rule for chapter in claims.documents() for id, rule in deciding.rules(chapter).items()}
    assert noted.keys() == everything.keys() and {name for names in noted.values() for name in names} <= {
        *records.recipes()
    }
    today = stats.stream("rests", datetime.now(UTC).date().isoformat())
    for id in ["HS-12", *today.choice(sorted(everything), 12, replace=False)]:
        for _ in range(1 + (id == "HS-12")):  # though its loaders have read it before
            assert sorted(deciding.run(everything[id])[1]) == noted[id], f"python -m experiments.deciding {id}"


def test_notes_on_some_claims_leave_the_others(recorded, monkeypatch, tmp_path):
    monkeypatch.setattr(deciding.paths, "CLAIMS", tmp_path)
    monkeypatch.setattr(deciding, "CHAPTERS", ["planted"])
    monkeypatch.setattr(deciding, "rules", lambda chapter: {"CL-14": lambda: records.load(NAME), "CL-15": int})
    (tmp_path / "records.json").write_text(json.dumps({"CL-14": [], "CL-15": ["other"]}), encoding="utf-8")
    monkeypatch.setattr(deciding, "rests", lambda: rests(tmp_path))
    deciding.note(["CL-14"])
    assert rests(tmp_path) == {"CL-14": [NAME], "CL-15": ["other"]}
    deciding.note()
    assert rests(tmp_path) == {"CL-14": [NAME], "CL-15": []}
