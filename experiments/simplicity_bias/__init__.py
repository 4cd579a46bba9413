"""Cells of the chapter on simplicity bias."""
