"""The ledger: what the documents say, by which rule each claim is decided, and what came out.

A rule is a function that returns an :class:`~shallow.book.claims.outcome.Outcome`.  A page opens its ledger and
reports what each rule finds::

    ledger = claims.Ledger("chapter")
    ledger.report("CL-14", rules.cl_14())

The rows live in `book/claims/*.yml`, one file per chapter.  In builds and tests a report that differs from its row
raises LedgerMismatch, so that prose, cell and ledger cannot disagree; a reader who changes a parameter sees both.
"""

from shallow.book.claims.ledger import Ledger, LedgerMismatch, decide, differences, lettered
from shallow.book.claims.outcome import Outcome, all_of, any_of, below, combine, opposite, verdict, within
from shallow.book.claims.pages import counts_table, overview, table
from shallow.book.claims.rows import RANKS, VERDICTS, Document, LedgerError, Row, documents, everything

__all__ = [
    "RANKS", "VERDICTS", "Document", "Ledger", "LedgerError", "LedgerMismatch", "Outcome", "Row", "all_of", "any_of",
    "below", "combine", "counts_table", "decide", "differences", "documents", "everything", "lettered",
    "opposite", "overview", "table", "verdict", "within",
]  # fmt: skip
