"""Solvers of taggers."""
