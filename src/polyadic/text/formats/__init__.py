"""Readers for file formats: each converts an open file to documents."""
