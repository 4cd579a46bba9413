"""Cells of the chapter "Cyclic labels" (Bowman 2025)."""
