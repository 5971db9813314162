"""Doors to the loops of parsers, charts and roles."""
