"""The ledger: what the documents say, by which rule each claim is decided, and what came out.

A chapter opens its ledger, decides each claim from what it measured, and reports it:

    ledger = claims.Ledger("chapter")
    verdict = claims.decide(reproduced=fraction.above(0.5), contradicted=fraction.below(0.5))
    ledger.report("CL-14", verdict, finding=f"fraction {fraction} of the models in poor(5,1)")

The rows live in book/claims/*.yml, one file per chapter.  In builds and tests a report that differs from its row raises
LedgerMismatch, so that prose, cell and ledger cannot disagree; a reader who changes a parameter sees both.
"""

from shallow.book.claims.ledger import Ledger, LedgerMismatch, decide, lettered
from shallow.book.claims.outcome import Outcome, all_of, any_of, combine, verdict
from shallow.book.claims.pages import counts_table, found, overview, table
from shallow.book.claims.rows import RANKS, VERDICTS, Document, LedgerError, Row, documents, everything

__all__ = [
    "RANKS", "VERDICTS", "Document", "Ledger", "LedgerError", "LedgerMismatch", "Outcome", "Row", "all_of", "any_of",
    "combine", "counts_table", "decide", "documents", "everything", "found", "lettered", "overview", "table", "verdict",
]  # fmt: skip
