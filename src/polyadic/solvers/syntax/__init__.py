"""Solvers of parsers and of semantic roles."""
