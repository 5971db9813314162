"""Readers for file formats, which convert open files to documents."""
