"""``python -m planted``: the command line of the book over the planted recorded runs."""

import signal

from planted.cells import RECORDS
from shallow.__main__ import main
from shallow.book import records

# A shell without job control starts what runs in the background with Ctrl-C ignored, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
records.recipes = lambda: RECORDS
main()
