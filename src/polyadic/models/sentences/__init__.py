"""Vectors of sentences."""
