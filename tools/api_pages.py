"""The pages of the library, as an extension of Sphinx: what autodoc and intersphinx need to know.

Docstrings are reStructuredText, which has a role for mathematics where those of the library have dollar signs.  They
are replaced before anything is parsed: stars, bars and colons in a formula are no markup.
"""

import re

from sphinx.ext import intersphinx

MATHEMATICS = re.compile(r"(?<!\\)\$([^$]+)\$")
HIDDEN = "\x00"
#: Where annotations name a class, and where its documentation has it.
PUBLIC = [
    (r"^np\.", "numpy."),
    (r"^nn\.", "torch.nn."),
    (r"^t\.", "typing."),
    (r"^torch\.nn\.modules\.\w+", "torch.nn"),
    (r"^xarray\.core\.\w+", "xarray"),
    (r"\._\w+(?=\.)", ""),
]


def with_roles(text: str) -> str:
    """A docstring whose mathematics, each on one line, has the role `math`."""

    def role(found: re.Match) -> str:
        apart = "\\ " * text[found.end() : found.end() + 1].isalnum()  # a role ends before white space or punctuation
        return f":math:`{' '.join(found[1].split())}`{apart}"

    return MATHEMATICS.sub(role, text)


def public(name: str) -> str:
    """The name of a class of another library under which its documentation can be found."""
    for pattern, short in PUBLIC:
        name = re.sub(pattern, short, name)
    return name


def _docstring(app, what, name, thing, options, lines) -> None:
    lines[:] = with_roles("\n".join(lines)).split("\n")
    if what in ("attribute", "data", "property"):  # napoleon would take what stands before a colon for a type
        lines[0] = lines[0].replace(":", HIDDEN)


def _after_napoleon(app, what, name, thing, options, lines) -> None:
    lines[:] = [line.replace(HIDDEN, ":") for line in lines]


def _skip(app, what, name, thing, skip, options) -> bool | None:
    """Fields of a named tuple have a text of Python's own; ours is among the attributes of its class."""
    return True if (getattr(thing, "__doc__", None) or "").startswith("Alias for field number") else None


def _elsewhere(app, env, node, content):
    name = public(target := node.get("reftarget", ""))
    if name == target:
        return None
    node["reftarget"] = name
    return intersphinx.missing_reference(app, env, node, content)


def setup(app) -> dict:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _docstring, priority=100)
    app.connect("autodoc-process-docstring", _after_napoleon, priority=900)
    app.connect("autodoc-skip-member", _skip)
    app.connect("missing-reference", _elsewhere, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
