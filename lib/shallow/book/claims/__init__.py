"""The ledger: what the documents say, by which rule each claim is decided, and what came out.

A row of `book/claims/<chapter>.yml` holds the words of a claim, a function of the chapter's rules decides it, and a
page shows both::

    ledger = claims.Ledger("chapter")
    ledger.show("CL-14", runs=designs)

What came out is kept in `book/claims/found/`.  In builds and tests a claim that comes out otherwise raises
LedgerMismatch, so that prose, cell and ledger cannot disagree; a reader who changes a parameter sees both.
"""

from shallow.book.claims.ledger import Ledger, LedgerMismatch
from shallow.book.claims.pages import counts_table, overview, table
from shallow.book.claims.rows import RANKS, Document, LedgerError, Row, documents, everything
from shallow.book.claims.rules import Found, Outcome, decides
from shallow.book.claims.verdicts import VERDICTS, all_of, any_of, below, combine, opposite, verdict, within

__all__ = [
    "RANKS",
    "VERDICTS",
    "Document",
    "Found",
    "Ledger",
    "LedgerError",
    "LedgerMismatch",
    "Outcome",
    "Row",
    "all_of",
    "any_of",
    "below",
    "combine",
    "counts_table",
    "decides",
    "documents",
    "everything",
    "opposite",
    "overview",
    "table",
    "verdict",
    "within",
]
