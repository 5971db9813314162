"""Matrices of which some cells are known: the others predicted."""
