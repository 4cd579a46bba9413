"""The ledger: what the documents say, by which rule each claim is decided, and what came out.

A chapter opens its ledger, decides each claim from what it measured, and reports it:

    ledger = claims.Ledger("chapter")
    verdict = claims.decide(reproduced=fraction.above(0.5), contradicted=fraction.below(0.5))
    ledger.report("CL-14", verdict, finding=f"fraction {fraction} of the models in poor(5,1)")

The rows live in book/claims/*.yml, one file per chapter. A report that differs from its row raises LedgerMismatch, so
that prose, cell and ledger cannot disagree; with SHALLOW_LEDGER=update in the environment the row is rewritten instead.
"""

from shallow.book.claims.ledger import Ledger, LedgerMismatch, combine, counts, decide, everything, lettered
from shallow.book.claims.pages import counts_table, found, overview, table
from shallow.book.claims.rows import RANKS, VERDICTS, Document, LedgerError, Row, documents

__all__ = [
    "RANKS",
    "VERDICTS",
    "Document",
    "Ledger",
    "LedgerError",
    "LedgerMismatch",
    "Row",
    "combine",
    "counts",
    "counts_table",
    "decide",
    "documents",
    "everything",
    "found",
    "lettered",
    "overview",
    "table",
]
