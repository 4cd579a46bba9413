"""The library behind the book."""
