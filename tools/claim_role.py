"""Claims in prose, as an extension of Sphinx: the role claim links to the section that decides one.

    The bump needs a poor cluster {claim}`CL-14`.

shows "CL-14 ✓" behind the sentence, with the symbol of the verdict in the ledger and, under the pointer, its answer.
A claim that the ledger does not have is a warning, which fails the build.  In JupyterLab the number stands there alone.
"""

import functools

from docutils import nodes
from sphinx.util.docutils import SphinxRole

from shallow.book import claims, paths
from shallow.book.claims.display import STYLE


@functools.cache
def _rows() -> dict[str, claims.Row]:
    return {row.id: row for row in claims.everything()}


class Claim(SphinxRole):
    """One claim by its id."""

    def run(self):
        row = _rows().get(self.text)
        if row is None:
            message = self.inliner.reporter.warning(f"the ledger has no claim {self.text!r}", line=self.lineno)
            return [nodes.literal(text=self.text)], [message]
        self.env.note_dependency(str(paths.CLAIMS / f"{row.chapter}.yml"))
        word = f"{row.verdict} by the rule, {row.reading} in our reading" if row.reading else row.verdict
        link = nodes.reference(
            "",
            f"{row.id}\N{NO-BREAK SPACE}{STYLE[row.verdict][0]}",
            internal=True,
            refuri=self.address(row),
            reftitle=f"{word}: {row.answer or row.outcome}",
            classes=["claim", f"claim-{row.verdict}"],
        )
        return [link], []

    def address(self, row: claims.Row) -> str:
        """From the page with the role to the claim's section, or to its row where nothing has decided it."""
        page = f"{paths.BOOK.name}/{row.address if row.cell else 'claims'}"
        here = self.env.app.builder.get_relative_uri(self.env.docname, page)
        return f"{here}#{row.id.lower()}"


def setup(app) -> dict:
    """Called by Sphinx."""
    app.add_role("claim", Claim())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
