"""Spectral learning: what moments find, on planted models and on text."""
