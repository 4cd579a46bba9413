"""Code as text that changes with what it computes, and with as little else as can be.

Left out are comments, layout, docstrings, annotations, messages of exceptions and warnings, how objects are shown
(`__repr__`), what keeps compiled code, and checks that refuse an argument: ``if ...: raise ValueError``, and statements
that call a function which does nothing else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

WHOLE = "*"  # in the place of a name: all definitions of a module that is used other than by its attributes
#: Exceptions by which an argument is refused.  Others may be caught on the way, and so decide about a result.
REFUSALS = {"ValueError", "TypeError", "KeyError", "IndexError", "NotImplementedError"}
KEEPS = ("shallow.train.on_disk", "kept")
_QUOTES = ["'", '"', '"""', "'''"]
_REFERENCE = "\N{SECTION SIGN}"  # in the place of a name that is followed

Place = tuple[str, str]  # module and name


@dataclass
class Code:
    """A definition as text in which every reference is the same sign, and what these references are, in order."""

    text: str = ""
    references: list[Place] = field(default_factory=list)
    is_empty: bool = False  # a function of which nothing is left


def clean(nodes: Sequence[ast.stmt], module: str, definitions) -> Code:
    """The canonical code of top-level statements of a module; the nodes are altered.

    `definitions` knows the packages: `place(module, name)` is what a name stands for, None where that is not followed,
    `is_check(place)` whether that is a function that only refuses arguments, and `is_foreign(node)` whether an import
    is of other libraries.
    """
    cleaner = _Cleaner(module, definitions)
    cleaned = cleaner.block(nodes)
    is_empty = all(isinstance(part, ast.Pass) for node in cleaned for part in getattr(node, "body", [node]))
    return Code("\n".join(map(ast.unparse, cleaned)), cleaner.references, is_empty)


def stored_names(*nodes: ast.AST) -> list[str]:
    """The names that statements bind in their own scope."""
    found = []
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.append(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.append(node.id)
        elif not isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            found += [node.name] if isinstance(node, ast.ExceptHandler) and node.name else []
            found += stored_names(*ast.iter_child_nodes(node))
    return found


class _Cleaner(ast.NodeTransformer):
    """Leaves out what changes no result, and puts a sign in the place of every reference, noting what it refers to."""

    def __init__(self, module: str, definitions) -> None:
        self.module, self.definitions = module, definitions
        self.references: list[Place] = []
        self.scopes: list[set[str]] = []  # local names of the functions around
        self.guarded = False  # within a `try` that may catch a refusal

    def block(self, nodes: Sequence[ast.stmt]) -> list[ast.stmt]:
        """What is left of a sequence of statements."""
        found = []
        for node in nodes:
            left = self.visit(node)
            found += left if isinstance(left, list) else [] if left is None else [left]
        return found

    @contextmanager
    def scope(self, names: Sequence[str]) -> Iterator[None]:
        self.scopes.append(set(names))
        yield
        self.scopes.pop()

    # References.

    def place(self, node: ast.expr) -> Place | None:
        """What a name, or an attribute of a module, stands for, if that is followed."""
        if isinstance(node, ast.Name) and not any(node.id in scope for scope in self.scopes):
            return self.definitions.place(self.module, node.id)
        owner = self.place(node.value) if isinstance(node, ast.Attribute) else None
        return self.definitions.place(owner[0], node.attr) if owner and owner[1] == WHOLE else None

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if place := self.place(node):
            self.references.append(place)
            return ast.Name(_REFERENCE, node.ctx)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self.visit_Name(node) if self.place(node) else self.generic_visit(node)

    # Scopes.

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        node.decorator_list = [self.visit(one) for one in node.decorator_list if not self.only_keeps(one)]
        node.returns, node.args = None, self.visit(node.args)  # defaults belong to the scope around
        with self.scope(_parameters(node.args) + stored_names(*node.body)):
            node.body = self.block(node.body) or [ast.Pass()]
        if not self.scopes and self.definitions.place(self.module, node.name):
            node.name = _REFERENCE
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        for name in ("bases", "keywords", "decorator_list"):
            setattr(node, name, [self.visit(one) for one in getattr(node, name)])
        body = []
        for part in node.body:
            if stored_names(part) == ["__repr__"]:
                continue
            if isinstance(part, ast.AnnAssign):  # a field of a dataclass
                part.annotation, part.value = ast.Constant(0), part.value and self.visit(part.value)
                body.append(part)
            else:
                body += self.block([part])
        node.body = [part for part in body if not _is_empty_initialisation(part)] or [ast.Pass()]
        node.name = _REFERENCE if not self.scopes else node.name
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        node.args = self.visit(node.args)
        with self.scope(_parameters(node.args)):
            node.body = self.visit(node.body)
        return node

    def visit_comprehension_of(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> ast.expr:
        """The first sequence belongs to the scope around."""
        first, *others = node.generators
        first.iter = self.visit(first.iter)
        with self.scope(stored_names(*(part.target for part in node.generators))):
            for part in others:
                part.iter = self.visit(part.iter)
            for part in node.generators:
                part.ifs = [self.visit(one) for one in part.ifs]
            for name in {"elt", "key", "value"} & set(node._fields):
                setattr(node, name, self.visit(getattr(node, name)))
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_comprehension_of

    # What does not count.

    def only_keeps(self, decorator: ast.expr) -> bool:
        """Whether that leaves compiled code on disk and does nothing else."""
        return isinstance(decorator, ast.Call) and self.place(decorator.func) == KEEPS

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        """As Python 3.11 writes it; later ones may put quotes around it that are inside it too."""
        return ast.Name(_quoted([_unquoted(self.visit(part)) for part in node.values]))

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        node.value = self.visit(node.value)
        node.format_spec = node.format_spec and self.generic_visit(node.format_spec)  # has no quotes
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt | None:
        return self.visit(ast.Assign([node.target], node.value, lineno=0)) if node.value else None

    def visit_Assert(self, node: ast.Assert) -> None:
        return None

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> ast.stmt | None:
        """An import of another library counts as little in a function as at the head of a module."""
        return None if self.definitions.is_foreign(node) else node

    visit_ImportFrom = visit_Import

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | None:
        if isinstance(node.value, ast.Constant):
            return None
        if isinstance(node.value, ast.Call):
            place = self.place(node.value.func)
            if ast.unparse(node.value.func) == "warnings.warn":
                return None
            if place and place[1] != WHOLE and self.definitions.is_check(place) and not self.guarded:
                return None
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.stmt:
        for part in ast.walk(node.exc) if isinstance(node.exc, ast.Call) else []:
            if isinstance(part, ast.Call):
                part.args = [ast.Constant("") if _is_text(one) else one for one in part.args]
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt] | None:
        walrus = any(isinstance(part, ast.NamedExpr) for part in ast.walk(node.test))
        if not walrus and not self.guarded and len(node.body) == 1 and _refuses(node.body[0]):
            return self.block(node.orelse)
        return self.visit_compound(node)

    def visit_compound(self, node: ast.If | ast.For | ast.While | ast.With) -> ast.stmt | None:
        """Nothing is left of a statement of which only its head is left."""
        begun = len(self.references)
        for name, value in ast.iter_fields(node):
            if name in ("body", "orelse"):
                setattr(node, name, self.block(value))
            elif isinstance(value, list):
                setattr(node, name, [self.visit(one) for one in value])
            elif isinstance(value, ast.AST):
                setattr(node, name, self.visit(value))
        if not node.body and not getattr(node, "orelse", []) and not isinstance(node, ast.While):
            del self.references[begun:]
            return None
        node.body = node.body or [ast.Pass()]
        return node

    visit_For = visit_While = visit_With = visit_compound

    def visit_Try(self, node: ast.Try) -> ast.stmt:
        outer, self.guarded = self.guarded, bool(node.handlers) or self.guarded
        node.body = self.block(node.body) or [ast.Pass()]
        self.guarded = outer
        for part in node.handlers:
            part.type = part.type and self.visit(part.type)
            part.body = self.block(part.body) or [ast.Pass()]
        node.orelse, node.finalbody = self.block(node.orelse), self.block(node.finalbody)
        return node


def _unquoted(part: ast.expr) -> str:
    """What stands for a part of an f-string between its quotes."""
    text = ast.unparse(ast.JoinedStr([part]))[1:]
    width = 3 if text[:3] in _QUOTES else 1
    return text[width:-width]


def _quoted(parts: Sequence[str]) -> str:
    """An f-string of these parts in quotes that are in none of them, by the rule of Python 3.11."""
    quotes = _QUOTES
    for part in filter(None, parts):
        quotes = sorted((quote for quote in quotes if quote not in part), key=lambda quote: quote[0] == part[-1])
    quote = next(iter(quotes), _QUOTES[-1])
    return f"f{quote}{''.join(parts)}{quote}"


def _parameters(arguments: ast.arguments) -> list[str]:
    return [part.arg for part in ast.walk(arguments) if isinstance(part, ast.arg)]


def _is_empty_initialisation(node: ast.stmt) -> bool:
    """Whether that is a `__post_init__` that only refused arguments."""
    named = isinstance(node, ast.FunctionDef) and node.name == "__post_init__"
    return named and all(isinstance(part, ast.Pass) for part in node.body)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _refuses(node: ast.stmt) -> bool:
    """Whether a statement raises one of REFUSALS."""
    raised = node.exc if isinstance(node, ast.Raise) else None
    named = raised.func if isinstance(raised, ast.Call) else raised
    return isinstance(named, ast.Name) and named.id in REFUSALS
