"""``python -m planted``: the command line of the book over the planted recorded runs."""

from shallow import records
from shallow.__main__ import main

from planted.cells import RECORDS

records.recipes = lambda: RECORDS
main()
