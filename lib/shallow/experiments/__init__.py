"""Cells of the chapters: pure functions of parameters and seed that return labelled datasets."""
