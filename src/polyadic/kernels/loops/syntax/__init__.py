"""Loops of parsers, charts and roles."""
