"""The examples in docstrings run as they stand."""

import doctest
import importlib

import pytest

#: Modules with the functions that a stranger would try first.
MODULES = ["nets", "train.first_layer", "train.flow", "train.univariate"]
MODULES += [f"spectra.{name}" for name in ("layers", "marchenko_pastur", "nulls", "tails")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_show_what_they_give(name):
    found = doctest.testmod(importlib.import_module(f"shallow.{name}"))
    assert found.attempted and not found.failed
