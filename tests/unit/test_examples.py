"""The examples in docstrings run as they stand."""

import doctest
import importlib

import pytest

#: Modules with the functions that a stranger would try first.
MODULES = [
    "shallow.nets",
    "shallow.spectra.marchenko_pastur",
    "shallow.spectra.tails",
    "shallow.train.first_layer",
    "shallow.train.flow",
    "shallow.train.univariate",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_show_what_they_give(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted and not found.failed
