"""Syntax with factors of low rank: parsing, roles, tagging, each beside what it is to be compared with."""
