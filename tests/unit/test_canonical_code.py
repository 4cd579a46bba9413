"""The text behind a fingerprint is the same on every Python: a record that is fresh on one is stale on none."""

import ast

import pytest

from shallow.book.canonical_code import KEEPS, clean

DEFINITIONS = type("Definitions", (), {"place": lambda self, *_: None, "is_foreign": lambda self, _: True})()


@pytest.mark.parametrize(
    "text",
    [
        """f'{x}'""",
        """f'{x!r:>{width}.3f} {{'""",
        '''f"{a['b']}"''',
        """f'''<a href="{a['b']}">'''""",
        '''f"""{a['b']}={'"'}."""''',
        '''f"{', '.join((f'{one:02d}' for one in b))}"''',
        '''f"\\n{call('c')} it's"''',
    ],
)
def test_an_f_string_has_the_quotes_of_python_3_11(text):
    assert clean(ast.parse(f"said = {text}").body, "module", DEFINITIONS).text == f"said = {text}"


def test_what_keeps_compiled_code_changes_no_result():
    place = {"kept": KEEPS, "rounded": ("shallow.other", "rounded")}
    known = type("Known", (), {"place": lambda self, _, name: place.get(name), "is_foreign": lambda self, _: True})()
    text = "def make(n):\n{}\n    @compiled\n    def f(x):\n        return n * x\n    return f"
    plain, kept, rounded = (
        clean(ast.parse(text.format(above)).body, "module", known).text
        for above in ("", "    @kept(n)", "    @rounded(n)")
    )
    assert kept == plain != rounded
