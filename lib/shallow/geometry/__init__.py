"""Geometry of early alignment: gradient vectors on the sphere, their deviation, extremal vectors, clusters."""
