"""The text behind a fingerprint is the same on every Python: a record that is fresh on one is stale on none."""

import ast

import pytest

from shallow.book.canonical_code import clean

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
