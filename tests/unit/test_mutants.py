"""Every mutant that no test notices has a reason; which tests notice the others is not tried here."""

import json

from references import ROOT

OUTCOMES = json.loads((ROOT / "tools" / "mutants.json").read_text(encoding="utf-8"))


def test_every_survivor_has_a_reason_and_few_could_matter():
    assert all(("equal" in one) != ("missing" in one) for one in OUTCOMES if not one["by"])
    for kind, most in (("lib", 0.05), ("experiments", 0.1)):
        some = [one for one in OUTCOMES if one["file"].startswith(kind) and "equal" not in one]
        assert sum("missing" in one for one in some) <= most * len(some) > 0
