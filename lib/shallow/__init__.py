"""The library behind the book."""

from shallow import machine_code

machine_code.keep()
