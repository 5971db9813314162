"""Readers for file formats, from an open file to documents."""
