"""Trainers: one module per exact method."""
