"""How results are shown: whatever they hold, in a few lines."""

import dataclasses

import pytest
from unit.test_bad_input import CASES

from shallow.display import short


@pytest.mark.parametrize("name", CASES)
def test_results_and_arguments_are_shown_in_a_few_lines(name):
    case = CASES[name]
    for one in (case(), *case.arguments.values()):
        if type(one).__repr__ is short or hasattr(one, "_fields") or dataclasses.is_dataclass(one):
            assert "array(" not in repr(one) and len(repr(one).splitlines()) <= 10
