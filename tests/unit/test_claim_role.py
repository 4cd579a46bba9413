"""A claim in prose: its number with the symbol of its verdict, linked to the section that decides it."""

from dataclasses import replace
from types import SimpleNamespace
from unittest import mock

import claim_role
import pytest
from docutils import nodes

from shallow.book import claims

ROW = next(row for row in claims.everything() if row.cell)


@pytest.fixture
def inliner():
    """What Sphinx hands to a role on the page book/toy/index."""
    builder = SimpleNamespace(get_relative_uri=lambda here, page: f"{here} -> {page}")
    env = mock.Mock(docname="book/toy/index", app=SimpleNamespace(builder=builder), claim_marks={})
    return mock.Mock(document=SimpleNamespace(settings=SimpleNamespace(env=env)))


def test_a_claim_shows_its_verdict_and_leads_to_its_section(inliner, monkeypatch):
    row = replace(ROW, verdict="partly", answer="It falls.", reading="answered", reading_why="y")
    monkeypatch.setattr(claim_role, "_rows", lambda: {ROW.id: row})
    (link,), messages = claim_role.Claim()("claim", "", ROW.id, 7, inliner)
    assert messages == [] and link.astext().startswith(f"claim {ROW.id}\N{NO-BREAK SPACE}")
    assert '<span aria-hidden="true">◐</span>' in link.astext() and "partly by the rule" in link.astext()
    assert link["refuri"] == f"book/toy/index -> book/{ROW.address}#{ROW.cell}"
    assert link["reftitle"] == "partly by the rule, answered in our reading: It falls."
    assert inliner.document.settings.env.note_dependency.call_args[0][0].endswith(f"{ROW.chapter}.yml")


def test_an_unknown_claim_is_a_warning(inliner):
    (text,), (message,) = claim_role.Claim()("claim", "", "CL-99", 7, inliner)
    assert isinstance(text, nodes.literal) and message is inliner.reporter.warning.return_value
    inliner.reporter.warning.assert_called_once_with("the ledger has no claim 'CL-99'", line=7)
