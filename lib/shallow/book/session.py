"""How a page is being run: strictly, as in builds and tests, or by a reader who changes things."""

from __future__ import annotations

import ast
import os


def is_strict() -> bool:
    """Whether SHALLOW_STRICT=1 is in the environment, as builds and tests put it there.

    A result that is not the ledger's is an error then, and sliders are pictures that need no kernel.  Anywhere else (in
    JupyterLab, in VS Code, on Binder) such a result is shown beside the ledger's, sliders draw anew at every move, and
    an assertion that no longer holds says so, see :func:`soften`.
    """
    return os.environ.get("SHALLOW_STRICT", "0") not in ("", "0")


def soften(shell) -> None:
    """Let assertions of later cells in this IPython shell print what does not hold, and go on, unless it is strict.

    A page asserts what is true of its own numbers; with other parameters it may fail to be, which is no error.
    """
    if not is_strict() and not any(isinstance(one, _Softer) for one in shell.ast_transformers):
        shell.ast_transformers.append(_Softer())


class _Softer(ast.NodeTransformer):
    """Replaces the assertions of a cell."""

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        said = f"With these parameters it does not hold that {ast.unparse(node.test)}"
        (softer,) = ast.parse(f"if not ({ast.unparse(node.test)}):\n    print({said!r})").body
        return ast.copy_location(softer, node)
